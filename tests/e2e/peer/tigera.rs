//! The pointer decides: one operator acts, the other one waits at the gate.

use serde_json::{Value, json};

use super::DEADLINE;
use crate::example_operator::{TIGERA_CRDS, lease, lease_holder, pods_of, tigera};
use crate::testbed::{Cluster, Options, wait_until};

const POINTER: &str = "/api/v1/namespaces/calico-system/configmaps/active-operator";
const OLD: &str = "tigera-operator";
const NEW: &str = "alt";

/// A cluster with an Installation and two namespaces for operators. The pointer is one per cluster, so each test has its own.
fn cluster(options: &Options) -> Cluster {
    let cluster = Cluster::own(options);
    cluster.apply_yaml(TIGERA_CRDS, "tests");
    for name in [OLD, NEW, "calico-system"] {
        cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    }
    cluster.create(
        &json!({"apiVersion": "operator.tigera.io/v1", "kind": "Installation", "metadata": {"name": "default"}, "spec": {}}),
    );
    cluster
}

fn point_to(cluster: &Cluster, namespace: &str) {
    cluster.merge(POINTER, &json!({"data": {"active-namespace": namespace}}));
}

fn subject(cluster: &Cluster) -> Value {
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/calico-system/rolebindings/tigera-operator-secrets";
    cluster.find(path).unwrap_or_default()["subjects"][0]["namespace"].clone()
}

fn wait_in_charge(cluster: &Cluster, namespace: &str) {
    wait_until(&format!("{namespace} to be in charge"), DEADLINE, || {
        subject(cluster) == namespace && !lease_holder(cluster, namespace, "operator-lock").is_empty()
    });
}

fn secret(cluster: &Cluster, namespace: &str, name: &str) -> Option<Value> {
    cluster.find(&format!("/api/v1/namespaces/{namespace}/secrets/{name}"))
}

/// Copies what the operators keep in their namespace, as a switch does.
fn copy_secrets(cluster: &Cluster) {
    for name in ["tigera-ca-private", "node-certs", "typha-certs"] {
        let source = secret(cluster, OLD, name).unwrap_or_else(|| panic!("no {name}"));
        let mut copy = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NEW}});
        copy["data"] = source["data"].clone();
        copy["metadata"]["annotations"] = source["metadata"]["annotations"].clone();
        cluster.create(&copy);
    }
}

fn template_annotations(cluster: &Cluster) -> Value {
    let node = cluster.get("/apis/apps/v1/namespaces/calico-system/daemonsets/calico-node");
    node["spec"]["template"]["metadata"]["annotations"].clone()
}

#[test]
fn the_pointer_moves_and_the_old_one_exits() {
    let cluster = cluster(&Options::default());
    let mut old = tigera(&cluster, OLD).start();
    wait_until("the pointer", DEADLINE, || cluster.find(POINTER).is_some());
    let pointer = cluster.get(POINTER);
    assert_eq!(pointer["data"]["active-namespace"], OLD);
    assert_eq!(pointer["metadata"]["ownerReferences"][0]["kind"], "Installation");
    wait_in_charge(&cluster, OLD);

    let new = tigera(&cluster, NEW).start();
    wait_until("the gate", DEADLINE, || new.log().contains("inactive"));
    assert_eq!(lease(&cluster, NEW, "operator-lock"), Value::Null, "who waits takes no lease");
    assert_eq!(secret(&cluster, NEW, "tigera-ca-private"), None, "and creates nothing");

    copy_secrets(&cluster);
    let before = template_annotations(&cluster);
    point_to(&cluster, NEW);
    assert_eq!(old.exit_code(), Some(0));
    wait_in_charge(&cluster, NEW);
    let after = template_annotations(&cluster);
    let key = |namespace: &str| format!("{namespace}.hash.operator.tigera.io/tigera-ca-private");
    assert_eq!(after, json!({key(NEW): before[key(OLD)]}), "another key, the same authority");
    for name in ["tigera-ca-private", "node-certs", "typha-certs"] {
        let (source, copy) = (secret(&cluster, OLD, name), secret(&cluster, NEW, name));
        let (source, copy) = (source.unwrap_or_default(), copy.unwrap_or_default());
        assert_eq!(source["data"], copy["data"], "{name} is not issued anew");
        assert_eq!(copy["metadata"]["ownerReferences"][0]["kind"], "Installation", "{name} is adopted");
    }
    let status = cluster.get("/apis/operator.tigera.io/v1/tigerastatuses/calico");
    assert_eq!(status["status"]["conditions"][0]["type"], "Available");
    assert_eq!(status["status"]["conditions"][0]["status"], "True");
}

