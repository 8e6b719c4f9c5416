//! Completion without a cluster: scripts, static values, a kubeconfig, a snapshot, and servers that do not answer.

mod hostile;
mod patience;
mod scripts;

use std::{fs, path::Path};

use crate::shells::{Desk, SHELLS, Shell, desk};

const KUBECONFIG: &str = r"
apiVersion: v1
kind: Config
current-context: admin@prod
contexts:
- {name: admin@prod, context: {cluster: prod, user: admin/api-prod:6443, namespace: team-a}}
- {name: 'arn:aws:eks:eu-west-1:111122223333:cluster/blue', context: {cluster: prod, user: bob}}
- {name: 'arn:aws:eks:eu-west-1:111122223333:cluster/green', context: {cluster: test, user: bob, namespace: other}}
clusters:
- {name: prod, cluster: {server: 'http://127.0.0.1:9'}}
- {name: test, cluster: {server: 'http://127.0.0.1:9'}}
users:
- {name: 'admin/api-prod:6443', user: {}}
- {name: bob, user: {}}
";

fn operator(namespace: &str, id: &str, watch: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n---\n\
         apiVersion: apps/v1\nkind: Deployment\n\
         metadata: {{name: camel-k-operator, namespace: {namespace}, labels: {{app: camel-k, camel.apache.org/component: operator}}}}\n\
         spec: {{replicas: 1, selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [\
         {{name: camel-k-operator, image: 'docker.io/apache/camel-k:2.9.9', command: [kamel, operator], env: [\
         {{name: OPERATOR_ID, value: '{id}'}}, {{name: WATCH_NAMESPACE, value: '{watch}'}}]}}]}}}}}}\n"
    )
}

/// A desk with a kubeconfig at its usual place and a snapshot in `dump.yaml`.
fn furnished() -> Desk {
    let desk = desk();
    fs::create_dir(desk.home().join(".kube")).expect("a directory can be made");
    write(&desk, ".kube/config", KUBECONFIG);
    let mut dump = operator("ops", "tenant-a", "") + &operator("alt", "tenant-b", "alt") + &operator("x", "other", "a");
    for (kind, name) in [("Integration", "orders"), ("Integration", "invoices"), ("Pipe", "timer-to-log")] {
        dump += &format!(
            "---\napiVersion: camel.apache.org/v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: ops}}\nspec: {{}}\n"
        );
    }
    for (name, role) in
        [("timer-source", "source"), ("log-sink", "sink"), ("log-action", "action"), ("log-unlabelled", "")]
    {
        let labels = if role.is_empty() {
            String::new()
        } else {
            format!(", labels: {{camel.apache.org/kamelet.type: {role}}}")
        };
        dump += &format!(
            "---\napiVersion: camel.apache.org/v1\nkind: Kamelet\nmetadata: {{name: {name}, namespace: team{labels}}}\nspec: {{}}\n"
        );
    }
    write(&desk, "dump.yaml", &dump);
    write(&desk, "my routes.yaml", "");
    desk
}

fn write(desk: &Desk, name: &str, text: &str) {
    fs::write(desk.home().join(name), text).expect("a file can be written");
}

/// A word of the line without what bash leaves on it.
fn bash_rest<'a>(word: &'a str, value: &'a str) -> &'a str {
    let kept = word.rfind(['=', ':']).map_or(0, |at| at + 1);
    value.strip_prefix(&word[..kept]).unwrap_or(value)
}

