//! Names that a shell would expand, split, run or print to the terminal.

use std::fs;

use super::{exists, write};
use crate::shells::{SHELLS, desk};

const BAD: &[&str] =
    &["Bad*Name", "$(touch ran-it)", "`touch ran-it`", "x;touch ran-it", "a b", "\u{1b}[31mred", "-oyaml", "~root"];

#[test]
fn only_plain_names_are_offered() {
    let desk = desk();
    let names: Vec<String> =
        BAD.iter().chain(&["good"]).map(|name| serde_json::to_string(name).expect("a string")).collect();
    let entries =
        |rest: &str| names.iter().map(|name| format!("{{name: {name}{rest}}}")).collect::<Vec<_>>().join(", ");
    let config = format!(
        "{{current-context: good, contexts: [{}], clusters: [{}], users: [{}]}}",
        entries(", context: {cluster: good, user: good}"),
        entries(", cluster: {server: 'http://127.0.0.1:9'}"),
        entries("")
    );
    write(&desk, "config", &config);
    let mut dump = String::new();
    for (at, name) in names.iter().enumerate() {
        dump += &format!(
            "---\n{{apiVersion: camel.apache.org/v1, kind: Integration, metadata: {{name: {name}, namespace: default}}}}\n\
             ---\n{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: op-{at}, namespace: default, labels: {{camel.apache.org/component: operator}}}},\
             spec: {{template: {{spec: {{containers: [{{name: camel-k-operator, image: 'x:2.9.9', command: [kamel, operator], env: [\
             {{name: OPERATOR_ID, value: {name}}}, {{name: WATCH_NAMESPACE, value: {name}}}]}}]}}}}}}}}\n"
        );
    }
    write(&desk, "dump.yaml", &dump);
    let lines = [
        "kctl --kubeconfig config --context ",
        "kctl --kubeconfig config --cluster ",
        "kctl --kubeconfig config --user ",
        "kctl run --from dump.yaml --name ",
        "kctl run --from dump.yaml -x ",
    ];
    for line in lines {
        for shell in SHELLS {
            assert_eq!(desk.ask(shell, line), ["good"], "{shell:?}: {line}");
        }
    }
    assert!(!exists(&desk.home().join("ran-it")));
}

#[test]
fn files_of_any_name_arrive_whole_and_run_nothing() {
    for name in [
        "a b.yaml",
        "$(touch ran-it).yaml",
        "st*r.yaml",
        "quo'te.yaml",
        "semi;colon.yaml",
        "é.yaml",
        "a:b.yaml",
        "a=b.yaml",
    ] {
        for shell in SHELLS {
            let desk = desk();
            fs::create_dir(desk.home().join("routes")).expect("a directory can be made");
            write(&desk, &format!("routes/{name}"), "");
            assert_eq!(desk.typed(shell, "kctl run routes/"), ["run", &format!("routes/{name}")], "{shell:?}");
            assert!(!exists(&desk.home().join("ran-it")), "{shell:?}: {name}");
        }
    }
}
