//! Carrying a removal out: note it on the claim, resources, Deployment, objects, verification, claim.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    cli::install_args::DryRun,
    cluster::{ApiError, Cluster, ListOptions},
    commands::account::Account,
    contracts::{
        camel_k,
        kinds::{INTEGRATION, OPERATOR_CLAIM, POD},
    },
    error::{Error, ObjectRef, Result},
    manifests::operator::ID_LABEL,
    tenancy::{
        claim::{self, Claim, Operation},
        objects::place_of,
        plan::{CLAIM_MANAGER, Step, TENANT_MANAGER, Write},
        uninstall::{self, Assigned, Deed, Fate, Found, UNINSTALL},
    },
};

use super::{
    definitions, observe,
    plan::{Last, Plan},
};

/// How often a lost compare-and-swap is looked into before it counts as a conflict.
const SWAPS: usize = 5;
/// Pause between two looks at what has to go.
const PAUSE: Duration = Duration::from_millis(300);
/// Phases in which an operator notices by itself that a resource came under its id.
const NOTICED: [&str; 4] = ["", "Deploying", "Running", "Error"];

/// One removal under way.
pub struct Removal<'a> {
    pub cluster: &'a Cluster,
    pub account: &'a Account<'a>,
    pub id: &'a str,
    pub fate: &'a Fate,
    pub operation: &'a Operation,
    pub timeout: Duration,
}

