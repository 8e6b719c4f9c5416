//! `kctl adopt`.

use std::collections::BTreeMap;

use crate::{
    cli::{adopt_args::AdoptArgs, install_args::DryRun},
    cluster::{ApiError, Cluster, Observe, access::Right, wait},
    commands::{Session, account::Account},
    contracts::{
        camel_k,
        kinds::{CRD, OPERATOR_CLAIM},
    },
    error::{Error, Exit, ObjectRef, Result},
    manifests::{
        crds,
        operator::{SHARED_LABEL, shared_rbac},
    },
    tenancy::{
        adopt::{self, ADOPT, Verdict},
        claim::{self, Claim},
        evidence::{Coverage, Evidence},
        id,
        install::{self, Existing, key},
        objects::{Mark, kind_of, place_of},
        operators::operators,
        plan::{CLAIM_MANAGER, Step, Write},
    },
};

/// How often a lost compare-and-swap is tried again.
const SWAPS: usize = 5;

impl AdoptArgs {
    /// Runs the command.
    pub async fn run(self, session: &Session<'_>) -> Result<Exit> {
        let cluster = session.connect().await?;
        let now = cluster.server_time();
        let to = self.operator_id.as_deref().unwrap_or("all operators");
        let account = Account::new(session.ui, self.output, self.dry_run, ADOPT, to, now);
        let wish = Observe { families: vec![&camel_k::FAMILY], count_ids: false, leases_of: None };
        let evidence = cluster.observe(&wish).await?;
        say_unseen(session, &evidence, self.all)?;
        let known = operators(&evidence, now);
        let mut verdicts = adopt::verdicts(&known, &evidence.claims, now);
        if let Some(id) = &self.operator_id {
            verdicts = BTreeMap::from([(id.clone(), named(verdicts, id)?)]);
        }
        let open = verdicts.values().any(|verdict| matches!(verdict, Verdict::Claim(_)));
        let foundation = if open { foundation(cluster).await? } else { Vec::new() };
        if self.dry_run != Some(DryRun::Client) {
            rights(cluster, &foundation, open || self.all).await?;
        }
        let adoption = Adoption { cluster, account: &account, rehearsal: self.dry_run };
        adoption.found(&foundation).await?;
        let mut unclaimed = Vec::new();
        for (id, verdict) in &verdicts {
            if let Some(why) = adoption.take(id, verdict, !foundation.is_empty()).await? {
                session.ui.warn(&format!("operator id {id} stays without a claim: {why}"));
                unclaimed.push(id.as_str());
            }
        }
        if self.all && unclaimed.is_empty() && self.dry_run.is_none() {
            adoption.mark().await?;
        }
        account.end(if account.has_changes() { "done" } else { "unchanged" }, cluster.server_time())?;
        if unclaimed.is_empty() {
            return Ok(Exit::Done);
        }
        Err(Error::failed(
            "NotAllAdopted",
            format!("without a claim: {}; the claims are not marked as complete", unclaimed.join(", ")),
        )
        .hint("kctl list-operators shows them; leave one operator for each id, then run the command again"))
    }
}

/// The verdict on the id that was named.
///
/// # Errors
/// No operator uses it (exit 5), or it cannot be claimed (exit 3).
fn named(mut verdicts: BTreeMap<String, Verdict>, id: &str) -> Result<Verdict> {
    let Some(verdict) = verdicts.remove(id) else {
        let near = id::nearest(id, verdicts.keys().map(String::as_str)).map(|near| format!("did you mean {near}?"));
        return Err(Error::not_found("OperatorNotFound", format!("no operator uses the id {id}"))
            .hints(near)
            .hint("kctl list-operators"));
    };
    match verdict {
        Verdict::Not { why, places } => Err(Error::refused(
            "NotAdopted",
            format!("operator id {id} cannot be claimed: {why}: {}", places.join(", ")),
        )
        .object(ObjectRef::new(OPERATOR_CLAIM.kind, None, claim::name(camel_k::NAME, id)))
        .hint("kctl list-operators shows what uses it")),
        verdict => Ok(verdict),
    }
}

/// Without a look at all Deployments nobody can say that the claims are complete, nor that an id is used only once.
fn say_unseen(session: &Session<'_>, evidence: &Evidence, all: bool) -> Result<()> {
    let claims = evidence.unseen.iter().any(|unseen| unseen.source.starts_with("operatorclaims"));
    if evidence.deployments_seen == Coverage::All && !claims {
        return Ok(());
    }
    if all {
        return Err(Error::not_authorised(
            "you may not list deployments.apps and operatorclaims.kctl.dev in all namespaces",
        )
        .hint("adopt one that you see: kctl adopt ID"));
    }
    session.ui.warn("you may not list all Deployments and claims: whether another operator uses the id was checked only where you may read");
    Ok(())
}

