//! Tests of the program on snapshots: no cluster, no network.

#[path = "../support/kctl.rs"]
#[allow(dead_code, unused_imports, reason = "a toolbox; not every test binary uses every tool")]
mod kctl;

mod install;
mod list_operators;
mod run;
mod run_input;
