//! `run --from`: the operator of an integration.

use std::{fs, path::Path};

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::kctl::{Kctl, Ran, kctl};

/// Two cluster-wide operators, a local one, and namespaces with and without a label.
const CLUSTER: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: Namespace
metadata: {name: labelled, labels: {kctl.dev/operator-id: tenant-b}}
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
metadata: {name: b-operator, namespace: ops, labels: {camel.apache.org/component: operator}}
spec:
  replicas: 1
  template: {spec: {containers: [{name: camel-k-operator, image: "apache/camel-k:2.10.1",
    env: [{name: WATCH_NAMESPACE, value: ""}, {name: KAMEL_OPERATOR_ID, value: tenant-b}]}]}}
status: {readyReplicas: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: old-operator, namespace: old, labels: {camel.apache.org/component: operator}}
spec:
  replicas: 1
  template: {spec: {containers: [{name: camel-k-operator, image: "apache/camel-k:1.12.1",
    env: [{name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}},
      {name: KAMEL_OPERATOR_ID, value: local-old}]}]}}
status: {readyReplicas: 1}
"#;

const ROUTE: &str = "- from:\n    uri: timer:tick\n    steps:\n    - to: log:info\n";

/// A directory with the cluster and a route, in which every run saves what it changed.
struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("cluster.yaml"), CLUSTER).expect("written");
        fs::write(dir.path().join("hello.yaml"), ROUTE).expect("written");
        Self { dir }
    }

    fn file(&self, name: &str, text: &str) -> &Self {
        fs::write(self.dir.path().join(name), text).expect("written");
        self
    }

    fn kctl(&self, line: &str) -> Kctl {
        kctl().dir(self.dir.path()).line(line).line("--from cluster.yaml --save cluster.yaml")
    }

    fn run(&self, line: &str) -> Ran {
        self.kctl(line).run()
    }

    /// What the cluster has now.
    fn saved(&self) -> String {
        fs::read_to_string(self.dir.path().join("cluster.yaml")).expect("saved")
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }
}

#[test]
fn created_then_unchanged_then_configured() {
    let bench = Bench::new();
    let created = bench.run("run -x tenant-a hello.yaml -n team -t container.port=8080 --label mine=1").succeeds();
    assert_eq!(created.stdout, "integration.camel.apache.org/hello created\n");
    assert_eq!(created.stderr, "");
    assert!(bench.saved().contains("camel.apache.org/operator.id: tenant-a"));
    let before = bench.saved();
    let again = bench.run("run -x tenant-a hello.yaml -n team -t container.port=8080 --label mine=1").succeeds();
    assert_eq!(again.stdout, "integration.camel.apache.org/hello unchanged\n");
    assert_eq!(bench.saved(), before);
    let changed = bench.run("run -x tenant-a hello.yaml -n team -t jvm.options=-Xmx1g").succeeds();
    assert_eq!(changed.stdout, "integration.camel.apache.org/hello configured\n");
    let after = bench.saved();
    assert!(after.contains("-Xmx1g") && !after.contains("8080") && !after.contains("mine:"), "{after}");
}

#[test]
fn dry_runs_change_nothing() {
    let bench = Bench::new();
    let before = bench.saved();
    for (flag, suffix) in
        [("--dry-run", "(dry run)"), ("--dry-run=client", "(dry run)"), ("--dry-run=server", "(server dry run)")]
    {
        let ran = bench.run(&format!("run -x tenant-a hello.yaml -n team {flag}")).succeeds();
        assert_eq!(ran.stdout, format!("integration.camel.apache.org/hello created {suffix}\n"));
    }
    assert_eq!(fs::read_to_string(bench.path().join("cluster.yaml")).expect("there").matches("Integration").count(), 0);
    assert_eq!(before.matches("Integration").count(), 0);
}