/// The definition of claims and the roles that let everybody read them, as far as they are missing.
async fn foundation(cluster: &Cluster) -> Result<Vec<Step>> {
    let roles = shared_rbac(false);
    let mut existing = Existing::new();
    for object in roles.iter().chain([&crds::claim()]) {
        let (kind, (namespace, name)) = (kind_of(object)?, place_of(object));
        if let Some(found) = cluster.get(&kind, namespace, name).await? {
            existing.insert(key(object)?, found);
        }
    }
    let mut steps = install::definitions(vec![crds::claim()], &existing)?;
    let shared = install::owned(roles, &existing, Mark { label: SHARED_LABEL, value: None }, false)?;
    steps.extend(shared.into_iter().filter(|step| !step.is_done()));
    Ok(steps)
}

async fn rights(cluster: &Cluster, foundation: &[Step], writes: bool) -> Result<()> {
    if cluster.is_snapshot() || !writes {
        return Ok(());
    }
    let verbs = |step: &Step| {
        step.verbs().iter().map(|verb| Right::on(verb, &step.kind, None, Some(&step.name))).collect::<Vec<_>>()
    };
    let mut rights: Vec<Right> = foundation.iter().flat_map(verbs).collect();
    rights.extend(["create", "patch", "update"].map(|verb| Right::on(verb, &OPERATOR_CLAIM, None, None)));
    let missing = cluster.missing(&rights).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.iter().map(ToString::to_string).collect::<Vec<_>>();
    Err(Error::not_authorised(format!("you may not: {}", list.join("; ")))
        .hint("nothing was written; ask an admin of the cluster"))
}

/// One adoption under way.
struct Adoption<'a> {
    cluster: &'a Cluster,
    account: &'a Account<'a>,
    rehearsal: Option<DryRun>,
}

impl Adoption<'_> {
    /// Makes what claims need.
    async fn found(&self, steps: &[Step]) -> Result<()> {
        for step in steps {
            let action = match self.write(step).await {
                Ok(action) => action,
                Err(error) if error.is_conflict() || error.is_already_exists() => "unchanged",
                Err(error) => return Err(error.into()),
            };
            self.account.tell(&step.kind, None, &step.name, action, None);
        }
        if self.rehearsal.is_none() {
            for step in steps.iter().filter(|step| step.kind == CRD) {
                wait::established(self.cluster, &step.name).await?;
            }
        }
        Ok(())
    }

    /// Claims an id; gives back why it could not be.
    async fn take(&self, id: &str, verdict: &Verdict, fresh: bool) -> Result<Option<String>> {
        let name = claim::name(camel_k::NAME, id);
        let action = match verdict {
            Verdict::Claimed => "unchanged",
            Verdict::Not { why, places } => {
                self.account.tell(&OPERATOR_CLAIM, None, &name, "skipped", Some(why.clone()));
                return Ok(Some(format!("{why}: {}", places.join(", "))));
            }
            Verdict::Claim(claim) => {
                let write = Write::CreateOnly { object: claim.object().clone(), manager: CLAIM_MANAGER };
                match self.write(&Step::new(OPERATOR_CLAIM, None, &name, write)).await {
                    Ok(action) => action,
                    // A rehearsal does not make the definition that the claim needs.
                    Err(error) if fresh && self.rehearsal.is_some() && error.is_not_found() => "created",
                    Err(error) if error.is_conflict() || error.is_already_exists() || error.is_undecided() => {
                        let now = self.cluster.get(&OPERATOR_CLAIM, None, &name).await?.map(Claim::read);
                        match now.and_then(|now| now.active()) {
                            Some(active) if Some(&active) == claim.active().as_ref() => "unchanged",
                            Some(active) => return Ok(Some(format!("{active} claimed it meanwhile"))),
                            None => return Err(error.into()),
                        }
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        self.account.tell(&OPERATOR_CLAIM, None, &name, action, None);
        Ok(None)
    }

    /// Marks every claim of the family, now that each operator has one.
    async fn mark(&self) -> Result<()> {
        let claims = match self.cluster.list(&OPERATOR_CLAIM, None, &crate::cluster::ListOptions::default()).await {
            Err(error) if error.is_kind_missing() => return Ok(()),
            claims => claims?,
        };
        for claim in claims.into_iter().filter(|claim| claim["spec"]["family"] == camel_k::NAME) {
            self.mark_one(Claim::read(claim)).await?;
        }
        Ok(())
    }

    async fn mark_one(&self, mut claim: Claim) -> Result<()> {
        let name = place_of(claim.object()).1.to_owned();
        for _ in 0..SWAPS {
            let Some(next) = adopt::marked(&claim) else { return Ok(()) };
            let write = Write::Replace { object: next.object().clone(), manager: CLAIM_MANAGER };
            match self.write(&Step::new(OPERATOR_CLAIM, None, &name, write)).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_conflict() || error.is_undecided() => {}
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) => return Err(error.into()),
            }
            match self.cluster.get(&OPERATOR_CLAIM, None, &name).await? {
                Some(now) => claim = Claim::read(now),
                None => return Ok(()),
            }
        }
        Err(Error::refused("Conflict", format!("operatorclaim/{name} keeps being changed by others")))
    }

    async fn write(&self, step: &Step) -> Result<&'static str, ApiError> {
        if self.rehearsal == Some(DryRun::Client) {
            return Ok(if matches!(step.write, Write::CreateOnly { .. }) { "created" } else { "configured" });
        }
        Ok(self.cluster.write(step, self.rehearsal.is_some()).await?.change.word())
    }
}
