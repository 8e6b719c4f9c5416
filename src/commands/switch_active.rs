//! `kctl switch-active`.

mod account;
mod camel_k;
mod copy;
mod guard;
mod prove;
mod rights;
mod start_stop;
mod tigera;

use std::time::Duration;

use clap::Args;

use crate::{
    cli::{
        global::duration,
        install_args::DryRun as Rehearsal,
        output::{OutputArgs, OutputFormat},
    },
    cluster::{Cluster, Observe},
    commands::{Session, session::quoted},
    contracts::{self, FAMILIES, is_dns_label},
    error::{Error, Exit, Result},
    tenancy::operators::operators,
};

/// Make the operator in another namespace the active one, and prove that it took over
///
/// The target is always said: no context, environment or config file supplies it. What the new operator needs is copied
/// first; when it does not take over in time, the switch is rolled back. `kctl switch-active -` goes back.
#[derive(Args, Clone, Debug)]
pub struct SwitchActiveArgs {
    /// Namespace of the operator that is to become active (or use -n); `-` is the one before
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,

    /// Family of the operator, where the target holds several
    #[arg(long, value_name = "FAMILY", value_parser = ["camel-k", "tigera"])]
    pub family: Option<String>,

    /// Operator id, where the target holds several
    #[arg(short = 'x', long, value_name = "ID")]
    pub operator_id: Option<String>,

    /// Copy nothing
    #[arg(long)]
    pub no_copy: bool,

    /// Copy this Secret or `ConfigMap` too (repeatable; '*' for all that may be copied)
    #[arg(long, value_name = "NAME")]
    pub include: Vec<String>,

    /// Do not copy this Secret or `ConfigMap` (repeatable)
    #[arg(long, value_name = "NAME")]
    pub exclude: Vec<String>,

    /// Write over objects of the target that differ
    #[arg(long)]
    pub overwrite: bool,

    /// Go on only when the old operator is seen to have stopped
    #[arg(long)]
    pub fence: bool,

    /// Leave the switch as it is when the new operator does not take over in time
    #[arg(long)]
    pub no_rollback: bool,

    /// Wait until restarted workloads are ready again
    #[arg(long)]
    pub wait_rollout: bool,

    /// Delete kctl's own unchanged copies from the namespace that is no longer active
    #[arg(long)]
    pub cleanup: bool,

    /// Mend a pointer that is missing, empty, malformed or leads nowhere
    #[arg(long)]
    pub repair: bool,

    /// Go on although another tool manages an operator or owns what is included
    #[arg(long)]
    pub force: bool,

    /// How long the new operator may take
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub timeout: Duration,

    /// Stop after planning (client), or let the server check every write and keep nothing (server)
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub dry_run: Option<Rehearsal>,

    /// Format of the report.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The word of the report for a rehearsal.
fn word(rehearsal: Rehearsal) -> &'static str {
    match rehearsal {
        Rehearsal::Client => "client",
        Rehearsal::Server => "server",
    }
}

impl SwitchActiveArgs {
    /// Whether errors are JSON, too.
    pub fn wants_json(&self) -> bool {
        self.output.output == OutputFormat::Json
    }

    /// Runs the command.
    pub async fn run(self, session: &Session<'_>) -> Result<Exit> {
        let named = self.named(session)?;
        let cluster = session.connect().await?;
        if cluster.is_snapshot() && self.dry_run != Some(Rehearsal::Client) {
            return Err(Error::usage("no operator runs in a snapshot, so none can be seen to take over")
                .hint("plan only: add --dry-run=client"));
        }
        let target = if named == "-" { None } else { Some(named.as_str()) };
        match self.family_of(cluster, target).await? {
            contracts::tigera::NAME => {
                let pointer = cluster.pointer().await?;
                let to = match target {
                    Some(to) => to.to_owned(),
                    None => pointer.previous().ok_or_else(no_way_back)?,
                };
                tigera::run(session, cluster, &self, pointer, &to).await
            }
            _ => camel_k::run(session, cluster, &self, target).await,
        }
    }

    /// The target as it was said.
    fn named(&self, session: &Session<'_>) -> Result<String> {
        let target = match (&self.target, &session.global.namespace) {
            (Some(target), Some(namespace)) if target != namespace => {
                return Err(Error::usage(format!("two targets: {target} and -n {namespace}")));
            }
            (Some(target), _) | (None, Some(target)) => target.clone(),
            (None, None) => {
                return Err(Error::usage("the target must be said: no context or configuration supplies it")
                    .hint("kctl switch-active NAMESPACE")
                    .hint("kctl list-operators shows what there is"));
            }
        };
        if target != "-" && !is_dns_label(&target) {
            return Err(Error::usage(format!("{target:?} is no namespace name")));
        }
        Ok(target)
    }

    /// The family of the operator in the target.
    async fn family_of(&self, cluster: &Cluster, target: Option<&str>) -> Result<&'static str> {
        if let Some(family) = self.family.as_deref().and_then(contracts::family) {
            return Ok(family.name);
        }
        if self.operator_id.is_some() {
            return Ok(contracts::camel_k::NAME);
        }
        let Some(target) = target else {
            let pointer = cluster.pointer().await;
            return Ok(match pointer {
                Ok(pointer) if pointer.previous().is_some() => contracts::tigera::NAME,
                _ => contracts::camel_k::NAME,
            });
        };
        if contracts::tigera::PROTECTED.contains(&target) {
            return Ok(contracts::tigera::NAME);
        }
        let evidence =
            cluster.observe(&Observe { families: FAMILIES.to_vec(), count_ids: false, leases_of: None }).await?;
        let mut found: Vec<&'static str> = operators(&evidence, cluster.server_time())
            .into_iter()
            .filter(|operator| operator.namespace == target && operator.deployment_uid.is_some())
            .map(|operator| operator.family)
            .collect();
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [one] => Ok(one),
            [] if cluster.pointer().await.is_ok_and(|pointer| pointer.object().is_some()) => {
                Ok(contracts::tigera::NAME)
            }
            [] => Err(Error::not_found("NoOperator", format!("no operator is deployed in namespace {target}"))
                .hint("kctl list-operators shows what there is")),
            several => Err(Error::usage(format!("namespace {target} holds operators of {}", several.join(" and ")))
                .hint(format!("say which: kctl switch-active {} --family {}", quoted(target), several[0]))),
        }
    }
}

fn no_way_back() -> Error {
    Error::not_found("NoEarlierSwitch", "there was no earlier switch to go back from")
        .hint("name the target: kctl switch-active NAMESPACE")
}

/// A command on the same cluster; the namespace is always said.
fn command(session: &Session<'_>, target: &str, more: &str) -> String {
    let connection = &session.global.connection;
    let kubeconfig = connection.kubeconfig.as_ref().map(|path| path.display().to_string());
    let place: String = [("--context", connection.context.as_ref()), ("--kubeconfig", kubeconfig.as_ref())]
        .into_iter()
        .filter_map(|(flag, value)| Some(format!(" {flag} {}", quoted(value?))))
        .collect();
    format!("kctl switch-active {}{more}{place}", quoted(target))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Wrapper {
        #[command(flatten)]
        args: SwitchActiveArgs,
    }

    #[test]
    fn a_dash_is_a_target() {
        let parsed = Wrapper::try_parse_from(["switch-active", "-"]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(parsed.args.target.as_deref(), Some("-"));
        assert_eq!(parsed.args.timeout, Duration::from_secs(120));
        assert!(Wrapper::try_parse_from(["switch-active", "a", "--dry-run=maybe"]).is_err());
    }
}
