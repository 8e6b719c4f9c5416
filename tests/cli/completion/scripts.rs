//! The scripts themselves.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crate::kctl::kctl;

/// The shell, the file of its script, and how to print it.
const FILES: [(&str, &str); 6] = [
    ("bash", "kctl.bash"),
    ("zsh", "_kctl"),
    ("fish", "kctl.fish"),
    ("powershell", "_kctl.ps1"),
    ("elvish", "kctl.elv"),
    ("kubectl", "kubectl_complete-kctl"),
];

/// Set to anything, it makes the tests write the scripts instead of comparing them.
const UPDATE: &str = "KCTL_UPDATE_COMPLETIONS";

#[test]
fn the_checked_in_scripts_are_those_of_the_program() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
    for (shell, file) in FILES {
        let printed = if shell == "kubectl" {
            kctl().env("KCTL_COMPLETE", shell).run().succeeds().stdout
        } else {
            kctl().args(["completion", shell]).run().succeeds().stdout
        };
        let path = dir.join(file);
        if std::env::var_os(UPDATE).is_some() {
            fs::write(&path, &printed).expect("a script can be written");
            let mode = if shell == "kubectl" { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a script can be made executable");
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            kept, printed,
            "completions/{file} differs; write it anew: {UPDATE}=1 cargo test --test cli scripts"
        );
    }
    let mode = dir.join("kubectl_complete-kctl").metadata().expect("a script").permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "kubectl runs its script");
}

#[test]
fn a_shell_that_is_not_known_is_a_usage_error() {
    let ran = kctl().args(["completion", "tcsh"]).run().exits(2);
    assert!(ran.stderr.contains("bash, zsh, fish, powershell, elvish"), "{ran}");
    let ran = kctl().env("KCTL_COMPLETE", "tcsh").args(["list-operators"]).run().exits(2);
    assert!(ran.stderr.contains("unset KCTL_COMPLETE"), "{ran}");
}

#[test]
fn switched_off_it_is_an_ordinary_run() {
    for off in ["", "0"] {
        let ran = kctl().env("KCTL_COMPLETE", off).args(["--version"]).run().succeeds();
        assert!(ran.stdout.starts_with("kctl "), "{ran}");
    }
}
