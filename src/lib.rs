//! `kctl`: operators side by side on one Kubernetes cluster.
//!
//! The rooms of the program; which may import which is told in ARCHITECTURE.md and held by a test.

pub mod cli;
pub mod cluster;
pub mod commands;
pub mod contracts;
pub mod error;
pub mod manifests;
pub mod report;
pub mod settings;
pub mod snapshot;
pub mod tenancy;
pub mod ui;
