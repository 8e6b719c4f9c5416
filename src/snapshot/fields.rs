//! Sets of fields, as `metadata.managedFields` records them.
//!
//! Lists are single fields here: the server merges some of them by key, which needs the schema of each kind.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The names on the way to a field.
pub(super) type Path = Vec<String>;

/// A set of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet(BTreeSet<Path>);

/// What differs between two states of an object.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// Fields that are new or have another value.
    pub changed: FieldSet,
    /// Fields that are gone.
    pub removed: FieldSet,
}

impl FieldSet {
    /// The leaves of an object, without the fields that nobody owns.
    pub(super) fn of(object: &Value) -> Self {
        let mut set = Self::default();
        set.add_leaves(object, &mut Vec::new());
        set.without_unowned()
    }

    fn add_leaves(&mut self, value: &Value, path: &mut Path) {
        if let Some(fields) = value.as_object().filter(|fields| !fields.is_empty()) {
            for (key, field) in fields {
                path.push(key.clone());
                self.add_leaves(field, path);
                path.pop();
            }
        } else {
            self.0.insert(path.clone());
        }
    }

    /// The leaves of a value and every map on the way to them, the value itself included.
    fn add_all(&mut self, value: &Value, path: &mut Path) {
        self.0.insert(path.clone());
        for (key, field) in value.as_object().into_iter().flatten() {
            path.push(key.clone());
            self.add_all(field, path);
            path.pop();
        }
    }

    fn without_unowned(mut self) -> Self {
        self.0.retain(|path| is_owned(path));
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, path: &Path) -> bool {
        self.0.contains(path)
    }

    /// Whether a field, or one inside it, is in the set.
    pub(super) fn has_inside(&self, path: &Path) -> bool {
        self.0.range(path.clone()..).next().is_some_and(|next| next.starts_with(path))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter()
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    pub(super) fn remove_all(&mut self, other: &Self) {
        self.0.retain(|path| !other.0.contains(path));
    }

    /// Keeps the fields that are taken.
    pub(super) fn retain(&mut self, taken: impl Fn(&Path) -> bool) {
        self.0.retain(taken);
    }

    /// Reads the `fieldsV1` of an entry of managedFields. Items of lists count as the list.
    pub(super) fn from_json(fields: &Value) -> Self {
        let mut set = Self::default();
        set.read(fields, &mut Vec::new());
        set.without_unowned()
    }

    fn read(&mut self, fields: &Value, path: &mut Path) {
        let Some(fields) = fields.as_object() else { return };
        let is_list = fields.keys().any(|key| !key.starts_with("f:") && key != ".");
        if fields.is_empty() || is_list || fields.contains_key(".") {
            self.0.insert(path.clone());
        }
        if is_list {
            return;
        }
        for (key, inner) in fields {
            let Some(name) = key.strip_prefix("f:") else { continue };
            path.push(name.to_owned());
            self.read(inner, path);
            path.pop();
        }
    }

    /// The set as `fieldsV1`.
    pub(super) fn to_json(&self) -> Value {
        let mut out = json!({});
        for path in &self.0 {
            let mut at = &mut out;
            for name in path {
                at = entry(at, format!("f:{name}"));
            }
        }
        // A map that is in the set and has members in it is marked with a dot.
        for path in &self.0 {
            let mut at = &mut out;
            for name in path {
                at = entry(at, format!("f:{name}"));
            }
            if let Some(inner) = at.as_object_mut().filter(|inner| !inner.is_empty()) {
                inner.shift_insert(0, ".".into(), json!({}));
            }
        }
        out
    }
}

fn entry(at: &mut Value, key: String) -> &mut Value {
    if !at.is_object() {
        *at = Value::Object(Map::new());
    }
    match at {
        Value::Object(fields) => fields.entry(key).or_insert_with(|| json!({})),
        other => other,
    }
}

/// Whether a field is recorded at all: the identity of an object and what the server writes are not.
fn is_owned(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().take(2).map(String::as_str).collect();
    !matches!(
        path.as_slice(),
        [] | ["apiVersion" | "kind" | "metadata"]
            | [
                "metadata",
                "name"
                    | "namespace"
                    | "uid"
                    | "resourceVersion"
                    | "generation"
                    | "creationTimestamp"
                    | "deletionTimestamp"
                    | "deletionGracePeriodSeconds"
                    | "selfLink"
                    | "managedFields"
            ]
    )
}

impl Difference {
    /// Compares two states of an object.
    pub(super) fn between(old: &Value, new: &Value) -> Self {
        let mut difference = Self::default();
        difference.compare(old, new, &mut Vec::new());
        difference.changed = difference.changed.without_unowned();
        difference.removed = difference.removed.without_unowned();
        difference
    }

