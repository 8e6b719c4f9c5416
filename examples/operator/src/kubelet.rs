//! Plays the pod of a Deployment on clusters whose pods only pretend to run.
//!
//! The operator runs in this process while the Deployment has a ready pod, with the environment that the pod's container
//! would have. Scaled to 0, deleted or not ready any more: it stops. When it ends by itself it is started again, and the
//! pod's status says so, as the kubelet does (without its growing back-off).

use std::pin::pin;
use std::time::Duration;

use anyhow::Result;
use futures_util::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, EnvVar, Pod, PodSpec};
use kube::api::{Api, ListParams, ObjectMeta, Patch, PatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::json;
use tokio::task::JoinHandle;
use tracing::{info, warn};

use crate::args::Family;
use crate::environment::Environment;
use crate::process::{Ended, Flags, Process, Start, Stop};

/// Runs the operator of `family` as the pods of a Deployment, until it is stopped.
///
/// # Errors
/// None so far; what goes wrong is logged and tried again.
pub async fn play(
    client: Client,
    namespace: &str,
    name: &str,
    flags: Flags,
    family: Family,
    stop: Stop,
) -> Result<Ended> {
    let api = Api::<Deployment>::namespaced(client.clone(), namespace);
    let mut deployments = pin!(watcher::watch_object(api, name).default_backoff());
    let mut current: Option<Played> = None;
    info!("playing the pod of deployment {namespace}/{name}");
    loop {
        let deployment = tokio::select! {
            event = deployments.next() => match event {
                Some(Ok(deployment)) => deployment,
                Some(Err(error)) => { warn!("cannot watch the deployment: {error}"); continue }
                None => break,
            },
            () = stop.requested() => break,
        };
        let playing = current.as_ref().map(|played| played.uid.clone());
        let pod = match deployment {
            Some(deployment) => match ready_pod(&client, &deployment, playing.as_deref()).await {
                Ok(pod) => pod,
                Err(error) => {
                    warn!("cannot list the pods of the deployment: {error}");
                    continue;
                }
            },
            None => None,
        };
        if playing == pod.as_ref().map(|pod| pod.uid().unwrap_or_default()) {
            continue;
        }
        if let Some(played) = current.take() {
            played.stop().await;
        }
        current = pod.map(|pod| Played::start(&client, pod, &flags, family, &stop));
    }
    if let Some(played) = current {
        played.stop().await;
    }
    Ok(Ended::Stopped)
}

/// The pod that is played at the moment.
struct Played {
    uid: String,
    stop: Stop,
    task: JoinHandle<()>,
}

impl Played {
    fn start(client: &Client, pod: Pod, flags: &Flags, family: Family, stop: &Stop) -> Self {
        info!("pod {} is ready", pod.name_any());
        let stop = stop.child();
        let uid = pod.uid().unwrap_or_default();
        let task = tokio::spawn(containers(client.clone(), pod, flags.clone(), family, stop.clone()));
        Self { uid, stop, task }
    }

    async fn stop(self) {
        info!("the pod is gone");
        self.stop.request();
        if let Err(error) = self.task.await {
            warn!("the operator ended badly: {error}");
        }
    }
}

/// One container after the other, until the pod is gone.
async fn containers(client: Client, pod: Pod, flags: Flags, family: Family, stop: Stop) {
    while !stop.is_requested() {
        let start = start_of(&pod, flags.identity.as_deref());
        let process = Process::new(client.clone(), start, flags.clone());
        let code = match crate::operator(family, process, stop.child()).await {
            Ok(Ended::Stopped) => break,
            Ok(Ended::Exited(code)) => code,
            Err(error) => {
                warn!("{error:#}");
                1
            }
        };
        info!("the operator exited with {code} and is started again");
        if let Err(error) = record_restart(&client, &pod, code).await {
            warn!("cannot record the restart: {error}");
        }
        if code != 0 {
            stop.pause(Duration::from_secs(1)).await;
        }
    }
}

/// A ready pod of the Deployment, the one that is played already if possible.
async fn ready_pod(client: &Client, deployment: &Deployment, playing: Option<&str>) -> kube::Result<Option<Pod>> {
    let wanted = deployment.spec.replicas != Some(0);
    let ready = deployment.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or_default();
    if !wanted || ready == 0 || deployment.metadata.deletion_timestamp.is_some() {
        return Ok(None);
    }
    let labels = deployment.spec.selector.match_labels.clone().unwrap_or_default();
    let selector: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let api = Api::<Pod>::namespaced(client.clone(), &deployment.namespace().unwrap_or_default());
    let pods = api.list(&ListParams::default().labels(&selector.join(","))).await?.items;
    if pods.is_empty() {
        return Ok(Some(imagined_pod(deployment)));
    }
    let mut ready: Vec<Pod> = pods.into_iter().filter(is_ready).collect();
    ready.sort_by_key(|pod| pod.uid().as_deref() != playing);
    Ok(ready.into_iter().next())
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let ready = conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
    ready && pod.metadata.deletion_timestamp.is_none()
}

/// A Deployment that says it has ready pods and has none: an API server without controllers, and a test that wrote the
/// status. The pod is made up from the template.
fn imagined_pod(deployment: &Deployment) -> Pod {
    let template = deployment.spec.template.clone();
    let metadata = ObjectMeta {
        name: deployment.metadata.name.clone(),
        namespace: deployment.metadata.namespace.clone(),
        uid: deployment.metadata.uid.clone(),
        ..template.metadata.unwrap_or_default()
    };
    Pod { metadata, spec: template.spec, status: None }
}

fn start_of(pod: &Pod, identity: Option<&str>) -> Start {
    let spec = pod.spec.clone().unwrap_or_default();
    let host = match (identity, spec.host_network, &spec.node_name) {
        (Some(identity), ..) => identity.to_owned(),
        (None, Some(true), Some(node)) => node.clone(),
        _ => pod.name_any(),
    };
    let variables = spec.containers.first().map(|container| environment(container, pod, &spec)).unwrap_or_default();
    Start { env: variables, host, pod_namespace: pod.namespace() }
}

/// Plain values and the pod's own fields. `ConfigMap`s and Secrets are left out, and said.
fn environment(container: &Container, pod: &Pod, spec: &PodSpec) -> Environment {
    let variables = container.env.iter().flatten().filter_map(|variable| {
        let value = value_of(variable, pod, spec);
        if value.is_none() {
            warn!("variable {} is left out: it is neither a value nor a field of the pod", variable.name);
        }
        value.map(|value| (variable.name.clone(), value))
    });
    variables.collect()
}

fn value_of(variable: &EnvVar, pod: &Pod, spec: &PodSpec) -> Option<String> {
    let Some(source) = &variable.value_from else {
        // The API server drops empty values: a bare name is set and empty.
        return Some(variable.value.clone().unwrap_or_default());
    };
    match source.field_ref.as_ref()?.field_path.as_str() {
        "metadata.name" => Some(pod.name_any()),
        "metadata.namespace" => pod.namespace(),
        "spec.nodeName" => Some(spec.node_name.clone().unwrap_or_default()),
        "spec.serviceAccountName" => Some(spec.service_account_name.clone().unwrap_or_default()),
        path => {
            let key = path.strip_prefix("metadata.annotations['")?.strip_suffix("']")?;
            Some(pod.annotations().get(key).cloned().unwrap_or_default())
        }
    }
}

/// Counts a restart of the pod's first container.
async fn record_restart(client: &Client, pod: &Pod, code: u8) -> kube::Result<()> {
    let api = Api::<Pod>::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    let Some(pod) = api.get_opt(&pod.name_any()).await? else { return Ok(()) };
    let mut containers = json!(pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()));
    let Some(first) = containers.get_mut(0) else { return Ok(()) };
    let now = Timestamp::now();
    let reason = if code == 0 { "Completed" } else { "Error" };
    first["restartCount"] = json!(first["restartCount"].as_i64().unwrap_or_default() + 1);
    first["lastState"] = json!({"terminated": {
        "exitCode": code,
        "reason": reason,
        "startedAt": first["state"]["running"]["startedAt"],
        "finishedAt": now,
    }});
    first["state"] = json!({"running": {"startedAt": now}});
    let patch = Patch::Merge(json!({"status": {"containerStatuses": containers}}));
    api.patch_status(&pod.name_any(), &PatchParams::default(), &patch).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(spec: serde_json::Value) -> Pod {
        let mut pod = json!({"metadata": {"name": "a-1", "namespace": "ops"}});
        pod["spec"] = spec;
        serde_json::from_value(pod).expect("a pod")
    }

    #[test]
    fn a_container_gets_values_and_fields() {
        let start = start_of(
            &pod(json!({"nodeName": "node-0", "containers": [{"name": "operator", "env": [
                {"name": "WATCH_NAMESPACE"},
                {"name": "OPERATOR_ID", "value": "tenant-a"},
                {"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
                {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "HIDDEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            ]}]})),
            None,
        );
        assert_eq!(start.env.get("WATCH_NAMESPACE"), Some(""), "set and empty");
        assert_eq!(start.env.get("OPERATOR_ID"), Some("tenant-a"));
        assert_eq!(start.env.get("NAMESPACE"), Some("ops"));
        assert_eq!(start.env.get("POD_NAME"), Some("a-1"));
        assert_eq!(start.env.get("HIDDEN"), None);
        assert_eq!(start.host, "a-1");
    }

    #[test]
    fn a_pod_on_the_host_network_is_known_by_its_node() {
        let pod = pod(json!({"nodeName": "node-0", "hostNetwork": true, "containers": []}));
        assert_eq!(start_of(&pod, None).host, "node-0");
        assert_eq!(start_of(&pod, Some("me")).host, "me");
    }
}
