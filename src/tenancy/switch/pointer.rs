//! The pointer to the active operator: what it says, and the patches that change it.
//!
//! A switch is recorded on the pointer itself, in the same patch that flips it, so that whoever looks next knows that it is
//! under way and how to go on.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::contracts::{is_dns_label, tigera};

/// Annotation of the pointer while a switch is under way.
pub const OPERATION: &str = "kctl.dev/switch";
/// Annotation of the pointer with the last switches, oldest first.
pub const HISTORY: &str = "kctl.dev/switches";
/// Switches kept in the history.
const KEPT: usize = 10;

/// What the pointer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// There is no pointer: every operator takes itself for the active one.
    Absent,
    /// The key is missing or empty: all operators wait.
    Nothing,
    /// Not a namespace's name, or one with blanks around it: all operators wait.
    Garbled(String),
    /// This namespace.
    Namespace(String),
}

/// A switch under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Which run carries it out.
    pub id: String,
    /// Where the active operator was; `None` when nobody was designated.
    pub from: Option<String>,
    /// Where it goes.
    pub to: String,
    /// When it began, RFC 3339.
    pub since: String,
    /// Objects copied for it.
    pub copies: usize,
    /// Whose fingerprint was found before: the subject's namespace.
    pub fingerprint: Option<String>,
}

impl Switch {
    fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let part = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            id: part("id")?,
            from: part("from"),
            to: part("to")?,
            since: part("since").unwrap_or_default(),
            copies: value.get("copies").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()).unwrap_or(0),
            fingerprint: part("fingerprint"),
        })
    }

    fn write(&self) -> String {
        let mut out = json!({"id": self.id, "to": self.to, "since": self.since, "copies": self.copies});
        for (key, value) in [("from", &self.from), ("fingerprint", &self.fingerprint)] {
            if let Some(value) = value {
                out[key] = json!(value);
            }
        }
        out["resume"] = json!(format!("kctl switch-active -n {}", self.to));
        out["undo"] = json!("kctl switch-active -");
        out.to_string()
    }

    /// When it began.
    pub fn began(&self) -> Option<Timestamp> {
        self.since.parse().ok()
    }
}

/// What a wish to make a namespace active comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Course {
    /// It is active and nothing is under way.
    Already,
    /// A switch to it was begun and not proved: go on with it.
    Resume(Switch),
    /// A switch away from it was begun and not proved: turn it back.
    Undo(Switch),
    /// A switch to another namespace is under way.
    Busy(Switch),
    /// Begin a switch.
    Fresh,
}

/// One finished switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Where the active operator was.
    pub from: Option<String>,
    /// Where it went.
    pub to: String,
}

/// The pointer as it was read.
#[derive(Clone, Debug)]
pub struct Pointer {
    object: Option<Value>,
}

impl Pointer {
    /// A pointer read from a cluster, or its absence.
    pub fn read(object: Option<Value>) -> Self {
        Self { object }
    }

    /// The object, to be patched at its version.
    pub fn object(&self) -> Option<&Value> {
        self.object.as_ref()
    }

    /// Its resource version; empty when it is absent.
    pub fn version(&self) -> &str {
        self.text("/metadata/resourceVersion")
    }

    /// What it says.
    pub fn says(&self) -> Says {
        let Some(object) = &self.object else { return Says::Absent };
        let value = object.get("data").and_then(|data| data.get(tigera::POINTER.key)).and_then(Value::as_str);
        match value {
            None | Some("") => Says::Nothing,
            Some(value) if is_dns_label(value) => Says::Namespace(value.to_owned()),
            Some(value) => Says::Garbled(value.to_owned()),
        }
    }

    /// The namespace it names, when it names one.
    pub fn namespace(&self) -> Option<String> {
        match self.says() {
            Says::Namespace(name) => Some(name),
            _ => None,
        }
    }

