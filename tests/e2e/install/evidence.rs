//! Operators that hold no claim, and things that only look like operators.

use serde_json::{Value, json};

use super::{claim, deployment, replicas};
use crate::kctl::kctl;
use crate::testbed::Cluster;

/// The Deployment of an operator that another tool has installed.
fn foreign(namespace: &str, name: &str, id: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {
            "app": "camel-k", "camel.apache.org/component": "operator", "app.kubernetes.io/version": "2.10.0"}},
        "spec": {"selector": {"matchLabels": {"name": name}}, "template": {"metadata": {"labels": {"name": name}}, "spec": {
            "containers": [{"name": "camel-k-operator", "image": "docker.io/apache/camel-k:2.10.0", "command": ["kamel", "operator"],
                "env": [{"name": "WATCH_NAMESPACE", "value": ""}, {"name": "OPERATOR_ID", "value": "camel-k"},
                    {"name": "KAMEL_OPERATOR_ID", "value": id}]}]}}},
    })
}

#[test]
fn an_operator_without_a_claim_keeps_its_id_until_it_is_overruled() {
    let cluster = Cluster::shared();
    let (admin, theirs, ours) = (cluster.admin(), cluster.namespace("theirs"), cluster.namespace("ours"));
    let id = cluster.unique("foreign");
    cluster.create(&foreign(&theirs, "camel-k-operator", &id));
    let install =
        |more: &str| kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {ours} {more}")).run();
    let ran = install("").exits(3);
    assert!(
        ran.stderr.contains(&format!("Deployment camel-k-operator in namespace {theirs}, version 2.10.0")),
        "{ran}"
    );
    assert!(ran.stderr.contains(&format!("--ignore-evidence {theirs}/camel-k-operator")), "{ran}");
    assert_eq!(cluster.find(&claim(&id)), None);
    install(&format!("--ignore-evidence {theirs}/camel-k-operator")).succeeds();
    assert_eq!(
        cluster.get(&claim(&id))["spec"]["ignoredEvidence"],
        json!([{"namespace": theirs, "name": "camel-k-operator"}])
    );
}

#[test]
fn a_tenants_forgery_frees_nothing_and_blocks_no_upgrade() {
    let cluster = Cluster::shared();
    let (admin, ops, tenant) = (cluster.admin(), cluster.namespace("ops"), cluster.namespace("tenant"));
    let id = cluster.unique("forged");
    let install = |more: &str| kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {more}")).run();
    install(&format!("{ops} --operator-version 2.9.0")).succeeds();
    cluster.create(&foreign(&tenant, "fake-operator", &id));
    cluster.create(&json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": format!("{id}-lock"), "namespace": tenant},
        "spec": {"holderIdentity": "fake_1", "leaseDurationSeconds": 15, "renewTime": "2099-01-01T00:00:00.000000Z"}}));
    install(&format!("{ops} --operator-version 2.10.0")).succeeds();
    let image = cluster.get(&deployment(&ops, &id))["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    assert_eq!(image, "docker.io/apache/camel-k:2.10.0");
    let ran = install(&format!("{tenant} --take-over")).exits(3);
    assert!(ran.stderr.contains("its Deployment exists"), "{ran}");
    assert_eq!(cluster.get(&claim(&id))["spec"]["active"]["namespace"], *ops);
    assert_eq!(replicas(cluster, &id), 1);
}

#[test]
fn a_live_lease_in_the_holders_namespace_keeps_the_id() {
    let cluster = Cluster::shared();
    let (admin, ops, alt) = (cluster.admin(), cluster.namespace("ops"), cluster.namespace("alt"));
    let id = cluster.unique("leased");
    kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {ops}")).run().succeeds();
    cluster.delete(&deployment(&ops, &id));
    let lease = cluster.create(&json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": format!("{id}-lock"), "namespace": ops},
        "spec": {"holderIdentity": "pod_1", "leaseDurationSeconds": 15, "renewTime": "2099-01-01T00:00:00.000000Z"}}));
    let take_over =
        || kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {alt} --take-over")).run();
    assert!(take_over().exits(3).stderr.contains("lease is being renewed"));
    // Released, as a clean stop leaves it.
    cluster.merge(&cluster.path_of(&lease), &json!({"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}));
    take_over().succeeds();
    assert_eq!(cluster.get(&claim(&id))["spec"]["active"]["namespace"], *alt);
}

#[test]
fn an_id_is_checked_before_anything_is_sent() {
    let cluster = Cluster::shared();
    let admin = cluster.admin();
    for id in ["Tenant_A", "", "  ", "a b", "-a", &"a".repeat(55)] {
        let mark = cluster.audit_mark();
        let ran = kctl()
            .kubeconfig(&admin.kubeconfig)
            .args(["install", &format!("--operator-id={id}"), "-n", "default"])
            .run()
            .exits(2);
        assert!(ran.stderr.contains("hint: "), "{ran}");
        assert!(cluster.requests_since(mark, &admin).is_empty(), "{id:?}");
    }
    assert!(
        kctl().kubeconfig(&admin.kubeconfig).args(["install", "--operator-id=", "-n", "default"]).run().code == Some(2)
    );
}
