//! `install -o yaml|json`: the manifests, without a cluster.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    cli::install_args::{InstallArgs, ManifestFormat},
    commands::Session,
    contracts::camel_k::FAMILY,
    error::{Error, Exit, Result},
    manifests::{
        crds,
        operator::{Operator, Settings},
    },
    report,
    tenancy::claim::{Claim, Instance},
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
pub fn manifests(
    session: &Session<'_>,
    args: &InstallArgs,
    id: &str,
    settings: &Settings,
    format: ManifestFormat,
) -> Result<Exit> {
    let namespace = namespace(session);
    let operator = Operator { id, namespace: &namespace, settings };
    let mut objects = Vec::new();
    if args.include_crds {
        objects.extend(super::observe::definitions(args)?);
    }
    if args.include_claim {
        let instance = Instance::new(&namespace, &operator.name());
        objects.push(crds::claim());
        objects.push(Claim::at_rest(FAMILY.name, id, &instance).object().clone());
        objects.push(operator.settings_secret());
    }
    objects.push(operator.service_account());
    objects.extend(operator.rbac());
    objects.extend(operator.maven_settings());
    objects.extend(operator.platform());
    objects.push(operator.deployment(1));
    session.ui.data(&match format {
        ManifestFormat::Yaml => report::manifest::yaml(&objects)?,
        ManifestFormat::Json => report::manifest::json(&objects)?,
    });
    session.ui.note(&contents(args));
    if !args.include_claim {
        session.ui.hint("without the claim nothing keeps a second operator from this id: --include-claim");
    }
    session.ui.hint("objects that kctl is to change later must be applied in its name: kubectl apply --server-side --field-manager kctl -f -");
    Ok(Exit::Done)
}

/// What is in the manifests besides the operator, and what is not.
fn contents(args: &InstallArgs) -> String {
    let parts = [
        (args.include_crds, "the definitions of Camel K's kinds"),
        (args.include_claim, "the claim of the id, its definition and kctl's settings"),
        (false, "the namespace"),
    ];
    let list = |wanted: bool| {
        let named: Vec<&str> = parts.iter().filter(|(is_in, _)| *is_in == wanted).map(|(_, what)| *what).collect();
        named.join("; ")
    };
    let with = if args.include_crds || args.include_claim { format!("; in it: {}", list(true)) } else { String::new() };
    format!("nothing was sent to a cluster{with}; not in it: {}", list(false))
}

/// The namespace that is meant, without asking a cluster.
fn namespace(session: &Session<'_>) -> String {
    let flag = session.global.namespace.clone();
    flag.or_else(|| session.settings.namespace(None).map(|(namespace, _)| namespace))
        .unwrap_or_else(|| "default".to_owned())
}

/// `--list-images`.
pub fn images(session: &Session<'_>, id: &str, settings: &Settings) -> Exit {
    let namespace = namespace(session);
    let operator = Operator { id, namespace: &namespace, settings };
    session.ui.data(&format!("{}\n", operator.image()));
    let spec = operator.platform().unwrap_or_default();
    match spec.pointer("/spec/build/baseImage").and_then(Value::as_str) {
        Some(image) => session.ui.data(&format!("{image}\n")),
        None => session.ui.note(
            "integrations that need a build start from a base image that the operator chooses; --base-image names one",
        ),
    }
    Exit::Done
}
