//! From settings to the objects of a Camel K operator. Pure; nothing here knows what a cluster has already.
//!
//! Names, labels, environment, probes and resources are those of the operator's own manifests (v2.8.0 to v2.10.1),
//! except that names and the pod selector carry the operator id, so that several operators live in one namespace.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::rbac;

/// Label with the operator id on everything kctl makes for an operator.
pub const ID_LABEL: &str = "kctl.dev/operator-id";
/// Label on what kctl makes for all operators of a cluster.
pub const SHARED_LABEL: &str = "kctl.dev/shared";
/// Type of the Secret that keeps an operator's settings.
pub const SETTINGS_TYPE: &str = "kctl.dev/install";
/// Version that is installed when none is asked for.
pub const DEFAULT_VERSION: &str = "2.10.1";

const IMAGE: &str = "docker.io/apache/camel-k";

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
        }
    }
}

/// An operator to be: id, place and settings with every default filled in.
#[derive(Clone, Debug)]
pub struct Operator<'a> {
    /// Operator id.
    pub id: &'a str,
    /// Namespace it runs in.
    pub namespace: &'a str,
    /// Its settings.
    pub settings: &'a Settings,
}

impl Operator<'_> {
    /// Name of the Deployment, `ServiceAccount` and namespaced RBAC objects.
    pub fn name(&self) -> String {
        format!("{}-operator", self.id)
    }

    /// Name of the cluster-scoped RBAC objects.
    pub fn cluster_name(&self) -> String {
        format!("kctl-camel-k-{}{}", self.id, self.suffix())
    }

    fn suffix(&self) -> String {
        self.settings.rbac_suffix.as_ref().map(|suffix| format!("-{suffix}")).unwrap_or_default()
    }

    /// Name of the Secret with the settings.
    pub fn settings_name(&self) -> String {
        format!("{}-install", self.id)
    }

    /// The version that runs.
    pub fn version(&self) -> &str {
        self.settings.version.as_deref().unwrap_or(DEFAULT_VERSION)
    }

    /// The image that runs.
    pub fn image(&self) -> String {
        self.settings.image.clone().unwrap_or_else(|| format!("{IMAGE}:{}", self.version()))
    }

    /// The namespaces to watch; own namespace when nothing is said.
    pub fn watch(&self) -> Watch {
        match &self.settings.watch {
            Some(Watch::Namespaces(only)) if only.len() == 1 && only[0] == self.namespace => Watch::Own,
            Some(watch) => watch.clone(),
            None => Watch::Own,
        }
    }

    /// Namespaces in which the operator needs a Role: its own and the watched ones; none when it watches the cluster.
    pub fn role_namespaces(&self) -> Vec<String> {
        match self.watch() {
            Watch::Cluster => Vec::new(),
            Watch::Own => vec![self.namespace.to_owned()],
            Watch::Namespaces(watched) => {
                let mut all = vec![self.namespace.to_owned()];
                all.extend(watched.into_iter().filter(|namespace| namespace != self.namespace));
                all
            }
        }
    }

    fn labels(&self) -> Value {
        json!({
            "app": "camel-k",
            "app.kubernetes.io/name": "camel-k",
            "app.kubernetes.io/component": "operator",
            "app.kubernetes.io/instance": self.id,
            "app.kubernetes.io/managed-by": "kctl",
            ID_LABEL: self.id,
        })
    }

    fn metadata(&self, name: &str, namespace: Option<&str>) -> Value {
        match namespace {
            Some(namespace) => json!({"name": name, "namespace": namespace, "labels": self.labels()}),
            None => json!({"name": name, "labels": self.labels()}),
        }
    }

    /// The `ServiceAccount` of the operator.
    pub fn service_account(&self) -> Value {
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.metadata(&self.name(), Some(self.namespace))})
    }

    /// Roles and bindings, each role before its binding.
    pub fn rbac(&self) -> Vec<Value> {
        if self.watch() == Watch::Cluster {
            let name = self.cluster_name();
            return vec![self.role("ClusterRole", &name, None), self.binding("ClusterRole", &name, None)];
        }
        let name = format!("{}{}", self.name(), self.suffix());
        self.role_namespaces()
            .iter()
            .flat_map(|namespace| {
                [self.role("Role", &name, Some(namespace)), self.binding("Role", &name, Some(namespace))]
            })
            .collect()
    }

    fn role(&self, kind: &str, name: &str, namespace: Option<&str>) -> Value {
        let rules = if namespace.is_some() { rbac::in_namespace() } else { rbac::cluster_wide() };
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": self.metadata(name, namespace),
            "rules": rules,
        })
    }

    fn binding(&self, role: &str, name: &str, namespace: Option<&str>) -> Value {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": format!("{role}Binding"),
            "metadata": self.metadata(name, namespace),
            "subjects": [{"kind": "ServiceAccount", "name": self.name(), "namespace": self.namespace}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name},
        })
    }

    /// The platform of the operator, when a registry is known; without one integrations would wait for ever.
    pub fn platform(&self) -> Option<Value> {
        let registry = &self.settings.registry;
        let address = registry.address.as_ref()?;
        let mut fields = Map::new();
        fields.insert("address".into(), json!(address));
        if let Some(secret) = &registry.secret {
            fields.insert("secret".into(), json!(secret));
        }
        if let Some(insecure) = registry.insecure {
            fields.insert("insecure".into(), json!(insecure));
        }
        if let Some(organization) = &registry.organization {
            fields.insert("organization".into(), json!(organization));
        }
        let mut metadata = self.metadata(self.id, Some(self.namespace));
        metadata["annotations"] = json!({"camel.apache.org/operator.id": self.id});
        Some(json!({
            "apiVersion": "camel.apache.org/v1",
            "kind": "IntegrationPlatform",
            "metadata": metadata,
            "spec": {"build": {"registry": fields}},
        }))
    }

    /// The Secret that keeps the settings for the next install.
    pub fn settings_secret(&self) -> Value {
        let text = serde_json::to_string(self.settings).unwrap_or_default();
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": SETTINGS_TYPE,
            "metadata": self.metadata(&self.settings_name(), Some(self.namespace)),
            "data": {"settings": BASE64_STANDARD.encode(text)},
        })
    }

    /// The Deployment with this number of replicas.
    pub fn deployment(&self, replicas: u8) -> Value {
        let mut labels = self.labels();
        labels["camel.apache.org/component"] = json!("operator");
        labels["app.kubernetes.io/version"] = json!(label_value(self.version()));
        let mut metadata = self.metadata(&self.name(), Some(self.namespace));
        metadata["labels"] = labels.clone();
        let mut pod = json!({
            "serviceAccountName": self.name(),
            "containers": [self.container()],
        });
        if !self.settings.image_pull_secrets.is_empty() {
            pod["imagePullSecrets"] =
                self.settings.image_pull_secrets.iter().map(|name| json!({"name": name})).collect();
        }
        if !self.settings.node_selector.is_empty() {
            pod["nodeSelector"] = json!(self.settings.node_selector);
        }
        if !self.settings.tolerations.is_empty() {
            pod["tolerations"] = json!(self.settings.tolerations);
        }
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "replicas": replicas,
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": {"app.kubernetes.io/name": "camel-k", ID_LABEL: self.id}},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        })
    }

    fn container(&self) -> Value {
        json!({
            "name": "camel-k-operator",
            "image": self.image(),
            "imagePullPolicy": self.settings.image_pull_policy.as_deref().unwrap_or("IfNotPresent"),
            "command": ["kamel", "operator"],
            "ports": [{"containerPort": 8080, "name": "metrics", "protocol": "TCP"}],
            "env": self.env(),
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8081}, "initialDelaySeconds": 20, "periodSeconds": 10},
            "resources": self.resources(),
            "securityContext": {
                "runAsNonRoot": true,
                "seccompProfile": {"type": "RuntimeDefault"},
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
            },
        })
    }

    fn env(&self) -> Vec<Value> {
        let field = |path: &str| json!({"fieldRef": {"fieldPath": path}});
        let watch = match self.watch() {
            Watch::Own => json!({"name": "WATCH_NAMESPACE", "valueFrom": field("metadata.namespace")}),
            // Set and empty means all namespaces; the API server drops the empty value and keeps the name.
            Watch::Cluster => json!({"name": "WATCH_NAMESPACE", "value": ""}),
            Watch::Namespaces(watched) => json!({"name": "WATCH_NAMESPACE", "value": watched.join(",")}),
        };
        let mut env = vec![
            watch,
            json!({"name": "OPERATOR_NAME", "value": "camel-k"}),
            // The operator takes the first of these two that is not empty; an envFrom could only bring the first.
            json!({"name": "KAMEL_OPERATOR_ID", "value": self.id}),
            json!({"name": "OPERATOR_ID", "value": self.id}),
            json!({"name": "POD_NAME", "valueFrom": field("metadata.name")}),
            json!({"name": "NAMESPACE", "valueFrom": field("metadata.namespace")}),
        ];
        env.extend(self.settings.log_level.iter().map(|level| json!({"name": "LOG_LEVEL", "value": level})));
        env.extend(self.settings.env.iter().map(|(name, value)| json!({"name": name, "value": value})));
        env
    }

    fn resources(&self) -> Value {
        let mut resources =
            json!({"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"cpu": "2", "memory": "8Gi"}});
        for (key, quantity) in &self.settings.resources {
            if let Some((part, resource)) = key.split_once('.') {
                resources[part][resource] = json!(quantity);
            }
        }
        resources
    }
}

/// Environment variables that kctl itself sets.
pub const RESERVED_ENV: [&str; 7] =
    ["WATCH_NAMESPACE", "OPERATOR_NAME", "KAMEL_OPERATOR_ID", "OPERATOR_ID", "POD_NAME", "NAMESPACE", "LOG_LEVEL"];

/// A version as a label takes it.
fn label_value(version: &str) -> String {
    let safe: String = version
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .take(63)
        .collect();
    safe.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}

/// Roles that all operators of a cluster share: reading claims for everybody, viewing for `view`, and on request
/// writing for `edit`.
pub fn shared_rbac(with_tenant_role: bool) -> Vec<Value> {
    let metadata = |name: &str, aggregate: Option<&str>| {
        let mut labels =
            json!({"app.kubernetes.io/managed-by": "kctl", "app.kubernetes.io/name": "kctl", SHARED_LABEL: "roles"});
        if let Some(role) = aggregate {
            labels[format!("rbac.authorization.k8s.io/aggregate-to-{role}")] = json!("true");
        }
        json!({"name": name, "labels": labels})
    };
    let role = |name: &str, aggregate: Option<&str>, rules: Vec<Value>| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata(name, aggregate), "rules": rules});
    let mut objects = vec![
        role("kctl-claim-reader", None, rbac::claim_reader()),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata("kctl-claim-reader", None),
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kctl-claim-reader"},
        }),
        role("kctl-camel-k-view", Some("view"), rbac::viewer()),
    ];
    if with_tenant_role {
        objects.push(role("kctl-camel-k-edit", Some("edit"), rbac::tenant()));
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(watch: Watch) -> Settings {
        Settings { watch: Some(watch), ..Settings::default() }
    }

    fn operator(settings: &Settings) -> Operator<'_> {
        Operator { id: "tenant-a", namespace: "ops", settings }
    }

    fn env_of(operator: &Operator<'_>, name: &str) -> Option<Value> {
        operator.env().into_iter().find(|entry| entry["name"] == name)
    }

    #[test]
    fn the_scope_decides_roles_and_environment() {
        let cluster = settings(Watch::Cluster);
        let kinds: Vec<Value> = operator(&cluster).rbac().into_iter().map(|object| object["kind"].clone()).collect();
        assert_eq!(kinds, ["ClusterRole", "ClusterRoleBinding"]);
        assert_eq!(
            env_of(&operator(&cluster), "WATCH_NAMESPACE"),
            Some(json!({"name": "WATCH_NAMESPACE", "value": ""}))
        );

        let own = settings(Watch::Own);
        assert_eq!(operator(&own).role_namespaces(), ["ops"]);
        let watch = env_of(&operator(&own), "WATCH_NAMESPACE").expect("set");
        assert_eq!(watch["valueFrom"]["fieldRef"]["fieldPath"], "metadata.namespace");

        let listed = settings(Watch::Namespaces(vec!["a".into(), "b".into()]));
        assert_eq!(operator(&listed).role_namespaces(), ["ops", "a", "b"]);
        assert_eq!(env_of(&operator(&listed), "WATCH_NAMESPACE").expect("set")["value"], "a,b");
    }

    #[test]
    fn watching_only_the_own_namespace_by_name_is_own_scope() {
        let settings = settings(Watch::Namespaces(vec!["ops".into()]));
        assert_eq!(operator(&settings).watch(), Watch::Own);
    }

    #[test]
    fn the_selector_tells_operators_of_one_namespace_apart() {
        let settings = Settings::default();
        let a = Operator { id: "a", namespace: "ops", settings: &settings }.deployment(1);
        let b = Operator { id: "b", namespace: "ops", settings: &settings }.deployment(1);
        let selector = |deployment: &Value| deployment["spec"]["selector"]["matchLabels"].clone();
        assert_ne!(selector(&a), selector(&b));
        for deployment in [&a, &b] {
            let labels = &deployment["spec"]["template"]["metadata"]["labels"];
            for (key, value) in selector(deployment).as_object().expect("labels") {
                assert_eq!(labels[key], *value);
            }
            assert!(labels.get("name").is_none(), "other products select their pods by it");
        }
    }

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

    #[test]
    fn the_settings_survive_their_secret() {
        let settings = Settings {
            watch: Some(Watch::Namespaces(vec!["a".into()])),
            log_level: Some("debug".into()),
            ..Settings::default()
        };
        let secret = operator(&settings).settings_secret();
        let text = BASE64_STANDARD.decode(secret["data"]["settings"].as_str().expect("data")).expect("base64");
        assert_eq!(serde_json::from_slice::<Settings>(&text).expect("JSON"), settings);
    }

    #[test]
    fn a_platform_needs_a_registry() {
        assert!(operator(&Settings::default()).platform().is_none());
        let registry = Registry { address: Some("registry:5000".into()), insecure: Some(true), ..Registry::default() };
        let settings = Settings { registry, ..Settings::default() };
        let platform = operator(&settings).platform().expect("a platform");
        assert_eq!(platform["metadata"]["name"], "tenant-a");
        assert_eq!(platform["metadata"]["annotations"]["camel.apache.org/operator.id"], "tenant-a");
        assert_eq!(platform["spec"]["build"]["registry"], json!({"address": "registry:5000", "insecure": true}));
    }

    #[test]
    fn resources_are_overridden_one_by_one() {
        let settings =
            Settings { resources: [("limits.memory".to_owned(), "1Gi".to_owned())].into(), ..Settings::default() };
        let resources = operator(&settings).resources();
        assert_eq!(resources["limits"], json!({"cpu": "2", "memory": "1Gi"}));
    }
}
