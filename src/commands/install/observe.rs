//! What an install must know of the cluster before it plans.

use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    cli::install_args::InstallArgs,
    cluster::{ApiError, Cluster, access::Right},
    contracts::{
        camel_k::FAMILY,
        kinds::{DEPLOYMENT, INTEGRATION_PLATFORM, LEASE, NAMESPACE, OPERATOR_CLAIM, ROLE_BINDING, SECRET},
    },
    error::{Error, ObjectRef, Result},
    manifests::{
        crds,
        operator::{ID_LABEL, Operator, SETTINGS_TYPE, SHARED_LABEL, Settings, Watch, shared_rbac},
    },
    tenancy::{
        claim::{self, Claim, Instance, Standing, standing},
        evidence::{Evidence, LeaseFacts},
        install::{self, Existing, Holder, Rival, Wish, key},
        objects::{Mark, is_own, kind_of, place_of},
        operators::{Operator as KnownOperator, operators},
        plan::{OWNER, Step, Write},
        stale,
    },
    ui::Ui,
};

use super::Plan;

/// Requests under way at once.
const AT_ONCE: usize = 8;

/// What was seen.
pub struct Seen {
    /// The server's time.
    pub now: Timestamp,
    /// Objects of the plan that exist.
    pub existing: Existing,
    /// The claim of the id.
    pub claim: Option<Claim>,
    /// What became of the claim's holder, when that is somebody else.
    pub holder: Option<Holder>,
    /// What tells of operators, and the ids in use.
    pub evidence: Evidence,
    /// The operators that it tells of.
    pub known: Vec<KnownOperator>,
    /// Definitions that the cluster should have.
    pub kinds: Vec<Value>,
    /// Deletes of roles from a former scope.
    pub stale: Vec<Step>,
    /// Whether the operator has a platform already.
    pub has_platform: bool,
    namespace: Option<Value>,
    namespace_name: String,
    openshift: bool,
}

impl Seen {
    /// Says how many other operators hold no claim: nothing keeps their ids from being used twice.
    pub fn say_unclaimed(&self, ui: &Ui) {
        let unclaimed = |known: &&KnownOperator| {
            known.family == FAMILY.name
                && known.deployment_uid.is_some()
                && !known.claimed
                && known.namespace != self.namespace_name
        };
        match self.known.iter().filter(unclaimed).count() {
            0 => {}
            count => ui.hint(&format!("operators without a claim: {count}; claim their ids: kctl adopt --all")),
        }
    }

    /// The step that makes the namespace.
    ///
    /// # Errors
    /// It does not exist and was not asked for (exit 5), or is on its way out (exit 3).
    pub fn namespace_step(&self, create: bool) -> Result<Vec<Step>> {
        let name = &self.namespace_name;
        let object = ObjectRef::new("Namespace", None, name);
        match &self.namespace {
            Some(namespace) if namespace.pointer("/status/phase").and_then(Value::as_str) == Some("Terminating") => {
                Err(Error::refused("NamespaceTerminating", format!("namespace {name} is being deleted")).object(object))
            }
            Some(_) => Ok(Vec::new()),
            None if create => {
                let wanted = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
                Ok(vec![Step::new(NAMESPACE, None, name, Write::CreateOnly { object: wanted, manager: OWNER })])
            }
            None => Err(Error::not_found("NamespaceNotFound", format!("namespace {name} not found"))
                .object(object)
                .hint(if self.openshift {
                    format!("make it: oc new-project {name}")
                } else {
                    format!("make it: add --create-namespace, or kubectl create namespace {name}")
                })),
        }
    }
}

/// The settings to start from: those of an earlier install in this namespace; of a new standby those of the active instance.
///
/// A standby watches what the active one does, also where that is the active one's own namespace.
pub async fn earlier(cluster: &Cluster, namespace: &str, id: &str, standby: bool) -> Result<Settings> {
    let own = settings(cluster, namespace, id).await?;
    if !standby || own != Settings::default() {
        return Ok(own);
    }
    let claim = read_claim(cluster, &claim::name(FAMILY.name, id)).await?;
    let Some(active) = claim.and_then(|claim| claim.active()).filter(|active| active.namespace != namespace) else {
        return Ok(own);
    };
    let mut copied = settings(cluster, &active.namespace, id).await?;
    if matches!(copied.watch, None | Some(Watch::Own)) {
        copied.watch = Some(Watch::Namespaces(vec![active.namespace]));
    }
    copied.rbac_suffix = Some(namespace.to_owned());
    Ok(copied)
}

/// The settings an earlier install of the id kept in this namespace.
pub async fn settings(cluster: &Cluster, namespace: &str, id: &str) -> Result<Settings> {
    Ok(kept(cluster, namespace, id).await?.unwrap_or_default())
}

