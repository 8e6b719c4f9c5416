//! The programs of the cluster: found, built, or a clear word about what is missing.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::testbed::{BUILD_COMMAND, Cluster, Programs};

const BUILD_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/control-plane/build.sh");

/// The build script with an empty cache.
fn build_script(cache: &Path, path: &str) -> Output {
    let mut command = Command::new("/bin/sh");
    command.arg(BUILD_SCRIPT).env("KCTL_TEST_CACHE", cache).env_remove("KUBEBUILDER_ASSETS").env("PATH", path);
    command.output().expect("the script runs")
}

/// A folder with what the script needs, and `go` if there is one to be.
fn tools(dir: &Path, go: Option<&str>) -> String {
    let path = env::var_os("PATH").expect("a PATH");
    for tool in
        ["sh", "dirname", "cat", "uname", "cut", "sed", "head", "mkdir", "sha256sum", "shasum", "mktemp", "rm", "tr"]
    {
        let found = env::split_paths(&path).map(|folder| folder.join(tool)).find(|path| path.is_file());
        if let Some(found) = found {
            std::os::unix::fs::symlink(found, dir.join(tool)).expect("a link");
        }
    }
    if let Some(script) = go {
        fs::write(dir.join("go"), format!("#!/bin/sh\n{script}\n")).expect("a file");
        let status = Command::new("chmod").arg("+x").arg(dir.join("go")).status();
        assert!(status.expect("chmod runs").success());
    }
    dir.display().to_string()
}

#[test]
fn without_go_or_with_an_old_one_the_build_says_so_in_one_line() {
    let old = r#"[ "$1" = version ] && echo "go version go1.21.0 linux/amd64" || exit 1"#;
    for (go, complaint) in [(None, "no 'go' in PATH"), (Some(old), "'go1.21.0' is too old")] {
        let (cache, bin) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let output = build_script(cache.path(), &tools(bin.path(), go));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.contains(complaint) && stderr.contains("Go 1.26.0 or newer") && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
}

#[test]
fn without_programs_a_test_fails_with_the_command_that_builds_them() {
    let empty = tempfile::tempdir().expect("a directory");
    let output = Command::new(env::current_exe().expect("a path"))
        .args(["--exact", "harness::programs::the_shared_cluster_answers"])
        .env("KCTL_TEST_CACHE", empty.path())
        .env_remove("KUBEBUILDER_ASSETS")
        .output()
        .expect("the test binary runs");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{stdout}");
    assert!(stdout.contains(&format!("run: {BUILD_COMMAND}")) && stdout.contains("kube-apiserver"), "{stdout}");
}

#[test]
fn the_shared_cluster_answers() {
    assert_eq!(Cluster::shared().get("/version")["major"], "1");
}

#[test]
fn ready_programs_are_preferred() {
    let programs = Programs::find().unwrap_or_else(|error| panic!("{error}"));
    let assets = tempfile::tempdir().expect("a directory");
    std::os::unix::fs::symlink(programs.path("etcd"), assets.path().join("etcd")).expect("a link");
    let programs = programs.with_assets(Some(assets.path()));
    assert_eq!(programs.path("etcd"), assets.path().join("etcd"));
    assert_eq!(programs.path("kwok"), programs.folder().join("kwok"));
}
