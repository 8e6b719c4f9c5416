//! `kctl config`: what holds, and why.

use clap::{Args, Subcommand};

use super::{Session, output, session::options};
use crate::{
    cli::{
        global::ColorWhen,
        output::{OutputArgs, OutputFormat},
    },
    cluster::{Entries, Place},
    contracts::camel_k,
    error::{Exit, Result},
    report::{SettingList, settings::Setting},
    settings::Source,
};

/// Show kctl's settings
#[derive(Args, Clone, Copy, Debug)]
pub struct ConfigArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum What {
    View(ViewArgs),
}

/// Print each setting as it holds, and where it comes from
///
/// A flag beats its variable, a variable the config file, the config file the kubeconfig. Nothing is contacted, and no
/// credentials are shown.
#[derive(Args, Clone, Copy, Debug)]
struct ViewArgs {
    #[command(flatten)]
    output: OutputArgs,
}

impl ConfigArgs {
    /// Whether the report is JSON.
    pub fn wants_json(&self) -> bool {
        let What::View(args) = self.what;
        args.output.output == OutputFormat::Json
    }

    /// Prints.
    pub fn run(self, session: &Session<'_>) -> Result<Exit> {
        let What::View(args) = self.what;
        let place = find(session);
        let mut settings = vec![config_file(session), kubeconfig(session)];
        settings.extend(connection(session, place.as_ref()));
        settings.extend([operator_id(session, place.as_ref()), color(session), errors(session)]);
        let report = SettingList { settings, warnings: session.ui.warnings() };
        output::print(session.ui, &report, args.output)?;
        Ok(Exit::Done)
    }
}

/// Where a connection would lead and the namespace that the kubeconfig has for it.
struct Found {
    place: Place,
    namespace: Option<String>,
}

/// What the kubeconfig leads to. That it leads nowhere is said, but the other settings hold all the same.
fn find(session: &Session<'_>) -> Option<Found> {
    if session.global.snapshot.from.is_some() {
        return None;
    }
    let options = options(session.global);
    let found = Place::find(&options, session.settings).and_then(|place| {
        let entries = Entries::read(&options, session.settings)?;
        let entry = entries.contexts.into_iter().find(|entry| Some(&entry.name) == place.context.as_ref());
        Ok(Found { place, namespace: entry.and_then(|entry| entry.namespace) })
    });
    match found {
        Ok(found) => Some(found),
        Err(error) => {
            session.ui.warn(error.message());
            None
        }
    }
}

fn setting(key: &'static str, value: Option<String>, source: &'static str, from: Option<String>) -> Setting {
    Setting { key, value, source, from }
}

fn flag(key: &'static str, value: &str, name: &str) -> Setting {
    setting(key, Some(value.to_owned()), "flag", Some(name.to_owned()))
}

fn sourced(key: &'static str, value: &str, source: &Source) -> Setting {
    setting(key, Some(value.to_owned()), source.kind(), Some(source.to_string()))
}

fn config_file(session: &Session<'_>) -> Setting {
    let (path, source) = session.settings.config_file();
    let path = path.display().to_string();
    match source {
        Some(source) => sourced("configFile", &path, &source),
        None => setting("configFile", Some(path), "default", None),
    }
}

fn kubeconfig(session: &Session<'_>) -> Setting {
    if let Some(path) = &session.global.connection.kubeconfig {
        return flag("kubeconfig", &path.display().to_string(), "--kubeconfig");
    }
    let paths: Vec<String> = session.settings.kubeconfig.iter().map(|path| path.display().to_string()).collect();
    let paths = paths.join(if cfg!(windows) { ";" } else { ":" });
    if session.settings.kubeconfig_from_env {
        sourced("kubeconfig", &paths, &Source::Environment(crate::settings::vars::KUBECONFIG))
    } else {
        setting("kubeconfig", Some(paths), "default", None)
    }
}

fn connection(session: &Session<'_>, found: Option<&Found>) -> [Setting; 3] {
    let flags = &session.global.connection;
    let place = found.map(|found| &found.place);
    let context = match (&flags.context, place.and_then(|place| place.context.clone())) {
        (Some(name), _) => flag("context", name, "--context"),
        (None, Some(name)) => setting("context", Some(name), "kubeconfig", None),
        (None, None) => setting("context", None, "default", None),
    };
    let cluster = match (&flags.cluster, place.map(|place| place.cluster.clone()).filter(|name| !name.is_empty())) {
        (Some(name), _) => flag("cluster", name, "--cluster"),
        (None, Some(name)) => setting("cluster", Some(name), "kubeconfig", None),
        (None, None) => setting("cluster", None, "default", None),
    };
    let by_settings = session.settings.namespace(context.value.as_deref());
    let namespace = match (&session.global.namespace, by_settings, found.and_then(|found| found.namespace.clone())) {
        (Some(name), ..) => flag("namespace", name, "--namespace"),
        (None, Some((name, source)), _) => sourced("namespace", &name, &source),
        (None, None, Some(name)) => setting("namespace", Some(name), "kubeconfig", None),
        (None, None, None) => setting("namespace", Some("default".to_owned()), "default", None),
    };
    [context, cluster, namespace]
}

fn operator_id(session: &Session<'_>, found: Option<&Found>) -> Setting {
    let context = found.and_then(|found| found.place.context.as_deref());
    match session.settings.operator_id(context) {
        Some((id, source)) => sourced("operatorId", &id, &source),
        None => setting(
            "operatorId",
            Some(camel_k::DEFAULT_ID.to_owned()),
            "default",
            Some("where the namespace has no label kctl.dev/operator-id".to_owned()),
        ),
    }
}

fn color(session: &Session<'_>) -> Setting {
    match (session.global.color, session.settings.color()) {
        (Some(when), _) => flag("color", ColorWhen::word(when), "--color"),
        (None, Some((word, source))) => sourced("color", word, &source),
        (None, None) => setting("color", Some("auto".to_owned()), "default", None),
    }
}

fn errors(session: &Session<'_>) -> Setting {
    let word = if session.settings.errors_as_json { "json" } else { "text" };
    match session.settings.errors_source() {
        Some(source) => sourced("errors", word, &source),
        None => setting("errors", Some(word.to_owned()), "default", None),
    }
}
