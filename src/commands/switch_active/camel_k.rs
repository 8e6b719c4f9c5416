//! The switch between instances of Camel K that share an id. Leases are per namespace, so nothing but the order keeps two of
//! them apart: the old one is stopped and seen to be gone before the new one is started.

use crate::{
    cluster::{Cluster, ListOptions, Observe, access::Right},
    commands::Session,
    contracts::{
        camel_k,
        kinds::{CONFIG_MAP, DEPLOYMENT, INTEGRATION_PLATFORM, LEASE, OPERATOR_CLAIM, POD, SECRET},
    },
    error::{Error, Exit, ObjectRef, Result},
    tenancy::{
        claim::{self, Claim, Instance, Operation},
        operators::{Operator, operators},
        plan::{CLAIM_MANAGER, Step, Write},
        switch::{
            Weight,
            copies::{self, Action, Chosen},
            pointer::rfc3339,
            refusal,
            standby::{self, Course},
        },
    },
};

use super::{
    Rehearsal, SwitchActiveArgs,
    account::Account,
    command,
    copy::{self, Copies},
    guard::Guard,
    no_way_back, rights,
    start_stop::Mover,
};

/// Everything one switch works with.
struct Run<'a> {
    session: &'a Session<'a>,
    cluster: &'a Cluster,
    args: &'a SwitchActiveArgs,
    account: Account<'a>,
    id: String,
    from: Option<Instance>,
    to: Instance,
}

/// Makes the instance in namespace `target` active, or the one before when none is named.
pub async fn run(
    session: &Session<'_>,
    cluster: &Cluster,
    args: &SwitchActiveArgs,
    target: Option<&str>,
) -> Result<Exit> {
    let (claim, to) = find(cluster, args, target).await?;
    let id = claim.object().pointer("/spec/id").and_then(|id| id.as_str()).unwrap_or_default().to_owned();
    let account = Account::new(session.ui, args.output, args.dry_run, &to.to_string(), cluster.server_time());
    let course = standby::course(&claim, &to);
    let from = match &course {
        Course::Already | Course::Fresh => claim.active(),
        Course::Resume(operation) => instance_of(&claim, operation.from.as_deref()),
        Course::Undo(operation) => instance_of(&claim, operation.to.as_deref()),
        Course::Busy(_) | Course::Stranger => None,
    };
    account.from(from.as_ref().map(Instance::to_string).as_deref());
    let run = Run { session, cluster, args, account, id, from, to };
    match course {
        Course::Already => run.already(&claim).await,
        Course::Fresh => run.switch(claim, false).await,
        Course::Resume(_) | Course::Undo(_) => run.switch(claim, true).await,
        Course::Busy(operation) => Err(run.busy(&operation)),
        Course::Stranger => Err(run.stranger()),
    }
}

fn instance_of(claim: &Claim, text: Option<&str>) -> Option<Instance> {
    standby::instances(claim).into_iter().find(|instance| Some(instance.to_string().as_str()) == text)
}

/// The claim, and the instance of it that is to become active.
async fn find(cluster: &Cluster, args: &SwitchActiveArgs, target: Option<&str>) -> Result<(Claim, Instance)> {
    let family = camel_k::NAME;
    let claims: Vec<Claim> = match &args.operator_id {
        Some(id) => cluster.get(&OPERATOR_CLAIM, None, &claim::name(family, id)).await,
        None => Ok(None),
    }
    .map(|found| found.into_iter().map(Claim::read).collect())
    .or_else(|error| if error.is_kind_missing() { Ok(Vec::new()) } else { Err(error) })?;
    let claims = if args.operator_id.is_some() { claims } else { all(cluster).await? };
    let mut found: Vec<(Claim, Instance)> = claims
        .into_iter()
        .filter_map(|claim| {
            let to = match target {
                Some(target) => standby::instances(&claim).into_iter().find(|to| to.namespace == target),
                None => standby::previous(&claim),
            }?;
            Some((claim, to))
        })
        .collect();
    match (found.len(), target) {
        (1, _) => found.pop().ok_or_else(no_way_back),
        (0, None) => Err(no_way_back()),
        (0, Some(target)) => {
            let id = args.operator_id.as_deref().map(|id| format!(" of operator id {id}")).unwrap_or_default();
            Err(Error::not_found("NotAStandby", format!("no claim names an instance{id} in namespace {target}"))
                .hint(format!("add a standby: kctl install -x ID -n {target} --standby"))
                .hint("kctl list-operators shows what there is"))
        }
        (_, _) => {
            let ids = found.iter().filter_map(|(claim, _)| claim.object().pointer("/spec/id")?.as_str());
            let ids: Vec<&str> = ids.collect();
            Err(Error::usage(format!("several operator ids are meant: {}", ids.join(", ")))
                .hint(format!("say which: add -x {}", ids[0])))
        }
    }
}

