//! Rows and their states, from objects as they are on clusters.

#![allow(clippy::needless_pass_by_value, reason = "callers make the value on the spot")]

use serde_json::{Value, json};

use super::*;
use crate::contracts::{camel_k, tigera};
use crate::tenancy::evidence::{
    ClaimFacts, Coverage, DeploymentFacts, Evidence, LeaseFacts, PlatformFacts, PointerState, SubscriptionFacts,
};

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

/// The operator Deployment of the official manifests, with this environment and image.
fn deployment(namespace: &str, name: &str, image: &str, env: Value) -> Value {
    json!({
        "metadata": {
            "namespace": namespace, "name": name, "uid": format!("uid-{namespace}-{name}"),
            "labels": {"app": "camel-k", "camel.apache.org/component": "operator", "name": "camel-k-operator"},
            "creationTimestamp": "2026-01-01T10:00:00Z",
        },
        "spec": {"replicas": 1, "template": {
            "metadata": {"annotations": {"olm.targetNamespaces": "alpha"}},
            "spec": {"containers": [
                {"name": "sidecar", "image": "proxy:1.0"},
                {"name": "camel-k-operator", "image": image, "command": ["kamel", "operator"], "env": env},
            ]},
        }},
        "status": {"readyReplicas": 1},
    })
}

/// A 2.10.1 operator that watches its own namespace.
fn operator_in(namespace: &str, id: &str) -> Value {
    let own = json!({"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}});
    let env = json!([own, {"name": "OPERATOR_ID", "value": "camel-k"}, {"name": "KAMEL_OPERATOR_ID", "value": id}]);
    deployment(namespace, "camel-k-operator", "docker.io/apache/camel-k:2.10.1", env)
}

fn claim(id: &str, active: &str, standbys: &[&str]) -> ClaimFacts {
    let place = |namespace: &str| json!({"namespace": namespace, "deployment": "camel-k-operator"});
    let standbys: Vec<_> = standbys.iter().map(|namespace| place(namespace)).collect();
    ClaimFacts::parse(&json!({
        "metadata": {"name": format!("camel-k.{id}"), "creationTimestamp": "2026-01-01T09:00:00Z"},
        "spec": {"family": "camel-k", "id": id, "active": place(active), "standbys": standbys, "managedBy": "kctl"},
    }))
    .unwrap()
}

fn platform(namespace: &str, name: &str, metadata: Value) -> PlatformFacts {
    let mut object = json!({"metadata": metadata, "status": {"phase": "Ready", "version": "2.10.1"}});
    object["metadata"]["namespace"] = namespace.into();
    object["metadata"]["name"] = name.into();
    PlatformFacts::parse(&camel_k::FAMILY, &object).unwrap()
}

fn with_id(id: &str) -> Value {
    json!({"annotations": {"camel.apache.org/operator.id": id}})
}

fn lease(namespace: &str, name: &str, holder: &str, renewed: &str) -> LeaseFacts {
    LeaseFacts::parse(&json!({
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15},
    }))
    .unwrap()
}

fn live_lease(namespace: &str, name: &str) -> LeaseFacts {
    lease(namespace, name, "pod_1", "2026-01-01T11:59:50.000000Z")
}

fn of(deployments: &[Value]) -> Evidence {
    let camel = deployments.iter().filter_map(|object| DeploymentFacts::parse(&camel_k::FAMILY, object));
    let tigera = deployments.iter().filter_map(|object| DeploymentFacts::parse(&tigera::FAMILY, object));
    Evidence { deployments: camel.chain(tigera).collect(), ..Evidence::default() }
}

/// `id@namespace state` of each row.
fn rows(evidence: &Evidence) -> Vec<String> {
    let text = |row: &Operator| format!("{}@{} {}", row.id, row.namespace, row.state.as_str());
    operators(evidence, now()).iter().map(text).collect()
}

fn identity(image: &str, env: Value) -> (String, bool, Scope) {
    let found = of(&[deployment("ops", "camel-k-operator", image, env)]);
    let identity = identify(&found.deployments[0], &found.config_maps);
    (identity.id, identity.id_known, identity.scope)
}

#[test]
fn which_id_an_operator_answers_to() {
    let v2 = "apache/camel-k:2.10.1";
    let plain = |name: &str, value: &str| json!({"name": name, "value": value});
    let kamel = |value: &str| plain("KAMEL_OPERATOR_ID", value);
    let operator = |value: &str| plain("OPERATOR_ID", value);
    let secret = json!({"name": "KAMEL_OPERATOR_ID", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}});
    for (what, image, env, id, known) in [
        ("both set, as kamel install does", v2, json!([operator("camel-k"), kamel("tenant-a")]), "tenant-a", true),
        ("only the manifest's", v2, json!([operator("camel-k")]), "camel-k", true),
        ("set but empty", v2, json!([kamel(""), operator("tenant-b")]), "tenant-b", true),
        ("the last duplicate", v2, json!([kamel("first"), kamel("last")]), "last", true),
        ("neither", v2, json!([]), "", true),
        ("blank is an id", v2, json!([kamel(" ")]), " ", true),
        ("v1.10.0 reads only one", "apache/camel-k:1.10.0", json!([operator("ignored")]), "", true),
        ("v1.10.1 reads both", "apache/camel-k:1.10.1", json!([operator("tenant-b")]), "tenant-b", true),
        ("from a Secret", v2, json!([operator("camel-k"), secret]), "<secret s/k>", false),
    ] {
        let (found, found_known, _) = identity(image, env);
        assert_eq!((found.as_str(), found_known), (id, known), "{what}");
    }
}

