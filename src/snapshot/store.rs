//! The objects of a snapshot, by resource and key, and what the server puts into their metadata.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub(super) use super::object::Added;
use super::{
    object::{FileId, Object, Origin},
    resource::{Registry, Resource},
};

/// Namespaces every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// All objects and what is served.
#[derive(Debug)]
pub(super) struct Store {
    pub registry: Registry,
    /// Qualified resource name -> key -> object. The key is `NAMESPACE/NAME` or `NAME`, so that the order of keys is
    /// the order in which a server lists.
    objects: BTreeMap<String, BTreeMap<String, Object>>,
    version: u64,
    /// The files that were loaded, by [`FileId`].
    pub files: Vec<PathBuf>,
    /// How many objects were loaded from each file.
    loaded: Vec<usize>,
}

/// The key of an object in its resource.
pub(super) fn key(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

impl Store {
    /// A cluster with nothing but its first namespaces.
    pub(super) fn new() -> Self {
        // "1" in an apply means "only if it does not exist", so no object may ever have that version.
        let mut store = Self {
            registry: Registry::new(),
            objects: BTreeMap::new(),
            version: 100,
            files: Vec::new(),
            loaded: Vec::new(),
        };
        for namespace in NAMESPACES {
            store.imply_namespace(namespace);
        }
        store
    }

    /// Makes sure that a namespace exists.
    pub(super) fn imply_namespace(&mut self, name: &str) {
        if self.objects.get("namespaces").is_some_and(|there| there.contains_key(name)) {
            return;
        }
        let version = self.next_version();
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "uid": uid(&format!("namespaces/{name}")), "resourceVersion": version,
                "labels": {"kubernetes.io/metadata.name": name}},
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
        });
        self.put_object("namespaces", name.to_owned(), Object::new(namespace, Origin::Implied));
    }

    /// Whether a namespace exists.
    pub(super) fn has_namespace(&self, name: &str) -> bool {
        self.objects.get("namespaces").is_some_and(|there| there.contains_key(name))
    }

    pub(super) fn get(&self, resource: &Resource, key: &str) -> Option<&Object> {
        self.objects.get(&resource.qualified())?.get(key)
    }

    /// The objects of a resource, in the order of their keys.
    pub(super) fn all(&self, resource: &Resource) -> Option<&BTreeMap<String, Object>> {
        self.objects.get(&resource.qualified())
    }

    /// Every object with its resource's qualified name and its key.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str, &Object)> {
        self.objects.iter().flat_map(|(resource, objects)| {
            objects.iter().map(move |(key, object)| (resource.as_str(), key.as_str(), object))
        })
    }

    /// Writes an object, and serves or ceases to serve what it defines.
    pub(super) fn put(&mut self, resource: &Resource, key: String, value: Value, origin: Origin) {
        if is_crd(resource) {
            self.registry.set_crd(&value);
        }
        self.put_object(&resource.qualified(), key, Object::new(value, origin));
    }

    fn put_object(&mut self, resource: &str, key: String, object: Object) {
        if let Some(objects) = self.objects.get_mut(resource) {
            objects.insert(key, object);
        } else {
            self.objects.insert(resource.to_owned(), BTreeMap::from([(key, object)]));
        }
    }

    /// Takes an object in while loading.
    pub(super) fn load(&mut self, resource: &Resource, key: String, object: Object) {
        if let Origin::Loaded(file, _) = object.origin
            && let Some(count) = self.loaded.get_mut(file as usize)
        {
            *count += 1;
        }
        self.put_object(&resource.qualified(), key, object);
    }

    /// Removes an object, and with it what lives and dies with it: the objects of a namespace, those of a CRD's kind.
    pub(super) fn remove(&mut self, resource: &Resource, key: &str) {
        if let Some(objects) = self.objects.get_mut(&resource.qualified()) {
            objects.remove(key);
        }
        if is_crd(resource) {
            self.objects.remove(key);
            self.registry.remove_crd(key);
        } else if resource.group.is_empty() && resource.plural == "namespaces" {
            let inside = format!("{key}/");
            for objects in self.objects.values_mut() {
                objects.retain(|key, _| !key.starts_with(&inside));
            }
        }
    }

    /// The version of the whole store.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// A new resourceVersion.
    pub(super) fn next_version(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    /// Takes note of a resourceVersion that was loaded, so that new ones are higher.
    pub(super) fn saw_version(&mut self, version: u64) {
        self.version = self.version.max(version);
    }

    /// A file to load from; objects refer to it by the id.
    pub(super) fn add_file(&mut self, path: PathBuf) -> FileId {
        self.files.push(path);
        self.loaded.push(0);
        FileId::try_from(self.files.len() - 1).unwrap_or(FileId::MAX)
    }

    /// How many objects were loaded from a file.
    pub(super) fn loaded_from(&self, file: FileId) -> usize {
        self.loaded.get(file as usize).copied().unwrap_or_default()
    }

    /// The resource a stored object belongs to.
    pub(super) fn resource(&self, qualified: &str) -> Option<&Arc<Resource>> {
        let (plural, group) = qualified.split_once('.').unwrap_or((qualified, ""));
        self.registry.find(group, plural)
    }
}

/// Whether a resource is that of CRDs.
pub(super) fn is_crd(resource: &Resource) -> bool {
    resource.group == "apiextensions.k8s.io" && resource.plural == "customresourcedefinitions"
}

/// A uid made of a seed: the same seed gives the same uid.
pub(super) fn uid(seed: &str) -> String {
    let hash = hash(seed);
    let number =
        |from: usize, to: usize| hash[from..to].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        number(0, 4),
        number(4, 6),
        number(6, 8) & 0xfff,
        number(8, 10) & 0xfff,
        number(10, 16)
    )
}

/// The end of a generated name, made of a seed, in the alphabet the server uses.
pub(super) fn name_suffix(seed: &str) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    hash(seed).iter().take(5).map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])).collect()
}

fn hash(seed: &str) -> impl AsRef<[u8]> + std::ops::Deref<Target = [u8]> {
    Sha256::digest(seed.as_bytes())
}

/// Gives a loaded object the uid and resourceVersion it lacks.
pub(super) fn complete(store: &mut Store, resource: &Resource, key: &str, metadata: &mut Value) -> Added {
    let lacks = |field: &str| metadata[field].as_str().is_none_or(str::is_empty);
    let version = metadata["resourceVersion"].as_str().and_then(|version| version.parse::<u64>().ok());
    let added = Added { uid: lacks("uid"), resource_version: version.is_none_or(|version| version < 2), status: false };
    if added.uid {
        metadata["uid"] = json!(uid(&format!("{}/{key}", resource.qualified())));
    }
    if added.resource_version {
        metadata["resourceVersion"] = json!(store.next_version());
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_looks_like_one_and_is_the_same_for_the_same_seed() {
        let one = uid("configmaps/a/b");
        let groups: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12]);
        assert_eq!(one, uid("configmaps/a/b"));
        assert_ne!(one, uid("configmaps/a/c"));
    }

    #[test]
    fn no_object_has_the_version_that_means_absent() {
        let mut store = Store::new();
        let resource = Arc::clone(store.registry.find("", "configmaps").unwrap());
        let mut metadata = json!({"name": "a", "resourceVersion": "1"});
        complete(&mut store, &resource, "default/a", &mut metadata);
        assert_ne!(metadata["resourceVersion"], "1");
        assert!(store.iter().all(|(_, _, object)| object.meta().resource_version.as_deref() != Some("1")));
    }
}
