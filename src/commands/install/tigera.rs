//! `install --family tigera --like NS`: a second Calico operator, which waits until a switch makes it the active one.

use serde_json::{Value, json};

use crate::{
    cli::install_args::{DryRun, InstallArgs},
    cluster::{Cluster, ListOptions, access::Right},
    commands::Session,
    contracts::{
        kinds::{CLUSTER_ROLE_BINDING, CONFIG_MAP, NAMESPACE, ROLE_BINDING, SECRET, SERVICE_ACCOUNT},
        tigera,
    },
    error::{Error, Exit, ObjectRef, Result},
    manifests::tigera::{CLONE_LABEL, Original, clone},
    tenancy::{
        objects::{Mark, kind_of, owned_step, place_of},
        plan::{OWNER, Step, Write},
        switch::{
            SWITCH_MANAGER,
            copies::{self, Action},
            pointer::Says,
            preflight::binds,
        },
    },
};

use super::carry_out;

/// Runs the command.
pub async fn run(args: &InstallArgs, session: &Session<'_>, like: &str) -> Result<Exit> {
    let to = session.global.namespace.clone().ok_or_else(|| {
        Error::usage("the namespace must be said: -n NAMESPACE")
            .hint(format!("kctl install --family tigera --like {like} -n alt"))
    })?;
    if to == like {
        return Err(Error::usage(format!("an operator cannot be cloned into its own namespace {like}")));
    }
    if tigera::PROTECTED.contains(&to.as_str()) {
        return Err(Error::refused(
            "ProtectedNamespace",
            format!("namespace {to} is managed by the operator itself: an operator in it refuses to run"),
        ));
    }
    let cluster = session.connect().await?;
    pointer_must_exist(cluster, like).await?;
    let original = original(cluster, like).await?;
    let mut steps = namespace(cluster, &to, args.create_namespace).await?;
    for object in clone(&original, like, &to) {
        let (kind, (place, name)) = (kind_of(&object)?, place_of(&object));
        let observed = cluster.get(&kind, place, name).await?;
        steps.push(owned_step(object, observed.as_ref(), Mark { label: CLONE_LABEL, value: Some(like) }, args.force)?);
    }
    // The Deployment comes last: its pods need what is copied.
    let deployment = steps.pop();
    steps.extend(needed(cluster, &original, like, &to).await?);
    steps.extend(deployment);
    steps.retain(|step| !step.is_done() || args.dry_run.is_some());
    if args.dry_run != Some(DryRun::Client) && !cluster.is_snapshot() {
        rights(cluster, &steps).await?;
    }
    if let Some(rehearsal) = args.dry_run {
        return carry_out::rehearse_steps(cluster, session.ui, &steps, rehearsal).await;
    }
    if steps.is_empty() {
        session.ui.result(&format!("deployment.apps/{} unchanged", tigera::DEPLOYMENT));
        return Ok(Exit::Done);
    }
    let again = format!("kctl install --family tigera --like {like} -n {to}");
    session.ui.on_interrupt(again, None);
    carry_out::write_all(cluster, session.ui, &steps).await?;
    session.ui.hint(&format!("it waits; to make it the active one: kctl switch-active {to}"));
    Ok(Exit::Done)
}

/// While the pointer is absent every operator works: a second one would be one too many.
async fn pointer_must_exist(cluster: &Cluster, like: &str) -> Result<()> {
    let pointer = cluster.pointer().await?;
    if pointer.says() != Says::Absent {
        return Ok(());
    }
    let place = tigera::POINTER;
    Err(Error::refused(
        "PointerMissing",
        format!(
            "configmap/{} in namespace {} does not exist: a second operator would work beside the first",
            place.name, place.namespace
        ),
    )
    .object(ObjectRef::new(place.kind.kind, Some(place.namespace), place.name))
    .hint(format!("let it name the present operator first: kctl switch-active {like} --repair")))
}

