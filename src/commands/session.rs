//! What every verb gets: the user interface, the settings, the global flags, and from them a connected cluster.

use std::{cell::OnceCell, path::PathBuf};

use crate::{
    cli::global::GlobalArgs,
    cluster::{Cluster, ConnectOptions},
    error::Result,
    settings::{self, Settings},
    ui::Ui,
};

/// One run of kctl.
#[derive(Debug)]
pub struct Session<'a> {
    /// Streams and prompts.
    pub ui: &'a Ui,
    /// Environment and config file.
    pub settings: &'a Settings,
    /// Flags of every command.
    pub global: &'a GlobalArgs,
    cluster: OnceCell<Cluster>,
}

impl<'a> Session<'a> {
    /// A run that has not connected yet.
    pub fn new(ui: &'a Ui, settings: &'a Settings, global: &'a GlobalArgs) -> Self {
        Self { ui, settings, global, cluster: OnceCell::new() }
    }

    /// Connects as the global flags say.
    pub async fn connect(&self) -> Result<&Cluster> {
        if let Some(cluster) = self.cluster.get() {
            return Ok(cluster);
        }
        let cluster =
            Cluster::connect(&options(self.global), self.settings, &mut |warning| self.ui.warn(&warning)).await?;
        tracing::info!(
            context = cluster.context(),
            server = cluster.server(),
            namespace = cluster.namespace(),
            "connect"
        );
        Ok(self.cluster.get_or_init(|| cluster))
    }

    /// The cluster, when the verb has connected to one.
    pub fn connected(&self) -> Option<&Cluster> {
        self.cluster.get()
    }

    /// The flags that lead a pasted command to the same cluster.
    pub fn same_cluster(&self) -> String {
        let (connection, snapshot) = (&self.global.connection, &self.global.snapshot);
        let path = |path: Option<&PathBuf>| path.map(|path| path.display().to_string());
        [
            ("--context", connection.context.clone()),
            ("--kubeconfig", path(connection.kubeconfig.as_ref())),
            ("--from", path(snapshot.from.as_ref())),
            ("--save", path(snapshot.save.as_ref())),
        ]
        .into_iter()
        .filter_map(|(flag, value)| Some(format!(" {flag} {}", quoted(&value?))))
        .collect()
    }

    /// The command line of this run, to be pasted; without a token, and on the namespace it worked in.
    pub fn same_command(&self) -> String {
        let mut words = settings::arguments().into_iter().skip(1).map(|word| word.to_string_lossy().into_owned());
        let mut out = "kctl".to_owned();
        while let Some(word) = words.next() {
            if word == "--token" {
                words.next();
            } else if !word.starts_with("--token=") {
                out = format!("{out} {}", quoted(&word));
            }
        }
        match (&self.global.namespace, self.connected()) {
            (None, Some(cluster)) => format!("{out} -n {}", quoted(cluster.namespace())),
            _ => out,
        }
    }

    /// The flags that lead a pasted command to the same cluster and namespace.
    pub fn same_place(&self) -> String {
        let namespace = self.global.namespace.as_ref().map(|namespace| format!(" -n {}", quoted(namespace)));
        self.same_cluster() + &namespace.unwrap_or_default()
    }
}

/// A word as a POSIX shell takes it whole.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The connection flags.
pub(super) fn options(global: &GlobalArgs) -> ConnectOptions {
    let from = &global.connection;
    ConnectOptions {
        kubeconfig: from.kubeconfig.clone(),
        context: from.context.clone(),
        cluster: from.cluster.clone(),
        user: from.user.clone(),
        server: from.server.clone(),
        token: from.token.clone(),
        certificate_authority: from.certificate_authority.clone(),
        client_certificate: from.client_certificate.clone(),
        client_key: from.client_key.clone(),
        tls_server_name: from.tls_server_name.clone(),
        insecure_skip_tls_verify: from.insecure_skip_tls_verify,
        as_user: from.as_user.clone(),
        as_group: from.as_group.clone(),
        as_uid: from.as_uid.clone(),
        request_timeout: from.request_timeout,
        namespace: global.namespace.clone(),
        from: global.snapshot.from.clone(),
        save: global.snapshot.save.clone(),
        unattended: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_when_a_shell_would_split_them() {
        assert_eq!(quoted("tenant-a"), "tenant-a");
        assert_eq!(quoted("arn:aws:eks:eu:1:cluster/x"), "arn:aws:eks:eu:1:cluster/x");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