#[test]
fn which_id_comes_with_env_from() {
    let mut object = operator_in("ops", "unused");
    let container = &mut object["spec"]["template"]["spec"]["containers"][1];
    container["env"] = json!([{"name": "OPERATOR_ID", "value": "camel-k"}, {"name": "WATCH_NAMESPACE"}]);
    container["envFrom"] = json!([
        {"configMapRef": {"name": "settings", "optional": true}},
        {"secretRef": {"name": "hidden", "optional": true}},
    ]);
    let mut evidence = of(&[object.clone()]);
    let place = || ("ops".to_owned(), "settings".to_owned());
    let data = |key: &str| Some(BTreeMap::from([(key.to_owned(), "from-map".to_owned())]));
    for (maps, id, known) in [
        (vec![(place(), data("KAMEL_OPERATOR_ID"))], "from-map", true),
        (vec![(place(), data("OPERATOR_ID"))], "camel-k", true),
        (vec![(place(), None)], "camel-k", true),
        (vec![], "<configmap settings>", false),
    ] {
        evidence.config_maps = maps.into_iter().collect();
        let identity = identify(&evidence.deployments[0], &evidence.config_maps);
        assert_eq!((identity.id.as_str(), identity.id_known), (id, known));
        assert_eq!(identity.scope, Scope::Cluster);
    }
    // Only when nothing that can be read gives an id may it come from a Secret.
    object["spec"]["template"]["spec"]["containers"][1]["env"] = json!([]);
    let evidence = of(&[object]);
    let maps = [(place(), None)].into_iter().collect();
    let identity = identify(&evidence.deployments[0], &maps);
    assert_eq!((identity.id.as_str(), identity.id_known, identity.scope), ("<secret hidden>", false, Scope::Unknown));
}

#[test]
fn what_an_operator_watches() {
    let names = |names: &[&str]| Scope::Namespaces(names.iter().map(|name| (*name).to_owned()).collect());
    let field = |path: &str| json!([{"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": path}}}]);
    let plain = |value: &str| json!([{"name": "WATCH_NAMESPACE", "value": value}]);
    let (v2, next, digest) = ("apache/camel-k:2.10.1", "apache/camel-k:2.11.0-SNAPSHOT", "apache/camel-k@sha256:01");
    for (what, image, env, scope) in [
        ("own", v2, field("metadata.namespace"), Scope::Own),
        ("own by name", v2, plain("ops"), Scope::Own),
        ("another", v2, plain("team"), names(&["team"])),
        ("set and empty", v2, json!([{"name": "WATCH_NAMESPACE"}]), Scope::Cluster),
        ("blank", v2, plain("  "), Scope::Cluster),
        ("not set: the operator exits", v2, json!([]), names(&[])),
        ("list", next, plain("a, b,"), names(&["a", "b"])),
        ("list before 2.11 is one name", v2, plain("a,b"), names(&["a,b"])),
        ("list, version unknown", digest, plain("a,b"), Scope::Unknown),
        ("one, version unknown", digest, plain("a"), names(&["a"])),
        ("by OLM", v2, field("metadata.annotations['olm.targetNamespaces']"), names(&["alpha"])),
        ("by OLM, all", v2, field("metadata.annotations['none']"), Scope::Cluster),
        (
            "secret",
            v2,
            json!([{"name": "WATCH_NAMESPACE", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]),
            Scope::Unknown,
        ),
    ] {
        assert_eq!(identity(image, env).2, scope, "{what}");
    }
}

