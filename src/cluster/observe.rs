//! Reads everything that tells about operators, side by side, and tolerates what it may not see.
//!
//! A list that is forbidden for the whole cluster is read again in the namespaces that matter to the caller: the one
//! commands work in and those that claims name. What stays unread is part of the evidence. A kind that is not served
//! has no objects, so nothing goes unseen. Secrets are never read.

mod locks;
mod queries;

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};
use serde_json::Value;

use self::queries::{Found, Query, Use};
use super::{ApiError, Cluster, ListOptions};
use crate::{
    contracts::{
        Family, is_dns_label, is_dns_subdomain,
        kinds::{CONFIG_MAP, DEPLOYMENT, Kind, LEASE, OPERATOR_CLAIM},
    },
    tenancy::{
        env::ConfigMaps,
        evidence::{ClaimFacts, Coverage, Evidence, LeaseFacts, PointerState, Unseen},
        operators::lease_places,
        switch::pointer::Pointer,
    },
};

/// Requests under way at once: each is a connection of its own.
const AT_ONCE: usize = 8;

/// What to look at.
#[derive(Clone, Debug)]
pub struct Observe {
    /// The families to look for.
    pub families: Vec<&'static Family>,
    /// Whether to go through all resources and count the ids they carry.
    pub count_ids: bool,
    /// Read the Leases of this id only: each is a request of its own.
    pub leases_of: Option<String>,
}

/// Deployments and claims that a label selector matches.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    /// Namespace and name of Deployments.
    pub deployments: BTreeSet<(String, String)>,
    /// Family and id of claims.
    pub claims: BTreeSet<(String, String)>,
}

impl Cluster {
    /// Reads the evidence about operators.
    pub async fn observe(&self, what: &Observe) -> Result<Evidence, ApiError> {
        let mut seen = Seen::default();
        let queries = queries::of(what);
        let (answers, pointers) = tokio::try_join!(self.everywhere(queries), self.pointers(&what.families))?;
        let mut again = Vec::new();
        for (query, answer) in answers {
            if let Some(reason) = seen.take(&query, None, answer)? {
                seen.unseen.push(unseen(&query.kind, None, reason));
                again.push(query);
            }
        }
        for (family, state, refused, switch) in pointers {
            seen.evidence.pointers.insert(family, state);
            seen.evidence.switches.extend(switch.map(|switch| (family, switch)));
            seen.unseen.extend(refused);
        }
        if !again.is_empty() {
            self.in_namespaces(&again, &mut seen).await?;
        }
        self.config_maps(&mut seen).await?;
        self.leases(what, &mut seen).await?;
        Ok(seen.finish())
    }

    async fn everywhere(&self, queries: Vec<Query>) -> Result<Vec<(Query, Result<Found, ApiError>)>, ApiError> {
        let answers = stream::iter(queries).map(async |query| {
            let answer = self.ask(&query, None).await;
            (query, answer)
        });
        Ok(answers.buffered(AT_ONCE).collect().await)
    }

    /// Asks again what was forbidden for the whole cluster, namespace by namespace.
    async fn in_namespaces(&self, queries: &[Query], seen: &mut Seen) -> Result<(), ApiError> {
        let mut namespaces = seen.named_namespaces();
        namespaces.insert(self.namespace().to_owned());
        let questions = queries
            .iter()
            .filter(|query| query.kind.namespaced)
            .flat_map(|query| namespaces.iter().map(move |namespace| (query, namespace.as_str())));
        let answers: Vec<_> = stream::iter(questions)
            .map(async |(query, namespace)| (query, namespace, self.ask(query, Some(namespace)).await))
            .buffered(AT_ONCE)
            .collect()
            .await;
        let mut blind = BTreeSet::new();
        for (query, namespace, answer) in answers {
            if let Some(reason) = seen.take(query, Some(namespace), answer)? {
                seen.unseen.push(unseen(&query.kind, Some(namespace), reason));
                if query.is_for(Use::Deployment) {
                    blind.insert(namespace);
                }
            }
        }
        if queries.iter().any(|query| query.is_for(Use::Deployment)) {
            let read = namespaces.iter().filter(|name| !blind.contains(name.as_str())).cloned();
            seen.evidence.deployments_seen = Coverage::Namespaces(read.collect());
        }
        Ok(())
    }