async fn all(cluster: &Cluster) -> Result<Vec<Claim>> {
    let options = ListOptions::labelled(format!("kctl.dev/family={}", camel_k::NAME));
    match cluster.list(&OPERATOR_CLAIM, None, &options).await {
        Ok(found) => Ok(found.into_iter().map(Claim::read).collect()),
        Err(error) if error.is_kind_missing() => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

impl Run<'_> {
    fn claim_name(&self) -> String {
        claim::name(camel_k::NAME, &self.id)
    }

    fn claim_ref(&self) -> ObjectRef {
        ObjectRef::new(OPERATOR_CLAIM.kind, None, self.claim_name())
    }

    fn command(&self, to: &Instance) -> String {
        command(self.session, &to.namespace, &format!(" -x {}", self.id))
    }

    fn busy(&self, operation: &Operation) -> Error {
        let error = Error::refused(
            "OperationUnderWay",
            format!(
                "an operation on operator id {} is under way: {} since {}",
                self.id, operation.kind, operation.since
            ),
        )
        .object(self.claim_ref());
        let hints = [("to go on with it", &operation.resume), ("to undo it", &operation.undo)];
        let hints = hints.into_iter().filter_map(|(what, how)| Some(format!("{what}: {}", how.as_ref()?)));
        error.hints(hints.collect::<Vec<_>>())
    }

    fn stranger(&self) -> Error {
        Error::refused("NotAStandby", format!("{} is not an instance of operator id {}", self.to, self.id))
            .object(self.claim_ref())
            .hint(format!("add it: kctl install -x {} -n {} --standby", self.id, self.to.namespace))
    }

    async fn already(&self, claim: &Claim) -> Result<Exit> {
        self.account.tell(&OPERATOR_CLAIM, None, &self.claim_name(), "unchanged", None);
        if self.args.cleanup {
            for standby in claim.standbys() {
                copy::cleanup(self.cluster, &self.account, &standby.namespace, self.args.dry_run).await?;
            }
        }
        self.account.end("unchanged", self.cluster.server_time())?;
        Ok(Exit::Done)
    }

    /// `under_way`: a switch is noted already, to go on with or to turn back.
    async fn switch(&self, claim: Claim, under_way: bool) -> Result<Exit> {
        let (ui, cluster) = (self.session.ui, self.cluster);
        let rows = self.rows().await?;
        let row = |instance: Option<&Instance>| {
            let instance = instance?;
            rows.iter().find(|row| {
                row.namespace == instance.namespace
                    && row.deployment.as_ref() == Some(&instance.deployment)
                    && row.deployment_uid.is_some()
            })
        };
        let (old, new) = (row(self.from.as_ref()), row(Some(&self.to)));
        let managers = self.managers().await?;
        let mut findings = standby::preflight(old, new, &self.to, &managers, self.args.force);
        let copies = if refusal(&findings).is_none() { self.copies(under_way).await? } else { Copies::default() };
        findings.extend(
            copies
                .findings(&self.to.namespace, cluster.server_time())
                .into_iter()
                .map(|finding| if under_way { finding.tolerated() } else { finding }),
        );
        for finding in findings.iter().filter(|finding| finding.weight == Weight::Warn) {
            ui.warn(&finding.message);
        }
        if let Some(refusal) = refusal(&findings) {
            return Err(refusal.object(self.claim_ref()));
        }
        if self.args.dry_run != Some(Rehearsal::Client) {
            rights::check(cluster, self.rights(&claim, &copies)).await?;
        }
        ui.plan(&self.describe(&copies, new));
        let back = self.from.as_ref().map(|from| self.command(from));
        if let Some(back) = &back {
            self.account.undo(back);
        }
        if let Some(rehearsal) = self.args.dry_run {
            return self.rehearse(&claim, &copies, rehearsal).await;
        }
        ui.confirm(&format!("Stop {} and start {}?", self.old_name(), self.to)).await?;
        let again = self.command(&self.to);
        self.account.resume(&again);
        ui.on_interrupt(again.clone(), back.clone());
        let operation = self.operation(&self.account.id(), self.from.as_ref(), &self.to);
        let mover = Mover::begin(cluster, ui, claim, &operation).await?;
        self.account.tell(
            &OPERATOR_CLAIM,
            None,
            &self.claim_name(),
            "configured",
            Some(format!("switch to {} begun", self.to)),
        );
        let guard = Guard::Claim { name: self.claim_name(), run: operation.id.clone() };
        copy::carry_out(cluster, &self.account, &copies, &self.to.namespace, &guard).await?;
        match mover.carry_out(&self.to, self.args.timeout).await {
            Ok(()) => {}
            Err(error) if error.exit() == Exit::Deadline => return self.late(error).await,
            Err(error) => return Err(error),
        }
        let names = self.from.iter().map(|from| (from, "0 replicas")).chain([(&self.to, "1 replica")]);
        for (instance, what) in names {
            self.account.tell(
                &DEPLOYMENT,
                Some(&instance.namespace),
                &instance.deployment,
                "configured",
                Some(what.to_owned()),
            );
        }
        if self.args.cleanup
            && let Some(from) = &self.from
        {
            copy::cleanup(cluster, &self.account, &from.namespace, None).await?;
        }
        self.account.end("done", cluster.server_time())?;
        if let Some(back) = back {
            ui.hint(&format!("to undo: {back}"));
        }
        Ok(Exit::Done)
    }

    /// The time is over: the old one is started again, in the same order.
    async fn late(&self, error: Error) -> Result<Exit> {
        let Some(from) = self.from.as_ref().filter(|_| !self.args.no_rollback) else {
            self.account.end("failed", self.cluster.server_time())?;
            return Err(error.hint(format!("to go on waiting: {}", self.command(&self.to))));
        };
        self.session.ui.warn(&format!("{}; going back to {from}", error.message()));
        let claim = self.cluster.get(&OPERATOR_CLAIM, None, &self.claim_name()).await?.map(Claim::read);
        let claim = claim.ok_or_else(|| Error::failed("NoClaim", "the claim was deleted on the way"))?;
        Guard::Claim { name: self.claim_name(), run: self.account.id() }.check(self.cluster).await?;
        let run = uuid::Uuid::new_v4().to_string();
        let back = self.operation(&run, Some(&self.to), from);
        let mover = Mover::begin(self.cluster, self.session.ui, claim, &back).await?;
        mover.carry_out(from, self.args.timeout).await.map_err(|again| again.while_("rolling back"))?;
        self.account.tell(
            &OPERATOR_CLAIM,
            None,
            &self.claim_name(),
            "configured",
            Some(format!("rolled back to {from}")),
        );
        self.account.end("rolled-back", self.cluster.server_time())?;
        Err(Error::deadline(format!("{}; rolled back to {from}", error.message()))
            .object(self.claim_ref())
            .hint(format!("see why: kubectl describe deployment/{} -n {}", self.to.deployment, self.to.namespace)))
    }

    fn operation(&self, run: &str, from: Option<&Instance>, to: &Instance) -> Operation {
        Operation {
            id: run.to_owned(),
            kind: standby::SWITCH.to_owned(),
            since: rfc3339(self.cluster.server_time()),
            from: from.map(Instance::to_string),
            to: Some(to.to_string()),
            // Without this machine's context and files: a colleague reads it.
            resume: Some(format!("kctl switch-active {} -x {}", to.namespace, self.id)),
            undo: from.map(|from| format!("kctl switch-active {} -x {}", from.namespace, self.id)),
        }
    }

    /// Other tools that manage one of the Deployments.
    async fn managers(&self) -> Result<Vec<(Instance, String)>> {
        let mut found = Vec::new();
        for instance in self.from.iter().chain([&self.to]) {
            let deployment = self.cluster.get(&DEPLOYMENT, Some(&instance.namespace), &instance.deployment).await?;
            found.extend(deployment.as_ref().and_then(standby::foreign_manager).map(|tool| (instance.clone(), tool)));
        }
        Ok(found)
    }

    async fn rows(&self) -> Result<Vec<Operator>> {
        let what = Observe { families: vec![&camel_k::FAMILY], count_ids: true, leases_of: Some(self.id.clone()) };
        let evidence = self.cluster.observe(&what).await?;
        Ok(operators(&evidence, self.cluster.server_time()))
    }

    /// The platform when the target has none, and what the platform refers to.
    async fn copies(&self, under_way: bool) -> Result<Copies> {
        let Some(from) = self.from.as_ref().filter(|_| !self.args.no_copy && !under_way) else {
            return Ok(Copies::default());
        };
        let platform = |namespace: &str| {
            let namespace = namespace.to_owned();
            async move {
                match self.cluster.get(&INTEGRATION_PLATFORM, Some(&namespace), &self.id).await {
                    Err(error) if error.is_kind_missing() => Ok(None),
                    other => other,
                }
            }
        };
        let (source, target) = (platform(&from.namespace).await?, platform(&self.to.namespace).await?);
        let Some(deciding) = target.as_ref().or(source.as_ref()) else { return Ok(Copies::default()) };
        let (secrets, config_maps) = standby::references(deciding);
        let mut chosen: Vec<Chosen> = secrets
            .into_iter()
            .map(|name| (SECRET, name))
            .chain(config_maps.into_iter().map(|name| (CONFIG_MAP, name)))
            .map(|(kind, name)| Chosen { kind, name, why: "the platform refers to it" })
            .collect();
        let earlier_copy = target.as_ref().is_some_and(copies::is_unchanged_copy);
        if source.is_some() && (target.is_none() || earlier_copy) {
            chosen.push(Chosen { kind: INTEGRATION_PLATFORM, name: self.id.clone(), why: "the standby has none" });
        }
        chosen.retain(|chosen| !self.args.exclude.contains(&chosen.name));
        copy::named(self.cluster, &from.namespace, &self.to.namespace, chosen, self.args.overwrite, self.args.dry_run)
            .await
    }

    fn rights(&self, claim: &Claim, copies: &Copies) -> Vec<Right> {
        let steps: Vec<Step> = copies.steps(&self.to.namespace, "").map(|(_, step)| step).collect();
        let mut rights = rights::of(&steps);
        rights.push(Right::on("update", &OPERATOR_CLAIM, None, Some(&self.claim_name())));
        let lease = camel_k::FAMILY.lease.of(&self.id);
        for instance in standby::instances(claim) {
            let namespace = Some(instance.namespace.as_str());
            rights.push(Right::on("patch", &DEPLOYMENT, namespace, Some(&instance.deployment)));
            rights.push(Right::on("get", &LEASE, namespace, Some(&lease)));
            rights.push(Right::on("list", &POD, namespace, None));
        }
        rights
    }

    fn old_name(&self) -> String {
        self.from.as_ref().map_or_else(|| "nobody".to_owned(), Instance::to_string)
    }

    fn describe(&self, copies: &Copies, row: Option<&Operator>) -> String {
        let mut lines = vec![
            format!(
                "switch of operator id {} in context {} ({})",
                self.id,
                self.cluster.context(),
                self.cluster.server()
            ),
            format!("  from {} to {}", self.old_name(), self.to),
        ];
        let listed = copy::describe(copies);
        if !listed.is_empty() {
            lines.push(format!("  copies from {} to {}:", copies.from, self.to.namespace));
            lines.push(listed);
        }
        let counted = row.and_then(|row| row.resources.as_ref()).map(|counted| counted.by_kind.values().sum::<u64>());
        let counted = counted.map_or_else(|| "resources".to_owned(), |total| format!("{total} resources"));
        lines.push(format!("  affected: {counted} under the id; they go on running and are not built again"));
        lines.push("  nothing is reconciled between the stop of the old and the start of the new operator".to_owned());
        lines.join("\n")
    }

    async fn rehearse(&self, claim: &Claim, copies: &Copies, rehearsal: Rehearsal) -> Result<Exit> {
        let run = self.account.id();
        for (item, step) in copies.steps(&self.to.namespace, &run) {
            let mut action = if item.action == Some(Action::Create) { "created" } else { "configured" };
            if rehearsal == Rehearsal::Server {
                action = self.cluster.write(&step, true).await?.change.word();
            }
            self.account.tell(
                &step.kind,
                Some(&self.to.namespace),
                &step.name,
                action,
                item.source.as_ref().map(copies::hash),
            );
        }
        let begun = standby::begin(claim, &self.operation(&run, self.from.as_ref(), &self.to));
        if rehearsal == Rehearsal::Server {
            let write = Write::Replace { object: begun.object().clone(), manager: CLAIM_MANAGER };
            self.cluster.write(&Step::new(OPERATOR_CLAIM, None, &self.claim_name(), write), true).await?;
        }
        self.account.tell(
            &OPERATOR_CLAIM,
            None,
            &self.claim_name(),
            "configured",
            Some(format!("active: {}", self.to)),
        );
        let names = self.from.iter().map(|from| (from, "0 replicas")).chain([(&self.to, "1 replica")]);
        for (instance, what) in names {
            self.account.tell(
                &DEPLOYMENT,
                Some(&instance.namespace),
                &instance.deployment,
                "configured",
                Some(what.to_owned()),
            );
        }
        self.account.end("unchanged", self.cluster.server_time())?;
        Ok(Exit::Done)
    }
}
