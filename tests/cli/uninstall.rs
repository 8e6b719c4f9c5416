//! `uninstall` on snapshots: what it refuses, what it removes, and what it leaves alone.

use std::{fs, path::PathBuf};

use tempfile::TempDir;

use crate::kctl::{Ran, kctl};

/// A cluster in a file.
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

    /// With operators `tenant-a` in `ops` and `tenant-b` in `alt`, both of the whole cluster.
    fn with_two_operators(more: &str) -> Self {
        let namespaces = ["ops", "alt", "team"]
            .map(|name| format!("---\n{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}\n"));
        let cluster = Self::new(&format!("{}{more}", namespaces.concat()));
        cluster.run("install -x tenant-a -n ops --global --yes").succeeds();
        cluster.run("install -x tenant-b -n alt --global --yes").succeeds();
        cluster
    }

    fn run(&self, line: &str) -> Ran {
        let path = self.path.display();
        kctl().line(&format!("{line} --from {path} --save {path}")).run()
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).expect("readable")
    }
}

const ASSIGNED: &str = "---
apiVersion: camel.apache.org/v1
kind: Integration
metadata: {name: orders, namespace: team, annotations: {camel.apache.org/operator.id: tenant-a}}
spec: {flows: []}
";

/// In the namespace of a local operator, which takes what carries no id.
const UNANNOTATED: &str = "---
apiVersion: camel.apache.org/v1
kind: Integration
metadata: {name: legacy, namespace: ops}
spec: {flows: []}
";

#[test]
fn only_the_objects_of_the_id_go() {
    let cluster = Snapshot::with_two_operators("");
    let before = cluster.text();
    let ran = cluster.run("uninstall -x tenant-a --yes").succeeds();
    for line in [
        "deployment.apps/tenant-a-operator deleted",
        "clusterrole.rbac.authorization.k8s.io/kctl-camel-k-tenant-a deleted",
        "secret/tenant-a-install deleted",
    ] {
        assert!(ran.stdout.contains(&format!("{line}\n")), "{ran}");
    }
    assert!(ran.stdout.ends_with("operatorclaim.kctl.dev/camel-k.tenant-a deleted\n"), "{ran}");
    assert!(ran.stderr.contains("to install it again: kctl install -x tenant-a"), "{ran}");
    let after = cluster.text();
    assert!(!after.contains("tenant-a"), "{after}");
    assert_eq!(after.matches("tenant-b").count(), before.matches("tenant-b").count());
    assert!(after.contains("kctl-claim-reader"), "shared roles stay as long as tenant-b does");
    let again = cluster.run("uninstall -x tenant-a --yes").succeeds();
    assert_eq!(again.stdout, "operatorclaim.kctl.dev/camel-k.tenant-a unchanged\n");
    assert!(again.stderr.contains("did you mean tenant-b?"), "{again}");
    cluster.run("uninstall -x tenant-b --yes").succeeds();
    let after = cluster.text();
    assert!(!after.contains("kctl-claim-reader") && !after.contains("kctl-camel-k-view"), "{after}");
    assert!(after.contains("integrations.camel.apache.org"), "definitions stay without --crds");
}

#[test]
fn it_asks_and_no_answer_is_no() {
    let cluster = Snapshot::with_two_operators("");
    let before = cluster.text();
    let ran = cluster.run("uninstall -x tenant-a").exits(3);
    assert!(ran.stderr.contains("delete deployment.apps/tenant-a-operator in namespace ops"), "{ran}");
    assert!(ran.stderr.contains("--yes"), "{ran}");
    assert_eq!(cluster.text(), before);
}

