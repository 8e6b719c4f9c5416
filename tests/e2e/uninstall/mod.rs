//! `uninstall`: one operator goes, and nothing of anybody else.

mod interrupted;

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};

use crate::kctl::kctl;
use crate::testbed::{Cluster, Options, wait_until};

const DEADLINE: Duration = Duration::from_secs(60);

fn claim(id: &str) -> String {
    format!("/apis/kctl.dev/v1alpha1/operatorclaims/camel-k.{id}")
}

fn integration(namespace: &str, name: &str, id: &str) -> Value {
    json!({"apiVersion": "camel.apache.org/v1", "kind": "Integration",
        "metadata": {"name": name, "namespace": namespace, "annotations": {"camel.apache.org/operator.id": id}},
        "spec": {"flows": []}})
}

fn integration_path(namespace: &str, name: &str) -> String {
    format!("/apis/camel.apache.org/v1/namespaces/{namespace}/integrations/{name}")
}

/// Every object of the kinds that kctl or an operator may touch, by its path.
fn everything(cluster: &Cluster) -> BTreeMap<String, Value> {
    let collections = [
        "/api/v1/namespaces",
        "/api/v1/serviceaccounts",
        "/api/v1/secrets",
        "/api/v1/configmaps",
        "/apis/apps/v1/deployments",
        "/apis/coordination.k8s.io/v1/leases",
        "/apis/rbac.authorization.k8s.io/v1/roles",
        "/apis/rbac.authorization.k8s.io/v1/rolebindings",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/kctl.dev/v1alpha1/operatorclaims",
        "/apis/camel.apache.org/v1/integrations",
        "/apis/camel.apache.org/v1/integrationkits",
        "/apis/camel.apache.org/v1/integrationplatforms",
        "/apis/camel.apache.org/v1/camelcatalogs",
        "/apis/camel.apache.org/v1/kamelets",
    ];
    let mut found = BTreeMap::new();
    for collection in collections {
        let list = cluster.get(collection);
        for item in list["items"].as_array().expect("a list") {
            let metadata = &item["metadata"];
            let namespace = metadata["namespace"].as_str().unwrap_or_default();
            // The API server renews its own leases.
            if namespace != "kube-system" {
                let name = metadata["name"].as_str().expect("a name");
                found.insert(format!("{collection} {namespace}/{name}"), item.clone());
            }
        }
    }
    found
}

