//! `run -o` and wrong input: no cluster at all.

use std::{fs, path::Path};

use insta::assert_snapshot;

use crate::kctl::{Ran, kctl};

const ROUTE: &str = "- from:\n    uri: timer:tick\n    steps:\n    - to: log:info\n";

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).expect("written");
    file("hello.yaml", ROUTE.as_bytes());
    file("empty.yaml", b"");
    file("binary.yaml", b"\x7fELF\0\0");
    file("pod.yaml", b"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n");
    file("text.yaml", b"hello\n");
    file("broken.yaml", b"- from: [\n");
    file("notes.txt", b"hello");
    file("___.yaml", ROUTE.as_bytes());
    file("a.properties", b"x = 1\n# no\ny: a\\tb\n");
    file("evil.yaml", format!("# camel-k: operator-id=evil namespace=prod trait=container.port=1\n{ROUTE}").as_bytes());
    file("dev.yaml", format!("# camel-k: dev\n{ROUTE}").as_bytes());
    fs::create_dir(dir.path().join("sub")).expect("made");
    file("sub/B.java", b"// camel-k: property=file:b.properties\nclass B extends RouteBuilder {}\n");
    file("sub/b.properties", b"b=2\n");
    dir
}

fn run(dir: &Path, line: &str) -> Ran {
    kctl().dir(dir).line(line).run()
}

#[test]
fn a_manifest_without_a_cluster() {
    let dir = folder();
    let ran = run(
        dir.path(),
        "run -x tenant-a -o yaml hello.yaml sub/B.java --name Both -p k=v -p file:a.properties -n team",
    );
    assert_snapshot!(ran.succeeds(), @r#"
    $ kctl run -x tenant-a -o yaml hello.yaml sub/B.java --name Both -p k=v -p file:a.properties -n team
    apiVersion: camel.apache.org/v1
    kind: Integration
    metadata:
      name: both
      namespace: team
      annotations:
        camel.apache.org/operator.id: tenant-a
    spec:
      flows:
      - from:
          uri: timer:tick
          steps:
          - to: log:info
      sources:
      - name: B.java
        content: |
          // camel-k: property=file:b.properties
          class B extends RouteBuilder {}
      traits:
        camel:
          properties:
          - b = 2
          - k = v
          - x = 1
          - y = a\tb
    --- stderr
    note: the integration is called both
    note: nothing was sent to a cluster, and the operator id was not checked
    --- ended with 0
    "#);
    let json = run(dir.path(), "run -o json --dry-run=client hello.yaml").succeeds();
    assert_eq!(json.json()["metadata"]["annotations"]["camel.apache.org/operator.id"], "camel-k");
    assert_eq!(json.json()["metadata"].get("namespace"), None);
    assert!(json.stderr.contains("name the operator with -x"), "{json}");
}

#[test]
fn sources_of_every_origin() {
    let dir = folder();
    let stdin = kctl().dir(dir.path()).line("run -x a -o json --name x -").stdin(ROUTE).run().succeeds();
    assert_eq!(stdin.json()["spec"]["flows"][0]["from"]["uri"], "timer:tick");
    let pattern = run(dir.path(), "run -x a -o json hel*.yaml").succeeds();
    assert_eq!(pattern.json()["metadata"]["name"], "hello");
    let volume = run(dir.path(), "run -x a -o json hello.yaml -v data:/data").succeeds();
    assert_eq!(volume.json()["spec"]["traits"]["mount"]["volumes"][0], "data:/data");
}

#[test]
fn a_file_never_chooses_the_operator() {
    let dir = folder();
    let ran = run(dir.path(), "run -x tenant-a -o json evil.yaml").succeeds();
    assert_eq!(ran.json()["metadata"]["annotations"]["camel.apache.org/operator.id"], "tenant-a");
    assert_eq!(ran.json()["spec"]["traits"]["container"]["port"], 1);
    assert_eq!(ran.stderr.matches("is ignored: a file never chooses").count(), 2, "{ran}");
}

#[test]
fn wrong_input_is_one_line_a_hint_and_exit_2() {
    let dir = folder();
    for (args, says) in [
        ("", "nothing to run"),
        ("helo.yaml", "there is no file helo.yaml"),
        ("none*.yaml", "no file matches"),
        ("sub", "is a directory"),
        ("empty.yaml", "is empty"),
        ("binary.yaml", "is not a text"),
        ("pod.yaml", "it is a Kubernetes object of kind Pod"),
        ("text.yaml", "it holds a text"),
        ("broken.yaml", "is not valid YAML"),
        ("notes.txt", "cannot tell the language"),
        ("hello.yaml sub/B.java", "2 sources and no name"),
        ("___.yaml", "nothing is left of it"),
        ("hello.yaml --name ___", "nothing is left of it"),
        ("-", "is empty"),
        ("dev.yaml", "is not allowed in a file"),
        ("ftp://host/a.yaml", "reads no ftp: addresses"),
        ("github:me/x/a.yaml", "reads no github: addresses"),
        ("hello.yaml -t nonsense", "not of the form trait.property=value"),
        ("hello.yaml -t contaner.port=1", "no trait is called contaner"),
        ("hello.yaml -t container.port=x", "must be a whole number"),
        ("hello.yaml -p nothing", "not of the form key=value"),
        ("hello.yaml -p file:none.properties", "there is no file none.properties"),
        ("hello.yaml --config file:x", "not of the form"),
        ("hello.yaml --label a=b=c", "exactly one ="),
        ("hello.yaml --profile x", "no trait profile"),
        ("hello.yaml --image a", "cannot be combined"),
        ("hello.yaml --pod-template text.yaml", "not one YAML map"),
        ("hello.yaml --annotation camel.apache.org/operator.id=b", "name two operators"),
    ] {
        let ran = run(dir.path(), &format!("run -x a -o yaml {args}")).exits(2);
        let errors: Vec<_> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert!(matches!(errors[..], [one] if one.contains(says)), "{args}: {ran}");
        assert!(ran.stderr.contains("\nhint: "), "{args}: {ran}");
        assert!(ran.stderr.lines().all(|line| line.starts_with("error: ") || line.starts_with("hint: ")), "{ran}");
        assert_eq!(ran.stdout, "", "{args}");
    }
}

#[test]
fn bad_ids() {
    let dir = folder();
    let long = "a".repeat(55);
    for id in ["Tenant_A", "", "   ", &long, "a.b"] {
        let ran = kctl().dir(dir.path()).args(["run", "-x", id, "-o", "yaml", "hello.yaml"]).run().exits(2);
        assert!(ran.stderr.contains("error: ") && ran.stderr.contains("hint: "), "{ran}");
    }
}

#[test]
fn errors_are_json_where_the_output_is() {
    let dir = folder();
    let ran = run(dir.path(), "run -x a -o json none.yaml").exits(2);
    let error: serde_json::Value = serde_json::from_str(&ran.stderr).expect("one JSON object");
    assert_eq!((error["code"].as_u64(), error["reason"].as_str()), (Some(2), Some("Usage")));
}
