//! A playground: a real Kubernetes API server with controllers and one node, on loopback, until Ctrl-C.
//!
//! No containers run, pods only pretend to. Started by `make cluster`, which builds the programs first. With `--until-eof` it
//! also stops when its standard input closes.

#[path = "../tests/support/testbed/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests use what the playground does not")]
mod testbed;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::thread;

use testbed::{Cluster, Options};

fn main() -> ExitCode {
    match play() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when stderr is gone.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn play() -> Result<(), String> {
    let cluster = Cluster::start(&Options::full())?;
    greet(&cluster).map_err(|error| format!("cannot write: {error}"))?;
    if std::env::args().any(|arg| arg == "--until-eof") {
        io::copy(&mut io::stdin(), &mut io::sink()).map_err(|error| format!("cannot read: {error}"))?;
        return Ok(());
    }
    // Ctrl-C ends this process; the guards of the cluster's programs notice that.
    loop {
        thread::park();
    }
}

fn greet(cluster: &Cluster) -> io::Result<()> {
    let version = cluster.get("/version");
    let kubectl = cluster.program("kubectl");
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "Kubernetes {} is running on {} with one node; no containers run, pods only pretend to.\n\n\
         \x20   export KUBECONFIG={}\n\n\
         kubectl is {}.\n\
         Ctrl-C stops the cluster and deletes everything in it.",
        version["gitVersion"].as_str().unwrap_or_default(),
        cluster.url(),
        cluster.admin().kubeconfig.display(),
        kubectl.display(),
    )?;
    out.flush()
}
