//! YAML as kubectl reads it: YAML 1.1 booleans and octal numbers, keys of any scalar type as strings, whole floats as
//! integers, one document after another.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};

/// Depth of nesting that is still read. Schemas of CRDs that hold a pod template are some 40 levels deep.
const MAX_DEPTH: usize = 100;

/// How many nodes aliases may repeat in a document, which is what stops one that doubles at every line.
const MAX_REPEATED: usize = 100_000;

/// A parsed document.
#[derive(Debug, PartialEq)]
pub(super) enum Document {
    /// Nothing, or only comments.
    Empty,
    /// A mapping; its `items`, when they are a list, stand apart as one JSON text each, so that a dump of everything is
    /// never held as a tree.
    Mapping { fields: Map<String, Value>, items: Option<Vec<String>> },
    /// Something no Kubernetes object is.
    Other,
}

/// What is wrong with a document, and in which line of the text, from 1.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    pub line: usize,
    pub why: String,
}

/// One document as a value, or `None` when it is none.
pub(super) fn document(text: &str) -> Option<Value> {
    serde_saphyr::from_str_with_options::<Tree>(text, options()).ok().map(|tree| tree.0)
}

/// Parses one document that begins in a line of a text.
pub(super) fn parse<T: DeserializeOwned>(document: &str, first_line: usize) -> Result<T, Fault> {
    serde_saphyr::from_str_with_options(document, options()).map_err(|error| {
        let line = error.location().map_or(1, |location| usize::try_from(location.line()).unwrap_or(1)).max(1);
        let text = error.without_snippet().to_string();
        let why = text.split(" at line ").next().unwrap_or(&text).split(" line ").next().unwrap_or(&text);
        Fault { line: first_line + line - 1, why: why.trim_end_matches([',', ':', ' ']).to_owned() }
    })
}

fn options() -> serde_saphyr::Options {
    let mut options = serde_saphyr::options! {
        legacy_octal_numbers: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_documents: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_total_comment_bytes: usize::MAX,
        },
    };
    options.emit_comments = false;
    options.alias_limits.max_total_replayed_events = MAX_REPEATED;
    options
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DocumentVisitor)
    }
}

struct DocumentVisitor;

