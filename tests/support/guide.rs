//! Running the commands of a guide: the `console` blocks of a Markdown file.
//!
//! A line `$ command` runs in the shell, in one folder per guide, so that commands follow one another. The lines below it
//! are what it prints, both streams together; a line `...` stands for any lines, `[..]` for any text in a line, and an age
//! at its end for any age. The word
//! behind `console` tells more: `console exits 3` for a command that fails, `console live` for one that needs a cluster.
//! With `KCTL_UPDATE=1` the file is written anew with what the commands print now.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Commands that need a live cluster are marked with this word.
pub const LIVE: &str = "live";

/// A Markdown file.
pub struct Guide {
    path: PathBuf,
    parts: Vec<Part>,
}

enum Part {
    Prose(String),
    Console { info: String, steps: Vec<Step> },
}

struct Step {
    command: String,
    output: String,
}

/// What the shell makes of a command line.
pub struct Answer {
    /// Both streams.
    pub output: String,
    /// The exit code.
    pub code: i32,
}

impl Guide {
    /// Reads the file.
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut parts = vec![Part::Prose(String::new())];
        let mut inside = false;
        for line in text.lines() {
            if !inside && line.starts_with("```console") {
                let info = line.trim_start_matches("```console").trim().to_owned();
                parts.push(Part::Console { info, steps: Vec::new() });
                inside = true;
            } else if inside && line == "```" {
                parts.push(Part::Prose(String::new()));
                inside = false;
            } else {
                add(parts.last_mut().expect("never empty"), line, path);
            }
        }
        Self { path: path.to_owned(), parts }
    }

    /// Runs the commands that `wanted` picks by the words behind `console`, and compares what they print.
    pub fn check(mut self, wanted: impl Fn(&str) -> bool, run: impl Fn(&str) -> Answer) {
        let mut wrong = String::new();
        for part in &mut self.parts {
            let Part::Console { info, steps } = part else { continue };
            if !wanted(info) {
                continue;
            }
            for step in steps {
                let answer = run(&step.command);
                let code = expected_code(info);
                if answer.code != code {
                    let _ = writeln!(
                        wrong,
                        "$ {}\nended with {}, not {code}:\n{}",
                        step.command, answer.code, answer.output
                    );
                }
                if !matches(&step.output, &answer.output) {
                    let _ = writeln!(
                        wrong,
                        "$ {}\n--- written\n{}--- printed\n{}",
                        step.command, step.output, answer.output
                    );
                    step.output = answer.output;
                }
            }
        }
        if std::env::var_os("KCTL_UPDATE").is_some() {
            fs::write(&self.path, self.text()).expect("written");
        } else {
            assert!(wrong.is_empty(), "{} (KCTL_UPDATE=1 writes it anew):\n{wrong}", self.path.display());
        }
    }

    /// Every command, with the words behind `console`.
    pub fn commands(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().flat_map(|part| match part {
            Part::Prose(_) => Vec::new(),
            Part::Console { info, steps } => steps.iter().map(|step| (info.as_str(), step.command.as_str())).collect(),
        })
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Prose(text) => out += text,
                Part::Console { info, steps } => {
                    let _ = writeln!(out, "{}", format!("```console {info}").trim_end());
                    for step in steps {
                        let _ = write!(out, "$ {}\n{}", step.command.replace('\n', "\n> "), step.output);
                    }
                    out += "```\n";
                }
            }
        }
        out
    }
}

fn add(part: &mut Part, line: &str, path: &Path) {
    match part {
        Part::Prose(text) => *text += &format!("{line}\n"),
        Part::Console { steps, .. } => {
            if let Some(command) = line.strip_prefix("$ ") {
                steps.push(Step { command: command.to_owned(), output: String::new() });
                return;
            }
            let step = steps.last_mut().unwrap_or_else(|| panic!("{}: output before a command", path.display()));
            match line.strip_prefix("> ") {
                Some(more) if step.output.is_empty() => step.command += &format!("\n{more}"),
                _ => step.output += &format!("{line}\n"),
            }
        }
    }
}

fn expected_code(info: &str) -> i32 {
    let mut words = info.split_whitespace();
    words.find(|word| *word == "exits").and_then(|_| words.next()).map_or(0, |code| code.parse().expect("an exit code"))
}

/// What commands find besides kctl.
#[derive(Clone, Copy, Debug, Default)]
pub struct Environment<'a> {
    /// The cluster of live commands.
    pub kubeconfig: Option<&'a Path>,
    /// A folder of other programs.
    pub programs: Option<&'a Path>,
}

/// Runs a command line in `dir`; `kctl` is the program under test.
pub fn shell(command: &str, dir: &Path, environment: Environment<'_>) -> Answer {
    let program = Path::new(env!("CARGO_BIN_EXE_kctl"));
    let mut path = std::ffi::OsString::new();
    for folder in program.parent().into_iter().chain(environment.programs) {
        path.push(folder);
        path.push(":");
    }
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(dir)
        .env_clear()
        .env("PATH", path)
        .env("HOME", dir)
        .envs(environment.kubeconfig.map(|path| ("KUBECONFIG", path)))
        .output()
        .expect("a shell");
    Answer { output: String::from_utf8_lossy(&output.stdout).into_owned(), code: output.status.code().unwrap_or(-1) }
}

/// Whether the text printed is the one written, with its wildcards.
fn matches(written: &str, printed: &str) -> bool {
    let written: Vec<&str> = written.lines().collect();
    let printed: Vec<&str> = printed.lines().collect();
    lines_match(&written, &printed)
}

fn lines_match(written: &[&str], printed: &[&str]) -> bool {
    match written {
        [] => printed.is_empty(),
        ["...", rest @ ..] => (0..=printed.len()).any(|skipped| lines_match(rest, &printed[skipped..])),
        [line, rest @ ..] => {
            printed.first().is_some_and(|first| line_matches(line, first)) && lines_match(rest, &printed[1..])
        }
    }
}

/// The line without an age at its end, which grows while the guide runs.
fn without_age(line: &str) -> &str {
    let line = line.trim_end();
    match line.rsplit_once(' ') {
        Some((before, age)) if age.strip_suffix(['s', 'm']).is_some_and(|number| number.parse::<u32>().is_ok()) => {
            before
        }
        _ => line,
    }
}

fn line_matches(written: &str, printed: &str) -> bool {
    let mut parts = without_age(written).split("[..]");
    let printed = without_age(printed);
    let Some(mut rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut open = false;
    for part in parts {
        open = true;
        if part.is_empty() {
            continue;
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        open = false;
    }
    open || rest.is_empty()
}

#[test]
fn wildcards() {
    assert!(matches("a\n...\nb\n", "a\nx\ny\nb\n"));
    assert!(matches("a\n...\n", "a\n"));
    assert!(!matches("a\n...\nb\n", "a\nx\n"));
    assert!(matches("age   2s\n", "age   15s\n"));
    assert!(matches("id [..]\n", "id 5f\n"));
    assert!(matches("id [..] x\n", "id 5f x\n"));
    assert!(!matches("id [..] x\n", "id 5f y\n"));
    assert!(!matches("", "a\n"));
    assert!(!matches("id\n", "id 5f\n"));
    assert_eq!(expected_code("live exits 3"), 3);
    assert_eq!(expected_code(""), 0);
}
