//! The snapshot answers as a real API server does: one list of requests is sent to both, and codes, reasons and bodies are
//! compared.

mod requests;

use std::collections::HashMap;
use std::time::Duration;

use futures_util::FutureExt;
use http_body_util::BodyExt;
use kctl::snapshot::Snapshot;
use regex::Regex;
use serde_json::{Value, json};
use tower::Service;

use crate::testbed::{Cluster, wait_for};

const SETTLE: Duration = Duration::from_secs(20);

/// How much of an answer is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Compare {
    /// The code and the whole body, but for what differs from one run to the next.
    All,
    /// The code, the reason, and the object without managedFields and without what only the server adds: what the snapshot
    /// answers is there and the same. For built-in kinds, whose defaults a snapshot does not know.
    Subset,
    /// The code and the reason. For messages that hold a detail of the server's implementation.
    Reason,
    /// The code.
    Code,
}

/// One request. `NS` in the path and the body is the namespace of the test; `${NAME.uid}` and `${NAME.rv}` are those of the
/// answer that was kept under the name.
#[derive(Clone, Debug)]
struct Step {
    method: &'static str,
    path: String,
    content_type: &'static str,
    accept: &'static str,
    body: String,
    compare: Compare,
    keep: Option<&'static str>,
    /// Ask again until a server that works in the background is done: the code that tells.
    until: Option<u16>,
}

#[derive(Clone, Debug)]
struct Answer {
    code: u16,
    body: Value,
}

/// Who answers.
enum Side<'a> {
    Real(&'a Cluster),
    Memory(&'a Snapshot),
}

impl Side<'_> {
    fn ask(&self, step: &Step, kept: &HashMap<&'static str, Value>, namespace: &str) -> Answer {
        let fill = |text: &str| {
            let mut text = text.replace("NS", namespace);
            for (name, body) in kept {
                let field = |field: &str| body["metadata"][field].as_str().unwrap_or_default().to_owned();
                text = text.replace(&format!("${{{name}.uid}}"), &field("uid"));
                text = text.replace(&format!("${{{name}.rv}}"), &field("resourceVersion"));
                text = text.replace(&format!("${{{name}.continue}}"), &field("continue"));
            }
            text
        };
        let request = || {
            http::Request::builder()
                .method(step.method)
                .uri(fill(&step.path))
                .header("content-type", step.content_type)
                .header("accept", step.accept)
                .header("user-agent", "kctl/0.1.0")
                .body(fill(&step.body).into_bytes())
                .expect("a request")
        };
        match self {
            Self::Memory(snapshot) => {
                let request = request().map(kube::client::Body::from);
                let answer = snapshot.service().call(request).now_or_never().expect("an answer").expect("infallible");
                let code = answer.status().as_u16();
                let bytes =
                    answer.into_body().collect().now_or_never().expect("a body").expect("infallible").to_bytes();
                read(code, &bytes)
            }
            Self::Real(cluster) => wait_for(&format!("{} {}", step.method, step.path), SETTLE, || {
                let answer = cluster.exchange(request())?;
                let answer = read(answer.status().as_u16(), answer.body());
                // A kind that was just created answers so for a moment.
                let early = answer.code == 429 || step.until.is_some_and(|code| code != answer.code);
                if early { Err(format!("{answer:?}")) } else { Ok(answer) }
            }),
        }
    }
}

fn read(code: u16, bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes).into_owned();
    Answer { code, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
}

