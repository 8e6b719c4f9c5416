//! Facts about other people's software: names, keys, versions. No rules, no input and output.
//!
//! What differs between families of operators is data here, so that the rest of kctl asks a [`Family`] and never a
//! family's name. A new family is one file with one `Family` constant and one line in [`FAMILIES`].

pub mod camel_dsl;
pub mod camel_k;
pub mod camel_traits;
pub mod kinds;
pub mod olm;
pub mod tigera;

use kinds::Kind;

/// Every family of operators kctl knows.
pub const FAMILIES: &[&Family] = &[&camel_k::FAMILY, &tigera::FAMILY];

/// Major and minor number of a version.
pub type MajorMinor = (u64, u64);

/// One family of operators: how its instances are found, named and told apart.
#[derive(Debug)]
pub struct Family {
    /// The family's name, as in `--family` and in the name of a claim.
    pub name: &'static str,
    /// API groups whose resources its operators reconcile.
    pub groups: &'static [&'static str],
    /// The id of an operator that was given none.
    pub default_id: Option<&'static str>,
    /// How its Deployments are found; any of them is enough.
    pub deployments: &'static [Find],
    /// Names the operator's container may have, most usual first.
    pub containers: &'static [&'static str],
    /// How the operator's command starts; empty when its container is known by name only.
    pub command: &'static [&'static str],
    /// Where an operator's id comes from.
    pub id: IdSource,
    /// Which namespaces an operator watches.
    pub watch: Watch,
    /// How its leader-election Lease is called.
    pub lease: LeaseName,
    /// The label of a Deployment that carries the operator's version.
    pub version_label: &'static str,
    /// The annotation on a resource that names its operator.
    pub id_annotation: Option<&'static str>,
    /// The objects that register operators, named by id.
    pub registry: Option<Registry>,
    /// What its operators reconcile.
    pub resources: &'static [Reconciled],
    /// How versions decide about a resource, oldest first. Empty when a [`Pointer`] decides.
    pub rules: &'static [Rules],
    /// The first version whose rules are not known here.
    pub rules_until: MajorMinor,
    /// The object that designates the active operator.
    pub pointer: Option<Pointer>,
    /// Names of its packages in OLM catalogs.
    pub olm_packages: &'static [&'static str],
}

impl Family {
    /// The rules of a version, when the version is one the family had.
    pub fn rules_of(&self, version: MajorMinor) -> Option<&'static Rules> {
        self.rules.iter().rev().find(|rules| rules.since <= version && version < self.rules_until)
    }

    /// What is known about a kind in this family.
    pub fn reconciled(&self, kind: &str) -> Option<&'static Reconciled> {
        self.resources.iter().find(|entry| entry.kind.kind == kind)
    }
}

/// The family of that name.
pub fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().copied().find(|family| family.name == name)
}

/// The family whose operators reconcile resources of an API group.
pub fn family_of_group(group: &str) -> Option<&'static Family> {
    FAMILIES.iter().copied().find(|family| family.groups.contains(&group))
}

/// Whether a text is a DNS-1123 label: what a namespace may be called.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_label_of_any_length(text)
}

/// Whether a text is a DNS-1123 subdomain: what most objects may be called.
///
/// Whatever was read from a cluster and goes into the path of a request is held to this first, since the id of an
/// operator may be any text, `../../secrets/x` included.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label_of_any_length)
}

fn is_label_of_any_length(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(alphanumeric) && text.ends_with(alphanumeric) && text.chars().all(|c| alphanumeric(c) || c == '-')
}

/// One way to find Deployments of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    /// By a label and its value. When `sure` is false other Deployments carry it too and the container decides.
    Label {
        /// Key of the label.
        key: &'static str,
        /// Value of the label.
        value: &'static str,
        /// Whether the label alone proves an operator.
        sure: bool,
    },
    /// By the Deployment's name.
    Name(&'static str),
}

/// An environment variable that may hold an operator's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdVariable {
    /// Name of the variable.
    pub name: &'static str,
    /// The first version (major, minor, patch) that reads it; `None` for all.
    pub since: Option<(u64, u64, u64)>,
}

