//! What a removal must know of the cluster: the operator's objects, the traces it leaves, and what is assigned to it.

use std::collections::BTreeSet;

use futures_util::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde_json::{Value, json};

use crate::{
    cluster::{ApiError, Call, Cluster, ListOptions, Observe},
    contracts::{
        FAMILIES, camel_k,
        kinds::{
            CAMEL_CATALOG, CLUSTER_ROLE, CLUSTER_ROLE_BINDING, DEPLOYMENT, INTEGRATION_PLATFORM, KAMELET, Kind, LEASE,
            OPERATOR_CLAIM, ROLE, ROLE_BINDING, SECRET, SERVICE_ACCOUNT,
        },
    },
    error::Result,
    manifests::operator::{ID_LABEL, SHARED_LABEL},
    tenancy::{
        claim::{self, Claim},
        evidence::Evidence,
        objects::{Mark, is_own, place_of},
        operators::{Operator, operators, with_id},
        ownership::Resource,
        uninstall::Found,
    },
};

/// Requests under way at once.
const AT_ONCE: usize = 8;
/// What an install makes, in the order in which a removal deletes it: roles before their bindings.
const MADE: [Kind; 7] =
    [DEPLOYMENT, INTEGRATION_PLATFORM, ROLE, ROLE_BINDING, CLUSTER_ROLE, CLUSTER_ROLE_BINDING, SERVICE_ACCOUNT];
/// What operators make to build in a namespace, under one name for all of them.
const BUILDER: &str = "camel-k-builder";
/// Label of the Kamelets that an operator brings along.
const BUNDLED: &str = "camel.apache.org/kamelet.bundled=true";

/// An object with its kind.
pub type Object = (Kind, Value);

/// What was seen.
pub struct Seen {
    /// The claim of the id.
    pub claim: Option<Claim>,
    /// What tells of operators.
    pub evidence: Evidence,
    /// The operators that it tells of.
    pub known: Vec<Operator>,
    /// Namespaces in which an instance of the operator is, or was.
    pub places: BTreeSet<String>,
    /// Objects of the operator that kctl made.
    pub own: Vec<Object>,
    /// Objects that carry the id's label and were not made by kctl.
    pub strangers: Vec<Object>,
    /// What the operator itself has made beside its resources.
    pub traces: Vec<Object>,
    /// Roles that kctl made for all operators.
    pub shared: Vec<Object>,
    /// What may not be read, as in `secrets in namespace ops`.
    pub blind: Vec<String>,
}

/// Reads everything about one id; `named` is a namespace the user has said.
pub async fn cluster(cluster: &Cluster, id: &str, named: Option<&str>) -> Result<Seen> {
    let claim_name = claim::name(camel_k::NAME, id);
    let wish = Observe { families: FAMILIES.to_vec(), count_ids: false, leases_of: Some(id.to_owned()) };
    let (claim, evidence) =
        tokio::try_join!(read_claim(cluster, &claim_name), async { Ok(cluster.observe(&wish).await?) })?;
    let known = operators(&evidence, cluster.server_time());
    let mut places: BTreeSet<String> = named.map(str::to_owned).into_iter().collect();
    let instances = claim.iter().flat_map(|claim| claim.active().into_iter().chain(claim.standbys()));
    places.extend(instances.map(|instance| instance.namespace));
    places.extend(with_id(&known, camel_k::NAME, id).map(|operator| operator.namespace.clone()));
    let mut blind = Vec::new();
    let (own, strangers) = made(cluster, id, &mut places, &mut blind).await?;
    let traces = traces(cluster, id, &places, &known, &mut blind).await?;
    let shared = shared(cluster).await?;
    Ok(Seen { claim, evidence, known, places, own, strangers, traces, shared, blind })
}

/// The claim of that name; a cluster without claims has none.
pub async fn read_claim(cluster: &Cluster, name: &str) -> Result<Option<Claim>> {
    match cluster.get(&OPERATOR_CLAIM, None, name).await {
        Err(error) if error.is_kind_missing() => Ok(None),
        found => Ok(found?.map(Claim::read)),
    }
}

