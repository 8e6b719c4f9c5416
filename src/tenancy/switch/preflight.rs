//! What must be true before a Tigera operator may become the active one. Each finding has its own reason and message.

use serde_json::Value;

use crate::{
    contracts::{MajorMinor, is_dns_label, kinds::Kind, tigera},
    error::Exit,
    tenancy::{
        env::{ConfigMaps, Setting},
        evidence::DeploymentFacts,
        objects, version,
    },
};

use super::{
    Finding,
    pointer::{Pointer, Says},
};

/// What was looked at around the namespace that is to become active. `None` means that it could not be read.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// The namespace; inner `None` when it does not exist.
    pub namespace: Option<Option<Value>>,
    /// Deployments of operators in it.
    pub deployments: Vec<Value>,
    /// `ConfigMap`s their environment refers to.
    pub config_maps: ConfigMaps,
    /// Whether the operator's `ServiceAccount` exists.
    pub account: Option<bool>,
    /// `ClusterRoleBinding`s of the cluster.
    pub cluster_bindings: Option<Vec<Value>>,
    /// The `RoleBinding` for Secrets in the namespace; inner `None` when it does not exist.
    pub secrets_binding: Option<Option<Value>>,
    /// What the operator's account may not do, as the API server says.
    pub account_lacks: Vec<String>,
    /// Cluster-scoped objects the operator needs, with their kinds.
    pub cluster_objects: Vec<(Kind, Value)>,
}

impl Target {
    /// The operator's Deployment.
    pub fn facts(&self) -> Option<DeploymentFacts> {
        self.deployments.iter().find_map(|object| DeploymentFacts::parse(&tigera::FAMILY, object))
    }

    /// The operator's version.
    pub fn version(&self) -> Option<MajorMinor> {
        self.version_text().as_deref().and_then(version::major_minor)
    }

    /// The operator's version as it is written.
    pub fn version_text(&self) -> Option<String> {
        let facts = self.facts()?;
        let label = facts.labels.get(tigera::FAMILY.version_label);
        version::of_operator(facts.image.as_deref(), label.map(String::as_str))
    }

    /// The name of the operator's account.
    pub fn account_name(&self) -> String {
        let facts = self.facts();
        let named = facts.map(|facts| facts.pod.service_account).filter(|name| !name.is_empty());
        named.unwrap_or_else(|| tigera::SERVICE_ACCOUNT.to_owned())
    }
}

/// What is wrong with the pointer. Everything but an exact name of a namespace with an operator wants `--repair`.
pub fn pointer(pointer: &Pointer, to: &str, source_has_operator: Option<bool>, repair: bool) -> Vec<Finding> {
    let place = format!("configmap/{} in namespace {}", tigera::POINTER.name, tigera::POINTER.namespace);
    let mend = format!("to make {to} the active one: kctl switch-active -n {to} --repair");
    let mut found = Vec::new();
    if pointer.is_immutable() && pointer.namespace().as_deref() != Some(to) {
        found.push(
            Finding::refuse(
                "PointerImmutable",
                format!("{place} is immutable: it can only be replaced, and while it is absent every operator takes itself for the active one"),
            )
            .hint("scale the operators that are to wait to 0 replicas, then delete and re-create it without immutable, in one go"),
        );
        return found;
    }
    let bad = match pointer.says() {
        Says::Absent => Some((
            "PointerMissing",
            format!(
                "{place} does not exist: every operator that is deployed takes itself for the active one, so several may write at once"
            ),
        )),
        Says::Nothing => Some((
            "PointerEmpty",
            format!("{place} has no value under {}: all operators wait and nothing is reconciled", tigera::POINTER.key),
        )),
        Says::Garbled(text) if is_dns_label(text.trim()) => Some((
            "PointerBlank",
            format!(
                "{place} says {text:?}, with blanks around the name: the value is compared byte for byte, so all operators wait"
            ),
        )),
        Says::Garbled(text) => Some((
            "PointerMalformed",
            format!("{place} says {text:?}, which is no namespace name: all operators wait and nothing is reconciled"),
        )),
        Says::Namespace(name) if name != to && source_has_operator == Some(false) => Some((
            "PointerDangling",
            format!("{place} says {name}, where no operator is deployed: all operators wait and nothing is reconciled"),
        )),
        Says::Namespace(_) => None,
    };
    if let Some((reason, message)) = bad {
        found.push(if repair { Finding::warn(reason, message) } else { Finding::refuse(reason, message).hint(mend) });
    }
    found
}

