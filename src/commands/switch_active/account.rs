//! The account of a switch: result lines as it goes, or one document at its end.

use std::cell::RefCell;

use jiff::Timestamp;

use crate::{
    cli::output::{OutputArgs, OutputFormat},
    commands::output,
    contracts::kinds::Kind,
    error::Result,
    report::{ChangeLine, OperationReport},
    tenancy::switch::pointer::rfc3339,
    ui::Ui,
};

use super::{Rehearsal, word};

/// What is told about one switch.
pub struct Account<'a> {
    ui: &'a Ui,
    output: OutputArgs,
    rehearsal: Option<Rehearsal>,
    report: RefCell<OperationReport>,
}

impl<'a> Account<'a> {
    /// An account that begins now.
    pub fn new(ui: &'a Ui, output: OutputArgs, rehearsal: Option<Rehearsal>, to: &str, now: Timestamp) -> Self {
        let report = OperationReport {
            id: uuid::Uuid::new_v4().to_string(),
            kind: "switch-active",
            to: to.to_owned(),
            started: rfc3339(now),
            dry_run: rehearsal.map(word),
            ..OperationReport::default()
        };
        Self { ui, output, rehearsal, report: RefCell::new(report) }
    }

    /// The run's id.
    pub fn id(&self) -> String {
        self.report.borrow().id.clone()
    }

    /// The run goes on with an earlier one.
    pub fn goes_on(&self, id: &str) {
        id.clone_into(&mut self.report.borrow_mut().id);
    }

    /// Where the active operator was.
    pub fn from(&self, from: Option<&str>) {
        self.report.borrow_mut().from = from.map(str::to_owned);
    }

    /// The command that undoes what was done.
    pub fn undo(&self, command: &str) {
        self.report.borrow_mut().undo = Some(command.to_owned());
    }

    /// The command that goes on.
    pub fn resume(&self, command: &str) {
        self.report.borrow_mut().resume = Some(command.to_owned());
    }

    /// Tells what became of one object.
    pub fn tell(&self, kind: &Kind, namespace: Option<&str>, name: &str, action: &'static str, reason: Option<String>) {
        let how = match self.rehearsal {
            Some(Rehearsal::Client) => " (dry run)",
            Some(Rehearsal::Server) => " (server dry run)",
            None => "",
        };
        let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let line = format!("{}/{name} {action}{why}{how}", kind.result_name());
        if matches!(self.output.output, OutputFormat::Table | OutputFormat::Wide) {
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
        if matches!(self.output.output, OutputFormat::Table | OutputFormat::Wide) {
            return Ok(());
        }
        output::print(self.ui, &*report, self.output)
    }
}
