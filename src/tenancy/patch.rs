//! The merge patch that makes an object what kctl wants, without touching what others wrote.

use serde_json::{Map, Value, json};

/// Fields that say what an Integration runs. They are one statement: when a wish has one of them, the others go, no
/// matter who wrote them, since an Integration with old sources beside new routes would be neither.
const CONTENT: &[&str] = &["flows", "sources", "git"];

/// The ends of a Pipe. What belongs to the former one goes when another takes its place, no matter who wrote it.
const ENDS: &[&str] = &["source", "sink"];

/// The merge patch from `observed` to `wanted`, or `None` when nothing differs.
///
/// What `wanted` does not mention stays, except what `manager` wrote earlier and nobody changed since: the server
/// keeps that record in `managedFields`.
pub fn patch(observed: &Value, wanted: &Value, manager: &str) -> Option<Value> {
    let wanted = &without_nulls(wanted);
    let mut patch = changes(observed, wanted).unwrap_or_else(|| json!({}));
    let drops = managed(observed, manager).map(|owned| dropped(&owned, observed, wanted)).unwrap_or_default();
    merge(&mut patch, drops);
    merge(&mut patch, old_content(observed, wanted));
    merge(&mut patch, old_endpoints(observed, wanted));
    patch.as_object().is_some_and(|patch| !patch.is_empty()).then_some(patch)
}

/// A merge patch cannot write a null (`errorHandler: {log: null}`); an empty map means the same to an operator.
fn without_nulls(wanted: &Value) -> Value {
    match wanted {
        Value::Null => json!({}),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), without_nulls(value))).collect(),
        other => other.clone(),
    }
}

/// What differs, as nested maps down to the values to set.
fn changes(observed: &Value, wanted: &Value) -> Option<Value> {
    match (observed, wanted) {
        (Value::Object(observed), Value::Object(wanted)) => {
            let mut out = Map::new();
            for (key, value) in wanted {
                let change = match observed.get(key) {
                    Some(there) => changes(there, value),
                    None => Some(value.clone()),
                };
                out.extend(change.map(|change| (key.clone(), change)));
            }
            (!out.is_empty()).then_some(Value::Object(out))
        }
        (observed, wanted) if same(observed, wanted) => None,
        (Value::Null, Value::Object(wanted)) if wanted.is_empty() => None,
        // A map over something else: a merge patch would keep nothing of the old value, which is what is wanted.
        _ => Some(wanted.clone()),
    }
}

/// Equality as the API server sees it: it writes 1.0 back as 1.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        (one, other) => one == other,
    }
}

/// The fields that `manager` has written, as one `fieldsV1` tree: plain updates of the object, not of its status.
fn managed(observed: &Value, manager: &str) -> Option<Value> {
    let entries = observed.pointer("/metadata/managedFields")?.as_array()?;
    let mut owned = json!({});
    for entry in entries {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("manager") == manager && text("operation") == "Update" && text("subresource").is_empty() {
            merge(&mut owned, entry.get("fieldsV1").cloned().unwrap_or_default());
        }
    }
    Some(owned)
}

/// Nulls for what is owned and observed and no longer wanted, in labels, annotations and spec.
fn dropped(owned: &Value, observed: &Value, wanted: &Value) -> Value {
    let mut out = json!({});
    for path in [&["metadata", "labels"][..], &["metadata", "annotations"], &["spec"]] {
        let at = |root: &Value, prefix: &str| {
            path.iter().try_fold(root.clone(), |place, key| place.get(format!("{prefix}{key}")).cloned())
        };
        let (Some(owned), Some(observed)) = (at(owned, "f:"), at(observed, "")) else { continue };
        let Some(drops) = dropped_in(&owned, &observed, at(wanted, "").as_ref()) else { continue };
        let nested = path.iter().rev().fold(drops, |inner, key| json!({ *key: inner }));
        merge(&mut out, nested);
    }
    out
}

