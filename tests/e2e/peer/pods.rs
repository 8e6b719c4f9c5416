//! On a cluster whose pods only pretend to run, the example plays the pods of a Deployment that kctl made.

use serde_json::json;

use super::{Bench, DEADLINE, image, variable};
use crate::example_operator::{lease_holder, pods_of};
use crate::kctl::kctl;
use crate::testbed::{Cluster, NEVER_READY, POD_ANNOTATION, wait_until};

struct Installed {
    bench: Bench,
    id: String,
    home: String,
}

impl Installed {
    fn new() -> Self {
        let bench = Bench::on(Cluster::full());
        let (id, home) = (bench.cluster.unique("tenant"), bench.cluster.unique("ops"));
        let line = format!("install -x {id} -n {home} --create-namespace --global --registry registry.example --yes");
        kctl().kubeconfig(&bench.cluster.admin().kubeconfig).line(&line).run().succeeds();
        Self { bench, id, home }
    }

    fn deployment(&self) -> String {
        format!("{}-operator", self.id)
    }

    fn patch(&self, spec: &serde_json::Value) {
        let path = format!("/apis/apps/v1/namespaces/{}/deployments/{}", self.home, self.deployment());
        self.bench.cluster.merge(&path, &json!({"spec": spec}));
    }

    fn scale(&self, replicas: u8) {
        self.patch(&json!({"replicas": replicas}));
    }

    fn holder(&self) -> String {
        lease_holder(self.bench.cluster, &self.home, &format!("{}-lock", self.id))
    }

    fn wait_held(&self, held: bool) {
        wait_until(&format!("held={held}"), DEADLINE, || self.holder().is_empty() != held);
    }
}

#[test]
fn it_acts_while_there_is_a_pod() {
    let it = Installed::new();
    let _operator = pods_of(it.bench.cluster, "camel-k", &it.home, &it.deployment()).start();
    it.wait_held(true);
    let pods = it.bench.cluster.get(&format!("/api/v1/namespaces/{}/pods", it.home));
    let pod = pods["items"][0]["metadata"]["name"].as_str().expect("a pod");
    assert!(it.holder().starts_with(&format!("{pod}_")), "held by the pod");

    it.bench.create("Integration", "orders", &it.id, &image());
    it.bench.phase("integrations", "orders", "Running");
    assert_eq!(variable(&it.bench.deployment("orders"), "CAMEL_K_OPERATOR_ID"), it.id);

    wait_until("the Integration to be ready", DEADLINE, || {
        let status = it.bench.cluster.get(&it.bench.path("integrations", "orders"))["status"].clone();
        status["conditions"][0]["type"] == "Ready" && status["conditions"][0]["status"] == "True"
    });

    it.scale(0);
    it.wait_held(false);
    it.bench.create("Integration", "later", &it.id, &image());
    it.scale(1);
    it.wait_held(true);
    it.bench.phase("integrations", "later", "Running");
}

#[test]
fn a_switch_under_one_id_touches_nothing() {
    let it = Installed::new();
    let (cluster, alt) = (it.bench.cluster, it.bench.cluster.namespace("alt"));
    let mut standby = cluster.get(&format!("/apis/apps/v1/namespaces/{}/deployments/{}", it.home, it.deployment()));
    standby["metadata"] = json!({"name": it.deployment(), "namespace": alt, "labels": standby["metadata"]["labels"]});
    standby["spec"]["replicas"] = json!(0);
    standby["spec"]["template"]["spec"]["serviceAccountName"] = json!("default");
    standby["spec"]["template"]["spec"]["serviceAccount"] = json!("default");
    let standby = cluster.path_of(&cluster.create(&standby));
    let _old = pods_of(cluster, "camel-k", &it.home, &it.deployment()).start();
    let _new = pods_of(cluster, "camel-k", &alt, &it.deployment()).start();
    it.wait_held(true);
    it.bench.create("Integration", "orders", &it.id, &image());
    let ready = || it.bench.cluster.get(&it.bench.path("integrations", "orders"));
    wait_until("the Integration", DEADLINE, || ready()["status"]["conditions"][0]["status"] == "True");
    let before = ready();

    it.scale(0);
    it.wait_held(false);
    cluster.merge(&standby, &json!({"spec": {"replicas": 1}}));
    let name = format!("{}-lock", it.id);
    wait_until("the new one", DEADLINE, || !lease_holder(cluster, &alt, &name).is_empty());
    it.bench.platform(&it.id, &alt);
    it.bench.create("Integration", "later", &it.id, &image());
    it.bench.phase("integrations", "later", "Running");
    assert_eq!(ready(), before);
}

#[test]
fn a_pod_that_never_gets_ready_never_acts() {
    let it = Installed::new();
    it.scale(0);
    it.patch(&json!({"template": {"metadata": {"annotations": {POD_ANNOTATION: NEVER_READY}}}}));
    let operator = pods_of(it.bench.cluster, "camel-k", &it.home, &it.deployment()).start();
    it.scale(1);
    let pods = format!("/api/v1/namespaces/{}/pods", it.home);
    wait_until("a running pod", DEADLINE, || it.bench.cluster.get(&pods)["items"][0]["status"]["phase"] == "Running");
    assert_eq!(it.holder(), "");
    it.patch(&json!({"template": {"metadata": {"annotations": {POD_ANNOTATION: null}}}}));
    it.wait_held(true);
    assert_eq!(operator.stop(), Some(0));
    assert_eq!(it.holder(), "");
}

#[test]
fn one_that_holds_its_lease_keeps_others_waiting() {
    let it = Installed::new();
    let operator = pods_of(it.bench.cluster, "camel-k", &it.home, &it.deployment());
    let operator = operator.args(["--hold-lease", "--lease-duration", "5s"]).start();
    it.wait_held(true);
    let before = it.holder();
    it.scale(0);
    wait_until("the pod to be gone", DEADLINE, || operator.log().contains("still holding lease"));
    let renewed = |it: &Installed| {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}-lock", it.home, it.id);
        it.bench.cluster.get(&path)["spec"]["renewTime"].clone()
    };
    let seen = renewed(&it);
    wait_until("another renewal", DEADLINE, || renewed(&it) != seen);
    assert_eq!(it.holder(), before);
    it.scale(1);
    wait_until("the next pod to hold it", DEADLINE, || !it.holder().is_empty() && it.holder() != before);
}
