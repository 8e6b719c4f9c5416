//! Proves that the new operator took over, or turns the switch back.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::{
    cluster::Cluster,
    contracts::{
        kinds::{DAEMON_SET, DEPLOYMENT, Kind},
        tigera,
    },
    error::{Error, Exit, Result},
    tenancy::{
        plan::{Step, Write},
        switch::{
            SWITCH_MANAGER,
            pointer::{Pointer, Switch},
            proof::{self, Before, Signs},
        },
    },
};

use super::{
    guard::lost,
    tigera::{Run, pointer_ref},
};

const NOW_AND_THEN: Duration = Duration::from_millis(250);
/// How often a patch that met another writer is tried again.
const TRIES: usize = 5;

/// How it is before the proof.
pub async fn before(cluster: &Cluster, switch: &Switch) -> Result<Before> {
    let look = cluster.look(switch.from.as_deref(), &switch.to).await?;
    let since = switch.began().unwrap_or_else(|| cluster.server_time());
    Ok(Before {
        since,
        fingerprint: switch.fingerprint.clone(),
        renewed: look.new_lease.as_ref().and_then(|lease| lease.renew_time),
        restarts: proof::restarts(&look.old_pods),
    })
}

/// Waits for the proof; then ends the switch, or turns it back when the time is over.
pub async fn prove(run: &Run<'_>, switch: &Switch, mut before: Before) -> Result<Exit> {
    let ui = run.session.ui;
    if let Some(began) = switch.began() {
        before.since = began;
    }
    let deadline = Instant::now() + run.args.timeout;
    let mut told = None;
    let mut split_told = false;
    loop {
        let now = run.cluster.pointer().await?;
        match now.switch() {
            Some(found) if found.id == switch.id && now.namespace().as_deref() == Some(&switch.to) => {}
            // Another run proved it meanwhile.
            None if now.namespace().as_deref() == Some(&switch.to) => return done(run, switch, &now).await,
            _ => return Err(lost(&now)),
        }
        let look = run.cluster.look(switch.from.as_deref(), &switch.to).await?;
        let signs = proof::signs(&look, &before, &switch.to, run.cluster.server_time());
        let split = proof::is_split(&look, &before);
        if split && !split_told {
            ui.warn(&format!(
                "the old operator in namespace {} still renews its lease after the switch: two operators write",
                switch.from.as_deref().unwrap_or_default()
            ));
            split_told = true;
        }
        if signs.prove() && (!run.args.fence || (signs.old_stopped && !split)) {
            let finished = finish(run, switch).await?;
            return done(run, switch, &finished).await;
        }
        if told != Some(signs) {
            ui.progress(&format!("waiting for the operator in namespace {}: {}", switch.to, signs.describe()));
            told = Some(signs);
        }
        if Instant::now() >= deadline {
            return not_proved(run, switch, signs).await;
        }
        tokio::time::sleep(NOW_AND_THEN.min(deadline.saturating_duration_since(Instant::now()))).await;
    }
}

/// Takes the record of the switch off the pointer.
async fn finish(run: &Run<'_>, switch: &Switch) -> Result<Pointer> {
    patch(run, switch, |pointer| pointer.finish(switch, run.cluster.server_time())).await
}

