//! Server-side apply.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    fields::{self, Difference, FieldSet},
    managed::{Entry, Managed, Operation, Writer},
    shape::drop_nulls,
    status::ApiError,
};

/// The manager of everything that was there before anybody recorded who wrote it.
const BEFORE: &str = "before-first-apply";

/// What an apply makes of an object.
pub(super) struct Applied {
    /// The merged object, without managedFields.
    pub object: Value,
    /// Who owns what afterwards.
    pub managed: Managed,
}

/// Applies a configuration over a live object (or over nothing, `{}`).
///
/// Fields that other managers own and that would change are conflicts unless `force`; fields the writer owned and
/// applies no more are removed when nobody else owns them.
pub(super) fn apply(
    live: &Value,
    config: &Value,
    writer: &Writer,
    force: bool,
    now: &str,
) -> Result<Applied, ApiError> {
    let mut managed = Managed::of(live);
    if managed.0.is_empty() && live.get("metadata").is_some() {
        managed.0.push(before_first_apply(live, writer, now));
    }
    let mut object = live.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("managedFields");
    }
    let base = object.clone();
    let mut config = config.clone();
    drop_nulls(&mut config);
    merge(&mut object, &config);

    let difference = Difference::between(&base, &object);
    resolve_conflicts(&mut managed, &difference, writer, force)?;

    let applied = FieldSet::of(&config);
    let before = managed.find(writer).map(|entry| entry.fields.clone()).unwrap_or_default();
    for path in before.iter().filter(|path| !applied.has_inside(path)) {
        let others = managed.0.iter().any(|entry| entry.writer != *writer && entry.fields.has_inside(path));
        if !others {
            fields::remove(&mut object, path);
        }
    }
    managed.set(writer, applied, now);
    let gone = Difference::between(&base, &object).removed;
    for entry in managed.0.iter_mut().filter(|entry| entry.writer != *writer) {
        entry.fields.remove_all(&gone);
    }
    managed.0.retain(|entry| !entry.fields.is_empty());
    Ok(Applied { object, managed })
}

/// The entry of all that is in an object nobody recorded the writers of, as in a dump without managedFields.
fn before_first_apply(live: &Value, writer: &Writer, now: &str) -> Entry {
    let mut fields = Difference::between(&Value::Object(Map::new()), live).changed;
    fields.retain(|path| path.first().is_none_or(|first| first != "status"));
    let before = Writer {
        manager: BEFORE.to_owned(),
        operation: Operation::Update,
        api_version: writer.api_version.clone(),
        subresource: None,
    };
    Entry { writer: before, time: Some(now.to_owned()), fields }
}

/// Refuses changes to fields of other managers, or takes the fields from them.
fn resolve_conflicts(
    managed: &mut Managed,
    difference: &Difference,
    writer: &Writer,
    force: bool,
) -> Result<(), ApiError> {
    let mut conflicts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in managed.0.iter_mut().filter(|entry| entry.writer != *writer) {
        let mut taken = FieldSet::default();
        for changed in [&difference.changed, &difference.removed] {
            taken.extend(changed);
        }
        taken.retain(|path| entry.fields.contains(path));
        if taken.is_empty() {
            continue;
        }
        if force {
            entry.fields.remove_all(&taken);
        } else {
            let name = entry.writer.display(entry.time.as_deref());
            conflicts.entry(name).or_default().extend(taken.iter().map(fields::display));
        }
    }
    managed.0.retain(|entry| !entry.fields.is_empty());
    if conflicts.is_empty() {
        return Ok(());
    }
    let flat: Vec<(String, String)> = conflicts
        .into_iter()
        .flat_map(|(name, paths)| paths.into_iter().map(move |path| (name.clone(), path)))
        .collect();
    Err(ApiError::apply_conflicts(&flat))
}

