//! Whose an object is: kctl's own, or somebody else's that must not be touched.

use serde_json::Value;

use crate::{
    contracts::kinds::{self, Kind},
    error::{Error, ObjectRef, Result},
};

use super::plan::{OWNER, Step, Write};

/// What marks an object as belonging to one operator, or to all.
#[derive(Clone, Copy, Debug)]
pub struct Mark<'a> {
    /// Label key.
    pub label: &'a str,
    /// Its value; `None` means any.
    pub value: Option<&'a str>,
}

/// Whether kctl made this object for the operator that `mark` names.
///
/// The label alone can be written by anybody, so server-side apply must have been used by kctl, too.
pub fn is_own(object: &Value, mark: Mark<'_>) -> bool {
    let label = object.pointer("/metadata/labels").and_then(|labels| labels.get(mark.label)).and_then(Value::as_str);
    let labelled = match mark.value {
        Some(value) => label == Some(value),
        None => label.is_some(),
    };
    labelled && managers(object).any(|(name, operation)| name == OWNER && operation == "Apply")
}

fn managers(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let fields = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    fields.into_iter().flatten().map(|entry| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        (text("manager"), text("operation"))
    })
}

/// Who seems to look after an object: a Helm release, Argo CD, Flux, OLM, another operator id of kctl, or the field managers.
pub fn manager_of(object: &Value) -> String {
    let label =
        |key: &str| object.pointer("/metadata/labels").and_then(|labels| labels.get(key)).and_then(Value::as_str);
    let annotation =
        |key: &str| object.pointer("/metadata/annotations").and_then(|all| all.get(key)).and_then(Value::as_str);
    if let Some(release) = annotation("meta.helm.sh/release-name") {
        let namespace = annotation("meta.helm.sh/release-namespace").unwrap_or_default();
        return format!("Helm release {namespace}/{release}");
    }
    if let Some(tracking) = annotation("argocd.argoproj.io/tracking-id") {
        return format!("Argo CD application {}", tracking.split(':').next().unwrap_or(tracking));
    }
    if let Some(name) = label("kustomize.toolkit.fluxcd.io/name") {
        return format!("Flux kustomization {name}");
    }
    if let Some(owner) = label("olm.owner") {
        return format!("OLM ({owner})");
    }
    if let Some(id) = label("kctl.dev/operator-id") {
        return format!("kctl, for operator id {id}");
    }
    let mut names: Vec<&str> = managers(object).map(|(name, _)| name).filter(|name| !name.is_empty()).collect();
    names.dedup();
    if names.is_empty() { "an unknown manager".to_owned() } else { names.join(", ") }
}

/// The descriptor of an object's kind.
///
/// # Errors
/// A kind that kctl does not write.
pub fn kind_of(object: &Value) -> Result<Kind> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    kinds::of(text("apiVersion"), text("kind")).ok_or_else(|| {
        Error::failed("UnknownKind", format!("kctl does not know {} {}", text("apiVersion"), text("kind")))
    })
}

/// Namespace and name of an object.
pub fn place_of(object: &Value) -> (Option<&str>, &str) {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    (text("/metadata/namespace"), text("/metadata/name").unwrap_or_default())
}

/// The step that brings an object of kctl's about: created when absent, applied over when it is kctl's own.
///
/// # Errors
/// The object exists and is somebody else's (exit 3): applying over it would merge in silence.
pub fn owned_step(object: Value, observed: Option<&Value>, mark: Mark<'_>, force: bool) -> Result<Step> {
    let kind = kind_of(&object)?;
    let (namespace, name) = place_of(&object);
    let (namespace, name) = (namespace.map(str::to_owned), name.to_owned());
    let write = match observed {
        None => Write::CreateOnly { object, manager: OWNER },
        Some(observed) if is_own(observed, mark) => Write::ApplyOwned { object, observed: observed.clone(), force },
        Some(observed) => {
            let place = namespace.as_ref().map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default();
            let error = Error::refused(
                "NotOurs",
                format!(
                    "{}/{name}{place} exists and was not made by kctl for this operator; it belongs to {}",
                    kind.result_name(),
                    manager_of(observed)
                ),
            )
            .object(ObjectRef::new(kind.kind, namespace.as_deref(), &name))
            .hint("choose another id or namespace; kctl never applies over what it did not make");
            return Err(error);
        }
    };
    Ok(Step::new(kind, namespace.as_deref(), &name, write))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    const MARK: Mark<'_> = Mark { label: "kctl.dev/operator-id", value: Some("a") };

    fn object(label: Option<&str>, manager: &str, operation: &str) -> Value {
        let mut object = json!({"metadata": {"name": "x", "namespace": "n", "labels": {},
            "managedFields": [{"manager": manager, "operation": operation}]}});
        if let Some(label) = label {
            object["metadata"]["labels"]["kctl.dev/operator-id"] = json!(label);
        }
        object
    }

    #[test]
    fn an_object_is_own_by_label_and_manager() {
        let cases = [
            (Some("a"), "kctl", "Apply", true),
            (Some("a"), "kctl", "Update", false),
            (Some("a"), "kubectl", "Apply", false),
            (Some("b"), "kctl", "Apply", false),
            (None, "kctl", "Apply", false),
        ];
        for (label, manager, operation, own) in cases {
            assert_eq!(is_own(&object(label, manager, operation), MARK), own, "{label:?} {manager} {operation}");
        }
    }

    #[test]
    fn a_strangers_object_is_refused_and_its_manager_named() {
        let mut stranger = object(None, "helm", "Update");
        stranger["metadata"]["annotations"] =
            json!({"meta.helm.sh/release-name": "camel", "meta.helm.sh/release-namespace": "ops"});
        let wanted =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "namespace": "n"}});
        let error = owned_step(wanted, Some(&stranger), MARK, false).expect_err("refused");
        assert_eq!(error.exit(), crate::error::Exit::Refused);
        assert!(error.message().contains("Helm release ops/camel"), "{error}");
    }

    #[test]
    fn managers_are_recognised() {
        let cases = [
            (
                json!({"annotations": {"argocd.argoproj.io/tracking-id": "app:apps/Deployment:n/x"}}),
                "Argo CD application app",
            ),
            (json!({"labels": {"kustomize.toolkit.fluxcd.io/name": "infra"}}), "Flux kustomization infra"),
            (json!({"labels": {"olm.owner": "camel-k.v2"}}), "OLM (camel-k.v2)"),
            (json!({"labels": {"kctl.dev/operator-id": "b"}}), "kctl, for operator id b"),
            (json!({"managedFields": [{"manager": "kamel", "operation": "Update"}]}), "kamel"),
            (json!({}), "an unknown manager"),
        ];
        for (metadata, expected) in cases {
            assert_eq!(manager_of(&json!({"metadata": metadata})), expected);
        }
    }
}
