//! Requests and their failures.
//!
//! Objects go in and out as JSON values. A failure is an [`ApiError`], which tells what a caller may want to tolerate
//! (absent, forbidden, conflict); with `?` it becomes the error a user sees.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};

use crate::{
    contracts::kinds::Kind,
    error::{Error, Exit, ObjectRef},
};

use super::{Cluster, kubeconfig::chain};

const JSON: &str = "application/json";
/// Media type of one object reduced to its metadata.
pub(super) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// Media type of a list reduced to metadata.
pub(super) const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
/// Tries at one request, the first included.
const TRIES: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// One request to the API server.
#[derive(Clone, Debug)]
pub struct Call {
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    accept: &'static str,
    content: Option<(&'static str, Value)>,
    what: Arc<str>,
    object: Option<ObjectRef>,
}

impl Call {
    /// A call to a path, described for error messages by `what` ("list deployments").
    pub fn new(method: Method, path: impl Into<String>, what: &str) -> Self {
        Self {
            method,
            path: path.into(),
            query: Vec::new(),
            accept: JSON,
            content: None,
            what: what.into(),
            object: None,
        }
    }

    /// A call about one object.
    pub fn on(method: Method, kind: &Kind, namespace: Option<&str>, name: &str, verb: &str) -> Self {
        let place = namespace.filter(|_| kind.namespaced).map(|n| format!(" in namespace {n}")).unwrap_or_default();
        let mut call = Self::new(
            method,
            kind.path(namespace, Some(name)),
            &format!("{verb} {}/{name}{place}", kind.result_name()),
        );
        call.object = Some(ObjectRef::new(kind.kind, namespace.filter(|_| kind.namespaced), name));
        call
    }

    /// A call about a collection.
    pub fn list(kind: &Kind, namespace: Option<&str>, options: &ListOptions) -> Self {
        let place = match namespace {
            Some(namespace) if kind.namespaced => format!(" in namespace {namespace}"),
            None if kind.namespaced => " in all namespaces".to_owned(),
            _ => String::new(),
        };
        let group = if kind.group.is_empty() { String::new() } else { format!(".{}", kind.group) };
        let mut call =
            Self::new(Method::GET, kind.path(namespace, None), &format!("list {}{group}{place}", kind.plural))
                .query(options.to_query());
        if options.metadata_only {
            call.accept = METADATA_LIST;
        }
        call
    }

    /// Adds query parameters.
    pub fn query(mut self, parameters: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.query.extend(parameters);
        self
    }

    /// Sets the body and its media type.
    pub fn body(mut self, media_type: &'static str, body: Value) -> Self {
        self.content = Some((media_type, body));
        self
    }

    /// Asks for metadata only.
    pub fn metadata_only(mut self) -> Self {
        self.accept = METADATA;
        self
    }

    /// Asks for the metadata of a list only.
    pub fn metadata_list(mut self) -> Self {
        self.accept = METADATA_LIST;
        self
    }

    /// Sends the call to another path than that of its object: a collection or a subresource.
    pub(super) fn collection(&mut self, path: String) {
        self.path = path;
    }

    fn request(&self) -> Result<Request<Body>, http::Error> {
        let mut uri = self.path.clone();
        if !self.query.is_empty() {
            let mut encoder = url::form_urlencoded::Serializer::new(String::new());
            encoder.extend_pairs(&self.query);
            uri = format!("{uri}?{}", encoder.finish());
        }
        let builder = Request::builder().method(&self.method).uri(uri).header(header::ACCEPT, self.accept);
        match &self.content {
            None => builder.body(Body::empty()),
            Some((media_type, body)) => {
                builder.header(header::CONTENT_TYPE, *media_type).body(Body::from(body.to_string().into_bytes()))
            }
        }
    }
}

/// What to ask a list for.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Label selector.
    pub labels: Option<String>,
    /// Field selector; custom resources know only name and namespace.
    pub fields: Option<String>,
    /// Metadata only.
    pub metadata_only: bool,
    /// Take the server's cached state (`resourceVersion=0`): cheap, possibly a moment old. Never for what decides a write.
    pub cached: bool,
}

impl ListOptions {
    /// All objects whose labels match.
    pub fn labelled(selector: impl Into<String>) -> Self {
        Self { labels: Some(selector.into()), ..Self::default() }
    }

    /// Metadata of all objects, from the server's cache.
    pub fn cached_metadata() -> Self {
        Self { metadata_only: true, cached: true, ..Self::default() }
    }

