//! The account of an operation: result lines as it goes, or one document at its end.

use std::cell::RefCell;

use jiff::Timestamp;

use crate::{
    cli::{
        install_args::DryRun,
        output::{OutputArgs, OutputFormat},
    },
    commands::output,
    contracts::kinds::Kind,
    error::Result,
    report::{ChangeLine, OperationReport},
    tenancy::switch::pointer::rfc3339,
    ui::Ui,
};

/// What is told about one operation.
pub struct Account<'a> {
    ui: &'a Ui,
    output: OutputArgs,
    rehearsal: Option<DryRun>,
    report: RefCell<OperationReport>,
}

impl<'a> Account<'a> {
    /// An account that begins now.
    pub fn new(
        ui: &'a Ui,
        output: OutputArgs,
        rehearsal: Option<DryRun>,
        kind: &'static str,
        to: &str,
        now: Timestamp,
    ) -> Self {
        let report = OperationReport {
            id: uuid::Uuid::new_v4().to_string(),
            kind,
            to: to.to_owned(),
            started: rfc3339(now),
            dry_run: rehearsal.map(|rehearsal| match rehearsal {
                DryRun::Client => "client",
                DryRun::Server => "server",
            }),
            ..OperationReport::default()
        };
        Self { ui, output, rehearsal, report: RefCell::new(report) }
    }

    /// The run's id.
    pub fn id(&self) -> String {
        self.report.borrow().id.clone()
    }

    /// The command that undoes what was done.
    pub fn undo(&self, command: &str) {
        self.report.borrow_mut().undo = Some(command.to_owned());
    }

    /// The command that goes on.
    pub fn resume(&self, command: &str) {
        self.report.borrow_mut().resume = Some(command.to_owned());
    }

    /// Whether anything was changed, or would be.
    pub fn has_changes(&self) -> bool {
        self.report.borrow().changes.iter().any(|change| !matches!(change.action, "unchanged" | "skipped"))
    }

    /// Tells what became of one object.
    pub fn tell(&self, kind: &Kind, namespace: Option<&str>, name: &str, action: &'static str, reason: Option<String>) {
        let how = match self.rehearsal {
            Some(DryRun::Client) => " (dry run)",
            Some(DryRun::Server) => " (server dry run)",
            None => "",
        };
        let line = format!("{}/{name} {action}{how}", kind.result_name());
        if self.tells_lines() {
            if self.rehearsal.is_some() { self.ui.data(&format!("{line}\n")) } else { self.ui.result(&line) }
        } else if self.rehearsal.is_none() {
            self.ui.applied(&line);
        }
        self.report.borrow_mut().changes.push(ChangeLine {
            kind: kind.kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
            action,
            reason,
        });
    }

    /// Ends the account; a document is printed when one was asked for.
    pub fn end(&self, result: &'static str, now: Timestamp) -> Result<()> {
        let mut report = self.report.borrow_mut();
        report.result = self.rehearsal.is_none().then_some(result);
        report.finished = rfc3339(now);
        report.warnings = self.ui.warnings();
        if self.tells_lines() {
            return Ok(());
        }
        output::print(self.ui, &*report, self.output)
    }

    fn tells_lines(&self) -> bool {
        matches!(self.output.output, OutputFormat::Table | OutputFormat::Wide)
    }
}
