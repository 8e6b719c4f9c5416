//! Tests of the program on snapshots: no cluster, no network.

#[path = "../support/guide.rs"]
mod guide;
#[path = "../support/kctl.rs"]
#[allow(dead_code, unused_imports, reason = "a toolbox; not every test binary uses every tool")]
mod kctl;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/terminal.rs"]
mod terminal;

#[path = "../support/shells.rs"]
#[allow(dead_code, reason = "a toolbox; not every test binary uses every tool")]
mod shells;

mod adopt;
mod bind;
mod completion;
mod exits;
mod guides;
mod install;
mod list_operators;
mod man;
mod manners;
mod matrix;
mod prompts;
mod run;
mod run_input;
mod ship;
mod uninstall;
