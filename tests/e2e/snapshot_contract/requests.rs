//! The requests, in order: each builds on those before.

use serde_json::{Value, json};

use super::{Compare, Step};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const EDIT: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

const MAPS: &str = "/api/v1/namespaces/NS/configmaps";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/contract.kctl.dev/v1/widgets";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/NS/deployments";

fn step(method: &'static str, path: impl Into<String>, content_type: &'static str, body: &str) -> Step {
    Step {
        method,
        path: path.into(),
        content_type,
        accept: JSON,
        body: body.to_owned(),
        compare: Compare::All,
        keep: None,
        until: None,
    }
}

fn get(path: impl Into<String>) -> Step {
    step("GET", path, "", "")
}

/// A create.
pub(super) fn post(path: impl Into<String>, body: &Value) -> Step {
    step("POST", path, JSON, &body.to_string())
}

fn put(path: impl Into<String>, body: &Value) -> Step {
    step("PUT", path, JSON, &body.to_string())
}

fn merge(path: impl Into<String>, body: &Value) -> Step {
    step("PATCH", path, MERGE, &body.to_string())
}

fn apply(path: impl Into<String>, body: &Value) -> Step {
    step("PATCH", path, APPLY, &body.to_string())
}

fn delete(path: impl Into<String>, body: &Value) -> Step {
    step("DELETE", path, JSON, &body.to_string())
}

impl Step {
    fn keep(mut self, name: &'static str) -> Self {
        self.keep = Some(name);
        self
    }

    fn compare(mut self, compare: Compare) -> Self {
        self.compare = compare;
        self
    }

