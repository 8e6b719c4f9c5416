//! Kubeconfig rules of kubectl: several files, overrides by flag, a pod's service account when there is no file.

use std::{fs, io, path::Path};

use kube::config::{
    AuthInfo, Config, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
};

use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use crate::{
    error::{Error, Result},
    settings::{Proxies, Settings},
};

use super::{ConnectOptions, exec_plugin};

const USER_AGENT: &str = concat!("kctl/", env!("CARGO_PKG_VERSION"));
/// Names of the entries made when `--server` is used without a kubeconfig.
const FROM_FLAGS: &str = "from-flags";

/// Everything needed to build a client.
pub(super) struct Target {
    pub config: Config,
    pub proxy: Option<Intercept>,
    pub context: Option<String>,
}

pub(super) async fn resolve(options: &ConnectOptions, settings: &Settings) -> Result<Target> {
    let mut kubeconfig = read(options, settings)?;
    let nothing_there = kubeconfig.contexts.is_empty() && kubeconfig.clusters.is_empty();
    let mut own_proxy = None;
    let (mut config, context) = if nothing_there && options.server.is_none() {
        (without_kubeconfig(options, settings)?, None)
    } else {
        let context = select(&mut kubeconfig, options)?;
        own_proxy = proxy_url(&kubeconfig, &context);
        let selected = KubeConfigOptions { context: Some(context.clone()), cluster: None, user: None };
        let config = Config::from_custom_kubeconfig(kubeconfig, &selected)
            .await
            .map_err(|error| Error::usage(format!("kubeconfig, context {context}: {}", chain(&error))))?;
        (config, Some(context))
    };
    if !matches!(config.cluster_url.scheme_str(), Some("http" | "https")) {
        return Err(Error::usage(format!("the server's address {} is no URL", config.cluster_url))
            .hint("write it like https://HOST:PORT"));
    }
    config.default_retry = false;
    config.headers.push((http::header::USER_AGENT, http::HeaderValue::from_static(USER_AGENT)));
    exec_plugin::run_once(&mut config, options.request_timeout, options.unattended).await?;
    let proxy = proxy_for(&config.cluster_url, own_proxy.as_deref(), &settings.proxies)?;
    Ok(Target { config, proxy, context })
}

/// Reads and merges the files. As in kubectl a missing file among several is skipped; `--kubeconfig` must exist.
pub(super) fn read(options: &ConnectOptions, settings: &Settings) -> Result<Kubeconfig> {
    if let Some(path) = &options.kubeconfig {
        return read_file(path)?.ok_or_else(|| Error::usage(format!("kubeconfig {} does not exist", path.display())));
    }
    let mut merged = Kubeconfig::default();
    for path in &settings.kubeconfig {
        if let Some(next) = read_file(path)? {
            merged = merged
                .merge(next)
                .map_err(|error| Error::usage(format!("kubeconfig {}: {}", path.display(), chain(&error))))?;
        }
    }
    Ok(merged)
}

fn read_file(path: &Path) -> Result<Option<Kubeconfig>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::usage(format!("cannot read kubeconfig {}: {error}", path.display()))),
        Ok(_) => {}
    }
    Kubeconfig::read_from(path)
        .map(Some)
        .map_err(|error| Error::usage(format!("kubeconfig {}: {}", path.display(), chain(&error))))
}

fn without_kubeconfig(options: &ConnectOptions, settings: &Settings) -> Result<Config> {
    if let Some(name) = &options.context {
        return Err(Error::not_found("ContextNotFound", format!("context {name:?} not found: there is no kubeconfig"))
            .hint("kubectl config get-contexts"));
    }
    if settings.in_cluster {
        return Config::incluster_env()
            .map_err(|error| Error::usage(format!("in-cluster service account: {}", chain(&error))));
    }
    let looked = settings.kubeconfig.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    Err(Error::usage(format!(
        "no kubeconfig found (looked for {})",
        if looked.is_empty() { "~/.kube/config".into() } else { looked }
    ))
    .hint("name one with --kubeconfig FILE or the KUBECONFIG variable")
    .hint("or work on manifests: kctl list-operators --from DIR"))
}

