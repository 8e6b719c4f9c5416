//! The list of operators.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{API_VERSION, Report, Table, age};
use crate::tenancy::{
    evidence::Unseen,
    operators::{Operator, Scope, State, Unassigned},
};

/// What `list-operators` found.
#[derive(Clone, Debug)]
pub struct OperatorList {
    /// The operators.
    pub operators: Vec<Operator>,
    /// Resources that no operator is named on.
    pub unassigned: Unassigned,
    /// What could not be read.
    pub unseen: Vec<Unseen>,
    /// What the user was warned of.
    pub warnings: Vec<String>,
    /// The server's time, for ages.
    pub now: Timestamp,
}

impl Report for OperatorList {
    fn document(&self) -> Value {
        json!({
            "apiVersion": API_VERSION,
            "kind": "OperatorList",
            "items": self.operators.iter().map(operator).collect::<Vec<_>>(),
            "legacy": self.unassigned.legacy,
            "orphaned": self.unassigned.orphaned,
            "unseen": self.unseen.iter().map(unseen).collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }

    fn table(&self, wide: bool) -> Table {
        let narrow = ["ID", "FAMILY", "NAMESPACE", "SCOPE", "VERSION", "READY", "STATE", "RESOURCES"];
        let more = ["DEPLOYMENT", "IMAGE", "LEASE HOLDER", "PLATFORM", "PHASE", "EVIDENCE"];
        let more = more.into_iter().filter(|_| wide);
        let mut table = Table::new(narrow.into_iter().chain(more).chain(["AGE"]));
        for operator in &self.operators {
            let more = details(operator).into_iter().filter(|_| wide);
            table.row(columns(operator).into_iter().chain(more).chain([age::of(operator.created_at, self.now)]));
        }
        table
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.operators.iter().map(|operator| operator.id.clone()).collect();
        names.dedup();
        names
    }
}

fn columns(operator: &Operator) -> [String; 8] {
    [
        operator.id.clone(),
        operator.family.into(),
        operator.namespace.clone(),
        scope(&operator.scope),
        or_unknown(operator.version.as_deref()),
        ready(operator),
        operator.state.as_str().into(),
        resources(operator),
    ]
}

fn details(operator: &Operator) -> [String; 6] {
    let platform = operator.platform.as_ref();
    [
        operator.deployment.clone().unwrap_or_default(),
        operator.image.clone().unwrap_or_default(),
        operator.lease.as_ref().and_then(|lease| lease.holder.clone()).unwrap_or_default(),
        platform.map(|platform| platform.name.clone()).unwrap_or_default(),
        platform.and_then(|platform| platform.phase.clone()).unwrap_or_default(),
        operator.evidence.iter().map(|source| source.as_str()).collect::<Vec<_>>().join(","),
    ]
}

fn scope(scope: &Scope) -> String {
    match scope {
        Scope::Namespaces(names) => names.join(","),
        Scope::Unknown => "<unknown>".into(),
        Scope::Cluster | Scope::Own => scope.as_str().into(),
    }
}

fn ready(operator: &Operator) -> String {
    match (operator.ready_replicas, operator.replicas) {
        (Some(ready), Some(wanted)) => format!("{ready}/{wanted}"),
        _ if matches!(operator.state, State::Missing | State::Dangling | State::External) => String::new(),
        _ => "<unknown>".into(),
    }
}

/// A count that may be too low has a plus sign.
fn resources(operator: &Operator) -> String {
    let Some(counted) = &operator.resources else {
        // Either the id could not be read, or the family's resources carry none.
        return if operator.id_known { String::new() } else { "<unknown>".into() };
    };
    match (total(&counted.by_kind), counted.complete) {
        (0, false) => "<unknown>".into(),
        (total, false) => format!("{total}+"),
        (total, true) => total.to_string(),
    }
}

fn total(by_kind: &BTreeMap<String, u64>) -> u64 {
    by_kind.values().sum()
}

fn or_unknown(text: Option<&str>) -> String {
    text.unwrap_or("<unknown>").into()
}

fn operator(operator: &Operator) -> Value {
    let namespaces: &[String] = match &operator.scope {
        Scope::Namespaces(names) => names,
        _ => &[],
    };
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            out.insert(key.into(), value);
        }
    };
    put("id", json!(operator.id));
    put("family", json!(operator.family));
    put("namespace", json!(operator.namespace));
    put("deployment", json!(operator.deployment));
    put("scope", json!({"type": operator.scope.as_str(), "namespaces": namespaces}));
    put("version", json!(operator.version));
    put("image", json!(operator.image));
    put("replicas", json!(operator.replicas));
    put("readyReplicas", json!(operator.ready_replicas));
    put("state", json!(operator.state.as_str()));
    put("default", json!(operator.default));
    put("claimed", json!(operator.claimed));
    put("managedBy", json!(operator.managed_by));
    put(
        "lease",
        operator.lease.as_ref().map_or(Value::Null, |lease| {
            present([
                ("holder", json!(lease.holder)),
                ("renewTime", json!(lease.renew_time)),
                ("live", json!(lease.live)),
            ])
        }),
    );
    put(
        "platform",
        operator.platform.as_ref().map_or(Value::Null, |platform| {
            present([
                ("name", json!(platform.name)),
                ("phase", json!(platform.phase)),
                ("version", json!(platform.version)),
            ])
        }),
    );
    put("operation", json!(operator.operation));
    put("evidence", operator.evidence.iter().map(|source| source.as_str()).collect());
    put(
        "resources",
        operator
            .resources
            .as_ref()
            .map_or(Value::Null, |counted| json!({"total": total(&counted.by_kind), "byKind": counted.by_kind})),
    );
    put("createdAt", json!(operator.created_at));
    Value::Object(out)
}

fn unseen(unseen: &Unseen) -> Value {
    present([
        ("source", json!(unseen.source)),
        ("namespace", json!(unseen.namespace)),
        ("reason", json!(unseen.reason)),
    ])
}

/// An object without the fields that are not known.
fn present<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let known = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(known.map(|(key, value)| (key.to_owned(), value)).collect())
}
