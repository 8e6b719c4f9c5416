//! The arguments of `help`.

use clap::Args;

/// Topics that are no command.
pub const TOPICS: &[&str] = &["environment", "exit-codes", "output", "tenancy"];

/// Explain a command or a topic
///
/// Topics: environment (variables and the config file), exit-codes, output (formats and streams), tenancy (ids, owners,
/// claims).
#[derive(Args, Clone, Debug)]
pub struct HelpArgs {
    /// A command with its subcommands, or a topic
    #[arg(value_name = "COMMAND|TOPIC")]
    pub words: Vec<String>,
}
