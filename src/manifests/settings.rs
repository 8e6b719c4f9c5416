//! What may be said of an operator, kept from one install to the next.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::platform::Build;

/// Which namespaces an operator watches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Watch {
    /// Its own.
    Own,
    /// All.
    Cluster,
    /// These.
    Namespaces(Vec<String>),
}

/// Where the operator pushes the images it builds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Registry {
    /// Host and port.
    pub address: Option<String>,
    /// Secret with the credentials.
    pub secret: Option<String>,
    /// Whether to speak plain HTTP.
    pub insecure: Option<bool>,
    /// Organization the images go to.
    pub organization: Option<String>,
}

/// What may be said of an operator. `None` and empty mean "not said".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Namespaces to watch.
    pub watch: Option<Watch>,
    /// Version of the operator.
    pub version: Option<String>,
    /// Image, when it is not the official one of the version.
    pub image: Option<String>,
    /// `imagePullPolicy`.
    pub image_pull_policy: Option<String>,
    /// Names of pull secrets.
    pub image_pull_secrets: Vec<String>,
    /// Registry for built images.
    pub registry: Registry,
    /// Further environment of the operator.
    pub env: BTreeMap<String, String>,
    /// Overrides such as `limits.cpu` to `2`.
    pub resources: BTreeMap<String, String>,
    /// Node labels to ask for.
    pub node_selector: BTreeMap<String, String>,
    /// Tolerations, as in a pod.
    pub tolerations: Vec<Value>,
    /// Log level: info, debug, error or a number.
    pub log_level: Option<String>,
    /// Put behind the names of RBAC objects outside the operator's namespace: another instance of the id has those
    /// without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rbac_suffix: Option<String>,
    /// How images are built.
    #[serde(skip_serializing_if = "Build::is_empty")]
    pub build: Build,
    /// Whether the cluster is OpenShift; noted by the first install there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openshift: Option<bool>,
}

impl Settings {
    /// These settings, and those of `earlier` where these say nothing: a repeated install changes only what it names.
    pub fn over(self, earlier: Self) -> Self {
        fn either<T>(new: Vec<T>, old: Vec<T>) -> Vec<T> {
            if new.is_empty() { old } else { new }
        }
        fn merged(new: BTreeMap<String, String>, mut old: BTreeMap<String, String>) -> BTreeMap<String, String> {
            old.extend(new);
            old
        }
        // A version without an image means the official image of that version, not the image named earlier.
        let image = if self.version.is_some() { self.image } else { self.image.or(earlier.image) };
        Self {
            watch: self.watch.or(earlier.watch),
            version: self.version.or(earlier.version),
            image,
            image_pull_policy: self.image_pull_policy.or(earlier.image_pull_policy),
            image_pull_secrets: either(self.image_pull_secrets, earlier.image_pull_secrets),
            registry: Registry {
                address: self.registry.address.or(earlier.registry.address),
                secret: self.registry.secret.or(earlier.registry.secret),
                insecure: self.registry.insecure.or(earlier.registry.insecure),
                organization: self.registry.organization.or(earlier.registry.organization),
            },
            env: merged(self.env, earlier.env),
            resources: merged(self.resources, earlier.resources),
            node_selector: merged(self.node_selector, earlier.node_selector),
            tolerations: either(self.tolerations, earlier.tolerations),
            log_level: self.log_level.or(earlier.log_level),
            rbac_suffix: self.rbac_suffix.or(earlier.rbac_suffix),
            build: self.build.over(earlier.build),
            openshift: self.openshift.or(earlier.openshift),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_install_changes_only_what_it_names() {
        let earlier = Settings {
            watch: Some(Watch::Cluster),
            image: Some("example.com/camel-k:fork".into()),
            env: [("A".to_owned(), "1".to_owned())].into(),
            ..Settings::default()
        };
        let flags = Settings { env: [("B".to_owned(), "2".to_owned())].into(), ..Settings::default() };
        let both = flags.over(earlier.clone());
        assert_eq!(both.watch, Some(Watch::Cluster));
        assert_eq!(both.env.len(), 2);
        assert_eq!(both.image, earlier.image);
        let upgraded = Settings { version: Some("2.10.0".into()), ..Settings::default() }.over(earlier);
        assert_eq!(upgraded.image, None, "a version means its official image");
    }
}
