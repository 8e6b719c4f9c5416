//! One row for each way in which a switch may be a bad idea.

use serde_json::json;

use super::*;
use crate::contracts::kinds::{CLUSTER_ROLE, CLUSTER_ROLE_BINDING};

fn operator(namespace: &str, version: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "tigera-operator", "namespace": namespace, "labels": {"k8s-app": "tigera-operator"}, "generation": 2},
        "spec": {"replicas": 1, "template": {"spec": {"serviceAccountName": "tigera-operator", "containers": [
            {"name": "tigera-operator", "image": format!("quay.io/tigera/operator:v{version}"), "command": ["operator"]},
        ]}}},
        "status": {"observedGeneration": 2, "availableReplicas": 1},
    })
}

fn binding(kind: &str, name: &str, namespace: &str) -> Value {
    json!({"metadata": {"name": "b"}, "subjects": [{"kind": kind, "name": name, "namespace": namespace}]})
}

fn good() -> Target {
    Target {
        name: "alt".into(),
        namespace: Some(Some(json!({"status": {"phase": "Active"}}))),
        deployments: vec![operator("alt", "1.40.0")],
        config_maps: ConfigMaps::default(),
        account: Some(true),
        cluster_bindings: Some(vec![binding("ServiceAccount", "tigera-operator", "alt")]),
        secrets_binding: Some(Some(binding("ServiceAccount", "tigera-operator", "alt"))),
        account_lacks: Vec::new(),
        cluster_objects: Vec::new(),
    }
}

fn reasons(found: &[Finding]) -> Vec<&'static str> {
    found.iter().map(|finding| finding.reason).collect()
}

type Break = fn(&mut Target);

#[test]
fn every_thing_that_may_be_wrong_with_the_target_has_its_own_finding() {
    let cases: [(&str, Break); 19] = [
        ("ProtectedNamespace", |t| t.name = "calico-system".into()),
        ("NamespaceNotFound", |t| t.namespace = Some(None)),
        ("NamespaceTerminating", |t| t.namespace = Some(Some(json!({"status": {"phase": "Terminating"}})))),
        ("NoOperator", |t| t.deployments.clear()),
        ("SeveralOperators", |t| t.deployments.push(operator("alt", "1.40.0"))),
        ("NoReplicas", |t| t.deployments[0]["spec"]["replicas"] = json!(0)),
        ("NotObserved", |t| t.deployments[0]["metadata"]["generation"] = json!(3)),
        ("NotAvailable", |t| t.deployments[0]["status"]["availableReplicas"] = json!(0)),
        ("EmptyOperatorNamespace", |t| env(t, &json!({"name": "OPERATOR_NAMESPACE"}))),
        ("OtherOperatorNamespace", |t| env(t, &json!({"name": "OPERATOR_NAMESPACE", "value": "elsewhere"}))),
        ("VersionTooOld", |t| t.deployments[0] = operator("alt", "1.22.3")),
        ("VersionUnknown", |t| image(t, "quay.io/tigera/operator:fork")),
        ("NoServiceAccount", |t| t.account = Some(false)),
        ("NoClusterRoleBinding", |t| {
            t.cluster_bindings = Some(vec![binding("ServiceAccount", "tigera-operator", "old")]);
        }),
        ("NoSecretsBinding", |t| {
            t.secrets_binding = Some(None);
            t.account_lacks = vec!["create secrets".into()];
        }),
        ("SecretsBindingSubject", |t| t.secrets_binding = Some(Some(binding("ServiceAccount", "alt", "alt")))),
        ("SecretsBindingSubject", |t| t.secrets_binding = Some(Some(json!({})))),
        ("AccountLacksRights", |t| t.account_lacks = vec!["create secrets".into()]),
        ("OwnedByOtherRelease", |t| {
            let helm = json!({"metadata": {"name": "tigera-operator", "annotations": {"meta.helm.sh/release-name": "calico", "meta.helm.sh/release-namespace": "tigera-operator"}}});
            t.cluster_objects = vec![(CLUSTER_ROLE, helm)];
        }),
    ];
    assert_eq!(target(&good()), []);
    for (reason, spoil) in cases {
        let mut spoilt = good();
        spoil(&mut spoilt);
        let found = target(&spoilt);
        assert_eq!(reasons(&found), [reason]);
        assert!(found[0].message.contains(&spoilt.name), "{reason} names the namespace: {}", found[0].message);
    }
}

fn env(target: &mut Target, variable: &Value) {
    target.deployments[0]["spec"]["template"]["spec"]["containers"][0]["env"] = json!([variable]);
}

