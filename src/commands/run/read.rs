//! Reads sources and the files that options name, and puts modelines and command line together.

use std::{
    fs,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use crate::{
    cli::run_args::{IntegrationArgs, RunArgs},
    cluster::fetch::fetch,
    commands::Session,
    error::{Error, Result},
    manifests::{
        integration::Draft,
        modeline,
        sources::{Origin, Source},
        wish::{FromFiles, Wish},
    },
    tenancy::id::nearest,
};

/// A larger file could not be stored in a cluster anyway.
const LARGEST: u64 = 16 << 20;

/// What was read.
pub struct Input {
    /// The Integration, checked.
    pub draft: Draft,
    /// Names of the sources in languages that newer operators have dropped.
    pub scripts: Vec<String>,
}

/// Reads everything the command line names, before any cluster is asked.
pub async fn everything(session: &Session<'_>, args: &RunArgs) -> Result<Input> {
    let ui = session.ui;
    let mut sources = sources(session, &args.files).await?;
    let mut files = FromFiles::default();
    for source in &sources {
        let options = modeline::parse(source.language, &source.text).map_err(|reason| {
            Error::usage(format!("{}, {reason}", source.origin)).hint("close the quote in the modeline")
        })?;
        files.take(source, options)?;
    }
    files.warnings.iter().for_each(|warning| ui.warn(warning));
    for source in self::sources(session, &files.sources).await? {
        if !sources.iter().any(|known| known.origin == source.origin) {
            sources.push(source);
        }
    }
    let wish = wish(args.integration.clone()).over(files.wish)?;
    let draft = Draft::new(&wish, &sources, &text)?;
    draft.remarks.iter().for_each(|remark| ui.warn(remark));
    if wish.name.as_ref().is_some_and(|name| *name != draft.name) {
        ui.note(&format!("the integration is called {}", draft.name));
    }
    let scripts = sources.into_iter().filter(|source| source.language.is_dropped()).map(|source| source.name).collect();
    Ok(Input { draft, scripts })
}

fn wish(args: IntegrationArgs) -> Wish {
    Wish {
        name: args.name,
        dependencies: args.dependency,
        properties: args.property,
        build_properties: args.build_property,
        traits: args.traits,
        env: args.env,
        configs: args.config,
        resources: args.resource,
        volumes: args.volume,
        labels: args.label,
        annotations: args.annotation,
        maven_repositories: args.maven_repository,
        profile: args.profile,
        integration_profile: args.integration_profile,
        platform: args.platform,
        service_account: args.service_account,
        kit: args.kit,
        image: args.image,
        git: args.git,
        git_branch: args.git_branch,
        git_tag: args.git_tag,
        git_commit: args.git_commit,
        pod_template: args.pod_template,
        compression: args.compression,
    }
}

async fn sources(session: &Session<'_>, names: &[String]) -> Result<Vec<Source>> {
    let mut sources: Vec<Source> = Vec::new();
    for name in names {
        for origin in origins(name)? {
            if sources.iter().any(|known| known.origin == origin) {
                continue;
            }
            let bytes = match &origin {
                Origin::File(path) => file(path)?,
                Origin::Stdin => stdin(session)?,
                Origin::Url(address) => {
                    let limit = session.global.connection.request_timeout;
                    fetch(address, &session.settings.proxies, limit).await?
                }
            };
            sources.push(Source::new(origin, bytes)?);
        }
    }
    Ok(sources)
}

/// What a FILE argument names: one source, or all that a pattern matches.
fn origins(name: &str) -> Result<Vec<Origin>> {
    if name == "-" {
        return Ok(vec![Origin::Stdin]);
    }
    match name.split_once(':') {
        Some(("http" | "https", rest)) if rest.starts_with("//") => return Ok(vec![Origin::Url(name.to_owned())]),
        Some((scheme @ ("github" | "gist"), _)) if !Path::new(name).exists() => {
            return Err(Error::usage(format!("{name}: kctl reads no {scheme}: addresses"))
                .hint("give the raw address: https://raw.githubusercontent.com/OWNER/REPOSITORY/BRANCH/PATH"));
        }
        Some((scheme, rest)) if rest.starts_with("//") => {
            return Err(Error::usage(format!("{name}: kctl reads no {scheme}: addresses")).hint("https://HOST/PATH"));
        }
        _ => {}
    }
    let path = PathBuf::from(name);
    if path.exists() || !name.contains(['*', '?', '[']) {
        return Ok(vec![Origin::File(path)]);
    }
    let pattern = glob::glob(name)
        .map_err(|error| Error::usage(format!("{name} is not a pattern: {error}")).hint("quote it: 'routes/*.yaml'"))?;
    let mut found: Vec<PathBuf> = pattern.filter_map(Result::ok).filter(|path| path.is_file()).collect();
    found.sort();
    if found.is_empty() {
        return Err(Error::usage(format!("no file matches {name}")).hint("ls shows which files there are"));
    }
    Ok(found.into_iter().map(Origin::File).collect())
}

fn file(path: &Path) -> Result<Vec<u8>> {
    if path.is_dir() {
        return Err(Error::usage(format!("{} is a directory", path.display()))
            .hint(format!("kctl run --name NAME '{}/*.yaml'", path.display())));
    }
    if fs::metadata(path).is_ok_and(|data| data.len() > LARGEST) {
        return Err(Error::usage(format!("{} is larger than a cluster can store", path.display()))
            .hint("kctl run takes routes as text; for a container image: kctl run --image IMAGE"));
    }
    fs::read(path).map_err(|error| unreadable(path, &error))
}

/// The text of a file that an option names.
fn text(path: &str) -> Result<String> {
    let bytes = file(Path::new(path))?;
    String::from_utf8(bytes).map_err(|_| Error::usage(format!("{path} is not a text")).hint("save it as UTF-8"))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    let shown = path.display();
    if error.kind() != ErrorKind::NotFound {
        return Error::usage(format!("cannot read {shown}: {error}")).hint(format!("ls -l {shown}"));
    }
    let missing = Error::usage(format!("there is no file {shown}"));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let wanted = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match nearest(&wanted, names.iter().map(String::as_str)) {
        Some(near) => missing.hint(format!("did you mean {}?", path.with_file_name(near).display())),
        None => missing.hint(format!("ls {}", folder.display())),
    }
}

fn stdin(session: &Session<'_>) -> Result<Vec<u8>> {
    if session.global.snapshot.from.as_deref() == Some(Path::new("-")) {
        return Err(Error::usage("--from - and the source - both read standard input")
            .hint("save one of them to a file, and name that"));
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LARGEST).read_to_end(&mut bytes);
    read.map_err(|error| Error::usage(format!("cannot read standard input: {error}")).hint("name a file instead"))?;
    Ok(bytes)
}
