//! Nothing is left behind, however the tests end.

use std::env;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::testbed::{Cluster, Options, wait_until};

use super::DEADLINE;

/// Tells the helper below how large a cluster to hold and how to end: `SIZE ENDING`.
const HOLD: &str = "KCTL_TEST_HOLD";
const HELPER: &str = "harness::leftovers::hold_a_cluster";

/// Runs in a process of its own, started by the other tests of this file.
#[test]
#[ignore = "a helper process of the other tests"]
fn hold_a_cluster() {
    let Ok(order) = env::var(HOLD) else { return };
    let (size, ending) = order.split_once(' ').expect("size and ending");
    let cluster = Cluster::own(&if size == "full" { Options::full() } else { Options::default() });
    let groups: Vec<String> = cluster.process_groups().iter().map(ToString::to_string).collect();
    let mut out = io::stdout().lock();
    writeln!(out, "\nholding {} {}", cluster.dir().display(), groups.join(" ")).expect("a reader");
    drop(out);
    match ending {
        "panic" => panic!("as asked"),
        // Statics are never dropped, and neither is this.
        "forget" => std::mem::forget(cluster),
        _ => loop {
            thread::park();
        },
    }
}

struct Held {
    child: Child,
    dir: PathBuf,
    groups: Vec<u32>,
}

fn hold(size: &str, ending: &str) -> Held {
    let mut child = Command::new(env::current_exe().expect("a path"))
        .args(["--exact", HELPER, "--ignored", "--nocapture"])
        .env(HOLD, format!("{size} {ending}"))
        .env_remove("KCTL_TEST_KEEP")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the test binary runs");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let line = lines.find_map(|line| line.strip_prefix("holding ").map(str::to_owned)).expect("a cluster starts");
    // The rest is read so that the helper never writes into a closed pipe.
    thread::spawn(move || lines.count());
    let mut words = line.split(' ');
    let dir = words.next().expect("a directory").into();
    Held { child, dir, groups: words.map(|word| word.parse().expect("a number")).collect() }
}

/// The processes of these groups that are alive; one that only waits for its parent to notice its end is not.
fn alive(groups: &[u32]) -> Vec<String> {
    processes().into_iter().filter(|(group, state, _)| groups.contains(group) && *state != 'Z').map(|p| p.2).collect()
}

/// Group, state and name of every process.
fn processes() -> Vec<(u32, char, String)> {
    if Path::new("/proc/self/stat").exists() {
        let entries = fs::read_dir("/proc").expect("/proc can be read").flatten();
        return entries.filter_map(|entry| parse_stat(&fs::read_to_string(entry.path().join("stat")).ok()?)).collect();
    }
    let output = Command::new("ps").args(["-A", "-o", "pgid=,stat=,comm="]).output().expect("ps runs");
    let parse = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.chars().next()?, words.collect()))
    };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(parse).collect()
}

/// `PID (NAME) STATE PARENT GROUP ...`, where the name may contain anything.
fn parse_stat(stat: &str) -> Option<(u32, char, String)> {
    let (head, tail) = stat.rsplit_once(')')?;
    let mut words = tail.split_whitespace();
    let state = words.next()?.chars().next()?;
    Some((words.nth(1)?.parse().ok()?, state, head.to_owned()))
}

fn assert_nothing_is_left(held: &mut Held) {
    held.child.wait().expect("it ended");
    let mut left = Vec::new();
    wait_until(
        &format!("the processes of groups {:?} and {} to be gone", held.groups, held.dir.display()),
        DEADLINE,
        || {
            left = alive(&held.groups);
            left.is_empty() && !held.dir.exists()
        },
    );
}

fn assert_signal_leaves_nothing(size: &str, signal: &str, programs: usize) {
    let mut held = hold(size, "wait");
    let running = alive(&held.groups);
    assert!(running.len() >= programs && held.dir.exists(), "the test would see processes that are left: {running:?}");
    let status = Command::new("kill").args([signal, &held.child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
    assert_nothing_is_left(&mut held);
}

#[test]
fn sigkill_leaves_nothing() {
    assert_signal_leaves_nothing("full", "-KILL", 5);
}

#[test]
fn ctrl_c_leaves_nothing() {
    assert_signal_leaves_nothing("small", "-INT", 2);
}

#[test]
fn a_panic_leaves_nothing() {
    assert_nothing_is_left(&mut hold("small", "panic"));
}

#[test]
fn an_end_without_drop_leaves_nothing() {
    assert_nothing_is_left(&mut hold("small", "forget"));
}
