//! Killed or overtaken between any two requests: never two at once, and a second run ends it.

use std::process::{Child, Command, Stdio};

use super::{DEADLINE, Pair, kctl};
use crate::testbed::Gate;

const MANY: usize = 200;

fn held_at(gate: &Gate, pair: &Pair, at: usize) -> Option<(crate::kctl::Kctl, Child)> {
    gate.open();
    gate.close_after(at);
    let line = format!("switch-active {} -x {} --yes", pair.alt, pair.id);
    let run = kctl().kubeconfig(gate.kubeconfig()).line(&line);
    let mut child =
        run.command().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("kctl starts");
    gate.wait_held(DEADLINE, || matches!(child.try_wait(), Ok(Some(_)))).map(|_| (run, child))
}

#[track_caller]
fn never_two(pair: &Pair, at: usize) {
    assert!(pair.replicas(&pair.ops) + pair.replicas(&pair.alt) <= 1, "two are to run, before request {at}");
}

#[test]
fn killed_after_any_request_it_is_finished_by_running_it_again_or_turned_back() {
    let pair = Pair::install();
    let gate = pair.cluster.gate(&pair.admin);
    let _operators = [pair.operator(&pair.ops, &[]), pair.operator(&pair.alt, &[])];
    let mut under_way = 0;
    for at in (12..MANY).step_by(2) {
        let Some((_run, mut child)) = held_at(&gate, &pair, at) else {
            assert!(under_way > 5, "a switch is under way for more requests");
            return;
        };
        child.kill().expect("it runs");
        child.wait().expect("it ended");
        gate.open();
        never_two(&pair, at);
        if pair.claim()["spec"].get("operation").is_some() {
            under_way += 1;
            if at % 4 == 0 {
                pair.switch(&pair.alt).succeeds();
                pair.only(&pair.alt);
            }
        }
        pair.switch(&pair.ops).succeeds();
        pair.only(&pair.ops);
    }
    panic!("a switch that takes {MANY} requests");
}

#[test]
fn one_that_wakes_up_after_somebody_turned_it_back_writes_nothing_more() {
    let pair = Pair::install();
    let gate = pair.cluster.gate(&pair.cluster.admin());
    let _operators = [pair.operator(&pair.ops, &[]), pair.operator(&pair.alt, &[])];
    let mut overtaken = 0;
    for at in (12..MANY).step_by(3) {
        let Some((_run, child)) = held_at(&gate, &pair, at) else { break };
        let stop =
            |signal: &str| Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        stop("-STOP");
        let under_way = pair.claim()["spec"].get("operation").is_some();
        if under_way {
            overtaken += 1;
            pair.switch(&pair.ops).succeeds();
            pair.only(&pair.ops);
        }
        stop("-CONT");
        gate.open();
        let output = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr);
        if under_way {
            assert_eq!(output.status.code(), Some(3), "held before request {at}: {told}");
            pair.only(&pair.ops);
        } else {
            assert_eq!(output.status.code(), Some(0), "held before request {at}: {told}");
            pair.switch(&pair.ops).succeeds();
        }
    }
    assert!(overtaken > 3, "a switch is under way for more requests");
}
