//! How kctl connects: credentials, plugins, deadlines, and what it says when it cannot.

use std::{
    fs,
    io::Read as _,
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    thread,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::kctl::kctl;
use crate::testbed::{Cluster, User, Validity};

/// A server that takes connections and never answers.
fn silent_server() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        let streams: Vec<_> = listener.incoming().collect();
        drop(streams);
    });
    format!("http://{address}")
}

fn kubeconfig(folder: &Path, name: &str, config: &Value) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, config.to_string()).expect("written");
    path
}

/// The kubeconfig of a user as a value, to be changed.
fn config_of(user: &User) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(&user.kubeconfig).expect("readable")).expect("a kubeconfig")
}

#[test]
fn an_exec_plugin_runs_once_and_its_token_is_used() {
    let cluster = Cluster::shared();
    let admin = cluster.admin();
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let plugin = folder.path().join("plugin");
    let answer = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": admin.token}});
    fs::write(&plugin, format!("#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" >> {}\necho '{answer}'\n", log.display()))
        .expect("written");
    fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755)).expect("executable");
    let mut config = config_of(&admin);
    config["users"][0]["user"] = json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin",
        "interactiveMode": "Never", "provideClusterInfo": true}});
    let path = kubeconfig(folder.path(), "config", &config);
    kctl().kubeconfig(&path).line("list-operators").run().succeeds();
    let calls = fs::read_to_string(&log).expect("it ran");
    assert_eq!(calls.lines().count(), 1, "{calls}");
    let info: Value = serde_json::from_str(calls.trim()).expect("JSON");
    assert_eq!(info["spec"]["cluster"]["server"], *cluster.url());
    assert_eq!(info["spec"]["interactive"], false);
}

#[test]
fn a_plugin_that_fails_or_sleeps_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |script: &str, more: &str| {
        let plugin = folder.path().join("plugin");
        fs::write(&plugin, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755)).expect("executable");
        let config = json!({"current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
            "clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "x", "user": {"exec": {"command": "./plugin", "installHint": "install the plugin", "interactiveMode": "Never"}}}]});
        kctl().kubeconfig(&kubeconfig(folder.path(), "config", &config)).line(&format!("list-operators {more}")).run()
    };
    let failed = run("exit 7", "").exits(4);
    assert!(failed.stderr.contains("exit status: 7") && failed.stderr.contains("hint: install the plugin"), "{failed}");
    let garbled = run("echo nonsense", "").exits(4);
    assert!(garbled.stderr.contains("no ExecCredential"), "{garbled}");
    let asleep = run("exec sleep 60", "--request-timeout 300ms").exits(6);
    assert!(asleep.stderr.contains("did not answer"), "{asleep}");
}

#[test]
fn a_server_that_does_not_answer_ends_in_a_deadline() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = kctl()
        .line(&format!("list-operators --server {} --request-timeout 300ms", silent_server()))
        .dir(folder.path())
        .run()
        .exits(6);
    assert!(ran.stderr.contains("no answer within 300ms") && ran.stderr.contains("--request-timeout"), "{ran}");
}

#[test]
fn refused_credentials_are_told_apart_from_missing_rights() {
    let cluster = Cluster::shared();
    let refused = kctl()
        .kubeconfig(&cluster.kubeconfig_with(&json!({"token": "wrong"})))
        .line("install -x a -n default")
        .run()
        .exits(4);
    assert!(refused.stderr.contains("refused the credentials"), "{refused}");
    let nobody = cluster.user("nobody");
    let forbidden = kctl().kubeconfig(&nobody.kubeconfig).line("install -x a -n default").run().exits(4);
    assert!(forbidden.stderr.contains(&nobody.name), "{forbidden}");
    let expired = cluster.certificate_user("old", "system:masters", Validity::Expired);
    let expired = kctl().kubeconfig(&expired.kubeconfig).line("install -x a -n default").run();
    assert!(matches!(expired.code, Some(1 | 4)) && expired.stderr.contains("hint: "), "{expired}");
    let valid = cluster.certificate_user("fresh", "system:masters", Validity::Valid);
    kctl().kubeconfig(&valid.kubeconfig).line("list-operators").run().succeeds();
}

