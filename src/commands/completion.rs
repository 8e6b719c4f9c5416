//! `kctl completion`: what makes a shell complete kctl's command line.

use clap::Args;

use super::Session;
use crate::{cli::complete::Shell, error::Exit};

/// Print the script that lets a shell complete commands, flags and names from the cluster
///
/// bash:        source <(kctl completion bash)
///
/// zsh:         source <(kctl completion zsh), after compinit
///
/// fish:        kctl completion fish | source
///
/// PowerShell:  kctl completion powershell | Out-String | Invoke-Expression
///
/// elvish:      eval (kctl completion elvish | slurp)
///
/// Put the line into the shell's start-up file, so that script and program always fit. Names come from the cluster
/// that --context, --kubeconfig, --namespace and --from on the line lead to, and are kept for a minute.
#[derive(Args, Clone, Copy, Debug)]
pub struct CompletionArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl CompletionArgs {
    /// Prints the script.
    pub fn run(self, session: &Session<'_>) -> Exit {
        session.ui.data(&self.shell.script());
        Exit::Done
    }
}
