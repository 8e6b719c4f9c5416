//! What `run` and `bind` need to see, in as few requests as there can be: the resource, the claims, the operators.

use std::collections::BTreeMap;

use http::Method;
use serde_json::Value;

use crate::{
    contracts::{
        camel_k,
        kinds::{DEPLOYMENT, Kind, NAMESPACE, OPERATOR_CLAIM, PIPE},
    },
    error::{Error, Result},
    tenancy::{
        adopt::COMPLETE,
        evidence::{ClaimFacts, Coverage, DeploymentFacts, Evidence},
        operators::operators,
        run::{Observed, operator_id},
    },
};

use super::{ApiError, Call, Cluster, ListOptions};

/// Label of a namespace with the id of the operator that its resources are for.
const NAMESPACE_ID: &str = "kctl.dev/operator-id";

/// What was seen for a run or a binding.
#[derive(Clone, Debug)]
pub struct RunEvidence {
    /// The resource and the operators.
    pub observed: Observed,
    /// The id in the namespace's label, when it was asked for and could be read.
    pub namespace_id: Option<String>,
}

impl Cluster {
    /// Reads what has to be known to write the resource `name`; with `with_label` also the id in the namespace's label.
    ///
    /// # Errors
    /// The resource cannot be read, or the cluster does not serve its kind. Operators and claims that may not be
    /// listed are no error: less is known then.
    pub async fn observe_run(&self, kind: &Kind, name: &str, with_label: bool) -> Result<RunEvidence> {
        let selector = format!("{}={}", camel_k::COMPONENT, camel_k::COMPONENT_OPERATOR);
        let of_operators = ListOptions::labelled(selector);
        let everything = ListOptions::default();
        let (existing, claims, deployments, namespace_id) = tokio::join!(
            self.get(kind, Some(self.namespace()), name),
            self.list(&OPERATOR_CLAIM, None, &everything),
            self.list(&DEPLOYMENT, None, &of_operators),
            self.namespace_id(with_label),
        );
        let existing = existing.map_err(|error| unreadable(error, kind, self.namespace()))?;
        let claims = readable(claims)?.unwrap_or_default();
        let deployments = readable(deployments)?;
        let locks = match &existing {
            Some(existing) if operator_id(existing).is_none() => self.locks([self.namespace()]).await?,
            _ => <_>::default(),
        };
        let observed = Observed {
            existing,
            all_deployments: deployments.is_some(),
            all_claimed: claims.iter().any(is_complete),
            renamed: renamed(&claims),
            operators: operators(&evidence(deployments, &claims), self.server_time()),
            locks,
        };
        Ok(RunEvidence { observed, namespace_id })
    }

    /// The operator id in the label of the namespace; none when there is none, or when it may not be read.
    async fn namespace_id(&self, wanted: bool) -> Option<String> {
        if !wanted {
            return None;
        }
        let namespace = self.get(&NAMESPACE, None, self.namespace()).await.ok()??;
        let id = namespace.pointer("/metadata/labels")?.get(NAMESPACE_ID)?.as_str()?;
        (!id.is_empty()).then(|| id.to_owned())
    }

    /// Whether the cluster has the definitions of Camel K v1, which has no Pipes.
    pub async fn serves_version_1(&self) -> Result<bool> {
        Ok(!self.serves(&PIPE).await?)
    }

    /// Whether the cluster serves a kind.
    pub async fn serves(&self, kind: &Kind) -> Result<bool> {
        let path = format!("/apis/{}/{}", kind.group, kind.version);
        match self.call(&Call::new(Method::GET, path, &format!("ask which kinds of {} are served", kind.group))).await {
            Ok(served) => {
                let mut kinds = served.get("resources").and_then(Value::as_array).into_iter().flatten();
                Ok(kinds.any(|served| served["name"] == kind.plural))
            }
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn evidence(deployments: Option<Vec<Value>>, claims: &[Value]) -> Evidence {
    let deployments_seen = if deployments.is_some() { Coverage::All } else { Coverage::Namespaces(<_>::default()) };
    let deployments = deployments.unwrap_or_default();
    Evidence {
        deployments: deployments.iter().filter_map(|found| DeploymentFacts::parse(&camel_k::FAMILY, found)).collect(),
        deployments_seen,
        claims: claims.iter().filter_map(ClaimFacts::parse).filter(|claim| claim.family == camel_k::NAME).collect(),
        ..Evidence::default()
    }
}

fn is_complete(claim: &Value) -> bool {
    let marked = claim.pointer("/metadata/annotations").is_some_and(|map| map[COMPLETE] == "true");
    marked && claim.pointer("/spec/family").is_some_and(|family| family == camel_k::NAME)
}

fn renamed(claims: &[Value]) -> BTreeMap<String, String> {
    let facts = claims.iter().filter_map(ClaimFacts::parse).filter(|claim| claim.family == camel_k::NAME);
    facts.filter_map(|claim| Some((claim.id, claim.renamed_to?))).collect()
}

/// `None` for what may not be read; a kind that is not served has no objects.
fn readable(answer: Result<Vec<Value>, ApiError>) -> Result<Option<Vec<Value>>> {
    match answer {
        Ok(items) => Ok(Some(items)),
        Err(error) if error.is_kind_missing() => Ok(Some(Vec::new())),
        Err(error) if error.is_forbidden() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn unreadable(error: ApiError, kind: &Kind, namespace: &str) -> Error {
    if error.is_kind_missing() {
        let text = format!("the cluster does not serve {}s: Camel K is not installed", kind.kind);
        return Error::not_found("KindNotServed", text).hint("an admin can install an operator: kctl install -x ID");
    }
    let forbidden = error.is_forbidden();
    let error = Error::from(error);
    if forbidden { error.hint(format!("see what you may do: kubectl auth can-i --list -n {namespace}")) } else { error }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_tell_which_are_complete_and_renamed() {
        let claim = |family: &str, id: &str, complete: &str| {
            json!({"metadata": {"name": format!("{family}.{id}"), "annotations": {COMPLETE: complete}},
                "spec": {"family": family, "id": id}})
        };
        assert!(is_complete(&claim("camel-k", "a", "true")));
        assert!(!is_complete(&claim("camel-k", "a", "false")));
        assert!(!is_complete(&claim("tigera", "a", "true")));
        let mut old = claim("camel-k", "old", "");
        old["spec"]["renamedTo"] = json!("new");
        assert_eq!(renamed(&[old, claim("camel-k", "new", "")]), [("old".to_owned(), "new".to_owned())].into());
    }
}
