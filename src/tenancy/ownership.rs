//! Who takes a resource: the one place that decides it.
//!
//! An operator decides by its own version's rules, and nobody tells the outside which version that is when an image is
//! pinned by digest. So every unknown (version, scope, id, locks) is tried with each value it may have; when the
//! answers agree the unknown does not matter, else the verdict is `depends`.

use std::collections::{BTreeMap, BTreeSet};

use super::operators::{Operator, State};
use crate::contracts::{self, Family, Legacy, Lock, Rules, kinds::Kind};

#[cfg(test)]
mod tests;
mod text;

/// A resource, as far as ownership goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The operator id it carries. Absent and empty mean the same to every operator.
    pub id: Option<String>,
}

/// What locks namespaces against cluster-wide operators: Leases and registry objects, per namespace.
///
/// A namespace without an entry was not looked at, and what a lock would change there is `depends`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locks(BTreeMap<String, NamespaceLocks>);

/// What may lock one namespace. `None` is what could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceLocks {
    /// Registry objects (Camel K: `IntegrationPlatform`s) in the namespace.
    pub platforms: Option<Vec<PlatformLock>>,
    /// Names of Leases in the namespace.
    pub leases: Option<BTreeSet<String>>,
}

/// A registry object that may lock its namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformLock {
    /// Its name.
    pub name: String,
    /// Whether it is marked as secondary.
    pub secondary: bool,
}

impl NamespaceLocks {
    /// A namespace that was read and has neither Leases nor registry objects.
    pub fn none() -> Self {
        Self { platforms: Some(Vec::new()), leases: Some(BTreeSet::new()) }
    }

    fn locked(&self, lock: Lock, family: &Family) -> Option<bool> {
        match lock {
            Lock::None => Some(false),
            Lock::Lease(name) => self.leases.as_ref().map(|leases| leases.contains(name)),
            Lock::Registry { primary_only } => {
                let count = |platform: &&PlatformLock| !(primary_only && platform.secondary);
                match (&self.platforms, &self.leases) {
                    (Some(platforms), _) if !platforms.iter().any(|platform| count(&platform)) => Some(false),
                    (_, Some(leases)) if leases.is_empty() => Some(false),
                    (Some(platforms), Some(leases)) => {
                        let mut names = platforms.iter().filter(count).map(|platform| family.lease.of(&platform.name));
                        Some(names.any(|name| leases.contains(&name)))
                    }
                    _ => None,
                }
            }
        }
    }
}

impl Locks {
    /// Records what was read of a namespace.
    pub fn set(&mut self, namespace: impl Into<String>, locks: NamespaceLocks) {
        self.0.insert(namespace.into(), locks);
    }

    /// A namespace without any lock, for callers that know.
    pub fn unlocked(namespace: impl Into<String>) -> Self {
        Self(BTreeMap::from([(namespace.into(), NamespaceLocks::none())]))
    }

    fn locked(&self, namespace: &str, lock: Lock, family: &Family) -> Option<bool> {
        self.0.get(namespace).and_then(|locks| locks.locked(lock, family))
    }
}

impl<N: Into<String>> FromIterator<(N, NamespaceLocks)> for Locks {
    fn from_iter<I: IntoIterator<Item = (N, NamespaceLocks)>>(namespaces: I) -> Self {
        Self(namespaces.into_iter().map(|(namespace, locks)| (namespace.into(), locks)).collect())
    }
}

/// Whether an operator takes a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Takes {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It depends on something that is not known.
    Depends,
}

impl Takes {
    /// The word machines read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Depends => "depends",
        }
    }
}

