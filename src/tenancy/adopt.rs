//! Which operators may be claimed as they are, and which ids are used by more than one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::contracts::{camel_k, is_dns_subdomain, kinds::OPERATOR_CLAIM};

use super::{
    claim::{self, Claim},
    evidence::{ClaimFacts, Source},
    operators::{Operator, State},
};

/// The type of the entry in a claim's history.
pub const ADOPT: &str = "adopt";
/// Annotation of a claim that says that every operator of the family has one.
pub const COMPLETE: &str = "kctl.dev/claims-complete";

/// Tools that a claim can name.
const TOOLS: [&str; 5] = ["kctl", "helm", "olm", "kustomize", "argo"];

/// What adoption means for one id.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It gets this claim.
    Claim(Box<Claim>),
    /// Its operator holds a claim already.
    Claimed,
    /// It cannot be claimed; why, and where its operators are.
    Not {
        /// Why.
        why: String,
        /// Places of its operators.
        places: Vec<String>,
    },
}

/// The verdict on every id that an operator uses, by id.
pub fn verdicts(operators: &[Operator], claims: &[ClaimFacts], now: Timestamp) -> BTreeMap<String, Verdict> {
    let mut by_id: BTreeMap<String, Vec<&Operator>> = BTreeMap::new();
    for operator in operators.iter().filter(|operator| operator.family == camel_k::NAME && is_there(operator)) {
        by_id.entry(operator.id.clone()).or_default().push(operator);
    }
    by_id.into_iter().map(|(id, rows)| (id.clone(), verdict(&id, &rows, claims, now))).collect()
}

/// What is only named by a claim, or by a platform whose operator is gone, needs no claim.
fn is_there(operator: &Operator) -> bool {
    operator.deployment_uid.is_some()
        || operator.state == State::External
        || operator.evidence.contains(&Source::Subscription)
}

fn verdict(id: &str, rows: &[&Operator], claims: &[ClaimFacts], now: Timestamp) -> Verdict {
    let not = |why: String| Verdict::Not { why, places: rows.iter().map(|row| row.place()).collect() };
    let claim = claims.iter().find(|claim| claim.family == camel_k::NAME && claim.id == id);
    if let Some(to) = claim.and_then(|claim| claim.renamed_to.as_deref()) {
        let became = if to.is_empty() { "was given up".to_owned() } else { format!("was renamed to {to}") };
        return not(format!("the id {became}, and an operator uses it still"));
    }
    if claim.is_some() {
        return match rows.iter().find(|row| !row.claimed) {
            None => Verdict::Claimed,
            Some(row) => not(format!("its claim names another operator than {}", row.place())),
        };
    }
    match rows {
        [one] => match (&one.deployment, &one.deployment_uid) {
            _ if !one.id_known => not("its id cannot be read".to_owned()),
            _ if id.len() > 63 || !is_dns_subdomain(id) => not("a claim cannot be named like this id".to_owned()),
            (Some(deployment), Some(uid)) => Verdict::Claim(Box::new(new_claim(id, one, deployment, uid, now))),
            _ => not("it has no Deployment that a claim could name".to_owned()),
        },
        several => not(format!("{} operators use the id", several.len())),
    }
}

fn new_claim(id: &str, operator: &Operator, deployment: &str, uid: &str, now: Timestamp) -> Claim {
    let tool = operator.managed_by.as_deref().filter(|tool| TOOLS.contains(tool)).unwrap_or("unknown");
    Claim::read(json!({
        "apiVersion": OPERATOR_CLAIM.api_version(),
        "kind": OPERATOR_CLAIM.kind,
        "metadata": {
            "name": claim::name(camel_k::NAME, id),
            "labels": {"app.kubernetes.io/managed-by": "kctl", "kctl.dev/family": camel_k::NAME, "kctl.dev/operator-id": id},
        },
        "spec": {
            "family": camel_k::NAME,
            "id": id,
            "active": {"namespace": operator.namespace, "deployment": deployment, "uid": uid},
            "managedBy": tool,
            "history": [{"type": ADOPT, "finished": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()}],
        },
    }))
}

