//! `-o` of the commands that report.

use clap::{Args, ValueEnum};

/// How the report is printed.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct OutputArgs {
    /// Format of the report
    #[arg(short, long, value_name = "FORMAT", default_value = "table", hide_default_value = true)]
    pub output: OutputFormat,

    /// Leave the line of column names out
    #[arg(long)]
    pub no_headers: bool,
}

/// Formats of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Columns
    #[default]
    Table,
    /// More columns
    Wide,
    /// One JSON document
    Json,
    /// One YAML document
    Yaml,
    /// Names only, one a line
    Name,
}
