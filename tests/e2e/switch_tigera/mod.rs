//! `switch-active` for Tigera operators: copied, flipped once, proved or turned back.

mod copies;
mod examples;
mod interrupted;
mod prompts;
mod refused;
mod world;

use serde_json::{Value, json};

use crate::kctl::{Kctl, Ran, kctl};
use crate::testbed::User;

use world::{Peer, VALUES, World};

fn switch(user: &User, line: &str) -> Kctl {
    kctl().kubeconfig(&user.kubeconfig).line(&format!("switch-active {line}"))
}

/// Runs to the end and looks for values of Secrets in everything it said.
#[track_caller]
fn ran(run: Kctl) -> Ran {
    let ran = run.run();
    no_values(&format!("{ran}"));
    ran
}

#[track_caller]
fn no_values(text: &str) {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    for value in VALUES {
        assert!(!text.contains(value) && !text.contains(&BASE64_STANDARD.encode(value)), "{value} in {text}");
    }
}

#[test]
fn there_and_back_and_back_again() {
    let world = World::new();
    let (cluster, admin) = (world.cluster, world.cluster.admin());
    let _peers = [Peer::start(&world, &world.old), Peer::start(&world, &world.new)];

    let first = ran(switch(&admin, &format!("-n {} --yes", world.new))).succeeds();
    assert_eq!(world.says(), (world.new.clone(), false), "{first}");
    assert!(first.stdout.contains("secret/tigera-ca-private created: sha256:"), "{first}");
    assert!(first.stdout.contains("configmap/active-operator configured"), "{first}");
    assert!(first.stderr.contains("not copied (--include NAME): secret/stranger"), "{first}");
    assert!(first.stderr.contains(&format!("to undo: kctl switch-active {}", world.old)), "{first}");
    assert_eq!(cluster.find(&World::path(&world.new, "secrets", "stranger")), None);

    let version = world.pointer()["metadata"]["resourceVersion"].clone();
    let mark = cluster.audit_mark();
    let again = ran(switch(&admin, &format!("{} --yes", world.new))).succeeds();
    assert!(again.stdout.contains("configmap/active-operator unchanged"), "{again}");
    assert_eq!(world.pointer()["metadata"]["resourceVersion"], version);
    let writes: Vec<_> = cluster
        .requests_since(mark, &admin)
        .into_iter()
        .filter(|request| request.is_write() && !request.resource.ends_with("accessreviews"))
        .collect();
    assert!(writes.is_empty(), "{writes:?}");

    let back = ran(switch(&admin, "- --yes --cleanup -o json")).succeeds();
    assert_eq!(world.says(), (world.old.clone(), false), "{back}");
    let report = back.json();
    assert_eq!(report["kind"], "OperationReport");
    assert_eq!(report["operation"]["result"], "done");
    assert_eq!((&report["operation"]["from"], &report["operation"]["to"]), (&json!(world.new), &json!(world.old)));
    let deleted: Vec<&Value> =
        report["changes"].as_array().expect("changes").iter().filter(|c| c["action"] == "deleted").collect();
    assert_eq!(deleted.len(), 3, "the three copies: {back}");
    for name in ["tigera-ca-private", "node-certs", "pull"] {
        assert_eq!(cluster.find(&World::path(&world.new, "secrets", name)), None, "{name}");
        assert!(cluster.find(&World::path(&world.old, "secrets", name)).is_some(), "{name}");
    }
    ran(switch(&admin, "- --yes --include * --exclude pull")).succeeds();
    assert_eq!(world.says(), (world.new.clone(), false));
    assert!(cluster.find(&World::path(&world.new, "secrets", "stranger")).is_some());
    assert_eq!(cluster.find(&World::path(&world.new, "secrets", "pull")), None);
}

#[test]
fn an_operator_that_never_acts_is_rolled_back_from() {
    let world = World::new();
    let admin = world.cluster.admin();
    let _old = Peer::start(&world, &world.old);
    let ran = ran(switch(&admin, &format!("{} --yes --timeout 3s -o json", world.new))).exits(6);
    assert_eq!(world.says(), (world.old.clone(), false), "{ran}");
    assert_eq!(ran.json()["operation"]["result"], "rolled-back");
    assert!(ran.stderr.contains("rolled back"), "{ran}");
    assert!(world.cluster.find(&World::path(&world.new, "secrets", "node-certs")).is_some(), "copies stay");
    // Turned back, it is no way back.
    super::switch_tigera::ran(switch(&admin, "- --family tigera --yes")).exits(5);

    let left =
        super::switch_tigera::ran(switch(&admin, &format!("{} --yes --timeout 2s --no-rollback", world.new))).exits(6);
    assert_eq!(world.says(), (world.new.clone(), true), "{left}");
    assert!(left.stderr.contains("to go on waiting: kctl switch-active"), "{left}");
    // A third namespace has to wait; the old one is the way back, with nothing to prove but itself.
    let busy =
        super::switch_tigera::ran(switch(&admin, &format!("{} --yes", world.cluster.namespace("third")))).exits(3);
    assert!(busy.stderr.contains("a switch to"), "{busy}");
    super::switch_tigera::ran(switch(&admin, "- --yes --timeout 30s"));
    assert_eq!(world.says().0, world.old);
}

#[test]
fn of_two_switches_at_once_one_wins() {
    let world = World::new();
    let cluster = world.cluster;
    let third = World::third(&world);
    let _peers = [Peer::start(&world, &world.old), Peer::start(&world, &world.new), Peer::start(&world, &third)];
    for round in 0..20 {
        let (from, targets) = {
            let now = world.says().0;
            let others: Vec<String> =
                [&world.old, &world.new, &third].into_iter().filter(|name| **name != now).cloned().collect();
            (now, others)
        };
        let runs: Vec<_> = targets
            .iter()
            .map(|to| {
                let admin = cluster.admin();
                let run = switch(&admin, &format!("{to} --yes --overwrite --timeout 30s"));
                let child = run
                    .command()
                    .stdin(std::process::Stdio::null())
                    .stdout(std::process::Stdio::piped())
                    .stderr(std::process::Stdio::piped())
                    .spawn()
                    .expect("kctl starts");
                (to, run, child)
            })
            .collect();
        let mut winners = Vec::new();
        let mut told = String::new();
        for (to, _run, child) in runs {
            let output = child.wait_with_output().expect("it ends");
            let code = output.status.code();
            told += &format!("{to}: {code:?} {}\n", String::from_utf8_lossy(&output.stderr));
            if code == Some(0) {
                winners.push(to.clone());
            } else {
                assert_eq!(code, Some(3), "round {round} from {from}: {told}");
            }
        }
        let (now, record) = world.says();
        // The second may have begun after the first was done: then both won, one after the other.
        assert!(!winners.is_empty() && winners.contains(&now) && !record, "round {round} from {from}: {told}");
    }
}
