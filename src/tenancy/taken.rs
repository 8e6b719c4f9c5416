//! Which existing resources a new operator takes.

use crate::contracts::{
    self,
    kinds::{CAMEL_CATALOG, Kind},
};

use super::{
    evidence::IdsInUse,
    operators::Operator,
    ownership::{self, Locks, Resource, Takes},
};

/// A group of existing resources that a new operator takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Kind.
    pub kind: String,
    /// Namespace.
    pub namespace: String,
    /// The id they carry; empty for none.
    pub id: String,
    /// How many.
    pub count: u64,
    /// Ids of operators that take them already: two takers.
    pub others: Vec<String>,
    /// Whether it depends on something unknown.
    pub depends: bool,
}

/// Which existing resources the new operator takes, by the ownership rule.
pub fn taken(new: &Operator, operators: &[Operator], locks: &Locks, ids: &IdsInUse) -> Vec<Taken> {
    let Some(family) = contracts::family(new.family) else { return Vec::new() };
    let mut out = Vec::new();
    for (id, kind, namespace, count) in ids.groups() {
        // Platforms and catalogs are the operators' own.
        let own = |kind: Kind| family.registry.is_some_and(|registry| registry.kind == kind) || kind == CAMEL_CATALOG;
        let Some(reconciled) = family.reconciled(kind).filter(|entry| !own(entry.kind)) else { continue };
        let resource = Resource {
            kind: reconciled.kind,
            namespace: namespace.to_owned(),
            name: String::new(),
            id: Some(id.to_owned()).filter(|id| !id.is_empty()),
        };
        let by_new = ownership::decide(&resource, std::slice::from_ref(new), locks);
        let takes = by_new.verdicts.first().map_or(Takes::No, |verdict| verdict.takes);
        if takes == Takes::No {
            continue;
        }
        let others = ownership::decide(&resource, operators, locks).owners.into_iter().filter(|owner| *owner != new.id);
        out.push(Taken {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            id: id.to_owned(),
            count,
            others: others.collect(),
            depends: takes == Takes::Depends,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenancy::operators::{Scope, State};

    #[test]
    fn a_new_operator_takes_what_carries_its_id_and_what_the_rule_gives_it() {
        let at = |id: &str, namespace: &str, scope: Scope, version: &str| {
            let mut operator = Operator::at("camel-k", id, namespace, State::Active);
            (operator.scope, operator.version) = (scope, Some(version.to_owned()));
            operator
        };
        let mut ids = IdsInUse::default();
        ids.add("a", "Integration", "team");
        ids.add("", "Pipe", "team");
        ids.add("", "Integration", "ops");
        ids.add("b", "Integration", "team");
        ids.add("a", "IntegrationPlatform", "ops");
        let mut locks = Locks::unlocked("team");
        locks.set("ops", ownership::NamespaceLocks::none());
        let told = |new: &Operator, known: &[Operator]| {
            let groups = taken(new, known, &locks, &ids);
            groups.into_iter().map(|group| (group.id, group.kind, group.namespace, group.others)).collect::<Vec<_>>()
        };
        let text = |words: [&str; 3], others: &[&str]| {
            let [id, kind, namespace] = words.map(str::to_owned);
            (id, kind, namespace, others.iter().map(|other| (*other).to_owned()).collect::<Vec<_>>())
        };
        // A cluster-wide 2.10 operator takes its own id only.
        let global = at("a", "ops", Scope::Cluster, "2.10.1");
        assert_eq!(told(&global, &[]), [text(["a", "Integration", "team"], &[])]);
        // A local one also takes what carries none in its namespace, and there the default operator is a second taker.
        let local = at("a", "ops", Scope::Own, "2.10.1");
        let default = at("camel-k", "central", Scope::Cluster, "2.10.1");
        assert_eq!(told(&local, &[default]), [text(["", "Integration", "ops"], &["camel-k"])]);
        // From 2.11 on every watcher takes what carries none.
        let next = at("a", "ops", Scope::Cluster, "2.11.0");
        assert_eq!(told(&next, &[]).len(), 3);
    }
}
