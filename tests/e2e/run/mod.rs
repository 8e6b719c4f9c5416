//! `run`: a developer's integration under the right operator.

mod owner;
pub mod wait;

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::kctl::{Kctl, kctl};
use crate::testbed::{Cluster, Options, User};

const DEADLINE: Duration = Duration::from_secs(60);
const ROUTE: &str = "- from:\n    uri: timer:tick\n    steps:\n    - to: log:info\n";

/// A developer with the right to integrations in one namespace and to nothing else.
struct Bench {
    cluster: &'static Cluster,
    developer: User,
    namespace: String,
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let cluster = Cluster::shared();
        let (developer, namespace) = (cluster.user("developer"), cluster.namespace("team"));
        let verbs = ["get", "list", "create", "patch"];
        let rules = json!([{"apiGroups": ["camel.apache.org"], "resources": ["integrations"], "verbs": verbs}]);
        cluster.grant(&developer, Some(&namespace), &rules);
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("hello.yaml"), ROUTE).expect("written");
        Self { developer: cluster.in_namespace(&developer, &namespace), cluster, namespace, dir }
    }

    /// Installs a cluster-wide operator with an id of its own.
    fn operator(&self, prefix: &str) -> String {
        let id = self.cluster.unique(prefix);
        let line = format!("install -x {id} -n {} --create-namespace --global --yes", self.cluster.unique("ops"));
        kctl().kubeconfig(&self.cluster.admin().kubeconfig).line(&line).run().succeeds();
        id
    }

    fn kctl(&self, line: &str) -> Kctl {
        kctl().kubeconfig(&self.developer.kubeconfig).dir(self.dir.path()).line(line)
    }

    fn path(&self, name: &str) -> String {
        format!("/apis/camel.apache.org/v1/namespaces/{}/integrations/{name}", self.namespace)
    }

    fn hello(&self) -> Value {
        self.cluster.get(&self.path("hello"))
    }

    /// Writes a status as an operator does.
    fn status(&self, status: &Value) {
        self.cluster.merge(&format!("{}/status", self.path("hello")), &json!({"status": status}));
    }
}

fn operator_id(object: &Value) -> &str {
    object["metadata"]["annotations"]["camel.apache.org/operator.id"].as_str().unwrap_or_default()
}

/// What a developer is told who sees claims only: one note, on what that leaves open.
pub fn only_unseen_scope(stderr: &str) -> bool {
    stderr.starts_with("note: you may not see which namespaces operator ") && stderr.lines().count() == 1
}

#[test]
fn a_developer_without_cluster_rights() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let mark = bench.cluster.audit_mark();
    let ran = bench.kctl(&format!("run -x {id} hello.yaml")).run().succeeds();
    assert_eq!(ran.stdout, "integration.camel.apache.org/hello created\n");
    assert!(only_unseen_scope(&ran.stderr), "{ran}");
    let requests = bench.cluster.requests_since(mark, &bench.developer);
    assert!(requests.len() <= 4, "{requests:#?}");
    assert_eq!(requests.iter().filter(|request| request.is_write()).count(), 1, "{requests:#?}");
    assert_eq!(operator_id(&bench.hello()), id);

    let mark = bench.cluster.audit_mark();
    let ran = bench.kctl(&format!("run -x {id}a hello.yaml --name other")).run().exits(5);
    assert!(ran.stderr.contains(&format!("did you mean {id}?")), "{ran}");
    let requests = bench.cluster.requests_since(mark, &bench.developer);
    assert!(!requests.iter().any(crate::testbed::Request::is_write), "{requests:#?}");

    // Neither near a known one nor known to be nobody's: a warning, since operators cannot be listed.
    let ran =
        bench.kctl(&format!("run -x {} hello.yaml --name far", bench.cluster.unique("zzzzzzzz"))).run().succeeds();
    assert!(ran.stderr.contains("warning: cannot tell whether an operator has the id"), "{ran}");
}

#[test]
fn without_x_the_namespace_is_asked_too() {
    let bench = Bench::new();
    let id = bench.operator("labelled");
    let label = json!({"metadata": {"labels": {"kctl.dev/operator-id": id}}});
    bench.cluster.merge(&format!("/api/v1/namespaces/{}", bench.namespace), &label);
    let rules = json!([{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}]);
    bench.cluster.grant(&bench.developer, Some(&bench.namespace), &rules);
    let mark = bench.cluster.audit_mark();
    bench.kctl("run hello.yaml").run().succeeds();
    assert_eq!(operator_id(&bench.hello()), id);
    let requests = bench.cluster.requests_since(mark, &bench.developer);
    assert!(requests.len() <= 5, "{requests:#?}");
}

