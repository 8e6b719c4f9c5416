//! The rule against tables that were written from Camel K's behaviour, not from the code.

use super::*;
use crate::contracts::kinds::{INTEGRATION, KAMELET, KAMELET_BINDING, PIPE};
use crate::tenancy::operators::Scope;

/// Who takes what. The five letters stand for a resource with the id `tenant-a`, `tenant-b`, `camel-k`, none and an
/// empty one: y is taken. The first five hold in a namespace without lock, the others in a locked one.
///
/// Places: `global` watches the cluster and lives elsewhere, `home` watches the cluster and lives in the resource's
/// namespace, `listed` watches it by name, `own` watches only the namespace it shares with the resource, `away` watches
/// only its own, which is another one.
const TABLE: &str = "
    E0     tenant-a  global  ynnnn nnnnn
    E0     tenant-a  home    ynnnn ynnnn
    E0     tenant-a  listed  ynnnn ynnnn
    E0     tenant-a  own     ynnnn ynnnn
    E0     camel-k   global  nnynn nnnnn
    E0     camel-k   home    nnynn nnynn
    E0     camel-k   listed  nnynn nnynn
    E0     camel-k   own     nnynn nnynn
    E0     -         global  nnnyy nnnnn
    E0     -         home    nnnyy nnnyy
    E0     -         listed  nnnyy nnnyy
    E0     -         own     nnnyy nnnyy

    E1-E4  tenant-a  global  ynnnn ynnnn
    E1-E4  tenant-a  home    ynnnn ynnnn
    E1-E4  tenant-a  listed  ynnyy ynnyy
    E1-E4  tenant-a  own     ynnyy ynnyy
    E1-E4  camel-k   global  nnyyy nnynn
    E1-E4  camel-k   home    nnyyy nnyyy
    E1-E4  camel-k   listed  nnyyy nnyyy
    E1-E4  camel-k   own     nnyyy nnyyy
    E1-E4  -         global  nnnyy nnnnn
    E1-E4  -         home    nnnyy nnnyy
    E1-E4  -         listed  nnnyy nnnyy
    E1-E4  -         own     nnnyy nnnyy

    E5     tenant-a  global  ynnyy ynnnn
    E5     tenant-a  home    ynnyy ynnyy
    E5     tenant-a  listed  ynnyy ynnyy
    E5     tenant-a  own     ynnyy ynnyy
    E5     camel-k   global  nnyyy nnynn
    E5     camel-k   home    nnyyy nnyyy
    E5     camel-k   listed  nnyyy nnyyy
    E5     camel-k   own     nnyyy nnyyy
    E5     -         global  nnnyy nnnnn
    E5     -         home    nnnyy nnnyy
    E5     -         listed  nnnyy nnnyy
    E5     -         own     nnnyy nnnyy
";

/// Versions, their rows in [`TABLE`], and which of [`LOCKS`] lock a namespace for them.
const VERSIONS: [(&str, &str, [bool; 6]); 10] = [
    ("1.7.0", "E0", [false, false, false, false, true, true]),
    ("1.9.2", "E0", [false, false, false, false, true, true]),
    ("1.10.0", "E1-E4", [false, false, true, false, false, true]),
    ("1.12.1", "E1-E4", [false, false, true, false, false, true]),
    ("2.2.0", "E1-E4", [false, false, true, false, false, true]),
    ("2.3.0", "E1-E4", [false, false, true, true, false, true]),
    ("2.7.0", "E1-E4", [false, false, true, true, false, true]),
    ("2.8.0", "E1-E4", [false, false, true, true, false, true]),
    ("2.10.1", "E1-E4", [false, false, true, true, false, true]),
    ("2.11.0-SNAPSHOT", "E5", [false, false, false, false, true, true]),
];

/// What is in the namespace: platforms (name, secondary) and Leases.
type LockFacts = (&'static [(&'static str, bool)], &'static [&'static str]);
const LOCKS: [LockFacts; 6] = [
    (&[], &["operator-lock", "other-lock"]),
    (&[("local", false)], &["other-lock"]),
    (&[("local", false)], &["local-lock"]),
    (&[("local", true)], &["local-lock"]),
    (&[], &["camel-k-lock"]),
    (&[("camel-k", false)], &["camel-k-lock"]),
];

const ANNOTATIONS: [Option<&str>; 5] = [Some("tenant-a"), Some("tenant-b"), Some("camel-k"), None, Some("")];
const IDS: [&str; 3] = ["tenant-a", "camel-k", ""];
const PLACES: [&str; 5] = ["global", "home", "listed", "own", "away"];

