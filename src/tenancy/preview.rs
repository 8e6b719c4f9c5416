//! What a step makes of an object, as far as that can be told without the server.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::plan::{Step, Write, contains};

/// An object before and after a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// The object, as result lines call it.
    pub label: String,
    /// As it was observed; `None` when it is new.
    pub before: Option<Value>,
    /// As it will be; `None` when it goes.
    pub after: Option<Value>,
}

impl Step {
    /// The object before and after; `None` where nothing changes or the earlier state is not at hand.
    ///
    /// Bookkeeping and status are left out, and the bytes of a Secret are told by their digest.
    pub fn preview(&self) -> Option<Preview> {
        let (before, after) = match &self.write {
            Write::CreateOnly { object, .. } | Write::Create { object, .. } => (None, object.clone()),
            Write::ApplyOwned { object, observed, .. } => (Some(observed), overlay(observed, object)),
            Write::Patch { patch, observed, subresource: None, .. } => {
                let mut after = observed.clone();
                json_patch::merge(&mut after, patch);
                (Some(observed), after)
            }
            Write::Patch { .. } | Write::Replace { .. } | Write::Delete { .. } => return None,
        };
        let before = before.map(|object| self.shown(object));
        let after = self.shown(&after);
        (before.as_ref() != Some(&after)).then(|| Preview { label: self.label(), before, after: Some(after) })
    }

    /// The part of an object that its author writes.
    fn shown(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
            let kind = [("apiVersion", json!(self.kind.api_version())), ("kind", json!(self.kind.kind))];
            fields.extend(kind.map(|(key, value)| (key.to_owned(), value)));
            for key in ["data", "stringData"] {
                if self.kind.kind == "Secret"
                    && let Some(Value::Object(data)) = fields.get_mut(key)
                {
                    data.values_mut().for_each(|value| *value = digest(value));
                }
            }
            if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                for key in ["resourceVersion", "generation", "managedFields", "uid", "creationTimestamp", "selfLink"] {
                    metadata.remove(key);
                }
            }
        }
        sorted(&object)
    }
}

/// Keys in alphabetical order, so that only content differs.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        plain => plain.clone(),
    }
}

fn digest(value: &Value) -> Value {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let digest: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    json!(format!("sha256:{digest}"))
}

/// What applying `wanted` makes of `observed`: fields that the server has added stay.
fn overlay(observed: &Value, wanted: &Value) -> Value {
    match (observed, wanted) {
        _ if contains(observed, wanted) => observed.clone(),
        (Value::Object(observed), Value::Object(wanted)) => {
            let mut out = observed.clone();
            for (key, wanted) in wanted {
                let value = observed.get(key).map_or_else(|| wanted.clone(), |observed| overlay(observed, wanted));
                out.insert(key.clone(), value);
            }
            Value::Object(out)
        }
        (Value::Array(observed), Value::Array(wanted)) if observed.len() == wanted.len() => {
            observed.iter().zip(wanted).map(|(observed, wanted)| overlay(observed, wanted)).collect()
        }
        _ => wanted.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::kinds::{DEPLOYMENT, INTEGRATION, SECRET};

    #[test]
    fn a_patch_shows_what_it_sets_and_drops() {
        let observed = json!({"metadata": {"name": "a", "resourceVersion": "7", "annotations": {"x": "1", "y": "2"}}});
        let patch = json!({"metadata": {"annotations": {"x": null, "z": "3"}}});
        let write = Write::Patch { patch, observed, manager: "kctl-run", subresource: None };
        let preview = Step::new(INTEGRATION, Some("ns"), "a", write).preview().unwrap();
        let annotations = |object: Option<Value>| object.unwrap()["metadata"]["annotations"].clone();
        assert_eq!(annotations(preview.before.clone()), json!({"x": "1", "y": "2"}));
        assert_eq!(annotations(preview.after), json!({"y": "2", "z": "3"}));
        assert!(preview.before.unwrap()["metadata"].get("resourceVersion").is_none());
    }

    #[test]
    fn an_apply_keeps_what_the_server_has_added() {
        let observed =
            json!({"spec": {"replicas": 1, "list": [{"name": "a", "policy": "Always"}]}, "status": {"x": 1}});
        let apply = |object: Value| {
            let write = Write::ApplyOwned { object, observed: observed.clone(), force: false };
            Step::new(DEPLOYMENT, Some("ns"), "a", write).preview()
        };
        assert_eq!(apply(json!({"spec": {"list": [{"name": "a"}]}})), None, "nothing changes");
        let after = apply(json!({"spec": {"replicas": 2, "list": [{"name": "b"}]}})).unwrap().after.unwrap();
        assert_eq!(after["spec"], json!({"replicas": 2, "list": [{"name": "b", "policy": "Always"}]}));
        assert!(after.get("status").is_none());
    }

    #[test]
    fn the_bytes_of_a_secret_are_not_shown() {
        let object = json!({"data": {"password": "aHVudGVyMg=="}, "stringData": {"other": "plain"}});
        let write = Write::Create { object, manager: "kctl" };
        let after = Step::new(SECRET, Some("ns"), "s", write).preview().unwrap().after.unwrap().to_string();
        assert!(!after.contains("aHVudGVyMg") && !after.contains("plain"), "{after}");
        assert_eq!(after.matches("sha256:").count(), 2);
    }
}
