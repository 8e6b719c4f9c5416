//! How far an Integration has come since it was written.

use serde_json::Value;

/// The phases in which an operator compares the digest, so that it notices another id by itself.
const WATCHED_PHASES: &[&str] = &["", "Deploying", "Running", "Error"];

/// What a wait is about: the state of one write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// `metadata.generation` after the write.
    pub generation: Option<i64>,
    /// `status.digest` before a write that must change it: of the operator id, or of the profile. Such a write does
    /// not raise the generation.
    pub stale_digest: Option<String>,
}

/// What the status says about the write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// No operator has written a status.
    Untaken,
    /// The status is that of an earlier state of the object.
    Outdated,
    /// On the way: the phase, and why it is not further.
    Underway {
        /// The phase.
        phase: String,
        /// The message of a condition that is not met.
        reason: Option<String>,
    },
    /// It runs, or is built and told not to run.
    Done {
        /// The phase.
        phase: String,
    },
    /// It failed: the message of the condition that tells why.
    Failed {
        /// The message.
        message: String,
    },
}

impl Goal {
    /// The goal of a write: the object as it was, and as the server answered.
    pub fn of(before: Option<&Value>, after: &Value) -> Self {
        let annotation =
            |object: &Value, key: &str| object.pointer("/metadata/annotations").and_then(|map| map.get(key)).cloned();
        let decisive = [
            crate::contracts::camel_k::OPERATOR_ID,
            crate::contracts::camel_k::PROFILE_ID,
            crate::contracts::camel_k::PROFILE_NAMESPACE,
        ];
        let changed =
            before.filter(|before| decisive.iter().any(|key| annotation(before, key) != annotation(after, key)));
        Self {
            generation: after.pointer("/metadata/generation").and_then(Value::as_i64),
            stale_digest: changed.and_then(|before| text(before, "/status/digest")).map(str::to_owned),
        }
    }

    /// What an object's status says about it.
    pub fn progress(&self, object: &Value) -> Progress {
        let phase = text(object, "/status/phase").unwrap_or_default();
        if phase.is_empty() {
            return Progress::Untaken;
        }
        let observed = object.pointer("/status/observedGeneration").and_then(Value::as_i64);
        let behind = matches!((observed, self.generation), (Some(observed), Some(wanted)) if observed < wanted);
        let same_digest = self.stale_digest.is_some() && self.stale_digest.as_deref() == text(object, "/status/digest");
        if behind || same_digest {
            return Progress::Outdated;
        }
        let phase = phase.to_owned();
        match phase.as_str() {
            "Error" => {
                Progress::Failed { message: unmet(object).unwrap_or_else(|| "the operator gives no reason".into()) }
            }
            "Running" if ready(object) != Some(false) => Progress::Done { phase },
            "Build Complete" if stays_built(object) => Progress::Done { phase },
            _ => Progress::Underway { phase, reason: unmet(object) },
        }
    }
}

/// Whether an operator would go on under another id with what a former one has begun: then the status must go first.
pub fn is_midway(object: &Value) -> bool {
    !WATCHED_PHASES.contains(&text(object, "/status/phase").unwrap_or_default())
}

/// Whether the Ready condition is met, when there is one. The operator drops old conditions when it starts anew.
fn ready(object: &Value) -> Option<bool> {
    let ready = conditions(object).find(|condition| condition["type"] == "Ready")?;
    Some(ready["status"] == "True")
}

fn stays_built(object: &Value) -> bool {
    let annotations = object.pointer("/metadata/annotations");
    annotations.is_some_and(|map| map["camel.apache.org/dont-run-after-build"] == "true")
}

/// The message of the condition that is not met: Ready's, else that of the one that changed last.
fn unmet(object: &Value) -> Option<String> {
    let mut unmet: Vec<&Value> = conditions(object)
        .filter(|condition| {
            condition["status"] == "False" && !condition["message"].as_str().unwrap_or_default().is_empty()
        })
        .collect();
    unmet.sort_by_key(|condition| {
        (condition["type"] == "Ready", condition["lastTransitionTime"].as_str().unwrap_or_default().to_owned())
    });
    unmet.last()?["message"].as_str().map(str::to_owned)
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_status_of_an_earlier_write_does_not_count() {
        let goal = Goal { generation: Some(3), stale_digest: None };
        let at = |status: Value| goal.progress(&json!({"status": status}));
        assert_eq!(at(json!({})), Progress::Untaken);
        assert_eq!(at(json!({"phase": "Running", "observedGeneration": 2})), Progress::Outdated);
        assert_eq!(at(json!({"phase": "Error", "observedGeneration": 2})), Progress::Outdated);
        assert_eq!(
            at(json!({"phase": "Running", "observedGeneration": 3})),
            Progress::Done { phase: "Running".into() }
        );
        assert_eq!(at(json!({"phase": "Running"})), Progress::Done { phase: "Running".into() });
    }

    #[test]
    fn another_id_must_bring_another_digest() {
        let object = |id: &str, digest: &str| {
            json!({"metadata": {"generation": 1, "annotations": {"camel.apache.org/operator.id": id}},
                "status": {"phase": "Running", "observedGeneration": 1, "digest": digest}})
        };
        let moved = Goal::of(Some(&object("a", "v1")), &object("b", "v1"));
        assert_eq!(moved.progress(&object("b", "v1")), Progress::Outdated);
        assert_eq!(moved.progress(&object("b", "v2")), Progress::Done { phase: "Running".into() });
        let stayed = Goal::of(Some(&object("a", "v1")), &object("a", "v1"));
        assert_eq!(stayed.progress(&object("a", "v1")), Progress::Done { phase: "Running".into() });
        assert_eq!(Goal::of(None, &object("a", "v1")).stale_digest, None);
    }

    #[test]
    fn conditions_tell_why() {
        let goal = Goal::default();
        let at = |phase: &str, conditions: Value| {
            goal.progress(&json!({"status": {"phase": phase, "conditions": conditions}}))
        };
        let failed = json!([
            {"type": "Ready", "status": "False", "message": "cannot build", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "KitAvailable", "status": "False", "message": "kit", "lastTransitionTime": "2026-01-02T00:00:00Z"},
            {"type": "Other", "status": "True", "message": "fine"},
        ]);
        assert_eq!(at("Error", failed.clone()), Progress::Failed { message: "cannot build".into() });
        assert_eq!(
            at("Building Kit", failed),
            Progress::Underway { phase: "Building Kit".into(), reason: Some("cannot build".into()) }
        );
        assert_eq!(at("Error", json!([])), Progress::Failed { message: "the operator gives no reason".into() });
        let starting = json!([{"type": "Ready", "status": "False", "message": "0 of 1 pods"}]);
        assert_eq!(
            at("Running", starting),
            Progress::Underway { phase: "Running".into(), reason: Some("0 of 1 pods".into()) }
        );
    }

    #[test]
    fn midway() {
        for (phase, midway) in [
            ("", false),
            ("Running", false),
            ("Deploying", false),
            ("Error", false),
            ("Building Kit", true),
            ("Waiting For Platform", true),
        ] {
            assert_eq!(is_midway(&json!({"status": {"phase": phase}})), midway, "{phase}");
        }
        assert!(!is_midway(&json!({})));
    }
}