/// Chooses the context and writes the override flags into the entries it uses; returns its name.
pub(super) fn select(kubeconfig: &mut Kubeconfig, options: &ConnectOptions) -> Result<String> {
    let name = match (&options.context, &kubeconfig.current_context) {
        (Some(name), _) => name.clone(),
        (None, Some(name)) if !name.is_empty() => name.clone(),
        _ if options.server.is_some() || options.cluster.is_some() => add_context_from_flags(kubeconfig),
        _ => {
            return Err(Error::usage("the kubeconfig names no current context")
                .hint("pass --context NAME, or: kubectl config use-context NAME"));
        }
    };
    let known: Vec<&str> = kubeconfig.contexts.iter().map(|context| context.name.as_str()).collect();
    let mut context = kubeconfig
        .contexts
        .iter()
        .find(|named| named.name == name)
        .and_then(|named| named.context.clone())
        .ok_or_else(|| unknown("context", "ContextNotFound", &name, &known))?;
    if let Some(cluster) = &options.cluster {
        context.cluster.clone_from(cluster);
    }
    if let Some(user) = &options.user {
        let known: Vec<&str> = kubeconfig.auth_infos.iter().map(|user| user.name.as_str()).collect();
        if !known.contains(&user.as_str()) {
            return Err(unknown("user", "UserNotFound", user, &known));
        }
        context.user = Some(user.clone());
    }
    let known: Vec<&str> = kubeconfig.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    if !known.contains(&context.cluster.as_str()) {
        return Err(unknown("cluster", "ClusterNotFound", &context.cluster, &known));
    }
    override_cluster(kubeconfig, &context, options);
    let user = override_user(kubeconfig, &context, options);
    context.user = Some(user);
    for named in &mut kubeconfig.contexts {
        if named.name == name {
            named.context = Some(context.clone());
        }
    }
    Ok(name)
}

fn add_context_from_flags(kubeconfig: &mut Kubeconfig) -> String {
    let name = FROM_FLAGS.to_owned();
    kubeconfig.clusters.push(NamedCluster { name: name.clone(), ..NamedCluster::default() });
    let context = Context { cluster: name.clone(), ..Context::default() };
    kubeconfig.contexts.push(NamedContext { name: name.clone(), context: Some(context), ..NamedContext::default() });
    name
}

fn override_cluster(kubeconfig: &mut Kubeconfig, context: &Context, options: &ConnectOptions) {
    for named in kubeconfig.clusters.iter_mut().filter(|named| named.name == context.cluster) {
        let cluster = named.cluster.get_or_insert_default();
        if let Some(server) = &options.server {
            cluster.server = Some(server.clone());
        }
        if let Some(path) = &options.certificate_authority {
            cluster.certificate_authority = Some(path.display().to_string());
            cluster.certificate_authority_data = None;
        }
        if let Some(name) = &options.tls_server_name {
            cluster.tls_server_name = Some(name.clone());
        }
        if options.insecure_skip_tls_verify {
            cluster.insecure_skip_tls_verify = Some(true);
            cluster.certificate_authority = None;
            cluster.certificate_authority_data = None;
        }
    }
}

/// Writes the credential flags into the context's user, made when there is none; returns its name.
fn override_user(kubeconfig: &mut Kubeconfig, context: &Context, options: &ConnectOptions) -> String {
    let name = context.user.clone().unwrap_or_else(|| FROM_FLAGS.to_owned());
    if !kubeconfig.auth_infos.iter().any(|named| named.name == name) {
        kubeconfig.auth_infos.push(NamedAuthInfo { name: name.clone(), ..NamedAuthInfo::default() });
    }
    for named in kubeconfig.auth_infos.iter_mut().filter(|named| named.name == name) {
        let user = named.auth_info.get_or_insert_default();
        if let Some(token) = &options.token {
            *user = AuthInfo { token: Some(token.clone().into()), ..impersonation_of(user) };
        }
        if let (Some(certificate), Some(key)) = (&options.client_certificate, &options.client_key) {
            *user = AuthInfo {
                client_certificate: Some(certificate.display().to_string()),
                client_key: Some(key.display().to_string()),
                token: options.token.clone().map(Into::into),
                ..impersonation_of(user)
            };
        }
        if options.as_user.is_some() {
            user.impersonate.clone_from(&options.as_user);
        }
        if options.as_uid.is_some() {
            user.impersonate_uid.clone_from(&options.as_uid);
        }
        if !options.as_group.is_empty() {
            user.impersonate_groups = Some(options.as_group.clone());
        }
    }
    name
}

fn impersonation_of(user: &AuthInfo) -> AuthInfo {
    AuthInfo {
        impersonate: user.impersonate.clone(),
        impersonate_uid: user.impersonate_uid.clone(),
        impersonate_groups: user.impersonate_groups.clone(),
        impersonate_user_extra: user.impersonate_user_extra.clone(),
        ..AuthInfo::default()
    }
}

fn unknown(what: &str, reason: &'static str, name: &str, known: &[&str]) -> Error {
    let error = Error::not_found(reason, format!("{what} {name:?} not found in the kubeconfig"));
    match crate::tenancy::id::nearest(name, known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean {near:?}?")),
        None if known.is_empty() => error,
        None => error.hint(format!("known: {}", known.join(", "))),
    }
}

/// `proxy-url` of the cluster entry that `context` uses.
fn proxy_url(kubeconfig: &Kubeconfig, context: &str) -> Option<String> {
    let context = kubeconfig.contexts.iter().find(|named| named.name == context)?.context.as_ref()?;
    let cluster = kubeconfig.clusters.iter().find(|named| named.name == context.cluster)?.cluster.as_ref()?;
    cluster.proxy_url.clone().filter(|url| !url.is_empty())
}

