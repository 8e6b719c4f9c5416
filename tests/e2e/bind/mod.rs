//! `bind`: a developer's Pipe under the right operator.

mod bindings;
mod wait;

use std::time::Duration;

use serde_json::{Value, json};

use crate::kctl::{Kctl, kctl};
use crate::run::only_unseen_scope;
use crate::testbed::{Cluster, Mark, Request, User};

const DEADLINE: Duration = Duration::from_secs(60);

/// A developer with the right to Pipes and Kamelets in one namespace and to nothing else.
struct Bench {
    cluster: &'static Cluster,
    developer: User,
    namespace: String,
}

impl Bench {
    fn new() -> Self {
        let cluster = Cluster::shared();
        let (developer, namespace) = (cluster.user("developer"), cluster.namespace("team"));
        let verbs = ["get", "list", "create", "patch"];
        let rules = json!([
            {"apiGroups": ["camel.apache.org"], "resources": ["pipes"], "verbs": verbs},
            {"apiGroups": ["camel.apache.org"], "resources": ["kamelets", "integrations"], "verbs": ["get", "list"]},
        ]);
        cluster.grant(&developer, Some(&namespace), &rules);
        Self { developer: cluster.in_namespace(&developer, &namespace), cluster, namespace }
    }

    /// Installs a cluster-wide operator with an id of its own.
    fn operator(&self, prefix: &str) -> String {
        let id = self.cluster.unique(prefix);
        let line = format!("install -x {id} -n {} --create-namespace --global --yes", self.cluster.unique("ops"));
        kctl().kubeconfig(&self.cluster.admin().kubeconfig).line(&line).run().succeeds();
        id
    }

    fn kctl(&self, line: &str) -> Kctl {
        kctl().kubeconfig(&self.developer.kubeconfig).line(line)
    }

    fn path(&self, plural: &str, name: &str) -> String {
        format!("/apis/camel.apache.org/v1/namespaces/{}/{plural}/{name}", self.namespace)
    }

    fn pipe(&self, name: &str) -> Value {
        self.cluster.get(&self.path("pipes", name))
    }

    fn kamelet(&self, name: &str, required: &[&str]) {
        let kamelet = json!({
            "apiVersion": "camel.apache.org/v1", "kind": "Kamelet", "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"definition": {"required": required, "properties": {"message": {}, "period": {}, "showHeaders": {}}}},
        });
        self.cluster.create(&kamelet);
    }

    fn writes_since(&self, mark: Mark) -> Vec<Request> {
        self.cluster.requests_since(mark, &self.developer).into_iter().filter(Request::is_write).collect()
    }
}

fn operator_id(object: &Value) -> &str {
    object["metadata"]["annotations"]["camel.apache.org/operator.id"].as_str().unwrap_or_default()
}

#[test]
fn a_developer_without_cluster_rights() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    bench.kamelet("timer-source", &["message"]);
    bench.kamelet("log-sink", &[]);
    let mark = bench.cluster.audit_mark();
    let ran = bench.kctl(&format!("bind -x {id} timer-source?message=hi log-sink")).run().succeeds();
    assert_eq!(ran.stdout, "pipe.camel.apache.org/timer-source-to-log-sink created\n");
    assert!(only_unseen_scope(&ran.stderr), "{ran}");
    // Discovery, the Pipe, its Integration, claims, Deployments, two Kamelets, the write.
    let requests = bench.cluster.requests_since(mark, &bench.developer);
    assert!(requests.len() <= 8, "{requests:#?}");
    assert_eq!(bench.writes_since(mark).len(), 1, "{requests:#?}");
    let pipe = bench.pipe("timer-source-to-log-sink");
    assert_eq!(operator_id(&pipe), id);
    assert_eq!(pipe["spec"]["source"]["ref"]["namespace"], json!(bench.namespace));

    let mark = bench.cluster.audit_mark();
    let unknown = bench.kctl(&format!("bind -x {id}a timer:x log:y")).run().exits(5);
    assert!(unknown.stderr.contains(&format!("did you mean {id}? kctl bind -x {id}")), "{unknown}");
    let missing = bench.kctl(&format!("bind -x {id} timer-source log-sink")).run().exits(2);
    assert!(missing.stderr.contains("kamelet timer-source requires property message"), "{missing}");
    // Those of the operator's namespace may not be read: nobody can say that it is nowhere.
    let hidden = bench.kctl(&format!("bind -x {id} timer-sorce log-sink --dry-run")).run().succeeds();
    assert!(hidden.stderr.contains("warning: source: kamelet timer-sorce is not checked"), "{hidden}");
    assert_eq!(bench.writes_since(mark).len(), 0);
}

