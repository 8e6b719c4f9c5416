//! `list-operators` on a real API server, with evidence as other tools leave it.

mod seed;

use std::process::Command;

use serde_json::{Value, json};

use crate::kctl::{Ran, kctl};
use crate::testbed::{Cluster, Options, User};
use seed::{env, operator};

const IMAGE: &str = "docker.io/apache/camel-k:2.10.1";

fn list(user: &User, line: &str) -> Ran {
    kctl().kubeconfig(&user.kubeconfig).line(&format!("list-operators {line}")).run().succeeds()
}

/// `id namespace scope version state` of every item.
fn rows(ran: &Ran) -> Vec<String> {
    let items = ran.json()["items"].as_array().cloned().unwrap_or_default();
    items.iter().map(row).collect()
}

fn row(item: &Value) -> String {
    let text = |key: &str| item[key].as_str().unwrap_or("?").to_owned();
    let mut scope = item["scope"]["type"].as_str().unwrap_or("?").to_owned();
    for name in item["scope"]["namespaces"].as_array().into_iter().flatten() {
        scope.extend([":", name.as_str().unwrap_or("?")]);
    }
    format!("{} {} {scope} {} {}", text("id"), text("namespace"), text("version"), text("state"))
}

/// One operator for each way an id and a scope can be given, and what makes rows beside Deployments.
fn seed_traps(cluster: &Cluster) {
    for name in ["ops", "alt", "team", "old", "gone", "olm", "calico-system", "tigera-operator", "tigera-alt"] {
        seed::namespace(cluster, name);
    }
    let both = |watch, id| env(watch, &[("OPERATOR_ID", "camel-k"), ("KAMEL_OPERATOR_ID", id)]);
    operator(cluster, "ops", "tenant-a-operator", IMAGE, &both("own", "tenant-a"), 1);
    operator(cluster, "ops", "default-operator", IMAGE, &env("", &[("OPERATOR_ID", "camel-k")]), 1);
    operator(cluster, "ops", "down-operator", IMAGE, &both("team", "down"), 0);
    operator(cluster, "ops", "pinned-operator", "apache/camel-k@sha256:0123", &both("own", "pinned"), 1);
    let secret = json!({"env": [
        {"name": "WATCH_NAMESPACE"},
        {"name": "KAMEL_OPERATOR_ID", "valueFrom": {"secretKeyRef": {"name": "ids", "key": "id"}}},
    ]});
    operator(cluster, "ops", "secret-operator", IMAGE, &secret, 1);
    let from_map = json!({
        "env": [
            {"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}}},
            {"name": "OPERATOR_ID", "value": "camel-k"},
        ],
        "envFrom": [
            {"configMapRef": {"name": "settings"}},
            {"secretRef": {"name": "camel-k-operator-secret-configuration", "optional": true}},
        ],
    });
    let settings = json!({"KAMEL_OPERATOR_ID": "mapped"});
    cluster.create(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "ops", "name": "settings"}, "data": settings,
    }));
    operator(cluster, "ops", "mapped-operator", IMAGE, &from_map, 1);
    operator(cluster, "old", "one", "apache/camel-k:1.10.0", &env("own", &[("OPERATOR_ID", "ignored")]), 1);

    operator(cluster, "ops", "twice-operator", IMAGE, &both("own", "twice"), 1);
    operator(cluster, "alt", "twice-operator", IMAGE, &both("own", "twice"), 1);
    operator(cluster, "ops", "agreed-operator", IMAGE, &both("own", "agreed"), 1);
    operator(cluster, "alt", "agreed-operator", IMAGE, &both("own", "agreed"), 1);
    let standby = "/apis/apps/v1/namespaces/alt/deployments/agreed-operator";
    cluster.merge(standby, &json!({"spec": {"replicas": 0}}));
    seed::claim(cluster, "agreed", "ops", "agreed-operator", &[("alt", "agreed-operator")]);
    seed::claim(cluster, "lost", "gone", "lost-operator", &[]);

    let annotated = |id: &str| json!({"annotations": {"camel.apache.org/operator.id": id}});
    seed::platform(cluster, "ops", "tenant-a", annotated("tenant-a"));
    seed::lease(cluster, "ops", "tenant-a-lock", true);
    seed::platform(cluster, "team", "local", annotated("tenant-a"));
    seed::platform(cluster, "team", "second", json!({"annotations": {"camel.apache.org/secondary.platform": "true"}}));
    seed::platform(cluster, "old", "from-v1-10", json!({"labels": {"camel.apache.org/platform.generated": "true"}}));
    seed::platform(cluster, "gone", "outside", annotated("outside"));
    seed::lease(cluster, "gone", "outside-lock", true);
    seed::platform(cluster, "gone", "crashed", annotated("crashed"));
    seed::lease(cluster, "gone", "crashed-lock", false);
    seed::lease(cluster, "gone", "lease-only-lock", true);
    cluster.create(&json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": {"namespace": "olm", "name": "camel-k"},
        "spec": {"name": "camel-k", "config": {"env": [{"name": "KAMEL_OPERATOR_ID", "value": "subscribed"}]}},
    }));

    seed::tigera(cluster, "tigera-operator");
    seed::tigera(cluster, "tigera-alt");
    cluster.create(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "calico-system", "name": "active-operator"},
        "data": {"active-namespace": "tigera-alt"},
    }));

    seed::integration(cluster, "ops", "a", Some("tenant-a"));
    seed::integration(cluster, "team", "b", Some("tenant-a"));
    seed::integration(cluster, "team", "orphan", Some("nobody"));
    seed::integration(cluster, "team", "legacy", None);
    seed::integration(cluster, "team", "empty", Some(""));
}