/// The proxy for this server: the kubeconfig's own always, else the environment's by its rules.
///
/// As in client-go, `NO_PROXY` is held against the server's host (kube holds it against the proxy's) and loopback
/// addresses never go through a proxy of the environment.
pub(super) fn proxy_for(server: &http::Uri, own: Option<&str>, proxies: &Proxies) -> Result<Option<Intercept>> {
    let host = server.host().unwrap_or_default();
    let loopback = host == "localhost"
        || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let of_environment = if server.scheme_str() == Some("http") { &proxies.http } else { &proxies.https };
    let (proxy, except) = match (own, of_environment) {
        (Some(own), _) => (own, ""),
        (None, Some(proxy)) if !loopback => (proxy.as_str(), proxies.no.as_deref().unwrap_or_default()),
        _ => return Ok(None),
    };
    if Matcher::builder().all(proxy).build().intercept(server).is_none() {
        return Err(Error::usage(format!("proxy {proxy:?} is not a URL that kctl can use"))
            .hint("use http://, https:// or socks5://"));
    }
    Ok(Matcher::builder().all(proxy).no(except).build().intercept(server))
}

/// An error with the errors below it, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = source.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(server: &str, own: Option<&str>, no: &str) -> Option<String> {
        let proxies = Proxies { https: Some("http://p:3128".into()), http: None, no: Some(no.into()) };
        let server = server.parse().expect("a URL");
        proxy_for(&server, own, &proxies).expect("a valid proxy").map(|proxy| proxy.uri().to_string())
    }

    #[test]
    fn the_environments_proxy_is_used_by_its_rules() {
        let through = Some("http://p:3128/");
        assert_eq!(proxy("https://api.example.com:6443", None, "").as_deref(), through);
        assert_eq!(proxy("https://10.1.2.3:6443", None, "192.168.0.0/16").as_deref(), through);
        assert_eq!(proxy("https://api.example.com:6443", None, ".example.com"), None);
        assert_eq!(proxy("https://api.example.com:6443", None, "*"), None);
        assert_eq!(proxy("https://10.1.2.3:6443", None, "10.0.0.0/8"), None);
        assert_eq!(proxy("https://127.0.0.1:6443", None, ""), None);
        assert_eq!(proxy("https://localhost:6443", None, ""), None);
        assert_eq!(proxy("http://api.example.com", None, ""), None, "HTTPS_PROXY is not for plain http");
    }

    #[test]
    fn the_kubeconfigs_proxy_is_always_used() {
        let own = Some("socks5://q:1080");
        assert_eq!(proxy("https://127.0.0.1:6443", own, "*").as_deref(), Some("socks5://q:1080/"));
        let server = "https://a".parse().expect("a URL");
        let error = proxy_for(&server, Some("ftp://q"), &Proxies::default()).expect_err("not a proxy");
        assert_eq!(error.exit(), crate::error::Exit::Usage);
    }

    #[test]
    fn flags_override_the_entries_of_the_context() {
        let mut kubeconfig = Kubeconfig::from_yaml(
            "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}], \
             clusters: [{name: c, cluster: {server: 'https://one'}}], users: [{name: u, user: {token: t}}]}",
        )
        .expect("valid");
        let options = ConnectOptions {
            server: Some("https://two".into()),
            as_user: Some("jane".into()),
            as_group: vec!["g".into()],
            ..ConnectOptions::default()
        };
        assert_eq!(select(&mut kubeconfig, &options).expect("selected"), "a");
        let cluster = kubeconfig.clusters[0].cluster.as_ref().expect("a cluster");
        assert_eq!(cluster.server.as_deref(), Some("https://two"));
        let user = kubeconfig.auth_infos[0].auth_info.as_ref().expect("a user");
        assert_eq!(user.impersonate.as_deref(), Some("jane"));
        assert!(user.token.is_some(), "the user's own credential stays");
    }

    #[test]
    fn a_mistyped_context_is_answered_with_the_nearest() {
        let mut kubeconfig = Kubeconfig::from_yaml(
            "{contexts: [{name: production, context: {cluster: c}}], clusters: [{name: c, cluster: {server: 'https://one'}}]}",
        )
        .expect("valid");
        let options = ConnectOptions { context: Some("producton".into()), ..ConnectOptions::default() };
        let error = select(&mut kubeconfig, &options).expect_err("unknown");
        assert_eq!(error.exit(), crate::error::Exit::NotFound);
        assert_eq!(error.all_hints(), ["did you mean \"production\"?"]);
    }

    #[test]
    fn a_server_flag_alone_is_enough() {
        let mut kubeconfig = Kubeconfig::default();
        let options =
            ConnectOptions { server: Some("https://two".into()), token: Some("t".into()), ..ConnectOptions::default() };
        assert_eq!(select(&mut kubeconfig, &options).expect("selected"), FROM_FLAGS);
    }
}
