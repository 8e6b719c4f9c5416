//! How far an Integration has come since it was written.

use serde_json::Value;

use crate::contracts::camel_k::{OPERATOR_ID, PROFILE_ID, PROFILE_NAMESPACE};

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
        let decisive = [OPERATOR_ID, PROFILE_ID, PROFILE_NAMESPACE];
        let changed =
            before.filter(|before| decisive.iter().any(|key| annotation(before, key) != annotation(after, key)));
        Self {
            generation: generation(after),
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
            // Of an Integration, and of a Pipe.
            "Running" | "Ready" if ready(object) != Some(false) => Progress::Done { phase },
            "Build Complete" if stays_built(object) => Progress::Done { phase },
            _ => Progress::Underway { phase, reason: unmet(object) },
        }
    }
}

/// What a wait for a Pipe is about: its own state, and that of the Integration that an operator makes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PipeGoal {
    pipe: Goal,
    moved: Option<Moved>,
}

/// A change of the operator id. It raises no generation; what tells is the Integration, which gets the id too.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Moved {
    id: Value,
    stale_digest: Option<String>,
}

impl PipeGoal {
    /// The goal of a write: the Pipe as it was, as the server answered, and its Integration before the write.
    pub fn of(before: Option<&Value>, after: &Value, integration: Option<&Value>) -> Self {
        let id = |object: &Value| annotation(object, OPERATOR_ID).cloned();
        let moved = before.zip(id(after)).filter(|(before, after)| id(before).as_ref() != Some(after));
        let stale_digest = integration.and_then(|object| text(object, "/status/digest")).map(str::to_owned);
        Self {
            pipe: Goal { generation: generation(after), stale_digest: None },
            moved: moved.map(|(_, id)| Moved { id, stale_digest }),
        }
    }

    /// What the status of a Pipe says, for a caller who may not see its Integration.
    pub fn progress_of_pipe(&self, pipe: &Value) -> Progress {
        self.pipe.progress(pipe)
    }

    /// What the statuses of a Pipe and of its Integration say together.
    pub fn progress(&self, pipe: &Value, integration: Option<&Value>) -> Progress {
        let of_pipe = self.pipe.progress(pipe);
        if of_pipe == Progress::Untaken {
            return of_pipe;
        }
        if let Some(moved) = &self.moved
            && integration.and_then(|object| annotation(object, OPERATOR_ID)) != Some(&moved.id)
        {
            return Progress::Outdated;
        }
        let of_integration = integration.map(|object| {
            let stale_digest = self.moved.as_ref().and_then(|moved| moved.stale_digest.clone());
            Goal { generation: generation(object), stale_digest }.progress(object)
        });
        let (phase, reason) = match of_pipe {
            Progress::Done { phase } => (phase, None),
            Progress::Underway { phase, reason } => (phase, reason),
            Progress::Untaken | Progress::Outdated | Progress::Failed { .. } => return of_pipe,
        };
        let both = |of_integration: &str| format!("{phase}, integration {of_integration}");
        match of_integration {
            // The Pipe follows at the operator's next look.
            Some(Progress::Done { .. }) if is_done(&phase) => Progress::Done { phase },
            Some(Progress::Done { phase: inner }) => Progress::Underway { phase: both(&inner), reason },
            Some(Progress::Underway { phase: inner, reason: inner_reason }) => {
                Progress::Underway { phase: both(&inner), reason: inner_reason.or(reason) }
            }
            Some(failed @ Progress::Failed { .. }) => failed,
            Some(Progress::Untaken | Progress::Outdated) => Progress::Underway { phase: both("waiting"), reason },
            None => Progress::Underway { phase: both("missing"), reason },
        }
    }
}

fn is_done(phase: &str) -> bool {
    matches!(phase, "Ready" | "Build Complete")
}

fn generation(object: &Value) -> Option<i64> {
    object.pointer("/metadata/generation").and_then(Value::as_i64)
}

fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a Value> {
    object.pointer("/metadata/annotations")?.get(key)
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

    fn pipe(id: &str, generation: i64, status: &Value) -> Value {
        json!({"metadata": {"generation": generation, "annotations": {"camel.apache.org/operator.id": id}}, "status": status})
    }

    #[test]
    fn a_pipe_is_done_when_its_integration_is() {
        let goal = PipeGoal::of(None, &pipe("a", 2, &json!({})), None);
        let ready = json!({"phase": "Ready", "observedGeneration": 2});
        let creating = json!({"phase": "Creating", "observedGeneration": 2});
        let running = json!({"phase": "Running", "observedGeneration": 1});
        let building = json!({"phase": "Building Kit", "observedGeneration": 1});
        let failed =
            json!({"phase": "Error", "conditions": [{"type": "Ready", "status": "False", "message": "no kit"}]});
        let stale = json!({"phase": "Running", "observedGeneration": 0});
        let underway = |phase: &str| Progress::Underway { phase: phase.into(), reason: None };
        for (of_pipe, of_integration, expected) in [
            (&json!({}), None, Progress::Untaken),
            (&json!({"phase": "Ready", "observedGeneration": 1}), Some(&running), Progress::Outdated),
            (&creating, None, underway("Creating, integration missing")),
            (&creating, Some(&json!({})), underway("Creating, integration waiting")),
            (&creating, Some(&building), underway("Creating, integration Building Kit")),
            (&creating, Some(&running), underway("Creating, integration Running")),
            (&ready, Some(&stale), underway("Ready, integration waiting")),
            (&ready, Some(&running), Progress::Done { phase: "Ready".into() }),
            (&creating, Some(&failed), Progress::Failed { message: "no kit".into() }),
            (&failed, Some(&building), Progress::Failed { message: "no kit".into() }),
        ] {
            let integration = of_integration.map(|status| pipe("a", 1, status));
            let found = goal.progress(&pipe("a", 2, of_pipe), integration.as_ref());
            assert_eq!(found, expected, "{of_pipe} {of_integration:?}");
        }
    }

    #[test]
    fn a_moved_pipe_must_have_moved_its_integration() {
        let status = json!({"phase": "Ready", "observedGeneration": 1});
        let integration = |id: &str, digest: &str| {
            pipe(id, 1, &json!({"phase": "Running", "observedGeneration": 1, "digest": digest}))
        };
        let (before, after) = (pipe("a", 1, &status), pipe("b", 1, &status));
        let goal = PipeGoal::of(Some(&before), &after, Some(&integration("a", "v1")));
        assert_eq!(goal.progress(&after, Some(&integration("a", "v1"))), Progress::Outdated);
        assert_eq!(goal.progress(&after, None), Progress::Outdated);
        let waiting = Progress::Underway { phase: "Ready, integration waiting".into(), reason: None };
        assert_eq!(goal.progress(&after, Some(&integration("b", "v1"))), waiting);
        assert_eq!(goal.progress(&after, Some(&integration("b", "v2"))), Progress::Done { phase: "Ready".into() });
        let stays = PipeGoal::of(Some(&before), &before, Some(&integration("a", "v1")));
        assert_eq!(stays.progress(&before, Some(&integration("a", "v1"))), Progress::Done { phase: "Ready".into() });
    }
}
