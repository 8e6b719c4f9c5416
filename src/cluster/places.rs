//! What a kubeconfig offers and where it leads. Nothing is contacted and no credential plugin runs.

use std::path::PathBuf;

use kube::config::{AuthInfo, Context};
use sha2::{Digest, Sha256};

use crate::{error::Result, settings::Settings};

use super::{ConnectOptions, kubeconfig};

/// A context of the kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextEntry {
    /// Its name.
    pub name: String,
    /// Name of its cluster.
    pub cluster: String,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Whether it is used when no flag names another.
    pub current: bool,
}

/// The names in a kubeconfig, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// Contexts.
    pub contexts: Vec<ContextEntry>,
    /// Names of clusters.
    pub clusters: Vec<String>,
    /// Names of users.
    pub users: Vec<String>,
}

/// Where a connection would lead, and as whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The context; none inside of a pod.
    pub context: Option<String>,
    /// Name of the cluster's entry.
    pub cluster: String,
    /// The namespace commands would work in.
    pub namespace: String,
    /// What tells this server and this user from others. No credential is in it, but the hash of one that a flag gave.
    pub identity: Vec<String>,
}

impl Entries {
    /// The names in the kubeconfig that `options` and `settings` name.
    ///
    /// # Errors
    /// A kubeconfig that cannot be read (exit 2).
    pub fn read(options: &ConnectOptions, settings: &Settings) -> Result<Self> {
        let kubeconfig = kubeconfig::read(options, settings)?;
        let current = kubeconfig.current_context.unwrap_or_default();
        let contexts = kubeconfig.contexts.into_iter().map(|named| {
            let Context { cluster, namespace, .. } = named.context.unwrap_or_default();
            ContextEntry { current: named.name == current, name: named.name, cluster, namespace }
        });
        Ok(Self {
            contexts: contexts.collect(),
            clusters: kubeconfig.clusters.into_iter().map(|named| named.name).collect(),
            users: kubeconfig.auth_infos.into_iter().map(|named| named.name).collect(),
        })
    }
}

impl Place {
    /// Where `options` and `settings` lead.
    ///
    /// # Errors
    /// As for [`Cluster::connect`](super::Cluster::connect), as far as the kubeconfig alone tells.
    pub fn find(options: &ConnectOptions, settings: &Settings) -> Result<Self> {
        let mut kubeconfig = kubeconfig::read(options, settings)?;
        let explicit = |context: Option<&str>| {
            options.namespace.clone().or_else(|| settings.namespace(context).map(|(namespace, _)| namespace))
        };
        if kubeconfig.contexts.is_empty() && kubeconfig.clusters.is_empty() && options.server.is_none() {
            let namespace = explicit(None).unwrap_or_default();
            let identity = vec!["in-cluster".to_owned()];
            return Ok(Self { context: None, cluster: String::new(), namespace, identity });
        }
        let name = kubeconfig::select(&mut kubeconfig, options)?;
        let named = |entry: &&kube::config::NamedContext| entry.name == name;
        let context =
            kubeconfig.contexts.iter().find(named).and_then(|entry| entry.context.clone()).unwrap_or_default();
        let server = kubeconfig
            .clusters
            .iter()
            .find(|entry| entry.name == context.cluster)
            .and_then(|entry| entry.cluster.as_ref()?.server.clone());
        let user = context.user.clone().unwrap_or_default();
        let auth = kubeconfig.auth_infos.into_iter().find(|entry| entry.name == user).and_then(|entry| entry.auth_info);
        let mut identity = vec![server.unwrap_or_default(), user];
        identity.extend(files(options, settings));
        identity.extend(impersonated(auth.unwrap_or_default()));
        identity.extend(options.token.iter().map(|token| format!("{:x}", Sha256::digest(token))));
        identity.extend(options.client_certificate.as_ref().map(|path| path.display().to_string()));
        let namespace = explicit(Some(&name)).or(context.namespace).unwrap_or_else(|| "default".to_owned());
        Ok(Self { context: Some(name), cluster: context.cluster, namespace, identity })
    }
}

/// Users of the same name in two files need not be the same.
fn files(options: &ConnectOptions, settings: &Settings) -> Vec<String> {
    let named = options.kubeconfig.as_ref().map_or(settings.kubeconfig.as_slice(), std::slice::from_ref);
    let whole = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string();
    named.iter().map(whole).collect()
}

fn impersonated(auth: AuthInfo) -> Vec<String> {
    let mut who = vec![auth.impersonate.unwrap_or_default(), auth.impersonate_uid.unwrap_or_default()];
    who.extend(auth.impersonate_groups.into_iter().flatten());
    who
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CONFIG: &str = "{current-context: a, contexts: [{name: a, context: {cluster: c, user: u, namespace: team}}, \
                          {name: b, context: {cluster: d, user: u}}], clusters: [{name: c, cluster: {server: 'https://c'}}, \
                          {name: d, cluster: {server: 'https://d'}}], users: [{name: u, user: {token: t}}, {name: w}]}";

    fn written() -> (tempfile::NamedTempFile, ConnectOptions) {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        fs::write(file.path(), CONFIG).expect("written");
        let options = ConnectOptions { kubeconfig: Some(file.path().to_owned()), ..ConnectOptions::default() };
        (file, options)
    }

    #[test]
    fn entries_are_those_of_the_file() {
        let (_file, options) = written();
        let entries = Entries::read(&options, &Settings::default()).expect("read");
        let contexts: Vec<_> = entries.contexts.iter().map(|entry| (entry.name.as_str(), entry.current)).collect();
        assert_eq!(contexts, [("a", true), ("b", false)]);
        assert_eq!((entries.clusters, entries.users), (vec!["c".into(), "d".into()], vec!["u".into(), "w".into()]));
    }

    #[test]
    fn a_place_follows_the_flags() {
        let (_file, options) = written();
        let find = |options: &ConnectOptions| Place::find(options, &Settings::default()).expect("found");
        let here = find(&options);
        assert_eq!((here.context.as_deref(), here.namespace.as_str()), (Some("a"), "team"));
        let there = find(&ConnectOptions { context: Some("b".into()), ..options.clone() });
        assert_eq!(there.namespace, "default");
        assert_ne!(here.identity, there.identity, "another server");
        let others = [
            ConnectOptions { as_user: Some("jane".into()), ..options.clone() },
            ConnectOptions { token: Some("secret".into()), ..options.clone() },
            ConnectOptions { user: Some("w".into()), ..options.clone() },
            ConnectOptions { server: Some("https://e".into()), ..options.clone() },
        ];
        for other in others {
            let identity = find(&other).identity;
            assert_ne!(identity, here.identity, "{other:?}");
            assert!(!identity.contains(&"secret".to_owned()));
        }
    }
}