/// Lines and what stands for the last word then, in every shell.
const LINES: &[(&str, &[&str])] = &[
    ("kctl inst", &["install"]),
    ("kctl completion f", &["fish"]),
    ("kctl completions f", &["fish"]),
    ("kctl install --operator-v", &["--operator-version"]),
    ("kctl install --dry-run=s", &["--dry-run=server"]),
    ("kctl install --operator-version 2.8", &["2.8.1", "2.8.0"]),
    ("kctl install --image-pull-policy A", &["Always"]),
    ("kctl list-operators -o j", &["json"]),
    ("kctl list-operators --family ti", &["tigera"]),
    ("kctl run -t contai", &["container."]),
    ("kctl run -t container.po", &["container.port=", "container.port-name=", "container.ports="]),
    ("kctl run -t container.expose=t", &["container.expose=true"]),
    ("kctl run --context ad", &["admin@prod"]),
    (
        "kctl run --context arn:aws:eks:eu",
        &["arn:aws:eks:eu-west-1:111122223333:cluster/blue", "arn:aws:eks:eu-west-1:111122223333:cluster/green"],
    ),
    (
        "kctl run --context=arn:aws:eks:eu-west-1:111122223333:cluster/b",
        &["--context=arn:aws:eks:eu-west-1:111122223333:cluster/blue"],
    ),
    ("kctl --user admin/api-prod:", &["admin/api-prod:6443"]),
    ("kctl --cluster t", &["test"]),
    ("kctl run --from dump.yaml --operator-id=ten", &["--operator-id=tenant-a", "--operator-id=tenant-b"]),
    ("kctl run --from dump.yaml -x ten", &["tenant-a", "tenant-b"]),
    ("kctl run --from dump.yaml -xten", &["-xtenant-a", "-xtenant-b"]),
    ("kctl run --from=dump.yaml --operator-id tenant-b", &["tenant-b"]),
    ("kctl install --from dump.yaml --watch-namespace ops,al", &["ops,alt"]),
    ("kctl run --from dump.yaml -n ops --name o", &["orders"]),
    ("kctl run --from dump.yaml --name o", &[]),
    ("kctl run dum", &["dump.yaml"]),
    ("kctl help exi", &["exit-codes"]),
    ("kctl bind --from dump.yaml -n team tim", &["timer-source"]),
    ("kctl bind --from dump.yaml -n team kamelet:ti", &["kamelet:timer-source"]),
    ("kctl bind --from dump.yaml -n team timer-source lo", &["log-sink", "log-unlabelled"]),
    ("kctl bind --from dump.yaml -n team timer-source?message=hi kamelet:log-s", &["kamelet:log-sink"]),
    ("kctl bind --from dump.yaml timer-source team/log-s", &["team/log-sink"]),
    ("kctl bind --from dump.yaml -n team --step lo", &["log-action", "log-unlabelled"]),
    ("kctl bind --from dump.yaml -n team --error-handler s", &["sink:"]),
    ("kctl bind --from dump.yaml -n team --error-handler sink:log-s", &["sink:log-sink"]),
    ("kctl bind --from dump.yaml -n team a log:in", &[]),
    ("kctl bind --from dump.yaml -n ops --name tim", &["timer-to-log"]),
    ("kctl run --server x", &[]),
];

#[test]
fn every_shell_offers_the_same() {
    let desk = furnished();
    for (line, values) in LINES {
        let word = line.rsplit(' ').next().unwrap_or_default();
        for shell in SHELLS {
            let expected: Vec<&str> =
                values.iter().map(|value| if shell == Shell::Bash { bash_rest(word, value) } else { value }).collect();
            let mut offered = desk.ask(shell, line);
            if shell == Shell::Zsh {
                // Values that go on are offered in a group of their own.
                offered.sort();
                let mut sorted = expected.clone();
                sorted.sort_unstable();
                assert_eq!(offered, sorted, "{shell:?}: {line}");
            } else {
                assert_eq!(offered, expected, "{shell:?}: {line}");
            }
        }
    }
}