/// What is wrong with the target.
pub fn target(target: &Target) -> Vec<Finding> {
    let name = &target.name;
    if tigera::PROTECTED.contains(&name.as_str()) {
        return vec![
            Finding::refuse(
                "ProtectedNamespace",
                format!("namespace {name} is managed by the operator itself: an operator in it refuses to run"),
            )
            .hint("choose another namespace"),
        ];
    }
    match &target.namespace {
        Some(None) => {
            return vec![
                Finding::refuse("NamespaceNotFound", format!("namespace {name} not found")).exits(Exit::NotFound),
            ];
        }
        Some(Some(namespace)) if namespace.pointer("/status/phase") == Some(&"Terminating".into()) => {
            return vec![Finding::refuse("NamespaceTerminating", format!("namespace {name} is being deleted"))];
        }
        _ => {}
    }
    let Some(facts) = target.facts() else {
        return vec![
            Finding::refuse(
                "NoOperator",
                format!(
                    "no Tigera operator is deployed in namespace {name}: a pointer to it would make all operators wait"
                ),
            )
            .exits(Exit::NotFound)
            .hint(format!("make one like the present one: kctl install --family tigera --like NAMESPACE -n {name}")),
        ];
    };
    let mut found = deployment(target, &facts);
    found.extend(rbac(target));
    found.extend(foreign_release(target));
    found
}

fn deployment(target: &Target, facts: &DeploymentFacts) -> Vec<Finding> {
    let name = &target.name;
    let label = format!("deployment.apps/{} in namespace {name}", facts.name);
    let object = &target.deployments[0];
    let number = |at: &str| object.pointer(at).and_then(Value::as_i64).unwrap_or(0);
    let mut found = Vec::new();
    if target.deployments.len() > 1 {
        found.push(Finding::warn(
            "SeveralOperators",
            format!(
                "{} operators are deployed in namespace {name}: they have one identity and elect one by their lease",
                target.deployments.len()
            ),
        ));
    }
    if facts.replicas == 0 {
        found.push(
            Finding::refuse("NoReplicas", format!("{label} has 0 replicas"))
                .hint(format!("kubectl scale deployment/{} -n {name} --replicas=1", facts.name)),
        );
    } else if number("/status/observedGeneration") < number("/metadata/generation") {
        found.push(
            Finding::refuse("NotObserved", format!("{label} was changed and its controller has not looked at it yet"))
                .hint("run the command again in a moment"),
        );
    } else if number("/status/availableReplicas") < 1 {
        found.push(
            Finding::refuse("NotAvailable", format!("{label} has no available pod"))
                .hint(format!("kubectl describe deployment/{} -n {name}", facts.name)),
        );
    }
    match facts.environment.get(tigera::ENV_OPERATOR_NAMESPACE, &facts.pod, &target.config_maps) {
        Setting::Value(own) if own.is_empty() => found.push(Finding::refuse(
            "EmptyOperatorNamespace",
            format!("{label} sets {} to nothing: it would never find itself active, and starts when the pointer has no value", tigera::ENV_OPERATOR_NAMESPACE),
        )),
        Setting::Value(own) if own != *name => found.push(Finding::refuse(
            "OtherOperatorNamespace",
            format!("{label} sets {} to {own}: it would wait although {name} is active", tigera::ENV_OPERATOR_NAMESPACE),
        )),
        _ => {}
    }
    match target.version() {
        Some(version) if version < tigera::POINTER_SINCE => found.push(Finding::refuse(
            "VersionTooOld",
            format!("{label} is of version {}, which does not know the pointer (v1.23 and later do): it is active all the time", target.version_text().unwrap_or_default()),
        )),
        Some(_) => {}
        None => found.push(Finding::warn("VersionUnknown", format!("the version of {label} cannot be read off its image's tag: what a switch restarts cannot be foretold"))),
    }
    found
}