    fn to_query(&self) -> Vec<(&'static str, String)> {
        let mut query = Vec::new();
        query.extend(self.labels.clone().map(|selector| ("labelSelector", selector)));
        query.extend(self.fields.clone().map(|selector| ("fieldSelector", selector)));
        query.extend(self.cached.then(|| ("resourceVersion", "0".to_owned())));
        query
    }
}

/// Why a request failed.
#[derive(Clone, Debug)]
pub struct ApiError(Box<Failure>);

#[derive(Clone, Debug)]
struct Failure {
    what: Arc<str>,
    object: Option<ObjectRef>,
    context: Arc<str>,
    server: Arc<str>,
    cause: Cause,
}

#[derive(Clone, Debug)]
enum Cause {
    /// The API server's own answer; the Status object, or what was made of a plain-text answer.
    Status { code: u16, reason: String, message: String, causes: Vec<String>, retry_after: Option<Duration> },
    /// No answer.
    Transport { message: String, hint: Option<&'static str>, sent: bool },
    /// No answer in time.
    Timeout(Duration),
    /// An answer that is not what it should be.
    Unreadable(String),
}

impl ApiError {
    /// HTTP status code, when the server answered.
    pub fn code(&self) -> Option<u16> {
        match &self.0.cause {
            Cause::Status { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The server's `reason`, empty when it did not answer with one.
    pub fn reason(&self) -> &str {
        match &self.0.cause {
            Cause::Status { reason, .. } => reason,
            _ => "",
        }
    }

    /// The server's message, or what went wrong on the way.
    pub fn message(&self) -> String {
        match &self.0.cause {
            Cause::Status { message, .. } | Cause::Transport { message, .. } | Cause::Unreadable(message) => {
                message.clone()
            }
            Cause::Timeout(limit) => format!("no answer within {}", seconds(*limit)),
        }
    }

    /// The fields in conflict, or other causes the server named.
    pub fn causes(&self) -> &[String] {
        match &self.0.cause {
            Cause::Status { causes, .. } => causes,
            _ => &[],
        }
    }

    /// 404: the object, its namespace or its kind does not exist.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// 404 because the kind itself is not served: no such CRD. The server answers with plain text then.
    pub fn is_kind_missing(&self) -> bool {
        self.is_not_found() && self.reason() != "NotFound"
    }

    /// 403.
    pub fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }

    /// 409 because the object exists already.
    pub fn is_already_exists(&self) -> bool {
        self.code() == Some(409) && self.reason() == "AlreadyExists"
    }

    /// 409 because somebody else changed the object or owns a field.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409) && self.reason() != "AlreadyExists"
    }

    /// Whether the request may have been carried out although no good answer came.
    pub fn is_undecided(&self) -> bool {
        match &self.0.cause {
            Cause::Status { code, .. } => *code >= 500,
            Cause::Transport { sent, .. } => *sent,
            Cause::Timeout(_) | Cause::Unreadable(_) => true,
        }
    }

    fn retry_pause(&self, method: &Method, attempt: u32) -> Option<Duration> {
        let pause = FIRST_PAUSE * 4u32.pow(attempt);
        match &self.0.cause {
            // Turned away before it was looked at: safe for writes, too.
            Cause::Status { code: 429, retry_after, .. } => {
                Some(retry_after.unwrap_or(pause).min(if attempt == 0 { FIRST_PAUSE } else { Duration::from_secs(1) }))
            }
            Cause::Status { code: 503 | 504, .. } | Cause::Transport { sent: true, .. } if method == Method::GET => {
                Some(pause)
            }
            _ => None,
        }
    }
}

impl From<ApiError> for Error {
    fn from(error: ApiError) -> Self {
        let text = format!("cannot {}: {}", error.0.what, error.message());
        let mut out = match &error.0.cause {
            Cause::Status { code: 401, .. } => {
                Self::not_authorised(format!("the server refused the credentials: {}", error.message()))
                    .hint("log in again, or check the user of the context: kubectl config view --minify")
            }
            Cause::Status { code: 403, .. } => Self::not_authorised(text),
            Cause::Status { code: 404, .. } if error.is_kind_missing() => Self::not_found(
                "KindNotServed",
                format!("cannot {}: the cluster does not serve this kind", error.0.what),
            ),
            Cause::Status { code: 404, .. } => Self::not_found("NotFound", text),
            Cause::Status { code: 409, .. } => Self::refused("Conflict", text),
            Cause::Status { .. } => Self::failed("ServerError", text),
            Cause::Timeout(_) => {
                Self::deadline(format!("{text} ({})", error.0.server)).hint("raise the limit with --request-timeout")
            }
            Cause::Transport { hint, .. } => {
                let failed =
                    Self::failed("Unreachable", format!("cannot reach {}: {}", error.0.server, error.message()));
                hint.iter().fold(failed, |failed, hint| failed.hint(*hint))
            }
            Cause::Unreadable(_) => Self::failed("UnreadableAnswer", text),
        };
        if let Some(object) = error.0.object {
            out = out.object(object);
        }
        debug_assert_ne!(out.exit(), Exit::Done);
        out.context(&error.0.context)
    }
}

fn seconds(limit: Duration) -> String {
    if limit.subsec_millis() == 0 { format!("{}s", limit.as_secs()) } else { format!("{}ms", limit.as_millis()) }
}

impl Cluster {
    /// Sends a call and returns the JSON of the answer.
    pub async fn call(&self, call: &Call) -> Result<Value, ApiError> {
        let bytes = self.call_bytes(call).await?;
        serde_json::from_slice(&bytes)
            .map_err(|error| self.failure(call, Cause::Unreadable(format!("the answer is not JSON: {error}"))))
    }

