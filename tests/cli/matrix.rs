//! Made from the definition of the command line: each command in each output format, each writing command in each dry run.

use std::{collections::BTreeMap, fs};

use clap::Command;
use serde_json::Value;
use tempfile::TempDir;

use crate::kctl::{Ran, kctl};

/// How to run each command on the demo cluster. A command that is missing here fails the tests.
const LINES: &[(&str, &str)] = &[
    ("bind", "bind -x camel-k -n team-a timer:tick log:info --name ticks"),
    ("completion", "completion bash"),
    ("config view", "config view"),
    ("help", "help tenancy"),
    ("install", "install -x tenant-a -n team-a"),
    ("list-operators", "list-operators"),
    ("run", "run -x camel-k -n team-a hello.yaml"),
    ("version", "version"),
];

/// Commands that need operators at work, which no snapshot has.
const LIVE: &[&str] = &["switch-active"];

fn commands() -> Vec<(String, Command)> {
    fn leaves(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        for sub in command.get_subcommands() {
            let path = format!("{path} {}", sub.get_name()).trim().to_owned();
            if sub.has_subcommands() { leaves(sub, &path, found) } else { found.push((path, sub.clone())) }
        }
    }
    let mut found = Vec::new();
    leaves(&kctl::commands::command(), "", &mut found);
    found
}

fn line(path: &str) -> &'static str {
    let known = LINES.iter().find(|(command, _)| *command == path);
    known.unwrap_or_else(|| panic!("say in LINES how to run {path:?}")).1
}

/// The values that a flag of the command may have.
fn values(command: &Command, flag: &str) -> Vec<String> {
    let arg = command.get_arguments().find(|arg| arg.get_long() == Some(flag));
    arg.into_iter().flat_map(clap::Arg::get_possible_values).map(|value| value.get_name().to_owned()).collect()
}

/// A folder with the demo cluster.
fn demo() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for file in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo")).expect("the demo").flatten() {
        fs::copy(file.path(), folder.path().join(file.file_name())).expect("copied");
    }
    folder
}

fn run(folder: &TempDir, line: &str) -> Ran {
    kctl().dir(folder.path()).env("HOME", folder.path()).line(line).run()
}

fn documents(yaml: &str) -> Vec<Value> {
    yaml.split("---\n")
        .filter(|text| !text.trim().is_empty())
        .map(|text| serde_saphyr::from_str(text).expect("YAML"))
        .collect()
}

/// The one document, or the items of a List.
fn objects(json: Value) -> Vec<Value> {
    match json {
        Value::Object(mut list) if list.get("kind") == Some(&Value::from("List")) => {
            list.remove("items").and_then(|items| items.as_array().cloned()).expect("items")
        }
        one => vec![one],
    }
}

#[test]
fn each_command_in_each_format() {
    let mut seen = 0;
    for (path, command) in commands().into_iter().filter(|(path, _)| !LIVE.contains(&path.as_str())) {
        let line = line(&path);
        let folder = demo();
        let formats = values(&command, "output");
        let by_format: BTreeMap<&str, Ran> = formats
            .iter()
            .map(|format| {
                (format.as_str(), run(&folder, &format!("{line} --from cluster.yaml -o {format}")).succeeds())
            })
            .collect();
        seen += by_format.len();
        if formats.is_empty() {
            run(&folder, &format!("{line} --from cluster.yaml")).succeeds();
            continue;
        }
        let json: Value = by_format["json"].json();
        for object in objects(json.clone()) {
            assert!(object["apiVersion"].is_string() && object["kind"].is_string(), "{path}: {object}");
        }
        assert_eq!(documents(&by_format["yaml"].stdout), objects(json.clone()), "{path}: YAML and JSON say the same");
        if let Some(table) = by_format.get("table") {
            assert!(json["warnings"].is_array(), "{path} has warnings");
            let wide = &by_format["wide"];
            assert_eq!(table.stdout.lines().count(), wide.stdout.lines().count(), "{path}");
            assert!(by_format["name"].stdout.lines().all(|line| !line.contains(' ')), "{path}");
            let plain = run(&folder, &format!("{line} --from cluster.yaml --no-headers")).succeeds();
            let rows = table.stdout.split_once('\n').expect("a line of titles").1;
            assert_eq!(
                plain.stdout.split_whitespace().collect::<Vec<_>>(),
                rows.split_whitespace().collect::<Vec<_>>()
            );
        }
        let wrong = run(&folder, &format!("{line} --from cluster.yaml -o jsn")).exits(2);
        assert!(wrong.stderr.contains("did you mean 'json'"), "{wrong}");
    }
    assert!(seen >= 15, "{seen} formats");
}

