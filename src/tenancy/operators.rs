//! From evidence to operators: who is there, under which id, in which state.

mod build;
#[cfg(test)]
mod families;
mod identity;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

pub use build::{lease_places, operators};
pub use identity::{Identity, identify};

use super::evidence::{IdsInUse, Source};
use crate::contracts::{FAMILIES, MajorMinor};

/// The namespaces an operator watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All.
    Cluster,
    /// The one it lives in.
    Own,
    /// These; none at all when its manifest leaves the setting out, without which it does not start.
    Namespaces(Vec<String>),
    /// It could not be told.
    Unknown,
}

impl Scope {
    /// Whether an operator that lives in `own` watches `namespace`; `None` when that is not known.
    pub fn watches(&self, own: &str, namespace: &str) -> Option<bool> {
        match self {
            Self::Cluster => Some(true),
            Self::Own => Some(own == namespace),
            Self::Namespaces(names) => Some(names.iter().any(|name| name == namespace)),
            Self::Unknown => None,
        }
    }

    /// Whether it watches the whole cluster; `None` when that is not known.
    pub fn is_cluster(&self) -> Option<bool> {
        match self {
            Self::Unknown => None,
            scope => Some(*scope == Self::Cluster),
        }
    }

    /// The word machines read.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Own => "own",
            Self::Namespaces(_) => "namespaces",
            Self::Unknown => "unknown",
        }
    }
}

/// The state of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It runs, or nothing is known to the contrary.
    Active,
    /// It should run and has no ready pod.
    NotReady,
    /// Another one is designated to act; this one waits.
    Standby,
    /// Its id is deployed more than once and nothing agrees that this is the active one.
    Duplicate,
    /// A claim, Subscription or platform tells of it, and it has no Deployment.
    Missing,
    /// A claim or pointer names this place, and there is no operator.
    Dangling,
    /// It has a platform and a live lease and no Deployment: a process outside the cluster.
    External,
}

impl State {
    /// The word in lists and for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::NotReady => "not-ready",
            Self::Standby => "standby",
            Self::Duplicate => "duplicate",
            Self::Missing => "missing",
            Self::Dangling => "dangling",
            Self::External => "external",
        }
    }

    /// Whether an operator in this state may act on resources, now or as soon as it has a pod.
    pub fn acts(self) -> bool {
        matches!(self, Self::Active | Self::NotReady | Self::Duplicate | Self::External)
    }
}

/// The leader-election Lease of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseInfo {
    /// Who holds it.
    pub holder: Option<String>,
    /// When it was last renewed.
    pub renew_time: Option<Timestamp>,
    /// Whether it is held now.
    pub live: bool,
}

/// The registry object of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformInfo {
    /// Its name.
    pub name: String,
    /// Its phase.
    pub phase: Option<String>,
    /// The version of the operator that last reconciled it.
    pub version: Option<String>,
}

/// Resources that carry an id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// How many, per kind.
    pub by_kind: BTreeMap<String, u64>,
    /// Whether all of them could be seen.
    pub complete: bool,
}

/// One operator instance, or a place where one is said to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// Its id; a text such as `<secret name/key>` when `id_known` is false.
    pub id: String,
    /// Whether the id could be read.
    pub id_known: bool,
    /// Its family's name.
    pub family: &'static str,
    /// The namespace it lives in.
    pub namespace: String,
    /// Its Deployment's name.
    pub deployment: Option<String>,
    /// Its Deployment's uid, when the Deployment was seen.
    pub deployment_uid: Option<String>,
    /// What it watches.
    pub scope: Scope,
    /// Its version, when label or image tag tell.
    pub version: Option<String>,
    /// Its image.
    pub image: Option<String>,
    /// Wanted pods.
    pub replicas: Option<u64>,
    /// Ready pods.
    pub ready_replicas: Option<u64>,
    /// Its state.
    pub state: State,
    /// Whether it has the default id of its family.
    pub default: bool,
    /// Whether a claim names this very Deployment, as active or standby.
    pub claimed: bool,
    /// Who installed it.
    pub managed_by: Option<String>,
    /// Its Lease.
    pub lease: Option<LeaseInfo>,
    /// Its registry object.
    pub platform: Option<PlatformInfo>,
    /// The operation under way on its id.
    pub operation: Option<Value>,
    /// What tells of it.
    pub evidence: BTreeSet<Source>,
    /// How many resources carry its id; `None` when its family has no ids on resources, or its id is not known.
    pub resources: Option<Counted>,
    /// Since when it is there.
    pub created_at: Option<Timestamp>,
}

impl Operator {
    /// An operator of which nothing is known but where it is said to be.
    pub fn at(family: &'static str, id: impl Into<String>, namespace: impl Into<String>, state: State) -> Self {
        let id = id.into();
        Self {
            default: FAMILIES.iter().any(|known| known.name == family && known.default_id == Some(id.as_str())),
            id,
            id_known: true,
            family,
            namespace: namespace.into(),
            deployment: None,
            deployment_uid: None,
            scope: Scope::Unknown,
            version: None,
            image: None,
            replicas: None,
            ready_replicas: None,
            state,
            claimed: false,
            managed_by: None,
            lease: None,
            platform: None,
            operation: None,
            evidence: BTreeSet::new(),
            resources: None,
            created_at: None,
        }
    }

    /// Whether it watches a namespace; `None` when that is not known.
    pub fn watches(&self, namespace: &str) -> Option<bool> {
        self.scope.watches(&self.namespace, namespace)
    }

    /// Major and minor number of its version.
    pub fn major_minor(&self) -> Option<MajorMinor> {
        self.version.as_deref().and_then(super::version::major_minor)
    }

    /// `namespace/deployment`, or just the namespace.
    pub fn place(&self) -> String {
        match &self.deployment {
            Some(deployment) => format!("{}/{deployment}", self.namespace),
            None => self.namespace.clone(),
        }
    }
}

/// Operators of a family that answer to an id.
pub fn with_id<'a>(operators: &'a [Operator], family: &'a str, id: &'a str) -> impl Iterator<Item = &'a Operator> {
    operators.iter().filter(move |operator| operator.family == family && operator.id_known && operator.id == id)
}

/// Resources that no operator is named on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unassigned {
    /// How many carry no id.
    pub legacy: u64,
    /// How many carry an id that no operator has, per id.
    pub orphaned: BTreeMap<String, u64>,
}

impl Unassigned {
    /// Counts them, in the whole cluster or in one namespace.
    pub fn count(ids: &IdsInUse, operators: &[Operator], namespace: Option<&str>) -> Self {
        let unanswered =
            ids.ids().filter(|id| !operators.iter().any(|operator| operator.id_known && operator.id == *id));
        Self {
            legacy: ids.total("", namespace),
            orphaned: unanswered
                .map(|id| (id.to_owned(), ids.total(id, namespace)))
                .filter(|(_, count)| *count > 0)
                .collect(),
        }
    }
}
