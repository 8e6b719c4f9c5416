//! From the bytes of a file to the objects in it.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    chunks,
    head::{Checked, Head},
    yaml::{Document, Fault},
};

/// An object as it was found in a file.
#[derive(Debug)]
pub(super) struct Found {
    pub api_version: String,
    pub kind: String,
    pub namespace: Option<String>,
    pub name: String,
    pub has_uid: bool,
    /// Its resourceVersion, when that is a number.
    pub version: Option<u64>,
    /// Compact JSON that was checked to be a value.
    pub json: String,
    /// The line its document begins in, from 1.
    pub line: usize,
}

/// Why a file is not taken.
#[derive(Debug, PartialEq)]
pub(super) enum Problem {
    /// It is neither YAML nor JSON.
    Syntax(Fault),
    /// A document is no Kubernetes object.
    Foreign(Fault),
    /// A document is a kustomization, which stands for other objects.
    Kustomization,
}

/// Reads every object of a file. JSON is taken as JSON, which is ten times as fast as YAML.
pub(super) fn read(bytes: &[u8], named_json: bool) -> Result<Vec<Found>, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let line = 1 + good.matches('\n').count();
        Problem::Syntax(Fault { line, why: "not UTF-8 text".to_owned() })
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let mut found = Vec::new();
    if named_json || looks_like_json(text) {
        return read_json(text, &mut found).map(|()| found);
    }
    for (line, document) in chunks::documents(text) {
        match document.map_err(Problem::Syntax)? {
            Document::Empty => {}
            Document::Other => return Err(foreign(line, "not a mapping")),
            Document::Mapping { fields, items } => from_yaml(fields, items, line, &mut found)?,
        }
    }
    Ok(found)
}

/// Whether a text begins as a JSON object does; `{a: b}` is YAML.
fn looks_like_json(text: &str) -> bool {
    text.trim_start().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(['"', '}']))
}

fn foreign(line: usize, why: impl Into<String>) -> Problem {
    Problem::Foreign(Fault { line, why: format!("not a Kubernetes object: {}", why.into()) })
}

fn from_yaml(
    fields: Map<String, Value>,
    items: Option<Vec<String>>,
    line: usize,
    found: &mut Vec<Found>,
) -> Result<(), Problem> {
    let Some(items) = items else {
        return one(Cow::Owned(Value::Object(fields).to_string()), line, found);
    };
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    if is_list(text("kind"), fields.get("metadata")) {
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        return items
            .iter()
            .enumerate()
            .try_for_each(|(index, json)| item(json, api_version, kind, line, index, found));
    }
    // An object that just has a field of this name.
    let mut fields = fields;
    let items = items.iter().map(|item| serde_json::from_str::<Value>(item).unwrap_or_default());
    fields.insert("items".into(), items.collect());
    one(Cow::Owned(Value::Object(fields).to_string()), line, found)
}

fn is_list(kind: &str, metadata: Option<&Value>) -> bool {
    kind.ends_with("List") && metadata.is_none_or(|metadata| metadata["name"].is_null())
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Identity {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
}

fn read_json(text: &str, found: &mut Vec<Found>) -> Result<(), Problem> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Head>();
    let (mut line, mut counted) = (1, 0);
    loop {
        let rest = text[documents.byte_offset()..].trim_start();
        let start = text.len() - rest.len();
        line += text[counted..start].matches('\n').count();
        counted = start;
        if !rest.is_empty() && !rest.starts_with('{') {
            return Err(foreign(line, "not a mapping"));
        }
        match documents.next() {
            None => return Ok(()),
            Some(Ok(head)) => json_document(&head, &text[start..documents.byte_offset()], line, found)?,
            Some(Err(error)) => return Err(syntax(&error)),
        }
    }
}

fn syntax(error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    let why = text.split(" at line ").next().unwrap_or(&text).to_owned();
    Problem::Syntax(Fault { line: error.line().max(1), why })
}

fn json_document(head: &Head<'_>, json: &str, line: usize, found: &mut Vec<Found>) -> Result<(), Problem> {
    let metadata: Option<Value> = head.metadata.and_then(|raw| serde_json::from_str(raw.get()).ok());
    match head.elements().filter(|_| is_list(&head.kind, metadata.as_ref())) {
        Some(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, raw)| item(raw.get(), &head.api_version, &head.kind, line, index, found)),
        None => one(compact(json), line, found),
    }
}

/// An item of a list. Those of lists of built-in kinds do not say what they are: the list does.
fn item(
    json: &str,
    api_version: &str,
    list_kind: &str,
    line: usize,
    index: usize,
    found: &mut Vec<Found>,
) -> Result<(), Problem> {
    let mut json = compact(json);
    let typed = list_kind.strip_suffix("List").filter(|kind| !kind.is_empty());
    if let Some(kind) = typed
        && !json.starts_with("{\"apiVersion\":")
        && let Ok(Value::Object(mut fields)) = serde_json::from_str(&json)
    {
        fields.entry("apiVersion").or_insert_with(|| json!(api_version));
        fields.entry("kind").or_insert_with(|| json!(kind));
        json = Cow::Owned(Value::Object(fields).to_string());
    }
    one(json, line, found).map_err(|problem| match problem {
        Problem::Foreign(fault) => {
            Problem::Foreign(Fault { why: format!("{} (item {index} of a list)", fault.why), ..fault })
        }
        other => other,
    })
}

