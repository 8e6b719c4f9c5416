//! Names from a kubeconfig or a cluster, in time or not at all.
//!
//! A server, a name service or a credential plugin may take for ever, and some of that cannot be interrupted. So the
//! work is done on a thread of its own, and the process ends without it when the time is over.

use std::{
    path::Path,
    sync::mpsc::{self, Sender},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    cache::Slot,
    names::{Offer, is_entry_name, is_object_name},
};
use crate::{
    cluster::{ApiError, Cluster, ConnectOptions, Entries, ListOptions, Observe, Place},
    contracts::{
        FAMILIES, camel_k,
        kinds::{KAMELET, Kind, NAMESPACE, OPERATOR_CLAIM},
    },
    settings::{self, Settings},
    tenancy::operators::{Operator, Scope, operators},
};

/// How long a shell waits for an answer, unless the user wants more.
pub(super) const PATIENCE: Duration = Duration::from_millis(700);
/// How much less a request or a credential plugin gets: a plugin is ended while there is somebody to do it.
const MARGIN: Duration = Duration::from_millis(100);
/// Where answers are kept, below the cache directory.
pub(super) const CACHE: &str = "completion";

/// What a Kamelet can be in a Pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Source,
    Sink,
    Action,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Contexts,
    Clusters,
    Users,
    Namespaces,
    OperatorIds,
    Versions,
    /// Objects of these kinds in the namespace of the line.
    Objects(&'static [Kind]),
    /// Kamelets of the namespace of the line and of the operator's.
    Kamelets(Role),
}

/// The names that answer `question` where `connection` leads; none when nobody answers in time.
pub(super) fn ask(
    connection: ConnectOptions,
    operator_id: Option<String>,
    question: Question,
    patience: Duration,
) -> Vec<Offer> {
    let started = Instant::now();
    let (tell, hear) = mpsc::channel();
    let connection = ConnectOptions { request_timeout: patience.saturating_sub(MARGIN).max(MARGIN), ..connection };
    let look = move || Search { connection, operator_id, question, tell }.run();
    if thread::Builder::new().spawn(look).is_err() {
        return Vec::new();
    }
    let mut best = Vec::new();
    // Ends when the thread has ended or the time is over; the last answer is the best.
    while let Ok(offers) = hear.recv_timeout(patience.saturating_sub(started.elapsed())) {
        best = offers;
    }
    best
}

/// Keeps what a command has found out anyway. It may take its time, which a credential plugin or a far server may need.
pub(super) fn remember(connection: &ConnectOptions, settings: &Settings, found: &[Operator]) {
    let (Ok(place), Some(dir)) = (Place::find(connection, settings), settings::cache_dir()) else { return };
    for (question, offers) in [(Question::OperatorIds, ids(found)), (Question::Versions, versions(found))] {
        // It is a help only.
        let _ = Slot::new(&dir.join(CACHE), &key(question, &place)).write(&plain(offers));
    }
}

fn key(question: Question, place: &Place) -> Vec<String> {
    let mut key = vec![format!("{question:?}")];
    key.extend(place.identity.iter().cloned());
    key
}

/// In order, each once, and only names that objects may have.
fn plain(mut offers: Vec<Offer>) -> Vec<Offer> {
    offers.retain(|offer| is_object_name(&offer.name));
    offers.sort_by(|one, other| one.name.cmp(&other.name));
    offers.dedup_by(|one, other| one.name == other.name);
    offers
}

struct Search {
    connection: ConnectOptions,
    operator_id: Option<String>,
    question: Question,
    tell: Sender<Vec<Offer>>,
}

impl Search {
    fn run(&self) -> Option<()> {
        let readable = |path: &Path| path.is_file() || path.is_dir();
        let sources = [&self.connection.kubeconfig, &self.connection.from];
        if sources.into_iter().flatten().any(|path| !readable(path)) {
            // Standard input and pipes are not to be read by a completion.
            return None;
        }
        let settings = Settings::load().ok()?;
        match self.question {
            Question::Contexts | Question::Clusters | Question::Users => {
                let entries = Entries::read(&self.connection, &settings).ok()?;
                self.say(entry_names(self.question, entries));
            }
            _ if self.connection.from.is_some() => self.say(self.answer_of_cluster(&settings)?),
            _ => self.kept_or_asked(&settings)?,
        }
        Some(())
    }

