//! Streams, colour, prompts, progress. Data and result lines go to stdout, everything else to stderr.

use std::{
    cell::{Cell, RefCell},
    io::{self, IsTerminal, Write},
};

use unicode_width::UnicodeWidthChar;

use crate::{
    error::{
        Error, Exit, Result,
        text::{clean, clean_lines, escape_controls},
    },
    settings::Settings,
};

/// Columns of a terminal that does not tell.
const USUAL_WIDTH: usize = 80;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether to colour a stream that is a terminal or not.
    fn on(self, terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => terminal,
        }
    }
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

/// An unfinished line on the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    /// A line of progress, to be wiped.
    Progress,
    /// A question, to be ended.
    Question,
}

/// The one place that prints and asks.
#[derive(Debug)]
pub struct Ui {
    manner: Manner,
    paint: bool,
    /// Progress overwrites itself on one line of the terminal.
    live: bool,
    /// Started as a plugin of kubectl, so that pasted commands must be, too.
    plugin: bool,
    /// What stands on the terminal's last line and has no end yet.
    open: Cell<Open>,
    stdout_gone: RefCell<Option<io::Error>>,
    warnings: RefCell<Vec<String>>,
    journal: RefCell<Journal>,
}

impl Ui {
    /// A user interface on the process's streams.
    pub fn new(manner: Manner, settings: &Settings) -> Self {
        let terminal = io::stderr().is_terminal() && !settings.dumb_terminal;
        Self {
            manner,
            paint: manner.color.on(terminal),
            live: terminal && manner.verbose == 0,
            plugin: settings.plugin,
            open: Cell::default(),
            stdout_gone: RefCell::new(None),
            warnings: RefCell::default(),
            journal: RefCell::default(),
        }
    }

    /// Writes data to stdout as it is. After a closed pipe the rest is dropped in silence.
    pub fn data(&self, text: &str) {
        self.close();
        let mut gone = self.stdout_gone.borrow_mut();
        if gone.is_none()
            && let Err(error) = io::stdout().lock().write_all(text.as_bytes())
        {
            *gone = Some(error);
        }
    }

    /// Help on stdout: `styled` where colour is wanted and shows, else `plain`.
    pub fn help(&self, styled: &str, plain: &str) {
        let in_colour = self.manner.color.on(io::stdout().is_terminal() && self.paint);
        self.data(if in_colour { styled } else { plain });
    }

    /// Whether an error is one JSON object.
    pub fn speaks_json(&self) -> bool {
        self.manner.errors_as_json
    }

