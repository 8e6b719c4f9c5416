//! `kctl run`.

mod read;
mod write;

use crate::{
    cli::{install_args::ManifestFormat, run_args::RunArgs},
    cluster::Cluster,
    commands::Session,
    contracts::camel_k,
    error::{Error, Exit, Result},
    manifests::integration::{Draft, Target, explicit_id},
    report,
    settings::Source,
    tenancy::run::{self, IdFrom, Remark, Wanted},
    ui::Ui,
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
            return self.render(session, &read.draft, typed, format);
        }
        let cluster = session.connect().await?;
        let named = named_id(session, typed, Some(cluster.context()))?;
        let seen = cluster.observe_run(&read.draft.name, named.is_none()).await?;
        let (id, from) = named
            .or_else(|| seen.namespace_id.map(|id| (id, IdFrom::NamespaceLabel)))
            .unwrap_or_else(|| (camel_k::DEFAULT_ID.to_owned(), IdFrom::Default));
        let wanted = Wanted {
            namespace: cluster.namespace().to_owned(),
            name: read.draft.name.clone(),
            id,
            from,
            take_over: self.take_over,
            force: self.force,
        };
        let decision = run::check(&wanted, &seen.observed)?;
        tell(ui, decision.remarks);
        let operators: Vec<_> =
            decision.id.iter().flat_map(|id| seen.observed.responsible(id, &wanted.namespace)).collect();
        tell(ui, run::version_remarks(&operators, &read.scripts));
        let version_1 = operators.iter().find_map(|operator| operator.major_minor()).map(|version| version < (2, 0));
        let target = Target {
            id: decision.id.as_deref(),
            namespace: Some(&wanted.namespace),
            addons: wants_addons(cluster, &read.draft, version_1).await?,
        };
        let existing = seen.observed.existing.as_ref();
        let step = run::step(&wanted, existing, read.draft.object(target));
        let written = write::integration(session, cluster, &wanted, existing, step, self.dry_run).await?;
        if self.wait {
            let untaken = |outdated| run::untaken(decision.id.as_deref(), &wanted.namespace, &seen.observed, outdated);
            write::wait(ui, cluster, &wanted.name, &written, self.timeout, &untaken).await?;
        }
        Ok(Exit::Done)
    }

    /// Prints the manifest.
    fn render(
        &self,
        session: &Session<'_>,
        draft: &Draft,
        typed: Option<String>,
        format: ManifestFormat,
    ) -> Result<Exit> {
        let ui = session.ui;
        let named = named_id(session, typed, session.global.connection.context.as_deref())?;
        if named.is_none() {
            tell(ui, [run::default_note()]);
        }
        let id = named.map_or_else(|| camel_k::DEFAULT_ID.to_owned(), |(id, _)| id);
        run::check_form(&id, self.force)?;
        let namespace = session.global.namespace.as_deref();
        let object = draft.object(Target { id: Some(&id), namespace, addons: false });
        ui.data(&match format {
            ManifestFormat::Yaml => report::manifest::yaml(&[object])?,
            ManifestFormat::Json => report::manifest::json(&[object])?,
        });
        ui.note("nothing was sent to a cluster, and the operator id was not checked");
        Ok(Exit::Done)
    }
}

/// The operator id that command line, environment or config file name.
fn named_id(session: &Session<'_>, typed: Option<String>, context: Option<&str>) -> Result<Option<(String, IdFrom)>> {
    if let Some(id) = typed {
        return Ok(Some((id, IdFrom::CommandLine)));
    }
    let Some((id, source)) = session.settings.operator_id(context) else { return Ok(None) };
    let from = match &source {
        Source::Flag(_) => IdFrom::CommandLine,
        Source::Environment(name) => IdFrom::Environment((*name).to_owned()),
        Source::ConfigFile(path) => IdFrom::ConfigFile(path.display().to_string()),
    };
    let id = explicit_id(Some(&id), None).map_err(|error| error.while_(&from))?;
    Ok(id.map(|id| (id, from)))
}

/// Whether addon traits go under `addons`; the cluster is asked only when it matters and no operator's version tells.
async fn wants_addons(cluster: &Cluster, draft: &Draft, version_1: Option<bool>) -> Result<bool> {
    match version_1 {
        _ if !draft.has_addons() => Ok(false),
        Some(version_1) => Ok(version_1),
        None => cluster.serves_version_1().await,
    }
}

fn tell(ui: &Ui, remarks: impl IntoIterator<Item = Remark>) {
    for remark in remarks {
        match remark {
            Remark::Note(text) => ui.note(&text),
            Remark::Warning(text) => ui.warn(&text),
            Remark::Hint(text) => ui.hint(&text),
        }
    }
}