fn expected(row: &str, id: &str, place: &str, locked: bool, annotation: usize) -> bool {
    if place == "away" {
        return false;
    }
    let id = if id.is_empty() { "-" } else { id };
    let line = TABLE
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|words| words.first() == Some(&row) && words[1] == id && words[2] == place);
    let letters = line.expect("a line for every combination")[if locked { 4 } else { 3 }];
    letters.as_bytes()[annotation] == b'y'
}

fn operator(id: &str, place: &str, version: Option<&str>) -> Operator {
    let (namespace, scope) = match place {
        "global" => ("ops", Scope::Cluster),
        "home" => ("team", Scope::Cluster),
        "listed" => ("ops", Scope::Namespaces(vec!["other".into(), "team".into()])),
        "own" => ("team", Scope::Own),
        "away" => ("ops", Scope::Own),
        _ => ("ops", Scope::Unknown),
    };
    Operator { scope, version: version.map(str::to_owned), ..Operator::at("camel-k", id, namespace, State::Active) }
}

fn resource(id: Option<&str>) -> Resource {
    of_kind(INTEGRATION, id)
}

fn of_kind(kind: Kind, id: Option<&str>) -> Resource {
    Resource { kind, namespace: "team".into(), name: "orders".into(), id: id.map(str::to_owned) }
}

fn locks(facts: LockFacts) -> Locks {
    let mut locks = Locks::default();
    let platforms = facts.0.iter().map(|&(name, secondary)| PlatformLock { name: name.into(), secondary });
    let leases = facts.1.iter().map(|&name| name.to_owned());
    locks.set("team", NamespaceLocks { platforms: Some(platforms.collect()), leases: Some(leases.collect()) });
    locks
}

fn unlocked() -> Locks {
    Locks::unlocked("team")
}

fn one(resource: &Resource, operator: &Operator, locks: &Locks) -> (Takes, Rule) {
    let ownership = decide(resource, std::slice::from_ref(operator), locks);
    (ownership.verdicts[0].takes, ownership.verdicts[0].rule)
}

#[test]
fn every_combination_of_era_scope_id_annotation_and_lock() {
    let mut count = 0;
    for (version, row, locking) in VERSIONS {
        for (facts, locked) in LOCKS.into_iter().zip(locking) {
            for id in IDS {
                for place in PLACES {
                    for (at, annotation) in ANNOTATIONS.into_iter().enumerate() {
                        let takes = one(&resource(annotation), &operator(id, place, Some(version)), &locks(facts)).0;
                        let wanted = if expected(row, id, place, locked, at) { Takes::Yes } else { Takes::No };
                        assert_eq!(takes, wanted, "{version} id {id:?} {place} annotation {annotation:?} {facts:?}");
                        count += 1;
                    }
                }
            }
        }
    }
    assert_eq!(count, 10 * 6 * 3 * 5 * 5);
}

#[test]
fn an_unknown_version_is_every_version() {
    for (lock, facts) in LOCKS.into_iter().enumerate() {
        for id in IDS {
            for place in PLACES {
                for (at, annotation) in ANNOTATIONS.into_iter().enumerate() {
                    let each = VERSIONS.map(|(_, row, locking)| expected(row, id, place, locking[lock], at));
                    let wanted = match each.iter().filter(|takes| **takes).count() {
                        0 => Takes::No,
                        10 => Takes::Yes,
                        _ => Takes::Depends,
                    };
                    for version in [None, Some("nightly"), Some("2024.5.1")] {
                        let (takes, rule) = one(&resource(annotation), &operator(id, place, version), &locks(facts));
                        assert_eq!(takes, wanted, "id {id:?} {place} annotation {annotation:?} {facts:?}");
                        assert_eq!(takes == Takes::Depends, rule == Rule::VersionUnknown);
                    }
                }
            }
        }
    }
}