    /// The kept answer while it is fresh; else the cluster's, with an old one in reserve.
    fn kept_or_asked(&self, settings: &Settings) -> Option<()> {
        let place = Place::find(&self.connection, settings).ok()?;
        let slot = settings::cache_dir().map(|dir| Slot::new(&dir.join(CACHE), &self.key(&place, settings)));
        if let Some(kept) = slot.as_ref().and_then(Slot::read) {
            self.say(kept.offers);
            if kept.fresh {
                return Some(());
            }
        } else if self.question == Question::Namespaces {
            self.say(namespaces_of_contexts(&place, Entries::read(&self.connection, settings).ok()?));
        }
        let offers = self.answer_of_cluster(settings)?;
        if let Some(slot) = slot {
            // An answer that cannot be kept is as good.
            let _ = slot.write(&offers);
        }
        self.say(offers);
        Some(())
    }

    fn say(&self, offers: Vec<Offer>) {
        // Nobody listens any more when the time is over.
        let _ = self.tell.send(offers);
    }

    fn key(&self, place: &Place, settings: &Settings) -> Vec<String> {
        let mut key = key(self.question, place);
        match self.question {
            Question::Objects(_) => key.push(place.namespace.clone()),
            Question::Kamelets(_) => {
                key.extend([place.namespace.clone(), self.operator_id(settings, place.context.as_deref())]);
            }
            _ => {}
        }
        key
    }

    fn operator_id(&self, settings: &Settings, context: Option<&str>) -> String {
        let set = || settings.operator_id(context).map(|(id, _)| id);
        self.operator_id.clone().or_else(set).unwrap_or_else(|| camel_k::DEFAULT_ID.to_owned())
    }

    fn answer_of_cluster(&self, settings: &Settings) -> Option<Vec<Offer>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let answer = runtime.block_on(async {
            let cluster = Cluster::connect(&self.connection, settings, &mut |_| {}).await.ok()?;
            self.question_to(&cluster, settings).await.ok()
        });
        runtime.shutdown_background();
        answer.map(plain)
    }

    async fn question_to(&self, cluster: &Cluster, settings: &Settings) -> Result<Vec<Offer>, ApiError> {
        match self.question {
            Question::Namespaces => names(cluster, &NAMESPACE, None).await,
            Question::OperatorIds => Ok(ids(&observed(cluster).await?)),
            Question::Versions => Ok(versions(&observed(cluster).await?)),
            Question::Objects(kinds) => {
                let mut found = Vec::new();
                for kind in kinds {
                    found.extend(served(names(cluster, kind, Some(cluster.namespace())).await)?);
                }
                Ok(found)
            }
            Question::Kamelets(role) => {
                let id = self.operator_id(settings, Some(cluster.context()));
                kamelets(cluster, role, &id).await
            }
            Question::Contexts | Question::Clusters | Question::Users => Ok(Vec::new()),
        }
    }
}

fn entry_names(question: Question, entries: Entries) -> Vec<Offer> {
    let mut offers: Vec<Offer> = match question {
        Question::Contexts => entries
            .contexts
            .into_iter()
            .map(|context| {
                let about = match (context.current, context.namespace) {
                    (true, Some(namespace)) => format!("current, namespace {namespace}"),
                    (true, None) => "current".to_owned(),
                    (false, Some(namespace)) => format!("namespace {namespace}"),
                    (false, None) => String::new(),
                };
                Offer::new(context.name).about(about)
            })
            .collect(),
        Question::Clusters => entries.clusters.into_iter().map(Offer::new).collect(),
        _ => entries.users.into_iter().map(Offer::new).collect(),
    };
    offers.retain(|offer| is_entry_name(&offer.name));
    offers
}

/// What can be said of namespaces when they must not be listed: those of the contexts of this cluster.
fn namespaces_of_contexts(place: &Place, entries: Entries) -> Vec<Offer> {
    let here = entries.contexts.into_iter().filter(|context| context.cluster == place.cluster);
    let mut names: Vec<String> =
        here.filter_map(|context| context.namespace).chain([place.namespace.clone()]).collect();
    names.sort();
    names.dedup();
    names.into_iter().filter(|name| is_object_name(name)).map(Offer::new).collect()
}