/// Objects with the id's label: those that kctl made, and others.
pub async fn made(
    cluster: &Cluster,
    id: &str,
    places: &mut BTreeSet<String>,
    blind: &mut Vec<String>,
) -> Result<(Vec<Object>, Vec<Object>)> {
    let options = ListOptions::labelled(format!("{ID_LABEL}={id}"));
    let lists: Vec<_> = stream::iter(MADE)
        .map(async |kind| (kind, cluster.list(&kind, None, &options).await))
        .buffered(AT_ONCE)
        .collect()
        .await;
    let mut found = Vec::new();
    for (kind, answer) in lists {
        match answer {
            Err(error) if error.is_forbidden() && kind.namespaced => {
                blind.push(format!("{} outside of {}", kind.qualified_plural(), names(places)));
                for namespace in places.iter() {
                    let answer = cluster.list(&kind, Some(namespace), &options).await;
                    let items =
                        readable(answer, blind, &format!("{} in namespace {namespace}", kind.qualified_plural()))?;
                    found.extend(items.into_iter().flatten().map(|object| (kind, object)));
                }
            }
            answer => {
                let items = readable(answer, blind, &kind.qualified_plural())?;
                found.extend(items.into_iter().flatten().map(|object| (kind, object)));
            }
        }
    }
    let deployments = found.iter().filter(|(kind, _)| *kind == DEPLOYMENT);
    places.extend(deployments.filter_map(|(_, object)| place_of(object).0.map(str::to_owned)));
    for namespace in places.iter() {
        // Metadata only: whose the Secret is does not stand in its data.
        let call = Call::on(Method::GET, &SECRET, Some(namespace), &format!("{id}-install"), "get").metadata_only();
        let secret = readable(cluster.call(&call).await, blind, &format!("secrets in namespace {namespace}"))?;
        found.extend(secret.map(|secret| (SECRET, secret)));
    }
    let mark = Mark { label: ID_LABEL, value: Some(id) };
    Ok(found.into_iter().partition(|(_, object)| is_own(object, mark)))
}

/// What the operator has made for itself: its lease, its catalogs, its bundled Kamelets, and what it builds with.
///
/// What operators share in a namespace is theirs as long as another one lives in the namespace or watches it.
async fn traces(
    cluster: &Cluster,
    id: &str,
    places: &BTreeSet<String>,
    known: &[Operator],
    blind: &mut Vec<String>,
) -> Result<Vec<Object>> {
    let mut found = Vec::new();
    for namespace in places {
        let alone = known.iter().all(|other| {
            other.family != camel_k::NAME
                || (other.id_known && other.id == id)
                || (other.namespace != *namespace && other.watches(namespace) == Some(false))
        });
        let mut named = vec![(LEASE, camel_k::FAMILY.lease.of(id))];
        if alone {
            named.extend([SERVICE_ACCOUNT, ROLE, ROLE_BINDING].map(|kind| (kind, BUILDER.to_owned())));
        }
        for (kind, name) in named {
            let what = format!("{} in namespace {namespace}", kind.qualified_plural());
            let object = readable(cluster.get(&kind, Some(namespace), &name).await, blind, &what)?.flatten();
            found.extend(
                object
                    .filter(|object| kind == LEASE || label(object, camel_k::APP) == Some(camel_k::APP_CAMEL_K))
                    .map(|object| (kind, object)),
            );
        }
        for (kind, selector) in [(CAMEL_CATALOG, None), (KAMELET, Some(BUNDLED.to_owned()))] {
            let options = ListOptions { labels: selector, metadata_only: true, ..ListOptions::default() };
            let what = format!("{} in namespace {namespace}", kind.qualified_plural());
            let items = readable(cluster.list(&kind, Some(namespace), &options).await, blind, &what)?;
            let of_operator = |object: &Value| match annotated_id(object) {
                "" => kind == KAMELET && alone,
                carried => carried == id,
            };
            found.extend(items.into_iter().flatten().filter(of_operator).map(|object| (kind, object)));
        }
    }
    Ok(found)
}

