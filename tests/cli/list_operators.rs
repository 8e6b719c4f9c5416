//! `list-operators --from`.

use insta::assert_snapshot;

use crate::kctl::{Ran, kctl};

/// A dump of a cluster: two operators under one id that a claim has settled, one of another family, resources.
const CLUSTER: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata:
  name: camel-k-operator
  namespace: ops
  uid: a
  creationTimestamp: "2020-01-01T00:00:00Z"
  labels: {app: camel-k, camel.apache.org/component: operator, app.kubernetes.io/managed-by: Helm}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: camel-k-operator
        image: docker.io/apache/camel-k:2.10.1
        env: [{name: WATCH_NAMESPACE, value: ""}, {name: OPERATOR_ID, value: camel-k}, {name: KAMEL_OPERATOR_ID, value: tenant-a}]
status: {readyReplicas: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: camel-k-operator
  namespace: alt
  uid: b
  creationTimestamp: "2020-01-01T00:00:00Z"
  labels: {app: camel-k, camel.apache.org/component: operator}
spec:
  replicas: 0
  template:
    spec:
      containers:
      - name: camel-k-operator
        image: mirror.example/camel-k@sha256:0123
        env: [{name: WATCH_NAMESPACE, value: ""}, {name: KAMEL_OPERATOR_ID, value: tenant-a}]
status: {}
---
apiVersion: kctl.dev/v1alpha1
kind: OperatorClaim
metadata: {name: camel-k.tenant-a, creationTimestamp: "2020-01-01T00:00:00Z"}
spec:
  family: camel-k
  id: tenant-a
  active: {namespace: ops, deployment: camel-k-operator}
  standbys: [{namespace: alt, deployment: camel-k-operator}]
  managedBy: helm
  operation: {id: "1", type: switch, since: "2020-01-01T00:00:00Z"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: tigera-operator, namespace: tigera-operator, labels: {k8s-app: tigera-operator}}
spec:
  template:
    spec:
      containers: [{name: tigera-operator, image: "quay.io/tigera/operator:v1.38.0"}]
---
apiVersion: camel.apache.org/v1
kind: Integration
metadata: {name: one, namespace: team, annotations: {camel.apache.org/operator.id: tenant-a}}
---
apiVersion: camel.apache.org/v1
kind: Integration
metadata: {name: two, namespace: team}
"#;

fn list(text: &str, line: &str) -> Ran {
    kctl().line(&format!("list-operators --from - {line}")).stdin(text).run()
}

/// The output without the one column that time changes.
fn without_age(ran: &Ran) -> String {
    let lines = ran.stdout.lines().map(|line| line.rsplit_once("   ").map_or(line, |(rest, _)| rest.trim_end()));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_table() {
    let ran = list(CLUSTER, "").succeeds();
    assert_snapshot!(without_age(&ran), @r"
    ID                FAMILY    NAMESPACE         SCOPE     VERSION     READY       STATE     RESOURCES
    tenant-a          camel-k   alt               cluster   <unknown>   0/0         standby   1
    tenant-a          camel-k   ops               cluster   2.10.1      1/1         active    1
    tigera-operator   tigera    tigera-operator   cluster   1.38.0      <unknown>   active    <none>
    ");
    assert_eq!(
        ran.stderr,
        "note: a switch of operator id tenant-a is under way since 2020-01-01T00:00:00Z\nnote: 1 resource carries no operator id\n"
    );
}

#[test]
fn a_document() {
    assert_snapshot!(list(CLUSTER, "-o yaml --family camel-k -n ops").succeeds().stdout, @r#"
    apiVersion: kctl.dev/v1alpha1
    kind: OperatorList
    items:
    - id: tenant-a
      family: camel-k
      namespace: ops
      deployment: camel-k-operator
      scope:
        type: cluster
        namespaces: []
      version: "2.10.1"
      image: docker.io/apache/camel-k:2.10.1
      replicas: 1
      readyReplicas: 1
      state: active
      default: false
      claimed: true
      managedBy: helm
      operation:
        id: "1"
        type: switch
        since: "2020-01-01T00:00:00Z"
      evidence:
      - deployment
      - claim
      - ids
      resources:
        total: 1
        byKind:
          Integration: 1
      createdAt: "2020-01-01T00:00:00Z"
    legacy: 0
    orphaned: {}
    unseen: []
    warnings: []
    "#);
}

#[test]
fn names() {
    assert_snapshot!(list(CLUSTER, "-o name").succeeds().stdout, @r"
    tenant-a
    tigera-operator
    ");
}

#[test]
fn nothing() {
    let config_map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: team}}";
    let ran = list(config_map, "-o json").succeeds();
    assert_snapshot!(ran.stdout, @r#"
    {
      "apiVersion": "kctl.dev/v1alpha1",
      "kind": "OperatorList",
      "items": [],
      "legacy": 0,
      "orphaned": {},
      "unseen": [],
      "warnings": []
    }
    "#);
    let ran = list(config_map, "").succeeds();
    assert_eq!(ran.stdout, "");
    assert_snapshot!(ran.stderr, @r"
    note: no operators found
    hint: install one: kctl --from - install --operator-id tenant-a
    ");
}

#[test]
fn labels() {
    let helm = list(CLUSTER, "-o name -l app.kubernetes.io/managed-by=Helm").succeeds();
    assert_eq!(helm.stdout, "tenant-a\n");
    let none = list(CLUSTER, "-o name -l app.kubernetes.io/managed-by=other").succeeds();
    assert_eq!(none.stdout, "");
}

#[test]
fn names_from_the_cluster_do_not_reach_the_terminal_raw() {
    let evil = CLUSTER.replace("value: tenant-a", "value: \"x\\e[2J\\n\\u009By\"");
    for format in ["table", "wide", "json", "yaml", "name"] {
        let ran = list(&evil, &format!("-o {format}")).succeeds();
        let raw = |c: char| c.is_control() && c != '\n';
        assert!(!ran.stdout.contains(raw) && !ran.stderr.contains(raw), "{format}: {:?}", ran.stdout);
    }
}

#[test]
fn usage() {
    let ran = list(CLUSTER, "--family camel").exits(2);
    assert!(ran.stderr.contains("no such family"), "{ran}");
    let ran = list(CLUSTER, "--output xml").exits(2);
    assert!(ran.stderr.contains("possible values: table, wide, json, yaml, name"), "{ran}");
}

#[test]
fn sorted_by_a_column() {
    let folder = tempfile::tempdir().expect("a folder");
    let operator = |id: &str, namespace: &str, image: &str, created: &str| {
        format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {id}, namespace: {namespace}, \
             creationTimestamp: '{created}', labels: {{camel.apache.org/component: operator}}}}\nspec: {{replicas: 1, \
             template: {{spec: {{containers: [{{name: camel-k-operator, image: 'x:{image}', env: [{{name: \
             WATCH_NAMESPACE, value: ''}}, {{name: KAMEL_OPERATOR_ID, value: {id}}}]}}]}}}}}}\n"
        )
    };
    let cluster = [
        operator("a", "ns-3", "2.9.1", "2026-01-02T00:00:00Z"),
        operator("b", "ns-2", "2.10.1", "2026-01-01T00:00:00Z"),
        operator("c", "ns-1", "fork", "2026-01-03T00:00:00Z"),
    ];
    std::fs::write(folder.path().join("cluster.yaml"), cluster.concat()).expect("written");
    for (column, expected) in [
        ("id", "a b c"),
        ("namespace", "c b a"),
        ("version", "a b c"),
        ("age", "b a c"),
        ("state", "a b c"),
        ("resources", "a b c"),
        ("family", "a b c"),
    ] {
        let line = format!("list-operators --from cluster.yaml -o name --sort-by {column}");
        let ran = kctl().dir(folder.path()).line(&line).run().succeeds();
        assert_eq!(ran.stdout.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{column}");
    }
    let wrong = kctl().dir(folder.path()).line("list-operators --from cluster.yaml --sort-by versoin").run().exits(2);
    assert!(wrong.stderr.contains("did you mean 'version'"), "{wrong}");
}
