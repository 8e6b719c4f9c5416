//! Starting the programs of a cluster and waiting until they are of use.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::client::Client;
use super::guard::Program;
use super::pki::{self, Authority};
use super::programs::{Programs, audit_policy};
use super::users::{Account, Endpoint};
use super::wait::try_wait_for;

/// Far beyond the 3 seconds it takes: a busy machine must not fail the tests.
const READY_DEADLINE: Duration = Duration::from_secs(120);
/// How often another process may snatch the port between our choice and the start of the API server.
const PORT_TRIES: usize = 5;

/// What an API server was started with.
pub struct Server {
    pub endpoint: Endpoint,
    pub authority: Authority,
    pub client: Client,
    /// In the order of their start.
    pub programs: Vec<Program>,
}

/// Starts etcd and kube-apiserver in `dir` and waits until the API server is ready.
pub fn start(programs: &Programs, dir: &Path, accounts: &[Account], extra: &[String]) -> Result<Server, String> {
    let authority = write_files(dir, accounts).map_err(|error| format!("cannot prepare {}: {error}", dir.display()))?;
    let etcd = start_etcd(programs, dir)?;
    let mut clash = String::new();
    for _ in 0..PORT_TRIES {
        let port = free_port().map_err(|error| format!("no free port: {error}"))?;
        let endpoint = Endpoint { server: format!("https://127.0.0.1:{port}"), authority: authority.pem() };
        let client = Client::new(&endpoint, &json!({"token": accounts[0].token}), "testbed")?;
        let server = start_api_server(programs, dir, port, extra)?;
        match await_ready(&client, &[&etcd, &server]) {
            Ok(()) => return Ok(Server { endpoint, authority, client, programs: vec![etcd, server] }),
            Err(error) if error.contains("address already in use") => clash = error,
            Err(error) => return Err(error),
        }
    }
    Err(clash)
}

fn write_files(dir: &Path, accounts: &[Account]) -> anyhow::Result<Authority> {
    let authority = Authority::new()?;
    let server = authority.server()?;
    let (signing, verifying) = pki::signing_keys()?;
    let rows: String = accounts.iter().map(Account::row).collect();
    for (name, text) in [
        ("ca.crt", authority.pem()),
        ("apiserver.crt", server.certificate),
        ("apiserver.key", server.key),
        ("service-account.key", signing),
        ("service-account.pub", verifying),
        ("tokens.csv", rows),
    ] {
        fs::write(dir.join(name), text)?;
    }
    Ok(authority)
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn spawn(
    programs: &Programs,
    name: &'static str,
    args: &[&str],
    extra: &[String],
    dir: &Path,
) -> Result<Program, String> {
    let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).chain(extra.iter().cloned()).collect();
    Program::spawn(name, &programs.path(name), &args, dir).map_err(|error| format!("cannot start {name}: {error}"))
}

/// etcd listens on sockets in its directory alone, which spares two ports. The number after the colon is there because etcd
/// wants one; the names are relative because a socket's path may not be long.
fn start_etcd(programs: &Programs, dir: &Path) -> Result<Program, String> {
    let args = [
        "--name=testbed",
        "--data-dir=etcd",
        "--listen-client-urls=unix://etcd.sock:1",
        "--advertise-client-urls=unix://etcd.sock:1",
        "--listen-peer-urls=unix://peer.sock:1",
        "--initial-advertise-peer-urls=unix://peer.sock:1",
        "--initial-cluster=testbed=unix://peer.sock:1",
        "--unsafe-no-fsync",
        "--log-level=error",
    ];
    spawn(programs, "etcd", &args, &[], dir)
}

fn start_api_server(programs: &Programs, dir: &Path, port: u16, extra: &[String]) -> Result<Program, String> {
    let port = format!("--secure-port={port}");
    let policy = format!("--audit-policy-file={}", audit_policy().display());
    let args = [
        port.as_str(),
        policy.as_str(),
        "--etcd-servers=unix://etcd.sock:1",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        // A loopback address cannot be an endpoint of the service "kubernetes"; nobody looks for it there.
        "--endpoint-reconciler-type=none",
        "--tls-cert-file=apiserver.crt",
        "--tls-private-key-file=apiserver.key",
        "--client-ca-file=ca.crt",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=service-account.pub",
        "--service-account-signing-key-file=service-account.key",
        "--authorization-mode=RBAC",
        "--token-auth-file=tokens.csv",
        "--anonymous-auth=false",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
        "--audit-log-path=audit.log",
        // An answered request is in the log before the client has the whole answer.
        "--audit-log-mode=blocking",
        // Megabytes; the default of 100 would cut the log in two.
        "--audit-log-maxsize=10000",
    ];
    spawn(programs, "kube-apiserver", &args, extra, dir)
}

