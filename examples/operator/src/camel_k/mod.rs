//! The Camel K family: resources carry the id of their operator, and each operator takes its own.

mod controllers;
mod digest;
mod flow;
mod integration;
mod keys;
mod kit;
mod operator;
mod pipe;
mod platform;
mod rule;
mod settings;
mod status;
mod workload;

use std::sync::Arc;

use anyhow::Result;
use tracing::{info, warn};

use crate::process::{Ended, Process, Stop};
use operator::Operator;
pub use rule::Era;
use settings::Settings;

/// Runs an operator until it is stopped or loses its lease.
///
/// # Errors
/// The environment does not tell what to watch.
pub async fn run(process: Process, stop: Stop) -> Result<Ended> {
    let settings = Settings::new(process.flags.era, &process.start.env)?;
    let identity = &settings.identity;
    info!(id = identity.id, era = %identity.era, watch = ?settings.watch, "camel-k operator in {}", identity.namespace);
    let lease = process.lease(&identity.namespace, &settings.lease());
    if !process.lead(lease.as_ref(), &stop).await {
        return Ok(Ended::Stopped);
    }
    let operator = Operator {
        client: process.client.clone(),
        settings,
        slow: process.flags.misbehaviour.slow,
        stop: stop.child(),
    };
    let lost = async {
        match &lease {
            Some(lease) => lease.keep().await,
            None => std::future::pending().await,
        }
    };
    let ended = tokio::select! {
        () = controllers::run(Arc::new(operator)) => Ended::Stopped,
        // Somebody else may act now; all there is to do is to be gone at once.
        () = lost => Ended::Exited(1),
    };
    if let (Ended::Stopped, Some(lease)) = (ended, lease) {
        // The controllers are done: only now may somebody else act.
        if process.flags.misbehaviour.hold_lease {
            process.flags.held.hold(lease);
        } else {
            lease.release().await;
        }
    }
    if ended != Ended::Stopped {
        warn!("no longer the leader");
    }
    Ok(ended)
}
