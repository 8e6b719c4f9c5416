//! `switch-active` between instances of one operator id: the old one is gone before the new one starts.

mod interrupted;

use std::time::Duration;

use serde_json::{Value, json};

use crate::example_operator::{Operator, pods_of};
use crate::kctl::{Kctl, Ran, kctl};
use crate::testbed::{Cluster, User, wait_for};

const DEADLINE: Duration = Duration::from_secs(60);

/// An id with an active instance in one namespace and a standby in another, and their operators.
struct Pair {
    cluster: &'static Cluster,
    admin: User,
    id: String,
    ops: String,
    alt: String,
}

impl Pair {
    fn install() -> Self {
        let cluster = Cluster::full();
        let (admin, id) = (cluster.admin(), cluster.unique("pair"));
        let pair = Self { cluster, admin, id, ops: cluster.namespace("ops"), alt: cluster.namespace("alt") };
        pair.kctl(&format!(
            "install -x {} -n {} --global --registry r:5000 --log-level debug --yes",
            pair.id, pair.ops
        ))
        .run()
        .succeeds();
        pair.kctl(&format!("install -x {} -n {} --standby --yes", pair.id, pair.alt)).run().succeeds();
        pair
    }

    fn kctl(&self, line: &str) -> Kctl {
        kctl().kubeconfig(&self.admin.kubeconfig).line(line)
    }

    fn switch(&self, line: &str) -> Ran {
        self.kctl(&format!("switch-active {line} -x {} --yes", self.id)).run()
    }

    fn operator(&self, namespace: &str, flags: &[&str]) -> Operator {
        pods_of(self.cluster, "camel-k", namespace, &format!("{}-operator", self.id)).args(flags).start()
    }

    fn claim(&self) -> Value {
        self.cluster.get(&format!("/apis/kctl.dev/v1alpha1/operatorclaims/camel-k.{}", self.id))
    }

    fn active(&self) -> String {
        self.claim()["spec"]["active"]["namespace"].as_str().unwrap_or_default().to_owned()
    }

    fn deployment(&self, namespace: &str) -> String {
        format!("/apis/apps/v1/namespaces/{namespace}/deployments/{}-operator", self.id)
    }

    fn replicas(&self, namespace: &str) -> i64 {
        self.cluster.get(&self.deployment(namespace))["spec"]["replicas"].as_i64().unwrap_or(1)
    }

    fn lease_holder(&self, namespace: &str) -> String {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{}-lock", self.id);
        let lease = self.cluster.find(&path).unwrap_or_default();
        lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    }

    /// Exactly the instance in `namespace` is to run, and nothing is under way.
    #[track_caller]
    fn only(&self, namespace: &str) {
        let claim = self.claim();
        assert_eq!(claim["spec"].get("operation"), None, "{claim:#}");
        assert_eq!(self.active(), namespace);
        let other = if namespace == self.ops { &self.alt } else { &self.ops };
        assert_eq!((self.replicas(namespace), self.replicas(other)), (1, 0));
        assert_eq!(
            claim["spec"]["standbys"],
            json!([{"namespace": other, "deployment": format!("{}-operator", self.id)}])
        );
    }
}

