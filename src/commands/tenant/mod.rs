//! What `run` and `bind` have in common: they write a tenant's resource for one operator.

pub mod write;

use serde_json::Value;

use crate::{
    cli::install_args::ManifestFormat,
    cluster::Cluster,
    commands::Session,
    contracts::{camel_k, kinds::Kind},
    error::Result,
    manifests::integration::explicit_id,
    report,
    settings::Source,
    tenancy::run::{self, IdFrom, Observed, Remark, Wanted},
    ui::Ui,
};

/// A resource to be written, as the command line says.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Kind.
    pub kind: Kind,
    /// Name.
    pub name: &'a str,
    /// `--take-over`.
    pub take_over: bool,
    /// `--force`.
    pub force: bool,
}

/// Looks at the resource and at the operators, and puts together for which of them it is to be.
pub async fn observe(
    session: &Session<'_>,
    cluster: &Cluster,
    subject: Subject<'_>,
    typed: Option<String>,
) -> Result<(Wanted, Observed)> {
    let named = named_id(session, typed, Some(cluster.context()))?;
    let seen = cluster.observe_run(&subject.kind, subject.name, named.is_none()).await?;
    let (id, from) = named
        .or_else(|| seen.namespace_id.map(|id| (id, IdFrom::NamespaceLabel)))
        .unwrap_or_else(|| (camel_k::DEFAULT_ID.to_owned(), IdFrom::Default));
    let wanted = Wanted {
        kind: subject.kind,
        namespace: cluster.namespace().to_owned(),
        name: subject.name.to_owned(),
        id,
        from,
        take_over: subject.take_over,
        force: subject.force,
    };
    Ok((wanted, seen.observed))
}

/// The operator id of a manifest that is only printed.
pub fn offline_id(session: &Session<'_>, typed: Option<String>, force: bool) -> Result<String> {
    let named = named_id(session, typed, session.global.connection.context.as_deref())?;
    if named.is_none() {
        tell(session.ui, [run::default_note()]);
    }
    let id = named.map_or_else(|| camel_k::DEFAULT_ID.to_owned(), |(id, _)| id);
    run::check_form(&id, force)?;
    Ok(id)
}

/// Prints a manifest instead of sending it.
pub fn print(ui: &Ui, object: Value, format: ManifestFormat) -> Result<()> {
    ui.data(&match format {
        ManifestFormat::Yaml => report::manifest::yaml(&[object])?,
        ManifestFormat::Json => report::manifest::json(&[object])?,
    });
    ui.note("nothing was sent to a cluster, and the operator id was not checked");
    Ok(())
}

/// Tells the user what the checks had to say.
pub fn tell(ui: &Ui, remarks: impl IntoIterator<Item = Remark>) {
    for remark in remarks {
        match remark {
            Remark::Note(text) => ui.note(&text),
            Remark::Warning(text) => ui.warn(&text),
            Remark::Hint(text) => ui.hint(&text),
        }
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
