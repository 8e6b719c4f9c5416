//! Every command of the guides in docs/ runs and prints what is written there.

use std::{fs, path::PathBuf};

use crate::guide::{Environment, Guide, LIVE, shell};

fn docs() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
    let files = fs::read_dir(folder).expect("docs").flatten().map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    files.sort();
    files
}

/// Runs a guide in a folder with what examples/demo holds.
fn check(name: &str) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    for file in fs::read_dir(root.join("examples/demo")).expect("the demo").flatten() {
        fs::copy(file.path(), folder.path().join(file.file_name())).expect("copied");
    }
    let guide = Guide::read(&root.join("docs").join(name));
    guide.check(|info| !info.contains(LIVE), |command| shell(command, folder.path(), Environment::default()));
}

#[test]
fn platform_admin() {
    check("platform-admin.md");
}

#[test]
fn tenant_developer() {
    check("tenant-developer.md");
}

#[test]
fn ci_and_gitops() {
    check("ci-and-gitops.md");
}

#[test]
fn on_call() {
    check("on-call.md");
}

#[test]
fn moving_calico() {
    check("moving-calico.md");
}

#[test]
fn settings() {
    check("settings.md");
}

/// A guide that nobody runs, or a command outside of a `console` block, would rot.
#[test]
fn nothing_is_left_out() {
    let known =
        ["README", "ci-and-gitops", "moving-calico", "on-call", "platform-admin", "settings", "tenant-developer"];
    for path in docs() {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(known.contains(&name.as_str()), "{name} has no test here");
        let text = fs::read_to_string(&path).expect("readable");
        let mut fence: Option<String> = None;
        for line in text.lines() {
            if line.starts_with("```") {
                fence = if fence.is_some() { None } else { Some(line.to_owned()) };
            } else if line.trim_start().starts_with("$ kctl")
                || line.trim_start().starts_with("kctl ") && fence.is_some()
            {
                let fence = fence.clone().unwrap_or_default();
                let code = fence.starts_with("```yaml") || fence.starts_with("```console");
                assert!(code, "{name}: {line:?} stands in no console block");
            }
        }
        if name != "README" {
            assert!(Guide::read(&path).commands().count() > 2, "{name} shows commands");
        }
    }
}