fn await_ready(client: &Client, programs: &[&Program]) -> Result<(), String> {
    let ready = try_wait_for("the API server to become ready", READY_DEADLINE, || {
        if let Some(ended) = programs.iter().find_map(|program| program.ended()) {
            return Ok(Err(ended));
        }
        let answer = client.send("GET", "/readyz", None)?;
        if answer.status == 200 { Ok(Ok(())) } else { Err(format!("/readyz answers {}", answer.status)) }
    });
    ready.map_err(|error| with_logs(error, programs)).flatten()
}

fn with_logs(error: String, programs: &[&Program]) -> String {
    programs.iter().fold(error, |text, program| text + "\n" + &program.log_tail())
}

/// Starts what makes Deployments available, collects garbage and ends namespaces; waits until there is a usable node.
pub fn start_controllers(
    programs: &Programs,
    dir: &Path,
    client: &Client,
    kubeconfigs: &Kubeconfigs,
    nodes: usize,
) -> Result<Vec<Program>, String> {
    fs::write(dir.join("stages.yaml"), programs.stages()?)
        .map_err(|error| format!("cannot write the stages: {error}"))?;
    let controllers = vec![
        start_controller(
            programs,
            dir,
            "kube-controller-manager",
            &kubeconfigs.controller_manager,
            &["--service-account-private-key-file=service-account.key".into(), "--root-ca-file=ca.crt".into()],
        )?,
        start_controller(programs, dir, "kube-scheduler", &kubeconfigs.scheduler, &[])?,
        start_kwok(programs, dir, &kubeconfigs.kwok)?,
    ];
    for number in 0..nodes {
        client.create(&node(number));
    }
    let all: Vec<&Program> = controllers.iter().collect();
    let usable = try_wait_for("a usable node", READY_DEADLINE, || {
        if let Some(ended) = all.iter().find_map(|program| program.ended()) {
            return Ok(Err(ended));
        }
        node_is_usable(client).map(Ok)
    });
    usable.map_err(|error| with_logs(error, &all)).flatten()?;
    Ok(controllers)
}

/// The kubeconfig files of the cluster's own programs.
pub struct Kubeconfigs {
    pub controller_manager: String,
    pub scheduler: String,
    pub kwok: String,
}

fn start_controller(
    programs: &Programs,
    dir: &Path,
    name: &'static str,
    kubeconfig: &str,
    extra: &[String],
) -> Result<Program, String> {
    let files = ["--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig"];
    let files: Vec<String> = files.iter().map(|flag| format!("{flag}={kubeconfig}")).collect();
    let mut args: Vec<&str> = files.iter().map(String::as_str).collect();
    args.extend(["--leader-elect=false", "--secure-port=0"]);
    spawn(programs, name, &args, extra, dir)
}

fn start_kwok(programs: &Programs, dir: &Path, kubeconfig: &str) -> Result<Program, String> {
    let kubeconfig = format!("--kubeconfig={kubeconfig}");
    let args = [
        kubeconfig.as_str(),
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40",
        "--enable-crds=",
        "--config=stages.yaml",
    ];
    spawn(programs, "kwok", &args, &[], dir)
}

fn node(number: usize) -> serde_json::Value {
    let name = format!("node-{number}");
    let room = json!({"cpu": "64", "memory": "256Gi", "pods": "1000"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name}},
        "status": {"allocatable": room, "capacity": room},
    })
}

fn node_is_usable(client: &Client) -> Result<(), String> {
    let nodes = client.get("/api/v1/nodes");
    let usable = nodes["items"].as_array().into_iter().flatten().any(|node| {
        let conditions = node.pointer("/status/conditions").and_then(|list| list.as_array()).into_iter().flatten();
        let ready =
            conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
        ready && node.pointer("/spec/taints").is_none()
    });
    if usable { Ok(()) } else { Err("no node is ready and untainted".into()) }
}