fn image(target: &mut Target, image: &str) {
    target.deployments[0]["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
}

#[test]
fn older_versions_need_no_binding_for_secrets_and_what_cannot_be_read_stops_nothing() {
    let mut old = good();
    old.deployments[0] = operator("alt", "1.30.0");
    old.secrets_binding = Some(None);
    assert_eq!(target(&old), []);
    let mut blind = good();
    (blind.namespace, blind.account, blind.cluster_bindings, blind.secrets_binding) = (None, None, None, None);
    assert_eq!(target(&blind), []);
    let mut own = good();
    own.cluster_objects = vec![(
        CLUSTER_ROLE_BINDING,
        json!({"metadata": {"name": "x", "annotations": {"meta.helm.sh/release-name": "c", "meta.helm.sh/release-namespace": "alt"}}}),
    )];
    assert_eq!(target(&own), []);
    let own_name =
        json!({"name": "OPERATOR_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}});
    let mut by_field = good();
    env(&mut by_field, &own_name);
    assert_eq!(target(&by_field), []);
}

#[test]
fn every_state_of_the_pointer_but_a_good_one_wants_a_repair() {
    let key = tigera::POINTER.key;
    let read = |object: Value| Pointer::read(Some(object));
    let cases = [
        ("PointerMissing", Pointer::read(None), None),
        ("PointerEmpty", read(json!({"data": {}})), None),
        ("PointerEmpty", read(json!({"data": {key: ""}})), None),
        ("PointerBlank", read(json!({"data": {key: "old\n"}})), None),
        ("PointerMalformed", read(json!({"data": {key: "Old"}})), None),
        ("PointerDangling", read(json!({"data": {key: "old"}})), Some(false)),
    ];
    for (reason, found, source) in cases {
        let refused = pointer(&found, "alt", source, false);
        assert_eq!(reasons(&refused), [reason]);
        assert_eq!(refused[0].weight, super::super::Weight::Refuse);
        assert!(refused[0].hint.as_deref().is_some_and(|hint| hint.contains("--repair")), "{reason}");
        let mended = pointer(&found, "alt", source, true);
        assert_eq!((reasons(&mended), mended[0].weight), (vec![reason], super::super::Weight::Warn));
    }
    let good = read(json!({"data": {key: "old"}}));
    assert_eq!(pointer(&good, "alt", Some(true), false), []);
    assert_eq!(pointer(&good, "alt", None, false), [], "what could not be read is not called dangling");
    let frozen = read(json!({"data": {key: "old"}, "immutable": true}));
    for repair in [false, true] {
        assert_eq!(reasons(&pointer(&frozen, "alt", Some(true), repair)), ["PointerImmutable"]);
    }
}

#[test]
fn certificates_by_era() {
    let found = |version, source_ca, there: &[&str]| {
        let found = certificates(version, source_ca, &|name| there.contains(&name));
        reasons(&found)
    };
    let none: Vec<&str> = Vec::new();
    assert_eq!(found(Some((1, 24)), false, &["typha-certs", "node-certs", "typha-ca"]), none);
    assert_eq!(found(Some((1, 24)), false, &["typha-certs"]), ["PartialCertificates"]);
    assert_eq!(found(Some((1, 24)), false, &[]), ["NewCertificates"]);
    assert_eq!(found(Some((1, 30)), true, &["tigera-ca-private"]), none);
    assert_eq!(found(Some((1, 30)), true, &["typha-certs"]), ["NewCa"]);
    assert_eq!(found(Some((1, 30)), false, &[]), none, "nothing to lose");
    assert_eq!(found(None, true, &[]), none);
}

#[test]
fn the_address_of_the_api_server_must_not_get_lost() {
    let bpf = json!({"spec": {"calicoNetwork": {"linuxDataplane": "BPF"}}});
    let weight = |installation: Option<&Value>, source, target| {
        endpoint(installation, source, target).first().map(|finding| finding.weight)
    };
    assert_eq!(weight(Some(&bpf), true, false), Some(super::super::Weight::Refuse));
    assert_eq!(weight(None, true, false), Some(super::super::Weight::Warn));
    assert_eq!(weight(Some(&bpf), true, true), None);
    assert_eq!(weight(Some(&bpf), false, false), None);
}

#[test]
fn restarts_by_era_and_downgrades() {
    assert_eq!(restarts(Some((1, 31))), Restarts::None);
    assert_eq!(restarts(Some((1, 32))), Restarts::Once);
    assert_eq!(restarts(None), Restarts::Unknown);
    assert_eq!(reasons(&versions(Some("1.40.0"), Some("1.38.2"))), ["Downgrade"]);
    assert_eq!(versions(Some("1.38.0"), Some("1.40.0")), []);
    assert_eq!(versions(None, Some("1.40.0")), []);
}

#[test]
fn who_wrote_secrets_last() {
    assert_eq!(fingerprint(&binding("ServiceAccount", "tigera-operator", "alt")).as_deref(), Some("alt"));
    assert_eq!(fingerprint(&json!({})), None);
}
