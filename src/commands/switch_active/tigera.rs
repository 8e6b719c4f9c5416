//! The switch of Tigera operators: the pointer is flipped once, and everything else makes that safe.

use serde_json::Value;

use crate::{
    cluster::{Cluster, access::Right, switch::Unread},
    commands::Session,
    contracts::{
        kinds::{CONFIG_MAP, LEASE, POD, ROLE_BINDING, SECRET},
        tigera,
    },
    error::{Error, Exit, ObjectRef, Result},
    tenancy::{
        plan::{Step, Write},
        switch::{
            Finding, SWITCH_MANAGER, Weight, copies,
            pointer::{Course, Pointer, Switch, rfc3339},
            preflight::{self, Restarts, Target},
            refusal,
        },
    },
};

use super::{
    Rehearsal, SwitchActiveArgs,
    account::Account,
    command,
    copy::{self, Copies},
    guard::{Guard, lost},
    prove, rights,
};

/// Everything one switch works with.
pub struct Run<'a> {
    /// The session.
    pub session: &'a Session<'a>,
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The flags.
    pub args: &'a SwitchActiveArgs,
    /// What is told.
    pub account: Account<'a>,
    /// The namespace that becomes active.
    pub to: String,
}

/// What was found out before the switch.
struct Plan {
    pointer: Pointer,
    from: Option<String>,
    fingerprint: Option<String>,
    target: Target,
    copies: Copies,
    readers: Vec<String>,
    findings: Vec<Finding>,
}

/// Makes `to` the active namespace.
pub async fn run(
    session: &Session<'_>,
    cluster: &Cluster,
    args: &SwitchActiveArgs,
    pointer: Pointer,
    to: &str,
) -> Result<Exit> {
    let account = Account::new(session.ui, args.output, args.dry_run, to, cluster.server_time());
    let run = Run { session, cluster, args, account, to: to.to_owned() };
    match pointer.course(to) {
        Course::Already => run.already(&pointer).await,
        Course::Resume(switch) if args.dry_run.is_none() => run.resume(switch).await,
        Course::Resume(switch) => {
            run.account.goes_on(&switch.id);
            run.account.from(switch.from.as_deref());
            let reason = Some("a switch to it is under way; running the command goes on with the proof".to_owned());
            run.tell_pointer("unchanged", reason);
            run.account.end("unchanged", cluster.server_time()).map(|()| Exit::Done)
        }
        Course::Undo(_) => run.switch(pointer, true).await,
        Course::Fresh => run.switch(pointer, false).await,
        Course::Busy(other) => Err(Error::refused(
            "OperationUnderWay",
            format!("a switch to {} is under way since {}, by run {}", other.to, other.since, other.id),
        )
        .object(pointer_ref())
        .hint(format!("to go on with it: kctl switch-active -n {}", other.to))
        .hint("to turn it back: kctl switch-active -")),
    }
}

