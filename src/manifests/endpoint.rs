//! The ends and steps of a Pipe: a Kamelet, another resource, or a Camel URI, as the `kamel` command writes them.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::{
    contracts::kinds::{self, Kind},
    error::{Error, Result},
};

/// Kinds that have a short form: how it is typed, `apiVersion`, kind. The version of a Kamelet depends on the cluster.
const SHORTCUTS: &[(&str, Option<&str>, &str)] = &[
    ("kamelet", None, kinds::KAMELET.kind),
    ("channel", Some("messaging.knative.dev/v1"), "Channel"),
    ("broker", Some("eventing.knative.dev/v1"), "Broker"),
    ("ksvc", Some("serving.knative.dev/v1"), "Service"),
];

/// Which endpoint of a Pipe, called as its properties call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where messages come from.
    Source,
    /// Where they go.
    Sink,
    /// A step in between, counted from 1.
    Step(usize),
    /// Where messages go that could not be handled.
    ErrorHandler,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source => f.write_str("source"),
            Self::Sink => f.write_str("sink"),
            Self::Step(number) => write!(f, "step-{number}"),
            Self::ErrorHandler => f.write_str("error-handler"),
        }
    }
}

/// A reference to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// `apiVersion`, when it is known; of a Kamelet only when it was typed.
    pub api_version: Option<String>,
    /// Kind.
    pub kind: String,
    /// Namespace, when it was typed.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl Reference {
    /// Whether it is a Kamelet of Camel K.
    pub fn is_kamelet(&self) -> bool {
        self.kind == kinds::KAMELET.kind
            && self.api_version.as_deref().is_none_or(|version| version.split('/').next() == Some(kinds::KAMELET.group))
    }
}

/// What an endpoint is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Kubernetes object.
    Ref(Reference),
    /// A Camel URI, as it was typed.
    Uri(String),
}

/// One endpoint with its properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// What it is.
    pub address: Address,
    /// Its properties, in the order in which they were given.
    pub properties: Vec<(String, String)>,
    own_keys: Vec<String>,
}

impl Endpoint {
    /// Reads `[NAMESPACE/]NAME[?…]` (a Kamelet), `[[GROUP/]VERSION:]KIND:[NAMESPACE/]NAME[?…]`, or a Camel URI.
    ///
    /// # Errors
    /// None of these, or a query part without `=` (exit 2).
    pub fn parse(place: Place, text: &str) -> Result<Self> {
        let (address, query) = match text.split_once('?') {
            Some((address, query)) => (address, Some(query)),
            None => (text, None),
        };
        if let Some(reference) = reference(address) {
            let properties = query.map(|query| properties(place, text, query)).transpose()?.unwrap_or_default();
            let own_keys = properties.iter().map(|(key, _)| key.clone()).collect();
            return Ok(Self { address: Address::Ref(reference), properties, own_keys });
        }
        if is_uri(text) {
            return Ok(Self { address: Address::Uri(text.to_owned()), properties: Vec::new(), own_keys: Vec::new() });
        }
        Err(malformed(place, text))
    }

    /// Sets a property of `-p`, unless the endpoint itself has it; tells whether that was so with another value.
    pub fn set(&mut self, key: &str, value: &str) -> bool {
        match self.properties.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) if self.own_keys.iter().any(|own| own == key) => known != value,
            Some((_, known)) => {
                value.clone_into(known);
                false
            }
            None => {
                self.properties.push((key.to_owned(), value.to_owned()));
                false
            }
        }
    }

    /// What it adds to the name of a Pipe: the name of the object, or the scheme of the URI.
    pub fn name_part(&self) -> &str {
        match &self.address {
            Address::Ref(reference) => &reference.name,
            Address::Uri(uri) => uri.split(':').next().unwrap_or_default(),
        }
    }

    /// The Kamelet, if it is one.
    pub fn kamelet(&self) -> Option<&Reference> {
        match &self.address {
            Address::Ref(reference) if reference.is_kamelet() => Some(reference),
            _ => None,
        }
    }

    /// A remark on a reference that leaves it to the operator to guess the API version.
    pub fn unversioned_kind(&self, place: Place) -> Option<String> {
        match &self.address {
            Address::Ref(Reference { api_version: None, kind, name, .. }) if *kind != kinds::KAMELET.kind => {
                Some(format!(
                    "{place}: {kind} has no API version, so an operator may not find it; write VERSION:{kind}:{name}"
                ))
            }
            _ => None,
        }
    }

    /// The endpoint in a manifest. `namespace` is that of a reference that was typed without, `kamelet` the version
    /// in which Kamelets are served.
    pub fn object(&self, namespace: Option<&str>, kamelet: &Kind) -> Value {
        let mut fields = Map::new();
        match &self.address {
            Address::Uri(uri) => drop(fields.insert("uri".into(), json!(uri))),
            Address::Ref(reference) => {
                let version =
                    reference.api_version.clone().or_else(|| reference.is_kamelet().then(|| kamelet.api_version()));
                let mut target = Map::new();
                target.extend(version.map(|version| ("apiVersion".to_owned(), json!(version))));
                target.insert("kind".into(), json!(reference.kind));
                let namespace = reference.namespace.as_deref().or(namespace);
                target.extend(namespace.map(|namespace| ("namespace".to_owned(), json!(namespace))));
                target.insert("name".into(), json!(reference.name));
                fields.insert("ref".into(), Value::Object(target));
            }
        }
        if !self.properties.is_empty() {
            let properties: Map<_, _> =
                self.properties.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
            fields.insert("properties".into(), Value::Object(properties));
        }
        Value::Object(fields)
    }
}

