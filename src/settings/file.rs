//! The config file: its keys, and what is wrong with one.

use std::{collections::BTreeMap, fs, io, path::Path};

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// Keys of the top level.
const KEYS: &[&str] = &["operatorId", "namespace", "color", "errors", "contexts"];
/// Keys of an entry of `contexts`.
const CONTEXT_KEYS: &[&str] = &["operatorId", "namespace"];
/// Values of `color`.
pub(super) const COLORS: &[&str] = &["auto", "always", "never"];
/// Values of `errors`.
pub(super) const ERRORS: &[&str] = &["text", "json"];

/// Defaults of one context, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Defaults {
    pub operator_id: Option<String>,
    pub namespace: Option<String>,
}

/// What `config.yaml` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ConfigFile {
    pub defaults: Defaults,
    pub color: Option<String>,
    pub errors: Option<String>,
    pub contexts: BTreeMap<String, Defaults>,
}

impl ConfigFile {
    /// Reads the file. One that is missing or empty says nothing.
    pub fn read(path: &Path) -> Result<Self> {
        if path.as_os_str().is_empty() {
            return Ok(Self::default());
        }
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|error| error.while_(format!("config file {}", path.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::usage(format!("cannot read config file {}: {error}", path.display()))
                .hint("KCTL_CONFIG names another one")),
        }
    }

    fn parse(text: &str) -> Result<Self> {
        if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
            return Ok(Self::default());
        }
        let value: Value = serde_saphyr::from_str(text).map_err(|error| {
            let first = error.to_string().lines().next().unwrap_or_default().to_owned();
            Error::usage(format!("not YAML: {first}")).hint("kctl help environment shows what the file may hold")
        })?;
        let top = mapping(&value, "the file", KEYS)?;
        let contexts = match top.get("contexts") {
            None | Some(Value::Null) => BTreeMap::new(),
            Some(Value::Object(contexts)) => contexts
                .iter()
                .map(|(name, value)| {
                    let place = format!("contexts.{name}");
                    Ok((name.clone(), defaults(mapping(value, &place, CONTEXT_KEYS)?, &format!("{place}."))?))
                })
                .collect::<Result<_>>()?,
            Some(_) => return Err(Error::usage("contexts is not a mapping from context names to settings")),
        };
        Ok(Self {
            defaults: defaults(top, "")?,
            color: word(top, "color", COLORS)?,
            errors: word(top, "errors", ERRORS)?,
            contexts,
        })
    }
}

fn mapping<'a>(value: &'a Value, place: &str, known: &[&str]) -> Result<&'a Map<String, Value>> {
    let Value::Object(map) = value else {
        return Err(Error::usage(format!("{place} is not a mapping of keys to values"))
            .hint(format!("known keys: {}", known.join(", "))));
    };
    let Some(unknown) = map.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(map) };
    let where_ = if known == KEYS { String::new() } else { format!(" in {place}") };
    let error = Error::usage(format!("unknown key {unknown:?}{where_}"));
    Err(match near(unknown, known) {
        Some(meant) => error.hint(format!("did you mean {meant}?")),
        None => error.hint(format!("known keys: {}", known.join(", "))),
    })
}

fn defaults(map: &Map<String, Value>, place: &str) -> Result<Defaults> {
    Ok(Defaults { operator_id: text(map, "operatorId", place)?, namespace: text(map, "namespace", place)? })
}

fn text(map: &Map<String, Value>, key: &str, place: &str) -> Result<Option<String>> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(other) => {
            Err(Error::usage(format!("{place}{key} is not a text: {other}")).hint(format!("{key}: \"{other}\"")))
        }
    }
}

fn word(map: &Map<String, Value>, key: &str, known: &[&str]) -> Result<Option<String>> {
    let Some(text) = text(map, key, "")? else { return Ok(None) };
    one_of(&text, key, known).map(Some)
}

/// The text, when it is one of the words that `name` may be.
pub(super) fn one_of(text: &str, name: &str, known: &[&str]) -> Result<String> {
    if known.contains(&text) {
        return Ok(text.to_owned());
    }
    let error = Error::usage(format!("{name} cannot be {text:?}"));
    Err(match near(text, known) {
        Some(meant) => error.hint(format!("did you mean {meant}?")),
        None => error.hint(format!("one of: {}", known.join(", "))),
    })
}

/// The known word that was meant, when the typed one is nearly it.
fn near<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |word: &str| strsim::damerau_levenshtein(&typed.to_lowercase(), &word.to_lowercase());
    known
        .iter()
        .copied()
        .map(|word| (distance(word), word))
        .filter(|(distance, _)| *distance <= 2)
        .min()
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key() {
        let text = "operatorId: top\nnamespace: ''\ncolor: never\nerrors: json\n\
                    contexts:\n  prod: {operatorId: ctx, namespace: team}\n  'arn:aws:eks:x': {}\n";
        let file = ConfigFile::parse(text).unwrap();
        assert_eq!(file.defaults, Defaults { operator_id: Some("top".into()), namespace: None });
        assert_eq!((file.color.as_deref(), file.errors.as_deref()), (Some("never"), Some("json")));
        let prod = Defaults { operator_id: Some("ctx".into()), namespace: Some("team".into()) };
        assert_eq!(file.contexts["prod"], prod);
        assert_eq!(file.contexts["arn:aws:eks:x"], Defaults::default());
    }

    #[test]
    fn nothing_said() {
        for text in ["", "\n", "# only a comment\n", "contexts:\n"] {
            assert_eq!(ConfigFile::parse(text).unwrap(), ConfigFile::default(), "{text:?}");
        }
        assert!(ConfigFile::read(Path::new("/no/such/file")).is_ok());
    }

    #[test]
    fn mistakes_are_named_and_mended() {
        for (text, message, hint) in [
            ("operatorID: x", "unknown key \"operatorID\"", "did you mean operatorId?"),
            ("namspace: x", "unknown key \"namspace\"", "did you mean namespace?"),
            ("sandwich: x", "unknown key \"sandwich\"", "known keys: operatorId, namespace, color, errors, contexts"),
            ("contexts: {a: {operator: x}}", "unknown key \"operator\" in contexts.a", "did you mean operatorId?"),
            (
                "contexts: {a: {color: never}}",
                "unknown key \"color\" in contexts.a",
                "known keys: operatorId, namespace",
            ),
            ("operatorId: 7", "operatorId is not a text: 7", "operatorId: \"7\""),
            ("contexts: {a: {namespace: [b]}}", "contexts.a.namespace is not a text", "namespace: "),
            ("contexts: [a]", "contexts is not a mapping", ""),
            ("- a", "the file is not a mapping", "known keys: "),
            ("just words", "the file is not a mapping", "known keys: "),
            ("a: [b", "not YAML", "kctl help environment"),
            ("color: alway", "color cannot be \"alway\"", "did you mean always?"),
            ("errors: xml", "errors cannot be \"xml\"", "one of: text, json"),
        ] {
            let error = ConfigFile::parse(text).unwrap_err();
            assert!(error.message().contains(message), "{text}: {error}");
            assert!(
                error.all_hints().iter().any(|line| line.starts_with(hint)) || hint.is_empty(),
                "{text}: {error:?}"
            );
            assert_eq!(error.exit(), crate::error::Exit::Usage);
        }
    }
}
