//! Tables of what is copied, how it is cleaned, and what a conflict is.

use super::*;

fn secret(name: &str, metadata: &Value, data: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": name, "namespace": "old", "uid": "u-1", "resourceVersion": "5"},
        "data": data,
    });
    for (key, value) in metadata.as_object().expect("a map") {
        object["metadata"][key] = value.clone();
    }
    object
}

fn wish() -> Wish {
    Wish { referenced: ["pull".to_owned()].into(), ..Wish::default() }
}

#[test]
fn only_what_the_operator_needs_is_copied_unless_asked() {
    let none = json!({});
    let signed = json!({"labels": {"certificates.operator.tigera.io/signer": "tigera-operator-signer"}});
    let foreign = json!({"ownerReferences": [{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "name": "c", "controller": true}]});
    let ours = json!({"ownerReferences": [{"apiVersion": "operator.tigera.io/v1", "kind": "Installation", "name": "default", "controller": true}]});
    let sealed = json!({"annotations": {"sealedsecrets.bitnami.com/managed": "true"}});
    let election = json!({"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}});
    let cases: [(Kind, &str, &Value, bool, bool, bool); 14] = [
        // kind, name, metadata, by default, with --include NAME, with --include NAME --force
        (SECRET, "tigera-ca-private", &none, true, true, true),
        (SECRET, "node-certs", &ours, true, true, true),
        (SECRET, "tigera-secure-es-http", &none, true, true, true),
        (SECRET, "some-pair", &signed, true, true, true),
        (SECRET, "pull", &none, true, true, true),
        (SECRET, "stranger", &none, false, true, true),
        (SECRET, "tigera-operator-tls", &signed, false, true, true),
        (SECRET, "typha-certs", &foreign, false, false, true),
        (SECRET, "sealed", &sealed, false, false, true),
        (CONFIG_MAP, "kubernetes-services-endpoint", &none, true, true, true),
        (CONFIG_MAP, "bird-templates", &none, true, true, true),
        (CONFIG_MAP, "kube-root-ca.crt", &none, false, false, false),
        (CONFIG_MAP, "operator-lock", &election, false, false, false),
        (CONFIG_MAP, "pull", &none, false, true, true),
    ];
    for (kind, name, metadata, default, included, forced) in cases {
        let found = [(kind, secret(name, metadata, &json!({})))];
        let copied = |wish: &Wish| !choose(&found, wish).0.is_empty();
        let include = Wish { include: vec![name.to_owned()], ..wish() };
        assert_eq!(copied(&wish()), default, "{name} by default");
        assert_eq!(copied(&include), included, "{name} included");
        assert_eq!(copied(&Wish { force: true, ..include }), forced, "{name} forced");
        assert!(!copied(&Wish { exclude: vec![name.to_owned()], ..wish() }), "{name} excluded");
        assert!(!copied(&Wish { none: true, include: vec!["*".into()], ..wish() }), "{name} with --no-copy");
    }
}

#[test]
fn types_that_belong_to_one_place_are_never_copied() {
    for kind in NEVER_TYPES {
        let mut object = secret("node-certs", &json!({}), &json!({}));
        object["type"] = json!(kind);
        let all = Wish { include: vec!["*".into(), "node-certs".into()], force: true, ..Wish::default() };
        assert!(choose(&[(SECRET, object)], &all).0.is_empty(), "{kind}");
    }
}

#[test]
fn a_copy_brings_nothing_along_that_ties_it_to_its_origin() {
    let source = secret(
        "node-certs",
        &json!({
            "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"], "selfLink": "/x",
            "deletionTimestamp": "2026-01-01T00:00:00Z", "managedFields": [{}],
            "ownerReferences": [{"uid": "gone", "kind": "Installation", "name": "default"}],
            "labels": {
                "app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "argo-app", "helm.sh/chart": "c",
                "kustomize.toolkit.fluxcd.io/name": "k", "certificates.operator.tigera.io/signer": "s", "team": "net",
            },
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{\"data\":\"c2VjcmV0\"}",
                "meta.helm.sh/release-name": "calico", "meta.helm.sh/release-namespace": "old",
                "argocd.argoproj.io/tracking-id": "x", "certificates.operator.tigera.io/expiry": "never",
            },
        }),
        &json!({"tls.crt": "YQ==", "common-name": "Yg=="}),
    );
    let copy = clean(&source, "new", "run-1");
    assert_eq!(copy["data"], source["data"]);
    assert_eq!(copy["type"], "Opaque");
    let metadata = copy["metadata"].as_object().expect("metadata");
    let mut fields: Vec<&str> = metadata.keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["annotations", "labels", "name", "namespace"]);
    let labels = json!({"certificates.operator.tigera.io/signer": "s", "team": "net", "kctl.dev/copied-from": "old"});
    assert_eq!(metadata["labels"], labels);
    let annotations = metadata["annotations"].as_object().expect("annotations");
    assert_eq!(annotations.len(), 2);
    assert_eq!(annotations["certificates.operator.tigera.io/expiry"], "never");
    let mark: Value = serde_json::from_str(annotations[MARK].as_str().expect("a text")).expect("JSON");
    for (key, value) in
        [("namespace", "old"), ("name", "node-certs"), ("uid", "u-1"), ("resourceVersion", "5"), ("run", "run-1")]
    {
        assert_eq!(mark[key], value, "{key}");
    }
    assert_eq!(mark["hash"], hash(&source));
    assert!(is_unchanged_copy(&copy));
    let mut immutable = source;
    immutable["immutable"] = json!(true);
    assert_eq!(clean(&immutable, "new", "r").get("immutable"), None);
}

