//! Ids decide; a change of the id begins anew.

use serde_json::json;

use super::{Bench, DEADLINE, image, variable};
use crate::example_operator::{camel_k, lease, lease_holder};
use crate::testbed::{Cluster, wait_until};

#[test]
fn the_right_one_takes_it_and_a_move_begins_anew() {
    let bench = Bench::on(Cluster::shared());
    let (a, home_a) = bench.tenant("tenant");
    let (b, home_b) = bench.tenant("tenant");
    let first = camel_k(bench.cluster, &a, &home_a).start();
    let _second = camel_k(bench.cluster, &b, &home_b).start();

    bench.create("Integration", "orders", &a, &image());
    let taken = bench.phase("integrations", "orders", "Running");
    assert_eq!(taken["platform"], json!(a));
    let deployment = bench.deployment("orders");
    assert_eq!(variable(&deployment, "CAMEL_K_OPERATOR_ID"), a);
    assert_eq!(deployment["metadata"]["labels"]["camel.apache.org/integration"], "orders");
    assert!(!lease_holder(bench.cluster, &home_a, &format!("{a}-lock")).is_empty());

    bench.assign("integrations", "orders", &b);
    let moved = bench.phase_after("integrations", "orders", "Running", &taken);
    assert!(moved["digest"].as_str().is_some_and(|digest| digest.starts_with('v')));
    assert_eq!(moved.get("platform"), None, "nothing of the old operator is left");
    assert_eq!(variable(&bench.deployment("orders"), "CAMEL_K_OPERATOR_ID"), b);

    assert_eq!(first.stop(), Some(0));
    let released = lease(bench.cluster, &home_a, &format!("{a}-lock"));
    assert_eq!(released["spec"]["holderIdentity"].as_str().unwrap_or_default(), "");
    assert_eq!(released["spec"]["leaseDurationSeconds"], 1);
}

#[test]
fn nobody_takes_an_id_that_nobody_has_and_no_platform_means_waiting() {
    let bench = Bench::on(Cluster::shared());
    let (id, home) = (bench.cluster.unique("tenant"), bench.cluster.namespace("ops"));
    bench.create("Integration", "early", &id, &image());
    let other = bench.cluster.unique("tenant");
    bench.create("Integration", "stranger", &other, &image());

    let _operator = camel_k(bench.cluster, &id, &home).start();
    bench.phase("integrations", "early", "Waiting For Platform");
    bench.platform(&id, &home);
    bench.phase("integrations", "early", "Running");
    assert_eq!(bench.cluster.get(&bench.path("integrations", "stranger")).get("status"), None);
    let platform = format!("/apis/camel.apache.org/v1/namespaces/{home}/integrationplatforms/{id}");
    let status = &bench.cluster.get(&platform)["status"];
    assert_eq!((&status["phase"], &status["version"]), (&json!("Ready"), &json!("2.10.1")));
}

#[test]
fn an_older_one_makes_its_own_platform() {
    let bench = Bench::on(Cluster::shared());
    let (id, home) = (bench.cluster.unique("tenant"), bench.cluster.namespace("ops"));
    let _operator = camel_k(bench.cluster, &id, &home).args(["--era", "e1"]).start();
    bench.create("Integration", "old", &id, &image());
    bench.phase("integrations", "old", "Running");
    let platform = format!("/apis/camel.apache.org/v1/namespaces/{home}/integrationplatforms/{id}");
    let platform = bench.cluster.get(&platform);
    assert_eq!(platform["metadata"]["labels"]["camel.apache.org/platform.generated"], "true");
    assert_eq!(platform["status"]["version"], "1.12.1");
}

#[test]
fn a_move_drops_the_kit() {
    let bench = Bench::on(Cluster::shared());
    let (a, home_a) = bench.tenant("tenant");
    let (b, home_b) = bench.tenant("tenant");
    let _first = camel_k(bench.cluster, &a, &home_a).start();
    let _second = camel_k(bench.cluster, &b, &home_b).start();
    bench.create("Integration", "built", &a, &json!({"flows": [{"from": {"uri": "timer:tick"}}]}));
    let built = bench.phase("integrations", "built", "Running");
    assert_eq!(built["integrationKit"]["namespace"], json!(home_a));
    assert_eq!(built["version"], "2.10.1");

    bench.assign("integrations", "built", &b);
    let moved = bench.phase_after("integrations", "built", "Running", &built);
    assert_eq!(moved["integrationKit"]["namespace"], json!(home_b));
    let kit = moved["integrationKit"]["name"].as_str().expect("a kit");
    let kit = format!("/apis/camel.apache.org/v1/namespaces/{home_b}/integrationkits/{kit}");
    assert_eq!(bench.cluster.get(&kit)["metadata"]["annotations"]["camel.apache.org/operator.id"], json!(b));
}

