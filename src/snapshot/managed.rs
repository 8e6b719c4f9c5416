//! `metadata.managedFields`: who wrote which field.

use serde_json::{Value, json};

use super::fields::{Difference, FieldSet};

/// How a manager writes: each way of one name is a manager of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Server-side apply.
    Apply,
    /// Every other write.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who writes, and through what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Writer {
    pub manager: String,
    pub operation: Operation,
    pub api_version: String,
    pub subresource: Option<String>,
}

impl Writer {
    /// The writer as messages name it: `"kubectl"`, or with what tells an update from an apply.
    pub(super) fn display(&self, time: Option<&str>) -> String {
        let name = json!(self.manager);
        match self.operation {
            Operation::Apply => name.to_string(),
            Operation::Update => {
                let subresource = self
                    .subresource
                    .as_deref()
                    .map(|sub| format!(" with subresource {}", json!(sub)))
                    .unwrap_or_default();
                let when = time.map(|time| format!(" at {time}")).unwrap_or_default();
                format!("{name}{subresource} using {}{when}", self.api_version)
            }
        }
    }
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub writer: Writer,
    pub time: Option<String>,
    pub fields: FieldSet,
}

/// All entries of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Managed(pub Vec<Entry>);

impl Managed {
    /// Reads the entries of an object.
    pub(super) fn of(object: &Value) -> Self {
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        Self(entries.into_iter().flatten().map(Entry::read).collect())
    }

    /// Writes the entries into an object.
    pub(super) fn write(&self, object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        if self.0.is_empty() {
            metadata.shift_remove("managedFields");
        } else {
            metadata.insert("managedFields".into(), self.0.iter().map(Entry::to_json).collect());
        }
    }

    /// The entry of a writer.
    pub(super) fn find(&self, writer: &Writer) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.writer == *writer)
    }

    /// Replaces the fields of a writer; none removes its entry. The time changes only with the fields.
    pub(super) fn set(&mut self, writer: &Writer, fields: FieldSet, now: &str) {
        let there = self.0.iter_mut().find(|entry| entry.writer == *writer);
        match there {
            Some(entry) if entry.fields == fields => {}
            Some(entry) => {
                entry.fields = fields;
                entry.time = Some(now.to_owned());
            }
            None => self.0.push(Entry { writer: writer.clone(), time: Some(now.to_owned()), fields }),
        }
        self.0.retain(|entry| !entry.fields.is_empty());
    }

    /// Records a write that was not an apply: what changed is the writer's alone from now on.
    pub(super) fn update(&mut self, writer: &Writer, old: &Value, new: &Value, now: &str) {
        let difference = Difference::between(old, new);
        if difference.changed.is_empty() && difference.removed.is_empty() {
            return;
        }
        for entry in &mut self.0 {
            entry.fields.remove_all(&difference.removed);
            if entry.writer != *writer {
                entry.fields.remove_all(&difference.changed);
            }
        }
        let mut fields = self.find(writer).map(|entry| entry.fields.clone()).unwrap_or_default();
        fields.extend(&difference.changed);
        self.set(writer, fields, now);
    }
}

impl Entry {
    fn read(entry: &Value) -> Self {
        let text = |key: &str| entry[key].as_str().map(str::to_owned);
        Self {
            writer: Writer {
                manager: text("manager").unwrap_or_default(),
                operation: if entry["operation"] == "Apply" { Operation::Apply } else { Operation::Update },
                api_version: text("apiVersion").unwrap_or_default(),
                subresource: text("subresource").filter(|name| !name.is_empty()),
            },
            time: text("time"),
            fields: FieldSet::from_json(&entry["fieldsV1"]),
        }
    }

    fn to_json(&self) -> Value {
        let mut entry = json!({
            "manager": self.writer.manager, "operation": self.writer.operation.name(),
            "apiVersion": self.writer.api_version,
        });
        if let Some(time) = &self.time {
            entry["time"] = json!(time);
        }
        entry["fieldsType"] = json!("FieldsV1");
        entry["fieldsV1"] = self.fields.to_json();
        if let Some(subresource) = &self.writer.subresource {
            entry["subresource"] = json!(subresource);
        }
        entry
    }
}
