//! `kctl install`.

mod carry_out;
mod change;
mod named;
mod observe;
mod render;
mod settings;
mod tenants;
mod tigera;
mod wish;

use jiff::Timestamp;

use crate::{
    cli::install_args::{DryRun, InstallArgs},
    cluster::Cluster,
    commands::{Session, output, session::quoted},
    contracts::camel_k,
    error::{Error, Exit, Result},
    manifests::{
        crds,
        operator::{ID_LABEL, Operator, SHARED_LABEL, shared_rbac},
    },
    tenancy::{
        claim::{Instance, Operation},
        install::{self, ClaimMove, Wish},
        objects::Mark,
        plan::Step,
    },
};

/// Everything an install writes, in the order in which it does.
struct Plan {
    /// Namespace, the definition of claims, roles that all operators share.
    foundation: Vec<Step>,
    claim: ClaimMove,
    /// Definitions of Camel K's kinds.
    kinds: Vec<Step>,
    /// `ServiceAccount`, roles, settings, platform.
    objects: Vec<Step>,
    /// The Deployment at no replicas while an operation is under way, else at what the claim says.
    deployment: Step,
    /// Deletes of what a former scope needed.
    stale: Vec<Step>,
}

impl InstallArgs {
    /// Whether errors are JSON, too.
    pub fn wants_json(&self) -> bool {
        self.output == Some(crate::cli::install_args::ManifestFormat::Json)
    }

    /// Runs the command.
    pub async fn run(self, session: &Session<'_>) -> Result<Exit> {
        if let Some(like) = self.tigera()? {
            return tigera::run(&self, session, like).await;
        }
        let id = wish::operator_id(&self, session.ui)?;
        let named = wish::named_settings(&self)?;
        if self.output.is_some() || self.build.list_images {
            wish::check(&named)?;
            return match self.output {
                Some(format) => render::manifests(session, &self, &id, &named, format),
                None => Ok(render::images(session, &id, &named)),
            };
        }
        if session.global.snapshot.from.is_some() && self.wait {
            return Err(Error::usage("--wait needs a live cluster: nothing becomes ready in a snapshot"));
        }
        let cluster = session.connect().await?;
        if self.change.show_settings {
            return settings::show(session, cluster, cluster.namespace(), &id).await;
        }
        let settings = settings::wanted(cluster, session.ui, &self, &id, named).await?;
        self.install(session, cluster, Operator { id: &id, namespace: cluster.namespace(), settings: &settings }).await
    }

    /// The namespace of the Tigera operator to clone, when that is what is asked for.
    fn tigera(&self) -> Result<Option<&str>> {
        match (self.family.as_deref(), &self.like) {
            (Some("tigera"), _) if self.operator_id.is_some() => {
                Err(Error::usage("Tigera operators have no id: -x does not go with --family tigera"))
            }
            (Some("tigera"), None) => {
                Err(Error::usage("a Tigera operator is made like a present one: --like NAMESPACE is missing")
                    .hint("kctl list-operators shows where one is"))
            }
            (Some("tigera"), Some(like)) => Ok(Some(like)),
            _ => Ok(None),
        }
    }

