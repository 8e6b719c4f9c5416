//! What proves that the new operator took over: any two of three signs.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::tenancy::evidence::LeaseFacts;

/// A lease that was renewed this long after the flip was not renewed by an operator on its way out.
const GRACE: SignedDuration = SignedDuration::from_secs(6);

/// What is looked at again and again after the flip.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The lease in the new namespace.
    pub new_lease: Option<LeaseFacts>,
    /// The lease in the old namespace.
    pub old_lease: Option<LeaseFacts>,
    /// Pods of the new operator.
    pub new_pods: Vec<Value>,
    /// Pods of the old operator.
    pub old_pods: Vec<Value>,
    /// The namespace of the subject that may write Secrets in the pointer's namespace.
    pub fingerprint: Option<String>,
}

/// What was so before.
#[derive(Clone, Debug)]
pub struct Before {
    /// When the pointer was flipped.
    pub since: Timestamp,
    /// The fingerprint before the flip.
    pub fingerprint: Option<String>,
    /// When the new lease was last renewed, at the first look.
    pub renewed: Option<Timestamp>,
    /// Restarts of the old operator's pods, by uid, at the first look.
    pub restarts: Vec<(String, u64)>,
}

/// Which signs were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// The lease in the new namespace is being renewed by a pod of it.
    pub lease: bool,
    /// The new operator wrote itself into the `RoleBinding`.
    pub fingerprint: bool,
    /// The old operator restarted, or does not renew its lease any more.
    pub old_stopped: bool,
}

impl Signs {
    /// Whether they are enough.
    pub fn prove(self) -> bool {
        usize::from(self.lease) + usize::from(self.fingerprint) + usize::from(self.old_stopped) >= 2
    }

    /// What was seen and what was not, for people.
    pub fn describe(self) -> String {
        let say = |seen: bool, what: &str| format!("{} {what}", if seen { "seen:" } else { "missing:" });
        [
            say(self.lease, "its lease renewed by a pod of its own"),
            say(self.fingerprint, "its account in rolebinding/tigera-operator-secrets"),
            say(self.old_stopped, "the old operator restarted or its lease lapsed"),
        ]
        .join("; ")
    }
}

/// Which signs a look shows, `now` by the server's clock; `to` is the new namespace.
pub fn signs(look: &Look, before: &Before, to: &str, now: Timestamp) -> Signs {
    let lease = look.new_lease.as_ref().is_some_and(|lease| {
        let renewed = lease.renew_time.is_some_and(|time| match before.renewed {
            Some(first) => time > first,
            None => time >= before.since,
        });
        renewed && lease.is_live(now) && lease.holder.as_deref().is_some_and(|holder| is_pod_of(holder, &look.new_pods))
    });
    // One that was there before tells only with a live lease: going back to an operator whose successor never acted.
    let fingerprint = look.fingerprint.as_deref() == Some(to) && (lease || before.fingerprint.as_deref() != Some(to));
    let lapsed = look.old_lease.as_ref().is_some_and(|lease| {
        // One that was held when the pointer flipped; one long dead tells nothing.
        let held = lease
            .renew_time
            .is_some_and(|time| time + SignedDuration::from_secs(lease.duration_seconds.max(15)) >= before.since);
        held && !lease.is_live(now)
    });
    Signs { lease, fingerprint, old_stopped: lapsed || look.old_pods.iter().any(|pod| restarted(pod, before)) }
}

/// Whether the old operator still renews its lease well after the flip: two operators write.
pub fn is_split(look: &Look, before: &Before) -> bool {
    let renewed = look.old_lease.as_ref().filter(|lease| lease.holder.is_some()).and_then(|lease| lease.renew_time);
    renewed.is_some_and(|time| time > before.since + GRACE)
}

/// A holder is `<host>_<uuid>`, where the host of a pod in the host's network is its node.
fn is_pod_of(holder: &str, pods: &[Value]) -> bool {
    let host = holder.rsplit_once('_').map_or(holder, |(host, _)| host);
    pods.iter().any(|pod| ["/metadata/name", "/spec/nodeName"].iter().any(|at| pod.pointer(at) == Some(&host.into())))
}

/// Restarts of pods, by uid.
pub fn restarts(pods: &[Value]) -> Vec<(String, u64)> {
    pods.iter().map(|pod| (text(pod, "/metadata/uid").to_owned(), count(pod))).collect()
}

fn count(pod: &Value) -> u64 {
    containers(pod).filter_map(|container| container["restartCount"].as_u64()).sum()
}