    /// What a wish to make `to` active comes to.
    pub fn course(&self, to: &str) -> Course {
        let is_active = self.namespace().as_deref() == Some(to);
        match self.switch() {
            None if is_active => Course::Already,
            Some(switch) if is_active && switch.to == to => Course::Resume(switch),
            // Somebody wrote the value by hand and left the record: it tells nothing any more.
            Some(switch) if self.namespace().as_deref() != Some(&switch.to) => {
                if is_active {
                    Course::Already
                } else {
                    Course::Fresh
                }
            }
            Some(switch) if switch.from.as_deref() == Some(to) => Course::Undo(switch),
            Some(switch) => Course::Busy(switch),
            None => Course::Fresh,
        }
    }

    /// Whether its data can be changed.
    pub fn is_immutable(&self) -> bool {
        self.object.as_ref().is_some_and(|object| object["immutable"] == true)
    }

    /// The switch under way.
    pub fn switch(&self) -> Option<Switch> {
        self.annotation(OPERATION).and_then(Switch::read)
    }

    /// The switches that were finished, oldest first.
    pub fn history(&self) -> Vec<Past> {
        self.past()
            .iter()
            .filter_map(|entry| {
                let part = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
                Some(Past { from: part("from"), to: part("to")? })
            })
            .collect()
    }

    /// Where the active operator was before: what `-` means.
    pub fn previous(&self) -> Option<String> {
        if let Some(switch) = self.switch() {
            return switch.from;
        }
        let now = self.namespace()?;
        let mut history = self.history();
        history.reverse();
        history.into_iter().find(|past| past.to == now && past.from.as_ref() != Some(&now))?.from
    }

    /// Namespaces other than the active one that earlier switches name.
    pub fn retired(&self) -> Vec<String> {
        let now = self.namespace();
        let mut names: Vec<String> =
            self.history().into_iter().flat_map(|past| past.from.into_iter().chain([past.to])).collect();
        names.retain(|name| Some(name) != now.as_ref());
        names.sort();
        names.dedup();
        names
    }

    /// The patch that makes `switch.to` active and records the switch.
    pub fn flip(&self, switch: &Switch) -> Value {
        json!({
            "metadata": {"annotations": {OPERATION: switch.write()}},
            "data": {tigera::POINTER.key: switch.to},
        })
    }

    /// A pointer made anew.
    pub fn created(switch: &Switch) -> Value {
        let pointer = tigera::POINTER;
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": pointer.name,
                "namespace": pointer.namespace,
                "annotations": {OPERATION: switch.write()},
            },
            "data": {pointer.key: switch.to},
        })
    }

    /// The patch after a proof: the switch goes to the history.
    pub fn finish(&self, switch: &Switch, now: Timestamp) -> Value {
        json!({"metadata": {"annotations": {OPERATION: null, HISTORY: self.with(switch, "done", now)}}})
    }

    /// The patch that makes the old operator active again.
    pub fn restore(&self, switch: &Switch, from: &str, now: Timestamp) -> Value {
        json!({
            "metadata": {"annotations": {OPERATION: null, HISTORY: self.with(switch, "rolled-back", now)}},
            "data": {tigera::POINTER.key: from},
        })
    }

    fn with(&self, switch: &Switch, result: &str, now: Timestamp) -> String {
        let mut entries = self.past();
        let mut entry = json!({"to": switch.to, "finished": rfc3339(now), "result": result});
        if let Some(from) = &switch.from {
            entry["from"] = json!(from);
        }
        entries.push(entry);
        let surplus = entries.len().saturating_sub(KEPT);
        entries.drain(..surplus);
        Value::Array(entries).to_string()
    }

    fn past(&self) -> Vec<Value> {
        let parsed = self.annotation(HISTORY).and_then(|text| serde_json::from_str(text).ok());
        match parsed {
            Some(Value::Array(entries)) => entries,
            _ => Vec::new(),
        }
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.object.as_ref()?.pointer("/metadata/annotations")?.get(key)?.as_str()
    }

    fn text(&self, at: &str) -> &str {
        self.object.as_ref().and_then(|object| object.pointer(at)).and_then(Value::as_str).unwrap_or_default()
    }
}