#[test]
fn unknown_ids() {
    let bench = Bench::new();
    assert_snapshot!(bench.run("run -x tenant-aa hello.yaml -n team").exits(5), @r"
    $ kctl run -x tenant-aa hello.yaml -n team --from cluster.yaml --save cluster.yaml
    --- stderr
    error: no operator has the id tenant-aa (context snapshot cluster.yaml)
    hint: did you mean tenant-a? kctl --from cluster.yaml --save cluster.yaml run -x tenant-a …
    hint: kctl --from cluster.yaml --save cluster.yaml list-operators shows the ids
    hint: --force writes it nevertheless, for an operator that comes later
    --- ended with 5
    ");
    assert_snapshot!(bench.run("run hello.yaml -n team").exits(5), @r"
    $ kctl run hello.yaml -n team --from cluster.yaml --save cluster.yaml
    --- stderr
    error: no operator id is given, and no operator has the default one, camel-k (context snapshot cluster.yaml)
    hint: kctl --from cluster.yaml --save cluster.yaml list-operators shows the ids; then kctl --from cluster.yaml --save cluster.yaml run -x ID …
    hint: --force writes it nevertheless, for an operator that comes later
    --- ended with 5
    ");
    let forced = bench.run("run -x later hello.yaml -n team --force").succeeds();
    assert!(forced.stderr.contains("warning: no operator has the id later"), "{forced}");
}

#[test]
fn an_operator_must_watch_the_namespace() {
    let bench = Bench::new();
    assert_snapshot!(bench.run("run -x local-old hello.yaml -n team").exits(3), @r"
    $ kctl run -x local-old hello.yaml -n team --from cluster.yaml --save cluster.yaml
    --- stderr
    error: operator local-old (old/old-operator) does not watch namespace team: it watches only its own, old (context snapshot cluster.yaml)
    hint: kctl --from cluster.yaml --save cluster.yaml list-operators -n team
    hint: --force writes it nevertheless, for an operator that will watch it later
    --- ended with 3
    ");
}

#[test]
fn where_the_id_comes_from() {
    let bench = Bench::new();
    let stamped = |bench: &Bench, name: &str, id: &str| {
        let saved = bench.saved();
        let own = saved.split("\n---\n").find(|text| text.contains(&format!("name: {name}"))).map(str::to_owned);
        let own = own.unwrap_or_else(|| panic!("no {name} in\n{saved}"));
        assert!(own.contains(&format!("operator.id: {id}")), "{own}");
    };
    let labelled = bench.run("run hello.yaml -n labelled --name by-label").succeeds();
    assert!(labelled.stderr.contains("operator id tenant-b comes from the namespace's label"), "{labelled}");
    stamped(&bench, "by-label", "tenant-b");
    bench.file("config.yaml", "operatorId: tenant-a\n");
    let by_file = bench.kctl("run hello.yaml -n labelled --name by-file").env("KCTL_CONFIG", "config.yaml").run();
    assert!(by_file.succeeds().stderr.contains("operator id tenant-a comes from config.yaml"));
    stamped(&bench, "by-file", "tenant-a");
    let by_env = bench.kctl("run hello.yaml -n labelled --name by-env").env("KCTL_CONFIG", "config.yaml");
    let by_env = by_env.env("KCTL_OPERATOR_ID", "tenant-b").run().succeeds();
    assert!(by_env.stderr.contains("operator id tenant-b comes from KCTL_OPERATOR_ID"), "{by_env}");
    stamped(&bench, "by-env", "tenant-b");
    let by_flag = bench.kctl("run hello.yaml -n labelled --name by-flag -x tenant-a");
    assert_eq!(by_flag.env("KCTL_OPERATOR_ID", "tenant-b").run().succeeds().stderr, "");
    stamped(&bench, "by-flag", "tenant-a");
    let by_annotation = "run hello.yaml -n team --name noted --annotation camel.apache.org/operator.id=tenant-b";
    bench.run(by_annotation).succeeds();
    stamped(&bench, "noted", "tenant-b");
    let both = bench.run(&format!("{by_annotation} -x tenant-a")).exits(2);
    assert!(both.stderr.contains("name two operators"), "{both}");
}

#[test]
fn an_existing_integration_is_moved_only_on_request() {
    let bench = Bench::new();
    bench.run("run -x tenant-b hello.yaml -n team --annotation keep=1").succeeds();
    let before = bench.saved();
    assert_snapshot!(bench.run("run -x tenant-a hello.yaml -n team").exits(3), @r"
    $ kctl run -x tenant-a hello.yaml -n team --from cluster.yaml --save cluster.yaml
    --- stderr
    error: not given to operator tenant-a: integration hello in namespace team is owned by operator tenant-b in namespace ops (the Integration carries its id) (context snapshot cluster.yaml)
    hint: to move it to tenant-a: kctl --from cluster.yaml --save cluster.yaml run -x tenant-a --take-over …
    hint: to run another one beside it: --name NAME
    --- ended with 3
    ");
    assert_eq!(bench.saved(), before);
    let kept = bench.run("run hello.yaml -n team --annotation keep=1").succeeds();
    assert_eq!(kept.stdout, "integration.camel.apache.org/hello unchanged\n");
    assert!(kept.stderr.contains("hello keeps its operator id tenant-b"), "{kept}");
    let moved = bench.run("run -x tenant-a hello.yaml -n team --annotation keep=1 --take-over").succeeds();
    assert_eq!(moved.stdout, "integration.camel.apache.org/hello configured\n");
    assert!(moved.stderr.contains("to undo: kubectl annotate"), "{moved}");
    assert!(bench.saved().contains("operator.id: tenant-a") && bench.saved().contains("keep: \"1\""));
}

#[test]
fn a_move_out_of_the_middle_clears_the_status() {
    let bench = Bench::new();
    let midway = "\n---\napiVersion: camel.apache.org/v1\nkind: Integration\nmetadata: {name: hello, namespace: team, \
        annotations: {camel.apache.org/operator.id: tenant-b, theirs: \"1\"}}\nspec: {sources: [{name: A.java, content: x}]}\n\
        status: {phase: Building Kit, digest: v1}\n";
    bench.file("cluster.yaml", &format!("{CLUSTER}{midway}"));
    let moved = bench.run("run -x tenant-a hello.yaml -n team --take-over").succeeds();
    assert!(moved.stderr.contains("its status was cleared"), "{moved}");
    let saved = bench.saved();
    let own = saved.split("\n---\n").find(|text| text.contains("kind: Integration")).expect("there");
    assert!(!own.contains("Building Kit") && !own.contains("A.java") && own.contains("theirs"), "{own}");
}

#[test]
fn an_old_operator_gets_addons_and_scripts_without_a_word() {
    let bench = Bench::new();
    bench.file("x.groovy", "from('timer:x').to('log:y')\n");
    let old = bench.run("run -x local-old x.groovy -n old -t master.enabled=true").succeeds();
    assert_eq!(old.stderr, "");
    let saved = bench.saved();
    let own = saved.split("\n---\n").find(|text| text.contains("kind: Integration")).expect("there");
    assert!(own.contains("addons:\n      master:\n        enabled: true"), "{own}");
    let new = bench.run("run -x tenant-a x.groovy -n team -t master.enabled=true").succeeds();
    assert!(new.stderr.contains("runs Java, XML and YAML only, not x.groovy"), "{new}");
    assert_eq!(bench.saved().matches("addons:").count(), 1);
}

#[test]
fn a_namespace_must_be_there() {
    let bench = Bench::new();
    let missing = bench.run("run -x tenant-a hello.yaml -n nope").exits(5);
    assert!(missing.stderr.contains("hint: kubectl create namespace nope"), "{missing}");
    let waiting = bench.run("run -x tenant-a hello.yaml -n team --wait").exits(2);
    assert!(waiting.stderr.contains("--wait needs a live cluster"), "{waiting}");
}

/// A definition that is strict about traits, as the official one is.
const STRICT: &str = r"
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: integrations.camel.apache.org}
spec:
  group: camel.apache.org
  names: {kind: Integration, listKind: IntegrationList, plural: integrations, singular: integration}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      flows: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}},
      traits: {type: object, properties: {container: {type: object, properties: {port: {type: integer}}}}}}}}}}
";

#[test]
fn what_the_cluster_refuses_is_wrong_input() {
    let bench = Bench::new();
    bench.file("cluster.yaml", &format!("{CLUSTER}{STRICT}"));
    bench.run("run -x tenant-a hello.yaml -n team -t container.port=1").succeeds();
    let refused = bench.run("run -x tenant-a hello.yaml -n team --name other -t container.image=x").exits(2);
    assert!(refused.stderr.contains("the cluster refuses the integration"), "{refused}");
    assert!(refused.stderr.contains("spec.traits.container.image") && refused.stderr.contains("hint: "), "{refused}");
}
