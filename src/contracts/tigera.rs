//! The Tigera (Calico) operator, v1.23 and later: several may be deployed, a `ConfigMap` names the active one.

use super::kinds::{CONFIG_MAP, Kind};
use super::{Family, Find, IdSource, LeaseName, MajorMinor, Pointer, Watch};

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

/// `operator.tigera.io/v1` `Installation`: what the operator is to run. Cluster-scoped, named [`INSTALLATION_NAME`].
pub const INSTALLATION: Kind = Kind {
    group: "operator.tigera.io",
    version: "v1",
    kind: "Installation",
    plural: "installations",
    namespaced: false,
};
/// `operator.tigera.io/v1` `TigeraStatus`.
pub const STATUS: Kind = Kind {
    group: "operator.tigera.io",
    version: "v1",
    kind: "TigeraStatus",
    plural: "tigerastatuses",
    namespaced: false,
};
/// Name of the one Installation.
pub const INSTALLATION_NAME: &str = "default";
/// Name of the `ServiceAccount` in the official manifests and chart.
pub const SERVICE_ACCOUNT: &str = "tigera-operator";
/// Name of the `ClusterRole` in the official manifests and chart.
pub const CLUSTER_ROLE: &str = "tigera-operator";
/// Name of the `RoleBinding` that lets an operator write Secrets: in its own namespace (from the manifests) and in
/// [`POINTER`]'s, where the operator that reconciled last is its subject.
pub const SECRETS_BINDING: &str = "tigera-operator-secrets";
/// The first version that honours the pointer.
pub const POINTER_SINCE: MajorMinor = (1, 23);
/// The first version whose write access to Secrets is given per namespace.
pub const NAMESPACED_SECRETS_SINCE: MajorMinor = (1, 38);
/// The first version with one CA for all certificates it signs.
pub const CENTRAL_CA_SINCE: MajorMinor = (1, 26);
/// The first version whose pod templates carry the operator's namespace, so that a switch rolls them once.
pub const NAMESPACE_IN_TEMPLATES_SINCE: MajorMinor = (1, 32);
/// What an annotation of a pod template has in its key after the operator's namespace, from v1.32 on.
pub const TEMPLATE_HASH: &str = ".hash.operator.tigera.io/";
/// Workloads in the pointer's namespace whose pods roll on a switch from v1.32 on: kind and name.
pub const ROLLING: [(&str, &str); 3] =
    [("DaemonSet", "calico-node"), ("Deployment", "calico-typha"), ("Deployment", "calico-kube-controllers")];

/// Namespaces an operator manages itself and refuses to run in, over all versions.
pub const PROTECTED: &[&str] = &[
    "calico-system",
    "calico-apiserver",
    "istio-system",
    "calico-istio",
    "tigera-system",
    "tigera-elasticsearch",
    "tigera-intrusion-detection",
    "tigera-dpi",
    "tigera-eck-operator",
    "tigera-compliance",
    "tigera-fluentd",
    "tigera-manager",
];

/// Secret with the CA and its key.
pub const CA: &str = "tigera-ca-private";
/// `ConfigMap` with the address of the API server. Without it calico-node is rendered without one, which in eBPF mode
/// cuts nodes off from the API server.
pub const ENDPOINT: &str = "kubernetes-services-endpoint";
/// The pair made for the operator itself: its names carry the namespace, so a copy is wrong by construction.
pub const OWN_PAIR: &str = "tigera-operator-tls";
/// What an operator before v1.26 needs all of or none of: two Secrets and a `ConfigMap`.
pub const SEED_SECRETS: [&str; 2] = ["typha-certs", "node-certs"];
/// The `ConfigMap` that goes with [`SEED_SECRETS`].
pub const SEED_CONFIG_MAP: &str = "typha-ca";

/// Secrets in an operator's namespace that its successor needs, in all versions.
pub const SECRETS: &[&str] = &[
    CA,
    "typha-certs",
    "node-certs",
    "calico-apiserver-certs",
    "calico-kube-controllers-metrics-tls",
    "goldmane-key-pair",
    "whisker-key-pair",
    "whisker-backend-key-pair",
    "calico-webhooks-tls",
    "manager-tls",
    "internal-manager-tls",
    "tigera-managed-cluster-connection",
    "tigera-dex-tls",
    "calico-node-prometheus-tls",
    "calico-node-prometheus-client-tls",
];
/// How more of them start (Enterprise).
pub const SECRET_PREFIX: &str = "tigera-secure-";
/// `ConfigMap`s in an operator's namespace that its successor needs.
pub const CONFIG_MAPS: &[&str] =
    &[ENDPOINT, "bird-templates", "bgp-layout", SEED_CONFIG_MAP, "operator-bootstrap-config"];
/// Label and annotation on what the operator signed.
pub const SIGNER: &str = "certificates.operator.tigera.io/signer";
