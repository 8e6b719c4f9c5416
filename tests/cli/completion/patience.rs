//! An answer within a second, whatever happens on the other side; nothing said, nothing asked, nothing left behind.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use super::{furnished, write};
use crate::shells::{Desk, desk};

const LIMIT: Duration = Duration::from_secs(1);

fn pointed_at(server: &str, user: &str) -> Desk {
    let desk = desk();
    let config = format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u, namespace: mine}}}}], \
         clusters: [{{name: c, cluster: {{server: '{server}'}}}}], users: [{{name: u, user: {user}}}]}}"
    );
    write(&desk, "config", &config);
    desk.env("KUBECONFIG", "config").env("KCTL_COMPLETE_TIMEOUT", "")
}

/// A server that takes connections and requests and never answers.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    (listener, address)
}

/// A server that knows two namespaces, and how often it was asked.
fn talking() -> (String, Arc<AtomicUsize>) {
    let (listener, address) = silent();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            counter.fetch_add(1, Ordering::SeqCst);
            let body = r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[{"metadata":{"name":"team-b"}},{"metadata":{"name":"team-a"}}]}"#;
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    (address, asked)
}

/// What is offered, in time. A busy machine may hold any process up, but not always.
#[track_caller]
fn timed(desk: &Desk, words: &[&str]) -> Vec<String> {
    let mut took = Vec::new();
    for _ in 0..5 {
        let started = Instant::now();
        let offers = desk.offers(words);
        took.push(started.elapsed());
        if started.elapsed() < LIMIT {
            return offers;
        }
    }
    panic!("{words:?} took {took:?}");
}

#[test]
fn a_silent_server_is_given_up() {
    let (_listener, address) = silent();
    let desk = pointed_at(&address, "{}");
    for words in [&["run", "-x", ""][..], &["run", "--name", ""], &["install", "--operator-version", "3"]] {
        assert_eq!(timed(&desk, words), Vec::<String>::new());
    }
    assert_eq!(timed(&desk, &["-n", ""]), ["mine"], "the kubeconfig's own namespaces are better than none");
    assert_eq!(timed(&desk, &["install", "--operator-version", "2.10.1"]), ["2.10.1"], "what is known needs no server");
}

#[test]
fn whoever_has_a_slow_plugin_may_wait_longer() {
    let (address, _) = talking();
    let user = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: Never}}";
    let desk = pointed_at(&address, user).env("KCTL_COMPLETE_TIMEOUT", "20s");
    let answer =
        r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}'"#;
    plugin(&desk, &format!("sleep 1; {answer}"));
    assert_eq!(desk.offers(&["-n", "team"]), ["team-a", "team-b"]);
}

#[test]
fn an_address_that_leads_nowhere_is_given_up() {
    // Reserved for documentation: packets to it are dropped or refused.
    for server in ["http://192.0.2.1:6443", "http://no-such-host.invalid:6443"] {
        assert_eq!(timed(&pointed_at(server, "{}"), &["run", "-x", ""]), Vec::<String>::new());
    }
}

