//! `kctl list-operators`: who is there.

use std::collections::BTreeSet;

use std::cmp::Reverse;

use clap::{Args, ValueEnum};

use super::{
    Session, output,
    session::{options, quoted},
};
use crate::{
    cli::{
        complete,
        output::{OutputArgs, OutputFormat},
    },
    cluster::{ApiError, Cluster, Observe, Selected},
    contracts::{self, FAMILIES, Family},
    error::{Error, Exit, Result},
    report::OperatorList,
    tenancy::{
        evidence::{Evidence, Unseen},
        id,
        operators::{Operator, Unassigned, operators},
        version,
    },
};

/// List the operators of the cluster: their ids, what they watch and how they are
///
/// Looks at the whole cluster unless -n is given, and merges what Deployments, claims, platforms, leases, OLM
/// Subscriptions and the resources themselves tell. What may not be read is left out and named.
#[derive(Args, Clone, Debug)]
pub struct ListOperatorsArgs {
    /// The whole cluster; the default, and stronger than -n
    #[arg(short = 'A', long)]
    all_namespaces: bool,

    /// Only operators whose Deployment or claim has these labels, as in team=red,env!=test
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,

    /// Only operators of this family
    #[arg(long, value_name = "FAMILY", value_parser = family)]
    family: Option<&'static Family>,

    /// Order of the rows (default: family, id, place)
    #[arg(long, value_name = "COLUMN")]
    sort_by: Option<Column>,

    #[command(flatten)]
    output: OutputArgs,
}

/// `--sort-by`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Column {
    /// Operator id
    Id,
    /// Family
    Family,
    /// Namespace
    Namespace,
    /// Version, oldest first; unknown ones last
    Version,
    /// State
    State,
    /// Number of resources, most first; unknown ones last
    Resources,
    /// Time of creation, oldest first; unknown ones last
    Age,
}

impl Column {
    /// Sorts; rows that are alike stay in their order.
    fn sort(self, operators: &mut [Operator]) {
        match self {
            Self::Id => operators.sort_by(|a, b| a.id.cmp(&b.id)),
            Self::Family => operators.sort_by(|a, b| a.family.cmp(b.family)),
            Self::Namespace => operators.sort_by(|a, b| a.namespace.cmp(&b.namespace)),
            Self::Version => operators.sort_by_key(|operator| {
                let version = operator.version.as_deref().and_then(version::parse);
                (version.is_none(), version)
            }),
            Self::State => operators.sort_by_key(|operator| operator.state.as_str()),
            Self::Resources => operators.sort_by_key(|operator| {
                let total = operator.resources.as_ref().map(|counted| counted.by_kind.values().sum::<u64>());
                (total.is_none(), Reverse(total))
            }),
            Self::Age => operators.sort_by_key(|operator| (operator.created_at.is_none(), operator.created_at)),
        }
    }
}

impl ListOperatorsArgs {
    /// Whether the report is JSON.
    pub fn wants_json(&self) -> bool {
        self.output.output == OutputFormat::Json
    }

    /// Lists.
    pub async fn run(self, session: &Session<'_>) -> Result<Exit> {
        let cluster = session.connect().await?;
        let families = self.family.map_or_else(|| FAMILIES.to_vec(), |family| vec![family]);
        let evidence =
            cluster.observe(&Observe { families: families.clone(), count_ids: true, leases_of: None }).await?;
        let selected = self.select(cluster, &families).await?;
        let namespace = session.global.namespace.as_deref().filter(|_| !self.all_namespaces);

        let now = cluster.server_time();
        let mut found = operators(&evidence, now);
        if self.family.is_none() {
            complete::remember(&options(session.global), session.settings, &found);
        }
        let unassigned = Unassigned::count(&evidence.ids, &found, namespace);
        found.retain(|operator| namespace.is_none_or(|namespace| operator.namespace == namespace));
        found.retain(|operator| selected.as_ref().is_none_or(|selected| is_selected(operator, selected)));

        if let Some(column) = self.sort_by {
            column.sort(&mut found);
        }

        say_unseen(session, &evidence.unseen);
        if found.is_empty() {
            say_nothing_found(session, namespace, self.selector.is_some());
        }
        say_unassigned(session, &unassigned, &evidence, namespace);
        let (warnings, unseen) = (session.ui.warnings(), evidence.unseen);
        let report = OperatorList { operators: found, unassigned, unseen, warnings, now };
        output::print(session.ui, &report, self.output)?;
        Ok(Exit::Done)
    }

    async fn select(&self, cluster: &Cluster, families: &[&'static Family]) -> Result<Option<Selected>> {
        let Some(selector) = self.selector.as_deref() else { return Ok(None) };
        match cluster.select(families, selector).await {
            Ok(selected) => Ok(Some(selected)),
            Err(error) if error.code() == Some(400) => Err(bad_selector(selector, &error)),
            Err(error) => Err(error.into()),
        }
    }
}

fn family(name: &str) -> Result<&'static Family, String> {
    contracts::family(name).ok_or_else(|| {
        let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        match id::nearest(name, names.iter().copied()) {
            Some(near) => format!("no such family; did you mean {near}?"),
            None => format!("no such family; there are {}", names.join(", ")),
        }
    })
}

