//! From what was seen to what is removed, or a refusal.

use std::collections::BTreeMap;

use crate::{
    cluster::Cluster,
    contracts::{camel_k, kinds::DEPLOYMENT},
    error::{Error, ObjectRef, Result},
    tenancy::{
        claim::{Claim, Instance, Operation},
        evidence::{Coverage, DeploymentFacts},
        id,
        objects::{manager_of, place_of},
        operators::{Operator, identify, with_id},
        ownership::{Locks, Takes},
        plan::{Step, Write},
        uninstall::{self, Assigned, Deed, Fate, Tie, command_of},
    },
};

use super::{
    definitions::Definitions,
    observe::{Object, Seen},
};

/// What becomes of the claim at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Last {
    /// It goes.
    Delete,
    /// It keeps the id from being used again.
    Tombstone,
    /// It loses a standby.
    Without(Instance),
}

/// Everything a removal does, in its order.
pub struct Plan {
    /// The claim with the operation noted; `None` when nobody holds the id.
    pub begun: Option<Claim>,
    /// Assigned resources and what is done with each.
    pub resources: Vec<(Assigned, Deed)>,
    /// Deployments.
    pub deployments: Vec<Step>,
    /// The other objects kctl made for the operator, then what the operator made itself.
    pub objects: Vec<Step>,
    /// Roles of all operators, when this was the last.
    pub shared: Vec<Step>,
    /// Definitions of Camel K's kinds.
    pub definitions: Vec<Step>,
    /// The claim at the end.
    pub last: Last,
    /// What stays and was not made by kctl.
    pub left: Vec<String>,
}

impl Plan {
    /// Every delete of objects that are not tenants'.
    pub fn deletes(&self) -> impl Iterator<Item = &Step> {
        self.deployments.iter().chain(&self.objects).chain(&self.shared).chain(&self.definitions)
    }

    /// Whether there is nothing to do but to end a claim.
    pub fn is_empty(&self) -> bool {
        self.deletes().next().is_none() && self.resources.iter().all(|(_, deed)| *deed == Deed::Keep)
    }
}

/// The instance that is to go, when it is a standby and not the whole operator.
///
/// # Errors
/// The namespace holds no instance of the id, or the active one while others wait (exit 3 and 5).
pub fn standby(seen: &Seen, id: &str, namespace: Option<&str>) -> Result<Option<Instance>> {
    let Some(namespace) = namespace else { return Ok(None) };
    let Some(claim) = &seen.claim else {
        let elsewhere = seen.own.iter().filter(|(kind, _)| *kind == DEPLOYMENT).map(|(_, object)| place_of(object));
        return match elsewhere.filter_map(|(place, _)| place).find(|place| *place != namespace) {
            Some(place) => Err(not_here(id, namespace, &format!("one is in namespace {place}"), place)),
            None => Ok(None),
        };
    };
    let (active, standbys) = (claim.active(), claim.standbys());
    if let Some(standby) = standbys.iter().find(|standby| standby.namespace == namespace) {
        return Ok(Some(standby.clone()));
    }
    match active {
        Some(active) if active.namespace == namespace && !standbys.is_empty() => Err(Error::refused(
            "HasStandbys",
            format!("{active} is the active instance of operator id {id}, and {} waits for it", standbys[0]),
        )
        .hint(format!("remove all instances: kctl uninstall -x {id}"))
        .hint(format!("make another one active first: kctl switch-active {} -x {id}", standbys[0].namespace))),
        Some(active) if active.namespace != namespace => {
            Err(not_here(id, namespace, &format!("{active} is active"), &active.namespace))
        }
        _ => Ok(None),
    }
}

fn not_here(id: &str, namespace: &str, instead: &str, place: &str) -> Error {
    Error::not_found("NotHere", format!("operator id {id} has no instance in namespace {namespace}; {instead}"))
        .hint(format!("kctl uninstall -x {id} -n {place}"))
}