#[test]
fn which_deployments_are_operators() {
    let mut renamed = operator_in("ops", "a");
    renamed["metadata"]["labels"] = json!({"app": "camel-k"});
    let mut by_command = renamed.clone();
    by_command["spec"]["template"]["spec"]["containers"][1]["name"] = "main".into();
    let mut other = by_command.clone();
    other["spec"]["template"]["spec"]["containers"][1]["command"] = json!(["kamel", "builder"]);
    let mut labelled = other.clone();
    labelled["metadata"]["labels"] = json!({"camel.apache.org/component": "operator"});
    let found = |object: &Value| DeploymentFacts::parse(&camel_k::FAMILY, object);
    assert_eq!(found(&renamed).and_then(|found| found.image).as_deref(), Some("docker.io/apache/camel-k:2.10.1"));
    assert!(found(&by_command).is_some());
    assert!(found(&other).is_none(), "the label app=camel-k alone proves nothing");
    assert!(found(&labelled).is_some());
    assert!(DeploymentFacts::parse(&tigera::FAMILY, &renamed).is_none());
}

#[test]
fn states_of_deployments() {
    let mut down = operator_in("ops", "tenant-a");
    down["status"] = json!({});
    assert_eq!(rows(&of(&[operator_in("ops", "tenant-a")])), ["tenant-a@ops active"]);
    assert_eq!(rows(&of(&[down.clone()])), ["tenant-a@ops not-ready"]);
    // A manifest has no status, so nothing is known.
    down.as_object_mut().unwrap().remove("status");
    let manifest = &operators(&of(&[down]), now())[0];
    assert_eq!((manifest.state, manifest.ready_replicas, manifest.replicas), (State::Active, None, Some(1)));
    let twice = of(&[operator_in("ops", "tenant-a"), operator_in("alt", "tenant-a")]);
    assert_eq!(rows(&twice), ["tenant-a@alt duplicate", "tenant-a@ops duplicate"]);
    // Operators without id are no duplicates of one another: before v1.10 that was how they were.
    assert_eq!(
        rows(&of(&[operator_in("ops", "").without_ids(), operator_in("alt", "").without_ids()])),
        ["@alt active", "@ops active",]
    );
}

trait WithoutIds {
    fn without_ids(self) -> Self;
}

impl WithoutIds for Value {
    fn without_ids(mut self) -> Self {
        self["spec"]["template"]["spec"]["containers"][1]["env"] = json!([{"name": "WATCH_NAMESPACE", "value": ""}]);
        self
    }
}

