//! The example operator is the peer of other tests, so here it is shown to do what it is trusted to do.

mod camel_k;
mod pods;
mod rules;
mod tigera;

use std::time::Duration;

use serde_json::{Value, json};

use crate::testbed::{Cluster, wait_for};

const DEADLINE: Duration = Duration::from_secs(60);

/// A tenant's namespace on a cluster with Camel K's kinds.
struct Bench {
    cluster: &'static Cluster,
    namespace: String,
}

impl Bench {
    fn on(cluster: &'static Cluster) -> Self {
        for definition in kctl::manifests::crds::camel() {
            cluster.apply(&definition, "tests");
        }
        Self { cluster, namespace: cluster.namespace("team") }
    }

    /// An id of its own, and the namespace of its operator with a platform that has a registry.
    fn tenant(&self, prefix: &str) -> (String, String) {
        let (id, home) = (self.cluster.unique(prefix), self.cluster.namespace("ops"));
        self.platform(&id, &home);
        (id, home)
    }

    fn platform(&self, id: &str, namespace: &str) {
        self.cluster.create(&json!({
            "apiVersion": "camel.apache.org/v1",
            "kind": "IntegrationPlatform",
            "metadata": {"name": id, "namespace": namespace, "annotations": {"camel.apache.org/operator.id": id}},
            "spec": {"build": {"registry": {"address": "registry.example"}}},
        }));
    }

    /// An Integration or Pipe named `name` for the operator `id`.
    fn create(&self, kind: &str, name: &str, id: &str, spec: &Value) {
        self.cluster.create(&json!({
            "apiVersion": "camel.apache.org/v1",
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "annotations": {"camel.apache.org/operator.id": id, "note": "kept"},
            },
            "spec": spec,
        }));
    }

    fn path(&self, plural: &str, name: &str) -> String {
        format!("/apis/camel.apache.org/v1/namespaces/{}/{plural}/{name}", self.namespace)
    }

    fn assign(&self, plural: &str, name: &str, id: &str) {
        let patch = json!({"metadata": {"annotations": {"camel.apache.org/operator.id": id}}});
        self.cluster.merge(&self.path(plural, name), &patch);
    }

    /// Waits for a phase under another digest than `before`, the status then.
    fn phase_after(&self, plural: &str, name: &str, phase: &str, before: &Value) -> Value {
        wait_for(&format!("phase {phase:?} of {name}"), DEADLINE, || {
            let status = self.cluster.get(&self.path(plural, name))["status"].clone();
            let anew = before.is_null() || status["digest"] != before["digest"];
            if status["phase"] == phase && anew { Ok(status) } else { Err(status.to_string()) }
        })
    }

    fn phase(&self, plural: &str, name: &str, phase: &str) -> Value {
        self.phase_after(plural, name, phase, &Value::Null)
    }

    fn deployment(&self, name: &str) -> Value {
        self.cluster.get(&format!("/apis/apps/v1/namespaces/{}/deployments/{name}", self.namespace))
    }
}

/// A spec that needs no build.
fn image() -> Value {
    json!({"traits": {"container": {"image": "registry.example/app:1"}}})
}

/// The value of a variable of a Deployment's first container.
fn variable<'a>(deployment: &'a Value, name: &str) -> &'a str {
    let env = deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array();
    let mut found = env.into_iter().flatten().filter(|variable| variable["name"] == name);
    found.next().and_then(|variable| variable["value"].as_str()).unwrap_or_default()
}
