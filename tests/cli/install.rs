//! `install` on snapshots: what it says, and what it does to a cluster in a file.

use std::{fs, path::PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::kctl::{Ran, kctl};

/// A cluster in a file with these namespaces.
struct Snapshot {
    path: PathBuf,
    _folder: TempDir,
}

impl Snapshot {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("cluster.yaml");
        fs::write(&path, text).expect("written");
        Self { path, _folder: folder }
    }

    fn run(&self, line: &str) -> Ran {
        let path = self.path.display();
        kctl().line(&format!("{line} --from {path} --save {path}")).run()
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).expect("readable")
    }
}

const OPS: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: ops}}\n";

#[test]
fn commands_follow_one_another_on_a_file() {
    let cluster = Snapshot::new(OPS);
    let first = cluster.run("install -x tenant-a -n ops --registry r:5000").succeeds();
    assert!(first.stdout.ends_with("deployment.apps/tenant-a-operator created\n"), "{first}");
    let again = cluster.run("install -x tenant-a -n ops").succeeds();
    assert!(again.stdout.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    let taken = cluster.run("install -x tenant-a -n alt --create-namespace").exits(3);
    assert!(taken.stderr.contains("Deployment tenant-a-operator in namespace ops, version 2.10.1"), "{taken}");
    cluster.run("install -x tenant-b -n ops").succeeds();
    let names = cluster.run("list-operators -o name").succeeds();
    assert_eq!(names.stdout, "tenant-a\ntenant-b\n");
}

#[test]
fn an_operator_of_another_tool_and_its_unannotated_resources_are_seen() {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo/cluster.yaml");
    let cluster = Snapshot::new(&fs::read_to_string(demo).expect("readable"));
    let taken = cluster.run("install -x camel-k -n team-a").exits(3);
    assert!(taken.stderr.contains("Deployment camel-k-operator in namespace camel-k, version 2.9.1"), "{taken}");
    let before = cluster.text();
    let asks = cluster.run("install -x tenant-b -n team-b").exits(3);
    assert!(
        asks.stderr.contains(
            "1 Integration in namespace team-b (they carry no operator id; TWO TAKERS: camel-k takes them, too)"
        ),
        "{asks}"
    );
    assert_eq!(cluster.text(), before, "nothing is written before the answer");
    cluster.run("install -x tenant-b -n team-b --yes").succeeds();
}

#[test]
fn manifests_are_rendered_without_a_cluster() {
    let yaml = kctl().line("install -x tenant-a -n ops -o yaml --registry r:5000 --env A=yes").run().succeeds();
    assert!(yaml.stderr.contains("nothing was sent to a cluster"), "{yaml}");
    assert_eq!(yaml.stdout.matches("---\n").count(), 4, "{yaml}");
    assert!(yaml.stdout.contains("value: \"yes\"") || yaml.stdout.contains("value: 'yes'"), "{yaml}");
    let json = kctl().line("install -x tenant-a -n ops -o json").run().succeeds().json();
    let kinds: Vec<&Value> = json["items"].as_array().expect("a List").iter().map(|item| &item["kind"]).collect();
    assert_eq!(kinds, ["ServiceAccount", "Role", "RoleBinding", "Deployment"]);
    assert_eq!(json["items"][3]["spec"]["replicas"], 1);
}

#[test]
fn definitions_and_claim_are_rendered_on_request() {
    let kinds = |line: &str| -> Vec<String> {
        let json = kctl().line(&format!("install -x tenant-a -n ops -o json {line}")).run().succeeds().json();
        let items = json["items"].as_array().expect("a List").clone();
        items.iter().map(|item| item["kind"].as_str().expect("a kind").to_owned()).collect()
    };
    assert_eq!(kinds("--include-crds").iter().filter(|kind| *kind == "CustomResourceDefinition").count(), 8);
    assert_eq!(kinds("--include-claim")[..3], ["CustomResourceDefinition", "OperatorClaim", "Secret"]);
    let both = kctl().line("install -x a -n ops -o yaml --include-crds --include-claim").run().succeeds();
    assert!(both.stderr.contains("not in it: the namespace"), "{both}");
    assert!(both.stderr.contains("--field-manager kctl"), "{both}");
    kctl().line("install -x a -n ops --include-crds --dry-run").run().exits(2);
}

#[test]
fn a_closed_network_gets_its_platform_and_what_it_names_must_exist() {
    let secret = "---\n{apiVersion: v1, kind: Secret, metadata: {name: push, namespace: ops}}\n";
    let cluster = Snapshot::new(&format!("{OPS}{secret}"));
    let line = "install -x a -n ops --registry r:5000 --registry-secret push --registry-ca ca --base-image jdk:17";
    let missing = cluster.run(line).exits(5);
    assert!(missing.stderr.contains("configmap/ca, which the settings name, is not in namespace ops"), "{missing}");
    assert!(!cluster.text().contains("OperatorClaim"), "{missing}");

    let spec = tempfile::NamedTempFile::new().expect("a file");
    fs::write(spec.path(), "kind: IntegrationPlatform\nspec: {profile: Knative, build: {registry: {address: x:1}}}")
        .expect("written");
    let line = format!(
        "install -x a -n ops --platform {} --registry-secret push --base-image jdk:17 --build-strategy pod --build-timeout 10m \
         --max-running-builds 2 --maven-repository https://m@mirrorOf=*",
        spec.path().display()
    );
    let ran = cluster.run(&line).succeeds();
    assert!(ran.stdout.contains("configmap/a-maven-settings created"), "{ran}");
    let again = cluster.run("install -x a -n ops").succeeds();
    assert!(again.stdout.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    let yaml = kctl().line(&format!("{line} -o json")).run().succeeds().json();
    let platform = yaml["items"].as_array().expect("a List").iter().find(|item| item["kind"] == "IntegrationPlatform");
    let expected = serde_json::json!({"profile": "Knative", "build": {
        "registry": {"address": "x:1", "secret": "push"}, "baseImage": "jdk:17", "timeout": "10m0s", "maxRunningBuilds": 2,
        "buildConfiguration": {"strategy": "pod"},
        "maven": {"settings": {"configMapKeyRef": {"name": "a-maven-settings", "key": "settings.xml"}}},
    }});
    assert_eq!(platform.expect("a platform")["spec"], expected);
    fs::write(spec.path(), "{buidl: {}}").expect("written");
    let wrong = cluster.run(&line).exits(2);
    assert!(wrong.stderr.contains("has a field buidl"), "{wrong}");
}

#[test]
fn images_are_listed_without_a_cluster() {
    let ran = kctl().line("install -x a --list-images --operator-version 2.9.0 --base-image jdk:17").run().succeeds();
    assert_eq!(ran.stdout, "docker.io/apache/camel-k:2.9.0\njdk:17\n", "{ran}");
}

#[test]
fn openshift_has_a_registry_of_its_own() {
    let route =
        "---\n{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: r, namespace: ops}, spec: {}}\n";
    let cluster = Snapshot::new(&format!("{OPS}{route}"));
    let ran = cluster.run("install -x a -n ops").succeeds();
    assert!(ran.stdout.contains("integrationplatform.camel.apache.org/a created"), "{ran}");
    assert!(!ran.stderr.contains("--registry"), "{ran}");
    assert!(cluster.text().contains("image.openshift.io"), "{ran}");
    let nowhere = cluster.run("install -x b -n nowhere").exits(5);
    assert!(nowhere.stderr.contains("oc new-project nowhere"), "{nowhere}");
}

#[test]
fn each_wrong_input_gets_one_line_a_hint_and_its_code() {
    let cluster = Snapshot::new(OPS);
    let before = cluster.text();
    let long = "a".repeat(55);
    let cases = [
        ("install -x Tenant_A -n ops", 2, "upper-case letter"),
        (&format!("install -x {long} -n ops"), 2, "55 characters"),
        ("install -x a -n ops --operator-version 2.7.0", 3, "oldest"),
        ("install -x a -n ops --operator-version latest", 2, "no version"),
        ("install -x a -n ops --operator-image x/camel-k:fork", 2, "cannot be read off its tag"),
        ("install -x a -n ops --watch-namespace one,two", 2, "one namespace or all"),
        ("install -x a -n ops --env OPERATOR_ID=b", 2, "kctl sets it itself"),
        ("install -x a -n ops --registry-secret s", 2, "without the registry"),
        ("install -x a -n nowhere", 5, "namespace nowhere not found"),
        ("install -x a -n ops --crds /no/such/file", 2, "cannot read /no/such/file"),
        ("install -x a -n ops --wait", 2, "--wait needs a live cluster"),
    ];
    for (line, code, part) in cases {
        let ran = cluster.run(line).exits(code);
        assert!(ran.stderr.contains(part), "{ran}");
        assert_eq!(ran.stderr.matches("error: ").count(), 1, "{ran}");
        assert_eq!(cluster.text(), before, "{ran}");
    }
}

#[test]
fn no_kubeconfig_and_a_wrong_context_are_told_apart() {
    let none = kctl().line("install -x a -n ops").run().exits(2);
    assert!(none.stderr.contains("no kubeconfig found") && none.stderr.contains("--kubeconfig FILE"), "{none}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("config");
    let text = "{current-context: prod, contexts: [{name: prod, context: {cluster: c}}], clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]}";
    fs::write(&path, text).expect("written");
    let wrong = kctl().kubeconfig(&path).line("install -x a -n ops --context prodd").run().exits(5);
    assert!(wrong.stderr.contains("did you mean \"prod\"?"), "{wrong}");
    let down = kctl().kubeconfig(&path).line("install -x a -n ops").run().exits(1);
    assert!(down.stderr.contains("cannot reach https://127.0.0.1:1: connection refused (context prod)"), "{down}");
    let json = kctl().kubeconfig(&path).env("KCTL_ERRORS", "json").line("install -x a -n ops").run().exits(1);
    let error: Value = serde_json::from_str(&json.stderr).expect("one JSON object");
    assert_eq!(
        (&error["code"], &error["reason"], &error["context"]),
        (&1.into(), &"Unreachable".into(), &"prod".into())
    );
}

const WORK: &str = "---
{apiVersion: v1, kind: Namespace, metadata: {name: team}}
---
{apiVersion: camel.apache.org/v1, kind: Integration, metadata: {name: x, namespace: team, annotations: {camel.apache.org/operator.id: a}}, spec: {}}
";

#[test]
fn a_change_of_version_or_scope_says_what_it_does_and_asks() {
    let cluster = Snapshot::new(&format!("{OPS}{WORK}"));
    cluster.run("install -x a -n ops --global --operator-version 2.9.0 --yes").succeeds();
    let before = cluster.text();
    for (line, parts) in [
        ("--operator-version 2.10.1", &["version 2.9.0 -> 2.10.1: it re-initialises up to 1 resources", "--yes"][..]),
        (
            "--watch-namespace ops",
            &[
                "all namespaces -> its own namespace",
                "loses 1 Integration in namespace team: no operator is left for them",
            ],
        ),
        ("--operator-version 2.8.0 --yes", &["operator a is at version 2.9.0; 2.8.0 is older", "--force"]),
        ("--operator-version 2.12.0", &["kctl knows operators up to 2.10.1", "--yes"]),
    ] {
        let ran = cluster.run(&format!("install -x a -n ops {line}")).exits(3);
        for part in parts {
            assert!(ran.stderr.contains(part), "{part}: {ran}");
        }
        assert_eq!(cluster.text(), before, "nothing is written before the answer: {ran}");
    }
    cluster.run("install -x a -n ops --operator-version 2.8.0 --force --yes").succeeds();
    let narrowed = cluster.run("install -x a -n ops --watch-namespace ops --yes").succeeds();
    assert!(
        narrowed.stdout.contains("clusterrolebinding.rbac.authorization.k8s.io/kctl-camel-k-a deleted"),
        "{narrowed}"
    );
    assert!(narrowed.stdout.contains("clusterrole.rbac.authorization.k8s.io/kctl-camel-k-a deleted"), "{narrowed}");
    let widened = cluster.run("install -x a -n ops --global").exits(3);
    assert!(widened.stderr.contains("gains 1 Integration in namespace team: a is their operator then"), "{widened}");
}

#[test]
fn settings_are_kept_shown_reset_and_cloned() {
    let cluster = Snapshot::new(OPS);
    let none = cluster.run("install -x a -n ops --show-settings").exits(5);
    assert!(none.stderr.contains("keeps no settings of an operator a"), "{none}");
    cluster.run("install -x a -n ops --log-level debug --registry r:5000").succeeds();
    let shown = cluster.run("install -x a -n ops --show-settings").succeeds();
    assert_eq!(
        shown.stdout, "operatorId: a\nnamespace: ops\nregistry:\n  address: r:5000\nlogLevel: debug\n",
        "{shown}"
    );

    let like = cluster.run("install -x b -n alt --create-namespace --like a --operator-version 2.9.0").succeeds();
    assert!(like.stderr.contains("version: not said -> \"2.9.0\""), "{like}");
    let cloned = cluster.run("install -x b -n alt --show-settings").succeeds();
    for part in ["- ops\n", "address: r:5000", "logLevel: debug", "version: \"2.9.0\""] {
        assert!(cloned.stdout.contains(part), "{part}: {cloned}");
    }
    let stranger = cluster.run("install -x c -n ops --like nobody").exits(5);
    assert!(stranger.stderr.contains("nobody holds that id"), "{stranger}");

    let reset = cluster.run("install -x a -n ops --reset").succeeds();
    assert!(reset.stdout.contains("integrationplatform.camel.apache.org/a deleted"), "{reset}");
    let shown = cluster.run("install -x a -n ops --show-settings").succeeds();
    assert_eq!(shown.stdout, "operatorId: a\nnamespace: ops\n", "{shown}");
    let again = cluster.run("install -x a -n ops").succeeds();
    assert!(again.stdout.lines().all(|line| line.ends_with(" unchanged")), "{again}");
}

#[test]
fn a_dry_run_tells_what_the_operator_takes_and_asks_nothing() {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo/cluster.yaml");
    let cluster = Snapshot::new(&fs::read_to_string(demo).expect("readable"));
    let ran = cluster.run("install -x tenant-b -n team-b --dry-run").succeeds();
    assert!(ran.stderr.contains("TWO TAKERS: camel-k"), "{ran}");
    assert!(ran.stdout.contains("deployment.apps/tenant-b-operator created (dry run)"), "{ran}");
}

#[test]
fn a_dump_without_managed_fields_is_worked_on() {
    let cluster = Snapshot::new(OPS);
    cluster.run("install -x tenant-a -n ops").succeeds();
    let dump: Vec<Value> = serde_saphyr::from_multiple(&cluster.text()).expect("YAML");
    let bare = dump.into_iter().map(|mut object| {
        object["metadata"].as_object_mut().expect("metadata").remove("managedFields");
        serde_saphyr::to_string(&object).expect("YAML")
    });
    fs::write(&cluster.path, bare.collect::<Vec<_>>().join("---\n")).expect("written");
    cluster.run("install -x tenant-b -n ops").succeeds();
    cluster.run("install -x tenant-a -n ops").succeeds();
    // Whose the fields are cannot be told of such a dump.
    cluster.run("install -x tenant-a -n ops --log-level debug --force").succeeds();
}

#[test]
fn a_namespace_to_watch_must_exist() {
    let cluster = Snapshot::new(OPS);
    let before = cluster.text();
    let ran = cluster.run("install -x tenant-a -n ops --watch-namespace nope").exits(5);
    assert!(ran.stderr.contains("namespace nope, which is to be watched, not found"), "{ran}");
    assert_eq!(cluster.text(), before);
}
