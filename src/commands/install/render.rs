//! `install -o yaml|json`: the manifests, without a cluster.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    cli::install_args::ManifestFormat,
    commands::Session,
    error::{Error, Exit, Result},
    manifests::operator::{Operator, Settings},
    report,
};

/// The YAML or JSON documents of a file.
pub fn documents(path: &Path) -> Result<Vec<Value>> {
    let text =
        fs::read_to_string(path).map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).map_err(|error| {
        let text = error.to_string();
        Error::usage(format!("{}: {}", path.display(), text.lines().next().unwrap_or_default()))
    })?;
    Ok(documents
        .into_iter()
        .flat_map(|document| match document.get("items").and_then(Value::as_array) {
            Some(items) => items.clone(),
            None => vec![document],
        })
        .collect())
}

/// Prints the manifests of the operator and says what is not in them.
pub fn manifests(session: &Session<'_>, id: &str, settings: &Settings, format: ManifestFormat) -> Result<Exit> {
    let flag = session.global.namespace.clone();
    let namespace = flag
        .or_else(|| session.settings.namespace(None).map(|(namespace, _)| namespace))
        .unwrap_or_else(|| "default".to_owned());
    let operator = Operator { id, namespace: &namespace, settings };
    let mut objects = vec![operator.service_account()];
    objects.extend(operator.rbac());
    objects.extend(operator.platform());
    objects.push(operator.deployment(1));
    session.ui.data(&match format {
        ManifestFormat::Yaml => report::manifest::yaml(&objects)?,
        ManifestFormat::Json => report::manifest::json(&objects)?,
    });
    session.ui.note("nothing was sent to a cluster; the definitions of Camel K's kinds, the namespace and the claim of the id are not in these manifests");
    Ok(Exit::Done)
}