/// Refuses what kctl did not install, and Deployments that answer to another id than their label says.
///
/// # Errors
/// Both exit 3: the first with the command of the tool that made the operator, the second with the mend.
pub fn check_owner(seen: &Seen, id: &str) -> Result<()> {
    for (_, object) in seen.own.iter().filter(|(kind, _)| *kind == DEPLOYMENT) {
        let (namespace, name) = place_of(object);
        let namespace = namespace.unwrap_or_default();
        let identity =
            DeploymentFacts::parse(&camel_k::FAMILY, object).map(|facts| identify(&facts, &seen.evidence.config_maps));
        if identity.as_ref().is_some_and(|identity| identity.id_known && identity.id == id) {
            continue;
        }
        let says = identity.map_or_else(|| "nothing that can be read".to_owned(), |identity| identity.id);
        return Err(Error::refused(
            "IdMismatch",
            format!("deployment.apps/{name} in namespace {namespace} is labelled {id}, and its environment says {says}: whose it is cannot be told"),
        )
        .object(ObjectRef::new("Deployment", Some(namespace), name))
        .hint(format!("to set its environment right: kctl install -x {id} -n {namespace} --force")));
    }
    let own = |operator: &&Operator| {
        seen.own.iter().any(|(kind, object)| {
            *kind == DEPLOYMENT
                && place_of(object) == (Some(&operator.namespace), operator.deployment.as_deref().unwrap_or_default())
        })
    };
    let there = |operator: &&Operator| operator.deployment_uid.is_some();
    let foreign = with_id(&seen.known, camel_k::NAME, id).filter(there).find(|operator| !own(operator));
    match foreign {
        Some(operator) if seen.own.is_empty() => {
            let object = seen.strangers.iter().find(|(kind, _)| *kind == DEPLOYMENT).map(|(_, object)| object);
            let tool =
                operator.managed_by.clone().filter(|tool| tool != "kctl").unwrap_or_else(|| "another tool".to_owned());
            Err(Error::refused(
                "NotOurs",
                format!("operator {id} ({}) was not installed by kctl but by {tool}", operator.place()),
            )
            .object(ObjectRef::new(
                "Deployment",
                Some(&operator.namespace),
                operator.deployment.clone().unwrap_or_default(),
            ))
            .hint(format!("remove it with its own tool: {}", command_of(operator, object)))
            .hint(format!("its claim goes afterwards: kctl uninstall -x {id}")))
        }
        _ => Ok(()),
    }
}

/// The operator that is to take the resources over, with every resource it would not take refused.
///
/// # Errors
/// It does not exist (exit 5), or would not take them all (exit 3).
pub fn check_target(seen: &Seen, id: &str, fate: &Fate, assigned: &[Assigned], locks: &Locks) -> Result<()> {
    let Fate::Move(to) = fate else { return Ok(()) };
    if to == id {
        return Err(Error::usage(format!("--move-to {to} is the operator that goes")));
    }
    let acting: Vec<&Operator> = with_id(&seen.known, camel_k::NAME, to).filter(|target| target.state.acts()).collect();
    if acting.is_empty() {
        let ids = seen.known.iter().filter(|known| known.state.acts() && known.id != id).map(|known| known.id.as_str());
        let near = id::nearest(to, ids).map(|near| format!("did you mean {near}?"));
        return Err(Error::not_found("OperatorNotFound", format!("there is no operator {to} to move resources to"))
            .hints(near)
            .hint("kctl list-operators"));
    }
    let refused = assigned
        .iter()
        .filter(|one| one.deed(fate) == Deed::Stamp)
        .find(|one| acting.iter().all(|target| uninstall::would_take(target, &one.found.resource, locks) == Takes::No));
    match refused {
        None => Ok(()),
        Some(one) => {
            let resource = &one.found.resource;
            Err(Error::refused(
                "WouldNotTake",
                format!(
                    "operator {to} would not take {}/{} in namespace {}: it does not watch the namespace, or not the kind",
                    resource.kind.result_name(), resource.name, resource.namespace
                ),
            )
            .object(ObjectRef::new(resource.kind.kind, Some(&resource.namespace), &resource.name))
            .hint("kctl list-operators shows what each watches"))
        }
    }
}

/// The whole plan.
///
/// # Errors
/// The claim does not allow it.
pub fn make(
    seen: Seen,
    id: &str,
    fate: &Fate,
    standby: Option<Instance>,
    assigned: Vec<Assigned>,
    operation: &Operation,
) -> Result<Plan> {
    let begun = seen.claim.as_ref().map(|claim| uninstall::begin(claim, id, operation)).transpose()?;
    let last_of_all = standby.is_none() && *fate != Fate::Leave && is_last(&seen, id);
    let left = left(&seen, id, standby.as_ref());
    let (own, traces) = match &standby {
        None => (seen.own, seen.traces),
        Some(standby) => {
            let here = |(_, object): &Object| place_of(object).0 == Some(&standby.namespace);
            let traces = seen.traces.into_iter().filter(here).collect();
            (uninstall::of_instance(seen.own, &standby.namespace), traces)
        }
    };
    let (deployments, objects): (Vec<Step>, Vec<Step>) =
        own.iter().chain(&traces).map(delete).partition(|step| step.kind == DEPLOYMENT);
    let resources = assigned.into_iter().map(|one| (one.deed(fate), one)).map(|(deed, one)| (one, deed)).collect();
    let last = match (standby, fate) {
        (Some(standby), _) => Last::Without(standby),
        (None, Fate::Leave) => Last::Tombstone,
        (None, _) => Last::Delete,
    };
    let shared = if last_of_all { seen.shared.iter().map(delete).collect() } else { Vec::new() };
    Ok(Plan { begun, resources, deployments, objects, shared, definitions: Vec::new(), last, left })
}

/// Whether no other operator is left, and that is certain.
pub fn is_last(seen: &Seen, id: &str) -> bool {
    let all_seen = seen.evidence.deployments_seen == Coverage::All
        && !seen.evidence.unseen.iter().any(|unseen| unseen.source.starts_with("operatorclaims"));
    let other_claim = seen.evidence.claims.iter().any(|claim| claim.family != camel_k::NAME || claim.id != id);
    all_seen && !other_claim && !seen.known.iter().any(|known| known.family == camel_k::NAME && known.id != id)
}

