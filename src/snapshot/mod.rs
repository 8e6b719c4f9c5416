//! Manifests and dumps as a Kubernetes API in memory.
//!
//! A [`Snapshot`] is loaded from files and answers the requests of a `kube::Client` in the words of a real API server
//! (modelled on v1.36). What it does not do:
//!
//! - admission, quotas, real access control: every access review is allowed;
//! - defaults and validation of built-in kinds; of CRDs it checks the structural schema, not CEL rules and patterns;
//! - merging of lists by key in an apply: a list is one field, as if it were atomic;
//! - controllers: nothing becomes ready, nobody collects garbage. Two things that end with a controller's work are done
//!   at once: deleting a namespace or a CRD deletes what is in it or of its kind;
//! - watching: a watch tells what is there and ends.

mod apply;
mod builtin;
mod call;
mod chunks;
mod crd;
mod delete;
mod discovery;
mod documents;
mod fields;
mod files;
mod head;
mod loader;
mod managed;
mod object;
mod patch;
mod read;
mod request;
mod resource;
mod save;
mod schema;
mod selector;
mod service;
mod shape;
mod status;
mod store;
mod validate;
mod write;
mod yaml;

#[cfg(test)]
mod tests;

use std::{
    io::Read,
    path::Path,
    sync::{Arc, Mutex},
};

pub use service::SnapshotService;
use service::{State, lock};
use store::Store;

use crate::error::Result;

/// A cluster in memory. Clones share it.
#[derive(Clone, Debug)]
pub struct Snapshot(Arc<Mutex<State>>);

/// A request that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path with the query: `/api/v1/pods?limit=5`.
    pub path: String,
}

impl LoggedRequest {
    fn new(method: &http::Method, path: &str, query: &str) -> Self {
        let mark = if query.is_empty() { "" } else { "?" };
        Self { method: method.to_string(), path: format!("{path}{mark}{query}") }
    }
}

impl Snapshot {
    /// Loads a file, a directory with all below it, or `-`, which reads `stdin`. Returns warnings about what was passed
    /// over.
    ///
    /// YAML and JSON, several documents in a file, lists of objects. `namespace` is for documents without one. In a
    /// directory hidden files are left out and links are not followed; kustomizations, and values and templates of Helm
    /// charts are passed over with a warning; any other file that holds no Kubernetes objects is an error, and so is an
    /// object that occurs twice.
    pub fn load(path: &Path, stdin: &mut dyn Read, namespace: &str) -> Result<(Self, Vec<String>)> {
        let (store, warnings) = loader::load(path, stdin, namespace)?;
        Ok((Self::of(store), warnings))
    }

    /// A cluster with nothing but its first namespaces.
    pub fn empty() -> Self {
        Self::of(Store::new())
    }

    fn of(store: Store) -> Self {
        Self(Arc::new(Mutex::new(State { store, requests: Vec::new() })))
    }

    /// Writes all objects to a file, JSON when its name ends so and YAML else, so that the next command can load it.
    ///
    /// Into a directory (one that exists, or a path that ends with a slash): objects that were loaded from files below it
    /// stay in their files, which are written again only where something changed; all others go to `kctl.yaml` in it.
    /// Each file is replaced in one step.
    pub fn save(&self, path: &Path) -> Result<()> {
        save::save(&lock(&self.0).store, path)
    }

    /// The cluster as a service for `kube::Client::new`.
    pub fn service(&self) -> SnapshotService {
        SnapshotService(Arc::clone(&self.0))
    }

    /// The requests that were answered so far, in order.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        lock(&self.0).requests.clone()
    }
}
