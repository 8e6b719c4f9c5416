//! `install -o json`, applied by another tool, and `install` afterwards.

use serde_json::Value;

use super::{claim, deployment};
use crate::kctl::kctl;
use crate::testbed::{Cluster, wait_until};

/// The path of a rendered object.
fn path(object: &Value) -> String {
    let version = object["apiVersion"].as_str().expect("a version");
    let root = if version.contains('/') { "/apis" } else { "/api" };
    let plural = match object["kind"].as_str().expect("a kind") {
        "CustomResourceDefinition" => "customresourcedefinitions".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    let name = object["metadata"]["name"].as_str().expect("a name");
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{root}/{version}/namespaces/{namespace}/{plural}/{name}"),
        None => format!("{root}/{version}/{plural}/{name}"),
    }
}

/// What `kubectl apply --server-side` sends for each object; tried again while its kind is not served yet.
fn apply(cluster: &Cluster, objects: &[Value], manager: &str) {
    for object in objects {
        let path = format!("{}?fieldManager={manager}&fieldValidation=Strict", path(object));
        wait_until(&format!("{path} is applied"), super::DEADLINE, || {
            let answer = cluster.call("PATCH", &path, Some(("application/apply-patch+yaml", object)));
            assert!(matches!(answer.status, 200 | 201 | 404 | 429), "{path}: {}", answer.status);
            answer.status < 300
        });
    }
}

#[test]
fn rendered_manifests_apply_twice_and_install_goes_on_with_them() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("gitops"), cluster.unique("rendered"));
    let render = kctl()
        .line(&format!(
            "install -x {id} -n {namespace} --global --registry r:5000 --include-crds --include-claim -o json"
        ))
        .run()
        .succeeds()
        .json();
    let objects = render["items"].as_array().expect("a List").clone();
    apply(cluster, &objects, "kctl");
    let before = cluster.get(&deployment(&namespace, &id));
    apply(cluster, &objects, "kctl");
    assert_eq!(before["metadata"]["generation"], cluster.get(&deployment(&namespace, &id))["metadata"]["generation"]);

    let install =
        |more: &str| kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {namespace} {more}")).run();
    let ran = install("").succeeds();
    let ours: Vec<&str> = ran.stdout.lines().filter(|line| line.contains(&id)).collect();
    assert!(!ours.is_empty() && ours.iter().all(|line| line.ends_with(" unchanged")), "{ran}");
    assert_eq!(before["metadata"]["generation"], cluster.get(&deployment(&namespace, &id))["metadata"]["generation"]);
    // The same manifests for another namespace do not get the id.
    let mut stolen = cluster.get(&claim(&id));
    stolen["spec"]["active"]["namespace"] = "elsewhere".into();
    stolen["metadata"] = serde_json::json!({"name": stolen["metadata"]["name"]});
    let theft = format!("{}?fieldManager=kctl&force=true", claim(&id));
    let answer = cluster.call("PATCH", &theft, Some(("application/apply-patch+yaml", &stolen)));
    assert_eq!(answer.status, 422);
}

#[test]
fn what_another_tool_applied_in_its_own_name_stays_its_own() {
    let cluster = Cluster::shared();
    let (admin, namespace, id) = (cluster.admin(), cluster.namespace("gitops"), cluster.unique("foreign"));
    let line = format!("install -x {id} -n {namespace}");
    let render = kctl().line(&format!("{line} -o json")).run().succeeds().json();
    apply(cluster, render["items"].as_array().expect("a List"), "argocd-controller");
    let before = cluster.get(&deployment(&namespace, &id));
    let ran = kctl().kubeconfig(&admin.kubeconfig).line(&line).run().exits(3);
    assert!(ran.stderr.contains("was not made by kctl for this operator"), "{ran}");
    assert_eq!(cluster.get(&deployment(&namespace, &id)), before);
    assert_eq!(cluster.find(&claim(&id)), None);
}
