//! Completion with names from a real API server.

use std::process::Command;

use serde_json::{Value, json};

use crate::kctl::kctl;
use crate::shells::{Desk, SHELLS, Shell, desk};
use crate::testbed::{Cluster, User};

/// Two operators, and a namespace with resources of theirs.
struct Bench {
    cluster: &'static Cluster,
    admin: User,
    red: String,
    blue: String,
    ops: String,
    team: String,
}

fn bench() -> Bench {
    let cluster = Cluster::shared();
    let admin = cluster.admin();
    // Ids that differ at the end complete as far as they agree.
    let stem = cluster.unique("tab");
    let (ops, team) = (cluster.namespace("ops"), cluster.namespace("team"));
    let bench = Bench { red: format!("{stem}-red"), blue: format!("{stem}-blue"), cluster, admin, ops, team };
    bench.install(&bench.red, "--global");
    bench.install(&bench.blue, &format!("--watch-namespace {}", bench.team));
    for (kind, name) in [("Integration", "orders"), ("Integration", "order-archive"), ("Pipe", "timer-to-log")] {
        bench.create(kind, &bench.team, name, &json!({}));
    }
    bench
}

impl Bench {
    fn install(&self, id: &str, scope: &str) {
        let line = format!("install -x {id} -n {} {scope} --yes", self.ops);
        kctl().kubeconfig(&self.admin.kubeconfig).line(&line).run().succeeds();
    }

    fn create(&self, kind: &str, namespace: &str, name: &str, labels: &Value) {
        self.cluster.create(&json!({
            "apiVersion": "camel.apache.org/v1", "kind": kind,
            "metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": {},
        }));
    }
}

fn desk_of(user: &User) -> Desk {
    desk().env("KUBECONFIG", &user.kubeconfig)
}

#[test]
fn names_of_the_cluster_complete_in_every_shell() {
    let bench = bench();
    let (stem, team) = (bench.red.trim_end_matches("-red"), &bench.team);
    let desk = desk_of(&bench.admin);
    for shell in SHELLS {
        assert_eq!(
            desk.ask(shell, &format!("kctl run -x {stem}")),
            [bench.blue.as_str(), bench.red.as_str()],
            "{shell:?}"
        );
        let whole: Vec<_> = [&bench.blue, &bench.red].map(|id| format!("--operator-id={id}")).into();
        let replaced: Vec<_> = whole.iter().map(|word| word.replace("--operator-id=", "")).collect();
        let expected = if shell == Shell::Bash { replaced } else { whole };
        assert_eq!(desk.ask(shell, &format!("kctl run --operator-id={stem}")), expected, "{shell:?}");
        assert_eq!(
            desk.ask(shell, &format!("kctl run -n {team} --name ord")),
            ["order-archive", "orders"],
            "{shell:?}"
        );
        assert_eq!(desk.ask(shell, &format!("kctl run -n {team}")), [team.as_str()], "{shell:?}");
        let typed = desk.typed(shell, &format!("kctl run --operator-id={stem}-r"));
        assert_eq!(typed, ["run", &format!("--operator-id={}", bench.red)], "{shell:?}");
    }
    let described = desk.described(&["run", "-x", stem]);
    let (ops, team) = (&bench.ops, &bench.team);
    assert_eq!(
        described,
        [format!("{}\tin {ops}, watches {team}", bench.blue), format!("{}\tin {ops}, all namespaces", bench.red),]
            .map(|line| line.chars().take(line.find('\t').unwrap_or_default() + 61).collect::<String>())
    );
}

#[test]
fn the_namespace_is_that_of_the_context_unless_the_line_names_one() {
    let bench = bench();
    let desk = desk_of(&bench.cluster.in_namespace(&bench.admin, &bench.team));
    assert_eq!(desk.offers(&["run", "--name", "ord"]), ["order-archive", "orders"]);
    assert_eq!(desk.offers(&["run", "-n", &bench.ops, "--name", "ord"]), Vec::<String>::new());
}

