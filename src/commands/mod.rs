//! One verb a file: its arguments and its run, top to bottom. Here: the root parser and dispatch.

mod completion;
mod install;
mod list_operators;
pub mod output;
mod root;
mod run;
pub mod session;
mod switch_active;

pub use root::main;
pub use session::Session;
