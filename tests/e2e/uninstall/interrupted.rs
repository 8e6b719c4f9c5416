//! Killed between any two requests, and finished by running it again.

use std::process::{Child, Stdio};

use super::{DEADLINE, claim, everything, integration, integration_path, traces};
use crate::kctl::{Kctl, kctl};
use crate::testbed::{Cluster, Gate, Options};

/// More requests than any removal sends.
const MANY: usize = 200;

/// Starts a removal through the gate and stops it before its request number `at`. `None` when it ended by itself.
fn held_at(gate: &Gate, run: &Kctl, at: usize) -> Option<Child> {
    gate.open();
    gate.close_after(at);
    let mut command = run.command();
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("kctl starts");
    let held = gate.wait_held(DEADLINE, || matches!(child.try_wait(), Ok(Some(_))));
    held.map(|_| child)
}

#[test]
fn a_removal_killed_after_any_request_is_finished_by_running_it_again() {
    let cluster = Cluster::own(&Options::default());
    let admin = cluster.admin();
    let gate = cluster.gate(&admin);
    let (ops, team) = (cluster.namespace("ops"), cluster.namespace("team"));
    let plain = |line: &str| kctl().kubeconfig(&admin.kubeconfig).line(line).run();
    plain(&format!("install -x heir -n {ops} --global --yes")).succeeds();
    let untouched = everything(&cluster);
    let mut seen_under_way = false;
    for at in 0..MANY {
        plain(&format!("install -x killed -n {ops} --registry r:5000 --log-level debug --yes")).succeeds();
        cluster.create(&integration(&team, "orders", "killed"));
        traces(&cluster, &ops, "killed");
        let line = "uninstall -x killed --move-to heir --yes";
        let run = kctl().kubeconfig(gate.kubeconfig()).line(line);
        let child = held_at(&gate, &run, at);
        let ended = child.is_none();
        if let Some(mut child) = child {
            child.kill().expect("it runs");
            child.wait().expect("it ended");
        }
        gate.open();
        let under_way = cluster.find(&claim("killed")).is_some_and(|claim| claim["spec"].get("operation").is_some());
        if under_way && !seen_under_way {
            seen_under_way = true;
            let listed = plain("list-operators -o json").succeeds().json();
            let row = listed["items"].as_array().and_then(|rows| rows.iter().find(|row| row["id"] == "killed"));
            assert_eq!(row.map(|row| &row["operation"]["type"]), Some(&"uninstall".into()), "{listed}");
            plain(&format!("install -x killed -n {ops}")).exits(3);
        }
        plain(line).succeeds();
        let orders = integration_path(&team, "orders");
        let moved = cluster.get(&orders);
        assert_eq!(
            moved["metadata"]["annotations"]["camel.apache.org/operator.id"], "heir",
            "killed before request {at}"
        );
        cluster.delete(&orders);
        cluster.delete(&format!("/apis/camel.apache.org/v1/namespaces/{ops}/kamelets/users-killed"));
        let left = everything(&cluster);
        assert!(
            left.keys().eq(untouched.keys()),
            "killed before request {at}: {:?}",
            left.keys().filter(|path| !untouched.contains_key(*path)).collect::<Vec<_>>()
        );
        assert_eq!(left, untouched, "killed before request {at}");
        if ended {
            assert!(at > 30, "a removal takes more than {at} requests");
            assert!(seen_under_way);
            return;
        }
    }
    panic!("a removal that takes {MANY} requests");
}