    fn accept(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    fn until(mut self, code: u16) -> Self {
        self.until = Some(code);
        self
    }
}

fn map(name: &str, data: impl Into<Value>) -> Value {
    let data: Value = data.into();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn widget(name: &str, spec: impl Into<Value>) -> Value {
    let spec: Value = spec.into();
    json!({"apiVersion": "contract.kctl.dev/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

/// All requests.
pub(super) fn steps() -> Vec<Step> {
    [
        paths(),
        creates(),
        updates(),
        patches(),
        applies(),
        lists(),
        deletes(),
        definitions(),
        custom(),
        kinds(),
        claims(),
    ]
    .concat()
}

fn paths() -> Vec<Step> {
    vec![
        get("/apis/nope.io/v1/foos"),
        get("/apis/nope.io/v1"),
        get("/apis/nope.io"),
        get("/api/v1/nopes"),
        get("/apis/apps/v1/nopes"),
        get("/apis/apps/v7/deployments"),
        get("/api/v1/namespaces/default/namespaces/default"),
        get("/apis/rbac.authorization.k8s.io/v1/namespaces/default/clusterroles"),
        get("/apis/apps"),
        get("/api/v1/namespaces/NS").compare(Compare::Subset),
        get("/api/v1/namespaces/nope"),
        get("/version").compare(Compare::Code),
        get("/readyz").compare(Compare::Code),
        post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            &json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}}),
        )
        .compare(Compare::Subset),
    ]
}

fn creates() -> Vec<Step> {
    let mut labelled = map("a", json!({"k": "v"}));
    labelled["metadata"]["labels"] = json!({"x": "1"});
    let with = |field: &str, value: &str| {
        let mut object = map("other", json!({}));
        object["metadata"][field] = json!(value);
        object
    };
    vec![
        get(format!("{MAPS}/nope")),
        post(MAPS, &labelled).keep("a"),
        post(MAPS, &labelled),
        get(format!("{MAPS}/a")),
        get(format!("{MAPS}/a")).accept(PARTIAL),
        post(MAPS, &json!({"metadata": {}})),
        post(MAPS, &map("Bad_Name", json!({}))),
        post(MAPS, &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}})).compare(Compare::Reason),
        post(MAPS, &json!({"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "b"}}))
            .compare(Compare::Reason),
        post(MAPS, &json!({"kind": "ConfigMap", "metadata": {"name": "b"}})),
        post(MAPS, &json!({"metadata": {"name": "b"}})),
        post(MAPS, &with("namespace", "other")),
        post(MAPS, &with("resourceVersion", "5")),
        post(MAPS, &with("uid", "5")),
        post(MAPS, &json!({"metadata": {"name": "odd", "labels": {"x": 1}}})).compare(Compare::Reason),
        post(MAPS, &json!({"metadata": {"name": "odd", "finalizers": "x"}})).compare(Compare::Reason),
        step("POST", MAPS, JSON, "{nope").compare(Compare::Reason),
        step("POST", MAPS, JSON, "").compare(Compare::Reason),
        post("/api/v1/configmaps", &map("c", json!({}))),
        post("/api/v1/namespaces/nope/configmaps", &map("c", json!({}))),
        post(format!("{MAPS}?dryRun=All"), &map("dry", json!({}))),
        get(format!("{MAPS}/dry")),
        post(format!("{MAPS}?dryRun=Some"), &map("dry", json!({}))),
        post(format!("{MAPS}?fieldValidation=Strange"), &map("dry", json!({}))),
        post(MAPS, &json!({"metadata": {"generateName": "gen-"}, "data": {"k": "v"}})),
    ]
}

fn updates() -> Vec<Step> {
    let versioned = |version: &str, data: Value| {
        let mut object = map("a", data);
        object["metadata"]["resourceVersion"] = json!(version);
        object
    };
    let mut stranger = map("a", json!({"k": "v2"}));
    stranger["metadata"]["uid"] = json!("xx");
    vec![
        put(format!("{MAPS}/a"), &versioned("3", json!({"k": "v2"}))),
        put(format!("{MAPS}/a"), &map("zz", json!({}))),
        put(format!("{MAPS}/nope"), &map("nope", json!({}))),
        put(format!("{MAPS}/a"), &stranger).compare(Compare::Reason),
        put(format!("{MAPS}/a"), &versioned("${a.rv}", json!({"k": "v2"}))).keep("a"),
        put(format!("{MAPS}/a"), &map("a", json!({"k": "v2"}))),
        put(format!("{MAPS}/a?fieldManager=other"), &map("a", json!({"k": "v3", "l": "w"}))).keep("a"),
        put(format!("{MAPS}/a?dryRun=All"), &map("a", json!({"k": "v4"}))),
        put(MAPS, &map("a", json!({}))).compare(Compare::Code),
        get(format!("{MAPS}/a")),
    ]
}

fn patches() -> Vec<Step> {
    let path = format!("{MAPS}/a");
    vec![
        merge(&path, &json!({"metadata": {"resourceVersion": "3"}, "data": {"z": "1"}})),
        merge(format!("{MAPS}/nope"), &json!({"data": {"z": "1"}})),
        merge(&path, &json!({"metadata": {"name": "other"}})),
        merge(&path, &json!({"metadata": {"uid": "other"}})),
        merge(&path, &json!({"metadata": {"resourceVersion": "${a.rv}"}, "data": {"z": "1", "k": null}})).keep("a"),
        merge(&path, &json!({"data": {"z": "1", "k": null}})),
        merge(&path, &json!({"metadata": {"annotations": {"n": "1"}, "labels": {"m": "1"}}})),
        merge(&path, &json!({"metadata": {"annotations": {"n": null}}})),
        merge(format!("{path}?dryRun=All"), &json!({"data": {"y": "1"}})),
        step("PATCH", &path, MERGE, "[1]"),
        step("PATCH", &path, MERGE, "{x").compare(Compare::Reason),
        merge(format!("{path}?force=true"), &json!({"data": {}})),
        step("PATCH", &path, EDIT, r#"[{"op":"test","path":"/data/z","value":"2"}]"#),
        step("PATCH", &path, EDIT, r#"[{"op":"remove","path":"/data/zz"}]"#),
        step("PATCH", &path, EDIT, r#"[{"op":"replace","path":"/data/z","value":"2"}]"#),
        step("PATCH", &path, "text/plain", "{}"),
        get(&path),
    ]
}

fn applies() -> Vec<Step> {
    let path = format!("{MAPS}/s");
    let by = |manager: &str| format!("{path}?fieldManager={manager}");
    let mut labelled = map("s", json!({"k": "v", "d": "x"}));
    labelled["metadata"]["labels"] = json!({"l": "1"});
    let with = |name: &str, field: &str, value: Value| {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        object["metadata"][field] = value;
        object
    };
    let bare = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s"}});
    vec![
        apply(&path, &map("s", json!({"k": "v"}))),
        apply(by("one"), &labelled),
        apply(by("one"), &labelled),
        apply(by("two"), &map("s", json!({"k": "w"}))),
        apply(by("two"), &map("s", json!({"k": "w", "d": "y"}))),
        apply(by("two"), &map("s", json!({"k": "v"}))),
        apply(format!("{}&force=true", by("two")), &map("s", json!({"k": "w"}))),
        apply(by("one"), &map("s", json!({"d": "x"}))),
        apply(format!("{}&dryRun=All", by("one")), &bare),
        apply(by("one"), &bare),
        apply(by("two"), &bare),
        apply(by("two"), &with("s", "resourceVersion", json!("1"))),
        apply(by("two"), &with("other", "labels", json!({}))),
        apply(by("two"), &with("s", "managedFields", json!([{"manager": "x"}]))),
        apply(by("two"), &json!({"apiVersion": "v1", "metadata": {"name": "s"}})),
        apply(by("two"), &json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "s"}})),
        apply(format!("{MAPS}/u?fieldManager=two"), &with("u", "uid", json!("abc"))),
        apply("/api/v1/namespaces/nope/configmaps/u?fieldManager=two", &with("u", "labels", json!({}))),
        apply(format!("{MAPS}/rv1?fieldManager=two&dryRun=All"), &with("rv1", "resourceVersion", json!("1"))),
        apply(format!("{MAPS}/rv1?fieldManager=two"), &with("rv1", "resourceVersion", json!("1"))),
        apply(format!("{MAPS}/rv1?fieldManager=two"), &with("rv1", "resourceVersion", json!("1"))),
        // An update takes what an apply of the same name owns, and conflicts with it then.
        apply(format!("{MAPS}/m?fieldManager=kctl"), &map("m", json!({"k": "v", "j": "x"}))),
        merge(format!("{MAPS}/m"), &json!({"data": {"k": "w", "n": "new"}})),
        apply(format!("{MAPS}/m?fieldManager=kctl"), &map("m", json!({"k": "v", "j": "x"}))).compare(Compare::Reason),
        apply(format!("{MAPS}/m?fieldManager=kctl&force=true"), &map("m", json!({"k": "v"}))),
        // The records were removed: everything belongs to the time before the first apply.
        merge(format!("{MAPS}/m"), &json!({"metadata": {"managedFields": [{}]}})),
        apply(format!("{MAPS}/m?fieldManager=late"), &map("m", json!({"k": "v", "new": "x"}))),
        apply(format!("{MAPS}/m?fieldManager=late"), &map("m", json!({"k": "w"}))).compare(Compare::Reason),
        get(format!("{MAPS}/m")),
    ]
}

fn lists() -> Vec<Step> {
    let named = |name: &str, app: &str| json!({"metadata": {"name": name, "labels": {"app": app, "list": "yes"}}});
    let list = |query: &str| get(format!("{MAPS}?{query}"));
    vec![
        post(MAPS, &named("l-1", "web")),
        post(MAPS, &named("l-2", "db")),
        post(MAPS, &named("l-3", "web")),
        list("labelSelector=list%3Dyes"),
        list("labelSelector=list%3Dyes").accept(PARTIAL_LIST),
        list("labelSelector=list%3Dyes,app%21%3Dweb"),
        list("labelSelector=list,app%20in%20(web,db)"),
        list("labelSelector=list,app%20notin%20(web)"),
        list("labelSelector=list,%21nope"),
        list("labelSelector=nope"),
        list("labelSelector=list%3Dyes&limit=2").keep("page"),
        list("labelSelector=list%3Dyes&limit=2&continue=${page.continue}"),
        list("limit=1").keep("first"),
        list("limit=500&continue=${first.continue}"),
        list("limit=1").accept(PARTIAL_LIST),
        list("labelSelector=list&limit=1&resourceVersion=0"),
        list("fieldSelector=metadata.name%3Dl-1"),
        list("fieldSelector=metadata.namespace%3Dother"),
        list("fieldSelector=foo%3Dx"),
        list("labelSelector=a%20in%20("),
        list("resourceVersion=99999999").compare(Compare::All),
        list("resourceVersion=abc"),
        list("limit=1&continue=zzz").compare(Compare::Reason),
        get("/api/v1/configmaps?labelSelector=list%3Dyes"),
        get("/api/v1/namespaces/nope/configmaps"),
        delete(format!("{MAPS}?labelSelector=list%3Dyes"), &json!({})),
        list("labelSelector=list%3Dyes"),
    ]
}

fn deletes() -> Vec<Step> {
    let path = format!("{MAPS}/a");
    let when = |field: &str, value: &str| json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {field: value}});
    let mut held = map("held", json!({}));
    held["metadata"]["finalizers"] = json!(["kctl.dev/hold"]);
    vec![
        get(&path).keep("a"),
        delete(&path, &when("uid", "zz")),
        delete(&path, &when("resourceVersion", "3")),
        delete(format!("{MAPS}/nope"), &json!({})),
        step("DELETE", format!("{path}?dryRun=All"), "", ""),
        delete(&path, &json!({"dryRun": ["All"]})),
        delete(&path, &when("uid", "${a.uid}")),
        get(&path),
        // With a body, options in the query do not count.
        post(MAPS, &map("twice", json!({}))),
        delete(format!("{MAPS}/twice?dryRun=All"), &json!({})),
        get(format!("{MAPS}/twice")),
        post(MAPS, &held),
        delete(format!("{MAPS}/held"), &json!({})),
        merge(format!("{MAPS}/held"), &json!({"data": {"still": "here"}})),
        merge(format!("{MAPS}/held"), &json!({"metadata": {"finalizers": null}})),
        get(format!("{MAPS}/held")),
    ]
}

