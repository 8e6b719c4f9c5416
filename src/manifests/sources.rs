//! Sources of an Integration: what was read, checked, and its place in the spec.

use std::{
    fmt,
    io::Write,
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

use crate::error::{Error, Result};

use super::{closest, did_you_mean, flows};

/// A language of Camel K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Java.
    Java,
    /// XML.
    Xml,
    /// YAML.
    Yaml,
    /// A Kamelet's template.
    Kamelet,
    /// Groovy, up to v2.8.
    Groovy,
    /// JavaScript, up to v2.8.
    JavaScript,
    /// Kotlin script, up to v2.8.
    Kotlin,
    /// `JShell`, up to v2.8.
    JShell,
}

const EXTENSIONS: &[(&str, Language)] = &[
    ("java", Language::Java),
    ("xml", Language::Xml),
    ("yaml", Language::Yaml),
    ("yml", Language::Yaml),
    ("kamelet", Language::Kamelet),
    ("groovy", Language::Groovy),
    ("js", Language::JavaScript),
    ("kts", Language::Kotlin),
    ("jsh", Language::JShell),
];

impl Language {
    /// The language of a file, by its extension as the operator tells it.
    pub fn of(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, language)| *language)
    }

    /// Whether operators from v2.9 on have dropped it.
    pub fn is_dropped(self) -> bool {
        matches!(self, Self::Groovy | Self::JavaScript | Self::Kotlin | Self::JShell)
    }
}

/// Where a source was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// An http(s) address.
    Url(String),
}

impl Origin {
    /// The name the source itself has; standard input has none.
    pub fn name(&self) -> Option<String> {
        match self {
            Self::File(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            Self::Stdin => None,
            Self::Url(address) => url::Url::parse(address)
                .ok()
                .and_then(|url| url.path_segments()?.next_back().map(str::to_owned))
                .filter(|name| !name.is_empty()),
        }
    }

    /// The folder that relative paths in the source start from; only a local file has one.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path.parent().unwrap_or(Path::new(""))),
            Self::Stdin => Some(Path::new("")),
            Self::Url(_) => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Stdin => f.write_str("standard input"),
            Self::Url(url) => f.write_str(url),
        }
    }
}

/// One source, known to be a text in a known language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it was read.
    pub origin: Origin,
    /// File name in the Integration.
    pub name: String,
    /// Its language.
    pub language: Language,
    /// The text.
    pub text: String,
}

impl Source {
    /// Checks what was read.
    ///
    /// # Errors
    /// Binary, empty, or of no known language (exit 2).
    pub fn new(origin: Origin, bytes: Vec<u8>) -> Result<Self> {
        let binary = || {
            Error::usage(format!("{origin} is not a text"))
                .hint("kctl run takes routes as text; for a container image: kctl run --image IMAGE")
        };
        if bytes.contains(&0) {
            return Err(binary());
        }
        let text = String::from_utf8(bytes).map_err(|_| binary())?;
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        if text.trim().is_empty() {
            return Err(Error::usage(format!("{origin} is empty")).hint("put a route into it"));
        }
        let (name, language) = match origin.name() {
            Some(name) => match Language::of(&name) {
                Some(language) => (name, language),
                None => return Err(no_language(&origin, &name)),
            },
            None => guess(&text),
        };
        Ok(Self { origin, name, language, text })
    }
}

fn no_language(origin: &Origin, name: &str) -> Error {
    let known = EXTENSIONS.iter().map(|(extension, _)| *extension);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    Error::usage(format!("cannot tell the language of {origin} by its name"))
        .hints(did_you_mean(
            extension.and_then(|extension| closest(extension, known.clone())).map(|e| format!(".{e}")).as_deref(),
        ))
        .hint(format!("name it with one of .{}", known.collect::<Vec<_>>().join(", .")))
}

/// Name and language of a text without a file name. A Java file must be called like its class.
fn guess(text: &str) -> (String, Language) {
    if text.trim_start().starts_with('<') {
        return ("stdin.xml".to_owned(), Language::Xml);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let class = words.windows(4).find(|words| words[0] == "class" && words[2] == "extends").map(|words| words[1]);
    match class {
        Some(class) => (format!("{class}.java"), Language::Java),
        None => ("stdin.yaml".to_owned(), Language::Yaml),
    }
}

/// What the sources become in the spec.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    /// `spec.flows`.
    pub flows: Vec<Value>,
    /// `spec.sources`.
    pub sources: Vec<Value>,
}

