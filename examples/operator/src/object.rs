//! Small helpers for objects without a type of their own.

use std::fmt::Write as _;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind, TypeMeta};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Why a reconciliation failed. It is tried again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused, or was not reached.
    #[error(transparent)]
    Api(#[from] kube::Error),
    /// An object is not as it should be.
    #[error("{0}")]
    Object(String),
    /// The operator was stopped in between.
    #[error("stopping")]
    Stopping,
}

impl Error {
    /// Whether an object changed between reading and writing it; a fresh look helps.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Api(kube::Error::Api(status)) if status.is_conflict())
    }
}

/// A kind by name.
pub fn kind(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// The value of an annotation; empty when there is none.
pub fn annotation<'a>(object: &'a DynamicObject, key: &str) -> &'a str {
    object.annotations().get(key).map(String::as_str).unwrap_or_default()
}

/// The namespace of an object; empty for cluster-scoped ones.
pub fn namespace(object: &DynamicObject) -> &str {
    object.metadata.namespace.as_deref().unwrap_or_default()
}

/// A text somewhere in an object; empty when it is absent.
pub fn text<'a>(object: &'a DynamicObject, pointer: &str) -> &'a str {
    object.data.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The status of an object; the default one when it has none, or one of another shape.
pub fn status<S: DeserializeOwned + Default>(object: &DynamicObject) -> S {
    object.data.get("status").and_then(|status| S::deserialize(status).ok()).unwrap_or_default()
}

/// Replaces the status of an object, unless the object changed since it was read.
///
/// # Errors
/// The API server refuses, for instance because the object did change.
pub async fn replace_status<S: Serialize>(
    api: &Api<DynamicObject>,
    kind: &ApiResource,
    object: &DynamicObject,
    status: &S,
) -> Result<(), Error> {
    let mut changed = object.clone();
    changed.types = Some(TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() });
    changed.data["status"] = json!(status);
    api.replace_status(&object.name_any(), &PostParams::default(), &changed).await?;
    Ok(())
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A reference to the owner of an object, so that the object goes with it.
pub fn controller_of(kind: &ApiResource, owner: &DynamicObject) -> OwnerReference {
    OwnerReference {
        api_version: kind.api_version.clone(),
        kind: kind.kind.clone(),
        name: owner.name_any(),
        uid: owner.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}