#[test]
fn an_admin_is_told_that_a_kamelet_is_nowhere() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    bench.kamelet("timer-source", &[]);
    let line = format!("bind -x {id} timer-sorce log:x -n {}", bench.namespace);
    let ran = kctl().kubeconfig(&bench.cluster.admin().kubeconfig).line(&line).run().exits(5);
    assert!(
        ran.stderr.contains("there is no kamelet timer-sorce") && ran.stderr.contains("did you mean timer-source?"),
        "{ran}"
    );
}

#[test]
fn a_binding_made_again_keeps_what_others_wrote() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let line = format!(
        "bind -x {id} timer:tick log:out --name orders -p source.period=1 -p sink.a=1 --step log:one -t container.port=8080 \
         -d camel:http --error-handler log --label mine=1 --annotation mine=1"
    );
    bench.kctl(&line).run().succeeds();
    let theirs = json!({
        "metadata": {"labels": {"theirs": "1"}, "annotations": {"theirs": "1"}},
        "spec": {"replicas": 2, "source": {"properties": {"delay": "5"}}, "traits": {"logging": {"level": "DEBUG"}}},
    });
    bench.cluster.merge(&bench.path("pipes", "orders"), &theirs);
    let mark = bench.cluster.audit_mark();
    let again = bench.kctl(&line).run().succeeds();
    assert_eq!(again.stdout, "pipe.camel.apache.org/orders unchanged\n");
    assert_eq!(bench.writes_since(mark).len(), 0);

    let changed =
        bench.kctl(&format!("bind -x {id} timer:tick log:out --name orders --error-handler none")).run().succeeds();
    assert_eq!(changed.stdout, "pipe.camel.apache.org/orders configured\n");
    let pipe = bench.pipe("orders");
    assert_eq!(pipe["metadata"]["labels"], json!({"theirs": "1"}));
    assert_eq!(pipe["metadata"]["annotations"], json!({"theirs": "1", "camel.apache.org/operator.id": id}));
    assert_eq!(
        pipe["spec"],
        json!({
            "source": {"uri": "timer:tick", "properties": {"delay": "5"}}, "sink": {"uri": "log:out"},
            "errorHandler": {"none": {}}, "replicas": 2, "traits": {"logging": {"level": "DEBUG"}},
        })
    );
    // Of another source nothing of the former one stays.
    let other = bench.kctl(&format!("bind -x {id} channel:in log:out --name orders")).run().succeeds();
    assert!(other.stdout.ends_with("configured\n"), "{other}");
    let reference = json!({"apiVersion": "messaging.knative.dev/v1", "kind": "Channel", "namespace": bench.namespace, "name": "in"});
    let spec = &bench.pipe("orders")["spec"];
    assert_eq!(spec["source"], json!({"ref": reference}));
    assert_eq!(spec.get("errorHandler"), None);
}

#[test]
fn a_null_reaches_the_cluster() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let line = format!("bind -x {id} timer:tick log:out --name orders --error-handler log");
    bench.kctl(&line).run().succeeds();
    assert_eq!(bench.pipe("orders")["spec"]["errorHandler"], json!({"log": null}));
    assert!(bench.kctl(&line).run().succeeds().stdout.ends_with("unchanged\n"));
}

#[test]
fn another_operators_pipe_is_moved_only_on_request() {
    let bench = Bench::new();
    let (a, b) = (bench.operator("tenant-a"), bench.operator("tenant-b"));
    bench.kctl(&format!("bind -x {b} timer:x log:y --annotation keep=1")).run().succeeds();
    let before = bench.pipe("timer-to-log");
    let ran = bench.kctl(&format!("bind -x {a} timer:x log:y")).run().exits(3);
    assert!(ran.stderr.contains(&a) && ran.stderr.contains(&b) && ran.stderr.contains("--take-over"), "{ran}");
    bench.kctl(&format!("bind -x {a} timer:x log:y --force")).run().exits(3);
    assert_eq!(bench.pipe("timer-to-log"), before);
    let kept = bench.kctl("bind timer:x log:y --annotation keep=1").run().succeeds();
    assert_eq!(kept.stdout, "pipe.camel.apache.org/timer-to-log unchanged\n");
    let mark = bench.cluster.audit_mark();
    bench.kctl(&format!("bind -x {a} timer:x log:y --take-over --annotation keep=1")).run().succeeds();
    let moved = bench.pipe("timer-to-log");
    assert_eq!((operator_id(&moved), &moved["metadata"]["annotations"]["keep"]), (a.as_str(), &json!("1")));
    // The operator moves the Integration; kctl moves the Pipe.
    let writes = bench.writes_since(mark);
    assert!(matches!(&writes[..], [only] if only.resource == "pipes"), "{writes:#?}");
}

