//! `run --wait`: the status is written by the test, as an operator would.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Stdio};

use serde_json::json;

use super::{Bench, DEADLINE};
use crate::kctl::Kctl;
use crate::testbed::wait_until;

/// A run in the background, whose stderr is read line by line.
pub struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    told: String,
    _run: Kctl,
}

impl Running {
    pub fn start(run: Kctl) -> Self {
        let mut command = run.command();
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        Self { child, stderr, told: String::new(), _run: run }
    }

    /// Reads until a line has this in it; the test's own time limit ends a wait in vain.
    pub fn tells(&mut self, text: &str) {
        loop {
            let mut line = String::new();
            let read = self.stderr.read_line(&mut line).expect("readable");
            self.told.push_str(&line);
            if line.contains(text) {
                return;
            }
            assert!(read > 0, "ended without {text:?}:\n{}", self.told);
        }
    }

    pub fn ends(mut self) -> (Option<i32>, String, String) {
        let mut stdout = String::new();
        self.child.stdout.take().expect("piped").read_to_string(&mut stdout).expect("readable");
        self.stderr.read_to_string(&mut self.told).expect("readable");
        (self.child.wait().expect("ends").code(), stdout, self.told)
    }
}

fn there(bench: &Bench) {
    wait_until("the integration is there", DEADLINE, || bench.cluster.find(&bench.path("hello")).is_some());
}

#[test]
fn every_phase_is_told_until_it_runs() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let mut run = Running::start(bench.kctl(&format!("run -x {id} hello.yaml --wait")));
    there(&bench);
    bench.status(&json!({"phase": "Building Kit", "observedGeneration": 1, "digest": "v1",
        "conditions": [{"type": "Ready", "status": "False", "message": "kit-1 is built"}]}));
    run.tells("integration.camel.apache.org/hello: Building Kit (kit-1 is built)");
    bench.status(
        &json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "message": "0/1 ready"}]}),
    );
    run.tells("integration.camel.apache.org/hello: Running (0/1 ready)");
    bench.status(&json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}));
    let (code, stdout, stderr) = run.ends();
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(stdout, "integration.camel.apache.org/hello created\nintegration.camel.apache.org/hello running\n");

    // The old status is not that of the next write.
    let mut run = Running::start(bench.kctl(&format!("run -x {id} hello.yaml -p a=b --wait --timeout 60s")));
    wait_until("the change is there", DEADLINE, || bench.hello()["metadata"]["generation"] == 2);
    bench.status(&json!({"phase": "Initialization", "observedGeneration": 2, "digest": "v2", "conditions": null}));
    run.tells("hello: Initialization");
    bench.status(&json!({"phase": "Error", "conditions": [{"type": "Ready", "status": "False", "message": "no such component: tmer"}]}));
    let (code, _, stderr) = run.ends();
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("no such component: tmer") && !stderr.contains("hello: Running"), "{stderr}");
}

#[test]
fn after_a_move_the_digest_must_change() {
    let bench = Bench::new();
    let (a, b) = (bench.operator("tenant-a"), bench.operator("tenant-b"));
    bench.kctl(&format!("run -x {a} hello.yaml")).run().succeeds();
    bench.status(&json!({"phase": "Running", "observedGeneration": 1, "digest": "v1"}));
    bench.kctl(&format!("run -x {a} hello.yaml --wait")).run().succeeds();
    let ran = bench.kctl(&format!("run -x {b} hello.yaml --take-over --wait --timeout 2s")).run().exits(6);
    assert!(ran.stderr.contains("no operator has taken its change"), "{ran}");
    bench.status(&json!({"digest": "v2"}));
    bench.kctl(&format!("run -x {b} hello.yaml --wait")).run().succeeds();
}

#[test]
fn what_nobody_takes_is_explained() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let ran = bench.kctl(&format!("run -x {id} hello.yaml --wait --timeout 2s")).run().exits(6);
    assert!(ran.stderr.contains(&format!("no operator has taken it; it is for operator {id}: ")), "{ran}");
    assert!(ran.stdout.contains("created"), "{ran}");
}

#[test]
fn interrupted_while_waiting() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let mut run = Running::start(bench.kctl(&format!("run -x {id} hello.yaml --wait")));
    there(&bench);
    bench.status(&json!({"phase": "Initialization", "observedGeneration": 1}));
    run.tells("hello: Initialization");
    let signalled = std::process::Command::new("kill").args(["-INT", &run.child.id().to_string()]).status();
    assert!(signalled.expect("kill runs").success());
    let (code, _, stderr) = run.ends();
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("done so far: integration.camel.apache.org/hello created"), "{stderr}");
    assert!(stderr.contains("kubectl wait") && stderr.contains("kubectl delete"), "{stderr}");
}