fn definition() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.contract.kctl.dev"}, "spec": {"group": "contract.kctl.dev", "scope": "Cluster",
        "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]}, "versions": [{
            "name": "v1", "served": true, "storage": true, "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "required": ["id"], "properties": {
                    "id": {"type": "string", "maxLength": 5},
                    "replicas": {"type": "integer"},
                    "mode": {"type": "string", "enum": ["a", "b"]},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "list": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                    "deep": {"type": "object", "properties": {"er": {"type": "object", "properties": {
                        "x": {"type": "string"}, "y": {"type": "string"}}}}},
                    "map": {"type": "object", "additionalProperties": {"type": "string"}}}},
                "status": {"type": "object", "properties": {
                    "phase": {"type": "string"}, "replicas": {"type": "integer"}}}}}}}]}})
}

fn definitions() -> Vec<Step> {
    let path = format!("{CRDS}/widgets.contract.kctl.dev");
    let mut misnamed = definition();
    misnamed["metadata"]["name"] = json!("other.contract.kctl.dev");
    vec![
        get(WIDGETS),
        post(CRDS, &misnamed).compare(Compare::Reason),
        post(format!("{CRDS}?dryRun=All"), &definition()).compare(Compare::Subset),
        post(CRDS, &definition()).compare(Compare::Code),
        post(CRDS, &definition()),
        get(WIDGETS).until(200),
        // The server records its own writes of the status, and CRDs of its own schema in another order of fields.
        get(&path).compare(Compare::Subset),
        get("/apis/contract.kctl.dev").until(200),
        get("/apis/contract.kctl.dev/v1").until(200).compare(Compare::Subset),
        get("/apis/apps/v1").compare(Compare::Code),
        apply(format!("{path}?fieldManager=kctl&force=true"), &definition()).compare(Compare::Subset),
    ]
}

