//! From arguments to what is wanted: the id, and the settings with every contradiction refused.

use semver::Version;

use crate::{
    cli::install_args::{InstallArgs, map},
    error::{Error, Result},
    manifests::operator::{DEFAULT_VERSION, RESERVED_ENV, Registry, Settings, Watch},
    tenancy::id::OperatorId,
    ui::Ui,
};

/// The id of operators that are given none.
const DEFAULT_ID: &str = "camel-k";
/// Older operators need other manifests and permissions.
const OLDEST: Version = Version::new(2, 8, 0);
/// The first version that splits a list of namespaces.
const SEVERAL_NAMESPACES: Version = Version::new(2, 11, 0);

/// The operator id of the flag, else the default one with a note.
pub fn operator_id(args: &InstallArgs, ui: &Ui) -> Result<String> {
    let Some(id) = &args.operator_id else {
        ui.note(&format!("no operator id given; using {DEFAULT_ID}. A later version will want -x/--operator-id"));
        return Ok(DEFAULT_ID.to_owned());
    };
    Ok(id.parse::<OperatorId>()?.to_string())
}

/// The settings the flags name, and nothing else.
pub fn named_settings(args: &InstallArgs) -> Result<Settings> {
    let watch = match (args.global, args.watch_namespace.as_slice()) {
        (true, _) => Some(Watch::Cluster),
        (false, []) => None,
        (false, namespaces) => Some(Watch::Namespaces(namespaces.to_vec())),
    };
    if let Some((name, _)) = args.env.iter().find(|(name, _)| RESERVED_ENV.contains(&name.as_str())) {
        return Err(Error::usage(format!("--env cannot set {name}: kctl sets it itself"))
            .hint("the flags -x, --global, --watch-namespace and --log-level decide it"));
    }
    Ok(Settings {
        watch,
        version: version(args)?,
        image: args.operator_image.clone(),
        image_pull_policy: args.image_pull_policy.map(|policy| policy.word().to_owned()),
        image_pull_secrets: args.image_pull_secret.clone(),
        registry: Registry {
            address: args.registry.clone(),
            secret: args.registry_secret.clone(),
            insecure: args.registry_insecure.then_some(true),
            organization: args.registry_organization.clone(),
        },
        env: map(&args.env),
        resources: map(&args.resources),
        node_selector: map(&args.node_selector),
        tolerations: args.toleration.clone(),
        log_level: args.log_level.clone(),
        rbac_suffix: None,
    })
}

/// The version asked for, or the one that the image's tag tells.
fn version(args: &InstallArgs) -> Result<Option<String>> {
    let asked = args.operator_version.as_deref().map(|text| text.strip_prefix('v').unwrap_or(text));
    let tag = args.operator_image.as_deref().and_then(tag_of);
    match (asked, &args.operator_image) {
        (Some(text), _) => parsed(text).map(|_| Some(text.to_owned())),
        (None, Some(image)) => match tag.filter(|tag| Version::parse(tag).is_ok()) {
            Some(tag) => Ok(Some(tag.to_owned())),
            None => Err(Error::usage(format!("the version of image {image} cannot be read off its tag"))
                .hint(format!("say it: --operator-version {DEFAULT_VERSION}"))),
        },
        (None, None) => Ok(None),
    }
}

fn tag_of(image: &str) -> Option<&str> {
    let without_digest = image.split('@').next()?;
    let (_, tag) = without_digest.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'))?;
    Some(tag.strip_prefix('v').unwrap_or(tag))
}

fn parsed(text: &str) -> Result<Version> {
    Version::parse(text)
        .map_err(|_| Error::usage(format!("{text:?} is no version")).hint(format!("write it like {DEFAULT_VERSION}")))
}

/// Refuses settings that no operator could work with, once flags and earlier settings are put together.
pub fn check(settings: &Settings) -> Result<()> {
    let version = parsed(settings.version.as_deref().unwrap_or(DEFAULT_VERSION))?;
    if version < OLDEST {
        return Err(Error::refused(
            "VersionTooOld",
            format!("Camel K {version} cannot be installed by kctl: its roles and environment differ; {OLDEST} is the oldest that can"),
        )
        .hint(format!("kctl install --operator-version {DEFAULT_VERSION}"))
        .hint("install older ones with their own tools; kctl list-operators and run work with them"));
    }
    if let Some(Watch::Namespaces(namespaces)) = &settings.watch {
        if let Some(name) = namespaces.iter().find(|name| !is_namespace_name(name)) {
            return Err(Error::usage(format!("--watch-namespace: {name:?} is no namespace name")));
        }
        let release = Version::new(version.major, version.minor, version.patch);
        if namespaces.len() > 1 && release < SEVERAL_NAMESPACES {
            return Err(Error::usage(format!(
                "Camel K {version} watches one namespace or all; it would take {:?} as one name",
                namespaces.join(",")
            ))
            .hint("install one operator for each namespace, or use --global"));
        }
    }
    if settings.registry.address.is_none() && settings.registry != Registry::default() {
        return Err(
            Error::usage("registry settings are of no use without the registry").hint("add --registry HOST:PORT")
        );
    }
    Ok(())
}

fn is_namespace_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('-') && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Wrapper {
        #[command(flatten)]
        args: InstallArgs,
    }

    fn settings(line: &str) -> Result<Settings> {
        let words = std::iter::once("install").chain(line.split_whitespace());
        let args = Wrapper::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}")).args;
        let settings = named_settings(&args)?;
        check(&settings)?;
        Ok(settings)
    }

    #[test]
    fn the_version_comes_from_the_flag_or_the_tag() {
        let cases = [
            ("", None),
            ("--operator-version 2.9.0", Some("2.9.0")),
            ("--operator-version v2.9.0", Some("2.9.0")),
            ("--operator-image example.com:5000/camel-k:2.9.1", Some("2.9.1")),
            ("--operator-image example.com/camel-k:v2.9.1@sha256:abc", Some("2.9.1")),
            ("--operator-image example.com/camel-k:fork --operator-version 2.10.0", Some("2.10.0")),
        ];
        for (line, version) in cases {
            assert_eq!(settings(line).expect(line).version.as_deref(), version, "{line}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        use crate::error::Exit::{Refused, Usage};
        let cases = [
            ("--operator-image example.com/camel-k:fork", Usage),
            ("--operator-image example.com:5000/camel-k", Usage),
            ("--operator-version 2.7.0", Refused),
            ("--operator-version latest", Usage),
            ("--watch-namespace a,b", Usage),
            ("--watch-namespace A_b", Usage),
            ("--env KAMEL_OPERATOR_ID=x", Usage),
            ("--registry-insecure", Usage),
        ];
        for (line, exit) in cases {
            let error = settings(line).expect_err(line);
            assert_eq!(error.exit(), exit, "{line}: {error}");
            assert!(line.contains("watch-namespace A") || !error.all_hints().is_empty(), "{line} has a hint");
        }
        assert!(settings("--watch-namespace a,b --operator-version 2.11.0-SNAPSHOT").is_ok());
    }
}