/// Lays a configuration over an object: maps are merged, everything else is replaced.
fn merge(object: &mut Value, config: &Value) {
    match (object, config) {
        (Value::Object(fields), Value::Object(wanted)) => {
            for (key, value) in wanted {
                match fields.get_mut(key) {
                    Some(there) => merge(there, value),
                    None => {
                        fields.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (object, config) => *object = config.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn writer(manager: &str) -> Writer {
        Writer {
            manager: manager.to_owned(),
            operation: Operation::Apply,
            api_version: "v1".to_owned(),
            subresource: None,
        }
    }

    fn applied(live: &Value, config: &Value, manager: &str, force: bool) -> Result<Value, ApiError> {
        apply(live, config, &writer(manager), force, "2026-12-01T10:00:00Z").map(|applied| {
            let mut object = applied.object;
            applied.managed.write(&mut object);
            object
        })
    }

    fn object(data: impl Into<Value>) -> Value {
        let data: Value = data.into();
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
    }

    #[test]
    fn a_second_manager_conflicts_shares_takes_and_lets_go() {
        let first = applied(&json!({}), &object(json!({"k": "v", "d": "x"})), "one", false).unwrap();
        let conflict = applied(&first, &object(json!({"k": "w"})), "two", false).err().unwrap();
        assert_eq!(conflict.message, "Apply failed with 1 conflict: conflict with \"one\": .data.k");

        let shared = applied(&first, &object(json!({"k": "v"})), "two", false).unwrap();
        assert_eq!(Managed::of(&shared).0.len(), 2);

        let taken = applied(&shared, &object(json!({"k": "w"})), "two", true).unwrap();
        assert_eq!(taken["data"], json!({"k": "w", "d": "x"}));
        let one = Managed::of(&taken).find(&writer("one")).unwrap().fields.to_json();
        assert_eq!(one, json!({"f:data": {"f:d": {}}}));

        let dropped = applied(&taken, &object(json!({})), "one", false).unwrap();
        assert_eq!(dropped["data"], json!({"k": "w"}));
    }

    #[test]
    fn what_nobody_recorded_belongs_to_the_time_before() {
        let live = object(json!({"k": "v"}));
        let conflict = applied(&live, &object(json!({"k": "w"})), "one", false).err().unwrap();
        assert!(conflict.message.contains("conflict with \"before-first-apply\" using v1"), "{}", conflict.message);
        let both = applied(&live, &object(json!({"k": "v", "new": "x"})), "one", false).unwrap();
        assert_eq!(both["data"], json!({"k": "v", "new": "x"}));
    }

    #[test]
    fn several_conflicts_are_listed_by_manager() {
        let first = applied(&json!({}), &object(json!({"k": "v", "d": "x"})), "one", false).unwrap();
        let conflict = applied(&first, &object(json!({"k": "w", "d": "y"})), "two", false).err().unwrap();
        assert_eq!(conflict.message, "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.d\n- .data.k");
    }

    fn data() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(1)), Just(json!("x")), Just(json!([1, 2]))];
        let inner = prop::collection::btree_map("[a-c]", leaf.clone(), 1..3).prop_map(|map| json!(map));
        prop::collection::btree_map("[a-d]", prop_oneof![leaf, inner], 0..4).prop_map(|map| json!(map))
    }

    proptest! {
        #[test]
        fn applying_twice_changes_nothing(live in data(), config in data()) {
            let live = applied(&json!({}), &object(live), "other", false).unwrap();
            let once = applied(&live, &object(config.clone()), "me", true).unwrap();
            let twice = applied(&once, &object(config), "me", false).unwrap();
            prop_assert_eq!(once, twice);
        }

        #[test]
        fn one_manager_alone_gets_just_what_it_applied_last(first in data(), last in data()) {
            let one = applied(&json!({}), &object(first), "me", false).unwrap();
            let mut two = applied(&one, &object(last.clone()), "me", false).unwrap();
            let mut wanted = object(last);
            for object in [&mut two, &mut wanted] {
                object["metadata"] = json!({});
                if object["data"].as_object().is_some_and(Map::is_empty) {
                    object.as_object_mut().unwrap().shift_remove("data");
                }
            }
            prop_assert_eq!(sorted(&two), sorted(&wanted));
        }
    }

    fn sorted(value: &Value) -> String {
        let mut value = value.clone();
        value.sort_all_objects();
        value.to_string()
    }
}