#[test]
fn assigned_resources_need_a_decision() {
    let cluster = Snapshot::with_two_operators(ASSIGNED);
    let ran = cluster.run("uninstall -x tenant-a --yes").exits(3);
    assert!(ran.stderr.contains("1 Integration in namespace team: orders"), "{ran}");
    for flag in ["--move-to ID", "--leave", "--delete-resources"] {
        assert!(ran.stderr.contains(&format!("kctl uninstall -x tenant-a {flag}")), "{ran}");
    }
    let none = cluster.run("uninstall -x tenant-a --yes --move-to tenant-c").exits(5);
    assert!(none.stderr.contains("did you mean tenant-"), "{none}");
    cluster.run("uninstall -x tenant-a --yes --move-to tenant-a").exits(2);
    cluster.run("uninstall -x tenant-a --yes --leave --delete-resources").exits(2);
    let moved = cluster.run("uninstall -x tenant-a --yes --move-to tenant-b").succeeds();
    assert!(moved.stdout.starts_with("integration.camel.apache.org/orders configured\n"), "{moved}");
    assert!(cluster.text().contains("camel.apache.org/operator.id: tenant-b"), "{}", cluster.text());
}

#[test]
fn a_target_that_does_not_watch_the_namespace_is_refused() {
    let cluster = Snapshot::with_two_operators(ASSIGNED);
    cluster.run("install -x local -n alt --yes").succeeds();
    let before = cluster.text();
    let ran = cluster.run("uninstall -x tenant-a --yes --move-to local").exits(3);
    assert!(
        ran.stderr.contains("operator local would not take integration.camel.apache.org/orders in namespace team"),
        "{ran}"
    );
    assert_eq!(cluster.text(), before);
}

#[test]
fn unannotated_resources_are_listed_apart_and_stamped() {
    let text = format!("---\n{{apiVersion: v1, kind: Namespace, metadata: {{name: ops}}}}\n{UNANNOTATED}");
    let cluster = Snapshot::new(&text);
    cluster.run("install -x local -n ops --yes").succeeds();
    cluster.run("install -x tenant-b -n ops --global --yes").succeeds();
    let ran = cluster.run("uninstall -x local --yes").exits(3);
    assert!(ran.stderr.contains("assigned to local (carry no id, and it alone takes them):"), "{ran}");
    cluster.run("uninstall -x local --yes --move-to tenant-b").succeeds();
    assert!(cluster.text().contains("camel.apache.org/operator.id: tenant-b"));
}

#[test]
fn what_is_left_keeps_its_id_until_somebody_asks_for_it() {
    let cluster = Snapshot::with_two_operators(ASSIGNED);
    let ran = cluster.run("uninstall -x tenant-a --yes --leave").succeeds();
    assert!(ran.stdout.ends_with("operatorclaim.kctl.dev/camel-k.tenant-a configured\n"), "{ran}");
    assert!(cluster.text().contains("camel.apache.org/operator.id: tenant-a"));
    let again = cluster.run("uninstall -x tenant-a --yes --leave").succeeds();
    assert_eq!(again.stdout, "operatorclaim.kctl.dev/camel-k.tenant-a unchanged\n");
    let taken = cluster.run("install -x tenant-a -n alt --yes").exits(3);
    assert!(taken.stderr.contains("--reuse-id"), "{taken}");
    cluster.run("install -x tenant-a -n alt --global --yes --reuse-id").succeeds();
    let listed = cluster.run("list-operators -o json").succeeds().json();
    let row = listed["items"].as_array().and_then(|rows| rows.iter().find(|row| row["id"] == "tenant-a").cloned());
    assert_eq!(row.map(|row| row["state"].clone()), Some("active".into()), "{listed}");
    cluster.run("uninstall -x tenant-a --yes --delete-resources").succeeds();
    assert!(!cluster.text().contains("orders"));
}

#[test]
fn a_tombstone_goes_once_nothing_is_left() {
    let cluster = Snapshot::with_two_operators(ASSIGNED);
    cluster.run("uninstall -x tenant-a --yes --leave").succeeds();
    cluster.run("uninstall -x tenant-a --yes").exits(3);
    cluster.run("uninstall -x tenant-a --yes --move-to tenant-b").succeeds();
    assert!(!cluster.text().contains("tenant-a"), "{}", cluster.text());
}