/// What stays behind in the operator's namespaces and was not made by kctl.
fn left(seen: &Seen, id: &str, standby: Option<&Instance>) -> Vec<String> {
    let here = |namespace: Option<&str>| standby.is_none_or(|standby| namespace == Some(&standby.namespace));
    let strangers = seen.strangers.iter().filter(|(_, object)| here(place_of(object).0)).map(|(kind, object)| {
        let (namespace, name) = place_of(object);
        let place = namespace.map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default();
        format!("{}/{name}{place}, made by {}", kind.result_name(), manager_of(object))
    });
    let is_own = |kind: &str, namespace: &str, name: &str| {
        let all = seen.own.iter().chain(&seen.strangers);
        all.into_iter().any(|(own, object)| own.kind == kind && place_of(object) == (Some(namespace), name))
    };
    let platforms = seen.evidence.platforms.iter().filter(|platform| {
        platform.stands_for() == id
            && seen.places.contains(&platform.namespace)
            && here(Some(&platform.namespace))
            && !is_own("IntegrationPlatform", &platform.namespace, &platform.name)
    });
    let platforms = platforms.map(|platform| {
        format!("integrationplatform.camel.apache.org/{} in namespace {}", platform.name, platform.namespace)
    });
    let operators = with_id(&seen.known, camel_k::NAME, id)
        .filter(|operator| {
            operator.deployment_uid.is_some()
                && here(Some(&operator.namespace))
                && !is_own("Deployment", &operator.namespace, operator.deployment.as_deref().unwrap_or_default())
        })
        .map(|operator| format!("deployment.apps {}, which answers to the same id", operator.place()));
    strangers.chain(platforms).chain(operators).collect()
}

fn delete((kind, object): &Object) -> Step {
    let (namespace, name) = place_of(object);
    let uid = object.pointer("/metadata/uid").and_then(serde_json::Value::as_str).unwrap_or_default();
    Step::new(*kind, namespace, name, Write::Delete { uid: uid.to_owned() })
}

/// Whether a tie is of a group.
type IsTie = fn(&Tie) -> bool;

/// The assigned resources, for people: those with the id, and those without one apart.
pub fn describe(id: &str, resources: &[Assigned]) -> Vec<String> {
    let groups: [(&str, IsTie); 4] = [
        ("carry its id", |tie| *tie == Tie::Id),
        ("carry no id, and it alone takes them", |tie| *tie == Tie::Rule),
        ("carry no id, and it may take them: that depends on what is not known", |tie| *tie == Tie::Perhaps),
        ("carry no id, and another operator takes them as well", |tie| matches!(tie, Tie::Shared(_))),
    ];
    let mut lines = Vec::new();
    for (what, is) in groups {
        let mut counts: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for one in resources.iter().filter(|one| is(&one.tie)) {
            let resource = &one.found.resource;
            counts.entry((&resource.namespace, resource.kind.kind)).or_default().push(&resource.name);
        }
        if !counts.is_empty() {
            lines.push(format!("  assigned to {id} ({what}):"));
        }
        for ((namespace, kind), names) in counts {
            let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
            let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
            lines.push(format!("    {} {kind} in namespace {namespace}: {shown}{more}", names.len()));
        }
    }
    lines
}

/// Names shown one by one; more are summed up.
const SHOWN: usize = 8;

/// Reads the locks of the namespaces in which something carries no id.
pub async fn locks(cluster: &Cluster, found: &[uninstall::Found]) -> Result<Locks> {
    let unannotated = found.iter().filter(|found| found.resource.id.is_none());
    Ok(cluster.locks(unannotated.map(|found| found.resource.namespace.as_str())).await?)
}

/// Takes the definitions into the plan.
///
/// # Errors
/// Something of their kinds would be lost, or another operator needs them (exit 3).
pub fn add_definitions(plan: &mut Plan, definitions: Definitions, last: bool) -> Result<()> {
    if !last {
        return Err(Error::refused(
            "InUse",
            "the definitions cannot go: another operator is there, or may be there unseen",
        )
        .hint("kctl list-operators"));
    }
    let stamped = plan.resources.iter().filter(|(_, deed)| *deed == Deed::Delete);
    let deleted: Vec<Step> = stamped
        .map(|(one, _)| {
            let resource = &one.found.resource;
            Step::new(resource.kind, Some(&resource.namespace), &resource.name, Write::Delete { uid: String::new() })
        })
        .collect();
    let definitions = definitions.without(plan.deletes().chain(&deleted));
    definitions.refuse_used()?;
    plan.left
        .extend(definitions.foreign.iter().map(|name| format!("customresourcedefinition.apiextensions.k8s.io/{name}")));
    plan.definitions = definitions.steps;
    Ok(())
}