/// What decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The resource carries the operator's id; or neither has one.
    SameId,
    /// The resource carries no id and the operator has the default one.
    DefaultId,
    /// The resource carries no id and the operator does not watch the whole cluster.
    Local,
    /// The resource carries no id and every operator of this version takes such resources.
    AnyWatcher,
    /// The pointer designates the operator.
    Designated,
    /// The resource carries another id.
    OtherId,
    /// The resource carries no id, and this operator does not take such resources.
    NoId,
    /// A lock keeps the cluster-wide operator out of the namespace.
    Locked,
    /// The operator does not watch the namespace.
    NotWatched,
    /// The operator's version has no controller for the kind.
    KindNotHandled,
    /// The operator waits while another one is designated.
    Standby,
    /// There is no operator where one is said to be.
    NoDeployment,
    /// Its version is not known, and versions differ.
    VersionUnknown,
    /// What it watches is not known.
    ScopeUnknown,
    /// Its id is not known.
    IdUnknown,
    /// Locks in the namespace could not be read.
    LocksUnseen,
    /// More than one operator takes it.
    Contested,
    /// No operator has the id that the resource carries.
    UnknownId,
    /// No operator takes it.
    NoTaker,
}

impl Rule {
    /// The code machines read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SameId => "same-id",
            Self::DefaultId => "default-id",
            Self::Local => "local",
            Self::AnyWatcher => "any-watcher",
            Self::Designated => "designated",
            Self::OtherId => "other-id",
            Self::NoId => "no-id",
            Self::Locked => "locked",
            Self::NotWatched => "not-watched",
            Self::KindNotHandled => "kind-not-handled",
            Self::Standby => "standby",
            Self::NoDeployment => "no-deployment",
            Self::VersionUnknown => "version-unknown",
            Self::ScopeUnknown => "scope-unknown",
            Self::IdUnknown => "id-unknown",
            Self::LocksUnseen => "locks-unseen",
            Self::Contested => "contested",
            Self::UnknownId => "unknown-id",
            Self::NoTaker => "no-taker",
        }
    }
}

/// What one operator does with a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The operator's id.
    pub id: String,
    /// Its family.
    pub family: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// Whether it takes the resource.
    pub takes: Takes,
    /// What decided.
    pub rule: Rule,
    /// The same for people.
    pub reason: String,
}

/// Who takes a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// Ids of the operators that take it, each once.
    pub owners: Vec<String>,
    /// Whether more than one operator takes it, of one id or of several.
    pub contested: bool,
    /// Whether it depends on something unknown if a further operator takes it.
    pub depends: bool,
    /// What decided.
    pub rule: Rule,
    /// The same for people.
    pub reason: String,
    /// What each operator of the family does, in the operators' order.
    pub verdicts: Vec<Verdict>,
}

impl Ownership {
    /// Operators that take it, or may take it, other than those with an id.
    pub fn others<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a Verdict> {
        self.verdicts.iter().filter(move |verdict| verdict.takes != Takes::No && verdict.id != id)
    }

    /// Operators that certainly take it.
    pub fn takers(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| verdict.takes == Takes::Yes)
    }
}

/// Decides who takes a resource.
pub fn decide(resource: &Resource, operators: &[Operator], locks: &Locks) -> Ownership {
    let family = contracts::family_of_group(resource.kind.group);
    let verdicts: Vec<_> = family.map_or_else(Vec::new, |family| {
        let of_family = operators.iter().filter(|operator| operator.family == family.name);
        of_family.map(|operator| verdict(family, resource, operator, locks)).collect()
    });
    summary(resource, verdicts)
}

fn summary(resource: &Resource, verdicts: Vec<Verdict>) -> Ownership {
    let takers: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.takes == Takes::Yes).collect();
    let open: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.takes == Takes::Depends).collect();
    let (rule, reason) = match (takers.as_slice(), open.first()) {
        ([one], _) => (one.rule, one.reason.clone()),
        ([], Some(open)) => (open.rule, open.reason.clone()),
        ([], None) => text::nobody(resource, &verdicts),
        (several, _) => (Rule::Contested, text::contested(several)),
    };
    let mut owners: Vec<String> = Vec::new();
    for verdict in &takers {
        if !owners.contains(&verdict.id) {
            owners.push(verdict.id.clone());
        }
    }
    Ownership { owners, contested: takers.len() > 1, depends: !open.is_empty(), rule, reason, verdicts }
}

