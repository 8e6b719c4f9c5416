//! What is not done, and what is said about it.

use serde_json::{Value, json};

use super::{
    ran, switch,
    world::{POINTER, Peer, World},
};

type Break = fn(&World);

#[test]
fn each_bad_state_of_pointer_and_target_has_its_own_reason_and_nothing_is_written() {
    let world = World::new();
    let (cluster, admin) = (world.cluster, world.cluster.admin());
    let pointer = |data: &Value| {
        cluster.delete(POINTER);
        cluster.create(&json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "active-operator", "namespace": "calico-system"}, "data": data}));
    };
    let cases: [(&str, Value); 6] = [
        ("PointerEmpty", json!({"other": "x"})),
        ("PointerEmpty", json!({"active-namespace": ""})),
        ("PointerBlank", json!({"active-namespace": format!("{}\n", world.old)})),
        ("PointerMalformed", json!({"active-namespace": "Old"})),
        ("PointerDangling", json!({"active-namespace": "nobody-here"})),
        ("PointerDangling", json!({"active-namespace": "calico-system"})),
    ];
    let line = format!("{} --yes -o json", world.new);
    let refused = |reason: &str| {
        let mark = cluster.audit_mark();
        let ran = ran(switch(&admin, &line));
        let error: Value = serde_json::from_str(ran.stderr.lines().last().unwrap_or_default()).unwrap_or_default();
        assert_eq!(error["reason"], reason, "{ran}");
        assert_eq!(ran.code, Some(i32::try_from(error["code"].as_i64().unwrap_or(0)).unwrap_or(0)));
        let wrote = cluster
            .requests_since(mark, &admin)
            .iter()
            .any(|request| request.is_write() && !request.resource.ends_with("accessreviews"));
        assert!(!wrote, "{ran}");
    };
    for (reason, data) in cases {
        pointer(&data);
        refused(reason);
    }
    cluster.delete(POINTER);
    refused("PointerMissing");
    world.point(&world.old);
    cluster.merge(POINTER, &json!({"immutable": true}));
    refused("PointerImmutable");
    cluster.delete(POINTER);
    world.point(&world.old);

    let broken: [(&str, Break); 4] = [
        ("NotAvailable", |w| {
            w.cluster.merge(
                &format!("{}/status", World::deployment(&w.new)),
                &json!({"status": {"availableReplicas": 0, "readyReplicas": 0}}),
            );
        }),
        ("NoReplicas", |w| {
            w.cluster.merge(&World::deployment(&w.new), &json!({"spec": {"replicas": 0}}));
        }),
        ("OtherOperatorNamespace", |w| {
            w.cluster.merge(
                &World::deployment(&w.new),
                &json!({"spec": {"replicas": 1, "template": {"spec": {"containers": [
                {"name": "tigera-operator", "image": "quay.io/tigera/operator:v1.40.0", "command": ["operator"],
                 "env": [{"name": "OPERATOR_NAMESPACE", "value": "elsewhere"}]}]}}}}),
            );
            w.cluster.merge(&format!("{}/status", World::deployment(&w.new)), &json!({"status": {"observedGeneration": 9, "availableReplicas": 1, "readyReplicas": 1, "replicas": 1}}));
        }),
        ("NoOperator", |w| w.cluster.delete(&World::deployment(&w.new))),
    ];
    for (reason, spoil) in broken {
        spoil(&world);
        refused(reason);
    }
    for (line, reason, code) in [
        ("calico-system", "ProtectedNamespace", 3),
        ("no-such-namespace", "NamespaceNotFound", 5),
        ("Bad_Name", "is no namespace name", 2),
    ] {
        let ran = ran(switch(&admin, &format!("{line} --yes -o json"))).exits(code);
        assert!(ran.stderr.contains(reason), "{ran}");
    }
}

#[test]
fn the_target_is_always_said() {
    let world = World::new();
    let user = world.cluster.in_namespace(&world.cluster.admin(), &world.new);
    let ran = ran(switch(&user, "--yes").env("KCTL_NAMESPACE", &world.new)).exits(2);
    assert!(ran.stderr.contains("the target must be said"), "{ran}");
    let ran = super::ran(switch(&user, &world.new)).exits(3);
    assert!(ran.stderr.contains("needs a confirmation and there is no terminal"), "{ran}");
    assert_eq!(world.cluster.find(&World::path(&world.new, "secrets", "node-certs")), None);
    assert_eq!(world.says(), (world.old.clone(), false));
}

