//! Real shells that complete command lines.
//!
//! Two ways, neither of which looks at a screen. *Ask* calls the completion function without a terminal and returns
//! what it offers. *Typed* types a line with a Tab into an interactive shell; a program called kctl in its PATH notes
//! the arguments it was run with.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use expectrl::{Expect, Session};
use tempfile::TempDir;

/// Much longer than any shell takes.
const TIMEOUT: Duration = Duration::from_secs(30);
const PROMPT: &str = "READY> ";

/// A shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// The shells of the tests.
pub const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// A place to complete in: an empty home, a kctl in PATH, and the variables given.
pub struct Desk {
    home: TempDir,
    env: Vec<(OsString, OsString)>,
}

/// An empty desk.
pub fn desk() -> Desk {
    let home = tempfile::tempdir().expect("a directory can be made");
    // On a busy machine an answer may take longer than a user would wait.
    let desk = Desk { home, env: vec![("KCTL_COMPLETE_TIMEOUT".into(), "20s".into())] };
    fs::create_dir(desk.bin()).expect("a directory can be made");
    // The real one completes; when a line is run its arguments are noted, and the file appears complete.
    let shim = format!(
        "#!/bin/sh\n[ -n \"$KCTL_COMPLETE\" ] && exec '{}' \"$@\"\nfor word; do printf '%s\\n' \"$word\"; done >\"$HOME/ran.new\"\n\
         mv \"$HOME/ran.new\" \"$HOME/ran\"\n",
        env!("CARGO_BIN_EXE_kctl")
    );
    let path = desk.bin().join("kctl");
    fs::write(&path, shim).expect("a file can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file can be made executable");
    desk
}

impl Desk {
    /// Sets a variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// The home directory; shells start there.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    fn bin(&self) -> PathBuf {
        self.home.path().join("bin")
    }

    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs = std::iter::once(self.bin()).chain(std::env::split_paths(&path));
        command.env_clear().env("PATH", std::env::join_paths(dirs).expect("folders of PATH"));
        command.env("HOME", self.home()).env("TERM", "xterm").env("LC_ALL", "C.UTF-8").current_dir(self.home());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// kctl as a completion script starts it.
    pub fn kctl(&self, words: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_kctl"));
        command.env("KCTL_COMPLETE", "fish").args(["--", "kctl"]).args(words);
        command
    }

    /// The values that kctl offers for the last word, without descriptions. Fails when it says anything besides.
    #[track_caller]
    pub fn offers(&self, words: &[&str]) -> Vec<String> {
        values(&self.described(words))
    }

    /// What kctl offers for the last word, a tab and the description behind each value that has one.
    #[track_caller]
    pub fn described(&self, words: &[&str]) -> Vec<String> {
        let output = self.kctl(words).output().expect("kctl can be run");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "completing {words:?}");
        assert!(output.status.success(), "completing {words:?}: {}", output.status);
        lines(&output.stdout)
    }

    /// What the shell's completion function offers for the end of `line`.
    #[track_caller]
    pub fn ask(&self, shell: Shell, line: &str) -> Vec<String> {
        let mut command = self.command(shell.program());
        command.args(shell.plain_options()).arg("-c").arg(shell.question()).arg("kctl-test").arg(line);
        if shell == Shell::Bash {
            command.args(bash_words(line));
        }
        command.env("SCRIPT", shell.script()).stdin(Stdio::null());
        let output = command.output().unwrap_or_else(|error| panic!("{}", shell.missing(&error)));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{shell:?}: {line}");
        values(&lines(&output.stdout))
    }

    /// The arguments that kctl is run with when `line` and a Tab are typed.
    #[track_caller]
    pub fn typed(&self, shell: Shell, line: &str) -> Vec<String> {
        let ran = self.home().join("ran");
        let _ = fs::remove_file(&ran);
        let mut command = self.command(shell.program());
        command.env("SCRIPT", shell.script()).env("ZDOTDIR", self.home());
        match shell {
            Shell::Bash => {
                let start = format!("PS1='{PROMPT}'\nbind 'set bell-style none'\nsource \"$SCRIPT\"\n");
                fs::write(self.home().join("start"), start).expect("a file can be written");
                command.args(["--noprofile", "--rcfile", "start", "-i"]);
            }
            Shell::Zsh => {
                let start = format!(
                    "PS1='{PROMPT}'\nautoload -Uz compinit\ncompinit -u -D\nsource \"$SCRIPT\"\nunsetopt beep\n"
                );
                fs::write(self.home().join(".zshrc"), start).expect("a file can be written");
                command.args(["-d", "-i"]);
            }
            Shell::Fish => {
                let start = format!("function fish_prompt\nprintf '{PROMPT}'\nend\nsource $SCRIPT");
                command.args(["--no-config", "-i", "-C"]).arg(start);
            }
        }
        let mut session = Session::spawn(command).unwrap_or_else(|error| panic!("{}", shell.missing(&error)));
        session.set_expect_timeout(Some(TIMEOUT));
        session.expect(PROMPT).unwrap_or_else(|error| panic!("{shell:?} shows no prompt: {error}"));
        session.write_all(format!("{line}\t\r").as_bytes()).expect("the shell listens");
        session.flush().expect("the shell listens");
        let started = Instant::now();
        while !ran.exists() {
            assert!(started.elapsed() < TIMEOUT, "{shell:?}: {line:?} ran nothing");
            // Keeps the terminal from filling up.
            let _ = session.check(PROMPT);
            std::thread::sleep(Duration::from_millis(10));
        }
        lines(&fs::read(&ran).expect("the arguments"))
    }
}

