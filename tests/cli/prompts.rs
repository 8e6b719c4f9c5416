//! Each prompt: yes, no, nothing, the end of input, Ctrl-C, and no terminal at all.

use std::{fs, path::Path};

use crate::{
    kctl::{Kctl, kctl},
    terminal::Terminal,
};

/// Each file of src/ that asks, and a command on the demo cluster that makes it ask.
const PROMPTS: &[(&str, &str)] = &[("commands/install/tenants.rs", "install -x tenant-b -n team-b")];

/// Files of src/ whose questions come only on a live cluster; the end-to-end tests answer them.
const LIVE: &[&str] =
    &["commands/switch_active/camel_k.rs", "commands/switch_active/prove.rs", "commands/switch_active/tigera.rs"];

/// What is typed, what it ends with, and what is said.
const ANSWERS: &[(&str, i32, &str)] = &[
    ("y\r", 0, "created"),
    ("Yes\r", 0, "created"),
    ("n\r", 3, "not confirmed; nothing was changed"),
    ("\r", 3, "not confirmed; nothing was changed"),
    ("perhaps\r", 3, "not confirmed; nothing was changed"),
    ("\x04", 3, "not confirmed; nothing was changed"),
    ("\x03", 130, "interrupted; nothing was changed"),
];

/// A command on a copy of the demo cluster, which it writes to.
struct Asking {
    folder: tempfile::TempDir,
    kctl: Kctl,
    before: String,
}

impl Asking {
    fn new(line: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cluster.yaml");
        fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo/cluster.yaml"), &path).expect("copied");
        let before = fs::read_to_string(&path).expect("readable");
        let kctl =
            kctl().dir(folder.path()).line(line).line("--from cluster.yaml --save cluster.yaml").env("TERM", "xterm");
        Self { folder, kctl, before }
    }

    fn is_changed(&self) -> bool {
        fs::read_to_string(self.folder.path().join("cluster.yaml")).expect("readable") != self.before
    }
}

#[test]
fn each_answer_to_each_prompt() {
    for (file, line) in PROMPTS {
        for (keys, code, said) in ANSWERS {
            let asking = Asking::new(line);
            let mut terminal = Terminal::new(asking.kctl.command(), 100);
            terminal.wait_for("[y/N] ");
            terminal.send(keys);
            let (seen, ended) = terminal.end();
            assert_eq!(ended, *code, "{file}, {keys:?}:\n{seen}");
            assert!(seen.contains(said), "{file}, {keys:?}:\n{seen}");
            assert!(seen.contains("context snapshot cluster.yaml, server "), "where, before the question:\n{seen}");
            assert_eq!(asking.is_changed(), *code == 0, "{file}, {keys:?}:\n{seen}");
            let error = seen.lines().find(|line| line.contains("error: ")).map(|line| line.trim_start_matches("^C"));
            assert!(
                error.is_none_or(|line| line.starts_with("error: ") || line.starts_with('\x1b')),
                "an own line: {seen:?}"
            );
        }
    }
}

#[test]
fn without_a_terminal_only_yes_goes_on() {
    for (_, line) in PROMPTS {
        let asking = Asking::new(line);
        let mut refused = asking.kctl.command();
        let output = refused.stdin(std::process::Stdio::null()).output().expect("run");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(
            stderr.contains("needs a confirmation and there is no terminal") && stderr.contains("--yes"),
            "{stderr}"
        );
        assert!(output.stdout.is_empty() && !asking.is_changed());

        let piped = Asking::new(line);
        let Asking { folder, kctl, before } = piped;
        kctl.stdin("y\n").run().exits(3);
        assert_eq!(
            fs::read_to_string(folder.path().join("cluster.yaml")).expect("readable"),
            before,
            "a piped yes is none"
        );

        let asking = Asking::new(&format!("{line} --yes"));
        let done = asking.kctl.command().output().expect("run");
        assert_eq!(done.status.code(), Some(0));
        assert!(asking.is_changed());
    }
}

/// A prompt that is added to the source has to be added above.
#[test]
fn every_prompt_is_here() {
    fn find(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("src").flatten() {
            let path = entry.path();
            if path.is_dir() {
                find(&path, found);
            } else if fs::read_to_string(&path).is_ok_and(|text| text.contains(".confirm(")) {
                found.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    find(&src, &mut found);
    found.sort();
    let named = PROMPTS.iter().map(|(file, _)| file).chain(LIVE);
    let named: Vec<String> = named.map(|file| src.join(file).to_string_lossy().into_owned()).collect();
    assert_eq!(found, named);
}