#[test]
fn a_bad_pointer_is_mended_when_asked() {
    let world = World::new();
    let admin = world.cluster.admin();
    let _peer = Peer::start(&world, &world.new);
    for bad in [None, Some(json!({"active-namespace": "x\n"})), Some(json!({"active-namespace": "nobody-here"}))] {
        world.cluster.delete(POINTER);
        if let Some(data) = &bad {
            world.cluster.create(&json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "active-operator", "namespace": "calico-system"}, "data": data}));
        }
        // Nobody was active, so only the new operator's own signs can prove it: its lease, and its account once.
        world.cluster.merge(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/calico-system/rolebindings/tigera-operator-secrets",
            &json!({"subjects": [{"kind": "ServiceAccount", "name": "tigera-operator", "namespace": world.old}]}),
        );
        ran(switch(&admin, &format!("{} --yes --repair", world.new))).succeeds();
        assert_eq!(world.says(), (world.new.clone(), false), "{bad:?}");
    }
}

#[test]
fn missing_rights_are_named_before_anything_is_written() {
    let world = World::new();
    let cluster = world.cluster;
    let rule = |groups: &[&str], resources: &[&str], verbs: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
    let everywhere = json!([
        rule(&[""], &["namespaces", "serviceaccounts", "configmaps", "pods"], &["get", "list"]),
        rule(&["apps"], &["deployments", "daemonsets"], &["get", "list"]),
        rule(
            &["rbac.authorization.k8s.io"],
            &["clusterroles", "clusterrolebindings", "roles", "rolebindings"],
            &["get", "list"]
        ),
        rule(&["operator.tigera.io"], &["*"], &["get", "list"]),
        rule(&["coordination.k8s.io"], &["leases"], &["get", "list"]),
        rule(&["apiextensions.k8s.io"], &["customresourcedefinitions"], &["get", "list"]),
    ]);
    let secrets = json!([rule(&[""], &["secrets"], &["get", "list"])]);
    let create = json!([rule(&[""], &["secrets"], &["create"])]);
    let patch = json!([rule(&[""], &["configmaps"], &["patch"])]);
    let (old, new) = (Some(world.old.as_str()), Some(world.new.as_str()));
    let grants = [(old, &secrets), (new, &secrets), (new, &create), (Some("calico-system"), &patch)];
    let missing = ["secrets", "secrets", "create secrets in namespace", "patch configmaps in namespace calico-system"];
    for (without, text) in missing.iter().enumerate() {
        let user = cluster.user("switcher");
        cluster.grant(&user, None, &everywhere);
        for (_, (namespace, rules)) in grants.iter().enumerate().filter(|(at, _)| *at != without) {
            cluster.grant(&user, *namespace, rules);
        }
        let mark = cluster.audit_mark();
        let ran = ran(switch(&user, &format!("{} --yes", world.new))).exits(4);
        assert!(ran.stderr.contains(text), "without {text}: {ran}");
        let wrote = cluster
            .requests_since(mark, &user)
            .iter()
            .any(|request| request.is_write() && !request.resource.ends_with("accessreviews"));
        assert!(!wrote, "{ran}");
    }
    // Who may only read sees the whole plan.
    let reader = cluster.user("reader");
    cluster.grant(&reader, None, &everywhere);
    cluster.grant(&reader, None, &secrets);
    let plan = ran(switch(&reader, &format!("{} --dry-run=client", world.new))).succeeds();
    for line in [
        "secret/tigera-ca-private created: sha256:",
        "secret/stranger skipped: not known to be the operator's (dry run)",
        "configmap/active-operator configured: old-",
    ] {
        assert!(plan.stdout.contains(line), "{line}: {plan}");
    }
    let blind = cluster.user("blind");
    cluster.grant(&blind, None, &everywhere);
    ran(switch(&blind, &format!("{} --dry-run=client", world.new))).succeeds();
    let admin = cluster.admin();
    ran(switch(&admin, &format!("{} --dry-run=server", world.new))).succeeds();
    assert_eq!(world.says(), (world.old.clone(), false));
    assert_eq!(cluster.find(&World::path(&world.new, "secrets", "node-certs")), None);
}
