//! The rules of a removal: what is assigned to an operator, what becomes of it, and the last states of its claim.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    contracts::kinds::{CLUSTER_ROLE, CLUSTER_ROLE_BINDING, Kind, ROLE, ROLE_BINDING},
    error::{Error, ObjectRef, Result},
};

use super::{
    claim::{Claim, Instance, Operation},
    install::busy,
    operators::Operator,
    ownership::{self, Locks, Resource, Takes},
};

/// The type of the operation on a claim.
pub const UNINSTALL: &str = "uninstall";

/// What is to become of the resources of an operator that goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nobody has said.
    Unsaid,
    /// Another operator takes them.
    Move(String),
    /// They stay as they are.
    Leave,
    /// They are deleted.
    Delete,
}

impl Fate {
    /// The flag that says so, with a blank in front.
    pub fn flag(&self) -> String {
        match self {
            Self::Unsaid => String::new(),
            Self::Move(to) => format!(" --move-to {to}"),
            Self::Leave => " --leave".to_owned(),
            Self::Delete => " --delete-resources".to_owned(),
        }
    }
}

/// A tenant's resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What ownership turns on.
    pub resource: Resource,
    /// The object as it was observed; metadata is enough.
    pub object: Value,
}

/// How a resource is assigned to the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tie {
    /// It carries the operator's id.
    Id,
    /// It carries none, and this operator alone takes it.
    Rule,
    /// It carries none, and whether this operator takes it depends on what is not known.
    Perhaps,
    /// It carries none, and these operators take it as well.
    Shared(Vec<String>),
}

/// A resource that is assigned to the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Assigned {
    /// Which.
    pub found: Found,
    /// How.
    pub tie: Tie,
}

/// What is done with an assigned resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Stamp it with the id of the operator it moves to.
    Stamp,
    /// Delete it.
    Delete,
    /// Nothing.
    Keep,
}

impl Assigned {
    /// Whether it is without an operator once this one is gone.
    pub fn is_stranded(&self) -> bool {
        !matches!(self.tie, Tie::Shared(_))
    }

    /// What a fate means for it. What somebody else takes, or may take, is never deleted.
    pub fn deed(&self, fate: &Fate) -> Deed {
        match (fate, &self.tie) {
            (Fate::Move(to), Tie::Shared(others)) if !others.contains(to) => Deed::Keep,
            (Fate::Move(_), _) => Deed::Stamp,
            (Fate::Delete, Tie::Id | Tie::Rule) => Deed::Delete,
            _ => Deed::Keep,
        }
    }
}

/// What is assigned to the operator of an id: all that carries it, and what the rule gives it.
pub fn assigned(id: &str, found: Vec<Found>, operators: &[Operator], locks: &Locks) -> Vec<Assigned> {
    let tie = |found: &Found| match found.resource.id.as_deref().unwrap_or_default() {
        "" => by_rule(id, &found.resource, operators, locks),
        carried => (carried == id).then_some(Tie::Id),
    };
    found.into_iter().filter_map(|found| Some(Assigned { tie: tie(&found)?, found })).collect()
}

fn by_rule(id: &str, resource: &Resource, operators: &[Operator], locks: &Locks) -> Option<Tie> {
    let decision = ownership::decide(resource, operators, locks);
    let ours = |takes: Takes| decision.verdicts.iter().any(|verdict| verdict.id == id && verdict.takes == takes);
    let mut others: Vec<String> =
        decision.takers().filter(|verdict| verdict.id != id).map(|verdict| verdict.id.clone()).collect();
    others.dedup();
    match (ours(Takes::Yes), ours(Takes::Depends)) {
        (false, false) => None,
        _ if !others.is_empty() => Some(Tie::Shared(others)),
        (true, _) if decision.others(id).next().is_none() => Some(Tie::Rule),
        _ => Some(Tie::Perhaps),
    }
}

