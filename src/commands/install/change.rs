//! A change of an operator that is there: of its version, and of the namespaces it watches.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    cluster::{Cluster, ListOptions},
    contracts::kinds::{CLUSTER_ROLE, CLUSTER_ROLE_BINDING, Kind, ROLE, ROLE_BINDING},
    error::{Error, Result},
    manifests::operator::{DEFAULT_VERSION, ID_LABEL, Operator},
    tenancy::{
        change::{self, VersionMove},
        install::Wish,
        objects::Mark,
        operators::{self, Scope},
        plan::Step,
        stale::{Former, stale},
        taken::{Taken, taken},
    },
    ui::Ui,
};

use super::{observe::Seen, tenants};

/// The operator as its Deployment shows it now.
fn before<'a>(seen: &'a Seen, wish: &Wish<'_>) -> Option<&'a operators::Operator> {
    seen.known.iter().find(|known| {
        known.id == wish.id
            && known.namespace == wish.instance.namespace
            && known.deployment_uid.is_some()
            && known.deployment.as_ref() == Some(&wish.instance.deployment)
    })
}

/// Refuses an older version than the one that runs, unless forced.
///
/// # Errors
/// A downgrade (exit 3).
pub fn refuse_downgrade(seen: &Seen, wish: &Wish<'_>, operator: &Operator<'_>, force: bool) -> Result<()> {
    let Some(from) = before(seen, wish).and_then(|before| before.version.as_deref()) else { return Ok(()) };
    if force || change::version_move(Some(from), operator.version()) != VersionMove::Down {
        return Ok(());
    }
    let (id, to, namespace) = (wish.id, operator.version(), operator.namespace);
    Err(Error::refused("Downgrade", format!("operator {id} is at version {from}; {to} is older"))
        .hint("an older operator may not understand what a newer one has written")
        .hint(format!("if you mean it: kctl install -x {id} -n {namespace} --operator-version {to} --force")))
}

/// Says what the change does to resources, and asks when it does something.
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
    let before = before(seen, wish);
    let from = before.and_then(|before| before.version.as_deref());
    let to = operator.version();
    let id = wish.id;
    if from != Some(to) && change::is_newer_line(to, DEFAULT_VERSION) {
        ui.warn(&format!(
            "kctl knows operators up to {DEFAULT_VERSION}; what {to} needs of roles, settings and definitions may differ (context {}, server {})",
            cluster.context(),
            cluster.server()
        ));
        if !rehearsal {
            ui.confirm(&format!("Install version {to} of operator {id} all the same?")).await?;
        }
    }
    let Some(before) = before else { return Ok(()) };
    let after = tenants::as_operator(wish, operator);
    let moved = change::version_move(from, to) != VersionMove::Same;
    let scope_moved = before.scope != Scope::Unknown && before.scope != after.scope;
    if !moved && !scope_moved {
        return Ok(());
    }
    let (others, locks) = tenants::surroundings(cluster, wish, operator, seen, &[before, &after]).await?;
    let taken = |operator| taken(operator, &others, &locks, &seen.evidence.ids);
    let (held, wanted) = (taken(before), taken(&after));
    let total: u64 = held.iter().map(|group| group.count).sum();
    let difference = change::difference(&held, &wanted);
    let mut text = format!("operator {id} changes (context {}, server {}):", cluster.context(), cluster.server());
    // Writing to a String cannot fail.
    if moved {
        let from = from.unwrap_or("unknown");
        let _ = write!(text, "\n  version {from} -> {to}: it re-initialises up to {total} resources");
    }
    if scope_moved {
        let (from, to) = (change::scope_words(&before.scope), change::scope_words(&after.scope));
        let _ = write!(text, "\n  watched namespaces: {from} -> {to}");
    }
    for group in &difference.lost {
        text.push_str(&lost(group));
    }
    for group in &difference.gained {
        text.push_str(&gained(group, id));
    }
    ui.plan(&text);
    let hit = difference.lost.iter().chain(&difference.gained).map(|group| group.count).sum::<u64>();
    if rehearsal || (hit == 0 && (!moved || total == 0)) {
        return Ok(());
    }
    ui.confirm(&format!("Change operator {id} in namespace {}?", operator.namespace)).await
}

fn lost(Taken { kind, namespace, count, others, .. }: &Taken) -> String {
    let then = if others.is_empty() {
        "no operator is left for them".to_owned()
    } else {
        format!("{} has them then", others.join(", "))
    };
    format!("\n  loses {count} {kind} in namespace {namespace}: {then}")
}

fn gained(Taken { kind, namespace, count, others, depends, .. }: &Taken, id: &str) -> String {
    let perhaps = if *depends { " perhaps" } else { "" };
    let second = if others.is_empty() {
        format!("{id} is their operator then")
    } else {
        format!("TWO TAKERS: {} takes them, too", others.join(", "))
    };
    format!("\n  gains{perhaps} {count} {kind} in namespace {namespace}: {second}")
}

/// Deletes of roles that the operator had for namespaces it does not watch any more.
///
/// They are looked for in the cluster and not in earlier settings, so that an interrupted change is finished by the next
/// run. Who may not list in all namespaces has the own one looked through.
pub async fn stale_roles(cluster: &Cluster, operator: &Operator<'_>) -> Result<Vec<Step>> {
    let mut found = Vec::new();
    for kind in [ROLE_BINDING, ROLE, CLUSTER_ROLE_BINDING, CLUSTER_ROLE] {
        found.extend(labelled(cluster, &kind, operator).await?);
    }
    let (role, cluster_role) = (operator.name(), operator.cluster_name());
    let former = Former {
        mark: Mark { label: ID_LABEL, value: Some(operator.id) },
        names: &[role.clone(), cluster_role],
        account: (operator.namespace, &role),
    };
    stale(&found, &operator.rbac(), former)
}

async fn labelled(cluster: &Cluster, kind: &Kind, operator: &Operator<'_>) -> Result<Vec<Value>> {
    let options = ListOptions::labelled(format!("{ID_LABEL}={}", operator.id));
    match cluster.list(kind, None, &options).await {
        Err(error) if error.is_forbidden() && kind.namespaced => {
            match cluster.list(kind, Some(operator.namespace), &options).await {
                Err(error) if error.is_forbidden() => Ok(Vec::new()),
                other => Ok(other?),
            }
        }
        Err(error) if error.is_forbidden() => Ok(Vec::new()),
        other => Ok(other?),
    }
}