/// The same, or `None` when there are none.
pub async fn kept(cluster: &Cluster, namespace: &str, id: &str) -> Result<Option<Settings>> {
    let none = Settings::default();
    let name = Operator { id, namespace, settings: &none }.settings_name();
    let secret = match cluster.get(&SECRET, Some(namespace), &name).await {
        Ok(Some(secret)) => secret,
        Ok(None) => return Ok(None),
        Err(error) if error.is_forbidden() => {
            return Err(Error::from(error).hint("an install reads and writes its own settings in that Secret; it needs get, create and patch on secrets"));
        }
        Err(error) => return Err(error.into()),
    };
    if secret["type"] != SETTINGS_TYPE {
        return Err(Error::refused(
            "NotOurs",
            format!("secret/{name} in namespace {namespace} exists and was not made by kctl"),
        )
        .object(ObjectRef::new("Secret", Some(namespace), &name)));
    }
    let data = secret.pointer("/data/settings").and_then(Value::as_str).unwrap_or_default();
    let text = BASE64_STANDARD.decode(data).unwrap_or_default();
    serde_json::from_slice(&text).map(Some).map_err(|_| {
        Error::failed(
            "BadSettings",
            format!("secret/{name} in namespace {namespace} does not hold settings that kctl can read"),
        )
        .hint(format!("name all settings again after: kubectl delete secret {name} -n {namespace}"))
    })
}

/// Objects of an operator besides its Deployment, in the order in which they are written.
pub fn objects(operator: &Operator<'_>) -> Vec<Value> {
    let mut objects = vec![operator.settings_secret(), operator.service_account()];
    objects.extend(operator.rbac());
    objects.extend(operator.maven_settings());
    objects.extend(operator.platform());
    objects
}

/// The definitions of Camel K's kinds that are wanted: of a file, none, or kctl's own.
pub fn definitions(args: &InstallArgs) -> Result<Vec<Value>> {
    match (&args.crds, args.skip_crds) {
        (Some(path), _) => crds::from_documents(super::render::documents(path)?, &path.display().to_string()),
        (None, true) => Ok(Vec::new()),
        (None, false) => Ok(crds::camel()),
    }
}

/// Reads everything the plan depends on, side by side.
pub async fn cluster(cluster: &Cluster, wish: &Wish<'_>, operator: &Operator<'_>, args: &InstallArgs) -> Result<Seen> {
    let kinds = definitions(args)?;
    let mut wanted = vec![crds::claim(), operator.deployment(0)];
    wanted.extend(objects(operator));
    wanted.extend(shared_rbac(args.tenant_role));
    wanted.extend(kinds.iter().cloned());
    let claim_name = claim::name(wish.family, wish.id);
    let (existing, claim, namespace, platform, evidence, mut stale) = tokio::try_join!(
        find(cluster, &wanted),
        read_claim(cluster, &claim_name),
        async { cluster.get(&NAMESPACE, None, operator.namespace).await.map_err(Error::from) },
        async { optional(cluster.get(&INTEGRATION_PLATFORM, Some(operator.namespace), operator.id).await) },
        super::tenants::evidence(cluster, wish.id, true),
        super::change::stale_roles(cluster, operator),
    )?;
    let holder = match standing(claim.as_ref(), wish.instance) {
        Standing::Held(active) if wish.take_over => Some(holder(cluster, &active, wish.id).await?),
        _ => None,
    };
    // Back to defaults means back to no platform.
    let own = Mark { label: ID_LABEL, value: Some(operator.id) };
    if let Some(platform) = platform.iter().find(|platform| args.change.reset && is_own(platform, own))
        && operator.platform().is_none()
    {
        stale.push(stale::delete(platform)?);
    }
    let now = cluster.server_time();
    Ok(Seen {
        now,
        known: operators(&evidence, now),
        evidence,
        existing,
        claim,
        holder,
        kinds,
        has_platform: platform.is_some() && !stale.iter().any(|step| step.kind == INTEGRATION_PLATFORM),
        namespace,
        namespace_name: operator.namespace.to_owned(),
        stale,
        openshift: operator.settings.openshift == Some(true),
    })
}

/// The claim of that name; a cluster without claims has none.
pub async fn read_claim(cluster: &Cluster, name: &str) -> Result<Option<Claim>> {
    Ok(optional(cluster.get(&OPERATOR_CLAIM, None, name).await)?.map(Claim::read))
}

/// An object whose kind may not be served at all.
fn optional(found: Result<Option<Value>, ApiError>) -> Result<Option<Value>> {
    match found {
        Err(error) if error.is_kind_missing() => Ok(None),
        other => Ok(other?),
    }
}