#[test]
fn another_tools_operator_is_left_to_its_tool() {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo/cluster.yaml");
    let cluster = Snapshot::new(&fs::read_to_string(demo).expect("readable"));
    let ran = cluster.run("uninstall -x camel-k --yes").exits(3);
    assert!(ran.stderr.contains("kubectl delete deployment camel-k-operator -n camel-k"), "{ran}");
}

#[test]
fn an_id_edited_by_hand_is_refused_with_the_mend() {
    let cluster = Snapshot::with_two_operators("");
    let edited = cluster.text().replace("value: tenant-a", "value: tenant-z");
    fs::write(&cluster.path, &edited).expect("written");
    let ran = cluster.run("uninstall -x tenant-a --yes").exits(3);
    assert!(ran.stderr.contains("is labelled tenant-a, and its environment says tenant-z"), "{ran}");
    assert!(ran.stderr.contains("install -x tenant-a -n ops --force"), "{ran}");
}

#[test]
fn it_works_when_the_deployment_or_the_namespace_is_gone() {
    for kinds in [&["kind: Deployment"][..], &["namespace: ops", "kind: Namespace\nmetadata:\n  name: ops"]] {
        let cluster = Snapshot::with_two_operators("");
        let text = cluster.text();
        let gone = |document: &&str| {
            document.contains("tenant-b")
                || !kinds.iter().any(|kind| document.contains(kind))
                || document.contains("kind: OperatorClaim")
        };
        let kept: Vec<&str> = text.split("---\n").filter(gone).collect();
        fs::write(&cluster.path, kept.join("---\n")).expect("written");
        cluster.run("uninstall -x tenant-a --yes").succeeds();
        assert!(!cluster.text().contains("tenant-a"), "{kinds:?}: {}", cluster.text());
    }
}

#[test]
fn definitions_go_only_when_nothing_of_their_kinds_is_left() {
    let cluster = Snapshot::with_two_operators(ASSIGNED);
    let other = cluster.run("uninstall -x tenant-a --yes --delete-resources --crds").exits(3);
    assert!(other.stderr.contains("another operator is there"), "{other}");
    cluster.run("uninstall -x tenant-b --yes").succeeds();
    cluster.run("uninstall -x tenant-a --yes --leave --crds").exits(2);
    let text = cluster.text();
    let foreign = ASSIGNED.replace("tenant-a", "someone").replace("orders", "theirs");
    fs::write(&cluster.path, format!("{text}{foreign}")).expect("written");
    let used = cluster.run("uninstall -x tenant-a --yes --delete-resources --crds").exits(3);
    assert!(used.stderr.contains("1 integrations in namespace team"), "{used}");
    fs::write(&cluster.path, text).expect("written");
    let ran = cluster.run("uninstall -x tenant-a --yes --delete-resources --crds").succeeds();
    assert!(
        ran.stdout.contains("customresourcedefinition.apiextensions.k8s.io/integrations.camel.apache.org deleted"),
        "{ran}"
    );
    assert!(!cluster.text().contains("integrations.camel.apache.org"), "{}", cluster.text());
}

#[test]
fn the_report_tells_the_same() {
    let cluster = Snapshot::with_two_operators(ASSIGNED);
    let dry = cluster.run("uninstall -x tenant-a --move-to tenant-b --dry-run -o json").succeeds().json();
    assert_eq!(dry["operation"]["dryRun"], "client");
    let done = cluster.run("uninstall -x tenant-a --move-to tenant-b --yes -o json").succeeds().json();
    assert_eq!(done["changes"], dry["changes"]);
    assert_eq!((&done["kind"], &done["operation"]["result"]), (&"OperationReport".into(), &"done".into()));
    assert_eq!(done["undo"].as_str().map(|undo| undo.starts_with("kctl install -x tenant-a")), Some(true));
}
