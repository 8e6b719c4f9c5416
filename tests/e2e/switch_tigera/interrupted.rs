//! Killed, stopped or cut off between any two requests.

use std::process::{Child, Command, Stdio};

use super::{
    kctl, ran, switch,
    world::{DEADLINE, Peer, World},
};
use crate::testbed::Gate;

/// More requests than any switch sends.
const MANY: usize = 300;

fn held_at(gate: &Gate, world: &World, at: usize) -> Option<(crate::kctl::Kctl, Child)> {
    gate.open();
    gate.close_after(at);
    let run = kctl().kubeconfig(gate.kubeconfig()).line(&format!("switch-active {} --yes", world.new));
    let mut child =
        run.command().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("kctl starts");
    gate.wait_held(DEADLINE, || matches!(child.try_wait(), Ok(Some(_)))).map(|_| (run, child))
}

fn signal(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

#[test]
fn killed_after_any_request_it_is_finished_by_running_it_again_or_turned_back() {
    let world = World::new();
    let admin = world.cluster.admin();
    let gate = world.cluster.gate(&admin);
    let _peers = [Peer::start(&world, &world.old), Peer::start(&world, &world.new)];
    let mut flipped = false;
    for at in 0..MANY {
        let Some((_run, mut child)) = held_at(&gate, &world, at) else {
            assert!(at > 30 && flipped, "a switch takes more than {at} requests");
            return;
        };
        child.kill().expect("it runs");
        child.wait().expect("it ended");
        gate.open();
        let (says, record) = world.says();
        flipped |= record;
        assert!(says == world.old || says == world.new, "killed before request {at}: {says}");
        if at % 2 == 0 || !record {
            ran(switch(&admin, &format!("{} --yes", world.new))).succeeds();
            assert_eq!(world.says(), (world.new.clone(), false), "killed before request {at}");
        }
        ran(switch(&admin, &format!("{} --yes --cleanup", world.old))).succeeds();
        assert_eq!(world.says(), (world.old.clone(), false), "killed before request {at}");
    }
    panic!("a switch that takes {MANY} requests");
}

#[test]
fn one_that_wakes_up_after_somebody_turned_it_back_writes_nothing_more() {
    let world = World::new();
    let (cluster, admin) = (world.cluster, world.cluster.admin());
    let (sleeper, other) = (cluster.admin(), admin);
    let gate = cluster.gate(&sleeper);
    let _peers = [Peer::start(&world, &world.old), Peer::start(&world, &world.new)];
    let mut at = 25;
    loop {
        let Some((_run, child)) = held_at(&gate, &world, at) else { break };
        signal(&child, "-STOP");
        let (_, record) = world.says();
        if record {
            ran(switch(&other, "- --yes --timeout 30s")).succeeds();
        } else {
            ran(switch(&other, &format!("{} --yes", world.new))).succeeds();
            ran(switch(&other, &format!("{} --yes", world.old))).succeeds();
        }
        let before = world.pointer()["metadata"]["resourceVersion"].clone();
        signal(&child, "-CONT");
        gate.open();
        let output = child.wait_with_output().expect("it ends");
        if record {
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "held before request {at}: {told}");
            assert_eq!(world.pointer()["metadata"]["resourceVersion"], before, "held before request {at}: {told}");
        }
        if world.says().0 != world.old {
            ran(switch(&other, &format!("{} --yes", world.old))).succeeds();
        }
        at += 3;
    }
    assert!(at > 30, "a switch takes more than {at} requests");
}

#[test]
fn ctrl_c_says_what_was_done_and_turns_nothing_back() {
    let world = World::new();
    let admin = world.cluster.admin();
    let _old = Peer::start(&world, &world.old);
    let run = switch(&admin, &format!("{} --yes", world.new));
    let child =
        run.command().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("kctl starts");
    crate::testbed::wait_until("the flip", DEADLINE, || world.says().1);
    signal(&child, "-INT");
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert_eq!(world.says(), (world.new.clone(), true), "{told}");
    assert!(told.contains(&format!("to go on: kctl switch-active {}", world.new)), "{told}");
    assert!(told.contains(&format!("to undo: kctl switch-active {}", world.old)), "{told}");
}