fn dropped_in(owned: &Value, observed: &Value, wanted: Option<&Value>) -> Option<Value> {
    let (owned, observed) = (owned.as_object()?, observed.as_object()?);
    let mut out = Map::new();
    for (field, below) in owned {
        let Some(key) = field.strip_prefix("f:") else { continue };
        let Some(there) = observed.get(key) else { continue };
        let wanted = wanted.and_then(|wanted| wanted.get(key));
        let drop = match wanted {
            None if wholly(below, there) => Some(Value::Null),
            Some(wanted) if !wanted.is_object() => None,
            wanted => dropped_in(below, there, wanted),
        };
        out.extend(drop.map(|drop| (key.to_owned(), drop)));
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// Whether everything in a value is owned.
fn wholly(owned: &Value, value: &Value) -> bool {
    let Some(fields) = value.as_object() else { return true };
    let below = owned.as_object().into_iter().flatten().any(|(field, _)| field.starts_with("f:"));
    if !below {
        // A leaf of the record: a map that the server keeps as one value, or an empty one.
        return true;
    }
    fields.iter().all(|(key, inner)| owned.get(format!("f:{key}")).is_some_and(|owned| wholly(owned, inner)))
}

fn old_content(observed: &Value, wanted: &Value) -> Value {
    let has = |object: &Value, field: &str| object.pointer(&format!("/spec/{field}")).is_some_and(|v| !v.is_null());
    let nulls: Map<String, Value> = CONTENT
        .iter()
        .filter(|field| has(observed, field) && !has(wanted, field))
        .map(|field| ((*field).to_owned(), Value::Null))
        .collect();
    if nulls.is_empty() { json!({}) } else { json!({"spec": nulls}) }
}

/// Nulls for what belongs to an endpoint or an error handler that another one replaces.
fn old_endpoints(observed: &Value, wanted: &Value) -> Value {
    let mut out = Map::new();
    for end in ENDS {
        let pointer = format!("/spec/{end}");
        let (Some(old), Some(new)) = (observed.pointer(&pointer), wanted.pointer(&pointer)) else { continue };
        if !same_endpoint(old, new) {
            out.extend(unwanted(old, new).map(|nulls| ((*end).to_owned(), nulls)));
        }
    }
    let handler = "/spec/errorHandler";
    if let (Some(old), Some(new)) = (observed.pointer(handler), wanted.pointer(handler)) {
        // An operator refuses two of them at once.
        out.extend(unwanted(old, new).map(|nulls| ("errorHandler".to_owned(), nulls)));
    }
    if out.is_empty() { json!({}) } else { json!({"spec": out}) }
}

/// Whether two endpoints name the same object, or URIs of the same component.
fn same_endpoint(old: &Value, new: &Value) -> bool {
    let text = |endpoint: &Value, pointer: &str| endpoint.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let scheme = |endpoint| text(endpoint, "/uri").and_then(|uri| uri.split(':').next().map(str::to_owned));
    let same = |at: &str| text(old, at) == text(new, at);
    // Without a namespace it is that of the Pipe, which is what kctl writes.
    let same_namespace = text(old, "/ref/namespace").is_none() || same("/ref/namespace");
    same("/ref/kind") && same("/ref/name") && same_namespace && scheme(old) == scheme(new)
}

/// Nulls for every key of a map, and of the maps in it, that the new one does not have.
fn unwanted(old: &Value, new: &Value) -> Option<Value> {
    let (old, new) = (old.as_object()?, new.as_object()?);
    let mut out = Map::new();
    for (key, value) in old {
        match new.get(key) {
            None => drop(out.insert(key.clone(), Value::Null)),
            Some(wanted) => out.extend(unwanted(value, wanted).map(|nulls| (key.clone(), nulls))),
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// Puts the entries of one tree into another.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                match into.get_mut(&key) {
                    Some(there) => merge(there, value),
                    None => drop(into.insert(key, value)),
                }
            }
        }
        (_, Value::Null) => {}
        (into, from) => *into = from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_record(mut object: Value, fields: &Value) -> Value {
        object["metadata"]["managedFields"] = json!([
            {"manager": "kctl-run", "operation": "Update", "fieldsV1": fields},
            {"manager": "kamel", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
        ]);
        object
    }

    #[test]
    fn what_is_the_same_needs_no_patch() {
        let object = json!({"metadata": {"name": "a"}, "spec": {"flows": [{"from": {"x": 1, "y": [1]}}]}});
        let wanted = json!({"metadata": {"name": "a"}, "spec": {"flows": [{"from": {"y": [1.0], "x": 1.0}}]}});
        assert_eq!(patch(&object, &wanted, "kctl-run"), None);
        let mut more = object.clone();
        more["metadata"]["labels"] = json!({"theirs": "1"});
        more["status"] = json!({"phase": "Running"});
        assert_eq!(patch(&more, &wanted, "kctl-run"), None);
    }

    #[test]
    fn only_what_differs_is_sent() {
        let object = json!({"metadata": {"name": "a", "annotations": {"theirs": "1", "id": "x"}},
            "spec": {"flows": [1], "traits": {"container": {"port": 1, "image": "theirs"}}}});
        let wanted = json!({"metadata": {"name": "a", "annotations": {"id": "y"}},
            "spec": {"flows": [2], "traits": {"container": {"port": 1}, "jvm": {"options": ["-X"]}}}});
        assert_eq!(
            patch(&object, &wanted, "kctl-run"),
            Some(json!({"metadata": {"annotations": {"id": "y"}},
                "spec": {"flows": [2], "traits": {"jvm": {"options": ["-X"]}}}}))
        );
    }

    #[test]
    fn what_kctl_wrote_and_drops_now_goes() {
        let object = with_record(
            json!({"metadata": {"labels": {"mine": "1", "theirs": "1"}, "annotations": {"old": "1"}},
                "spec": {"flows": [1], "dependencies": ["camel:a"], "profile": "Knative",
                    "traits": {"container": {"port": 1}, "jvm": {"options": ["-X"], "debug": true}}}}),
            &json!({
                "f:metadata": {"f:labels": {".": {}, "f:mine": {}}, "f:annotations": {"f:old": {}}},
                "f:spec": {".": {}, "f:flows": {}, "f:dependencies": {}, "f:traits": {
                    ".": {}, "f:container": {".": {}, "f:port": {}}, "f:jvm": {".": {}, "f:options": {}}}}
            }),
        );
        let wanted = json!({"metadata": {"labels": {}}, "spec": {"flows": [1]}});
        assert_eq!(
            patch(&object, &wanted, "kctl-run"),
            Some(json!({
                // The label map is not wholly kctl's; the annotations are.
                "metadata": {"labels": {"mine": null}, "annotations": {"old": null}},
                // `profile` and `jvm.debug` are another's.
                "spec": {"dependencies": null, "traits": {"container": null, "jvm": {"options": null}}},
            }))
        );
    }

    #[test]
    fn a_map_that_is_all_of_kctl_goes_as_one() {
        let object = with_record(
            json!({"spec": {"flows": [1], "traits": {"container": {"port": 1}, "camel": {"properties": ["a"]}}}}),
            &json!({"f:spec": {"f:traits": {".": {}, "f:container": {".": {}, "f:port": {}},
                "f:camel": {".": {}, "f:properties": {}}}}}),
        );
        assert_eq!(
            patch(&object, &json!({"spec": {"flows": [1]}}), "kctl-run"),
            Some(json!({"spec": {"traits": null}}))
        );
        let keeps = json!({"spec": {"flows": [1], "traits": {"container": {"port": 2}}}});
        assert_eq!(
            patch(&object, &keeps, "kctl-run"),
            Some(json!({"spec": {"traits": {"container": {"port": 2}, "camel": null}}}))
        );
    }

    #[test]
    fn without_a_record_nothing_goes_but_old_content() {
        let object = json!({"spec": {"sources": [{"name": "A.java"}], "profile": "Knative"}});
        assert_eq!(
            patch(&object, &json!({"spec": {"flows": [1]}}), "kctl-run"),
            Some(json!({"spec": {"flows": [1], "sources": null}}))
        );
        let image = json!({"spec": {"traits": {"container": {"image": "a"}}}});
        assert_eq!(
            patch(&object, &image, "kctl-run"),
            Some(json!({"spec": {"traits": {"container": {"image": "a"}}, "sources": null}}))
        );
    }

    fn pipe(source: &Value, handler: &Value) -> Value {
        json!({"spec": {"source": source, "sink": {"uri": "log:a"}, "errorHandler": handler}})
    }

    fn kamelet(name: &str, properties: &Value) -> Value {
        json!({"ref": {"kind": "Kamelet", "apiVersion": "camel.apache.org/v1", "namespace": "team", "name": name},
            "properties": properties})
    }

    #[test]
    fn of_the_same_endpoint_the_properties_of_others_stay() {
        let mut theirs = kamelet("timer-source", &json!({"message": "a", "period": "1"}));
        theirs["dataTypes"] = json!({"out": {}});
        let wanted = pipe(&kamelet("timer-source", &json!({"message": "b"})), &json!({"log": null}));
        assert_eq!(
            patch(&pipe(&theirs, &json!({"log": null})), &wanted, "kctl-run"),
            Some(json!({"spec": {"source": {"properties": {"message": "b"}}}}))
        );
        let uri = |text: &str| json!({"uri": text});
        let mut with_more = uri("timer:a");
        with_more["properties"] = json!({"theirs": "1"});
        assert_eq!(
            patch(&pipe(&with_more, &json!({"none": {}})), &pipe(&uri("timer:b"), &json!({"none": null})), "kctl-run"),
            Some(json!({"spec": {"source": {"uri": "timer:b"}}}))
        );
    }

    #[test]
    fn of_another_endpoint_nothing_of_the_former_stays() {
        let mut theirs = kamelet("timer-source", &json!({"message": "a"}));
        theirs["ref"]["fieldPath"] = json!("x");
        let other =
            json!({"ref": {"kind": "Kamelet", "namespace": "team", "name": "http-source"}, "properties": {"url": "u"}});
        assert_eq!(
            patch(&pipe(&theirs, &json!({})), &pipe(&other, &json!({})), "kctl-run"),
            Some(json!({"spec": {"source": {
                "ref": {"name": "http-source", "apiVersion": null, "fieldPath": null},
                "properties": {"url": "u", "message": null},
            }}}))
        );
        assert_eq!(
            patch(&pipe(&theirs, &json!({})), &pipe(&json!({"uri": "timer:a"}), &json!({})), "kctl-run"),
            Some(json!({"spec": {"source": {"uri": "timer:a", "ref": null, "properties": null}}}))
        );
    }

    #[test]
    fn there_is_one_error_handler_and_a_null_is_written_as_an_empty_map() {
        let source = json!({"uri": "timer:a"});
        let sink = json!({"sink": {"endpoint": {"uri": "log:dead"}}});
        assert_eq!(
            patch(&pipe(&source, &sink), &pipe(&source, &json!({"log": null})), "kctl-run"),
            Some(json!({"spec": {"errorHandler": {"log": {}, "sink": null}}}))
        );
        let none = json!({"spec": {"source": source, "sink": {"uri": "log:a"}}});
        assert_eq!(
            patch(&none, &pipe(&source, &json!({"none": null})), "kctl-run"),
            Some(json!({"spec": {"errorHandler": {"none": {}}}}))
        );
        for there in [json!({"none": null}), json!({"none": {}})] {
            assert_eq!(patch(&pipe(&source, &there), &pipe(&source, &json!({"none": null})), "kctl-run"), None);
        }
    }
}