#[test]
fn a_standby_has_the_settings_of_the_active_one_and_does_not_run() {
    let pair = Pair::install();
    pair.only(&pair.ops);
    let env = |namespace: &str| {
        let mut deployment = pair.cluster.get(&pair.deployment(namespace));
        deployment["spec"]["template"]["spec"]["containers"][0]["env"].take()
    };
    assert_eq!(env(&pair.ops), env(&pair.alt));
    let bindings = pair.cluster.get(&format!(
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings?labelSelector=kctl.dev/operator-id={}",
        pair.id
    ));
    let mut bound: Vec<&str> = bindings["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|item| item["subjects"][0]["namespace"].as_str())
        .collect();
    bound.sort_unstable();
    assert_eq!(bound, [pair.alt.as_str(), pair.ops.as_str()], "each instance has a binding of its own");
    let again = pair.kctl(&format!("install -x {} -n {} --standby --yes", pair.id, pair.alt)).run().succeeds();
    assert!(again.stdout.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    let refused = pair.kctl(&format!("install -x {} -n {} --standby --yes", pair.id, pair.ops)).run().exits(3);
    assert!(refused.stderr.contains("is the active instance"), "{refused}");
    let free = pair
        .kctl(&format!("install -x {} -n {} --standby --yes", pair.cluster.unique("free"), pair.alt))
        .run()
        .exits(3);
    assert!(free.stderr.contains("not claimed"), "{free}");
    let listed = pair.kctl("list-operators -o json").run().succeeds().json();
    let states: Vec<(&str, &str)> = listed["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter(|item| item["id"] == *pair.id)
        .map(|item| (item["namespace"].as_str().unwrap_or_default(), item["state"].as_str().unwrap_or_default()))
        .collect();
    assert!(states.contains(&(pair.alt.as_str(), "standby")), "{states:?}");
}

#[test]
fn there_and_back_and_resources_are_not_touched() {
    let pair = Pair::install();
    let _operators = [pair.operator(&pair.ops, &[]), pair.operator(&pair.alt, &[])];
    let team = pair.cluster.namespace("team");
    pair.cluster.create(&json!({"apiVersion": "camel.apache.org/v1", "kind": "Integration",
        "metadata": {"name": "orders", "namespace": team, "annotations": {"camel.apache.org/operator.id": pair.id}},
        "spec": {"traits": {"container": {"image": "registry.example/app:1"}}}}));
    let path = format!("/apis/camel.apache.org/v1/namespaces/{team}/integrations/orders");
    let before = wait_for("a running Integration", DEADLINE, || {
        let found = pair.cluster.get(&path);
        if found["status"]["phase"] == "Running" { Ok(found) } else { Err(found["status"].to_string()) }
    });
    let workload = format!("/apis/apps/v1/namespaces/{team}/deployments/orders");
    let what_counts = || {
        let (found, workload) = (pair.cluster.get(&path), pair.cluster.get(&workload));
        json!([
            found["status"]["digest"],
            found["status"]["phase"],
            found["metadata"]["generation"],
            found["status"]["lastInitTimestamp"],
            workload["metadata"]["uid"],
            workload["metadata"]["generation"]
        ])
    };
    let before_switch = what_counts();
    assert_eq!(before_switch[0], before["status"]["digest"]);
    let there = pair.switch(&pair.alt).succeeds();
    pair.only(&pair.alt);
    assert!(there.stderr.contains(&format!("to undo: kctl switch-active {} -x {}", pair.ops, pair.id)), "{there}");
    assert_eq!(pair.lease_holder(&pair.ops), "", "released");
    assert_ne!(pair.lease_holder(&pair.alt), "");
    assert_eq!(what_counts(), before_switch);

    let again = pair.switch(&pair.alt).succeeds();
    assert!(again.stdout.contains("unchanged"), "{again}");
    let back = pair.switch("- -o json").succeeds();
    assert_eq!(back.json()["operation"]["result"], "done");
    pair.only(&pair.ops);
    assert_eq!(what_counts(), before_switch);
    // The instances can still be changed by an install: nobody else owns a field of theirs.
    let log = format!("install -x {} -n {} --standby --log-level info --yes", pair.id, pair.alt);
    pair.kctl(&log).run().succeeds();
    pair.kctl(&log.replace("--standby ", "").replace(&pair.alt, &pair.ops)).run().succeeds();
    pair.only(&pair.ops);
}

#[test]
fn one_that_never_leads_is_turned_back_from() {
    let pair = Pair::install();
    let _operators = [pair.operator(&pair.ops, &[]), pair.operator(&pair.alt, &["--never-ready"])];
    wait_for("the first operator to lead", DEADLINE, || {
        if pair.lease_holder(&pair.ops).is_empty() { Err("nobody leads".to_owned()) } else { Ok(()) }
    });
    let ran = pair.switch(&format!("{} --timeout 20s", pair.alt)).exits(6);
    assert!(ran.stderr.contains("rolled back to"), "{ran}");
    pair.only(&pair.ops);
    assert_ne!(pair.lease_holder(&pair.ops), "");
}

#[test]
fn what_others_manage_is_left_alone_and_a_dry_run_changes_nothing() {
    let pair = Pair::install();
    for mode in ["client", "server"] {
        let dry = pair.switch(&format!("{} --dry-run={mode}", pair.alt)).succeeds();
        assert!(dry.stdout.contains(&format!("operatorclaim.kctl.dev/camel-k.{} configured", pair.id)), "{dry}");
        pair.only(&pair.ops);
    }
    pair.cluster.merge(
        &pair.deployment(&pair.alt),
        &json!({"metadata": {"annotations":
        {"meta.helm.sh/release-name": "x", "meta.helm.sh/release-namespace": pair.alt}}}),
    );
    let refused = pair.switch(&pair.alt).exits(3);
    assert!(refused.stderr.contains("is managed by Helm release"), "{refused}");
    pair.only(&pair.ops);
    pair.switch(&pair.cluster.namespace("nobody")).exits(5);
    let unasked = pair.kctl(&format!("switch-active {} -x {} --force", pair.alt, pair.id)).run().exits(3);
    assert!(unasked.stderr.contains("needs a confirmation and there is no terminal"), "{unasked}");
    pair.only(&pair.ops);
}