fn one(json: Cow<'_, str>, line: usize, found: &mut Vec<Found>) -> Result<(), Problem> {
    let head: Head = serde_json::from_str(&json).map_err(|error| foreign(line, error.to_string()))?;
    let Head { api_version, kind, metadata, items } = head;
    if api_version.is_empty() || kind.is_empty() {
        return Err(foreign(line, "no apiVersion and kind"));
    }
    if api_version.starts_with("kustomize.config.k8s.io/") {
        return Err(Problem::Kustomization);
    }
    let metadata = metadata.map_or("{}", RawValue::get);
    for part in [metadata, items.map_or("null", RawValue::get)] {
        serde_json::from_str::<Checked>(part).map_err(|error| foreign(line, error.to_string()))?;
    }
    let identity: Identity = serde_json::from_str(metadata).map_err(|error| {
        let text = error.to_string();
        foreign(line, format!("metadata of a {kind}: {}", text.split(" at line ").next().unwrap_or(&text)))
    })?;
    let present = |text: Option<String>| text.filter(|text| !text.is_empty());
    let Some(name) = present(identity.name) else {
        return Err(foreign(line, format!("a {kind} without metadata.name")));
    };
    found.push(Found {
        api_version,
        kind,
        namespace: present(identity.namespace),
        name,
        has_uid: present(identity.uid).is_some(),
        version: identity.resource_version.and_then(|version| version.parse().ok()),
        json: json.into_owned(),
        line,
    });
    Ok(())
}

/// JSON without the blanks between its tokens.
fn compact(json: &str) -> Cow<'_, str> {
    let mut out = String::with_capacity(json.len() / 2);
    let (mut in_string, mut escaped, mut from) = (false, false, 0);
    for (at, byte) in json.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
        } else if byte == b'"' {
            in_string = true;
        } else if byte.is_ascii_whitespace() {
            out.push_str(&json[from..at]);
            from = at + 1;
        }
    }
    if from == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[from..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, json: bool) -> Vec<String> {
        let found = read(text.as_bytes(), json).unwrap();
        found.iter().map(|f| format!("{}:{} {} {}", f.line, f.api_version, f.kind, f.name)).collect()
    }

    #[test]
    fn objects_lists_and_typed_lists_are_read() {
        let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: List\nitems:\n\
                    - {apiVersion: v1, kind: Secret, metadata: {name: b}}\n";
        assert_eq!(names(yaml, false), ["1:v1 ConfigMap a", "5:v1 Secret b"]);
        let json = "{\"kind\": \"DeploymentList\", \"apiVersion\": \"apps/v1\", \"metadata\": {\"resourceVersion\": \
                    \"1\"},\n \"items\": [{\"metadata\": {\"name\": \"d\"}}]}\n{\"apiVersion\": \"v1\", \"kind\": \
                    \"Secret\",\n \"metadata\": {\"name\": \"s\"}}";
        assert_eq!(names(json, true), ["1:apps/v1 Deployment d", "3:v1 Secret s"]);
        assert_eq!(names("{apiVersion: v1, kind: Secret, metadata: {name: s}}", false), ["1:v1 Secret s"]);
        assert_eq!(names("apiVersion: v1\nkind: List\nitems: []\n", false), [""; 0]);
    }

    #[test]
    fn a_long_stream_of_json_objects_is_read_in_one_go() {
        let lines: String = (0..20_000)
            .map(|index| format!("{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{{\"name\":\"p{index}\"}}}}\n"))
            .collect();
        let found = read(lines.as_bytes(), false).unwrap();
        assert_eq!((found.len(), found[19_999].line), (20_000, 20_000));
    }

    #[test]
    fn an_object_whose_kind_ends_in_list_is_an_object() {
        let yaml = "apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\nitems: [1, 2]\n";
        let found = read(yaml.as_bytes(), false).unwrap();
        assert!(found[0].json.contains("\"items\":[1,2]"), "{}", found[0].json);
    }

    #[test]
    fn what_is_no_object_is_told_with_its_line() {
        for (text, line, why) in [
            ("- from: x\n", 1, "not a mapping"),
            ("a: 1\n", 1, "no apiVersion and kind"),
            ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n\nfoo: 1\n", 6, "no apiVersion and kind"),
            ("apiVersion: v1\nkind: Pod\nmetadata: {}\n", 1, "a Pod without metadata.name"),
            (
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {v: 1.0}}\n",
                1,
                "metadata of a Pod: invalid type: integer `1`, expected a string",
            ),
            ("apiVersion: v1\nkind: List\nitems: [{a: 1}]\n", 1, "no apiVersion and kind (item 0 of a list)"),
        ] {
            let why = format!("not a Kubernetes object: {why}");
            assert_eq!(read(text.as_bytes(), false).unwrap_err(), Problem::Foreign(Fault { line, why }), "{text}");
        }
        let Problem::Syntax(fault) = read(b"{\"a\": 1,\n\"b\": }", true).unwrap_err() else { panic!() };
        assert_eq!(fault.line, 2);
        let Problem::Syntax(fault) = read(b"a: 1\n\xff\xfe", false).unwrap_err() else { panic!() };
        assert_eq!(fault.line, 2);
        let kustomization = b"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Component\n";
        assert_eq!(read(kustomization, false).unwrap_err(), Problem::Kustomization);
    }

    #[test]
    fn blanks_outside_strings_are_dropped() {
        assert_eq!(compact("{ \"a b\" :\n\t[ 1 , \" \\\" x\" ] }"), "{\"a b\":[1,\" \\\" x\"]}");
        assert!(matches!(compact("{\"a\":1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_that_cannot_be_a_value_is_refused() {
        let text = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"x":"\ud800"}"#;
        assert!(read(text.as_bytes(), true).is_err());
    }
}
