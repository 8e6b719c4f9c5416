//! What the snapshot serves: resources, their versions and subresources, and the registry of them.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{builtin, crd, schema::Schema};

/// One resource: a group and a plural, under which objects are stored once, whatever the version they are asked in.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub group: String,
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub list_kind: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    /// Served by a CRD on a real cluster. Such kinds answer some requests in other words than built-in ones.
    pub custom: bool,
    /// Whether the server counts `metadata.generation`.
    pub generation: bool,
    pub versions: Vec<Version>,
}

/// A served version of a resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Version {
    pub name: String,
    /// Whether there is a status subresource.
    pub status: bool,
    /// The scale subresource.
    pub scale: Option<ScalePaths>,
    /// The structural schema of a CRD, when it has one.
    pub schema: Option<Arc<Schema>>,
}

/// Where a resource with a scale subresource keeps its numbers, as JSON pointers.
#[derive(Clone, Debug)]
pub(super) struct ScalePaths {
    pub spec: String,
    pub status: String,
    pub selector: Option<String>,
}

impl Default for ScalePaths {
    fn default() -> Self {
        Self { spec: "/spec/replicas".into(), status: "/status/replicas".into(), selector: None }
    }
}

impl Resource {
    /// `configmaps`, `integrations.camel.apache.org`: the key of the resource and its name in messages.
    pub(super) fn qualified(&self) -> String {
        qualified(&self.plural, &self.group)
    }

    /// `ConfigMap`, `Integration.camel.apache.org`.
    pub(super) fn qualified_kind(&self) -> String {
        qualified(&self.kind, &self.group)
    }

    /// `v1`, `apps/v1`.
    pub(super) fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }

    pub(super) fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }
}

/// `NAME.GROUP`, or `NAME` in the core group.
pub(super) fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

/// All served resources.
#[derive(Debug)]
pub(super) struct Registry {
    /// Built-in kinds, Camel K, and kinds that were seen in what was loaded; by qualified name.
    base: BTreeMap<String, Arc<Resource>>,
    /// Kinds of the CRDs in the store; they go before.
    crds: BTreeMap<String, Arc<Resource>>,
    /// Qualified kind -> qualified name.
    by_kind: BTreeMap<String, String>,
}

impl Registry {
    /// The kinds every snapshot serves.
    pub(super) fn new() -> Self {
        let mut registry = Self { base: BTreeMap::new(), crds: BTreeMap::new(), by_kind: BTreeMap::new() };
        for resource in builtin::served() {
            registry.add(resource);
        }
        registry
    }

    fn add(&mut self, resource: Resource) {
        self.by_kind.insert(resource.qualified_kind(), resource.qualified());
        self.base.insert(resource.qualified(), Arc::new(resource));
    }

    /// The resource of a URL.
    pub(super) fn find(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        let name = qualified(plural, group);
        self.crds.get(&name).or_else(|| self.base.get(&name))
    }

    /// The resource of a kind.
    pub(super) fn of_kind(&self, group: &str, kind: &str) -> Option<&Arc<Resource>> {
        let name = self.by_kind.get(&qualified(kind, group))?;
        self.crds.get(name).or_else(|| self.base.get(name))
    }

