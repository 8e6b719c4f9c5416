//! The test clusters keep their promises.

mod gate;
mod leftovers;
mod programs;

use std::time::Duration;

use serde_json::{Value, json};

use crate::testbed::{
    CRASH_LOOP, Client, Cluster, IMAGE_PULL_ERROR, NEVER_READY, Options, POD_ANNOTATION, Validity, wait_for, wait_until,
};

const DEADLINE: Duration = Duration::from_secs(60);

fn config_map(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}, "data": {"k": "v"}})
}

fn deployment(namespace: &str, name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": annotations},
                "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "registry.example/app:1.0"}]},
            },
        },
    })
}

fn who_am_i(client: &Client) -> Value {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &review)["status"]["userInfo"].clone()
}

#[test]
fn users_are_distinct_and_have_the_rights_they_were_given() {
    let cluster = Cluster::shared();
    let (mine, other) = (cluster.namespace("team"), cluster.namespace("team"));
    let (developer, stranger) = (cluster.user("dev"), cluster.user("dev"));
    assert_ne!(developer.name, stranger.name);
    let as_developer = cluster.client_as(&developer, "test");
    assert_eq!(who_am_i(&as_developer)["username"], developer.name);

    let config_maps = |namespace: &str| format!("/api/v1/namespaces/{namespace}/configmaps");
    assert_eq!(as_developer.call("GET", &config_maps(&mine), None).status, 403);
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "create"]}]);
    cluster.grant(&developer, Some(&mine), &rules);
    assert_eq!(as_developer.call("GET", &config_maps(&mine), None).status, 200);
    assert_eq!(as_developer.call("GET", &config_maps(&other), None).status, 403);
    assert_eq!(cluster.client_as(&stranger, "test").call("GET", &config_maps(&mine), None).status, 403);
    assert_eq!(cluster.client_as(&cluster.admin(), "test").call("GET", &config_maps(&other), None).status, 200);
}

#[test]
fn aggregated_roles_have_rules_where_controllers_run() {
    let cluster = Cluster::full();
    let viewer = cluster.user("viewer");
    cluster.grant_role(&viewer, None, "view");
    let viewer = cluster.client_as(&viewer, "test");
    assert_eq!(viewer.call("GET", "/api/v1/namespaces/default/configmaps", None).status, 200);
    assert_eq!(viewer.call("GET", "/api/v1/namespaces/default/secrets", None).status, 403);
}

#[test]
fn certificates_name_any_user_until_they_expire() {
    let cluster = Cluster::shared();
    let jane = cluster.certificate_user("jane", "friends", Validity::Valid);
    let info = who_am_i(&cluster.client_as(&jane, "test"));
    assert_eq!((&info["username"], &info["groups"][0]), (&json!("jane"), &json!("friends")));

    let late = cluster.certificate_user("jane", "friends", Validity::Expired);
    assert_eq!(cluster.client_as(&late, "test").call("GET", "/version", None).status, 401);
}

#[test]
fn the_audit_log_tells_who_sent_what() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("audited");
    let (user, bystander) = (cluster.admin(), cluster.admin());
    let client = cluster.client_as(&user, "kctl/1.2.3");
    let collection = format!("/api/v1/namespaces/{namespace}/configmaps");
    cluster.client_as(&user, "kctl/1.2.3").get("/version");

    let mark = cluster.audit_mark();
    cluster.client_as(&bystander, "kctl/1.2.3").get("/version");
    cluster.client_as(&user, "curl/8").get("/version");
    cluster.create(&config_map(&namespace, "by-harness"));
    client.post(&format!("{collection}?dryRun=All"), &config_map(&namespace, "mine"));
    client.get(&collection);
    let metadata_only = http::Request::get(&collection)
        .header("accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
        .body(Vec::new())
        .expect("a request");
    assert_eq!(client.exchange(metadata_only).expect("an answer").status(), 200);
    assert_eq!(client.call("DELETE", &format!("{collection}/none"), None).status, 404);
    client.get("/version");

    let requests = cluster.requests_since(mark, &user);
    let lines: Vec<String> = requests.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            format!("create {collection}?dryRun=All -> 201"),
            format!("list {collection} -> 200"),
            format!("list {collection} -> 200"),
            format!("delete {collection}/none -> 404"),
            "get /version -> 200".to_owned(),
        ]
    );
    assert_eq!(requests[0].body["metadata"]["name"], "mine");
    assert_eq!((requests[1].resource.as_str(), requests[1].answer_kind.as_str()), ("configmaps", "ConfigMapList"));
    assert_eq!(requests[2].answer_kind, "PartialObjectMetadataList");
    assert_eq!(
        requests.iter().map(crate::testbed::Request::is_write).collect::<Vec<_>>(),
        [true, false, false, true, false]
    );
    assert_eq!(cluster.all_requests_since(mark).len(), lines.len() + 2, "the harness itself is not in the log");
}

