//! Requests on objects.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/example.com/v1/widgets";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn map(name: &str, data: impl Into<Value>) -> Value {
    let data: Value = data.into();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn crd() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Cluster",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]}, "versions": [{
            "name": "v1", "served": true, "storage": true, "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "required": ["id"], "properties": {
                    "id": {"type": "string"}, "replicas": {"type": "integer"}}},
                "status": {"type": "object", "properties": {"phase": {"type": "string"}}}}}}}]}})
}

fn widget(name: &str, spec: impl Into<Value>) -> Value {
    let spec: Value = spec.into();
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

#[test]
fn an_object_is_created_read_changed_and_deleted() {
    let snapshot = Snapshot::empty();
    let created = post(&snapshot, MAPS, &map("a", json!({"k": "v"})));
    assert_eq!(created.code, 201);
    let meta = &created.body["metadata"];
    assert_eq!((&meta["name"], &meta["namespace"]), (&json!("a"), &json!("default")));
    assert!(meta["uid"].is_string() && meta["creationTimestamp"].is_string() && meta["generation"].is_null());
    assert_eq!(
        meta["managedFields"][0]["fieldsV1"],
        json!({"f:data": {".": {}, "f:k": {}}}),
        "who created it is recorded"
    );
    assert_eq!(get(&snapshot, &format!("{MAPS}/a")).body, created.body);

    let again = post(&snapshot, MAPS, &map("a", json!({})));
    assert_eq!((again.code, again.message()), (409, "configmaps \"a\" already exists"));

    let changed = patch(&snapshot, &format!("{MAPS}/a"), MERGE, &json!({"data": {"z": "1", "k": null}}));
    assert_eq!((changed.code, &changed.body["data"]), (200, &json!({"z": "1"})));
    assert_ne!(changed.body["metadata"]["resourceVersion"], meta["resourceVersion"]);
    let same = patch(&snapshot, &format!("{MAPS}/a"), MERGE, &json!({"data": {"z": "1"}}));
    assert_eq!(same.body, changed.body, "what changes nothing writes nothing");

    let stale = json!({"metadata": {"resourceVersion": "3"}, "data": {"z": "2"}});
    let refused = patch(&snapshot, &format!("{MAPS}/a"), MERGE, &stale);
    assert_eq!(refused.code, 409);
    assert_eq!(
        refused.message(),
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to \
         the latest version and try again"
    );

    let uid = meta["uid"].as_str().unwrap();
    let wrong = delete(&snapshot, &format!("{MAPS}/a"), &json!({"preconditions": {"uid": "zz"}}));
    assert_eq!(wrong.code, 409);
    assert_eq!(
        wrong.message(),
        format!(
            "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (zz) does not match the UID in \
             record ({uid}). The object might have been deleted and then recreated"
        )
    );
    let gone = delete(&snapshot, &format!("{MAPS}/a"), &json!({"preconditions": {"uid": uid}}));
    assert_eq!((gone.code, &gone.body["status"]), (200, &json!("Success")));
    let missing = get(&snapshot, &format!("{MAPS}/a"));
    assert_eq!((missing.code, missing.message()), (404, "configmaps \"a\" not found"));
}

#[test]
fn creating_needs_a_namespace_and_a_name() {
    let snapshot = Snapshot::empty();
    let missing = post(&snapshot, "/api/v1/namespaces/nope/configmaps", &map("a", json!({})));
    assert_eq!((missing.code, missing.message()), (404, "namespaces \"nope\" not found"));
    assert_eq!(post(&snapshot, "/api/v1/configmaps", &map("a", json!({}))).code, 405);
    let generated = post(&snapshot, MAPS, &json!({"metadata": {"generateName": "gen-"}}));
    let name = generated.body["metadata"]["name"].as_str().unwrap();
    assert!(name.len() == 9 && name.starts_with("gen-"), "{name}");
    let nameless = post(&snapshot, MAPS, &json!({"metadata": {}}));
    assert_eq!(
        nameless.message(),
        "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required"
    );

    let namespace = json!({"metadata": {"name": "nope"}});
    assert_eq!(post(&snapshot, "/api/v1/namespaces", &namespace).code, 201);
    assert_eq!(post(&snapshot, "/api/v1/namespaces/nope/configmaps", &map("a", json!({}))).code, 201);
    assert_eq!(delete(&snapshot, "/api/v1/namespaces/nope", &json!({})).code, 200);
    assert_eq!(get(&snapshot, "/api/v1/configmaps").names().len(), 1, "what was in the namespace is gone");
}

#[test]
fn a_dry_run_changes_nothing() {
    let snapshot = Snapshot::empty();
    let tried = post(&snapshot, &format!("{MAPS}?dryRun=All"), &map("a", json!({})));
    assert_eq!((tried.code, tried.body["metadata"].get("resourceVersion")), (201, None));
    assert_eq!(get(&snapshot, &format!("{MAPS}/a")).code, 404);
    post(&snapshot, MAPS, &map("a", json!({})));
    let before = get(&snapshot, &format!("{MAPS}/a"));
    let tried = patch(&snapshot, &format!("{MAPS}/a?dryRun=All"), MERGE, &json!({"data": {"k": "v"}}));
    assert_eq!(tried.body["data"], json!({"k": "v"}));
    delete(&snapshot, &format!("{MAPS}/a"), &json!({"dryRun": ["All"]}));
    send(&snapshot, "DELETE", &format!("{MAPS}/a?dryRun=All"), "", JSON, "");
    assert_eq!(get(&snapshot, &format!("{MAPS}/a")), before);
}

#[test]
fn applying_creates_shares_conflicts_and_lets_go() {
    let snapshot = Snapshot::empty();
    let apply = |manager: &str, extra: &str, object: &Value| {
        patch(&snapshot, &format!("{MAPS}/s?fieldManager={manager}{extra}"), APPLY, object)
    };
    let created = apply("one", "", &map("s", json!({"k": "v", "d": "x"})));
    assert_eq!(created.code, 201);
    assert_eq!(apply("one", "", &map("s", json!({"k": "v", "d": "x"}))).body, created.body, "the same again");
    let conflict = apply("two", "", &map("s", json!({"k": "w"})));
    assert_eq!(
        conflict.body,
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "Apply failed with 1 conflict: conflict with \"one\": .data.k", "reason": "Conflict",
            "details": {"causes": [{"reason": "FieldManagerConflict", "message": "conflict with \"one\"",
                "field": ".data.k"}]}, "code": 409})
    );
    assert_eq!(apply("two", "&force=true", &map("s", json!({"k": "w"}))).body["data"], json!({"k": "w", "d": "x"}));
    assert_eq!(apply("one", "", &map("s", json!({}))).body["data"], json!({"k": "w"}));

    let create_only =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s", "resourceVersion": "1"}});
    assert_eq!(apply("three", "", &create_only).code, 409);
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "resourceVersion": "1"}});
    assert_eq!(patch(&snapshot, &format!("{MAPS}/new?fieldManager=a"), APPLY, &other).code, 201);
    let nobody = patch(&snapshot, &format!("{MAPS}/s"), APPLY, &map("s", json!({})));
    assert_eq!(
        nobody.message(),
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"
    );
}

