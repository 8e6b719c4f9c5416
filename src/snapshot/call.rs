//! One request on objects: what it is about, and the helpers its verbs share.

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;

use super::{
    managed::{Operation, Writer},
    object::Object,
    request::{Query, Target},
    resource::{Resource, Version},
    status::ApiError,
    store::{self, Store},
};

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub code: StatusCode,
    pub content_type: &'static str,
    pub body: String,
}

impl Reply {
    pub(super) fn json(code: StatusCode, body: impl Into<String>) -> Self {
        Self { code, content_type: "application/json", body: body.into() }
    }

    pub(super) fn ok(value: &Value) -> Self {
        Self::json(StatusCode::OK, value.to_string())
    }
}

impl From<ApiError> for Reply {
    fn from(error: ApiError) -> Self {
        let (content_type, body) = error.body();
        Self { code: error.code, content_type, body }
    }
}

/// A request on objects of one resource.
pub(super) struct Call<'a> {
    pub store: &'a mut Store,
    pub resource: Arc<Resource>,
    pub target: &'a Target,
    pub query: Query,
    /// The `Accept` header.
    pub accept: &'a str,
    /// The user agent up to its version, which names the manager when the request does not.
    pub agent: &'a str,
    /// The time of the request, RFC 3339.
    pub now: String,
}

impl Call<'_> {
    /// The served version that was asked for.
    pub(super) fn version(&self) -> Version {
        self.resource.version(&self.target.version).cloned().unwrap_or_default()
    }

    /// The `apiVersion` that was asked for.
    pub(super) fn api_version(&self) -> String {
        self.resource.api_version(&self.target.version)
    }

    /// The namespace, when the kind has one.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.target.namespace.as_deref()
    }

    /// The name that was asked for; empty when the request is about the collection.
    pub(super) fn name(&self) -> &str {
        self.target.name.as_deref().unwrap_or_default()
    }

    /// The stored object, or the error that it is not found.
    pub(super) fn stored(&self) -> Result<&Object, ApiError> {
        let key = store::key(self.namespace(), self.name());
        self.store.get(&self.resource, &key).ok_or_else(|| ApiError::not_found(&self.resource, self.name()))
    }

    /// Who writes.
    pub(super) fn writer(&self, operation: Operation) -> Writer {
        let manager = if self.query.field_manager.is_empty() { self.agent } else { &self.query.field_manager };
        Writer {
            manager: if manager.is_empty() { "unknown".to_owned() } else { manager.to_owned() },
            operation,
            api_version: self.api_version(),
            subresource: self.target.subresource.clone(),
        }
    }

    /// The object an object write is answered with.
    pub(super) fn answer(&self, code: StatusCode, object: &Value) -> Reply {
        if self.wants("as=PartialObjectMetadata") {
            let partial = serde_json::json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
            });
            return Reply::json(code, partial.to_string());
        }
        Reply::json(code, object.to_string())
    }

    /// Whether the client accepts a form of answer, such as `as=PartialObjectMetadataList`.
    pub(super) fn wants(&self, form: &str) -> bool {
        self.accept.split([';', ',']).any(|part| part.trim() == form)
    }
}
