//! Structural schemas of CRDs: which fields they know, and which values they refuse.
//!
//! CEL rules (`x-kubernetes-validations`), patterns and formats are not evaluated.

use std::collections::BTreeMap;

use serde_json::Value;

use super::status::Cause;

/// One node of a structural schema.
#[derive(Clone, Debug, Default)]
pub(super) struct Schema {
    properties: BTreeMap<String, Schema>,
    /// The schema of every other key, when other keys are allowed.
    others: Option<Box<Schema>>,
    items: Option<Box<Schema>>,
    keeps_unknown: bool,
    /// An object with apiVersion, kind and metadata of its own.
    embedded: bool,
    kind: Option<String>,
    int_or_string: bool,
    nullable: bool,
    required: Vec<String>,
    values: Vec<Value>,
    max_length: Option<u64>,
}

impl Schema {
    /// Reads a schema as it is written in a CRD.
    pub(super) fn new(schema: &Value) -> Self {
        let strings = |key: &str| -> Vec<String> {
            schema[key].as_array().into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect()
        };
        let others = match &schema["additionalProperties"] {
            Value::Bool(true) => Some(Box::new(Self { keeps_unknown: true, ..Self::default() })),
            Value::Object(_) => Some(Box::new(Self::new(&schema["additionalProperties"]))),
            _ => None,
        };
        Self {
            properties: schema["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, property)| (key.clone(), Self::new(property)))
                .collect(),
            others,
            items: schema["items"].is_object().then(|| Box::new(Self::new(&schema["items"]))),
            keeps_unknown: schema["x-kubernetes-preserve-unknown-fields"] == true,
            embedded: schema["x-kubernetes-embedded-resource"] == true,
            kind: schema["type"].as_str().map(str::to_owned),
            int_or_string: schema["x-kubernetes-int-or-string"] == true,
            nullable: schema["nullable"] == true,
            required: strings("required"),
            values: schema["enum"].as_array().cloned().unwrap_or_default(),
            max_length: schema["maxLength"].as_u64(),
        }
    }

    /// Drops the fields of an object that the schema does not know, and returns where they were:
    /// `spec.bad`, `spec.list[0].zz`.
    pub(super) fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut unknown = Vec::new();
        self.prune_at(object, "", true, &mut unknown);
        unknown.sort();
        unknown
    }

    fn prune_at(&self, value: &mut Value, path: &str, root: bool, unknown: &mut Vec<String>) {
        match value {
            Value::Object(fields) => fields.retain(|key, field| {
                let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                if (root || self.embedded) && matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
                    return true;
                }
                match self.properties.get(key).or(self.others.as_deref()) {
                    Some(schema) => schema.prune_at(field, &at, false, unknown),
                    None if self.keeps_unknown => {}
                    None => {
                        unknown.push(at);
                        return false;
                    }
                }
                true
            }),
            Value::Array(items) => {
                let Some(schema) = &self.items else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    schema.prune_at(item, &format!("{path}[{index}]"), false, unknown);
                }
            }
            _ => {}
        }
    }

    /// What the schema refuses about an object, in the server's words.
    pub(super) fn check(&self, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        self.check_at(object, "", &mut causes);
        causes
    }

    fn check_at(&self, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        if value.is_null() && self.nullable {
            return;
        }
        if let Some(expected) = self.kind.as_deref().filter(|expected| !self.admits(value, expected)) {
            let is = type_of(value);
            causes.push(Cause {
                reason: "FieldValueTypeInvalid",
                message: format!("Invalid value: \"{is}\": {path} in body must be of type {expected}: \"{is}\""),
                field: path.to_owned(),
            });
            return;
        }
        self.check_scalar(value, path, causes);
        match value {
            Value::Object(fields) => {
                for (key, field) in fields {
                    if let Some(schema) = self.properties.get(key).or(self.others.as_deref()) {
                        let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                        schema.check_at(field, &at, causes);
                    }
                }
                for key in self.required.iter().filter(|key| !fields.contains_key(*key)) {
                    let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    causes.push(Cause::required(at, ""));
                }
            }
            Value::Array(items) => {
                let Some(schema) = &self.items else { return };
                for (index, item) in items.iter().enumerate() {
                    schema.check_at(item, &format!("{path}[{index}]"), causes);
                }
            }
            _ => {}
        }
    }

    fn check_scalar(&self, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        if !self.values.is_empty() && !self.values.contains(value) {
            let supported: Vec<String> = self.values.iter().map(Value::to_string).collect();
            causes.push(Cause {
                reason: "FieldValueNotSupported",
                message: format!("Unsupported value: {value}: supported values: {}", supported.join(", ")),
                field: path.to_owned(),
            });
        }
        if let (Some(most), Some(text)) = (self.max_length, value.as_str())
            && text.chars().count() as u64 > most
        {
            causes.push(Cause {
                reason: "FieldValueTooLong",
                message: format!("Too long: may not be more than {most} bytes"),
                field: path.to_owned(),
            });
        }
    }

    fn admits(&self, value: &Value, expected: &str) -> bool {
        let is = type_of(value);
        is == expected
            || (expected == "number" && is == "integer")
            || (self.int_or_string && matches!(is, "integer" | "string"))
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() && number.as_f64().is_none_or(|n| n.fract() != 0.0) => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        Schema::new(&json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["id"],
        "properties": {
            "id": {"type": "string", "maxLength": 5},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "port": {"x-kubernetes-int-or-string": true, "type": "integer"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        }}}}))
    }

    #[test]
    fn unknown_fields_are_dropped_and_named() {
        let mut object = json!({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "a"}, "more": 1, "spec": {
            "id": "x", "bad": 1, "free": {"any": {"thing": 1}}, "map": {"k": "v"}, "list": [{"name": "n", "zz": 1}]}});
        assert_eq!(schema().prune(&mut object), ["more", "spec.bad", "spec.list[0].zz"]);
        assert_eq!(
            object,
            json!({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "a"}, "spec": {
                "id": "x", "free": {"any": {"thing": 1}}, "map": {"k": "v"}, "list": [{"name": "n"}]}})
        );
    }

    #[test]
    fn values_are_checked_in_the_servers_words() {
        let object = json!({"spec": {"mode": "c", "port": "http", "map": {"k": 1}}});
        let said: Vec<String> =
            schema().check(&object).iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        assert_eq!(
            said,
            [
                "spec.mode: Unsupported value: \"c\": supported values: \"a\", \"b\"",
                "spec.map.k: Invalid value: \"integer\": spec.map.k in body must be of type string: \"integer\"",
                "spec.id: Required value",
            ]
        );
    }
}