fn custom() -> Vec<Step> {
    let unknown = json!({"apiVersion": "contract.kctl.dev/v1", "kind": "Widget", "metadata": {"name": "b", "foo": 1},
        "spec": {"id": "x", "bad": 1, "free": {"any": 1}, "list": [{"name": "n", "zz": 1}]}, "more": 1});
    let path = format!("{WIDGETS}/a");
    let versioned = |spec: Value| {
        let mut object = widget("a", spec);
        object["metadata"]["resourceVersion"] = json!("${w.rv}");
        object
    };
    let mut with_status = widget("c", json!({"id": "x", "deep": {"er": {"x": "1"}}}));
    with_status["status"] = json!({"phase": "p"});
    vec![
        post(WIDGETS, &widget("a", json!({"id": "x", "bad": 1, "free": {"any": 1}, "list": [{"name": "n", "zz": 1}]}))),
        post(format!("{WIDGETS}?fieldValidation=Strict"), &unknown),
        post(WIDGETS, &widget("b", json!({"id": "TOOLONG"}))),
        post(WIDGETS, &widget("b", json!({"id": "x", "mode": "c"}))),
        post(WIDGETS, &widget("b", json!({"id": "x", "map": {"a": 1}}))),
        post(WIDGETS, &widget("b", json!({"id": "x", "list": {}}))),
        post(WIDGETS, &widget("b", json!({}))),
        // Of several faults the server tells in any order.
        post(WIDGETS, &widget("b", json!({"mode": "c", "map": {"a": 1}}))).compare(Compare::Reason),
        post(WIDGETS, &json!({"apiVersion": "contract.kctl.dev/v2", "kind": "Widget", "metadata": {"name": "b"}})),
        post(WIDGETS, &json!({"apiVersion": "contract.kctl.dev/v1", "kind": "Wodget", "metadata": {"name": "b"}})),
        post(WIDGETS, &json!({"metadata": {"name": "b"}})).compare(Compare::Reason),
        post(
            WIDGETS,
            &json!({"apiVersion": "contract.kctl.dev/v1", "kind": "Widget", "metadata": {"name": "b", "labels": {"x": 1}}}),
        )
        .compare(Compare::Reason),
        post(WIDGETS, &widget("", json!({"id": "x"}))),
        post(WIDGETS, &widget("Bad_N", json!({"id": "x"}))),
        get("/apis/contract.kctl.dev/v1/namespaces/default/widgets"),
        get("/apis/contract.kctl.dev/v1/nopes"),
        get(format!("{path}/nope")),
        put(&path, &widget("a", json!({"id": "y"}))),
        put(format!("{WIDGETS}/zz"), &widget("zz", json!({"id": "y"}))),
        get(&path).keep("w"),
        put(&path, &versioned(json!({"id": "y"}))),
        put(&path, &versioned(json!({"id": "z"}))),
        merge(format!("{path}?fieldValidation=Strict"), &json!({"spec": {"bad": 1}})).compare(Compare::Reason),
        merge(&path, &json!({"spec": {"bad": 1}})),
        merge(&path, &json!({"spec": {"replicas": 2}, "status": {"phase": "no"}})),
        merge(&path, &json!({"metadata": {"labels": {"a": "b"}}})),
        merge(
            format!("{path}/status"),
            &json!({"status": {"phase": "Running"}, "spec": {"id": "zz"}, "metadata": {"labels": {"c": "d"}}}),
        ),
        get(format!("{path}/scale")),
        merge(format!("{path}/scale"), &json!({"spec": {"replicas": 3}})).compare(Compare::Subset),
        get(&path).compare(Compare::Subset),
        apply(format!("{WIDGETS}/b?fieldManager=two"), &widget("b", json!({"id": "x", "bad": 1}))),
        apply(
            format!("{WIDGETS}/b?fieldManager=two&fieldValidation=Strict"),
            &widget("b", json!({"id": "x", "bad": 1})),
        ),
        apply(format!("{WIDGETS}/c?fieldManager=two"), &with_status),
        apply(format!("{WIDGETS}/c?fieldManager=two"), &widget("c", json!({"id": "x", "map": {"a": "1"}}))),
        apply(format!("{WIDGETS}/c?fieldManager=three"), &widget("c", json!({"id": "y"}))),
        apply(format!("{WIDGETS}/c?fieldManager=three"), &widget("c", json!({"id": "x", "list": [{"name": "n"}]}))),
        apply(format!("{WIDGETS}/c?fieldManager=four"), &widget("c", json!({"id": "x", "list": [{"name": "m"}]}))),
        apply(
            format!("{WIDGETS}/c/status?fieldManager=two"),
            &json!({"apiVersion": "contract.kctl.dev/v1",
            "kind": "Widget", "metadata": {"name": "c"}, "status": {"phase": "Up"}}),
        ),
        get(WIDGETS).compare(Compare::Subset),
        get(WIDGETS).accept(PARTIAL_LIST).compare(Compare::Subset),
        get(format!("{WIDGETS}?limit=1")).compare(Compare::Subset),
        get(format!("{WIDGETS}?fieldSelector=spec.id%3Dx")),
        step("PATCH", &path, "application/strategic-merge-patch+json", "{}"),
        delete(format!("{WIDGETS}/c"), &json!({})),
        delete(format!("{WIDGETS}/c"), &json!({})),
        delete(format!("{CRDS}/widgets.contract.kctl.dev"), &json!({})).compare(Compare::Code),
        get(WIDGETS).until(404),
        get(format!("{CRDS}/widgets.contract.kctl.dev")).until(404),
    ]
}

