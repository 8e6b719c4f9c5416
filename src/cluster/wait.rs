//! Waiting for conditions, never for a fixed time.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::{
    contracts::kinds::{CRD, DEPLOYMENT, POD},
    error::{Error, ObjectRef, Result},
};

use super::{Call, Cluster, ListOptions};

const SOON: Duration = Duration::from_millis(20);
const NOW_AND_THEN: Duration = Duration::from_millis(500);
/// A definition is established within a fraction of a second; more means that something is wrong with it.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// Waits until a kind that was just defined is served and its storage answers.
///
/// Even an established kind may answer lists with 429 for a moment, and answers 404 before.
pub async fn established(cluster: &Cluster, definition: &str) -> Result<()> {
    let deadline = Instant::now() + ESTABLISHED_WITHIN;
    let late = |what: &str| {
        Error::deadline(format!(
            "{definition} is not served {}s after it was made: {what}",
            ESTABLISHED_WITHIN.as_secs()
        ))
        .object(ObjectRef::new("CustomResourceDefinition", None, definition))
        .hint(format!("kubectl describe crd {definition}"))
    };
    let crd = loop {
        let crd = cluster.get(&CRD, None, definition).await?.unwrap_or_default();
        if condition(&crd, "Established").is_some_and(|(status, _)| status == "True") {
            break crd;
        }
        if let Some((status, message)) = condition(&crd, "NamesAccepted")
            && status == "False"
        {
            return Err(Error::refused("NamesTaken", format!("{definition}: {message}")));
        }
        if Instant::now() > deadline {
            return Err(late("not established"));
        }
        tokio::time::sleep(SOON).await;
    };
    let text = |path: &str| crd.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let path =
        format!("/apis/{}/{}/{}", text("/spec/group"), text("/spec/versions/0/name"), text("/spec/names/plural"));
    let probe = Call::new(http::Method::GET, path, &format!("list {definition}"))
        .query([("limit", "1".to_owned())])
        .metadata_list();
    loop {
        match cluster.call(&probe).await {
            Ok(_) => return Ok(()),
            // Who may not list it need not wait for the list.
            Err(error) if error.is_forbidden() => return Ok(()),
            Err(error) if (error.is_kind_missing() || error.code() == Some(429)) && Instant::now() < deadline => {
                tokio::time::sleep(SOON).await;
            }
            Err(error) if error.is_kind_missing() => return Err(late("still 404")),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until a Deployment has its pods available at its current generation; `tell` hears what it waits for, once each.
pub async fn available(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    timeout: Duration,
    tell: &mut dyn FnMut(&str),
) -> Result<()> {
    let deadline = Instant::now() + timeout;
    let mut told = String::new();
    loop {
        let Some(deployment) = cluster.get(&DEPLOYMENT, Some(namespace), name).await? else {
            return Err(Error::not_found(
                "NotFound",
                format!("deployment.apps/{name} in namespace {namespace} was deleted meanwhile"),
            ));
        };
        let Some(mut why) = not_available(&deployment) else { return Ok(()) };
        if let Some(pods) = pods_say(cluster, namespace, &deployment).await {
            why = format!("{why}: {pods}");
        }
        let line = format!("waiting for deployment.apps/{name} in namespace {namespace}: {why}");
        if line != told {
            tell(&line);
            told = line;
        }
        if Instant::now() >= deadline {
            return Err(Error::deadline(format!(
                "deployment.apps/{name} in namespace {namespace} is not available after {}s: {why}",
                timeout.as_secs()
            ))
            .object(ObjectRef::new("Deployment", Some(namespace), name))
            .hint(format!("kubectl describe pods -n {namespace} -l {}", selector(&deployment)))
            .hint("what was installed stays; run the command again to go on waiting"));
        }
        tokio::time::sleep(NOW_AND_THEN.min(deadline.saturating_duration_since(Instant::now()))).await;
    }
}

/// Why a Deployment is not available, or `None` when it is.
fn not_available(deployment: &Value) -> Option<String> {
    let number = |path: &str| deployment.pointer(path).and_then(Value::as_i64).unwrap_or(0);
    let wanted = deployment.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
    if number("/status/observedGeneration") < number("/metadata/generation") {
        return Some("not looked at by its controller yet".to_owned());
    }
    let (updated, available) = (number("/status/updatedReplicas"), number("/status/availableReplicas"));
    if updated >= wanted && available >= wanted && number("/status/replicas") == updated {
        return None;
    }
    match condition(deployment, "Progressing") {
        Some((status, message)) if status == "False" => Some(message),
        _ => match condition(deployment, "ReplicaFailure") {
            Some((status, message)) if status == "True" => Some(message),
            _ => Some(format!("{available} of {wanted} pods available")),
        },
    }
}

/// What the Deployment's pods say about themselves; nothing when they may not be read.
async fn pods_say(cluster: &Cluster, namespace: &str, deployment: &Value) -> Option<String> {
    let pods = cluster.list(&POD, Some(namespace), &ListOptions::labelled(selector(deployment))).await.ok()?;
    pods.iter().find_map(pod_trouble)
}

fn pod_trouble(pod: &Value) -> Option<String> {
    let statuses = pod.pointer("/status/containerStatuses").and_then(Value::as_array);
    let waiting = statuses.into_iter().flatten().find_map(|status| {
        let waiting = status.pointer("/state/waiting")?;
        let text = |key: &str| waiting.get(key).and_then(Value::as_str).unwrap_or_default();
        Some(
            [text("reason"), text("message")]
                .iter()
                .filter(|part| !part.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join(", "),
        )
    });
    waiting.or_else(|| {
        let (status, message) = condition(pod, "PodScheduled")?;
        (status == "False").then_some(message)
    })
}

fn selector(deployment: &Value) -> String {
    let labels = deployment.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    let pairs = labels.into_iter().flatten().filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    pairs.collect::<Vec<_>>().join(",")
}

/// Status and message of a condition.
fn condition(object: &Value, of: &str) -> Option<(String, String)> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    let found = all.iter().find(|condition| condition["type"] == of)?;
    let text = |key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some((text("status"), text("message")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn available_means_of_this_generation() {
        let deployment = |generation: i64, observed: i64, updated: i64, available: i64| {
            json!({"metadata": {"generation": generation}, "spec": {"replicas": 1},
                "status": {"observedGeneration": observed, "updatedReplicas": updated, "availableReplicas": available, "replicas": 1}})
        };
        assert_eq!(not_available(&deployment(2, 2, 1, 1)), None);
        assert!(not_available(&deployment(2, 1, 1, 1)).is_some(), "of the generation before");
        assert!(not_available(&deployment(2, 2, 0, 1)).is_some(), "an old pod is available");
        assert_eq!(not_available(&deployment(2, 2, 1, 0)).as_deref(), Some("0 of 1 pods available"));
    }

    #[test]
    fn pods_tell_what_they_wait_for() {
        let pulling = json!({"status": {"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]}});
        assert_eq!(pod_trouble(&pulling).as_deref(), Some("ImagePullBackOff, no such image"));
        let pending = json!({"status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes fit"}]}});
        assert_eq!(pod_trouble(&pending).as_deref(), Some("0/3 nodes fit"));
        assert_eq!(pod_trouble(&json!({"status": {}})), None);
    }
}
