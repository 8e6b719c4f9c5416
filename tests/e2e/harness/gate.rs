//! The gate holds requests and drops those of senders that are gone.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::testbed::{Cluster, Gate, wait_until};

use super::{DEADLINE, config_map};

/// kubectl through the gate, as a program that sends several requests.
fn kubectl(cluster: &Cluster, gate: &Gate, line: &str) -> Child {
    Command::new(cluster.program("kubectl"))
        .args(line.split(' '))
        .env("KUBECONFIG", gate.kubeconfig())
        .env("HOME", cluster.dir())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("kubectl runs")
}

fn deletes(request: &str) -> bool {
    request.starts_with("DELETE ")
}

#[test]
fn a_held_request_of_a_killed_program_never_arrives() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("gated");
    let path = cluster.path_of(&cluster.create(&config_map(&namespace, "kept")));
    let gate = cluster.gate(&cluster.admin());
    gate.hold_when(|_, request| deletes(request));

    let mut child = kubectl(cluster, &gate, &format!("delete configmap kept -n {namespace} --wait=false"));
    let held = gate.wait_held(DEADLINE, || false).expect("a deletion");
    assert!(held.starts_with(&format!("DELETE {path}")), "{held}");
    child.kill().expect("it runs");
    child.wait().expect("it ended");
    gate.open();
    // A later request through the same gate shows that the held one had its chance.
    let child = kubectl(cluster, &gate, &format!("get configmap kept -n {namespace}")).wait().expect("it ended");
    assert!(child.success());
    assert!(cluster.find(&path).is_some());
    assert!(!gate.passed().iter().any(|request| deletes(request)), "{:#?}", gate.passed());
}

#[test]
fn a_held_request_goes_on_when_the_gate_opens() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("gated");
    let path = cluster.path_of(&cluster.create(&config_map(&namespace, "goes")));
    let gate = cluster.gate(&cluster.admin());
    gate.close_after(1);
    let mut child = kubectl(cluster, &gate, &format!("delete configmap goes -n {namespace}"));
    gate.wait_held(DEADLINE, || false).expect("the second request");
    assert_eq!(gate.passed().len(), 1);
    gate.open();
    assert!(child.wait().expect("it ended").success());
    assert_eq!(cluster.find(&path), None);
    assert_eq!(gate.wait_held(DEADLINE, || true), None);
}

#[test]
fn watches_pass_as_they_come() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("gated");
    let path = cluster.path_of(&cluster.create(&config_map(&namespace, "watched")));
    let gate = cluster.gate(&cluster.admin());
    let line = format!("wait --for=jsonpath={{.data.k}}=changed configmap/watched -n {namespace} --timeout=60s");
    let mut child = kubectl(cluster, &gate, &line);
    wait_until("a watch", Duration::from_secs(30), || {
        gate.passed().iter().any(|request| request.contains("watch=true"))
    });
    cluster.merge(&path, &json!({"data": {"k": "changed"}}));
    assert!(child.wait().expect("it ended").success());
}
