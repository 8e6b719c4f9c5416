use serde_json::json;

use super::*;
use crate::{error::Exit, tenancy::operators::Scope};

fn operator(id: &str, namespace: &str, scope: Scope) -> Operator {
    let mut operator = Operator::at(camel_k::NAME, id, namespace, State::Active);
    operator.deployment = Some(format!("{id}-operator"));
    operator.scope = scope;
    operator.version = Some("2.10.1".into());
    operator
}

fn two_tenants() -> Observed {
    Observed {
        operators: vec![operator("tenant-a", "ops", Scope::Cluster), operator("tenant-b", "ops", Scope::Cluster)],
        all_deployments: true,
        locks: Locks::unlocked("team"),
        ..Observed::default()
    }
}

fn wanted(id: &str) -> Wanted {
    Wanted {
        kind: INTEGRATION,
        namespace: "team".into(),
        name: "orders".into(),
        id: id.into(),
        from: IdFrom::CommandLine,
        take_over: false,
        force: false,
    }
}

fn integration(id: Option<&str>) -> Value {
    let mut object = json!({"metadata": {"name": "orders", "namespace": "team", "annotations": {"theirs": "1"}}});
    if let Some(id) = id {
        object["metadata"]["annotations"][OPERATOR_ID] = json!(id);
    }
    object
}

fn with_existing(mut observed: Observed, id: Option<&str>) -> Observed {
    observed.existing = Some(integration(id));
    observed
}

fn exit(wanted: &Wanted, observed: &Observed) -> Option<Exit> {
    check(wanted, observed).err().map(|error| error.exit())
}

#[test]
fn a_known_id_is_stamped_without_a_word() {
    let decision = check(&wanted("tenant-a"), &two_tenants()).expect("fine");
    assert_eq!(decision, Decision { id: Some("tenant-a".into()), remarks: vec![] });
}

#[test]
fn an_unknown_id_is_an_error_when_that_can_be_known() {
    let blind = |operators: &[Operator], all_claimed| Observed {
        operators: operators.to_vec(),
        all_deployments: false,
        all_claimed,
        ..Observed::default()
    };
    let all = two_tenants();
    let mut secret = two_tenants();
    secret.operators[0].id_known = false;
    let cases = [
        ("tenant-aa", &all, Some(Exit::NotFound), "did you mean tenant-a?"),
        ("staging", &all, Some(Exit::NotFound), "kctl list-operators"),
        ("staging", &blind(&all.operators, true), Some(Exit::NotFound), "kctl list-operators"),
        ("tenant-aa", &blind(&all.operators, false), Some(Exit::NotFound), "did you mean tenant-a?"),
        ("staging", &blind(&all.operators, false), None, ""),
        ("staging", &secret, None, ""),
        ("Staging_X", &blind(&[], false), Some(Exit::Usage), "--operator-id staging-x"),
    ];
    for (id, observed, expected, hint) in cases {
        match (check(&wanted(id), observed), expected) {
            (Ok(decision), None) => {
                assert!(matches!(&decision.remarks[..], [Remark::Warning(_)]), "{id}: {:?}", decision.remarks);
            }
            (Err(error), Some(expected)) => {
                assert_eq!(error.exit(), expected, "{id}");
                assert!(error.all_hints().iter().any(|text| text.contains(hint)), "{id}: {:?}", error.all_hints());
            }
            (outcome, _) => panic!("{id}: {outcome:?}"),
        }
        let forced = Wanted { force: true, ..wanted(id) };
        assert!(check(&forced, observed).is_ok(), "{id} with --force");
    }
}

#[test]
fn a_renamed_id_leads_to_the_new_one() {
    let mut observed = two_tenants();
    observed.renamed.insert("old".into(), "tenant-b".into());
    let error = check(&wanted("old"), &observed).expect_err("renamed");
    assert_eq!((error.exit(), error.all_hints()[0].as_str()), (Exit::NotFound, "kctl run -x tenant-b …"));
}

#[test]
fn an_operator_that_does_not_watch_the_namespace_is_refused() {
    let local = Observed {
        operators: vec![operator("tenant-a", "ops", Scope::Own), operator("tenant-b", "ops", Scope::Cluster)],
        all_deployments: true,
        ..Observed::default()
    };
    let error = check(&wanted("tenant-a"), &local).expect_err("not watched");
    assert_eq!(error.exit(), Exit::Refused);
    assert!(error.message().contains("does not watch namespace team: it watches only its own, ops"), "{error}");
    assert!(error.all_hints()[0].contains("kctl run -x tenant-b"));
    assert!(check(&Wanted { force: true, ..wanted("tenant-a") }, &local).is_ok());
    let mut blind = local.clone();
    blind.operators[0].scope = Scope::Unknown;
    assert!(check(&wanted("tenant-a"), &blind).is_ok());
}