#[test]
fn the_rule_that_decided_is_told() {
    for (version, id, place, annotation, facts, rule) in [
        ("2.10.1", "tenant-a", "global", Some("tenant-a"), LOCKS[0], Rule::SameId),
        ("2.10.1", "camel-k", "global", None, LOCKS[0], Rule::DefaultId),
        ("2.10.1", "tenant-a", "own", None, LOCKS[0], Rule::Local),
        ("2.11.0", "tenant-a", "global", None, LOCKS[0], Rule::AnyWatcher),
        ("2.10.1", "tenant-a", "global", None, LOCKS[0], Rule::NoId),
        ("2.10.1", "tenant-a", "global", Some("Tenant-A"), LOCKS[0], Rule::OtherId),
        ("2.10.1", "tenant-a", "global", Some("tenant-a "), LOCKS[0], Rule::OtherId),
        ("2.10.1", "tenant-a", "away", Some("tenant-a"), LOCKS[0], Rule::NotWatched),
        ("2.10.1", "camel-k", "global", None, LOCKS[2], Rule::Locked),
    ] {
        let decided = one(&resource(annotation), &operator(id, place, Some(version)), &locks(facts)).1;
        assert_eq!(decided, rule, "{version} {id} {place} {annotation:?}");
    }
}

#[test]
fn what_is_not_known_matters_only_where_it_makes_a_difference() {
    let known = Some("2.10.1");
    for (what, operator, annotation, locks, expected) in [
        (
            "scope",
            operator("tenant-a", "unknown", known),
            Some("tenant-a"),
            unlocked(),
            (Takes::Depends, Rule::ScopeUnknown),
        ),
        ("scope, other id", operator("tenant-a", "unknown", known), Some("b"), unlocked(), (Takes::No, Rule::OtherId)),
        ("locks", operator("camel-k", "global", known), None, Locks::default(), (Takes::Depends, Rule::LocksUnseen)),
        (
            "locks, same id",
            operator("camel-k", "global", known),
            Some("camel-k"),
            Locks::default(),
            (Takes::Yes, Rule::SameId),
        ),
        ("locks, local", operator("tenant-a", "own", known), None, Locks::default(), (Takes::Yes, Rule::Local)),
        (
            "id",
            Operator { id_known: false, ..operator("<secret a/b>", "global", known) },
            Some("tenant-a"),
            unlocked(),
            (Takes::Depends, Rule::IdUnknown),
        ),
        (
            "id, local",
            Operator { id_known: false, ..operator("<secret a/b>", "own", known) },
            None,
            unlocked(),
            (Takes::Yes, Rule::Local),
        ),
    ] {
        assert_eq!(one(&resource(annotation), &operator, &locks), expected, "{what}");
    }
}

#[test]
fn locks_that_were_read_in_part() {
    let operator = operator("camel-k", "global", Some("2.10.1"));
    let platform = || vec![PlatformLock { name: "local".into(), secondary: false }];
    for (platforms, leases, takes) in [
        (None, Some(vec![]), Takes::Yes),
        (Some(vec![]), None, Takes::Yes),
        (Some(platform()), None, Takes::Depends),
        (None, Some(vec!["local-lock"]), Takes::Depends),
    ] {
        let mut locks = Locks::default();
        let leases = leases.map(|names: Vec<&str>| names.into_iter().map(str::to_owned).collect());
        locks.set("team", NamespaceLocks { platforms, leases });
        assert_eq!(one(&resource(None), &operator, &locks).0, takes, "{locks:?}");
    }
}

#[test]
fn a_version_without_a_controller_for_the_kind_takes_nothing_of_it() {
    for (kind, version, expected) in [
        (PIPE, Some("1.12.1"), (Takes::No, Rule::KindNotHandled)),
        (PIPE, Some("2.0.0"), (Takes::Yes, Rule::SameId)),
        (PIPE, None, (Takes::Depends, Rule::VersionUnknown)),
        (KAMELET_BINDING, Some("2.5.1"), (Takes::Yes, Rule::SameId)),
        (KAMELET_BINDING, Some("2.6.0"), (Takes::No, Rule::KindNotHandled)),
        (KAMELET, Some("2.10.1"), (Takes::No, Rule::KindNotHandled)),
        (INTEGRATION, None, (Takes::Yes, Rule::SameId)),
    ] {
        let operator = operator("tenant-a", "global", version);
        assert_eq!(
            one(&of_kind(kind, Some("tenant-a")), &operator, &unlocked()),
            expected,
            "{} {version:?}",
            kind.kind
        );
    }
}

