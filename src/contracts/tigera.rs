//! The Tigera (Calico) operator, v1.23 and later: several may be deployed, a `ConfigMap` names the active one.

use super::kinds::CONFIG_MAP;
use super::{Family, Find, IdSource, LeaseName, Pointer, Watch};

/// Name of the family.
pub const NAME: &str = "tigera";
/// Name of the Deployment in the official manifests and chart.
pub const DEPLOYMENT: &str = "tigera-operator";
/// Variable that overrides which namespace an operator takes for its own, also when it is set and empty.
pub const ENV_OPERATOR_NAMESPACE: &str = "OPERATOR_NAMESPACE";

/// The pointer to the active operator's namespace.
///
/// An operator runs when the pointer is absent or its value equals its own namespace byte for byte, and waits in every
/// other case.
pub const POINTER: Pointer =
    Pointer { kind: CONFIG_MAP, namespace: "calico-system", name: "active-operator", key: "active-namespace" };

/// The family. Its operators have no ids; the namespace tells them apart, so it stands for the id.
pub const FAMILY: Family = Family {
    name: NAME,
    groups: &["operator.tigera.io"],
    default_id: None,
    deployments: &[Find::Label { key: "k8s-app", value: DEPLOYMENT, sure: true }, Find::Name(DEPLOYMENT)],
    containers: &[DEPLOYMENT],
    command: &["operator"],
    id: IdSource::Namespace { env: ENV_OPERATOR_NAMESPACE },
    watch: Watch::Everything,
    lease: LeaseName::Fixed("operator-lock"),
    version_label: "app.kubernetes.io/version",
    id_annotation: None,
    registry: None,
    resources: &[],
    rules: &[],
    rules_until: (0, 0),
    pointer: Some(POINTER),
    olm_packages: &["tigera-operator"],
};
