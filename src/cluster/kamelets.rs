//! Looking Kamelets up where an operator does: in the namespace of the reference, then in its own.

use serde_json::Value;

use crate::contracts::kinds::Kind;

use super::{ApiError, Cluster, ListOptions};

/// What a search for a Kamelet found.
#[derive(Clone, Debug, PartialEq)]
pub enum Sought {
    /// The Kamelet.
    Found(Value),
    /// It is in none of the namespaces; the names of those that are.
    Absent(Vec<String>),
    /// It is not where one could look; this namespace may not be read.
    Hidden(String),
    /// The cluster does not serve Kamelets.
    NotServed,
}

impl Cluster {
    /// Looks for a Kamelet in these namespaces, in order.
    ///
    /// # Errors
    /// The server cannot be asked. A namespace that may not be read is no error.
    pub async fn kamelet(&self, kind: &Kind, name: &str, namespaces: &[&str]) -> Result<Sought, ApiError> {
        let mut hidden = None;
        for namespace in namespaces {
            match self.get(kind, Some(namespace), name).await {
                Ok(Some(kamelet)) => return Ok(Sought::Found(kamelet)),
                Ok(None) => {}
                Err(error) if error.is_forbidden() => hidden = Some((*namespace).to_owned()),
                Err(error) if error.is_kind_missing() => return Ok(Sought::NotServed),
                Err(error) => return Err(error),
            }
        }
        match hidden {
            Some(namespace) => Ok(Sought::Hidden(namespace)),
            None => self.kamelets(kind, namespaces).await.map(Sought::Absent),
        }
    }

    /// The names of all Kamelets in these namespaces; those that may be read but not listed have none.
    async fn kamelets(&self, kind: &Kind, namespaces: &[&str]) -> Result<Vec<String>, ApiError> {
        let mut names = Vec::new();
        for namespace in namespaces {
            match self.list(kind, Some(namespace), &ListOptions::cached_metadata()).await {
                Ok(kamelets) => names.extend(
                    kamelets
                        .iter()
                        .filter_map(|kamelet| kamelet.pointer("/metadata/name")?.as_str().map(str::to_owned)),
                ),
                Err(error) if error.is_forbidden() => {}
                Err(error) => return Err(error),
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }
}
