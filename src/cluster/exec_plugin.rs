//! Credential plugins of a kubeconfig, run once.
//!
//! kube runs the plugin three times for one https client and blocks the thread while it does; here it runs once,
//! as a child process that a deadline can end, and its answer is put in the place of the plugin.

use std::{process::Stdio, time::Duration};

use kube::config::{Config, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use crate::error::{Error, Result};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    api_version: &'a str,
    kind: &'static str,
    spec: Spec<'a>,
}

#[derive(Serialize)]
struct Spec<'a> {
    interactive: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a ExecAuthCluster>,
}

#[derive(Deserialize)]
struct Answer {
    status: Option<Credential>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Credential {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// Runs the exec plugin of `config`, if it has one, and replaces it by the credential it gave.
pub(super) async fn run_once(config: &mut Config, timeout: Duration, unattended: bool) -> Result<()> {
    let Some(plugin) = config.auth_info.exec.take() else { return Ok(()) };
    let command = plugin.command.clone().unwrap_or_default();
    let refused = |what: String| {
        let error = Error::not_authorised(format!("credential plugin {command:?}: {what}"));
        plugin.install_hint.iter().fold(error, |error, hint| error.hint(hint.trim()))
    };
    let running = process(&plugin, unattended).map_err(refused)?.spawn().map_err(|error| refused(error.to_string()))?;
    let output = if timeout.is_zero() {
        running.wait_with_output().await
    } else {
        tokio::time::timeout(timeout, running.wait_with_output()).await.map_err(|_| {
            Error::deadline(format!("credential plugin {command:?} did not answer within {}s", timeout.as_secs()))
        })?
    }
    .map_err(|error| refused(error.to_string()))?;
    if !output.status.success() {
        return Err(refused(output.status.to_string()));
    }
    let answer: Answer =
        serde_saphyr::from_slice(&output.stdout).map_err(|_| refused("its answer is no ExecCredential".into()))?;
    let credential = answer.status.ok_or_else(|| refused("its answer has no status".into()))?;
    if credential.token.is_none() && credential.client_certificate_data.is_none() {
        return Err(refused("its answer has neither a token nor a certificate".into()));
    }
    let auth = &mut config.auth_info;
    auth.token = credential.token.map(Into::into);
    if let (Some(certificate), Some(key)) = (credential.client_certificate_data, credential.client_key_data) {
        // The plugin gives PEM, a kubeconfig base64 of it.
        use base64::{Engine, prelude::BASE64_STANDARD};
        auth.client_certificate_data = Some(BASE64_STANDARD.encode(certificate));
        auth.client_key_data = Some(BASE64_STANDARD.encode(key).into());
    }
    Ok(())
}

fn process(plugin: &ExecConfig, unattended: bool) -> std::result::Result<Command, String> {
    let program = plugin.command.as_deref().ok_or("the kubeconfig names no command")?;
    if unattended && plugin.interactive_mode == Some(ExecInteractiveMode::Always) {
        return Err("it needs a terminal".into());
    }
    let interactive = !unattended && plugin.interactive_mode != Some(ExecInteractiveMode::Never);
    let request = Request {
        api_version: plugin.api_version.as_deref().unwrap_or("client.authentication.k8s.io/v1"),
        kind: "ExecCredential",
        spec: Spec { interactive, cluster: plugin.cluster.as_ref().filter(|_| plugin.provide_cluster_info) },
    };
    let info = serde_json::to_string(&request).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(plugin.args.iter().flatten()).env("KUBERNETES_EXEC_INFO", info);
    for entry in plugin.env.iter().flatten() {
        if let (Some(name), Some(value)) = (entry.get("name"), entry.get("value")) {
            command.env(name, value);
        }
    }
    command.stdin(if interactive { Stdio::inherit() } else { Stdio::null() });
    command.stderr(if unattended { Stdio::null() } else { Stdio::inherit() });
    command.stdout(Stdio::piped()).kill_on_drop(true);
    Ok(command)
}
