//! Apache Camel K, v1.7 to v2.11: what its operators read, watch and leave behind.

use super::kinds::{
    BUILD, CAMEL_CATALOG, INTEGRATION, INTEGRATION_KIT, INTEGRATION_PLATFORM, INTEGRATION_PROFILE, KAMELET,
    KAMELET_BINDING, Kind, PIPE,
};
use super::{
    Family, Find, IdSource, IdVariable, LeaseName, Legacy, Lock, MajorMinor, Reach, Reconciled, Registry, Rules, Watch,
};

/// Name of the family.
pub const NAME: &str = "camel-k";
/// API group of its kinds.
pub const GROUP: &str = "camel.apache.org";
/// The operator id when none is given. Its operator also takes resources without an id.
pub const DEFAULT_ID: &str = "camel-k";

/// Annotation on a resource that names its operator. Compared byte for byte.
pub const OPERATOR_ID: &str = "camel.apache.org/operator.id";
/// Annotation on a resource that selects an `IntegrationPlatform` by name.
pub const PLATFORM_ID: &str = "camel.apache.org/platform.id";
/// Annotation that makes an `IntegrationPlatform` secondary (v1.7 to v2.2).
pub const SECONDARY_PLATFORM: &str = "camel.apache.org/secondary.platform";
/// Label on an `IntegrationPlatform` that the operator or the installer made.
pub const PLATFORM_GENERATED: &str = "camel.apache.org/platform.generated";
/// Annotation on a resource that selects an `IntegrationProfile` (from v2.3).
pub const PROFILE_ID: &str = "camel.apache.org/integration-profile.id";
/// Annotation with the namespace of that profile (from v2.3).
pub const PROFILE_NAMESPACE: &str = "camel.apache.org/integration-profile.namespace";
/// Label that tells the parts of Camel K apart.
pub const COMPONENT: &str = "camel.apache.org/component";
/// Value of [`COMPONENT`] on the operator's Deployment and pods.
pub const COMPONENT_OPERATOR: &str = "operator";
/// Label on everything that belongs to a Camel K installation.
pub const APP: &str = "app";
/// Value of [`APP`].
pub const APP_CAMEL_K: &str = "camel-k";
/// Label on Deployments, pods and jobs of an Integration: its name.
pub const INTEGRATION_LABEL: &str = "camel.apache.org/integration";
/// Label on an Integration that a Pipe made: the kind of its creator.
pub const CREATED_BY_KIND: &str = "camel.apache.org/created.by.kind";
/// Label on an Integration that a Pipe made: the name of its creator.
pub const CREATED_BY_NAME: &str = "camel.apache.org/created.by.name";

/// Label on a Kamelet: `source`, `sink` or `action`.
pub const KAMELET_TYPE: &str = "camel.apache.org/kamelet.type";

/// Releases whose operator can be installed from plain manifests, newest first.
pub const RELEASES: &[&str] = &["2.10.1", "2.10.0", "2.9.0", "2.8.1", "2.8.0"];
/// Properties of a Kamelet endpoint that operators read themselves, whatever the Kamelet defines (seen in v2.10.1).
pub const KAMELET_SELECTORS: &[&str] = &["id", "kameletVersion", "kameletNamespace"];

/// Variable with the operator's id; it wins when it is not empty.
pub const ENV_KAMEL_OPERATOR_ID: &str = "KAMEL_OPERATOR_ID";
/// Variable with the operator's id, read from v1.10.1 on. The manifests set it to [`DEFAULT_ID`].
pub const ENV_OPERATOR_ID: &str = "OPERATOR_ID";
/// Variable with the watched namespace: blank is all of them, and without the variable the operator exits.
pub const ENV_WATCH_NAMESPACE: &str = "WATCH_NAMESPACE";
/// Variable with the operator's own namespace.
pub const ENV_NAMESPACE: &str = "NAMESPACE";
/// Variable with the operator's pod name.
pub const ENV_POD_NAME: &str = "POD_NAME";
/// Variable with a fixed value in all manifests.
pub const ENV_OPERATOR_NAME: &str = "OPERATOR_NAME";
/// Variable with the log level: info, debug, error or a number.
pub const ENV_LOG_LEVEL: &str = "LOG_LEVEL";
/// Variable in an Integration's container that tells which operator deployed it.
pub const ENV_CONTAINER_OPERATOR_ID: &str = "CAMEL_K_OPERATOR_ID";

/// Name of the operator's container.
pub const CONTAINER: &str = "camel-k-operator";
/// Name of the Deployment that the official manifests make.
pub const DEPLOYMENT: &str = "camel-k-operator";
/// How the operator is started.
pub const COMMAND: &[&str] = &["kamel", "operator"];
/// Where the official images are.
pub const IMAGE_REPOSITORY: &str = "docker.io/apache/camel-k";
/// The Lease of an operator without an id, and the lock of a namespace before v1.10 and from v2.11 on.
pub const DEFAULT_LEASE: &str = "camel-k-lock";