/// kctl's own claims, under another group, so that no other test sees them.
fn claims() -> Vec<Step> {
    let text = include_str!("../../../src/manifests/claim_crd.yaml")
        .replace("operatorclaims.kctl.dev", "operatorclaims.claims.contract.dev")
        .replace("group: kctl.dev", "group: claims.contract.dev");
    let definition: Value = serde_saphyr::from_str(&text).expect("YAML");
    let crd = format!("{CRDS}/operatorclaims.claims.contract.dev");
    let mut create_only = definition.clone();
    create_only["metadata"]["resourceVersion"] = json!("1");
    let claims = "/apis/claims.contract.dev/v1alpha1/operatorclaims";
    let path = format!("{claims}/camel-k.tenant-a");
    let claim = |version: &str, spec: Value| {
        let mut claim = json!({"apiVersion": "claims.contract.dev/v1alpha1", "kind": "OperatorClaim",
            "metadata": {"name": "camel-k.tenant-a", "labels": {"app.kubernetes.io/managed-by": "kctl"}}, "spec": spec});
        if !version.is_empty() {
            claim["metadata"]["resourceVersion"] = json!(version);
        }
        claim
    };
    let active = json!({"namespace": "ops", "deployment": "tenant-a-operator"});
    let installing = json!({"family": "camel-k", "id": "tenant-a", "active": active, "managedBy": "kctl",
        "operation": {"id": "1", "type": "install", "since": "2026-12-01T10:00:00Z"}});
    let installed = json!({"family": "camel-k", "id": "tenant-a", "active": active, "managedBy": "kctl"});
    let mut unknown = installed.clone();
    unknown["owner"] = json!("me");
    let mut managed = installed.clone();
    managed["managedBy"] = json!("nobody");
    let strict = "fieldManager=kctl-claim&fieldValidation=Strict";
    vec![
        apply(format!("{crd}?fieldManager=kctl"), &create_only).compare(Compare::Code),
        get(claims).until(200),
        apply(format!("{crd}?fieldManager=kctl"), &create_only),
        apply(format!("{crd}?fieldManager=kctl"), &definition).compare(Compare::Subset),
        post(format!("{claims}?{strict}"), &claim("", unknown.clone())),
        post(format!("{claims}?{strict}&dryRun=All"), &claim("", installing.clone())),
        post(format!("{claims}?{strict}"), &claim("", installing.clone())).keep("claim"),
        post(format!("{claims}?{strict}"), &claim("", installing)),
        put(format!("{path}?{strict}"), &claim("${claim.rv}", unknown)),
        // The server adds that it did not evaluate the rules, which a snapshot cannot.
        put(format!("{path}?{strict}"), &claim("${claim.rv}", managed)).compare(Compare::Reason),
        put(format!("{path}?{strict}"), &claim("3", installed.clone())),
        put(format!("{path}?{strict}"), &claim("${claim.rv}", installed.clone())),
        put(format!("{path}?{strict}"), &claim("${claim.rv}", installed)),
        merge(
            format!("{path}?{strict}"),
            &json!({"metadata": {"resourceVersion": "${claim.rv}"}, "spec": {"managedBy": "helm"}}),
        ),
        get(&path),
        get(claims).accept(PARTIAL_LIST),
        delete(&path, &json!({"preconditions": {"resourceVersion": "${claim.rv}"}})),
        delete(&path, &json!({"preconditions": {"uid": "${claim.uid}"}})),
        delete(&crd, &json!({})).compare(Compare::Code),
        get(claims).until(404),
    ]
}

