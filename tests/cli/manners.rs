//! How every command speaks: quiet and loud, colour, width, streams, settings.

use std::{
    fs,
    io::Read,
    process::{Command, Stdio},
};

use crate::{
    kctl::{Kctl, Ran, kctl},
    server::Server,
    terminal::Terminal,
};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo");

fn demo(line: &str) -> Kctl {
    kctl().dir(DEMO.as_ref()).line(line).line("--from cluster.yaml")
}

fn with_config(text: &str, line: &str) -> Ran {
    let kctl = kctl().dir(DEMO.as_ref()).line(line);
    let folder = kctl.home().join(".config/kctl");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("config.yaml"), text).expect("written");
    kctl.run()
}

#[test]
fn quiet_leaves_remarks_out_and_verbose_adds_some() {
    let usual = demo("list-operators").run().succeeds();
    assert!(usual.stderr.contains("note: "), "{usual}");
    let quiet = demo("list-operators -q").run().succeeds();
    assert_eq!((quiet.stdout, quiet.stderr), (usual.stdout.clone(), String::new()));
    let loud = demo("list-operators -v").run().succeeds();
    assert!(loud.stderr.contains("connect") && !loud.stderr.contains("/apis/"), "{loud}");
    let louder = demo("list-operators -vv").run().succeeds();
    assert!(louder.stderr.contains("/apis/apps/v1/deployments"), "{louder}");
    assert_eq!(louder.stdout, usual.stdout);
}

#[test]
fn credentials_are_in_no_log() {
    let server = Server::new(|_| Some((200, "{\"gitVersion\": \"v1.36.3\"}".into())));
    let ran = kctl().kubeconfig(&server.kubeconfig()).line("version -vvv --token s3cret").run();
    assert!(ran.stderr.contains("/version"), "{ran}");
    assert!(!ran.stderr.contains("s3cret") && !ran.stderr.contains("t0ken"), "{ran}");
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let wrong = |line: &str| demo("run nothing.yaml").line(line);
    let coloured = "\u{1b}[31merror:\u{1b}[0m";
    assert!(!wrong("").run().stderr.contains('\u{1b}'), "a pipe");
    assert!(wrong("--color always").run().stderr.contains(coloured));
    assert!(wrong("--color=always").env("NO_COLOR", "1").run().stderr.contains(coloured), "a flag beats a variable");
    assert!(kctl().line("--color always --help").run().stdout.contains('\u{1b}'), "help, too");
    assert!(!kctl().line("--help").run().stdout.contains('\u{1b}'));
    assert!(kctl().line("--color always --nope").run().stderr.contains(coloured), "and what is not understood");
    for (name, value, expected) in [("TERM", "xterm", true), ("NO_COLOR", "1", false), ("TERM", "dumb", false)] {
        let (seen, _) = Terminal::new(wrong("").env("TERM", "xterm").env(name, value).command(), 80).end();
        assert_eq!(seen.contains(coloured), expected, "{name}={value}: {seen:?}");
    }
    let (seen, _) = Terminal::new(wrong("--color never").env("TERM", "xterm").command(), 80).end();
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
}

#[test]
fn a_narrow_terminal_gets_whole_rows_and_narrow_help() {
    let (seen, code) = Terminal::new(demo("list-operators").env("TERM", "xterm").command(), 20).end();
    assert_eq!(code, 0, "{seen}");
    let row = seen.lines().find(|line| line.starts_with("camel-k ")).expect("a row");
    assert!(row.trim_end().ends_with("<unknown>"), "one line for awk, however narrow: {row:?}");
    let (seen, code) = Terminal::new(kctl().line("version --help").env("TERM", "xterm").command(), 20).end();
    assert_eq!(code, 0);
    assert!(seen.contains("--client"), "{seen}");
    let (seen, code) = Terminal::new(demo("run nothing.yaml").env("TERM", "xterm").command(), 20).end();
    assert_eq!(code, 2, "{seen}");
    assert!(seen.contains("nothing.yaml"), "{seen}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for line in ["help install", "completion bash", "list-operators -o json --from cluster.yaml", "--help"] {
        let kctl = kctl().dir(DEMO.as_ref()).line(line);
        let mut child = kctl.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        let code = child.wait().expect("an end").code();
        assert_eq!(code, Some(0), "{line}: {said}");
        assert!(!said.contains("error") && !said.contains("panic"), "{line}: {said}");
    }
}

