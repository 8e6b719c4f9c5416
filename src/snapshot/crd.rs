//! `CustomResourceDefinition`s: what one serves, and what the server fills in.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    resource::{Resource, ScalePaths, Version, sort_versions},
    schema::Schema,
    status::{ApiError, Cause},
};

/// The resource a CRD defines, or `None` when it names no group, kind or served version.
pub(super) fn resource(crd: &Value) -> Option<Resource> {
    let spec = &crd["spec"];
    let names = &spec["names"];
    let kind = names["kind"].as_str()?;
    let mut versions: Vec<Version> = spec["versions"]
        .as_array()?
        .iter()
        .filter(|version| version["served"] == true)
        .filter_map(|version| self::version(version, spec["preserveUnknownFields"] == true))
        .collect();
    if versions.is_empty() {
        return None;
    }
    sort_versions(&mut versions);
    Some(Resource {
        group: spec["group"].as_str()?.to_owned(),
        plural: names["plural"].as_str()?.to_owned(),
        singular: text(&names["singular"]).unwrap_or_else(|| kind.to_ascii_lowercase()),
        list_kind: text(&names["listKind"]).unwrap_or_else(|| format!("{kind}List")),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        kind: kind.to_owned(),
        namespaced: spec["scope"] != "Cluster",
        custom: true,
        generation: true,
        versions,
    })
}

fn version(version: &Value, keeps_unknown: bool) -> Option<Version> {
    let schema = version.pointer("/schema/openAPIV3Schema").filter(|_| !keeps_unknown);
    let scale = version.pointer("/subresources/scale").map(|scale| ScalePaths {
        spec: pointer(&scale["specReplicasPath"]).unwrap_or_else(|| ScalePaths::default().spec),
        status: pointer(&scale["statusReplicasPath"]).unwrap_or_else(|| ScalePaths::default().status),
        selector: pointer(&scale["labelSelectorPath"]),
    });
    Some(Version {
        name: version["name"].as_str()?.to_owned(),
        status: version.pointer("/subresources/status").is_some(),
        scale,
        schema: schema.map(|schema| Arc::new(Schema::new(schema))),
    })
}

/// `.spec.replicas` as the JSON pointer `/spec/replicas`.
fn pointer(path: &Value) -> Option<String> {
    path.as_str().map(|path| path.replace('.', "/"))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(text).collect()
}

/// Fills in what the server does when a CRD is written.
pub(super) fn set_defaults(crd: &mut Value) {
    let kind = text(&crd["spec"]["names"]["kind"]).unwrap_or_default();
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else { return };
    spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        names.entry("singular").or_insert_with(|| json!(kind.to_ascii_lowercase()));
        names.entry("listKind").or_insert_with(|| json!(format!("{kind}List")));
    }
}

/// Refuses a CRD that the server would refuse for its name or for having no storage version.
pub(super) fn check(resource: &Resource, crd: &Value) -> Result<(), ApiError> {
    let name = crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let spec = &crd["spec"];
    let mut causes = Vec::new();
    let group = spec["group"].as_str().unwrap_or_default();
    let wanted = format!("{}.{group}", spec["names"]["plural"].as_str().unwrap_or_default());
    if name != wanted {
        causes.push(Cause::invalid(
            "metadata.name",
            format!("{}: must be spec.names.plural+\".\"+spec.group", json!(name)),
        ));
    }
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    }
    let storage = spec["versions"].as_array().into_iter().flatten().filter(|version| version["storage"] == true);
    if storage.count() != 1 {
        causes.push(Cause::invalid(
            "spec.versions",
            format!("{}: must have exactly one version marked as storage version", spec["versions"]),
        ));
    }
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid(resource, name, &causes)) }
}

/// Whether a CRD says that its kind is served.
pub(super) fn is_established(crd: &Value) -> bool {
    let conditions = crd["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

/// Writes the status a CRD has once its names were accepted and its kind is served.
pub(super) fn establish(crd: &mut Value, now: &str) {
    let mut stored = texts(&crd["status"]["storedVersions"]);
    for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
        let Some(name) = text(&version["name"]).filter(|_| version["storage"] == true) else { continue };
        if !stored.contains(&name) {
            stored.push(name);
        }
    }
    let conditions = if is_established(crd) {
        crd["status"]["conditions"].clone()
    } else {
        json!([
            {"type": "NamesAccepted", "status": "True", "lastTransitionTime": now, "reason": "NoConflicts",
             "message": "no conflicts found"},
            {"type": "Established", "status": "True", "lastTransitionTime": now, "reason": "InitialNamesAccepted",
             "message": "the initial names have been accepted"},
        ])
    };
    let mut status = Map::new();
    status.insert("conditions".into(), conditions);
    status.insert("acceptedNames".into(), crd["spec"]["names"].clone());
    status.insert("storedVersions".into(), json!(stored));
    crd["status"] = Value::Object(status);
}