async fn original(cluster: &Cluster, like: &str) -> Result<Original> {
    let deployment = cluster.tigera_operators(like).await?.into_iter().next().ok_or_else(|| {
        Error::not_found("NoOperator", format!("no Tigera operator is deployed in namespace {like}"))
            .hint("kctl list-operators shows where one is")
    })?;
    let named = deployment.pointer("/spec/template/spec/serviceAccountName").and_then(Value::as_str);
    let account = named.unwrap_or(tigera::SERVICE_ACCOUNT).to_owned();
    let bindings = cluster.list(&CLUSTER_ROLE_BINDING, None, &ListOptions::default()).await?;
    let mut cluster_roles: Vec<String> = bindings
        .iter()
        .filter(|binding| binds(binding, &account, like))
        .filter_map(|binding| binding.pointer("/roleRef/name")?.as_str().map(str::to_owned))
        .collect();
    cluster_roles.sort();
    cluster_roles.dedup();
    if cluster_roles.is_empty() {
        return Err(Error::refused(
            "NoClusterRoleBinding",
            format!(
                "no ClusterRoleBinding has serviceaccount {account} of namespace {like} as a subject, so there is nothing to clone"
            ),
        ));
    }
    Ok(Original {
        account: cluster.get(&SERVICE_ACCOUNT, Some(like), &account).await?,
        has_secrets_binding: cluster.get(&ROLE_BINDING, Some(like), tigera::SECRETS_BINDING).await?.is_some(),
        deployment,
        cluster_roles,
    })
}

async fn namespace(cluster: &Cluster, name: &str, create: bool) -> Result<Vec<Step>> {
    match cluster.get(&NAMESPACE, None, name).await? {
        Some(_) => Ok(Vec::new()),
        None if create => {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            Ok(vec![Step::new(NAMESPACE, None, name, Write::CreateOnly { object, manager: OWNER })])
        }
        None => Err(Error::not_found("NamespaceNotFound", format!("namespace {name} not found"))
            .object(ObjectRef::new("Namespace", None, name))
            .hint("make it: add --create-namespace")),
    }
}

/// What the pods need to start: the secrets they are pulled with, and the API server's address where there is no proxy.
async fn needed(cluster: &Cluster, original: &Original, like: &str, to: &str) -> Result<Vec<Step>> {
    let pulls = |at: &str, object: &Value| -> Vec<String> {
        let all = object.pointer(at).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(|entry| entry["name"].as_str().map(str::to_owned)).collect()
    };
    let mut names = pulls("/spec/template/spec/imagePullSecrets", &original.deployment);
    names.extend(original.account.iter().flat_map(|account| pulls("/imagePullSecrets", account)));
    names.sort();
    names.dedup();
    let wanted = names.into_iter().map(|name| (SECRET, name)).chain([(CONFIG_MAP, tigera::ENDPOINT.to_owned())]);
    let mut steps = Vec::new();
    for (kind, name) in wanted {
        let Some(source) = cluster.get(&kind, Some(like), &name).await? else { continue };
        let target = cluster.get(&kind, Some(to), &name).await?;
        let action = copies::decide(&source, target.as_ref(), false);
        if let Action::Conflict(why) = &action {
            return Err(Error::refused(
                "CopyConflict",
                format!("{}/{name} exists in namespace {to}: {why}", kind.result_name()),
            )
            .object(ObjectRef::new(kind.kind, Some(to), &name)));
        }
        steps.extend(copies::step(kind, &source, target.as_ref(), &action, to, SWITCH_MANAGER));
    }
    Ok(steps)
}

async fn rights(cluster: &Cluster, steps: &[Step]) -> Result<()> {
    let rights: Vec<Right> = steps
        .iter()
        .flat_map(|step| {
            let name = Some(step.name.as_str());
            step.verbs().iter().map(move |verb| Right::on(verb, &step.kind, step.namespace.as_deref(), name))
        })
        .collect();
    let missing = cluster.missing(&rights).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.iter().map(ToString::to_string).collect::<Vec<_>>();
    Err(Error::not_authorised(format!("you may not: {}", list.join("; "))).hint("nothing was written"))
}
