//! What the controllers of one operator share.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::ApiResource;
use kube::{Client, ResourceExt as _};
use tracing::debug;

use super::keys;
use super::rule::{Era, Verdict};
use super::settings::Settings;
use crate::object::{self, Error};
use crate::process::Stop;

/// A running operator.
pub struct Operator {
    /// The cluster.
    pub client: Client,
    /// Who it is.
    pub settings: Settings,
    /// How long to wait before each change of a phase.
    pub slow: Duration,
    /// Whether it is to stop.
    pub stop: Stop,
}

impl Operator {
    /// Objects of a kind in one namespace.
    pub fn in_namespace(&self, kind: &ApiResource, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, kind)
    }

    /// Where objects of a kind are watched, one or more places.
    pub fn watched(&self, kind: &ApiResource) -> Vec<Api<DynamicObject>> {
        if self.settings.identity.global {
            return vec![Api::all_with(self.client.clone(), kind)];
        }
        self.settings.watch.iter().map(|namespace| self.in_namespace(kind, namespace)).collect()
    }

    /// Whether this operator takes an object. Asks the cluster only where a lock may matter.
    pub async fn takes(&self, object: &DynamicObject) -> Result<bool, Error> {
        let namespace = object::namespace(object);
        let takes = match self.settings.identity.verdict(object::annotation(object, keys::OPERATOR_ID), namespace) {
            Verdict::Take => true,
            Verdict::Leave => false,
            Verdict::UnlessLocked => !self.is_locked(namespace).await?,
        };
        debug!("{} {namespace}/{}", if takes { "taking" } else { "leaving" }, object.name_any());
        Ok(takes)
    }

    /// Whether a local operator has the namespace. Up to v2.10 that takes a platform and the Lease named after it.
    async fn is_locked(&self, namespace: &str) -> Result<bool, Error> {
        let leases = Api::<Lease>::namespaced(self.client.clone(), namespace);
        let era = self.settings.identity.era;
        if matches!(era, Era::E0 | Era::E5) {
            return Ok(leases.get_opt("camel-k-lock").await?.is_some());
        }
        let counts = |platform: &DynamicObject| {
            era > Era::E1 || object::annotation(platform, keys::SECONDARY_PLATFORM) != "true"
        };
        let platforms = self.in_namespace(&keys::platform(), namespace).list(&ListParams::default()).await?;
        for platform in platforms.items.iter().filter(|platform| counts(platform)) {
            if leases.get_opt(&format!("{}-lock", platform.name_any())).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What comes before a change of a phase.
    pub async fn before_change(&self) -> Result<(), Error> {
        self.stop.pause(self.slow).await;
        if self.stop.is_requested() { Err(Error::Stopping) } else { Ok(()) }
    }
}
