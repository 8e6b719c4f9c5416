//! What may be offered to a shell: names that mean nothing but themselves, and short descriptions.

use std::ffi::OsStr;

use clap_complete::engine::CompletionCandidate;
use serde::{Deserialize, Serialize};

/// Offering more helps nobody.
pub(super) const MOST: usize = 200;
/// Longest description in characters.
const ABOUT: usize = 60;

/// A name to offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Offer {
    /// The name.
    pub(super) name: String,
    /// What a shell shows beside it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) about: String,
}

impl Offer {
    /// A name without a description.
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), about: String::new() }
    }

    /// Adds a description.
    pub(super) fn about(mut self, about: impl AsRef<str>) -> Self {
        self.about = short(about.as_ref());
        self
    }
}

/// Whether an object of Kubernetes may have the name: a DNS subdomain.
pub(super) fn is_object_name(name: &str) -> bool {
    let end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.len() <= 253
        && end(name.chars().next())
        && end(name.chars().next_back())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.')
}

/// Whether the name of a kubeconfig entry is one that no shell expands: `admin@prod`, `arn:aws:eks:eu:1:cluster/x`.
pub(super) fn is_entry_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._@:/+-".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(plain)
}

/// Those that begin as typed, behind the part of the word that stays.
pub(super) fn candidates(offers: Vec<Offer>, kept: &str, typed: &str) -> Vec<CompletionCandidate> {
    let fitting = offers.into_iter().filter(|offer| offer.name.starts_with(typed)).take(MOST);
    fitting
        .map(|Offer { name, about }| {
            let help = (!about.is_empty()).then(|| about.into());
            CompletionCandidate::new(format!("{kept}{name}")).help(help)
        })
        .collect()
}

/// A word of a command line as text; one that is none cannot be completed with a name.
pub(super) fn text(word: &OsStr) -> &str {
    word.to_str().unwrap_or("\u{fffd}")
}

/// On one line, without control characters.
pub(super) fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Clean, and not too long.
fn short(text: &str) -> String {
    let clean = clean(text);
    if clean.chars().count() <= ABOUT {
        return clean;
    }
    clean.chars().take(ABOUT - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_no_shell_expands_are_offered() {
        let hostile =
            ["", "-x", "Bad*Name", "$(id)", "x;y", "a b", "\u{1b}[31mred", "a\nb", "`id`", "~root", "a|b", "é", "a'b"];
        for name in hostile {
            assert!(!is_object_name(name) && !is_entry_name(name), "{name:?}");
        }
        for name in ["tenant-a", "0", "a.b-c.d"] {
            assert!(is_object_name(name) && is_entry_name(name), "{name}");
        }
        for name in ["arn:aws:eks:eu-west-1:1:cluster/x", "admin@prod", "default/api-x:6443/kube_admin", "gke_p_z_c"] {
            assert!(is_entry_name(name) && !is_object_name(name), "{name}");
        }
        assert!(!is_object_name(&"a".repeat(254)) && !is_object_name("a-") && !is_object_name(".a"));
    }

    #[test]
    fn descriptions_are_short_and_clean() {
        assert_eq!(short("a\u{1b}[31m\tb\n"), "a[31mb");
        assert_eq!(short(&"x".repeat(61)).chars().count(), 60);
    }

    #[test]
    fn candidates_begin_as_typed_and_keep_the_part_before() {
        let offers = || vec![Offer::new("log-sink").about("sink"), Offer::new("timer")];
        let values = |found: Vec<CompletionCandidate>| -> Vec<String> {
            found.iter().map(|found| found.get_value().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(values(candidates(offers(), "kamelet:", "lo")), ["kamelet:log-sink"]);
        assert_eq!(values(candidates(offers(), "", "")), ["log-sink", "timer"]);
        let many = (0..1000).map(|n| Offer::new(n.to_string())).collect();
        assert_eq!(candidates(many, "", "").len(), MOST);
    }
}
