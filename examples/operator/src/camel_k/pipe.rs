//! Pipes: an Integration is made of each, with the Pipe's annotations, so with its operator id.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::{DynamicObject, PostParams};
use kube::runtime::controller::Action;
use serde_json::{Value, json};
use tracing::info;

use super::flow::integration_spec;
use super::keys;
use super::operator::Operator;
use super::status::RUNNING;
use crate::object::{self, Error};

const CREATING: &str = "Creating";
const READY: &str = "Ready";

/// Does the next thing a Pipe needs.
pub async fn reconcile(pipe: Arc<DynamicObject>, operator: Arc<Operator>) -> Result<Action, Error> {
    if pipe.metadata.deletion_timestamp.is_some() || !operator.takes(&pipe).await? {
        return Ok(Action::await_change());
    }
    let integrations = operator.in_namespace(&keys::integration(), object::namespace(&pipe));
    let integration = integrations.get_opt(&pipe.name_any()).await?;
    let before = object::text(&pipe, "/status/phase");
    let current = integration.as_ref().filter(|integration| !before.is_empty() && !is_outdated(&pipe, integration));
    let phase = if let Some(integration) = current {
        if object::text(integration, "/status/phase") == RUNNING { READY } else { CREATING }
    } else {
        let wanted = wanted(&pipe, &operator, integration);
        let name = wanted.name_any();
        if wanted.resource_version().is_some() {
            integrations.replace(&name, &PostParams::default(), &wanted).await?;
        } else {
            integrations.create(&PostParams::default(), &wanted).await?;
        }
        info!("wrote integration {name} of a pipe");
        CREATING
    };
    if phase != before || observed(&pipe) != pipe.metadata.generation {
        operator.before_change().await?;
        let kind = keys::pipe(operator.settings.identity.era);
        let api = operator.in_namespace(&kind, object::namespace(&pipe));
        let status = json!({"phase": phase, "observedGeneration": pipe.metadata.generation});
        object::replace_status(&api, &kind, &pipe, &status).await?;
    }
    Ok(Action::await_change())
}

fn observed(pipe: &DynamicObject) -> Option<i64> {
    pipe.data.pointer("/status/observedGeneration").and_then(Value::as_i64)
}

/// Whether the Integration has to be written again: the Pipe changed, or names another operator. A Pipe whose annotation
/// was taken away leaves the Integration's as it is.
fn is_outdated(pipe: &DynamicObject, integration: &DynamicObject) -> bool {
    let id = object::annotation(pipe, keys::OPERATOR_ID);
    let moved = !id.is_empty() && id != object::annotation(integration, keys::OPERATOR_ID);
    moved || observed(pipe) != pipe.metadata.generation
}

/// The Integration as the Pipe wants it, over the one that is there.
fn wanted(pipe: &DynamicObject, operator: &Operator, existing: Option<DynamicObject>) -> DynamicObject {
    let kind = keys::integration();
    let mut integration = existing.unwrap_or_else(|| DynamicObject::new(&pipe.name_any(), &kind).data(json!({})));
    integration.types = DynamicObject::new("", &kind).types;
    integration.metadata.managed_fields = None;
    let is_copied = |key: &str| key != keys::ICON && !key.starts_with(keys::TRAIT);
    let annotations = pipe.annotations().iter().filter(|(key, _)| is_copied(key));
    integration.metadata.annotations = Some(annotations.map(|(key, value)| (key.clone(), value.clone())).collect());
    let mut labels = pipe.labels().clone();
    let pipes = keys::pipe(operator.settings.identity.era);
    labels.insert(keys::CREATED_BY_KIND.to_owned(), pipes.kind.clone());
    labels.insert(keys::CREATED_BY_NAME.to_owned(), pipe.name_any());
    integration.metadata.labels = Some(labels);
    integration.metadata.owner_references = Some(vec![object::controller_of(&pipes, pipe)]);
    integration.data["spec"] = integration_spec(pipe);
    integration
}
