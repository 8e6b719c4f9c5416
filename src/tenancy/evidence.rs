//! What was observed on a cluster that tells about operators: plain values read from objects, without conclusions.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::env::{ConfigMaps, Environment, PodFacts};
use crate::contracts::{Family, Find, olm};

/// A kind of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// Deployments of operators.
    Deployment,
    /// Claims of kctl.
    Claim,
    /// Registry objects: Camel K's `IntegrationPlatform`s.
    Platform,
    /// Leader-election Leases.
    Lease,
    /// OLM Subscriptions.
    Subscription,
    /// The object that designates the active operator.
    Pointer,
    /// Ids that resources carry.
    Ids,
}

impl Source {
    /// The word machines read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::Claim => "claim",
            Self::Platform => "platform",
            Self::Lease => "lease",
            Self::Subscription => "subscription",
            Self::Pointer => "pointer",
            Self::Ids => "ids",
        }
    }
}

/// What could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unseen {
    /// What it was about: a plural with its group, as in `deployments.apps`.
    pub source: String,
    /// The namespace; `None` for the whole cluster.
    pub namespace: Option<String>,
    /// Why, in the server's words.
    pub reason: String,
}

/// Which namespaces a source could be read in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Coverage {
    /// All of them.
    #[default]
    All,
    /// Only these.
    Namespaces(BTreeSet<String>),
}

impl Coverage {
    /// Whether a namespace was read.
    pub fn has(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespaces(names) => names.contains(namespace),
        }
    }
}

/// Everything that was observed.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Deployments of operators.
    pub deployments: Vec<DeploymentFacts>,
    /// In which namespaces Deployments could be read.
    pub deployments_seen: Coverage,
    /// Claims.
    pub claims: Vec<ClaimFacts>,
    /// Registry objects.
    pub platforms: Vec<PlatformFacts>,
    /// Leases named like those of operators.
    pub leases: Vec<LeaseFacts>,
    /// OLM Subscriptions to a family's package.
    pub subscriptions: Vec<SubscriptionFacts>,
    /// What each family's pointer says, by the family's name.
    pub pointers: BTreeMap<&'static str, PointerState>,
    /// The switch under way that a family's pointer records, by the family's name.
    pub switches: BTreeMap<&'static str, Value>,
    /// Ids that resources carry.
    pub ids: IdsInUse,
    /// `ConfigMap`s that operators' environments refer to.
    pub config_maps: ConfigMaps,
    /// What could not be read.
    pub unseen: Vec<Unseen>,
}

impl Evidence {
    /// Whether every resource of a family that carries an id could be seen.
    pub fn ids_are_complete(&self, family: &Family) -> bool {
        let counted = family.resources.iter().filter(|entry| entry.counted);
        let mut plurals = counted.map(|entry| entry.kind.qualified_plural());
        !plurals.any(|plural| self.unseen.iter().any(|unseen| unseen.source == plural))
    }
}

/// The Deployment of an operator.
#[derive(Clone, Debug)]
pub struct DeploymentFacts {
    /// The operator's family.
    pub family: &'static Family,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: Option<String>,
    /// Labels of the Deployment.
    pub labels: BTreeMap<String, String>,
    /// Wanted pods; 1 when the manifest does not say.
    pub replicas: u64,
    /// Ready pods; `None` in a manifest, which has no status.
    pub ready_replicas: Option<u64>,
    /// The operator container's image.
    pub image: Option<String>,
    /// The operator container's arguments, after those of its command.
    pub args: Vec<String>,
    /// The operator container's environment.
    pub environment: Environment,
    /// What the downward API needs.
    pub pod: PodFacts,
    /// Who installed it, as far as labels and annotations tell.
    pub managed_by: Option<&'static str>,
    /// When it was created.
    pub created_at: Option<Timestamp>,
}

