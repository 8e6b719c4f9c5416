//! The gate: an operator waits here while the pointer names another namespace.
//!
//! The real gate polls the store of a watch, so this one does too. An operator that may not list the `ConfigMap`s waits for
//! ever, and says nothing.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::Api;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt as _, watcher};
use tokio::time::{MissedTickBehavior, interval};
use tracing::info;

/// Namespace of the pointer.
pub const NAMESPACE: &str = "calico-system";
/// Name of the pointer.
pub const NAME: &str = "active-operator";
/// Key of the pointer whose value is the namespace of the active operator.
pub const KEY: &str = "active-namespace";

/// Waits until the operator in namespace `own` is the active one.
pub async fn pass(client: &Client, own: &str, tick: Duration) {
    let api = Api::<ConfigMap>::namespaced(client.clone(), NAMESPACE);
    let (store, writer) = reflector::store();
    let config = watcher::Config::default().fields(&format!("metadata.name={NAME}"));
    let mut events = pin!(watcher(api, config).default_backoff().reflect(writer));
    let mut ticks = interval(tick);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut said = None;
    let mut synced = false;
    loop {
        tokio::select! {
            event = events.next() => synced |= matches!(event, Some(Ok(watcher::Event::InitDone))),
            _ = ticks.tick(), if synced => {
                let value = named(&store);
                if is_active(value.as_deref(), own) {
                    info!("active");
                    return;
                }
                if said != Some(value.clone()) {
                    info!("inactive, the pointer names {:?}", value.as_deref().unwrap_or_default());
                    said = Some(value);
                }
            }
        }
    }
}

fn named(store: &Store<ConfigMap>) -> Option<String> {
    store.get(&ObjectRef::new(NAME).within(NAMESPACE)).map(|pointer| value(&pointer))
}

/// What the pointer says; a missing key says nothing.
pub fn value(pointer: &ConfigMap) -> String {
    pointer.data.as_ref().and_then(|data| data.get(KEY)).cloned().unwrap_or_default()
}

/// Whether the operator in namespace `own` is active: there is no pointer, or it says so byte for byte.
pub fn is_active(pointer: Option<&str>, own: &str) -> bool {
    pointer.is_none_or(|value| value == own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pointer_decides() {
        for (pointer, own, active) in [
            (None, "alt", true),
            (Some("alt"), "alt", true),
            (Some("tigera-operator"), "alt", false),
            (Some(""), "alt", false),
            (Some("alt\n"), "alt", false),
            (Some(" alt"), "alt", false),
            (Some("Alt"), "alt", false),
            (Some(""), "", true),
        ] {
            assert_eq!(is_active(pointer, own), active, "{pointer:?} {own:?}");
        }
    }

    #[test]
    fn a_missing_key_says_nothing() {
        assert_eq!(value(&ConfigMap::default()), "");
    }
}
