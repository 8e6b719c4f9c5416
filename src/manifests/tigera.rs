//! A second Tigera operator like a present one: the objects it needs in its own namespace, cloned and cleaned.

use serde_json::{Map, Value, json};

use crate::contracts::tigera;

/// Label on what kctl has cloned, with the namespace of the original.
pub const CLONE_LABEL: &str = "kctl.dev/cloned-from";

/// What a clone is made from.
#[derive(Clone, Debug, Default)]
pub struct Original {
    /// The operator's Deployment.
    pub deployment: Value,
    /// Its `ServiceAccount`.
    pub account: Option<Value>,
    /// Names of the `ClusterRole`s that its account is bound to.
    pub cluster_roles: Vec<String>,
    /// Whether it has the `RoleBinding` for Secrets.
    pub has_secrets_binding: bool,
}

/// The objects of an operator in namespace `to`, each before what needs it.
///
/// The Deployment and its account keep their names: the namespace tells operators apart. The cluster-wide binding gets a name
/// of its own, since the original's belongs to whoever installed that.
pub fn clone(original: &Original, from: &str, to: &str) -> Vec<Value> {
    let account = text(&original.deployment, "/spec/template/spec/serviceAccountName");
    let account = if account.is_empty() { tigera::SERVICE_ACCOUNT } else { account };
    let mut out = vec![service_account(original.account.as_ref(), account, from, to)];
    for role in &original.cluster_roles {
        out.push(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": format!("{role}-{to}"), "labels": labels(None, from)},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": to}],
        }));
    }
    if original.has_secrets_binding {
        out.push(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": tigera::SECRETS_BINDING, "namespace": to, "labels": labels(None, from)},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": tigera::SECRETS_BINDING},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": to}],
        }));
    }
    out.push(deployment(&original.deployment, from, to));
    out
}

fn service_account(original: Option<&Value>, name: &str, from: &str, to: &str) -> Value {
    let mut out = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": to, "labels": labels(original, from)},
    });
    if let Some(pulls) = original.and_then(|original| original.get("imagePullSecrets")) {
        out["imagePullSecrets"] = pulls.clone();
    }
    out
}

fn deployment(original: &Value, from: &str, to: &str) -> Value {
    let mut spec = original["spec"].clone();
    // One pod is what a standby needs, whatever the original was scaled to.
    spec["replicas"] = json!(1);
    if let Some(template) = spec.pointer_mut("/template/metadata").and_then(Value::as_object_mut) {
        template.remove("creationTimestamp");
        if let Some(annotations) = template.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|key, _| !key.starts_with("kubectl.kubernetes.io/"));
        }
    }
    let containers = spec.pointer_mut("/template/spec/containers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        let variables = container.get_mut("env").and_then(Value::as_array_mut);
        for variable in variables.into_iter().flatten() {
            if variable["name"] == tigera::ENV_OPERATOR_NAMESPACE && variable["value"] == *from {
                variable["value"] = json!(to);
            }
        }
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": text(original, "/metadata/name"),
            "namespace": to,
            "labels": labels(Some(original), from),
        },
        "spec": spec,
    })
}

/// The original's labels without those by which other tools know what is theirs.
fn labels(original: Option<&Value>, from: &str) -> Value {
    let theirs = ["helm.sh/", "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "olm.", "kctl.dev/"];
    let kept = original.and_then(|object| object.pointer("/metadata/labels")).and_then(Value::as_object);
    let mut out: Map<String, Value> = kept
        .into_iter()
        .flatten()
        .filter(|(key, _)| !theirs.iter().any(|start| key.starts_with(start)) && *key != "app.kubernetes.io/instance")
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    out.insert("app.kubernetes.io/managed-by".into(), json!("kctl"));
    out.insert(CLONE_LABEL.into(), json!(from));
    Value::Object(out)
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_has_everything_of_its_own() {
        let original = Original {
            deployment: json!({
                "metadata": {"name": "tigera-operator", "namespace": "old", "uid": "u", "ownerReferences": [{}],
                    "labels": {"k8s-app": "tigera-operator", "app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "c"},
                    "annotations": {"meta.helm.sh/release-name": "calico", "deployment.kubernetes.io/revision": "3"}},
                "spec": {"replicas": 0, "selector": {"matchLabels": {"name": "tigera-operator"}}, "template": {
                    "metadata": {"creationTimestamp": null, "labels": {"name": "tigera-operator"},
                        "annotations": {"kubectl.kubernetes.io/restartedAt": "x", "kept": "y"}},
                    "spec": {"serviceAccountName": "calico", "containers": [{"name": "tigera-operator", "env": [
                        {"name": "OPERATOR_NAMESPACE", "value": "old"}, {"name": "OTHER", "value": "old"}]}]}}},
                "status": {"readyReplicas": 1},
            }),
            account: Some(json!({"imagePullSecrets": [{"name": "pull"}], "secrets": [{"name": "token"}]})),
            cluster_roles: vec!["tigera-operator".into()],
            has_secrets_binding: true,
        };
        let made = clone(&original, "old", "alt");
        let kinds: Vec<&str> = made.iter().filter_map(|object| object["kind"].as_str()).collect();
        assert_eq!(kinds, ["ServiceAccount", "ClusterRoleBinding", "RoleBinding", "Deployment"]);
        assert_eq!(made[0]["metadata"]["name"], "calico");
        assert_eq!((made[0].get("secrets"), &made[0]["imagePullSecrets"][0]["name"]), (None, &json!("pull")));
        assert_eq!(made[1]["metadata"]["name"], "tigera-operator-alt");
        assert_eq!(made[1]["subjects"][0], json!({"kind": "ServiceAccount", "name": "calico", "namespace": "alt"}));
        let deployment = &made[3];
        assert_eq!(
            deployment["metadata"],
            json!({"name": "tigera-operator", "namespace": "alt", "labels": {"k8s-app": "tigera-operator",
                "app.kubernetes.io/managed-by": "kctl", "kctl.dev/cloned-from": "old"}})
        );
        assert_eq!((deployment.get("status"), &deployment["spec"]["replicas"]), (None, &json!(1)));
        assert_eq!(
            deployment["spec"]["template"]["metadata"],
            json!({"labels": {"name": "tigera-operator"}, "annotations": {"kept": "y"}})
        );
        let env = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
        assert_eq!((&env[0]["value"], &env[1]["value"]), (&json!("alt"), &json!("old")));
    }
}
