//! Streams, colour, prompts, progress. Data and result lines go to stdout, everything else to stderr.

use std::{
    cell::RefCell,
    io::{self, IsTerminal, Write},
};

use crate::{
    error::{Error, Exit, Result},
    settings::Settings,
};

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How the user wants to be spoken to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// No notes, hints or progress; warnings and errors stay.
    pub quiet: bool,
    /// Number of `-v`.
    pub verbose: u8,
    /// Colour.
    pub color: Color,
    /// Answer every prompt with yes.
    pub yes: bool,
    /// Errors as one JSON object on stderr.
    pub errors_as_json: bool,
}

/// What a writing command has done so far and how to go on, told when it is interrupted.
#[derive(Debug, Default)]
struct Journal {
    done: Vec<String>,
    resume: Option<String>,
    undo: Option<String>,
}

/// The one place that prints and asks.
#[derive(Debug)]
pub struct Ui {
    manner: Manner,
    paint: bool,
    stdout_gone: RefCell<Option<io::Error>>,
    warnings: RefCell<Vec<String>>,
    journal: RefCell<Journal>,
}

impl Ui {
    /// A user interface on the process's streams.
    pub fn new(manner: Manner, settings: &Settings) -> Self {
        let paint = match manner.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => !settings.no_color && io::stderr().is_terminal(),
        };
        Self {
            manner,
            paint,
            stdout_gone: RefCell::new(None),
            warnings: RefCell::default(),
            journal: RefCell::default(),
        }
    }

    /// Writes data to stdout as it is. After a closed pipe the rest is dropped in silence.
    pub fn data(&self, text: &str) {
        let mut gone = self.stdout_gone.borrow_mut();
        if gone.is_none()
            && let Err(error) = io::stdout().lock().write_all(text.as_bytes())
        {
            *gone = Some(error);
        }
    }

    /// A result line on stdout, such as `integration.camel.apache.org/orders created`.
    pub fn result(&self, line: &str) {
        self.journal.borrow_mut().done.push(line.to_owned());
        self.data(&format!("{}\n", clean(line)));
    }

    /// A remark on stderr.
    pub fn note(&self, text: &str) {
        if !self.manner.quiet {
            self.stderr("note", "36", text);
        }
    }

    /// Something the user should know about; kept for the `warnings` of a report.
    pub fn warn(&self, text: &str) {
        self.warnings.borrow_mut().push(text.to_owned());
        self.stderr("warning", "33", text);
    }

    /// What could be done next: a command that can be pasted, or a sentence.
    pub fn hint(&self, text: &str) {
        if !self.manner.quiet {
            self.stderr("hint", "32", text);
        }
    }

    /// A line of progress.
    pub fn progress(&self, text: &str) {
        if !self.manner.quiet {
            raw_stderr(&format!("{}\n", clean(text)));
        }
    }

    /// Text that precedes a prompt: what is about to happen.
    pub fn plan(&self, text: &str) {
        raw_stderr(&format!("{}\n", clean_lines(text)));
    }

    /// The warnings so far.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.borrow().clone()
    }

    /// Adds a warning to the report without printing it.
    pub fn record_warning(&self, text: &str) {
        self.warnings.borrow_mut().push(text.to_owned());
    }

    /// Notes something that was applied without a result line of its own, for the account given when interrupted.
    pub fn applied(&self, what: &str) {
        self.journal.borrow_mut().done.push(what.to_owned());
    }

    /// Whether anything was applied or printed as a result.
    pub fn has_applied(&self) -> bool {
        !self.journal.borrow().done.is_empty()
    }

    /// From now on, tells these commands when the run is interrupted.
    pub fn on_interrupt(&self, resume: String, undo: Option<String>) {
        let mut journal = self.journal.borrow_mut();
        journal.resume = Some(resume);
        journal.undo = undo;
    }

    /// Asks a question whose default is No.
    ///
    /// # Errors
    /// "No", the end of input, or no terminal without `--yes`: refused (exit 3).
    pub async fn confirm(&self, question: &str) -> Result<()> {
        if self.manner.yes {
            return Ok(());
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Err(Error::refused(
                "NotConfirmed",
                format!("needs a confirmation and there is no terminal: {}", clean(question)),
            )
            .hint("pass --yes to go on without a prompt"));
        }
        let question = clean(question);
        let answer = tokio::task::spawn_blocking(move || {
            dialoguer::Confirm::new().with_prompt(question).default(false).interact()
        })
        .await;
        match answer {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false) | Err(_)) => Err(Error::refused("NotConfirmed", "not confirmed; nothing was changed")),
            Err(error) => Err(Error::failed("Prompt", error.to_string())),
        }
    }

    /// The error of an interrupted run: what was applied and how to go on.
    pub fn interrupted(&self) -> Error {
        let journal = self.journal.borrow();
        let message = if journal.done.is_empty() {
            "interrupted; nothing was changed".to_owned()
        } else {
            format!("interrupted; done so far: {}", journal.done.join(", "))
        };
        let mut error = Error::new(Exit::Interrupted, "Interrupted", message);
        if let Some(resume) = &journal.resume {
            error = error.hint(format!("to go on: {resume}"));
        }
        if let Some(undo) = &journal.undo {
            error = error.hint(format!("to undo: {undo}"));
        }
        error
    }

    /// Prints an error: as text with hints, or as one JSON object.
    pub fn error(&self, error: &Error) {
        if self.manner.errors_as_json {
            raw_stderr(&format!("{}\n", error.to_json()));
            return;
        }
        let place = error.context_name().map(|name| format!(" (context {name})")).unwrap_or_default();
        self.stderr("error", "31", &format!("{}{place}", error.message()));
        for hint in error.all_hints() {
            self.stderr("hint", "32", hint);
        }
    }

    /// Flushes stdout and tells whether something could not be written. A closed pipe is no failure.
    pub fn finish(&self) -> Result<()> {
        let flushed = io::stdout().flush();
        match self.stdout_gone.take().or(flushed.err()) {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::failed("Output", format!("cannot write to standard output: {error}")))
            }
            _ => Ok(()),
        }
    }

    fn stderr(&self, label: &str, color: &str, text: &str) {
        let text = clean_lines(text);
        raw_stderr(&if self.paint {
            format!("\x1b[{color}m{label}:\x1b[0m {text}\n")
        } else {
            format!("{label}: {text}\n")
        });
    }
}

/// Ends when the process is told to stop: SIGINT or SIGTERM.
pub async fn interruption() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Reports to stderr; when even that is gone there is nobody left to tell.
fn raw_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Takes control characters out of text that may come from a cluster, so that a terminal does not act on them.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_codes_do_not_reach_a_terminal() {
        assert_eq!(clean("a\x1b[31mb\u{9b}c"), "a\u{fffd}[31mb\u{fffd}c");
        assert_eq!(clean_lines("a\r\nb"), "a\nb");
    }

    #[test]
    fn an_interruption_tells_what_was_done_and_how_to_go_on() {
        let ui = Ui::new(Manner::default(), &Settings::default());
        assert!(ui.interrupted().message().contains("nothing was changed"));
        ui.applied("claim camel-k.a");
        ui.on_interrupt("kctl install -x a".into(), Some("kctl uninstall -x a".into()));
        let error = ui.interrupted();
        assert_eq!(error.exit(), Exit::Interrupted);
        assert!(error.message().contains("claim camel-k.a"));
        assert_eq!(error.all_hints(), ["to go on: kctl install -x a", "to undo: kctl uninstall -x a"]);
    }
}
