//! Names of Camel K's API.

use kube::core::ApiResource;

use super::rule::Era;
use crate::object::kind;

const GROUP: &str = "camel.apache.org";

/// Annotation: which operator is to take a resource.
pub const OPERATOR_ID: &str = "camel.apache.org/operator.id";
/// Annotation: which platform a resource is built with.
pub const PLATFORM_ID: &str = "camel.apache.org/platform.id";
/// Annotation: which profile a resource is built with.
pub const PROFILE_ID: &str = "camel.apache.org/integration-profile.id";
/// Annotation: the namespace of that profile.
pub const PROFILE_NAMESPACE: &str = "camel.apache.org/integration-profile.namespace";
/// Annotation: keeps a platform from being the main one of its namespace, up to v2.2.
pub const SECONDARY_PLATFORM: &str = "camel.apache.org/secondary.platform";
/// Annotation: the picture of a Pipe.
pub const ICON: &str = "camel.apache.org/kamelet.icon";
/// Prefix of annotations that set a trait.
pub const TRAIT: &str = "trait.camel.apache.org/";
/// Label: made by an operator at its start.
pub const PLATFORM_GENERATED: &str = "camel.apache.org/platform.generated";
/// Label: the Integration a workload belongs to.
pub const INTEGRATION: &str = "camel.apache.org/integration";
/// Label: where a kit comes from.
pub const KIT_TYPE: &str = "camel.apache.org/kit.type";
/// Label: kind of the creator.
pub const CREATED_BY_KIND: &str = "camel.apache.org/created.by.kind";
/// Label: name of the creator.
pub const CREATED_BY_NAME: &str = "camel.apache.org/created.by.name";
/// Label: namespace of the creator.
pub const CREATED_BY_NAMESPACE: &str = "camel.apache.org/created.by.namespace";

/// The kind Integration.
pub fn integration() -> ApiResource {
    kind(GROUP, "v1", "Integration", "integrations")
}

/// The kind `IntegrationKit`.
pub fn kit() -> ApiResource {
    kind(GROUP, "v1", "IntegrationKit", "integrationkits")
}

/// The kind `IntegrationPlatform`.
pub fn platform() -> ApiResource {
    kind(GROUP, "v1", "IntegrationPlatform", "integrationplatforms")
}

/// The kind of bindings: Pipe, and before v2.0 `KameletBinding`.
pub fn pipe(era: Era) -> ApiResource {
    if era < Era::E2 {
        kind(GROUP, "v1alpha1", "KameletBinding", "kameletbindings")
    } else {
        kind(GROUP, "v1", "Pipe", "pipes")
    }
}
