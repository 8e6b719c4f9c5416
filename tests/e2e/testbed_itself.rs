//! The harness keeps its promises.
use super::testbed::*;
#[test]
fn shared_is_ready() {
    let c = Cluster::shared();
    eprintln!("{}", c.url());
    assert_eq!(c.get("/version")["gitVersion"], "v1.36.3");
}
#[test]
fn full_is_ready() {
    let c = Cluster::full();
    eprintln!("{} {:?}", c.url(), c.dir());
    let ns = c.namespace("x");
    c.create(&serde_json::json!({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":ns},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}}));
    wait_until("avail", std::time::Duration::from_secs(30), || {
        c.get(&format!("/apis/apps/v1/namespaces/{ns}/deployments/d"))["status"]["availableReplicas"] == 1
    });
}
