//! How each shell asks and is answered.
//!
//! All scripts start kctl with the words of the line and get one candidate a line, a tab and a description behind it
//! where there is one. Those of bash, zsh and fish are written here; what the library makes for the other two fits.

use std::{ffi::OsString, io, path::Path};

use clap::{Command, ValueEnum};
use clap_complete::{
    engine::{self, CompletionCandidate},
    env::{Elvish, EnvCompleter, Powershell},
};

use super::names;
use crate::settings::vars;

/// Shells that can complete kctl's command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// bash 3.2 or newer
    Bash,
    /// zsh
    Zsh,
    /// fish 3.1 or newer
    Fish,
    /// PowerShell
    #[value(name = "powershell", alias = "pwsh")]
    PowerShell,
    /// elvish
    Elvish,
    /// kubectl, for the plugin
    #[value(skip)]
    Kubectl,
}

/// Name of the program in scripts: the one found in PATH, wherever this one is.
pub(super) const PROGRAM: &str = "kctl";

impl Shell {
    /// All, and the name of the file that packages install.
    pub const FILES: [(Self, &'static str); 6] = [
        (Self::Bash, "kctl.bash"),
        (Self::Zsh, "_kctl"),
        (Self::Fish, "kctl.fish"),
        (Self::PowerShell, "_kctl.ps1"),
        (Self::Elvish, "kctl.elv"),
        (Self::Kubectl, "kubectl_complete-kctl"),
    ];

    /// The script that makes the shell ask kctl.
    pub fn script(self) -> String {
        let mut text = Vec::new();
        // Writing to memory does not fail.
        let _ = Adapter { shell: self, index: None }.write_registration(
            vars::COMPLETE,
            PROGRAM,
            PROGRAM,
            PROGRAM,
            &mut text,
        );
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
        lines.join("\n") + "\n"
    }

    fn line(self, candidate: &CompletionCandidate) -> Option<String> {
        let value = candidate.get_value().to_str().filter(|value| !value.chars().any(char::is_control))?;
        let about = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        let about = names::clean(about.lines().next().unwrap_or_default());
        let value = match self {
            // Cobra puts the flag back itself.
            Self::Kubectl if value.starts_with('-') => value.split_once('=').map_or(value, |(_, value)| value),
            _ => value,
        };
        Some(if about.is_empty() || self == Self::Elvish { value.to_owned() } else { format!("{value}\t{about}") })
    }
}

/// A shell that asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adapter {
    /// The shell.
    pub(super) shell: Shell,
    /// Which of the words is being completed; the last one when it does not say.
    pub(super) index: Option<usize>,
}

impl EnvCompleter for Adapter {
    fn name(&self) -> &'static str {
        match self.shell {
            Shell::Bash => "bash",
            Shell::Zsh => "zsh",
            Shell::Fish => "fish",
            Shell::PowerShell => Powershell.name(),
            Shell::Elvish => Elvish.name(),
            Shell::Kubectl => "kubectl",
        }
    }

    fn is(&self, name: &str) -> bool {
        match self.shell {
            Shell::PowerShell => Powershell.is(name),
            _ => name == self.name(),
        }
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let script = match self.shell {
            Shell::Bash => include_str!("scripts/kctl.bash"),
            Shell::Zsh => include_str!("scripts/kctl.zsh"),
            Shell::Fish => include_str!("scripts/kctl.fish"),
            Shell::Kubectl => include_str!("scripts/kubectl_complete-kctl"),
            Shell::PowerShell => return Powershell.write_registration(var, name, bin, completer, out),
            Shell::Elvish => return Elvish.write_registration(var, name, bin, completer, out),
        };
        out.write_all(script.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        mut words: Vec<OsString>,
        current_dir: Option<&Path>,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let index = self.index.unwrap_or(words.len() - 1);
        if index >= words.len() {
            words.resize(index + 1, OsString::new());
        }
        let fresh_word = words[index].is_empty();
        if words[index] == "-" {
            // Long names say more.
            words[index] = "--".into();
        }
        let mut found = engine::complete(command, words, index, current_dir)?;
        // Flags are offered when there is nothing else, or when one is being typed.
        let is_flag = |candidate: &CompletionCandidate| candidate.get_value().as_encoded_bytes().starts_with(b"-");
        if fresh_word && found.iter().any(|candidate| !is_flag(candidate)) {
            found.retain(|candidate| !is_flag(candidate));
        }
        for line in found.iter().filter_map(|candidate| self.shell.line(candidate)) {
            writeln!(out, "{line}")?;
        }
        if self.shell == Shell::Kubectl {
            writeln!(out, ":{}", directive(&found))?;
        }
        Ok(())
    }
}

/// What cobra does with the answer: never offer files, and no blank behind a word that goes on.
fn directive(found: &[CompletionCandidate]) -> u8 {
    const NO_SPACE: u8 = 2;
    const NO_FILES: u8 = 4;
    let goes_on = |candidate: &CompletionCandidate| {
        candidate.get_value().as_encoded_bytes().last().is_some_and(|last| b"=/:.".contains(last))
    };
    if found.iter().any(goes_on) { NO_FILES + NO_SPACE } else { NO_FILES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_ask_by_the_name_of_the_program() {
        for (shell, file) in Shell::FILES {
            let script = shell.script();
            assert!(script.contains("KCTL_COMPLETE") && script.contains("kctl"), "{file}");
            assert!(!script.contains("/target/") && script.ends_with('\n') && !script.ends_with("\n\n"), "{file}");
        }
    }

    #[test]
    fn candidates_are_lines() {
        let candidate = |value: &str| CompletionCandidate::new(value).help(Some("two\nlines".into()));
        assert_eq!(Shell::Bash.line(&candidate("a")).as_deref(), Some("a\ttwo"));
        assert_eq!(Shell::Elvish.line(&candidate("a")).as_deref(), Some("a"));
        assert_eq!(Shell::Bash.line(&candidate("a\nb")), None);
        assert_eq!(Shell::Kubectl.line(&candidate("--context=a:b")).as_deref(), Some("a:b\ttwo"));
        assert_eq!(Shell::Zsh.line(&candidate("--context=a")).as_deref(), Some("--context=a\ttwo"));
    }

    #[test]
    fn a_word_that_goes_on_gets_no_blank() {
        assert_eq!(directive(&["a".into()]), 4);
        assert_eq!(directive(&["container.".into()]), 6);
        assert_eq!(directive(&[]), 4);
    }
}