    /// Whether what goes to stderr is coloured.
    pub fn paints(&self) -> bool {
        self.paint
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
            self.stderr("hint", "32", &self.as_typed(text));
        }
    }

    /// How long work goes on: on a terminal one line that the next one replaces, elsewhere a line each.
    pub fn progress(&self, text: &str) {
        let text = clean(text);
        if self.manner.quiet {
        } else if self.live {
            self.close();
            raw_stderr(&format!("{}\r", cut(&text, width().saturating_sub(1))));
            self.open.set(Open::Progress);
        } else {
            raw_stderr(&format!("{text}\n"));
        }
    }

    /// Text that precedes a prompt: what is about to happen.
    pub fn plan(&self, text: &str) {
        self.close();
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

    /// From now on writes are under way; tells these commands when the run is interrupted.
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
        self.close();
        raw_stderr(&format!("{} [y/N] ", clean(question)));
        self.open.set(Open::Question);
        let answer = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().read_line(&mut line).map(|_| line)
        })
        .await;
        match answer {
            Ok(Ok(line)) => {
                // The user's own line break has ended the line, but at the end of input there is none.
                self.open.set(if line.ends_with('\n') { Open::Nothing } else { Open::Question });
                if is_yes(&line) { Ok(()) } else { Err(not_confirmed()) }
            }
            Ok(Err(_)) => Err(not_confirmed()),
            Err(error) => Err(Error::failed("Prompt", error.to_string())),
        }
    }

    /// The error of an interrupted run: what was applied and how to go on.
    pub fn interrupted(&self) -> Error {
        let journal = self.journal.borrow();
        // From `on_interrupt` on a write may be under way, and nobody knows whether it still arrives.
        let message = match (journal.done.is_empty(), &journal.resume) {
            (true, None) => "interrupted; nothing was changed".to_owned(),
            (true, Some(_)) => {
                "interrupted; nothing is known to be changed, but a write under way may still arrive".to_owned()
            }
            (false, _) => format!("interrupted; done so far: {}", journal.done.join(", ")),
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
        let error = error.clone().map_hints(|hint| self.as_typed(&hint));
        if self.manner.errors_as_json {
            self.close();
            raw_stderr(&format!("{}\n", escape_controls(&error.to_json().to_string())));
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
        self.close();
        let flushed = io::stdout().flush();
        match self.stdout_gone.take().or(flushed.err()) {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::failed("Output", format!("cannot write to standard output: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// A hint that can be pasted: commands begin as the user's own did.
    fn as_typed(&self, hint: &str) -> String {
        if self.plugin { as_plugin(hint) } else { hint.to_owned() }
    }

    /// Wipes a line of progress, ends the line of a question.
    fn close(&self) {
        match self.open.take() {
            Open::Nothing => {}
            Open::Progress => raw_stderr("\x1b[2K\r"),
            Open::Question => raw_stderr("\n"),
        }
    }

    fn stderr(&self, label: &str, color: &str, text: &str) {
        self.close();
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

fn is_yes(answer: &str) -> bool {
    let answer = answer.trim();
    answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes")
}

fn not_confirmed() -> Error {
    Error::refused("NotConfirmed", "not confirmed; nothing was changed")
        .hint("answer y, or pass --yes to go on without a prompt")
}

/// Columns of the terminal that stderr is.
fn width() -> usize {
    terminal_size::terminal_size_of(io::stderr()).map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0))
}

/// The text, shortened to so many columns.
fn cut(text: &str, columns: usize) -> String {
    let wide = |c: char| c.width().unwrap_or(0);
    if text.chars().map(wide).sum::<usize>() <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = text.chars().take_while(|c| {
        used += wide(*c);
        used <= columns
    });
    let mut short: String = fits.collect();
    short.push('…');
    short
}

/// `kctl VERB …` as `kubectl kctl VERB …`, wherever a command of kctl begins in the text.
fn as_plugin(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(at) = rest.find("kctl ") {
        let (before, after) = (&rest[..at], &rest[at + "kctl ".len()..]);
        out += before;
        let starts_word = before.chars().next_back().is_none_or(|c| " `('\"|;&".contains(c));
        let verb_follows = after.starts_with(|c: char| c.is_ascii_lowercase() || c == '-');
        let prefixed = out.ends_with("kubectl ");
        out += if starts_word && verb_follows && !prefixed { "kubectl kctl " } else { "kctl " };
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (answer, yes) in
            [("y\n", true), ("YES\r\n", true), ("\n", false), ("", false), ("yeah\n", false), ("n", false)]
        {
            assert_eq!(is_yes(answer), yes, "{answer:?}");
        }
    }

    #[test]
    fn progress_fits_the_terminal() {
        assert_eq!(cut("short", 20), "short");
        assert_eq!(cut("integration orders: Building Kit", 20), "integration orders:…");
        assert_eq!(cut("日本語", 4), "日…", "a wide character counts twice");
        assert_eq!(cut("abc", 0), "…");
    }

    #[test]
    fn a_plugin_hints_at_plugin_commands() {
        for (hint, expected) in [
            ("kctl list-operators", "kubectl kctl list-operators"),
            ("to go on: kctl install -x a", "to go on: kubectl kctl install -x a"),
            ("kubectl kctl version", "kubectl kctl version"),
            ("look into kctl.dev/operator-id", "look into kctl.dev/operator-id"),
            ("kubectl get opclaim", "kubectl get opclaim"),
        ] {
            assert_eq!(as_plugin(hint), expected);
        }
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