#[test]
fn what_is_there_already_is_equal_a_conflict_or_an_earlier_copy() {
    let source = secret("s", &json!({}), &json!({"a": "MQ==", "b": "Mg=="}));
    let equal = secret("s", &json!({"labels": {"other": "metadata"}}), &json!({"b": "Mg==", "a": "MQ=="}));
    let differs = secret("s", &json!({}), &json!({"a": "OQ=="}));
    let copy = clean(&differs, "new", "earlier");
    let mut changed = copy.clone();
    changed["data"]["a"] = json!("OA==");
    let mut other_type = equal.clone();
    other_type["type"] = json!("kubernetes.io/tls");
    let mut frozen = differs.clone();
    frozen["immutable"] = json!(true);

    assert_eq!(decide(&source, None, false), Action::Create);
    assert_eq!(decide(&source, Some(&equal), false), Action::Equal);
    let conflicts = [(&differs, true), (&changed, true), (&other_type, false), (&frozen, false)];
    for (target, can_overwrite) in conflicts {
        let Action::Conflict(why) = decide(&source, Some(target), false) else { panic!("{target}") };
        assert!(!why.contains("MQ==") && !why.contains("OQ==") && !why.contains("OA=="), "a value in {why}");
        assert_eq!(matches!(decide(&source, Some(target), true), Action::Update(_)), can_overwrite, "{why}");
    }
    let Action::Conflict(why) = decide(&source, Some(&differs), false) else { panic!("differs") };
    assert!(why.starts_with("differs in a, b (sha256:"), "{why}");
    let update = decide(&source, Some(&copy), false);
    assert!(matches!(update, Action::Update(_)));
    let step = step(SECRET, &source, Some(&equal), &Action::Equal, "new", "r");
    assert_eq!(step, None);
    let Some(Step { write: Write::Patch { patch, .. }, .. }) =
        super::step(SECRET, &equal, Some(&secret("s", &json!({}), &json!({"z": "MQ=="}))), &update, "new", "r")
    else {
        panic!("an update is a patch")
    };
    assert_eq!(patch["data"], json!({"b": "Mg==", "a": "MQ==", "z": null}));
}

#[test]
fn a_hash_does_not_depend_on_the_order_of_keys() {
    assert_eq!(
        hash(&json!({"data": {"a": "1", "b": {"y": 1, "x": 2}}})),
        hash(&json!({"data": {"b": {"x": 2, "y": 1}, "a": "1"}}))
    );
    assert_ne!(hash(&json!({"data": {"a": "1"}})), hash(&json!({"binaryData": {"a": "1"}})));
    assert_eq!(hash(&json!({"data": {}})), hash(&json!({})));
}
