//! The one place that holds a client: connect, observe, apply, wait, access.

pub mod access;
pub mod apply;
pub mod connect;
mod exec_plugin;
pub mod fetch;
pub mod kamelets;
mod kubeconfig;
pub mod observe;
mod places;
pub mod request;
pub mod run_evidence;
mod stack;
mod stream;
pub mod switch;
pub mod wait;
pub mod wait_resource;

pub use connect::{Cluster, ConnectOptions};
pub use observe::{Observe, Selected};
pub use places::{ContextEntry, Entries, Place};
pub use request::{ApiError, Call, ListOptions};
