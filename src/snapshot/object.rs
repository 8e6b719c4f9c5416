//! One object as it is held in memory: compact JSON with marks, so that fifty thousand of them stay small and a list of
//! them is copying.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

/// An object of the store.
///
/// The text begins with `{"apiVersion":…,"kind":…`, which is what lets it be shown under another version, or without
/// these two fields as in lists of built-in kinds.
#[derive(Clone, Debug)]
pub(super) struct Object {
    json: Box<str>,
    /// Where the value of `metadata` is.
    metadata: Range<usize>,
    /// The end of the value of `kind`.
    head: usize,
    /// Where the object comes from.
    pub origin: Origin,
}

/// Where an object comes from, which decides whether and where it is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A namespace nobody wrote: it is there because the cluster needs it. Never saved.
    Implied,
    /// Read from the file of this index and unchanged since.
    Loaded(FileId, Added),
    /// Read from the file of this index and changed since.
    Changed(FileId),
    /// Created by a request.
    Created,
}

/// The index of a file that was loaded.
pub(super) type FileId = u32;

/// What loading put into the metadata of an object, and saving takes out again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Added {
    pub uid: bool,
    pub resource_version: bool,
    /// The status of a CRD whose kind is served.
    pub status: bool,
}

impl Origin {
    /// The origin after a change.
    pub(super) fn changed(self) -> Self {
        match self {
            Self::Loaded(file, _) | Self::Changed(file) => Self::Changed(file),
            Self::Created | Self::Implied => Self::Created,
        }
    }
}

/// The fields of an object's metadata that requests are answered by.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Meta<'a> {
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    #[serde(borrow)]
    pub namespace: Cow<'a, str>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Labels<'a> {
    #[serde(borrow)]
    labels: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
}

#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow)]
    kind: &'a RawValue,
    #[serde(borrow)]
    metadata: &'a RawValue,
}

impl Object {
    /// Takes an object that has apiVersion, kind and metadata.
    pub(super) fn new(value: Value, origin: Origin) -> Self {
        let Value::Object(mut fields) = value else { return Self::empty(origin) };
        let mut ordered = Map::with_capacity(fields.len());
        for key in ["apiVersion", "kind", "metadata"] {
            if let Some(field) = fields.shift_remove(key) {
                ordered.insert(key.into(), field);
            }
        }
        ordered.append(&mut fields);
        Self::from_json(Value::Object(ordered).to_string(), origin).unwrap_or_else(|_| Self::empty(origin))
    }

    /// Takes compact JSON as it is, when it has the shape that is needed; else gives it back.
    pub(super) fn from_json(json: String, origin: Origin) -> Result<Self, String> {
        match marks(&json) {
            Some((head, metadata)) => Ok(Self { json: json.into_boxed_str(), metadata, head, origin }),
            None => Err(json),
        }
    }

    fn empty(origin: Origin) -> Self {
        let json = "{\"apiVersion\":\"\",\"kind\":\"\",\"metadata\":{}}";
        Self { json: json.into(), metadata: json.len() - 3..json.len() - 1, head: 26, origin }
    }

    /// The object as JSON text, in the version it is stored in.
    pub(super) fn json(&self) -> &str {
        &self.json
    }

    /// The object as JSON text under an API version; without it and the kind when `None`, as in lists of built-in kinds.
    pub(super) fn write(&self, api_version: Option<&str>, out: &mut String) {
        out.push('{');
        let mut rest = &self.json[self.head..];
        if let Some(api_version) = api_version {
            let stored = &self.json["{\"apiVersion\":\"".len()..];
            let end = stored.find('"').unwrap_or_default();
            out.push_str("\"apiVersion\":\"");
            out.push_str(api_version);
            out.push_str(&stored[end..stored.len() - rest.len()]);
        } else {
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        out.push_str(rest);
    }

    /// Its metadata as JSON text.
    pub(super) fn metadata(&self) -> &str {
        &self.json[self.metadata.clone()]
    }

    /// The main fields of its metadata.
    pub(super) fn meta(&self) -> Meta<'_> {
        serde_json::from_str(self.metadata()).unwrap_or_default()
    }

    /// Its labels.
    pub(super) fn labels(&self) -> BTreeMap<Cow<'_, str>, Cow<'_, str>> {
        serde_json::from_str::<Labels>(self.metadata()).unwrap_or_default().labels.unwrap_or_default()
    }

    /// The object as a value, in the version it is stored in.
    pub(super) fn value(&self) -> Value {
        serde_json::from_str(&self.json).expect("the text of an object was checked when it was taken in")
    }

    /// The object as a value under an API version.
    pub(super) fn value_as(&self, api_version: &str) -> Value {
        let mut value = self.value();
        value["apiVersion"] = Value::String(api_version.to_owned());
        value
    }
}

/// The end of the kind and the place of the metadata, when an object begins with apiVersion and kind.
fn marks(json: &str) -> Option<(usize, Range<usize>)> {
    let parts: Parts = serde_json::from_str(json).ok()?;
    let kind = span(json, parts.kind.get());
    let metadata = span(json, parts.metadata.get());
    // All before the kind must be the version.
    let version = json[..kind.start].strip_prefix("{\"apiVersion\":\"")?.strip_suffix("\",\"kind\":")?;
    (!version.contains('"') && json[metadata.clone()].starts_with('{')).then_some((kind.end, metadata))
}

/// Where a part of a text is in it.
fn span(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_shown_under_any_version_and_without_its_type() {
        let value = json!({"kind": "X", "spec": {"a": 1}, "metadata": {"name": "n", "labels": {"l": "v"}},
            "apiVersion": "x.io/v1"});
        let object = Object::new(value, Origin::Created);
        let mut out = String::new();
        object.write(Some("x.io/v2"), &mut out);
        assert_eq!(
            out,
            r#"{"apiVersion":"x.io/v2","kind":"X","metadata":{"name":"n","labels":{"l":"v"}},"spec":{"a":1}}"#
        );
        out.clear();
        object.write(None, &mut out);
        assert_eq!(out, r#"{"metadata":{"name":"n","labels":{"l":"v"}},"spec":{"a":1}}"#);
        assert_eq!(object.meta().name, "n");
        assert_eq!(object.labels().get("l").map(AsRef::as_ref), Some("v"));
    }

    #[test]
    fn text_of_another_shape_is_not_taken_as_it_is() {
        for json in [
            r#"{"kind":"X","apiVersion":"v1","metadata":{}}"#,
            r#"{"apiVersion":"v1","metadata":{},"kind":"X"}"#,
            r#"{"apiVersion":"v1","x":"\",\"kind\":","kind":"X","metadata":{}}"#,
            r#"{"apiVersion":"v1","kind":"X","metadata":null}"#,
            r#"{"apiVersion":"v1","kind":"X"}"#,
        ] {
            assert!(Object::from_json(json.to_owned(), Origin::Created).is_err(), "{json}");
        }
        let plain = r#"{"apiVersion":"v1","kind":"X","metadata":{}}"#;
        assert_eq!(Object::from_json(plain.to_owned(), Origin::Created).unwrap().json(), plain);
    }
}
