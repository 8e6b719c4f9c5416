//! Writes a tenant's resource, and waits for it.

use std::time::Duration;

use serde_json::Value;

use crate::{
    cli::install_args::DryRun,
    cluster::{
        ApiError, Cluster,
        wait_resource::{Awaited, News},
    },
    commands::{Session, output, session::quoted},
    contracts::{
        camel_k::OPERATOR_ID,
        kinds::{INTEGRATION, Kind},
    },
    error::{Error, ObjectRef, Result},
    tenancy::{
        plan::{Change, Step, Write},
        run::{self, Wanted, operator_id},
    },
    ui::Ui,
};

/// How a step is carried out.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Foretell it only.
    pub dry_run: Option<DryRun>,
    /// Print what changes.
    pub diff: bool,
}

/// Tries to clear a status that its operator changes at the same time.
const TRIES: u32 = 3;

/// Carries the step out, or foretells it; without a step the resource is as wanted already. The object as it is then.
pub async fn resource(
    session: &Session<'_>,
    cluster: &Cluster,
    wanted: &Wanted,
    existing: Option<&Value>,
    step: Option<Step>,
    how: How,
) -> Result<Value> {
    let ui = session.ui;
    let label = format!("{}/{}", wanted.kind.result_name(), wanted.name);
    let Some(step) = step else {
        ui.result(&format!("{label} {}", Change::Unchanged.word()));
        return Ok(existing.cloned().unwrap_or_default());
    };
    if how.diff {
        output::print_diff(ui, [&step])?;
    }
    if let Some(where_) = how.dry_run {
        let (change, suffix) = match (where_, &step.write) {
            (DryRun::Client, Write::Create { .. }) => (Change::Created, "(dry run)"),
            (DryRun::Client, _) => (Change::Configured, "(dry run)"),
            (DryRun::Server, _) => {
                let applied = cluster.write(&step, true).await.map_err(|error| explain(error, &step))?;
                (applied.change, "(server dry run)")
            }
        };
        ui.data(&format!("{label} {} {suffix}\n", change.word()));
        return Ok(Value::Null);
    }
    let restarts = match existing {
        Some(existing) => may_restart(cluster, wanted, existing, &step).await?,
        None => false,
    };
    ui.on_interrupt("the same command again".to_owned(), undo(session, wanted, existing));
    let applied = cluster.write(&step, false).await.map_err(|error| explain(error, &step))?;
    let resume = if restarts { clear_status(wanted) } else { resume(wanted) };
    ui.on_interrupt(resume, undo(session, wanted, existing));
    ui.result(&format!("{label} {}", applied.change.word()));
    if let Some(existing) = existing {
        restart(ui, cluster, wanted, existing, applied.object.clone()).await?;
        let moved = operator_id(existing).is_some_and(|before| before != wanted.id) && wanted.take_over;
        if let Some(undo) = undo(session, wanted, Some(existing)).filter(|_| moved) {
            ui.hint(&format!("to undo: {undo}"));
        }
    }
    Ok(applied.object)
}

/// Whether the status must be cleared after the move; that it may be is made sure before anything is written.
async fn may_restart(cluster: &Cluster, wanted: &Wanted, existing: &Value, step: &Step) -> Result<bool> {
    let Write::Patch { patch, .. } = &step.write else { return Ok(false) };
    let mut moved = existing.clone();
    json_patch::merge(&mut moved, patch);
    let Some(restart) = run::restart(wanted, existing, &moved) else { return Ok(false) };
    cluster.write(&restart, true).await.map_err(|error| {
        explain(error, &restart).while_("not moved, since the status of the former operator must be cleared then")
    })?;
    Ok(true)
}

/// Has the new operator start anew where it would wait for what the former one has begun.
async fn restart(ui: &Ui, cluster: &Cluster, wanted: &Wanted, before: &Value, mut now: Value) -> Result<()> {
    for attempt in 1..=TRIES {
        let Some(step) = run::restart(wanted, before, &now) else { return Ok(()) };
        match cluster.write(&step, false).await {
            Ok(_) => {
                ui.applied(&format!("status of {} cleared", step.label()));
                ui.on_interrupt(resume(wanted), None);
                ui.note(&format!("its status was cleared, so that operator {} starts anew", wanted.id));
                return Ok(());
            }
            Err(error) if error.is_conflict() && attempt < TRIES => {
                match cluster.get(&wanted.kind, Some(&wanted.namespace), &wanted.name).await? {
                    Some(object) => now = object,
                    None => return Ok(()),
                }
            }
            Err(error) => {
                let error = Error::from(error)
                    .while_("moved, but the status of the former operator could not be cleared, so the new one may wait for ever");
                return Err(error.hint(format!("clear it: {}", clear_status(wanted))));
            }
        }
    }
    Ok(())
}

