//! What may be typed: shared flag groups and value parsers.

pub mod complete;
pub mod global;
pub mod install_args;
pub mod output;
pub mod run_args;