    async fn call_bytes(&self, call: &Call) -> Result<Bytes, ApiError> {
        let mut attempt = 0;
        loop {
            let answer = async {
                let response = self.send(call).await?;
                let body = response.into_body().collect().await;
                body.map(http_body_util::Collected::to_bytes).map_err(|error| self.transport(call, &error))
            };
            let error = match self.limited(call, answer).await {
                Ok(bytes) => return Ok(bytes),
                Err(error) => error,
            };
            match error.retry_pause(&call.method, attempt) {
                Some(pause) if attempt + 1 < TRIES => tokio::time::sleep(pause).await,
                _ => return Err(error),
            }
            attempt += 1;
        }
    }

    /// Sends a call once and returns the answer with its body unread; a bad status is an error already.
    pub async fn open(&self, call: &Call) -> Result<http::Response<Body>, ApiError> {
        let mut attempt = 0;
        loop {
            let error = match self.limited(call, self.send(call)).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            match error.retry_pause(&call.method, attempt) {
                Some(pause) if attempt + 1 < TRIES => tokio::time::sleep(pause).await,
                _ => return Err(error),
            }
            attempt += 1;
        }
    }

    pub(super) async fn limited<T>(
        &self,
        call: &Call,
        work: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        if self.request_timeout.is_zero() {
            return work.await;
        }
        match tokio::time::timeout(self.request_timeout, work).await {
            Ok(done) => done,
            Err(_) => Err(self.failure(call, Cause::Timeout(self.request_timeout))),
        }
    }

    async fn send(&self, call: &Call) -> Result<http::Response<Body>, ApiError> {
        let request = call.request().map_err(|error| self.failure(call, Cause::Unreadable(error.to_string())))?;
        tracing::debug!(method = %call.method, uri = %request.uri(), "request");
        let response = self.client.send(request).await.map_err(|error| self.transport(call, &error))?;
        self.read_clock(&response);
        let status = response.status();
        tracing::debug!(%status, "answer");
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = response
            .headers()
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        let body = response.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        Err(self.failure(call, status_cause(status, &body, retry_after)))
    }

    /// Notes how far the server's clock is from ours, by the Date header of its answer.
    fn read_clock(&self, response: &http::Response<Body>) {
        let date = response.headers().get(header::DATE).and_then(|value| value.to_str().ok());
        if let Some(date) = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok()) {
            let skew = date.timestamp().as_second() - jiff::Timestamp::now().as_second();
            self.clock_skew.store(skew, std::sync::atomic::Ordering::Relaxed);
        }
    }

    fn failure(&self, call: &Call, cause: Cause) -> ApiError {
        ApiError(Box::new(Failure {
            what: call.what.clone(),
            object: call.object.clone(),
            context: self.context().into(),
            server: self.server().into(),
            cause,
        }))
    }

    /// The error of an answer that is not what it should be.
    pub(super) fn unreadable(&self, call: &Call, message: String) -> ApiError {
        self.failure(call, Cause::Unreadable(message))
    }