fn reference(address: &str) -> Option<Reference> {
    let parts: Vec<&str> = address.split(':').collect();
    let (version, kind, object) = match parts[..] {
        [object] => (None, "kamelet", object),
        [kind, object] => (None, kind, object),
        [version, kind, object] if is_version(version) => (Some(version), kind, object),
        _ => return None,
    };
    let (namespace, name) = match object.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, object),
    };
    if !is_name(name) || !namespace.is_none_or(is_name) {
        return None;
    }
    let shortcut =
        SHORTCUTS.iter().find(|(short, _, long)| kind == *short || (version.is_none() && is_own(kind, long)));
    let (default, kind) = match shortcut {
        Some((_, version, kind)) => (*version, *kind),
        None if is_kind(kind) => (None, kind),
        None => return None,
    };
    Some(Reference {
        api_version: version.or(default).map(str::to_owned),
        kind: kind.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    })
}

/// Whether a kind typed without version can only be that of the shortcut. `Service` may be a plain one.
fn is_own(kind: &str, long: &str) -> bool {
    kind == long && long != "Service"
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(plain) && text.ends_with(plain) && text.chars().all(|c| plain(c) || c == '-' || c == '.')
}

fn is_kind(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase()) && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// `v1`, `apps/v1`. A first part that is neither, as in `jms:Queue:orders`, is the scheme of a URI.
fn is_version(text: &str) -> bool {
    match text.split_once('/') {
        Some((group, version)) => is_name(group) && is_name(version),
        None => {
            text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) && is_name(text)
        }
    }
}

/// A lower-case scheme, a colon, and something behind it. Blanks are allowed inside: Camel encodes them.
fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        let first = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        scheme.starts_with(first)
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '+')
            && !SHORTCUTS.iter().any(|(short, ..)| scheme == *short)
            && !rest.is_empty()
            && !rest.ends_with(':')
            && rest.trim() == rest
            && !rest.contains(char::is_control)
    })
}

fn malformed(place: Place, text: &str) -> Error {
    let head = text.split('?').next().unwrap_or_default();
    let what = match head.rsplit_once(':') {
        Some((kind, "")) if is_kind(kind) => format!("which {kind}? no name follows it"),
        Some((kind, "")) if SHORTCUTS.iter().any(|(short, ..)| kind == *short) => {
            format!("which {kind}? no name follows it")
        }
        Some((_, "")) => "nothing follows the colon".to_owned(),
        _ if text.trim().is_empty() => "it is empty".to_owned(),
        _ if head.contains(char::is_whitespace) && !head.contains(':') => "a name has no blanks".to_owned(),
        _ => "it is no Kamelet, no reference and no Camel URI".to_owned(),
    };
    Error::usage(format!("{place} {text:?} is not an endpoint: {what}"))
        .hint("a Kamelet: timer-source?message=hi; a resource: channel:orders, or apps/v1:Deployment:web; a Camel URI: log:info")
}

fn properties(place: Place, text: &str, query: &str) -> Result<Vec<(String, String)>> {
    let wrong = |what: String| Error::usage(format!("{place} {text:?}: {what}"));
    let mut found: Vec<(String, String)> = Vec::new();
    for part in query.split('&') {
        let (key, value) = part.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
            wrong(format!("the query part {part:?} is not of the form key=value")).hint(
                "quote it for the shell, and write %26 for an & in a value: 'timer-source?message=a%26b&period=1000'",
            )
        })?;
        let decoded = |text| {
            decode(text).ok_or_else(|| {
                wrong(format!("{text:?} is not URL-encoded"))
                    .hint("write %25 for a percent sign, %26 for &, %20 for a blank")
            })
        };
        let (key, value) = (decoded(key)?, decoded(value)?);
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some(known) => known.1 = value,
            None => found.push((key, value)),
        }
    }
    Ok(found)
}

