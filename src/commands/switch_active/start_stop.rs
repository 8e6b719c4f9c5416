//! Stops all instances of an id but one, and starts that one: in an order that never leaves two running.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    cluster::{Cluster, ListOptions},
    contracts::{
        camel_k,
        kinds::{DEPLOYMENT, LEASE, OPERATOR_CLAIM, POD},
    },
    error::{Error, ObjectRef, Result},
    tenancy::{
        claim::{Claim, Instance, Operation},
        evidence::LeaseFacts,
        plan::{CLAIM_MANAGER, Step, Write},
        switch::{SWITCH_MANAGER, standby},
    },
    ui::Ui,
};

use super::guard::Guard;

const NOW_AND_THEN: Duration = Duration::from_millis(300);
/// Annotation of a Deployment: the run that set its replicas last.
const SWITCHED_BY: &str = "kctl.dev/switched-by";
/// How often a write that met another writer is tried again.
const TRIES: usize = 20;

/// A switch that is noted on the claim.
pub struct Mover<'a> {
    cluster: &'a Cluster,
    ui: &'a Ui,
    operation: Operation,
    name: String,
}

impl<'a> Mover<'a> {
    /// Notes the operation on the claim by compare-and-swap: of two runs one wins.
    pub async fn begin(cluster: &'a Cluster, ui: &'a Ui, claim: Claim, operation: &Operation) -> Result<Self> {
        let name = claim.object().pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mover = Self { cluster, ui, operation: operation.clone(), name };
        let begun = standby::begin(&claim, operation);
        match mover.swap(&begun).await {
            Ok(()) => Ok(mover),
            Err(error) => {
                let now = mover.claim().await?;
                match now.operation() {
                    Some(now) if now.id == operation.id => Ok(mover),
                    Some(other) => Err(Error::refused(
                        "Conflict",
                        format!(
                            "lost to another run: it switches to {} since {}",
                            other.to.unwrap_or_default(),
                            other.since
                        ),
                    )
                    .object(ObjectRef::new(OPERATOR_CLAIM.kind, None, &mover.name))
                    .hint("kctl list-operators shows how it stands")),
                    None => Err(error),
                }
            }
        }
    }

    /// Stops the others, waits until they are gone, and starts `to`.
    pub async fn carry_out(&self, to: &Instance, timeout: Duration) -> Result<()> {
        let deadline = Instant::now() + timeout;
        let claim = self.claim().await?;
        for other in standby::instances(&claim).iter().filter(|other| *other != to) {
            self.scale(other, 0).await?;
            self.gone(other, deadline, timeout).await?;
        }
        self.transition(|claim| (claim.active().as_ref() != Some(to)).then(|| standby::activate(claim, to))).await?;
        self.scale(to, 1).await?;
        let uid = self.took_over(to, deadline, timeout).await?;
        self.transition(|claim| Some(claim.finish(&uid, self.cluster.server_time()))).await
    }

    async fn claim(&self) -> Result<Claim> {
        let found = self.cluster.get(&OPERATOR_CLAIM, None, &self.name).await?;
        found.map(Claim::read).ok_or_else(|| {
            Error::refused("ClaimLost", "the claim was deleted on the way; nothing more was written")
                .object(ObjectRef::new(OPERATOR_CLAIM.kind, None, &self.name))
        })
    }

    async fn swap(&self, next: &Claim) -> Result<()> {
        let write = Write::Replace { object: next.object().clone(), manager: CLAIM_MANAGER };
        self.cluster.write(&Step::new(OPERATOR_CLAIM, None, &self.name, write), false).await?;
        Ok(())
    }

    /// Changes the claim while it notes this run.
    async fn transition(&self, next: impl Fn(&Claim) -> Option<Claim>) -> Result<()> {
        for _ in 0..TRIES {
            self.guard().check(self.cluster).await?;
            let now = self.claim().await?;
            if now.operation().is_none_or(|operation| operation.id != self.operation.id) {
                continue;
            }
            let Some(next) = next(&now) else { return Ok(()) };
            let write = Write::Replace { object: next.object().clone(), manager: CLAIM_MANAGER };
            match self.cluster.write(&Step::new(OPERATOR_CLAIM, None, &self.name, write), false).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::refused("Conflict", "the claim keeps being changed by others").object(ObjectRef::new(
            OPERATOR_CLAIM.kind,
            None,
            &self.name,
        )))
    }

    fn guard(&self) -> Guard {
        Guard::Claim { name: self.name.clone(), run: self.operation.id.clone() }
    }

