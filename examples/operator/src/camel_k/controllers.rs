//! The controllers of one operator, side by side.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use futures_util::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use kube::{ResourceExt as _, discovery};
use tracing::{info, warn};

use super::operator::Operator;
use super::status::WAITING_FOR_PLATFORM;
use super::{integration, keys, kit, pipe, platform};
use crate::object::{self, Error};

const RETRY: Duration = Duration::from_secs(1);

/// Runs all controllers until the operator is stopped; what is being reconciled then is finished first.
pub async fn run(operator: Arc<Operator>) {
    if !served(&operator, &keys::integration(), true).await {
        return;
    }
    let mut controllers: Vec<BoxFuture<'_, ()>> = Vec::new();
    let integrations = operator.watched(&keys::integration()).into_iter();
    controllers.extend(integrations.map(|api| integration_controller(api, operator.clone()).boxed()));
    if served(&operator, &keys::platform(), false).await {
        create_platform(&operator).await;
        let places = platform_places(&operator).into_iter();
        controllers.extend(places.map(|api| {
            drive(controller(api, &keys::platform(), &operator), platform::reconcile, operator.clone()).boxed()
        }));
    }
    if served(&operator, &keys::kit(), false).await {
        let kits = operator.watched(&keys::kit()).into_iter();
        controllers.extend(
            kits.map(|api| drive(controller(api, &keys::kit(), &operator), kit::reconcile, operator.clone()).boxed()),
        );
    }
    let pipes = keys::pipe(operator.settings.identity.era);
    if served(&operator, &pipes, false).await {
        controllers.extend(operator.watched(&pipes).into_iter().map(|api| {
            let integrations = beside(&api, &keys::integration(), &operator);
            let controller = controller(api, &pipes, &operator).owns_with(
                integrations,
                keys::integration(),
                watcher::Config::default(),
            );
            drive(controller, pipe::reconcile, operator.clone()).boxed()
        }));
    }
    join_all(controllers).await;
}

/// Integrations are looked at again when their Deployment changes, and those that wait when a platform does.
async fn integration_controller(api: Api<DynamicObject>, operator: Arc<Operator>) {
    let labelled = watcher::Config::default().labels(keys::INTEGRATION);
    let deployments: Api<Deployment> = match api.namespace() {
        Some(namespace) => Api::namespaced(operator.client.clone(), namespace),
        None => Api::all(operator.client.clone()),
    };
    let mut controller = controller(api, &keys::integration(), &operator).owns(deployments, labelled);
    for platforms in platform_places(&operator) {
        let integrations = controller.store();
        let waiting = move |_| -> Vec<ObjectRef<DynamicObject>> {
            let all = integrations.state().into_iter();
            let waiting = all.filter(|object| object::text(object, "/status/phase") == WAITING_FOR_PLATFORM);
            waiting.map(|object| ObjectRef::from_obj_with(&*object, keys::integration())).collect()
        };
        controller = controller.watches_with(platforms, keys::platform(), watcher::Config::default(), waiting);
    }
    drive(controller, integration::reconcile, operator).await;
}

/// Where platforms are: where Integrations are, and beside the operator.
fn platform_places(operator: &Operator) -> Vec<Api<DynamicObject>> {
    let settings = &operator.settings;
    let own = &settings.identity.namespace;
    let mut places = operator.watched(&keys::platform());
    if !settings.identity.global && !settings.watch.contains(own) {
        places.push(operator.in_namespace(&keys::platform(), own));
    }
    places
}

fn beside(api: &Api<DynamicObject>, kind: &ApiResource, operator: &Operator) -> Api<DynamicObject> {
    match api.namespace() {
        Some(namespace) => operator.in_namespace(kind, namespace),
        None => Api::all_with(operator.client.clone(), kind),
    }
}

fn controller(api: Api<DynamicObject>, kind: &ApiResource, operator: &Operator) -> Controller<DynamicObject> {
    let stop = operator.stop.clone();
    Controller::new_with(api, watcher::Config::default(), kind.clone())
        .graceful_shutdown_on(async move { stop.requested().await })
}

async fn drive<F, R>(controller: Controller<DynamicObject>, reconcile: F, operator: Arc<Operator>)
where
    F: FnMut(Arc<DynamicObject>, Arc<Operator>) -> R,
    R: Future<Output = Result<Action, Error>> + Send + 'static,
{
    let (stop, objects) = (operator.stop.clone(), controller.store());
    let reconciled = controller.run(reconcile, retry, operator).for_each(|_| std::future::ready(()));
    // A controller that has not seen its objects yet would wait for them even when it is to stop.
    let too_early = async move {
        stop.requested().await;
        if objects.wait_until_ready().now_or_never().is_some() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = reconciled => {}
        () = too_early => {}
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature is the runtime's")]
fn retry(object: Arc<DynamicObject>, error: &Error, _: Arc<Operator>) -> Action {
    if error.is_conflict() {
        return Action::requeue(RETRY / 10);
    }
    if !matches!(error, Error::Stopping) {
        warn!("{}/{}: {error}", object::namespace(&object), object.name_any());
    }
    Action::requeue(RETRY)
}

/// Whether the API server has a kind. With `wait` it is waited for until the operator is stopped.
async fn served(operator: &Operator, kind: &ApiResource, wait: bool) -> bool {
    let wanted = GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind);
    let mut told = false;
    loop {
        if discovery::pinned_kind(&operator.client, &wanted).await.is_ok() {
            return true;
        }
        if !told {
            info!("{} is not served{}", kind.plural, if wait { ", waiting for it" } else { ": doing without" });
            told = true;
        }
        if !wait || operator.stop.is_requested() {
            return false;
        }
        operator.stop.pause(RETRY).await;
    }
}

async fn create_platform(operator: &Operator) {
    if let Err(error) = platform::create_own(operator).await {
        warn!("cannot create the platform: {error}");
    }
}