#[test]
fn each_writing_command_in_each_dry_run() {
    let mut seen = 0;
    for (path, command) in commands() {
        let modes = values(&command, "dry-run");
        if modes.is_empty() || LIVE.contains(&path.as_str()) {
            continue;
        }
        let folder = demo();
        let at = |line: &str, save: &str| run(&folder, &format!("{line} --from cluster.yaml --save {save}"));
        at("list-operators", "untouched.yaml").succeeds();
        let untouched = fs::read_to_string(folder.path().join("untouched.yaml")).expect("saved");
        let mut promised = Vec::new();
        for mode in &modes {
            let dry = at(&format!("{} --dry-run={mode}", line(&path)), "dry.yaml").succeeds();
            let mark = if mode == "server" { " (server dry run)" } else { " (dry run)" };
            assert!(dry.stdout.lines().count() > 0, "{dry}");
            for line in dry.stdout.lines() {
                // A server cannot check what needs something that is itself only planned.
                assert!(line.ends_with(mark) || line.contains("(not checked: needs "), "{mark}: {dry}");
            }
            let after = fs::read_to_string(folder.path().join("dry.yaml")).expect("saved");
            assert_eq!(after, untouched, "{path} --dry-run={mode} changes nothing");
            promised.push(
                dry.stdout
                    .lines()
                    .map(|line| line.split(" (").next().unwrap_or_default().to_owned())
                    .collect::<Vec<_>>(),
            );
            seen += 1;
        }
        let diff = at(&format!("{} --dry-run --diff", line(&path)), "dry.yaml").succeeds();
        assert!(diff.stdout.contains("--- /dev/null\n+++ ") && diff.stdout.contains(" (dry run)\n"), "{diff}");
        let done = at(line(&path), "cluster.yaml").succeeds();
        let lines: Vec<String> = done.stdout.lines().map(str::to_owned).collect();
        assert_eq!(promised[0], lines, "{path}: the dry run says what is done");
        assert!(lines.iter().any(|line| line.ends_with(" created")), "{done}");
        let again = at(&format!("{} --diff", line(&path)), "cluster.yaml").succeeds();
        assert!(again.stdout.lines().all(|line| line.ends_with(" unchanged")), "{again}");
        let wrong = at(&format!("{} --dry-run=serve", line(&path)), "dry.yaml").exits(2);
        assert!(wrong.stderr.contains("did you mean 'server'"), "{wrong}");
    }
    assert!(seen >= 4, "{seen} dry runs");
}

#[test]
fn each_command_explains_itself() {
    for (path, _) in commands() {
        let folder = demo();
        let short = run(&folder, &format!("{path} --help")).succeeds();
        let long = run(&folder, &format!("help {path}")).succeeds();
        assert_eq!(short.stdout, long.stdout, "{path}");
        assert!(long.stdout.contains(&format!("Usage: kctl {path}")), "{long}");
        let wrong = run(&folder, &format!("{path} --no-such-flag")).exits(2);
        assert!(wrong.stderr.contains(&format!("hint: kctl {path} --help")), "{wrong}");
    }
}