fn restarted(pod: &Value, before: &Before) -> bool {
    let known = before.restarts.iter().find(|(uid, _)| *uid == text(pod, "/metadata/uid"));
    let more = known.is_some_and(|(_, restarts)| count(pod) > *restarts);
    more || containers(pod).any(|container| {
        let ended = container.pointer("/lastState/terminated/finishedAt").and_then(Value::as_str);
        ended.and_then(|time| time.parse::<Timestamp>().ok()).is_some_and(|time| time >= before.since)
    })
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    pod.pointer("/status/containerStatuses").and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).expect("a time")
    }

    fn lease(holder: Option<&str>, renewed: i64) -> LeaseFacts {
        LeaseFacts {
            namespace: "x".into(),
            name: "operator-lock".into(),
            holder: holder.map(str::to_owned),
            renew_time: Some(at(renewed)),
            duration_seconds: 15,
        }
    }

    fn before() -> Before {
        Before { since: at(0), fingerprint: Some("old".into()), renewed: None, restarts: vec![("old-pod".into(), 1)] }
    }

    fn pod(uid: &str, restarts: u64) -> Value {
        json!({"metadata": {"name": "op-1", "uid": uid}, "spec": {"nodeName": "node-1"},
            "status": {"containerStatuses": [{"restartCount": restarts}]}})
    }

    #[test]
    fn a_lease_counts_when_a_pod_of_the_target_renews_it() {
        let look = |holder: Option<&str>, renewed: i64| {
            let look =
                Look { new_lease: Some(lease(holder, renewed)), new_pods: vec![pod("new-pod", 0)], ..Look::default() };
            signs(&look, &before(), "new", at(10)).lease
        };
        assert!(look(Some("op-1_uuid"), 5), "held by the pod");
        assert!(look(Some("node-1_uuid"), 5), "held by a pod in its node's network");
        assert!(!look(Some("stranger_uuid"), 5));
        assert!(!look(Some("op-1_uuid"), -3), "renewed before the flip only");
        assert!(!look(None, 5));
        let mut resumed = before();
        resumed.renewed = Some(at(5));
        let same =
            Look { new_lease: Some(lease(Some("op-1_u"), 5)), new_pods: vec![pod("new-pod", 0)], ..Look::default() };
        assert!(!signs(&same, &resumed, "new", at(10)).lease, "not seen to change");
    }

    #[test]
    fn a_fingerprint_counts_when_it_changed() {
        let look = Look { fingerprint: Some("new".into()), ..Look::default() };
        assert!(signs(&look, &before(), "new", at(1)).fingerprint);
        let stale = Before { fingerprint: Some("new".into()), ..before() };
        assert!(!signs(&look, &stale, "new", at(1)).fingerprint);
        let renewed = Look {
            new_lease: Some(lease(Some("op-1_u"), 1)),
            new_pods: vec![pod("new-pod", 0)],
            fingerprint: Some("new".into()),
            ..Look::default()
        };
        assert!(signs(&renewed, &stale, "new", at(2)).prove(), "back to the one that wrote last");
    }

    #[test]
    fn the_old_one_stopped_when_it_restarted_or_its_lease_lapsed() {
        let with = |look: Look, now: i64| signs(&look, &before(), "new", at(now)).old_stopped;
        assert!(with(Look { old_pods: vec![pod("old-pod", 2)], ..Look::default() }, 1));
        assert!(!with(Look { old_pods: vec![pod("old-pod", 1)], ..Look::default() }, 1));
        let mut ended = pod("other", 0);
        ended["status"]["containerStatuses"][0]["lastState"] = json!({"terminated": {"finishedAt": at(1).to_string()}});
        assert!(with(Look { old_pods: vec![ended], ..Look::default() }, 2));
        let old = |renewed| Look { old_lease: Some(lease(Some("h"), renewed)), ..Look::default() };
        assert!(with(old(-1), 20), "lapsed");
        assert!(!with(old(-1), 10), "not yet");
        assert!(!with(old(-100), 10), "dead long before");
        assert!(is_split(&old(8), &before()));
        assert!(!is_split(&old(3), &before()), "on its way out");
    }

    #[test]
    fn two_of_three_prove_it() {
        for (lease, fingerprint, old_stopped, proven) in [
            (false, false, false, false),
            (true, false, false, false),
            (false, true, false, false),
            (false, false, true, false),
            (true, true, false, true),
            (true, false, true, true),
            (false, true, true, true),
            (true, true, true, true),
        ] {
            assert_eq!(Signs { lease, fingerprint, old_stopped }.prove(), proven);
        }
    }
}
