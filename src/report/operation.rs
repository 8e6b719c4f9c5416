//! What a writing verb did.

use serde_json::{Map, Value, json};

use super::{API_VERSION, Report, Table};

/// One object a verb touched, or left alone on purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeLine {
    /// Kind.
    pub kind: String,
    /// Namespace; `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// `created`, `configured`, `deleted`, `unchanged`, `skipped` or `failed`.
    pub action: &'static str,
    /// Why, or how far.
    pub reason: Option<String>,
}

/// The report of an operation.
#[derive(Clone, Debug, Default)]
pub struct OperationReport {
    /// The run.
    pub id: String,
    /// The operation.
    pub kind: &'static str,
    /// From where.
    pub from: Option<String>,
    /// Where to.
    pub to: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// When it ended, RFC 3339.
    pub finished: String,
    /// `done`, `unchanged`, `failed`, `rolled-back` or `interrupted`; `None` for a rehearsal.
    pub result: Option<&'static str>,
    /// `client` or `server` for a rehearsal.
    pub dry_run: Option<&'static str>,
    /// What was touched.
    pub changes: Vec<ChangeLine>,
    /// The command that undoes it.
    pub undo: Option<String>,
    /// The command that goes on.
    pub resume: Option<String>,
    /// What the user was warned of.
    pub warnings: Vec<String>,
}

impl Report for OperationReport {
    fn document(&self) -> Value {
        let mut operation = Map::new();
        let mut put = |key: &str, value: Option<&str>| {
            if let Some(value) = value {
                operation.insert(key.to_owned(), json!(value));
            }
        };
        put("id", Some(&self.id));
        put("type", Some(self.kind));
        put("from", self.from.as_deref());
        put("to", Some(&self.to));
        put("startedAt", Some(&self.started));
        put("finishedAt", Some(&self.finished));
        put("result", self.result);
        put("dryRun", self.dry_run);
        let mut out = json!({
            "apiVersion": API_VERSION,
            "kind": "OperationReport",
            "operation": operation,
            "changes": self.changes.iter().map(change).collect::<Vec<_>>(),
            "warnings": self.warnings,
        });
        for (key, value) in [("undo", &self.undo), ("resume", &self.resume)] {
            if let Some(value) = value {
                out[key] = json!(value);
            }
        }
        out
    }

    fn table(&self, _wide: bool) -> Table {
        let mut table = Table::new(["KIND", "NAMESPACE", "NAME", "ACTION", "REASON"]);
        for change in &self.changes {
            table.row([
                change.kind.clone(),
                change.namespace.clone().unwrap_or_default(),
                change.name.clone(),
                change.action.to_owned(),
                change.reason.clone().unwrap_or_default(),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.changes.iter().map(|change| format!("{}/{}", change.kind.to_lowercase(), change.name)).collect()
    }
}

fn change(change: &ChangeLine) -> Value {
    let mut out = json!({"kind": change.kind});
    if let Some(namespace) = &change.namespace {
        out["namespace"] = json!(namespace);
    }
    out["name"] = json!(change.name);
    out["action"] = json!(change.action);
    if let Some(reason) = &change.reason {
        out["reason"] = json!(reason);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_leaves_out_what_is_not_known() {
        let report = OperationReport {
            id: "1".into(),
            kind: "switch-active",
            to: "alt".into(),
            result: Some("unchanged"),
            changes: vec![ChangeLine {
                kind: "ConfigMap".into(),
                namespace: None,
                name: "x".into(),
                action: "unchanged",
                reason: None,
            }],
            ..OperationReport::default()
        };
        let document = report.document();
        assert_eq!(document["operation"].get("from"), None);
        assert_eq!(document["operation"]["result"], "unchanged");
        assert_eq!(document["changes"], json!([{"kind": "ConfigMap", "name": "x", "action": "unchanged"}]));
        assert_eq!((document.get("undo"), &document["warnings"]), (None, &json!([])));
    }
}