/// What one operator does with a resource.
fn verdict(family: &'static Family, resource: &Resource, operator: &Operator, locks: &Locks) -> Verdict {
    let (takes, rule) = judge_operator(family, resource, operator, locks);
    Verdict {
        id: operator.id.clone(),
        family: family.name,
        namespace: operator.namespace.clone(),
        takes,
        rule,
        reason: text::reason(rule, resource, operator),
    }
}

fn judge_operator(family: &'static Family, resource: &Resource, operator: &Operator, locks: &Locks) -> (Takes, Rule) {
    if operator.state == State::Standby {
        return (Takes::No, Rule::Standby);
    }
    let carried = resource.id.as_deref().unwrap_or_default();
    if !operator.state.acts() {
        // Nobody is there to act, but an id that is held is not free either.
        let held =
            operator.state == State::Missing && operator.id_known && !carried.is_empty() && operator.id == carried;
        return (if held { Takes::Depends } else { Takes::No }, Rule::NoDeployment);
    }
    if family.pointer.is_some() {
        return (Takes::Yes, Rule::Designated);
    }
    let unknowns = Unknowns::of(family, resource, operator, locks);
    let cases = unknowns.cases();
    let answers: Vec<_> = cases.iter().map(|case| judge(case, family, resource, operator)).collect();
    let Some((last, _)) = answers.last().copied().zip(cases.last()) else { return (Takes::No, Rule::NoTaker) };
    if answers.iter().all(|(takes, _)| *takes == last.0) {
        return (if last.0 { Takes::Yes } else { Takes::No }, last.1);
    }
    (Takes::Depends, unknowns.that_matters(&cases, &answers))
}

/// One combination of everything that a verdict turns on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    rules: &'static Rules,
    handled: bool,
    watches: bool,
    global: bool,
    same_id: bool,
    locked: bool,
}

/// The rule itself: whether an operator takes a resource, and why.
fn judge(case: &Case, family: &Family, resource: &Resource, operator: &Operator) -> (bool, Rule) {
    let legacy = resource.id.as_deref().unwrap_or_default().is_empty();
    if !case.watches {
        return (false, Rule::NotWatched);
    }
    if !case.handled {
        return (false, Rule::KindNotHandled);
    }
    let is_default = operator.id_known && family.default_id == Some(operator.id.as_str());
    let why = match case.rules.legacy {
        _ if case.same_id => Rule::SameId,
        _ if !legacy => return (false, Rule::OtherId),
        Legacy::AnyWatcher => Rule::AnyWatcher,
        Legacy::DefaultOrLocal if is_default => Rule::DefaultId,
        Legacy::DefaultOrLocal if !case.global => Rule::Local,
        Legacy::DefaultOrLocal | Legacy::SameOnly => return (false, Rule::NoId),
    };
    let lock_counts = (legacy || case.rules.lock_binds_ids) && operator.namespace != resource.namespace;
    if lock_counts && case.locked && case.global {
        return (false, Rule::Locked);
    }
    (true, why)
}

