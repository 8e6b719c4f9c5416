//! Arguments of `install` about building images, most of them for networks without a way out.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::manifests::platform::{Reference, Repository};

/// How the operator builds.
#[derive(Args, Clone, Debug)]
pub struct BuildArgs {
    /// File with a whole IntegrationPlatform, or its spec; flags are laid over it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Build")]
    pub platform: Option<PathBuf>,

    /// Image that built images start from
    #[arg(long, value_name = "IMAGE", help_heading = "Build")]
    pub base_image: Option<String>,

    /// ConfigMap with the certificate authority of the registry
    #[arg(long, value_name = "CONFIGMAP", help_heading = "Registry")]
    pub registry_ca: Option<String>,

    /// Maven settings: configmap:NAME[/KEY] or secret:NAME[/KEY]
    #[arg(long, value_name = "REFERENCE", value_parser = settings_reference, conflicts_with = "maven_repository", help_heading = "Build")]
    pub maven_settings: Option<Reference>,

    /// Secret with a certificate authority for Maven: NAME[/KEY] (repeatable)
    #[arg(long, value_name = "SECRET", value_parser = ca_reference, help_heading = "Build")]
    pub maven_ca_secret: Vec<Reference>,

    /// Maven repository: URL[@id=ID][@mirrorOf=PATTERN][@snapshots] (repeatable)
    #[arg(long, value_name = "URL", value_parser = repository, help_heading = "Build")]
    pub maven_repository: Vec<Repository>,

    /// Where builds run: in a pod of their own, or in the operator
    #[arg(long, value_name = "STRATEGY", value_parser = ["pod", "routine"], help_heading = "Build")]
    pub build_strategy: Option<String>,

    /// Time that a build may take, such as 10m
    #[arg(long, value_name = "DURATION", value_parser = go_duration, help_heading = "Build")]
    pub build_timeout: Option<String>,

    /// How images are published
    #[arg(long, value_name = "STRATEGY", value_parser = ["Jib", "S2I", "Buildah", "Kaniko", "Spectrum"], ignore_case = true, help_heading = "Build")]
    pub build_publish_strategy: Option<String>,

    /// Builds at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Build")]
    pub max_running_builds: Option<u32>,

    /// Version of the Camel K runtime
    #[arg(long, value_name = "VERSION", help_heading = "Build")]
    pub runtime_version: Option<String>,

    /// Print the images that the install pulls, by flags and defaults; no cluster is contacted
    #[arg(long, conflicts_with_all = ["output", "dry_run", "wait"], help_heading = "Build")]
    pub list_images: bool,
}

fn settings_reference(text: &str) -> Result<Reference, String> {
    let wrong = || "write configmap:NAME[/KEY] or secret:NAME[/KEY]".to_owned();
    let (kind, place) = text.split_once(':').ok_or_else(wrong)?;
    let kind = match kind {
        "configmap" => "ConfigMap",
        "secret" => "Secret",
        _ => return Err(wrong()),
    };
    reference(kind, place, "settings.xml").ok_or_else(wrong)
}

fn ca_reference(text: &str) -> Result<Reference, String> {
    reference("Secret", text, "ca.crt").ok_or_else(|| "write NAME[/KEY]".to_owned())
}

fn reference(kind: &str, place: &str, default_key: &str) -> Option<Reference> {
    let (name, key) = place.split_once('/').unwrap_or((place, default_key));
    let usable = !name.is_empty() && !key.is_empty() && !key.contains('/');
    usable.then(|| Reference { kind: kind.to_owned(), name: name.to_owned(), key: key.to_owned() })
}

fn repository(text: &str) -> Result<Repository, String> {
    let mut out = Repository { url: text.to_owned(), id: None, mirror_of: None, snapshots: false };
    // From the end, since the address itself may hold an @.
    while let Some((url, option)) = out.url.rsplit_once('@') {
        match option.split_once('=') {
            Some(("id", id)) if !id.is_empty() => out.id = Some(id.to_owned()),
            Some(("mirrorOf", of)) if !of.is_empty() => out.mirror_of = Some(of.to_owned()),
            None if option == "snapshots" => out.snapshots = true,
            _ => break,
        }
        let end = url.len();
        out.url.truncate(end);
    }
    let scheme = out.url.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty());
    if scheme { Ok(out) } else { Err("write URL[@id=ID][@mirrorOf=PATTERN][@snapshots]".to_owned()) }
}

/// A duration as Kubernetes objects hold it.
fn go_duration(text: &str) -> Result<String, String> {
    let seconds = super::global::duration(text)?.as_secs();
    if seconds == 0 {
        return Err("a build needs at least a second".to_owned());
    }
    Ok(format!("{}m{}s", seconds / 60, seconds % 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        let made = |text: &str| settings_reference(text).map(|made| (made.kind, made.name, made.key));
        assert_eq!(made("configmap:m"), Ok(("ConfigMap".into(), "m".into(), "settings.xml".into())));
        assert_eq!(made("secret:m/x"), Ok(("Secret".into(), "m".into(), "x".into())));
        for wrong in ["m", "file:m", "secret:", "secret:/x", "secret:m/", "secret:m/x/y"] {
            assert!(made(wrong).is_err(), "{wrong}");
        }
        assert_eq!(ca_reference("ca").map(|made| made.key), Ok("ca.crt".into()));
    }

    #[test]
    fn repositories() {
        let made = |text: &str| repository(text).map(|made| (made.url, made.id, made.mirror_of, made.snapshots));
        assert_eq!(made("https://u:p@m/x"), Ok(("https://u:p@m/x".into(), None, None, false)));
        assert_eq!(
            made("https://m@id=a@mirrorOf=*@snapshots"),
            Ok(("https://m".into(), Some("a".into()), Some("*".into()), true))
        );
        for wrong in ["m", "https://", "@id=a"] {
            assert!(made(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn timeouts() {
        assert_eq!(go_duration("10m"), Ok("10m0s".into()));
        assert_eq!(go_duration("90s"), Ok("1m30s".into()));
        assert!(go_duration("0s").is_err());
    }
}
