//! A second install of an operator: what it changes, what it asks, and what goes.

use serde_json::json;

use super::interrupted::{MANY, held_at};
use super::{claim, deployment, replicas};
use crate::kctl::kctl;
use crate::testbed::Cluster;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

#[test]
fn a_narrower_scope_takes_its_roles_along_and_nobody_elses() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("scope"));
    let (watched, other) = (cluster.namespace("watched"), cluster.unique("bystander"));
    let install = |id: &str, more: &str| {
        kctl()
            .kubeconfig(&admin.kubeconfig)
            .line(&format!("install -x {id} -n {namespace} --yes {more}"))
            .run()
            .succeeds()
    };
    install(&other, "--global");
    install(&id, "--global");
    let cluster_role = |id: &str| format!("{RBAC}/clusterroles/kctl-camel-k-{id}");
    let role = |namespace: &str| format!("{RBAC}/namespaces/{namespace}/roles/{id}-operator");
    // Same label, made by somebody else.
    let lookalike = cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": format!("{id}-mine"), "labels": {"kctl.dev/operator-id": id}}, "rules": [],
    }));
    install(&id, &format!("--watch-namespace {watched}"));
    assert_eq!(cluster.find(&cluster_role(&id)), None);
    assert_eq!(cluster.find(&format!("{RBAC}/clusterrolebindings/kctl-camel-k-{id}")), None);
    assert!(cluster.find(&role(&watched)).is_some() && cluster.find(&role(&namespace)).is_some());
    assert!(cluster.find(&cluster_role(&other)).is_some());
    assert_eq!(cluster.get(&format!("{RBAC}/clusterroles/{id}-mine")), lookalike);

    install(&id, &format!("--watch-namespace {namespace}"));
    assert_eq!(cluster.find(&role(&watched)), None);
    assert!(cluster.find(&role(&namespace)).is_some());
    assert_eq!(replicas(cluster, &id), 1);
}

#[test]
fn an_upgrade_keeps_everything_else_and_a_downgrade_is_refused() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("upgrade"));
    let install =
        |more: &str| kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {namespace} {more}")).run();
    install("--operator-version 2.9.0 --log-level debug --toleration gpu:NoSchedule").succeeds();
    let before = cluster.get(&deployment(&namespace, &id));
    let claimed = cluster.get(&claim(&id));
    let ran = install("--operator-version 2.10.1").succeeds();
    assert!(ran.stderr.contains("version 2.9.0 -> 2.10.1"), "{ran}");
    let after = cluster.get(&deployment(&namespace, &id));
    let text = after["spec"].to_string();
    assert_eq!(text, before["spec"].to_string().replace("2.9.0", "2.10.1"), "only the version differs");
    assert_eq!(cluster.get(&claim(&id)), claimed);

    let mark = cluster.audit_mark();
    let refused = install("--operator-version 2.9.0").exits(3);
    assert!(refused.stderr.contains("2.9.0 is older") && refused.stderr.contains("--force"), "{refused}");
    let writes: Vec<_> = cluster
        .requests_since(mark, &admin)
        .into_iter()
        .filter(|request| request.is_write() && request.resource != "selfsubjectaccessreviews")
        .collect();
    assert!(writes.is_empty(), "{writes:?}");
    install("--operator-version 2.9.0 --force").succeeds();
    assert_eq!(cluster.get(&deployment(&namespace, &id))["spec"], before["spec"]);
}

#[test]
fn a_canary_starts_from_the_settings_of_another_operator() {
    let cluster = Cluster::shared();
    let (admin, prod, canary) = (cluster.admin(), cluster.namespace("prod"), cluster.namespace("canary"));
    let (a, b) = (cluster.unique("prod"), cluster.unique("canary"));
    let install = |line: &str| kctl().kubeconfig(&admin.kubeconfig).line(&format!("install {line}")).run().succeeds();
    install(&format!(
        "-x {a} -n {prod} --global --registry r:5000 --resources limits.memory=3Gi --operator-version 2.9.0"
    ));
    let ran = install(&format!("-x {b} -n {canary} --like {a} --operator-version 2.10.1"));
    assert!(ran.stderr.contains("version: \"2.9.0\" -> \"2.10.1\""), "{ran}");
    let text = cluster.get(&deployment(&canary, &b)).to_string();
    assert!(text.contains("\"3Gi\"") && text.contains("camel-k:2.10.1"), "{text}");
    let platform = cluster.get(&format!("/apis/camel.apache.org/v1/namespaces/{canary}/integrationplatforms/{b}"));
    assert_eq!(platform["spec"]["build"]["registry"]["address"], "r:5000");
    assert_eq!(platform["metadata"]["annotations"]["camel.apache.org/operator.id"], *b);
}

#[test]
fn a_change_killed_after_any_request_is_finished_by_running_it_again() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("changed"));
    let gate = cluster.gate(&admin);
    let before = format!("install -x {id} -n {namespace} --global --operator-version 2.9.0 --force --yes");
    let after = format!("install -x {id} -n {namespace} --watch-namespace {namespace} --operator-version 2.10.1 --yes");
    let roles = || {
        let of = |kind: &str| cluster.get(&format!("{RBAC}/{kind}?labelSelector=kctl.dev/operator-id={id}"));
        ["roles", "rolebindings", "clusterroles", "clusterrolebindings"]
            .map(|kind| of(kind)["items"].as_array().expect("a list").len())
    };
    for at in 0..MANY {
        kctl().kubeconfig(&admin.kubeconfig).line(&before).run().succeeds();
        assert_eq!(roles(), [0, 0, 1, 1], "before");
        let Some(mut child) = held_at(&gate, &kctl().kubeconfig(gate.kubeconfig()).line(&after), at) else {
            assert!(at > 20, "a change takes more than {at} requests");
            return;
        };
        child.kill().expect("it runs");
        child.wait().expect("it ended");
        gate.open();
        kctl().kubeconfig(&admin.kubeconfig).line(&after).run().succeeds();
        assert_eq!(roles(), [1, 1, 0, 0], "killed before request {at}");
        let text = cluster.get(&deployment(&namespace, &id))["spec"].to_string();
        assert!(text.contains("camel-k:2.10.1") && text.contains("fieldPath"), "killed before request {at}: {text}");
        assert_eq!(replicas(cluster, &id), 1, "killed before request {at}");
    }
    panic!("a change that takes {MANY} requests");
}
