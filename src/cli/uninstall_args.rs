//! The arguments of `uninstall`.

use std::time::Duration;

use clap::Args;

use super::{
    global::duration,
    install_args::DryRun,
    output::{OutputArgs, OutputFormat},
};

/// Remove an operator that kctl installed, and nothing of anybody else
///
/// Shows what is assigned to the operator and refuses to leave it without one, unless you say what is to become of it.
/// Only objects that carry the id and were made by kctl are deleted; the claim of the id goes last, so that running the
/// command again finishes an interrupted removal.
#[derive(Args, Clone, Debug)]
pub struct UninstallArgs {
    /// Id of the operator; with -n only its instance in that namespace, if that one is a standby
    #[arg(short = 'x', long, value_name = "ID")]
    pub operator_id: String,

    /// Assign its resources to this operator first
    #[arg(long, value_name = "ID", conflicts_with_all = ["leave", "delete_resources"], help_heading = "Resources")]
    pub move_to: Option<String>,

    /// Leave its resources as they are, without an operator; the id stays reserved
    #[arg(long, conflicts_with = "delete_resources", help_heading = "Resources")]
    pub leave: bool,

    /// Delete its resources: integrations stop
    #[arg(long, help_heading = "Resources")]
    pub delete_resources: bool,

    /// Delete the definitions of Camel K's kinds as well, once nothing of these kinds exists any more
    #[arg(long, help_heading = "Cluster", conflicts_with = "leave")]
    pub crds: bool,

    /// How long pods and objects may take to go
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub timeout: Duration,

    /// Say what would be done: `client` plans only, `server` has the API server check every write
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub dry_run: Option<DryRun>,

    /// Format of the report.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl UninstallArgs {
    /// Whether errors are JSON, too.
    pub fn wants_json(&self) -> bool {
        self.output.output == OutputFormat::Json
    }
}
