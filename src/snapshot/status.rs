//! The API server's own errors: `Status` objects with the codes, reasons and texts of a real server.

use http::StatusCode;
use serde_json::{Value, json};

use super::resource::Resource;

/// A request that is answered with an error.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ApiError {
    pub code: StatusCode,
    reason: &'static str,
    pub message: String,
    details: Option<Value>,
    /// Answered as text, which is how a server speaks of paths nobody registered.
    plain: bool,
}

/// One cause in the details of an error.
pub(super) struct Cause {
    pub reason: &'static str,
    pub message: String,
    pub field: String,
}

impl Cause {
    pub(super) fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: "FieldValueInvalid", message: format!("Invalid value: {}", message.into()), field: field.into() }
    }

    pub(super) fn required(field: impl Into<String>, message: &str) -> Self {
        let message =
            if message.is_empty() { "Required value".to_owned() } else { format!("Required value: {message}") };
        Self { reason: "FieldValueRequired", message, field: field.into() }
    }

    fn to_json(&self) -> Value {
        json!({"reason": self.reason, "message": self.message, "field": self.field})
    }
}

const MODIFIED: &str = "the object has been modified; please apply your changes to the latest version and try again";

impl ApiError {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, plain: false }
    }

    fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// A path that is not registered: an absent group, or an absent kind of a group of custom resources.
    pub(super) fn page_not_found() -> Self {
        Self { plain: true, ..Self::new(StatusCode::NOT_FOUND, "NotFound", "404 page not found") }
    }

    /// A kind that a built-in group does not have.
    pub(super) fn no_such_resource() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource")
            .details(json!({}))
    }

    pub(super) fn not_found(resource: &Resource, name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", format!("{} \"{name}\" not found", resource.qualified()))
            .details(object_details(name, &resource.group, &resource.plural))
    }

    pub(super) fn namespace_not_found(name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", format!("namespaces \"{name}\" not found"))
            .details(object_details(name, "", "namespaces"))
    }

    pub(super) fn already_exists(resource: &Resource, name: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "AlreadyExists", format!("{} \"{name}\" already exists", resource.qualified()))
            .details(object_details(name, &resource.group, &resource.plural))
    }

    /// The resourceVersion in a write is not the stored one.
    pub(super) fn modified(resource: &Resource, name: &str) -> Self {
        Self::conflict(&resource.qualified(), &resource.group, &resource.plural, name, MODIFIED)
    }

    /// The uid in a PUT is not the stored one.
    pub(super) fn other_uid(resource: &Resource, namespace: Option<&str>, name: &str, asked: &str, is: &str) -> Self {
        let key = namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"));
        let group = if resource.group.is_empty() { String::new() } else { format!("{}/", resource.group) };
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{group}{}/{key}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: {asked}, UID in object meta: {is}",
            resource.plural
        );
        Self::conflict(&resource.qualified(), &resource.group, &resource.plural, name, &why)
    }

    /// An apply names the uid of an object that is not there.
    pub(super) fn no_such_uid(resource: &Resource, name: &str, uid: &str) -> Self {
        let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
        Self::conflict(&resource.qualified(), &resource.group, &resource.plural, name, &why)
    }

    /// A precondition of a delete does not hold. The server names the kind here, not the resource.
    pub(super) fn precondition(resource: &Resource, name: &str, field: &str, asked: &str, is: &str) -> Self {
        let end = if field == "UID" { "been deleted and then recreated" } else { "been modified" };
        let why = format!(
            "the {field} in the precondition ({asked}) does not match the {field} in record ({is}). \
             The object might have {end}"
        );
        Self::conflict(&resource.qualified_kind(), &resource.group, &resource.kind, name, &why)
    }

    fn conflict(qualified: &str, group: &str, kind: &str, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {qualified} \"{name}\": {why}");
        Self::new(StatusCode::CONFLICT, "Conflict", message).details(object_details(name, group, kind))
    }

    /// Fields that other managers own: `(manager as it is written in the message, field)`.
    pub(super) fn apply_conflicts(conflicts: &[(String, String)]) -> Self {
        let message = match conflicts {
            [(manager, field)] => format!("Apply failed with 1 conflict: conflict with {manager}: {field}"),
            many => {
                let mut lines = vec![format!("Apply failed with {} conflicts:", many.len())];
                let mut last = "";
                for (manager, field) in many {
                    if manager != last {
                        lines.push(format!("conflicts with {manager}:"));
                        last = manager;
                    }
                    lines.push(format!("- {field}"));
                }
                // The first manager stands on the first line.
                lines.join("\n").replacen(":\n", ": ", 1)
            }
        };
        let causes: Vec<Value> = conflicts
            .iter()
            .map(|(manager, field)| {
                json!({"reason": "FieldManagerConflict", "message": format!("conflict with {manager}"), "field": field})
            })
            .collect();
        Self::new(StatusCode::CONFLICT, "Conflict", message).details(json!({"causes": causes}))
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// Errors that a server reports without a reason.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    /// An object of a resource that does not pass validation.
    pub(super) fn invalid(resource: &Resource, name: &str, causes: &[Cause]) -> Self {
        Self::invalid_kind(&resource.kind, &resource.group, name, causes)
    }

    /// As [`Self::invalid`], for kinds that are not a resource (`PatchOptions`), or that are named in another way.
    pub(super) fn invalid_kind(kind: &str, group: &str, name: &str, causes: &[Cause]) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let mut said: Vec<String> = Vec::new();
        for cause in causes {
            let text = format!("{}: {}", cause.field, cause.message);
            if !said.contains(&text) {
                said.push(text);
            }
        }
        let why = if said.len() == 1 { said.remove(0) } else { format!("[{}]", said.join(", ")) };
        let mut details = object_details(name, group, kind);
        details["causes"] = causes.iter().map(Cause::to_json).collect();
        let message = format!("{qualified} \"{name}\" is invalid: {why}");
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).details(details)
    }

    /// A JSON patch that does not fit the object.
    pub(super) fn rejected() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).details(json!({}))
    }

    /// A patch of a type no resource takes.
    pub(super) fn unsupported_media_type() -> Self {
        Self::unsupported_here("415: Unsupported Media Type").details(json!({}))
    }

    /// A patch of a type this resource does not take.
    pub(super) fn unsupported_here(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).details(json!({}))
    }

    /// A read at a version that is still to come.
    pub(super) fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message).details(json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }))
    }

    /// The content type and the body of the answer.
    pub(super) fn body(&self) -> (&'static str, String) {
        if self.plain {
            return ("text/plain; charset=utf-8", format!("{}\n", self.message));
        }
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status["code"] = json!(self.code.as_u16());
        ("application/json", status.to_string())
    }
}

/// The `Status` of a delete that went through.
pub(super) fn deleted(resource: &Resource, name: &str, uid: &str) -> Value {
    let mut details = object_details(name, &resource.group, &resource.plural);
    details["uid"] = json!(uid);
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

fn object_details(name: &str, group: &str, kind: &str) -> Value {
    let mut details = json!({});
    for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
        if !value.is_empty() {
            details[key] = json!(value);
        }
    }
    details
}
