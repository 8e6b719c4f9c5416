//! What an install finds out of the cluster about the settings themselves: whether it is OpenShift, and whether what they
//! name is there.

use http::Method;

use crate::{
    cluster::{Call, Cluster},
    contracts::kinds::{CONFIG_MAP, NAMESPACE, SECRET},
    error::{Error, ObjectRef, Result},
    manifests::operator::Operator,
    ui::Ui,
};

/// Whether the cluster is OpenShift: it serves routes.
pub async fn is_openshift(cluster: &Cluster) -> Result<bool> {
    let call = Call::new(Method::GET, "/apis/route.openshift.io", "look for OpenShift");
    match cluster.call(&call).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() || error.is_kind_missing() || error.is_forbidden() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Refuses settings that name a Secret or `ConfigMap` which is not there. Only metadata is read.
///
/// # Errors
/// One is missing (exit 5).
pub async fn check(cluster: &Cluster, ui: &Ui, operator: &Operator<'_>) -> Result<()> {
    let namespace = operator.namespace;
    for watched in operator.role_namespaces().iter().filter(|watched| *watched != namespace) {
        let call = Call::on(Method::GET, &NAMESPACE, None, watched, "look for").metadata_only();
        match cluster.call(&call).await {
            Err(error) if error.is_not_found() => {
                return Err(Error::not_found(
                    "NamespaceNotFound",
                    format!("namespace {watched}, which is to be watched, not found"),
                )
                .object(ObjectRef::new("Namespace", None, watched))
                .hint(format!("make it first: kubectl create namespace {watched}")));
            }
            Err(error) if !error.is_forbidden() => return Err(error.into()),
            _ => {}
        }
    }
    for (kind, name) in operator.named_objects() {
        let kind = if kind == "Secret" { SECRET } else { CONFIG_MAP };
        let call = Call::on(Method::GET, &kind, Some(namespace), &name, "look for").metadata_only();
        match cluster.call(&call).await {
            Ok(_) => {}
            Err(error) if error.is_forbidden() => {
                ui.warn(&format!("you may not read {}/{name}: whether it exists was not checked", kind.result_name()));
            }
            Err(error) if error.is_not_found() => {
                let how = if kind == SECRET { "secret generic" } else { "configmap" };
                return Err(Error::not_found(
                    "NamedObjectNotFound",
                    format!("{}/{name}, which the settings name, is not in namespace {namespace}", kind.result_name()),
                )
                .object(ObjectRef::new(kind.kind, Some(namespace), &name))
                .hint(format!("make it first: kubectl create {how} {name} -n {namespace} …")));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
