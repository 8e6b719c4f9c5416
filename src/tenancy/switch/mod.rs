//! The rules of changing the active operator, pure: what the pointer says, what must be true before, what is copied, and
//! what proves that the new one took over.

pub mod certificates;
pub mod copies;
pub mod pointer;
pub mod preflight;
pub mod proof;
pub mod standby;

use crate::error::{Error, Exit};

/// Field manager of everything a switch writes.
pub const SWITCH_MANAGER: &str = "kctl-switch";

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The switch must not begin.
    Refuse,
    /// The user should know.
    Warn,
}

/// One thing found before a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it stops the switch.
    pub weight: Weight,
    /// The exit code when it does.
    pub exit: Exit,
    /// The reason for machines.
    pub reason: &'static str,
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    /// A finding that stops the switch.
    pub fn refuse(reason: &'static str, message: impl Into<String>) -> Self {
        Self { weight: Weight::Refuse, exit: Exit::Refused, reason, message: message.into(), hint: None }
    }

    /// A finding the user should know of.
    pub fn warn(reason: &'static str, message: impl Into<String>) -> Self {
        Self { weight: Weight::Warn, exit: Exit::Done, reason, message: message.into(), hint: None }
    }

    /// Says what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn exits(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// The same finding as a warning: for undoing, which must not be held up.
    pub fn tolerated(mut self) -> Self {
        self.weight = Weight::Warn;
        self
    }
}

/// The error of the findings that stop a switch: the first one's code and reason, every one's message.
pub fn refusal(findings: &[Finding]) -> Option<Error> {
    let stopping: Vec<&Finding> = findings.iter().filter(|finding| finding.weight == Weight::Refuse).collect();
    let first = stopping.first()?;
    let text = stopping.iter().map(|finding| finding.message.as_str()).collect::<Vec<_>>().join("; ");
    Some(
        Error::new(first.exit, first.reason, text)
            .hints(stopping.iter().filter_map(|finding| finding.hint.clone()))
            .hint("nothing was changed"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_stops_a_switch_is_told_at_once() {
        let found = [
            Finding::warn("A", "a"),
            Finding::refuse("B", "b").hint("do b").exits(Exit::NotFound),
            Finding::refuse("C", "c"),
        ];
        let error = refusal(&found).expect("two stop it");
        assert_eq!((error.exit(), error.reason(), error.message()), (Exit::NotFound, "B", "b; c"));
        assert_eq!(error.all_hints(), ["do b", "nothing was changed"]);
        assert!(refusal(&found[..1]).is_none());
    }
}
