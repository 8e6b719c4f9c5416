//! Each exit code, as a user comes upon it.

use std::process::{Command, Stdio};

use kctl::error::Exit;
use serde_json::json;

use crate::{
    kctl::{Ran, kctl},
    server::{Server, status},
};

fn demo(line: &str) -> Ran {
    kctl().dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo").as_ref()).line(line).run()
}

fn on(server: &Server, line: &str) -> Ran {
    kctl().kubeconfig(&server.kubeconfig()).line(line).run()
}

#[test]
fn each_code() {
    let down = Server::new(|_| None);
    for (exit, _) in Exit::ALL {
        let ran = match exit {
            Exit::Done => demo("list-operators --from cluster.yaml"),
            Exit::Failed => on(&Server::new(|_| status(500, "InternalError", "etcd is away")), "version"),
            Exit::Usage => demo("list-operators --from no-such-file"),
            Exit::Refused => demo("install -x camel-k -n team-a --from cluster.yaml"),
            Exit::NotAuthorised => on(&Server::new(|_| status(401, "Unauthorized", "Unauthorized")), "version"),
            Exit::NotFound => on(&down, "list-operators --context producton"),
            Exit::Deadline => on(&down, "version --request-timeout 300ms"),
            // No command looks for findings yet.
            Exit::Findings => continue,
            Exit::Interrupted => {
                interrupted();
                continue;
            }
        };
        let ran = ran.exits(i32::from(exit.code()));
        if exit != Exit::Done {
            assert_eq!(ran.stderr.matches("error: ").count(), 1, "{ran}");
            assert!(ran.stderr.contains("hint: "), "a way on: {ran}");
        }
    }
}

/// SIGINT while the server has not answered yet.
#[cfg(unix)]
fn interrupted() {
    for signal in ["INT", "TERM"] {
        let server = Server::new(|_| None);
        let line = kctl().kubeconfig(&server.kubeconfig()).line("list-operators");
        let child = line.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        server.next_request();
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        let output = child.wait_with_output().expect("an end");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert!(stderr.contains("interrupted; nothing was changed"), "{stderr}");
    }
}

#[test]
fn errors_are_one_json_object_where_json_is_spoken() {
    let by_flag = demo("list-operators --from no-such-file -o json").exits(2);
    let not_parsed = demo("list-operators --namspace x --output=json").exits(2);
    let no_command = demo("-o json").exits(2);
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo");
    let by_variable = kctl()
        .dir(dir.as_ref())
        .env("KCTL_ERRORS", "json")
        .line("run -x nobody hello.yaml --from cluster.yaml")
        .run()
        .exits(5);
    for ran in [&by_flag, &not_parsed, &no_command, &by_variable] {
        assert_eq!(ran.stdout, "", "{ran}");
        let last = ran.stderr.lines().last().expect("an error");
        let error: serde_json::Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {ran}"));
        assert_eq!(error["code"], ran.code.expect("a code"), "{ran}");
        for key in ["reason", "message"] {
            assert!(error[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {ran}");
        }
        assert!(error["hints"].as_array().is_some_and(|hints| !hints.is_empty()), "{ran}");
        let known = ["code", "reason", "message", "object", "context", "hints"];
        assert!(error.as_object().expect("an object").keys().all(|key| known.contains(&key.as_str())), "{ran}");
    }
    assert!(not_parsed.stderr.contains("did you mean '--namespace'?"), "{not_parsed}");
}

#[test]
fn odd_server_versions_never_fail() {
    for (answer, shown) in [
        (json!({"major": "1", "minor": "30+", "gitVersion": "v1.30.2-eks-db838b0"}), "v1.30.2-eks-db838b0"),
        (json!({"major": "1", "minor": "20+", "gitVersion": "20+"}), "20+"),
        (json!({"gitVersion": "not semver \u{1b}[31m"}), "not semver \u{fffd}[31m"),
        (json!({"major": 1, "minor": 36}), "1.36"),
        (json!([]), "<unknown>"),
    ] {
        let body = answer.to_string();
        let server = Server::new(move |request| match request.split('?').next() {
            Some("GET /version") => Some((200, body.clone())),
            _ => status(403, "Forbidden", "no"),
        });
        let ran = on(&server, "version").succeeds();
        let line = ran.stdout.lines().find(|line| line.starts_with("server ")).expect("the server");
        assert!(line.ends_with(shown), "{ran}");
        let json = on(&server, "version -o json").succeeds().json();
        assert_eq!(json["operators"], json!([]), "none of them may be read");
        assert!(json["warnings"][0].as_str().is_some_and(|text| text.contains("not allowed to read")), "{json}");
    }
}

#[test]
fn version_of_the_client_contacts_nobody() {
    let server = Server::new(|request| panic!("{request}"));
    let ran = on(&server, "version --client -o json").succeeds();
    assert_eq!(ran.json()["client"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(ran.json().get("server").is_none(), "{ran}");
    let without_answer = on(&Server::new(|_| status(500, "InternalError", "away")), "version").exits(1);
    assert!(
        without_answer.stdout.contains(env!("CARGO_PKG_VERSION")),
        "the client is known all the same: {without_answer}"
    );
}