#[test]
fn a_tab_puts_the_whole_word_on_the_line() {
    let desk = furnished();
    let blue = "arn:aws:eks:eu-west-1:111122223333:cluster/blue";
    let lines: &[(&str, &[&str])] = &[
        ("kctl inst", &["install"]),
        (
            "kctl install --from dump.yaml --operator-id=tenant-b",
            &["install", "--from", "dump.yaml", "--operator-id=tenant-b"],
        ),
        ("kctl install --from dump.yaml --operator-id=oth", &["install", "--from", "dump.yaml", "--operator-id=other"]),
        ("kctl install --from dump.yaml -x oth", &["install", "--from", "dump.yaml", "-x", "other"]),
        ("kctl run --context arn:aws:eks:eu-west-1:111122223333:cluster/b", &["run", "--context", blue]),
        ("kctl run --context=arn:aws:eks:eu-west-1:111122223333:cluster/b", &["run", &format!("--context={blue}")]),
        ("kctl run --user admin/api-prod:", &["run", "--user", "admin/api-prod:6443"]),
        ("kctl run my", &["run", "my routes.yaml"]),
        (
            "kctl bind --from dump.yaml -n team kamelet:ti",
            &["bind", "--from", "dump.yaml", "-n", "team", "kamelet:timer-source"],
        ),
        ("kctl run --from 'dump.yaml' -x oth", &["run", "--from", "dump.yaml", "-x", "other"]),
        ("kctl run -t container.expo", &["run", "-t", "container.expose="]),
    ];
    for shell in SHELLS {
        for (line, words) in lines {
            assert_eq!(&desk.typed(shell, line), words, "{shell:?}: {line}");
        }
    }
}

#[test]
fn descriptions_stand_beside_the_values() {
    let desk = furnished();
    let lines = [
        (vec!["run", "--from", "dump.yaml", "-x", "tenant-a"], "tenant-a\tin ops, all namespaces"),
        (vec!["run", "--from", "dump.yaml", "-x", "tenant-b"], "tenant-b\tin alt, own namespace"),
        (vec!["run", "--from", "dump.yaml", "-x", "other"], "other\tin x, watches a"),
        (vec!["install", "--from", "dump.yaml", "--operator-version", "2.9.9"], "2.9.9\tother in x"),
        (vec!["--context", "admin"], "admin@prod\tcurrent, namespace team-a"),
    ];
    for (words, described) in lines {
        assert_eq!(desk.described(&words), [described]);
    }
}

#[test]
fn flags_behind_the_cursor_count_too() {
    let desk = furnished();
    let output = desk.kctl(&["run", "-x", "ten", "--from", "dump.yaml"]).env("KCTL_COMPLETE_INDEX", "3").output();
    let output = output.expect("kctl can be run");
    let offered = String::from_utf8_lossy(&output.stdout);
    assert!(offered.starts_with("tenant-a\t"), "{offered}");
}

#[test]
fn flags_are_offered_where_nothing_else_is_and_when_asked_for() {
    let desk = furnished();
    let is_flag = |value: &String| value.starts_with('-');
    assert!(!desk.offers(&[""]).iter().any(is_flag), "verbs come first");
    assert!(desk.offers(&["list-operators", ""]).iter().all(is_flag));
    assert!(desk.offers(&["run", "-"]).contains(&"--operator-id".to_owned()));
}

#[test]
fn a_flag_that_wants_an_equals_sign_takes_no_next_word() {
    let desk = furnished();
    assert_eq!(desk.offers(&["install", "--dry-run="]), ["--dry-run=client", "--dry-run=server"]);
    assert!(!desk.offers(&["install", "--dry-run", ""]).contains(&"client".to_owned()));
}

#[test]
fn kubectl_is_answered_as_cobra_wants_it() {
    let desk = furnished();
    let ask = |words: &[&str]| {
        let output = desk.kctl(words).env("KCTL_COMPLETE", "kubectl").output().expect("kctl can be run");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(ask(&["--cluster", "t"]), "test\n:4\n");
    assert_eq!(ask(&["--cluster=t"]), "test\n:4\n");
    assert_eq!(ask(&["run", "-t", "contai"]), "container.\n:6\n");
    assert_eq!(ask(&["--nothing-like-this"]), ":4\n");
}

#[test]
fn names_are_asked_of_the_files_on_the_line() {
    let desk = furnished();
    write(&desk, "elsewhere", "{contexts: [{name: far, context: {cluster: c}}], clusters: [], users: []}");
    assert_eq!(desk.offers(&["--kubeconfig", "elsewhere", "--context", ""]), ["far"]);
    assert_eq!(desk.offers(&["--kubeconfig=~/elsewhere", "--context="]), ["--context=far"]);
    assert_eq!(desk.offers(&["--context", "f"]), Vec::<String>::new());
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
