//! A small blocking client for seeding and asserting.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;

use super::users::Endpoint;
use super::wait::{try_wait_for, wait_for};

const TIMEOUT: Duration = Duration::from_secs(60);
/// How long a kind whose CRD was just created may be unknown or answer 429.
const SETTLE: Duration = Duration::from_secs(20);

/// An HTTP answer; the body is null when it was no JSON.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.body["message"].as_str().unwrap_or_default())
    }
}

/// A blocking client of one API server. Paths are absolute and may have a query.
pub struct Client {
    runtime: tokio::runtime::Runtime,
    inner: kube::Client,
    user_agent: String,
    /// apiVersion and kind to plural and whether it is namespaced.
    kinds: Mutex<HashMap<(String, String), (String, bool)>>,
}

impl Client {
    /// A client with `credentials` (what stands under `user:` in a kubeconfig).
    pub fn new(endpoint: &Endpoint, credentials: &Value, user_agent: &str) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(text)?;
        let kubeconfig = endpoint.kubeconfig("testbed", credentials, "default");
        let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).map_err(text)?;
        let inner = runtime.block_on(async {
            let options = KubeConfigOptions::default();
            let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(text)?;
            config.default_retry = false;
            kube::Client::try_from(config).map_err(text)
        })?;
        Ok(Self { runtime, inner, user_agent: user_agent.into(), kinds: Mutex::default() })
    }

    /// Sends one request as it is (path and query as its URI) and gives whatever the server answers.
    pub fn exchange(&self, request: http::Request<Vec<u8>>) -> Result<http::Response<Bytes>, String> {
        self.within_timeout(async {
            let (head, body) = self.inner.send(self.ready(request)?).await.map_err(text)?.into_parts();
            Ok(http::Response::from_parts(head, body.collect().await.map_err(text)?.to_bytes()))
        })
    }

    /// Sends one request and waits for the head of the answer only; see [`Self::next_chunk`].
    pub(super) fn begin(&self, request: http::Request<Vec<u8>>) -> Result<http::Response<Body>, String> {
        self.within_timeout(async { self.inner.send(self.ready(request)?).await.map_err(text) })
    }

    /// Waits for the next piece of an answer, as long as it takes; a watch may have nothing to say.
    pub(super) fn next_chunk(&self, answer: &mut http::Response<Body>) -> Result<Option<Bytes>, String> {
        self.runtime.block_on(async {
            while let Some(frame) = answer.body_mut().frame().await {
                match frame.map_err(text)?.into_data() {
                    Ok(data) if !data.is_empty() => return Ok(Some(data)),
                    _ => {}
                }
            }
            Ok(None)
        })
    }

    fn ready(&self, mut request: http::Request<Vec<u8>>) -> Result<http::Request<Body>, String> {
        let agent = self.user_agent.parse().map_err(text)?;
        request.headers_mut().entry(USER_AGENT).or_insert(agent);
        Ok(request.map(Body::from))
    }

    fn within_timeout<T>(&self, exchange: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        self.runtime.block_on(async {
            tokio::time::timeout(TIMEOUT, exchange).await.unwrap_or_else(|_| Err(format!("no answer in {TIMEOUT:?}")))
        })
    }

    /// Sends one request; `body` goes with its content type.
    pub fn send(&self, method: &str, path: &str, body: Option<(&str, &Value)>) -> Result<Answer, String> {
        let builder = http::Request::builder().method(method).uri(path);
        let request = match body {
            Some((content_type, value)) => {
                builder.header(CONTENT_TYPE, content_type).body(value.to_string().into_bytes())
            }
            None => builder.body(Vec::new()),
        };
        let answer = self.exchange(request.map_err(text)?)?;
        let body = serde_json::from_slice(answer.body()).unwrap_or_default();
        Ok(Answer { status: answer.status().as_u16(), body })
    }

    /// Like [`Self::send`], but waits out a kind that was just created and panics when the server does not answer.
    #[track_caller]
    pub fn call(&self, method: &str, path: &str, body: Option<(&str, &Value)>) -> Answer {
        wait_for(&format!("an answer to {method} {path}"), SETTLE, || match self.send(method, path, body) {
            Ok(answer) if answer.status == 429 => Err(answer.to_string()),
            other => Ok(other),
        })
        .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    #[track_caller]
    fn expect(&self, method: &str, path: &str, body: Option<(&str, &Value)>) -> Value {
        let answer = self.call(method, path, body);
        assert!(answer.is_success(), "{method} {path}: {answer}");
        answer.body
    }

    /// What is at `path`; it must be there.
    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        self.expect("GET", path, None)
    }

    /// What is at `path`, if anything.
    #[track_caller]
    pub fn find(&self, path: &str) -> Option<Value> {
        let answer = self.call("GET", path, None);
        assert!(answer.is_success() || answer.status == 404, "GET {path}: {answer}");
        answer.is_success().then_some(answer.body)
    }

    /// Posts `body` to a collection or a review.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Value {
        self.expect("POST", path, Some(("application/json", body)))
    }

    /// Replaces the object at `path`.
    #[track_caller]
    pub fn put(&self, path: &str, body: &Value) -> Value {
        self.expect("PUT", path, Some(("application/json", body)))
    }

    /// Merge-patches the object at `path`; `path/status` for its status.
    #[track_caller]
    pub fn merge(&self, path: &str, change: &Value) -> Value {
        self.expect("PATCH", path, Some(("application/merge-patch+json", change)))
    }

    /// Deletes what is at `path`, an object or a collection; it may be gone already.
    #[track_caller]
    pub fn delete(&self, path: &str) {
        let answer = self.call("DELETE", path, None);
        assert!(answer.is_success() || answer.status == 404, "DELETE {path}: {answer}");
    }

    /// Creates an object; its path follows from its kind.
    #[track_caller]
    pub fn create(&self, object: &Value) -> Value {
        self.post(&self.collection_of(object), object)
    }

    /// Applies an object as field manager `manager`, taking fields from others.
    #[track_caller]
    pub fn apply(&self, object: &Value, manager: &str) -> Value {
        let path = format!("{}?fieldManager={manager}&force=true", self.path_of(object));
        self.expect("PATCH", &path, Some(("application/apply-patch+yaml", object)))
    }

    /// Applies every document of `yaml`, in order.
    #[track_caller]
    pub fn apply_yaml(&self, yaml: &str, manager: &str) -> Vec<Value> {
        let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap_or_else(|error| panic!("{error}"));
        documents.iter().map(|object| self.apply(object, manager)).collect()
    }

    /// The path of an object, from its kind, namespace and name.
    #[track_caller]
    pub fn path_of(&self, object: &Value) -> String {
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        format!("{}/{}", self.collection_of(object), name.unwrap_or_else(|| panic!("no name in {object}")))
    }

    #[track_caller]
    fn collection_of(&self, object: &Value) -> String {
        let text = |key: &str| object[key].as_str().unwrap_or_else(|| panic!("no {key} in {object}")).to_owned();
        let (version, kind) = (text("apiVersion"), text("kind"));
        let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        let (plural, namespaced) = self.kind(&root, &version, &kind);
        match object.pointer("/metadata/namespace").and_then(Value::as_str) {
            Some(namespace) if namespaced => format!("{root}/namespaces/{namespace}/{plural}"),
            None if namespaced => panic!("no namespace in {object}"),
            _ => format!("{root}/{plural}"),
        }
    }

    /// Asks the server for the plural of a kind; one that is not served yet is waited for.
    #[track_caller]
    fn kind(&self, root: &str, version: &str, kind: &str) -> (String, bool) {
        let key = (version.to_owned(), kind.to_owned());
        if let Some(known) = self.kinds.lock().expect("no panic while locked").get(&key) {
            return known.clone();
        }
        let found = try_wait_for(&format!("kind {kind} of {version} to be served"), SETTLE, || {
            let list = self.send("GET", root, None)?;
            let resources = list.body["resources"].as_array().into_iter().flatten();
            let mut hits =
                resources.filter(|r| r["kind"] == kind && r["name"].as_str().is_some_and(|n| !n.contains('/')));
            let hit = hits.next().ok_or_else(String::new)?;
            Ok((hit["name"].as_str().unwrap_or_default().to_owned(), hit["namespaced"] == true))
        });
        let found = found.unwrap_or_else(|error| panic!("{error}"));
        self.kinds.lock().expect("no panic while locked").insert(key, found.clone());
        found
    }
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}
