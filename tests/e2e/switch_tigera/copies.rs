//! Copies: conflicts by hash, earlier copies, and metadata that must not follow.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::json;

use super::{
    no_values, ran, switch,
    world::{Peer, VALUES, World},
};

#[test]
fn what_is_there_is_never_written_over_unasked() {
    let world = World::new();
    let (cluster, admin) = (world.cluster, world.cluster.admin());
    let _peers = [Peer::start(&world, &world.old), Peer::start(&world, &world.new)];
    let path = World::path(&world.new, "secrets", "node-certs");
    cluster.create(
        &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "node-certs", "namespace": world.new},
        "data": {"tls.key": BASE64_STANDARD.encode("other")}}),
    );
    let refused = ran(switch(&admin, &format!("{} --yes", world.new))).exits(3);
    assert!(refused.stderr.contains("differs in tls.key (sha256:"), "{refused}");
    assert_eq!(world.says().0, world.old);
    ran(switch(&admin, &format!("{} --yes --overwrite", world.new))).succeeds();
    assert_eq!(cluster.get(&path)["data"]["tls.key"], BASE64_STANDARD.encode(VALUES[1]));

    // Back, renewed there, and over again: kctl's own earlier copy follows without a question.
    ran(switch(&admin, "- --yes")).succeeds();
    cluster.merge(
        &World::path(&world.old, "secrets", "node-certs"),
        &json!({"data": {"tls.key": BASE64_STANDARD.encode("renewed")}}),
    );
    ran(switch(&admin, &format!("{} --yes", world.new))).succeeds();
    assert_eq!(cluster.get(&path)["data"]["tls.key"], BASE64_STANDARD.encode("renewed"));
    // One that somebody changed is not deleted.
    cluster.merge(&path, &json!({"data": {"tls.key": BASE64_STANDARD.encode("mine")}}));
    ran(switch(&admin, &format!("{} --yes --overwrite", world.old))).succeeds();
    let cleaned = ran(switch(&admin, &format!("{} --yes --cleanup", world.old))).succeeds();
    assert!(cleaned.stdout.contains("secret/node-certs skipped: changed since it was copied"), "{cleaned}");
    assert!(cluster.find(&path).is_some());
    assert_eq!(cluster.find(&World::path(&world.new, "secrets", "tigera-ca-private")), None);
}

#[test]
fn a_copy_is_clean_and_says_where_it_comes_from() {
    let world = World::new();
    let admin = world.cluster.admin();
    let _peers = [Peer::start(&world, &world.old), Peer::start(&world, &world.new)];
    ran(switch(&admin, &format!("{} --yes", world.new))).succeeds();
    let copy = world.cluster.get(&World::path(&world.new, "secrets", "tigera-ca-private"));
    let source = world.cluster.get(&World::path(&world.old, "secrets", "tigera-ca-private"));
    assert_eq!(copy["data"], source["data"]);
    assert_eq!(copy["metadata"].get("ownerReferences"), None, "the garbage collector would delete it");
    assert_eq!(copy["metadata"]["labels"]["kctl.dev/copied-from"], *world.old);
    assert_eq!(copy["metadata"]["managedFields"][0]["manager"], "kctl-switch");
    no_values(&copy["metadata"].to_string());
    no_values(&world.pointer().to_string());
}

#[test]
fn a_source_that_changes_on_the_way_stops_the_switch_before_the_flip() {
    let world = World::new();
    let (cluster, admin) = (world.cluster, world.cluster.admin());
    let gate = cluster.gate(&admin);
    let created = format!("POST /api/v1/namespaces/{}/secrets", world.new);
    gate.hold_when(move |_, request| request.starts_with(&created));
    let run = super::kctl().kubeconfig(gate.kubeconfig()).line(&format!("switch-active {} --yes", world.new));
    let child = run
        .command()
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("kctl starts");
    gate.wait_held(super::world::DEADLINE, || false).expect("a copy");
    cluster.merge(&World::path(&world.old, "secrets", "pull"), &json!({"data": {"tls.key": "bmV3"}}));
    gate.open();
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("changed while it was copied"), "{told}");
    assert_eq!(world.says(), (world.old.clone(), false));
}