#[test]
fn a_full_disk_is_a_failure_and_a_closed_stdout_none() {
    let shell = |line: &str| {
        let program = env!("CARGO_BIN_EXE_kctl");
        let output =
            Command::new("sh").args(["-c", &format!("{program} {line}")]).current_dir(DEMO).output().expect("run");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = shell("list-operators -q --from cluster.yaml >/dev/full");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error: cannot write to standard output: "), "{said}");
    assert_eq!(shell("help >/dev/full").0, Some(1));
    assert_eq!(shell("list-operators -q --from cluster.yaml >&-"), (Some(0), String::new()));
}

#[test]
fn control_characters_of_a_cluster_reach_no_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: ops, labels: {camel.apache.org/component: operator}}
spec: {replicas: 1, template: {spec: {containers: [{name: camel-k-operator, image: \"x:2.10.1\\e[2J\",
  env: [{name: WATCH_NAMESPACE, value: ''}, {name: KAMEL_OPERATOR_ID, value: \"evil\\e]0;x\\a\\u202e\"}]}]}}}
---
apiVersion: camel.apache.org/v1
kind: Integration
metadata: {name: orders, namespace: ops, annotations: {camel.apache.org/operator.id: \"lost\\e[31m\"}}
";
    fs::write(folder.path().join("cluster.yaml"), cluster).expect("written");
    for format in ["table", "wide", "json", "name", "yaml"] {
        let ran =
            kctl().dir(folder.path()).line(&format!("list-operators --from cluster.yaml -o {format}")).run().succeeds();
        let both = format!("{}{}", ran.stdout, ran.stderr);
        assert!(both.contains("evil"), "{ran}");
        assert!(both.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{format}: {both:?}");
    }
    let json = kctl().dir(folder.path()).env("KCTL_ERRORS", "json").line("run -x evi nothing.yaml\u{9b}x").run();
    assert!(json.stderr.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", json.stderr);
}

#[test]
fn settings_of_the_file_hold_and_mistakes_are_named() {
    let view = with_config(
        "operatorId: tenant-a\ncolor: always\ncontexts: {prod: {namespace: team}}\n",
        "config view -o json",
    );
    let items = view.json()["items"].clone();
    let of =
        |key: &str| items.as_array().expect("items").iter().find(|item| item["key"] == key).cloned().expect("a key");
    assert_eq!(
        (of("operatorId")["value"].as_str(), of("operatorId")["source"].as_str()),
        (Some("tenant-a"), Some("config-file"))
    );
    assert_eq!(of("color")["value"], "always");
    assert_eq!(of("namespace")["source"], "default", "prod is another context");
    for (text, part, hint) in [
        ("operatorID: x", "unknown key \"operatorID\"", "did you mean operatorId?"),
        ("a: [b", "not YAML", "kctl help environment"),
        ("color: sometimes", "color cannot be \"sometimes\"", "one of: auto, always, never"),
    ] {
        let ran = with_config(text, "version --client").exits(2);
        assert!(ran.stderr.contains(part) && ran.stderr.contains(hint) && ran.stderr.contains("config.yaml"), "{ran}");
        with_config(text, "--help").succeeds();
    }
    let ran = kctl().env("KCTL_ERRORS", "jsn").line("version --client").run().exits(2);
    assert!(ran.stderr.contains("did you mean json?"), "{ran}");
}

#[test]
fn each_setting_tells_where_it_comes_from() {
    let server = Server::new(|request| panic!("{request}"));
    let kubeconfig = server.kubeconfig();
    let row = |ran: &Ran, key: &str| {
        let line = ran.stdout.lines().find(|line| line.split_whitespace().next() == Some(key)).expect("a row");
        line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    let plain = kctl().kubeconfig(&kubeconfig).line("config view").run().succeeds();
    assert_eq!(row(&plain, "context"), "test kubeconfig");
    assert_eq!(row(&plain, "namespace"), "default default");
    let path = kubeconfig.display();
    assert_eq!(row(&plain, "kubeconfig"), format!("{path} environment KUBECONFIG"));
    let line = format!("config view -n team --kubeconfig {path} --color never");
    let flags = kctl().env("KCTL_NAMESPACE", "other").env("KCTL_OPERATOR_ID", "me").line(&line).run().succeeds();
    assert_eq!(row(&flags, "namespace"), "team flag --namespace");
    assert_eq!(row(&flags, "operatorId"), "me environment KCTL_OPERATOR_ID");
    assert_eq!(row(&flags, "color"), "never flag --color");
    let wrong = kctl().kubeconfig(&kubeconfig).line("config view --context tset").run().succeeds();
    assert!(wrong.stderr.contains("warning: ") && wrong.stderr.contains("tset"), "{wrong}");
}

#[cfg(unix)]
#[test]
fn as_a_plugin_it_speaks_of_kubectl() {
    let folder = tempfile::tempdir().expect("a folder");
    let plugin = folder.path().join("kubectl-kctl");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kctl"), &plugin).expect("a link");
    let run = |line: &str| {
        let output =
            Command::new(&plugin).args(line.split_whitespace()).env_clear().env("HOME", folder.path()).output();
        let output = output.expect("run");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    assert!(run("run --help").contains("Usage: kubectl kctl run "));
    assert!(run("help config view").contains("Usage: kubectl kctl config view "));
    assert!(run("rnu").contains("hint: kubectl kctl --help"));
    assert!(run("list-operators").contains("or work on manifests: kubectl kctl list-operators --from DIR"));
}

#[test]
fn mistyped_words_are_met_with_the_nearest() {
    for (line, meant) in [
        ("list-operatrs", "did you mean 'list-operators'?"),
        ("rnu", "did you mean 'run'?"),
        ("list-operators --famly camel-k", "did you mean '--family'?"),
        ("list-operators --family camelk --from cluster.yaml", "did you mean camel-k?"),
        ("help exitcodes", "did you mean: kctl help exit-codes"),
        ("help config veiw", "did you mean: kctl help config view"),
        ("install -x tenant-a -n tema-a --from cluster.yaml", "did you mean -n team-a?"),
        ("run hello.yaml -x camel-k -n teama --from cluster.yaml", "did you mean -n team-a?"),
        ("run hello.yaml -x camelk --from cluster.yaml", "camel-k"),
    ] {
        let ran = kctl().dir(DEMO.as_ref()).line(line).run();
        assert!(ran.stderr.contains(meant), "{meant}: {ran}");
        assert!(matches!(ran.code, Some(2 | 5)), "{ran}");
    }
}
