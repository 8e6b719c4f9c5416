//! The arguments of `adopt`.

use clap::Args;

use super::{
    install_args::DryRun,
    output::{OutputArgs, OutputFormat},
};

/// Claim the ids of operators that something else installed
///
/// Writes a claim for an operator of Helm, OLM, kustomize or anything else, so that nobody installs a second one under its
/// id. The operator itself is not touched. Ids that several operators use are reported, and stay without a claim.
#[derive(Args, Clone, Debug)]
pub struct AdoptArgs {
    /// Id of the operator
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    pub operator_id: Option<String>,

    /// All operators; marks the claims as complete, so that `run` relies on them alone
    #[arg(long)]
    pub all: bool,

    /// Say what would be done: `client` plans only, `server` has the API server check every write
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub dry_run: Option<DryRun>,

    /// Format of the report.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl AdoptArgs {
    /// Whether errors are JSON, too.
    pub fn wants_json(&self) -> bool {
        self.output.output == OutputFormat::Json
    }
}
