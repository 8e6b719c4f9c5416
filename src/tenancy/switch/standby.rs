//! Switching between instances that share an id: transitions of their claim, and what must be true before.

use serde_json::{Value, json};

use crate::tenancy::{
    claim::{Claim, Instance, Operation},
    objects,
    operators::{Operator, Scope},
    version,
};

use super::Finding;

/// The type of the operation on a claim.
pub const SWITCH: &str = "switch";

/// What a wish to make an instance active comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Course {
    /// It is active and nothing is under way.
    Already,
    /// Begin a switch.
    Fresh,
    /// Go on with a switch to it.
    Resume(Operation),
    /// Turn a switch away from it back.
    Undo(Operation),
    /// Something else is under way.
    Busy(Operation),
    /// It is not an instance of the id.
    Stranger,
}

/// Decides the course.
pub fn course(claim: &Claim, to: &Instance) -> Course {
    let known = claim.active().as_ref() == Some(to) || claim.standbys().contains(to);
    match claim.operation() {
        Some(operation) if operation.kind == SWITCH && operation.to.as_deref() == Some(&to.to_string()) => {
            Course::Resume(operation)
        }
        Some(operation) if operation.kind == SWITCH && operation.from.as_deref() == Some(&to.to_string()) => {
            Course::Undo(operation)
        }
        Some(operation) => Course::Busy(operation),
        None if claim.active().as_ref() == Some(to) => Course::Already,
        None if known => Course::Fresh,
        None => Course::Stranger,
    }
}

/// Every instance of the id, the active one first.
pub fn instances(claim: &Claim) -> Vec<Instance> {
    claim.active().into_iter().chain(claim.standbys()).collect()
}

/// The claim with the switch noted on it.
pub fn begin(claim: &Claim, operation: &Operation) -> Claim {
    with_step(&claim.begin(operation), "stopping")
}

/// The claim that names `to` as the active instance; the one before it becomes a standby.
pub fn activate(claim: &Claim, to: &Instance) -> Claim {
    let mut next = claim.object().clone();
    let entry = |instance: &Instance| json!({"namespace": instance.namespace, "deployment": instance.deployment});
    let others: Vec<Value> = instances(claim).iter().filter(|instance| *instance != to).map(entry).collect();
    next["spec"]["active"] = entry(to);
    next["spec"]["standbys"] = Value::Array(others);
    with_step(&Claim::read(next), "starting")
}

/// The claim with one more instance that waits.
pub fn add(claim: &Claim, standby: &Instance) -> Claim {
    let mut next = claim.object().clone();
    let entry = json!({"namespace": standby.namespace, "deployment": standby.deployment});
    match next["spec"].get_mut("standbys").and_then(Value::as_array_mut) {
        Some(all) => all.push(entry),
        None => next["spec"]["standbys"] = json!([entry]),
    }
    Claim::read(next)
}

fn with_step(claim: &Claim, step: &str) -> Claim {
    let mut next = claim.object().clone();
    if next["spec"]["operation"].is_object() {
        next["spec"]["operation"]["step"] = json!(step);
    }
    Claim::read(next)
}

/// The instance that was active before the present one, by the switch under way or the history.
pub fn previous(claim: &Claim) -> Option<Instance> {
    let named = |text: &str| instances(claim).into_iter().find(|instance| instance.to_string() == text);
    if let Some(operation) = claim.operation().filter(|operation| operation.kind == SWITCH) {
        return named(operation.from.as_deref()?);
    }
    let active = claim.active()?.to_string();
    let history = claim.object().pointer("/spec/history")?.as_array()?;
    let last = history.iter().rev().find(|entry| entry["type"] == SWITCH && entry["to"] == *active)?;
    named(last["from"].as_str()?)
}

/// Another tool that manages a Deployment and would undo a change of its replicas.
pub fn foreign_manager(deployment: &Value) -> Option<String> {
    let manager = objects::manager_of(deployment);
    ["Helm release", "Argo CD", "Flux", "OLM"].iter().any(|tool| manager.starts_with(tool)).then_some(manager)
}

