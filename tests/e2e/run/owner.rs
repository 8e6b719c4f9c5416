//! An integration that another operator owns.

use serde_json::json;

use super::{Bench, operator_id};

#[test]
fn it_is_moved_only_on_request() {
    let bench = Bench::new();
    let (a, b) = (bench.operator("tenant-a"), bench.operator("tenant-b"));
    bench.kctl(&format!("run -x {b} hello.yaml --annotation keep=1")).run().succeeds();
    let before = bench.hello();
    let ran = bench.kctl(&format!("run -x {a} hello.yaml")).run().exits(3);
    assert!(ran.stderr.contains(&a) && ran.stderr.contains(&b) && ran.stderr.contains("--take-over"), "{ran}");
    bench.kctl(&format!("run -x {a} hello.yaml --force")).run().exits(3);
    assert_eq!(bench.hello(), before);
    let kept = bench.kctl("run hello.yaml --annotation keep=1").run().succeeds();
    assert_eq!(kept.stdout, "integration.camel.apache.org/hello unchanged\n");
    assert!(kept.stderr.contains(&format!("keeps its operator id {b}")), "{kept}");
    bench.kctl(&format!("run -x {a} hello.yaml --take-over --annotation keep=1")).run().succeeds();
    let moved = bench.hello();
    assert_eq!((operator_id(&moved), &moved["metadata"]["annotations"]["keep"]), (a.as_str(), &json!("1")));
}

#[test]
fn a_move_out_of_the_middle_starts_the_new_operator_anew() {
    let bench = Bench::new();
    let (a, b) = (bench.operator("tenant-a"), bench.operator("tenant-b"));
    bench.kctl(&format!("run -x {b} hello.yaml")).run().succeeds();
    let midway = json!({"phase": "Building Kit", "digest": "v1", "observedGeneration": 1});
    bench.status(&midway);
    // Without the right to the status nothing is moved.
    let before = bench.hello();
    let refused = bench.kctl(&format!("run -x {a} hello.yaml --take-over")).run().exits(4);
    assert!(refused.stderr.contains("not moved"), "{refused}");
    assert_eq!(bench.hello(), before);
    let rules = json!([{"apiGroups": ["camel.apache.org"], "resources": ["integrations/status"], "verbs": ["patch"]}]);
    bench.cluster.grant(&bench.developer, Some(&bench.namespace), &rules);
    let moved = bench.kctl(&format!("run -x {a} hello.yaml --take-over")).run().succeeds();
    assert!(moved.stderr.contains("its status was cleared"), "{moved}");
    assert_eq!(bench.hello().pointer("/status/phase"), None);
    assert_eq!(operator_id(&bench.hello()), a);
    bench.status(&json!({"phase": "Running", "digest": "v2", "observedGeneration": 1}));
    bench.kctl(&format!("run -x {b} hello.yaml --take-over")).run().succeeds();
    assert_eq!(bench.hello()["status"]["phase"], "Running", "an operator notices the id by itself in this phase");
}
