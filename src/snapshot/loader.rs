//! From a file, a directory or a stream to a store.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{
    crd,
    documents::{self, Found, Problem},
    files,
    object::{FileId, Object, Origin},
    resource::Resource,
    store::{self, Store},
    yaml::Fault,
};
use crate::error::{Error, ObjectRef, Result};

const STDIN: &str = "standard input";

/// Loads everything below a path into a store; `namespace` is for documents without one.
pub(super) fn load(path: &Path, stdin: &mut dyn Read, namespace: &str) -> Result<(Store, Vec<String>)> {
    let mut loader = Loader { store: Store::new(), found: Vec::new(), warnings: Vec::new(), in_directory: None };
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        stdin.read_to_end(&mut bytes).map_err(|error| files::unreadable(Path::new(STDIN), Some(&error)))?;
        loader.take(PathBuf::from(STDIN), &bytes)?;
    } else {
        loader.take_path(path)?;
    }
    loader.serve_what_was_found();
    loader.place(namespace)
}

struct Loader {
    store: Store,
    found: Vec<(FileId, Found)>,
    warnings: Vec<String>,
    /// The directory that is loaded; files below it may be passed over, a file that was named may not.
    in_directory: Option<PathBuf>,
}

impl Loader {
    fn take_path(&mut self, path: &Path) -> Result<()> {
        let kind = fs::metadata(path).map_err(|error| {
            files::unreadable(path, Some(&error)).hint("--from wants a file, a directory, or - for standard input")
        })?;
        if kind.is_dir() {
            self.in_directory = Some(path.to_owned());
            for file in files::find(path, &mut self.warnings)? {
                let bytes = fs::read(&file).map_err(|error| files::unreadable(&file, Some(&error)))?;
                if let Some(why) = files::surely_other(&file, &bytes) {
                    self.pass_over(&file, why);
                } else {
                    self.take(file, &bytes)?;
                }
            }
            return Ok(());
        }
        if !kind.is_file() {
            return Err(Error::usage(format!("cannot read {}: not a regular file", path.display()))
                .hint("a stream can be given as standard input: … | kctl … --from -"));
        }
        let bytes = fs::read(path).map_err(|error| files::unreadable(path, Some(&error)))?;
        self.take(path.to_owned(), &bytes)
    }

    fn take(&mut self, file: PathBuf, bytes: &[u8]) -> Result<()> {
        let json = file.extension().is_some_and(|end| end == "json");
        match documents::read(bytes, json) {
            Ok(found) => {
                let id = self.store.add_file(file);
                self.found.extend(found.into_iter().map(|found| (id, found)));
                Ok(())
            }
            Err(Problem::Kustomization) if self.in_directory.is_some() => {
                self.pass_over(&file, files::KUSTOMIZATION);
                Ok(())
            }
            Err(Problem::Kustomization) => {
                let directory = file.parent().filter(|dir| *dir != Path::new("")).unwrap_or(Path::new("."));
                Err(Error::usage(format!("{} is {}", file.display(), files::KUSTOMIZATION)).hint(kustomize(directory)))
            }
            Err(Problem::Syntax(fault) | Problem::Foreign(fault)) => {
                match files::known_other(&file).filter(|_| self.in_directory.is_some()) {
                    Some(why) => self.pass_over(&file, why),
                    None => return Err(self.refusal(&file, &fault)),
                }
                Ok(())
            }
        }
    }

    fn pass_over(&mut self, file: &Path, why: &str) {
        let mut warning = format!("skipped {}: {why}", file.display());
        if why == files::KUSTOMIZATION
            && let Some(directory) = file.parent()
        {
            warning = format!("{warning}; {}", kustomize(directory));
        }
        self.warnings.push(warning);
    }

    fn refusal(&self, file: &Path, fault: &Fault) -> Error {
        let error = Error::usage(format!("{}:{}: {}", file.display(), fault.line, fault.why));
        match &self.in_directory {
            Some(_) => error.hint("move it out of the directory, begin its name with a dot, or name the files to load"),
            None => error,
        }
    }