/// The command that clears the status.
fn clear_status(wanted: &Wanted) -> String {
    format!(
        "kubectl patch {}/{} -n {} --subresource=status --type=merge -p '{{\"status\": null}}'",
        wanted.kind.result_name(),
        wanted.name,
        wanted.namespace
    )
}

/// The command that goes on waiting.
fn resume(wanted: &Wanted) -> String {
    format!(
        "kubectl wait {}/{} -n {} --for=condition=Ready --timeout=10m",
        wanted.kind.result_name(),
        wanted.name,
        wanted.namespace
    )
}

/// The command that takes the write back, where one does.
fn undo(session: &Session<'_>, wanted: &Wanted, existing: Option<&Value>) -> Option<String> {
    let Wanted { namespace, name, .. } = wanted;
    let object = format!("{}/{name}", wanted.kind.result_name());
    let context = session.global.connection.context.as_deref();
    let context = context.map(|context| format!(" --context {}", quoted(context))).unwrap_or_default();
    match existing {
        None => Some(format!("kubectl delete {object} -n {namespace}{context}")),
        Some(existing) => {
            let before = operator_id(existing)?;
            (before != wanted.id).then(|| {
                let annotation = quoted(&format!("{OPERATOR_ID}={before}"));
                format!("kubectl annotate {object} -n {namespace}{context} --overwrite {annotation}")
            })
        }
    }
}

/// What the user can do about a write that failed.
fn explain(error: ApiError, step: &Step) -> Error {
    let namespace = step.namespace.as_deref().unwrap_or_default();
    let changed = error.is_conflict() || error.is_already_exists();
    let no_namespace = error.is_not_found() && matches!(step.write, Write::Create { .. });
    let (forbidden, undecided) = (error.is_forbidden(), error.is_undecided());
    let unknown_field = error.code() == Some(400) && error.message().contains("unknown field \"spec.");
    let unknown_trait = unknown_field && error.message().contains("\"spec.traits");
    if changed {
        let kind = step.kind.kind.to_ascii_lowercase();
        let text = format!("{kind} {} was changed by somebody else meanwhile; nothing was written", step.name);
        return Error::refused("Conflict", text)
            .object(ObjectRef::new(step.kind.kind, Some(namespace), &step.name))
            .hint("run the same command again");
    }
    if no_namespace && !error.is_kind_missing() {
        return Error::not_found("NamespaceNotFound", format!("namespace {namespace} does not exist"))
            .object(ObjectRef::new("Namespace", None, namespace))
            .hint(format!("kubectl create namespace {namespace}"));
    }
    if matches!(error.code(), Some(400 | 422)) {
        let kind = step.kind.kind.to_ascii_lowercase();
        let error = Error::usage(format!("the cluster refuses the {kind}: {}", error.message()))
            .object(ObjectRef::new(step.kind.kind, Some(namespace), &step.name));
        let fields = format!("kubectl explain {}.spec --recursive", step.kind.plural);
        let annotated = "-t as an annotation: --annotation trait.camel.apache.org/TRAIT.PROPERTY=VALUE";
        let error = if unknown_trait { error.hint(annotated) } else { error };
        return if unknown_field {
            error.hint(format!("the cluster's definition has no such field; an older Camel K? {fields}"))
        } else {
            error.hint(format!("see what it takes: {fields}"))
        };
    }
    let error = Error::from(error);
    if forbidden {
        return error
            .hint(format!("see what you may do: kubectl auth can-i --list -n {namespace}"))
            .hint("an admin can let namespace editors run integrations: kctl install --tenant-role");
    }
    if undecided { error.hint("it may have been written; run the same command again to be sure") } else { error }
}

/// Waits until the resource runs, telling each phase.
pub async fn wait(
    ui: &Ui,
    cluster: &Cluster,
    (kind, name): (Kind, &str),
    awaited: &Awaited,
    timeout: Duration,
    untaken: &dyn Fn(bool) -> String,
) -> Result<()> {
    let label = format!("{}/{name}", kind.result_name());
    let mut tell = |news| match news {
        News::Phase(phase, None) => ui.progress(&format!("{label}: {phase}")),
        News::Phase(phase, Some(reason)) => ui.progress(&format!("{label}: {phase} ({reason})")),
        News::Ignored { outdated } => {
            ui.warn(&format!("{label}: {}", untaken(outdated)));
            ui.hint("kctl list-operators shows who is there");
        }
    };
    cluster.wait_resource(name, awaited, timeout, &mut tell).await?;
    let done = if kind == INTEGRATION { "running" } else { "ready" };
    ui.result(&format!("{label} {done}"));
    Ok(())
}