#[test]
fn a_pipe_takes_its_integration_along() {
    let bench = Bench::on(Cluster::shared());
    let (a, home_a) = bench.tenant("tenant");
    let (b, home_b) = bench.tenant("tenant");
    let _first = camel_k(bench.cluster, &a, &home_a).start();
    let _second = camel_k(bench.cluster, &b, &home_b).start();
    let spec = json!({
        "source": {"uri": "timer:tick"},
        "sink": {"uri": "log:info"},
        "traits": {"container": {"image": "registry.example/app:1"}},
    });
    bench.create("Pipe", "ticks", &a, &spec);
    bench.phase("pipes", "ticks", "Ready");
    let integration = bench.cluster.get(&bench.path("integrations", "ticks"));
    let metadata = &integration["metadata"];
    assert_eq!(metadata["annotations"]["note"], "kept");
    assert_eq!(metadata["labels"]["camel.apache.org/created.by.kind"], "Pipe");
    assert_eq!(metadata["ownerReferences"][0]["name"], "ticks");

    // The Pipe is what counts: its Integration alone cannot be moved.
    let before = bench.phase("integrations", "ticks", "Running");
    bench.assign("integrations", "ticks", &b);
    wait_until("the Integration to be taken back", DEADLINE, || {
        let now = bench.cluster.get(&bench.path("integrations", "ticks"));
        now["metadata"]["annotations"]["camel.apache.org/operator.id"] == json!(a)
    });
    bench.assign("pipes", "ticks", &b);
    bench.phase_after("integrations", "ticks", "Running", &before);
    assert_eq!(variable(&bench.deployment("ticks"), "CAMEL_K_OPERATOR_ID"), b);
    bench.phase("pipes", "ticks", "Ready");
}

#[test]
fn the_same_id_in_another_namespace_touches_nothing() {
    let bench = Bench::on(Cluster::shared());
    let (id, home) = bench.tenant("tenant");
    let other = bench.cluster.namespace("alt");
    let first = camel_k(bench.cluster, &id, &home).start();
    bench.create("Integration", "orders", &id, &image());
    bench.phase("integrations", "orders", "Running");
    first.stop();

    let before = bench.cluster.get(&bench.path("integrations", "orders"));
    let second = camel_k(bench.cluster, &id, &other).start();
    // What comes later needs a platform there, and shows that the operator has been through what is older.
    bench.create("Integration", "later", &id, &image());
    bench.phase("integrations", "later", "Waiting For Platform");
    second.stop();
    assert_eq!(bench.cluster.get(&bench.path("integrations", "orders")), before);
}

#[test]
fn it_needs_to_know_what_to_watch() {
    let bench = Bench::on(Cluster::shared());
    let mut operator = camel_k(bench.cluster, "any", "default").without("WATCH_NAMESPACE").start();
    assert_eq!(operator.exit_code(), Some(1));
    assert!(operator.log().contains("WATCH_NAMESPACE must be set"), "{}", operator.log());
}

#[test]
fn a_lease_that_was_not_given_back_has_to_expire() {
    let bench = Bench::on(Cluster::shared());
    let (id, home) = bench.tenant("tenant");
    let name = format!("{id}-lock");
    let start = || camel_k(bench.cluster, &id, &home).args(["--lease-duration", "3s"]).start();
    let holder = || lease_holder(bench.cluster, &home, &name);

    let first = start();
    wait_until("the lease", DEADLINE, || !holder().is_empty());
    let before = holder();
    first.kill();
    assert_eq!(holder(), before, "a crash gives nothing back");
    let _second = start();
    wait_until("another holder", DEADLINE, || holder() != before && !holder().is_empty());
    assert_eq!(lease(bench.cluster, &home, &name)["spec"]["leaseTransitions"], 1);
}
