//! Ways on for errors that know none of their own.

use crate::{
    cluster::{Cluster, ListOptions},
    contracts::kinds::NAMESPACE,
    error::{Error, Exit},
    tenancy::id::nearest,
};

/// Adds the nearest name to an error about a namespace, and a way on to one without any.
pub async fn complete(error: Error, cluster: &Cluster) -> Error {
    if error.reason() == "NamespaceNotFound"
        && let Some(near) = nearest_namespace(&error, cluster).await
    {
        return error.hint(format!("did you mean -n {near}?"));
    }
    if !error.all_hints().is_empty() {
        return error;
    }
    match error.exit() {
        Exit::Interrupted => error,
        Exit::NotAuthorised => error.hint("see what you may do: kubectl auth can-i --list"),
        _ => error.hint("to see each request: run it again with --verbose --verbose"),
    }
}

/// Who may not list namespaces gets no suggestion.
async fn nearest_namespace(error: &Error, cluster: &Cluster) -> Option<String> {
    let typed = &error.object_ref()?.name;
    let listed = cluster.list(&NAMESPACE, None, &ListOptions::cached_metadata()).await.ok()?;
    let names = listed.iter().filter_map(|namespace| namespace.pointer("/metadata/name")?.as_str());
    nearest(typed, names).map(str::to_owned)
}
