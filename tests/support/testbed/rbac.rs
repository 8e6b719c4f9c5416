//! Rights for users of a cluster.

use std::time::Duration;

use serde_json::{Value, json};

use super::users::User;
use super::wait::{wait_for, wait_until};
use super::{Client, Cluster};

const DEADLINE: Duration = Duration::from_secs(20);
const GROUP: &str = "rbac.authorization.k8s.io";

impl Cluster {
    /// Gives `user` the `rules` (a list as in a Role) in `namespace`, or everywhere when that is `None`, and waits until they hold.
    #[track_caller]
    pub fn grant(&self, user: &User, namespace: Option<&str>, rules: &Value) {
        let name = self.unique("granted");
        let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
        self.create(&json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": metadata(&name, namespace), "rules": rules,
        }));
        self.bind(user, namespace, kind, &name);
        self.await_rules(user, namespace, rules);
    }

    /// Gives `user` an existing `ClusterRole` in `namespace`, or everywhere when that is `None`, and waits until it holds.
    /// `view`, `edit` and `admin` are put together by a controller: they have rules on a cluster with nodes only.
    #[track_caller]
    pub fn grant_role(&self, user: &User, namespace: Option<&str>, cluster_role: &str) {
        let path = format!("/apis/{GROUP}/v1/clusterroles/{cluster_role}");
        let rules = wait_for(&format!("ClusterRole {cluster_role} to have rules"), DEADLINE, || {
            let rules = self.get(&path)["rules"].take();
            if rules.is_array() { Ok(rules) } else { Err("view, edit and admin need Cluster::full()".into()) }
        });
        self.bind(user, namespace, "ClusterRole", cluster_role);
        self.await_rules(user, namespace, &rules);
    }

    fn bind(&self, user: &User, namespace: Option<&str>, role_kind: &str, role: &str) {
        let kind = if namespace.is_some() { "RoleBinding" } else { "ClusterRoleBinding" };
        self.create(&json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": metadata(&self.unique("granted"), namespace),
            "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user.name}],
        }));
    }

    /// The authorizer learns of a binding by watching; one that it does not know yet would make a test fail now and then.
    fn await_rules(&self, user: &User, namespace: Option<&str>, rules: &Value) {
        for rule in rules.as_array().into_iter().flatten().filter(|rule| rule.get("resources").is_some()) {
            let attributes = attributes_of(rule, namespace);
            wait_until(&format!("{} to be allowed {attributes}", user.name), DEADLINE, || {
                allowed(self, user, &attributes)
            });
        }
    }
}

fn metadata(name: &str, namespace: Option<&str>) -> Value {
    namespace.map_or_else(|| json!({"name": name}), |namespace| json!({"name": name, "namespace": namespace}))
}

/// One request that `rule` allows.
fn attributes_of(rule: &Value, namespace: Option<&str>) -> Value {
    let first = |key: &str| rule[key][0].as_str().unwrap_or_default();
    let (resource, subresource) = first("resources").split_once('/').unwrap_or((first("resources"), ""));
    json!({
        "verb": first("verbs"), "group": first("apiGroups"), "resource": resource, "subresource": subresource,
        "name": first("resourceNames"), "namespace": namespace.unwrap_or_default(),
    })
}

fn allowed(client: &Client, user: &User, attributes: &Value) -> bool {
    let review = client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user.name, "groups": [user.group, "system:authenticated"], "resourceAttributes": attributes},
    }));
    review.pointer("/status/allowed") == Some(&Value::Bool(true))
}