/// Patches the pointer while it still records this switch.
async fn patch(run: &Run<'_>, switch: &Switch, wanted: impl Fn(&Pointer) -> Value) -> Result<Pointer> {
    let place = tigera::POINTER;
    for _ in 0..TRIES {
        let now = run.cluster.pointer().await?;
        let ours =
            now.switch().is_some_and(|found| found.id == switch.id) && now.namespace().as_deref() == Some(&switch.to);
        let Some(observed) = now.object().filter(|_| ours) else { return Err(lost(&now)) };
        let write = Write::Patch {
            patch: wanted(&now),
            observed: observed.clone(),
            manager: SWITCH_MANAGER,
            subresource: None,
        };
        match run.cluster.write(&Step::new(place.kind, Some(place.namespace), place.name, write), false).await {
            Ok(applied) => return Ok(Pointer::read(Some(applied.object))),
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::refused("Conflict", "the pointer keeps being changed by others").object(pointer_ref()))
}

async fn done(run: &Run<'_>, switch: &Switch, pointer: &Pointer) -> Result<Exit> {
    let ui = run.session.ui;
    if run.args.cleanup {
        run.cleanup(pointer).await?;
    }
    ui.progress(&format!("the operator in namespace {} took over", switch.to));
    let late = if run.args.wait_rollout { rollouts(run).await? } else { None };
    for status in statuses(run.cluster).await {
        ui.progress(&status);
    }
    run.account.end("done", run.cluster.server_time())?;
    if let Some(from) = &switch.from {
        ui.hint(&format!("to undo: {}", super::command(run.session, from, "")));
    }
    late.map_or(Ok(Exit::Done), Err)
}

/// The time is over: turn it back, unless that would do more harm.
async fn not_proved(run: &Run<'_>, switch: &Switch, signs: Signs) -> Result<Exit> {
    let message = format!(
        "the operator in namespace {} did not take over within {}s ({})",
        switch.to,
        run.args.timeout.as_secs(),
        signs.describe()
    );
    let stays = |why: &str| {
        let error = Error::deadline(format!("{message}; {why}")).object(pointer_ref());
        let error = error.hint(format!("to go on waiting: {}", super::command(run.session, &switch.to, "")));
        match &switch.from {
            Some(from) => error.hint(format!("to undo: {}", super::command(run.session, from, ""))),
            None => error,
        }
    };
    let stay = |why: &str| {
        run.account.end("failed", run.cluster.server_time())?;
        Err(stays(why))
    };
    let Some(from) = switch.from.as_deref().filter(|from| *from != switch.to) else {
        return stay("there is nobody to go back to");
    };
    if run.args.no_rollback || run.args.repair {
        return stay("the switch was left as it is");
    }
    if run.cluster.tigera_operators(from).await.is_ok_and(|found| found.is_empty()) {
        return stay("no operator is left to go back to");
    }
    if templates_changed(run.cluster, &switch.to).await {
        let question = format!(
            "The operator in {} has changed workloads already, which going back changes once more. Go back to {from}?",
            switch.to
        );
        if run.session.ui.confirm(&question).await.is_err() {
            return stay("workloads were changed already, so the switch was left as it is");
        }
    }
    patch(run, switch, |pointer| pointer.restore(switch, from, run.cluster.server_time())).await?;
    run.tell_pointer("configured", Some(format!("rolled back: {} -> {from}", switch.to)));
    run.account.end("rolled-back", run.cluster.server_time())?;
    let error = Error::deadline(format!("{message}; rolled back to {from}")).object(pointer_ref());
    Err(error
        .hint(format!("see why: kubectl logs -n {} deployment/{}", switch.to, tigera::DEPLOYMENT))
        .hint(format!("the copies in namespace {} stay; kctl switch-active {from} --cleanup deletes them", switch.to)))
}

/// Whether the operator of a namespace has put its mark on pod templates.
async fn templates_changed(cluster: &Cluster, namespace: &str) -> bool {
    let start = format!("{namespace}{}", tigera::TEMPLATE_HASH);
    for (kind, name) in rolling() {
        let found = cluster.get(&kind, Some(tigera::POINTER.namespace), name).await.ok().flatten();
        let annotations = found.as_ref().and_then(|object| object.pointer("/spec/template/metadata/annotations"));
        let keys = annotations.and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key);
        if keys.into_iter().any(|key| key.starts_with(&start)) {
            return true;
        }
    }
    false
}

fn rolling() -> impl Iterator<Item = (Kind, &'static str)> {
    tigera::ROLLING.iter().map(|(kind, name)| (if *kind == DAEMON_SET.kind { DAEMON_SET } else { DEPLOYMENT }, *name))
}

