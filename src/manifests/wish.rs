//! What a user wishes of an Integration, as typed: from flags and from modelines.

use crate::{
    contracts::camel_k::OPERATOR_ID,
    error::{Error, Result},
};

use super::{
    modeline::ModelineOption,
    properties,
    sources::{Origin, Source},
    traits::Setting,
};

/// Options of one Integration, not yet checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// `--name`.
    pub name: Option<String>,
    /// `-d`.
    pub dependencies: Vec<String>,
    /// `-p`.
    pub properties: Vec<String>,
    /// `--build-property`.
    pub build_properties: Vec<String>,
    /// `-t`.
    pub traits: Vec<String>,
    /// `-e`.
    pub env: Vec<String>,
    /// `--config`.
    pub configs: Vec<String>,
    /// `--resource`.
    pub resources: Vec<String>,
    /// `-v`.
    pub volumes: Vec<String>,
    /// `--label`.
    pub labels: Vec<String>,
    /// `--annotation`.
    pub annotations: Vec<String>,
    /// `--maven-repository`.
    pub maven_repositories: Vec<String>,
    /// `--profile`.
    pub profile: Option<String>,
    /// `--integration-profile`.
    pub integration_profile: Option<String>,
    /// `--platform`.
    pub platform: Option<String>,
    /// `--service-account`.
    pub service_account: Option<String>,
    /// `-k`.
    pub kit: Option<String>,
    /// `--image`.
    pub image: Option<String>,
    /// `--git`.
    pub git: Option<String>,
    /// `--git-branch`.
    pub git_branch: Option<String>,
    /// `--git-tag`.
    pub git_tag: Option<String>,
    /// `--git-commit`.
    pub git_commit: Option<String>,
    /// `--pod-template`.
    pub pod_template: Option<String>,
    /// `--compression`.
    pub compression: bool,
}

/// What modelines add to the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FromFiles {
    /// The options.
    pub wish: Wish,
    /// More sources, as their file would name them on the command line.
    pub sources: Vec<String>,
    /// Options that were left out, and why.
    pub warnings: Vec<String>,
}

/// Options that a file can never choose: it would choose the operator or the place.
const IGNORED: &[(&str, &str)] = &[
    ("operator-id", "a file never chooses the operator; name it with -x"),
    ("x", "a file never chooses the operator; name it with -x"),
    ("namespace", "a file never chooses the namespace; name it with -n"),
    ("n", "a file never chooses the namespace; name it with -n"),
];

/// Options of how a command behaves, not of what it makes.
const REFUSED: &[&str] = &["dev", "wait", "w", "logs", "sync"];

impl FromFiles {
    /// Takes the options of one source.
    ///
    /// # Errors
    /// An option that a file may not have, or that kctl does not know (exit 2).
    pub fn take(&mut self, source: &Source, options: Vec<ModelineOption>) -> Result<()> {
        for option in options {
            let place = format!("{}, line {}", source.origin, option.line);
            let name = option.name.as_str();
            if let Some((_, reason)) = IGNORED.iter().find(|(ignored, _)| *ignored == name) {
                self.warnings.push(format!("{place}: {name}={} is ignored: {reason}", option.value));
            } else if REFUSED.contains(&name) {
                return Err(Error::usage(format!("{place}: option {name} is not allowed in a file"))
                    .hint("take it out of the modeline and give it on the command line"));
            } else if !matches!(name, "language" | "") {
                let value = beside(&source.origin, name, option.value).map_err(|error| error.while_(&place))?;
                self.set(&place, name, value)?;
            }
        }
        Ok(())
    }

    fn set(&mut self, place: &str, name: &str, value: String) -> Result<()> {
        if value.is_empty() && name != "compression" {
            return Err(Error::usage(format!("{place}: option {name} has no value")).hint(format!("{name}=VALUE")));
        }
        if name == "annotation" && is_operator_id(&value) {
            let (_, reason) = IGNORED[0];
            self.warnings.push(format!("{place}: annotation={value} is ignored: {reason}"));
            return Ok(());
        }
        let wish = &mut self.wish;
        let list = match name {
            "dependency" | "d" => Some(&mut wish.dependencies),
            "property" | "p" => Some(&mut wish.properties),
            "build-property" => Some(&mut wish.build_properties),
            "trait" | "t" => Some(&mut wish.traits),
            "env" | "e" => Some(&mut wish.env),
            "config" => Some(&mut wish.configs),
            "resource" => Some(&mut wish.resources),
            "volume" | "v" => Some(&mut wish.volumes),
            "label" => Some(&mut wish.labels),
            "annotation" => Some(&mut wish.annotations),
            "maven-repository" => Some(&mut wish.maven_repositories),
            "source" => Some(&mut self.sources),
            _ => None,
        };
        if let Some(list) = list {
            list.push(value);
            return Ok(());
        }
        let one = match name {
            "name" => &mut wish.name,
            "profile" => &mut wish.profile,
            "integration-profile" => &mut wish.integration_profile,
            "platform" => &mut wish.platform,
            "service-account" => &mut wish.service_account,
            "kit" | "k" => &mut wish.kit,
            "image" => &mut wish.image,
            "git" => &mut wish.git,
            "git-branch" => &mut wish.git_branch,
            "git-tag" => &mut wish.git_tag,
            "git-commit" => &mut wish.git_commit,
            "pod-template" => &mut wish.pod_template,
            "compression" => {
                wish.compression = value != "false";
                return Ok(());
            }
            _ => {
                return Err(Error::usage(format!("{place}: kctl run has no option {name}"))
                    .hint("kctl run --help lists the options; take this one out of the modeline"));
            }
        };
        *one = Some(value);
        Ok(())
    }
}

