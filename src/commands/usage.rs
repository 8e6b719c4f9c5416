//! Command lines that cannot be parsed, as kctl's own errors.

use std::ffi::OsString;

use clap::{
    ColorChoice, Command,
    error::{ContextKind, ContextValue},
};

use crate::{error::Error, settings::Settings, tenancy::id::nearest};

/// What has to be known of a command line before it is parsed: how to speak about it when that fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    words: Vec<String>,
}

impl Typed {
    /// The words up to `--`.
    pub fn new(arguments: &[OsString]) -> Self {
        let words = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
        Self { words: words.take_while(|word| word != "--").collect() }
    }

    /// The last value of a flag, in any of the ways to write one.
    fn value(&self, long: &str, short: Option<&str>) -> Option<&str> {
        let mut found = None;
        for (at, word) in self.words.iter().enumerate() {
            let next = self.words.get(at + 1).map(String::as_str);
            if word == long || short.is_some_and(|short| word == short) {
                found = next.or(found);
            } else if let Some(value) = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
                found = Some(value);
            } else if let Some(value) = short.and_then(|short| word.strip_prefix(short)) {
                found = Some(value.strip_prefix('=').unwrap_or(value));
            }
        }
        found
    }

    /// Whether errors are to be JSON.
    pub fn wants_json(&self) -> bool {
        self.value("--output", Some("-o")) == Some("json")
    }

    /// When to colour: the flag, else the settings.
    pub fn color(&self, settings: &Settings) -> ColorChoice {
        match self.value("--color", None).or(settings.color().map(|(word, _)| word)) {
            Some("always") => ColorChoice::Always,
            Some("never") => ColorChoice::Never,
            _ => ColorChoice::Auto,
        }
    }

    /// The commands in front: `kctl config view`.
    fn command(&self, root: &Command) -> String {
        let mut path = root.get_name().to_owned();
        let mut command = root;
        for word in self.words.iter().filter(|word| !word.starts_with('-')) {
            if let Some(next) = command.find_subcommand(word) {
                path = format!("{path} {}", next.get_name());
                command = next;
            }
        }
        path
    }
}

/// What the parser did not understand, with its tips as hints.
pub fn error(error: &clap::Error, typed: &Typed, root: &Command) -> Error {
    let text = error.render().to_string();
    let message: Vec<&str> = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    let message = message.join(" ");
    let mut tips: Vec<String> = text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).map(hint).collect();
    // The parser looks for common beginnings only; letters that are swapped are likelier.
    if let (true, Some(ContextValue::String(word))) = (tips.is_empty(), error.get(ContextKind::InvalidSubcommand)) {
        let known = root.get_subcommands().map(Command::get_name);
        tips.extend(nearest(word, known).map(|near| format!("did you mean '{near}'?")));
    }
    Error::usage(message.strip_prefix("error: ").unwrap_or(&message))
        .hints(tips)
        .hint(format!("{} --help", typed.command(root)))
}

fn hint(tip: &str) -> String {
    match tip.split_once(": ") {
        Some((what, meant)) if what.contains("similar") => format!("did you mean {meant}?"),
        _ => tip.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Typed {
        let words: Vec<_> = line.split_whitespace().map(OsString::from).collect();
        Typed::new(&words)
    }

    #[test]
    fn json_is_seen_before_parsing() {
        for (line, json) in [
            ("kctl run -o json x", true),
            ("kctl run -ojson", true),
            ("kctl run -o=json", true),
            ("kctl run --output json", true),
            ("kctl run --output=json --nope", true),
            ("kctl run -o yaml", false),
            ("kctl run -o json -o yaml", false),
            ("kctl run -- -o json", false),
            ("kctl run -o", false),
        ] {
            assert_eq!(typed(line).wants_json(), json, "{line}");
        }
    }

    #[test]
    fn tips_become_hints() {
        let root = || {
            let verb = Command::new("run").arg(clap::Arg::new("output").long("output").value_parser(["yaml", "json"]));
            Command::new("kctl").subcommand(verb).subcommand_required(true)
        };
        for (line, message, first) in [
            ("kctl run --outptu x", "unexpected argument '--outptu' found", "did you mean '--output'?"),
            ("kctl rnu", "unrecognized subcommand 'rnu'", "did you mean 'run'?"),
            (
                "kctl run --output jsn",
                "invalid value 'jsn' for '--output <output>' [possible values: yaml, json]",
                "did you mean 'json'?",
            ),
        ] {
            let parsed = root().try_get_matches_from(line.split_whitespace()).unwrap_err();
            let error = error(&parsed, &typed(line), &root());
            assert_eq!((error.message(), error.all_hints()[0].as_str()), (message, first));
            let help = if line.contains("run") { "kctl run --help" } else { "kctl --help" };
            assert_eq!(error.all_hints().last().map(String::as_str), Some(help));
        }
    }
}