/// The values each unknown may have; one value when it is known.
struct Unknowns {
    rules: Vec<(&'static Rules, bool)>,
    scopes: Vec<(bool, bool)>,
    same_id: Vec<bool>,
    locks: Vec<(Lock, Vec<bool>)>,
}

impl Unknowns {
    fn of(family: &'static Family, resource: &Resource, operator: &Operator, locks: &Locks) -> Self {
        let carried = resource.id.as_deref().unwrap_or_default();
        let version = operator.major_minor();
        let known = version.and_then(|version| Some((version, family.rules_of(version)?)));
        let reconciled = family.reconciled(resource.kind.kind);
        let handled = |version| reconciled.is_some_and(|kind| kind.by(version));
        let rules = match known {
            Some((version, rules)) => vec![(rules, handled(version))],
            None => family.rules.iter().flat_map(|rules| either(family, rules, reconciled)).collect(),
        };
        let scopes = match (operator.watches(&resource.namespace), operator.scope.is_cluster()) {
            (Some(watches), Some(global)) => vec![(watches, global)],
            _ => vec![(false, false), (true, false), (true, true)],
        };
        let same_id = if operator.id_known { vec![operator.id == carried] } else { vec![true, false] };
        let kinds_of_lock: BTreeMap<_, _> =
            rules.iter().map(|(rules, _)| (format!("{:?}", rules.lock), rules.lock)).collect();
        let locks = kinds_of_lock.into_values().map(|lock| {
            let locked = locks.locked(&resource.namespace, lock, family);
            (lock, locked.map_or_else(|| vec![true, false], |locked| vec![locked]))
        });
        Self { locks: locks.collect(), rules, scopes, same_id }
    }

    fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for &(rules, handled) in &self.rules {
            let locked = self.locks.iter().filter(|(lock, _)| *lock == rules.lock).flat_map(|(_, values)| values);
            for &locked in locked {
                for &(watches, global) in &self.scopes {
                    for &same_id in &self.same_id {
                        cases.push(Case { rules, handled, watches, global, same_id, locked });
                    }
                }
            }
        }
        cases
    }

    /// The unknown that alone changes an answer; the version when only several together do.
    fn that_matters(&self, cases: &[Case], answers: &[(bool, Rule)]) -> Rule {
        let differs = |same_but: fn(&Case, &Case) -> bool| {
            cases.iter().zip(answers).any(|(a, (takes_a, _))| {
                cases.iter().zip(answers).any(|(b, (takes_b, _))| takes_a != takes_b && same_but(a, b))
            })
        };
        let by_version: fn(&Case, &Case) -> bool =
            |a, b| (a.watches, a.global, a.same_id, a.locked) == (b.watches, b.global, b.same_id, b.locked);
        let by_scope: fn(&Case, &Case) -> bool =
            |a, b| (a.rules, a.handled, a.same_id, a.locked) == (b.rules, b.handled, b.same_id, b.locked);
        let by_id: fn(&Case, &Case) -> bool = |a, b| {
            (a.rules, a.handled, a.watches, a.global, a.locked) == (b.rules, b.handled, b.watches, b.global, b.locked)
        };
        let by_lock: fn(&Case, &Case) -> bool = |a, b| {
            (a.rules, a.handled, a.watches, a.global, a.same_id) == (b.rules, b.handled, b.watches, b.global, b.same_id)
        };
        let candidates = [
            (self.scopes.len() > 1, by_scope, Rule::ScopeUnknown),
            (self.same_id.len() > 1, by_id, Rule::IdUnknown),
            (self.rules.len() > 1, by_version, Rule::VersionUnknown),
            (true, by_lock, Rule::LocksUnseen),
        ];
        let found = candidates.into_iter().find(|(open, same_but, _)| *open && differs(*same_but));
        found.map_or(Rule::VersionUnknown, |(_, _, rule)| rule)
    }
}

/// Whether versions under some rules have a controller for a kind: yes, no, or some have and some have not.
fn either(family: &Family, rules: &'static Rules, kind: Option<&contracts::Reconciled>) -> Vec<(&'static Rules, bool)> {
    let Some(kind) = kind else { return vec![(rules, false)] };
    let next = family.rules.iter().find(|other| other.since > rules.since);
    let first = kind.by(rules.since);
    let comes_or_goes = |at: contracts::MajorMinor| at > rules.since && next.is_none_or(|next| at < next.since);
    let changes = comes_or_goes(kind.since) || kind.until.is_some_and(comes_or_goes);
    if changes { vec![(rules, true), (rules, false)] } else { vec![(rules, first)] }
}