fn rbac(target: &Target) -> Vec<Finding> {
    let name = &target.name;
    let account = target.account_name();
    let mut found = Vec::new();
    if target.account == Some(false) {
        found.push(Finding::refuse(
            "NoServiceAccount",
            format!("serviceaccount/{account} in namespace {name} does not exist"),
        ));
    }
    if target.cluster_bindings.as_ref().is_some_and(|all| !all.iter().any(|binding| binds(binding, &account, name))) {
        found.push(
            Finding::refuse(
                "NoClusterRoleBinding",
                format!("no ClusterRoleBinding has serviceaccount {account} of namespace {name} as a subject: its operator could read nothing and would wait for ever"),
            )
            .hint(format!("kubectl create clusterrolebinding {}-{name} --clusterrole={} --serviceaccount={name}:{account}", tigera::CLUSTER_ROLE, tigera::CLUSTER_ROLE)),
        );
    }
    let namespaced = target.version().is_none_or(|version| version >= tigera::NAMESPACED_SECRETS_SINCE);
    if namespaced {
        let place = format!("rolebinding/{} in namespace {name}", tigera::SECRETS_BINDING);
        let make = format!(
            "kubectl create rolebinding {} -n {name} --clusterrole={} --serviceaccount={name}:{account}",
            tigera::SECRETS_BINDING,
            tigera::SECRETS_BINDING
        );
        match &target.secrets_binding {
            Some(None) if target.account_lacks.is_empty() => {}
            Some(None) => found.push(
                Finding::refuse(
                    "NoSecretsBinding",
                    format!("{place} does not exist: the operator could write no Secret in its namespace"),
                )
                .hint(make),
            ),
            Some(Some(binding)) if !binds(binding, &account, name) => found.push(
                Finding::refuse(
                    "SecretsBindingSubject",
                    format!(
                        "{place} is for {}, not for serviceaccount {account} of namespace {name}",
                        subjects(binding)
                    ),
                )
                .hint(format!("kubectl delete rolebinding {} -n {name} && {make}", tigera::SECRETS_BINDING)),
            ),
            _ => {}
        }
    }
    if !target.account_lacks.is_empty() && found.is_empty() {
        found.push(Finding::refuse(
            "AccountLacksRights",
            format!("serviceaccount {account} of namespace {name} may not: {}", target.account_lacks.join("; ")),
        ));
    }
    found
}

/// Whether a binding has a service account among its subjects.
pub fn binds(binding: &Value, account: &str, namespace: &str) -> bool {
    subjects_of(binding).any(|subject| {
        let part = |key: &str| subject.get(key).and_then(Value::as_str).unwrap_or_default();
        match part("kind") {
            "ServiceAccount" => part("name") == account && part("namespace") == namespace,
            "User" => part("name") == format!("system:serviceaccount:{namespace}:{account}"),
            "Group" => {
                part("name") == format!("system:serviceaccounts:{namespace}")
                    || part("name") == "system:serviceaccounts"
            }
            _ => false,
        }
    })
}

fn subjects(binding: &Value) -> String {
    let all: Vec<String> = subjects_of(binding)
        .map(|subject| {
            let part = |key: &str| subject.get(key).and_then(Value::as_str).unwrap_or_default();
            format!("{} {}/{}", part("kind").to_lowercase(), part("namespace"), part("name"))
        })
        .collect();
    if all.is_empty() { "nobody".to_owned() } else { all.join(", ") }
}

fn subjects_of(binding: &Value) -> impl Iterator<Item = &Value> {
    binding.get("subjects").and_then(Value::as_array).into_iter().flatten()
}

/// The namespace of the account that a binding is for: who was in charge last.
pub fn fingerprint(binding: &Value) -> Option<String> {
    subjects_of(binding)
        .find(|subject| subject["kind"] == "ServiceAccount")
        .and_then(|subject| subject["namespace"].as_str())
        .map(str::to_owned)
}

