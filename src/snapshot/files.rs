//! Which files of a directory may hold objects, and which are surely something else.

use std::{
    fs,
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

use crate::error::{Error, Result};

/// Finds the YAML and JSON files of a directory, in the order of their names.
///
/// Hidden files and directories (`.git`, `.github`) are left out. Links are not followed: one that stays inside leads to
/// a file that is found anyway, one that leads out is told in `warnings`, and so are pipes and devices.
pub(super) fn find(root: &Path, warnings: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let hidden = |entry: &walkdir::DirEntry| {
        entry.depth() > 0 && entry.file_name().to_str().is_some_and(|name| name.starts_with('.'))
    };
    for entry in WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(|entry| !hidden(entry)) {
        let entry = entry.map_err(|error| unreadable(error.path().unwrap_or(root), error.io_error()))?;
        let path = entry.path();
        let kind = entry.file_type();
        if kind.is_symlink() {
            if leads_out(root, path) {
                warnings.push(format!("skipped {}: a link that leads out of {}", path.display(), root.display()));
            }
        } else if kind.is_file() && has_extension(path) {
            files.push(path.to_owned());
        } else if !kind.is_dir() && !kind.is_file() && has_extension(path) {
            warnings.push(format!("skipped {}: not a regular file", path.display()));
        }
    }
    Ok(files)
}

/// The error for a file that cannot be read.
pub(super) fn unreadable(path: &Path, error: Option<&std::io::Error>) -> Error {
    let why = error.map_or_else(|| "cannot be read".to_owned(), describe);
    Error::usage(format!("cannot read {}: {why}", path.display()))
}

/// What an error of the system says, without its number.
pub(super) fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

fn has_extension(path: &Path) -> bool {
    path.extension().and_then(|end| end.to_str()).is_some_and(|end| matches!(end, "yaml" | "yml" | "json"))
}

fn leads_out(root: &Path, link: &Path) -> bool {
    match (fs::canonicalize(root), fs::canonicalize(link)) {
        (Ok(root), Ok(target)) => !target.starts_with(root),
        _ => true,
    }
}

/// Why a file of a directory is surely no manifest, told from its name and its neighbours. It is not even parsed.
pub(super) fn surely_other(path: &Path, text: &[u8]) -> Option<&'static str> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let chart = path.parent().and_then(chart_above);
    match name {
        "kustomization.yaml" | "kustomization.yml" => return Some(KUSTOMIZATION),
        "Chart.yaml" | "Chart.yml" => return Some("the description of a Helm chart"),
        _ => {}
    }
    let chart = chart?;
    let inside = path.strip_prefix(chart).unwrap_or(path);
    if inside.starts_with("templates") && text.windows(2).any(|pair| pair == b"{{") {
        return Some("a template of a Helm chart; `helm template` renders it");
    }
    let is_values = inside.components().count() == 1 && (name.starts_with("values") || name == "requirements.yaml");
    (is_values || inside.starts_with("ci")).then_some("values of a Helm chart")
}

/// What is said of a kustomization.
pub(super) const KUSTOMIZATION: &str = "a kustomization, which is not built here";

fn chart_above(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|above| above.join("Chart.yaml").is_file() || above.join("Chart.yml").is_file())
}

/// Why a file that turned out to hold no objects may be passed over, told from its name.
pub(super) fn known_other(path: &Path) -> Option<&'static str> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    match stem {
        "values" => Some("values, not objects"),
        _ if stem.starts_with("values-") || stem.starts_with("values.") || stem.ends_with("-values") => {
            Some("values, not objects")
        }
        "package" | "package-lock" | "tsconfig" | "renovate" | "mkdocs" | "skaffold" | "devfile"
        | "azure-pipelines" | "cloudbuild" | "mirrord" | "pnpm-lock" => Some("settings of another tool"),
        _ if stem.starts_with("docker-compose") || stem.starts_with("compose") => Some("settings of another tool"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_are_known_by_their_neighbours() {
        let dir = tempfile::tempdir().unwrap();
        let chart = dir.path().join("chart");
        fs::create_dir_all(chart.join("templates/sub")).unwrap();
        fs::write(chart.join("Chart.yaml"), "name: x").unwrap();
        let other = |path: &str, text: &str| surely_other(&chart.join(path), text.as_bytes()).is_some();
        assert!(other("Chart.yaml", ""));
        assert!(other("values.yaml", "a: 1"));
        assert!(other("values-prod.yaml", "a: 1"));
        assert!(other("templates/sub/x.yaml", "name: {{ .Values.x }}"));
        assert!(!other("templates/plain.yaml", "kind: Pod"));
        assert!(!other("crds/crd.yaml", "{{"));
        assert!(surely_other(&dir.path().join("x.yaml"), b"{{").is_none());
        assert!(surely_other(&dir.path().join("kustomization.yaml"), b"").is_some());
    }

    #[cfg(unix)]
    #[test]
    fn hidden_files_and_links_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join("sub")).unwrap();
        for file in
            ["root/b.yaml", "root/sub/a.json", "root/.git/x.yaml", "root/.hidden.yaml", "root/n.txt", "out.yaml"]
        {
            fs::write(dir.path().join(file), "").unwrap();
        }
        std::os::unix::fs::symlink(dir.path().join("out.yaml"), root.join("out.yaml")).unwrap();
        std::os::unix::fs::symlink(root.join("b.yaml"), root.join("in.yaml")).unwrap();
        std::os::unix::fs::symlink(&root, root.join("sub/loop")).unwrap();
        let mut warnings = Vec::new();
        let found = find(&root, &mut warnings).unwrap();
        let names: Vec<_> = found.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
        assert_eq!(names, ["b.yaml", "sub/a.json"]);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("out.yaml: a link that leads out"), "{warnings:?}");
    }
}
