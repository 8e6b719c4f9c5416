//! With operators as processes of their own, on a cluster with controllers: a clone, a switch, the garbage collector.

use serde_json::json;

use crate::example_operator::{TIGERA_CRDS, lease_holder, pods_of};
use crate::kctl::kctl;
use crate::testbed::{Cluster, Options, wait_until};

use super::{
    switch,
    world::{DEADLINE, POINTER},
};

const OLD: &str = "tigera-operator";

/// The objects of the official manifests around one operator.
fn calico(cluster: &Cluster) {
    cluster.apply_yaml(TIGERA_CRDS, "tests");
    cluster.apply_yaml(
        r#"
apiVersion: v1
kind: Namespace
metadata: {name: calico-system}
---
apiVersion: v1
kind: Namespace
metadata: {name: tigera-operator}
---
apiVersion: v1
kind: Namespace
metadata: {name: alt}
---
apiVersion: operator.tigera.io/v1
kind: Installation
metadata: {name: default}
spec: {variant: Calico}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: tigera-operator}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: tigera-operator-secrets}
rules: [{apiGroups: [""], resources: [secrets], verbs: [create, update, delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: tigera-operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: tigera-operator}
subjects: [{kind: ServiceAccount, name: tigera-operator, namespace: tigera-operator}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tigera-operator-secrets, namespace: tigera-operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: tigera-operator-secrets}
subjects: [{kind: ServiceAccount, name: tigera-operator, namespace: tigera-operator}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: tigera-operator, namespace: tigera-operator}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: tigera-operator, namespace: tigera-operator, labels: {k8s-app: tigera-operator}}
spec:
  selector: {matchLabels: {name: tigera-operator}}
  template:
    metadata: {labels: {name: tigera-operator, k8s-app: tigera-operator}}
    spec:
      serviceAccountName: tigera-operator
      terminationGracePeriodSeconds: 0
      containers: [{name: tigera-operator, image: "quay.io/tigera/operator:v1.40.0", command: [operator]}]
"#,
        "tests",
    );
}

#[test]
fn a_clone_is_made_and_switched_to_and_its_copies_survive_the_garbage_collector() {
    let cluster = Cluster::own(&Options::full());
    let admin = cluster.admin();
    calico(&cluster);
    let clone = format!("install --family tigera --like {OLD} -n alt");
    let refused = kctl().kubeconfig(&admin.kubeconfig).line(&clone).run().exits(3);
    assert!(refused.stderr.contains("does not exist: a second operator would work beside the first"), "{refused}");

    let _old = pods_of(&cluster, "tigera", OLD, "tigera-operator").start();
    wait_until("the first operator's pointer", DEADLINE, || cluster.find(POINTER).is_some());
    kctl().kubeconfig(&admin.kubeconfig).line(&clone).run().succeeds();
    let again = kctl().kubeconfig(&admin.kubeconfig).line(&clone).run().succeeds();
    assert!(again.stdout.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    let _new = pods_of(&cluster, "tigera", "alt", "tigera-operator").start();
    let deployment = "/apis/apps/v1/namespaces/alt/deployments/tigera-operator";
    wait_until("the clone's pod", DEADLINE, || cluster.get(deployment)["status"]["availableReplicas"] == 1);
    // An owner that does not exist: left in, the copy would be deleted within seconds.
    cluster.merge(
        &format!("/api/v1/namespaces/{OLD}/secrets/tigera-ca-private"),
        &json!({"metadata": {"labels": {"seen": "yes"}}}),
    );

    let ran = switch(&admin, "alt --yes").run().succeeds();
    assert!(ran.stdout.contains("secret/tigera-ca-private created: sha256:"), "{ran}");
    assert_eq!(cluster.get(POINTER)["data"]["active-namespace"], "alt");
    wait_until("the lease in alt", DEADLINE, || !lease_holder(&cluster, "alt", "operator-lock").is_empty());
    // The garbage collector deletes this one, so it had its chance at the copies.
    let bait = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bait", "namespace": "alt",
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "no-such-uid"}]}});
    cluster.create(&bait);
    wait_until("the garbage collector", DEADLINE, || cluster.find("/api/v1/namespaces/alt/configmaps/bait").is_none());
    let copy = cluster.get("/api/v1/namespaces/alt/secrets/tigera-ca-private");
    assert_eq!(copy["data"], cluster.get(&format!("/api/v1/namespaces/{OLD}/secrets/tigera-ca-private"))["data"]);

    switch(&admin, "- --yes").run().succeeds();
    assert_eq!(cluster.get(POINTER)["data"]["active-namespace"], OLD);
}

#[test]
fn an_operator_that_ignores_its_demotion_is_called_by_its_name() {
    let cluster = Cluster::own(&Options::full());
    let admin = cluster.admin();
    calico(&cluster);
    let _old = pods_of(&cluster, "tigera", OLD, "tigera-operator")
        .args(["--ignore-demotion", "--lease-duration", "6s"])
        .start();
    wait_until("the first operator's pointer", DEADLINE, || cluster.find(POINTER).is_some());
    kctl().kubeconfig(&admin.kubeconfig).line(&format!("install --family tigera --like {OLD} -n alt")).run().succeeds();
    let _new = pods_of(&cluster, "tigera", "alt", "tigera-operator").start();
    let deployment = "/apis/apps/v1/namespaces/alt/deployments/tigera-operator";
    wait_until("the clone's pod", DEADLINE, || cluster.get(deployment)["status"]["availableReplicas"] == 1);
    let ran = switch(&admin, "alt --yes --fence --timeout 20s --no-rollback").run().exits(6);
    assert!(ran.stderr.contains("still renews its lease after the switch: two operators write"), "{ran}");
}