/// Those of the wanted objects that exist.
async fn find(cluster: &Cluster, wanted: &[Value]) -> Result<Existing> {
    let lookups = wanted.iter().map(|object| async move {
        let path = key(object)?;
        let (kind, (namespace, name)) = (kind_of(object)?, place_of(object));
        let found = optional(cluster.get(&kind, namespace, name).await)?;
        Ok::<_, Error>(found.map(|found| (path, if cluster.is_snapshot() { believed(found) } else { found })))
    });
    let found: Vec<_> = stream::iter(lookups).buffered(AT_ONCE).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

/// An object of a dump as kctl may have made it. kubectl leaves managedFields out unless asked for them, so in a dump
/// without them kctl's label has to be believed; on a live server it never is.
fn believed(mut object: Value) -> Value {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    let labelled = labels.is_some_and(|labels| labels.contains_key(ID_LABEL) || labels.contains_key(SHARED_LABEL));
    if labelled && object.pointer("/metadata/managedFields").is_none() {
        object["metadata"]["managedFields"] = json!([{"manager": OWNER, "operation": "Apply"}]);
    }
    object
}

/// Whether the holder of a claim is gone: no Deployment, and no live lease in its namespace. What may not be read is there.
async fn holder(cluster: &Cluster, active: &Instance, id: &str) -> Result<Holder> {
    let there = |why: &str| Ok(Holder::There(why.to_owned()));
    match cluster.get(&DEPLOYMENT, Some(&active.namespace), &active.deployment).await {
        Ok(Some(_)) => return there("its Deployment exists"),
        Err(error) if error.is_forbidden() => return there("you may not read its Deployment"),
        Err(error) => return Err(error.into()),
        Ok(None) => {}
    }
    let lease = FAMILY.lease.of(id);
    match cluster.get(&LEASE, Some(&active.namespace), &lease).await {
        Ok(Some(lease)) if LeaseFacts::parse(&lease).is_some_and(|lease| lease.is_live(cluster.server_time())) => {
            there("its lease is being renewed")
        }
        Err(error) if error.is_forbidden() => there("you may not read its lease"),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(Holder::Gone),
    }
}

/// What uses the id without a claim, by a consistent read.
pub async fn rivals(cluster: &Cluster, wish: &Wish<'_>) -> Result<Vec<Rival>> {
    let evidence = super::tenants::evidence(cluster, wish.id, false).await?;
    let now = cluster.server_time();
    Ok(install::rivals(wish, &operators(&evidence, now), now))
}

/// Checks the rights for every write of the plan; what access reviews cannot see is tried as a dry run.
pub async fn rights(cluster: &Cluster, plan: &Plan) -> Result<()> {
    let mut rights: Vec<Right> = Vec::new();
    for step in
        plan.foundation.iter().chain(&plan.kinds).chain(&plan.objects).chain([&plan.deployment]).chain(&plan.stale)
    {
        let name = Some(step.name.as_str());
        rights.extend(step.verbs().iter().map(|verb| Right::on(verb, &step.kind, step.namespace.as_deref(), name)));
    }
    for verb in ["get", "create", "patch", "update"] {
        rights.push(Right::on(verb, &OPERATOR_CLAIM, None, Some(&plan.claim_name())));
    }
    let missing = cluster.missing(&rights).await?;
    if !missing.is_empty() {
        let list = missing.iter().map(ToString::to_string).collect::<Vec<_>>();
        return Err(Error::not_authorised(format!("you may not: {}", list.join("; ")))
            .hint("nothing was written; ask an admin of the cluster for these rights, or to run the install"));
    }
    // Roles, since reviews do not see escalation; and what exists, since somebody may have changed fields of it.
    let rehearsed = |step: &&Step| grants(step) || matches!(step.write, Write::ApplyOwned { .. });
    for step in plan.foundation.iter().chain(&plan.objects).chain([&plan.deployment]).filter(rehearsed) {
        match cluster.write(step, true).await {
            Ok(_) => {}
            Err(error) if error.is_conflict() && !error.causes().is_empty() => {
                return Err(super::carry_out::explain(error, step));
            }
            // A binding cannot be rehearsed before its role is there, nor anything in a namespace that is not; and what
            // somebody else makes meanwhile is judged when it is written.
            Err(error) if error.is_not_found() || error.is_conflict() => {}
            Err(error) if error.is_forbidden() => {
                let first = error.message().lines().next().unwrap_or_default().to_owned();
                return Err(Error::not_authorised(format!("you may not write {}: {first}", step.label()))
                    .hint("nothing was written; granting rights takes holding them, or the verbs escalate and bind"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn grants(step: &Step) -> bool {
    step.kind.group == ROLE_BINDING.group
}

impl Plan {
    fn claim_name(&self) -> String {
        let (super::ClaimMove::Create(claim)
        | super::ClaimMove::Swap(claim)
        | super::ClaimMove::Join(claim)
        | super::ClaimMove::Keep(claim)) = &self.claim;
        claim.object().pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

/// Warns of what the check of the id could not look at.
pub fn say_unseen(ui: &Ui, seen: &Seen, id: &str) {
    let blind: Vec<String> = seen
        .evidence
        .unseen
        .iter()
        .filter(|unseen| unseen.namespace.is_none())
        .map(|unseen| unseen.source.clone())
        .collect();
    if !blind.is_empty() {
        ui.warn(&format!(
            "you may not list {} in all namespaces: whether an operator without a claim uses the id {id}, and which resources it will take, was checked only where you may read",
            blind.join(", ")
        ));
    }
    for operator in seen.known.iter().filter(|operator| !operator.id_known) {
        ui.warn(&format!("the id of operator {} cannot be read ({}); it may be {id}", operator.place(), operator.id));
    }
}
