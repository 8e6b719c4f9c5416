//! What a request asks for: the path taken apart, and the query.

use std::borrow::Cow;

use serde_json::json;

use super::status::{ApiError, Cause};

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `/version`
    Version,
    /// `/healthz`, `/livez`, `/readyz`
    Health,
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/GROUP`
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`
    Resources { group: String, version: String },
    /// A collection, an object, or a subresource of one.
    Objects(Target),
    /// Anything else.
    Unknown,
}

/// A collection, an object, or a subresource of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    pub group: String,
    pub version: String,
    pub plural: String,
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub subresource: Option<String>,
}

/// Takes a path apart.
pub(super) fn route(path: &str) -> Route {
    let parts: Vec<Cow<'_, str>> = path.trim_matches('/').split('/').map(decode).collect();
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    match parts.as_slice() {
        ["version"] => Route::Version,
        ["healthz" | "livez" | "readyz"] => Route::Health,
        ["api"] => Route::CoreVersions,
        ["apis"] => Route::Groups,
        ["apis", group] => Route::Group((*group).to_owned()),
        ["api", version] => Route::Resources { group: String::new(), version: (*version).to_owned() },
        ["apis", group, version] => Route::Resources { group: (*group).to_owned(), version: (*version).to_owned() },
        ["api", version, rest @ ..] => objects("", version, rest),
        ["apis", group, version, rest @ ..] => objects(group, version, rest),
        _ => Route::Unknown,
    }
}

fn objects(group: &str, version: &str, rest: &[&str]) -> Route {
    let (namespace, rest) = match rest {
        // `namespaces/NAME/status` is about the namespace itself.
        ["namespaces", _, "status" | "finalize"] => (None, rest),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        _ => (None, rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (*plural, None, None),
        [plural, name] => (*plural, Some(*name), None),
        [plural, name, subresource] => (*plural, Some(*name), Some(*subresource)),
        _ => return Route::Unknown,
    };
    Route::Objects(Target {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: plural.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        subresource: subresource.map(str::to_owned),
    })
}

/// A path segment without percent signs.
fn decode(segment: &str) -> Cow<'_, str> {
    if !segment.contains('%') {
        return Cow::Borrowed(segment);
    }
    let bytes = segment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        if let (b'%', Some(Ok(byte))) = (bytes[at], code.map(|hex| u8::from_str_radix(hex, 16))) {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// How unknown fields are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Dropped in silence, or with a warning that nobody reads.
    #[default]
    Drop,
    /// Refused.
    Refuse,
}

/// The parameters of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Query {
    pub label_selector: String,
    pub field_selector: String,
    pub limit: usize,
    pub cursor: String,
    pub resource_version: String,
    pub watch: bool,
    pub send_initial_events: bool,
    pub dry_run: bool,
    pub field_manager: String,
    pub unknown_fields: Unknown,
    pub force: bool,
}

/// Which options a request takes, for the messages about wrong ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Read,
    Create,
    Update,
    Patch,
    Delete,
}

impl Verb {
    fn options(self) -> &'static str {
        match self {
            Self::Read => "ListOptions",
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Patch => "PatchOptions",
            Self::Delete => "DeleteOptions",
        }
    }
}

impl Query {
    /// Reads a query string.
    pub(super) fn parse(text: &str, verb: Verb) -> Result<Self, ApiError> {
        let mut query = Self::default();
        for (key, value) in url::form_urlencoded::parse(text.as_bytes()) {
            match key.as_ref() {
                "labelSelector" => query.label_selector = value.into_owned(),
                "fieldSelector" => query.field_selector = value.into_owned(),
                "limit" => query.limit = value.parse().unwrap_or_default(),
                "continue" => query.cursor = value.into_owned(),
                "resourceVersion" => query.resource_version = value.into_owned(),
                "watch" => query.watch = is_true(&value),
                "sendInitialEvents" => query.send_initial_events = is_true(&value),
                "force" => query.force = is_true(&value),
                "fieldManager" => query.field_manager = value.into_owned(),
                "dryRun" if verb != Verb::Read => query.dry_run = dry_run(&value, verb)?,
                "fieldValidation" => query.unknown_fields = unknown_fields(&value, verb)?,
                _ => {}
            }
        }
        Ok(query)
    }
}

fn is_true(value: &str) -> bool {
    matches!(value, "true" | "1" | "")
}

fn dry_run(value: &str, verb: Verb) -> Result<bool, ApiError> {
    match value {
        "All" => Ok(true),
        "" => Ok(false),
        _ => {
            let message = format!("Unsupported value: [{}]: supported values: \"All\"", json!(value));
            Err(not_supported(verb, "dryRun", message))
        }
    }
}

fn unknown_fields(value: &str, verb: Verb) -> Result<Unknown, ApiError> {
    match value {
        "Strict" => Ok(Unknown::Refuse),
        "" | "Warn" | "Ignore" => Ok(Unknown::Drop),
        _ => {
            let message = format!(
                "Unsupported value: {}: supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
                json!(value)
            );
            Err(not_supported(verb, "fieldValidation", message))
        }
    }
}

fn not_supported(verb: Verb, field: &str, message: String) -> ApiError {
    let cause = Cause { reason: "FieldValueNotSupported", message, field: field.to_owned() };
    ApiError::invalid_kind(verb.options(), "meta.k8s.io", "", &[cause])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(group: &str, plural: &str, namespace: Option<&str>, name: Option<&str>, sub: Option<&str>) -> Route {
        let own = |text: Option<&str>| text.map(str::to_owned);
        Route::Objects(Target {
            group: group.into(),
            version: "v1".into(),
            plural: plural.into(),
            namespace: own(namespace),
            name: own(name),
            subresource: own(sub),
        })
    }

    #[test]
    fn paths_are_taken_apart() {
        for (path, expected) in [
            ("/version", Route::Version),
            ("/api", Route::CoreVersions),
            ("/apis/", Route::Groups),
            ("/apis/apps", Route::Group("apps".into())),
            ("/api/v1", Route::Resources { group: String::new(), version: "v1".into() }),
            ("/apis/apps/v1", Route::Resources { group: "apps".into(), version: "v1".into() }),
            ("/api/v1/pods", target("", "pods", None, None, None)),
            ("/api/v1/namespaces", target("", "namespaces", None, None, None)),
            ("/api/v1/namespaces/a", target("", "namespaces", None, Some("a"), None)),
            ("/api/v1/namespaces/a/status", target("", "namespaces", None, Some("a"), Some("status"))),
            ("/api/v1/namespaces/a/pods/p/status", target("", "pods", Some("a"), Some("p"), Some("status"))),
            ("/apis/apps/v1/namespaces/a/deployments", target("apps", "deployments", Some("a"), None, None)),
            ("/apis/r.io/v1/roles/system%3Ax", target("r.io", "roles", None, Some("system:x"), None)),
            ("/metrics", Route::Unknown),
            ("/apis/a/v1/b/c/d/e", Route::Unknown),
        ] {
            assert_eq!(route(path), expected, "{path}");
        }
    }

    #[test]
    fn wrong_options_are_refused_by_the_name_of_the_verb() {
        let error = Query::parse("dryRun=Some", Verb::Create).unwrap_err();
        assert_eq!(
            error.message,
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""
        );
        assert!(Query::parse("fieldValidation=Strange", Verb::Patch).is_err());
        assert!(Query::parse("dryRun=All&force=true", Verb::Patch).unwrap().dry_run);
    }
}
