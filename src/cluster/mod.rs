//! The one place that holds a client: connect, observe, apply, wait, access.

pub mod access;
pub mod apply;
pub mod connect;
mod exec_plugin;
mod kubeconfig;
pub mod observe;
pub mod request;
mod stack;
mod stream;
pub mod switch;
pub mod wait;

pub use connect::{Cluster, ConnectOptions};
pub use observe::{Observe, Selected};
pub use request::{ApiError, Call, ListOptions};
