//! Label and field selectors.

use serde_json::Value;

use super::{resource::Resource, status::ApiError};

/// One requirement of a label selector.
#[derive(Clone, Debug, PartialEq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

/// A parsed label selector; the empty one takes everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LabelSelector(Vec<Requirement>);

impl LabelSelector {
    /// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
    pub(super) fn parse(text: &str) -> Result<Self, ApiError> {
        let mut tokens = Tokens { rest: text };
        let mut requirements = Vec::new();
        if tokens.peek().is_empty() {
            return Ok(Self::default());
        }
        loop {
            requirements.push(requirement(&mut tokens)?);
            match tokens.next() {
                "" => return Ok(Self(requirements)),
                "," => {}
                other => return Err(unexpected(other, "',' or 'end of string'")),
            }
        }
    }

    /// Whether it takes everything.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object whose labels `label` looks up is taken.
    pub(super) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => label(key).is_some_and(|value| values.iter().any(|v| v == value)),
            Requirement::NotIn(key, values) => label(key).is_none_or(|value| values.iter().all(|v| v != value)),
            Requirement::Exists(key) => label(key).is_some(),
            Requirement::Absent(key) => label(key).is_none(),
        })
    }
}

fn requirement(tokens: &mut Tokens) -> Result<Requirement, ApiError> {
    let first = tokens.next();
    if first == "!" {
        return identifier(tokens.next(), "identifier").map(Requirement::Absent);
    }
    let key = identifier(first, "!, identifier, or 'end of string'")?;
    match tokens.peek() {
        "" | "," => Ok(Requirement::Exists(key)),
        "=" | "==" => {
            tokens.next();
            Ok(Requirement::In(key, vec![exact_value(tokens)?]))
        }
        "!=" => {
            tokens.next();
            Ok(Requirement::NotIn(key, vec![exact_value(tokens)?]))
        }
        "in" => {
            tokens.next();
            Ok(Requirement::In(key, values(tokens)?))
        }
        "notin" => {
            tokens.next();
            Ok(Requirement::NotIn(key, values(tokens)?))
        }
        other => Err(unexpected(other, "in, notin, =, ==, !=, gt, lt")),
    }
}

fn exact_value(tokens: &mut Tokens) -> Result<String, ApiError> {
    if matches!(tokens.peek(), "" | ",") {
        return Ok(String::new());
    }
    identifier(tokens.next(), "identifier")
}

fn values(tokens: &mut Tokens) -> Result<Vec<String>, ApiError> {
    let open = tokens.next();
    if open != "(" {
        return Err(unexpected(open, "'('"));
    }
    let mut values = Vec::new();
    loop {
        match tokens.next() {
            ")" => return Ok(values),
            // A value left out, before, between or after commas, is the empty one.
            "," => {
                if values.is_empty() || matches!(tokens.peek(), "," | ")") {
                    values.push(String::new());
                }
            }
            word => values.push(identifier(word, "',', ')' or identifier")?),
        }
    }
}

fn identifier(token: &str, expected: &str) -> Result<String, ApiError> {
    if token.is_empty() || token.starts_with(SPECIAL) {
        return Err(unexpected(token, expected));
    }
    Ok(token.to_owned())
}

fn unexpected(found: &str, expected: &str) -> ApiError {
    ApiError::bad_request(format!("unable to parse requirement: found '{found}', expected: {expected}"))
}

const SPECIAL: [char; 6] = ['=', '!', '(', ')', ',', '>'];

/// Splits a selector into words and operators; the empty token is the end.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn peek(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        if let Some(operator) =
            ["==", "!=", "=", "!", "(", ")", ",", ">"].into_iter().find(|op| self.rest.starts_with(op))
        {
            return &self.rest[..operator.len()];
        }
        let end = self.rest.find(|c: char| c.is_whitespace() || SPECIAL.contains(&c)).unwrap_or(self.rest.len());
        &self.rest[..end]
    }

    fn next(&mut self) -> &'a str {
        let token = self.peek();
        self.rest = &self.rest[token.len()..];
        token
    }
}

/// One requirement of a field selector: a field, a value, and whether they must be equal or must not.
#[derive(Clone, Debug, PartialEq)]
struct Term {
    field: String,
    value: String,
    equal: bool,
}

/// A parsed field selector.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FieldSelector(Vec<Term>);

