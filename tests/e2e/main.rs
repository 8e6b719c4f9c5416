//! End-to-end tests: the program on a real API server.

#[path = "../support/example_operator.rs"]
#[allow(dead_code, reason = "a toolbox; not every test binary uses every tool")]
mod example_operator;
#[path = "../support/guide.rs"]
mod guide;
#[path = "../support/kctl.rs"]
#[allow(dead_code, unused_imports, reason = "a toolbox; not every test binary uses every tool")]
mod kctl;
#[path = "../support/shells.rs"]
#[allow(dead_code, reason = "a toolbox; not every test binary uses every tool")]
mod shells;
#[path = "../support/terminal.rs"]
#[allow(dead_code, reason = "a toolbox; not every test binary uses every tool")]
mod terminal;
#[path = "../support/testbed/mod.rs"]
#[allow(dead_code, unused_imports, reason = "a toolbox; not every test binary uses every tool")]
mod testbed;

mod adopt;
mod bind;
mod completion;
mod connection;
mod guides;
mod harness;
mod install;
mod list_operators;
mod manners;
mod peer;
mod run;
mod snapshot_contract;
mod switch_camel;
mod switch_tigera;
mod uninstall;
