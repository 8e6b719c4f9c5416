//! What the caller may do, by access reviews.

use futures_util::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde_json::{Value, json};

use crate::contracts::kinds::{Kind, SELF_SUBJECT_ACCESS_REVIEW};

use super::{ApiError, Call, Cluster};

/// Reviews under way at once; more connections would cost more than they save.
const AT_ONCE: usize = 8;

/// One right: a verb on a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Right {
    /// RBAC verb.
    pub verb: &'static str,
    /// API group.
    pub group: &'static str,
    /// Plural.
    pub resource: &'static str,
    /// Namespace, `None` for cluster-wide.
    pub namespace: Option<String>,
    /// Name, where the right may be granted by name.
    pub name: Option<String>,
}

impl Right {
    /// A right on a kind.
    pub fn on(verb: &'static str, kind: &Kind, namespace: Option<&str>, name: Option<&str>) -> Self {
        Self {
            verb,
            group: kind.group,
            resource: kind.plural,
            namespace: namespace.filter(|_| kind.namespaced).map(str::to_owned),
            name: name.map(str::to_owned),
        }
    }
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => f.write_str(" cluster-wide"),
        }
    }
}

impl Cluster {
    /// Those of `rights` that the caller lacks, in their order.
    ///
    /// The review does not see escalation (granting rights one does not hold): only a dry run of the role does.
    pub async fn missing(&self, rights: &[Right]) -> Result<Vec<Right>, ApiError> {
        let answers: Vec<bool> =
            stream::iter(rights).map(|right| self.may(right)).buffered(AT_ONCE).try_collect().await?;
        Ok(rights.iter().zip(answers).filter(|(_, allowed)| !allowed).map(|(right, _)| right.clone()).collect())
    }

    /// Whether the caller has a right.
    pub async fn may(&self, right: &Right) -> Result<bool, ApiError> {
        let mut attributes = json!({"verb": right.verb, "group": right.group, "resource": right.resource});
        if let Some(namespace) = &right.namespace {
            attributes["namespace"] = json!(namespace);
        }
        if let Some(name) = &right.name {
            attributes["name"] = json!(name);
        }
        let kind = SELF_SUBJECT_ACCESS_REVIEW;
        let review =
            json!({"apiVersion": kind.api_version(), "kind": kind.kind, "spec": {"resourceAttributes": attributes}});
        let call =
            Call::new(Method::POST, kind.path(None, None), "ask what you may do").body("application/json", review);
        let answer = self.call(&call).await?;
        Ok(answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or(false))
    }
}
