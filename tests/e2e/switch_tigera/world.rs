//! A cluster with Calico's objects, and operators that do what the real ones were seen to do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::testbed::{Cluster, Options};

pub const DEADLINE: Duration = Duration::from_secs(60);
pub const POINTER: &str = "/api/v1/namespaces/calico-system/configmaps/active-operator";
const FINGERPRINT: &str =
    "/apis/rbac.authorization.k8s.io/v1/namespaces/calico-system/rolebindings/tigera-operator-secrets";
/// Values of Secrets: none may ever be printed.
pub const VALUES: [&str; 3] = ["value-of-ca-key", "value-of-node-key", "value-of-stranger"];

/// There is one pointer in a cluster, so the tests take turns.
pub struct World {
    pub cluster: &'static Cluster,
    pub old: String,
    pub new: String,
    _turn: MutexGuard<'static, ()>,
}

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let cluster = Cluster::own(&Options::default());
        for (kind, plural) in [("Installation", "installations"), ("TigeraStatus", "tigerastatuses")] {
            cluster.create(&json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.operator.tigera.io")},
                "spec": {"group": "operator.tigera.io", "scope": "Cluster",
                    "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                        {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
            }));
        }
        let rbac = "rbac.authorization.k8s.io/v1";
        cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "calico-system"}}));
        cluster.create(
            &json!({"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": "tigera-operator"}, "rules": [
                {"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["get", "list", "watch"]},
                {"apiGroups": ["operator.tigera.io"], "resources": ["*"], "verbs": ["*"]},
                {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]},
            ]}),
        );
        cluster.create(
            &json!({"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": "tigera-operator-secrets"},
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "update", "delete"]}]}),
        );
        cluster.create(
            &json!({"apiVersion": "operator.tigera.io/v1", "kind": "Installation", "metadata": {"name": "default"},
            "spec": {"imagePullSecrets": [{"name": "pull"}]}}),
        );
        cluster
    })
}