#[test]
fn a_claim_settles_who_is_active() {
    let mut waiting = operator_in("alt", "tenant-a");
    waiting["spec"]["replicas"] = json!(0);
    let both = [operator_in("ops", "tenant-a"), waiting];
    let by_hand = [operator_in("ops", "tenant-a"), operator_in("alt", "tenant-a")];
    for (what, deployments, claim, expected) in [
        (
            "a standby scaled up by hand",
            &by_hand[..],
            claim("tenant-a", "ops", &["alt"]),
            &["tenant-a@alt duplicate", "tenant-a@ops active"][..],
        ),
        ("agreed", &both[..], claim("tenant-a", "ops", &["alt"]), &["tenant-a@alt standby", "tenant-a@ops active"][..]),
        ("an intruder", &both, claim("tenant-a", "ops", &[]), &["tenant-a@alt duplicate", "tenant-a@ops active"]),
        ("gone", &[], claim("tenant-a", "ops", &[]), &["tenant-a@ops missing"]),
        (
            "active gone, standby there",
            &both[1..],
            claim("tenant-a", "ops", &["alt"]),
            &["tenant-a@alt standby", "tenant-a@ops dangling"],
        ),
        (
            "standby gone",
            &both[..1],
            claim("tenant-a", "ops", &["alt"]),
            &["tenant-a@alt dangling", "tenant-a@ops active"],
        ),
        (
            "deployed elsewhere",
            &both[1..],
            claim("tenant-a", "ops", &[]),
            &["tenant-a@alt duplicate", "tenant-a@ops dangling"],
        ),
    ] {
        let evidence = Evidence { claims: vec![claim], ..of(deployments) };
        assert_eq!(rows(&evidence), expected, "{what}");
    }
}

#[test]
fn a_claim_that_was_renamed_is_no_operator() {
    let mut renamed = claim("tenant-a", "ops", &[]);
    renamed.renamed_to = Some("tenant-b".into());
    assert_eq!(rows(&Evidence { claims: vec![renamed], ..Evidence::default() }), Vec::<String>::new());
}

#[test]
fn claims_are_believed_where_deployments_cannot_be_read() {
    let evidence = Evidence {
        claims: vec![claim("tenant-a", "ops", &["alt"]), claim("tenant-b", "team", &[])],
        deployments_seen: Coverage::Namespaces(["team".to_owned()].into()),
        ..Evidence::default()
    };
    assert_eq!(rows(&evidence), ["tenant-a@alt standby", "tenant-a@ops active", "tenant-b@team missing"]);
    let believed = &operators(&evidence, now())[1];
    assert_eq!((believed.claimed, believed.scope.clone(), believed.replicas), (true, Scope::Unknown, None));
    assert_eq!(believed.evidence, [Source::Claim].into());
}

#[test]
fn platforms_without_a_deployment() {
    let marked = json!({"labels": {"camel.apache.org/platform.generated": "true"}});
    let secondary = json!({"annotations": {"camel.apache.org/secondary.platform": "true"}});
    for (what, platform, leases, expected) in [
        ("named like its id", platform("ops", "tenant-a", with_id("tenant-a")), vec![], Some("tenant-a@ops missing")),
        ("made by v1.10 to v1.12.0", platform("ops", "tenant-a", marked), vec![], Some("tenant-a@ops missing")),
        ("no id and no mark", platform("ops", "tenant-a", json!({})), vec![], Some("tenant-a@ops missing")),
        ("a tenant's own", platform("ops", "local", with_id("tenant-a")), vec![], None),
        ("secondary", platform("ops", "tenant-a", secondary), vec![], None),
        (
            "a live lease",
            platform("ops", "tenant-a", with_id("tenant-a")),
            vec![live_lease("ops", "tenant-a-lock")],
            Some("tenant-a@ops external"),
        ),
        (
            "a lease elsewhere",
            platform("ops", "tenant-a", with_id("tenant-a")),
            vec![live_lease("alt", "tenant-a-lock")],
            Some("tenant-a@ops missing"),
        ),
        (
            "a lease that ran out",
            platform("ops", "tenant-a", with_id("tenant-a")),
            vec![lease("ops", "tenant-a-lock", "pod_1", "2026-01-01T11:59:44Z")],
            Some("tenant-a@ops missing"),
        ),
        (
            "a lease that was released",
            platform("ops", "tenant-a", with_id("tenant-a")),
            vec![lease("ops", "tenant-a-lock", "", "2026-01-01T11:59:59Z")],
            Some("tenant-a@ops missing"),
        ),
    ] {
        let evidence = Evidence { platforms: vec![platform], leases, ..Evidence::default() };
        assert_eq!(rows(&evidence), expected.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>(), "{what}");
    }
}

