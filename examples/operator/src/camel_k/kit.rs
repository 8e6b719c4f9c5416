//! `IntegrationKit`s: images that are built for Integrations. Nothing is built here; a kit is ready after a while.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::{DynamicObject, PostParams};
use kube::runtime::controller::Action;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tracing::info;

use super::keys;
use super::operator::Operator;
use super::status::{KitRef, Status};
use crate::object::{self, Error};

const BUILD_RUNNING: &str = "Build Running";
const READY: &str = "Ready";

/// Makes the kit of an Integration, if it is not there already.
///
/// It carries the id of the operator that makes it, not that of the Integration.
pub async fn ensure(integration: &DynamicObject, status: &Status, operator: &Operator) -> Result<KitRef, Error> {
    let identity = &operator.settings.identity;
    let own = object::namespace(integration).to_owned();
    let namespace =
        if identity.global && !identity.namespace.is_empty() { identity.namespace.clone() } else { own.clone() };
    let name = name(&status.digest);
    let spec = json!({"dependencies": integration.data.pointer("/spec/dependencies")});
    let mut kit = DynamicObject::new(&name, &keys::kit()).data(json!({"spec": spec}));
    kit.labels_mut().extend([
        ("app".to_owned(), "camel-k".to_owned()),
        (keys::KIT_TYPE.to_owned(), "platform".to_owned()),
        (keys::CREATED_BY_KIND.to_owned(), "Integration".to_owned()),
        (keys::CREATED_BY_NAME.to_owned(), integration.name_any()),
        (keys::CREATED_BY_NAMESPACE.to_owned(), own),
    ]);
    if !identity.id.is_empty() {
        kit.annotations_mut().insert(keys::OPERATOR_ID.to_owned(), identity.id.clone());
    }
    match operator.in_namespace(&keys::kit(), &namespace).create(&PostParams::default(), &kit).await {
        Ok(_) => info!("created integrationkit {namespace}/{name}"),
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => return Err(error.into()),
    }
    Ok(KitRef { name, namespace })
}

/// A name made of the digest; names have no upper case, so this is a shorter hash of it.
fn name(digest: &str) -> String {
    format!("kit-{}", object::hex(&Sha256::digest(digest)[..10]))
}

/// The image of a kit that is ready.
pub async fn image(kit: &KitRef, operator: &Operator) -> Result<Option<String>, Error> {
    let found = operator.in_namespace(&keys::kit(), &kit.namespace).get_opt(&kit.name).await?;
    let ready = found.filter(|kit| object::text(kit, "/status/phase") == READY);
    Ok(ready.map(|kit| object::text(&kit, "/status/image").to_owned()))
}

/// Gives a kit its next phase.
pub async fn reconcile(kit: Arc<DynamicObject>, operator: Arc<Operator>) -> Result<Action, Error> {
    if kit.metadata.deletion_timestamp.is_some() || !operator.takes(&kit).await? {
        return Ok(Action::await_change());
    }
    let (name, namespace) = (kit.name_any(), object::namespace(&kit));
    let status = match object::text(&kit, "/status/phase") {
        "" => json!({"phase": BUILD_RUNNING}),
        BUILD_RUNNING => json!({
            "phase": READY,
            "image": format!("registry.example/{namespace}/camel-k-{name}:1"),
            "version": operator.settings.identity.era.version(),
        }),
        _ => return Ok(Action::await_change()),
    };
    operator.before_change().await?;
    let api = operator.in_namespace(&keys::kit(), namespace);
    object::replace_status(&api, &keys::kit(), &kit, &status).await?;
    Ok(Action::await_change())
}
