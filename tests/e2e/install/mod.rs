//! `install`: one id, one operator, whatever happens on the way.

mod change;
mod evidence;
mod interrupted;
mod objects;
mod races;
mod rendered;
mod rights;

use std::time::Duration;

use serde_json::{Value, json};

use crate::testbed::Cluster;

const DEADLINE: Duration = Duration::from_secs(60);

fn claim(id: &str) -> String {
    format!("/apis/kctl.dev/v1alpha1/operatorclaims/camel-k.{id}")
}

fn deployment(namespace: &str, id: &str) -> String {
    format!("/apis/apps/v1/namespaces/{namespace}/deployments/{id}-operator")
}

/// Everything an install makes for one id, without what differs from run to run.
fn end_state(cluster: &Cluster, namespace: &str, id: &str) -> Value {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let names = [
        claim(id),
        deployment(namespace, id),
        format!("/api/v1/namespaces/{namespace}/serviceaccounts/{id}-operator"),
        format!("/api/v1/namespaces/{namespace}/secrets/{id}-install"),
        format!("{rbac}/namespaces/{namespace}/roles/{id}-operator"),
        format!("{rbac}/namespaces/{namespace}/rolebindings/{id}-operator"),
        format!("/apis/camel.apache.org/v1/namespaces/{namespace}/integrationplatforms/{id}"),
    ];
    let objects: Vec<Value> = names
        .iter()
        .map(|path| {
            let mut object = cluster.find(path).unwrap_or_else(|| panic!("{path} is missing"));
            normalise(&mut object);
            object
        })
        .collect();
    let text = json!(objects).to_string().replace(namespace, "NAMESPACE").replace(id, "ID");
    serde_json::from_str(&text).expect("still JSON")
}

fn normalise(object: &mut Value) {
    let fields = object.as_object_mut().expect("an object");
    fields.remove("status");
    let metadata = fields["metadata"].as_object_mut().expect("metadata");
    for key in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "annotations"] {
        metadata.remove(key);
    }
    if let Some(spec) = object.pointer_mut("/spec").and_then(Value::as_object_mut) {
        spec.remove("history");
        if let Some(active) = spec.get_mut("active").and_then(Value::as_object_mut) {
            active.remove("uid");
        }
    }
    // The settings are base64 and do not hold the id.
}

/// Replicas of all Deployments of an id, in the whole cluster.
fn replicas(cluster: &Cluster, id: &str) -> i64 {
    let found = cluster.get(&format!("/apis/apps/v1/deployments?labelSelector=kctl.dev/operator-id={id}"));
    let items = found["items"].as_array().expect("a list").clone();
    items.iter().map(|item| item["spec"]["replicas"].as_i64().unwrap_or(1)).sum()
}