/// What must be known about two instances before one may follow the other. `managers` are other tools, each with the
/// instance it manages.
pub fn preflight(
    from: Option<&Operator>,
    to: Option<&Operator>,
    target: &Instance,
    managers: &[(Instance, String)],
    force: bool,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some(to) = to else {
        return vec![
            Finding::refuse(
                "StandbyMissing",
                format!("deployment.apps/{} in namespace {} does not exist", target.deployment, target.namespace),
            )
            .hint(format!("make it again: kctl install -x ID -n {} --standby", target.namespace)),
        ];
    };
    for (instance, manager) in managers {
        let message =
            format!("{instance} is managed by {manager}, which would undo what a switch does to its replicas");
        found.push(if force {
            Finding::warn("ManagedElsewhere", message)
        } else {
            Finding::refuse("ManagedElsewhere", message)
                .hint(format!("change the replicas there, or go on with --force and make {manager} agree"))
        });
    }
    if to.replicas.is_some_and(|replicas| replicas > 0) && from.is_some_and(|from| from.replicas.is_some_and(|n| n > 0))
    {
        found.push(Finding::warn(
            "Duplicate",
            format!("{} has replicas although it is a standby: two operators of one id may be running", to.place()),
        ));
    }
    let Some(from) = from else {
        found.push(Finding::warn(
            "ActiveMissing",
            "the Deployment of the active instance does not exist: there is nothing to stop",
        ));
        return found;
    };
    match (scope(from), scope(to)) {
        (Some(old), Some(new)) if old == new => {}
        (Some(old), Some(new)) => found.push(
            Finding::refuse(
                "OtherScope",
                format!(
                    "{} watches {old}, {} watches {new}: a switch would leave resources without an operator",
                    from.place(),
                    to.place()
                ),
            )
            .hint("install both with --global, or with the same --watch-namespace"),
        ),
        _ => found.push(Finding::refuse(
            "ScopeUnknown",
            "which namespaces the two instances watch cannot be told, so it cannot be told whether they are the same",
        )),
    }
    let parsed = |operator: &Operator| operator.version.as_deref().and_then(version::parse);
    if let (Some(old), Some(new)) = (parsed(from), parsed(to))
        && new < old
    {
        found.push(Finding::warn("Downgrade", format!("this is a downgrade from {old} to {new}")));
    }
    found
}

/// The namespaces an operator watches, so that equal texts mean equal sets.
fn scope(operator: &Operator) -> Option<String> {
    match &operator.scope {
        Scope::Cluster => Some("all namespaces".to_owned()),
        Scope::Own => Some(format!("namespace {}", operator.namespace)),
        Scope::Namespaces(names) => {
            let mut names = names.clone();
            names.sort();
            names.dedup();
            Some(format!("namespace {}", names.join(",")))
        }
        Scope::Unknown => None,
    }
}

