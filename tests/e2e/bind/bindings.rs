//! Clusters of other versions of Camel K: definitions are cluster-wide, so each has a cluster of its own.

use serde_json::{Value, json};

use super::operator_id;
use crate::kctl::kctl;
use crate::testbed::{Cluster, Options, User, wait_until};

const ANYTHING: &str = "x-kubernetes-preserve-unknown-fields";

fn definition(kind: &str, plural: &str, version: &str, spec: &Value) -> Value {
    let anything = json!({"type": "object", ANYTHING: true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.camel.apache.org")},
        "spec": {
            "group": "camel.apache.org", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{"name": version, "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": anything}}}}],
        },
    })
}

/// A cluster with these definitions and a cluster-wide operator tenant-a of this version in ops.
fn cluster_of(version: &str, definitions: &[(&str, &str, &str, Value)]) -> (Cluster, User) {
    let cluster = Cluster::own(&Options::default());
    for (kind, plural, version, spec) in definitions {
        cluster.create(&definition(kind, plural, version, spec));
        let path = format!("/apis/camel.apache.org/{version}/{plural}");
        wait_until(plural, super::DEADLINE, || cluster.call("GET", &path, None).status == 200);
    }
    for namespace in ["ops", "team"] {
        cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
    }
    let labels = json!({"camel.apache.org/component": "operator", "app": "camel-k"});
    let env = json!([{"name": "WATCH_NAMESPACE", "value": ""}, {"name": "KAMEL_OPERATOR_ID", "value": "tenant-a"}]);
    cluster.create(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a-operator", "namespace": "ops", "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {"containers": [
            {"name": "camel-k-operator", "image": format!("apache/camel-k:{version}"), "env": env}]}}},
    }));
    let admin = cluster.in_namespace(&cluster.admin(), "team");
    (cluster, admin)
}

#[test]
fn version_1_has_kamelet_bindings() {
    let any = json!({"type": "object", ANYTHING: true});
    let (cluster, admin) = cluster_of(
        "1.12.1",
        &[
            ("Integration", "integrations", "v1", any.clone()),
            ("Kamelet", "kamelets", "v1alpha1", any.clone()),
            ("KameletBinding", "kameletbindings", "v1alpha1", any),
        ],
    );
    cluster.create(&json!({"apiVersion": "camel.apache.org/v1alpha1", "kind": "Kamelet",
        "metadata": {"name": "timer-source", "namespace": "ops"},
        "spec": {"definition": {"required": ["message"], "properties": {"message": {}}}}}));
    let run = |line: &str| kctl().kubeconfig(&admin.kubeconfig).line(line).run();
    let line = "bind -x tenant-a timer-source?message=hi log:out --name orders -t container.port=80 -t keda.auto=true --annotation mine=1";
    let created = run(line).succeeds();
    assert_eq!(
        (created.stdout.as_str(), created.stderr.as_str()),
        ("kameletbinding.camel.apache.org/orders created\n", "")
    );
    let path = "/apis/camel.apache.org/v1alpha1/namespaces/team/kameletbindings/orders";
    let binding = cluster.get(path);
    assert_eq!(operator_id(&binding), "tenant-a");
    let reference = json!({"apiVersion": "camel.apache.org/v1alpha1", "kind": "Kamelet", "namespace": "team", "name": "timer-source"});
    assert_eq!(binding["spec"]["source"], json!({"ref": reference, "properties": {"message": "hi"}}));
    let traits = json!({"container": {"port": 80}, "addons": {"keda": {"auto": true}}});
    assert_eq!(binding["spec"]["integration"], json!({"traits": traits}));

    cluster.merge(path, &json!({"metadata": {"annotations": {"theirs": "1"}}, "spec": {"replicas": 2}}));
    assert!(run(line).succeeds().stdout.ends_with("orders unchanged\n"));
    let changed = run("bind -x tenant-a timer-source?message=ho log:out --name orders").succeeds();
    assert!(changed.stdout.ends_with("orders configured\n"), "{changed}");
    let binding = cluster.get(path);
    assert_eq!(binding["metadata"]["annotations"], json!({"theirs": "1", "camel.apache.org/operator.id": "tenant-a"}));
    assert_eq!((&binding["spec"]["replicas"], binding["spec"].get("integration")), (&json!(2), None));
    assert_eq!(binding["spec"]["source"]["properties"], json!({"message": "ho"}));

    let dry = run("bind -x tenant-a timer:x log:y --dry-run=server").succeeds();
    assert_eq!(dry.stdout, "kameletbinding.camel.apache.org/timer-to-log created (server dry run)\n");
    run("bind -x tenant-a timer-source log:out").exits(2);
    let absent = run("bind -x tenant-a tmer-source log:out").exits(5);
    assert!(
        absent.stderr.contains("in namespace team or ops") && absent.stderr.contains("did you mean timer-source?"),
        "{absent}"
    );
    let pipe = run("bind -x tenant-a timer:x log:y --api pipe").exits(5);
    assert!(pipe.stderr.contains("the cluster does not serve Pipes"), "{pipe}");
    cluster.merge(&format!("{path}/status"), &json!({"status": {"phase": "Ready"}}));
    let waiting = run("bind -x tenant-a timer-source?message=ho log:out --name orders --wait --timeout 2s").exits(6);
    assert!(waiting.stderr.contains("Ready, integration missing"), "{waiting}");
}

#[test]
fn an_older_pipe_has_no_traits() {
    let any = json!({"type": "object", ANYTHING: true});
    let spec = json!({"type": "object", "properties": {"source": any, "sink": any}});
    let (cluster, admin) =
        cluster_of("2.0.0", &[("Integration", "integrations", "v1", any.clone()), ("Pipe", "pipes", "v1", spec)]);
    let run = |line: &str| kctl().kubeconfig(&admin.kubeconfig).line(line).run();
    let refused = run("bind -x tenant-a timer:x log:y -t container.port=80").exits(2);
    assert!(refused.stderr.contains("--annotation trait.camel.apache.org/"), "{refused}");
    let dependency = run("bind -x tenant-a timer:x log:y -d camel:http").exits(2);
    assert!(dependency.stderr.contains("kubectl explain pipes.spec"), "{dependency}");
    assert_eq!(cluster.find("/apis/camel.apache.org/v1/namespaces/team/pipes/timer-to-log"), None);
    run("bind -x tenant-a timer:x log:y --annotation trait.camel.apache.org/container.port=80").succeeds();
    // No Kamelets are served at all.
    let kamelet = run("bind -x tenant-a timer-source log:y").succeeds();
    assert!(kamelet.stderr.contains("the cluster does not serve them"), "{kamelet}");
}

#[test]
fn without_camel_k() {
    let cluster = Cluster::own(&Options::default());
    let ran = kctl().kubeconfig(&cluster.admin().kubeconfig).line("bind -x a timer:x log:y").run().exits(5);
    assert!(ran.stderr.contains("neither Pipes nor KameletBindings") && ran.stderr.contains("kctl install"), "{ran}");
}
