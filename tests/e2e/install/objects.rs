//! What an install makes, and what it leaves alone.

use serde_json::json;

use super::{DEADLINE, claim, deployment, replicas};
use crate::kctl::kctl;
use crate::testbed::{Cluster, wait_until};

#[test]
fn two_operators_live_in_one_namespace_and_nobody_else_gets_their_ids() {
    let cluster = Cluster::full();
    let (admin, namespace) = (cluster.admin(), cluster.namespace("ops"));
    let (a, b) = (cluster.unique("tenant-a"), cluster.unique("tenant-b"));
    for id in [&a, &b] {
        let ran = kctl()
            .kubeconfig(&admin.kubeconfig)
            .line(&format!("install -x {id} -n {namespace} --registry r:5000 --wait"))
            .run();
        let ran = ran.succeeds();
        assert!(ran.stdout.contains(&format!("deployment.apps/{id}-operator created\n")), "{ran}");
        assert!(ran.stdout.ends_with(&format!("deployment.apps/{id}-operator available\n")), "{ran}");
    }
    let elsewhere = cluster.namespace("alt");
    let ran = kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {a} -n {elsewhere}")).run().exits(3);
    assert!(ran.stderr.contains(&format!("Deployment {a}-operator in namespace {namespace}")), "{ran}");
    assert!(ran.stderr.contains("--take-over"), "{ran}");
    assert_eq!(cluster.find(&deployment(&elsewhere, &a)), None);
    // Each selector picks its own pods only.
    wait_until("one pod each", DEADLINE, || {
        [&a, &b].iter().all(|id| {
            let pods =
                cluster.get(&format!("/api/v1/namespaces/{namespace}/pods?labelSelector=kctl.dev/operator-id={id}"));
            pods["items"].as_array().is_some_and(|pods| pods.len() == 1)
        })
    });
}

#[test]
fn a_second_run_changes_nothing_and_a_third_only_what_it_names() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("again"));
    let install = |more: &str| {
        kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {namespace} {more}")).run().succeeds()
    };
    install("--global --log-level debug --registry r:5000");
    let before = cluster.get(&deployment(&namespace, &id));
    let ran = install("");
    assert!(ran.stdout.lines().all(|line| line.ends_with(" unchanged")), "{ran}");
    let after = cluster.get(&deployment(&namespace, &id));
    assert_eq!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);

    install("--env EXTRA=1");
    let third = cluster.get(&deployment(&namespace, &id));
    let env = third["spec"]["template"]["spec"]["containers"][0]["env"].as_array().expect("env").clone();
    assert!(env.contains(&json!({"name": "EXTRA", "value": "1"})), "{env:?}");
    assert!(env.contains(&json!({"name": "LOG_LEVEL", "value": "debug"})), "kept: {env:?}");
    assert!(env.contains(&json!({"name": "WATCH_NAMESPACE"})), "still the whole cluster: {env:?}");
    assert_eq!(replicas(cluster, &id), 1);
}

#[test]
fn a_strangers_object_of_the_same_name_stays_byte_for_byte() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("clash"));
    let stranger = cluster.create(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": format!("{id}-operator"), "namespace": namespace,
            "annotations": {"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": namespace}},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "shop:1"}]}}},
    }));
    let mark = cluster.audit_mark();
    let ran =
        kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {namespace} --force")).run().exits(3);
    assert!(ran.stderr.contains(&format!("Helm release {namespace}/shop")), "{ran}");
    assert_eq!(cluster.get(&deployment(&namespace, &id)), stranger);
    let writes: Vec<_> = cluster
        .requests_since(mark, &admin)
        .into_iter()
        .filter(|request| request.is_write() && request.resource != "selfsubjectaccessreviews")
        .collect();
    assert!(writes.is_empty(), "{writes:?}");
    assert_eq!(cluster.find(&claim(&id)), None);
}

#[test]
fn a_cluster_role_of_another_tool_is_refused_too() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("helm"));
    let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/kctl-camel-k-{id}");
    let stranger = cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": format!("kctl-camel-k-{id}"), "labels": {"kctl.dev/operator-id": id}}, "rules": [],
    }));
    let ran =
        kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {namespace} --global")).run().exits(3);
    assert!(ran.stderr.contains("was not made by kctl"), "{ran}");
    assert_eq!(cluster.get(&path), stranger, "the label alone does not make it kctl's");
}