/// Whether an annotation option would set the operator id.
pub fn is_operator_id(annotation: &str) -> bool {
    annotation.split('=').next().is_some_and(|key| key.trim() == OPERATOR_ID)
}

/// Files that a modeline names lie beside the file it stands in. What was fetched may not name files of this machine.
fn beside(origin: &Origin, name: &str, value: String) -> Result<String> {
    let (prefix, path) = match name {
        "property" | "p" | "build-property" => match value.strip_prefix("file:") {
            Some(path) => ("file:", path),
            None => return Ok(value),
        },
        "source" if value.contains("://") => return Ok(value),
        "source" | "pod-template" => ("", value.as_str()),
        _ => return Ok(value),
    };
    match origin.folder() {
        Some(folder) => Ok(format!("{prefix}{}", folder.join(path).display())),
        None => Err(Error::usage(format!("{name}={value}: a source from the network may not name local files"))
            .hint("download it, look at it, and run the file")),
    }
}

impl Wish {
    /// This command line over what the files say: single values replace, lists add, and a property, trait or variable
    /// of the command line takes the place of one of the same name.
    ///
    /// # Errors
    /// A trait option of a wrong form (exit 2).
    pub fn over(self, files: Self) -> Result<Self> {
        fn both(mut first: Vec<String>, second: Vec<String>) -> Vec<String> {
            first.extend(second);
            first
        }
        let name_of = |text: &String| Ok(text.split('=').next().unwrap_or_default().trim().to_owned());
        let trait_of = |text: &String| Setting::parse(text).map(|setting| setting.key());
        Ok(Self {
            name: self.name.or(files.name),
            dependencies: both(files.dependencies, self.dependencies),
            properties: replaced(files.properties, self.properties, name_of)?,
            build_properties: replaced(files.build_properties, self.build_properties, name_of)?,
            traits: replaced(files.traits, self.traits, trait_of)?,
            env: replaced(files.env, self.env, name_of)?,
            configs: both(files.configs, self.configs),
            resources: both(files.resources, self.resources),
            volumes: both(files.volumes, self.volumes),
            labels: both(files.labels, self.labels),
            annotations: both(files.annotations, self.annotations),
            maven_repositories: both(files.maven_repositories, self.maven_repositories),
            profile: self.profile.or(files.profile),
            integration_profile: self.integration_profile.or(files.integration_profile),
            platform: self.platform.or(files.platform),
            service_account: self.service_account.or(files.service_account),
            kit: self.kit.or(files.kit),
            image: self.image.or(files.image),
            git: self.git.or(files.git),
            git_branch: self.git_branch.or(files.git_branch),
            git_tag: self.git_tag.or(files.git_tag),
            git_commit: self.git_commit.or(files.git_commit),
            pod_template: self.pod_template.or(files.pod_template),
            compression: self.compression || files.compression,
        })
    }
}

fn replaced(files: Vec<String>, typed: Vec<String>, key: impl Fn(&String) -> Result<String>) -> Result<Vec<String>> {
    let typed_keys = typed.iter().map(&key).collect::<Result<Vec<_>>>()?;
    let mut out = Vec::new();
    for option in files {
        if !typed_keys.contains(&key(&option)?) {
            out.push(option);
        }
    }
    out.extend(typed);
    Ok(out)
}