#[test]
fn the_default_id() {
    let from_default = Wanted { from: IdFrom::Default, ..wanted("camel-k") };
    let mut observed = two_tenants();
    let error = check(&from_default, &observed).expect_err("nobody is camel-k");
    assert_eq!(error.exit(), Exit::NotFound);
    assert_eq!(error.all_hints()[0], "kctl list-operators shows the ids; then kctl run -x ID …");
    observed.operators.pop();
    let error = check(&from_default, &observed).expect_err("nobody is camel-k");
    assert!(error.all_hints()[0].starts_with("tenant-a is the one operator"), "{:?}", error.all_hints());
    observed.all_deployments = false;
    let decision = check(&from_default, &observed).expect("may be");
    assert!(matches!(&decision.remarks[..], [Remark::Note(_), Remark::Warning(_), Remark::Hint(_)]), "{decision:?}");
    observed.operators.push(operator("camel-k", "ops", Scope::Cluster));
    let decision = check(&from_default, &observed).expect("fine");
    assert_eq!(decision, Decision { id: Some("camel-k".into()), remarks: vec![default_note()] });
}

#[test]
fn another_operators_integration_is_not_taken_silently() {
    let observed = with_existing(two_tenants(), Some("tenant-b"));
    let error = check(&wanted("tenant-a"), &observed).expect_err("owned");
    assert_eq!(error.exit(), Exit::Refused);
    assert!(error.message().contains("tenant-a") && error.message().contains("tenant-b"), "{error}");
    assert!(error.all_hints()[0].contains("--take-over"));
    let taking = Wanted { take_over: true, ..wanted("tenant-a") };
    assert_eq!(check(&taking, &observed).expect("taken").id.as_deref(), Some("tenant-a"));
    assert_eq!(
        exit(&Wanted { force: true, ..wanted("tenant-a") }, &observed),
        Some(Exit::Refused),
        "--force is no take-over"
    );
    assert_eq!(exit(&wanted("tenant-b"), &observed), None);
}

#[test]
fn who_owns_is_told_by_the_rule_and_not_by_the_annotation() {
    // An orphan: nobody has its id.
    let orphan = with_existing(two_tenants(), Some("gone"));
    let decision = check(&wanted("tenant-a"), &orphan).expect("an orphan may be taken");
    assert!(matches!(&decision.remarks[..], [Remark::Note(_)]), "{decision:?}");
    // The same when operators cannot be listed: it may have an owner.
    let mut blind = orphan.clone();
    blind.all_deployments = false;
    assert_eq!(exit(&wanted("tenant-a"), &blind), Some(Exit::Refused));
    // No id: the default operator owns it.
    let mut observed = with_existing(two_tenants(), None);
    assert_eq!(exit(&wanted("tenant-a"), &observed), None, "nobody takes it");
    observed.operators.push(operator("camel-k", "ops", Scope::Cluster));
    assert_eq!(exit(&wanted("tenant-a"), &observed), Some(Exit::Refused));
    assert_eq!(exit(&wanted("camel-k"), &observed), None);
    // No id: a local operator owns it, whatever its id.
    let mut observed = with_existing(two_tenants(), None);
    observed.operators[1] = operator("tenant-b", "team", Scope::Own);
    assert_eq!(exit(&wanted("tenant-a"), &observed), Some(Exit::Refused));
    assert_eq!(exit(&wanted("tenant-b"), &observed), None);
    // No id, it runs, and its operator cannot be seen.
    let mut blind = with_existing(Observed::default(), None);
    blind.operators = vec![operator("tenant-a", "ops", Scope::Cluster)];
    assert_eq!(exit(&wanted("tenant-a"), &blind), None);
    blind.existing = Some(json!({"metadata": {"name": "orders"}, "status": {"phase": "Running"}}));
    assert_eq!(exit(&wanted("tenant-a"), &blind), Some(Exit::Refused));
    // What an operator of an unknown version takes depends; that is enough to ask.
    let mut depends = with_existing(two_tenants(), None);
    depends.operators[1].version = None;
    let error = check(&wanted("tenant-a"), &depends).expect_err("may be owned");
    assert!(error.message().contains("may be owned by operator tenant-b"), "{error}");
}

