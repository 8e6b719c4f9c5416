//! Operator Lifecycle Manager: where its Subscriptions and the Deployments it makes tell about an operator.

/// Annotation OLM puts on the pod template of a Deployment: the watched namespaces, comma-separated; empty is all.
pub const TARGET_NAMESPACES: &str = "olm.targetNamespaces";
/// Label on what OLM made: the `ClusterServiceVersion` that owns it.
pub const OWNER: &str = "olm.owner";
/// JSON pointer in a Subscription to the package it installs.
pub const PACKAGE: &str = "/spec/name";
/// JSON pointer in a Subscription to the settings it adds to the operator's container: `env` and `envFrom`.
pub const CONFIG: &str = "/spec/config";
/// JSON pointer in a Subscription to the name of the installed `ClusterServiceVersion`, as in `camel-k-operator.v2.10.1`.
pub const INSTALLED_CSV: &str = "/status/installedCSV";

/// The version at the end of a `ClusterServiceVersion`'s name.
pub fn csv_version(name: &str) -> Option<&str> {
    let (_, version) = name.split_once(".v")?;
    version.starts_with(|first: char| first.is_ascii_digit()).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_csv_names() {
        assert_eq!(csv_version("camel-k-operator.v2.10.1"), Some("2.10.1"));
        assert_eq!(csv_version("red-hat-camel-k-operator.v1.10.5-0.17"), Some("1.10.5-0.17"));
        assert_eq!(csv_version("nothing"), None);
        assert_eq!(csv_version("x.verse"), None);
    }
}
