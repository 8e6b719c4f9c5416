//! Which requests were sent: the API server's audit log.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::Value;

/// A place in the audit log.
#[derive(Clone, Copy, Debug)]
pub struct Mark(u64);

/// A request as the API server saw it.
#[derive(Clone, Debug)]
pub struct Request {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; for paths that are no resource
    /// (`/version`, `/apis`) the HTTP method in lower case.
    pub verb: String,
    pub user: String,
    pub user_agent: String,
    /// API group, empty for the core group.
    pub group: String,
    /// Plural, empty for paths that are no resource.
    pub resource: String,
    pub subresource: String,
    /// Empty for cluster-wide requests.
    pub namespace: String,
    /// Empty for lists and creations.
    pub name: String,
    /// Path and query.
    pub uri: String,
    /// The HTTP status of the answer.
    pub code: u16,
    /// What was sent.
    pub body: Value,
    /// Kind of the answer to a list: `PartialObjectMetadataList` when only metadata was asked for.
    pub answer_kind: String,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> {}", self.verb, self.uri, self.code)
    }
}

impl Request {
    /// Whether the request asked to change something (a dry run and an access review included).
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    fn from_event(event: &Value) -> Self {
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            verb: text("/verb"),
            user: text("/user/username"),
            user_agent: text("/userAgent"),
            group: text("/objectRef/apiGroup"),
            resource: text("/objectRef/resource"),
            subresource: text("/objectRef/subresource"),
            namespace: text("/objectRef/namespace"),
            name: text("/objectRef/name"),
            uri: text("/requestURI"),
            code: event
                .pointer("/responseStatus/code")
                .and_then(Value::as_u64)
                .and_then(|c| c.try_into().ok())
                .unwrap_or(0),
            body: event.get("requestObject").cloned().unwrap_or_default(),
            answer_kind: text("/responseObject/kind"),
        }
    }
}

/// The end of the log.
pub fn mark(log: &Path) -> Mark {
    Mark(log.metadata().map_or(0, |metadata| metadata.len()))
}

/// Every answered request since `mark`, in the order of the answers. A watch counts from its start.
pub fn since(log: &Path, mark: Mark) -> Vec<Request> {
    let text = read_from(log, mark.0).unwrap_or_else(|error| panic!("cannot read {}: {error}", log.display()));
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut seen = HashSet::new();
    let mut requests = Vec::new();
    for line in complete.lines() {
        let event: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("bad audit event: {error}: {line}"));
        // A long-running request has two events, one when its answer starts and one when it ends.
        if seen.insert(event["auditID"].to_string()) {
            requests.push(Request::from_event(&event));
        }
    }
    requests
}

fn read_from(log: &Path, offset: u64) -> std::io::Result<String> {
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