/// Names of Secrets and `ConfigMap`s that a platform refers to: registry, Maven settings, certificate authorities.
pub fn references(platform: &Value) -> (Vec<String>, Vec<String>) {
    let (mut secrets, mut config_maps) = (Vec::new(), Vec::new());
    let name = |at: &str| platform.pointer(at).and_then(Value::as_str).map(str::to_owned);
    secrets.extend(name("/spec/build/registry/secret"));
    config_maps.extend(name("/spec/build/registry/ca"));
    for settings in ["settings", "settingsSecurity"] {
        secrets.extend(name(&format!("/spec/build/maven/{settings}/secretKeyRef/name")));
        config_maps.extend(name(&format!("/spec/build/maven/{settings}/configMapKeyRef/name")));
    }
    let authorities = platform.pointer("/spec/build/maven/caSecrets").and_then(Value::as_array).into_iter().flatten();
    secrets.extend(authorities.filter_map(|entry| entry["name"].as_str().map(str::to_owned)));
    (secrets, config_maps)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::tenancy::{operators::State, switch::Weight};

    fn operation(kind: &str, from: &str, to: &str) -> Operation {
        Operation {
            id: "run".into(),
            kind: kind.into(),
            since: "2026-01-01T00:00:00Z".into(),
            from: Some(from.into()),
            to: Some(to.into()),
            resume: None,
            undo: None,
        }
    }

    fn claim() -> Claim {
        let first = Instance::new("ops", "a-operator");
        let claim = Claim::new("camel-k", "a", &first, &operation("install", "", "ops/a-operator"), &[]);
        add(&claim.finish("uid", Timestamp::UNIX_EPOCH), &Instance::new("alt", "a-operator"))
    }

    #[test]
    fn courses() {
        let (ops, alt) = (Instance::new("ops", "a-operator"), Instance::new("alt", "a-operator"));
        let quiet = claim();
        let under_way = operation(SWITCH, "ops/a-operator", "alt/a-operator");
        let busy = begin(&quiet, &under_way);
        let installing = quiet.begin(&operation("install", "", "ops/a-operator"));
        assert_eq!(course(&quiet, &ops), Course::Already);
        assert_eq!(course(&quiet, &alt), Course::Fresh);
        assert_eq!(course(&quiet, &Instance::new("x", "a-operator")), Course::Stranger);
        assert_eq!(course(&busy, &alt), Course::Resume(under_way.clone()));
        assert_eq!(course(&busy, &ops), Course::Undo(under_way.clone()));
        assert_eq!(course(&busy, &Instance::new("x", "a")), Course::Busy(under_way));
        assert!(matches!(course(&installing, &alt), Course::Busy(_)));
    }

    #[test]
    fn while_a_switch_is_under_way_nobody_may_run_and_afterwards_one_does() {
        let (ops, alt) = (Instance::new("ops", "a-operator"), Instance::new("alt", "a-operator"));
        let begun = begin(&claim(), &operation(SWITCH, "ops/a-operator", "alt/a-operator"));
        assert_eq!((begun.replicas(&ops), begun.replicas(&alt)), (0, 0));
        assert_eq!(begun.object()["spec"]["operation"]["step"], "stopping");
        let active = activate(&begun, &alt);
        assert_eq!((active.active(), active.standbys()), (Some(alt.clone()), vec![ops.clone()]));
        assert_eq!(active.object()["spec"]["operation"]["step"], "starting");
        assert_eq!(activate(&active, &alt), active, "activating again changes nothing");
        let done = active.finish("uid-2", Timestamp::UNIX_EPOCH);
        assert_eq!((done.replicas(&ops), done.replicas(&alt)), (0, 1));
        assert_eq!(previous(&done), Some(ops));
        assert_eq!(previous(&claim()), None);
    }

    fn instance(namespace: &str, scope: Scope, replicas: u64) -> Operator {
        let mut operator = Operator::at("camel-k", "a", namespace, State::Active);
        operator.deployment = Some("a-operator".into());
        operator.scope = scope;
        operator.replicas = Some(replicas);
        operator.version = Some("2.10.1".into());
        operator
    }

    #[test]
    fn two_instances_must_watch_the_same_and_be_kctls() {
        let target = Instance::new("alt", "a-operator");
        let list = |names: &[&str]| Scope::Namespaces(names.iter().map(|&name| name.to_owned()).collect());
        let reasons = |from: &Operator, to: &Operator| {
            preflight(Some(from), Some(to), &target, &[], false)
                .iter()
                .map(|f| (f.reason, f.weight))
                .collect::<Vec<_>>()
        };
        let global = instance("ops", Scope::Cluster, 1);
        assert_eq!(reasons(&global, &instance("alt", Scope::Cluster, 0)), []);
        assert_eq!(reasons(&instance("ops", list(&["a", "b"]), 1), &instance("alt", list(&["b", "a"]), 0)), []);
        assert_eq!(
            reasons(&instance("ops", Scope::Own, 1), &instance("alt", Scope::Own, 0)),
            [("OtherScope", Weight::Refuse)]
        );
        assert_eq!(reasons(&global, &instance("alt", Scope::Unknown, 0)), [("ScopeUnknown", Weight::Refuse)]);
        assert_eq!(reasons(&global, &instance("alt", Scope::Cluster, 1)), [("Duplicate", Weight::Warn)]);
        let helm = json!({"metadata": {"annotations": {"meta.helm.sh/release-name": "x"}}});
        let managers = [(target.clone(), foreign_manager(&helm).expect("Helm"))];
        let standby = instance("alt", Scope::Cluster, 0);
        let managed = |force| preflight(Some(&global), Some(&standby), &target, &managers, force);
        assert_eq!((managed(false)[0].reason, managed(false)[0].weight), ("ManagedElsewhere", Weight::Refuse));
        assert_eq!(managed(true)[0].weight, Weight::Warn);
        assert_eq!(foreign_manager(&json!({"metadata": {"labels": {"kctl.dev/operator-id": "a"}}})), None);
        let mut old = instance("alt", Scope::Cluster, 0);
        old.version = Some("2.9.0".into());
        assert_eq!(reasons(&global, &old), [("Downgrade", Weight::Warn)]);
        assert_eq!(preflight(Some(&global), None, &target, &[], false)[0].reason, "StandbyMissing");
        assert_eq!(preflight(None, Some(&old), &target, &[], false)[0].reason, "ActiveMissing");
    }

    #[test]
    fn a_platform_names_what_it_needs() {
        let platform = json!({"spec": {"build": {"registry": {"secret": "r", "ca": "ca"}, "maven": {
            "settings": {"secretKeyRef": {"name": "m"}}, "settingsSecurity": {"configMapKeyRef": {"name": "s"}},
            "caSecrets": [{"name": "t", "key": "k"}]}}}});
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(references(&platform), (owned(&["r", "m", "t"]), owned(&["ca", "s"])));
        assert_eq!(references(&json!({})), (vec![], vec![]));
    }
}
