//! `bind --wait`: the statuses are written by the test, as an operator would.

use serde_json::{Value, json};

use super::{Bench, DEADLINE};
use crate::run::wait::Running;
use crate::testbed::wait_until;

const NAME: &str = "timer-to-log";

impl Bench {
    /// Writes the status of the Pipe.
    fn pipe_status(&self, status: &Value) {
        self.cluster.merge(&format!("{}/status", self.path("pipes", NAME)), &json!({"status": status}));
    }

    /// Writes the status of the Integration.
    fn integration_status(&self, status: &Value) {
        self.cluster.merge(&format!("{}/status", self.path("integrations", NAME)), &json!({"status": status}));
    }

    /// Makes the Integration, as an operator makes it of the Pipe.
    fn integration(&self, id: &str) {
        let pipe = self.pipe(NAME);
        let owner = json!({"apiVersion": "camel.apache.org/v1", "kind": "Pipe", "name": NAME, "controller": true,
            "uid": pipe["metadata"]["uid"]});
        self.cluster.create(&json!({
            "apiVersion": "camel.apache.org/v1", "kind": "Integration",
            "metadata": {"name": NAME, "namespace": self.namespace, "ownerReferences": [owner],
                "annotations": {"camel.apache.org/operator.id": id}},
            "spec": {"flows": [{"from": {"uri": "timer:x"}}]},
        }));
    }

    /// A Pipe that its operator has ready.
    fn ready_pipe(&self, id: &str) {
        self.kctl(&format!("bind -x {id} timer:x log:y")).run().succeeds();
        self.integration(id);
        self.integration_status(&json!({"phase": "Running", "observedGeneration": 1, "digest": "v1"}));
        self.pipe_status(&json!({"phase": "Ready", "observedGeneration": 1}));
    }
}

#[test]
fn the_pipe_and_its_integration_are_followed() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let mut bind = Running::start(bench.kctl(&format!("bind -x {id} timer:x log:y --wait")));
    wait_until("the pipe is there", DEADLINE, || bench.cluster.find(&bench.path("pipes", NAME)).is_some());
    bench.pipe_status(&json!({"phase": "Creating", "observedGeneration": 1}));
    bind.tells("pipe.camel.apache.org/timer-to-log: Creating, integration missing");
    bench.integration(&id);
    bench.integration_status(&json!({"phase": "Building Kit", "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "False", "message": "kit-1 is built"}]}));
    bind.tells("Creating, integration Building Kit (kit-1 is built)");
    bench.integration_status(&json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}));
    bind.tells("Creating, integration Running");
    bench.pipe_status(&json!({"phase": "Ready", "conditions": [{"type": "Ready", "status": "True"}]}));
    let (code, stdout, stderr) = bind.ends();
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(stdout, "pipe.camel.apache.org/timer-to-log created\npipe.camel.apache.org/timer-to-log ready\n");
}

#[test]
fn the_old_status_is_not_that_of_the_next_write() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    bench.ready_pipe(&id);
    bench.kctl(&format!("bind -x {id} timer:x log:y --wait")).run().succeeds();
    let bind = Running::start(bench.kctl(&format!("bind -x {id} timer:x log:z --wait --timeout 60s")));
    wait_until("the change is there", DEADLINE, || bench.pipe(NAME)["metadata"]["generation"] == 2);
    bench.integration_status(&json!({"phase": "Error",
        "conditions": [{"type": "Ready", "status": "False", "message": "no such component: tmer"}]}));
    bench.pipe_status(&json!({"phase": "Creating", "observedGeneration": 2}));
    let (code, _, stderr) = bind.ends();
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("no such component: tmer") && !stderr.contains(": Ready"), "{stderr}");
}

#[test]
fn after_a_move_the_integration_must_follow() {
    let bench = Bench::new();
    let (a, b) = (bench.operator("tenant-a"), bench.operator("tenant-b"));
    bench.ready_pipe(&a);
    let mut bind = Running::start(bench.kctl(&format!("bind -x {b} timer:x log:y --take-over --wait --timeout 60s")));
    bind.tells("no operator has taken its change");
    let annotation = json!({"metadata": {"annotations": {"camel.apache.org/operator.id": b}}});
    bench.cluster.merge(&bench.path("integrations", NAME), &annotation);
    bind.tells("Ready, integration waiting");
    bench.integration_status(&json!({"digest": "v2"}));
    let (code, stdout, stderr) = bind.ends();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.ends_with("pipe.camel.apache.org/timer-to-log ready\n"), "{stdout}");
}

#[test]
fn a_move_out_of_the_middle_is_told_of() {
    let bench = Bench::new();
    let (a, b) = (bench.operator("tenant-a"), bench.operator("tenant-b"));
    bench.ready_pipe(&a);
    bench.integration_status(&json!({"phase": "Building Kit"}));
    let ran = bench.kctl(&format!("bind -x {b} timer:x log:y --take-over")).run().succeeds();
    assert!(ran.stderr.contains("is in phase Building Kit under its former operator"), "{ran}");
    assert!(ran.stderr.contains("kubectl patch integration.camel.apache.org/timer-to-log"), "{ran}");
}

#[test]
fn what_nobody_takes_is_explained() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let ran = bench.kctl(&format!("bind -x {id} timer:x log:y --wait --timeout 2s")).run().exits(6);
    assert!(ran.stderr.contains(&format!("no operator has taken it; it is for operator {id}: ")), "{ran}");
    assert!(ran.stderr.contains("pipe timer-to-log in namespace") && ran.stdout.contains("created"), "{ran}");
}
