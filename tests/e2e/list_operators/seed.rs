//! Evidence as other tools leave it on a cluster.

#![allow(clippy::needless_pass_by_value, reason = "callers make the value on the spot")]

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::testbed::{Cluster, wait_until};

const DEADLINE: Duration = Duration::from_secs(60);

/// The CRDs of Camel K, of kctl and of OLM's Subscription.
pub fn crds(cluster: &Cluster) {
    let mut all = kctl::manifests::crds::camel();
    all.push(kctl::manifests::crds::claim());
    all.push(subscription_crd());
    for crd in &all {
        cluster.create(crd);
    }
    for crd in &all {
        let path = cluster.path_of(crd);
        wait_until("the CRD to be established", DEADLINE, || {
            let found = cluster.get(&path);
            let conditions = found.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
            conditions.iter().any(|condition| condition["type"] == "Established" && condition["status"] == "True")
        });
    }
}

fn subscription_crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "subscriptions.operators.coreos.com"},
        "spec": {
            "group": "operators.coreos.com", "scope": "Namespaced",
            "names": {"kind": "Subscription", "plural": "subscriptions"},
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

/// A namespace by this very name.
pub fn namespace(cluster: &Cluster, name: &str) {
    cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
}

/// An operator Deployment as the official manifests make it; `ready` pods are reported by its status.
pub fn operator(cluster: &Cluster, namespace: &str, name: &str, image: &str, container: &Value, ready: u64) {
    let mut container = container.clone();
    container["name"] = "camel-k-operator".into();
    container["image"] = image.into();
    container["command"] = json!(["kamel", "operator"]);
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": name, "labels": {
            "app": "camel-k", "camel.apache.org/component": "operator", "name": "camel-k-operator", "team": namespace,
        }},
        "spec": {
            "selector": {"matchLabels": {"name": name}},
            "template": {
                "metadata": {"labels": {"name": name}, "annotations": {"olm.targetNamespaces": "alpha"}},
                "spec": {"containers": [container]},
            },
        },
    });
    ready_deployment(cluster, &object, ready);
}

/// The Tigera operator's Deployment.
pub fn tigera(cluster: &Cluster, namespace: &str) {
    let labels = json!({"k8s-app": "tigera-operator"});
    let container = json!({"name": "tigera-operator", "image": "quay.io/tigera/operator:v1.38.0"});
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": "tigera-operator", "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    });
    ready_deployment(cluster, &object, 1);
}

fn ready_deployment(cluster: &Cluster, object: &Value, ready: u64) {
    cluster.create(object);
    let status = json!({"status": {"replicas": 1, "readyReplicas": ready, "availableReplicas": ready}});
    cluster.merge(&format!("{}/status", cluster.path_of(object)), &status);
}

/// `env` of an operator: what it watches, and its ids.
pub fn env(watch: &str, ids: &[(&str, &str)]) -> Value {
    let watch = match watch {
        "own" => json!({"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}),
        name => json!({"name": "WATCH_NAMESPACE", "value": name}),
    };
    let ids = ids.iter().map(|(name, value)| json!({"name": name, "value": value}));
    json!({"env": std::iter::once(watch).chain(ids).collect::<Vec<_>>()})
}

/// An `IntegrationPlatform` that an operator has looked at.
pub fn platform(cluster: &Cluster, namespace: &str, name: &str, metadata: Value) {
    let mut object = json!({"apiVersion": "camel.apache.org/v1", "kind": "IntegrationPlatform", "metadata": metadata});
    object["metadata"]["namespace"] = namespace.into();
    object["metadata"]["name"] = name.into();
    cluster.create(&object);
    let status = json!({"status": {"phase": "Ready", "version": "2.10.1"}});
    cluster.merge(&format!("{}/status", cluster.path_of(&object)), &status);
}

/// An Integration, with an operator id or without.
pub fn integration(cluster: &Cluster, namespace: &str, name: &str, id: Option<&str>) {
    let mut object = json!({
        "apiVersion": "camel.apache.org/v1", "kind": "Integration",
        "metadata": {"namespace": namespace, "name": name}, "spec": {"flows": []},
    });
    if let Some(id) = id {
        object["metadata"]["annotations"] = json!({"camel.apache.org/operator.id": id});
    }
    cluster.create(&object);
}

/// A Lease that somebody holds for an hour, or that ran out an hour ago.
pub fn lease(cluster: &Cluster, namespace: &str, name: &str, live: bool) {
    let age = if live { SignedDuration::ZERO } else { SignedDuration::from_hours(2) };
    cluster.create(&json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "holderIdentity": "pod-0_1", "leaseDurationSeconds": 3600,
            "renewTime": format!("{:.6}", Timestamp::now() - age),
        },
    }));
}

/// A claim of kctl, whose operator may be there or not.
pub fn claim(cluster: &Cluster, id: &str, active: &str, deployment: &str, standbys: &[(&str, &str)]) {
    let place = |namespace: &str, deployment: &str| json!({"namespace": namespace, "deployment": deployment});
    let standbys: Vec<_> = standbys.iter().map(|(namespace, name)| place(namespace, name)).collect();
    cluster.create(&json!({
        "apiVersion": "kctl.dev/v1alpha1", "kind": "OperatorClaim", "metadata": {"name": format!("camel-k.{id}")},
        "spec": {
            "family": "camel-k", "id": id, "managedBy": "kctl",
            "active": place(active, deployment), "standbys": standbys,
        },
    }));
}
