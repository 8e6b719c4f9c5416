//! Small operations on objects: their metadata, what the server keeps, and what counts as a change.

use serde_json::{Map, Value, json};

use super::{
    managed::{Entry, Managed},
    resource::Resource,
};

/// Fields of metadata that only the server writes.
pub(super) const SERVERS_OWN: [&str; 6] =
    ["uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

/// The metadata of an object; an empty one is put in when there is none.
pub(super) fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    match &mut object["metadata"] {
        Value::Object(metadata) => metadata,
        _ => unreachable!("metadata was made an object above"),
    }
}

/// A field of metadata; empty when absent.
pub(super) fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// Whether a field of metadata has a value.
pub(super) fn is_set(object: &Value, field: &str) -> bool {
    !meta(object, field).is_empty()
}

/// Whether something holds an object that is to be deleted.
pub(super) fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}

/// Whether a resource is that of namespaces.
pub(super) fn is_namespaces(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
}

/// Puts a field in, or takes it out when there is no value.
pub(super) fn set_or_remove(object: &mut Value, key: &str, value: Option<Value>) {
    let Some(fields) = object.as_object_mut() else { return };
    match value {
        Some(value) => drop(fields.insert(key.into(), value)),
        None => drop(fields.shift_remove(key)),
    }
}

/// What only the server writes stays as it is.
pub(super) fn keep_servers_own(live: &Value, object: &mut Value) {
    metadata(object);
    for field in SERVERS_OWN.into_iter().chain(["resourceVersion", "namespace"]) {
        set_or_remove(&mut object["metadata"], field, live["metadata"].get(field).cloned());
    }
}

/// Takes out what the server does not store: empty metadata, and nulls and empty data of built-in kinds.
pub(super) fn tidy(resource: &Resource, object: &mut Value) {
    metadata(object).retain(|_, value| !is_empty(value));
    if !resource.custom {
        drop_nulls(object);
        if let Some(fields) = object.as_object_mut() {
            fields.retain(|key, value| !matches!(key.as_str(), "data" | "binaryData") || !is_empty(value));
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Removes fields that are null.
pub(super) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Whether a write asks to forget who wrote what: it sets managedFields to nothing, or to one empty entry.
pub(super) fn drops_records(object: &Value) -> bool {
    match object["metadata"]["managedFields"].as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([entry]) => entry.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

/// Whether two states of an object are the same, times and order of the records aside.
pub(super) fn same(live: &Value, object: &Value) -> bool {
    let owned = |value: &Value| {
        let mut entries = Managed::of(value).0;
        for entry in &mut entries {
            entry.time = None;
        }
        entries
    };
    let (before, after) = (owned(live), owned(object));
    let all_in = |some: &[Entry], others: &[Entry]| some.iter().all(|entry| others.contains(entry));
    all_in(&before, &after) && all_in(&after, &before) && without_records(live) == without_records(object)
}

fn without_records(object: &Value) -> Value {
    let mut object = object.clone();
    metadata(&mut object).shift_remove("managedFields");
    object
}

/// Whether anything but metadata and status differs; annotations count for Deployments.
pub(super) fn is_new_generation(resource: &Resource, live: &Value, object: &Value) -> bool {
    let annotations = |object: &Value| object["metadata"]["annotations"].clone();
    if resource.qualified() == "deployments.apps" && annotations(live) != annotations(object) {
        return true;
    }
    let rest = |object: &Value| {
        let mut object = object.clone();
        set_or_remove(&mut object, "metadata", None);
        set_or_remove(&mut object, "status", None);
        object
    };
    rest(live) != rest(object)
}