/// The workloads that a switch restarts, with their number of pods where that is known.
pub async fn workloads(cluster: &Cluster) -> String {
    let mut out = Vec::new();
    for (kind, name) in rolling() {
        let found = cluster.get(&kind, Some(tigera::POINTER.namespace), name).await.ok().flatten();
        let count = found.as_ref().and_then(|object| {
            object.pointer("/status/desiredNumberScheduled").or_else(|| object.pointer("/spec/replicas"))?.as_i64()
        });
        out.push(count.map_or_else(|| name.to_owned(), |count| format!("{name} ({count})")));
    }
    out.join(", ")
}

/// Waits until the restarted workloads are ready. Not being ready in time is told, and nothing is turned back.
async fn rollouts(run: &Run<'_>) -> Result<Option<Error>> {
    let deadline = Instant::now() + run.args.timeout;
    let mut told = String::new();
    loop {
        let mut waiting = Vec::new();
        for (kind, name) in rolling() {
            if let Some(object) = run.cluster.get(&kind, Some(tigera::POINTER.namespace), name).await?
                && let Some(why) = not_rolled_out(&object)
            {
                waiting.push(format!("{}/{name}: {why}", kind.result_name()));
            }
        }
        if waiting.is_empty() {
            return Ok(None);
        }
        let line = format!("waiting for restarts: {}", waiting.join("; "));
        if line != told {
            run.session.ui.progress(&line);
        }
        if Instant::now() >= deadline {
            return Ok(Some(
                Error::deadline(format!(
                    "the switch is done, but after {}s not all pods are ready: {}",
                    run.args.timeout.as_secs(),
                    waiting.join("; ")
                ))
                .hint("restarts go on by themselves; nothing was rolled back"),
            ));
        }
        told = line;
        tokio::time::sleep(NOW_AND_THEN).await;
    }
}

fn not_rolled_out(object: &Value) -> Option<String> {
    let number = |at: &str| object.pointer(at).and_then(Value::as_i64).unwrap_or(0);
    if number("/status/observedGeneration") < number("/metadata/generation") {
        return Some("not looked at by its controller yet".to_owned());
    }
    let (wanted, updated, ready) = match object.pointer("/status/desiredNumberScheduled").and_then(Value::as_i64) {
        Some(wanted) => (wanted, number("/status/updatedNumberScheduled"), number("/status/numberReady")),
        None => (number("/spec/replicas"), number("/status/updatedReplicas"), number("/status/readyReplicas")),
    };
    (updated < wanted || ready < wanted).then(|| format!("{updated} of {wanted} pods restarted, {ready} ready"))
}

/// What the operator says about itself, one line each.
async fn statuses(cluster: &Cluster) -> Vec<String> {
    let found = cluster.list(&tigera::STATUS, None, &crate::cluster::ListOptions::default()).await.unwrap_or_default();
    found
        .iter()
        .filter_map(|status| {
            let name = status.pointer("/metadata/name")?.as_str()?;
            let conditions = status.pointer("/status/conditions")?.as_array()?;
            let on: Vec<&str> = conditions
                .iter()
                .filter(|condition| condition["status"] == "True")
                .filter_map(|condition| condition["type"].as_str())
                .collect();
            Some(format!("tigerastatus {name}: {}", on.join(", ")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rollout_is_over_when_all_pods_are_new_and_ready() {
        let daemon_set = |updated: i64, ready: i64| {
            json!({"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "desiredNumberScheduled": 3,
                "updatedNumberScheduled": updated, "numberReady": ready}})
        };
        assert_eq!(not_rolled_out(&daemon_set(3, 3)), None);
        assert_eq!(not_rolled_out(&daemon_set(1, 3)).as_deref(), Some("1 of 3 pods restarted, 3 ready"));
        let deployment =
            json!({"metadata": {"generation": 2}, "spec": {"replicas": 1}, "status": {"observedGeneration": 1}});
        assert_eq!(not_rolled_out(&deployment).as_deref(), Some("not looked at by its controller yet"));
    }
}