#[test]
fn an_update_and_an_apply_of_one_name_are_two_managers() {
    let snapshot = Snapshot::empty();
    post(&snapshot, &format!("{MAPS}?fieldManager=kctl"), &map("a", json!({"k": "v"})));
    let conflict = patch(&snapshot, &format!("{MAPS}/a?fieldManager=kctl"), APPLY, &map("a", json!({"k": "w"})));
    assert_eq!(conflict.code, 409);
    assert!(conflict.message().contains("conflict with \"kctl\" using v1"), "{}", conflict.message());
}

#[test]
fn a_crd_serves_its_kind_at_once() {
    let snapshot = Snapshot::empty();
    assert_eq!(get(&snapshot, WIDGETS), Answer { code: 404, body: json!("404 page not found\n") });
    assert_eq!(post(&snapshot, CRDS, &crd()).code, 201);
    let established = get(&snapshot, &format!("{CRDS}/widgets.example.com"));
    assert_eq!(established.body["status"]["conditions"][1]["type"], "Established");
    assert_eq!(established.body["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(get(&snapshot, WIDGETS).names(), [""; 0]);
    assert_eq!(get(&snapshot, "/apis/example.com").body["preferredVersion"]["version"], "v1");

    let unknown = widget("a", json!({"id": "x", "bad": 1}));
    let strict = post(&snapshot, &format!("{WIDGETS}?fieldValidation=Strict"), &unknown);
    assert_eq!(strict.code, 400);
    assert_eq!(
        strict.message(),
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \"spec.bad\""
    );
    let lax = post(&snapshot, WIDGETS, &unknown);
    assert_eq!((lax.code, &lax.body["spec"]), (201, &json!({"id": "x"})));
    let wrong = post(&snapshot, WIDGETS, &widget("b", json!({"replicas": "x"})));
    assert_eq!(wrong.code, 422);

    delete(&snapshot, &format!("{CRDS}/widgets.example.com"), &json!({}));
    assert_eq!(get(&snapshot, WIDGETS).code, 404);
}

#[test]
fn generations_count_changes_of_the_spec() {
    let snapshot = Snapshot::empty();
    post(&snapshot, CRDS, &crd());
    let path = format!("{WIDGETS}/a");
    let created = post(&snapshot, WIDGETS, &widget("a", json!({"id": "x"})));
    let generation = |answer: &Answer| answer.body["metadata"]["generation"].as_i64().unwrap();
    assert_eq!(generation(&created), 1);
    let labelled = patch(&snapshot, &path, MERGE, &json!({"metadata": {"labels": {"a": "b"}}}));
    assert_eq!(generation(&labelled), 1);
    let changed = patch(&snapshot, &path, MERGE, &json!({"spec": {"replicas": 2}, "status": {"phase": "no"}}));
    assert_eq!((generation(&changed), changed.body.get("status")), (2, None));
    let status = json!({"status": {"phase": "Running"}, "spec": {"id": "z"}, "metadata": {"labels": {"c": "d"}}});
    let running = patch(&snapshot, &format!("{path}/status"), MERGE, &status);
    assert_eq!((generation(&running), &running.body["status"]["phase"]), (2, &json!("Running")));
    assert_eq!((&running.body["spec"]["id"], &running.body["metadata"]["labels"]), (&json!("x"), &json!({"a": "b"})));
    let scaled = patch(&snapshot, &format!("{path}/scale"), MERGE, &json!({"spec": {"replicas": 3}}));
    assert_eq!((&scaled.body["kind"], &scaled.body["spec"]["replicas"]), (&json!("Scale"), &json!(3)));
    assert_eq!(generation(&get(&snapshot, &path)), 3);
}

#[test]
fn replacing_needs_the_version_for_custom_resources() {
    let snapshot = Snapshot::empty();
    post(&snapshot, CRDS, &crd());
    let path = format!("{WIDGETS}/a");
    let created = post(&snapshot, WIDGETS, &widget("a", json!({"id": "x"}))).body;
    let blind = put(&snapshot, &path, &widget("a", json!({"id": "y"})));
    assert_eq!(
        blind.message(),
        "widgets.example.com \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    );
    let mut next = widget("a", json!({"id": "y"}));
    next["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"].clone();
    assert_eq!(put(&snapshot, &path, &next).code, 200);
    assert_eq!(put(&snapshot, &path, &next).code, 409, "the version has moved on");
    assert_eq!(put(&snapshot, &format!("{WIDGETS}/b"), &widget("b", json!({"id": "x"}))).code, 404);
    assert_eq!(put(&snapshot, &path, &widget("b", json!({"id": "x"}))).code, 400, "another name");
}

#[test]
fn lists_are_selected_paged_and_cut_to_metadata() {
    let snapshot = Snapshot::empty();
    for (namespace, name, app) in [("a", "x", "web"), ("a", "y", "db"), ("a-b", "x", "web"), ("b", "z", "web")] {
        post(&snapshot, "/api/v1/namespaces", &json!({"metadata": {"name": namespace}}));
        let object = json!({"metadata": {"name": name, "labels": {"app": app}}});
        post(&snapshot, &format!("/api/v1/namespaces/{namespace}/configmaps"), &object);
    }
    let list = |path: &str| get(&snapshot, path);
    let all = list("/api/v1/configmaps");
    assert_eq!(all.names(), ["x", "x", "y", "z"], "by key: a-b/x is before a/x");
    assert_eq!(all.body["items"][0].get("kind"), None, "items of built-in kinds do not say their type");
    assert_eq!(list("/api/v1/namespaces/a/configmaps").names(), ["x", "y"]);
    assert_eq!(list("/api/v1/configmaps?labelSelector=app%3Dweb").names(), ["x", "x", "z"]);
    assert_eq!(list("/api/v1/configmaps?labelSelector=app%20notin%20(web)").names(), ["y"]);
    assert_eq!(list("/api/v1/configmaps?fieldSelector=metadata.namespace%3Da,metadata.name%3Dx").names(), ["x"]);

    let mut path = "/api/v1/configmaps?limit=3".to_owned();
    let first = list(&path);
    assert_eq!((first.names().len(), &first.body["metadata"]["remainingItemCount"]), (3, &json!(1)));
    path.push_str(&format!("&continue={}", first.body["metadata"]["continue"].as_str().unwrap()));
    let second = list(&path);
    assert_eq!((second.names(), second.body["metadata"].get("continue")), (vec!["z"], None));

    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let partial = send(&snapshot, "GET", "/api/v1/configmaps", "", accept, "");
    assert_eq!(partial.body["kind"], "PartialObjectMetadataList");
    assert_eq!(partial.body["items"][3]["kind"], "PartialObjectMetadata");
    assert_eq!(partial.body["items"][3]["metadata"]["labels"], json!({"app": "web"}));
    assert_eq!(partial.body["items"][3].get("data"), None);
    let late = list("/api/v1/configmaps?resourceVersion=99999999");
    assert_eq!(late.code, 504);
}

#[test]
fn finalizers_hold_an_object() {
    let snapshot = Snapshot::empty();
    let mut object = map("a", json!({}));
    object["metadata"]["finalizers"] = json!(["kctl.dev/x"]);
    post(&snapshot, MAPS, &object);
    let held = delete(&snapshot, &format!("{MAPS}/a"), &json!({}));
    assert!(held.body["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(get(&snapshot, &format!("{MAPS}/a")).code, 200);
    patch(&snapshot, &format!("{MAPS}/a"), MERGE, &json!({"metadata": {"finalizers": null}}));
    assert_eq!(get(&snapshot, &format!("{MAPS}/a")).code, 404);
}

#[test]
fn discovery_tells_what_is_served() {
    let snapshot = Snapshot::empty();
    let groups = get(&snapshot, "/apis").body;
    let names: Vec<&str> = groups["groups"].as_array().unwrap().iter().map(|g| g["name"].as_str().unwrap()).collect();
    assert!(
        names.contains(&"apps") && names.contains(&"camel.apache.org") && !names.contains(&"kctl.dev"),
        "{names:?}"
    );
    let camel = get(&snapshot, "/apis/camel.apache.org/v1").body;
    let kinds: Vec<&str> = camel["resources"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"integrations/scale") && kinds.contains(&"pipes/status"), "{kinds:?}");
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let core = send(&snapshot, "GET", "/api", "", accept, "").body;
    assert_eq!(core["items"][0]["versions"][0]["version"], "v1");
    assert_eq!(get(&snapshot, "/apis/kctl.dev/v1alpha1").code, 404);
    assert_eq!(get(&snapshot, "/api/v1/nopes").body["reason"], "NotFound");
    assert!(get(&snapshot, "/version").body["gitVersion"].as_str().unwrap().ends_with("+snapshot"));
}

#[test]
fn everything_is_allowed_and_logged() {
    let snapshot = Snapshot::empty();
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let review = post(&snapshot, path, &json!({"spec": {"resourceAttributes": {"verb": "create"}}}));
    assert_eq!((review.code, &review.body["status"]["allowed"]), (201, &json!(true)));
    get(&snapshot, "/api/v1/pods?limit=5");
    let requests: Vec<String> = snapshot.requests().iter().map(|r| format!("{} {}", r.method, r.path)).collect();
    assert_eq!(requests, [format!("POST {path}"), "GET /api/v1/pods?limit=5".to_owned()]);
}

/// Bodies that are nearly objects: some fields right, others of any type.
fn odd() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!("a")), Just(json!([])), Just(json!({}))];
    let any = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::btree_map("labels|name|finalizers|spec|a", inner.clone(), 0..3)
                .prop_map(|map| json!(map)),
            prop::collection::vec(inner, 0..3).prop_map(|items| json!(items)),
        ]
    });
    let field = "metadata|spec|status|data|kind|apiVersion|items|path|op|value|preconditions";
    prop_oneof![
        4 => prop::collection::btree_map(field, any.clone(), 0..5).prop_map(|map| json!(map)),
        1 => any.clone(),
        1 => any.prop_map(|value| json!([{"op": "replace", "path": "", "value": value}])),
    ]
}

