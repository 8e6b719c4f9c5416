//! `--crds`: the definitions of Camel K's kinds, once nothing of these kinds exists any more.

use std::collections::BTreeMap;

use http::Method;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    cluster::{Call, Cluster, ListOptions},
    contracts::{camel_k, kinds::CRD},
    error::{Error, Result},
    manifests::operator::SHARED_LABEL,
    tenancy::{
        objects::{Mark, is_own, place_of},
        plan::{Step, Write},
    },
};

/// The definitions of a group and what exists of their kinds.
pub struct Definitions {
    /// Deletes of those that kctl made.
    pub steps: Vec<Step>,
    /// Names of those that somebody else made.
    pub foreign: Vec<String>,
    /// Objects per plural and namespace.
    pub counts: BTreeMap<(String, String), usize>,
}

/// Reads the definitions and counts what exists of their kinds, anywhere.
///
/// # Errors
/// A source that cannot be read (exit 4): what is not seen would be lost.
pub async fn read(cluster: &Cluster) -> Result<Definitions> {
    let unseen = |what: &str| {
        Error::not_authorised(format!(
            "--crds would delete what you may not see: you may not list {what} in all namespaces"
        ))
        .hint("leave --crds out, or ask an admin of the cluster")
    };
    let all = match cluster.list(&CRD, None, &ListOptions::default()).await {
        Err(error) if error.is_forbidden() => return Err(unseen("customresourcedefinitions")),
        all => all?,
    };
    let mut found = Definitions { steps: Vec::new(), foreign: Vec::new(), counts: BTreeMap::new() };
    for definition in all.iter().filter(|definition| definition["spec"]["group"] == camel_k::GROUP) {
        let (_, name) = place_of(definition);
        let plural = definition["spec"]["names"]["plural"].as_str().unwrap_or_default();
        let versions = definition["spec"]["versions"].as_array();
        let served = versions.into_iter().flatten().find(|version| version["served"] == true);
        if let Some(version) = served.and_then(|version| version["name"].as_str()) {
            let path = format!("/apis/{}/{version}/{plural}", camel_k::GROUP);
            let call = Call::new(Method::GET, path, &format!("count {name}")).metadata_list();
            let counted = cluster
                .each_item(&call, |text| {
                    let item: Item = serde_json::from_slice(text)?;
                    *found.counts.entry((plural.to_owned(), item.metadata.namespace)).or_default() += 1;
                    Ok(())
                })
                .await;
            match counted {
                Err(error) if error.is_forbidden() => return Err(unseen(name)),
                counted => counted?,
            }
        }
        if is_own(definition, Mark { label: SHARED_LABEL, value: None }) {
            let uid = definition.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
            found.steps.push(Step::new(CRD, None, name, Write::Delete { uid: uid.to_owned() }));
        } else {
            found.foreign.push(name.to_owned());
        }
    }
    Ok(found)
}

impl Definitions {
    /// Takes off what the removal itself deletes.
    pub fn without<'a>(mut self, steps: impl Iterator<Item = &'a Step>) -> Self {
        for step in steps.filter(|step| step.kind.group == camel_k::GROUP) {
            let place = (step.kind.plural.to_owned(), step.namespace.clone().unwrap_or_default());
            if let Some(count) = self.counts.get_mut(&place) {
                *count = count.saturating_sub(1);
            }
        }
        self.counts.retain(|_, count| *count > 0);
        self
    }

    /// Refuses as long as something of these kinds exists.
    ///
    /// # Errors
    /// It does (exit 3).
    pub fn refuse_used(&self) -> Result<()> {
        if self.counts.is_empty() {
            return Ok(());
        }
        let list =
            self.counts.iter().map(|((plural, namespace), count)| format!("{count} {plural} in namespace {namespace}"));
        Err(Error::refused(
            "InUse",
            format!("the definitions cannot go: deleting them would delete {}", list.collect::<Vec<_>>().join(", ")),
        )
        .hint("leave --crds out: the definitions do no harm"))
    }
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    namespace: String,
}
