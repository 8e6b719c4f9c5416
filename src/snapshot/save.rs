//! Writing a snapshot back to files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    files,
    object::{FileId, Object, Origin},
    store::{Store, is_crd},
};
use crate::error::{Error, Result};

/// The file in a directory that takes what came from none of its files.
const NEW_OBJECTS: &str = "kctl.yaml";

/// Saves to a file, or into a directory when the path is one or ends with a slash.
pub(super) fn save(store: &Store, path: &Path) -> Result<()> {
    let wants_directory = path.as_os_str().to_str().is_some_and(|text| text.ends_with('/'));
    match fs::metadata(path) {
        Ok(kind) if kind.is_dir() => save_directory(store, path),
        Ok(kind) if !kind.is_file() => Err(not_writable(path, "not a regular file")),
        Err(_) if wants_directory => {
            fs::create_dir_all(path).map_err(|error| not_writable(path, &files::describe(&error)))?;
            save_directory(store, path)
        }
        _ => write_file(path, &in_order(store, |object| object.origin != Origin::Implied)),
    }
}

/// Saves into a directory. Objects that were loaded from a file below it stay in that file, which is written again only
/// when one of them changed or is gone; all others go to one file more.
fn save_directory(store: &Store, directory: &Path) -> Result<()> {
    let directory = fs::canonicalize(directory).map_err(|error| not_writable(directory, &files::describe(&error)))?;
    let own = own_files(store, &directory);
    let fresh = directory.join(NEW_OBJECTS);
    let home = |object: &Object| match object.origin {
        Origin::Loaded(file, _) | Origin::Changed(file) => own.get(&file).cloned().unwrap_or_else(|| fresh.clone()),
        Origin::Created | Origin::Implied => fresh.clone(),
    };
    let unchanged: BTreeMap<FileId, usize> = store.iter().fold(BTreeMap::new(), |mut counts, (_, _, object)| {
        if let Origin::Loaded(file, _) = object.origin {
            *counts.entry(file).or_default() += 1;
        }
        counts
    });
    let mut stale: BTreeSet<PathBuf> = own
        .iter()
        .filter(|(file, _)| unchanged.get(file).copied().unwrap_or_default() != store.loaded_from(**file))
        .map(|(_, path)| path.clone())
        .collect();
    let has_new = store.iter().any(|(_, _, object)| object.origin != Origin::Implied && home(object) == fresh);
    if has_new {
        if fresh.exists() && !own.values().any(|path| *path == fresh) {
            return Err(not_writable(&fresh, "it is there, and was not loaded"));
        }
        stale.insert(fresh.clone());
    }
    for path in stale {
        let objects = in_order(store, |object| object.origin != Origin::Implied && home(object) == path);
        if objects.is_empty() {
            fs::remove_file(&path).map_err(|error| not_writable(&path, &files::describe(&error)))?;
        } else {
            write_file(&path, &objects)?;
        }
    }
    Ok(())
}

/// The loaded files that are below a directory, by their canonical paths.
fn own_files(store: &Store, directory: &Path) -> BTreeMap<FileId, PathBuf> {
    (0..)
        .zip(&store.files)
        .filter_map(|(file, path)| Some((file, fs::canonicalize(path).ok()?)))
        .filter(|(_, path)| path.starts_with(directory))
        .collect()
}

/// The objects that are taken, in an order in which they can be applied: namespaces, definitions, the rest.
fn in_order(store: &Store, taken: impl Fn(&Object) -> bool) -> Vec<&Object> {
    let mut objects: Vec<(u8, &Object)> = store
        .iter()
        .filter(|(_, _, object)| taken(object))
        .map(|(qualified, _, object)| {
            let rank = match store.resource(qualified) {
                Some(resource) if is_crd(resource) => 1,
                _ if qualified == "namespaces" => 0,
                _ => 2,
            };
            (rank, object)
        })
        .collect();
    objects.sort_by_key(|(rank, _)| *rank);
    objects.into_iter().map(|(_, object)| object).collect()
}

/// An object as it is saved: without what loading put into it, when it is otherwise as it was.
fn saved(object: &Object) -> Value {
    let mut value = object.value();
    let Origin::Loaded(_, added) = object.origin else { return value };
    if let Some(fields) = value.as_object_mut().filter(|_| added.status) {
        fields.shift_remove("status");
    }
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        if added.uid {
            metadata.shift_remove("uid");
        }
        if added.resource_version {
            metadata.shift_remove("resourceVersion");
        }
    }
    value
}

/// Writes objects to a file, in one step: to a file beside it that takes its place.
fn write_file(path: &Path, objects: &[&Object]) -> Result<()> {
    let fail = |error: std::io::Error| not_writable(path, &files::describe(&error));
    // A link stays a link: what it leads to is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new();
    temporary.prefix(".kctl-");
    #[cfg(unix)]
    temporary.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = temporary.tempfile_in(directory).map_err(fail)?;
    let mut writer = BufWriter::new(file);
    if path.extension().is_some_and(|end| end == "json") {
        write_json(&mut writer, objects)
    } else {
        write_yaml(&mut writer, objects)
    }
    .map_err(fail)?;
    let file = writer.into_inner().map_err(|error| fail(error.into_error()))?;
    file.as_file().sync_all().map_err(fail)?;
    if let Ok(there) = fs::metadata(&path) {
        fs::set_permissions(file.path(), there.permissions()).map_err(fail)?;
    }
    file.persist(&path).map_err(|error| fail(error.error))?;
    Ok(())
}

fn write_json(out: &mut impl Write, objects: &[&Object]) -> std::io::Result<()> {
    out.write_all(b"{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": [")?;
    for (index, object) in objects.iter().enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        let text = serde_json::to_string_pretty(&saved(object))?;
        for (index, line) in text.lines().enumerate() {
            out.write_all(if index == 0 { b"    " } else { b"\n    " })?;
            out.write_all(line.as_bytes())?;
        }
    }
    out.write_all(if objects.is_empty() { b"]\n}\n" } else { b"\n  ]\n}\n" })
}

fn write_yaml(out: &mut impl Write, objects: &[&Object]) -> std::io::Result<()> {
    for object in objects {
        // Long lines stay lines: folding them would change the look of what people wrote.
        let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
        let text = serde_saphyr::to_string_with_options(&saved(object), options).map_err(std::io::Error::other)?;
        out.write_all(b"---\n")?;
        out.write_all(text.trim_start_matches("---\n").as_bytes())?;
        if !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

fn not_writable(path: &Path, why: &str) -> Error {
    Error::failed("SaveFailed", format!("cannot save to {}: {why}", path.display()))
}
