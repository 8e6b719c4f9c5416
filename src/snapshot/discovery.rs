//! What the snapshot serves, as `/api`, `/apis` and below tell it.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    call::Reply,
    resource::{Registry, Resource, Version, priority},
    status::ApiError,
};

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Whether a client accepts all of discovery in one answer.
pub(super) fn wants_aggregated(accept: &str) -> bool {
    accept.contains("as=APIGroupDiscoveryList") && accept.contains("v=v2") && !accept.starts_with("application/json,")
}

/// `/api`
pub(super) fn core_versions() -> Value {
    json!({"kind": "APIVersions", "apiVersion": "v1", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

/// `/apis`
pub(super) fn groups(registry: &Registry) -> Value {
    let groups: Vec<Value> = versions_by_group(registry)
        .iter()
        .filter(|(name, _)| !name.is_empty())
        .map(|(g, v)| group_value(g, v))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`
pub(super) fn group(registry: &Registry, name: &str) -> Result<Value, ApiError> {
    let groups = versions_by_group(registry);
    let versions = groups.get(name).filter(|_| !name.is_empty()).ok_or_else(ApiError::page_not_found)?;
    let mut group = json!({"kind": "APIGroup", "apiVersion": "v1"});
    for (key, value) in group_value(name, versions).as_object().into_iter().flatten() {
        group[key] = value.clone();
    }
    Ok(group)
}

/// `/api/v1`, `/apis/GROUP/VERSION`
pub(super) fn resources(registry: &Registry, group: &str, version: &str) -> Result<Value, ApiError> {
    let mut list = Vec::new();
    for (resource, served) in served(registry, group, version) {
        list.extend(resource_values(resource, served));
    }
    if group == "authorization.k8s.io" && version == "v1" {
        list.push(json!({"name": "selfsubjectaccessreviews", "singularName": "selfsubjectaccessreview",
            "namespaced": false, "kind": "SelfSubjectAccessReview", "verbs": ["create"]}));
    }
    if list.is_empty() {
        return Err(ApiError::page_not_found());
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Ok(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": list}))
}

/// `/api` or `/apis` with everything below in one answer.
pub(super) fn aggregated(registry: &Registry, core: bool) -> Reply {
    let mut items = Vec::new();
    for (group, versions) in versions_by_group(registry) {
        if group.is_empty() != core {
            continue;
        }
        let versions: Vec<Value> = versions
            .iter()
            .map(|version| {
                let resources: Vec<Value> = served(registry, &group, version)
                    .map(|(resource, served)| aggregated_value(resource, served, version))
                    .collect();
                json!({"version": version, "resources": resources, "freshness": "Current"})
            })
            .collect();
        let metadata = if core { json!({}) } else { json!({"name": group}) };
        items.push(json!({"metadata": metadata, "versions": versions}));
    }
    let body = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    Reply { content_type: AGGREGATED, ..Reply::json(StatusCode::OK, body.to_string()) }
}

/// The resources a group serves in a version.
fn served<'a>(
    registry: &'a Registry,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = (&'a Resource, &'a Version)> {
    registry
        .iter()
        .filter(move |resource| resource.group == group)
        .filter_map(move |resource| resource.version(version).map(|version| (resource.as_ref(), version)))
}

/// Every group with its versions, the preferred one first.
fn versions_by_group(registry: &Registry) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    groups.insert("authorization.k8s.io".into(), vec!["v1".into()]);
    for resource in registry.iter() {
        let versions = groups.entry(resource.group.clone()).or_default();
        for version in &resource.versions {
            if !versions.contains(&version.name) {
                versions.push(version.name.clone());
            }
        }
    }
    for versions in groups.values_mut() {
        versions.sort_by_cached_key(|version| priority(version));
    }
    groups
}

fn group_value(name: &str, versions: &[String]) -> Value {
    let version = |version: &String| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    json!({
        "name": name, "versions": versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(version),
    })
}

fn resource_values(resource: &Resource, version: &Version) -> Vec<Value> {
    let mut main = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": VERBS,
    });
    if !resource.short_names.is_empty() {
        main["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        main["categories"] = json!(resource.categories);
    }
    let sub = |name: &str| {
        json!({
            "name": format!("{}/{name}", resource.plural), "singularName": "", "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": SUBRESOURCE_VERBS,
        })
    };
    let mut values = vec![main];
    if version.status {
        values.push(sub("status"));
    }
    if version.scale.is_some() {
        let mut scale = sub("scale");
        scale["kind"] = json!("Scale");
        scale["group"] = json!("autoscaling");
        scale["version"] = json!("v1");
        values.push(scale);
    }
    values
}

fn aggregated_value(resource: &Resource, served: &Version, version: &str) -> Value {
    let kind = json!({"group": resource.group, "version": version, "kind": resource.kind});
    let mut value = json!({
        "resource": resource.plural, "responseKind": kind,
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular, "verbs": VERBS,
    });
    if !resource.short_names.is_empty() {
        value["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        value["categories"] = json!(resource.categories);
    }
    let mut subresources = Vec::new();
    if served.status {
        subresources.push(json!({"subresource": "status", "responseKind": kind, "verbs": SUBRESOURCE_VERBS}));
    }
    if served.scale.is_some() {
        let kind = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        subresources.push(json!({"subresource": "scale", "responseKind": kind, "verbs": SUBRESOURCE_VERBS}));
    }
    if !subresources.is_empty() {
        value["subresources"] = json!(subresources);
    }
    value
}
