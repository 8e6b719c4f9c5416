//! Printing a report the way the user asked for.

use crate::{
    cli::output::{OutputArgs, OutputFormat},
    error::Result,
    report::{self, Format, Report},
    tenancy::plan::Step,
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

/// Prints to stdout what the steps change, line by line.
///
/// # Errors
/// A value that YAML cannot hold; there is none in JSON.
pub fn print_diff<'a>(ui: &Ui, steps: impl IntoIterator<Item = &'a Step>) -> Result<()> {
    for preview in steps.into_iter().filter_map(Step::preview) {
        ui.data(&report::diff::unified(&preview)?);
    }
    Ok(())
}
