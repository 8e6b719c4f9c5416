//! Manifests as YAML documents or JSON.

use serde_json::{Value, json};

use crate::error::{Error, Result, text};

/// YAML documents, separated by `---`, with strings quoted as YAML 1.1 readers need it.
///
/// # Errors
/// A value that YAML cannot hold; there is none in JSON.
pub fn yaml(objects: &[Value]) -> Result<String> {
    let documents: Vec<String> = objects.iter().map(one).collect::<Result<_>>()?;
    Ok(documents.join("---\n"))
}

fn one(object: &Value) -> Result<String> {
    let options = serde_saphyr::ser_options! { folded_wrap_chars: 4096 };
    let yaml = serde_saphyr::to_string_with_options(object, options)
        .map_err(|error| Error::failed("Yaml", error.to_string()))?;
    if text::is_printable(&yaml) {
        return Ok(yaml);
    }
    // What a terminal must not get can be escaped everywhere in JSON, which is YAML, too.
    json(std::slice::from_ref(object)).map(|json| text::escape_controls(&json))
}

/// One object, or a List of several, as indented JSON.
///
/// # Errors
/// None that can happen with JSON values.
pub fn json(objects: &[Value]) -> Result<String> {
    let list;
    let value = match objects {
        [one] => one,
        several => {
            list = json!({"apiVersion": "v1", "kind": "List", "items": several});
            &list
        }
    };
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Error::failed("Json", error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_must_not_get_is_escaped() {
        let object = json!({"id": "a\u{202e}b", "script": "tabs\tare\nfine"});
        let text = yaml(std::slice::from_ref(&object)).expect("YAML");
        assert!(!text.contains('\u{202e}') && text.contains("\\u202e"), "{text}");
        assert_eq!(serde_saphyr::from_str::<Value>(&text).expect("YAML"), object);
        assert!(yaml(&[json!({"script": "tabs\tare\nfine\n"})]).expect("YAML").starts_with("script:"));
    }

    #[test]
    fn one_object_is_itself_and_several_are_a_list() {
        let object = json!({"kind": "A", "on": "yes"});
        assert_eq!(yaml(std::slice::from_ref(&object)).expect("YAML"), "kind: A\n\"on\": \"yes\"\n");
        assert!(yaml(&[object.clone(), object.clone()]).expect("YAML").contains("---\n"));
        assert!(json(std::slice::from_ref(&object)).expect("JSON").starts_with("{\n  \"kind\": \"A\""));
        assert!(json(&[object.clone(), object]).expect("JSON").contains("\"kind\": \"List\""));
    }
}