    fn compare(&mut self, old: &Value, new: &Value, path: &mut Path) {
        match (old, new) {
            (Value::Object(before), Value::Object(after)) => {
                for (key, value) in after {
                    path.push(key.clone());
                    match before.get(key) {
                        Some(was) => self.compare(was, value, path),
                        None => self.changed.add_all(value, path),
                    }
                    path.pop();
                }
                for (key, was) in before.iter().filter(|(key, _)| !after.contains_key(*key)) {
                    path.push(key.clone());
                    self.removed.add_all(was, path);
                    path.pop();
                }
            }
            _ if old == new => {}
            (Value::Object(_), _) => {
                self.removed.add_all(old, path);
                self.removed.0.remove(path);
                self.changed.add_all(new, path);
            }
            _ => self.changed.add_all(new, path),
        }
    }
}

/// A field as messages name it: `.data.k`, `.metadata.annotations.camel.apache.org/operator.id`.
pub(super) fn display(path: &Path) -> String {
    path.iter().fold(String::new(), |text, name| text + "." + name)
}

/// Removes a field from an object, and the maps that are empty without it.
pub(super) fn remove(object: &mut Value, path: &[String]) {
    let Some((first, rest)) = path.split_first() else { return };
    let Some(fields) = object.as_object_mut() else { return };
    if rest.is_empty() {
        fields.shift_remove(first);
    } else if let Some(inner) = fields.get_mut(first) {
        remove(inner, rest);
        if inner.as_object().is_some_and(Map::is_empty) && first != "metadata" {
            fields.shift_remove(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_sets_are_read_and_written_as_the_server_does() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "labels": {"app": "x"}}, "data": {"k": "v"}, "spec": {"list": [1], "empty": {}}});
        let leaves = json!({"f:metadata": {"f:labels": {"f:app": {}}}, "f:data": {"f:k": {}},
            "f:spec": {"f:list": {}, "f:empty": {}}});
        assert_eq!(FieldSet::of(&object).to_json(), leaves);
        assert_eq!(FieldSet::from_json(&leaves), FieldSet::of(&object));

        let created = Difference::between(&json!({}), &object).changed.to_json();
        assert_eq!(
            created,
            json!({"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:data": {".": {}, "f:k": {}},
                "f:spec": {".": {}, "f:list": {}, "f:empty": {}}})
        );
        assert_eq!(FieldSet::from_json(&created).to_json(), created);
    }

    #[test]
    fn items_of_lists_count_as_the_list() {
        let fields = json!({"f:spec": {"f:containers": {"k:{\"name\":\"x\"}": {".": {}, "f:image": {}}}}});
        assert_eq!(FieldSet::from_json(&fields).to_json(), json!({"f:spec": {"f:containers": {}}}));
    }

    #[test]
    fn differences() {
        let old = json!({"data": {"same": 1, "other": 1, "gone": 1, "map": {"x": 1}, "list": [1]}});
        let new = json!({"data": {"same": 1, "other": 2, "new": {"deep": 1}, "map": 5, "list": [2]}});
        let difference = Difference::between(&old, &new);
        let show = |set: &FieldSet| set.iter().map(display).collect::<Vec<_>>();
        assert_eq!(
            show(&difference.changed),
            [".data.list", ".data.map", ".data.new", ".data.new.deep", ".data.other"]
        );
        assert_eq!(show(&difference.removed), [".data.gone", ".data.map.x"]);
    }

    #[test]
    fn removing_a_field_removes_maps_that_get_empty() {
        let mut object = json!({"metadata": {"labels": {"a": "b"}}, "data": {"k": "v", "l": "w"}});
        let path = |text: &str| text.split('.').map(str::to_owned).collect::<Path>();
        remove(&mut object, &path("metadata.labels.a"));
        remove(&mut object, &path("data.k"));
        remove(&mut object, &path("data.nope.deeper"));
        assert_eq!(object, json!({"metadata": {}, "data": {"l": "w"}}));
    }
}
