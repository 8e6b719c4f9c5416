//! Carrying an install out: claim, checks, objects with no replicas, swap, one replica.

use std::time::Duration;

use serde_json::Value;

use crate::{
    cli::install_args::DryRun,
    cluster::{ApiError, Cluster, apply::Applied, wait},
    commands::Session,
    contracts::kinds::{self, CRD, OPERATOR_CLAIM},
    error::{Error, Exit, ObjectRef, Result},
    manifests::operator::{ID_LABEL, Operator, SHARED_LABEL},
    tenancy::{
        claim::{self, Claim, Instance},
        install::{self, ClaimMove, Wish},
        objects::{Mark, owned_step},
        plan::{CLAIM_MANAGER, Change, Step, Write, contains},
    },
    ui::Ui,
};

use super::{Plan, observe};

/// How often a lost compare-and-swap is looked into before it counts as a conflict.
const SWAPS: usize = 5;

/// Writes everything in the order that keeps an id from ever having two operators.
pub async fn install(
    session: &Session<'_>,
    cluster: &Cluster,
    wish: &Wish<'_>,
    operator: &Operator<'_>,
    plan: Plan,
) -> Result<()> {
    let ui = session.ui;
    write_all(cluster, ui, &plan.foundation).await?;
    let held = hold(cluster, ui, wish, plan.claim).await?;
    if held.created {
        let rivals = observe::rivals(cluster, wish).await?;
        if let Err(refusal) = install::refuse_rivals(wish, &rivals) {
            give_back(cluster, &held.claim).await?;
            return Err(refusal);
        }
    }
    let (settings, others) = settings_first(&plan.objects);
    write_all(cluster, ui, settings).await?;
    write_all(cluster, ui, &plan.kinds).await?;
    write_all(cluster, ui, others).await?;
    let deployment = write(cluster, &plan.deployment).await.map_err(|error| explain(error, &plan.deployment))?;
    if !held.under_way {
        tell(ui, &plan.deployment, deployment.change);
        return delete_all(cluster, ui, &plan.stale).await;
    }
    ui.applied(&format!("{} with 0 replicas", plan.deployment.label()));
    let uid = text(&deployment.object, "/metadata/uid");
    finish(cluster, wish, held.claim, uid).await?;
    start(cluster, wish, operator, &deployment.object).await?;
    tell(ui, &plan.deployment, deployment.change);
    delete_all(cluster, ui, &plan.stale).await
}

/// The settings, which are written before anything else, and the other objects: whoever goes on with an interrupted
/// install need not know its flags.
fn settings_first(objects: &[Step]) -> (&[Step], &[Step]) {
    objects.split_at(1.min(objects.len()))
}