#[test]
fn kinds_of_a_new_crd_can_be_created_at_once() {
    let cluster = Cluster::shared();
    let created = cluster.apply_yaml(
        r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.testbed.kctl.dev}
spec:
  group: testbed.kctl.dev
  names: {kind: Widget, plural: widgets}
  scope: Cluster
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: testbed.kctl.dev/v1
kind: Widget
metadata: {name: first}
size: 3
",
        "testbed",
    );
    assert_eq!(cluster.get(&cluster.path_of(&created[1]))["size"], 3);
    let list = cluster.call("GET", "/apis/testbed.kctl.dev/v1/widgets", None);
    assert_eq!(list.body["items"].as_array().map(Vec::len), Some(1), "{list}");
}

#[test]
fn a_cluster_of_ones_own_is_another_one() {
    let own = Cluster::own(&Options::default());
    assert_ne!(own.url(), Cluster::shared().url());
    own.create(&config_map("default", "here"));
    assert_eq!(Cluster::shared().find("/api/v1/namespaces/default/configmaps/here"), None);
    let dir = own.dir().to_owned();
    drop(own);
    assert!(!dir.exists(), "{} was left behind", dir.display());
}

fn available(cluster: &Cluster, path: &str) -> bool {
    cluster.get(path)["status"]["availableReplicas"] == 1
}

/// `status.phase` and the reason why the first container waits, of the only pod of Deployment `app`.
fn pod_state(cluster: &Cluster, namespace: &str, app: &str) -> Option<(String, String)> {
    let pods = cluster.get(&format!("/api/v1/namespaces/{namespace}/pods?labelSelector=app%3D{app}"));
    let status = pods.pointer("/items/0/status")?;
    let reason =
        status.pointer("/containerStatuses/0/state/waiting/reason").and_then(Value::as_str).unwrap_or_default();
    Some((status["phase"].as_str()?.to_owned(), reason.to_owned()))
}

#[test]
fn deployments_become_available_and_namespaces_end() {
    let cluster = Cluster::full();
    let namespace = cluster.namespace("running");
    let path = cluster.path_of(&cluster.create(&deployment(&namespace, "fine", &Value::Null)));
    wait_until("the Deployment to become available", DEADLINE, || available(cluster, &path));
    let namespace = format!("/api/v1/namespaces/{namespace}");
    cluster.delete(&namespace);
    wait_until("the namespace to end", DEADLINE, || cluster.find(&namespace).is_none());
    assert_eq!(cluster.find(&path), None);
}

#[test]
fn pods_have_the_bad_luck_that_is_asked_for_and_recover() {
    let cluster = Cluster::full();
    let namespace = cluster.namespace("unlucky");
    for (luck, phase, reason) in [
        (NEVER_READY, "Running", ""),
        (IMAGE_PULL_ERROR, "Pending", "ImagePullBackOff"),
        (CRASH_LOOP, "Running", "CrashLoopBackOff"),
    ] {
        let path = cluster.path_of(&cluster.create(&deployment(&namespace, luck, &json!({POD_ANNOTATION: luck}))));
        let expected = (phase.to_owned(), reason.to_owned());
        wait_for(&format!("{luck} to be {expected:?}"), DEADLINE, || match pod_state(cluster, &namespace, luck) {
            Some(state) if state == expected => Ok(()),
            other => Err(format!("{other:?}")),
        });
        assert!(!available(cluster, &path), "{luck}");

        let pods = cluster.get(&format!("/api/v1/namespaces/{namespace}/pods?labelSelector=app%3D{luck}"));
        let pod = pods.pointer("/items/0/metadata/name").and_then(Value::as_str).expect("a pod");
        let recover = json!({"metadata": {"annotations": {POD_ANNOTATION: null}}});
        cluster.merge(&format!("/api/v1/namespaces/{namespace}/pods/{pod}"), &recover);
        wait_until(&format!("{luck} to recover"), DEADLINE, || available(cluster, &path));
    }
}

#[test]
fn an_image_name_can_ask_for_bad_luck() {
    let cluster = Cluster::full();
    let namespace = cluster.namespace("unlucky");
    let mut object = deployment(&namespace, "by-image", &Value::Null);
    object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example/camel-k/crash-loop:2.10.1");
    cluster.create(&object);
    wait_until("a crash loop", DEADLINE, || {
        pod_state(cluster, &namespace, "by-image").is_some_and(|(_, reason)| reason == "CrashLoopBackOff")
    });
}