impl World {
    /// Two operators, the first one active, with its certificates.
    pub fn new() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let cluster = cluster();
        let world = Self { cluster, old: cluster.namespace("old"), new: cluster.namespace("new"), _turn: turn };
        world.operator(&world.old);
        world.operator(&world.new);
        world.secret("tigera-ca-private", VALUES[0], &json!({"ownerReferences": [
            {"apiVersion": "operator.tigera.io/v1", "kind": "Installation", "name": "default", "uid": "gone", "controller": true}]}));
        world.secret("node-certs", VALUES[1], &json!({}));
        world.secret("stranger", VALUES[2], &json!({}));
        world.secret("pull", "pull", &json!({}));
        cluster.delete(POINTER);
        world.point(&world.old);
        cluster.delete(FINGERPRINT);
        cluster.create(&json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "tigera-operator-secrets", "namespace": "calico-system"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "tigera-operator-secrets"},
            "subjects": [{"kind": "ServiceAccount", "name": "tigera-operator", "namespace": world.old}]}));
        world
    }

    /// A third namespace with an operator.
    pub fn third(&self) -> String {
        let third = self.cluster.namespace("third");
        self.operator(&third);
        third
    }

    /// Makes a fresh pointer that says `value`.
    pub fn point(&self, value: &str) {
        self.cluster.create(&json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "active-operator", "namespace": "calico-system"}, "data": {"active-namespace": value}}));
    }

    pub fn pointer(&self) -> Value {
        self.cluster.get(POINTER)
    }

    /// What the pointer says, and whether a switch is recorded on it.
    pub fn says(&self) -> (String, bool) {
        let pointer = self.pointer();
        let record = pointer.pointer("/metadata/annotations").is_some_and(|all| all.get("kctl.dev/switch").is_some());
        (pointer["data"]["active-namespace"].as_str().unwrap_or_default().to_owned(), record)
    }

    pub fn secret(&self, name: &str, value: &str, metadata: &Value) {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata,
            "data": {"tls.key": BASE64_STANDARD.encode(value)}});
        object["metadata"]["name"] = json!(name);
        object["metadata"]["namespace"] = json!(self.old);
        self.cluster.create(&object);
    }

    pub fn path(namespace: &str, kind: &str, name: &str) -> String {
        format!("/api/v1/namespaces/{namespace}/{kind}/{name}")
    }

    pub fn deployment(namespace: &str) -> String {
        format!("/apis/apps/v1/namespaces/{namespace}/deployments/tigera-operator")
    }

    fn operator(&self, namespace: &str) {
        let (cluster, rbac) = (self.cluster, "rbac.authorization.k8s.io");
        cluster.create(&json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "tigera-operator", "namespace": namespace}}));
        let template = json!({
            "metadata": {"labels": {"k8s-app": "tigera-operator"}},
            "spec": {"serviceAccountName": "tigera-operator", "containers": [
                {"name": "tigera-operator", "image": "quay.io/tigera/operator:v1.40.0", "command": ["operator"]}]},
        });
        cluster.create(&json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "tigera-operator", "namespace": namespace, "labels": {"k8s-app": "tigera-operator"}},
            "spec": {"selector": {"matchLabels": {"k8s-app": "tigera-operator"}}, "template": template}}));
        cluster.merge(&format!("{}/status", Self::deployment(namespace)), &json!({"status":
            {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}}));
        let mut pod = template;
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        pod["metadata"]["name"] = json!("operator-1");
        pod["metadata"]["namespace"] = json!(namespace);
        pod["spec"]["nodeName"] = json!(format!("node-of-{namespace}"));
        pod["spec"]["automountServiceAccountToken"] = json!(false);
        cluster.create(&pod);
        cluster.create(&json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding",
            "metadata": {"name": format!("tigera-operator-{namespace}")},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "tigera-operator"},
            "subjects": [{"kind": "ServiceAccount", "name": "tigera-operator", "namespace": namespace}]}));
        cluster.create(&json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding",
            "metadata": {"name": "tigera-operator-secrets", "namespace": namespace},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "tigera-operator-secrets"},
            "subjects": [{"kind": "ServiceAccount", "name": "tigera-operator", "namespace": namespace}]}));
    }
}

/// An operator: while the pointer names its namespace it renews its lease and writes itself into the `RoleBinding`;
/// demoted, its container restarts.
pub struct Peer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    pub fn start(world: &World, namespace: &str) -> Self {
        let (cluster, namespace, stop) = (world.cluster, namespace.to_owned(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut active = false;
            let mut restarts = 0;
            while !stopped.load(Ordering::Relaxed) {
                let now =
                    cluster.find(POINTER).is_some_and(|pointer| pointer["data"]["active-namespace"] == *namespace);
                if active && !now {
                    restarts += 1;
                    let status = json!({"status": {"containerStatuses": [{"name": "tigera-operator", "restartCount": restarts,
                        "image": "x", "imageID": "x", "ready": true}]}});
                    cluster
                        .send(
                            "PATCH",
                            &format!("/api/v1/namespaces/{namespace}/pods/operator-1/status"),
                            Some(("application/merge-patch+json", &status)),
                        )
                        .ok();
                }
                if now {
                    act(cluster, &namespace);
                }
                active = now;
                thread::sleep(Duration::from_millis(100));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

fn act(cluster: &Cluster, namespace: &str) {
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "operator-lock", "namespace": namespace},
        "spec": {"holderIdentity": format!("node-of-{namespace}_uuid"), "leaseDurationSeconds": 15, "renewTime": time}});
    let path = format!(
        "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/operator-lock?fieldManager=peer&force=true"
    );
    cluster.send("PATCH", &path, Some(("application/apply-patch+yaml", &lease))).ok();
    let subjects = json!({"subjects": [{"kind": "ServiceAccount", "name": "tigera-operator", "namespace": namespace}]});
    cluster.send("PATCH", FINGERPRINT, Some(("application/merge-patch+json", &subjects))).ok();
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
