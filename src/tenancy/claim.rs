//! The claim: the cluster-scoped record of who holds an operator id. Pure transitions over its JSON.
//!
//! A claim is kept as JSON so that fields of a newer kctl survive a change by this one.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::contracts::kinds::OPERATOR_CLAIM;

/// An operation may be taken over from a run that has not been heard of for this long.
pub const STALE_AFTER: SignedDuration = SignedDuration::from_mins(10);
/// Operations kept in the history.
const HISTORY: usize = 10;

/// Name of the claim of an id.
pub fn name(family: &str, id: &str) -> String {
    format!("{family}.{id}")
}

/// One installed instance of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its namespace.
    pub namespace: String,
    /// Name of its Deployment.
    pub deployment: String,
}

impl Instance {
    /// An instance from its parts.
    pub fn new(namespace: &str, deployment: &str) -> Self {
        Self { namespace: namespace.to_owned(), deployment: deployment.to_owned() }
    }

    fn read(value: &Value) -> Option<Self> {
        Some(Self::new(value.get("namespace")?.as_str()?, value.get("deployment")?.as_str()?))
    }
}

impl std::fmt::Display for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.deployment)
    }
}

/// An operation under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Which run carries it out.
    pub id: String,
    /// `install`, `take-over`, `switch`, …
    pub kind: String,
    /// When it began, RFC 3339.
    pub since: String,
    /// Where the id was before.
    pub from: Option<String>,
    /// Where it goes.
    pub to: Option<String>,
    /// The command that goes on with it.
    pub resume: Option<String>,
    /// The command that undoes it.
    pub undo: Option<String>,
}

impl Operation {
    fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            id: text("id")?,
            kind: text("type")?,
            since: text("since").unwrap_or_default(),
            from: text("from"),
            to: text("to"),
            resume: text("resume"),
            undo: text("undo"),
        })
    }

    fn write(&self) -> Value {
        let mut out = json!({"id": self.id, "type": self.kind, "since": self.since});
        for (key, value) in [("from", &self.from), ("to", &self.to), ("resume", &self.resume), ("undo", &self.undo)] {
            if let Some(value) = value {
                out[key] = json!(value);
            }
        }
        out
    }

    /// Whether the run that began it must be given up by now; `now` is the server's time.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        self.since.parse::<Timestamp>().is_ok_and(|since| now.duration_since(since) > STALE_AFTER)
    }
}

/// An `OperatorClaim` as it was read, or as it is to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim(Value);

impl Claim {
    /// A claim read from a cluster.
    pub fn read(object: Value) -> Self {
        Self(object)
    }

    /// A new claim for an instance that is being installed.
    pub fn new(family: &str, id: &str, active: &Instance, operation: &Operation, ignored: &[(String, String)]) -> Self {
        let mut object = json!({
            "apiVersion": OPERATOR_CLAIM.api_version(),
            "kind": OPERATOR_CLAIM.kind,
            "metadata": {
                "name": name(family, id),
                "labels": {"app.kubernetes.io/managed-by": "kctl", "kctl.dev/family": family, "kctl.dev/operator-id": id},
            },
            "spec": {
                "family": family,
                "id": id,
                "active": {"namespace": active.namespace, "deployment": active.deployment},
                "managedBy": "kctl",
                "operation": operation.write(),
            },
        });
        if !ignored.is_empty() {
            object["spec"]["ignoredEvidence"] =
                ignored.iter().map(|(namespace, name)| json!({"namespace": namespace, "name": name})).collect();
        }
        Self(object)
    }

    /// The claim of an instance that is there, with nothing under way.
    pub fn at_rest(family: &str, id: &str, active: &Instance) -> Self {
        let nothing = Operation {
            id: String::new(),
            kind: String::new(),
            since: String::new(),
            from: None,
            to: None,
            resume: None,
            undo: None,
        };
        let mut claim = Self::new(family, id, active, &nothing, &[]).0;
        if let Some(spec) = claim["spec"].as_object_mut() {
            spec.remove("operation");
        }
        Self(claim)
    }

    /// The JSON to write.
    pub fn object(&self) -> &Value {
        &self.0
    }