/// A time as annotations and claims carry it.
pub fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(data: &Value, annotations: &Value) -> Pointer {
        Pointer::read(Some(json!({"metadata": {"annotations": annotations, "resourceVersion": "7"}, "data": data})))
    }

    fn switch(from: &str, to: &str) -> Switch {
        Switch {
            id: "run".into(),
            from: Some(from.into()),
            to: to.into(),
            since: "2026-01-01T00:00:00Z".into(),
            copies: 3,
            fingerprint: Some(from.into()),
        }
    }

    #[test]
    fn everything_but_an_exact_namespace_makes_all_operators_wait() {
        let key = tigera::POINTER.key;
        let none = json!({});
        let cases = [
            (json!({key: "alt"}), Says::Namespace("alt".into())),
            (json!({key: "alt\n"}), Says::Garbled("alt\n".into())),
            (json!({key: " alt"}), Says::Garbled(" alt".into())),
            (json!({key: "Alt"}), Says::Garbled("Alt".into())),
            (json!({key: "a.b"}), Says::Garbled("a.b".into())),
            (json!({key: ""}), Says::Nothing),
            (json!({"active_namespace": "alt"}), Says::Nothing),
            (json!(null), Says::Nothing),
        ];
        for (data, expected) in cases {
            assert_eq!(pointer(&data, &none).says(), expected, "{data}");
        }
        assert_eq!(Pointer::read(None).says(), Says::Absent);
    }

    #[test]
    fn a_switch_is_read_as_it_was_written() {
        let wanted = switch("tigera-operator", "alt");
        let patch = pointer(&json!(null), &json!(null)).flip(&wanted);
        let flipped = pointer(&patch["data"], &patch["metadata"]["annotations"]);
        assert_eq!(flipped.switch(), Some(wanted));
        assert_eq!(flipped.namespace().as_deref(), Some("alt"));
        assert_eq!(flipped.previous().as_deref(), Some("tigera-operator"));
    }

    #[test]
    fn a_switch_under_way_can_be_gone_on_with_or_turned_back() {
        let key = tigera::POINTER.key;
        let under_way = switch("a", "b");
        let record = json!({OPERATION: under_way.write()});
        let quiet = pointer(&json!({key: "b"}), &json!({}));
        let busy = pointer(&json!({key: "b"}), &record);
        let by_hand = pointer(&json!({key: "c"}), &record);
        assert_eq!(quiet.course("b"), Course::Already);
        assert_eq!(quiet.course("a"), Course::Fresh);
        assert_eq!(busy.course("b"), Course::Resume(under_way.clone()));
        assert_eq!(busy.course("a"), Course::Undo(under_way.clone()));
        assert_eq!(busy.course("c"), Course::Busy(under_way));
        assert_eq!(by_hand.course("a"), Course::Fresh);
        assert_eq!(by_hand.course("c"), Course::Already);
        assert_eq!(Pointer::read(None).course("a"), Course::Fresh);
    }

    #[test]
    fn the_history_tells_what_was_before_and_ends_at_ten() {
        let now = Timestamp::UNIX_EPOCH;
        let mut current = pointer(&json!({tigera::POINTER.key: "b"}), &json!({}));
        assert_eq!(current.previous(), None);
        for _ in 0..12 {
            let patch = current.finish(&switch("a", "b"), now);
            let history = &patch["metadata"]["annotations"][HISTORY];
            current = pointer(&json!({tigera::POINTER.key: "b"}), &json!({HISTORY: history}));
        }
        assert_eq!(current.history().len(), 10);
        assert_eq!(current.previous().as_deref(), Some("a"));
        assert_eq!(current.retired(), ["a"]);
    }

    #[test]
    fn a_rolled_back_switch_is_no_way_back() {
        let now = Timestamp::UNIX_EPOCH;
        let patch = pointer(&json!({}), &json!({})).restore(&switch("a", "b"), "a", now);
        let restored = pointer(&patch["data"], &patch["metadata"]["annotations"]);
        assert_eq!(restored.namespace().as_deref(), Some("a"));
        assert_eq!(restored.previous(), None);
        assert_eq!(restored.retired(), ["b"]);
    }
}