/// The fields of built-in kinds that can be selected besides name and namespace.
const SELECTABLE: [(&str, &[&str]); 4] = [
    (
        "events",
        &[
            "involvedObject.kind",
            "involvedObject.name",
            "involvedObject.namespace",
            "involvedObject.uid",
            "reason",
            "type",
        ],
    ),
    ("namespaces", &["status.phase"]),
    ("pods", &["spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "status.phase", "status.podIP"]),
    ("secrets", &["type"]),
];

impl FieldSelector {
    /// Reads `metadata.name=a,metadata.namespace!=b`.
    pub(super) fn parse(text: &str, resource: &Resource) -> Result<Self, ApiError> {
        let terms = text.split(',').filter(|term| !term.trim().is_empty()).map(|term| field_term(term, resource));
        terms.collect::<Result<_, _>>().map(Self)
    }

    /// Whether it takes everything.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object of this namespace (empty when it has none) and name is taken; `object` is called only when other
    /// fields count.
    pub(super) fn matches(&self, namespace: &str, name: &str, object: impl Fn() -> Value) -> bool {
        self.0.iter().all(|term| {
            let equal = match term.field.as_str() {
                "metadata.name" => term.value == name,
                "metadata.namespace" => term.value == namespace,
                field => {
                    let object = object();
                    let pointer = format!("/{}", field.replace('.', "/"));
                    object.pointer(&pointer).and_then(Value::as_str).unwrap_or_default() == term.value
                }
            };
            equal == term.equal
        })
    }
}

fn field_term(term: &str, resource: &Resource) -> Result<Term, ApiError> {
    let (field, value, equal) = term
        .split_once("!=")
        .map(|(field, value)| (field, value, false))
        .or_else(|| term.split_once("==").map(|(field, value)| (field, value, true)))
        .or_else(|| term.split_once('=').map(|(field, value)| (field, value, true)))
        .ok_or_else(|| ApiError::bad_request(format!("invalid selector: '{term}'; can't understand '{term}'")))?;
    let field = field.trim();
    let selectable = SELECTABLE
        .iter()
        .any(|(plural, fields)| !resource.custom && *plural == resource.plural && fields.contains(&field));
    match field {
        "metadata.name" | "metadata.namespace" => {}
        _ if selectable => {}
        _ if resource.custom => return Err(ApiError::bad_request(format!("field label not supported: {field}"))),
        _ => {
            return Err(ApiError::bad_request(format!(
                "\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            )));
        }
    }
    Ok(Term { field: field.to_owned(), value: value.trim().to_owned(), equal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_selectors() {
        let labels = [("app", "web"), ("tier", "front"), ("kctl.dev/operator-id", "a"), ("empty", "")];
        let label = |key: &str| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        for (selector, taken) in [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            (" app = web , tier=front ", true),
            ("app=db", false),
            ("app!=db", true),
            ("nope!=db", true),
            ("app", true),
            ("nope", false),
            ("!nope", true),
            ("! app", false),
            ("app in (db, web)", true),
            ("app in (db)", false),
            ("app notin (db,x)", true),
            ("app notin (web)", false),
            ("nope notin (web)", true),
            ("nope in (web)", false),
            ("kctl.dev/operator-id=a,app in (web)", true),
            ("empty=", true),
            ("empty in (,x)", true),
            ("app=,tier=front", false),
        ] {
            assert_eq!(LabelSelector::parse(selector).unwrap().matches(label), taken, "{selector}");
        }
    }

    #[test]
    fn bad_label_selectors_are_refused() {
        for selector in ["=x", "a in b", "a in (", "a b", "a=b c", "!", "a,"] {
            assert!(LabelSelector::parse(selector).is_err(), "{selector}");
        }
        assert_eq!(
            LabelSelector::parse("a in (").unwrap_err().message,
            "unable to parse requirement: found '', expected: ',', ')' or identifier"
        );
    }

    #[test]
    fn field_selectors() {
        let resource = super::super::builtin::custom("x.io", "v1", "X", "xs", true);
        let parse = |text: &str| FieldSelector::parse(text, &resource);
        let none = || Value::Null;
        assert!(parse("metadata.name=a,metadata.namespace=n").unwrap().matches("n", "a", none));
        assert!(!parse("metadata.name==a").unwrap().matches("n", "b", none));
        assert!(parse("metadata.name!=a").unwrap().matches("n", "b", none));
        let pods = super::super::builtin::served().find(|resource| resource.plural == "pods").unwrap();
        let running = FieldSelector::parse("status.phase=Running", &pods).unwrap();
        assert!(running.matches("n", "a", || serde_json::json!({"status": {"phase": "Running"}})));
        assert!(!running.matches("n", "a", none));
        assert_eq!(parse("spec.id=x").unwrap_err().message, "field label not supported: spec.id");
    }
}