    /// Every served resource, by qualified name.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        let hidden = |name: &String| self.crds.contains_key(name);
        self.crds.values().chain(self.base.iter().filter(move |(name, _)| !hidden(name)).map(|(_, resource)| resource))
    }

    /// Serves what a CRD defines from now on. Returns false when it defines nothing that can be served.
    pub(super) fn set_crd(&mut self, crd: &Value) -> bool {
        let Some(resource) = crd::resource(crd) else { return false };
        self.by_kind.insert(resource.qualified_kind(), resource.qualified());
        self.crds.insert(resource.qualified(), Arc::new(resource));
        true
    }

    /// Stops serving what only the CRD of this name defined.
    pub(super) fn remove_crd(&mut self, name: &str) {
        if let Some(resource) = self.crds.remove(name)
            && !self.base.contains_key(name)
        {
            self.by_kind.remove(&resource.qualified_kind());
        }
    }

    /// Serves a kind that was seen in what was loaded. `namespaced` is used when nothing else tells.
    pub(super) fn see(&mut self, group: &str, version: &str, kind: &str, namespaced: bool) -> Arc<Resource> {
        if let Some(known) = self.of_kind(group, kind) {
            if known.version(version).is_some() {
                return Arc::clone(known);
            }
            let mut wider = Resource::clone(known);
            let like = wider.versions.first().cloned().unwrap_or_default();
            wider.versions.push(Version { name: version.to_owned(), schema: None, ..like });
            sort_versions(&mut wider.versions);
            let wider = Arc::new(wider);
            let map = if self.crds.contains_key(&wider.qualified()) { &mut self.crds } else { &mut self.base };
            map.insert(wider.qualified(), Arc::clone(&wider));
            return wider;
        }
        let resource = builtin::known(group, version, kind)
            .unwrap_or_else(|| builtin::custom(group, version, kind, &plural_of(kind), namespaced));
        let name = resource.qualified();
        self.add(resource);
        Arc::clone(&self.base[&name])
    }
}

/// The plural a kind has when nobody says otherwise.
fn plural_of(kind: &str) -> String {
    let lower = kind.to_ascii_lowercase();
    let sibilant = ["s", "x", "z", "ch", "sh"].iter().any(|end| lower.ends_with(end));
    match lower.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if sibilant => format!("{lower}es"),
        _ => format!("{lower}s"),
    }
}

/// Orders versions as the server prefers them: v2, v1, v1beta2, v1beta1, v1alpha1, then the rest by name.
pub(super) fn sort_versions(versions: &mut [Version]) {
    versions.sort_by_cached_key(|version| priority(&version.name));
}

/// A key that sorts version names in the order of preference.
pub(super) fn priority(version: &str) -> (u8, Reverse<u32>, Reverse<u32>, String) {
    let last = (3, Reverse(0), Reverse(0), version.to_owned());
    let Some(rest) = version.strip_prefix('v') else { return last };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let Ok(major) = rest[..digits].parse() else { return last };
    let (rank, minor) = match &rest[digits..] {
        "" => (0, Ok(0)),
        tail if tail.starts_with("beta") => (1, tail[4..].parse()),
        tail if tail.starts_with("alpha") => (2, tail[5..].parse()),
        _ => return last,
    };
    minor.map_or(last, |minor| (rank, Reverse(major), Reverse(minor), String::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals() {
        for (kind, plural) in [
            ("Integration", "integrations"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("Ingress", "ingresses"),
            ("Switch", "switches"),
        ] {
            assert_eq!(plural_of(kind), plural);
        }
    }

    #[test]
    fn versions_are_ordered_as_the_server_prefers_them() {
        let mut versions: Vec<Version> = ["v1alpha1", "foo", "v1beta1", "v1", "v10", "v1beta2", "v2"]
            .map(|name| Version { name: name.into(), ..Version::default() })
            .into();
        sort_versions(&mut versions);
        let names: Vec<&str> = versions.iter().map(|version| version.name.as_str()).collect();
        assert_eq!(names, ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo"]);
    }

    #[test]
    fn a_crd_goes_before_and_its_removal_uncovers_what_was_there() {
        let mut registry = Registry::new();
        let crd = serde_json::json!({"metadata": {"name": "kamelets.camel.apache.org"}, "spec": {
            "group": "camel.apache.org", "scope": "Namespaced", "names": {"plural": "kamelets", "kind": "Kamelet"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true}]}});
        assert!(registry.set_crd(&crd));
        let names = |registry: &Registry| {
            let versions = &registry.find("camel.apache.org", "kamelets").unwrap().versions;
            versions.iter().map(|version| version.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&registry), ["v1alpha1"]);
        registry.remove_crd("kamelets.camel.apache.org");
        assert_eq!(names(&registry), ["v1"]);
        assert!(registry.of_kind("camel.apache.org", "Kamelet").is_some());
    }
}