/// A URL-decoded text: `%xx` and `+`.
fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [char::from(bytes.next()?), char::from(bytes.next()?)];
                let [high, low] = digits.map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()));
                high? * 16 + low?
            }
            other => other,
        });
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{contracts::kinds::KAMELET, error::Exit};

    fn parsed(text: &str) -> Value {
        Endpoint::parse(Place::Source, text).expect(text).object(Some("team"), &KAMELET)
    }

    fn target(version: &str, kind: &str, namespace: &str, name: &str) -> Value {
        json!({"ref": {"apiVersion": version, "kind": kind, "namespace": namespace, "name": name}})
    }

    #[test]
    fn references() {
        let kamelet = "camel.apache.org/v1";
        for (text, expected) in [
            ("timer-source", target(kamelet, "Kamelet", "team", "timer-source")),
            ("ns1/my.source", target(kamelet, "Kamelet", "ns1", "my.source")),
            ("kamelet:timer-source", target(kamelet, "Kamelet", "team", "timer-source")),
            ("Kamelet:ns1/x", target(kamelet, "Kamelet", "ns1", "x")),
            ("camel.apache.org/v1alpha1:Kamelet:x", target("camel.apache.org/v1alpha1", "Kamelet", "team", "x")),
            ("channel:ns3/ch2", target("messaging.knative.dev/v1", "Channel", "ns3", "ch2")),
            ("Channel:ch", target("messaging.knative.dev/v1", "Channel", "team", "ch")),
            (
                "messaging.knative.dev/v1beta1:channel:ch",
                target("messaging.knative.dev/v1beta1", "Channel", "team", "ch"),
            ),
            ("broker:default", target("eventing.knative.dev/v1", "Broker", "team", "default")),
            ("ksvc:service", target("serving.knative.dev/v1", "Service", "team", "service")),
            ("v1:Service:web", target("v1", "Service", "team", "web")),
            ("v1:Secret:ns1/scr2", target("v1", "Secret", "ns1", "scr2")),
            (
                "kafka.strimzi.io/v1beta2:KafkaTopic:orders",
                target("kafka.strimzi.io/v1beta2", "KafkaTopic", "team", "orders"),
            ),
            ("PostgreSQL:ns1/db", json!({"ref": {"kind": "PostgreSQL", "namespace": "ns1", "name": "db"}})),
            ("Service:web", json!({"ref": {"kind": "Service", "namespace": "team", "name": "web"}})),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn queries_are_decoded() {
        let found = parsed("timer-source?message=hello+w%C3%B6rld%21&period=1000&a=b=c&empty=&message=last%20wins");
        assert_eq!(found["properties"], json!({"message": "last wins", "period": "1000", "a": "b=c", "empty": ""}));
        assert_eq!(parsed("v1:Secret:s?x=a:b/c?d")["properties"], json!({"x": "a:b/c?d"}));
    }

    #[test]
    fn uris_stay_as_they_are() {
        for uri in [
            "log:info?showAll=true&x",
            "kafka:topic",
            "kafka:my-topic?brokers=a:9092&x=%20",
            "timer:tick?message=hello world",
            "aws2-s3://bucket/x",
            "https://example.org/a?b=c",
            "jms:Queue:orders",
            "my:src",
            "kamelets:x",
            "jdbc:sql:x:y",
        ] {
            assert_eq!(parsed(uri), json!({"uri": uri}));
        }
    }

    #[test]
    fn what_is_no_endpoint() {
        for (text, says) in [
            ("a b", "a name has no blanks"),
            ("", "it is empty"),
            ("Kind:", "which Kind?"),
            ("kamelet:", "which kamelet?"),
            ("channel:", "which channel?"),
            ("timer:", "nothing follows the colon"),
            ("v1:Secret:", "nothing follows the colon"),
            ("kamelet:Bad", "it is no Kamelet"),
            ("PostgreSQL/ns/name", "it is no Kamelet"),
            ("Foo", "it is no Kamelet"),
            ("a/b/c", "it is no Kamelet"),
            ("-a", "it is no Kamelet"),
            ("log:a\nb", "it is no Kamelet"),
            ("Foo:Bar:x", "it is no Kamelet"),
            ("timer-source?", "the query part \"\" is not of the form key=value"),
            ("timer-source?message", "the query part \"message\""),
            ("timer-source?a=b&c", "the query part \"c\""),
            ("timer-source?=b", "the query part \"=b\""),
            ("timer-source?a=100%", "\"100%\" is not URL-encoded"),
            ("timer-source?a=%ff", "\"%ff\" is not URL-encoded"),
        ] {
            let error = Endpoint::parse(Place::Step(2), text).expect_err(text);
            assert!(error.message().starts_with("step-2 "), "{error}");
            assert!(error.message().contains(says), "{text}: {error}");
            assert!(!error.message().contains('\n'), "{error}");
            assert_eq!((error.exit(), error.all_hints().len()), (Exit::Usage, 1));
        }
    }

    #[test]
    fn the_query_beats_the_flag() {
        let mut endpoint = Endpoint::parse(Place::Source, "timer-source?message=a").expect("valid");
        assert!(!endpoint.set("message", "a"), "the same value is no contradiction");
        assert!(endpoint.set("message", "b"));
        assert!(!endpoint.set("period", "1"));
        assert!(!endpoint.set("period", "2"), "of two flags the last wins");
        assert_eq!(endpoint.object(None, &KAMELET)["properties"], json!({"message": "a", "period": "2"}));
    }

    #[test]
    fn names() {
        for (text, part) in [("ns/timer-source?a=b", "timer-source"), ("my:src", "my"), ("v1:Secret:x", "x")] {
            assert_eq!(Endpoint::parse(Place::Sink, text).expect("valid").name_part(), part);
        }
    }
}