#[test]
fn a_platform_does_not_make_a_second_row() {
    let global = deployment(
        "ops",
        "camel-k-operator",
        "apache/camel-k:2.10.1",
        json!([{"name": "WATCH_NAMESPACE"}, {"name": "OPERATOR_ID", "value": "camel-k"}]),
    );
    for (what, platform, expected) in [
        ("its own", platform("ops", "camel-k", json!({})), &["camel-k@ops active"][..]),
        ("a copy for a tenant", platform("team", "camel-k", with_id("camel-k")), &["camel-k@ops active"]),
        ("a tenant's, handled by it", platform("team", "local", json!({})), &["camel-k@ops active"]),
        (
            "another operator's",
            platform("team", "tenant-b", with_id("tenant-b")),
            &["camel-k@ops active", "tenant-b@team missing"],
        ),
    ] {
        let evidence = Evidence { platforms: vec![platform], ..of(std::slice::from_ref(&global)) };
        assert_eq!(rows(&evidence), expected, "{what}");
    }
}

#[test]
fn leases_platforms_and_ids_add_to_a_row() {
    let mut evidence = of(&[operator_in("ops", "tenant-a")]);
    evidence.platforms =
        vec![platform("team", "tenant-a", with_id("tenant-a")), platform("ops", "tenant-a", json!({}))];
    evidence.leases = vec![live_lease("ops", "tenant-a-lock"), live_lease("ops", "ghost-lock")];
    evidence.ids.add("tenant-a", "Integration", "team");
    evidence.ids.add("tenant-a", "Integration", "ops");
    evidence.ids.add("tenant-a", "Build", "ops");
    evidence.ids.add("ghost", "Integration", "team");
    evidence.ids.add("", "Integration", "team");
    let found = operators(&evidence, now());
    assert_eq!(found.len(), 1, "a lease or an id in use is no operator");
    let row = &found[0];
    assert_eq!(row.evidence, [Source::Deployment, Source::Platform, Source::Lease, Source::Ids].into());
    assert!(row.lease.as_ref().is_some_and(|lease| lease.live && lease.holder.as_deref() == Some("pod_1")));
    assert_eq!(row.platform.as_ref().and_then(|platform| platform.version.as_deref()), Some("2.10.1"));
    let by_kind = [("Build".to_owned(), 1), ("Integration".to_owned(), 2)].into();
    assert_eq!(row.resources, Some(Counted { by_kind, complete: true }));
    let unassigned = Unassigned::count(&evidence.ids, &found, None);
    assert_eq!(unassigned, Unassigned { legacy: 1, orphaned: [("ghost".to_owned(), 1)].into() });
    assert_eq!(Unassigned::count(&evidence.ids, &found, Some("ops")), Unassigned::default());
}

#[test]
fn a_lease_by_another_name() {
    let mut object = operator_in("ops", "tenant-a");
    object["spec"]["template"]["spec"]["containers"][1]["args"] = json!(["--leader-election-id=mine"]);
    let evidence = Evidence { leases: vec![live_lease("ops", "mine")], ..of(&[object]) };
    assert_eq!(lease_places(&evidence), [("ops".to_owned(), "mine".to_owned())].into());
    assert!(operators(&evidence, now())[0].lease.is_some());
}

#[test]
fn subscriptions_with_an_id() {
    let subscription = |package: &str, env: Value| {
        SubscriptionFacts::parse(
            &camel_k::FAMILY,
            &json!({
                "metadata": {"namespace": "ops", "name": "camel-k"},
                "spec": {"name": package, "config": {"env": env}},
                "status": {"installedCSV": "camel-k-operator.v2.10.1"},
            }),
        )
    };
    let with_id = subscription("camel-k", json!([{"name": "KAMEL_OPERATOR_ID", "value": "tenant-a"}])).unwrap();
    assert!(subscription("other", json!([])).is_none());
    let alone = Evidence { subscriptions: vec![with_id.clone()], ..Evidence::default() };
    assert_eq!(rows(&alone), ["tenant-a@ops missing"]);
    assert_eq!(operators(&alone, now())[0].version.as_deref(), Some("2.10.1"));
    let deployed = Evidence { subscriptions: vec![with_id], ..of(&[operator_in("ops", "tenant-a")]) };
    let found = operators(&deployed, now());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].managed_by.as_deref(), Some("olm"));
    assert!(found[0].evidence.contains(&Source::Subscription));
    let without =
        Evidence { subscriptions: subscription("camel-k", json!([])).into_iter().collect(), ..Evidence::default() };
    assert_eq!(rows(&without), Vec::<String>::new());
}