    /// Makes the kinds known: first those of CRDs, then those that only objects tell of.
    fn serve_what_was_found(&mut self) {
        for (_, found) in &self.found {
            if found.kind == "CustomResourceDefinition" && found.api_version == "apiextensions.k8s.io/v1" {
                self.store.registry.set_crd(&serde_json::from_str(&found.json).unwrap_or_default());
            }
        }
        let mut kinds: BTreeMap<(&str, &str), bool> = BTreeMap::new();
        for (_, found) in &self.found {
            *kinds.entry((&found.api_version, &found.kind)).or_default() |= found.namespace.is_some();
        }
        for ((api_version, kind), namespaced) in kinds {
            let (group, version) = group_and_version(api_version);
            self.store.registry.see(group, version, kind, namespaced);
        }
    }

    /// Puts every object in its place.
    fn place(mut self, default_namespace: &str) -> Result<(Store, Vec<String>)> {
        let mut seen: HashMap<String, (FileId, usize)> = HashMap::with_capacity(self.found.len());
        let highest = self.found.iter().filter_map(|(_, found)| found.version).max();
        self.store.saw_version(highest.unwrap_or_default());
        for (file, found) in std::mem::take(&mut self.found) {
            let (group, _) = group_and_version(&found.api_version);
            let Some(resource) = self.store.registry.of_kind(group, &found.kind).cloned() else { continue };
            let namespace =
                resource.namespaced.then(|| found.namespace.clone().unwrap_or_else(|| default_namespace.to_owned()));
            let key = store::key(namespace.as_deref(), &found.name);
            let place = (file, found.line);
            if let Some(before) = seen.insert(format!("{}/{key}", resource.qualified()), place) {
                return Err(self.twice(&found, namespace.as_deref(), before, place));
            }
            if let Some(namespace) = &namespace {
                self.store.imply_namespace(namespace);
            }
            let object = self.complete(&resource, &key, namespace.as_deref(), file, found);
            self.store.load(&resource, key, object);
        }
        Ok((self.store, self.warnings))
    }

    /// The object with the metadata every stored object has.
    fn complete(
        &mut self,
        resource: &Resource,
        key: &str,
        namespace: Option<&str>,
        file: FileId,
        found: Found,
    ) -> Object {
        let origin = Origin::Loaded(file, store::Added::default());
        let is_complete = found.has_uid && found.version.is_some_and(|version| version > 1);
        let json = if is_complete && found.namespace.as_deref() == namespace && !store::is_crd(resource) {
            match Object::from_json(found.json, origin) {
                Ok(object) => return object,
                Err(json) => json,
            }
        } else {
            found.json
        };
        let mut value: Value = serde_json::from_str(&json).unwrap_or_default();
        let metadata = super::shape::metadata(&mut value);
        match namespace {
            Some(namespace) => drop(metadata.insert("namespace".into(), json!(namespace))),
            None => drop(metadata.shift_remove("namespace")),
        }
        let mut added = store::complete(&mut self.store, resource, key, &mut value["metadata"]);
        if store::is_crd(resource) && !crd::is_established(&value) {
            let now = value["metadata"]["creationTimestamp"].as_str().unwrap_or("1970-01-01T00:00:00Z").to_owned();
            crd::establish(&mut value, &now);
            added.status = true;
        }
        Object::new(value, Origin::Loaded(file, added))
    }

    fn twice(&self, found: &Found, namespace: Option<&str>, one: (FileId, usize), other: (FileId, usize)) -> Error {
        let place = |(file, line): (FileId, usize)| {
            let path = self.store.files.get(file as usize).map_or_else(|| Path::new("?"), PathBuf::as_path);
            format!("{}:{line}", path.display())
        };
        let name = store::key(namespace, &found.name);
        let error = Error::usage(format!("{} {name} occurs twice: {} and {}", found.kind, place(one), place(other)))
            .object(ObjectRef::new(&found.kind, namespace, &found.name));
        match &self.in_directory {
            Some(directory) => error.hint(format!("when these are overlays, load one: {}", kustomize(directory))),
            None => error,
        }
    }
}

fn kustomize(directory: &Path) -> String {
    format!("kustomize build {} | kctl … --from -", directory.display())
}

fn group_and_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}