impl Shell {
    fn program(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
        }
    }

    /// The checked-in script.
    pub fn script(self) -> PathBuf {
        let file = match self {
            Self::Bash => "kctl.bash",
            Self::Zsh => "_kctl",
            Self::Fish => "kctl.fish",
        };
        Path::new(env!("CARGO_MANIFEST_DIR")).join("completions").join(file)
    }

    fn plain_options(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["--norc", "--noprofile"],
            Self::Zsh => &["-f"],
            Self::Fish => &["--no-config"],
        }
    }

    /// Gets the line as its first argument.
    fn question(self) -> &'static str {
        match self {
            // The pieces of the line follow, as bash parts it.
            Self::Bash => {
                r#"source "$SCRIPT"; COMP_LINE=$1; COMP_POINT=${#1}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
                   last=${COMP_WORDS[COMP_CWORD]}; [[ $last == [=:] ]] && last=
                   _kctl kctl "$last" "${COMP_WORDS[COMP_CWORD - 1]}"; for word in "${COMPREPLY[@]}"; do printf '%s\n' "$word"; done"#
            }
            Self::Zsh => {
                r#"compdef() { :; }; source "$SCRIPT"
                   _describe() {
                       local one
                       for one in "${(@P)3}"; do one=${one//\\:/$'\1'}; one=${one%%:*}; print -r -- "${one//$'\1'/:}"; done
                   }
                   words=(${(z)1}); [[ $1 == *' ' ]] && words+=('')
                   CURRENT=$#words PREFIX=$words[-1]; _kctl; true"#
            }
            Self::Fish => r#"source $SCRIPT; complete -C "$argv[2]""#,
        }
    }

    fn missing(self, error: &dyn std::fmt::Display) -> String {
        format!(
            "cannot run {}: {error}; run tests/support/shells.sh, which installs the shells or says how",
            self.program()
        )
    }
}

/// Parts a line as bash does for completion: at blanks, and around = and :.
fn bash_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in line.chars() {
        match c {
            ' ' | '=' | ':' => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                if c != ' ' {
                    words.push(c.to_string());
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() || line.ends_with(' ') {
        words.push(word);
    }
    words
}

fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}

fn values(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}
