//! The program on a terminal of its own.

use std::{process::Command, time::Duration};

use expectrl::{Eof, Expect, Session, process::unix::WaitStatus, session::OsSession};

/// Longer than any prompt takes to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command on a pseudo-terminal.
pub struct Terminal {
    session: OsSession,
    seen: String,
}

impl Terminal {
    /// Starts the command on a terminal of so many columns.
    pub fn new(command: Command, columns: u16) -> Self {
        let mut session = Session::spawn(command).expect("a terminal");
        session.set_expect_timeout(Some(PATIENCE));
        session.get_process_mut().set_window_size(columns, 24).expect("a size");
        Self { session, seen: String::new() }
    }

    /// Waits for a text.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        let found = self.session.expect(text).unwrap_or_else(|error| panic!("waiting for {text:?}: {error}"));
        self.seen += &String::from_utf8_lossy(found.as_bytes());
    }

    /// Types.
    pub fn send(&mut self, keys: &str) {
        self.session.send(keys).expect("typed");
    }

    /// Waits for the end: everything that was shown, and the exit code.
    pub fn end(mut self) -> (String, i32) {
        if let Ok(rest) = self.session.expect(Eof) {
            self.seen += &String::from_utf8_lossy(rest.as_bytes());
        }
        match self.session.get_process().wait().expect("an end") {
            WaitStatus::Exited(_, code) => (self.seen, code),
            other => panic!("{other:?}\n{}", self.seen),
        }
    }
}