    /// uid of the claim.
    pub fn uid(&self) -> &str {
        self.0.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
    }

    /// When it was made.
    pub fn created(&self) -> Option<Timestamp> {
        self.0.pointer("/metadata/creationTimestamp")?.as_str()?.parse().ok()
    }

    /// The instance that acts.
    pub fn active(&self) -> Option<Instance> {
        self.0.pointer("/spec/active").and_then(Instance::read)
    }

    /// The instances that wait.
    pub fn standbys(&self) -> Vec<Instance> {
        self.0
            .pointer("/spec/standbys")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Instance::read)
            .collect()
    }

    /// The operation under way.
    pub fn operation(&self) -> Option<Operation> {
        self.0.pointer("/spec/operation").and_then(Operation::read)
    }

    /// The id that took over, of a tombstone; empty when the operator is gone and its resources were left.
    pub fn renamed_to(&self) -> Option<&str> {
        self.0.pointer("/spec/renamedTo").and_then(Value::as_str)
    }

    /// Pods that this instance may run: one when it is active and nothing is under way, else none.
    pub fn replicas(&self, instance: &Instance) -> u8 {
        u8::from(self.operation().is_none() && self.active().as_ref() == Some(instance))
    }

    /// The claim with an operation of its active instance under way.
    pub fn begin(&self, operation: &Operation) -> Self {
        let mut next = self.0.clone();
        next["spec"]["operation"] = operation.write();
        Self(next)
    }

    /// The claim held by another instance.
    pub fn take_over(&self, by: &Instance, operation: &Operation) -> Self {
        let mut next = self.begin(operation).0;
        next["spec"]["active"] = json!({"namespace": by.namespace, "deployment": by.deployment});
        next["spec"]["managedBy"] = json!("kctl");
        Self(next)
    }

    /// The claim of an id that was given up, held again.
    pub fn reuse(&self, by: &Instance, operation: &Operation) -> Self {
        let mut next = self.take_over(by, operation).0;
        if let Some(spec) = next["spec"].as_object_mut() {
            spec.remove("renamedTo");
        }
        Self(next)
    }

    /// The claim after its operation: the Deployment's uid noted, the operation moved to the history.
    pub fn finish(&self, deployment_uid: &str, now: Timestamp) -> Self {
        let mut next = self.0.clone();
        let ended = self.operation();
        let Some(spec) = next["spec"].as_object_mut() else { return self.clone() };
        spec.remove("operation");
        if let Some(active) = spec.get_mut("active").and_then(Value::as_object_mut) {
            active.insert("uid".into(), json!(deployment_uid));
        }
        if let Some(ended) = ended {
            let mut entry = json!({"type": ended.kind, "finished": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()});
            for (key, value) in [("from", ended.from), ("to", ended.to)] {
                if let Some(value) = value {
                    entry[key] = json!(value);
                }
            }
            let history = spec.entry("history").or_insert_with(|| json!([]));
            if let Some(history) = history.as_array_mut() {
                history.push(entry);
                let surplus = history.len().saturating_sub(HISTORY);
                history.drain(..surplus);
            }
        }
        Self(next)
    }
}

/// How a claim stands to an instance that wants the id.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// Nobody holds the id.
    Free,
    /// The instance holds it.
    Ours,
    /// The instance holds it and its install (or take-over) was not finished.
    Unfinished(Operation),
    /// The instance is one of the standbys.
    Standby(Instance),
    /// Another operation on the id is under way.
    Busy(Operation),
    /// Another instance holds it.
    Held(Instance),
    /// The id was renamed to this one, or given up (empty).
    Tombstone(String),
}