/// Deletes what is left of a former scope; what is gone, or is another object by now, is left.
async fn delete_all(cluster: &Cluster, ui: &Ui, steps: &[Step]) -> Result<()> {
    for step in steps {
        match cluster.write(step, false).await {
            Ok(applied) => tell(ui, step, applied.change),
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The claim as this run holds it.
struct Held {
    claim: Claim,
    /// This run made it, so this run may take it back.
    created: bool,
    /// An operation of this run is noted on it.
    under_way: bool,
}

async fn hold(cluster: &Cluster, ui: &Ui, wish: &Wish<'_>, wanted: ClaimMove) -> Result<Held> {
    let name = claim::name(wish.family, wish.id);
    let (step, created) = match wanted {
        ClaimMove::Keep(claim) => return Ok(Held { claim, created: false, under_way: false }),
        ClaimMove::Create(claim) => {
            (Write::CreateOnly { object: claim.object().clone(), manager: CLAIM_MANAGER }, true)
        }
        ClaimMove::Swap(claim) => (Write::Replace { object: claim.object().clone(), manager: CLAIM_MANAGER }, false),
        ClaimMove::Join(claim) => return join(cluster, ui, wish, claim).await,
    };
    let step = Step::new(OPERATOR_CLAIM, None, &name, step);
    match cluster.write(&step, false).await {
        Ok(applied) => {
            tell(ui, &step, applied.change);
            Ok(Held { claim: Claim::read(applied.object), created, under_way: true })
        }
        // Somebody was faster, or our own answer got lost: whose claim is it now?
        Err(error) if error.is_conflict() || error.is_already_exists() || error.is_undecided() => {
            let Some(now) = observe::read_claim(cluster, &name).await? else { return Err(error.into()) };
            if now.operation().is_some_and(|operation| operation.id == wish.operation.id) {
                return Ok(Held { claim: now, created, under_way: true });
            }
            match install::claim_move(wish, Some(&now), None, &[], cluster.server_time()) {
                Err(refusal) => Err(refusal),
                Ok(_) => Err(Error::refused(
                    "Conflict",
                    format!("another run installs operator id {} in the same place", wish.id),
                )
                .object(ObjectRef::new("OperatorClaim", None, &name))
                .hint("run the command again when it is done")),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Adds the instance to those that wait under the id. It may not run, so there is no operation to end.
async fn join(cluster: &Cluster, ui: &Ui, wish: &Wish<'_>, mut wanted: Claim) -> Result<Held> {
    let name = claim::name(wish.family, wish.id);
    for _ in 0..SWAPS {
        let write = Write::Replace { object: wanted.object().clone(), manager: CLAIM_MANAGER };
        let step = Step::new(OPERATOR_CLAIM, None, &name, write);
        let error = match cluster.write(&step, false).await {
            Ok(applied) => {
                tell(ui, &step, applied.change);
                return Ok(Held { claim: Claim::read(applied.object), created: false, under_way: false });
            }
            Err(error) if error.is_conflict() || error.is_undecided() => error,
            Err(error) => return Err(error.into()),
        };
        let now = observe::read_claim(cluster, &name).await?;
        match install::claim_move(wish, now.as_ref(), None, &[], cluster.server_time())? {
            ClaimMove::Keep(claim) => return Ok(Held { claim, created: false, under_way: false }),
            ClaimMove::Join(claim) => wanted = claim,
            _ => return Err(error.into()),
        }
    }
    Err(Error::refused("Conflict", format!("the claim of operator id {} keeps being changed by others", wish.id)))
}

/// Deletes the claim that this very run has made.
async fn give_back(cluster: &Cluster, claim: &Claim) -> Result<()> {
    let name = text(claim.object(), "/metadata/name");
    let step = Step::new(OPERATOR_CLAIM, None, name, Write::Delete { uid: claim.uid().to_owned() });
    match cluster.write(&step, false).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Ends the operation by compare-and-swap. Who lost the claim meanwhile fails here.
async fn finish(cluster: &Cluster, wish: &Wish<'_>, held: Claim, deployment_uid: &str) -> Result<()> {
    let name = claim::name(wish.family, wish.id);
    let mut current = held;
    for _ in 0..SWAPS {
        let next = current.finish(deployment_uid, cluster.server_time());
        let write = Write::Replace { object: next.object().clone(), manager: CLAIM_MANAGER };
        match cluster.write(&Step::new(OPERATOR_CLAIM, None, &name, write), false).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_conflict() || error.is_not_found() || error.is_undecided() => {
                let Some(now) = observe::read_claim(cluster, &name).await? else { return Err(lost(wish, None)) };
                let ours = now.operation().is_some_and(|operation| operation.id == wish.operation.id);
                // An answer that got lost on the way: the swap went through.
                if now.operation().is_none() && now.active().as_ref() == Some(wish.instance) && error.is_undecided() {
                    return Ok(());
                }
                if !ours {
                    return Err(lost(wish, now.active()));
                }
                current = now;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::refused("Conflict", format!("the claim of operator id {} keeps being changed by others", wish.id)))
}

fn lost(wish: &Wish<'_>, now: Option<Instance>) -> Error {
    let holder = match now {
        Some(now) if now == *wish.instance => "another run took this install over".to_owned(),
        Some(now) => format!("it is held by {now} now"),
        None => "it was deleted".to_owned(),
    };
    Error::refused("ClaimLost", format!("lost the claim of operator id {} on the way: {holder}", wish.id))
        .object(ObjectRef::new("OperatorClaim", None, claim::name(wish.family, wish.id)))
        .hint(format!("the Deployment {} was left with 0 replicas and does nothing", wish.instance))
        .hint("see who holds it: kubectl get opclaim")
}

/// Starts the operator, if the claim, read just before, says so.
async fn start(cluster: &Cluster, wish: &Wish<'_>, operator: &Operator<'_>, deployment: &Value) -> Result<()> {
    let claim = observe::read_claim(cluster, &claim::name(wish.family, wish.id)).await?;
    let replicas = claim.as_ref().map_or(0, |claim| claim.replicas(wish.instance));
    if replicas == 0 {
        return Err(lost(wish, claim.and_then(|claim| claim.active())));
    }
    let write = Write::ApplyOwned { object: operator.deployment(replicas), observed: deployment.clone(), force: false };
    let step = Step::new(kinds::DEPLOYMENT, Some(operator.namespace), &operator.name(), write);
    retrying(cluster, &step).await.map(|_| ()).map_err(|error| explain(error, &step))
}

/// Applies over an object whose status a controller keeps changing: a stale version alone is tried again.
async fn retrying(cluster: &Cluster, step: &Step) -> Result<Applied, ApiError> {
    let mut step = step.clone();
    for _ in 0..SWAPS {
        let error = match cluster.write(&step, false).await {
            Err(error) if error.is_conflict() && error.causes().is_empty() => error,
            other => return other,
        };
        let Write::ApplyOwned { observed, .. } = &mut step.write else { return Err(error) };
        match cluster.get(&step.kind, step.namespace.as_deref(), &step.name).await? {
            Some(now) if now.pointer("/metadata/uid") == observed.pointer("/metadata/uid") => *observed = now,
            _ => return Err(error),
        }
    }
    cluster.write(&step, false).await
}

/// Writes steps in their order, with a line for each.
pub async fn write_all(cluster: &Cluster, ui: &Ui, steps: &[Step]) -> Result<()> {
    for step in steps {
        let applied = write(cluster, step).await.map_err(|error| explain(error, step))?;
        tell(ui, step, applied.change);
    }
    for step in steps.iter().filter(|step| step.kind == CRD) {
        wait::established(cluster, &step.name).await?;
    }
    Ok(())
}

/// One step; an object that came into being since it was looked for is judged anew.
async fn write(cluster: &Cluster, step: &Step) -> Result<Applied, ApiError> {
    let error = match retrying(cluster, step).await {
        Err(error)
            if matches!(step.write, Write::CreateOnly { .. }) && (error.is_conflict() || error.is_already_exists()) =>
        {
            error
        }
        other => return other,
    };
    let Some(now) = cluster.get(&step.kind, step.namespace.as_deref(), &step.name).await? else { return Err(error) };
    let Write::CreateOnly { object, .. } = &step.write else { return Err(error) };
    if step.kind == CRD || contains(&now, object) {
        return Ok(Applied { change: Change::Unchanged, object: now });
    }
    let labels = object.pointer("/metadata/labels").cloned().unwrap_or_default();
    let mark = match labels.get(ID_LABEL).and_then(Value::as_str) {
        Some(id) => Mark { label: ID_LABEL, value: Some(id) },
        None => Mark { label: SHARED_LABEL, value: None },
    };
    match owned_step(object.clone(), Some(&now), mark, false) {
        Ok(step) => retrying(cluster, &step).await,
        Err(_) => Err(error),
    }
}

fn tell(ui: &Ui, step: &Step, change: Change) {
    ui.result(&format!("{} {}", step.label(), change.word()));
}

/// A field conflict says who changed what, and how to take it back.
pub(super) fn explain(error: ApiError, step: &Step) -> Error {
    let fields = error.causes().to_vec();
    let error = Error::from(error);
    if fields.is_empty() {
        return error;
    }
    Error::refused("FieldConflict", format!("{} was changed by somebody else: {}", step.label(), fields.join("; ")))
        .object(ObjectRef::new(step.kind.kind, step.namespace.as_deref(), &step.name))
        .hint("to take these fields back, run the command again with --force")
}

/// All steps of a plan in their order.
pub fn steps(plan: &Plan) -> Vec<Step> {
    let claim = match &plan.claim {
        ClaimMove::Keep(_) => None,
        ClaimMove::Create(claim) => {
            Some((claim, Write::CreateOnly { object: claim.object().clone(), manager: CLAIM_MANAGER }))
        }
        ClaimMove::Swap(claim) | ClaimMove::Join(claim) => {
            Some((claim, Write::Replace { object: claim.object().clone(), manager: CLAIM_MANAGER }))
        }
    }
    .map(|(claim, write)| Step::new(OPERATOR_CLAIM, None, text(claim.object(), "/metadata/name"), write));
    let (settings, others) = settings_first(&plan.objects);
    let steps = plan
        .foundation
        .iter()
        .chain(&claim)
        .chain(settings)
        .chain(&plan.kinds)
        .chain(others)
        .chain([&plan.deployment])
        .chain(&plan.stale);
    steps.cloned().collect()
}

/// Says what would be done; on the server's side every write is checked and nothing kept.
pub async fn rehearse(cluster: &Cluster, ui: &Ui, plan: &Plan, where_: DryRun) -> Result<Exit> {
    let planned: Vec<&Step> = plan.foundation.iter().chain(&plan.kinds).collect();
    for step in &steps(plan) {
        ui.data(&format!("{}\n", rehearsed(cluster, step, &planned, where_).await?));
    }
    Ok(Exit::Done)
}

/// Says what steps would do that do not depend on one another's definitions.
pub async fn rehearse_steps(cluster: &Cluster, ui: &Ui, steps: &[Step], where_: DryRun) -> Result<Exit> {
    let planned: Vec<&Step> = steps.iter().collect();
    for step in steps {
        ui.data(&format!("{}\n", rehearsed(cluster, step, &planned, where_).await?));
    }
    Ok(Exit::Done)
}

async fn rehearsed(cluster: &Cluster, step: &Step, planned: &[&Step], where_: DryRun) -> Result<String> {
    Ok(match where_ {
        DryRun::Client => format!("{} {} (dry run)", step.label(), foretold(step).word()),
        DryRun::Server => match (needs(step, planned), cluster.write(step, true).await) {
            (Some(needed), Err(error)) if error.is_not_found() => {
                format!("{} (not checked: needs {needed})", step.label())
            }
            (_, Ok(applied)) => format!("{} {} (server dry run)", step.label(), applied.change.word()),
            (_, Err(error)) => return Err(explain(error, step)),
        },
    })
}

/// What a write would do, as far as that can be told without the server.
fn foretold(step: &Step) -> Change {
    match &step.write {
        Write::CreateOnly { .. } | Write::Create { .. } => Change::Created,
        Write::ApplyOwned { .. } if step.is_done() => Change::Unchanged,
        Write::ApplyOwned { .. } | Write::Patch { .. } | Write::Replace { .. } => Change::Configured,
        Write::Delete { .. } => Change::Deleted,
    }
}

/// The planned namespace or definition without which a step cannot be checked.
fn needs(step: &Step, planned: &[&Step]) -> Option<String> {
    let creates = |other: &&&Step| matches!(other.write, Write::CreateOnly { .. });
    let namespace = planned
        .iter()
        .filter(creates)
        .find(|other| other.kind == kinds::NAMESPACE && Some(other.name.as_str()) == step.namespace.as_deref());
    let definition = format!("{}.{}", step.kind.plural, step.kind.group);
    let kind = planned.iter().filter(creates).find(|other| other.kind == CRD && other.name == definition);
    let role = (step.kind.group == kinds::ROLE_BINDING.group).then(|| "its role".to_owned());
    namespace.or(kind).map(|other| other.label()).or(role)
}

/// Waits until the operator is available, telling what keeps it.
pub async fn wait(cluster: &Cluster, ui: &Ui, instance: &Instance, timeout: Duration) -> Result<()> {
    wait::available(cluster, &instance.namespace, &instance.deployment, timeout, &mut |why| ui.progress(why)).await?;
    ui.result(&format!("deployment.apps/{} available", instance.deployment));
    Ok(())
}

fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}