#[test]
fn without_an_explicit_id_an_integration_stays_where_it_is() {
    for from in [IdFrom::Default, IdFrom::NamespaceLabel, IdFrom::ConfigFile("config.yaml".into())] {
        let observed = with_existing(two_tenants(), Some("tenant-b"));
        let decision = check(&Wanted { from, ..wanted("tenant-a") }, &observed).expect("kept");
        assert_eq!(decision.id.as_deref(), Some("tenant-b"));
        assert!(
            matches!(&decision.remarks[..], [Remark::Note(note)] if note.contains("keeps its operator id tenant-b"))
        );
    }
    let from_env = Wanted { from: IdFrom::Environment("KCTL_OPERATOR_ID".into()), ..wanted("tenant-a") };
    assert_eq!(exit(&from_env, &with_existing(two_tenants(), Some("tenant-b"))), Some(Exit::Refused));
    // An orphan keeps its id as well, with a warning.
    let default = Wanted { from: IdFrom::Default, ..wanted("camel-k") };
    let decision = check(&default, &with_existing(two_tenants(), Some("gone"))).expect("kept");
    assert!(matches!(&decision.remarks[..], [Remark::Note(_), Remark::Warning(_)]), "{decision:?}");
    // Without an id of its own it stays with the local operator that takes it.
    let mut observed = with_existing(two_tenants(), None);
    observed.operators.push(operator("camel-k", "ops", Scope::Own));
    observed.operators[0] = operator("tenant-a", "team", Scope::Own);
    let decision = check(&Wanted { force: true, ..default }, &observed).expect("kept");
    assert_eq!(decision.id, None);
}

#[test]
fn what_a_pipe_made_is_left_to_the_pipe() {
    let mut observed = with_existing(two_tenants(), Some("tenant-a"));
    let owners = json!([{"kind": "Pipe", "name": "orders", "controller": true}]);
    observed.existing.as_mut().expect("there")["metadata"]["ownerReferences"] = owners;
    let error = check(&wanted("tenant-a"), &observed).expect_err("made by a pipe");
    assert_eq!(error.exit(), Exit::Refused);
    assert!(error.message().contains("made by Pipe orders"), "{error}");
    let decision = check(&Wanted { force: true, ..wanted("tenant-a") }, &observed).expect("forced");
    assert!(matches!(&decision.remarks[..], [Remark::Warning(_)]), "{decision:?}");
}

#[test]
fn an_id_that_is_there_twice_is_told() {
    let mut observed = two_tenants();
    observed.operators[1] = operator("tenant-a", "alt", Scope::Cluster);
    let decision = check(&wanted("tenant-a"), &observed).expect("fine");
    assert!(
        matches!(&decision.remarks[..], [Remark::Warning(text)] if text.contains("more than once")),
        "{decision:?}"
    );
    observed.operators[1].state = State::Standby;
    assert_eq!(check(&wanted("tenant-a"), &observed).expect("fine").remarks, vec![]);
}

#[test]
fn steps() {
    let wanted = wanted("tenant-a");
    let object = integration(Some("tenant-a"));
    assert!(matches!(step(&wanted, None, object.clone()).map(|step| step.write), Some(Write::Create { .. })));
    assert_eq!(step(&wanted, Some(&object), object.clone()), None);
    let step = step(&wanted, Some(&integration(None)), object).expect("a patch");
    let Write::Patch { patch, .. } = step.write else { panic!("no patch: {step:?}") };
    assert_eq!(patch, json!({"metadata": {"annotations": {OPERATOR_ID: "tenant-a"}}}));
}

#[test]
fn a_move_out_of_the_middle_starts_anew() {
    let at = |id: &str, phase: &str| {
        let mut object = integration(Some(id));
        object["status"] = json!({"phase": phase});
        object
    };
    let restarts = |from: &str, to: &str, phase: &str| restart(&wanted(to), &at(from, phase), &at(to, phase)).is_some();
    assert!(restarts("tenant-a", "tenant-b", "Building Kit"));
    assert!(restarts("tenant-a", "tenant-b", "Waiting For Platform"));
    assert!(!restarts("tenant-a", "tenant-b", "Running"));
    assert!(!restarts("tenant-a", "tenant-b", ""));
    assert!(!restarts("tenant-a", "tenant-a", "Building Kit"));
}

#[test]
fn why_nobody_took_it() {
    let observed = two_tenants();
    for (id, says) in [
        (Some("tenant-a"), "it is for operator tenant-a: ops/tenant-a-operator, version 2.10.1, active"),
        (Some("staging"), "no operator has the id staging"),
        (None, "it carries no operator id"),
    ] {
        let text = untaken(id, "team", &observed, false);
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn scripts_need_an_old_operator() {
    let mut old = operator("tenant-a", "ops", Scope::Cluster);
    let scripts = ["a.groovy".to_owned()];
    assert_eq!(version_remarks(&[&old], &scripts).len(), 1);
    old.version = Some("2.8.0".into());
    assert_eq!(version_remarks(&[&old], &scripts).len(), 0);
    old.version = None;
    assert_eq!(version_remarks(&[&old], &scripts).len(), 0);
}