async fn names(cluster: &Cluster, kind: &Kind, namespace: Option<&str>) -> Result<Vec<Offer>, ApiError> {
    let objects = cluster.list(kind, namespace, &ListOptions::cached_metadata()).await?;
    Ok(objects.iter().filter_map(|object| Some(Offer::new(name_of(object)?))).collect())
}

fn name_of(object: &Value) -> Option<&str> {
    object.pointer("/metadata/name")?.as_str()
}

/// A kind that the cluster does not serve has no objects.
fn served<T: Default>(answer: Result<T, ApiError>) -> Result<T, ApiError> {
    match answer {
        Err(error) if error.is_kind_missing() => Ok(T::default()),
        answer => answer,
    }
}

async fn observed(cluster: &Cluster) -> Result<Vec<Operator>, ApiError> {
    // Each Lease would be a request, and says nothing about ids.
    let leases_of = Some(String::new());
    let evidence = cluster.observe(&Observe { families: FAMILIES.to_vec(), count_ids: false, leases_of }).await?;
    Ok(operators(&evidence, cluster.server_time()))
}

/// One offer an id; of several operators with it the one that acts is described.
fn ids(found: &[Operator]) -> Vec<Offer> {
    let mut found: Vec<&Operator> = found.iter().filter(|operator| operator.id_known).collect();
    found.sort_by_key(|operator| !operator.state.acts());
    found.into_iter().map(|operator| Offer::new(&operator.id).about(described(operator))).collect()
}

fn described(operator: &Operator) -> String {
    let scope = match &operator.scope {
        Scope::Cluster => "all namespaces".to_owned(),
        Scope::Own => "own namespace".to_owned(),
        Scope::Namespaces(names) => format!("watches {}", names.join(", ")),
        Scope::Unknown => return format!("in {}", operator.namespace),
    };
    format!("in {}, {scope}", operator.namespace)
}

fn versions(found: &[Operator]) -> Vec<Offer> {
    let known = |operator: &&Operator| operator.family == camel_k::FAMILY.name;
    let versions = found.iter().filter(known).filter_map(|operator| {
        Some(Offer::new(operator.version.clone()?).about(format!("{} in {}", operator.id, operator.namespace)))
    });
    versions.collect()
}

/// Kamelets that fit, from the namespace of the line and from that of the operator, where its Integrations find them too.
async fn kamelets(cluster: &Cluster, role: Role, id: &str) -> Result<Vec<Offer>, ApiError> {
    let claim = format!("{}.{id}", camel_k::FAMILY.name);
    let (here, claim) = futures_util::future::join(
        kamelets_in(cluster, cluster.namespace()),
        cluster.get(&OPERATOR_CLAIM, None, &claim),
    )
    .await;
    let mut found = here?;
    let operators = claim.ok().flatten();
    let home = operators.as_ref().and_then(|claim| claim.pointer("/spec/active/namespace")?.as_str());
    if let Some(home) = home.filter(|home| *home != cluster.namespace()) {
        // They are a help only: not every tenant may list them.
        found.extend(kamelets_in(cluster, home).await.unwrap_or_default());
    }
    let word = match role {
        Role::Source => "source",
        Role::Sink => "sink",
        Role::Action => "action",
    };
    let offers = found.iter().filter_map(|object| {
        let labels = object.pointer("/metadata/labels");
        let kind = labels.and_then(|labels| labels.get(camel_k::KAMELET_TYPE)).and_then(Value::as_str);
        let offer = Offer::new(name_of(object)?);
        match kind {
            Some(kind) if kind != word => None,
            Some(_) => Some(offer),
            None => Some(offer.about("Kamelet")),
        }
    });
    Ok(offers.collect())
}

/// Kamelets are served as v1 from 2.0 on, and as v1alpha1 before.
async fn kamelets_in(cluster: &Cluster, namespace: &str) -> Result<Vec<Value>, ApiError> {
    const OLDER: Kind = Kind { version: "v1alpha1", ..KAMELET };
    let options = ListOptions::cached_metadata();
    match cluster.list(&KAMELET, Some(namespace), &options).await {
        Err(error) if error.is_kind_missing() => served(cluster.list(&OLDER, Some(namespace), &options).await),
        answer => answer,
    }
}
