//! Leader election by a Lease, as controller-runtime does it.
//!
//! A holder writes its name and the time, again and again. Others take the Lease over when it names nobody, or when they
//! have not seen it change for as long as it says. Clocks of different machines are never compared.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease as Object, LeaseSpec};
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Error, ResourceExt};
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tracing::{info, warn};

/// A Lease this process wants to hold.
#[derive(Clone)]
pub struct Lease {
    api: Api<Object>,
    namespace: String,
    name: String,
    holder: String,
    duration: Duration,
}

impl Lease {
    /// `host` is the host name the process sees; a suffix makes it unique among restarts.
    pub fn new(client: &Client, namespace: &str, name: &str, host: &str, duration: Duration) -> Self {
        Self {
            api: Api::namespaced(client.clone(), namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            holder: format!("{host}_{}", uuid::Uuid::new_v4()),
            duration,
        }
    }

    /// Waits until the Lease is held.
    pub async fn acquire(&self) {
        let mut seen = Seen::default();
        loop {
            match self.try_acquire(&mut seen).await {
                Ok(true) => break,
                Ok(false) => {}
                // Somebody else was faster.
                Err(Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {}
                Err(error) => warn!("cannot acquire lease {self}: {error}"),
            }
            sleep(self.pause()).await;
        }
        info!("holding lease {self} as {}", self.holder);
    }

    /// Renews the Lease for as long as that works. Returns when it is lost.
    pub async fn keep(&self) {
        let mut renewed = Instant::now();
        // Give up well before others may take over.
        while renewed.elapsed() < self.duration * 2 / 3 {
            sleep(self.pause()).await;
            match self.renew().await {
                Ok(true) => renewed = Instant::now(),
                Ok(false) => break,
                Err(error) => warn!("cannot renew lease {self}: {error}"),
            }
        }
        warn!("lost lease {self}");
    }

    /// Gives the Lease back, so that nobody has to wait until it expires.
    pub async fn release(&self) {
        let released = async {
            let mut lease = self.api.get(&self.name).await?;
            if holder(&lease) != self.holder {
                return Ok(());
            }
            let now = Timestamp::now().into();
            let spec = lease.spec.get_or_insert_default();
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            spec.renew_time = Some(now);
            spec.acquire_time = spec.renew_time.clone();
            self.api.replace(&self.name, &PostParams::default(), &lease).await.map(drop)
        };
        match released.await {
            Ok(()) => info!("released lease {self}"),
            Err(error) => warn!("cannot release lease {self}: {error}"),
        }
    }

    async fn try_acquire(&self, seen: &mut Seen) -> Result<bool, Error> {
        let Some(mut lease) = self.api.get_opt(&self.name).await? else {
            let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
            let lease = Object { metadata, spec: Some(self.taken(None)) };
            return self.api.create(&PostParams::default(), &lease).await.map(|_| true);
        };
        if !holder(&lease).is_empty() && !seen.expired(&lease) {
            return Ok(false);
        }
        lease.spec = Some(self.taken(lease.spec.as_ref()));
        self.api.replace(&self.name, &PostParams::default(), &lease).await.map(|_| true)
    }

    fn taken(&self, before: Option<&LeaseSpec>) -> LeaseSpec {
        let now = Timestamp::now();
        LeaseSpec {
            holder_identity: Some(self.holder.clone()),
            lease_duration_seconds: i32::try_from(self.duration.as_secs().max(1)).ok(),
            acquire_time: Some(now.into()),
            renew_time: Some(now.into()),
            lease_transitions: Some(before.map_or(0, |spec| spec.lease_transitions.unwrap_or(0) + 1)),
            ..LeaseSpec::default()
        }
    }

    /// Whether the Lease is still held; the time in it is new then.
    async fn renew(&self) -> Result<bool, Error> {
        let mut lease = self.api.get(&self.name).await?;
        if holder(&lease) != self.holder {
            return Ok(false);
        }
        lease.spec.get_or_insert_default().renew_time = Some(Timestamp::now().into());
        self.api.replace(&self.name, &PostParams::default(), &lease).await.map(|_| true)
    }

    /// Between two tries: 2 s for a Lease of 15 s.
    fn pause(&self) -> Duration {
        self.duration * 2 / 15
    }
}

impl std::fmt::Display for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

fn holder(lease: &Object) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

/// Somebody else's Lease, and since when it has been as it is.
#[derive(Default)]
struct Seen(Option<(String, Instant)>);

impl Seen {
    fn expired(&mut self, lease: &Object) -> bool {
        let version = lease.resource_version().unwrap_or_default();
        match &self.0 {
            Some((seen, since)) if *seen == version => {
                let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
                since.elapsed() >= Duration::from_secs(seconds.try_into().unwrap_or_default())
            }
            _ => {
                self.0 = Some((version, Instant::now()));
                false
            }
        }
    }
}

/// A Lease that is renewed although its operator has stopped: the misbehaviour `--hold-lease`.
#[derive(Default)]
pub struct Held(Mutex<Option<(Lease, AbortHandle)>>);

impl Held {
    /// Goes on renewing `lease` until [`Self::let_go`] or the end of the process.
    pub fn hold(&self, lease: Lease) {
        info!("still holding lease {lease}");
        let keeper = lease.clone();
        let task = tokio::spawn(async move { keeper.keep().await });
        if let Ok(mut held) = self.0.lock() {
            *held = Some((lease, task.abort_handle()));
        }
    }

    /// Stops that, before the operator is started again.
    pub async fn let_go(&self) {
        let held = self.0.lock().ok().and_then(|mut held| held.take());
        if let Some((lease, task)) = held {
            task.abort();
            lease.release().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(version: &str, seconds: i32) -> Object {
        Object {
            metadata: ObjectMeta { resource_version: Some(version.into()), ..ObjectMeta::default() },
            spec: Some(LeaseSpec { lease_duration_seconds: Some(seconds), ..LeaseSpec::default() }),
        }
    }

    #[test]
    fn a_lease_expires_when_it_does_not_change() {
        let mut seen = Seen::default();
        assert!(!seen.expired(&lease("1", 0)), "never at first sight");
        assert!(!seen.expired(&lease("2", 0)), "it changed");
        assert!(seen.expired(&lease("2", 0)));
        assert!(!seen.expired(&lease("2", 3600)));
    }
}
