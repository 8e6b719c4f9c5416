//! The operator of examples/operator as a process: a peer that honours the contracts.
//!
//! It is built by the first test that asks and runs until it is dropped, or until this process ends in whatever way (it
//! stops at the end of its standard input).

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use crate::testbed::{Cluster, wait_for};

const DEADLINE: Duration = Duration::from_secs(60);

/// Definitions of what the tigera family reads and writes.
pub const TIGERA_CRDS: &str = include_str!("../../examples/operator/manifests/tigera-crds.yaml");

/// What an operator is started with.
pub struct Builder {
    command: Command,
    log: PathBuf,
}

/// A Camel K operator with this id that watches the whole cluster, unless told otherwise with [`Builder::env`].
pub fn camel_k(cluster: &Cluster, id: &str, namespace: &str) -> Builder {
    let env = [("KAMEL_OPERATOR_ID", id), ("NAMESPACE", namespace), ("WATCH_NAMESPACE", "")];
    env.iter().fold(Builder::new(cluster, "camel-k"), |builder, (name, value)| builder.env(name, value))
}

/// A Tigera operator that looks at the pointer 20 times a second.
pub fn tigera(cluster: &Cluster, namespace: &str) -> Builder {
    Builder::new(cluster, "tigera").env("OPERATOR_NAMESPACE", namespace).args(["--tick", "50ms"])
}

/// The pods of a Deployment: it runs with their environment while one is ready, so not while it is scaled to 0.
pub fn pods_of(cluster: &Cluster, family: &str, namespace: &str, deployment: &str) -> Builder {
    let builder = Builder::new(cluster, family).args(["--deployment", &format!("{namespace}/{deployment}")]);
    if family == "tigera" { builder.args(["--tick", "50ms"]) } else { builder }
}

impl Builder {
    fn new(cluster: &Cluster, family: &str) -> Self {
        let log = cluster.dir().join(format!("{}.log", cluster.unique("operator")));
        let mut command = Command::new(program());
        command.env_clear().env("NO_COLOR", "1").args(["--family", family, "--until-eof", "--kubeconfig"]);
        command.arg(cluster.admin().kubeconfig).stdin(Stdio::piped()).stdout(Stdio::null());
        Self { command, log }
    }

    /// Sets a variable of the operator's environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Takes a variable out of the operator's environment.
    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// More flags, `--never-ready` for instance.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Starts the operator.
    pub fn start(mut self) -> Operator {
        let log = File::create(&self.log).unwrap_or_else(|error| panic!("{}: {error}", self.log.display()));
        let child = self.command.stderr(log).spawn();
        let child = child.unwrap_or_else(|error| panic!("cannot start the example operator: {error}"));
        Operator { child, log: self.log }
    }
}

/// A running operator. Dropping it kills it, without a chance to give its lease back.
pub struct Operator {
    child: Child,
    log: PathBuf,
}

impl Operator {
    /// Asks it to stop and waits until it did; gives its exit code.
    pub fn stop(mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        self.exit_code()
    }

    /// Kills it.
    pub fn kill(mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        self.exit_code();
    }

    /// Waits until it ends by itself; gives its exit code.
    #[track_caller]
    pub fn exit_code(&mut self) -> Option<i32> {
        let child = &mut self.child;
        wait_for("the end of the example operator", DEADLINE, || match child.try_wait() {
            Ok(Some(status)) => Ok(status.code()),
            Ok(None) => Err("it runs".to_owned()),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Whether it runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "--- log of an example operator\n{}---", self.log());
        }
    }
}

/// Who holds a lease; nobody when there is none or it was given back.
pub fn lease_holder(cluster: &Cluster, namespace: &str, name: &str) -> String {
    let lease = lease(cluster, namespace, name);
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

/// A lease; null when there is none.
pub fn lease(cluster: &Cluster, namespace: &str, name: &str) -> Value {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}");
    cluster.find(&path).unwrap_or_default()
}

/// The program, built once.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PROGRAM.get_or_init(build).as_ref().unwrap_or_else(|error| panic!("cannot build the example operator: {error}"))
}

fn build() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/operator");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--target-dir"]).arg(folder.join("target")).current_dir(&folder);
    // What cargo says about this package must not reach the other one, or each build would undo the other's cache.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|prefix| name.starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    let output = cargo.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(folder.join("target/debug/example-operator"))
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
