//! Printing a report the way the user asked for.

use crate::{
    cli::output::{OutputArgs, OutputFormat},
    error::Result,
    report::{self, Format, Report},
    ui::Ui,
};

/// Prints a report to stdout.
///
/// # Errors
/// A value that the format cannot hold.
pub fn print(ui: &Ui, report: &impl Report, args: OutputArgs) -> Result<()> {
    let format = match args.output {
        OutputFormat::Table => Format::Table,
        OutputFormat::Wide => Format::Wide,
        OutputFormat::Json => Format::Json,
        OutputFormat::Yaml => Format::Yaml,
        OutputFormat::Name => Format::Name,
    };
    ui.data(&report::render(report, format, !args.no_headers)?);
    Ok(())
}