fn bad_selector(selector: &str, error: &ApiError) -> Error {
    Error::usage(format!("{selector:?} is not a label selector: {}", error.message()))
        .hint("write it as kubectl takes it: -l 'team=red,env!=test'")
}

fn is_selected(operator: &Operator, selected: &Selected) -> bool {
    let place = operator.deployment.clone().map(|name| (operator.namespace.clone(), name));
    let claim = (operator.family.to_owned(), operator.id.clone());
    place.is_some_and(|place| selected.deployments.contains(&place))
        || operator.claimed && selected.claims.contains(&claim)
}

fn say_unseen(session: &Session<'_>, unseen: &[Unseen]) {
    if unseen.is_empty() {
        return;
    }
    let everywhere: BTreeSet<&str> =
        unseen.iter().filter(|unseen| unseen.namespace.is_none()).map(|unseen| unseen.source.as_str()).collect();
    let places: BTreeSet<&str> = unseen.iter().filter_map(|unseen| unseen.namespace.as_deref()).collect();
    let only_there: BTreeSet<&str> =
        unseen.iter().map(|unseen| unseen.source.as_str()).filter(|source| !everywhere.contains(source)).collect();
    let list = |words: BTreeSet<&str>| words.into_iter().collect::<Vec<_>>().join(", ");
    let mut parts = Vec::new();
    if !everywhere.is_empty() {
        parts.push(format!("{} in all namespaces", list(everywhere)));
    }
    if !only_there.is_empty() {
        parts.push(list(only_there));
    }
    let there = if places.is_empty() { String::new() } else { format!(" (nor all of it in {})", list(places)) };
    session.ui.warn(&format!(
        "not allowed to read {}{there}; the list may lack operators, and claims are believed unchecked",
        parts.join(", ")
    ));
}

fn say_nothing_found(session: &Session<'_>, namespace: Option<&str>, selected: bool) {
    let place = namespace.map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default();
    let narrowed = if selected { " with these labels" } else { "" };
    session.ui.note(&format!("no operators found{place}{narrowed}"));
    if namespace.is_some() {
        session.ui.hint("list those of all namespaces: kctl list-operators -A");
    } else if !selected {
        session.ui.hint("install one: kctl install --operator-id tenant-a");
    }
}

/// One line about resources that no operator is named on, with a command that lists them.
fn say_unassigned(session: &Session<'_>, unassigned: &Unassigned, evidence: &Evidence, namespace: Option<&str>) {
    let orphans: u64 = unassigned.orphaned.values().sum();
    let ids: Vec<&str> = unassigned.orphaned.keys().map(String::as_str).collect();
    let what = match (unassigned.legacy, orphans) {
        (0, 0) => return,
        (legacy, 0) => format!("{} no operator id", carry(legacy)),
        (0, orphans) => format!("{} an id that no operator has ({})", carry(orphans), ids.join(", ")),
        (legacy, orphans) => {
            format!("{} no operator id, {orphans} an id that no operator has ({})", carry(legacy), ids.join(", "))
        }
    };
    let command = if session.global.snapshot.from.is_some() {
        String::new()
    } else {
        format!("; list them: {}", listing(session, &ids, evidence, namespace))
    };
    session.ui.note(&format!("{what}{command}"));
}

fn carry(count: u64) -> String {
    if count == 1 { "1 resource carries".into() } else { format!("{count} resources carry") }
}

/// A kubectl command that lists resources by id, and awk to keep those without an operator.
fn listing(session: &Session<'_>, orphans: &[&str], evidence: &Evidence, namespace: Option<&str>) -> String {
    let connection = &session.global.connection;
    let kubeconfig = connection.kubeconfig.as_ref().map(|path| path.display().to_string());
    let flags = [("--kubeconfig", kubeconfig.as_ref()), ("--context", connection.context.as_ref())];
    let flags: String =
        flags.iter().filter_map(|(flag, value)| Some([" ", flag, " ", &quoted(value.as_ref()?)].concat())).collect();
    let in_use = |kind: &str| {
        let mut ids = orphans.iter().copied().chain([""]);
        ids.any(|id| evidence.ids.by_kind(id, namespace).contains_key(kind))
    };
    let kinds = FAMILIES.iter().flat_map(|family| family.resources).filter(|entry| in_use(entry.kind.kind));
    let kinds: Vec<_> = kinds.map(|entry| entry.kind.qualified_plural()).collect();
    let place = namespace.map_or_else(|| "-A".to_owned(), |namespace| format!("-n {}", quoted(namespace)));
    let key = FAMILIES.iter().find_map(|family| family.id_annotation).unwrap_or_default().replace('.', "\\.");
    let columns =
        format!("KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name,ID:.metadata.annotations.{key}");
    // Ids come from the cluster: only such as mean nothing to a shell or in a pattern go into the command.
    let plain = |id: &&str| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let filter = if orphans.iter().all(plain) && orphans.len() <= 8 {
        let ids: Vec<_> = std::iter::once("<none>").chain(orphans.iter().copied()).collect();
        format!(" | awk 'NR==1 || $4==\"\" || $4 ~ /^({})$/'", ids.join("|"))
    } else {
        String::new()
    };
    format!("kubectl{flags} get {} {place} -o custom-columns='{columns}'{filter}", kinds.join(","))
}
