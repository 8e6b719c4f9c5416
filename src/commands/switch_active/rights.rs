//! The caller's own rights, all of them before the first write.

use crate::{
    cluster::{Cluster, access::Right},
    error::{Error, Result},
    tenancy::plan::Step,
};

/// The rights that steps need.
pub fn of(steps: &[Step]) -> Vec<Right> {
    let mut rights = Vec::new();
    for step in steps {
        for verb in step.verbs() {
            // Creation cannot be granted by name.
            let name = (*verb != "create").then_some(step.name.as_str());
            rights.push(Right::on(verb, &step.kind, step.namespace.as_deref(), name));
        }
    }
    rights
}

/// Refuses when one is missing.
///
/// # Errors
/// The verbs and resources that are missing (exit 4).
pub async fn check(cluster: &Cluster, mut rights: Vec<Right>) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    rights.retain(|right| seen.insert(right.clone()));
    let missing = cluster.missing(&rights).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.iter().map(ToString::to_string).collect::<Vec<_>>();
    Err(Error::not_authorised(format!("you may not: {}", list.join("; ")))
        .hint("nothing was written; ask an admin of the cluster for these rights, or to run the switch")
        .hint("to see the plan: add --dry-run=client"))
}
