//! What a Kamelet's definition says about the properties of an endpoint.

use serde_json::{Map, Value};

use crate::{
    contracts::camel_k::KAMELET_SELECTORS,
    error::{Error, Result},
};

use super::{
    closest,
    endpoint::{Endpoint, Place},
};

/// Selects a version of a Kamelet that has several (from v2.6).
const VERSION: &str = "kameletVersion";

/// What is wrong with the properties of endpoints, all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    texts: Vec<String>,
    hints: Vec<String>,
}

impl Faults {
    /// Looks at one endpoint and the Kamelet it names.
    pub fn look(&mut self, place: Place, endpoint: &Endpoint, kamelet: &Value) {
        let Some(reference) = endpoint.kamelet() else { return };
        let name = &reference.name;
        let value = |key: &str| endpoint.properties.iter().find(|(known, _)| known == key).map(|(_, value)| value);
        let versions = kamelet.pointer("/spec/versions").and_then(Value::as_object);
        let definition = match (value(VERSION), versions) {
            (Some(version), Some(versions)) => {
                let Some(found) = versions.get(version) else {
                    let known: Vec<_> = versions.keys().map(String::as_str).collect();
                    self.texts.push(format!("kamelet {name} has no version {version}"));
                    self.hints.push(format!("its versions: {}", known.join(", ")));
                    return;
                };
                found.get("definition")
            }
            _ => kamelet.pointer("/spec/definition"),
        };
        let Some(definition) = definition.and_then(Value::as_object) else { return };
        let none = Map::new();
        let known = definition.get("properties").and_then(Value::as_object).unwrap_or(&none);
        self.missing(place, name, endpoint, definition, known);
        self.unknown(place, name, endpoint, known);
    }

    fn missing(
        &mut self,
        place: Place,
        name: &str,
        endpoint: &Endpoint,
        definition: &Map<String, Value>,
        known: &Map<String, Value>,
    ) {
        let required = definition.get("required").and_then(Value::as_array).into_iter().flatten();
        let given = |key: &str| endpoint.properties.iter().any(|(known, _)| known == key);
        let has_default = |key: &str| known.get(key).is_some_and(|property| property.get("default").is_some());
        let missing: Vec<&str> =
            required.filter_map(Value::as_str).filter(|key| !given(key) && !has_default(key)).collect();
        if !missing.is_empty() {
            self.texts.push(format!("{place}: kamelet {name} requires {}", listed(&missing)));
            self.hints.extend(missing.iter().map(|key| format!("-p {place}.{key}=VALUE{}", told(known.get(*key)))));
        }
    }

    fn unknown(&mut self, place: Place, name: &str, endpoint: &Endpoint, known: &Map<String, Value>) {
        let keys = endpoint.properties.iter().map(|(key, _)| key.as_str());
        let unknown: Vec<&str> =
            keys.filter(|key| !known.contains_key(*key) && !KAMELET_SELECTORS.contains(key)).collect();
        if unknown.is_empty() {
            return;
        }
        self.texts.push(format!("{place}: kamelet {name} has no {}", listed(&unknown)));
        let near = unknown.iter().filter_map(|key| closest(key, known.keys().map(String::as_str)));
        let before = self.hints.len();
        self.hints.extend(near.map(|near| format!("did you mean {near}?")));
        if self.hints.len() == before {
            let all: Vec<_> = known.keys().map(String::as_str).collect();
            let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
            self.hints.push(format!("properties of {name}: {all}"));
        }
    }

    /// Whether anything is wrong, as an error.
    ///
    /// # Errors
    /// Something is (exit 2).
    pub fn into_result(self) -> Result<()> {
        if self.texts.is_empty() {
            return Ok(());
        }
        Err(Error::usage(self.texts.join("; ")).hints(self.hints).hint("--skip-checks leaves it to the operator"))
    }
}

fn listed(keys: &[&str]) -> String {
    let word = if keys.len() == 1 { "property" } else { "properties" };
    format!("{word} {}", keys.join(", "))
}

/// What a property is for, in a few words.
fn told(property: Option<&Value>) -> String {
    let text = |key: &str| property.and_then(|property| property.get(key)).and_then(Value::as_str);
    match text("title").or_else(|| text("description")) {
        Some(title) if title.chars().count() <= 60 && !title.contains('\n') => format!(" # {title}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::Exit;

    fn kamelet() -> Value {
        json!({"spec": {
            "definition": {
                "required": ["message", "period"],
                "properties": {
                    "message": {"title": "Message", "type": "string"},
                    "period": {"type": "integer", "default": 1000},
                    "contentType": {"type": "string"},
                },
            },
            "versions": {"v2": {"definition": {"properties": {"text": {}}}}},
        }})
    }

    fn faults(endpoint: &str, kamelet: &Value) -> Faults {
        let mut faults = Faults::default();
        faults.look(Place::Step(1), &Endpoint::parse(Place::Step(1), endpoint).expect("valid"), kamelet);
        faults
    }

    #[test]
    fn fine() {
        for endpoint in [
            "timer-source?message=a",
            "timer-source?message=a&contentType=b&period=1",
            "timer-source?message=a&id=mine&kameletNamespace=x",
            "timer-source?kameletVersion=v2&text=a",
            "log:info",
            "channel:orders?a=b",
        ] {
            assert_eq!(faults(endpoint, &kamelet()), Faults::default(), "{endpoint}");
        }
        assert_eq!(faults("timer-source?x=y", &json!({"spec": {}})), Faults::default(), "nothing is known of it");
        assert!(faults("timer-source", &kamelet()).into_result().is_err());
        assert!(Faults::default().into_result().is_ok());
    }

    #[test]
    fn wrong() {
        for (endpoint, text, hints) in [
            (
                "timer-source",
                "step-1: kamelet timer-source requires property message",
                &["-p step-1.message=VALUE # Message"][..],
            ),
            (
                "timer-source?mesage=a",
                "step-1: kamelet timer-source requires property message; step-1: kamelet timer-source has no property mesage",
                &["-p step-1.message=VALUE # Message", "did you mean message?"],
            ),
            (
                "timer-source?message=a&foo=b&bar=c",
                "step-1: kamelet timer-source has no properties foo, bar",
                &["properties of timer-source: message, period, contentType"],
            ),
            ("timer-source?kameletVersion=v3", "kamelet timer-source has no version v3", &["its versions: v2"]),
            ("x?kameletVersion=v2&message=a", "step-1: kamelet x has no property message", &["properties of x: text"]),
        ] {
            let error = faults(endpoint, &kamelet()).into_result().expect_err(endpoint);
            assert_eq!(error.message(), text);
            let mut expected = hints.to_vec();
            expected.push("--skip-checks leaves it to the operator");
            assert_eq!(error.all_hints(), expected);
            assert_eq!(error.exit(), Exit::Usage);
        }
        let error = faults("x?a=b", &json!({"spec": {"definition": {}}})).into_result().expect_err("no properties");
        assert_eq!(error.all_hints()[0], "properties of x: none");
    }
}