#[test]
fn unchanged_writes_nothing_and_others_fields_stay() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let line =
        format!("run -x {id} hello.yaml -t container.port=8080 -d camel:http --label mine=1 --annotation mine=1");
    bench.kctl(&line).run().succeeds();
    let theirs = json!({"metadata": {"labels": {"theirs": "1"}, "annotations": {"theirs": "1"}},
        "spec": {"traits": {"container": {"imagePullPolicy": "Always"}, "logging": {"level": "DEBUG"}}}});
    bench.cluster.merge(&bench.path("hello"), &theirs);
    let mark = bench.cluster.audit_mark();
    let again = bench.kctl(&line).run().succeeds();
    assert_eq!(again.stdout, "integration.camel.apache.org/hello unchanged\n");
    let requests = bench.cluster.requests_since(mark, &bench.developer);
    assert!(!requests.iter().any(crate::testbed::Request::is_write), "{requests:#?}");

    // What kctl wrote and drops now goes; what others wrote stays.
    let changed = bench.kctl(&format!("run -x {id} hello.yaml -p a=b")).run().succeeds();
    assert_eq!(changed.stdout, "integration.camel.apache.org/hello configured\n");
    let hello = bench.hello();
    assert_eq!(hello["metadata"]["labels"], json!({"theirs": "1"}));
    assert_eq!(hello["metadata"]["annotations"]["theirs"], "1");
    assert_eq!(hello["metadata"]["annotations"].get("mine"), None);
    assert_eq!(hello["spec"].get("dependencies"), None);
    let traits = json!({"container": {"imagePullPolicy": "Always"}, "logging": {"level": "DEBUG"},
        "camel": {"properties": ["a = b"]}});
    assert_eq!(hello["spec"]["traits"], traits);
}

#[test]
fn dry_runs_and_manifests_write_nothing() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let mark = bench.cluster.audit_mark();
    let server = bench.kctl(&format!("run -x {id} hello.yaml --dry-run=server")).run().succeeds();
    assert_eq!(server.stdout, "integration.camel.apache.org/hello created (server dry run)\n");
    let before = bench.cluster.requests_since(mark, &bench.developer).len();
    bench.kctl(&format!("run -x {id} hello.yaml -o yaml")).run().succeeds();
    assert_eq!(bench.cluster.requests_since(mark, &bench.developer).len(), before);
    assert_eq!(bench.cluster.find(&bench.path("hello")), None);
}

#[test]
fn somebody_else_changes_it_meanwhile() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    bench.kctl(&format!("run -x {id} hello.yaml")).run().succeeds();
    let gate = bench.cluster.gate(&bench.developer);
    gate.hold_when(|_, request| request.starts_with("PATCH "));
    let line = format!("run -x {id} hello.yaml -n {} -p a=b", bench.namespace);
    let run = kctl().kubeconfig(gate.kubeconfig()).dir(bench.dir.path()).line(&line);
    std::thread::scope(|scope| {
        let ran = scope.spawn(|| run.run());
        gate.wait_held(DEADLINE, || ran.is_finished()).expect("a patch");
        bench.cluster.merge(&bench.path("hello"), &json!({"metadata": {"labels": {"faster": "1"}}}));
        gate.open();
        let ran = ran.join().expect("it ends").exits(3);
        assert!(ran.stderr.contains("hint: run the same command again"), "{ran}");
    });
    assert_eq!(bench.hello()["spec"].get("traits"), None);
}

#[test]
fn places_that_are_not_there() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let admin = bench.cluster.admin();
    let line = format!("run -x {id} hello.yaml -n {}", bench.cluster.unique("nowhere"));
    let ran = kctl().kubeconfig(&admin.kubeconfig).dir(bench.dir.path()).line(&line).run().exits(5);
    assert!(ran.stderr.contains("hint: kubectl create namespace nowhere"), "{ran}");
    let ran = bench.kctl(&format!("run -x {id} hello.yaml -n default")).run().exits(4);
    assert!(ran.stderr.contains("hint: "), "{ran}");

    let bare = Cluster::own(&Options::default());
    let admin = bare.admin();
    let ran = kctl().kubeconfig(&admin.kubeconfig).dir(bench.dir.path()).line("run -x a hello.yaml").run().exits(5);
    assert!(ran.stderr.contains("Camel K is not installed") && ran.stderr.contains("kctl install"), "{ran}");
}