/// Whether an operator will take a resource once it carries that operator's id.
pub fn would_take(target: &Operator, resource: &Resource, locks: &Locks) -> Takes {
    let stamped = Resource { id: Some(target.id.clone()), ..resource.clone() };
    let decision = ownership::decide(&stamped, std::slice::from_ref(target), locks);
    decision.verdicts.first().map_or(Takes::No, |verdict| verdict.takes)
}

/// The claim with the removal noted on it.
///
/// An install or take-over that was not finished is undone this way, too; whoever carries it out loses the claim.
///
/// # Errors
/// The id was renamed, or another operation is under way (exit 3).
pub fn begin(claim: &Claim, id: &str, operation: &Operation) -> Result<Claim> {
    let name = claim.object().pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let object = ObjectRef::new("OperatorClaim", None, name);
    if let Some(to) = claim.renamed_to().filter(|to| !to.is_empty()) {
        return Err(Error::refused("IdRetired", format!("operator id {id} was renamed to {to}"))
            .object(object)
            .hint(format!("kctl uninstall -x {to}")));
    }
    match claim.operation() {
        Some(under_way) if !matches!(under_way.kind.as_str(), UNINSTALL | "install" | "take-over") => {
            Err(busy(id, &under_way).object(object))
        }
        _ => Ok(claim.begin(operation)),
    }
}

/// The claim of an operator that is gone while its resources stay: nobody gets the id by accident.
pub fn tombstone(claim: &Claim, now: Timestamp) -> Claim {
    let mut next = claim.finish("", now).object().clone();
    if let Some(spec) = next["spec"].as_object_mut() {
        spec.remove("active");
        spec.remove("standbys");
        spec.insert("renamedTo".into(), json!(""));
    }
    Claim::read(next)
}

/// A tombstone for an id that was never claimed.
pub fn new_tombstone(family: &str, id: &str, operation: &Operation, now: Timestamp) -> Claim {
    tombstone(&Claim::new(family, id, &Instance::new("none", "none"), operation, &[]), now)
}

/// The claim without one of its standbys, the operation ended.
pub fn without_standby(claim: &Claim, standby: &Instance, now: Timestamp) -> Claim {
    let uid = claim.object().pointer("/spec/active/uid").cloned();
    let mut next = claim.finish("", now).object().clone();
    let entry = |other: &Value| {
        other["namespace"] == standby.namespace.as_str() && other["deployment"] == standby.deployment.as_str()
    };
    if let Some(standbys) = next.pointer_mut("/spec/standbys").and_then(Value::as_array_mut) {
        standbys.retain(|other| !entry(other));
    }
    if let Some(active) = next.pointer_mut("/spec/active").and_then(Value::as_object_mut) {
        match uid {
            Some(uid) => active.insert("uid".into(), uid),
            None => active.remove("uid"),
        };
    }
    Claim::read(next)
}

/// Of an operator's objects those that one of its instances needs, by the instance's namespace.
///
/// Roles may lie in watched namespaces or in the whole cluster: the subject of their binding tells whose they are. Roles
/// are therefore deleted before their bindings, so that a removal that was interrupted still finds both.
pub fn of_instance(objects: Vec<(Kind, Value)>, namespace: &str) -> Vec<(Kind, Value)> {
    let text = |object: &Value, path: &str| object.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let is_binding = |kind: &Kind| *kind == ROLE_BINDING || *kind == CLUSTER_ROLE_BINDING;
    let bound = |object: &Value| text(object, "/subjects/0/namespace").as_deref() == Some(namespace);
    let roles: Vec<_> = objects
        .iter()
        .filter(|(kind, object)| is_binding(kind) && bound(object))
        .map(|(_, object)| (text(object, "/metadata/namespace"), text(object, "/roleRef/name")))
        .collect();
    objects
        .into_iter()
        .filter(|(kind, object)| match *kind {
            ROLE_BINDING | CLUSTER_ROLE_BINDING => bound(object),
            ROLE | CLUSTER_ROLE => {
                roles.contains(&(text(object, "/metadata/namespace"), text(object, "/metadata/name")))
            }
            _ => text(object, "/metadata/namespace").as_deref() == Some(namespace),
        })
        .collect()
}