#[test]
fn the_list_is_what_is_there() {
    let cluster = Cluster::own(&Options::default());
    let admin = cluster.admin();

    // Nothing is installed at all, not even CRDs.
    let none = list(&admin, "-o json");
    assert_eq!(none.json()["items"], json!([]));
    assert_eq!(none.json()["unseen"], json!([]), "a kind that is not served hides nothing");
    let none = list(&admin, "");
    assert_eq!(none.stdout, "");
    assert!(none.stderr.contains("no operators found") && none.stderr.contains("kctl install"), "{none}");

    seed::crds(&cluster);
    seed_traps(&cluster);
    every_trap_has_its_row(&cluster, &admin);
    other_formats_show_the_same(&admin);
    the_list_can_be_narrowed(&admin);
    resources_without_operator_are_told_with_a_command_that_lists_them(&cluster, &admin);
    few_rights_show_little_and_say_so(&cluster);
}

fn every_trap_has_its_row(cluster: &Cluster, admin: &User) {
    let mark = cluster.audit_mark();
    let ran = list(admin, "-o json");
    assert_eq!(
        rows(&ran),
        [
            " old own 1.10.0 active",
            "<secret ids/id> ops cluster 2.10.1 active",
            "agreed alt own 2.10.1 standby",
            "agreed ops own 2.10.1 active",
            "camel-k ops cluster 2.10.1 active",
            "crashed gone unknown 2.10.1 missing",
            "down ops namespaces:team 2.10.1 not-ready",
            "from-v1-10 old unknown 2.10.1 missing",
            "lost gone unknown ? missing",
            "mapped ops namespaces:alpha 2.10.1 active",
            "outside gone unknown 2.10.1 external",
            "pinned ops own ? active",
            "subscribed olm unknown ? missing",
            "tenant-a ops own 2.10.1 active",
            "tigera-alt tigera-alt cluster 1.38.0 active",
            "tigera-operator tigera-operator cluster 1.38.0 standby",
            "twice alt own 2.10.1 duplicate",
            "twice ops own 2.10.1 duplicate",
        ]
    );
    let document = ran.json();
    let item =
        |id: &str| document["items"].as_array().and_then(|all| all.iter().find(|item| item["id"] == id)).cloned();
    let tenant = item("tenant-a").expect("tenant-a");
    assert_eq!(tenant["evidence"], json!(["deployment", "platform", "lease", "ids"]));
    assert_eq!(tenant["resources"], json!({"total": 4, "byKind": {"Integration": 2, "IntegrationPlatform": 2}}));
    assert_eq!((&tenant["default"], &tenant["claimed"]), (&json!(false), &json!(false)));
    assert_eq!(tenant["platform"], json!({"name": "tenant-a", "phase": "Ready", "version": "2.10.1"}));
    assert_eq!((&tenant["lease"]["holder"], &tenant["lease"]["live"]), (&json!("pod-0_1"), &json!(true)));
    assert_eq!(item("camel-k").expect("camel-k")["default"], json!(true));
    assert_eq!(item("tigera-alt").expect("tigera-alt")["evidence"], json!(["deployment", "pointer"]));
    assert_eq!((&document["legacy"], &document["orphaned"]), (&json!(4), &json!({"nobody": 1})));
    assert_eq!(document["unseen"], json!([]));

    let requests = cluster.requests_since(mark, admin);
    let camel: Vec<_> = requests.iter().filter(|request| request.resource == "integrations").collect();
    assert!(!camel.is_empty());
    for request in camel {
        assert_eq!(request.answer_kind, "PartialObjectMetadataList", "{request}");
    }
    assert!(requests.iter().all(|request| request.resource != "secrets" && !request.is_write()));
}

