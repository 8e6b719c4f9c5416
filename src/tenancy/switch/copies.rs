//! What is copied from the old namespace to the new one, how it is cleaned, and what an object already there means.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    contracts::{
        kinds::{CONFIG_MAP, Kind, SECRET},
        tigera,
    },
    tenancy::plan::{Step, Write},
};

use super::SWITCH_MANAGER;

/// Annotation on a copy: where it comes from and what it held.
pub const MARK: &str = "kctl.dev/copy";
/// Label on a copy, with the namespace it comes from.
pub const MARK_LABEL: &str = "kctl.dev/copied-from";

/// Types of Secrets that are never copied: they belong to one place or one tool.
pub const NEVER_TYPES: [&str; 4] =
    ["kubernetes.io/service-account-token", "helm.sh/release.v1", "bootstrap.kubernetes.io/token", "kctl.dev/install"];
/// `ConfigMap`s that every namespace gets from the cluster.
const NEVER_CONFIG_MAPS: [&str; 2] = ["kube-root-ca.crt", "openshift-service-ca.crt"];
/// Starts of annotation and label keys by which other controllers mark what they own.
const FOREIGN: [&str; 4] =
    ["cert-manager.io/", "sealedsecrets.bitnami.com/", "reconcile.external-secrets.io/", "external-secrets.io/"];
/// Starts of keys that lead another manager to adopt or prune a copy, or that embed its data.
const DROPPED: [&str; 9] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "meta.helm.sh/",
    "helm.sh/",
    "argocd.argoproj.io/",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
    "kctl.dev/",
    "control-plane.alpha.kubernetes.io/",
    "objectset.rio.cattle.io/",
];

/// What the user wants copied.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Copy nothing.
    pub none: bool,
    /// More names; `*` is all that may be copied.
    pub include: Vec<String>,
    /// Names to leave out.
    pub exclude: Vec<String>,
    /// Copy also what another controller owns.
    pub force: bool,
    /// Write over what differs in the target.
    pub overwrite: bool,
    /// Secrets that the family's settings refer to.
    pub referenced: BTreeSet<String>,
}

/// An object to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Why it is copied.
    pub why: &'static str,
}

/// An object that stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Why it is not copied.
    pub why: String,
    /// Whether `--include` would copy it.
    pub can_include: bool,
}

/// Chooses among the objects of the old operator's namespace, from their metadata.
pub fn choose(found: &[(Kind, Value)], wish: &Wish) -> (Vec<Chosen>, Vec<Left>) {
    let (mut chosen, mut left) = (Vec::new(), Vec::new());
    for (kind, object) in found {
        let name = text(object, "/metadata/name").to_owned();
        let leave = |why: String, can_include| Left { kind: *kind, name: name.clone(), why, can_include };
        if let Some(why) = never(*kind, object) {
            left.push(leave(why.to_owned(), false));
            continue;
        }
        let asked = wish.include.contains(&name);
        let everything = wish.include.iter().any(|name| name == "*");
        let why = match needed(*kind, object, wish) {
            Some(why) => Some(why),
            None if asked || everything => Some("asked for"),
            None => None,
        };
        match (why, foreign_owner(object)) {
            _ if wish.exclude.contains(&name) => left.push(leave("excluded".into(), false)),
            _ if wish.none => left.push(leave("--no-copy".into(), false)),
            (Some(_), Some(owner)) if !(wish.force && asked) => left.push(leave(
                format!("belongs to {owner}, which would fight the copy; --include {name} --force copies it"),
                false,
            )),
            (Some(why), _) => chosen.push(Chosen { kind: *kind, name, why }),
            (None, _) => left.push(leave("not known to be the operator's".into(), true)),
        }
    }
    (chosen, left)
}

fn never(kind: Kind, object: &Value) -> Option<&'static str> {
    let name = text(object, "/metadata/name");
    if kind == SECRET && NEVER_TYPES.contains(&text(object, "/type")) {
        return Some("of a type that belongs to one place");
    }
    if kind == CONFIG_MAP && NEVER_CONFIG_MAPS.contains(&name) {
        return Some("every namespace gets its own");
    }
    if keys(object, "annotations").any(|key| key.starts_with("control-plane.alpha.kubernetes.io/")) {
        return Some("left over from a leader election");
    }
    None
}

