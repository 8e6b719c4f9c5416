//! Which id an operator answers to and what it watches, from its Deployment.

use semver::Version;

use super::Scope;
use crate::contracts::{IdSource, IdVariable, Reach, Watch};
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
        IdSource::Flag(flag) => Setting::Value(deployment.flag(flag).unwrap_or_default().to_owned()),
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
    match deployment.family.watch {
        Watch::Everything => Scope::Cluster,
        Watch::Flag(flag) => match deployment.flag(flag) {
            None | Some("") => Scope::Cluster,
            Some(names) => of_names(deployment, split(names)),
        },
        Watch::Env { name, all, absent, list_since } => {
            let value = match (deployment.environment.get(name, &deployment.pod, maps), absent) {
                (Setting::Value(value), _) => value,
                (Setting::Hidden(_), _) => return Scope::Unknown,
                _ if deployment.environment.secret_that_may_set(name).is_some() => return Scope::Unknown,
                (Setting::Absent, Reach::Own) => return Scope::Own,
                (Setting::Absent, Reach::Nothing) => return Scope::Namespaces(Vec::new()),
            };
            if value.trim() == all {
                return Scope::Cluster;
            }
            match version.map(|version| (version.major, version.minor) >= list_since) {
                Some(true) => of_names(deployment, split(&value)),
                None if value.contains(',') => Scope::Unknown,
                Some(false) | None => of_names(deployment, vec![value]),
            }
        }
    }
}

fn split(names: &str) -> Vec<String> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn of_names(deployment: &DeploymentFacts, names: Vec<String>) -> Scope {
    if names == [deployment.namespace.as_str()] { Scope::Own } else { Scope::Namespaces(names) }
}
