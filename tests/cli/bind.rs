//! `bind --from` and `bind -o`: Pipes and `KameletBindings` without a live cluster.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kctl::{Ran, kctl};

/// Two cluster-wide operators, a namespace, and Kamelets in both places where an operator looks.
const CLUSTER: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a-operator, namespace: ops, labels: {camel.apache.org/component: operator}}
spec:
  replicas: 1
  template: {spec: {containers: [{name: camel-k-operator, image: "apache/camel-k:2.10.1",
    env: [{name: WATCH_NAMESPACE, value: ""}, {name: KAMEL_OPERATOR_ID, value: tenant-a}]}]}}
status: {readyReplicas: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: b-operator, namespace: ops-b, labels: {camel.apache.org/component: operator}}
spec:
  replicas: 1
  template: {spec: {containers: [{name: camel-k-operator, image: "apache/camel-k:2.10.1",
    env: [{name: WATCH_NAMESPACE, value: ""}, {name: KAMEL_OPERATOR_ID, value: tenant-b}]}]}}
status: {readyReplicas: 1}
---
apiVersion: camel.apache.org/v1
kind: Kamelet
metadata: {name: timer-source, namespace: ops}
spec: {definition: {required: [message], properties: {message: {title: Message}, period: {default: 1000}}}}
---
apiVersion: camel.apache.org/v1
kind: Kamelet
metadata: {name: log-sink, namespace: team}
spec: {definition: {properties: {showHeaders: {}}}}
"#;

/// A definition of the resource that Camel K 1 has, which makes the snapshot serve it.
const BINDING_CRD: &str = "---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kameletbindings.camel.apache.org}
spec:
  group: camel.apache.org
  scope: Namespaced
  names: {kind: KameletBinding, plural: kameletbindings, singular: kameletbinding, listKind: KameletBindingList}
  versions: [{name: v1alpha1, served: true, storage: true,
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}, subresources: {status: {}}}]
";

/// A directory with the cluster, in which every command saves what it changed.
struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self::with("")
    }

    fn with(more: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("cluster.yaml"), format!("{CLUSTER}{more}")).expect("written");
        Self { dir }
    }

    fn run(&self, line: &str) -> Ran {
        kctl().dir(self.dir.path()).line(line).line("-n team --from cluster.yaml --save cluster.yaml").run()
    }

    fn saved(&self) -> String {
        fs::read_to_string(self.dir.path().join("cluster.yaml")).expect("saved")
    }

    /// The saved document of this kind.
    fn document(&self, kind: &str) -> String {
        let saved = self.saved();
        let own = saved.split("\n---\n").find(|text| text.contains(&format!("\nkind: {kind}\n")));
        own.unwrap_or_else(|| panic!("no {kind} in\n{saved}")).to_owned()
    }
}

/// What `bind -o json` prints.
fn printed(args: &[&str]) -> Value {
    kctl().args(["bind", "-x", "tenant-a", "-o", "json"]).args(args).run().succeeds().json()
}