fn needed(kind: Kind, object: &Value, wish: &Wish) -> Option<&'static str> {
    let name = text(object, "/metadata/name");
    let known = if kind == SECRET {
        tigera::SECRETS.contains(&name) || name.starts_with(tigera::SECRET_PREFIX)
    } else {
        tigera::CONFIG_MAPS.contains(&name)
    };
    let signed = || keys(object, "labels").chain(keys(object, "annotations")).any(|key| key == tigera::SIGNER);
    if name == tigera::OWN_PAIR {
        // Its names carry the namespace: a copy would be wrong by construction.
        None
    } else if kind == SECRET && wish.referenced.contains(name) {
        Some("referred to")
    } else if known {
        Some("the operator needs it")
    } else {
        signed().then_some("signed by the operator")
    }
}

/// The controller other than the family's own operator that looks after an object.
fn foreign_owner(object: &Value) -> Option<String> {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let foreign = owners.filter(|owner| {
        owner["controller"] == true
            && !owner["apiVersion"].as_str().unwrap_or_default().starts_with(tigera::INSTALLATION.group)
    });
    let by_reference = foreign.map(|owner| format!("{} {}", text(owner, "/kind"), text(owner, "/name"))).next();
    by_reference.or_else(|| {
        let key = keys(object, "annotations")
            .chain(keys(object, "labels"))
            .find(|key| FOREIGN.iter().any(|start| key.starts_with(start)))?;
        Some(key.split('/').next().unwrap_or(key).to_owned())
    })
}

/// What a copy holds, as one hash. Values never leave kctl in any other form.
pub fn hash(object: &Value) -> String {
    digest(&Value::Object(content(object)))
}

fn content(object: &Value) -> Map<String, Value> {
    let full =
        |field: &&str| object.get(*field).is_some_and(|value| value.as_object().is_none_or(|map| !map.is_empty()));
    ["data", "binaryData", "spec"]
        .into_iter()
        .filter(|field| full(field))
        .map(|field| (field.to_owned(), object[field].clone()))
        .collect()
}

fn digest(value: &Value) -> String {
    let mut hasher = Sha256::new();
    canonical(value, &mut |part| hasher.update(part));
    let hex: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Hands out a value so that equal values give equal bytes, whatever the order of their keys.
fn canonical(value: &Value, take: &mut dyn FnMut(&[u8])) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            take(b"{");
            for key in keys {
                take(Value::from(key.as_str()).to_string().as_bytes());
                take(b":");
                canonical(&map[key], take);
            }
            take(b"}");
        }
        Value::Array(items) => {
            take(b"[");
            for item in items {
                canonical(item, take);
                take(b",");
            }
            take(b"]");
        }
        other => take(other.to_string().as_bytes()),
    }
}

/// What has to be done for one copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The target has none.
    Create,
    /// The target holds the same.
    Equal,
    /// The target holds an earlier copy of kctl's that nobody has changed, or may be written over.
    Update(String),
    /// The target holds something else.
    Conflict(String),
}

/// Compares a source with what the target has.
pub fn decide(source: &Value, target: Option<&Value>, overwrite: bool) -> Action {
    let Some(target) = target else { return Action::Create };
    if text(source, "/type") != text(target, "/type") {
        return Action::Conflict(format!(
            "it is of type {} there and of type {} here, which cannot be changed: delete it there first",
            text(target, "/type"),
            text(source, "/type")
        ));
    }
    let (ours, theirs) = (hash(source), hash(target));
    if ours == theirs {
        return Action::Equal;
    }
    let differing = differing(source, target);
    if target["immutable"] == true {
        return Action::Conflict(format!("it is immutable there and differs in {differing}: delete it there first"));
    }
    if is_unchanged_copy(target) {
        return Action::Update(format!("an earlier copy; differs in {differing}"));
    }
    let which = format!("differs in {differing} ({} here, {} there)", short(&ours), short(&theirs));
    if overwrite { Action::Update(which) } else { Action::Conflict(which) }
}

