//! From flags and kubeconfig to a connected [`Cluster`].

use std::{
    io::Read,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};

use crate::{
    error::{Error, Result},
    settings::Settings,
    snapshot::Snapshot,
};

use super::{kubeconfig, stack};

/// Which cluster to work on and as whom; the flags of that name say more.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// `--kubeconfig`.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`.
    pub context: Option<String>,
    /// `--cluster`.
    pub cluster: Option<String>,
    /// `--user`.
    pub user: Option<String>,
    /// `--server`.
    pub server: Option<String>,
    /// `--token`.
    pub token: Option<String>,
    /// `--certificate-authority`.
    pub certificate_authority: Option<PathBuf>,
    /// `--client-certificate`.
    pub client_certificate: Option<PathBuf>,
    /// `--client-key`.
    pub client_key: Option<PathBuf>,
    /// `--tls-server-name`.
    pub tls_server_name: Option<String>,
    /// `--insecure-skip-tls-verify`.
    pub insecure_skip_tls_verify: bool,
    /// `--as`.
    pub as_user: Option<String>,
    /// `--as-group`.
    pub as_group: Vec<String>,
    /// `--as-uid`.
    pub as_uid: Option<String>,
    /// Limit of a single request; zero means none.
    pub request_timeout: Duration,
    /// `-n/--namespace`.
    pub namespace: Option<String>,
    /// `--from`.
    pub from: Option<PathBuf>,
    /// `--save`.
    pub save: Option<PathBuf>,
    /// Whether nobody is there to answer or to read: an exec plugin gets no terminal and its messages are dropped.
    pub unattended: bool,
}

/// A cluster that can be asked and changed: live, or a snapshot in memory.
#[derive(Clone)]
pub struct Cluster {
    pub(super) client: kube::Client,
    pub(super) request_timeout: Duration,
    context: Arc<str>,
    server: Arc<str>,
    namespace: Arc<str>,
    snapshot: Option<(Snapshot, Option<PathBuf>)>,
    /// Seconds by which the server's clock is ahead of this machine's, by its last answer.
    pub(super) clock_skew: Arc<AtomicI64>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("context", &self.context).field("server", &self.server).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Connects to the cluster that `options` and `settings` name, or loads the snapshot of `--from`.
    ///
    /// Nothing is sent yet, but an exec plugin of the kubeconfig runs here, once. Warnings about what was loaded
    /// are handed to `warn`.
    ///
    /// # Errors
    /// No usable kubeconfig (exit 2), an unknown context, cluster or user (exit 5), an unreadable snapshot (exit 2).
    pub async fn connect(options: &ConnectOptions, settings: &Settings, warn: &mut dyn FnMut(String)) -> Result<Self> {
        if let Some(path) = &options.from {
            return Self::from_snapshot(path, options, settings, &mut std::io::stdin().lock(), warn);
        }
        let target = kubeconfig::resolve(options, settings).await?;
        let namespace = options
            .namespace
            .clone()
            .or_else(|| settings.namespace(target.context.as_deref()).map(|(namespace, _)| namespace))
            .unwrap_or_else(|| target.config.default_namespace.clone());
        Ok(Self {
            client: stack::client(&target.config, target.proxy)?,
            request_timeout: options.request_timeout,
            context: target.context.unwrap_or_else(|| "in-cluster".to_owned()).into(),
            server: target.config.cluster_url.to_string().trim_end_matches('/').into(),
            namespace: namespace.into(),
            snapshot: None,
            clock_skew: Arc::default(),
        })
    }

    fn from_snapshot(
        path: &Path,
        options: &ConnectOptions,
        settings: &Settings,
        stdin: &mut dyn Read,
        warn: &mut dyn FnMut(String),
    ) -> Result<Self> {
        let namespace = options
            .namespace
            .clone()
            .or_else(|| settings.namespace(None).map(|(namespace, _)| namespace))
            .unwrap_or_else(|| "default".to_owned());
        if options.save.as_deref() == Some(Path::new("-")) {
            return Err(Error::usage("--save needs a file or a folder, not -").hint("write --save PATH"));
        }
        let (snapshot, warnings) = Snapshot::load(path, stdin, &namespace)?;
        warnings.into_iter().for_each(warn);
        Ok(Self {
            client: kube::Client::new(snapshot.service(), namespace.clone()),
            request_timeout: options.request_timeout,
            context: format!("snapshot {}", path.display()).into(),
            server: "none".into(),
            namespace: namespace.into(),
            snapshot: Some((snapshot, options.save.clone())),
            clock_skew: Arc::default(),
        })
    }

    /// The kubeconfig context, or what stands in its place.
    pub fn context(&self) -> &str {
        &self.context
    }

    /// Address of the API server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The namespace commands work in: flag, environment, config file, context, `default`.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The time by the server's clock, which is what leases and claims are written by.
    pub fn server_time(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_secs(self.clock_skew.load(Ordering::Relaxed))
    }

    /// Whether this is a snapshot in memory.
    pub fn is_snapshot(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Writes a snapshot back where `--save` asked for it; nothing to do on a live cluster.
    pub fn save(&self) -> Result<()> {
        match &self.snapshot {
            Some((snapshot, Some(path))) => snapshot.save(path),
            _ => Ok(()),
        }
    }
}
