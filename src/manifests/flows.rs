//! YAML route files: what may become `spec.flows`.

use serde_json::Value;

use crate::{
    contracts::camel_dsl::{YAML_ELEMENTS, is_yaml_element},
    error::{Error, Result},
};

use super::{closest, did_you_mean, sources::Source};

/// Reads a YAML text as kubectl does: YAML 1.1 booleans, `0644` is octal.
///
/// # Errors
/// Not YAML: where and why, in one line.
pub fn yaml_documents(text: &str) -> Result<Vec<Value>, String> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true, with_snippet: false };
    serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// The items of a YAML route file.
///
/// # Errors
/// Not YAML, or not a list of routes; the message tells what it is instead (exit 2).
pub fn routes(source: &Source) -> Result<Vec<Value>> {
    let origin = &source.origin;
    let documents = yaml_documents(&source.text).map_err(|reason| {
        Error::usage(format!("{origin} is not valid YAML: {reason}")).hint("mind indentation and quotes")
    })?;
    let mut routes = Vec::new();
    for document in documents {
        match document {
            Value::Array(items) => routes.extend(items),
            Value::Null => {}
            other => return Err(not_a_list(source, &other)),
        }
    }
    if routes.is_empty() {
        return Err(not_a_route(source, "it holds no route"));
    }
    for (index, item) in routes.iter().enumerate() {
        if !item.is_object() {
            return Err(not_a_route(source, &format!("item {} of the list is {}", index + 1, kind_of(item))));
        }
    }
    let mut keys = routes.iter().filter_map(Value::as_object).flat_map(|item| item.keys());
    if keys.clone().any(|key| is_yaml_element(key)) {
        return Ok(routes);
    }
    let first = keys.next().map_or("nothing", String::as_str);
    let guess = closest(first, YAML_ELEMENTS.iter().copied());
    Err(not_a_route(source, &format!("no item has from, route, rest or the like, the first one has {first}"))
        .hints(did_you_mean(guess)))
}

fn not_a_list(source: &Source, document: &Value) -> Error {
    let text_of = |key: &str| document.get(key).and_then(Value::as_str);
    if let (Some(_), Some(kind)) = (text_of("apiVersion"), text_of("kind")) {
        return Error::usage(format!("{} is not a route: it is a Kubernetes object of kind {kind}", source.origin))
            .hint(format!("kubectl apply -f {}", source.origin));
    }
    let element = document.as_object().and_then(|fields| fields.keys().find(|key| is_yaml_element(key)));
    match element {
        Some(key) => not_a_route(source, &format!("{key} stands at the top and not in a list"))
            .hint(format!("write \"- {key}:\" and indent what follows")),
        None => not_a_route(source, &format!("it holds {}", kind_of(document))),
    }
}

fn not_a_route(source: &Source, reason: &str) -> Error {
    Error::usage(format!("{} is not a route: {reason}", source.origin))
        .hint("a YAML route file is a list such as: [{from: {uri: \"timer:tick\", steps: [{to: \"log:info\"}]}}]")
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{error::Exit, manifests::sources::Origin};

    fn read(text: &str) -> Result<Vec<Value>> {
        routes(&Source::new(Origin::File("x.yaml".into()), text.into()).expect("a source"))
    }

    #[test]
    fn what_is_a_route() {
        for (text, count) in [
            ("- from:\n    uri: a:b\n", 1),
            ("- beans: []\n- route:\n    from: {uri: a}\n", 2),
            ("- on-exception: {}\n", 1),
            ("- from: {uri: a}\n---\n- rest: {}\n", 2),
            ("- from: {uri: a}\n- somethingNew: {}\n", 2),
        ] {
            assert_eq!(read(text).expect(text).len(), count);
        }
        assert_eq!(
            read("- from: {uri: a, x: 0644, y: yes}").expect("valid"),
            [json!({"from": {"uri": "a", "x": 420, "y": true}})]
        );
    }

    #[test]
    fn what_is_not() {
        for (text, says, hint) in [
            ("hello\n", "it holds a text", "a YAML route file"),
            ("# only a comment\n", "it holds no route", "a YAML route file"),
            ("[]\n", "it holds no route", "a YAML route file"),
            ("a: 1\n", "it holds a map", "a YAML route file"),
            ("from:\n  uri: x\n", "from stands at the top", "write \"- from:\""),
            ("apiVersion: v1\nkind: Pod\n", "a Kubernetes object of kind Pod", "kubectl apply -f x.yaml"),
            ("- hello\n", "item 1 of the list is a text", "a YAML route file"),
            ("- form:\n    uri: x\n", "the first one has form", "did you mean from?"),
            ("- from: [\n", "is not valid YAML", "indentation"),
            ("- from: {uri: a}\n  from: {uri: b}\n", "is not valid YAML", "indentation"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.message().contains(says), "{text:?}: {error}");
            assert!(!error.message().contains('\n'), "{error}");
            assert!(error.all_hints().iter().any(|h| h.contains(hint)), "{text:?}: {:?}", error.all_hints());
            assert_eq!(error.exit(), Exit::Usage);
        }
    }
}
