//! `kctl version`: of kctl, of the server, of every operator.

use clap::Args;
use http::Method;

use super::{Session, output};
use crate::{
    cli::output::{OutputArgs, OutputFormat},
    cluster::{Call, Cluster, Observe},
    contracts::FAMILIES,
    error::{Exit, Result},
    report::{VersionInfo, version},
    tenancy::operators::{Operator, operators},
};

/// Print the versions of kctl, of the server, and of every operator that can be seen
///
/// Operators are those of all namespaces and all ids.
#[derive(Args, Clone, Copy, Debug)]
pub struct VersionArgs {
    /// Only kctl's own version; nothing is contacted
    #[arg(long)]
    client: bool,

    #[command(flatten)]
    output: OutputArgs,
}

impl VersionArgs {
    /// Whether the report is JSON.
    pub fn wants_json(&self) -> bool {
        self.output.output == OutputFormat::Json
    }

    /// Prints what is known; a server that does not answer is told after that.
    pub async fn run(self, session: &Session<'_>) -> Result<Exit> {
        let client = version::Client {
            version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("KCTL_GIT_SHA"),
            built: option_env!("KCTL_BUILD_DATE"),
        };
        let mut info = VersionInfo { client, server: None, operators: Vec::new(), warnings: Vec::new() };
        let asked = if self.client { Ok(()) } else { ask(session, &mut info).await };
        info.warnings = session.ui.warnings();
        output::print(session.ui, &info, self.output)?;
        asked.map(|()| Exit::Done)
    }
}

async fn ask(session: &Session<'_>, info: &mut VersionInfo) -> Result<()> {
    let cluster = session.connect().await?;
    let (server, seen) = tokio::join!(server(cluster), operators_seen(session, cluster));
    let mut failed = Ok(());
    match server {
        Ok(server) => info.server = Some(server),
        Err(error) => failed = Err(error),
    }
    info.operators = seen?;
    failed
}

async fn server(cluster: &Cluster) -> Result<version::Server> {
    let answer = cluster.call(&Call::new(Method::GET, "/version", "read the server's version")).await?;
    Ok(version::Server::parse(&answer))
}

async fn operators_seen(session: &Session<'_>, cluster: &Cluster) -> Result<Vec<Operator>> {
    let evidence = cluster
        .observe(&Observe { families: FAMILIES.to_vec(), count_ids: false, leases_of: Some(String::new()) })
        .await?;
    if !evidence.unseen.is_empty() {
        let sources: Vec<&str> = evidence.unseen.iter().map(|unseen| unseen.source.as_str()).collect();
        session.ui.warn(&format!("not allowed to read {}; the list may lack operators", sources.join(", ")));
    }
    Ok(operators(&evidence, cluster.server_time()))
}
