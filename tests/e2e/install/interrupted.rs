//! Killed, stopped or overtaken between any two requests.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::{DEADLINE, claim, deployment, end_state, replicas};
use crate::kctl::{Kctl, kctl};
use crate::testbed::{Cluster, Gate, Options, wait_until};

/// More requests than any install sends.
pub(super) const MANY: usize = 200;

fn start(run: &Kctl) -> Child {
    run.command().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("kctl starts")
}

/// Starts an install through the gate and stops it before its request number `at`. `None` when it ended by itself.
pub(super) fn held_at(gate: &Gate, run: &Kctl, at: usize) -> Option<Child> {
    gate.open();
    gate.close_after(at);
    let mut child = start(run);
    let held = gate.wait_held(DEADLINE, || matches!(child.try_wait(), Ok(Some(_))));
    held.is_some().then_some(child).or_else(|| {
        // It ended by itself; it must have done so well.
        None
    })
}

#[test]
fn an_install_killed_after_any_request_is_finished_by_running_it_again() {
    // With the definitions and shared roles still to be made in the first rounds, made in the later ones.
    let cluster = Cluster::own(&Options::default());
    let admin = cluster.admin();
    let gate = cluster.gate(&admin);
    let mut reference: Option<Value> = None;
    for at in 0..MANY {
        let (namespace, id) = (cluster.unique("ops"), cluster.unique("killed"));
        let line = format!("install -x {id} -n {namespace} --create-namespace --registry r:5000 --log-level debug");
        let run = kctl().kubeconfig(gate.kubeconfig()).line(&line);
        let Some(mut child) = held_at(&gate, &run, at) else {
            assert!(at > 20, "an install takes more than {at} requests");
            return;
        };
        child.kill().expect("it runs");
        child.wait().expect("it ended");
        gate.open();
        kctl().kubeconfig(&admin.kubeconfig).line(&line).run().succeeds();
        let state = end_state(&cluster, &namespace, &id);
        assert_eq!(state[0]["spec"].get("operation"), None, "killed before request {at}");
        assert_eq!(replicas(&cluster, &id), 1, "killed before request {at}");
        assert_eq!(&state, reference.get_or_insert_with(|| state.clone()), "killed before request {at}");
        if at % 4 == 0 {
            forget_definitions(&cluster);
        }
    }
    panic!("an install that takes {MANY} requests");
}

/// Takes the definitions and shared roles away, so that the next install makes them again.
fn forget_definitions(cluster: &Cluster) {
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let names: Vec<String> = cluster.get(definitions)["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| item["metadata"]["name"].as_str().expect("a name").to_owned())
        .collect();
    for name in &names {
        cluster.delete(&format!("{definitions}/{name}"));
    }
    for name in ["kctl-claim-reader", "kctl-camel-k-view"] {
        cluster.delete(&format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}"));
    }
    cluster.delete("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kctl-claim-reader");
    wait_until("the definitions are gone", DEADLINE, || {
        names.iter().all(|name| cluster.find(&format!("{definitions}/{name}")).is_none())
    });
}

#[test]
fn one_that_wakes_up_after_a_take_over_starts_no_second_operator() {
    let cluster = Cluster::own(&Options::default());
    let admin = cluster.admin();
    let gate = cluster.gate(&admin);
    kctl()
        .kubeconfig(&admin.kubeconfig)
        .line(&format!("install -x first -n {}", cluster.namespace("ops")))
        .run()
        .succeeds();
    for at in 0..MANY {
        let (asleep, awake, id) = (cluster.namespace("asleep"), cluster.namespace("awake"), cluster.unique("taken"));
        let run = kctl().kubeconfig(gate.kubeconfig()).line(&format!("install -x {id} -n {asleep}"));
        let Some(child) = held_at(&gate, &run, at) else {
            assert!(at > 20, "an install takes more than {at} requests");
            return;
        };
        // Ten minutes pass, and somebody clears what the sleeper left.
        if let Some(found) = cluster.find(&claim(&id)) {
            if found["spec"].get("operation").is_some() {
                cluster.merge(&claim(&id), &json!({"spec": {"operation": {"since": "2020-01-01T00:00:00Z"}}}));
            }
            if cluster.find(&deployment(&asleep, &id)).is_some() {
                cluster.delete(&deployment(&asleep, &id));
            }
        }
        kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {awake} --take-over")).run().succeeds();
        gate.open();
        let output = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "held before request {at}: {told}");
        assert_eq!(replicas(&cluster, &id), 1, "held before request {at}: {told}");
        assert_eq!(cluster.get(&deployment(&awake, &id))["spec"]["replicas"], 1, "held before request {at}: {told}");
    }
    panic!("an install that takes {MANY} requests");
}

#[test]
fn ctrl_c_tells_what_exists_and_how_to_go_on() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("stopped"));
    let gate = cluster.gate(&admin);
    gate.hold_when(|_, request| {
        request.starts_with("PATCH ") && request.contains("/serviceaccounts/") && !request.contains("dryRun")
    });
    let run = kctl().kubeconfig(gate.kubeconfig()).line(&format!("install -x {id} -n {namespace}"));
    let child = start(&run);
    gate.wait_held(DEADLINE, || false).expect("the ServiceAccount");
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains(&format!("operatorclaim.kctl.dev/camel-k.{id} created")), "{told}");
    assert!(told.contains(&format!("to go on: kctl install -x {id} -n {namespace}")), "{told}");
    assert!(told.contains("to undo: "), "{told}");
}
