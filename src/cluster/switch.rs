//! Reads what a switch of the active Tigera operator depends on. What may not be read is told apart from what is absent.

use std::collections::BTreeSet;

use futures_util::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde_json::{Value, json};

use crate::{
    contracts::{
        kinds::{
            CLUSTER_ROLE, CLUSTER_ROLE_BINDING, CONFIG_MAP, CRD, DEPLOYMENT, Kind, LEASE, NAMESPACE, POD, ROLE,
            ROLE_BINDING, SECRET, SERVICE_ACCOUNT, SUBJECT_ACCESS_REVIEW,
        },
        tigera,
    },
    tenancy::{
        evidence::{DeploymentFacts, LeaseFacts},
        switch::{
            copies::NEVER_TYPES,
            pointer::Pointer,
            preflight::{Target, binds, fingerprint},
            proof::Look,
        },
    },
};

use super::{ApiError, Call, Cluster, ListOptions};

const AT_ONCE: usize = 8;

/// What could not be read on the way, in the words of the server.
pub type Unread = BTreeSet<String>;

fn readable<T>(answer: Result<T, ApiError>, unread: &mut Unread) -> Result<Option<T>, ApiError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_forbidden() => {
            unread.insert(error.message());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Lists of kinds that are not served are empty.
fn served(answer: Result<Vec<Value>, ApiError>) -> Result<Vec<Value>, ApiError> {
    match answer {
        Err(error) if error.is_kind_missing() => Ok(Vec::new()),
        other => other,
    }
}

impl Cluster {
    /// The pointer to the active operator.
    pub async fn pointer(&self) -> Result<Pointer, ApiError> {
        let pointer = tigera::POINTER;
        Ok(Pointer::read(self.get(&pointer.kind, Some(pointer.namespace), pointer.name).await?))
    }

    /// The Installation: inner `None` when there is none, outer when it may not be read.
    pub async fn installation(&self, unread: &mut Unread) -> Result<Option<Option<Value>>, ApiError> {
        match self.get(&tigera::INSTALLATION, None, tigera::INSTALLATION_NAME).await {
            Err(error) if error.is_kind_missing() => Ok(Some(None)),
            answer => readable(answer, unread),
        }
    }

    /// Deployments of Tigera operators in a namespace.
    pub async fn tigera_operators(&self, namespace: &str) -> Result<Vec<Value>, ApiError> {
        let labelled = ListOptions::labelled(format!("k8s-app={}", tigera::DEPLOYMENT));
        let mut found = self.list(&DEPLOYMENT, Some(namespace), &labelled).await?;
        let named = |object: &Value| object.pointer("/metadata/name") == Some(&tigera::DEPLOYMENT.into());
        if !found.iter().any(named) {
            found.extend(self.get(&DEPLOYMENT, Some(namespace), tigera::DEPLOYMENT).await?);
        }
        found.retain(|object| DeploymentFacts::parse(&tigera::FAMILY, object).is_some());
        Ok(found)
    }

    /// Everything about the namespace that is to become active.
    pub async fn switch_target(&self, name: &str, unread: &mut Unread) -> Result<Target, ApiError> {
        let mut target = Target { name: name.to_owned(), ..Target::default() };
        target.namespace = readable(self.get(&NAMESPACE, None, name).await, unread)?;
        if target.namespace == Some(None) {
            return Ok(target);
        }
        target.deployments = self.tigera_operators(name).await?;
        let account = target.account_name();
        let everywhere = ListOptions::default();
        let (found, cluster_bindings, binding) = tokio::join!(
            self.get(&SERVICE_ACCOUNT, Some(name), &account),
            self.list(&CLUSTER_ROLE_BINDING, None, &everywhere),
            self.get(&ROLE_BINDING, Some(name), tigera::SECRETS_BINDING),
        );
        target.account = readable(found, unread)?.map(|found| found.is_some());
        target.cluster_bindings = readable(cluster_bindings, unread)?;
        target.secrets_binding = readable(binding, unread)?;
        if target.account == Some(true) && !self.is_snapshot() {
            target.account_lacks = self.account_lacks(name, &account, unread).await?;
        }
        self.cluster_objects(&mut target, &account, unread).await?;
        target.config_maps = self.environment_of(&target, unread).await?;
        Ok(target)
    }

    async fn environment_of(
        &self,
        target: &Target,
        unread: &mut Unread,
    ) -> Result<crate::tenancy::env::ConfigMaps, ApiError> {
        let mut out = crate::tenancy::env::ConfigMaps::new();
        let Some(facts) = target.facts() else { return Ok(out) };
        for name in facts.environment.config_maps() {
            let Some(found) = readable(self.get(&CONFIG_MAP, Some(&target.name), name).await, unread)? else {
                continue;
            };
            let data = found.map(|object| {
                let entries = object["data"].as_object().cloned().unwrap_or_default();
                entries.into_iter().filter_map(|(key, value)| Some((key, value.as_str()?.to_owned()))).collect()
            });
            out.insert((target.name.clone(), name.to_owned()), data);
        }
        Ok(out)
    }

    /// The cluster-scoped objects an operator needs: its role, the bindings of its account, the kinds.
    async fn cluster_objects(&self, target: &mut Target, account: &str, unread: &mut Unread) -> Result<(), ApiError> {
        let options = ListOptions::cached_metadata();
        let (role, kinds) = tokio::join!(self.get(&CLUSTER_ROLE, None, tigera::CLUSTER_ROLE), async {
            served(self.list(&CRD, None, &options).await)
        });
        let role = readable(role, unread)?.flatten();
        target.cluster_objects.extend(role.map(|role| (CLUSTER_ROLE, role)));
        let bindings = target.cluster_bindings.iter().flatten().filter(|binding| binds(binding, account, &target.name));
        target
            .cluster_objects
            .extend(bindings.map(|binding| (CLUSTER_ROLE_BINDING, binding.clone())).collect::<Vec<_>>());
        let ours = |object: &Value| {
            let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            name.ends_with(".operator.tigera.io")
        };
        let kinds = readable(kinds, unread)?.unwrap_or_default();
        target.cluster_objects.extend(kinds.into_iter().filter(ours).map(|kind| (CRD, kind)));
        Ok(())
    }

    /// What the operator's account may not do, of what it cannot do without, by the API server's own word.
    async fn account_lacks(
        &self,
        namespace: &str,
        account: &str,
        unread: &mut Unread,
    ) -> Result<Vec<String>, ApiError> {
        let system = tigera::POINTER.namespace;
        let wanted = [
            ("list", CONFIG_MAP, system),
            ("watch", CONFIG_MAP, system),
            ("get", SECRET, namespace),
            ("create", SECRET, namespace),
            ("update", SECRET, namespace),
            ("update", LEASE, namespace),
            ("get", tigera::INSTALLATION, ""),
        ];
        let answers: Vec<_> = stream::iter(wanted)
            .map(|(verb, kind, place)| async move {
                let allowed = self.account_may(namespace, account, verb, &kind, place).await;
                (verb, kind, place, allowed)
            })
            .buffered(AT_ONCE)
            .collect()
            .await;
        let mut lacks = Vec::new();
        for (verb, kind, place, allowed) in answers {
            match readable(allowed, unread)? {
                Some(true) => {}
                Some(false) if place.is_empty() => lacks.push(format!("{verb} {}", kind.qualified_plural())),
                Some(false) => lacks.push(format!("{verb} {} in namespace {place}", kind.qualified_plural())),
                None => return Ok(Vec::new()),
            }
        }
        Ok(lacks)
    }

    async fn account_may(
        &self,
        namespace: &str,
        account: &str,
        verb: &str,
        kind: &Kind,
        place: &str,
    ) -> Result<bool, ApiError> {
        let review = json!({
            "apiVersion": SUBJECT_ACCESS_REVIEW.api_version(),
            "kind": SUBJECT_ACCESS_REVIEW.kind,
            "spec": {
                "user": format!("system:serviceaccount:{namespace}:{account}"),
                "groups": ["system:serviceaccounts", format!("system:serviceaccounts:{namespace}"), "system:authenticated"],
                "resourceAttributes": {"verb": verb, "group": kind.group, "resource": kind.plural, "namespace": place},
            },
        });
        let call = Call::new(Method::POST, SUBJECT_ACCESS_REVIEW.path(None, None), "ask what an account may do")
            .body("application/json", review);
        let answer = self.call(&call).await?;
        Ok(answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or(false))
    }

    /// Whose account may write Secrets in the pointer's namespace: the operator that reconciled last.
    pub async fn fingerprint(&self, unread: &mut Unread) -> Result<Option<String>, ApiError> {
        let found = self.get(&ROLE_BINDING, Some(tigera::POINTER.namespace), tigera::SECRETS_BINDING).await;
        Ok(readable(found, unread)?.flatten().as_ref().and_then(fingerprint))
    }

    /// Metadata of the Secrets and `ConfigMap`s in a namespace; a kind that may not be listed is missing.
    pub async fn contents(&self, namespace: &str, unread: &mut Unread) -> Result<Vec<(Kind, Value)>, ApiError> {
        let metadata = ListOptions { metadata_only: true, ..ListOptions::default() };
        let types = NEVER_TYPES.map(|name| format!("type!={name}")).join(",");
        // Metadata does not tell the type, but the server selects by it.
        let secrets = ListOptions { fields: (!self.is_snapshot()).then_some(types), ..metadata.clone() };
        let mut out = Vec::new();
        for (kind, options) in [(SECRET, secrets), (CONFIG_MAP, metadata)] {
            let found = readable(self.list(&kind, Some(namespace), &options).await, unread)?.unwrap_or_default();
            out.extend(found.into_iter().map(|object| (kind, object)));
        }
        Ok(out)
    }

    /// What `RoleBinding`s of a namespace let others than `account` read its Secrets.
    pub async fn secret_readers(&self, namespace: &str, account: &str) -> Result<Vec<String>, ApiError> {
        let mut unread = Unread::new();
        let all = self.list(&ROLE_BINDING, Some(namespace), &ListOptions::default()).await;
        let bindings = readable(all, &mut unread)?.unwrap_or_default();
        let readers = stream::iter(bindings.iter().filter(|binding| !binds(binding, account, namespace)))
            .map(|binding| async move {
                let reference = |key: &str| binding.pointer(&format!("/roleRef/{key}")).and_then(Value::as_str);
                let kind = if reference("kind") == Some(ROLE.kind) { ROLE } else { CLUSTER_ROLE };
                let role = self.get(&kind, Some(namespace), reference("name").unwrap_or_default()).await;
                let role = readable(role, &mut Unread::new())?.flatten();
                Ok::<_, ApiError>(role.filter(reads_secrets).map(|_| subjects(binding)))
            })
            .buffered(AT_ONCE)
            .try_collect::<Vec<_>>()
            .await?;
        Ok(readers.into_iter().flatten().flatten().collect())
    }

    /// One look at what may prove a take-over.
    pub async fn look(&self, from: Option<&str>, to: &str) -> Result<Look, ApiError> {
        let mut unread = Unread::new();
        let system = tigera::POINTER.namespace;
        let name = tigera::FAMILY.lease.of("");
        let (new_lease, old_lease, new_pods, old_pods, binding) = tokio::join!(
            self.get(&LEASE, Some(to), &name),
            async {
                match from {
                    Some(from) => self.get(&LEASE, Some(from), &name).await,
                    None => Ok(None),
                }
            },
            self.operator_pods(Some(to)),
            self.operator_pods(from),
            self.get(&ROLE_BINDING, Some(system), tigera::SECRETS_BINDING),
        );
        let lease = |found: Option<Value>| found.as_ref().and_then(LeaseFacts::parse);
        Ok(Look {
            new_lease: lease(readable(new_lease, &mut unread)?.flatten()),
            old_lease: lease(readable(old_lease, &mut unread)?.flatten()),
            new_pods: readable(new_pods, &mut unread)?.unwrap_or_default(),
            old_pods: readable(old_pods, &mut unread)?.unwrap_or_default(),
            fingerprint: readable(binding, &mut unread)?.flatten().as_ref().and_then(fingerprint),
        })
    }

    async fn operator_pods(&self, namespace: Option<&str>) -> Result<Vec<Value>, ApiError> {
        let Some(namespace) = namespace else { return Ok(Vec::new()) };
        let labelled = ListOptions::labelled(format!("k8s-app={}", tigera::DEPLOYMENT));
        self.list(&POD, Some(namespace), &labelled).await
    }
}

fn reads_secrets(role: &Value) -> bool {
    let has = |rule: &Value, key: &str, wanted: &[&str]| {
        rule[key].as_array().into_iter().flatten().filter_map(Value::as_str).any(|found| wanted.contains(&found))
    };
    role["rules"].as_array().into_iter().flatten().any(|rule| {
        has(rule, "apiGroups", &["", "*"])
            && has(rule, "resources", &["secrets", "*"])
            && has(rule, "verbs", &["get", "list", "watch", "*"])
    })
}

fn subjects(binding: &Value) -> Vec<String> {
    let all = binding["subjects"].as_array().into_iter().flatten();
    all.map(|subject| {
        let part = |key: &str| subject[key].as_str().unwrap_or_default();
        match part("namespace") {
            "" => format!("{} {}", part("kind").to_lowercase(), part("name")),
            namespace => format!("{} {namespace}/{}", part("kind").to_lowercase(), part("name")),
        }
    })
    .collect()
}
