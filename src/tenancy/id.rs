//! Operator ids that kctl makes, and the nearest word to a mistyped one.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The longest id. Objects are named after it, with suffixes, within the 63 characters of a label.
pub const MAX_LEN: usize = 54;

/// An operator id that kctl may give: a DNS-1123 label of at most [`MAX_LEN`] characters.
///
/// Ids that are only seen on a cluster may be anything and stay plain strings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperatorId(String);

impl OperatorId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for OperatorId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for OperatorId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        match defect(text) {
            None => Ok(Self(text.to_owned())),
            Some(reason) => Err(InvalidId { text: text.to_owned(), reason, suggestion: suggest(text) }),
        }
    }
}

/// Why a text is no operator id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidId {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
    /// A valid id made from it, when anything is left to make one of.
    pub suggestion: Option<String>,
}

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not an operator id: {}", self.text, self.reason)
    }
}

impl std::error::Error for InvalidId {}

impl From<InvalidId> for Error {
    fn from(invalid: InvalidId) -> Self {
        let error = Self::usage(invalid.to_string())
            .hint(format!("an id has lower-case letters, digits and '-', at most {MAX_LEN}, as in tenant-a"));
        match invalid.suggestion {
            Some(suggestion) => error.hint(format!("try --operator-id {suggestion}")),
            None => error,
        }
    }
}

fn defect(text: &str) -> Option<String> {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if text.is_empty() {
        return Some("it is empty".into());
    }
    if text.trim().is_empty() {
        return Some("it is blank".into());
    }
    if let Some(bad) = text.chars().find(|&c| !alphanumeric(c) && c != '-') {
        return Some(match bad {
            _ if bad.is_whitespace() => "it has a blank in it".into(),
            _ if bad.is_uppercase() => format!("it has an upper-case letter ({bad})"),
            _ => format!("it has the character {bad:?}"),
        });
    }
    if text.starts_with('-') || text.ends_with('-') {
        return Some("it must start and end with a letter or digit".into());
    }
    let length = text.len();
    (length > MAX_LEN).then(|| format!("it has {length} characters, {MAX_LEN} are allowed"))
}

/// Lower case, other characters become dashes, runs of dashes one, ends trimmed, cut to length.
fn suggest(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        let c = if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
        if c != '-' || !out.ends_with('-') {
            out.push(c);
        }
    }
    let cut: String = out.trim_matches('-').chars().take(MAX_LEN).collect();
    let cut = cut.trim_end_matches('-');
    (!cut.is_empty()).then(|| cut.to_owned())
}

/// The candidate a mistyped word most likely meant, or `None` when nothing is near.
///
/// Near is one edit for every four characters of the word, at least one; swapped neighbours are one edit.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 4).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            *distance <= limit && *distance < candidate.chars().count() && *candidate != word
        })
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;

    #[test]
    fn what_an_id_may_look_like() {
        let longest = "a".repeat(54);
        for good in ["a", "7", "tenant-a", "a--b", "camel-k", longest.as_str()] {
            assert_eq!(good.parse::<OperatorId>().map(|id| id.to_string()), Ok(good.to_owned()));
        }
        let long = "a".repeat(55);
        let dash_at_cut = format!("{}-bc", "a".repeat(53));
        for (bad, reason, suggestion) in [
            ("", "it is empty", None),
            ("  ", "it is blank", None),
            ("Tenant_A", "it has an upper-case letter (T)", Some("tenant-a")),
            ("tenant_a", "it has the character '_'", Some("tenant-a")),
            ("tenant a", "it has a blank in it", Some("tenant-a")),
            ("tenant-a\n", "it has a blank in it", Some("tenant-a")),
            ("-a", "it must start and end with a letter or digit", Some("a")),
            ("a-", "it must start and end with a letter or digit", Some("a")),
            ("---", "it must start and end with a letter or digit", None),
            ("a.b", "it has the character '.'", Some("a-b")),
            ("tenänt", "it has the character 'ä'", Some("ten-nt")),
            (long.as_str(), "it has 55 characters, 54 are allowed", Some(&long[..54])),
            (dash_at_cut.as_str(), "it has 56 characters, 54 are allowed", Some(&dash_at_cut[..53])),
        ] {
            let invalid = bad.parse::<OperatorId>().unwrap_err();
            assert_eq!((invalid.reason.as_str(), invalid.suggestion.as_deref()), (reason, suggestion), "{bad:?}");
        }
    }

    #[test]
    fn every_suggestion_is_valid() {
        for text in ["Tenant_A", "  x  ", "__a__b__", &"-A".repeat(60), "a.b.c.", "Ünder"] {
            let suggestion = suggest(text).unwrap();
            assert!(suggestion.parse::<OperatorId>().is_ok(), "{text:?} -> {suggestion:?}");
        }
    }

    #[test]
    fn a_bad_id_is_a_usage_error_with_a_way_out() {
        let error = Error::from("Tenant_A".parse::<OperatorId>().unwrap_err());
        assert_eq!(error.exit(), Exit::Usage);
        assert_eq!(error.message(), r#""Tenant_A" is not an operator id: it has an upper-case letter (T)"#);
        assert!(error.all_hints().iter().any(|hint| hint.contains("--operator-id tenant-a")));
    }

    #[test]
    fn near_words() {
        let ids = ["tenant-a", "tenant-b", "camel-k", "prod"];
        for (word, expected) in [
            ("tenant-aa", Some("tenant-a")),
            ("tenatn-a", Some("tenant-a")),
            ("Tenant-A", Some("tenant-a")),
            ("camelk", Some("camel-k")),
            ("prd", Some("prod")),
            ("staging", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, ids), expected, "{word:?}");
        }
    }
}
