//! What a change of an installed operator means for the resources of the cluster. Pure.

use std::cmp::Ordering;

use super::{operators::Scope, taken::Taken, version};

/// How a version changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMove {
    /// It stays, or it is not known what runs.
    Same,
    /// A newer one.
    Up,
    /// An older one.
    Down,
}

/// Compares the version that runs with the one that is wanted.
pub fn version_move(from: Option<&str>, to: &str) -> VersionMove {
    match (from.and_then(version::parse), version::parse(to)) {
        (Some(from), Some(to)) => match from.cmp_precedence(&to) {
            Ordering::Equal => VersionMove::Same,
            Ordering::Less => VersionMove::Up,
            Ordering::Greater => VersionMove::Down,
        },
        _ => VersionMove::Same,
    }
}

/// Whether a version is of a later line (major, minor) than the newest known one.
pub fn is_newer_line(version: &str, newest: &str) -> bool {
    version::major_minor(version) > version::major_minor(newest)
}

/// Groups of resources that lose the operator, and groups that gain it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Taken before and not any more.
    pub lost: Vec<Taken>,
    /// Taken now and not before.
    pub gained: Vec<Taken>,
}

/// What an operator took before and takes afterwards, compared group by group.
pub fn difference(before: &[Taken], after: &[Taken]) -> Difference {
    let same = |a: &Taken, b: &Taken| a.kind == b.kind && a.namespace == b.namespace && a.id == b.id;
    let gained = after.iter().filter(|group| !before.iter().any(|other| same(group, other))).cloned().collect();
    let lost = before.iter().filter(|group| !after.iter().any(|other| same(group, other))).cloned().collect();
    Difference { lost, gained }
}

/// A scope for people.
pub fn scope_words(scope: &Scope) -> String {
    match scope {
        Scope::Cluster => "all namespaces".to_owned(),
        Scope::Own => "its own namespace".to_owned(),
        Scope::Namespaces(names) => names.join(", "),
        Scope::Unknown => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_move() {
        let cases = [
            (Some("2.9.0"), "2.10.1", VersionMove::Up),
            (Some("2.10.1"), "2.9.0", VersionMove::Down),
            (Some("2.10.1"), "2.10.1", VersionMove::Same),
            (Some("2.10.1"), "2.10.1+build", VersionMove::Same),
            (Some("2.11.0-SNAPSHOT"), "2.11.0", VersionMove::Up),
            (Some("nightly"), "2.10.1", VersionMove::Same),
            (None, "2.10.1", VersionMove::Same),
        ];
        for (from, to, expected) in cases {
            assert_eq!(version_move(from, to), expected, "{from:?} {to}");
        }
        assert!(is_newer_line("2.11.0-SNAPSHOT", "2.10.1"));
        assert!(!is_newer_line("2.10.7", "2.10.1"));
    }

    #[test]
    fn groups_are_compared_by_kind_place_and_id() {
        let group = |namespace: &str, id: &str, count| Taken {
            kind: "Integration".into(),
            namespace: namespace.into(),
            id: id.into(),
            count,
            others: Vec::new(),
            depends: false,
        };
        let found = difference(&[group("a", "x", 1), group("b", "x", 2)], &[group("a", "x", 1), group("a", "", 3)]);
        assert_eq!(found, Difference { lost: vec![group("b", "x", 2)], gained: vec![group("a", "", 3)] });
    }
}