impl Removal<'_> {
    /// Does all of it, the claim first and last.
    pub async fn carry_out(&self, plan: &Plan) -> Result<()> {
        let claimed = plan.begun.is_some();
        if let Some(begun) = &plan.begun {
            self.begin(begun).await?;
        }
        for (assigned, deed) in &plan.resources {
            self.guard(claimed).await?;
            self.resource(assigned, *deed).await?;
        }
        for step in &plan.deployments {
            self.delete(step, claimed).await?;
        }
        self.pods_gone(&plan.deployments).await?;
        for step in plan.objects.iter().chain(&plan.shared) {
            self.delete(step, claimed).await?;
        }
        if !plan.definitions.is_empty() {
            self.gone(&plan.objects).await?;
            definitions::read(self.cluster).await?.refuse_used()?;
            for step in &plan.definitions {
                self.delete(step, claimed).await?;
            }
        }
        let steps: Vec<Step> = plan.deletes().cloned().collect();
        self.gone(&steps).await?;
        self.nothing_new(plan).await?;
        self.end(plan).await
    }

    /// Notes the removal on the claim, by compare-and-swap.
    async fn begin(&self, begun: &Claim) -> Result<()> {
        let step = self.claim_step(Write::Replace { object: begun.object().clone(), manager: CLAIM_MANAGER });
        match self.cluster.write(&step, false).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_conflict() || error.is_not_found() || error.is_undecided() => {
                let now = observe::read_claim(self.cluster, &step.name).await?;
                match now.and_then(|claim| claim.operation()) {
                    Some(under_way) if under_way.id == self.operation.id => Ok(()),
                    _ => Err(self.lost("somebody changed the claim at the same time")),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Looks whether this run may still write: the claim notes it, or there is still no claim.
    async fn guard(&self, claimed: bool) -> Result<()> {
        let now = observe::read_claim(self.cluster, &claim::name(camel_k::NAME, self.id)).await?;
        match (claimed, now) {
            (true, Some(now)) => match now.operation() {
                Some(under_way) if under_way.id == self.operation.id => Ok(()),
                Some(other) => Err(self.lost(&format!("another run carries out: {}", other.kind))),
                None => Err(self.lost("another run ended it")),
            },
            (true, None) => Err(self.lost("the claim was deleted")),
            (false, None) => Ok(()),
            (false, Some(_)) => Err(self.lost("somebody claimed the id meanwhile")),
        }
    }

    fn lost(&self, why: &str) -> Error {
        Error::refused(
            "OperationLost",
            format!("lost the removal of operator {} on the way: {why}; nothing more was deleted", self.id),
        )
        .object(ObjectRef::new(OPERATOR_CLAIM.kind, None, claim::name(camel_k::NAME, self.id)))
        .hint("kctl list-operators shows how it stands")
    }

    async fn resource(&self, assigned: &Assigned, deed: Deed) -> Result<()> {
        let resource = &assigned.found.resource;
        let action = match (deed, self.fate) {
            (Deed::Stamp, Fate::Move(to)) => self.stamp(&assigned.found, to).await?,
            (Deed::Delete, _) => self.remove(&delete_step(&assigned.found)).await?,
            _ => return Ok(()),
        };
        self.account.tell(&resource.kind, Some(&resource.namespace), &resource.name, action, None);
        Ok(())
    }

    /// Writes the id of the new operator, unless somebody has given the resource another one meanwhile.
    async fn stamp(&self, found: &Found, to: &str) -> Result<&'static str> {
        let mut current = found.clone();
        for _ in 0..SWAPS {
            let answer = self.cluster.write(&stamp_step(&current, to), false).await;
            let resource = &current.resource;
            match answer {
                Ok(applied) => {
                    self.notice(&current, applied.object).await?;
                    return Ok("configured");
                }
                Err(error) if error.is_not_found() => return Ok("unchanged"),
                Err(error) if error.is_conflict() || error.is_undecided() => {
                    let now = self.cluster.get(&resource.kind, Some(&resource.namespace), &resource.name).await?;
                    let Some(now) = now else { return Ok("unchanged") };
                    match observe::annotated_id(&now) {
                        carried if carried == to => return Ok("configured"),
                        carried if carried == resource.id.as_deref().unwrap_or_default() => {
                            current = observe::of(resource.kind, &now);
                        }
                        _ => return Ok("unchanged"),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        let resource = &found.resource;
        Err(Error::refused(
            "Conflict",
            format!(
                "{}/{} in namespace {} keeps being changed by others",
                resource.kind.result_name(),
                resource.name,
                resource.namespace
            ),
        ))
    }

    /// Before it runs, an Integration does not look at its id again: its status is taken off so that it starts anew.
    async fn notice(&self, found: &Found, stamped: Value) -> Result<()> {
        let phase = stamped.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default();
        if found.resource.kind != INTEGRATION || NOTICED.contains(&phase) {
            return Ok(());
        }
        let fields = stamped["status"].as_object().into_iter().flatten();
        let status: serde_json::Map<String, Value> = fields.map(|(key, _)| (key.clone(), Value::Null)).collect();
        let write = Write::Patch {
            patch: json!({"status": status}),
            observed: stamped,
            manager: TENANT_MANAGER,
            subresource: Some("status"),
        };
        let resource = &found.resource;
        match self
            .cluster
            .write(&Step::new(resource.kind, Some(&resource.namespace), &resource.name, write), false)
            .await
        {
            Err(error) if !error.is_conflict() && !error.is_not_found() => Err(error.into()),
            // The operator has just written it, so it has noticed.
            _ => Ok(()),
        }
    }

    async fn delete(&self, step: &Step, claimed: bool) -> Result<()> {
        self.guard(claimed).await?;
        let action = self.remove(step).await?;
        self.account.tell(&step.kind, step.namespace.as_deref(), &step.name, action, None);
        Ok(())
    }

    /// Deletes the object that was seen; one that is gone, or was made anew, is not it.
    async fn remove(&self, step: &Step) -> Result<&'static str> {
        for _ in 0..SWAPS {
            match self.cluster.write(step, false).await {
                Ok(_) => return Ok("deleted"),
                Err(error) if error.is_not_found() => return Ok("deleted"),
                Err(error) if error.is_conflict() => return Ok("skipped"),
                Err(error) if error.is_undecided() => sleep(PAUSE).await,
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::failed("Undecided", format!("no answer tells whether {} was deleted", step.label()))
            .hint(self.resume()))
    }

    /// Waits until no pod of the operator runs: it would write until it ends.
    async fn pods_gone(&self, deployments: &[Step]) -> Result<()> {
        let options = ListOptions {
            labels: Some(format!("{ID_LABEL}={}", self.id)),
            metadata_only: true,
            ..ListOptions::default()
        };
        let deadline = Instant::now() + self.timeout;
        for namespace in deployments.iter().filter_map(|step| step.namespace.as_deref()) {
            loop {
                let pods = match self.cluster.list(&POD, Some(namespace), &options).await {
                    Err(error) if error.is_forbidden() => break,
                    pods => pods?,
                };
                let Some(pod) = pods.first().filter(|_| !self.cluster.is_snapshot()) else { break };
                if Instant::now() >= deadline {
                    let name = place_of(pod).1;
                    return Err(Error::deadline(format!("pod/{name} in namespace {namespace} still runs"))
                        .object(ObjectRef::new("Pod", Some(namespace), name))
                        .hint(self.resume()));
                }
                sleep(PAUSE).await;
            }
        }
        Ok(())
    }

    /// Waits until what was deleted is gone, and names what stays.
    async fn gone(&self, steps: &[Step]) -> Result<()> {
        let deadline = Instant::now() + self.timeout;
        let mut left: Vec<&Step> = steps.iter().collect();
        loop {
            let mut still = Vec::new();
            for step in left {
                if self.is_there(step).await? {
                    still.push(step);
                }
            }
            left = still;
            let Some(first) = left.first() else { return Ok(()) };
            if Instant::now() >= deadline {
                let names: Vec<String> = left.iter().map(|step| place(step)).collect();
                return Err(Error::failed("Leftovers", format!("deleted, but still there: {}", names.join(", ")))
                    .object(ObjectRef::new(first.kind.kind, first.namespace.as_deref(), &first.name))
                    .hint("a finalizer may hold them: kubectl get -o yaml shows it")
                    .hint(self.resume()));
            }
            sleep(PAUSE).await;
        }
    }

    async fn is_there(&self, step: &Step) -> Result<bool> {
        let Write::Delete { uid } = &step.write else { return Ok(false) };
        let call =
            crate::cluster::Call::on(http::Method::GET, &step.kind, step.namespace.as_deref(), &step.name, "get");
        let now = observe::readable(self.cluster.call(&call.metadata_only()).await, &mut Vec::new(), "")?;
        Ok(now.is_some_and(|now| now.pointer("/metadata/uid").and_then(Value::as_str) == Some(uid)))
    }

    /// Looks once more: somebody may have made objects of the operator while they were deleted.
    async fn nothing_new(&self, plan: &Plan) -> Result<()> {
        if let Last::Without(_) = plan.last {
            return Ok(());
        }
        let mut places = plan.deletes().filter_map(|step| step.namespace.clone()).collect();
        let (own, _) = observe::made(self.cluster, self.id, &mut places, &mut Vec::new()).await?;
        let names: Vec<String> = own
            .iter()
            .map(|(kind, object)| {
                let (namespace, name) = place_of(object);
                place(&Step::new(*kind, namespace, name, Write::Delete { uid: String::new() }))
            })
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(Error::failed(
            "Leftovers",
            format!("made anew while operator {} was removed: {}", self.id, names.join(", ")),
        )
        .hint(self.resume()))
    }

    /// The last state of the claim.
    async fn end(&self, plan: &Plan) -> Result<()> {
        let name = claim::name(camel_k::NAME, self.id);
        let now = self.cluster.server_time();
        if plan.begun.is_none() {
            if plan.last == Last::Tombstone {
                let object = uninstall::new_tombstone(camel_k::NAME, self.id, self.operation, now).object().clone();
                let step = self.claim_step(Write::CreateOnly { object, manager: CLAIM_MANAGER });
                let change = self.cluster.write(&step, false).await?.change;
                self.account.tell(
                    &OPERATOR_CLAIM,
                    None,
                    &name,
                    change.word(),
                    Some("the id stays reserved".to_owned()),
                );
            }
            return Ok(());
        }
        for _ in 0..SWAPS {
            let Some(current) = observe::read_claim(self.cluster, &name).await? else { break };
            if current.operation().is_none_or(|under_way| under_way.id != self.operation.id) {
                return Err(self.lost("another run ended it"));
            }
            let (write, action, reason) = match &plan.last {
                Last::Delete => (Write::Delete { uid: current.uid().to_owned() }, "deleted", None),
                Last::Tombstone => {
                    (replace(&uninstall::tombstone(&current, now)), "configured", Some("the id stays reserved"))
                }
                Last::Without(standby) => {
                    (replace(&uninstall::without_standby(&current, standby, now)), "configured", None)
                }
            };
            match self.cluster.write(&self.claim_step(write), false).await {
                Ok(_) => {
                    self.account.tell(&OPERATOR_CLAIM, None, &name, action, reason.map(str::to_owned));
                    return Ok(());
                }
                Err(error) if is_open(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // An answer that got lost: the write went through, or the claim is read again and again by others.
        match observe::read_claim(self.cluster, &name).await? {
            Some(now) if now.operation().is_some_and(|under_way| under_way.kind == UNINSTALL) => Err(Error::refused(
                "Conflict",
                format!("the claim of operator id {} keeps being changed by others", self.id),
            )
            .hint(self.resume())),
            _ => {
                self.account.tell(&OPERATOR_CLAIM, None, &name, "deleted", None);
                Ok(())
            }
        }
    }

    fn claim_step(&self, write: Write) -> Step {
        Step::new(OPERATOR_CLAIM, None, &claim::name(camel_k::NAME, self.id), write)
    }

    fn resume(&self) -> String {
        format!("to go on: {}", self.operation.resume.as_deref().unwrap_or_default())
    }

    /// Says what would be done; on the server's side every write is checked and nothing kept.
    pub async fn rehearse(&self, plan: &Plan, rehearsal: DryRun) -> Result<()> {
        let stamped = plan.resources.iter().filter_map(|(one, deed)| match (deed, self.fate) {
            (Deed::Stamp, Fate::Move(to)) => Some(stamp_step(&one.found, to)),
            (Deed::Delete, _) => Some(delete_step(&one.found)),
            _ => None,
        });
        let steps: Vec<Step> = stamped.chain(plan.deletes().cloned()).collect();
        for step in &steps {
            if rehearsal == DryRun::Server {
                self.cluster.write(step, true).await?;
            }
            let action = if matches!(step.write, Write::Delete { .. }) { "deleted" } else { "configured" };
            self.account.tell(&step.kind, step.namespace.as_deref(), &step.name, action, None);
        }
        let action = match (&plan.begun, &plan.last) {
            (None, Last::Tombstone) => "created",
            (None, _) => return Ok(()),
            (Some(_), Last::Delete) => "deleted",
            (Some(_), _) => "configured",
        };
        if let (DryRun::Server, Some(begun)) = (rehearsal, &plan.begun) {
            self.cluster.write(&self.claim_step(replace(begun)), true).await?;
        }
        self.account.tell(&OPERATOR_CLAIM, None, &claim::name(camel_k::NAME, self.id), action, None);
        Ok(())
    }
}

fn is_open(error: &ApiError) -> bool {
    error.is_conflict() || error.is_not_found() || error.is_undecided()
}

fn replace(claim: &Claim) -> Write {
    Write::Replace { object: claim.object().clone(), manager: CLAIM_MANAGER }
}

fn stamp_step(found: &Found, to: &str) -> Step {
    let write = Write::Patch {
        patch: json!({"metadata": {"annotations": {camel_k::OPERATOR_ID: to}}}),
        observed: found.object.clone(),
        manager: TENANT_MANAGER,
        subresource: None,
    };
    Step::new(found.resource.kind, Some(&found.resource.namespace), &found.resource.name, write)
}

fn delete_step(found: &Found) -> Step {
    let uid = found.object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
    let write = Write::Delete { uid: uid.to_owned() };
    Step::new(found.resource.kind, Some(&found.resource.namespace), &found.resource.name, write)
}

fn place(step: &Step) -> String {
    match &step.namespace {
        Some(namespace) => format!("{} in namespace {namespace}", step.label()),
        None => step.label(),
    }
}
