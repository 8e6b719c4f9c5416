//! Arguments of `install` that change an operator as a whole.

use clap::Args;

/// What becomes of the settings of an earlier install.
#[derive(Args, Clone, Debug)]
pub struct ChangeArgs {
    /// Go back to defaults for everything that is not named
    #[arg(long, conflicts_with_all = ["like", "standby"], help_heading = "Change")]
    pub reset: bool,

    /// Print the settings that are kept, and do nothing
    #[arg(long, conflicts_with_all = ["reset", "like", "output", "dry_run", "wait"], help_heading = "Change")]
    pub show_settings: bool,
}
