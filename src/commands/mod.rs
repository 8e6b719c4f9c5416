//! One verb a file: its arguments and its run, top to bottom. Here: the root parser and dispatch.

mod bind;
mod completion;
mod config;
mod help;
mod hints;
mod install;
mod list_operators;
pub mod output;
mod root;
mod run;
pub mod session;
mod switch_active;
mod tenant;
mod usage;
mod version;

pub use root::{command, main};
pub use session::Session;
