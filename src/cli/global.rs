//! Flags of every command, by kubectl's names where kubectl has them.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args, ValueEnum, ValueHint};

/// Flags that every command takes.
#[derive(Args, Clone, Debug, Default)]
pub struct GlobalArgs {
    /// Namespace to work in (default: the context's)
    #[arg(short, long, global = true, value_name = "NAMESPACE")]
    pub namespace: Option<String>,

    /// Answer yes to every question
    #[arg(long, global = true)]
    pub yes: bool,

    /// Say only warnings and errors besides the result
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// Say where it connects; repeat for requests (-vv) and the libraries' own log (-vvv)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,

    /// When to colour
    #[arg(long, global = true, value_name = "WHEN")]
    pub color: Option<ColorWhen>,

    /// Connection flags.
    #[command(flatten)]
    pub connection: ConnectionArgs,

    /// Snapshot flags.
    #[command(flatten)]
    pub snapshot: SnapshotArgs,
}

/// `--color`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ColorWhen {
    /// The value as it is typed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

/// Which cluster, as whom.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionArgs {
    /// Kubeconfig file, instead of $KUBECONFIG or ~/.kube/config
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,

    /// Cluster of the kubeconfig, instead of the context's
    #[arg(long, global = true, value_name = "NAME")]
    pub cluster: Option<String>,

    /// User of the kubeconfig, instead of the context's
    #[arg(long, global = true, value_name = "NAME")]
    pub user: Option<String>,

    /// Address of the API server
    #[arg(long, global = true, value_name = "URL")]
    pub server: Option<String>,

    /// Bearer token
    #[arg(long, global = true, value_name = "TOKEN")]
    pub token: Option<String>,

    /// File with the certificate authority of the API server
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub certificate_authority: Option<PathBuf>,

    /// File with a client certificate
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub client_certificate: Option<PathBuf>,

    /// File with the key of the client certificate
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub client_key: Option<PathBuf>,

    /// Name to check the server's certificate against, instead of the host in the address
    #[arg(long, global = true, value_name = "NAME")]
    pub tls_server_name: Option<String>,

    /// Do not check the server's certificate: anybody in between can read and change what is sent
    #[arg(long, global = true)]
    pub insecure_skip_tls_verify: bool,

    /// User to impersonate
    #[arg(long = "as", global = true, value_name = "USER")]
    pub as_user: Option<String>,

    /// Group to impersonate (repeatable)
    #[arg(long, global = true, value_name = "GROUP")]
    pub as_group: Vec<String>,

    /// UID to impersonate
    #[arg(long, global = true, value_name = "UID")]
    pub as_uid: Option<String>,

    /// Time a single request may take, such as 5s or 1m; 0 means without limit
    #[arg(long, global = true, value_name = "DURATION", value_parser = duration, default_value = "30s")]
    pub request_timeout: Duration,
}

/// Work on manifests instead of a live cluster.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Snapshot")]
pub struct SnapshotArgs {
    /// Work on manifests or a `kubectl get -o yaml` dump (file, directory or -) instead of a live cluster
    #[arg(long, global = true, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub from: Option<PathBuf>,

    /// Write the resulting objects here (may be the path of --from)
    #[arg(long, global = true, value_name = "PATH", value_hint = ValueHint::AnyPath, requires = "from")]
    pub save: Option<PathBuf>,
}

/// Parses a duration as kubectl takes it: `90s`, `1m30s`, `2h`, or plain seconds.
///
/// # Errors
/// What is wrong with the text; negative durations are refused.
pub fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let span: jiff::SignedDuration = text.parse().map_err(|_| "not a duration; write 90s, 1m30s or 2h".to_owned())?;
    Duration::try_from(span).map_err(|_| "a duration cannot be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let cases: [(&str, Result<u64, ()>); 9] = [
            ("90s", Ok(90_000)),
            ("1m30s", Ok(90_000)),
            ("2h", Ok(7_200_000)),
            ("30", Ok(30_000)),
            ("0", Ok(0)),
            ("500ms", Ok(500)),
            ("-1s", Err(())),
            ("soon", Err(())),
            ("", Err(())),
        ];
        for (text, millis) in cases {
            assert_eq!(duration(text).map_err(|_| ()), millis.map(Duration::from_millis), "{text}");
        }
    }
}
