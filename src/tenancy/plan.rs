//! The ordered changes a command wants to make, computed before anything is written.

use serde_json::Value;

use crate::contracts::kinds::Kind;

/// Field manager of what kctl owns: only ever used with server-side apply.
pub const OWNER: &str = "kctl";
/// Field manager of claims, which are created by POST and changed by compare-and-swap.
pub const CLAIM_MANAGER: &str = "kctl-claim";
/// Field manager of tenants' resources that kctl creates or patches.
pub const TENANT_MANAGER: &str = "kctl-run";

/// How an object is written, each with its precondition.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Server-side apply that succeeds only when the object is absent.
    CreateOnly {
        /// The object.
        object: Value,
        /// Field manager.
        manager: &'static str,
    },
    /// Server-side apply as [`OWNER`] over an object that is kctl's own: the one observed, at its resource version.
    ApplyOwned {
        /// The whole object as kctl wants it.
        object: Value,
        /// The object as it was observed.
        observed: Value,
        /// Take fields back that another manager has changed.
        force: bool,
    },
    /// POST; fails when the object exists.
    Create {
        /// The object.
        object: Value,
        /// Field manager.
        manager: &'static str,
    },
    /// Merge patch of an object at the resource version of `observed`.
    Patch {
        /// The patch; `metadata.resourceVersion` is added.
        patch: Value,
        /// The object as it was observed.
        observed: Value,
        /// Field manager.
        manager: &'static str,
        /// `status`, or none.
        subresource: Option<&'static str>,
    },
    /// PUT of an object that carries the resource version it was read at: compare-and-swap.
    Replace {
        /// The whole object.
        object: Value,
        /// Field manager.
        manager: &'static str,
    },
    /// Delete of the object with this uid.
    Delete {
        /// uid of the object to go.
        uid: String,
    },
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Kind of the object.
    pub kind: Kind,
    /// Namespace; `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: String,
    /// How it is written.
    pub write: Write,
}

impl Step {
    /// A step on the object that `write` carries, or on `name` in `namespace`.
    pub fn new(kind: Kind, namespace: Option<&str>, name: &str, write: Write) -> Self {
        let namespace = namespace.filter(|_| kind.namespaced).map(str::to_owned);
        Self { kind, namespace, name: name.to_owned(), write }
    }

    /// How result lines call the object: `deployment.apps/tenant-a-operator`.
    pub fn label(&self) -> String {
        format!("{}/{}", self.kind.result_name(), self.name)
    }

    /// Whether the object has everything the step would write, as far as that can be told without the server.
    pub fn is_done(&self) -> bool {
        matches!(&self.write, Write::ApplyOwned { object, observed, .. } if contains(observed, object))
    }

    /// The verb that RBAC asks for.
    ///
    /// Server-side apply of an absent object needs `create` and `patch`, of a present one `patch`.
    pub fn verbs(&self) -> &'static [&'static str] {
        match self.write {
            Write::CreateOnly { .. } => &["create", "patch"],
            Write::ApplyOwned { .. } | Write::Patch { .. } => &["patch"],
            Write::Create { .. } => &["create"],
            Write::Replace { .. } => &["update"],
            Write::Delete { .. } => &["delete"],
        }
    }
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The object is new.
    Created,
    /// The object was changed.
    Configured,
    /// The object was as wanted already.
    Unchanged,
    /// The object is gone.
    Deleted,
}

impl Change {
    /// The word of the result line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Deleted => "deleted",
        }
    }
}

/// Whether two states of an object are the same as far as its author is concerned.
///
/// Resource versions do not tell: another writer of the status changes them too, and a dry run shows the old one even
/// when it would change. So bookkeeping and status are taken off before the comparison.
pub fn same_content(before: &Value, after: &Value) -> bool {
    stripped(before) == stripped(after)
}

/// Whether `observed` has everything that `wanted` says: what applying `wanted` over it would leave unchanged, as far as
/// that can be told without the server.
pub fn contains(observed: &Value, wanted: &Value) -> bool {
    match (observed, wanted) {
        (Value::Object(observed), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| match observed.get(key) {
                Some(observed) => contains(observed, wanted),
                // The server drops empty values; one that comes from elsewhere is no empty one.
                None => (wanted.as_str() == Some("") && !observed.contains_key("valueFrom")) || wanted.is_null(),
            })
        }
        (Value::Array(observed), Value::Array(wanted)) => {
            observed.len() == wanted.len()
                && observed.iter().zip(wanted).all(|(observed, wanted)| contains(observed, wanted))
        }
        (observed, wanted) => observed == wanted,
    }
}

fn stripped(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
        fields.remove("apiVersion");
        fields.remove("kind");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            for key in ["resourceVersion", "generation", "managedFields", "uid", "creationTimestamp"] {
                metadata.remove(key);
            }
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_there_already_is_recognised() {
        let observed = json!({"a": {"b": 1, "extra": true}, "list": [{"name": "X"}]});
        assert!(contains(&observed, &json!({"a": {"b": 1}, "list": [{"name": "X", "value": ""}]})));
        assert!(!contains(&observed, &json!({"a": {"b": 2}})));
        let from_field = json!({"name": "X", "valueFrom": {"fieldRef": {}}});
        assert!(!contains(&from_field, &json!({"name": "X", "value": ""})));
        assert!(!contains(&observed, &json!({"list": []})));
    }

    #[test]
    fn bookkeeping_and_status_are_no_content() {
        let before = json!({"metadata": {"name": "a", "resourceVersion": "1", "managedFields": []}, "spec": {"x": 1}, "status": {}});
        let after = json!({"metadata": {"name": "a", "resourceVersion": "2"}, "spec": {"x": 1}, "status": {"phase": "Running"}});
        assert!(same_content(&before, &after));
        assert!(!same_content(&before, &json!({"metadata": {"name": "a"}, "spec": {"x": 2}})));
    }
}