#[test]
fn answers_are_kept_and_served_when_the_server_is_gone() {
    let (address, asked) = talking();
    let desk = pointed_at(&address, "{}").env("KCTL_COMPLETE_TIMEOUT", "20s");
    assert_eq!(desk.offers(&["-n", "team"]), ["team-a", "team-b"]);
    assert_eq!(desk.offers(&["-n", "team-b"]), ["team-b"]);
    assert_eq!(asked.load(Ordering::SeqCst), 1, "the second answer was kept");
    assert_eq!(desk.offers(&["--as", "jane", "-n", "team"]).len(), 2);
    assert_eq!(asked.load(Ordering::SeqCst), 2, "another user may see other things");

    let dir = desk.home().join(".cache/kctl/completion");
    for entry in fs::read_dir(&dir).expect("the cache").flatten() {
        let text = fs::read_to_string(entry.path()).expect("an answer");
        assert_eq!(text, r#"[{"name":"team-a"},{"name":"team-b"}]"#);
        assert_eq!(entry.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
        let file = fs::File::options().write(true).open(entry.path()).expect("an answer");
        file.set_modified(SystemTime::now() - Duration::from_secs(61)).expect("dated back");
    }
    assert_eq!(desk.offers(&["-n", "team"]).len(), 2);
    assert_eq!(asked.load(Ordering::SeqCst), 3, "an old answer is asked for again");
}

#[test]
fn an_old_answer_is_better_than_none() {
    let (address, _) = talking();
    let desk = pointed_at(&address, "{}").env("KCTL_COMPLETE_TIMEOUT", "20s");
    assert_eq!(desk.offers(&["-n", "team"]).len(), 2);
    let desk = desk.env("KCTL_COMPLETE_TIMEOUT", "");
    let dir = desk.home().join(".cache/kctl/completion");
    let kept: Vec<_> = fs::read_dir(&dir).expect("the cache").flatten().map(|entry| entry.path()).collect();
    let [kept] = &kept[..] else { panic!("{kept:?}") };
    let file = fs::File::options().write(true).open(kept).expect("an answer");
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).expect("dated back");
    // The same user of the same server, through a proxy that does not answer.
    let (_listener, proxy) = silent();
    let config = fs::read_to_string(desk.home().join("config")).expect("the kubeconfig");
    write(&desk, "config", &config.replace("server: '", &format!("proxy-url: '{proxy}', server: '")));
    assert_eq!(timed(&desk, &["-n", "team"]).len(), 2);
}

#[test]
fn a_change_by_kctl_drops_what_was_kept() {
    let desk = furnished();
    let dir = desk.home().join(".cache/kctl/completion");
    fs::create_dir_all(&dir).expect("a directory can be made");
    fs::write(dir.join("kept"), "[]").expect("a file can be written");
    let kctl = |words: &[&str]| {
        let mut command = desk.kctl(&[]);
        let program = command.get_program().to_owned();
        command = Command::new(program);
        command.env_clear().env("HOME", desk.home()).current_dir(desk.home()).args(words);
        command.output().expect("kctl can be run")
    };
    let read = kctl(&["list-operators", "--from", "dump.yaml"]);
    assert!(read.status.success() && dir.join("kept").exists(), "reading changes nothing");
    let made = kctl(&["install", "-x", "fresh", "-n", "ops", "--from", "dump.yaml", "--yes"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(!dir.exists());
}

#[test]
fn a_credential_plugin_that_sleeps_is_ended() {
    let (address, _) = talking();
    let user = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: IfAvailable}}";
    let desk = pointed_at(&address, user);
    plugin(&desk, "echo $$ >pid; echo noise >&2; printf '%s' \"$KUBERNETES_EXEC_INFO\" >info; exec sleep 60");
    assert_eq!(timed(&desk, &["run", "-x", ""]), Vec::<String>::new());
    let read = |name: &str| fs::read_to_string(desk.home().join(name)).expect("the plugin has run");
    assert!(read("info").contains(r#""interactive":false"#), "{}", read("info"));
    let process = std::path::Path::new("/proc").join(read("pid").trim());
    let started = Instant::now();
    while cfg!(target_os = "linux") && is_alive(&process) {
        assert!(started.elapsed() < Duration::from_secs(10), "the plugin is left behind");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_credential_plugin_that_answers_is_used_and_one_that_must_ask_is_not_run() {
    let (address, asked) = talking();
    let exec = |mode: &str| {
        format!("{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: {mode}}}}}")
    };
    let answer = r#"touch ran; echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}'"#;
    let desk = pointed_at(&address, &exec("Never")).env("KCTL_COMPLETE_TIMEOUT", "20s");
    plugin(&desk, answer);
    assert_eq!(desk.offers(&["-n", "team"]), ["team-a", "team-b"]);

    let desk = pointed_at(&address, &exec("Always")).env("KCTL_COMPLETE_TIMEOUT", "20s");
    plugin(&desk, answer);
    assert_eq!(desk.offers(&["-n", ""]), ["mine"]);
    assert!(!desk.home().join("ran").exists(), "it would have asked");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn what_is_known_beforehand_reads_no_file() {
    let desk = desk().env("KUBECONFIG", "pipe").env("KCTL_CONFIG", "pipe").env("KCTL_COMPLETE_TIMEOUT", "");
    let made = Command::new("mkfifo").arg(desk.home().join("pipe")).status().expect("mkfifo can be run");
    assert!(made.success());
    // A pipe that nobody writes into holds up whoever opens it; a thread that is given up would offer nothing.
    for words in [&["inst"][..], &["install", "--dry-run=c"], &["run", "-t", "contai"], &["list-operators", "-o", "j"]]
    {
        assert_eq!(desk.offers(words).len(), 1, "{words:?}");
    }
    assert_eq!(timed(&desk, &["--context", ""]), Vec::<String>::new());
}

#[test]
fn nothing_is_said_about_what_is_wrong() {
    let desk = desk().env("KUBECONFIG", "broken");
    write(&desk, "broken", "{contexts: [");
    for words in [
        &["--context", ""][..],
        &["-n", ""],
        &["run", "-x", ""],
        &["--kubeconfig", "missing", "--context", ""],
        &["--from", "-", "run", "-x", ""],
        &["--from", "missing", "run", "-x", ""],
        &["--from", "broken", "run", "-x", ""],
        &["--context", "unknown", "run", "--name", ""],
    ] {
        assert_eq!(timed(&desk, words), Vec::<String>::new(), "{words:?}");
    }
    write(&desk, "settings", "operatorID: x");
    let desk = desk.env("KCTL_CONFIG", "settings");
    assert_eq!(timed(&desk, &["run", "-x", ""]), Vec::<String>::new());
}

fn plugin(desk: &Desk, text: &str) {
    write(desk, "plugin", &format!("#!/bin/sh\n{text}\n"));
    let path = desk.home().join("plugin");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a file can be made executable");
}

/// A process that has ended but was not waited for is none any more.
fn is_alive(process: &std::path::Path) -> bool {
    fs::read_to_string(process.join("stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
