//! The figures that README shows, as ratios: whole processes, medians, beside each other in one run.
//!
//! `make bench` builds the dist binary and runs this. It ends with 1 when a figure is over its limit.

#[path = "../tests/support/testbed/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests use what the figures do not")]
mod testbed;

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use testbed::{Cluster, Options, Request, User};

/// Runs of each command; the first ones warm up and do not count.
const RUNS: usize = 41;
const WARM_UP: usize = 5;

/// One line of the result.
struct Figure {
    what: &'static str,
    measured: String,
    limit: &'static str,
    fine: bool,
}

fn main() -> ExitCode {
    let kctl = std::env::var_os("KCTL")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/dist/kctl"), PathBuf::from);
    let Ok(size) = fs::metadata(&kctl).map(|file| file.len()) else {
        let _ = writeln!(io::stderr(), "error: no {}\nhint: cargo build --profile dist", kctl.display());
        return ExitCode::from(2);
    };
    let cluster = Cluster::own(&Options::default());
    let figures = [size_of(size), help(&kctl, &cluster), completion(&kctl), run(&kctl, &cluster)];
    let mut out = io::stdout().lock();
    for Figure { what, measured, limit, fine } in &figures {
        let _ = writeln!(out, "{what:<52} {measured:<34} {limit:<14} {}", if *fine { "ok" } else { "OVER" });
    }
    ExitCode::from(u8::from(figures.iter().any(|figure| !figure.fine)))
}

fn size_of(bytes: u64) -> Figure {
    #[expect(clippy::cast_precision_loss, reason = "megabytes with one digit")]
    let megabytes = bytes as f64 / 1e6;
    let measured = format!("{megabytes:.1} MB");
    Figure { what: "dist binary", measured, limit: "10 MB", fine: bytes <= 10_000_000 }
}

fn help(kctl: &Path, cluster: &Cluster) -> Figure {
    let kubectl = cluster.program("kubectl");
    let [own, other] = medians([&|_| command(kctl, &["--help"]), &|_| command(&kubectl, &["--help"])]);
    let ratio = own.as_secs_f64() / other.as_secs_f64();
    let measured = format!("1/{:.0} ({} to {})", 1.0 / ratio, millis(own), millis(other));
    Figure { what: "kctl --help against kubectl --help", measured, limit: "1/10", fine: ratio <= 0.1 }
}

fn completion(kctl: &Path) -> Figure {
    let complete = |_| {
        let mut command = command(kctl, &["--", "kctl", "run", "--oper"]);
        command.env("KCTL_COMPLETE", "zsh").env("KCTL_COMPLETE_INDEX", "2");
        command
    };
    let [own, bare] = medians([&complete, &|_| command(Path::new("true"), &[])]);
    let more = own.saturating_sub(bare);
    let measured = format!("{} more ({} to {})", millis(more), millis(own), millis(bare));
    Figure { what: "static completion against a bare process", measured, limit: "5 ms", fine: more.as_millis() < 5 }
}

/// A run that creates, against a curl that sends the requests that the audit log has seen of it.
fn run(kctl: &Path, cluster: &Cluster) -> Figure {
    let (admin, namespace) = (cluster.admin(), cluster.namespace("bench"));
    let folder = tempfile::tempdir().expect("a folder");
    let route = folder.path().join("route.yaml");
    fs::write(&route, "- from:\n    uri: timer:tick\n    steps:\n    - to: log:info\n").expect("written");
    let route = route.display().to_string();
    let kctl_run = |name: &str| {
        let mut command = command(kctl, &["run", "-q", "-x", "bench", "-n", &namespace, "--name", name, &route]);
        command.env("KUBECONFIG", &admin.kubeconfig);
        command
    };
    let mut install = command(kctl, &["install", "-q", "-x", "bench", "-n", &namespace]);
    assert!(install.env("KUBECONFIG", &admin.kubeconfig).status().expect("kctl").success());

    let mark = cluster.audit_mark();
    assert!(kctl_run("template").status().expect("kctl").success());
    let requests = cluster.requests_since(mark, &admin);
    assert_eq!(requests.last().map(|request| request.verb.as_str()), Some("create"), "{requests:?}");
    let path = format!("/apis/camel.apache.org/v1/namespaces/{namespace}/integrations/template");
    let mut object = cluster.get(&path);
    object["metadata"] = serde_json::json!({"annotations": object["metadata"]["annotations"]});

    let curl = |run: usize| {
        let mut object = object.clone();
        object["metadata"]["name"] = format!("curl-{run}").into();
        let body = folder.path().join(format!("{run}.json"));
        fs::write(&body, object.to_string()).expect("written");
        same_requests(cluster, &admin, &requests, &body)
    };
    let [own, other] = medians([&|run| kctl_run(&format!("kctl-{run}")), &curl]);
    let ratio = own.as_secs_f64() / other.as_secs_f64();
    let measured = format!("{ratio:.2} times ({} to {})", millis(own), millis(other));
    let what = "run that creates against curl, the same requests";
    Figure { what, measured, limit: "2 times", fine: ratio <= 2.0 }
}

/// One curl for all requests, one after the other on one connection.
fn same_requests(cluster: &Cluster, user: &User, requests: &[Request], body: &Path) -> Command {
    let mut curl = command(Path::new("curl"), &[]);
    for (at, request) in requests.iter().enumerate() {
        if at > 0 {
            curl.arg("--next");
        }
        curl.args(["-sk", "-o", "/dev/null", "-H", &format!("Authorization: Bearer {}", user.token)]);
        if request.answer_kind == "PartialObjectMetadataList" {
            curl.args(["-H", "Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"]);
        }
        if request.verb == "create" {
            curl.args(["-H", "Content-Type: application/json", "--data-binary", &format!("@{}", body.display())]);
        }
        curl.arg(format!("{}{}", cluster.url(), request.uri));
    }
    curl
}

fn command(program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", "/nonexistent");
    command
}

/// Wall times of whole processes, taken by turns so that whatever else the machine does hits both.
fn medians(commands: [&dyn Fn(usize) -> Command; 2]) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for run in 0..RUNS + WARM_UP {
        for (times, make) in times.iter_mut().zip(commands) {
            let mut command = make(run);
            let start = Instant::now();
            let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
            let time = start.elapsed();
            assert!(status.success(), "{command:?}: {status}");
            if run >= WARM_UP {
                times.push(time);
            }
        }
    }
    times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    })
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
