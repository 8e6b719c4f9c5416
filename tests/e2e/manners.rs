//! Exit codes and versions on a real API server.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::kctl::{Ran, kctl};
use crate::terminal::Terminal;
use crate::testbed::{Cluster, User, Validity};

fn on(user: &User, line: &str) -> Ran {
    kctl().kubeconfig(&user.kubeconfig).line(line).run()
}

#[test]
fn each_exit_code() {
    let cluster = Cluster::shared();
    let (admin, nobody) = (cluster.admin(), cluster.user("nobody"));
    let (ops, alt, id) = (cluster.namespace("ops"), cluster.namespace("alt"), cluster.unique("codes"));
    on(&admin, &format!("install -x {id} -n {ops}")).exits(0);
    on(&admin, &format!("install -x Bad_Id -n {ops}")).exits(2);
    on(&admin, &format!("install -x {id} -n {alt}")).exits(3);
    on(&nobody, &format!("install -x {id}-b -n {alt}")).exits(4);
    on(&admin, "list-operators --context nowhere").exits(5);
    // Nothing starts pods here, so the operator never becomes available.
    on(&admin, &format!("install -x {id} -n {ops} --wait --timeout 300ms")).exits(6);
    let expired = cluster.certificate_user("late", "system:masters", Validity::Expired);
    on(&expired, "version").exits(4);
    let wrong = cluster.kubeconfig_with(&json!({"token": "wrong"}));
    let refused = kctl().kubeconfig(&wrong).line("version -o json").run().exits(4);
    let error: serde_json::Value = serde_json::from_str(refused.stderr.trim()).expect("one JSON object");
    assert_eq!((&error["code"], &error["reason"]), (&json!(4), &json!("NotAuthorised")), "{refused}");
    let nowhere = kctl().line("version --server https://127.0.0.1:1 --token t").run();
    assert_eq!(nowhere.exits(1).stderr.matches("error: ").count(), 1);
}

#[test]
fn interrupted_is_130_and_nothing_was_changed() {
    let cluster = Cluster::shared();
    let (admin, ops, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("stopped"));
    let gate = cluster.gate(&admin);
    gate.hold_when(|_, request| request.starts_with("GET"));
    let line = kctl().kubeconfig(gate.kubeconfig()).line(&format!("install -x {id} -n {ops}"));
    let mut child = line.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let held = gate.wait_held(std::time::Duration::from_secs(30), || child.try_wait().is_ok_and(|end| end.is_some()));
    assert!(held.is_some(), "a request is on its way");
    assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().expect("kill").success());
    let output = child.wait_with_output().expect("an end");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted; nothing was changed"), "{said}");
    gate.open();
}

#[test]
fn version_sees_every_operator_or_says_what_it_could_not_read() {
    let cluster = Cluster::shared();
    let (admin, nobody) = (cluster.admin(), cluster.user("nobody"));
    let (ops, id) = (cluster.namespace("ops"), cluster.unique("versions"));
    on(&admin, &format!("install -x {id} -n {ops} --operator-version 2.9.0")).succeeds();
    let all = on(&admin, "version -o json").succeeds().json();
    let operators = all["operators"].as_array().expect("operators");
    let found = operators.iter().find(|operator| operator["id"] == id.as_str()).expect("the operator");
    assert_eq!(*found, json!({"id": id, "family": "camel-k", "namespace": ops, "version": "2.9.0"}));
    assert!(all["server"]["gitVersion"].as_str().is_some_and(|version| version.starts_with('v')), "{all}");
    let some = on(&nobody, "version -o json").succeeds().json();
    assert_eq!(some["server"], all["server"], "everybody may ask for that");
    assert!(some["warnings"][0].as_str().is_some_and(|text| text.contains("not allowed to read")), "{some}");
    let mark = cluster.audit_mark();
    on(&admin, "version --client").succeeds();
    assert_eq!(cluster.requests_since(mark, &admin).len(), 0);
}

/// On a terminal one line that is written over and fits, elsewhere a line each time.
#[test]
fn progress_is_one_line_on_a_terminal() {
    let cluster = Cluster::shared();
    let (admin, ops, id) = (cluster.admin(), cluster.namespace("ops"), cluster.unique("progress"));
    on(&admin, &format!("install -x {id} -n {ops}")).succeeds();
    let line = format!("install -x {id} -n {ops} --wait --timeout 500ms");
    let piped = on(&admin, &line).exits(6);
    let progress = piped.stderr.lines().find(|line| line.starts_with("waiting for ")).expect("progress").to_owned();
    assert!(progress.chars().count() > 20 && !piped.stderr.contains('\r'), "{piped}");
    let quiet = on(&admin, &format!("{line} -q")).exits(6);
    assert!(!quiet.stderr.contains(&progress), "{quiet}");

    let kctl = kctl().kubeconfig(&admin.kubeconfig).env("TERM", "xterm").line(&line);
    let (seen, code) = Terminal::new(kctl.command(), 20).end();
    assert_eq!(code, 6, "{seen}");
    let cut: String = progress.chars().take(18).chain(['…']).collect();
    assert!(seen.contains(&format!("{cut}\r\u{1b}[2K\r")), "cut, then wiped: {seen:?}");
    assert!(!seen.contains(&progress), "{seen:?}");
}
