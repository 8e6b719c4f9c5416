//! Two programs, written apart, decide alike who takes what.

use kctl::contracts::{camel_k, kinds};
use kctl::tenancy::operators::{Operator, Scope, State};
use kctl::tenancy::ownership::{Locks, NamespaceLocks, PlatformLock, Resource, decide};

use rule::{Era, Identity, Verdict};

#[path = "../../../examples/operator/src/camel_k/rule.rs"]
mod rule;

const HOME: &str = "ops";

/// What kctl says, in a namespace with or without the locks of all eras.
fn by_kctl(identity: &Identity, carried: &str, namespace: &str, locked: bool) -> bool {
    let mut operator = Operator::at(camel_k::NAME, &identity.id, HOME, State::Active);
    operator.scope = if identity.global { Scope::Cluster } else { Scope::Namespaces(vec![namespace.to_owned()]) };
    operator.version = Some(identity.era.version().to_owned());
    let mut locks = Locks::unlocked(namespace);
    if locked {
        locks.set(
            namespace,
            NamespaceLocks {
                platforms: Some(vec![PlatformLock { name: "local".to_owned(), secondary: false }]),
                leases: Some(["local-lock", camel_k::DEFAULT_LEASE].map(str::to_owned).into()),
            },
        );
    }
    let resource = Resource {
        kind: kinds::INTEGRATION,
        namespace: namespace.to_owned(),
        name: "orders".to_owned(),
        id: (!carried.is_empty()).then(|| carried.to_owned()),
    };
    let ownership = decide(&resource, &[operator], &locks);
    assert!(!ownership.depends, "{identity:?} {carried:?}: {}", ownership.reason);
    !ownership.owners.is_empty()
}

#[test]
fn kctl_and_the_example_agree() {
    let ids = ["", "camel-k", "tenant-a", "tenant-b"];
    for era in Era::ALL {
        for id in ids {
            for global in [true, false] {
                let identity = Identity { era, id: id.to_owned(), namespace: HOME.to_owned(), global };
                for (carried, namespace, locked) in ids
                    .iter()
                    .flat_map(|carried| [HOME, "team"].map(|namespace| (*carried, namespace)))
                    .flat_map(|(carried, namespace)| [false, true].map(|locked| (carried, namespace, locked)))
                {
                    let takes = match identity.verdict(carried, namespace) {
                        Verdict::Take => true,
                        Verdict::Leave => false,
                        Verdict::UnlessLocked => !locked,
                    };
                    assert_eq!(
                        takes,
                        by_kctl(&identity, carried, namespace, locked),
                        "{identity:?}, {carried:?} in {namespace}, locked={locked}"
                    );
                }
            }
        }
    }
}
