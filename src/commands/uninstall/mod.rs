//! `kctl uninstall`.

mod carry_out;
mod definitions;
mod observe;
mod plan;

use std::collections::BTreeSet;

use crate::{
    cli::{install_args::DryRun, uninstall_args::UninstallArgs},
    cluster::{Cluster, access::Right},
    commands::{Session, account::Account, session::quoted},
    contracts::{camel_k, kinds::OPERATOR_CLAIM},
    error::{Error, Exit, ObjectRef, Result},
    tenancy::{
        claim::{self, Operation},
        id::{self, OperatorId},
        plan::Step,
        switch::pointer::rfc3339,
        uninstall::{self, Assigned, Deed, Fate, UNINSTALL},
    },
};

use self::{
    carry_out::Removal,
    observe::Seen,
    plan::{Last, Plan},
};

impl UninstallArgs {
    /// Runs the command.
    pub async fn run(self, session: &Session<'_>) -> Result<Exit> {
        let id = self.operator_id.parse::<OperatorId>()?.to_string();
        let fate = self.fate()?;
        let cluster = session.connect().await?;
        let (again, ui) = (self.again(session, &id, &fate), session.ui);
        let account = Account::new(ui, self.output, self.dry_run, UNINSTALL, &to(&fate), cluster.server_time());
        let operation = Operation {
            id: account.id(),
            kind: UNINSTALL.to_owned(),
            since: rfc3339(cluster.server_time()),
            from: None,
            to: Some(to(&fate)),
            resume: Some(again.clone()),
            undo: None,
        };
        let seen = observe::cluster(cluster, &id, session.global.namespace.as_deref()).await?;
        let (assigned, plan) = self.plan(session, cluster, seen, &id, &fate, &operation).await?;
        let removal =
            Removal { cluster, account: &account, id: &id, fate: &fate, operation: &operation, timeout: self.timeout };
        let reserved =
            plan.last == Last::Tombstone && plan.begun.as_ref().is_some_and(|begun| begun.renamed_to().is_some());
        if plan.is_empty() && (reserved || (plan.begun.is_none() && assigned.is_empty())) {
            account.tell(&OPERATOR_CLAIM, None, &claim::name(camel_k::NAME, &id), "unchanged", None);
            account.end("unchanged", cluster.server_time())?;
            return Ok(Exit::Done);
        }
        if self.dry_run.is_none() || self.dry_run == Some(DryRun::Server) {
            rights(cluster, &plan).await?;
        }
        if let Some(rehearsal) = self.dry_run {
            removal.rehearse(&plan, rehearsal).await?;
            account.end("unchanged", cluster.server_time())?;
            return Ok(Exit::Done);
        }
        ui.plan(&describe(cluster, &id, &fate, &assigned, &plan));
        ui.confirm(&format!("Remove operator {id}?")).await?;
        ui.on_interrupt(again.clone(), None);
        if let Err(error) = removal.carry_out(&plan).await {
            account.resume(&again);
            if account.has_changes() {
                account.end("failed", cluster.server_time())?;
            }
            return Err(error);
        }
        for left in &plan.left {
            ui.note(&format!("left, not made by kctl: {left}"));
        }
        let undo = undo(session, &id, &plan);
        account.undo(&undo);
        ui.hint(&format!("to install it again: {undo}"));
        account.end("done", cluster.server_time())?;
        Ok(Exit::Done)
    }

    fn fate(&self) -> Result<Fate> {
        Ok(match (&self.move_to, self.leave, self.delete_resources) {
            (Some(to), ..) => Fate::Move(to.parse::<OperatorId>()?.to_string()),
            (None, true, _) => Fate::Leave,
            (None, false, true) => Fate::Delete,
            (None, false, false) => Fate::Unsaid,
        })
    }

    /// The command that goes on with an interrupted removal.
    fn again(&self, session: &Session<'_>, id: &str, fate: &Fate) -> String {
        let crds = if self.crds { " --crds" } else { "" };
        format!("kctl uninstall -x {}{}{crds}{}", quoted(id), fate.flag(), session.same_place())
    }

    async fn plan(
        &self,
        session: &Session<'_>,
        cluster: &Cluster,
        seen: Seen,
        id: &str,
        fate: &Fate,
        operation: &Operation,
    ) -> Result<(Vec<Assigned>, Plan)> {
        let standby = plan::standby(&seen, id, session.global.namespace.as_deref())?;
        plan::check_owner(&seen, id)?;
        for blind in &seen.blind {
            session.ui.warn(&format!("you may not read {blind}: objects of operator {id} there stay"));
        }
        let assigned = match standby {
            // The active instance goes on with the resources.
            Some(_) => Vec::new(),
            None => self.assigned(session, cluster, &seen, id, fate).await?,
        };
        if seen.claim.is_none() && seen.own.is_empty() && assigned.is_empty() {
            say_unknown(session, &seen, id);
        }
        let last = plan::is_last(&seen, id);
        let shown = assigned.clone();
        let mut plan = plan::make(seen, id, fate, standby, assigned, operation)?;
        if self.crds {
            plan::add_definitions(&mut plan, definitions::read(cluster).await?, last)?;
        }
        Ok((shown, plan))
    }

