//! The lists that make the evidence, and what is taken from each.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;
use serde_json::Value;

use super::Observe;
use crate::{
    cluster::{ApiError, Call, Cluster, ListOptions},
    contracts::{
        Family, Find,
        kinds::{DEPLOYMENT, Kind, OPERATOR_CLAIM, SUBSCRIPTION},
    },
    tenancy::evidence::{ClaimFacts, DeploymentFacts, Evidence, IdsInUse, PlatformFacts, SubscriptionFacts},
};

/// What a list is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Deployment,
    Claim,
    Platform,
    Subscription,
    Ids,
}

/// One list.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) kind: Kind,
    pub(super) options: ListOptions,
    reads: Use,
    family: Option<&'static Family>,
    families: Vec<&'static Family>,
}

/// What came of a list.
#[derive(Debug)]
pub(super) enum Found {
    Objects(Vec<Value>),
    Ids(IdsInUse),
}

/// The lists for a wish.
pub(super) fn of(what: &Observe) -> Vec<Query> {
    let query = |kind, options, reads, family: Option<&'static Family>| Query {
        kind,
        options,
        reads,
        family,
        families: what.families.clone(),
    };
    let whole = ListOptions::default;
    let mut queries = vec![query(OPERATOR_CLAIM, whole(), Use::Claim, None)];
    queries.extend(deployments(&what.families));
    if what.families.iter().any(|family| !family.olm_packages.is_empty()) {
        queries.push(query(SUBSCRIPTION, whole(), Use::Subscription, None));
    }
    for family in &what.families {
        if let Some(registry) = family.registry {
            queries.push(query(registry.kind, whole(), Use::Platform, Some(family)));
        }
        if family.id_annotation.is_some() && what.count_ids {
            let counted = family
                .resources
                .iter()
                .filter(|entry| entry.counted && family.registry.is_none_or(|registry| registry.kind != entry.kind));
            queries
                .extend(counted.map(|entry| query(entry.kind, ListOptions::cached_metadata(), Use::Ids, Some(family))));
        }
    }
    queries
}

/// The lists that find the families' Deployments.
pub(super) fn deployments(families: &[&'static Family]) -> Vec<Query> {
    let finds = families.iter().flat_map(|family| family.deployments.iter().map(move |find| (*family, *find)));
    finds
        .map(|(family, find)| {
            let options = match find {
                Find::Label { key, value, .. } => ListOptions::labelled(format!("{key}={value}")),
                Find::Name(name) => {
                    ListOptions { fields: Some(format!("metadata.name={name}")), ..ListOptions::default() }
                }
            };
            Query { kind: DEPLOYMENT, options, reads: Use::Deployment, family: Some(family), families: Vec::new() }
        })
        .collect()
}

impl Query {
    /// Whether the list is read for this.
    pub(super) fn is_for(&self, reads: Use) -> bool {
        self.reads == reads
    }

    /// Adds what was found to the evidence.
    pub(super) fn add(&self, found: Found, evidence: &mut Evidence) {
        let objects = match found {
            Found::Ids(ids) => return evidence.ids.merge(ids),
            Found::Objects(objects) => objects,
        };
        let objects = objects.iter();
        match (self.reads, self.family) {
            (Use::Deployment, Some(family)) => {
                for found in objects.filter_map(|object| DeploymentFacts::parse(family, object)) {
                    // More than one selector may match it.
                    let known = |other: &DeploymentFacts| {
                        (&other.namespace, &other.name, other.family.name)
                            == (&found.namespace, &found.name, found.family.name)
                    };
                    if !evidence.deployments.iter().any(known) {
                        evidence.deployments.push(found);
                    }
                }
            }
            (Use::Claim, _) => {
                let wanted = |claim: &ClaimFacts| self.families.iter().any(|family| family.name == claim.family);
                evidence.claims.extend(objects.filter_map(ClaimFacts::parse).filter(wanted));
            }
            (Use::Platform, Some(family)) => {
                for platform in objects.filter_map(|object| PlatformFacts::parse(family, object)) {
                    evidence.ids.add(platform.id.as_deref().unwrap_or_default(), self.kind.kind, &platform.namespace);
                    evidence.platforms.push(platform);
                }
            }
            (Use::Subscription, _) => {
                for family in &self.families {
                    evidence
                        .subscriptions
                        .extend(objects.clone().filter_map(|object| SubscriptionFacts::parse(family, object)));
                }
            }
            (Use::Ids | Use::Deployment | Use::Platform, _) => {}
        }
    }
}

impl Cluster {
    /// Asks for a list, everywhere or in one namespace.
    pub(super) async fn ask(&self, query: &Query, namespace: Option<&str>) -> Result<Found, ApiError> {
        match query.family.and_then(|family| family.id_annotation) {
            Some(annotation) if query.is_for(Use::Ids) => {
                self.count_ids(query, annotation, namespace).await.map(Found::Ids)
            }
            _ => self.list(&query.kind, namespace, &query.options).await.map(Found::Objects),
        }
    }

    async fn count_ids(&self, query: &Query, annotation: &str, namespace: Option<&str>) -> Result<IdsInUse, ApiError> {
        let mut ids = IdsInUse::default();
        self.each_item(&Call::list(&query.kind, namespace, &query.options), |text| {
            let item: Item<'_> = serde_json::from_slice(text)?;
            let id = item.metadata.annotations.as_ref().and_then(|annotations| annotations.get(annotation));
            ids.add(id.map(AsRef::as_ref).unwrap_or_default(), query.kind.kind, &item.metadata.namespace);
            Ok(())
        })
        .await?;
        Ok(ids)
    }
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    annotations: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
}