/// The claim with the mark that all operators have one; `None` when it carries it.
pub fn marked(claim: &Claim) -> Option<Claim> {
    let annotations = claim.object().pointer("/metadata/annotations");
    if annotations.and_then(|all| all.get(COMPLETE)).and_then(Value::as_str) == Some("true") {
        return None;
    }
    let mut next = claim.object().clone();
    next["metadata"]["annotations"][COMPLETE] = json!("true");
    Some(Claim::read(next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenancy::evidence::Place;

    fn operator(id: &str, namespace: &str, tool: Option<&str>) -> Operator {
        let mut operator = Operator::at("camel-k", id, namespace, State::Active);
        operator.deployment = Some("camel-k-operator".into());
        operator.deployment_uid = Some("uid".into());
        operator.managed_by = tool.map(str::to_owned);
        operator
    }

    fn claim(id: &str, namespace: &str, renamed_to: Option<&str>) -> ClaimFacts {
        let place = Place { namespace: namespace.into(), deployment: "camel-k-operator".into() };
        ClaimFacts {
            family: "camel-k".into(),
            id: id.into(),
            active: Some(place),
            standbys: Vec::new(),
            managed_by: None,
            operation: None,
            renamed_to: renamed_to.map(str::to_owned),
            created_at: None,
        }
    }

    fn why(operators: &[Operator], claims: &[ClaimFacts], id: &str) -> Option<String> {
        match verdicts(operators, claims, Timestamp::UNIX_EPOCH).remove(id)? {
            Verdict::Not { why, .. } => Some(why),
            _ => None,
        }
    }

    #[test]
    fn one_operator_without_a_claim_gets_one_that_names_its_tool() {
        for (tool, named) in [(Some("helm"), "helm"), (Some("flux"), "unknown"), (None, "unknown")] {
            let verdict = verdicts(&[operator("a", "ops", tool)], &[], Timestamp::UNIX_EPOCH).remove("a");
            let Some(Verdict::Claim(claim)) = verdict else { panic!("{verdict:?}") };
            assert_eq!((&claim.object()["spec"]["managedBy"], claim.operation()), (&json!(named), None));
            assert_eq!(claim.object()["metadata"]["name"], "camel-k.a");
        }
    }

    #[test]
    fn what_cannot_be_claimed_is_told() {
        let (one, other) = (operator("a", "ops", None), operator("a", "alt", None));
        let mut hidden = operator("<secret x>", "ops", None);
        hidden.id_known = false;
        let mut external = operator("a", "ops", None);
        (external.deployment_uid, external.state) = (None, State::External);
        let mut missing = external.clone();
        missing.state = State::Missing;
        let told = |operators: &[Operator], claims: &[ClaimFacts]| why(operators, claims, &operators[0].id);
        assert_eq!(told(&[one.clone(), other], &[]).as_deref(), Some("2 operators use the id"));
        assert_eq!(told(&[hidden], &[]).as_deref(), Some("its id cannot be read"));
        assert!(told(&[operator("A_b", "ops", None)], &[]).is_some());
        assert!(told(&[external], &[]).is_some());
        assert!(told(std::slice::from_ref(&one), &[claim("a", "alt", None)]).is_some());
        assert!(told(std::slice::from_ref(&one), &[claim("a", "ops", Some(""))]).is_some());
        assert_eq!(verdicts(&[missing], &[], Timestamp::UNIX_EPOCH), BTreeMap::new());
        let mut claimed = one;
        claimed.claimed = true;
        let all = verdicts(&[claimed], &[claim("a", "ops", None)], Timestamp::UNIX_EPOCH);
        assert_eq!(all["a"], Verdict::Claimed);
    }

    #[test]
    fn a_mark_is_made_once() {
        let plain = Claim::read(json!({"metadata": {"name": "camel-k.a"}}));
        let once = marked(&plain).expect("marked");
        assert_eq!(once.object()["metadata"]["annotations"][COMPLETE], "true");
        assert_eq!(marked(&once), None);
    }
}
