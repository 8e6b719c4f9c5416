//! From settings to the objects of a Camel K operator. Pure; nothing here knows what a cluster has already.
//!
//! Names, labels, environment, probes and resources are those of the operator's own manifests (v2.8.0 to v2.10.1),
//! except that names and the pod selector carry the operator id, so that several operators live in one namespace.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

pub use super::settings::{Registry, Settings, Watch};
use super::{platform, rbac};

/// Label with the operator id on everything kctl makes for an operator.
pub const ID_LABEL: &str = "kctl.dev/operator-id";
/// Label on what kctl makes for all operators of a cluster.
pub const SHARED_LABEL: &str = "kctl.dev/shared";
/// Type of the Secret that keeps an operator's settings.
pub const SETTINGS_TYPE: &str = "kctl.dev/install";
/// Version that is installed when none is asked for.
pub const DEFAULT_VERSION: &str = "2.10.1";

const IMAGE: &str = "docker.io/apache/camel-k";

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
        let mut rules = if namespace.is_some() { rbac::in_namespace() } else { rbac::cluster_wide() };
        if self.settings.openshift == Some(true) {
            rules.extend(rbac::openshift());
        }
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

    /// The platform of the operator, when anything is said of how it builds.
    pub fn platform(&self) -> Option<Value> {
        let spec = platform::spec(self.id, self.settings)?;
        let mut metadata = self.metadata(self.id, Some(self.namespace));
        metadata["annotations"] = json!({"camel.apache.org/operator.id": self.id});
        Some(json!({
            "apiVersion": "camel.apache.org/v1",
            "kind": "IntegrationPlatform",
            "metadata": metadata,
            "spec": spec,
        }))
    }

    /// Whether built images have a place to go to; without one integrations that need a build wait for ever.
    pub fn has_registry(&self) -> bool {
        let address = |platform: Value| platform.pointer("/spec/build/registry/address").is_some();
        self.settings.openshift == Some(true) || self.platform().is_some_and(address)
    }

    /// The `ConfigMap` with Maven's settings, when repositories are said.
    pub fn maven_settings(&self) -> Option<Value> {
        let data = platform::maven_settings_data(&self.settings.build)?;
        let metadata = self.metadata(&platform::maven_settings_name(self.id), Some(self.namespace));
        Some(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))
    }

    /// Secrets and `ConfigMaps` that the settings name and that have to be there: kind, name.
    pub fn named_objects(&self) -> Vec<(&'static str, String)> {
        let mut found: Vec<_> = self.settings.image_pull_secrets.iter().map(|name| ("Secret", name.clone())).collect();
        if let Some(spec) = platform::spec(self.id, self.settings) {
            found.extend(platform::named_objects(self.id, &spec));
        }
        found
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