    /// What is assigned to the operator, refused as long as nobody says what becomes of it.
    async fn assigned(
        &self,
        session: &Session<'_>,
        cluster: &Cluster,
        seen: &Seen,
        id: &str,
        fate: &Fate,
    ) -> Result<Vec<Assigned>> {
        let (found, unseen) = observe::resources(cluster, id, &seen.places).await?;
        if !unseen.is_empty() && *fate != Fate::Leave {
            return Err(Error::not_authorised(format!(
                "you may not list {} in all namespaces: what is assigned to operator {id} cannot be told",
                unseen.join(", ")
            ))
            .hint(format!("ask an admin of the cluster, or leave them as they are: kctl uninstall -x {id} --leave")));
        }
        let locks = plan::locks(cluster, &found).await?;
        let assigned = uninstall::assigned(id, found, &seen.known, &locks);
        plan::check_target(seen, id, fate, &assigned, &locks)?;
        let stranded = assigned.iter().filter(|one| one.is_stranded()).count();
        if *fate == Fate::Unsaid && stranded > 0 {
            session.ui.plan(&plan::describe(id, &assigned).join("\n"));
            let again = |flag: &str| format!("kctl uninstall -x {}{flag}{}", quoted(id), session.same_place());
            let under_way =
                seen.claim.as_ref().and_then(claim::Claim::operation).filter(|under_way| under_way.kind == UNINSTALL);
            let resume =
                under_way.and_then(|under_way| under_way.resume).map(|resume| format!("to go on as before: {resume}"));
            return Err(Error::refused(
                "AssignedResources",
                format!("{stranded} resources are assigned to operator {id}"),
            )
            .object(ObjectRef::new(OPERATOR_CLAIM.kind, None, claim::name(camel_k::NAME, id)))
            .hints(resume)
            .hint(format!("assign them to another operator: {}", again(" --move-to ID")))
            .hint(format!("leave them without one: {}", again(" --leave")))
            .hint(format!("delete them: {}", again(" --delete-resources"))));
        }
        Ok(assigned)
    }
}

/// Nothing tells of the id: it is gone already, or misspelt.
fn say_unknown(session: &Session<'_>, seen: &Seen, id: &str) {
    let near = id::nearest(id, seen.known.iter().map(|known| known.id.as_str()));
    let near = near.filter(|near| *near != id).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    session.ui.warn(&format!("nothing of an operator {id} is there{near}"));
}

/// Names the rights that are missing before anything is written.
async fn rights(cluster: &Cluster, plan: &Plan) -> Result<()> {
    if cluster.is_snapshot() {
        return Ok(());
    }
    let mut rights: Vec<Right> = plan
        .deletes()
        .map(|step| Right::on("delete", &step.kind, step.namespace.as_deref(), Some(&step.name)))
        .collect();
    let mut asked = BTreeSet::new();
    for (one, deed) in &plan.resources {
        let verb = match deed {
            Deed::Stamp => "patch",
            Deed::Delete => "delete",
            Deed::Keep => continue,
        };
        let (kind, namespace) = (&one.found.resource.kind, one.found.resource.namespace.as_str());
        if asked.insert((verb, kind.path(Some(namespace), None))) {
            rights.push(Right::on(verb, kind, Some(namespace), None));
        }
    }
    if let Some(begun) = &plan.begun {
        let name = begun.object().pointer("/metadata/name").and_then(serde_json::Value::as_str);
        let verbs: &[&'static str] = if plan.last == Last::Delete { &["update", "delete"] } else { &["update"] };
        rights.extend(verbs.iter().map(|verb| Right::on(verb, &OPERATOR_CLAIM, None, name)));
    }
    let missing = cluster.missing(&rights).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.iter().map(ToString::to_string).collect::<Vec<_>>();
    Err(Error::not_authorised(format!("you may not: {}", list.join("; ")))
        .hint("nothing was written; ask an admin of the cluster for these rights, or to remove the operator"))
}

fn to(fate: &Fate) -> String {
    match fate {
        Fate::Unsaid => "removed".to_owned(),
        Fate::Move(to) => to.clone(),
        Fate::Leave => "removed, resources left".to_owned(),
        Fate::Delete => "removed, resources deleted".to_owned(),
    }
}

/// What is about to happen, for people.
fn describe(cluster: &Cluster, id: &str, fate: &Fate, assigned: &[Assigned], plan: &Plan) -> String {
    let mut lines = vec![format!("operator {id} (context {}, server {}):", cluster.context(), cluster.server())];
    lines.extend(plan::describe(id, assigned));
    let (touched, kept) = plan.resources.iter().partition::<Vec<_>, _>(|(_, deed)| *deed != Deed::Keep);
    match fate {
        Fate::Move(to) => lines.push(format!("  {} resources move to operator {to}", touched.len())),
        Fate::Delete => lines.push(format!("  {} resources ARE DELETED", touched.len())),
        Fate::Leave => {
            lines.push(format!("  {} resources stay without an operator; the id stays reserved", kept.len()));
        }
        Fate::Unsaid => {}
    }
    if !kept.is_empty() && *fate != Fate::Leave {
        lines.push(format!("  {} resources stay as they are", kept.len()));
    }
    let told = |step: &Step| {
        let place = step.namespace.as_ref().map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default();
        format!("  delete {}{place}", step.label())
    };
    lines.extend(plan.deletes().map(told));
    lines.join("\n")
}

/// The command that makes the operator again; what its settings were is not known any more.
fn undo(session: &Session<'_>, id: &str, plan: &Plan) -> String {
    let namespace = plan.deployments.first().and_then(|step| step.namespace.clone());
    let (flags, namespace) = match (&plan.last, namespace) {
        (Last::Without(standby), _) => (" --standby", Some(standby.namespace.clone())),
        (Last::Tombstone, namespace) => (" --reuse-id", namespace),
        (Last::Delete, namespace) => ("", namespace),
    };
    let namespace = match (&session.global.namespace, namespace) {
        (None, Some(namespace)) => format!(" -n {}", quoted(&namespace)),
        (None, None) => " -n NAMESPACE".to_owned(),
        (Some(_), _) => String::new(),
    };
    format!("kctl install -x {}{flags}{}{namespace}", quoted(id), session.same_place())
}
