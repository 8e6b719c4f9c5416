//! Which existing resources the new operator takes, told and asked about before anything is written.

use std::fmt::Write as _;

use crate::{
    cluster::{Cluster, observe::Observe},
    contracts::camel_k,
    error::Result,
    manifests::operator::{Operator, Watch},
    tenancy::{
        evidence::Evidence,
        install::Wish,
        operators::{self, Scope, State},
        ownership::Locks,
        taken::{self, Taken},
    },
    ui::Ui,
};

use super::observe::Seen;

/// Groups shown one by one; more are summed up.
const SHOWN: usize = 12;

/// Everything that tells of operators; with `count_ids` also the ids that resources carry.
pub async fn evidence(cluster: &Cluster, id: &str, count_ids: bool) -> Result<Evidence> {
    Ok(cluster
        .observe(&Observe { families: vec![&camel_k::FAMILY], count_ids, leases_of: Some(id.to_owned()) })
        .await?)
}

/// The operator as the ownership rule will see it.
pub fn as_operator(wish: &Wish<'_>, operator: &Operator<'_>) -> operators::Operator {
    let mut new = operators::Operator::at(wish.family, wish.id, operator.namespace, State::NotReady);
    new.deployment = Some(wish.instance.deployment.clone());
    new.version = Some(operator.version().to_owned());
    new.scope = match operator.watch() {
        Watch::Cluster => Scope::Cluster,
        Watch::Own => Scope::Own,
        Watch::Namespaces(namespaces) => Scope::Namespaces(namespaces),
    };
    new
}

/// The other operators, and the locks of the namespaces that one of `states` watches and that hold resources without an id:
/// locks matter only for those.
pub async fn surroundings(
    cluster: &Cluster,
    wish: &Wish<'_>,
    operator: &Operator<'_>,
    seen: &Seen,
    states: &[&operators::Operator],
) -> Result<(Vec<operators::Operator>, Locks)> {
    let watched = |namespace: &str| states.iter().any(|state| state.watches(namespace) != Some(false));
    let unannotated = seen.evidence.ids.groups().filter(|(id, _, namespace, _)| id.is_empty() && watched(namespace));
    let locks = cluster.locks(unannotated.map(|(_, _, namespace, _)| namespace)).await?;
    let others = seen.known.iter().filter(|known| known.id != wish.id || known.namespace != operator.namespace);
    Ok((others.cloned().collect(), locks))
}

/// Says which resources the operator will take and asks, when there are any; a rehearsal only says it.
///
/// # Errors
/// Not confirmed (exit 3).
pub async fn ask(
    cluster: &Cluster,
    ui: &Ui,
    wish: &Wish<'_>,
    operator: &Operator<'_>,
    seen: &Seen,
    rehearsal: bool,
) -> Result<()> {
    let new = as_operator(wish, operator);
    let (others, locks) = surroundings(cluster, wish, operator, seen, &[&new]).await?;
    let taken = taken::taken(&new, &others, &locks, &seen.evidence.ids);
    if taken.is_empty() {
        return Ok(());
    }
    let total: u64 = taken.iter().map(|group| group.count).sum();
    ui.plan(&text(wish.id, &taken, cluster));
    if rehearsal {
        return Ok(());
    }
    ui.confirm(&format!(
        "Install operator {} in namespace {}, which takes {total} existing resources?",
        wish.id, operator.namespace
    ))
    .await
}

fn text(id: &str, taken: &[Taken], cluster: &Cluster) -> String {
    let mut out = format!("operator {id} will take (context {}, server {}):", cluster.context(), cluster.server());
    for group in taken.iter().take(SHOWN) {
        let Taken { kind, namespace, count, .. } = group;
        let why = match (group.id.is_empty(), group.depends) {
            (_, true) => "perhaps: it depends on what could not be read".to_owned(),
            (true, _) => "they carry no operator id".to_owned(),
            (false, _) => format!("they carry the id {}", group.id),
        };
        let second = if group.others.is_empty() {
            String::new()
        } else {
            format!("; TWO TAKERS: {} takes them, too", group.others.join(", "))
        };
        // Writing to a String cannot fail.
        let _ = write!(out, "\n  {count} {kind} in namespace {namespace} ({why}{second})");
    }
    if taken.len() > SHOWN {
        let rest: u64 = taken.iter().skip(SHOWN).map(|group| group.count).sum();
        let _ = write!(out, "\n  and {rest} more");
    }
    out
}