fn other_formats_show_the_same(admin: &User) {
    let table = list(admin, "").stdout;
    let head = ["ID", "FAMILY", "NAMESPACE", "SCOPE", "VERSION", "READY", "STATE", "RESOURCES", "AGE"];
    assert_eq!(table.lines().next().map(|line| line.split_whitespace().collect::<Vec<_>>()), Some(head.to_vec()));
    let line = |id: &str| {
        let found = table.lines().find(|line| line.starts_with(&format!("{id} ")));
        found.map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).unwrap_or_default()
    };
    assert_eq!(line("tenant-a")[..8], ["tenant-a", "camel-k", "ops", "own", "2.10.1", "1/1", "active", "4"]);
    assert_eq!(line("down")[..8], ["down", "camel-k", "ops", "team", "2.10.1", "0/1", "not-ready", "0"]);
    assert_eq!(line("<none>")[..4], ["<none>", "camel-k", "old", "own"]);
    assert!(table.lines().all(|line| line.trim_end() == line), "no blanks at the ends");
    assert_eq!(table.lines().count(), 19);
    assert_eq!(list(admin, "--no-headers").stdout.lines().count(), 18);

    let wide = list(admin, "-o wide").stdout;
    let tenant = wide.lines().find(|line| line.starts_with("tenant-a ")).unwrap_or_default();
    for word in ["tenant-a-operator", IMAGE, "pod-0_1", "Ready", "deployment,platform,lease,ids"] {
        assert!(tenant.contains(word), "{word}: {tenant}");
    }
    let names = list(admin, "-o name").stdout;
    assert!(names.lines().any(|name| name == "tenant-a"));
    assert_eq!(names.lines().filter(|name| *name == "twice").count(), 1);
    let yaml = list(admin, "-o yaml").stdout;
    assert!(yaml.starts_with("apiVersion: kctl.dev/v1alpha1\nkind: OperatorList\nitems:\n"), "{yaml}");
}

