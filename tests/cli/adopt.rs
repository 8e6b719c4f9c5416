//! `adopt` on snapshots: claims for what other tools have installed.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kctl::{Ran, kctl};

struct Snapshot {
    path: PathBuf,
    _folder: TempDir,
}

impl Snapshot {
    /// With operators of these ids, each in a namespace of its own, laid down by Helm.
    fn with(operators: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("cluster.yaml");
        let text: String =
            operators.iter().map(|(id, namespace)| format!("---\n{}\n", operator(id, namespace))).collect();
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

    /// The row of an id in `list-operators`.
    fn row(&self, id: &str) -> Value {
        let listed = self.run("list-operators -o json").succeeds().json();
        let rows = listed["items"].as_array().expect("a list").clone();
        rows.into_iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no row {id}: {listed}"))
    }
}

fn operator(id: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "camel-k-operator", "namespace": namespace, "uid": format!("uid-of-{namespace}"),
            "labels": {"app": "camel-k", "camel.apache.org/component": "operator", "app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": "camel", "meta.helm.sh/release-namespace": namespace}},
        "spec": {"selector": {"matchLabels": {"name": "x"}}, "template": {"metadata": {"labels": {"name": "x"}}, "spec": {
            "containers": [{"name": "camel-k-operator", "image": "docker.io/apache/camel-k:2.10.1", "command": ["kamel", "operator"],
                "env": [{"name": "WATCH_NAMESPACE", "value": ""}, {"name": "OPERATOR_ID", "value": id}]}]}}},
    })
}

#[test]
fn a_claim_names_the_tool_and_keeps_the_id() {
    let cluster = Snapshot::with(&[("theirs", "helm")]);
    let ran = cluster.run("adopt theirs").succeeds();
    assert!(ran.stdout.ends_with("operatorclaim.kctl.dev/camel-k.theirs created\n"), "{ran}");
    let row = cluster.row("theirs");
    assert_eq!((&row["claimed"], &row["managedBy"], &row["state"]), (&json!(true), &json!("helm"), &json!("active")));
    let again = cluster.run("adopt theirs").succeeds();
    assert_eq!(again.stdout, "operatorclaim.kctl.dev/camel-k.theirs unchanged\n");
    cluster.run("install -x theirs -n elsewhere --create-namespace --yes").exits(3);
    let theirs = cluster.run("uninstall -x theirs --yes").exits(3);
    assert!(theirs.stderr.contains("was not installed by kctl but by helm"), "{theirs}");
    assert!(theirs.stderr.contains("helm uninstall"), "{theirs}");
}

#[test]
fn all_marks_the_claims_complete_unless_an_id_is_used_twice() {
    let cluster = Snapshot::with(&[("one", "a"), ("two", "b"), ("twice", "c"), ("twice", "d")]);
    let ran = cluster.run("adopt --all").exits(1);
    assert!(ran.stdout.contains("camel-k.one created") && ran.stdout.contains("camel-k.two created"), "{ran}");
    assert!(ran.stdout.contains("camel-k.twice skipped"), "{ran}");
    assert!(ran.stderr.contains("2 operators use the id: c/camel-k-operator, d/camel-k-operator"), "{ran}");
    assert!(!cluster.text().contains("claims-complete"));
    let one = cluster.run("adopt twice").exits(3);
    assert!(one.stderr.contains("2 operators use the id"), "{one}");

    let cluster = Snapshot::with(&[("one", "a"), ("two", "b")]);
    cluster.run("adopt --all").succeeds();
    assert_eq!(cluster.text().matches("kctl.dev/claims-complete: ").count(), 2, "{}", cluster.text());
    let again = cluster.run("adopt --all").succeeds();
    assert!(again.stdout.lines().all(|line| line.ends_with(" unchanged")), "{again}");
}

#[test]
fn an_id_must_be_there_and_one_must_be_said() {
    let cluster = Snapshot::with(&[("theirs", "helm")]);
    let before = cluster.text();
    let ran = cluster.run("adopt their").exits(5);
    assert!(ran.stderr.contains("did you mean theirs?"), "{ran}");
    cluster.run("adopt").exits(2);
    cluster.run("adopt theirs --all").exits(2);
    assert_eq!(cluster.text(), before);
    let dry = cluster.run("adopt theirs --dry-run -o json").succeeds().json();
    assert_eq!((&dry["kind"], &dry["operation"]["dryRun"]), (&json!("OperationReport"), &json!("client")));
    assert_eq!(cluster.run("list-operators -o json").succeeds().json()["items"][0]["claimed"], false);
}

#[test]
fn install_tells_of_operators_without_a_claim() {
    let cluster = Snapshot::with(&[("theirs", "helm")]);
    let ran = cluster.run("install -x ours -n ops --create-namespace --yes").succeeds();
    assert!(ran.stderr.contains("operators without a claim: 1; claim their ids: kctl --from"), "{ran}");
    cluster.run("adopt --all").succeeds();
    let ran = cluster.run("install -x other -n ops --yes").succeeds();
    assert!(!ran.stderr.contains("without a claim"), "{ran}");
}
