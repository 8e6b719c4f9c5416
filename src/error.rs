//! What can go wrong, as users see it: an exit code, a reason for machines, a message, and hints that can be pasted.
//!
//! One type for the whole program. Every room makes its errors here and uses `?`; only `main` prints them.

pub mod text;

use std::fmt;

use serde_json::{Map, Value, json};

/// `Result` with kctl's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The exit codes of kctl. They are part of its interface; `kctl help exit-codes` prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or already so.
    Done = 0,
    /// Failed, also in part.
    Failed = 1,
    /// The command line or a file named on it is wrong.
    Usage = 2,
    /// Refused: an id is taken, another owner, not confirmed, a conflict.
    Refused = 3,
    /// The caller lacks a right.
    NotAuthorised = 4,
    /// A named thing does not exist.
    NotFound = 5,
    /// A deadline passed.
    Deadline = 6,
    /// `check` has findings.
    Findings = 8,
    /// Interrupted by SIGINT or SIGTERM.
    Interrupted = 130,
}

impl Exit {
    /// Every code with the line that explains it.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Done, "done, or already so"),
        (Self::Failed, "failed, also in part"),
        (Self::Usage, "usage: the command line or an input file is wrong"),
        (Self::Refused, "refused: id taken, other owner, not confirmed, conflict"),
        (Self::NotAuthorised, "not authorised"),
        (Self::NotFound, "a named thing was not found"),
        (Self::Deadline, "a deadline passed"),
        (Self::Findings, "check has findings"),
        (Self::Interrupted, "interrupted"),
    ];

    /// The number the process ends with.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// Which object an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRef {
    /// Kind, as in a manifest.
    pub kind: String,
    /// Namespace; `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl ObjectRef {
    /// A reference from its parts.
    pub fn new(kind: impl Into<String>, namespace: Option<&str>, name: impl Into<String>) -> Self {
        Self { kind: kind.into(), namespace: namespace.map(str::to_owned), name: name.into() }
    }
}

/// A failure as the user sees it.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    exit: Exit,
    reason: &'static str,
    message: String,
    object: Option<ObjectRef>,
    context: Option<String>,
    hints: Vec<String>,
}

impl Error {
    /// An error with an exit code, a `CamelCase` reason for machines and a lower-case message for people.
    pub fn new(exit: Exit, reason: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { exit, reason, message: message.into(), object: None, context: None, hints: Vec::new() }))
    }

    /// Something failed on the way (exit 1).
    pub fn failed(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, reason, message)
    }

    /// The command line or an input file is wrong (exit 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "Usage", message)
    }

    /// kctl declines to do it (exit 3).
    pub fn refused(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::Refused, reason, message)
    }

    /// The caller lacks a right (exit 4).
    pub fn not_authorised(message: impl Into<String>) -> Self {
        Self::new(Exit::NotAuthorised, "NotAuthorised", message)
    }

    /// A named thing does not exist (exit 5).
    pub fn not_found(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::NotFound, reason, message)
    }

    /// A deadline passed (exit 6).
    pub fn deadline(message: impl Into<String>) -> Self {
        Self::new(Exit::Deadline, "DeadlineExceeded", message)
    }

    /// Adds a hint: a sentence or a command that can be pasted.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// Adds each hint of a list.
    pub fn hints<S: Into<String>>(mut self, hints: impl IntoIterator<Item = S>) -> Self {
        self.0.hints.extend(hints.into_iter().map(Into::into));
        self
    }

    /// Rewrites each hint.
    pub fn map_hints(mut self, rewrite: impl Fn(String) -> String) -> Self {
        self.0.hints = std::mem::take(&mut self.0.hints).into_iter().map(rewrite).collect();
        self
    }

    /// Says which object the error is about.
    pub fn object(mut self, object: ObjectRef) -> Self {
        self.0.object = Some(object);
        self
    }

    /// Says in which kubeconfig context it happened, unless that is known already.
    pub fn context(mut self, context: &str) -> Self {
        self.0.context.get_or_insert_with(|| context.to_owned());
        self
    }

    /// Puts words in front of the message, as in `reading app.yaml: …`.
    pub fn while_(mut self, doing: impl fmt::Display) -> Self {
        self.0.message = format!("{doing}: {}", self.0.message);
        self
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        self.0.exit
    }

    /// The reason for machines.
    pub fn reason(&self) -> &'static str {
        self.0.reason
    }

    /// The message for people, without hints.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The hints, in order.
    pub fn all_hints(&self) -> &[String] {
        &self.0.hints
    }

    /// The object the error is about, when there is one.
    pub fn object_ref(&self) -> Option<&ObjectRef> {
        self.0.object.as_ref()
    }

    /// The context the error happened in, when one is known.
    pub fn context_name(&self) -> Option<&str> {
        self.0.context.as_deref()
    }

    /// The machine shape: `{code, reason, message, object?, context?, hints}`.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        out.insert("code".into(), json!(self.0.exit.code()));
        out.insert("reason".into(), json!(self.0.reason));
        out.insert("message".into(), json!(self.0.message));
        if let Some(object) = &self.0.object {
            let mut fields = Map::new();
            fields.insert("kind".into(), json!(object.kind));
            if let Some(namespace) = &object.namespace {
                fields.insert("namespace".into(), json!(namespace));
            }
            fields.insert("name".into(), json!(object.name));
            out.insert("object".into(), Value::Object(fields));
        }
        if let Some(context) = &self.0.context {
            out.insert("context".into(), json!(context));
        }
        out.insert("hints".into(), json!(self.0.hints));
        Value::Object(out)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_shape_has_every_documented_field() {
        let error = Error::refused("IdTaken", "operator id tenant-a is taken")
            .object(ObjectRef::new("OperatorClaim", None, "camel-k.tenant-a"))
            .context("prod")
            .hint("kctl list-operators");
        assert_eq!(
            error.to_json(),
            json!({
                "code": 3, "reason": "IdTaken", "message": "operator id tenant-a is taken",
                "object": {"kind": "OperatorClaim", "name": "camel-k.tenant-a"},
                "context": "prod", "hints": ["kctl list-operators"],
            })
        );
    }

    #[test]
    fn the_first_context_wins() {
        assert_eq!(Error::usage("x").context("a").context("b").context_name(), Some("a"));
    }
}
