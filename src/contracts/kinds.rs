//! The Kubernetes kinds kctl reads or writes by name, as constants.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands for itself in a path segment; names of roles have colons.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b':');

/// One kind of object and where the API server serves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// API version.
    pub version: &'static str,
    /// Kind, as in a manifest.
    pub kind: &'static str,
    /// Plural, as in a URL.
    pub plural: &'static str,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
}

impl Kind {
    /// `apiVersion` of a manifest: `v1`, `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The URL path of the collection, or of one object in it.
    ///
    /// `namespace` is ignored for cluster-scoped kinds; `None` on a namespaced kind means all namespaces. Names may come
    /// from a cluster and be anything: what could end a path segment is encoded.
    pub fn path(&self, namespace: Option<&str>, name: Option<&str>) -> String {
        let mut path = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if let Some(namespace) = namespace.filter(|_| self.namespaced) {
            path.push_str("/namespaces/");
            path.extend(utf8_percent_encode(namespace, SEGMENT));
        }
        path.push('/');
        path.push_str(self.plural);
        if let Some(name) = name {
            path.push('/');
            path.extend(utf8_percent_encode(name, SEGMENT));
        }
        path
    }

    /// The plural as kubectl takes it: `integrations.camel.apache.org`, `configmaps`.
    pub fn qualified_plural(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// How kubectl writes a resource in result lines: `deployment.apps`, `secret`.
    pub fn result_name(&self) -> String {
        let lower = self.kind.to_ascii_lowercase();
        if self.group.is_empty() { lower } else { format!("{lower}.{}", self.group) }
    }
}

const fn core(kind: &'static str, plural: &'static str, namespaced: bool) -> Kind {
    Kind { group: "", version: "v1", kind, plural, namespaced }
}

const fn namespaced(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { group, version, kind, plural, namespaced: true }
}

const fn cluster(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { group, version, kind, plural, namespaced: false }
}

const CAMEL: &str = "camel.apache.org";
const RBAC: &str = "rbac.authorization.k8s.io";

/// `v1` Namespace.
pub const NAMESPACE: Kind = core("Namespace", "namespaces", false);
/// `v1` `ConfigMap`.
pub const CONFIG_MAP: Kind = core("ConfigMap", "configmaps", true);
/// `v1` Secret. Read only by name, never to find something out.
pub const SECRET: Kind = core("Secret", "secrets", true);
/// `v1` `ServiceAccount`.
pub const SERVICE_ACCOUNT: Kind = core("ServiceAccount", "serviceaccounts", true);
/// `v1` Pod.
pub const POD: Kind = core("Pod", "pods", true);
/// `apps/v1` Deployment.
pub const DEPLOYMENT: Kind = namespaced("apps", "v1", "Deployment", "deployments");
/// `apps/v1` `DaemonSet`.
pub const DAEMON_SET: Kind = namespaced("apps", "v1", "DaemonSet", "daemonsets");
/// `coordination.k8s.io/v1` Lease.
pub const LEASE: Kind = namespaced("coordination.k8s.io", "v1", "Lease", "leases");
/// `rbac.authorization.k8s.io/v1` Role.
pub const ROLE: Kind = namespaced(RBAC, "v1", "Role", "roles");
/// `rbac.authorization.k8s.io/v1` `RoleBinding`.
pub const ROLE_BINDING: Kind = namespaced(RBAC, "v1", "RoleBinding", "rolebindings");
/// `rbac.authorization.k8s.io/v1` `ClusterRole`.
pub const CLUSTER_ROLE: Kind = cluster(RBAC, "v1", "ClusterRole", "clusterroles");
/// `rbac.authorization.k8s.io/v1` `ClusterRoleBinding`.
pub const CLUSTER_ROLE_BINDING: Kind = cluster(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings");
/// `apiextensions.k8s.io/v1` `CustomResourceDefinition`.
pub const CRD: Kind = cluster("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");
/// `authorization.k8s.io/v1` `SelfSubjectAccessReview`.
pub const SELF_SUBJECT_ACCESS_REVIEW: Kind =
    cluster("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews");
/// `authorization.k8s.io/v1` `SubjectAccessReview`.
pub const SUBJECT_ACCESS_REVIEW: Kind =
    cluster("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews");
/// `kctl.dev/v1alpha1` `OperatorClaim`, kctl's own record of who holds an operator id.
pub const OPERATOR_CLAIM: Kind = cluster("kctl.dev", "v1alpha1", "OperatorClaim", "operatorclaims");
/// OLM Subscription.
pub const SUBSCRIPTION: Kind = namespaced("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions");
/// Camel K Integration.
pub const INTEGRATION: Kind = namespaced(CAMEL, "v1", "Integration", "integrations");
/// Camel K `IntegrationKit`.
pub const INTEGRATION_KIT: Kind = namespaced(CAMEL, "v1", "IntegrationKit", "integrationkits");
/// Camel K `IntegrationPlatform`.
pub const INTEGRATION_PLATFORM: Kind = namespaced(CAMEL, "v1", "IntegrationPlatform", "integrationplatforms");
/// Camel K `IntegrationProfile` (from v2.3).
pub const INTEGRATION_PROFILE: Kind = namespaced(CAMEL, "v1", "IntegrationProfile", "integrationprofiles");
/// Camel K Build.
pub const BUILD: Kind = namespaced(CAMEL, "v1", "Build", "builds");
/// Camel K `CamelCatalog`.
pub const CAMEL_CATALOG: Kind = namespaced(CAMEL, "v1", "CamelCatalog", "camelcatalogs");
/// Camel K Kamelet, as served from v2.0.
pub const KAMELET: Kind = namespaced(CAMEL, "v1", "Kamelet", "kamelets");
/// Camel K Kamelet, as served up to v2.5.1.
pub const KAMELET_V1ALPHA1: Kind = namespaced(CAMEL, "v1alpha1", "Kamelet", "kamelets");
/// Camel K Pipe (from v2.0).
pub const PIPE: Kind = namespaced(CAMEL, "v1", "Pipe", "pipes");
/// Camel K `KameletBinding` (to v2.5.1).
pub const KAMELET_BINDING: Kind = namespaced(CAMEL, "v1alpha1", "KameletBinding", "kameletbindings");

const ALL: [Kind; 25] = [
    NAMESPACE,
    CONFIG_MAP,
    SECRET,
    SERVICE_ACCOUNT,
    POD,
    DEPLOYMENT,
    LEASE,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CRD,
    SELF_SUBJECT_ACCESS_REVIEW,
    OPERATOR_CLAIM,
    SUBSCRIPTION,
    INTEGRATION,
    INTEGRATION_KIT,
    INTEGRATION_PLATFORM,
    INTEGRATION_PROFILE,
    BUILD,
    CAMEL_CATALOG,
    KAMELET,
    KAMELET_V1ALPHA1,
    PIPE,
    KAMELET_BINDING,
];

/// The descriptor of a manifest's kind, if kctl knows it.
pub fn of(api_version: &str, kind: &str) -> Option<Kind> {
    ALL.into_iter().find(|known| known.kind == kind && known.api_version() == api_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_its_kind() {
        assert_eq!(of("apps/v1", "Deployment"), Some(DEPLOYMENT));
        assert_eq!(of("v1", "Deployment"), None);
    }

    #[test]
    fn paths() {
        assert_eq!(CONFIG_MAP.path(Some("a"), Some("b")), "/api/v1/namespaces/a/configmaps/b");
        assert_eq!(DEPLOYMENT.path(None, None), "/apis/apps/v1/deployments");
        assert_eq!(POD.path(Some("a/../b?x"), None), "/api/v1/namespaces/a%2F..%2Fb%3Fx/pods");
        assert_eq!(
            CLUSTER_ROLE.path(None, Some("system:a")),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a"
        );
        assert_eq!(CLUSTER_ROLE.path(Some("ignored"), Some("x")), "/apis/rbac.authorization.k8s.io/v1/clusterroles/x");
    }
}
