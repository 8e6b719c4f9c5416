//! The service as a whole, asked with plain requests; most expected answers were seen on a real API server (v1.36.3).

mod files;
mod requests;

use std::path::Path;

use futures_util::FutureExt;
use http::Request;
use http_body_util::BodyExt;
use serde_json::Value;
use tower::Service;

use super::Snapshot;

const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";

/// An answer: its code and its body, text as a string.
#[derive(Debug, PartialEq)]
struct Answer {
    code: u16,
    body: Value,
}

impl Answer {
    fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    fn names(&self) -> Vec<&str> {
        self.body["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
    }
}

fn send(snapshot: &Snapshot, method: &str, path: &str, content_type: &str, accept: &str, body: &str) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .header("accept", accept)
        .header("user-agent", "kctl/0.1")
        .body(kube::client::Body::from(body.as_bytes().to_vec()))
        .unwrap();
    let response = snapshot.service().call(request).now_or_never().unwrap().unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().now_or_never().unwrap().unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    Answer { code, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
}

fn get(snapshot: &Snapshot, path: &str) -> Answer {
    send(snapshot, "GET", path, "", JSON, "")
}

fn post(snapshot: &Snapshot, path: &str, body: &Value) -> Answer {
    send(snapshot, "POST", path, JSON, JSON, &body.to_string())
}

fn put(snapshot: &Snapshot, path: &str, body: &Value) -> Answer {
    send(snapshot, "PUT", path, JSON, JSON, &body.to_string())
}

fn patch(snapshot: &Snapshot, path: &str, kind: &str, body: &Value) -> Answer {
    send(snapshot, "PATCH", path, kind, JSON, &body.to_string())
}

fn delete(snapshot: &Snapshot, path: &str, body: &Value) -> Answer {
    send(snapshot, "DELETE", path, JSON, JSON, &body.to_string())
}

fn load(path: &Path) -> Snapshot {
    let (snapshot, warnings) = Snapshot::load(path, &mut std::io::empty(), "default").unwrap();
    assert_eq!(warnings, [""; 0]);
    snapshot
}

fn load_text(text: &str) -> Snapshot {
    Snapshot::load(Path::new("-"), &mut text.as_bytes(), "default").unwrap().0
}