#[test]
fn kamelets_come_from_the_namespace_and_from_the_operators() {
    let bench = bench();
    for (namespace, name, role) in [
        (&bench.team, "own-source", "source"),
        (&bench.ops, "shared-source", "source"),
        (&bench.ops, "shared-sink", "sink"),
    ] {
        bench.create("Kamelet", namespace, name, &json!({"camel.apache.org/kamelet.type": role}));
    }
    let desk = desk_of(&bench.admin);
    let words = |rest: &[&'static str]| {
        let mut words = vec!["bind".to_owned(), "-n".to_owned(), bench.team.clone()];
        words.extend(rest.iter().map(|word| (*word).to_owned()));
        words
    };
    let offers = |words: Vec<String>| desk.offers(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(offers(words(&[""])), ["own-source"], "the default id has no claim");
    let mut of_red = words(&["-x", "", ""]);
    of_red[4].clone_from(&bench.red);
    assert_eq!(offers(of_red.clone()), ["own-source", "shared-source"]);
    of_red[5] = "kamelet:own-source".into();
    of_red.push("kamelet:sh".into());
    assert_eq!(offers(of_red), ["kamelet:shared-sink"]);
    let elsewhere = format!("{}/", bench.ops);
    let mut named = words(&["own-source", ""]);
    named[4].clone_from(&elsewhere);
    assert_eq!(offers(named), [format!("{elsewhere}shared-sink")]);
}

#[test]
fn only_names_are_read_and_only_once_a_minute() {
    let bench = bench();
    let desk = desk_of(&bench.admin);
    let mark = bench.cluster.audit_mark();
    assert_eq!(desk.offers(&["run", "-n", &bench.team, "--name", "orders"]), ["orders"]);
    assert_eq!(desk.offers(&["run", "-n", &bench.team]), [bench.team.as_str()]);
    assert_eq!(desk.offers(&["run", "-x", &bench.red]), [bench.red.as_str()]);
    let requests = bench.cluster.requests_since(mark, &bench.admin);
    assert!(requests.iter().all(|request| !request.is_write()), "{requests:#?}");
    assert!(requests.iter().all(|request| request.resource != "secrets"), "{requests:#?}");
    for resource in ["integrations", "namespaces"] {
        let lists: Vec<_> = requests.iter().filter(|request| request.resource == resource).collect();
        let [list] = &lists[..] else { panic!("{lists:#?}") };
        assert!(list.uri.contains("resourceVersion=0"), "{list:#?}");
        assert_eq!(list.answer_kind, "PartialObjectMetadataList");
    }

    let mark = bench.cluster.audit_mark();
    assert_eq!(desk.offers(&["run", "-n", &bench.team, "--name", "order"]).len(), 2);
    assert_eq!(desk.offers(&["run", "-x", &bench.blue]), [bench.blue.as_str()]);
    assert_eq!(bench.cluster.requests_since(mark, &bench.admin).len(), 0, "all of it was kept");
}

#[test]
fn somebody_without_rights_is_offered_what_the_kubeconfig_knows() {
    let bench = bench();
    let nobody = bench.cluster.in_namespace(&bench.cluster.user("nobody"), &bench.team);
    let desk = desk_of(&nobody);
    assert_eq!(desk.offers(&["run", "-n", ""]), [bench.team.as_str()]);
    assert_eq!(desk.offers(&["run", "--name", ""]), Vec::<String>::new());
    // Every authenticated user may read claims, and those tell the ids.
    let offered = desk.offers(&["run", "-x", bench.red.trim_end_matches("-red")]);
    assert_eq!(offered, [bench.blue.as_str(), bench.red.as_str()]);
}

#[test]
fn ids_that_a_command_has_listed_are_known_without_asking() {
    let bench = bench();
    let desk = desk_of(&bench.admin);
    let listed = kctl().env("XDG_CACHE_HOME", desk.home()).kubeconfig(&bench.admin.kubeconfig);
    listed.line("list-operators").run().succeeds();
    let mark = bench.cluster.audit_mark();
    let cache = desk.home().to_owned();
    let desk = desk.env("XDG_CACHE_HOME", cache);
    assert_eq!(desk.offers(&["run", "-x", &bench.red]), [bench.red.as_str()]);
    assert_eq!(bench.cluster.requests_since(mark, &bench.admin).len(), 0);
}

#[test]
fn wrong_credentials_are_no_ones_business() {
    let cluster = Cluster::shared();
    let desk = desk().env("KUBECONFIG", cluster.kubeconfig_with(&json!({"token": "wrong"})));
    for words in [&["run", "-x", ""][..], &["run", "--name", ""]] {
        assert_eq!(desk.offers(words), Vec::<String>::new());
    }
}

#[test]
fn kubectl_completes_its_plugin() {
    let bench = bench();
    let desk = desk_of(&bench.admin);
    let scripts = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
    let folder = desk.home().join("plugin");
    std::fs::create_dir(&folder).expect("a directory can be made");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kctl"), folder.join("kubectl-kctl")).expect("a link can be made");
    let ask = |words: &[&str]| {
        let path = format!("{}:{}:/usr/bin:/bin", folder.display(), scripts.display());
        let output = Command::new(bench.cluster.program("kubectl"))
            .args(["__complete", "kctl"])
            .args(words)
            .env_clear()
            .env("PATH", path)
            .env("HOME", desk.home())
            .env("KUBECONFIG", &bench.admin.kubeconfig)
            .output()
            .expect("kubectl can be run");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ask(&["inst"]), ["install", ":4"]);
    assert_eq!(ask(&["run", "-x", &bench.red]), [bench.red.as_str(), ":4"]);
    assert_eq!(ask(&["run", &format!("--operator-id={}", bench.red)]), [bench.red.as_str(), ":4"]);
    assert_eq!(ask(&["run", "-t", "contai"]), ["container.", ":6"]);
}
