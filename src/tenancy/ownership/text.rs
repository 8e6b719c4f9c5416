//! Verdicts in words.

use super::{Resource, Rule, Takes, Verdict};
use crate::tenancy::operators::Operator;

/// Why an operator takes a resource or not.
pub(super) fn reason(rule: Rule, resource: &Resource, operator: &Operator) -> String {
    let id = shown(&operator.id);
    let carried = resource.id.as_deref().unwrap_or_default();
    let kind = resource.kind.kind;
    let namespace = &resource.namespace;
    match rule {
        Rule::SameId if carried.is_empty() => format!("neither the {kind} nor the operator has an id"),
        Rule::SameId => format!("the {kind} carries its id"),
        Rule::DefaultId => format!("the {kind} carries no id, and {id} is the default one"),
        Rule::Local => format!("the {kind} carries no id, and this operator watches only some namespaces"),
        Rule::AnyWatcher => {
            format!("the {kind} carries no id, and operators of this version take all such in {namespace}")
        }
        Rule::Designated => "it is the active operator".into(),
        Rule::OtherId => format!("the {kind} carries the id {carried}"),
        Rule::NoId => {
            format!("the {kind} carries no id, and this operator watches the whole cluster under the id {id}")
        }
        Rule::Locked => format!("namespace {namespace} is locked by a local operator's lease"),
        Rule::NotWatched => format!("it does not watch namespace {namespace}"),
        Rule::KindNotHandled => format!("its version does not reconcile {kind}"),
        Rule::Standby => "it is on standby".into(),
        Rule::NoDeployment => format!("no Deployment of operator {id} is there"),
        Rule::VersionUnknown => "its version cannot be told from its image, and versions differ in this".into(),
        Rule::ScopeUnknown => "the namespaces it watches could not be read".into(),
        Rule::IdUnknown => format!("its id could not be read: {id}"),
        Rule::LocksUnseen => format!("leases and platforms in namespace {namespace} could not be read"),
        Rule::Contested | Rule::UnknownId | Rule::NoTaker => rule.as_str().into(),
    }
}

/// Why nobody takes a resource.
pub(super) fn nobody(resource: &Resource, verdicts: &[Verdict]) -> (Rule, String) {
    let carried = resource.id.as_deref().unwrap_or_default();
    let kind = resource.kind.kind;
    if carried.is_empty() {
        return (
            Rule::NoTaker,
            format!("the {kind} carries no id, and no operator takes such in {}", resource.namespace),
        );
    }
    match verdicts.iter().find(|verdict| verdict.id == carried) {
        Some(verdict) => (verdict.rule, format!("operator {carried}: {}", verdict.reason)),
        None => (Rule::UnknownId, format!("the {kind} carries the id {carried}, which no operator has")),
    }
}

/// Who takes a resource together.
pub(super) fn contested(takers: &[&Verdict]) -> String {
    debug_assert!(takers.iter().all(|verdict| verdict.takes == Takes::Yes));
    let names: Vec<_> =
        takers.iter().map(|verdict| format!("{} in {}", shown(&verdict.id), verdict.namespace)).collect();
    format!("{} operators take it: {}", names.len(), names.join(", "))
}

fn shown(id: &str) -> &str {
    if id.is_empty() { "<none>" } else { id }
}