#[test]
fn operators_that_do_not_act() {
    let in_state = |state| Operator { state, ..operator("tenant-a", "global", Some("2.10.1")) };
    for (state, annotation, expected) in [
        (State::NotReady, "tenant-a", (Takes::Yes, Rule::SameId)),
        (State::Duplicate, "tenant-a", (Takes::Yes, Rule::SameId)),
        (State::External, "tenant-a", (Takes::Yes, Rule::SameId)),
        (State::Standby, "tenant-a", (Takes::No, Rule::Standby)),
        (State::Dangling, "tenant-a", (Takes::No, Rule::NoDeployment)),
        (State::Missing, "tenant-a", (Takes::Depends, Rule::NoDeployment)),
        (State::Missing, "tenant-b", (Takes::No, Rule::NoDeployment)),
    ] {
        assert_eq!(one(&resource(Some(annotation)), &in_state(state), &unlocked()), expected, "{state:?}");
    }
}

#[test]
fn the_whole_answer() {
    let known = Some("2.10.1");
    let a = operator("tenant-a", "global", known);
    let default = operator("camel-k", "global", known);
    let local = operator("local", "own", known);
    let next = operator("next", "global", Some("2.11.0"));
    let digest = operator("pinned", "global", None);
    let copy = Operator { namespace: "alt".into(), ..a.clone() };
    for (what, operators, annotation, owners, contested, depends, rule) in [
        ("one owner", vec![&a, &default], Some("tenant-a"), vec!["tenant-a"], false, false, Rule::SameId),
        ("legacy", vec![&a, &default], None, vec!["camel-k"], false, false, Rule::DefaultId),
        ("two of one id", vec![&a, &copy], Some("tenant-a"), vec!["tenant-a"], true, false, Rule::Contested),
        ("default and local", vec![&default, &local], None, vec!["camel-k", "local"], true, false, Rule::Contested),
        ("two watchers", vec![&default, &next], None, vec!["camel-k", "next"], true, false, Rule::Contested),
        ("owner and maybe more", vec![&default, &digest], None, vec!["camel-k"], false, true, Rule::DefaultId),
        ("maybe", vec![&a, &digest], None, vec![], false, true, Rule::VersionUnknown),
        ("nobody", vec![&a], None, vec![], false, false, Rule::NoTaker),
        ("unknown id", vec![&a, &default], Some("ghost"), vec![], false, false, Rule::UnknownId),
        ("no operators", vec![], Some("ghost"), vec![], false, false, Rule::UnknownId),
    ] {
        let operators: Vec<Operator> = operators.into_iter().cloned().collect();
        let ownership = decide(&resource(annotation), &operators, &unlocked());
        let found = (ownership.owners.iter().map(String::as_str).collect::<Vec<_>>(), ownership.contested);
        assert_eq!(found, (owners, contested), "{what}");
        assert_eq!((ownership.depends, ownership.rule), (depends, rule), "{what}: {}", ownership.reason);
        assert_eq!(ownership.verdicts.len(), operators.len(), "{what}");
    }
}

#[test]
fn the_rule_of_an_id_that_watches_elsewhere_is_told() {
    let ownership = decide(&resource(Some("tenant-a")), &[operator("tenant-a", "away", Some("2.10.1"))], &unlocked());
    assert_eq!(ownership.rule, Rule::NotWatched);
    assert_eq!(ownership.reason, "operator tenant-a: it does not watch namespace team");
}

#[test]
fn others_are_all_but_one_id() {
    let operators = [operator("camel-k", "global", Some("2.10.1")), operator("pinned", "global", None)];
    let ownership = decide(&resource(None), &operators, &unlocked());
    let others = |id| ownership.others(id).map(|verdict| verdict.id.clone()).collect::<Vec<_>>();
    assert_eq!(others("camel-k"), ["pinned"]);
    assert_eq!(others("tenant-a"), ["camel-k", "pinned"]);
}

#[test]
fn a_pointer_decides_for_families_that_have_one() {
    const INSTALLATION: Kind = Kind {
        group: "operator.tigera.io",
        version: "v1",
        kind: "Installation",
        plural: "installations",
        namespaced: false,
    };
    let of = |namespace: &str, state| Operator::at("tigera", namespace, namespace, state);
    let operators =
        [of("alt", State::Standby), of("tigera-operator", State::Active), operator("camel-k", "global", None)];
    let resource = Resource { kind: INSTALLATION, namespace: String::new(), name: "default".into(), id: None };
    let ownership = decide(&resource, &operators, &Locks::default());
    assert_eq!(ownership.owners, ["tigera-operator"]);
    assert_eq!(ownership.verdicts.len(), 2, "Camel K has no say");
    assert_eq!(ownership.rule, Rule::Designated);
}