/// Sorts sources into flows (YAML) and sources; with `compress` all of them become sources.
///
/// # Errors
/// YAML that is not a list of routes, or two sources of one name (exit 2).
pub fn content(sources: &[Source], compress: bool) -> Result<Content> {
    let mut content = Content::default();
    let mut names: Vec<(&str, &Origin)> = Vec::new();
    for source in sources {
        let routes = (source.language == Language::Yaml).then(|| flows::routes(source)).transpose()?;
        if let (Some(routes), false) = (routes, compress) {
            content.flows.extend(routes);
            continue;
        }
        if let Some((_, other)) = names.iter().find(|(name, _)| *name == source.name) {
            return Err(Error::usage(format!("{other} and {} would both be called {}", source.origin, source.name))
                .hint("rename one of them"));
        }
        names.push((&source.name, &source.origin));
        content.sources.push(if compress {
            json!({"name": source.name, "content": compressed(&source.text)?, "compression": true})
        } else {
            json!({"name": source.name, "content": source.text})
        });
    }
    Ok(content)
}

/// gzip, then base64. The same text always gives the same result.
fn compressed(text: &str) -> Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let bytes = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    let bytes = bytes.map_err(|error| Error::failed("Compression", format!("cannot compress a source: {error}")))?;
    Ok(STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::error::Exit;

    const ROUTE: &str = "- from:\n    uri: timer:x\n    steps:\n    - to: log:y\n";

    fn file(name: &str, text: &str) -> Source {
        Source::new(Origin::File(name.into()), text.as_bytes().to_vec()).expect("a source")
    }

    #[test]
    fn yaml_becomes_flows_and_the_rest_sources() {
        let sources = [file("a.yaml", ROUTE), file("dir/B.java", "class B extends RouteBuilder {}")];
        let content = content(&sources, false).expect("content");
        assert_eq!(content.flows, [json!({"from": {"uri": "timer:x", "steps": [{"to": "log:y"}]}})]);
        assert_eq!(content.sources, [json!({"name": "B.java", "content": "class B extends RouteBuilder {}"})]);
    }

    #[test]
    fn compression_takes_yaml_as_well_and_can_be_undone() {
        let content = content(&[file("a.yaml", ROUTE)], true).expect("content");
        assert!(content.flows.is_empty());
        assert_eq!(content.sources[0]["compression"], true);
        let packed = STANDARD.decode(content.sources[0]["content"].as_str().expect("a text")).expect("base64");
        let mut text = String::new();
        GzDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("gzip");
        assert_eq!(text, ROUTE);
    }

    #[test]
    fn what_is_no_source() {
        for (name, bytes, says) in [
            ("a.yaml", &b"\x7fELF\0\0"[..], "is not a text"),
            ("a.yaml", b"\xff\xfe", "is not a text"),
            ("a.yaml", b" \n", "is empty"),
            ("a.yaml", b"", "is empty"),
            ("notes.txt", b"hello", "cannot tell the language"),
            ("Makefile", b"hello", "cannot tell the language"),
        ] {
            let error = Source::new(Origin::File(name.into()), bytes.to_vec()).expect_err(name);
            assert!(error.message().contains(says), "{error}");
            assert_eq!(error.exit(), Exit::Usage);
            assert!(!error.all_hints().is_empty());
        }
        let error = Source::new(Origin::File("a.yamll".into()), b"x".to_vec()).expect_err("a typo");
        assert_eq!(error.all_hints()[0], "did you mean .yaml?");
    }

    #[test]
    fn two_sources_of_one_name() {
        let java = "class A extends RouteBuilder {}";
        let error = content(&[file("x/A.java", java), file("y/A.java", java)], false).expect_err("clash");
        assert!(error.message().contains("x/A.java and y/A.java"), "{error}");
        assert!(content(&[file("x/a.yaml", ROUTE), file("y/a.yaml", ROUTE)], false).is_ok());
    }

    #[test]
    fn standard_input_and_addresses() {
        let stdin = |text: &str| Source::new(Origin::Stdin, text.into()).expect("a source");
        assert_eq!(stdin(ROUTE).language, Language::Yaml);
        assert_eq!(stdin("public class Hi extends RouteBuilder {").name, "Hi.java");
        assert_eq!(stdin("<routes/>").language, Language::Xml);
        let origin = Origin::Url("https://host/a/b.xml?token=1#x".into());
        assert_eq!(origin.name().as_deref(), Some("b.xml"));
        assert_eq!(Source::new(origin, "<a/>".into()).expect("a source").language, Language::Xml);
        assert_eq!(file("bom.xml", "\u{feff}<a/>").text, "<a/>");
    }
}
