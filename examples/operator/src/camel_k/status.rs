//! The status of an Integration.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// There is no platform to build with.
pub const WAITING_FOR_PLATFORM: &str = "Waiting For Platform";
/// The operator has taken the Integration.
pub const INITIALIZATION: &str = "Initialization";
/// The image is being built.
pub const BUILDING_KIT: &str = "Building Kit";
/// The workload is being made.
pub const DEPLOYING: &str = "Deploying";
/// The workload is there.
pub const RUNNING: &str = "Running";
/// Something is wrong.
pub const ERROR: &str = "Error";

/// The fields this operator writes; others are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// How far the Integration is; empty before anybody took it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// What it was built from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The platform it was built with.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub platform: String,
    /// The profile it was built with.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// Its image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// Version of the operator that built the image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The kit its image comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integration_kit: Option<KitRef>,
    /// How many pods it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i64>,
    /// Label selector of its pods.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub selector: String,
    /// The generation this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When it was taken last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_init_timestamp: Option<Timestamp>,
    /// Details.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Whatever else is there.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The name of a kit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KitRef {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// One detail of a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: String,
    /// True, False or Unknown.
    pub status: String,
    /// Why, in one word.
    #[serde(default)]
    pub reason: String,
    /// Why, for people.
    #[serde(default)]
    pub message: String,
    /// Since when the status is as it is.
    pub last_transition_time: Timestamp,
}

impl Status {
    /// Status of an Integration that is begun anew: nothing is left but the profile.
    pub fn begun(profile: String, platform: String, digest: String) -> Self {
        let phase = INITIALIZATION.to_owned();
        Self { phase, digest, platform, profile, last_init_timestamp: Some(Timestamp::now()), ..Self::default() }
    }

    /// The same in another phase.
    pub fn in_phase(mut self, phase: &str) -> Self {
        phase.clone_into(&mut self.phase);
        self
    }

    /// The same with a condition; its time stays when it was so before.
    pub fn with_condition(mut self, kind: &str, holds: bool, reason: &str, message: &str) -> Self {
        let status = if holds { "True" } else { "False" };
        let before = self.conditions.iter().find(|condition| condition.kind == kind && condition.status == status);
        let last_transition_time = before.map_or_else(Timestamp::now, |condition| condition.last_transition_time);
        self.conditions.retain(|condition| condition.kind != kind);
        self.conditions.push(Condition {
            kind: kind.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
            last_transition_time,
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_fields_stay() {
        let before = json!({"phase": "Running", "jar": "x.jar"});
        let status: Status = serde_json::from_value(before.clone()).expect("a status");
        assert_eq!(json!(status), before);
    }

    #[test]
    fn a_condition_keeps_its_time() {
        let first = Status::default().with_condition("Ready", true, "A", "").with_condition("Other", true, "", "");
        let again = first.clone().with_condition("Ready", true, "A", "");
        let ready = |status: &Status| status.conditions.iter().find(|c| c.kind == "Ready").cloned();
        assert_eq!(ready(&first), ready(&again));
        assert_eq!(again.conditions.len(), 2);
    }
}