/// How `claim` stands to `wanted`.
pub fn standing(claim: Option<&Claim>, wanted: &Instance) -> Standing {
    let Some(claim) = claim else { return Standing::Free };
    if let Some(to) = claim.renamed_to() {
        return Standing::Tombstone(to.to_owned());
    }
    let operation = claim.operation();
    match (claim.active(), operation) {
        (Some(active), Some(operation))
            if active == *wanted && matches!(operation.kind.as_str(), "install" | "take-over") =>
        {
            Standing::Unfinished(operation)
        }
        (Some(active), None) if active == *wanted => Standing::Ours,
        (Some(active), _) if claim.standbys().contains(wanted) => Standing::Standby(active),
        (Some(active), None) => Standing::Held(active),
        (Some(active), Some(operation))
            if active != *wanted && matches!(operation.kind.as_str(), "install" | "take-over") =>
        {
            Standing::Held(active)
        }
        (_, Some(operation)) => Standing::Busy(operation),
        (None, None) => Standing::Free,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(kind: &str) -> Operation {
        Operation {
            id: "run-1".into(),
            kind: kind.into(),
            since: "2026-01-01T00:00:00Z".into(),
            from: None,
            to: Some("ops/a-operator".into()),
            resume: None,
            undo: None,
        }
    }

    fn claim() -> Claim {
        Claim::new("camel-k", "a", &Instance::new("ops", "a-operator"), &operation("install"), &[])
    }

    #[test]
    fn standings() {
        let ours = Instance::new("ops", "a-operator");
        let other = Instance::new("alt", "a-operator");
        let now = Timestamp::UNIX_EPOCH;
        let done = claim().finish("uid", now);
        let with_standby = |claim: &Claim| {
            let mut object = claim.object().clone();
            object["spec"]["standbys"] = json!([{"namespace": "alt", "deployment": "a-operator"}]);
            Claim::read(object)
        };
        let tombstone = |claim: &Claim| {
            let mut object = claim.object().clone();
            object["spec"]["renamedTo"] = json!("b");
            Claim::read(object)
        };
        let cases = [
            (None, &ours, Standing::Free),
            (Some(claim()), &ours, Standing::Unfinished(operation("install"))),
            (Some(claim()), &other, Standing::Held(ours.clone())),
            (Some(done.clone()), &ours, Standing::Ours),
            (Some(done.clone()), &other, Standing::Held(ours.clone())),
            (Some(with_standby(&done)), &other, Standing::Standby(ours.clone())),
            (Some(done.begin(&operation("switch"))), &ours, Standing::Busy(operation("switch"))),
            (Some(done.begin(&operation("switch"))), &other, Standing::Busy(operation("switch"))),
            (Some(tombstone(&done)), &ours, Standing::Tombstone("b".into())),
        ];
        for (claim, wanted, expected) in cases {
            assert_eq!(standing(claim.as_ref(), wanted), expected, "{wanted} against {claim:?}");
        }
    }

    #[test]
    fn only_the_active_instance_of_a_quiet_claim_may_run() {
        let ours = Instance::new("ops", "a-operator");
        assert_eq!(claim().replicas(&ours), 0, "an install is under way");
        let done = claim().finish("uid", Timestamp::UNIX_EPOCH);
        assert_eq!(done.replicas(&ours), 1);
        assert_eq!(done.replicas(&Instance::new("alt", "a-operator")), 0);
        let taken = done.take_over(&Instance::new("alt", "a-operator"), &operation("take-over"));
        assert_eq!(taken.replicas(&ours), 0);
    }

    #[test]
    fn the_history_keeps_the_last_ten() {
        let mut current = claim();
        for _ in 0..13 {
            current = current.begin(&operation("switch")).finish("uid", Timestamp::UNIX_EPOCH);
        }
        assert_eq!(current.object()["spec"]["history"].as_array().map(Vec::len), Some(10));
        assert_eq!(current.object()["spec"]["active"]["uid"], "uid");
    }

    #[test]
    fn unknown_fields_survive() {
        let mut object = claim().object().clone();
        object["spec"]["fromTheFuture"] = json!(1);
        let next = Claim::read(object).finish("uid", Timestamp::UNIX_EPOCH);
        assert_eq!(next.object()["spec"]["fromTheFuture"], 1);
    }

    #[test]
    fn an_operation_goes_stale_after_ten_minutes() {
        let since: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        assert!(!operation("install").is_stale(since + SignedDuration::from_mins(10)));
        assert!(operation("install").is_stale(since + SignedDuration::from_mins(11)));
    }
}
