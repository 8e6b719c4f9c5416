//! What an install needs, and what it says when a right is missing.

use serde_json::{Value, json};

use super::{DEADLINE, claim};
use crate::kctl::kctl;
use crate::testbed::{Cluster, wait_until};

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

#[test]
fn missing_rights_are_named_before_anything_is_written() {
    let cluster = Cluster::full();
    // The definitions are there: what is asked for here are the objects of one operator.
    let (admin, other) = (cluster.admin(), cluster.namespace("other"));
    kctl()
        .kubeconfig(&admin.kubeconfig)
        .line(&format!("install -x {} -n {other}", cluster.unique("first")))
        .run()
        .succeeds();

    let (user, namespace, id) = (cluster.user("admin-of-one"), cluster.namespace("mine"), cluster.unique("mine"));
    cluster.grant_role(&user, Some(&namespace), "admin");
    cluster.grant(
        &user,
        None,
        &json!([
            rule(&["apiextensions.k8s.io"], &["customresourcedefinitions"], &["get"]),
            rule(&[""], &["namespaces"], &["get"]),
            rule(&["rbac.authorization.k8s.io"], &["clusterroles", "clusterrolebindings"], &["get"]),
            rule(&["camel.apache.org"], &["*"], &["get", "list"]),
            rule(&["apps"], &["deployments"], &["get", "list"]),
            rule(&["coordination.k8s.io"], &["leases"], &["get", "list"]),
        ]),
    );
    let install = || kctl().kubeconfig(&user.kubeconfig).line(&format!("install -x {id} -n {namespace} --yes")).run();
    let mark = cluster.audit_mark();
    let ran = install().exits(4);
    assert!(ran.stderr.contains("create operatorclaims.kctl.dev cluster-wide"), "{ran}");
    assert!(ran.stderr.contains("nothing was written"), "{ran}");
    let writes: Vec<_> = cluster
        .requests_since(mark, &user)
        .into_iter()
        .filter(|request| {
            request.is_write() && request.resource != "selfsubjectaccessreviews" && !request.uri.contains("dryRun=All")
        })
        .collect();
    assert!(writes.is_empty(), "{writes:?}");

    // With the claim allowed, what is left is granting rights one does not hold: only a dry run shows it.
    cluster.grant(
        &user,
        None,
        &json!([rule(&["kctl.dev"], &["operatorclaims"], &["get", "create", "patch", "update", "delete"])]),
    );
    let ran = install().exits(4);
    assert!(ran.stderr.contains("role.rbac.authorization.k8s.io/"), "{ran}");
    assert!(ran.stderr.contains("escalate"), "{ran}");
    assert_eq!(cluster.find(&claim(&id)), None);
}

#[test]
fn claims_are_readable_by_everybody_and_the_cluster_roles_grow() {
    let cluster = Cluster::full();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("seen"));
    kctl()
        .kubeconfig(&admin.kubeconfig)
        .line(&format!("install -x {id} -n {namespace} --tenant-role"))
        .run()
        .succeeds();
    let nobody = cluster.client_as(&cluster.user("nobody"), "test");
    assert_eq!(nobody.get(&claim(&id))["spec"]["id"], *id);
    assert_eq!(nobody.call("DELETE", &claim(&id), None).status, 403);
    // Aggregated into the cluster's own roles: who may view a namespace sees integrations, who may edit it writes them.
    let (viewer, editor) = (cluster.user("viewer"), cluster.user("editor"));
    cluster.grant_role(&viewer, Some(&namespace), "view");
    cluster.grant_role(&editor, Some(&namespace), "edit");
    let (viewer, editor) = (cluster.client_as(&viewer, "test"), cluster.client_as(&editor, "test"));
    let integrations = format!("/apis/camel.apache.org/v1/namespaces/{namespace}/integrations");
    let integration =
        json!({"apiVersion": "camel.apache.org/v1", "kind": "Integration", "metadata": {"name": "x"}, "spec": {}});
    wait_until("the viewer sees integrations", DEADLINE, || viewer.call("GET", &integrations, None).status == 200);
    wait_until("the editor writes them", DEADLINE, || {
        matches!(editor.call("POST", &integrations, Some(("application/json", &integration))).status, 201 | 409)
    });
    assert_eq!(viewer.call("POST", &integrations, Some(("application/json", &integration))).status, 403);
}