/// The entries of `-p` or `--build-property` options; `read` gives the text of a file.
///
/// # Errors
/// A wrong form, or a file that cannot be read (exit 2).
pub fn property_entries(
    flag: &str,
    options: &[String],
    read: &dyn Fn(&str) -> Result<String>,
) -> Result<Vec<properties::Pair>> {
    let mut pairs: Vec<properties::Pair> = Vec::new();
    for option in options {
        let found = if let Some(path) = option.strip_prefix("file:") {
            properties::parse(&read(path)?)
                .map_err(|reason| Error::usage(format!("{path}, {reason}")).hint("write it as \\\\u for a plain \\u"))?
        } else if let Some((kind, rest)) =
            option.split_once(':').filter(|(kind, _)| ["configmap", "secret"].contains(kind))
            && !rest.contains('=')
        {
            return Err(Error::usage(format!("{flag} {option:?}: a {kind} is mounted, not read into properties"))
                .hint(format!("--config {option}")));
        } else {
            vec![properties::pair(flag, option)?]
        };
        for (key, value) in found {
            match pairs.iter_mut().find(|(known, _)| *known == key) {
                Some(known) => known.1 = value,
                None => pairs.push((key, value)),
            }
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::Exit, manifests::modeline};

    fn taken(origin: Origin, line: &str) -> Result<FromFiles> {
        let text = format!("# camel-k: {line}\n- from: {{uri: a}}\n");
        let source = Source::new(origin, text.into_bytes())?;
        let mut files = FromFiles::default();
        let options = modeline::parse(source.language, &source.text).map_err(Error::usage)?;
        files.take(&source, options).map(|()| files)
    }

    fn local(line: &str) -> Result<FromFiles> {
        taken(Origin::File("dir/a.yaml".into()), line)
    }

    #[test]
    fn a_file_sets_options_but_never_operator_or_namespace() {
        let files = local("name=x trait=container.port=1 language=yaml operator-id=evil namespace=prod compression")
            .expect("valid");
        assert_eq!(files.wish.name.as_deref(), Some("x"));
        assert_eq!(files.wish.traits, ["container.port=1"]);
        assert!(files.wish.compression);
        assert_eq!(files.warnings.len(), 2);
        assert!(
            files.warnings[0].starts_with("dir/a.yaml, line 1: operator-id=evil is ignored"),
            "{:?}",
            files.warnings
        );
        let files = local("annotation=camel.apache.org/operator.id=evil annotation=a=b").expect("valid");
        assert_eq!((files.wish.annotations.len(), files.warnings.len()), (1, 1));
    }

    #[test]
    fn files_lie_beside_the_source() {
        let files =
            local("property=file:x.properties property=a=b source=B.java source=https://h/c.xml pod-template=/t")
                .expect("valid");
        assert_eq!(files.wish.properties, ["file:dir/x.properties", "a=b"]);
        assert_eq!(files.sources, ["dir/B.java", "https://h/c.xml"]);
        assert_eq!(files.wish.pod_template.as_deref(), Some("/t"));
    }

    #[test]
    fn what_a_file_may_not_say() {
        for line in ["dev", "wait=true", "logs", "sync", "nonsense=1", "trait=", "force=true", "output=yaml"] {
            let error = local(line).expect_err(line);
            assert_eq!((error.exit(), error.all_hints().len()), (Exit::Usage, 1), "{line}");
            assert!(error.message().starts_with("dir/a.yaml, line 1: "), "{error}");
        }
        let error = taken(Origin::Url("https://h/a.yaml".into()), "property=file:/etc/passwd").expect_err("remote");
        assert!(error.message().contains("may not name local files"), "{error}");
    }

    #[test]
    fn the_command_line_wins() {
        let strings = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let files = Wish {
            name: Some("file".into()),
            kit: Some("k".into()),
            properties: strings(&["a=1", "b=1"]),
            traits: strings(&["container.port=1", "jvm.options=-Da"]),
            dependencies: strings(&["camel:a"]),
            ..Wish::default()
        };
        let typed = Wish {
            name: Some("typed".into()),
            properties: strings(&["b=2"]),
            traits: strings(&["jvm.options=-Db"]),
            dependencies: strings(&["camel:b"]),
            ..Wish::default()
        };
        let both = typed.over(files).expect("valid");
        assert_eq!((both.name.as_deref(), both.kit.as_deref()), (Some("typed"), Some("k")));
        assert_eq!(both.properties, ["a=1", "b=2"]);
        assert_eq!(both.traits, ["container.port=1", "jvm.options=-Db"]);
        assert_eq!(both.dependencies, ["camel:a", "camel:b"]);
    }

    #[test]
    fn properties_from_options_and_files() {
        let read = |path: &str| match path {
            "x.properties" => Ok("b=2\nc=3".to_owned()),
            "bad.properties" => Ok("c=\\u1".to_owned()),
            _ => Err(Error::usage("no such file").hint("x")),
        };
        let entries = |options: &[&str]| {
            let options: Vec<_> = options.iter().map(|option| (*option).to_owned()).collect();
            property_entries("-p", &options, &read)
        };
        let pairs = entries(&["a=1", "file:x.properties", "b=9"]).expect("valid");
        assert_eq!(pairs, [("a", "1"), ("b", "9"), ("c", "3")].map(|(k, v)| (k.to_owned(), v.to_owned())));
        for bad in ["file:none", "file:bad.properties", "configmap:x", "nothing"] {
            let error = entries(&[bad]).expect_err(bad);
            assert_eq!((error.exit(), error.all_hints().len()), (Exit::Usage, 1), "{bad}");
        }
        assert!(entries(&["secret:x=1"]).is_ok());
    }
}
