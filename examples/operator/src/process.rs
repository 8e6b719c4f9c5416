//! What every operator is started with, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use kube::Client;
use tokio::io::AsyncReadExt as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::args::{Args, Misbehaviour};
use crate::camel_k::Era;
use crate::environment::Environment;
use crate::lease::{Held, Lease};

/// How an operator ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to.
    Stopped,
    /// By itself, with this exit code.
    Exited(u8),
}

/// What the kubelet gives a container.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its environment.
    pub env: Environment,
    /// Its host name: the pod's name, or the node's on the host network.
    pub host: String,
    /// The namespace of its pod, if it is in one.
    pub pod_namespace: Option<String>,
}

impl Start {
    /// The start of this very process.
    pub fn of_this_process(identity: Option<String>) -> Self {
        let env = Environment::of_process();
        let machine =
            || hostname::get().map_or_else(|_| "localhost".into(), |name| name.to_string_lossy().into_owned());
        let host = identity.or_else(|| env.filled("POD_NAME").map(str::to_owned)).unwrap_or_else(machine);
        Self { env, host, pod_namespace: None }
    }
}

/// The part of the command line that operators look at.
#[derive(Clone)]
pub struct Flags {
    /// Which Camel K releases to be like.
    pub era: Era,
    /// How often to look at the pointer.
    pub tick: Duration,
    /// How long a lease lasts.
    pub lease_duration: Duration,
    /// Host name to use instead of the real one.
    pub identity: Option<String>,
    /// What to do wrong.
    pub misbehaviour: Misbehaviour,
    /// The lease that is held wrongly.
    pub held: Arc<Held>,
}

impl From<&Args> for Flags {
    fn from(args: &Args) -> Self {
        Self {
            era: args.era,
            tick: args.tick,
            lease_duration: args.lease_duration,
            identity: args.identity.clone(),
            misbehaviour: args.misbehaviour.clone(),
            held: Arc::default(),
        }
    }
}

/// A started operator.
#[derive(Clone)]
pub struct Process {
    /// The cluster.
    pub client: Client,
    /// What it was started with.
    pub start: Start,
    /// How to behave.
    pub flags: Flags,
}

impl Process {
    /// Puts the parts together.
    pub fn new(client: Client, start: Start, flags: Flags) -> Self {
        Self { client, start, flags }
    }

    /// The lease `name` in `namespace`, to be held by this process. Without a namespace there is no leader election.
    pub fn lease(&self, namespace: &str, name: &str) -> Option<Lease> {
        let make = || Lease::new(&self.client, namespace, name, &self.start.host, self.flags.lease_duration);
        (!namespace.is_empty()).then(make)
    }

    /// What comes before the first action: the misbehaviours that keep an operator from it, then the election. `false`
    /// when it was stopped meanwhile.
    pub async fn lead(&self, lease: Option<&Lease>, stop: &Stop) -> bool {
        self.flags.held.let_go().await;
        if self.flags.misbehaviour.never_ready {
            info!("never getting ready");
            stop.requested().await;
            return false;
        }
        let slow = self.flags.misbehaviour.slow;
        tokio::select! {
            () = async {
                tokio::time::sleep(slow).await;
                if let Some(lease) = lease {
                    lease.acquire().await;
                }
            } => true,
            () = stop.requested() => false,
        }
    }
}

/// Whether an operator was asked to stop.
#[derive(Clone, Debug, Default)]
pub struct Stop(CancellationToken);

impl Stop {
    /// Stops on SIGTERM and SIGINT, and if wanted at the end of standard input.
    ///
    /// # Errors
    /// The process cannot handle signals.
    pub fn on_signal(until_eof: bool) -> Result<Self> {
        let stop = Self::default();
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let token = stop.0.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                () = end_of_input(), if until_eof => {}
            }
            info!("stopping");
            token.cancel();
        });
        Ok(stop)
    }

    /// A part that can be stopped alone, and stops with the whole.
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Asks to stop.
    pub fn request(&self) {
        self.0.cancel();
    }

    /// Waits until somebody asks to stop.
    pub async fn requested(&self) {
        self.0.cancelled().await;
    }

    /// Waits, or less when somebody asks to stop.
    pub async fn pause(&self, duration: Duration) {
        let _ = self.0.run_until_cancelled(tokio::time::sleep(duration)).await;
    }

    /// Whether somebody asked to stop.
    pub fn is_requested(&self) -> bool {
        self.0.is_cancelled()
    }
}

async fn end_of_input() {
    let mut input = tokio::io::stdin();
    let mut buffer = [0; 64];
    while !matches!(input.read(&mut buffer).await, Ok(0) | Err(_)) {}
}