/// What an operator of that id makes and holds in its namespace, and a Kamelet of a user.
fn traces(cluster: &Cluster, namespace: &str, id: &str) {
    cluster.create(&json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": format!("{id}-lock"), "namespace": namespace}, "spec": {"holderIdentity": ""}}));
    cluster.create(&json!({"apiVersion": "camel.apache.org/v1", "kind": "CamelCatalog",
        "metadata": {"name": format!("camel-catalog-{id}"), "namespace": namespace,
            "annotations": {"camel.apache.org/operator.id": id}}, "spec": {}}));
    for (name, bundled) in [("bundled", "true"), ("users", "false")] {
        cluster.create(&json!({"apiVersion": "camel.apache.org/v1", "kind": "Kamelet",
            "metadata": {"name": format!("{name}-{id}"), "namespace": namespace,
                "labels": {"camel.apache.org/kamelet.bundled": bundled},
                "annotations": {"camel.apache.org/operator.id": id}}, "spec": {}}));
    }
}

#[test]
fn of_two_tenants_only_the_one_named_goes() {
    let cluster = Cluster::own(&Options::default());
    let admin = cluster.admin();
    let (ops, team) = (cluster.namespace("ops"), cluster.namespace("team"));
    let run = |line: &str| kctl().kubeconfig(&admin.kubeconfig).line(line).run();
    run(&format!("install -x tenant-b -n {ops} --global --registry r:5000 --yes")).succeeds();
    cluster.create(&integration(&team, "theirs", "tenant-b"));
    traces(&cluster, &ops, "tenant-b");
    let before = everything(&cluster);
    run(&format!("install -x tenant-a -n {ops} --global --registry r:5000 --yes")).succeeds();
    traces(&cluster, &ops, "tenant-a");
    run("uninstall -x tenant-a --yes").succeeds();
    let mut after = everything(&cluster);
    let users: Vec<String> = after.keys().filter(|path| path.contains("tenant-a")).cloned().collect();
    assert_eq!(users, [format!("/apis/camel.apache.org/v1/kamelets {ops}/users-tenant-a")], "a user's Kamelet stays");
    after.retain(|path, _| !users.contains(path));
    assert_eq!(after, before, "byte for byte");
}

#[test]
fn integrations_move_stay_or_go() {
    let cluster = Cluster::shared();
    let (admin, ops, team) = (cluster.admin(), cluster.namespace("ops"), cluster.namespace("team"));
    let (a, b) = (cluster.unique("from"), cluster.unique("to"));
    let run = |line: &str| kctl().kubeconfig(&admin.kubeconfig).line(line).run();
    for id in [&a, &b] {
        run(&format!("install -x {id} -n {ops} --global --yes")).succeeds();
    }
    cluster.create(&integration(&team, "running", &a));
    cluster.create(&integration(&team, "building", &a));
    for (name, phase) in [("running", "Running"), ("building", "Building Kit")] {
        let path = format!("{}/status", integration_path(&team, name));
        cluster.merge(&path, &json!({"status": {"phase": phase, "integrationKit": {"name": "kit"}}}));
    }
    run(&format!("uninstall -x {a} --yes")).exits(3);
    run(&format!("uninstall -x {a} --yes --move-to {b}")).succeeds();
    for (name, phase) in [("running", json!("Running")), ("building", Value::Null)] {
        let moved = cluster.get(&integration_path(&team, name));
        assert_eq!(moved["metadata"]["annotations"]["camel.apache.org/operator.id"], b.as_str());
        assert_eq!(moved["status"]["phase"], phase, "{name}");
    }
    assert_eq!(cluster.find(&claim(&a)), None);
    run(&format!("uninstall -x {b} --yes --leave")).succeeds();
    let tombstone = cluster.get(&claim(&b));
    assert_eq!((&tombstone["spec"]["renamedTo"], tombstone["spec"].get("active")), (&json!(""), None));
    run(&format!("install -x {b} -n {team} --yes")).exits(3);
    run(&format!("install -x {b} -n {team} --yes --reuse-id")).succeeds();
    let again = cluster.get(&claim(&b));
    assert_eq!((&again["spec"]["active"]["namespace"], again["spec"].get("renamedTo")), (&json!(team), None));
    run(&format!("uninstall -x {b} --yes --delete-resources")).succeeds();
    assert_eq!(cluster.find(&integration_path(&team, "running")), None);
}

#[test]
fn without_rights_nothing_is_written() {
    let cluster = Cluster::full();
    let (admin, ops, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("kept"));
    kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {ops}")).run().succeeds();
    let viewer = cluster.user("viewer");
    cluster.grant_role(&viewer, None, "view");
    let mark = cluster.audit_mark();
    let ran = kctl().kubeconfig(&viewer.kubeconfig).line(&format!("uninstall -x {id} --yes")).run().exits(4);
    assert!(ran.stderr.contains("you may not"), "{ran}");
    let wrote = cluster
        .requests_since(mark, &viewer)
        .into_iter()
        .filter(|sent| sent.is_write() && !sent.to_string().contains("selfsubjectaccessreviews"));
    assert_eq!(wrote.map(|sent| sent.to_string()).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn pods_are_gone_before_the_claim_is() {
    let cluster = Cluster::full();
    let (admin, ops, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("running"));
    let run = |line: &str| kctl().kubeconfig(&admin.kubeconfig).line(line).run();
    run(&format!("install -x {id} -n {ops} --registry r:5000 --wait")).succeeds();
    run(&format!("uninstall -x {id} --yes")).succeeds();
    let pods = cluster.get(&format!("/api/v1/namespaces/{ops}/pods?labelSelector=kctl.dev/operator-id={id}"));
    assert_eq!(pods["items"], json!([]));
    assert_eq!(cluster.find(&claim(&id)), None);
}

#[test]
fn a_namespace_that_is_gone_is_no_obstacle() {
    let cluster = Cluster::full();
    let (admin, ops, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("homeless"));
    let run = |line: &str| kctl().kubeconfig(&admin.kubeconfig).line(line).run();
    run(&format!("install -x {id} -n {ops} --global --yes")).succeeds();
    let namespace = format!("/api/v1/namespaces/{ops}");
    cluster.delete(&namespace);
    wait_until("the namespace to end", DEADLINE, || cluster.find(&namespace).is_none());
    let ran = run(&format!("uninstall -x {id} --yes")).succeeds();
    assert!(ran.stdout.contains(&format!("clusterrole.rbac.authorization.k8s.io/kctl-camel-k-{id} deleted")), "{ran}");
    assert_eq!(cluster.find(&claim(&id)), None);
}

#[test]
fn a_standby_goes_alone_and_an_active_instance_not_before_it() {
    let cluster = Cluster::shared();
    let (admin, ops, alt, id) =
        (cluster.admin(), cluster.namespace("ops"), cluster.namespace("alt"), cluster.unique("pair"));
    let run = |line: &str| kctl().kubeconfig(&admin.kubeconfig).line(line).run();
    run(&format!("install -x {id} -n {ops} --yes")).succeeds();
    run(&format!("install -x {id} -n {alt} --standby --yes")).succeeds();
    let of = |namespace: &str| {
        everything(cluster)
            .into_iter()
            .filter(|(path, _)| path.contains(&format!(" {namespace}/")) && path.contains(&id))
            .collect::<BTreeMap<_, _>>()
    };
    let before: Vec<String> = of(&ops).into_keys().filter(|path| !path.contains(&alt)).collect();
    run(&format!("uninstall -x {id} -n {ops} --yes")).exits(3);
    run(&format!("uninstall -x {id} -n {alt} --yes")).succeeds();
    assert_eq!(of(&alt), BTreeMap::new());
    assert_eq!(of(&ops).into_keys().collect::<Vec<_>>(), before);
    let claim = cluster.get(&claim(&id));
    assert_eq!((&claim["spec"]["active"]["namespace"], &claim["spec"]["standbys"]), (&json!(ops), &json!([])));
    assert_eq!(claim["spec"].get("operation"), None);
    run(&format!("uninstall -x {id} -n {ops} --yes")).succeeds();
    assert_eq!(of(&ops), BTreeMap::new());
}