fn tigera_in(namespace: &str, name: &str) -> Value {
    json!({
        "metadata": {"namespace": namespace, "name": name, "labels": {"k8s-app": "tigera-operator"}},
        "spec": {"template": {"spec": {"containers": [{"name": "tigera-operator", "image": "quay.io/tigera/operator:v1.38.0"}]}}},
        "status": {"readyReplicas": 1},
    })
}

#[test]
fn a_pointer_designates_the_active_tigera_operator() {
    let one = [tigera_in("tigera-operator", "tigera-operator")];
    let two = [one[0].clone(), tigera_in("alt", "tigera-operator")];
    let says = |text: &str| PointerState::Says(text.into());
    for (what, deployments, pointer, expected) in [
        ("alone, no pointer", &one[..], PointerState::Absent, &["tigera-operator@tigera-operator active"][..]),
        (
            "two, no pointer: all of them act",
            &two,
            PointerState::Absent,
            &["alt@alt duplicate", "tigera-operator@tigera-operator duplicate"],
        ),
        ("designated", &two, says("alt"), &["alt@alt active", "tigera-operator@tigera-operator standby"]),
        ("dangling", &one, says("gone"), &["gone@gone dangling", "tigera-operator@tigera-operator standby"]),
        (
            "compared byte for byte",
            &one,
            says("tigera-operator\n"),
            &["tigera-operator@tigera-operator standby", "tigera-operator\n@tigera-operator\n dangling"],
        ),
        ("key missing", &one, says(""), &["@ dangling", "tigera-operator@tigera-operator standby"]),
        ("pointer alone", &[], says("gone"), &["gone@gone dangling"]),
        ("nothing", &[], PointerState::Absent, &[]),
        ("not readable", &one, PointerState::Unseen, &["tigera-operator@tigera-operator active"]),
    ] {
        let evidence = Evidence { pointers: [(tigera::NAME, pointer)].into(), ..of(deployments) };
        assert_eq!(rows(&evidence), expected, "{what}");
    }
}

#[test]
fn tigera_operators_are_told_apart_by_namespace() {
    let mut elsewhere = tigera_in("ops", "tigera-operator");
    elsewhere["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{"name": "OPERATOR_NAMESPACE", "value": "alt"}]);
    assert_eq!(rows(&of(&[elsewhere])), ["alt@ops active"]);
    let found = operators(&of(&[tigera_in("a", "one"), tigera_in("a", "two")]), now());
    assert_eq!(found.len(), 1, "two Deployments in one namespace elect one of their pods");
    assert_eq!((found[0].replicas, found[0].ready_replicas), (Some(2), Some(2)));
    assert_eq!((found[0].version.as_deref(), found[0].scope.clone()), (Some("1.38.0"), Scope::Cluster));
}

#[test]
fn who_installed_it() {
    let with = |labels: Value, annotations: Value| {
        let mut object = operator_in("ops", "a");
        for (key, value) in labels.as_object().unwrap() {
            object["metadata"]["labels"][key] = value.clone();
        }
        object["metadata"]["annotations"] = annotations;
        operators(&of(&[object]), now())[0].managed_by.clone()
    };
    for (labels, annotations, expected) in [
        (json!({}), json!({}), None),
        (json!({"app.kubernetes.io/managed-by": "Helm"}), json!({}), Some("helm")),
        (json!({}), json!({"meta.helm.sh/release-name": "r"}), Some("helm")),
        (json!({"olm.owner": "camel-k-operator.v2"}), json!({}), Some("olm")),
        (json!({}), json!({"argocd.argoproj.io/tracking-id": "x"}), Some("argo")),
        (json!({"kctl.dev/operator-id": "a"}), json!({}), Some("kctl")),
    ] {
        assert_eq!(with(labels, annotations).as_deref(), expected);
    }
}