impl DeploymentFacts {
    /// Reads a Deployment; `None` when it is none of the family's operators.
    pub fn parse(family: &'static Family, object: &Value) -> Option<Self> {
        let meta = Meta::of(object)?;
        let container = operator_container(family, object);
        let certain = container.is_some();
        let found = family.deployments.iter().any(|find| match *find {
            Find::Label { key, value, sure } => {
                (sure || certain) && meta.labels.get(key).is_some_and(|found| found == value)
            }
            Find::Name(name) => certain && meta.name == name,
        });
        if !found {
            return None;
        }
        let container =
            container.or_else(|| object.pointer("/spec/template/spec/containers/0")).unwrap_or(&Value::Null);
        let count = |at: &str| object.pointer(at).and_then(Value::as_u64);
        let template = |what: &str| strings(object.pointer(&format!("/spec/template/metadata/{what}")));
        let words = |key: &str| container.get(key).and_then(Value::as_array).into_iter().flatten();
        Some(Self {
            family,
            replicas: count("/spec/replicas").unwrap_or(1),
            ready_replicas: object.get("status").map(|_| count("/status/readyReplicas").unwrap_or(0)),
            image: text(container, "/image"),
            args: words("command").chain(words("args")).filter_map(Value::as_str).map(str::to_owned).collect(),
            environment: Environment::parse(container),
            pod: PodFacts {
                namespace: meta.namespace.clone(),
                labels: template("labels"),
                annotations: template("annotations"),
                service_account: text(object, "/spec/template/spec/serviceAccountName").unwrap_or_default(),
            },
            managed_by: managed_by(object, &meta),
            namespace: meta.namespace,
            name: meta.name,
            uid: meta.uid,
            labels: meta.labels,
            created_at: meta.created_at,
        })
    }

    /// The value of a command-line flag, as `--flag=value` or `--flag value`.
    pub fn flag(&self, flag: &str) -> Option<&str> {
        self.args.iter().enumerate().find_map(|(at, arg)| match arg.strip_prefix(flag)? {
            "" => self.args.get(at + 1).map(String::as_str),
            rest => rest.strip_prefix('='),
        })
    }
}

fn operator_container<'a>(family: &Family, object: &'a Value) -> Option<&'a Value> {
    let containers =
        || object.pointer("/spec/template/spec/containers").and_then(Value::as_array).into_iter().flatten();
    let named = |name: &&str| containers().find(|container| container["name"].as_str() == Some(name));
    family.containers.iter().find_map(named).or_else(|| {
        containers().find(|container| {
            let words = |key: &str| container.get(key).and_then(Value::as_array).into_iter().flatten();
            let mut line = words("command").chain(words("args")).filter_map(Value::as_str);
            !family.command.is_empty() && family.command.iter().all(|word| line.next() == Some(word))
        })
    })
}

fn managed_by(object: &Value, meta: &Meta) -> Option<&'static str> {
    let annotation = |key: &str| object.pointer("/metadata/annotations").is_some_and(|map| map.get(key).is_some());
    let label = |key: &str| meta.labels.get(key).map(String::as_str);
    if label(olm::OWNER).is_some() {
        return Some("olm");
    }
    if annotation("meta.helm.sh/release-name") || label("app.kubernetes.io/managed-by") == Some("Helm") {
        return Some("helm");
    }
    if annotation("argocd.argoproj.io/tracking-id") {
        return Some("argo");
    }
    (label("kctl.dev/operator-id").is_some() || label("app.kubernetes.io/managed-by") == Some("kctl")).then_some("kctl")
}

/// A Deployment named by a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Namespace.
    pub namespace: String,
    /// Name of the Deployment.
    pub deployment: String,
}

/// A claim as far as a list needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimFacts {
    /// Family.
    pub family: String,
    /// Operator id.
    pub id: String,
    /// Who holds the id.
    pub active: Option<Place>,
    /// Who waits under the same id.
    pub standbys: Vec<Place>,
    /// Who installed the operator.
    pub managed_by: Option<String>,
    /// The operation under way.
    pub operation: Option<Value>,
    /// The id has moved on to this one; nobody answers to it any more.
    pub renamed_to: Option<String>,
    /// When the claim was made.
    pub created_at: Option<Timestamp>,
}

