//! Roles that an operator of kctl's has left over from a scope it no longer has.

use serde_json::Value;

use crate::{contracts::kinds::ROLE_BINDING, error::Result};

use super::{
    install::key,
    objects::{Mark, is_own, kind_of, place_of},
    plan::{Step, Write},
};

/// Whose roles they are.
#[derive(Clone, Copy, Debug)]
pub struct Former<'a> {
    /// Mark on the operator's objects.
    pub mark: Mark<'a>,
    /// Names that its roles and bindings may have.
    pub names: &'a [String],
    /// The `ServiceAccount`: namespace, name.
    pub account: (&'a str, &'a str),
}

/// Deletes of those of `found` (roles and bindings) that the operator has no use for any more, roles first: the binding
/// tells whose they are, so it goes last.
///
/// An object counts only when kctl applied it for this id under a name of this instance. A binding must name nobody but
/// the operator's account, and a role goes only with such a binding of its name. Another instance of the id (a standby, a
/// former holder) has the same label, and keeps its roles by these rules.
///
/// # Errors
/// An object that is neither role nor binding.
pub fn stale(found: &[Value], wanted: &[Value], former: Former<'_>) -> Result<Vec<Step>> {
    let wanted: Vec<String> = wanted.iter().map(key).collect::<Result<_>>()?;
    let mut bindings = Vec::new();
    let mut roles = Vec::new();
    for object in found {
        let ours = is_own(object, former.mark) && former.names.iter().any(|name| name == place_of(object).1);
        let going = ours && !wanted.contains(&key(object)?);
        let kind = object["kind"].as_str().unwrap_or_default();
        match (kind.ends_with(ROLE_BINDING.kind), going) {
            (true, true) if only_for(object, former.account) => bindings.push(object),
            (false, true) => roles.push(object),
            _ => {}
        }
    }
    roles.retain(|role| bindings.iter().any(|binding| place_of(binding) == place_of(role)));
    roles.into_iter().chain(bindings).map(delete).collect()
}

fn only_for(binding: &Value, (namespace, name): (&str, &str)) -> bool {
    let subjects = binding["subjects"].as_array().map(Vec::as_slice).unwrap_or_default();
    subjects.iter().all(|subject| {
        subject["kind"] == "ServiceAccount" && subject["name"] == name && subject["namespace"] == namespace
    })
}

/// A delete of an object at the uid that was seen.
///
/// # Errors
/// A kind that kctl does not write.
pub fn delete(object: &Value) -> Result<Step> {
    let (namespace, name) = place_of(object);
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Step::new(kind_of(object)?, namespace, name, Write::Delete { uid }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: &str, namespace: Option<&str>, name: &str, owner: &str, account: &str) -> Value {
        let mut object = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
            "metadata": {"name": name, "uid": format!("uid-{kind}"), "labels": {"kctl.dev/operator-id": "a"},
                "managedFields": [{"manager": owner, "operation": "Apply"}]},
        });
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        if kind.ends_with("Binding") {
            object["subjects"] = json!([{"kind": "ServiceAccount", "name": "a-operator", "namespace": account}]);
        }
        object
    }

    #[test]
    fn only_this_instances_own_leftovers_go() {
        let names = ["a-operator".to_owned(), "kctl-camel-k-a".to_owned()];
        let former = Former {
            mark: Mark { label: "kctl.dev/operator-id", value: Some("a") },
            names: &names,
            account: ("ops", "a-operator"),
        };
        let cases: [(&str, Vec<Value>, &[&str]); 7] = [
            (
                "a former scope",
                vec![
                    object("ClusterRole", None, "kctl-camel-k-a", "kctl", ""),
                    object("ClusterRoleBinding", None, "kctl-camel-k-a", "kctl", "ops"),
                ],
                &["ClusterRole", "ClusterRoleBinding"],
            ),
            (
                "a binding whose role is gone already",
                vec![object("RoleBinding", Some("team"), "a-operator", "kctl", "ops")],
                &["RoleBinding"],
            ),
            (
                "a role that another run is about to bind",
                vec![object("Role", Some("team"), "a-operator", "kctl", "")],
                &[],
            ),
            (
                "another instance's",
                vec![
                    object("Role", Some("team"), "a-operator", "kctl", ""),
                    object("RoleBinding", Some("team"), "a-operator", "kctl", "alt"),
                ],
                &[],
            ),
            ("another name", vec![object("Role", Some("team"), "a-operator-alt", "kctl", "")], &[]),
            ("another tool", vec![object("Role", Some("team"), "a-operator", "helm", "")], &[]),
            ("still wanted", vec![object("Role", Some("ops"), "a-operator", "kctl", "")], &[]),
        ];
        let wanted = [object("Role", Some("ops"), "a-operator", "kctl", "")];
        for (what, found, expected) in cases {
            let steps = stale(&found, &wanted, former).expect(what);
            let kinds: Vec<&str> = steps.iter().map(|step| step.kind.kind).collect();
            assert_eq!(kinds, expected, "{what}");
            assert!(steps.iter().all(|step| matches!(&step.write, Write::Delete { uid } if uid.starts_with("uid-"))));
        }
    }
}
