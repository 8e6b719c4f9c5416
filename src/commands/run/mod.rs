//! `kctl run`.

mod read;

use crate::{
    cli::{install_args::ManifestFormat, run_args::RunArgs},
    cluster::{Cluster, wait_resource::Awaited},
    commands::{
        Session,
        tenant::{self, Subject, tell, write},
    },
    contracts::kinds::INTEGRATION,
    error::{Error, Exit, Result},
    manifests::integration::{Draft, Target, explicit_id},
    tenancy::{progress::Goal, run},
};

impl RunArgs {
    /// Whether errors are JSON, too.
    pub fn wants_json(&self) -> bool {
        self.output == Some(ManifestFormat::Json)
    }

    /// Runs the command.
    pub async fn run(self, session: &Session<'_>) -> Result<Exit> {
        let ui = session.ui;
        if self.wait && session.global.snapshot.from.is_some() {
            return Err(Error::usage("--wait needs a live cluster: nothing runs in a snapshot")
                .hint("leave out --wait, or --from"));
        }
        let read = read::everything(session, &self).await?;
        let typed = explicit_id(self.operator_id.as_deref(), read.draft.annotated_id.as_deref())?;
        if let Some(format) = self.output {
            let id = tenant::offline_id(session, typed, self.force)?;
            let namespace = session.global.namespace.as_deref();
            let object = read.draft.object(Target { id: Some(&id), namespace, addons: false });
            tenant::print(ui, object, format)?;
            return Ok(Exit::Done);
        }
        let cluster = session.connect().await?;
        let name = &read.draft.name;
        let subject = Subject { kind: INTEGRATION, name, take_over: self.take_over, force: self.force };
        let (wanted, observed) = tenant::observe(session, cluster, subject, typed).await?;
        let decision = run::check(&wanted, &observed)?;
        tell(ui, decision.remarks);
        let operators: Vec<_> = decision.id.iter().flat_map(|id| observed.responsible(id, &wanted.namespace)).collect();
        tell(ui, run::version_remarks(&operators, &read.scripts));
        let version_1 = operators.iter().find_map(|operator| operator.major_minor()).map(|version| version < (2, 0));
        let target = Target {
            id: decision.id.as_deref(),
            namespace: Some(&wanted.namespace),
            addons: wants_addons(cluster, &read.draft, version_1).await?,
        };
        let existing = observed.existing.as_ref();
        let step = run::step(&wanted, existing, read.draft.object(target));
        let written = {
            let how = write::How { dry_run: self.dry_run, diff: self.diff };
            write::resource(session, cluster, &wanted, existing, step, how).await?
        };
        if self.wait {
            let awaited = Awaited::Integration(Goal::of(existing, &written));
            let untaken = |outdated| run::untaken(decision.id.as_deref(), &wanted.namespace, &observed, outdated);
            write::wait(ui, cluster, (INTEGRATION, name), &awaited, self.timeout, &untaken).await?;
        }
        Ok(Exit::Done)
    }
}

/// Whether addon traits go under `addons`; the cluster is asked only when it matters and no operator's version tells.
async fn wants_addons(cluster: &Cluster, draft: &Draft, version_1: Option<bool>) -> Result<bool> {
    match version_1 {
        _ if !draft.has_addons() => Ok(false),
        Some(version_1) => Ok(version_1),
        None => cluster.serves_version_1().await,
    }
}
