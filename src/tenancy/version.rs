//! Versions as operators carry them: a label, the tag of an image.

use semver::Version;

use crate::contracts::MajorMinor;

/// A version with or without a leading `v`; the patch number may be missing.
pub fn parse(text: &str) -> Option<Version> {
    let text = text.strip_prefix('v').unwrap_or(text);
    Version::parse(text).ok().or_else(|| {
        let (major, minor) = text.split_once('.')?;
        Some(Version::new(major.parse().ok()?, minor.parse().ok()?, 0))
    })
}

/// Major and minor number of a version text.
pub fn major_minor(text: &str) -> Option<MajorMinor> {
    parse(text).map(|version| (version.major, version.minor))
}

/// The tag of an image reference; `None` without one. A digest is no tag.
pub fn image_tag(image: &str) -> Option<&str> {
    let name = image.split_once('@').map_or(image, |(name, _)| name);
    let last = name.rsplit('/').next()?;
    last.split_once(':').map(|(_, tag)| tag)
}

/// The version of an operator: the image's tag when it is a version, since that is what runs, else the label.
pub fn of_operator(image: Option<&str>, label: Option<&str>) -> Option<String> {
    let known = |text: &&str| parse(text).is_some();
    let version = image.and_then(image_tag).filter(known).or(label.filter(known))?;
    Some(version.strip_prefix('v').unwrap_or(version).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags() {
        for (image, tag) in [
            ("docker.io/apache/camel-k:2.10.1", Some("2.10.1")),
            ("apache/camel-k", None),
            ("localhost:5000/apache/camel-k", None),
            ("localhost:5000/apache/camel-k:nightly", Some("nightly")),
            ("apache/camel-k:2.10.1@sha256:0123", Some("2.10.1")),
            ("apache/camel-k@sha256:0123", None),
        ] {
            assert_eq!(image_tag(image), tag, "{image}");
        }
    }

    #[test]
    fn versions_of_operators() {
        for (image, label, expected) in [
            (Some("apache/camel-k:2.10.1"), None, Some("2.10.1")),
            (Some("apache/camel-k:2.11.0-SNAPSHOT"), Some("2.10.1"), Some("2.11.0-SNAPSHOT")),
            (Some("quay.io/tigera/operator:v1.38.0"), None, Some("1.38.0")),
            (Some("mirror/camel-k:prod-7"), Some("2.10.1"), Some("2.10.1")),
            (Some("apache/camel-k@sha256:0123"), Some("v1.12.1"), Some("1.12.1")),
            (Some("apache/camel-k@sha256:0123"), None, None),
            (Some("mirror/camel-k:latest"), Some("main"), None),
            (Some("mirror/camel-k:2.8"), None, Some("2.8")),
            (None, None, None),
        ] {
            assert_eq!(of_operator(image, label).as_deref(), expected, "{image:?} {label:?}");
        }
    }

    #[test]
    fn major_and_minor() {
        assert_eq!(major_minor("2.11.0-SNAPSHOT"), Some((2, 11)));
        assert_eq!(major_minor("v1.12.1"), Some((1, 12)));
        assert_eq!(major_minor("2.8"), Some((2, 8)));
        assert_eq!(major_minor("2"), None);
        assert_eq!(major_minor("nightly"), None);
    }
}