fn differing(one: &Value, other: &Value) -> String {
    let mut names = BTreeSet::new();
    for field in ["data", "binaryData", "spec"] {
        let empty = Map::new();
        let (one, other) = (one[field].as_object().unwrap_or(&empty), other[field].as_object().unwrap_or(&empty));
        names.extend(one.keys().chain(other.keys()).filter(|key| one.get(*key) != other.get(*key)).cloned());
    }
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// A hash for people: long enough to tell two apart.
pub fn short(hash: &str) -> &str {
    hash.get(..19).unwrap_or(hash)
}

/// Whether an object is a copy of kctl's and still holds what kctl wrote.
pub fn is_unchanged_copy(object: &Value) -> bool {
    let mark = object.pointer("/metadata/annotations").and_then(|all| all.get(MARK)).and_then(Value::as_str);
    let mark: Option<Value> = mark.and_then(|text| serde_json::from_str(text).ok());
    mark.is_some_and(|mark| mark["hash"].as_str() == Some(hash(object).as_str()))
}

/// The object as it is to be in namespace `to`: content, type, and only the metadata that may follow it.
///
/// Owner references go: the garbage collector deletes an object whose owner it does not find, and the operator sets its
/// own again. A copy is never immutable, since the operator may have to renew it.
pub fn clean(source: &Value, to: &str, run: &str) -> Value {
    let mut out = Map::new();
    for field in ["apiVersion", "kind", "type", "data", "binaryData", "spec"] {
        if let Some(value) = source.get(field) {
            out.insert(field.to_owned(), value.clone());
        }
    }
    let mut labels = kept(source, "labels");
    let by = labels.get("app.kubernetes.io/managed-by").and_then(Value::as_str).map(str::to_owned);
    if by.as_deref() == Some("Helm") {
        labels.remove("app.kubernetes.io/managed-by");
    }
    if by.as_deref() != Some("tigera-operator") {
        // Argo CD tracks by it.
        labels.remove("app.kubernetes.io/instance");
    }
    labels.insert(MARK_LABEL.into(), json!(text(source, "/metadata/namespace")));
    let mut annotations = kept(source, "annotations");
    annotations.insert(MARK.into(), json!(mark(source, run)));
    out.insert(
        "metadata".into(),
        json!({"name": text(source, "/metadata/name"), "namespace": to, "labels": labels, "annotations": annotations}),
    );
    Value::Object(out)
}

fn mark(source: &Value, run: &str) -> String {
    json!({
        "namespace": text(source, "/metadata/namespace"),
        "name": text(source, "/metadata/name"),
        "uid": text(source, "/metadata/uid"),
        "resourceVersion": text(source, "/metadata/resourceVersion"),
        "hash": hash(source),
        "run": run,
    })
    .to_string()
}

fn kept(source: &Value, which: &str) -> Map<String, Value> {
    let all = source.pointer(&format!("/metadata/{which}")).and_then(Value::as_object).into_iter().flatten();
    all.filter(|(key, _)| !DROPPED.iter().any(|start| key.starts_with(start)))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The write that makes a copy, if one is needed.
pub fn step(kind: Kind, source: &Value, target: Option<&Value>, action: &Action, to: &str, run: &str) -> Option<Step> {
    let name = text(source, "/metadata/name");
    let object = clean(source, to, run);
    let write = match (action, target) {
        (Action::Create, _) => Write::Create { object, manager: SWITCH_MANAGER },
        (Action::Update(_), Some(target)) => {
            let mut patch = object;
            for field in ["data", "binaryData", "spec"] {
                let old = target[field].as_object().cloned().unwrap_or_default();
                for (key, _) in old {
                    if patch[field].get(&key).is_none() {
                        patch[field][key] = Value::Null;
                    }
                }
            }
            for fixed in ["apiVersion", "kind", "type"] {
                patch.as_object_mut().map(|fields| fields.remove(fixed));
            }
            Write::Patch { patch, observed: target.clone(), manager: SWITCH_MANAGER, subresource: None }
        }
        _ => return None,
    };
    Some(Step::new(kind, Some(to), name, write))
}

fn keys<'a>(object: &'a Value, which: &str) -> impl Iterator<Item = &'a str> {
    let all = object.pointer(&format!("/metadata/{which}")).and_then(Value::as_object);
    all.into_iter().flatten().map(|(key, _)| key.as_str())
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
#[path = "copies_tests.rs"]
mod tests;