    async fn pointers(
        &self,
        families: &[&'static Family],
    ) -> Result<Vec<(&'static str, PointerState, Option<Unseen>, Option<Value>)>, ApiError> {
        let mut states = Vec::new();
        for family in families {
            let Some(pointer) = family.pointer else { continue };
            let mut switch = None;
            let (state, refused) = match self.get(&pointer.kind, Some(pointer.namespace), pointer.name).await {
                Ok(None) => (PointerState::Absent, None),
                Ok(Some(object)) => {
                    let value = object.get("data").and_then(|data| data.get(pointer.key)).and_then(Value::as_str);
                    let state = PointerState::Says(value.unwrap_or_default().to_owned());
                    switch = Pointer::read(Some(object)).operation();
                    (state, None)
                }
                Err(error) if error.is_forbidden() => {
                    let refused = unseen(&pointer.kind, Some(pointer.namespace), error.message());
                    (PointerState::Unseen, Some(refused))
                }
                Err(error) => return Err(error),
            };
            states.push((family.name, state, refused, switch));
        }
        Ok(states)
    }

    /// The `ConfigMap`s that operators take their environment from, by name.
    async fn config_maps(&self, seen: &mut Seen) -> Result<(), ApiError> {
        let of_deployments = seen.evidence.deployments.iter().flat_map(|deployment| {
            deployment.environment.config_maps().into_iter().map(|name| (deployment.namespace.clone(), name.to_owned()))
        });
        let of_subscriptions = seen.evidence.subscriptions.iter().flat_map(|found| {
            found.environment.config_maps().into_iter().map(|name| (found.namespace.clone(), name.to_owned()))
        });
        let wanted: BTreeSet<_> = of_deployments.chain(of_subscriptions).collect();
        let mut maps = ConfigMaps::new();
        for (place, answer) in self.each(&CONFIG_MAP, wanted).await {
            match answer {
                Ok(object) => {
                    maps.insert(place, object.as_ref().map(data));
                }
                Err(error) if error.is_forbidden() => {
                    seen.unseen.push(unseen(&CONFIG_MAP, Some(&place.0), error.message()));
                }
                Err(error) => return Err(error),
            }
        }
        seen.evidence.config_maps = maps;
        Ok(())
    }

    /// The Leases that operators would hold, by name: metadata does not tell who holds one.
    async fn leases(&self, what: &Observe, seen: &mut Seen) -> Result<(), ApiError> {
        let mut places = lease_places(&seen.evidence);
        if let Some(id) = &what.leases_of {
            let names: Vec<String> = what.families.iter().map(|family| family.lease.of(id)).collect();
            places.retain(|(_, name)| names.contains(name));
        }
        let mut leases = Vec::new();
        for ((namespace, _), answer) in self.each(&LEASE, places).await {
            match answer {
                Ok(object) => leases.extend(object.as_ref().and_then(LeaseFacts::parse)),
                Err(error) if error.is_forbidden() => {
                    seen.unseen.push(unseen(&LEASE, Some(&namespace), error.message()));
                }
                Err(error) => return Err(error),
            }
        }
        seen.evidence.leases = leases;
        Ok(())
    }

    /// Objects by name. Names that no object can have are left out: they come from the cluster and go into a path.
    async fn each(
        &self,
        kind: &Kind,
        places: BTreeSet<(String, String)>,
    ) -> Vec<((String, String), Result<Option<Value>, ApiError>)> {
        let named = places.into_iter().filter(|(namespace, name)| is_dns_label(namespace) && is_dns_subdomain(name));
        stream::iter(named)
            .map(async |place| {
                let answer = self.get(kind, Some(&place.0), &place.1).await;
                (place, answer)
            })
            .buffered(AT_ONCE)
            .collect()
            .await
    }

    /// Which operators' Deployments and claims a label selector matches.
    pub async fn select(&self, families: &[&'static Family], selector: &str) -> Result<Selected, ApiError> {
        let options = |own: Option<String>| ListOptions {
            labels: Some(own.map_or_else(|| selector.to_owned(), |own| format!("{own},{selector}"))),
            metadata_only: true,
            ..ListOptions::default()
        };
        let mut selected = Selected::default();
        for query in queries::deployments(families) {
            let mut options = options(query.options.labels.clone());
            options.fields.clone_from(&query.options.fields);
            let found = match self.list(&DEPLOYMENT, None, &options).await {
                Err(error) if error.is_forbidden() => {
                    readable(self.list(&DEPLOYMENT, Some(self.namespace()), &options).await)?.unwrap_or_default()
                }
                answer => answer?,
            };
            selected.deployments.extend(found.iter().filter_map(place));
        }
        let claims = readable(self.list(&OPERATOR_CLAIM, None, &options(None)).await)?.unwrap_or_default();
        selected.claims = claims
            .iter()
            .filter_map(|claim| place(claim)?.1.split_once('.').map(|(family, id)| (family.to_owned(), id.to_owned())))
            .collect();
        Ok(selected)
    }
}

/// Evidence while it is gathered.
#[derive(Default)]
struct Seen {
    evidence: Evidence,
    unseen: Vec<Unseen>,
}

impl Seen {
    /// Takes an answer in. A refusal is given back in the server's words; a kind that is not served is an empty list.
    #[allow(clippy::result_large_err, reason = "an error is passed on at most once a command")]
    fn take(
        &mut self,
        query: &Query,
        namespace: Option<&str>,
        answer: Result<Found, ApiError>,
    ) -> Result<Option<String>, ApiError> {
        match answer {
            Ok(found) => query.add(found, &mut self.evidence),
            Err(error) if error.is_kind_missing() => {}
            Err(error) if error.is_forbidden() => return Ok(Some(error.message())),
            // A namespace that ends while it is read has nothing to tell.
            Err(error) if namespace.is_some() && error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    /// Namespaces that claims and pointers name.
    fn named_namespaces(&self) -> BTreeSet<String> {
        let places = |claim: &ClaimFacts| {
            claim.active.iter().chain(&claim.standbys).map(|place| place.namespace.clone()).collect::<Vec<_>>()
        };
        let pointed = self.evidence.pointers.values().filter_map(|pointer| match pointer {
            PointerState::Says(namespace) => Some(namespace.clone()),
            _ => None,
        });
        let named = self.evidence.claims.iter().flat_map(places).chain(pointed);
        named.filter(|namespace| is_dns_label(namespace)).collect()
    }

    fn finish(self) -> Evidence {
        // One refusal for each source and place; the names in the server's words differ.
        let mut unseen: BTreeMap<_, Unseen> = BTreeMap::new();
        for one in self.unseen {
            unseen.entry((one.source.clone(), one.namespace.clone())).or_insert(one);
        }
        Evidence { unseen: unseen.into_values().collect(), ..self.evidence }
    }
}

fn unseen(kind: &Kind, namespace: Option<&str>, reason: String) -> Unseen {
    Unseen { source: kind.qualified_plural(), namespace: namespace.map(str::to_owned), reason }
}

/// The answer, or `None` when it was refused. What is not served is empty.
#[allow(clippy::result_large_err, reason = "an error is passed on at most once a command")]
fn readable<T: Default>(answer: Result<T, ApiError>) -> Result<Option<T>, ApiError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_kind_missing() => Ok(Some(T::default())),
        Err(error) if error.is_forbidden() => Ok(None),
        Err(error) => Err(error),
    }
}

fn data(object: &Value) -> BTreeMap<String, String> {
    let entries = object.get("data").and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn place(object: &Value) -> Option<(String, String)> {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str);
    Some((text("/metadata/namespace").unwrap_or_default().to_owned(), text("/metadata/name")?.to_owned()))
}
