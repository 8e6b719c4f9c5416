//! Many installs of one id at once.

use std::process::{Child, Stdio};

use super::{claim, replicas};
use crate::kctl::{Kctl, kctl};
use crate::testbed::Cluster;

const AT_ONCE: usize = 50;
const ROUNDS: usize = 20;

#[test]
fn of_fifty_installs_of_one_id_exactly_one_wins() {
    let cluster = Cluster::own(&crate::testbed::Options::default());
    let admin = cluster.admin();
    let namespaces: Vec<String> = (0..AT_ONCE).map(|_| cluster.namespace("race")).collect();
    // The definitions are made beforehand: the race is about the id.
    kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x first -n {}", namespaces[0])).run().succeeds();
    for round in 0..ROUNDS {
        let id = format!("round-{round}");
        let started: Vec<(Kctl, Child)> = namespaces
            .iter()
            .map(|namespace| {
                let run = kctl().kubeconfig(&admin.kubeconfig).line(&format!("install -x {id} -n {namespace}"));
                let child = run.command().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
                (run, child.expect("kctl starts"))
            })
            .collect();
        let mut winners = Vec::new();
        for ((_run, child), namespace) in started.into_iter().zip(&namespaces) {
            let output = child.wait_with_output().expect("it ends");
            match output.status.code() {
                Some(0) => winners.push(namespace),
                Some(3) => {}
                other => panic!("round {round}, {namespace}: {other:?}: {}", String::from_utf8_lossy(&output.stderr)),
            }
        }
        assert_eq!(winners.len(), 1, "round {round}: {winners:?}");
        assert_eq!(cluster.get(&claim(&id))["spec"]["active"]["namespace"], **winners[0]);
        assert_eq!(replicas(&cluster, &id), 1, "round {round}");
    }
}
