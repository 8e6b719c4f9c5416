//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::camel_k::Era;

/// A small operator that honours the contracts of real ones: ids, leases, the pointer.
///
/// Id and namespaces come from the environment, as they do for the real operators: `KAMEL_OPERATOR_ID`, `OPERATOR_ID`,
/// `WATCH_NAMESPACE`, `NAMESPACE` and `POD_NAME` (camel-k); `OPERATOR_NAMESPACE`, `OPERATOR_NAME` and `OPERATOR_SERVICEACCOUNT`
/// (tigera).
#[derive(Debug, Parser)]
#[command(version)]
pub struct Args {
    /// Which operator to be.
    #[arg(long)]
    pub family: Family,
    /// Which Camel K releases to be like: e0 (1.7-1.9), e1 (1.10-1.12), e2 (2.0-2.4), e3 (2.5-2.7), e4 (2.8-2.10), e5 (2.11).
    #[arg(long, default_value = "e4")]
    pub era: Era,
    /// Kubeconfig file; without it `KUBECONFIG`, then `~/.kube/config`.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig file.
    #[arg(long)]
    pub context: Option<String>,
    /// Play the pod of this Deployment: run with its environment while it has a ready pod, stop when it has none.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = deployment)]
    pub deployment: Option<(String, String)>,
    /// Host name that leases show; without it the pod's name, else that of this machine.
    #[arg(long, value_name = "NAME")]
    pub identity: Option<String>,
    /// Stop when standard input ends, so that the operator cannot outlive the program that started it.
    #[arg(long)]
    pub until_eof: bool,
    /// How often a waiting tigera operator looks at the pointer.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub tick: Duration,
    /// How long a lease lasts that is not renewed; seconds are what a lease can say.
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration)]
    pub lease_duration: Duration,
    /// What to do wrong.
    #[command(flatten)]
    pub misbehaviour: Misbehaviour,
}

/// What to do wrong.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Misbehaviour")]
pub struct Misbehaviour {
    /// Run, but never take the lease and never act.
    #[arg(long)]
    pub never_ready: bool,
    /// Stay when the pointer names another namespace: renew the lease and report a status, like a process whose main
    /// controller is stuck (tigera).
    #[arg(long)]
    pub ignore_demotion: bool,
    /// Do not give the lease back: leave it to expire at the end of the process, renew it when only the pod is gone.
    #[arg(long)]
    pub hold_lease: bool,
    /// Wait this long before starting to act and before each change of a phase.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    pub slow: Duration,
}

/// Kinds of operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Family {
    /// Camel K: resources carry the id of their operator.
    CamelK,
    /// Tigera (Calico): a pointer names the namespace of the active operator.
    Tigera,
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<jiff::SignedDuration>().map_err(|error| error.to_string())?;
    Duration::try_from(parsed).map_err(|_| "durations are not negative".to_owned())
}

fn deployment(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => Ok((namespace.into(), name.into())),
        _ => Err("write NAMESPACE/NAME".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
        let args = Args::parse_from(["x", "--family", "camel-k", "--slow", "300ms", "--deployment", "ops/a-operator"]);
        assert_eq!(args.misbehaviour.slow, Duration::from_millis(300));
        assert_eq!(args.deployment, Some(("ops".into(), "a-operator".into())));
        assert_eq!(args.lease_duration, Duration::from_secs(15));
        assert!(deployment("ops").is_err());
    }
}