#[test]
fn an_integration_of_the_same_name_is_not_replaced_silently() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let integration = json!({"apiVersion": "camel.apache.org/v1", "kind": "Integration",
        "metadata": {"name": "orders", "namespace": bench.namespace}, "spec": {"flows": [{"from": {"uri": "timer:x"}}]}});
    bench.cluster.create(&integration);
    let refused = bench.kctl(&format!("bind -x {id} timer:x log:y --name orders")).run().exits(3);
    assert!(refused.stderr.contains("no pipe made it") && refused.stderr.contains("--name"), "{refused}");
    assert_eq!(bench.cluster.find(&bench.path("pipes", "orders")), None);
}

#[test]
fn dry_runs_and_manifests_write_nothing() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let server = bench.kctl(&format!("bind -x {id} timer:x log:y --dry-run=server")).run().succeeds();
    assert_eq!(server.stdout, "pipe.camel.apache.org/timer-to-log created (server dry run)\n");
    let mark = bench.cluster.audit_mark();
    bench.kctl(&format!("bind -x {id} timer:x log:y -o yaml")).run().succeeds();
    assert_eq!(bench.cluster.requests_since(mark, &bench.developer).len(), 0);
    assert_eq!(bench.cluster.find(&bench.path("pipes", "timer-to-log")), None);
}

#[test]
fn a_write_that_fails_is_an_error() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    let elsewhere = bench.kctl(&format!("bind -x {id} timer:x log:y -n default")).run().exits(4);
    assert!(elsewhere.stdout.is_empty() && elsewhere.stderr.contains("hint: "), "{elsewhere}");
    let reader = bench.cluster.in_namespace(&bench.cluster.user("reader"), &bench.namespace);
    let rules = json!([{"apiGroups": ["camel.apache.org"], "resources": ["pipes"], "verbs": ["get"]}]);
    bench.cluster.grant(&reader, Some(&bench.namespace), &rules);
    let line = format!("bind -x {id} timer:x log:y");
    let refused = kctl().kubeconfig(&reader.kubeconfig).line(&line).run().exits(4);
    assert!(refused.stdout.is_empty() && refused.stderr.contains("error: cannot create pipe"), "{refused}");
    let admin = bench.cluster.admin();
    let line = format!("{line} -n {}", bench.cluster.unique("nowhere"));
    let nowhere = kctl().kubeconfig(&admin.kubeconfig).line(&line).run().exits(5);
    assert!(
        nowhere.stdout.is_empty() && nowhere.stderr.contains("hint: kubectl create namespace nowhere"),
        "{nowhere}"
    );
}

#[test]
fn somebody_else_changes_it_meanwhile() {
    let bench = Bench::new();
    let id = bench.operator("tenant");
    bench.kctl(&format!("bind -x {id} timer:x log:y")).run().succeeds();
    let gate = bench.cluster.gate(&bench.developer);
    gate.hold_when(|_, request| request.starts_with("PATCH "));
    let line = format!("bind -x {id} timer:x log:y -n {} -p source.period=1", bench.namespace);
    let bind = kctl().kubeconfig(gate.kubeconfig()).line(&line);
    std::thread::scope(|scope| {
        let ran = scope.spawn(|| bind.run());
        gate.wait_held(DEADLINE, || ran.is_finished()).expect("a patch");
        bench.cluster.merge(&bench.path("pipes", "timer-to-log"), &json!({"metadata": {"labels": {"faster": "1"}}}));
        gate.open();
        let ran = ran.join().expect("it ends").exits(3);
        assert!(ran.stderr.contains("pipe timer-to-log was changed by somebody else"), "{ran}");
    });
    assert_eq!(bench.pipe("timer-to-log")["spec"]["source"].get("properties"), None);
}