impl ClaimFacts {
    /// Reads a claim; `None` without family and id.
    pub fn parse(object: &Value) -> Option<Self> {
        let place = |value: &Value| {
            Some(Place { namespace: text(value, "/namespace")?, deployment: text(value, "/deployment")? })
        };
        let standbys = object.pointer("/spec/standbys").and_then(Value::as_array).into_iter().flatten();
        Some(Self {
            family: text(object, "/spec/family")?,
            id: text(object, "/spec/id")?,
            active: object.pointer("/spec/active").and_then(place),
            standbys: standbys.filter_map(place).collect(),
            managed_by: text(object, "/spec/managedBy"),
            operation: object.pointer("/spec/operation").filter(|operation| operation.is_object()).cloned(),
            renamed_to: text(object, "/spec/renamedTo"),
            created_at: Meta::of(object)?.created_at,
        })
    }
}

/// A registry object: an `IntegrationPlatform`.
#[derive(Clone, Debug)]
pub struct PlatformFacts {
    /// Its family.
    pub family: &'static Family,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// The id it carries.
    pub id: Option<String>,
    /// Whether it is marked as secondary.
    pub secondary: bool,
    /// Whether an operator or an installer made it, and not a tenant.
    pub installed: bool,
    /// `status.phase`.
    pub phase: Option<String>,
    /// `status.version`: the operator's version.
    pub version: Option<String>,
    /// When it was created.
    pub created_at: Option<Timestamp>,
}

impl PlatformFacts {
    /// Reads a registry object; `None` for a family without a registry.
    pub fn parse(family: &'static Family, object: &Value) -> Option<Self> {
        let registry = family.registry?;
        let meta = Meta::of(object)?;
        let annotations = strings(object.pointer("/metadata/annotations"));
        let label = |key: &str, value: &str| meta.labels.get(key).is_some_and(|found| found == value);
        Some(Self {
            family,
            id: family.id_annotation.and_then(|key| annotations.get(key)).filter(|id| !id.is_empty()).cloned(),
            secondary: annotations.get(registry.secondary).is_some_and(|value| value == "true"),
            installed: registry.installed.iter().any(|(key, value)| label(key, value)),
            phase: text(object, "/status/phase").filter(|phase| !phase.is_empty()),
            version: text(object, "/status/version"),
            namespace: meta.namespace,
            name: meta.name,
            created_at: meta.created_at,
        })
    }

    /// The id it stands for: the one it carries, else its name (v1.10.0 to v1.12.0 made platforms without the
    /// annotation, and so does the Helm chart).
    pub fn stands_for(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.name)
    }

    /// Whether it is named like its id, as those of operators are.
    pub fn is_named_like_its_id(&self) -> bool {
        self.stands_for() == self.name && !self.secondary
    }
}

/// A Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseFacts {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Who holds it; `None` when it was released.
    pub holder: Option<String>,
    /// When it was last renewed.
    pub renew_time: Option<Timestamp>,
    /// How long it is held after that, in seconds.
    pub duration_seconds: i64,
}

impl LeaseFacts {
    /// Reads a Lease.
    pub fn parse(object: &Value) -> Option<Self> {
        let meta = Meta::of(object)?;
        Some(Self {
            namespace: meta.namespace,
            name: meta.name,
            holder: text(object, "/spec/holderIdentity").filter(|holder| !holder.is_empty()),
            renew_time: time(object, "/spec/renewTime"),
            duration_seconds: object.pointer("/spec/leaseDurationSeconds").and_then(Value::as_i64).unwrap_or(0),
        })
    }

    /// Whether somebody holds it now, by the server's clock.
    pub fn is_live(&self, now: Timestamp) -> bool {
        let end = |renewed: Timestamp| renewed.as_second().saturating_add(self.duration_seconds);
        self.holder.is_some() && self.renew_time.is_some_and(|renewed| end(renewed) > now.as_second())
    }
}

