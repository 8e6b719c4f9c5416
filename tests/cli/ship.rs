//! What a release is made of: the workflow, the action, the manifest for krew, the licence checks.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::kctl::kctl;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn yaml(file: &str) -> Value {
    let text = fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Each platform of the release workflow with the archive it packs.
fn archives() -> Vec<(String, String)> {
    let workflow = yaml(".github/workflows/release.yml");
    let matrix = workflow["jobs"]["build"]["strategy"]["matrix"]["include"].as_array().expect("a matrix").clone();
    let archive = |target: &str| {
        let ending = if target.contains("windows") { "zip" } else { "tar.gz" };
        (target.to_owned(), format!("kctl-{target}.{ending}"))
    };
    matrix.iter().map(|entry| archive(entry["target"].as_str().expect("a target"))).collect()
}

#[test]
fn krew_gets_every_platform_with_its_checksum() {
    let folder = tempfile::tempdir().expect("a folder");
    let sums: String =
        archives().iter().enumerate().map(|(at, (_, archive))| format!("{:064x}  {archive}\n", at + 1)).collect();
    let path = folder.path().join("SHA256SUMS");
    fs::write(&path, sums).expect("written");
    let render =
        |sums: &Path| Command::new(root().join("plugins/render.sh")).arg("v0.1.0").arg(sums).output().expect("a shell");
    let rendered = render(&path);
    assert!(rendered.status.success(), "{}", String::from_utf8_lossy(&rendered.stderr));
    let text = String::from_utf8(rendered.stdout).expect("text");
    assert!(!text.contains('@'), "{text}");
    let plugin: Value = serde_saphyr::from_str(&text).expect("YAML");
    assert_eq!(
        (plugin["metadata"]["name"].as_str(), plugin["spec"]["version"].as_str()),
        (Some("kctl"), Some("v0.1.0"))
    );
    let platforms = plugin["spec"]["platforms"].as_array().expect("platforms");
    assert_eq!(platforms.len(), archives().len());
    for (at, (target, archive)) in archives().iter().enumerate() {
        let platform = platforms
            .iter()
            .find(|platform| platform["uri"].as_str().is_some_and(|uri| uri.ends_with(&format!("/v0.1.0/{archive}"))))
            .unwrap_or_else(|| panic!("{target} is not in plugins/kctl.yaml"));
        assert_eq!(platform["sha256"], format!("{:064x}", at + 1));
        let os = ["linux", "darwin", "windows"].into_iter().find(|os| target.contains(os)).expect("an OS");
        assert_eq!(platform["selector"]["matchLabels"]["os"], os);
        let arch = if target.starts_with("x86_64") { "amd64" } else { "arm64" };
        assert_eq!(platform["selector"]["matchLabels"]["arch"], arch);
        assert_eq!(platform["bin"], if os == "windows" { "kctl.exe" } else { "kctl" });
    }
    fs::write(&path, "").expect("written");
    let without = render(&path);
    assert!(!without.status.success() && without.stdout.is_empty(), "no checksum, no manifest");
}

#[test]
fn linux_is_static_and_every_archive_is_packed_with_its_pages() {
    let targets: Vec<String> = archives().into_iter().map(|(target, _)| target).collect();
    assert!(targets.iter().all(|target| !target.contains("linux") || target.ends_with("-musl")), "{targets:?}");
    for part in ["linux", "darwin", "windows"] {
        assert!(targets.iter().any(|target| target.contains(part)), "{part}");
    }
    let workflow = fs::read_to_string(root().join(".github/workflows/release.yml")).expect("readable");
    for part in ["--profile dist", "sha256sum", "LICENSE", "man completions"] {
        assert!(workflow.contains(part), "{part}");
    }
    let action = fs::read_to_string(root().join("action.yml")).expect("readable");
    for target in targets {
        assert!(action.contains(&format!("target={target}")), "the action knows {target}");
    }
}

