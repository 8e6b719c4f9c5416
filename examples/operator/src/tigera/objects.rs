//! What the operator writes.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use serde_json::{Value, json};
use tracing::info;

use super::gate;
use super::settings::Settings;
use crate::object::{self, Error, kind};

/// Field manager of everything the operator applies. All instances share it, so one takes away what another one wrote.
const MANAGER: &str = "tigera-operator";
const GROUP: &str = "operator.tigera.io";
const SECRETS_ROLE: &str = "tigera-operator-secrets";

/// The kind Installation.
pub fn installation() -> ApiResource {
    kind(GROUP, "v1", "Installation", "installations")
}

/// The kind `TigeraStatus`.
fn tigera_status() -> ApiResource {
    kind(GROUP, "v1", "TigeraStatus", "tigerastatuses")
}

/// A cluster as the operator of one namespace writes to it.
pub struct Cluster {
    /// The client.
    pub client: Client,
    /// Who writes.
    pub settings: Settings,
}

/// What a `TigeraStatus` says.
pub enum Health<'a> {
    /// All is well.
    Available,
    /// Something is not.
    Degraded {
        /// Why, in one word.
        reason: &'a str,
        /// Why, for people.
        message: &'a str,
    },
}

impl Cluster {
    /// What the pointer says, if it is there.
    pub async fn pointer(&self) -> Result<Option<String>, Error> {
        let api = Api::<ConfigMap>::namespaced(self.client.clone(), gate::NAMESPACE);
        Ok(api.get_opt(gate::NAME).await?.map(|pointer| gate::value(&pointer)))
    }

    /// Writes the pointer to the own namespace. Two operators that both see none both try; one wins.
    pub async fn create_pointer(&self, installation: &DynamicObject) -> Result<(), Error> {
        let api = Api::<ConfigMap>::namespaced(self.client.clone(), gate::NAMESPACE);
        let mut pointer = ConfigMap::default();
        pointer.metadata.name = Some(gate::NAME.to_owned());
        pointer.metadata.owner_references = Some(vec![object::controller_of(&self::installation(), installation)]);
        pointer.metadata.labels = Some(labels(gate::NAME));
        pointer.data = Some([(gate::KEY.to_owned(), self.settings.namespace.clone())].into());
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        match api.create(&params, &pointer).await {
            Ok(_) => info!("created the pointer to {}", self.settings.namespace),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Applies an object that goes with the Installation.
    pub async fn apply(&self, object: &Value, installation: &DynamicObject) -> Result<(), Error> {
        let mut object = object.clone();
        object["metadata"]["ownerReferences"] = json!([object::controller_of(&self::installation(), installation)]);
        let params = PatchParams::apply(MANAGER).force();
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
        let plural = format!("{}s", text("/kind").to_lowercase());
        let kind = kind(group, version, text("/kind"), &plural);
        let api: Api<DynamicObject> = match text("/metadata/namespace") {
            "" => Api::all_with(self.client.clone(), &kind),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &kind),
        };
        api.patch(text("/metadata/name"), &params, &Patch::Apply(&object)).await?;
        Ok(())
    }

    /// Tells how the network is, where somebody wants to know.
    pub async fn report(&self, health: Health<'_>) -> Result<(), Error> {
        let (available, reason, message) = match health {
            Health::Available => (true, "AllObjectsAvailable", "All objects available"),
            Health::Degraded { reason, message } => (false, reason, message),
        };
        let kind = tigera_status();
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind);
        let status = match api.get_opt("calico").await? {
            Some(status) => status,
            None => {
                match api.create(&PostParams::default(), &DynamicObject::new("calico", &kind).data(json!({}))).await {
                    Ok(status) => status,
                    // The kind is not served.
                    Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        let was = |condition: &str| {
            let mut all = status.data.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
            all.find(|one| one["type"] == condition).cloned().unwrap_or_default()
        };
        let conditions: Vec<Value> = [("Available", available), ("Progressing", false), ("Degraded", !available)]
            .into_iter()
            .map(|(condition, holds)| {
                let (before, status) = (was(condition), if holds { "True" } else { "False" });
                let since = Some(before["lastTransitionTime"].clone()).filter(|_| before["status"] == status);
                json!({
                    "type": condition,
                    "status": status,
                    "reason": reason,
                    "message": message,
                    "lastTransitionTime": since.unwrap_or_else(|| json!(Timestamp::now())),
                })
            })
            .collect();
        if status.data.pointer("/status/conditions") != Some(&json!(conditions)) {
            object::replace_status(&api, &kind, &status, &json!({"conditions": conditions})).await?;
        }
        Ok(())
    }
}

/// The namespace of the network, which also holds the pointer.
pub fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": gate::NAMESPACE}})
}

/// What the active operator makes of the network. `authority` is a hash of the certificate authority.
pub fn rendered(settings: &Settings, authority: &str) -> Vec<Value> {
    vec![
        secrets_binding(settings),
        workload("DaemonSet", "calico-node", settings, authority),
        workload("Deployment", "calico-kube-controllers", settings, authority),
    ]
}

/// Lets the operator write Secrets here. Its subject is always the operator that reconciled last.
fn secrets_binding(settings: &Settings) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": SECRETS_ROLE, "namespace": gate::NAMESPACE},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": SECRETS_ROLE},
        "subjects": [{"kind": "ServiceAccount", "name": settings.service_account, "namespace": settings.namespace}],
    })
}

/// A workload that trusts the authority. The namespace in the annotation makes every switch roll the pods (since v1.32).
fn workload(kind: &str, name: &str, settings: &Settings, authority: &str) -> Value {
    let hash = format!("{}.hash.operator.tigera.io/{}", settings.namespace, super::certificates::AUTHORITY);
    let labels = json!({"k8s-app": name});
    json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": gate::NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {hash: authority}},
                "spec": {"containers": [{"name": name, "image": format!("registry.example/{name}:1")}]},
            },
        },
    })
}

fn labels(name: &str) -> std::collections::BTreeMap<String, String> {
    [
        ("k8s-app", name),
        ("app.kubernetes.io/name", name),
        ("app.kubernetes.io/component", "Installation.operator.tigera.io"),
        ("app.kubernetes.io/instance", "default"),
        ("app.kubernetes.io/managed-by", "tigera-operator"),
        ("app.kubernetes.io/part-of", "Calico"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into()
}
