//! The Tigera family: operators are told apart by their namespace, and a pointer names the active one.

mod certificates;
mod core;
mod gate;
mod objects;
mod settings;

use anyhow::Result;
use tracing::{error, info};

use crate::process::{Ended, Process, Stop};
use settings::Settings;

/// Namespaces that the operator manages itself. It passes the gate there, and refuses to run then.
const MANAGED: [&str; 6] = [
    "calico-system",
    "istio-system",
    "tigera-elasticsearch",
    "tigera-intrusion-detection",
    "tigera-dpi",
    "tigera-eck-operator",
];

/// Runs an operator until it is stopped, demoted, or loses its lease.
///
/// # Errors
/// None so far.
pub async fn run(process: Process, stop: Stop) -> Result<Ended> {
    let settings = Settings::new(&process.start);
    info!("tigera operator in {:?}", settings.namespace);
    let active = tokio::select! {
        () = gate::pass(&process.client, &settings.namespace, process.flags.tick) => true,
        () = stop.requested() => false,
    };
    if !active {
        return Ok(Ended::Stopped);
    }
    if MANAGED.contains(&settings.namespace.as_str()) {
        error!("cannot run in {}, a namespace that is managed from here", settings.namespace);
        return Ok(Ended::Exited(1));
    }
    let lease = process.lease(&settings.namespace, "operator-lock");
    if !process.lead(lease.as_ref(), &stop).await {
        return Ok(Ended::Stopped);
    }
    let keep = async {
        match &lease {
            Some(lease) => lease.keep().await,
            None => std::future::pending().await,
        }
    };
    let ended = tokio::select! {
        () = core::until_demoted(&process, &settings) => Ended::Exited(0),
        () = keep => Ended::Exited(1),
        () = stop.requested() => Ended::Stopped,
    };
    // Unlike Camel K's, this operator does not give its lease back when it ends.
    if let (true, Some(lease)) = (process.flags.misbehaviour.hold_lease, lease) {
        process.flags.held.hold(lease);
    }
    Ok(ended)
}
