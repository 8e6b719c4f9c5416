//! The commands of the guides that need a cluster, and the last step of the GitHub action.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::guide::{Environment, Guide, LIVE, shell};
use crate::testbed::{Cluster, Options};

/// Guides name their namespaces and ids: a cluster of their own.
#[test]
fn commands_on_a_cluster() {
    let cluster = Cluster::own(&Options::full());
    let admin = cluster.admin();
    let kubectl = cluster.program("kubectl");
    let environment = Environment { kubeconfig: Some(&admin.kubeconfig), programs: kubectl.parent() };
    let folder = tempfile::tempdir().expect("a folder");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let guide = Guide::read(&docs.join("platform-admin.md"));
    assert!(guide.commands().any(|(info, _)| info.contains(LIVE)), "the guide shows a cluster");
    guide.check(|info| info.contains(LIVE), |command| shell(command, folder.path(), environment));
}

/// As a runner would run it after kctl was installed.
#[test]
fn the_action_installs_an_operator() {
    let cluster = Cluster::full();
    let (admin, id, namespace) = (cluster.admin(), cluster.unique("action"), cluster.unique("action-ops"));
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/action.yml")).expect("readable");
    let action: Value = serde_saphyr::from_str(&text).expect("YAML");
    let script = action["runs"]["steps"].as_array().expect("steps").last().expect("a step")["run"].clone();
    let program = Path::new(env!("CARGO_BIN_EXE_kctl")).parent().expect("a folder").display().to_string();
    let output = Command::new("bash")
        .args(["-c", script.as_str().expect("a script")])
        .env("PATH", format!("{program}:{}", std::env::var("PATH").unwrap_or_default()))
        .env("KUBECONFIG", &admin.kubeconfig)
        .envs([("OPERATOR_ID", id.as_str()), ("NAMESPACE", namespace.as_str()), ("OPERATOR_VERSION", "")])
        .envs([("GLOBAL", "false"), ("REGISTRY", "r:5000"), ("TIMEOUT", "1m")])
        .output()
        .expect("bash");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains(&format!("deployment.apps/{id}-operator available")), "{said}");
    assert!(said.lines().any(|line| line.starts_with(&id)), "the list at the end: {said}");
}