/// Cluster-scoped objects the target needs that go when another release is uninstalled.
fn foreign_release(target: &Target) -> Vec<Finding> {
    let of_other = target.cluster_objects.iter().filter(|(_, object)| {
        let annotation = |key: &str| object.pointer("/metadata/annotations").and_then(|all| all.get(key));
        annotation("meta.helm.sh/release-namespace").and_then(Value::as_str).is_some_and(|owner| owner != target.name)
    });
    let names: Vec<String> = of_other
        .map(|(kind, object)| {
            let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            format!("{}/{name} ({})", kind.result_name(), objects::manager_of(object))
        })
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    vec![
        Finding::warn(
            "OwnedByOtherRelease",
            format!(
                "{} needs objects that another Helm release owns; uninstalling that release would take the network down: {}",
                target.name,
                names.join(", ")
            ),
        )
        .hint("before the old release is uninstalled, keep them: kubectl annotate KIND/NAME helm.sh/resource-policy=keep"),
    ]
}

/// What the step from one version to another means.
pub fn versions(from: Option<&str>, to: Option<&str>) -> Vec<Finding> {
    let parsed = |text: Option<&str>| text.and_then(version::parse);
    match (parsed(from), parsed(to)) {
        (Some(old), Some(new)) if new < old => {
            vec![Finding::warn("Downgrade", format!("this is a downgrade from {old} to {new}"))]
        }
        _ => Vec::new(),
    }
}

/// Which pods restart when an operator of this version takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restarts {
    /// None, if the certificates were copied.
    None,
    /// Each of Calico's workloads, once.
    Once,
    /// It cannot be told.
    Unknown,
}

/// Foretells the restarts.
pub fn restarts(version: Option<MajorMinor>) -> Restarts {
    match version {
        None => Restarts::Unknown,
        Some(version) if version >= tigera::NAMESPACE_IN_TEMPLATES_SINCE => Restarts::Once,
        Some(_) => Restarts::None,
    }
}

/// What the target will have of the certificates once the copies are made. `has` tells by name.
pub fn certificates(version: Option<MajorMinor>, source_ca: bool, has: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let Some(version) = version else { return Vec::new() };
    if version < tigera::CENTRAL_CA_SINCE {
        let all = tigera::SEED_SECRETS.iter().chain([&tigera::SEED_CONFIG_MAP]);
        let (there, missing): (Vec<&str>, Vec<&str>) = all.copied().partition(|name| has(name));
        return match (there.is_empty(), missing.is_empty()) {
            (false, false) => vec![Finding::refuse(
                "PartialCertificates",
                format!(
                    "this version needs all or none of its certificates; there would be {} and not {}",
                    there.join(", "),
                    missing.join(", ")
                ),
            )],
            (true, _) => vec![Finding::warn(
                "NewCertificates",
                "no certificates are copied: new ones are made, and until calico-node and calico-typha have both restarted they do not trust each other",
            )],
            _ => Vec::new(),
        };
    }
    if has(tigera::CA) {
        return Vec::new();
    }
    let message = "secret/tigera-ca-private will not be in the target: a new CA is made and every certificate is issued anew, which restarts all of Calico";
    if source_ca { vec![Finding::warn("NewCa", message)] } else { Vec::new() }
}

/// What becomes of the API server's address.
pub fn endpoint(installation: Option<&Value>, source_has: bool, target_has: bool) -> Vec<Finding> {
    if !source_has || target_has {
        return Vec::new();
    }
    let bpf = installation
        .and_then(|installation| installation.pointer("/spec/calicoNetwork/linuxDataplane"))
        .is_some_and(|plane| plane == "BPF");
    let message = format!(
        "configmap/{} will not be in the target: calico-node would be rendered without the API server's address",
        tigera::ENDPOINT
    );
    if bpf {
        vec![Finding::refuse("EndpointMissing", format!("{message}, and in eBPF mode that cuts the nodes off"))]
    } else {
        vec![Finding::warn("EndpointMissing", message)]
    }
}

/// The Installation decides what can be proved.
pub fn installation(found: Option<&Option<Value>>) -> Vec<Finding> {
    match found {
        Some(None) => vec![Finding::warn(
            "NoInstallation",
            "there is no Installation: an active operator does nothing without it, so only lease and pods can prove the take-over",
        )],
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[path = "preflight_tests.rs"]
mod tests;
