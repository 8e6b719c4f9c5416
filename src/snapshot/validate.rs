//! What makes the server refuse an object before it is stored.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    crd,
    resource::{Resource, Version},
    status::{ApiError, Cause},
    store,
};

/// The fields of `ObjectMeta`.
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
     and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
     start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/// Reads the body of a create or replace, and checks that it is of the resource's kind.
pub(super) fn decode(resource: &Resource, version: &str, body: &[u8]) -> Result<Value, ApiError> {
    let unrecognized = |why: &str| {
        ApiError::bad_request(format!("the object provided is unrecognized (must be of type {}): {why}", resource.kind))
    };
    let mut object: Value = serde_json::from_slice(body).map_err(|error| {
        let shown = if body.is_empty() { "<empty>".into() } else { shorten(&String::from_utf8_lossy(body)) };
        unrecognized(&format!("couldn't get version/kind; json parse error: {error} ({shown})"))
    })?;
    if !object.is_object() {
        return Err(unrecognized("couldn't get version/kind; json parse error: not an object"));
    }
    let api_version = resource.api_version(version);
    if resource.custom && object["kind"].as_str().is_none_or(str::is_empty) {
        let text = String::from_utf8_lossy(body);
        return Err(unrecognized(&format!("Object 'Kind' is missing in '{text}' ({})", shorten(&text))));
    }
    // Built-in kinds are decoded into what the URL names when they do not say what they are.
    for (key, value) in [("apiVersion", &api_version), ("kind", &resource.kind)] {
        if object[key].as_str().is_none_or(str::is_empty) {
            object[key] = json!(value);
        }
    }
    same_type(resource, &api_version, &object)?;
    Ok(object)
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(30).collect();
    if short.len() < text.len() {
        short.push_str(" ...");
    }
    short
}

fn same_type(resource: &Resource, api_version: &str, object: &Value) -> Result<(), ApiError> {
    let is = (object["apiVersion"].as_str().unwrap_or_default(), object["kind"].as_str().unwrap_or_default());
    if is == (api_version, resource.kind.as_str()) {
        return Ok(());
    }
    let (group, version) = is.0.split_once('/').unwrap_or(("", is.0));
    if !resource.custom {
        return Err(ApiError::bad_request(format!(
            "{kind} in version {version} cannot be handled as a {wanted}: no kind {kind_quoted} is registered for \
             version {api} as a {wanted}",
            kind = is.1,
            version = json!(version),
            wanted = resource.kind,
            kind_quoted = json!(is.1),
            api = json!(is.0),
        )));
    }
    if is.0 != api_version {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({api_version})",
            is.0
        )));
    }
    let cause = Cause::invalid("kind", format!("{}: must be {}", json!(is.1), resource.kind));
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Err(ApiError::invalid_kind(is.1, group, name, &[cause]))
}

/// The namespace in the body must be that of the URL.
pub(super) fn namespace(url: Option<&str>, object: &Value) -> Result<(), ApiError> {
    match object.pointer("/metadata/namespace").and_then(Value::as_str) {
        Some(namespace) if !namespace.is_empty() && url != Some(namespace) => Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        _ => Ok(()),
    }
}

/// The name in the body must be that of the URL.
pub(super) fn same_name(url: &str, object: &Value) -> Result<(), ApiError> {
    match object.pointer("/metadata/name").and_then(Value::as_str) {
        Some(name) if !name.is_empty() && name != url => Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({url})"
        ))),
        _ => Ok(()),
    }
}

/// The maps and lists in metadata must be of strings.
pub(super) fn metadata(resource: &Resource, object: &Value) -> Result<(), ApiError> {
    let Some(metadata) = object.get("metadata").filter(|metadata| !metadata.is_null()) else { return Ok(()) };
    Metadata::deserialize(metadata).map(drop).map_err(|error| {
        ApiError::bad_request(format!("the metadata of the {} cannot be decoded: {error}", resource.kind))
    })
}

/// The types of what metadata holds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only the types matter")]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    generate_name: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<String>>,
    owner_references: Option<Vec<BTreeMap<String, Value>>>,
    managed_fields: Option<Vec<BTreeMap<String, Value>>>,
}

/// A name must be a DNS subdomain, or a label for namespaces; RBAC objects may have any name that fits a URL.
pub(super) fn name(resource: &Resource, name: &str) -> Result<(), ApiError> {
    let label = resource.group.is_empty() && matches!(resource.plural.as_str(), "namespaces" | "services");
    let (good, why) = if resource.group == "rbac.authorization.k8s.io" {
        (!name.contains(['/', '%']) && name != "." && name != "..", "may not contain '/'")
    } else if label {
        (name.len() <= 63 && is_label(name), LABEL)
    } else {
        (name.len() <= 253 && name.split('.').all(is_label), SUBDOMAIN)
    };
    if good {
        return Ok(());
    }
    Err(ApiError::invalid(resource, name, &[Cause::invalid("metadata.name", format!("{}: {why}", json!(name)))]))
}

fn is_label(part: &str) -> bool {
    let ends = |end: Option<char>| end.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    ends(part.chars().next())
        && ends(part.chars().last())
        && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// Checks an object against the schema of its CRD, and a CRD against the rules for CRDs.
pub(super) fn object(resource: &Resource, version: &Version, name: &str, object: &Value) -> Result<(), ApiError> {
    if store::is_crd(resource) {
        return crd::check(resource, object);
    }
    let causes = version.schema.as_ref().map(|schema| schema.check(object)).unwrap_or_default();
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid(resource, name, &causes)) }
}

/// Drops the fields that the schema of a kind does not know, and says which.
pub(super) fn drop_unknown(version: &Version, object: &mut Value) -> Vec<String> {
    let Some(schema) = &version.schema else { return Vec::new() };
    let mut unknown = schema.prune(object);
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        unknown.extend(
            metadata.keys().filter(|key| !METADATA.contains(&key.as_str())).map(|key| format!("metadata.{key}")),
        );
        metadata.retain(|key, _| METADATA.contains(&key.as_str()));
    }
    unknown.sort();
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let resource = super::super::builtin::custom("x.io", "v1", "X", "xs", true);
        for (text, good) in
            [("a", true), ("a-b.c1", true), ("A", false), ("a_", false), ("", false), ("-a", false), ("a..b", false)]
        {
            assert_eq!(name(&resource, text).is_ok(), good, "{text}");
        }
        let roles = super::super::builtin::served().find(|resource| resource.plural == "roles").unwrap();
        assert!(name(&roles, "system:node").is_ok());
    }
}