#[test]
fn an_unknown_authority_is_named_with_the_flag_that_helps() {
    let cluster = Cluster::shared();
    let mut config = config_of(&cluster.admin());
    let authority = config["clusters"][0]["cluster"]
        .as_object_mut()
        .expect("a cluster")
        .remove("certificate-authority-data")
        .expect("an authority");
    let folder = tempfile::tempdir().expect("a folder");
    let path = kubeconfig(folder.path(), "config", &config);
    let ran = kctl().kubeconfig(&path).line("list-operators").run().exits(1);
    assert!(ran.stderr.contains("unknown authority") && ran.stderr.contains("--certificate-authority"), "{ran}");
    kctl().kubeconfig(&path).line("list-operators --insecure-skip-tls-verify").run().succeeds();
    let pem = BASE64_STANDARD.decode(authority.as_str().expect("text")).expect("base64");
    let file = folder.path().join("ca.pem");
    fs::write(&file, pem).expect("written");
    kctl()
        .kubeconfig(&path)
        .line(&format!("list-operators --certificate-authority {}", file.display()))
        .run()
        .succeeds();
}

#[test]
fn several_kubeconfig_files_are_merged_and_a_missing_one_is_skipped() {
    let cluster = Cluster::shared();
    let admin = cluster.admin();
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config_of(&admin);
    let contexts = json!({"current-context": config["current-context"], "contexts": config["contexts"].take()});
    let one = kubeconfig(folder.path(), "one", &contexts);
    let two = kubeconfig(folder.path(), "two", &config);
    let paths = std::env::join_paths([one.as_path(), &folder.path().join("missing"), &two]).expect("paths");
    kctl().env("KUBECONFIG", paths).line("list-operators").run().succeeds();
    let missing = kctl().line("list-operators --kubeconfig /no/such/file").run().exits(2);
    assert!(missing.stderr.contains("/no/such/file does not exist"), "{missing}");
}

#[test]
fn impersonation_and_the_user_agent_reach_the_server() {
    let cluster = Cluster::shared();
    let admin = cluster.admin();
    let mark = cluster.audit_mark();
    let ran =
        kctl().kubeconfig(&admin.kubeconfig).line("install -x a -n default --as jane --as-group devs").run().exits(4);
    assert!(ran.stderr.contains("User \"jane\" cannot"), "{ran}");
    let requests = cluster.requests_since(mark, &admin);
    assert!(!requests.is_empty());
    for request in &requests {
        assert_eq!(request.user_agent, concat!("kctl/", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn a_proxy_of_the_kubeconfig_is_used_and_the_environments_is_not_for_loopback() {
    let cluster = Cluster::shared();
    let mut config = config_of(&cluster.admin());
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let proxy = format!("http://{}", listener.local_addr().expect("bound"));
    let folder = tempfile::tempdir().expect("a folder");
    let plain = kubeconfig(folder.path(), "plain", &config);
    kctl().kubeconfig(&plain).env("HTTPS_PROXY", &proxy).line("list-operators").run().succeeds();
    let asked = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut start = [0; 8];
        stream.read_exact(&mut start).expect("a request");
        String::from_utf8_lossy(&start).into_owned()
    });
    config["clusters"][0]["cluster"]["proxy-url"] = json!(proxy);
    kctl().kubeconfig(&kubeconfig(folder.path(), "proxied", &config)).line("list-operators").run().exits(1);
    assert_eq!(asked.join().expect("it ended"), "CONNECT ");
}

#[test]
fn bodies_and_tokens_never_reach_the_log() {
    let cluster = Cluster::shared();
    let admin = cluster.admin();
    let ran = kctl().kubeconfig(&admin.kubeconfig).line("list-operators -vvv").run().succeeds();
    assert!(ran.stderr.contains("/apis/apps/v1/deployments"), "requests are logged: {ran}");
    assert!(!ran.stderr.contains(&admin.token), "the token is not");
    assert!(!ran.stderr.contains("\"items\""), "nor are bodies");
}