#[test]
fn a_manifest_needs_no_cluster() {
    assert_snapshot!(kctl().line("bind -x tenant-a timer-source?message=hi log-sink -n team -o yaml").run().succeeds(), @r"
    $ kctl bind -x tenant-a timer-source?message=hi log-sink -n team -o yaml
    apiVersion: camel.apache.org/v1
    kind: Pipe
    metadata:
      name: timer-source-to-log-sink
      namespace: team
      annotations:
        camel.apache.org/operator.id: tenant-a
    spec:
      source:
        ref:
          apiVersion: camel.apache.org/v1
          kind: Kamelet
          namespace: team
          name: timer-source
        properties:
          message: hi
      sink:
        ref:
          apiVersion: camel.apache.org/v1
          kind: Kamelet
          namespace: team
          name: log-sink
    --- stderr
    note: nothing was sent to a cluster, and the operator id was not checked
    --- ended with 0
    ");
    assert_snapshot!(kctl().line("bind a kafka:x --api kameletbinding -t container.port=80 --error-handler log -o yaml").run().succeeds(), @r"
    $ kctl bind a kafka:x --api kameletbinding -t container.port=80 --error-handler log -o yaml
    apiVersion: camel.apache.org/v1alpha1
    kind: KameletBinding
    metadata:
      name: a-to-kafka
      annotations:
        camel.apache.org/operator.id: camel-k
    spec:
      source:
        ref:
          apiVersion: camel.apache.org/v1alpha1
          kind: Kamelet
          name: a
      sink:
        uri: kafka:x
      errorHandler:
        log: null
      integration:
        traits:
          container:
            port: 80
    --- stderr
    note: no operator id is given, so it is camel-k; name the operator with -x, which will be needed in future
    note: nothing was sent to a cluster, and the operator id was not checked
    --- ended with 0
    ");
}

#[test]
fn every_option_is_in_the_manifest() {
    let object = printed(&[
        "timer-source?message=a%20b",
        "log:info",
        "--step",
        "log-action",
        "--step",
        "v1:Secret:s",
        "--name",
        "orders",
        "-p",
        "source.period=1",
        "-p",
        "step-2.x=y",
        "-t",
        "container.port=80",
        "-t",
        "camel.properties=a = b",
        "--error-handler",
        "sink:channel:dead",
        "-d",
        "camel-http",
        "--service-account",
        "robot",
        "--label",
        "l=1",
        "--annotation",
        "my.org/a=b c",
    ]);
    assert_eq!(
        object["metadata"],
        json!({"name": "orders", "labels": {"l": "1"},
            "annotations": {"my.org/a": "b c", "camel.apache.org/operator.id": "tenant-a"}})
    );
    let spec = &object["spec"];
    assert_eq!(spec["source"]["properties"], json!({"message": "a b", "period": "1"}));
    assert_eq!(
        spec["steps"][1],
        json!({"ref": {"apiVersion": "v1", "kind": "Secret", "name": "s"}, "properties": {"x": "y"}})
    );
    assert_eq!(spec["errorHandler"]["sink"]["endpoint"]["ref"]["kind"], "Channel");
    assert_eq!(spec["traits"], json!({"container": {"port": 80}, "camel": {"properties": ["a = b"]}}));
    assert_eq!((&spec["dependencies"], &spec["serviceAccountName"]), (&json!(["camel:http"]), &json!("robot")));
}

#[test]
fn bad_command_lines() {
    let two = ["--step", "x", "--step", "y"];
    let cases: [(&[&str], &str); 18] = [
        (&["a b", "log:x"], "source \"a b\" is not an endpoint: a name has no blanks"),
        (&["a", "Kind:"], "sink \"Kind:\" is not an endpoint: which Kind? no name follows it"),
        (&["kamelet:", "a"], "which kamelet?"),
        (&["a?message", "b"], "the query part \"message\" is not of the form key=value"),
        (&["a", "b", "-p", "my.x=1"], "my is no endpoint"),
        (&["a", "b", "-p", "step-0.x=1"], "there are 2 steps"),
        (&["a", "b", "-p", "step-9.x=1"], "there are 2 steps, not 9"),
        (&["a", "b", "-p", "source.x"], "it has no ="),
        (&["a", "b", "--error-handler", "sink:"], "names no endpoint"),
        (&["a", "b", "--name", "A B"], "--name \"A B\" is not a name"),
        (&["a", "b", "-t", "nonsense"], "not of the form trait.property=value"),
        (&["a", "b", "-x", "x", "--annotation", "camel.apache.org/operator.id=y"], "name two operators"),
        (&["a", "b", "-x", " "], "the operator id is empty"),
        (&["a", "b", "-x", "Tenant_A", "-o", "yaml"], "upper-case"),
        (&["a", "b", "--timeout=-1s"], "negative"),
        (&["a", "b", "--wait", "--dry-run"], "cannot be used with"),
        (&["a", "b", "--api", "kamelet"], "kameletbinding"),
        (&["a"], "<SINK>"),
    ];
    for (args, says) in cases {
        let ran = kctl().args(["bind"]).args(args).args(two).run().exits(2);
        assert!(ran.stderr.contains(says), "{says}: {ran}");
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn errors_are_json_when_the_manifest_is() {
    let error = kctl().args(["bind", "a b", "c", "-o", "json"]).run().exits(2);
    let error: Value = serde_json::from_str(&error.stderr).expect("one object");
    assert_eq!((&error["code"], &error["reason"]), (&json!(2), &json!("Usage")));
}

#[test]
fn created_then_unchanged_then_configured() {
    let bench = Bench::new();
    let line = "bind -x tenant-a timer-source?message=hi log-sink -p sink.showHeaders=true --label mine=1";
    let created = bench.run(line).succeeds();
    assert_eq!(created.stdout, "pipe.camel.apache.org/timer-source-to-log-sink created\n");
    assert_eq!(created.stderr, "");
    let before = bench.saved();
    let again = bench.run(line).succeeds();
    assert_eq!(again.stdout, "pipe.camel.apache.org/timer-source-to-log-sink unchanged\n");
    assert_eq!(bench.saved(), before);
    let changed = bench.run("bind -x tenant-a timer-source?message=ho log-sink --error-handler log").succeeds();
    assert_eq!(changed.stdout, "pipe.camel.apache.org/timer-source-to-log-sink configured\n");
    let pipe = bench.document("Pipe");
    assert!(pipe.contains("message: ho") && pipe.contains("log: {}"), "{pipe}");
    assert!(!pipe.contains("showHeaders") && !pipe.contains("mine"), "{pipe}");
    let same = bench.run("bind -x tenant-a timer-source?message=ho log-sink --error-handler log").succeeds();
    assert!(same.stdout.ends_with("unchanged\n"), "{same}");
}

#[test]
fn dry_runs_change_nothing() {
    let bench = Bench::new();
    for (flag, suffix) in
        [("--dry-run", "(dry run)"), ("--dry-run=client", "(dry run)"), ("--dry-run=server", "(server dry run)")]
    {
        let ran = bench.run(&format!("bind -x tenant-a timer:x log:y {flag}")).succeeds();
        assert_eq!(ran.stdout, format!("pipe.camel.apache.org/timer-to-log created {suffix}\n"));
    }
    assert!(!bench.saved().contains("kind: Pipe"));
}

#[test]
fn kamelets_are_looked_up_where_the_operator_does() {
    let bench = Bench::new();
    assert_snapshot!(bench.run("bind -x tenant-a timer-sorce?message=a log-sink").exits(5), @r"
    $ kctl bind -x tenant-a timer-sorce?message=a log-sink -n team --from cluster.yaml --save cluster.yaml
    --- stderr
    error: source: there is no kamelet timer-sorce in namespace team or ops (context snapshot cluster.yaml)
    hint: did you mean timer-source?
    hint: a Camel URI has a colon, as in log:info
    hint: --skip-checks writes it nevertheless
    --- ended with 5
    ");
    assert_snapshot!(bench.run("bind -x tenant-a timer-source log-sink?showHeders=true").exits(2), @r"
    $ kctl bind -x tenant-a timer-source log-sink?showHeders=true -n team --from cluster.yaml --save cluster.yaml
    --- stderr
    error: source: kamelet timer-source requires property message; sink: kamelet log-sink has no property showHeders (context snapshot cluster.yaml)
    hint: -p source.message=VALUE # Message
    hint: did you mean showHeaders?
    hint: --skip-checks leaves it to the operator
    --- ended with 2
    ");
    // The operator of tenant-b does not see the namespace of the other.
    let other = bench.run("bind -x tenant-b timer-source?message=a log-sink").exits(5);
    assert!(other.stderr.contains("there is no kamelet timer-source in namespace team or ops-b"), "{other}");
    for line in [
        "bind -x tenant-b timer-source?message=a log-sink --skip-checks",
        "bind -x tenant-b ops/timer-source?message=a log-sink --name far",
    ] {
        assert_eq!(bench.run(line).succeeds().stderr, "", "{line}");
    }
    let unknown = bench.run("bind -x later timer-source log-sink --force --name later").succeeds();
    assert!(unknown.stderr.contains("kamelet timer-source is not in namespace team"), "{unknown}");
    assert!(!bench.saved().contains("timer-sorce"));
}

#[test]
fn a_dump_without_kamelets_says_nothing_of_them() {
    let bench = Bench::new();
    let only: Vec<_> = CLUSTER.split("---\n").filter(|text| !text.contains("kind: Kamelet")).collect();
    fs::write(bench.dir.path().join("cluster.yaml"), only.join("---\n")).expect("written");
    let ran = bench.run("bind -x tenant-a timer-source log:x").succeeds();
    assert!(ran.stderr.contains("there are no kamelets in the snapshot"), "{ran}");
}

#[test]
fn the_id_rules_are_those_of_run() {
    let bench = Bench::new();
    let unknown = bench.run("bind -x tenant-aa timer:x log:y").exits(5);
    assert!(
        unknown.stderr.contains("did you mean tenant-a? kctl --from cluster.yaml --save cluster.yaml bind -x tenant-a"),
        "{unknown}"
    );
    let default = bench.run("bind timer:x log:y").exits(5);
    assert!(default.stderr.contains("no operator has the default one, camel-k"), "{default}");
    bench.run("bind -x tenant-b timer:x log:y --annotation keep=1").succeeds();
    let before = bench.saved();
    assert_snapshot!(bench.run("bind -x tenant-a timer:x log:y").exits(3), @r"
    $ kctl bind -x tenant-a timer:x log:y -n team --from cluster.yaml --save cluster.yaml
    --- stderr
    error: not given to operator tenant-a: pipe timer-to-log in namespace team is owned by operator tenant-b in namespace ops-b (the Pipe carries its id) (context snapshot cluster.yaml)
    hint: to move it to tenant-a: kctl --from cluster.yaml --save cluster.yaml bind -x tenant-a --take-over …
    hint: to run another one beside it: --name NAME
    --- ended with 3
    ");
    bench.run("bind -x tenant-a timer:x log:y --force").exits(3);
    assert_eq!(bench.saved(), before);
    let kept = bench.run("bind timer:x log:y --annotation keep=1").succeeds();
    assert!(kept.stdout.ends_with("unchanged\n") && kept.stderr.contains("keeps its operator id tenant-b"), "{kept}");
    let moved = bench.run("bind -x tenant-a timer:x log:y --annotation keep=1 --take-over").succeeds();
    assert!(moved.stderr.contains("to undo: kubectl annotate pipe.camel.apache.org/timer-to-log"), "{moved}");
    let pipe = bench.document("Pipe");
    assert!(pipe.contains("operator.id: tenant-a") && pipe.contains("keep: \"1\""), "{pipe}");
}

#[test]
fn an_integration_of_the_same_name_is_not_replaced_silently() {
    let bench = Bench::with(
        "---\napiVersion: camel.apache.org/v1\nkind: Integration\nmetadata: {name: orders, namespace: team}\nspec: {}\n",
    );
    let refused = bench.run("bind -x tenant-a timer:x log:y --name orders").exits(3);
    assert!(refused.stderr.contains("an operator would replace integration orders"), "{refused}");
    assert!(!bench.saved().contains("kind: Pipe"));
    let taken = bench.run("bind -x tenant-a timer:x log:y --name orders --take-over").succeeds();
    assert!(taken.stderr.contains("warning: an operator would replace"), "{taken}");
}

#[test]
fn the_other_resource_on_request() {
    let bench = Bench::with(BINDING_CRD);
    let ran =
        bench.run("bind -x tenant-a timer:x log:y -t container.port=80 --api kameletbinding --skip-checks").succeeds();
    assert_eq!(ran.stdout, "kameletbinding.camel.apache.org/timer-to-log created\n");
    let binding = bench.document("KameletBinding");
    assert!(
        binding.contains("apiVersion: camel.apache.org/v1alpha1") && binding.contains("integration:\n    traits:"),
        "{binding}"
    );
    let absent = Bench::new().run("bind -x tenant-a timer:x log:y --api kameletbinding").exits(5);
    assert!(absent.stderr.contains("the cluster does not serve KameletBindings"), "{absent}");
}

#[test]
fn waiting_needs_a_live_cluster() {
    let waiting = Bench::new().run("bind -x tenant-a timer:x log:y --wait").exits(2);
    assert!(waiting.stderr.contains("--wait needs a live cluster"), "{waiting}");
}
