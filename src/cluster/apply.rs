//! The only writer. Every write carries its precondition.

use http::Method;
use serde_json::{Value, json};

use crate::tenancy::plan::{Change, OWNER, Step, Write, same_content};

use super::{ApiError, Call, Cluster};

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";
/// The body is JSON, which is YAML as well.
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// What came of a step.
#[derive(Clone, Debug)]
pub struct Applied {
    /// What changed.
    pub change: Change,
    /// The object as the server has it now; of a deleted one what the server answered.
    pub object: Value,
}

impl Cluster {
    /// Carries out one step; with `dry_run` the server checks everything and keeps nothing.
    pub async fn write(&self, step: &Step, dry_run: bool) -> Result<Applied, ApiError> {
        let mut call = call_of(step);
        if dry_run && !matches!(step.write, Write::Delete { .. }) {
            call = call.query([("dryRun", "All".to_owned())]);
        }
        if let (Write::Delete { uid }, true) = (&step.write, dry_run) {
            call = call.body(JSON, json!({"preconditions": {"uid": uid}, "dryRun": ["All"]}));
        }
        let object = self.call(&call).await?;
        let change = match &step.write {
            Write::CreateOnly { .. } | Write::Create { .. } => Change::Created,
            Write::ApplyOwned { observed, .. } | Write::Patch { observed, .. } if same_content(observed, &object) => {
                Change::Unchanged
            }
            Write::ApplyOwned { .. } | Write::Patch { .. } | Write::Replace { .. } => Change::Configured,
            Write::Delete { .. } => Change::Deleted,
        };
        Ok(Applied { change, object })
    }
}

fn call_of(step: &Step) -> Call {
    let (kind, namespace, name) = (&step.kind, step.namespace.as_deref(), step.name.as_str());
    let on = |method, verb| Call::on(method, kind, namespace, name, verb);
    let managed = |manager: &str| [("fieldManager", manager.to_owned()), ("fieldValidation", "Strict".to_owned())];
    match &step.write {
        // "1" is never the version of an object that exists: absent gives 201, present 409.
        Write::CreateOnly { object, manager } => {
            on(Method::PATCH, "create").query(managed(manager)).body(APPLY_PATCH, at_version(object, "1"))
        }
        Write::ApplyOwned { object, observed, force } => {
            // The uid keeps an object that was deleted meanwhile from being made anew.
            let mut object = at_version(object, version(observed));
            object["metadata"]["uid"] = observed.pointer("/metadata/uid").cloned().unwrap_or_default();
            on(Method::PATCH, "apply")
                .query(managed(OWNER))
                .query(force.then(|| ("force", "true".to_owned())))
                .body(APPLY_PATCH, object)
        }
        Write::Create { object, manager } => {
            let mut call = on(Method::POST, "create");
            call.collection(kind.path(namespace, None));
            call.query(managed(manager)).body(JSON, object.clone())
        }
        Write::Patch { patch, observed, manager, subresource } => {
            let mut call = on(Method::PATCH, "change");
            if let Some(subresource) = subresource {
                call.collection(format!("{}/{subresource}", kind.path(namespace, Some(name))));
            }
            call.query(managed(manager)).body(MERGE_PATCH, at_version(patch, version(observed)))
        }
        Write::Replace { object, manager } => {
            on(Method::PUT, "change").query(managed(manager)).body(JSON, object.clone())
        }
        Write::Delete { uid } => on(Method::DELETE, "delete").body(JSON, json!({"preconditions": {"uid": uid}})),
    }
}

fn version(object: &Value) -> &str {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default()
}

fn at_version(object: &Value, version: &str) -> Value {
    let mut object = object.clone();
    object["metadata"]["resourceVersion"] = json!(version);
    object
}