/// Roles that kctl made for all operators; what may not be read stays.
async fn shared(cluster: &Cluster) -> Result<Vec<Object>> {
    let options = ListOptions::labelled(format!("{SHARED_LABEL}=roles"));
    let mut found = Vec::new();
    for kind in [CLUSTER_ROLE_BINDING, CLUSTER_ROLE] {
        let items = readable(cluster.list(&kind, None, &options).await, &mut Vec::new(), "")?;
        let own = |object: &Value| is_own(object, Mark { label: SHARED_LABEL, value: None });
        found.extend(items.into_iter().flatten().filter(own).map(|object| (kind, object)));
    }
    Ok(found)
}

/// Tenants' resources that carry the id or none, and what of them could not be listed.
pub async fn resources(cluster: &Cluster, id: &str, places: &BTreeSet<String>) -> Result<(Vec<Found>, Vec<String>)> {
    let registry = camel_k::FAMILY.registry.map(|registry| registry.kind);
    let kinds = camel_k::FAMILY
        .resources
        .iter()
        .filter(|entry| entry.counted && Some(entry.kind) != registry && entry.kind != CAMEL_CATALOG)
        .map(|entry| entry.kind);
    let lists: Vec<_> = stream::iter(kinds)
        .map(async |kind| Ok::<_, ApiError>((kind, listed(cluster, kind, None, id).await)))
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    let (mut found, mut blind) = (Vec::new(), Vec::new());
    for (kind, answer) in lists {
        let forbidden = matches!(&answer, Err(error) if error.is_forbidden());
        found.extend(readable(answer, &mut blind, &kind.qualified_plural())?.into_iter().flatten());
        if forbidden {
            for namespace in places {
                let answer = listed(cluster, kind, Some(namespace), id).await;
                found.extend(readable(answer, &mut Vec::new(), "")?.into_iter().flatten());
            }
        }
    }
    // What a Pipe has made follows the Pipe.
    found.sort_by_key(|found: &Found| (found.resource.kind.kind == "Integration", found.resource.namespace.clone()));
    Ok((found, blind))
}

async fn listed(cluster: &Cluster, kind: Kind, namespace: Option<&str>, id: &str) -> Result<Vec<Found>, ApiError> {
    let mut found = Vec::new();
    let options = ListOptions { metadata_only: true, ..ListOptions::default() };
    cluster
        .each_item(&Call::list(&kind, namespace, &options), |text| {
            let object: Value = serde_json::from_slice(text)?;
            let carried = annotated_id(&object);
            if carried.is_empty() || carried == id {
                found.push(of(kind, &object));
            }
            Ok(())
        })
        .await?;
    Ok(found)
}

/// A resource, with as much of its object as a write needs.
pub fn of(kind: Kind, object: &Value) -> Found {
    let (namespace, name) = place_of(object);
    let carried = annotated_id(object);
    let metadata = |key: &str| object.pointer(&format!("/metadata/{key}")).cloned().unwrap_or_default();
    Found {
        resource: Resource {
            kind,
            namespace: namespace.unwrap_or_default().to_owned(),
            name: name.to_owned(),
            id: (!carried.is_empty()).then(|| carried.to_owned()),
        },
        object: json!({"metadata": {"uid": metadata("uid"), "resourceVersion": metadata("resourceVersion")}}),
    }
}

/// The operator id that an object carries; empty for none.
pub fn annotated_id(object: &Value) -> &str {
    let annotations = object.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(camel_k::OPERATOR_ID)).and_then(Value::as_str).unwrap_or_default()
}

fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.pointer("/metadata/labels").and_then(|all| all.get(key)).and_then(Value::as_str)
}

/// What may be read. Absent objects and kinds are none; what is forbidden is noted.
pub fn readable<T>(answer: Result<T, ApiError>, blind: &mut Vec<String>, what: &str) -> Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_kind_missing() || error.is_not_found() => Ok(None),
        Err(error) if error.is_forbidden() => {
            blind.push(what.to_owned());
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn names(places: &BTreeSet<String>) -> String {
    if places.is_empty() {
        return "any namespace".to_owned();
    }
    format!("namespace {}", places.iter().cloned().collect::<Vec<_>>().join(", "))
}
