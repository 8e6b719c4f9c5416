//! Which id an operator answers to and what it watches, from its Deployment.

use semver::Version;

use super::Scope;
use crate::contracts::{IdSource, IdVariable, Watch};
use crate::tenancy::env::{ConfigMaps, Setting};
use crate::tenancy::evidence::DeploymentFacts;
use crate::tenancy::version;

/// What an operator is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its id, or where the id stands when it could not be read.
    pub id: String,
    /// Whether `id` is the id.
    pub id_known: bool,
    /// What it watches.
    pub scope: Scope,
    /// Its version.
    pub version: Option<String>,
}

/// Works out what an operator's Deployment makes it.
pub fn identify(deployment: &DeploymentFacts, maps: &ConfigMaps) -> Identity {
    let label = deployment.labels.get(deployment.family.version_label).map(String::as_str);
    let version = version::of_operator(deployment.image.as_deref(), label);
    let parsed = version.as_deref().and_then(version::parse);
    let id = match deployment.family.id {
        IdSource::Env(variables) => from_variables(deployment, maps, variables, parsed.as_ref()),
        IdSource::Namespace { env } => match deployment.environment.get(env, &deployment.pod, maps) {
            Setting::Absent => Setting::Value(deployment.namespace.clone()),
            set => set,
        },
    };
    let scope = scope(deployment, maps, parsed.as_ref());
    match id {
        Setting::Hidden(shown) => Identity { id: shown, id_known: false, scope, version },
        Setting::Value(id) => Identity { id, id_known: true, scope, version },
        Setting::Absent => Identity { id: String::new(), id_known: true, scope, version },
    }
}

/// The first variable that is not empty. A Secret in `envFrom` counts only when nothing else gives an id.
fn from_variables(
    deployment: &DeploymentFacts,
    maps: &ConfigMaps,
    variables: &[IdVariable],
    version: Option<&Version>,
) -> Setting {
    let reads = |variable: &&IdVariable| match (variable.since, version) {
        (Some((major, minor, patch)), Some(version)) => *version >= Version::new(major, minor, patch),
        _ => true,
    };
    let read: Vec<_> = variables.iter().filter(reads).collect();
    let set = read.iter().map(|variable| deployment.environment.get(variable.name, &deployment.pod, maps));
    if let Some(set) =
        set.into_iter().find(|set| !matches!(set, Setting::Absent) && *set != Setting::Value(String::new()))
    {
        return set;
    }
    let secret = read.iter().find_map(|variable| deployment.environment.secret_that_may_set(variable.name));
    secret.map_or(Setting::Absent, |name| Setting::Hidden(format!("<secret {name}>")))
}

fn scope(deployment: &DeploymentFacts, maps: &ConfigMaps, version: Option<&Version>) -> Scope {
    let Watch::Env { name, list_since } = deployment.family.watch else { return Scope::Cluster };
    let value = match deployment.environment.get(name, &deployment.pod, maps) {
        Setting::Absent if deployment.environment.secret_that_may_set(name).is_some() => return Scope::Unknown,
        Setting::Absent => return Scope::Namespaces(Vec::new()),
        Setting::Hidden(_) => return Scope::Unknown,
        Setting::Value(value) => value,
    };
    if value.trim().is_empty() {
        return Scope::Cluster;
    }
    let names = match version.map(|version| (version.major, version.minor) >= list_since) {
        Some(true) => value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        None if value.contains(',') => return Scope::Unknown,
        Some(false) | None => vec![value],
    };
    if names == [deployment.namespace.as_str()] { Scope::Own } else { Scope::Namespaces(names) }
}