/// Where an operator's id comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdSource {
    /// The first variable of the list that is not empty.
    Env(&'static [IdVariable]),
    /// What a flag of the command line says; empty without it.
    Flag(&'static str),
    /// The namespace is the identity: what the variable says when it is set, else the Deployment's namespace.
    Namespace {
        /// The variable that overrides it.
        env: &'static str,
    },
}

/// Which namespaces an operator watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// All of them.
    Everything,
    /// What a variable says.
    Env {
        /// Name of the variable.
        name: &'static str,
        /// The value that means all namespaces; blanks around it do not count.
        all: &'static str,
        /// What is watched without the variable.
        absent: Reach,
        /// The first version that splits a comma-separated list; earlier ones take it as one name.
        list_since: MajorMinor,
    },
    /// What a flag of the command line says: names with commas between them; all without the flag.
    Flag(&'static str),
}

/// What is watched when nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The operator's own namespace.
    Own,
    /// Nothing: the operator does not start.
    Nothing,
}

/// How the leader-election Lease of an operator is called. It lives in the operator's own namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseName {
    /// The id and a suffix.
    PerId {
        /// What follows the id.
        suffix: &'static str,
        /// The whole name when the id is empty.
        when_empty: &'static str,
        /// The command-line flag that overrides it.
        flag: &'static str,
    },
    /// One name for all; the namespace tells operators apart.
    Fixed(&'static str),
}

impl LeaseName {
    /// The Lease's name for an operator id, unless a flag overrides it.
    pub fn of(self, id: &str) -> String {
        match self {
            Self::PerId { when_empty, .. } if id.is_empty() => when_empty.to_owned(),
            Self::PerId { suffix, .. } => format!("{id}{suffix}"),
            Self::Fixed(name) => name.to_owned(),
        }
    }
}

/// Objects that register operators, named by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registry {
    /// Their kind.
    pub kind: Kind,
    /// The annotation that makes one secondary when it is `true`: no operator's own.
    pub secondary: &'static str,
    /// Labels of those that an operator or an installer made; any of them is enough.
    pub installed: &'static [(&'static str, &'static str)],
}

/// A kind that operators of a family reconcile, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconciled {
    /// The kind.
    pub kind: Kind,
    /// First version with a controller that honours the id.
    pub since: MajorMinor,
    /// First version without it.
    pub until: Option<MajorMinor>,
    /// Whether its objects count as tenants' resources.
    pub counted: bool,
}

impl Reconciled {
    /// Whether a version has a controller for the kind.
    pub fn by(&self, version: MajorMinor) -> bool {
        self.since <= version && self.until.is_none_or(|until| version < until)
    }
}

/// Who takes a resource without an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legacy {
    /// Only an operator whose id is empty too.
    SameOnly,
    /// The operator with the default id, and every operator that does not watch the whole cluster.
    DefaultOrLocal,
    /// Every operator that watches the namespace.
    AnyWatcher,
}

/// What keeps cluster-wide operators away from a namespace that is not their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Nothing does.
    None,
    /// A Lease of this name in the namespace.
    Lease(&'static str),
    /// A Lease in the namespace that is named after a registry object there. The Lease's holder does not matter.
    Registry {
        /// Whether objects marked as secondary are left out.
        primary_only: bool,
    },
}

/// How a range of versions decides whether to take a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Short name of the era.
    pub era: &'static str,
    /// First version; the range ends where the next one starts.
    pub since: MajorMinor,
    /// Who takes a resource without an id.
    pub legacy: Legacy,
    /// What locks a namespace.
    pub lock: Lock,
    /// Whether a lock also counts for resources that carry the operator's id.
    pub lock_binds_ids: bool,
}

/// The object that designates the active one of a family's operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The key of its data that holds the active operator's namespace.
    pub key: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_may_go_into_a_path() {
        for good in ["a", "tenant-a-lock", "kube-root-ca.crt", "0.a-b"] {
            assert!(is_dns_subdomain(good), "{good}");
        }
        for bad in ["", "a/b", "..", "../x", "a..b", "A", "a b", "-a", "a-", "a%2e", "a?b", "a\n"] {
            assert!(!is_dns_subdomain(bad), "{bad}");
        }
        assert!(is_dns_label(&"a".repeat(63)) && !is_dns_label(&"a".repeat(64)) && !is_dns_label("a.b"));
    }

    #[test]
    fn families_have_distinct_names_and_groups() {
        for (at, one) in FAMILIES.iter().enumerate() {
            for other in &FAMILIES[at + 1..] {
                assert_ne!(one.name, other.name);
                assert!(!one.groups.iter().any(|group| other.groups.contains(group)));
            }
            assert!(one.rules.is_empty() == one.pointer.is_some(), "{}: rules or a pointer decide", one.name);
            assert!(one.rules.is_sorted_by_key(|rules| rules.since));
        }
    }
}
