//! `kctl bind`.

mod kamelets;

use crate::{
    cli::{
        bind_args::{ApiChoice, BindArgs},
        install_args::ManifestFormat,
    },
    cluster::{Cluster, wait_resource::Awaited},
    commands::{
        Session,
        tenant::{self, Subject, tell, write},
    },
    contracts::kinds::{INTEGRATION, KAMELET_BINDING, PIPE},
    error::{Error, Exit, Result},
    manifests::{
        integration::explicit_id,
        pipe::{Api, Draft, Target, Wish},
    },
    tenancy::{
        bind::{check_integration, midway},
        progress::PipeGoal,
        run,
    },
};

impl BindArgs {
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
        let draft = Draft::new(&self.wish())?;
        draft.remarks.iter().for_each(|remark| ui.warn(remark));
        let typed = explicit_id(self.operator_id.as_deref(), draft.annotated_id.as_deref())?;
        if let Some(format) = self.output {
            let id = tenant::offline_id(session, typed, self.force)?;
            let namespace = session.global.namespace.as_deref();
            let target = Target { api: self.api().unwrap_or_default(), id: Some(&id), namespace };
            tenant::print(ui, draft.object(target), format)?;
            return Ok(Exit::Done);
        }
        let cluster = session.connect().await?;
        let api = match self.api() {
            Some(api) => api,
            None => served(cluster).await?,
        };
        let kind = api.kind();
        let subject = Subject { kind, name: &draft.name, take_over: self.take_over, force: self.force };
        let (seen, integration) = tokio::join!(
            tenant::observe(session, cluster, subject, typed),
            cluster.get(&INTEGRATION, Some(cluster.namespace()), &draft.name)
        );
        let (wanted, observed) = seen?;
        let decision = run::check(&wanted, &observed)?;
        tell(ui, decision.remarks);
        // Who may not see Integrations cannot have made one of that name.
        let integration = integration.ok().flatten();
        tell(ui, check_integration(&wanted, integration.as_ref())?);
        if !self.skip_checks {
            let operators: Vec<_> = match &decision.id {
                Some(id) => observed.responsible(id, &wanted.namespace).collect(),
                None => Vec::new(),
            };
            kamelets::check(session, cluster, &draft, api, &operators).await?;
        }
        let target = Target { api, id: decision.id.as_deref(), namespace: Some(&wanted.namespace) };
        let existing = observed.existing.as_ref();
        tell(ui, midway(decision.id.as_deref(), existing, integration.as_ref()));
        let step = run::step(&wanted, existing, draft.object(target));
        let written = {
            let how = write::How { dry_run: self.dry_run, diff: self.diff };
            write::resource(session, cluster, &wanted, existing, step, how).await?
        };
        if self.wait {
            let awaited = Awaited::Pipe(kind, PipeGoal::of(existing, &written, integration.as_ref()));
            let untaken = |outdated| run::untaken(decision.id.as_deref(), &wanted.namespace, &observed, outdated);
            write::wait(ui, cluster, (kind, &draft.name), &awaited, self.timeout, &untaken).await?;
        }
        Ok(Exit::Done)
    }

    fn api(&self) -> Option<Api> {
        self.api.map(|choice| match choice {
            ApiChoice::Pipe => Api::Pipe,
            ApiChoice::KameletBinding => Api::KameletBinding,
        })
    }

    fn wish(&self) -> Wish {
        Wish {
            source: self.source.clone(),
            sink: self.sink.clone(),
            steps: self.step.clone(),
            name: self.name.clone(),
            properties: self.property.clone(),
            traits: self.traits.clone(),
            error_handler: self.error_handler.clone(),
            dependencies: self.dependency.clone(),
            service_account: self.service_account.clone(),
            labels: self.label.clone(),
            annotations: self.annotation.clone(),
        }
    }
}

/// The resource that connects endpoints on this cluster: the newest it serves.
async fn served(cluster: &Cluster) -> Result<Api> {
    if cluster.serves(&PIPE).await? {
        return Ok(Api::Pipe);
    }
    if cluster.serves(&KAMELET_BINDING).await? {
        return Ok(Api::KameletBinding);
    }
    Err(Error::not_found(
        "KindNotServed",
        "the cluster serves neither Pipes nor KameletBindings: Camel K is not installed",
    )
    .hint("an admin can install an operator: kctl install -x ID"))
}