/// Takes out what differs from one run to the next.
fn normalised(mut answer: Answer, patterns: &[(Regex, &'static str)]) -> Answer {
    normalise(&mut answer.body, patterns);
    answer
}

fn normalise(value: &mut Value, patterns: &[(Regex, &'static str)]) {
    match value {
        Value::String(text) => {
            for (pattern, with) in patterns {
                if pattern.is_match(text) {
                    *text = pattern.replace_all(text, *with).into_owned();
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalise(item, patterns)),
        Value::Object(fields) => {
            // The snapshot takes a list as one field.
            if fields.keys().any(|key| key.starts_with("k:{") || key.starts_with("v:")) {
                fields.clear();
            }
            fields.remove("storageVersionHash");
            if let Some(Value::Array(verbs)) = fields.get_mut("verbs") {
                verbs.sort_by_key(Value::to_string);
            }
            // The server leaves the time out of an entry that only got a co-owner.
            if fields.contains_key("fieldsType") {
                fields.remove("time");
            }
            if let Some(Value::Array(entries)) = fields.get_mut("managedFields") {
                entries.sort_by_cached_key(|entry| {
                    [&entry["manager"], &entry["operation"], &entry["subresource"]].map(Value::to_string)
                });
            }
            for (key, field) in fields.iter_mut() {
                match key.as_str() {
                    "uid" | "resourceVersion" | "creationTimestamp" | "deletionTimestamp" | "lastTransitionTime"
                        if field.as_str().is_some_and(|text| !text.is_empty()) =>
                    {
                        *field = json!("<set>");
                    }
                    "continue" if field.as_str().is_some_and(|text| !text.is_empty()) => *field = json!("<token>"),
                    _ => normalise(field, patterns),
                }
            }
        }
        _ => {}
    }
}

fn patterns() -> Vec<(Regex, &'static str)> {
    [
        ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
        (r"(precondition|record) \(\d+\)", "$1 (<version>)"),
        (r"current: \d+", "current: <version>"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>"),
        ("gen-[a-z0-9]{5}", "gen-<random>"),
    ]
    .map(|(pattern, with)| (Regex::new(pattern).expect("a pattern"), with))
    .into()
}

/// Whether everything in `part` is in `whole`.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .filter(|(key, _)| *key != "managedFields")
            .all(|(key, value)| whole.get(key).is_some_and(|there| contains(there, value))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| contains(whole, part))
        }
        _ => whole == part,
    }
}

/// Where two answers differ, as JSON pointers with both values.
fn differences(path: &str, real: &Value, memory: &Value, out: &mut Vec<String>) {
    match (real, memory) {
        (Value::Object(one), Value::Object(other)) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                differences(&format!("{path}/{key}"), &real[key], &memory[key], out);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (real, memory)) in one.iter().zip(other).enumerate() {
                differences(&format!("{path}/{index}"), real, memory, out);
            }
        }
        _ if real == memory => {}
        _ => out.push(format!("  {path}\n    real:     {real}\n    snapshot: {memory}")),
    }
}

fn differ(compare: Compare, real: &Answer, memory: &Answer) -> bool {
    let reasons_differ =
        real.body["reason"] != memory.body["reason"] || real.body.is_string() != memory.body.is_string();
    real.code != memory.code
        || match compare {
            Compare::Code => false,
            Compare::Reason => reasons_differ,
            Compare::Subset => reasons_differ || !contains(&real.body, &memory.body),
            Compare::All => real.body != memory.body,
        }
}

#[test]
fn the_snapshot_answers_as_a_real_server() {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace("contract");
    let snapshot = Snapshot::empty();
    let memory = Side::Memory(&snapshot);
    let made = requests::post("/api/v1/namespaces", &json!({"metadata": {"name": namespace}}));
    assert_eq!(memory.ask(&made, &HashMap::new(), &namespace).code, 201);

    let patterns = patterns();
    let (mut kept_real, mut kept_memory) = (HashMap::new(), HashMap::new());
    let mut different = Vec::new();
    for (index, step) in requests::steps().into_iter().enumerate() {
        let real = Side::Real(cluster).ask(&step, &kept_real, &namespace);
        let answer = memory.ask(&step, &kept_memory, &namespace);
        if let Some(name) = step.keep {
            kept_real.insert(name, real.body.clone());
            kept_memory.insert(name, answer.body.clone());
        }
        let (real, answer) = (normalised(real, &patterns), normalised(answer, &patterns));
        if differ(step.compare, &real, &answer) {
            let mut lines = vec![format!("{index}: {} {} {}", step.method, step.path, step.body)];
            differences("code", &json!(real.code), &json!(answer.code), &mut lines);
            differences("", &real.body, &answer.body, &mut lines);
            different.push(lines.join("\n"));
        }
    }
    assert!(different.is_empty(), "{} answers differ:\n{}", different.len(), different.join("\n\n"));
}