    async fn install(&self, session: &Session<'_>, cluster: &Cluster, operator: Operator<'_>) -> Result<Exit> {
        let (ui, id, namespace) = (session.ui, operator.id, operator.namespace);
        let instance = Instance::new(namespace, &operator.name());
        let operation = self.operation(session, id, &instance, cluster.server_time());
        let wish = Wish {
            family: camel_k::FAMILY.name,
            id,
            instance: &instance,
            take_over: self.take_over,
            reuse_id: self.reuse_id,
            standby: self.standby,
            ignored: &self.ignore_evidence,
            operation: &operation,
        };
        let seen = observe::cluster(cluster, &wish, &operator, self).await?;
        change::refuse_downgrade(&seen, &wish, &operator, self.force)?;
        let plan = self.plan(&wish, &operator, &seen)?;
        named::check(cluster, ui, &operator).await?;
        self.preflight(cluster, &plan).await?;
        if self.diff {
            output::print_diff(ui, &carry_out::steps(&plan))?;
        }
        observe::say_unseen(ui, &seen, id);
        let begins = !matches!(plan.claim, ClaimMove::Keep(_) | ClaimMove::Join(_));
        let rehearsal = self.dry_run.is_some();
        if begins {
            tenants::ask(cluster, ui, &wish, &operator, &seen, rehearsal).await?;
        }
        change::ask(cluster, ui, &wish, &operator, &seen, rehearsal).await?;
        if let Some(where_) = self.dry_run {
            return carry_out::rehearse(cluster, ui, &plan, where_).await;
        }
        // What is being changed is not undone by taking the operator away.
        let undo = operation.undo.clone().filter(|_| !matches!(plan.claim, ClaimMove::Keep(_)));
        ui.on_interrupt(session.same_command(), undo);
        carry_out::install(session, cluster, &wish, &operator, plan).await?;
        if !operator.has_registry() && !seen.has_platform {
            ui.hint(&format!(
                "without a registry, integrations that need a build wait for ever: kctl install -x {id} -n {namespace} --registry HOST:PORT"
            ));
        }
        if self.standby {
            ui.hint(&format!("to make it the active one: kctl switch-active {namespace} -x {id}"));
        } else if self.wait {
            carry_out::wait(cluster, ui, &instance, self.timeout).await?;
        }
        if begins {
            seen.say_unclaimed(ui);
        }
        Ok(Exit::Done)
    }

    fn operation(&self, session: &Session<'_>, id: &str, instance: &Instance, now: Timestamp) -> Operation {
        let place = session.same_place();
        let namespace =
            if session.global.namespace.is_some() { String::new() } else { format!(" -n {}", instance.namespace) };
        let standby = if self.standby { " --standby" } else { "" };
        let again = format!("kctl install -x {}{standby}{place}{namespace}", quoted(id));
        Operation {
            id: uuid::Uuid::new_v4().to_string(),
            kind: if self.take_over { "take-over" } else { "install" }.to_owned(),
            since: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            from: None,
            to: Some(instance.to_string()),
            undo: Some(format!("kctl uninstall -x {}{place}{namespace}", quoted(id))),
            resume: Some(again),
        }
    }

    fn plan(&self, wish: &Wish<'_>, operator: &Operator<'_>, seen: &observe::Seen) -> Result<Plan> {
        let own = Mark { label: ID_LABEL, value: Some(operator.id) };
        let shared = Mark { label: SHARED_LABEL, value: None };
        let claim = install::claim_move(wish, seen.claim.as_ref(), seen.holder.as_ref(), &seen.known, seen.now)?;
        let replicas = match &claim {
            ClaimMove::Keep(claim) => claim.replicas(wish.instance),
            ClaimMove::Create(_) | ClaimMove::Swap(_) | ClaimMove::Join(_) => 0,
        };
        let mut foundation = seen.namespace_step(self.create_namespace)?;
        foundation.extend(install::definitions(vec![crds::claim()], &seen.existing)?);
        let shared_roles = install::owned(shared_rbac(self.tenant_role), &seen.existing, shared, self.force)?;
        // What is there already needs no right to write it.
        foundation.extend(shared_roles.into_iter().filter(|step| !step.is_done()));
        let kinds = if self.skip_crds { Vec::new() } else { install::definitions(seen.kinds.clone(), &seen.existing)? };
        let mut deployment = install::owned(vec![operator.deployment(replicas)], &seen.existing, own, self.force)?;
        let deployment = deployment.pop().ok_or_else(|| Error::failed("NoDeployment", "the plan has no Deployment"))?;
        Ok(Plan {
            foundation,
            claim,
            kinds,
            objects: install::owned(observe::objects(operator), &seen.existing, own, self.force)?,
            deployment,
            stale: seen.stale.clone(),
        })
    }

    /// Names the rights that are missing before anything is written.
    async fn preflight(&self, cluster: &Cluster, plan: &Plan) -> Result<()> {
        if self.dry_run == Some(DryRun::Client) || cluster.is_snapshot() {
            return Ok(());
        }
        observe::rights(cluster, plan).await
    }
}