proptest! {
    #[test]
    fn no_request_breaks_the_service(bodies in prop::collection::vec((0_usize..6, 0_usize..6, odd()), 1..12)) {
        let snapshot = Snapshot::empty();
        post(&snapshot, CRDS, &crd());
        post(&snapshot, MAPS, &map("a", json!({"k": "v"})));
        post(&snapshot, WIDGETS, &widget("a", json!({"id": "x"})));
        let paths = [format!("{MAPS}/a"), MAPS.into(), format!("{WIDGETS}/a"), format!("{WIDGETS}/a/status"),
            format!("{WIDGETS}/a/scale"), "/api/v1/namespaces".into()];
        for (path, way, body) in bodies {
            let path = &paths[path];
            let answer = match way {
                0 => post(&snapshot, path, &body),
                1 => put(&snapshot, path, &body),
                2 => patch(&snapshot, path, MERGE, &body),
                3 => patch(&snapshot, &format!("{path}?fieldManager=m&force=true"), APPLY, &body),
                4 => patch(&snapshot, path, "application/json-patch+json", &body),
                _ => delete(&snapshot, path, &body),
            };
            prop_assert!(answer.code >= 200 && answer.code < 600);
            prop_assert!(get(&snapshot, MAPS).body["items"].is_array());
            prop_assert!(get(&snapshot, WIDGETS).body["items"].is_array());
        }
    }
}
