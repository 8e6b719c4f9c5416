//! Integrations: from taken to running, one phase at a time.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use kube::runtime::controller::Action;
use tracing::info;

use super::digest::digest;
use super::operator::Operator;
use super::platform::{self, Platform};
use super::status::{BUILDING_KIT, DEPLOYING, ERROR, INITIALIZATION, RUNNING, Status, WAITING_FOR_PLATFORM};
use super::{keys, kit, workload};
use crate::object::{self, Error};

/// A lock may go, or a kit become ready, without an event that leads here.
const LATER: Duration = Duration::from_secs(1);

/// Does the next thing an Integration needs.
pub async fn reconcile(integration: Arc<DynamicObject>, operator: Arc<Operator>) -> Result<Action, Error> {
    if integration.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    if !operator.takes(&integration).await? {
        return Ok(if object::annotation(&integration, keys::OPERATOR_ID).is_empty() {
            Action::requeue(LATER * 10)
        } else {
            Action::await_change()
        });
    }
    let before: Status = object::status(&integration);
    let mut after = next(&integration, &before, &operator).await?;
    after.observed_generation = integration.metadata.generation;
    if after != before {
        if after.phase != before.phase {
            operator.before_change().await?;
        }
        let api = operator.in_namespace(&keys::integration(), object::namespace(&integration));
        object::replace_status(&api, &keys::integration(), &integration, &after).await?;
        if after.phase != before.phase {
            info!("integration {}: {:?} -> {:?}", integration.name_any(), before.phase, after.phase);
        }
    }
    Ok(if after.phase == BUILDING_KIT { Action::requeue(LATER) } else { Action::await_change() })
}

/// The status an Integration is to have next.
async fn next(integration: &DynamicObject, before: &Status, operator: &Operator) -> Result<Status, Error> {
    match before.phase.as_str() {
        "" | WAITING_FOR_PLATFORM => begin(integration, before, operator).await,
        INITIALIZATION => initialize(integration, before, operator).await,
        BUILDING_KIT => build(before, operator).await,
        // Only these notice that the Integration is not what was built: a move during a build is a known trap.
        DEPLOYING | RUNNING | ERROR if before.digest != digest(integration) => {
            info!("integration {} has changed, beginning anew", integration.name_any());
            Ok(Status::begun(before.profile.clone(), String::new(), digest(integration)))
        }
        DEPLOYING => {
            workload::apply(integration, before, operator).await?;
            Ok(observe(integration, before.clone().in_phase(RUNNING), operator).await?)
        }
        RUNNING => {
            let lacking = workload::get(integration, operator).await?.is_none();
            if lacking || before.observed_generation != integration.metadata.generation {
                workload::apply(integration, before, operator).await?;
            }
            observe(integration, before.clone(), operator).await
        }
        _ => Ok(before.clone()),
    }
}

async fn begin(integration: &DynamicObject, before: &Status, operator: &Operator) -> Result<Status, Error> {
    let (platform, reason) = match platform::of(operator, integration, &before.platform).await? {
        Platform::Ready(name) => return Ok(Status::begun(before.profile.clone(), name, digest(integration))),
        Platform::NotNeeded => return Ok(Status::begun(before.profile.clone(), String::new(), digest(integration))),
        Platform::NotReady(name) => (name, "the platform is not ready"),
        Platform::None => (String::new(), "there is no platform"),
    };
    let waiting = Status { platform, ..before.clone() }.in_phase(WAITING_FOR_PLATFORM);
    Ok(waiting.with_condition("IntegrationPlatformAvailable", false, "IntegrationPlatformNotAvailable", reason))
}

async fn initialize(integration: &DynamicObject, before: &Status, operator: &Operator) -> Result<Status, Error> {
    if let Some(image) = own_image(integration) {
        return Ok(Status { image, ..before.clone() }.in_phase(DEPLOYING));
    }
    let kit = kit::ensure(integration, before, operator).await?;
    Ok(Status { integration_kit: Some(kit), ..before.clone() }.in_phase(BUILDING_KIT))
}

/// An image that needs no build, from the container trait.
fn own_image(integration: &DynamicObject) -> Option<String> {
    let image = match object::text(integration, "/spec/traits/container/image") {
        "" => object::annotation(integration, &format!("{}container.image", keys::TRAIT)),
        image => image,
    };
    (!image.is_empty()).then(|| image.to_owned())
}

async fn build(before: &Status, operator: &Operator) -> Result<Status, Error> {
    let Some(kit) = &before.integration_kit else { return Ok(before.clone().in_phase(INITIALIZATION)) };
    Ok(match kit::image(kit, operator).await? {
        Some(image) => {
            let version = operator.settings.identity.era.version().to_owned();
            Status { image, version, ..before.clone() }.in_phase(DEPLOYING)
        }
        None => before.clone(),
    })
}

/// The status with what the workload's own status says.
async fn observe(integration: &DynamicObject, status: Status, operator: &Operator) -> Result<Status, Error> {
    let deployment = workload::get(integration, operator).await?;
    let wanted = workload::replicas(integration);
    let available = deployment.as_ref().map(workload::available).unwrap_or_default();
    let ready = available >= wanted;
    let reason = if ready { "DeploymentReady" } else { "DeploymentProgressing" };
    let message = format!("{available}/{wanted} ready replicas");
    let selector = format!("{}={}", keys::INTEGRATION, integration.name_any());
    Ok(Status { replicas: Some(wanted), selector, ..status }.with_condition("Ready", ready, reason, &message))
}