fn the_list_can_be_narrowed(admin: &User) {
    assert_eq!(
        rows(&list(admin, "-n alt -o json")),
        ["agreed alt own 2.10.1 standby", "twice alt own 2.10.1 duplicate"]
    );
    assert_eq!(rows(&list(admin, "-n alt -A -o json")).len(), 18);
    assert_eq!(rows(&list(admin, "--family tigera -o json")).len(), 2);
    assert_eq!(
        rows(&list(admin, "-l team=alt -o json")),
        ["agreed alt own 2.10.1 standby", "twice alt own 2.10.1 duplicate"]
    );
    assert_eq!(rows(&list(admin, "-l team=nobody -o json")), [""; 0]);
    let bad = kctl().kubeconfig(&admin.kubeconfig).args(["list-operators", "-l", "a b"]).run().exits(2);
    assert!(bad.stderr.contains("is not a label selector"), "{bad}");
    let bad = kctl().kubeconfig(&admin.kubeconfig).line("list-operators --family tigra").run().exits(2);
    assert!(bad.stderr.contains("did you mean tigera?"), "{bad}");
}

fn resources_without_operator_are_told_with_a_command_that_lists_them(cluster: &Cluster, admin: &User) {
    let ran = list(admin, "");
    let line = ran.stderr.lines().find(|line| line.contains("list them: ")).unwrap_or_default();
    assert!(line.contains("4 resources carry no operator id, 1 an id that no operator has (nobody)"), "{ran}");
    let command = line.split_once("list them: ").map(|(_, command)| command).unwrap_or_default();
    let kubectl = cluster.program("kubectl");
    let path =
        format!("{}:{}", kubectl.parent().expect("a folder").display(), std::env::var("PATH").unwrap_or_default());
    let listed = Command::new("sh")
        .args(["-c", command])
        .env("PATH", path)
        .env("KUBECONFIG", &admin.kubeconfig)
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let words = text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(2).map(str::to_owned));
    let mut names: Vec<_> = words.collect();
    names.sort();
    assert_eq!(names, ["empty", "from-v1-10", "legacy", "orphan", "second"], "{command}\n{text}{listed:?}");
}

fn few_rights_show_little_and_say_so(cluster: &Cluster) {
    let dev = cluster.in_namespace(&cluster.user("dev"), "team");
    let blind = list(&dev, "-o json");
    assert_eq!(rows(&blind), [""; 0]);

    let read = json!(["get", "list"]);
    cluster.grant(
        &dev,
        None,
        &json!([
            {"apiGroups": ["kctl.dev"], "resources": ["operatorclaims"], "verbs": read},
        ]),
    );
    cluster.grant(
        &dev,
        Some("team"),
        &json!([
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": read},
            {"apiGroups": ["camel.apache.org"], "resources": ["*"], "verbs": read},
        ]),
    );
    let mark = cluster.audit_mark();
    let ran = list(&dev, "-o json");
    assert_eq!(
        rows(&ran),
        ["agreed alt unknown ? standby", "agreed ops unknown ? active", "lost gone unknown ? active",],
        "claims are believed, and a platform of a tenant's own is no operator"
    );
    let document = ran.json();
    assert_eq!((&document["legacy"], &document["orphaned"]), (&json!(3), &json!({"nobody": 1, "tenant-a": 2})));
    let sources: Vec<_> = document["unseen"].as_array().cloned().unwrap_or_default();
    let has = |source: &str, namespace: Option<&str>| {
        let namespace = namespace.map_or(Value::Null, Value::from);
        sources.iter().any(|unseen| unseen["source"] == source && unseen["namespace"] == namespace)
    };
    assert!(has("deployments.apps", None) && has("deployments.apps", Some("ops")), "{sources:?}");
    assert!(!has("deployments.apps", Some("team")) && !has("operatorclaims.kctl.dev", None), "{sources:?}");
    assert!(has("leases.coordination.k8s.io", Some("ops")) && has("configmaps", Some("calico-system")), "{sources:?}");
    assert_eq!(ran.stderr.matches("warning:").count(), 1, "said once: {ran}");
    assert_eq!(document["warnings"].as_array().map(Vec::len), Some(1));
    assert!(cluster.requests_since(mark, &dev).iter().all(|request| request.resource != "secrets"));
}
