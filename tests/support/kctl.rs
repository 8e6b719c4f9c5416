//! Running the program under test.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// Much longer than any command takes: it is there so that a hanging command fails its test and not the whole run.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A command line of kctl in an environment that has only what is said here: an empty home, no KUBECONFIG.
pub struct Kctl {
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    dir: Option<PathBuf>,
    home: TempDir,
}

/// A kctl without arguments.
pub fn kctl() -> Kctl {
    let home = tempfile::tempdir().expect("a directory can be made");
    Kctl { args: Vec::new(), env: Vec::new(), stdin: Vec::new(), dir: None, home }
}

impl Kctl {
    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Adds the words of `line` as arguments.
    pub fn line(self, line: &str) -> Self {
        self.args(line.split_whitespace())
    }

    /// Sets a variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets KUBECONFIG.
    pub fn kubeconfig(self, path: &Path) -> Self {
        self.env("KUBECONFIG", path)
    }

    /// Gives the command something to read.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = text.into();
        self
    }

    /// Runs the command in `dir`.
    pub fn dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_owned());
        self
    }

    /// The empty home directory.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The plain command, to be spawned by a test that stops or kills it. The home directory lives as long as `self`.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kctl"));
        command.args(&self.args).env_clear();
        for name in ["PATH", "TMPDIR"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("HOME", self.home.path()).envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command
    }

    /// Runs the command to its end.
    pub fn run(self) -> Ran {
        let mut command = assert_cmd::Command::from_std(self.command());
        let output = command.timeout(TIMEOUT).write_stdin(self.stdin.clone()).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run kctl: {error}"));
        let args: Vec<_> = self.args.iter().map(|arg| arg.to_string_lossy()).collect();
        Ran {
            line: format!("kctl {}", args.join(" ")),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
        }
    }
}

/// How a command ended.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The command line.
    pub line: String,
    pub stdout: String,
    pub stderr: String,
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        write!(f, "$ {}\n{}--- stderr\n{}--- ended with {code}", self.line, self.stdout, self.stderr)
    }
}

impl Ran {
    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n{self}\n");
        self
    }

    /// Asserts exit code 0.
    #[track_caller]
    pub fn succeeds(self) -> Self {
        self.exits(0)
    }

    /// stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON: {error}\n{self}\n"))
    }
}
