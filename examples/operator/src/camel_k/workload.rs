//! The Deployment of an Integration.

use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use tracing::info;

use super::keys;
use super::operator::Operator;
use super::status::Status;
use crate::object::{self, Error};

const MANAGER: &str = "camel-k-operator";

/// Makes the Deployment of an Integration as it should be.
pub async fn apply(integration: &DynamicObject, status: &Status, operator: &Operator) -> Result<(), Error> {
    let name = integration.name_any();
    let deployment = deployment(integration, status, operator);
    let params = PatchParams::apply(MANAGER).force();
    api(integration, operator).patch(&name, &params, &Patch::Apply(&deployment)).await?;
    info!("applied deployment {}/{name}", object::namespace(integration));
    Ok(())
}

/// The Deployment of an Integration, if it is there.
pub async fn get(integration: &DynamicObject, operator: &Operator) -> Result<Option<Deployment>, Error> {
    Ok(api(integration, operator).get_opt(&integration.name_any()).await?)
}

/// How many pods an Integration is to have.
pub fn replicas(integration: &DynamicObject) -> i64 {
    integration.data.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1)
}

/// How many pods of the present template are available; pods of an earlier one do not count.
pub fn available(deployment: &Deployment) -> i64 {
    let Some(status) = &deployment.status else { return 0 };
    if status.observed_generation != deployment.metadata.generation {
        return 0;
    }
    let count = |replicas: Option<i32>| replicas.unwrap_or_default();
    count(status.available_replicas).min(count(status.updated_replicas)).into()
}

fn api(integration: &DynamicObject, operator: &Operator) -> Api<Deployment> {
    Api::namespaced(operator.client.clone(), object::namespace(integration))
}

fn deployment(integration: &DynamicObject, status: &Status, operator: &Operator) -> Value {
    let name = integration.name_any();
    let labels = json!({keys::INTEGRATION: name});
    let identity = &operator.settings.identity;
    let field = |path: &str| json!({"fieldRef": {"fieldPath": path}});
    let mut env = vec![
        json!({"name": "CAMEL_K_DIGEST", "value": status.digest}),
        json!({"name": "CAMEL_K_VERSION", "value": identity.era.version()}),
        json!({"name": "CAMEL_K_INTEGRATION", "value": name}),
        json!({"name": "NAMESPACE", "valueFrom": field("metadata.namespace")}),
        json!({"name": "POD_NAME", "valueFrom": field("metadata.name")}),
    ];
    if !identity.id.is_empty() {
        env.insert(0, json!({"name": "CAMEL_K_OPERATOR_ID", "value": identity.id}));
    }
    let mut pod = json!({"containers": [{"name": "integration", "image": status.image, "env": env}]});
    if let account @ Value::String(_) = &integration.data["spec"]["serviceAccountName"] {
        pod["serviceAccountName"] = account.clone();
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": object::namespace(integration),
            "labels": labels,
            "ownerReferences": [object::controller_of(&keys::integration(), integration)],
        },
        "spec": {
            "replicas": replicas(integration),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    })
}
