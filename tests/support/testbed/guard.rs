//! Processes that cannot outlive the tests, however those end.
//!
//! Each program runs under a shell that waits for the end of its standard input and then kills its whole process group. The
//! other end of that pipe is held by this process alone, so the kernel closes it after a normal end, a panic, Ctrl-C and
//! SIGKILL alike. Nothing else does: statics are never dropped, and a parent-death signal fires when the *thread* that
//! spawned the program ends, which the test runner's threads do all the time.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// `$0` is the stem of the log and of the file that tells that the program ended by itself; `$@` is the program.
const GUARD: &str = r#"{ "$@"; echo $? >"$0.exit"; } </dev/null >"$0.log" 2>&1 & read -r _; kill -9 0"#;

/// `$1` is the directory. Programs that are dying at this moment may still write into it, hence the loop.
const JANITOR: &str = r#"trap '' INT TERM HUP; read -r _; n=0
until rm -rf "$1" 2>/dev/null && [ ! -e "$1" ]; do n=$((n + 1)); [ $n -lt 100 ] || exit 1; sleep 0.1; done"#;

/// A shell that acts when its standard input closes. Dropping it closes the pipe and waits for the shell to finish.
struct PipeGuard(Child);

impl PipeGuard {
    fn spawn(command: &mut Command) -> io::Result<Self> {
        // A group of its own keeps the terminal's Ctrl-C away; no output stream is inherited, or a reader of the tests'
        // output would wait for the guard.
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command.spawn().map(Self)
    }
}

impl Drop for PipeGuard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // The guard of a program dies by its own SIGKILL; there is nothing to learn from how it ended.
        let _ = self.0.wait();
    }
}

/// A running program of the cluster. Dropping it kills the program.
pub struct Program {
    name: &'static str,
    stem: PathBuf,
    guard: PipeGuard,
}

impl Program {
    /// Starts `program` in directory `dir`; its output goes to `dir/NAME.log`.
    pub fn spawn(name: &'static str, program: &Path, args: &[String], dir: &Path) -> io::Result<Self> {
        let stem = dir.join(name);
        let mut command = Command::new("sh");
        command.arg("-c").arg(GUARD).arg(&stem).arg(program).args(args).current_dir(dir);
        PipeGuard::spawn(&mut command).map(|guard| Self { name, stem, guard })
    }

    /// What to report when the program ended by itself, with the end of its log.
    pub fn ended(&self) -> Option<String> {
        let code = fs::read_to_string(self.stem.with_extension("exit")).ok()?;
        Some(format!("{} ended with code {}; the end of its log:\n{}", self.name, code.trim(), self.log_tail()))
    }

    /// The last lines of the program's output.
    pub fn log_tail(&self) -> String {
        let log = fs::read(self.stem.with_extension("log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }

    /// The process group of the program and its guard.
    pub fn group(&self) -> u32 {
        self.guard.0.id()
    }
}

/// Removes a directory when it is dropped and also when this process dies.
pub struct Janitor {
    guard: PipeGuard,
}

impl Janitor {
    /// Takes `dir` into care.
    pub fn of(dir: &Path) -> io::Result<Self> {
        PipeGuard::spawn(Command::new("sh").args(["-c", JANITOR, "janitor"]).arg(dir)).map(|guard| Self { guard })
    }

    /// The process group of the shell.
    pub fn group(&self) -> u32 {
        self.guard.0.id()
    }
}
