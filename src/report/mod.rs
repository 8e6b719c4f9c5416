//! Values to text: table, json, yaml, name.
//!
//! A report is one value that knows its document, its table and its names; [`render`] turns it into any format, so
//! formats cannot disagree.

pub mod age;
pub mod diff;
pub mod manifest;
pub mod operation;
pub mod operators;
pub mod settings;
pub mod table;
pub mod version;

use serde_json::Value;

use crate::error::{Result, text};

pub use operation::{ChangeLine, OperationReport};
pub use operators::OperatorList;
pub use settings::SettingList;
pub use table::Table;
pub use version::VersionInfo;

/// `apiVersion` of every document kctl prints.
pub const API_VERSION: &str = "kctl.dev/v1alpha1";

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Columns for people.
    #[default]
    Table,
    /// More columns.
    Wide,
    /// The document as JSON.
    Json,
    /// The document as YAML.
    Yaml,
    /// One name a line.
    Name,
}

/// What a command found out or did.
pub trait Report {
    /// The whole of it, for machines.
    fn document(&self) -> Value;
    /// Columns for people; `wide` asks for all.
    fn table(&self, wide: bool) -> Table;
    /// Names for scripts.
    fn names(&self) -> Vec<String>;
}

/// Writes a report. A table without rows is nothing at all, as kubectl has it; documents are there even when empty.
///
/// # Errors
/// A value that a format cannot hold.
pub fn render(report: &impl Report, format: Format, headers: bool) -> Result<String> {
    match format {
        Format::Table | Format::Wide => Ok(report.table(format == Format::Wide).render(headers)),
        Format::Json => Ok(text::escape_controls(&manifest::json(&[report.document()])?)),
        Format::Yaml => manifest::yaml(&[report.document()]),
        Format::Name => Ok(report.names().iter().flat_map(|name| [text::clean(name), "\n".into()]).collect()),
    }
}