/// Kinds that kctl writes, whose defaults only the server knows.
fn kinds() -> Vec<Step> {
    let subset = |step: Step| step.compare(Compare::Subset);
    let deployment = |replicas: u8| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "op"}, "spec": {"replicas": replicas,
            "selector": {"matchLabels": {"app": "op"}}, "template": {"metadata": {"labels": {"app": "op"}}, "spec": {
            "containers": [{"name": "op", "image": "op:1", "env": [{"name": "A", "value": "1"}]}]}}}})
    };
    let path = format!("{DEPLOYMENTS}/op?fieldManager=kctl");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "NS-more"}});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "contract:role"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]});
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let lease = json!({"metadata": {"name": "op-lock"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}});
    vec![
        subset(apply(&path, &deployment(0))),
        subset(apply(&path, &deployment(0))),
        subset(apply(&path, &deployment(1))),
        subset(get(format!("{DEPLOYMENTS}/op/scale"))),
        subset(merge(format!("{DEPLOYMENTS}/op/scale"), &json!({"spec": {"replicas": 2}}))),
        apply(&path, &deployment(1)).compare(Compare::Reason),
        subset(merge(format!("{DEPLOYMENTS}/op"), &json!({"metadata": {"annotations": {"a": "b"}}}))),
        delete(format!("{DEPLOYMENTS}/op"), &json!({})),
        post(format!("{roles}?fieldManager=kctl"), &role),
        get(format!("{roles}/contract:role")),
        apply(format!("{roles}/contract:role?fieldManager=kctl&force=true"), &role),
        delete(format!("{roles}/contract:role"), &json!({})),
        post("/apis/coordination.k8s.io/v1/namespaces/NS/leases", &lease),
        subset(post("/api/v1/namespaces/NS/serviceaccounts", &json!({"metadata": {"name": "op"}}))),
        post(
            "/api/v1/namespaces/NS/secrets",
            &json!({"metadata": {"name": "s"}, "type": "Opaque", "data": {"k": "dg=="}}),
        ),
        post("/api/v1/namespaces?dryRun=All", &namespace),
        post("/api/v1/namespaces", &namespace),
        post("/api/v1/namespaces", &json!({"metadata": {"name": "Bad_Name"}})),
        post("/api/v1/namespaces/NS-more/configmaps", &map("x", json!({}))),
    ]
}
