//! What may be typed: shared flag groups and value parsers.

pub mod adopt_args;
pub mod bind_args;
pub mod complete;
pub mod global;
pub mod help_args;
pub mod install_args;
pub mod install_build;
pub mod install_change;
pub mod output;
pub mod run_args;
pub mod uninstall_args;