#[test]
fn a_field_somebody_else_changed_is_a_conflict_until_forced() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("scaled"));
    let install =
        |more: &str| kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {namespace} {more}")).run();
    install("").succeeds();
    cluster.merge(&deployment(&namespace, &id), &json!({"spec": {"replicas": 3}}));
    let ran = install("").exits(3);
    assert!(ran.stderr.contains(".spec.replicas") && ran.stderr.contains("--force"), "{ran}");
    assert_eq!(replicas(cluster, &id), 3);
    install("--force").succeeds();
    assert_eq!(replicas(cluster, &id), 1);
}

#[test]
fn a_dry_run_writes_nothing() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.unique("not-there"), cluster.unique("dry"));
    for (flag, line) in [
        ("--dry-run", "serviceaccount/ID-operator created (dry run)"),
        ("--dry-run=client", "deployment.apps/ID-operator created (dry run)"),
        ("--dry-run=server", "serviceaccount/ID-operator (not checked: needs namespace/NS)"),
    ] {
        let ran = kctl()
            .kubeconfig(&admin.kubeconfig)
            .line(&format!("install -x {id} -n {namespace} --create-namespace {flag}"))
            .run()
            .succeeds();
        assert!(ran.stdout.contains(&line.replace("ID", &id).replace("NS", &namespace)), "{ran}");
    }
    assert_eq!(cluster.find(&format!("/api/v1/namespaces/{namespace}")), None);
    assert_eq!(cluster.find(&claim(&id)), None);
}

#[test]
fn a_missing_namespace_is_named_with_the_flag_that_makes_it() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.unique("absent"), cluster.unique("lost"));
    let install =
        |more: &str| kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {namespace} {more}")).run();
    let ran = install("").exits(5);
    assert!(ran.stderr.contains("--create-namespace"), "{ran}");
    install("--create-namespace").succeeds();
}

#[test]
fn a_claim_cannot_be_turned_by_a_careless_apply() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("kept"));
    kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {namespace}")).run().succeeds();
    let change = |patch| cluster.call("PATCH", &claim(&id), Some(("application/merge-patch+json", &patch))).status;
    assert_eq!(change(json!({"spec": {"active": {"namespace": "elsewhere"}}})), 422);
    assert_eq!(change(json!({"spec": {"id": "other"}})), 422);
    assert_eq!(change(json!({"spec": {"family": "tigera"}})), 422);
    assert_eq!(change(json!({"spec": {"active": null}})), 422);
    assert_eq!(change(json!({"spec": {"standbys": [{"namespace": "elsewhere", "deployment": "d"}]}})), 200);
    assert_eq!(change(json!({"spec": {"active": {"namespace": "elsewhere", "deployment": "d"}}})), 200, "to a standby");
    let wrong = json!({"apiVersion": "kctl.dev/v1alpha1", "kind": "OperatorClaim",
        "metadata": {"name": format!("camel-k.{id}-x")}, "spec": {"family": "camel-k", "id": id}});
    let answer = cluster.call("POST", "/apis/kctl.dev/v1alpha1/operatorclaims", Some(("application/json", &wrong)));
    assert_eq!(answer.status, 422, "the name tells family and id");
}

#[test]
fn it_tells_which_resources_it_takes_and_asks() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("taker"));
    kctl()
        .kubeconfig(&admin.kubeconfig)
        .line(&format!("install -x {} -n {namespace}", cluster.unique("first")))
        .run()
        .succeeds();
    let integration = |name: &str, annotations: serde_json::Value| {
        cluster.create(&json!({"apiVersion": "camel.apache.org/v1", "kind": "Integration",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations}, "spec": {}}));
    };
    integration("named", json!({"camel.apache.org/operator.id": id}));
    integration("bare", json!({}));
    let install =
        |more: &str| kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {namespace} {more}")).run();
    let ran = install("").exits(3);
    assert!(ran.stderr.contains(&format!("1 Integration in namespace {namespace} (they carry the id {id})")), "{ran}");
    // Both operators watch their own namespace only, so both take what carries no id there.
    assert!(ran.stderr.contains("they carry no operator id; TWO TAKERS: first"), "{ran}");
    assert!(ran.stderr.contains("--yes"), "{ran}");
    assert_eq!(cluster.find(&claim(&id)), None);
    install("--yes").succeeds();
    // Nothing is taken any more that was not taken before.
    install("").succeeds();
}