#[test]
fn one_that_ignores_its_demotion_renews_its_lease() {
    let cluster = cluster(&Options::default());
    let mut old = tigera(&cluster, OLD).args(["--ignore-demotion"]).start();
    wait_until("the pointer", DEADLINE, || cluster.find(POINTER).is_some());
    let _new = tigera(&cluster, NEW).start();
    point_to(&cluster, NEW);
    wait_in_charge(&cluster, NEW);
    let renewed = || lease(&cluster, OLD, "operator-lock")["spec"]["renewTime"].clone();
    let seen = renewed();
    wait_until("another renewal", DEADLINE, || renewed() != seen);
    assert!(old.is_running());
    assert_eq!(subject(&cluster), NEW);
}

#[test]
fn no_operator_runs_in_a_namespace_it_manages() {
    let cluster = cluster(&Options::default());
    assert_eq!(tigera(&cluster, "calico-system").start().exit_code(), Some(1));
    assert_eq!(lease(&cluster, "calico-system", "operator-lock"), Value::Null);
}

#[test]
fn one_that_never_gets_ready_takes_nothing() {
    let cluster = cluster(&Options::default());
    let _old = tigera(&cluster, OLD).start();
    wait_until("the pointer", DEADLINE, || cluster.find(POINTER).is_some());
    let mut new = tigera(&cluster, NEW).args(["--never-ready"]).start();
    point_to(&cluster, NEW);
    wait_until("the gate", DEADLINE, || new.log().contains("never getting ready"));
    assert_eq!(lease(&cluster, NEW, "operator-lock"), Value::Null);
    assert_eq!(subject(&cluster), OLD);
    assert!(new.is_running());
}

#[test]
fn a_demoted_pod_is_restarted_and_waits() {
    let cluster = cluster(&Options::full());
    for namespace in [OLD, NEW] {
        let labels = json!({"k8s-app": OLD});
        let container = json!({
            "name": OLD,
            "image": "quay.example/tigera/operator:v1.40.0",
            "env": [{"name": "OPERATOR_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
        });
        let spec = json!({"hostNetwork": true, "containers": [container]});
        cluster.create(&json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": OLD, "namespace": namespace, "labels": labels},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }));
    }
    let pods = |namespace| pods_of(&cluster, "tigera", namespace, OLD).args(["--lease-duration", "5s"]).start();
    let _old = pods(OLD);
    wait_until("the pointer", DEADLINE, || cluster.find(POINTER).is_some());
    let node = cluster.get("/api/v1/nodes")["items"][0]["metadata"]["name"].clone();
    let node = node.as_str().expect("a node");
    assert!(lease_holder(&cluster, OLD, "operator-lock").starts_with(&format!("{node}_")), "held by the node");

    let _new = pods(NEW);
    point_to(&cluster, NEW);
    wait_in_charge(&cluster, NEW);
    wait_until("a restart to be recorded", DEADLINE, || {
        let pods = cluster.get(&format!("/api/v1/namespaces/{OLD}/pods"));
        let container = &pods["items"][0]["status"]["containerStatuses"][0];
        container["restartCount"] == 1 && container["lastState"]["terminated"]["exitCode"] == 0
    });
    point_to(&cluster, OLD);
    wait_in_charge(&cluster, OLD);
}
