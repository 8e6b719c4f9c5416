//! The snapshot as a tower service, in the place of a connection to an API server.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use super::{
    LoggedRequest,
    call::{Call, Reply},
    discovery,
    request::{Query, Route, Target, Verb, route},
    status::ApiError,
    store::Store,
};

/// The Kubernetes version the answers are modelled on.
const SERVER_VERSION: &str = "v1.36.3+snapshot";

/// What all clones of a snapshot share.
#[derive(Debug)]
pub(super) struct State {
    pub store: Store,
    pub requests: Vec<LoggedRequest>,
}

/// Answers requests as an API server would, from a snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotService(pub(super) Arc<Mutex<State>>);

/// Locks a state. One that was left by a panic is used as it is: every write ends with one insert.
pub(super) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl tower::Service<Request<kube::client::Body>> for SnapshotService {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let state = Arc::clone(&self.0);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let reply = match body.collect().await {
                Ok(body) => {
                    let path = parts.uri.path();
                    let query = parts.uri.query().unwrap_or_default();
                    let mut state = lock(&state);
                    state.requests.push(LoggedRequest::new(&parts.method, path, query));
                    answer(&mut state.store, &parts.method, path, query, &parts.headers, &body.to_bytes())
                }
                Err(error) => ApiError::bad_request(error.to_string()).into(),
            };
            Ok(response(reply))
        })
    }
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(reply.body));
    *response.status_mut() = reply.code;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(reply.content_type));
    response
}

fn answer(store: &mut Store, method: &Method, path: &str, query: &str, headers: &HeaderMap, body: &[u8]) -> Reply {
    let text = |name| headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok()).unwrap_or_default();
    let accept = text(header::ACCEPT);
    let registry = &store.registry;
    let discovered = match route(path) {
        Route::Version => Ok(version()),
        Route::Health => {
            return Reply { content_type: "text/plain; charset=utf-8", ..Reply::json(StatusCode::OK, "ok") };
        }
        Route::CoreVersions if discovery::wants_aggregated(accept) => return discovery::aggregated(registry, true),
        Route::Groups if discovery::wants_aggregated(accept) => return discovery::aggregated(registry, false),
        Route::CoreVersions => Ok(discovery::core_versions()),
        Route::Groups => Ok(discovery::groups(registry)),
        Route::Group(name) => discovery::group(registry, &name),
        Route::Resources { group, version } => discovery::resources(registry, &group, &version),
        Route::Unknown => Err(ApiError::page_not_found()),
        Route::Objects(target) => {
            let agent = text(header::USER_AGENT).split('/').next().unwrap_or_default();
            let content_type = text(header::CONTENT_TYPE);
            return objects(store, method, &target, query, &Sender { accept, agent, content_type }, body)
                .unwrap_or_else(Reply::from);
        }
    };
    match discovered {
        Ok(value) if *method == Method::GET => Reply::ok(&value),
        Ok(_) => ApiError::method_not_allowed().into(),
        Err(error) => error.into(),
    }
}

/// What the headers tell of a client.
struct Sender<'a> {
    accept: &'a str,
    agent: &'a str,
    content_type: &'a str,
}

fn objects(
    store: &mut Store,
    method: &Method,
    target: &Target,
    query: &str,
    sender: &Sender<'_>,
    body: &[u8],
) -> Result<Reply, ApiError> {
    if target.group == "authorization.k8s.io" && target.plural == "selfsubjectaccessreviews" {
        return if *method == Method::POST { review(body) } else { Err(ApiError::method_not_allowed()) };
    }
    let Some(resource) = store.registry.find(&target.group, &target.plural).cloned() else {
        return Err(unserved(store, &target.group));
    };
    let scoped = target.namespace.is_some();
    let possible = if resource.namespaced { scoped || target.name.is_none() } else { !scoped };
    if resource.version(&target.version).is_none() || !possible {
        return Err(unserved(store, &target.group));
    }
    let verb = match *method {
        Method::GET => Verb::Read,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE => Verb::Delete,
        _ => return Err(ApiError::method_not_allowed()),
    };
    let query = Query::parse(query, verb)?;
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut call = Call { store, resource, target, query, accept: sender.accept, agent: sender.agent, now };
    call.check_subresource()?;
    match (verb, target.name.is_some()) {
        (Verb::Read, true) => call.get(),
        (Verb::Read, false) if call.query.watch => call.watch(),
        (Verb::Read, false) => call.list(),
        (Verb::Create, false) if scoped || !call.resource.namespaced => call.create(body),
        (Verb::Update, true) => call.replace(body),
        (Verb::Patch, true) => call.patch(sender.content_type, body),
        (Verb::Delete, true) => call.delete(body),
        (Verb::Delete, false) if scoped || !call.resource.namespaced => call.delete_collection(body),
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// A kind that is not there: groups of custom resources and unknown groups answer in text, built-in ones do not.
fn unserved(store: &Store, group: &str) -> ApiError {
    if store.registry.iter().any(|resource| resource.group == group && !resource.custom) {
        ApiError::no_such_resource()
    } else {
        ApiError::page_not_found()
    }
}

/// A `SelfSubjectAccessReview`: whoever holds the files may do everything with them.
fn review(body: &[u8]) -> Result<Reply, ApiError> {
    let mut review: Value = serde_json::from_slice(body).map_err(|error| ApiError::bad_request(error.to_string()))?;
    if !review.is_object() {
        return Err(ApiError::bad_request("the body is no SelfSubjectAccessReview"));
    }
    review["kind"] = json!("SelfSubjectAccessReview");
    review["apiVersion"] = json!("authorization.k8s.io/v1");
    review["status"] = json!({"allowed": true});
    Ok(Reply::json(StatusCode::CREATED, review.to_string()))
}

fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "gitVersion": SERVER_VERSION, "gitCommit": "", "gitTreeState": "", "buildDate": "",
        "goVersion": "", "compiler": "", "platform": "snapshot",
    })
}

impl Call<'_> {
    /// Only the status and the scale can be asked for, and only of kinds that have them.
    fn check_subresource(&self) -> Result<(), ApiError> {
        let version = self.version();
        let served = match self.target.subresource.as_deref() {
            None => true,
            Some("status") => version.status,
            Some("scale") => version.scale.is_some(),
            Some(_) => false,
        };
        match served {
            true => Ok(()),
            false if self.resource.custom => Err(ApiError::not_found(&self.resource, self.name())),
            false => Err(ApiError::no_such_resource()),
        }
    }
}