impl Run<'_> {
    /// Nothing to switch; what is left to do is to clean up.
    async fn already(&self, pointer: &Pointer) -> Result<Exit> {
        self.account.from(Some(&self.to));
        let mut unread = Unread::new();
        let target = self.cluster.switch_target(&self.to, &mut unread).await?;
        for finding in preflight::target(&target) {
            self.session.ui.warn(&finding.message);
        }
        self.tell_pointer("unchanged", None);
        if self.args.cleanup {
            self.cleanup(pointer).await?;
        }
        self.account.end("unchanged", self.cluster.server_time())?;
        Ok(Exit::Done)
    }

    async fn switch(&self, pointer: Pointer, undo: bool) -> Result<Exit> {
        let (ui, cluster) = (self.session.ui, self.cluster);
        let mut unread = Unread::new();
        let plan = self.plan(pointer, undo, &mut unread).await?;
        self.account.from(plan.from.as_deref());
        for why in &unread {
            ui.warn(&format!("not checked: {why}"));
        }
        for finding in plan.findings.iter().filter(|finding| finding.weight == Weight::Warn) {
            ui.warn(&finding.message);
            if let Some(hint) = &finding.hint {
                ui.hint(hint);
            }
        }
        if let Some(refusal) = refusal(&plan.findings) {
            return Err(refusal.object(pointer_ref()));
        }
        let switch = Switch {
            id: self.account.id(),
            from: plan.from.clone(),
            to: self.to.clone(),
            since: rfc3339(cluster.server_time()),
            copies: plan.copies.steps(&self.to, "").count(),
            fingerprint: plan.fingerprint.clone(),
        };
        if self.args.dry_run != Some(Rehearsal::Client) {
            rights::check(cluster, self.rights(&plan, &switch)).await?;
        }
        ui.plan(&self.describe(&plan).await);
        let back = plan.from.as_deref().map(|from| command(self.session, from, ""));
        if let Some(back) = &back {
            self.account.undo(back);
        }
        if let Some(rehearsal) = self.args.dry_run {
            return self.rehearse(&plan, &switch, rehearsal).await;
        }
        ui.confirm(&format!("Make the operator in namespace {} the active one?", self.to)).await?;
        let again = command(self.session, &self.to, "");
        self.account.resume(&again);
        ui.on_interrupt(again, back);
        let guard = Guard::pointer(&plan.pointer);
        copy::carry_out(cluster, &self.account, &plan.copies, &self.to, &guard).await?;
        copy::verify_sources(cluster, &plan.copies).await?;
        guard.check(cluster).await?;
        let before = prove::before(cluster, &switch).await?;
        // The time of the flip, not of the plan: a person may have thought it over in between.
        let switch = Switch { since: rfc3339(cluster.server_time()), ..switch };
        self.flip(&plan.pointer, &switch).await?;
        prove::prove(self, &switch, before).await
    }

    /// Goes on with a switch that was flipped and not proved.
    async fn resume(&self, switch: Switch) -> Result<Exit> {
        self.account.goes_on(&switch.id);
        self.account.from(switch.from.as_deref());
        let again = command(self.session, &self.to, "");
        let back = switch.from.as_deref().map(|from| command(self.session, from, ""));
        if let Some(back) = &back {
            self.account.undo(back);
        }
        self.account.resume(&again);
        self.session.ui.on_interrupt(again, back);
        self.session.ui.note(&format!("going on with the switch of {}", switch.since));
        self.tell_pointer("unchanged", Some("flipped earlier".to_owned()));
        let before = prove::before(self.cluster, &switch).await?;
        prove::prove(self, &switch, before).await
    }

    async fn plan(&self, pointer: Pointer, undo: bool, unread: &mut Unread) -> Result<Plan> {
        let cluster = self.cluster;
        let fingerprint = cluster.fingerprint(unread).await?;
        // With no good pointer, who wrote last is the best guess at where the certificates are.
        let from = pointer.namespace().or_else(|| fingerprint.clone().filter(|name| *name != self.to));
        let target = cluster.switch_target(&self.to, unread).await?;
        let sources = match &from {
            Some(from) => match cluster.tigera_operators(from).await {
                Ok(found) => Some(found),
                Err(error) if error.is_forbidden() => None,
                Err(error) => return Err(error.into()),
            },
            None => None,
        };
        let installation = cluster.installation(unread).await?;
        let has_operator = sources.as_ref().map(|found| !found.is_empty());
        let mut findings = preflight::pointer(&pointer, &self.to, has_operator, self.args.repair);
        let tolerated = |finding: Finding| {
            let may_pass = ["NotAvailable", "NotObserved", "AccountLacksRights"].contains(&finding.reason);
            if undo && may_pass { finding.tolerated() } else { finding }
        };
        findings.extend(preflight::target(&target).into_iter().map(tolerated));
        findings.extend(preflight::installation(installation.as_ref()));
        let source = Target {
            name: from.clone().unwrap_or_default(),
            deployments: sources.unwrap_or_default(),
            ..Target::default()
        };
        findings.extend(preflight::versions(source.version_text().as_deref(), target.version_text().as_deref()));
        let installation = installation.flatten();
        // Undoing copies nothing: what the old operator had is still there.
        let copies = match &from {
            Some(from) if !undo && refusal(&findings).is_none() && *from != self.to => {
                let wish = self.wish(installation.as_ref());
                let copies = copy::plan(cluster, from, &self.to, &wish, self.args.dry_run, unread).await?;
                findings.extend(copies.findings(&self.to, cluster.server_time()));
                findings.extend(self.kept(&copies, &target, installation.as_ref(), &wish));
                copies
            }
            _ => Copies::default(),
        };
        let readers = cluster.secret_readers(&self.to, &target.account_name()).await.unwrap_or_default();
        Ok(Plan { pointer, from, fingerprint, target, copies, readers, findings })
    }

    fn wish(&self, installation: Option<&Value>) -> copies::Wish {
        let pulls = installation.and_then(|object| object.pointer("/spec/imagePullSecrets")).and_then(Value::as_array);
        let names = pulls.into_iter().flatten().filter_map(|entry| entry["name"].as_str().map(str::to_owned));
        copies::Wish {
            none: self.args.no_copy,
            include: self.args.include.clone(),
            exclude: self.args.exclude.clone(),
            force: self.args.force,
            overwrite: self.args.overwrite,
            referenced: names.collect(),
        }
    }

    /// What the new operator would miss.
    fn kept(
        &self,
        copies: &Copies,
        target: &Target,
        installation: Option<&Value>,
        wish: &copies::Wish,
    ) -> Vec<Finding> {
        let has = |name: &str| {
            copies.will_have(SECRET, name) || (name == tigera::SEED_CONFIG_MAP && copies.will_have(CONFIG_MAP, name))
        };
        let mut found = preflight::certificates(target.version(), copies.source_has(SECRET, tigera::CA), &has);
        found.extend(preflight::endpoint(
            installation,
            copies.source_has(CONFIG_MAP, tigera::ENDPOINT),
            copies.will_have(CONFIG_MAP, tigera::ENDPOINT),
        ));
        let missing = wish.referenced.iter().filter(|name| !copies.will_have(SECRET, name));
        found.extend(missing.map(|name| {
            Finding::warn(
                "NoPullSecret",
                format!("the Installation names the image pull secret {name}, which will not be in namespace {}: the operator would be degraded", self.to),
            )
        }));
        for name in wish.include.iter().chain(&wish.exclude).filter(|name| *name != "*") {
            if !copies.source_has(SECRET, name) && !copies.source_has(CONFIG_MAP, name) {
                found.push(Finding::refuse(
                    "NothingOfThatName",
                    format!("no Secret or ConfigMap {name} in namespace {} can be copied", copies.from),
                ));
            }
        }
        found
    }

    fn rights(&self, plan: &Plan, switch: &Switch) -> Vec<Right> {
        let pointer = tigera::POINTER;
        let mut steps: Vec<Step> = plan.copies.steps(&self.to, "").map(|(_, step)| step).collect();
        let flip = flip_step(&plan.pointer, switch);
        // The record is taken off again, also of a pointer that is made anew.
        let patch =
            Write::Patch { patch: Value::Null, observed: Value::Null, manager: SWITCH_MANAGER, subresource: None };
        steps.push(Step::new(pointer.kind, Some(pointer.namespace), pointer.name, patch));
        steps.push(flip);
        let mut rights = rights::of(&steps);
        let lease = tigera::FAMILY.lease.of("");
        for namespace in plan.from.iter().chain([&self.to]) {
            rights.push(Right::on("get", &LEASE, Some(namespace), Some(&lease)));
            rights.push(Right::on("list", &POD, Some(namespace), None));
        }
        rights.push(Right::on("get", &ROLE_BINDING, Some(pointer.namespace), Some(tigera::SECRETS_BINDING)));
        if self.args.cleanup {
            for (kind, from) in
                [SECRET, CONFIG_MAP].into_iter().flat_map(|kind| plan.from.iter().map(move |from| (kind, from)))
            {
                rights.push(Right::on("delete", &kind, Some(from), None));
            }
        }
        rights
    }

    async fn describe(&self, plan: &Plan) -> String {
        let from = plan.from.as_deref().unwrap_or("nobody");
        let version = |text: Option<String>| text.map(|text| format!(" (v{text})")).unwrap_or_default();
        let mut lines = vec![
            format!(
                "switch of the active Tigera operator in context {} ({})",
                self.cluster.context(),
                self.cluster.server()
            ),
            format!("  from namespace {from} to namespace {}{}", self.to, version(plan.target.version_text())),
        ];
        let copied = copy::describe(&plan.copies);
        if !copied.is_empty() {
            lines.push(format!("  copies from {} to {}:", plan.copies.from, self.to));
            lines.push(copied);
        }
        if !plan.readers.is_empty() && !plan.copies.items.is_empty() {
            lines.push(format!(
                "  besides the operator, these may read Secrets in {}: {}",
                self.to,
                plan.readers.join(", ")
            ));
        }
        lines.push(format!("  affected: installation/{} and what it runs", tigera::INSTALLATION_NAME));
        lines.push(match preflight::restarts(plan.target.version()) {
            Restarts::Once => format!(
                "  restarts: the pods of {} once, and once more when you switch back",
                prove::workloads(self.cluster).await
            ),
            Restarts::None => "  restarts: none, as far as certificates go".to_owned(),
            Restarts::Unknown => "  restarts: cannot be foretold, the version is not known".to_owned(),
        });
        lines.join("\n")
    }

    async fn rehearse(&self, plan: &Plan, switch: &Switch, rehearsal: Rehearsal) -> Result<Exit> {
        for (item, step) in plan.copies.steps(&self.to, &switch.id) {
            let action = match &item.action {
                Some(copies::Action::Create) => "created",
                _ => "configured",
            };
            let action = match rehearsal {
                Rehearsal::Client => action,
                Rehearsal::Server => self.cluster.write(&step, true).await?.change.word(),
            };
            let hash = item.source.as_ref().map(copies::hash);
            self.account.tell(&step.kind, Some(&self.to), &step.name, action, hash);
        }
        for item in plan.copies.items.iter().filter(|item| item.action == Some(copies::Action::Equal)) {
            self.account.tell(&item.chosen.kind, Some(&self.to), &item.chosen.name, "unchanged", None);
        }
        for item in plan.copies.items.iter().filter(|item| item.action.is_none()) {
            let why = Some("not compared: you may not read it".to_owned());
            self.account.tell(&item.chosen.kind, Some(&self.to), &item.chosen.name, "created", why);
        }
        for left in &plan.copies.left {
            self.account.tell(&left.kind, Some(&plan.copies.from), &left.name, "skipped", Some(left.why.clone()));
        }
        let step = flip_step(&plan.pointer, switch);
        if rehearsal == Rehearsal::Server {
            self.cluster.write(&step, true).await?;
        }
        let action = if plan.pointer.object().is_some() { "configured" } else { "created" };
        self.tell_pointer(action, Some(format!("{} -> {}", plan.from.as_deref().unwrap_or("nobody"), self.to)));
        self.account.end("unchanged", self.cluster.server_time())?;
        Ok(Exit::Done)
    }

    /// The one write that switches. Of two runs that try at once, one wins.
    async fn flip(&self, pointer: &Pointer, switch: &Switch) -> Result<()> {
        let mut pointer = pointer.clone();
        for _ in 0..5 {
            match self.cluster.write(&flip_step(&pointer, switch), false).await {
                Ok(_) => break,
                Err(error) if error.is_conflict() || error.is_already_exists() || error.is_undecided() => {
                    let now = self.cluster.pointer().await?;
                    if now.switch().is_some_and(|found| found.id == switch.id) {
                        break;
                    }
                    // The operator may have changed labels only; anything else was somebody's decision.
                    let same = now.says() == pointer.says() && now.switch() == pointer.switch();
                    if !same || error.is_already_exists() {
                        return Err(lost(&now));
                    }
                    if now.version() == pointer.version() {
                        return Err(error.into());
                    }
                    pointer = now;
                }
                Err(error) => return Err(error.into()),
            }
        }
        let reason = Some(format!("{} -> {}", switch.from.as_deref().unwrap_or("nobody"), switch.to));
        self.tell_pointer(if pointer.object().is_some() { "configured" } else { "created" }, reason);
        Ok(())
    }

    /// Deletes kctl's copies from namespaces that are not active any more.
    pub async fn cleanup(&self, pointer: &Pointer) -> Result<()> {
        for namespace in pointer.retired().iter().filter(|name| **name != self.to) {
            copy::cleanup(self.cluster, &self.account, namespace, self.args.dry_run).await?;
        }
        Ok(())
    }

    /// Tells what became of the pointer.
    pub fn tell_pointer(&self, action: &'static str, reason: Option<String>) {
        let pointer = tigera::POINTER;
        self.account.tell(&pointer.kind, Some(pointer.namespace), pointer.name, action, reason);
    }
}

/// The write that makes the target active.
fn flip_step(pointer: &Pointer, switch: &Switch) -> Step {
    let place = tigera::POINTER;
    let write = match pointer.object() {
        Some(object) => Write::Patch {
            patch: pointer.flip(switch),
            observed: object.clone(),
            manager: SWITCH_MANAGER,
            subresource: None,
        },
        None => Write::Create { object: Pointer::created(switch), manager: SWITCH_MANAGER },
    };
    Step::new(place.kind, Some(place.namespace), place.name, write)
}

/// The pointer, for errors.
pub fn pointer_ref() -> ObjectRef {
    let pointer = tigera::POINTER;
    ObjectRef::new(pointer.kind.kind, Some(pointer.namespace), pointer.name)
}