impl<'de> Visitor<'de> for DocumentVisitor {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML document")
    }

    fn visit_unit<E>(self) -> Result<Document, E> {
        Ok(Document::Empty)
    }

    fn visit_none<E>(self) -> Result<Document, E> {
        Ok(Document::Empty)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut fields = Map::new();
        let mut items = None;
        while let Some(Key(key)) = map.next_key()? {
            if key == "items" {
                match map.next_value()? {
                    Items::Texts(texts) => items = Some(texts),
                    Items::Other(value) => drop(fields.insert(key, value)),
                }
            } else {
                fields.insert(key, map.next_value::<Tree>()?.0);
            }
        }
        Ok(Document::Mapping { fields, items })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Document, A::Error> {
        while seq.next_element::<Tree>()?.is_some() {}
        Ok(Document::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Document, E> {
        Ok(Document::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Document, E> {
        Ok(Document::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Document, E> {
        Ok(Document::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Document, E> {
        Ok(Document::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Document, E> {
        Ok(Document::Other)
    }
}

/// The value of a top-level `items`.
enum Items {
    Texts(Vec<String>),
    Other(Value),
}

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemsVisitor)
    }
}

struct ItemsVisitor;

impl<'de> Visitor<'de> for ItemsVisitor {
    type Value = Items;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Items, A::Error> {
        let mut texts = Vec::new();
        while let Some(Tree(item)) = seq.next_element()? {
            texts.push(item.to_string());
        }
        Ok(Items::Texts(texts))
    }

    fn visit_unit<E>(self) -> Result<Items, E> {
        Ok(Items::Texts(Vec::new()))
    }

    fn visit_none<E>(self) -> Result<Items, E> {
        Ok(Items::Texts(Vec::new()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Items, A::Error> {
        TreeVisitor.visit_map(map).map(Items::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<Items, E> {
        Ok(Items::Other(Value::String(text.to_owned())))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Items, E> {
        Ok(Items::Other(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Items, E> {
        Ok(Items::Other(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Items, E> {
        Ok(Items::Other(value.into()))
    }
}

/// A node as JSON.
pub(super) struct Tree(pub Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor).map(Tree)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML node")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        number(value).ok_or_else(|| E::custom(format!("{value} is no number JSON knows")))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Tree(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(Key(key)) = map.next_key()? {
            fields.insert(key, map.next_value::<Tree>()?.0);
        }
        Ok(Value::Object(fields))
    }
}

/// A float as a JSON number; a whole one as an integer, which is how Go writes it.
fn number(value: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
        return Some(Value::from(value as i64));
    }
    Number::from_f64(value).map(Value::Number)
}

/// A key of a mapping. `yes: 1` has the key `true` for kubectl.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        KeySeed.deserialize(deserializer)
    }
}

struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        let value = Tree::deserialize(deserializer)?.0;
        match value {
            Value::String(text) => Ok(Key(text)),
            Value::Bool(_) | Value::Number(_) => Ok(Key(value.to_string())),
            _ => Err(D::Error::custom("a key must be a string, a number or a boolean")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_mean_what_kubectl_takes_them_to_mean() {
        // The right side is what `kubectl label --local -o json` (v1.36) prints.
        for (text, value) in [
            ("0644", json!(420)),
            ("0o17", json!(15)),
            ("0b11", json!(3)),
            ("0x1F", json!(31)),
            ("1_000", json!(1000)),
            ("0888", json!(888)),
            ("012.5", json!(12.5)),
            ("+1", json!(1)),
            ("-0", json!(0)),
            (".5", json!(0.5)),
            ("1.", json!(1)),
            ("1e3", json!(1000)),
            ("1E5", json!(100_000)),
            ("1.0", json!(1)),
            ("1e21", json!(1e+21)),
            ("1:20", json!("1:20")),
            ("2001-01-01", json!("2001-01-01")),
            ("2001-01-01T00:00:00Z", json!("2001-01-01T00:00:00Z")),
            ("yes", json!(true)),
            ("y", json!(true)),
            ("Y", json!(true)),
            ("N", json!(false)),
            ("off", json!(false)),
            ("On", json!(true)),
            ("~", json!(null)),
            ("Null", json!(null)),
            ("''", json!("")),
            ("!!str 1", json!("1")),
            ("!!int \"7\"", json!(7)),
            ("_1", json!("_1")),
            ("0x_1f", json!(31)),
            ("+0644", json!(420)),
            ("-0644", json!(-420)),
            ("00", json!(0)),
            ("08", json!(8)),
            ("0.1e2", json!(10)),
            ("e3", json!("e3")),
            ("1e", json!("1e")),
            ("\"a\"", json!("a")),
            ("-9223372036854775808", json!(i64::MIN)),
            ("1.10", json!(1.1)),
            ("=", json!("=")),
            ("TRUE", json!(true)),
            ("0o8", json!("0o8")),
            ("0x", json!("0x")),
            (".", json!(".")),
            ("nan", json!("nan")),
            ("!!binary aGVsbG8=", json!("hello")),
            ("0b12", json!("0b12")),
            ("-0x10", json!(-16)),
            ("+0b1", json!(1)),
            ("1.75e308", json!(1.75e308)),
            ("3.0e-2", json!(0.03)),
            ("-.5", json!(-0.5)),
            ("+.5", json!(0.5)),
            ("1.e2", json!(100)),
        ] {
            assert_eq!(document(&format!("v: {text}")), Some(json!({"v": value})), "{text}");
        }
    }

    #[test]
    fn keys_are_strings() {
        assert_eq!(document("{yes: 1, 8080: 2, a: 3}"), Some(json!({"true": 1, "8080": 2, "a": 3})));
    }

    #[test]
    fn anchors_and_merge_keys_are_expanded() {
        let text = "base: &b {x: 1}\none: {<<: *b, z: 2}\n";
        assert_eq!(document(text), Some(json!({"base": {"x": 1}, "one": {"x": 1, "z": 2}})));
    }

    #[test]
    fn deep_documents_are_read_and_bottomless_ones_refused() {
        let nested = |depth: usize| format!("v: {}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(document(&nested(MAX_DEPTH - 10)).is_some());
        assert!(document(&nested(100_000)).is_none());
    }

    #[test]
    fn alias_bombs_are_stopped() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..10 {
            let below = format!("*a{}", level - 1);
            text.push_str(&format!("a{level}: &a{level} [{}]\n", [below.as_str(); 10].join(", ")));
        }
        assert!(document(&text).is_none());
    }
}
