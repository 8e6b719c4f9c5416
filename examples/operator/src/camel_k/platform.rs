//! `IntegrationPlatform`s: where images are pushed to.
//!
//! Up to v2.4 an operator makes its own, named like its id. Later ones wait until somebody makes one, and v2.11 does without.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::runtime::controller::Action;
use serde_json::{Value, json};
use tracing::{info, warn};

use super::keys;
use super::operator::Operator;
use super::rule::Era;
use crate::object::{self, Error};

const READY: &str = "Ready";
const REGISTRY: &str = "/spec/build/registry/address";

/// The platform an Integration is built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Platform {
    /// It is ready, and this is its name.
    Ready(String),
    /// It is there and not ready.
    NotReady(String),
    /// There is none.
    None,
    /// The release needs none.
    NotNeeded,
}

/// Makes the operator's platform, as releases up to v2.4 do when they start.
pub async fn create_own(operator: &Operator) -> Result<(), Error> {
    let identity = &operator.settings.identity;
    if !matches!(identity.era, Era::E1 | Era::E2) || identity.namespace.is_empty() {
        return Ok(());
    }
    let mut platform = DynamicObject::new(operator.settings.name(), &keys::platform()).data(json!({"spec": {}}));
    platform
        .labels_mut()
        .extend([("app".to_owned(), "camel-k".to_owned()), (keys::PLATFORM_GENERATED.to_owned(), "true".to_owned())]);
    if !identity.id.is_empty() {
        platform.annotations_mut().insert(keys::OPERATOR_ID.to_owned(), identity.id.clone());
    }
    let api = operator.in_namespace(&keys::platform(), &identity.namespace);
    match api.create(&PostParams::default(), &platform).await {
        Ok(_) => info!("created integrationplatform {}/{}", identity.namespace, operator.settings.name()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Gives a platform its phase.
pub async fn reconcile(platform: Arc<DynamicObject>, operator: Arc<Operator>) -> Result<Action, Error> {
    if platform.metadata.deletion_timestamp.is_some() || !operator.takes(&platform).await? {
        return Ok(Action::await_change());
    }
    let before = platform.data.get("status").cloned().unwrap_or(json!({}));
    let after = status(&platform, operator.settings.identity.era, &before);
    if after != before {
        operator.before_change().await?;
        let api = operator.in_namespace(&keys::platform(), object::namespace(&platform));
        object::replace_status(&api, &keys::platform(), &platform, &after).await?;
        info!("integrationplatform {} is {}", platform.name_any(), after["phase"]);
    }
    Ok(Action::await_change())
}

/// From v2.0 on a platform without a registry is an error.
fn status(platform: &DynamicObject, era: Era, before: &Value) -> Value {
    let ready = era < Era::E2 || !object::text(platform, REGISTRY).is_empty();
    let mut status = before.clone();
    status["phase"] = json!(if ready { READY } else { "Error" });
    status["version"] = json!(era.version());
    status["observedGeneration"] = json!(platform.metadata.generation);
    if let Some(build) = platform.data.pointer("/spec/build") {
        status["build"] = build.clone();
    }
    status
}

/// Finds the platform of an Integration, in the order of the real operators: the annotation, the one it was built with
/// before, the first active one of its namespace, the operator's own, another one beside the operator.
pub async fn of(operator: &Operator, integration: &DynamicObject, before: &str) -> Result<Platform, Error> {
    let identity = &operator.settings.identity;
    if identity.era >= Era::E5 {
        return Ok(Platform::NotNeeded);
    }
    let mut places = vec![list(operator, object::namespace(integration)).await?];
    if identity.namespace != object::namespace(integration) && !identity.namespace.is_empty() {
        places.push(list(operator, &identity.namespace).await?);
    }
    let named = |name: &str| places.iter().flatten().find(|platform| platform.name_any() == name);
    let chosen = object::annotation(integration, keys::PLATFORM_ID);
    if !chosen.is_empty() {
        return Ok(named(chosen).map_or(Platform::None, describe));
    }
    if !before.is_empty() {
        match named(before) {
            Some(platform) => return Ok(describe(platform)),
            // The oldest releases insist on it: an Integration that was moved while it waited is stuck.
            None if identity.era < Era::E2 => return Err(Error::Object(format!("no integrationplatform {before}"))),
            None => warn!("integrationplatform {before} is gone, looking for another one"),
        }
    }
    for place in &places {
        let own = place.iter().find(|platform| is_active(platform) && platform.name_any() == operator.settings.name());
        if let Some(platform) = own.or_else(|| place.iter().find(|platform| is_active(platform))) {
            return Ok(describe(platform));
        }
    }
    Ok(Platform::None)
}

async fn list(operator: &Operator, namespace: &str) -> Result<Vec<DynamicObject>, Error> {
    let api: Api<DynamicObject> = operator.in_namespace(&keys::platform(), namespace);
    Ok(api.list(&ListParams::default()).await?.items)
}

fn is_active(platform: &DynamicObject) -> bool {
    !matches!(object::text(platform, "/status/phase"), "" | "Duplicate")
}

fn describe(platform: &DynamicObject) -> Platform {
    let name = platform.name_any();
    if object::text(platform, "/status/phase") == READY { Platform::Ready(name) } else { Platform::NotReady(name) }
}