/// An OLM Subscription that gives an operator its id.
#[derive(Clone, Debug)]
pub struct SubscriptionFacts {
    /// The operator's family.
    pub family: &'static Family,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// The environment it adds to the operator.
    pub environment: Environment,
    /// Version of the installed package.
    pub version: Option<String>,
    /// When it was created.
    pub created_at: Option<Timestamp>,
}

impl SubscriptionFacts {
    /// Reads a Subscription; `None` when it is to no package of the family.
    pub fn parse(family: &'static Family, object: &Value) -> Option<Self> {
        let meta = Meta::of(object)?;
        let package = text(object, olm::PACKAGE)?;
        family.olm_packages.contains(&package.as_str()).then_some(())?;
        Some(Self {
            family,
            environment: Environment::parse(object.pointer(olm::CONFIG).unwrap_or(&Value::Null)),
            version: text(object, olm::INSTALLED_CSV).as_deref().and_then(olm::csv_version).map(str::to_owned),
            namespace: meta.namespace,
            name: meta.name,
            created_at: meta.created_at,
        })
    }
}

/// What a family's pointer to its active operator says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointerState {
    /// There is none.
    Absent,
    /// It could not be read.
    Unseen,
    /// It says this, byte for byte; empty when the key is missing.
    Says(String),
}

/// Which ids resources carry, counted per kind and namespace. The empty id is that of resources without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdsInUse(BTreeMap<String, BTreeMap<(String, String), u64>>);

impl IdsInUse {
    /// Counts a resource.
    pub fn add(&mut self, id: &str, kind: &str, namespace: &str) {
        // Looked up first, since all but the first of a thousand resources find their place taken.
        if let Some(count) =
            self.0.get_mut(id).and_then(|places| places.get_mut(&(kind.to_owned(), namespace.to_owned())))
        {
            *count += 1;
            return;
        }
        self.0.entry(id.to_owned()).or_default().insert((kind.to_owned(), namespace.to_owned()), 1);
    }

    /// The ids, without the empty one.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|id| !id.is_empty())
    }

    /// How many resources carry an id, per kind; of one namespace when one is given.
    pub fn by_kind(&self, id: &str, namespace: Option<&str>) -> BTreeMap<String, u64> {
        let mut out = BTreeMap::new();
        for ((kind, place), count) in self.0.get(id).into_iter().flatten() {
            if namespace.is_none_or(|namespace| namespace == place) {
                *out.entry(kind.clone()).or_default() += count;
            }
        }
        out
    }

    /// How many resources carry an id; of one namespace when one is given.
    pub fn total(&self, id: &str, namespace: Option<&str>) -> u64 {
        self.by_kind(id, namespace).values().sum()
    }

    /// Every group that was counted: id (empty for none), kind, namespace, number.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &str, &str, u64)> {
        self.0.iter().flat_map(|(id, places)| {
            places
                .iter()
                .map(move |((kind, namespace), count)| (id.as_str(), kind.as_str(), namespace.as_str(), *count))
        })
    }

    /// Adds the counts of another one.
    pub fn merge(&mut self, other: Self) {
        for (id, places) in other.0 {
            let mine = self.0.entry(id).or_default();
            for (place, count) in places {
                *mine.entry(place).or_default() += count;
            }
        }
    }
}

struct Meta {
    namespace: String,
    name: String,
    uid: Option<String>,
    labels: BTreeMap<String, String>,
    created_at: Option<Timestamp>,
}

impl Meta {
    fn of(object: &Value) -> Option<Self> {
        Some(Self {
            name: text(object, "/metadata/name")?,
            namespace: text(object, "/metadata/namespace").unwrap_or_default(),
            uid: text(object, "/metadata/uid"),
            labels: strings(object.pointer("/metadata/labels")),
            created_at: time(object, "/metadata/creationTimestamp"),
        })
    }
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

fn time(value: &Value, pointer: &str) -> Option<Timestamp> {
    value.pointer(pointer).and_then(Value::as_str)?.parse().ok()
}

fn strings(map: Option<&Value>) -> BTreeMap<String, String> {
    let entries = map.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}
