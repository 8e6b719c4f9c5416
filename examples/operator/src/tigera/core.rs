//! The main controller. It alone looks at the pointer while the operator runs: every reconciliation begins with that.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DynamicObject};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::objects::{self, Cluster, Health};
use super::settings::Settings;
use super::{certificates, gate};
use crate::object::Error;
use crate::process::Process;

/// In case an event is lost.
const BACKSTOP: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_secs(2);

struct Core {
    cluster: Cluster,
    ignore_demotion: bool,
    slow: Duration,
    demoted: CancellationToken,
}

/// Keeps the network as the Installation wants it, until another operator is the active one.
pub async fn until_demoted(process: &Process, settings: &Settings) {
    let client = &process.client;
    let installations: Api<DynamicObject> = Api::all_with(client.clone(), &objects::installation());
    // Without an Installation there is nothing to do, and nobody who would notice a demotion.
    while !matches!(installations.get_opt("default").await, Ok(Some(_))) {
        sleep(POLL).await;
    }
    let core = Arc::new(Core {
        cluster: Cluster { client: client.clone(), settings: settings.clone() },
        ignore_demotion: process.flags.misbehaviour.ignore_demotion,
        slow: process.flags.misbehaviour.slow,
        demoted: CancellationToken::new(),
    });
    let only = |name: &str| watcher::Config::default().fields(&format!("metadata.name={name}"));
    let pointers = Api::<ConfigMap>::namespaced(client.clone(), gate::NAMESPACE);
    let controller = Controller::new_with(installations, only("default"), objects::installation())
        .watches(pointers, only(gate::NAME), |_| Some(ObjectRef::new_with("default", objects::installation())))
        .run(reconcile, retry, core.clone());
    tokio::select! {
        () = controller.for_each(|_| std::future::ready(())) => {}
        () = core.demoted.cancelled() => {}
    }
}

async fn reconcile(installation: Arc<DynamicObject>, core: Arc<Core>) -> Result<Action, Error> {
    let cluster = &core.cluster;
    let own = &cluster.settings.namespace;
    let pointer = match cluster.pointer().await {
        Ok(pointer) => pointer,
        Err(error) => {
            let why = format!("the operator in {own} cannot read the pointer");
            cluster.report(Health::Degraded { reason: "ResourceValidationError", message: &why }).await?;
            return Err(error);
        }
    };
    if !gate::is_active(pointer.as_deref(), own) {
        if core.ignore_demotion {
            // Stuck: the parts that do not look at the pointer go on.
            cluster.report(Health::Available).await?;
            return Ok(Action::requeue(POLL));
        }
        info!("no longer active: this is {own}, the pointer names {}", pointer.unwrap_or_default());
        core.demoted.cancel();
        return Ok(Action::await_change());
    }
    if installation.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    sleep(core.slow).await;
    cluster.apply(&objects::namespace(), &installation).await?;
    let authority = certificates::ensure(cluster, &installation).await?;
    for object in objects::rendered(&cluster.settings, &authority) {
        cluster.apply(&object, &installation).await?;
    }
    // As late as in the real one: until here everybody who finds no pointer believes to be active.
    if pointer.is_none() {
        cluster.create_pointer(&installation).await?;
    }
    cluster.report(Health::Available).await?;
    Ok(Action::requeue(BACKSTOP))
}

fn retry(_: Arc<DynamicObject>, error: &Error, _: Arc<Core>) -> Action {
    warn!("{error}");
    Action::requeue(Duration::from_secs(1))
}