/// The kinds whose annotation tells which ids are in use, where they are served.
pub const KINDS: &[Reconciled] = &[
    reconciled(INTEGRATION, (1, 7), None, true),
    reconciled(PIPE, (2, 0), None, true),
    reconciled(KAMELET_BINDING, (1, 7), Some((2, 6)), true),
    reconciled(INTEGRATION_KIT, (1, 7), None, true),
    reconciled(BUILD, (1, 7), None, true),
    reconciled(INTEGRATION_PLATFORM, (1, 7), None, true),
    reconciled(CAMEL_CATALOG, (2, 0), None, true),
    reconciled(INTEGRATION_PROFILE, (2, 3), Some((2, 7)), false),
    reconciled(KAMELET, (1, 7), Some((2, 2)), false),
];

const fn reconciled(kind: Kind, since: MajorMinor, until: Option<MajorMinor>, counted: bool) -> Reconciled {
    Reconciled { kind, since, until, counted }
}

const fn rules(era: &'static str, since: MajorMinor, legacy: Legacy, lock: Lock) -> Rules {
    Rules { era, since, legacy, lock, lock_binds_ids: false }
}

/// How versions decide about a resource, oldest first.
///
/// E0 knows no default id, and a lock keeps its cluster-wide operators away from everything in the namespace. v2.3
/// dropped secondary platforms in the middle of E2. E5 is v2.11, read from its sources before the release.
pub const RULES: &[Rules] = &[
    Rules {
        era: "E0",
        since: (1, 7),
        legacy: Legacy::SameOnly,
        lock: Lock::Lease(DEFAULT_LEASE),
        lock_binds_ids: true,
    },
    rules("E1", (1, 10), Legacy::DefaultOrLocal, Lock::Registry { primary_only: true }),
    rules("E2", (2, 0), Legacy::DefaultOrLocal, Lock::Registry { primary_only: true }),
    rules("E2", (2, 3), Legacy::DefaultOrLocal, Lock::Registry { primary_only: false }),
    rules("E3", (2, 5), Legacy::DefaultOrLocal, Lock::Registry { primary_only: false }),
    rules("E4", (2, 8), Legacy::DefaultOrLocal, Lock::Registry { primary_only: false }),
    rules("E5", (2, 11), Legacy::AnyWatcher, Lock::Lease(DEFAULT_LEASE)),
];

/// The family.
pub const FAMILY: Family = Family {
    name: NAME,
    groups: &[GROUP],
    default_id: Some(DEFAULT_ID),
    deployments: &[
        Find::Label { key: COMPONENT, value: COMPONENT_OPERATOR, sure: true },
        Find::Label { key: APP, value: APP_CAMEL_K, sure: false },
    ],
    containers: &[CONTAINER],
    command: COMMAND,
    id: IdSource::Env(&[
        IdVariable { name: ENV_KAMEL_OPERATOR_ID, since: None },
        IdVariable { name: ENV_OPERATOR_ID, since: Some((1, 10, 1)) },
    ]),
    watch: Watch::Env { name: ENV_WATCH_NAMESPACE, all: "", absent: Reach::Nothing, list_since: (2, 11) },
    lease: LeaseName::PerId { suffix: "-lock", when_empty: DEFAULT_LEASE, flag: "--leader-election-id" },
    version_label: "app.kubernetes.io/version",
    id_annotation: Some(OPERATOR_ID),
    registry: Some(Registry {
        kind: INTEGRATION_PLATFORM,
        secondary: SECONDARY_PLATFORM,
        installed: &[(PLATFORM_GENERATED, "true"), (APP, APP_CAMEL_K)],
    }),
    resources: KINDS,
    rules: RULES,
    rules_until: (3, 0),
    pointer: None,
    olm_packages: &["camel-k", "red-hat-camel-k"],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_has_the_rules_of_its_era() {
        for (version, era) in [
            ((1, 6), None),
            ((1, 7), Some("E0")),
            ((1, 9), Some("E0")),
            ((1, 10), Some("E1")),
            ((1, 12), Some("E1")),
            ((2, 0), Some("E2")),
            ((2, 4), Some("E2")),
            ((2, 5), Some("E3")),
            ((2, 7), Some("E3")),
            ((2, 8), Some("E4")),
            ((2, 10), Some("E4")),
            ((2, 11), Some("E5")),
            ((2024, 5), None),
        ] {
            assert_eq!(FAMILY.rules_of(version).map(|rules| rules.era), era, "{version:?}");
        }
    }

    #[test]
    fn leases_are_named_by_the_id() {
        assert_eq!(FAMILY.lease.of("tenant-a"), "tenant-a-lock");
        assert_eq!(FAMILY.lease.of(""), "camel-k-lock");
        assert_eq!(FAMILY.lease.of(DEFAULT_ID), "camel-k-lock");
    }

    #[test]
    fn kinds_come_and_go_with_versions() {
        let handled = |kind, version| FAMILY.reconciled(kind).is_some_and(|entry| entry.by(version));
        assert!(!handled("Pipe", (1, 12)) && handled("Pipe", (2, 0)));
        assert!(handled("KameletBinding", (2, 5)) && !handled("KameletBinding", (2, 6)));
        assert!(handled("Integration", (1, 7)) && handled("Integration", (2, 11)));
        assert!(!handled("Kamelet", (2, 10)));
    }
}