    pub(super) fn transport(&self, call: &Call, error: &(dyn std::error::Error + 'static)) -> ApiError {
        let (message, hint, sent) = explain(error);
        self.failure(call, Cause::Transport { message, hint, sent })
    }

    /// One object, or `None` when it does not exist. A kind that is not served is an error.
    pub async fn get(&self, kind: &Kind, namespace: Option<&str>, name: &str) -> Result<Option<Value>, ApiError> {
        match self.call(&Call::on(Method::GET, kind, namespace, name, "get")).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() && !error.is_kind_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All objects of a kind, whole; `namespace: None` means all namespaces. For lists known to be short.
    ///
    /// Items get back the `apiVersion` and `kind` that lists leave out.
    pub async fn list(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> Result<Vec<Value>, ApiError> {
        let mut list = self.call(&Call::list(kind, namespace, options)).await?;
        let items = match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        Ok(items
            .into_iter()
            .map(|mut item| {
                item["apiVersion"] = json!(kind.api_version());
                item["kind"] = json!(kind.kind);
                item
            })
            .collect())
    }
}

fn status_cause(status: StatusCode, body: &[u8], retry_after: Option<Duration>) -> Cause {
    let parsed: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let text = |key: &str| parsed.get(key).and_then(Value::as_str).map(str::to_owned);
    let plain = || {
        let text = String::from_utf8_lossy(body);
        let line: String = text.lines().next().unwrap_or_default().chars().take(200).collect();
        if line.is_empty() { status.to_string() } else { line }
    };
    let causes = parsed
        .pointer("/details/causes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|cause| {
            let part = |key: &str| cause.get(key).and_then(Value::as_str).unwrap_or_default();
            [part("field"), part("message")]
                .iter()
                .filter(|part| !part.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join(": ")
        })
        .collect();
    Cause::Status {
        code: status.as_u16(),
        reason: text("reason").unwrap_or_default(),
        message: text("message").unwrap_or_else(plain),
        causes,
        retry_after,
    }
}

/// What a person needs of a transport error: message, hint, and whether the request may have reached the server.
fn explain(error: &(dyn std::error::Error + 'static)) -> (String, Option<&'static str>, bool) {
    let text = chain(error);
    let lower = text.to_lowercase();
    let has = |needle: &str| lower.contains(needle);
    if has("connection refused") {
        ("connection refused".into(), Some("is the API server up? kubectl cluster-info"), false)
    } else if has("dns error") || has("failed to lookup address") {
        ("its name cannot be resolved".into(), Some("check the server's address: kubectl config view --minify"), false)
    } else if has("certificateexpired") || has("certificate expired") || has("expiredcontext") {
        if has("received fatal alert") {
            ("the client certificate has expired".into(), Some("renew the credentials of the kubeconfig"), false)
        } else {
            (
                "the server's certificate has expired".into(),
                Some("renew the API server's certificate, or check this machine's clock"),
                false,
            )
        }
    } else if has("unknownissuer") || has("unknown issuer") {
        (
            "the server's certificate is signed by an unknown authority".into(),
            Some("name the authority with --certificate-authority FILE"),
            false,
        )
    } else if has("notvalidforname") || has("not valid for name") {
        ("the server's certificate is for another name".into(), Some("name it with --tls-server-name NAME"), false)
    } else if has("received fatal alert") {
        (format!("TLS refused: {text}"), None, false)
    } else if has("tcp connect") || has("client error (connect)") || has("timed out") || has("deadline has elapsed") {
        (text, None, false)
    } else {
        (text, None, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(cause: Cause) -> ApiError {
        ApiError(Box::new(Failure { what: "x".into(), object: None, context: "c".into(), server: "s".into(), cause }))
    }

    #[test]
    fn a_plain_text_404_means_that_the_kind_is_missing() {
        let error = |body: &str| failed(status_cause(StatusCode::NOT_FOUND, body.as_bytes(), None));
        assert!(error("404 page not found\n").is_kind_missing());
        let object_missing = error(r#"{"kind":"Status","reason":"NotFound","message":"pods \"x\" not found"}"#);
        assert!(object_missing.is_not_found() && !object_missing.is_kind_missing());
        assert_eq!(Error::from(object_missing).exit(), Exit::NotFound);
    }

    #[test]
    fn writes_are_tried_again_only_when_they_were_turned_away() {
        let error = |code: u16| failed(status_cause(StatusCode::from_u16(code).expect("a code"), b"{}", None));
        assert!(error(429).retry_pause(&Method::POST, 0).is_some());
        assert!(error(503).retry_pause(&Method::POST, 0).is_none());
        assert!(error(503).retry_pause(&Method::GET, 0).is_some());
        assert!(error(500).retry_pause(&Method::GET, 0).is_none());
    }
}
