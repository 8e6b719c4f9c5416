//! Checks that the Kamelets of a binding exist and have the properties it sets.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;

use crate::{
    cluster::{Cluster, kamelets::Sought},
    commands::Session,
    error::{Error, ObjectRef, Result},
    manifests::{
        endpoint::{Endpoint, Place, Reference},
        kamelet::Faults,
        pipe::{Api, Draft},
    },
    tenancy::{id::nearest, operators::Operator},
};

/// Looks each Kamelet up in the namespace of its reference and in that of the operator.
///
/// # Errors
/// One is certainly nowhere (exit 5), or a property is missing or unknown (exit 2). What cannot be looked at is a warning.
pub async fn check(
    session: &Session<'_>,
    cluster: &Cluster,
    draft: &Draft,
    api: Api,
    operators: &[&Operator],
) -> Result<()> {
    let ends: Vec<(Place, &Endpoint, &Reference)> =
        draft.endpoints().filter_map(|(place, endpoint)| Some((place, endpoint, endpoint.kamelet()?))).collect();
    let kind = api.kamelet();
    let lookups = ends.iter().map(|(_, _, reference)| {
        let namespaces = namespaces(cluster, reference, operators);
        async move { cluster.kamelet(&kind, &reference.name, &namespaces).await }
    });
    let found = try_join_all(lookups).await?;
    let mut faults = Faults::default();
    for ((place, endpoint, reference), sought) in ends.into_iter().zip(found) {
        let name = &reference.name;
        match sought {
            Sought::Found(kamelet) => faults.look(place, endpoint, &kamelet),
            Sought::NotServed => {
                session.ui.warn("kamelets are not checked: the cluster does not serve them");
                break;
            }
            Sought::Hidden(namespace) => session.ui.warn(&format!(
                "{place}: kamelet {name} is not checked: you may not read those of namespace {namespace}"
            )),
            Sought::Absent(_) if operators.is_empty() => session.ui.warn(&format!(
                "{place}: kamelet {name} is not in namespace {}; whether its operator has it cannot be seen",
                place_of(cluster, reference)
            )),
            // A dump of some kinds of objects says nothing of the others.
            Sought::Absent(others) if others.is_empty() && cluster.is_snapshot() => session
                .ui
                .warn(&format!("{place}: kamelet {name} is not checked: there are no kamelets in the snapshot")),
            Sought::Absent(others) => return Err(absent(cluster, place, reference, operators, &others)),
        }
    }
    faults.into_result()
}

fn place_of<'a>(cluster: &'a Cluster, reference: &'a Reference) -> &'a str {
    reference.namespace.as_deref().unwrap_or_else(|| cluster.namespace())
}

/// The namespaces to look in: first that of the reference.
fn namespaces<'a>(cluster: &'a Cluster, reference: &'a Reference, operators: &'a [&Operator]) -> Vec<&'a str> {
    let first = place_of(cluster, reference);
    let own: BTreeSet<&str> = operators.iter().map(|operator| operator.namespace.as_str()).collect();
    [first].into_iter().chain(own.into_iter().filter(|namespace| *namespace != first)).collect()
}

fn absent(cluster: &Cluster, place: Place, reference: &Reference, operators: &[&Operator], others: &[String]) -> Error {
    let name = &reference.name;
    let namespaces = namespaces(cluster, reference, operators);
    let text = format!("{place}: there is no kamelet {name} in namespace {}", namespaces.join(" or "));
    let error = Error::not_found("KameletNotFound", text).object(ObjectRef::new("Kamelet", Some(namespaces[0]), name));
    let error = match nearest(name, others.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error.hint(format!("kubectl get kamelets -n {}", namespaces.last().unwrap_or(&namespaces[0]))),
    };
    error.hint("a Camel URI has a colon, as in log:info").hint("--skip-checks writes it nevertheless")
}
