//! `adopt`: claims for what other tools have installed, on a real API server.

use serde_json::{Value, json};

use crate::kctl::kctl;
use crate::testbed::{Cluster, Options};

fn claim(id: &str) -> String {
    format!("/apis/kctl.dev/v1alpha1/operatorclaims/camel-k.{id}")
}

/// An operator as Helm (chart 2.10.1), kustomize (2.10.1) or `kamel install` (2.7.0) lays it down.
fn operator(namespace: &str, tool: &str, env: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "camel-k-operator", "namespace": namespace, "labels": {
            "app": "camel-k", "camel.apache.org/component": "operator", "name": "camel-k-operator",
            "app.kubernetes.io/name": "camel-k", "app.kubernetes.io/version": "2.7.0"}},
        "spec": {"replicas": 1, "strategy": {"type": "Recreate"}, "selector": {"matchLabels": {"name": "camel-k-operator"}},
            "template": {"metadata": {"labels": {"name": "camel-k-operator", "app": "camel-k", "camel.apache.org/component": "operator"}},
                "spec": {"serviceAccountName": "camel-k-operator", "containers": [{"name": "camel-k-operator",
                    "image": "docker.io/apache/camel-k:2.7.0", "command": ["kamel", "operator"], "env": env}]}}},
    });
    if tool == "helm" {
        object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("Helm");
        object["metadata"]["annotations"] =
            json!({"meta.helm.sh/release-name": "camel", "meta.helm.sh/release-namespace": namespace});
    }
    object
}

#[test]
fn operators_of_other_tools_get_claims_and_are_not_touched() {
    let cluster = Cluster::own(&Options::default());
    let admin = cluster.admin();
    let run = |line: &str| kctl().kubeconfig(&admin.kubeconfig).line(line).run();
    let places = ["helm", "kustomize", "kamel"].map(|tool| (tool, cluster.namespace(tool)));
    let own = json!({"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}});
    let envs = [
        json!([own, {"name": "OPERATOR_ID", "value": "by-helm"}]),
        json!([own, {"name": "OPERATOR_ID", "value": "by-kustomize"}]),
        // `kamel install` leaves the manifest's id and appends the one that wins.
        json!([own, {"name": "OPERATOR_ID", "value": "camel-k"}, {"name": "KAMEL_OPERATOR_ID", "value": "by-kamel"}]),
    ];
    let made: Vec<Value> = places
        .iter()
        .zip(&envs)
        .map(|((tool, namespace), env)| cluster.create(&operator(namespace, tool, env)))
        .collect();

    run("adopt --all --dry-run").succeeds();
    run("adopt --all --dry-run=server").succeeds();
    assert_eq!(cluster.find("/apis/kctl.dev/v1alpha1/operatorclaims"), None, "a rehearsal makes nothing");
    run("adopt by-helm").succeeds();
    run("adopt --all").succeeds();
    for ((tool, namespace), deployment) in places.iter().zip(&made) {
        let found = cluster.get(&claim(&format!("by-{tool}")));
        let expected =
            json!({"namespace": namespace, "deployment": "camel-k-operator", "uid": deployment["metadata"]["uid"]});
        assert_eq!(found["spec"]["active"], expected, "{tool}");
        assert_eq!(found["spec"]["managedBy"], if *tool == "helm" { "helm" } else { "unknown" });
        assert_eq!(found["metadata"]["annotations"]["kctl.dev/claims-complete"], "true", "{tool}");
        let after = cluster.get(&cluster.path_of(deployment));
        assert_eq!(after, *deployment, "{tool}: byte for byte");
    }
    let again = run("adopt --all").succeeds();
    assert!(again.stdout.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    run(&format!("install -x by-kamel -n {} --yes", cluster.namespace("elsewhere"))).exits(3);
    run("uninstall -x by-helm --yes").exits(3);
    cluster.delete(&cluster.path_of(&made[0]));
    run("uninstall -x by-helm --yes").succeeds();
    assert_eq!(cluster.find(&claim("by-helm")), None);
}

#[test]
fn somebody_who_may_not_write_claims_is_told_so() {
    let cluster = Cluster::full();
    let (id, namespace, viewer) = (cluster.unique("seen"), cluster.namespace("seen"), cluster.user("viewer"));
    let env = json!([{"name": "WATCH_NAMESPACE", "value": ""}, {"name": "OPERATOR_ID", "value": id}]);
    cluster.create(&operator(&namespace, "kustomize", &env));
    cluster.grant_role(&viewer, None, "view");
    let ran = kctl().kubeconfig(&viewer.kubeconfig).line(&format!("adopt {id}")).run().exits(4);
    assert!(ran.stderr.contains("you may not"), "{ran}");
    let all = kctl().kubeconfig(&viewer.kubeconfig).line("adopt --all").run();
    assert!(matches!(all.code, Some(4)), "{all}");
}