    /// Sets the replicas.
    ///
    /// The Deployment is read before the claim is, and written even when its replicas are right already: so a run that
    /// sleeps between its look at the claim and its write meets a newer version.
    async fn scale(&self, instance: &Instance, replicas: u8) -> Result<()> {
        for _ in 0..TRIES {
            let found = self.cluster.get(&DEPLOYMENT, Some(&instance.namespace), &instance.deployment).await?;
            self.guard().check(self.cluster).await?;
            let Some(observed) = found else {
                if replicas == 0 {
                    return Ok(());
                }
                return Err(Error::not_found("NotFound", format!("the Deployment {instance} was deleted on the way"))
                    .object(ObjectRef::new(DEPLOYMENT.kind, Some(&instance.namespace), &instance.deployment)));
            };
            let run = &self.operation.id;
            let write = Write::Patch {
                patch: json!({"metadata": {"annotations": {SWITCHED_BY: run}}, "spec": {"replicas": replicas}}),
                observed,
                manager: SWITCH_MANAGER,
                subresource: None,
            };
            let step = Step::new(DEPLOYMENT, Some(&instance.namespace), &instance.deployment, write);
            match self.cluster.write(&step, false).await {
                Ok(_) => {
                    self.ui.applied(&format!(
                        "{} in namespace {} at {replicas} replicas",
                        step.label(),
                        instance.namespace
                    ));
                    return Ok(());
                }
                // Its status changes all the time.
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::refused("Conflict", format!("the Deployment {instance} keeps being changed by others")))
    }

    async fn lease(&self, instance: &Instance) -> Result<Option<LeaseFacts>> {
        let id = self.name.split_once('.').map_or("", |(_, id)| id);
        let lease = camel_k::FAMILY.lease.of(id);
        let found = self.cluster.get(&LEASE, Some(&instance.namespace), &lease).await?;
        Ok(found.as_ref().and_then(LeaseFacts::parse))
    }

    /// Waits until an instance has no pods and its lease was released or has run out.
    async fn gone(&self, instance: &Instance, deadline: Instant, timeout: Duration) -> Result<()> {
        let mut told = String::new();
        loop {
            let pods = self.pods(instance).await?;
            let lease = self.lease(instance).await?.filter(|lease| lease.is_live(self.cluster.server_time()));
            let why = match (pods, lease) {
                (0, None) => return Ok(()),
                (0, Some(lease)) => format!("its lease is held by {}", lease.holder.unwrap_or_default()),
                (pods, _) => format!("{pods} pods are left"),
            };
            self.wait(&format!("{instance} to stop: {why}"), &mut told, deadline, timeout).await?;
        }
    }

    async fn pods(&self, instance: &Instance) -> Result<usize> {
        let Some(deployment) = self.cluster.get(&DEPLOYMENT, Some(&instance.namespace), &instance.deployment).await?
        else {
            return Ok(0);
        };
        let labels = deployment.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
        let labels = labels.into_iter().flatten().filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
        let selector = ListOptions::labelled(labels.collect::<Vec<_>>().join(","));
        let pods = self.cluster.list(&POD, Some(&instance.namespace), &selector).await?;
        let over =
            |pod: &Value| matches!(pod.pointer("/status/phase").and_then(Value::as_str), Some("Succeeded" | "Failed"));
        // A controller that has not looked yet may still make pods.
        let number = |at: &str| deployment.pointer(at).and_then(Value::as_i64).unwrap_or(0);
        let behind = usize::from(number("/status/observedGeneration") < number("/metadata/generation"));
        Ok(pods.iter().filter(|pod| !over(pod)).count() + behind)
    }

    /// Waits until an instance holds its lease and is available; gives its uid.
    async fn took_over(&self, to: &Instance, deadline: Instant, timeout: Duration) -> Result<String> {
        let mut told = String::new();
        loop {
            let found = self.cluster.get(&DEPLOYMENT, Some(&to.namespace), &to.deployment).await?.unwrap_or_default();
            let number = |at: &str| found.pointer(at).and_then(Value::as_i64).unwrap_or(0);
            let ready = number("/status/availableReplicas") > 0
                && number("/status/observedGeneration") >= number("/metadata/generation");
            let leads = self.lease(to).await?.is_some_and(|lease| lease.is_live(self.cluster.server_time()));
            if ready && leads {
                return Ok(found.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned());
            }
            let why = if ready { "it does not hold its lease" } else { "it has no available pod" };
            self.wait(&format!("{to} to take over: {why}"), &mut told, deadline, timeout).await?;
        }
    }

    async fn wait(&self, what: &str, told: &mut String, deadline: Instant, timeout: Duration) -> Result<()> {
        self.guard().check(self.cluster).await?;
        if told != what {
            self.ui.progress(&format!("waiting for {what}"));
            what.clone_into(told);
        }
        if Instant::now() >= deadline {
            return Err(Error::deadline(format!("waited {}s for {what}", timeout.as_secs())).object(ObjectRef::new(
                OPERATOR_CLAIM.kind,
                None,
                &self.name,
            )));
        }
        tokio::time::sleep(NOW_AND_THEN).await;
        Ok(())
    }
}
