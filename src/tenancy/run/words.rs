//! What is told about operators on the way.

use super::{Observed, Remark};
use crate::{
    contracts::{camel_dsl::SCRIPTS_UNTIL, camel_k},
    tenancy::operators::{Operator, with_id},
};

/// Warnings about what the operator's version does not do.
pub fn version_remarks(operators: &[&Operator], scripts: &[String]) -> Vec<Remark> {
    let newest =
        operators.iter().filter_map(|operator| Some((operator.major_minor()?, operator))).max_by_key(|one| one.0);
    let Some((version, operator)) = newest.filter(|(version, _)| *version >= SCRIPTS_UNTIL) else { return Vec::new() };
    let warning = |name: &String| {
        Remark::Warning(format!(
            "operator {} is of version {}.{}, which runs Java, XML and YAML only, not {name}",
            operator.id, version.0, version.1
        ))
    };
    scripts.iter().map(warning).collect()
}

/// Why nobody has taken the resource, or with `outdated` its change, as far as is known.
pub fn untaken(id: Option<&str>, namespace: &str, observed: &Observed, outdated: bool) -> String {
    let nobody = if outdated { "no operator has taken its change" } else { "no operator has taken it" };
    let Some(id) = id else { return format!("{nobody}, and it carries no operator id") };
    let responsible: Vec<_> = observed.responsible(id, namespace).collect();
    if responsible.is_empty() {
        let why = if with_id(&observed.operators, camel_k::NAME, id).next().is_some() {
            format!("operator {id} does not watch namespace {namespace}")
        } else if observed.knows_all() {
            format!("no operator has the id {id}")
        } else {
            format!("no operator with the id {id} can be seen")
        };
        return format!("{nobody}: {why}");
    }
    let known: Vec<_> = responsible.iter().map(|operator| described(operator)).collect();
    format!("{nobody}; it is for operator {id}: {}", known.join("; "))
}

fn described(operator: &Operator) -> String {
    let version = operator.version.as_ref().map(|version| format!(", version {version}")).unwrap_or_default();
    let ready = match (operator.ready_replicas, operator.replicas) {
        (Some(ready), Some(replicas)) => format!(", {ready} of {replicas} pods ready"),
        _ => String::new(),
    };
    format!("{}{version}{ready}, {}", operator.place(), operator.state.as_str())
}