/// The action's last step, as a runner would run it, on no cluster: the command line it makes is understood.
#[cfg(unix)]
#[test]
fn the_action_installs_with_flags_that_exist() {
    let action = yaml("action.yml");
    let steps = action["runs"]["steps"].as_array().expect("steps");
    let script = steps.last().and_then(|step| step["run"].as_str()).expect("a script");
    let folder = tempfile::tempdir().expect("a folder");
    let said = folder.path().join("kctl");
    fs::write(&said, "#!/bin/sh\necho \"$@\"\n").expect("written");
    fs::set_permissions(&said, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let inputs = [
        ("OPERATOR_ID", "tenant-a"),
        ("NAMESPACE", "ops"),
        ("OPERATOR_VERSION", "2.9.0"),
        ("GLOBAL", "true"),
        ("REGISTRY", "r:5000"),
        ("TIMEOUT", "3m"),
    ];
    let output = Command::new("bash").args(["-c", script]).env("PATH", path).envs(inputs).output().expect("bash");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = lines.lines().next().expect("a command line").to_owned();
    for word in ["-x|--operator-id tenant-a", "--global", "--operator-version 2.9.0", "--wait", "--registry r:5000"] {
        assert!(word.split('|').any(|word| line.contains(word)), "{word}: {line}");
    }
    // Everything but the wait, which a snapshot cannot do.
    let line = line.replace(" --wait", "");
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo/cluster.yaml");
    let ran = kctl().line(&format!("{line} --dry-run --yes --from {demo}")).run().succeeds();
    assert!(ran.stdout.contains("deployment.apps/tenant-a-operator created (dry run)"), "{ran}");
}

#[test]
fn licences_bans_and_sources_are_checked() {
    let deny = fs::read_to_string(root().join("deny.toml")).expect("readable");
    for section in ["[licenses]", "[bans]", "[sources]"] {
        assert!(deny.contains(section), "{section}");
    }
    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("readable");
    let banned = deny.lines().filter_map(|line| line.trim().strip_prefix("{ crate = \"")?.split('"').next());
    let banned: Vec<&str> = banned.collect();
    assert!(banned.len() > 3, "{banned:?}");
    for name in banned {
        assert!(!lock.contains(&format!("name = \"{name}\"\n")), "{name} is banned and in Cargo.lock");
    }
}

/// Whether a licence expression can be met with the allowed ones: `(MIT OR Apache-2.0) AND Unicode-3.0`.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    fn alternatives<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>, allowed: &[&str]) -> bool {
        let mut any = all(words, allowed);
        while words.next_if_eq(&"OR").is_some() {
            any |= all(words, allowed);
        }
        any
    }
    fn all<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>, allowed: &[&str]) -> bool {
        let mut every = one(words, allowed);
        while words.next_if_eq(&"AND").is_some() {
            every &= one(words, allowed);
        }
        every
    }
    fn one<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>, allowed: &[&str]) -> bool {
        let Some(word) = words.next() else { return false };
        if word == "(" {
            let inner = alternatives(words, allowed);
            words.next_if_eq(&")");
            return inner;
        }
        match words.next_if_eq(&"WITH").and_then(|_| words.next()) {
            Some(exception) => allowed.contains(&format!("{word} WITH {exception}").as_str()),
            None => allowed.contains(&word),
        }
    }
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    alternatives(&mut spaced.split_whitespace().peekable(), allowed)
}

#[test]
fn every_crate_is_under_an_allowed_licence_and_from_the_registry() {
    let deny = fs::read_to_string(root().join("deny.toml")).expect("readable");
    let list = deny.split_once("allow = [").expect("a list").1.split_once(']').expect("its end").0;
    let allowed: Vec<&str> = list.split(',').map(|word| word.trim().trim_matches('"')).collect();
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0", &allowed));
    assert!(is_allowed("Apache-2.0 WITH LLVM-exception OR GPL-3.0", &allowed));
    assert!(!is_allowed("MIT AND GPL-3.0", &allowed) && !is_allowed("LGPL-2.1-or-later", &allowed));
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform"])
        .arg("x86_64-unknown-linux-gnu")
        .current_dir(root())
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 100);
    for package in packages {
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(is_allowed(licence, &allowed), "{}: {licence:?}", package["name"]);
        let source = package["source"].as_str();
        assert!(source.is_none_or(|source| source.starts_with("registry+")), "{}: {source:?}", package["name"]);
    }
}