/// The command with which the tool that made an operator removes it.
pub fn command_of(operator: &Operator, deployment: Option<&Value>) -> String {
    let annotation = |key: &str| {
        let all = deployment.and_then(|object| object.pointer("/metadata/annotations"));
        all.and_then(|all| all.get(key)).and_then(Value::as_str)
    };
    let (namespace, name) = (&operator.namespace, operator.deployment.as_deref().unwrap_or_default());
    match operator.managed_by.as_deref() {
        Some("helm") => {
            let release = annotation("meta.helm.sh/release-name").unwrap_or("RELEASE");
            let namespace = annotation("meta.helm.sh/release-namespace").unwrap_or(namespace);
            format!("helm uninstall {release} -n {namespace}")
        }
        Some("argo") => {
            let tracking = annotation("argocd.argoproj.io/tracking-id").unwrap_or("APPLICATION");
            format!("argocd app delete {}", tracking.split(':').next().unwrap_or(tracking))
        }
        Some("olm") => {
            format!("kubectl delete subscriptions.operators.coreos.com,clusterserviceversions -n {namespace} NAME")
        }
        _ => format!("kubectl delete deployment {name} -n {namespace}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        contracts::kinds::{DEPLOYMENT, INTEGRATION},
        tenancy::{
            operators::{Scope, State},
            ownership::NamespaceLocks,
        },
    };

    fn operator(id: &str, namespace: &str, scope: Scope) -> Operator {
        let mut operator = Operator::at("camel-k", id, namespace, State::Active);
        (operator.scope, operator.version) = (scope, Some("2.10.1".to_owned()));
        operator
    }

    fn found(name: &str, namespace: &str, id: Option<&str>) -> Found {
        let (namespace, name, id) = (namespace.to_owned(), name.to_owned(), id.map(str::to_owned));
        Found { resource: Resource { kind: INTEGRATION, namespace, name, id }, object: Value::Null }
    }

    #[test]
    fn the_rule_says_what_is_assigned_and_the_fate_what_becomes_of_it() {
        let operators =
            [operator("a", "ops", Scope::Own), operator("camel-k", "central", Scope::Namespaces(vec!["ops".into()]))];
        let alone = &operators[..1];
        let mut locks = Locks::default();
        locks.set("ops", NamespaceLocks::none());
        let to = |id: &str| Fate::Move(id.to_owned());
        let tie = |operators: &[Operator], namespace: &str, id: Option<&str>| {
            assigned("a", vec![found("x", namespace, id)], operators, &locks).pop()
        };
        assert_eq!(tie(alone, "ops", Some("b")), None);
        assert_eq!(tie(alone, "elsewhere", None), None);
        let cases = [
            (alone, "ops", Some("a"), Tie::Id, Deed::Stamp, Deed::Delete),
            (alone, "elsewhere", Some("a"), Tie::Id, Deed::Stamp, Deed::Delete),
            (alone, "ops", None, Tie::Rule, Deed::Stamp, Deed::Delete),
            (&operators[..], "ops", None, Tie::Shared(vec!["camel-k".into()]), Deed::Keep, Deed::Keep),
        ];
        for (operators, namespace, id, expected, on_move, on_delete) in cases {
            let assigned = tie(operators, namespace, id).unwrap_or_else(|| panic!("{namespace} {id:?}"));
            assert_eq!(assigned.tie, expected);
            assert_eq!((assigned.deed(&to("b")), assigned.deed(&Fate::Delete)), (on_move, on_delete), "{expected:?}");
            assert_eq!(assigned.deed(&Fate::Leave), Deed::Keep);
        }
        let shared = tie(&operators, "ops", None).expect("shared");
        assert_eq!(shared.deed(&to("camel-k")), Deed::Stamp, "the target takes it already");
        assert!(!shared.is_stranded());
    }

    #[test]
    fn what_depends_on_the_unknown_is_not_deleted() {
        let mut unknown = operator("a", "ops", Scope::Unknown);
        unknown.version = None;
        let assigned =
            assigned("a", vec![found("x", "team", None)], &[unknown], &Locks::default()).pop().expect("perhaps");
        assert_eq!((assigned.tie.clone(), assigned.deed(&Fate::Delete)), (Tie::Perhaps, Deed::Keep));
        assert!(assigned.is_stranded());
    }

    fn operation(kind: &str) -> Operation {
        Operation {
            id: "run".into(),
            kind: kind.into(),
            since: "2026-01-01T00:00:00Z".into(),
            from: None,
            to: None,
            resume: None,
            undo: None,
        }
    }

    fn claim() -> Claim {
        let mut object = Claim::new("camel-k", "a", &Instance::new("ops", "a-operator"), &operation("install"), &[])
            .object()
            .clone();
        object["spec"]["standbys"] = json!([{"namespace": "alt", "deployment": "a-operator"}]);
        Claim::read(object)
    }

    #[test]
    fn a_removal_follows_an_install_or_a_removal_only() {
        for (kind, may) in
            [("install", true), ("take-over", true), ("uninstall", true), ("switch", false), ("rename", false)]
        {
            let next = begin(&claim().begin(&operation(kind)), "a", &operation(UNINSTALL));
            assert_eq!(next.is_ok(), may, "{kind}");
        }
        let mut renamed = claim().object().clone();
        renamed["spec"]["renamedTo"] = json!("b");
        assert!(begin(&Claim::read(renamed), "a", &operation(UNINSTALL)).is_err());
    }

    #[test]
    fn claims_end_as_tombstones_or_without_a_standby() {
        let under_way = claim().begin(&operation(UNINSTALL));
        let dead = tombstone(&under_way, Timestamp::UNIX_EPOCH);
        assert_eq!((dead.active(), dead.renamed_to(), dead.operation()), (None, Some(""), None));
        assert_eq!(dead.object()["spec"]["history"][0]["type"], UNINSTALL);
        let less = without_standby(&under_way, &Instance::new("alt", "a-operator"), Timestamp::UNIX_EPOCH);
        assert_eq!((less.standbys(), less.active()), (vec![], Some(Instance::new("ops", "a-operator"))));
        assert_eq!(less.object().pointer("/spec/active/uid"), None);
    }

    #[test]
    fn an_instance_is_told_by_the_subjects_of_its_bindings() {
        let binding = |kind: &str, namespace: &str, role: &str, subject: &str| {
            json!({"kind": kind, "metadata": {"name": role, "namespace": namespace},
                "roleRef": {"name": role}, "subjects": [{"namespace": subject}]})
        };
        let plain = |namespace: &str, name: &str| json!({"metadata": {"name": name, "namespace": namespace}});
        let objects = vec![
            (DEPLOYMENT, plain("ops", "a")),
            (DEPLOYMENT, plain("alt", "a")),
            (ROLE, plain("watched", "of-ops")),
            (ROLE, plain("watched", "of-alt")),
            (ROLE_BINDING, binding("RoleBinding", "watched", "of-ops", "ops")),
            (ROLE_BINDING, binding("RoleBinding", "watched", "of-alt", "alt")),
        ];
        let kept: Vec<_> =
            of_instance(objects, "alt").into_iter().map(|(_, object)| object["metadata"]["name"].clone()).collect();
        assert_eq!(kept, ["a", "of-alt", "of-alt"]);
    }

    #[test]
    fn the_tool_that_made_an_operator_removes_it() {
        let mut theirs = operator("a", "ops", Scope::Own);
        theirs.deployment = Some("camel-k-operator".into());
        let object = json!({"metadata": {"annotations": {"meta.helm.sh/release-name": "camel",
            "argocd.argoproj.io/tracking-id": "app:apps/Deployment:ops/x"}}});
        for (tool, command) in [
            (Some("helm"), "helm uninstall camel -n ops"),
            (Some("argo"), "argocd app delete app"),
            (None, "kubectl delete deployment camel-k-operator -n ops"),
        ] {
            theirs.managed_by = tool.map(str::to_owned);
            assert_eq!(command_of(&theirs, Some(&object)), command);
        }
    }
}
