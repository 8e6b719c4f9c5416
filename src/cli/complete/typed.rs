//! What stands on the line already.
//!
//! The parser proper stops at the first thing that is wrong, and a line that is being typed is always wrong somewhere:
//! this reading takes what it can and never fails.

use std::path::{Path, PathBuf};

use clap::{Arg, Command};

use crate::cluster::ConnectOptions;

/// Flags with their values, by the id of the argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Typed {
    flags: Vec<(String, String)>,
}

impl Typed {
    /// Reads `words`, the program's name first, by the definition `root`, which is built. The word at `index` is being typed
    /// and says nothing yet.
    pub(super) fn read(root: &Command, words: &[String], index: usize) -> Self {
        let mut flags = Vec::new();
        let mut command = root;
        let mut rest = words.iter().enumerate().skip(1);
        while let Some((at, word)) = rest.next() {
            let mut note = |arg: &Arg, glued: Option<&str>| {
                let (at, value) = match glued {
                    Some(value) => (at, value),
                    None if !takes_value(arg) || arg.is_require_equals_set() => (at, ""),
                    None => rest.next().map_or((at, ""), |(at, next)| (at, next.as_str())),
                };
                if at != index {
                    flags.push((arg.get_id().to_string(), value.to_owned()));
                }
            };
            if word == "--" {
                break;
            } else if let Some(long) = word.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                if let Some(arg) = by_long(command, name) {
                    note(arg, value);
                }
            } else if let Some(shorts) = word.strip_prefix('-') {
                if let Some((arg, glued)) = last_short(command, shorts) {
                    note(arg, glued);
                }
            } else if at != index
                && let Some(next) = command.find_subcommand(word)
            {
                command = next;
            }
        }
        Self { flags }
    }

    /// The last value of a flag.
    pub(super) fn get(&self, id: &str) -> Option<&str> {
        self.flags.iter().rev().find(|(flag, _)| flag == id).map(|(_, value)| value.as_str())
    }

    fn all(&self, id: &str) -> Vec<String> {
        self.flags.iter().filter(|(flag, _)| flag == id).map(|(_, value)| value.clone()).collect()
    }

    fn text(&self, id: &str) -> Option<String> {
        self.get(id).filter(|value| !value.is_empty()).map(str::to_owned)
    }

    /// How to connect, as the connection flags say. The shell has not replaced a leading `~` yet.
    pub(super) fn connection(&self, home: Option<&Path>) -> ConnectOptions {
        let path = |id| self.text(id).map(|text| at_home(&text, home));
        ConnectOptions {
            kubeconfig: path("kubeconfig"),
            context: self.text("context"),
            cluster: self.text("cluster"),
            user: self.text("user"),
            server: self.text("server"),
            token: self.text("token"),
            certificate_authority: path("certificate_authority"),
            client_certificate: path("client_certificate"),
            client_key: path("client_key"),
            tls_server_name: self.text("tls_server_name"),
            insecure_skip_tls_verify: self.switched_on("insecure_skip_tls_verify"),
            as_user: self.text("as_user"),
            as_group: self.all("as_group"),
            as_uid: self.text("as_uid"),
            namespace: self.text("namespace"),
            from: path("from"),
            unattended: true,
            ..ConnectOptions::default()
        }
    }

    fn switched_on(&self, id: &str) -> bool {
        self.get(id).is_some()
    }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|values| values.takes_values())
}

fn by_long<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| {
        arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    })
}

/// The one of bundled short flags that takes a value, and what of it stands in the same word: `-qnteam`.
fn last_short<'a, 'w>(command: &'a Command, shorts: &'w str) -> Option<(&'a Arg, Option<&'w str>)> {
    for (at, short) in shorts.char_indices() {
        let arg = command.get_arguments().find(|arg| arg.get_short() == Some(short))?;
        if takes_value(arg) {
            let glued = &shorts[at + short.len_utf8()..];
            let glued = glued.strip_prefix('=').unwrap_or(glued);
            return Some((arg, (!glued.is_empty()).then_some(glued)));
        }
    }
    None
}

fn at_home(text: &str, home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(text),
    }
}

/// A word of a POSIX command line as the shell would take it, as far as quotes and backslashes go. An open quote is fine.
pub(super) fn unquoted(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    let mut quote = None;
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '\\') => plain.extend(chars.next()),
            (Some('"'), '\\') => match chars.next_if(|next| "\"\\$`".contains(*next)) {
                Some(escaped) => plain.push(escaped),
                None => plain.push('\\'),
            },
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use clap::{ArgAction, Args};

    use super::*;
    use crate::cli::global::GlobalArgs;

    fn command() -> Command {
        let verb = Command::new("run")
            .arg(Arg::new("operator_id").short('x').long("operator-id").alias("id"))
            .arg(Arg::new("dry_run").long("dry-run").num_args(0..=1).require_equals(true))
            .arg(Arg::new("wait").short('w').long("wait").action(ArgAction::SetTrue))
            .arg(Arg::new("files").num_args(0..));
        let mut root = GlobalArgs::augment_args(Command::new("kctl")).subcommand(verb);
        root.build();
        root
    }

    fn read(line: &str) -> Typed {
        // ^ marks the word that is being typed.
        let words: Vec<String> = line.split(' ').map(|word| word.replace('^', "")).collect();
        let index = line.split(' ').position(|word| word.contains('^')).unwrap_or(words.len());
        Typed::read(&command(), &words, index)
    }

    #[test]
    fn flags_are_found_wherever_they_stand() {
        let cases: [(&str, &str, Option<&str>); 18] = [
            ("kctl run --context a ^", "context", Some("a")),
            ("kctl run --context=a ^", "context", Some("a")),
            ("kctl --context a run ^", "context", Some("a")),
            ("kctl run --context a --context b ^", "context", Some("b")),
            ("kctl run -x ^ --context a", "context", Some("a")),
            ("kctl run -x te^ --context a", "operator_id", None),
            ("kctl run --context=a^ -x b", "context", None),
            ("kctl run --unknown --context a ^", "context", Some("a")),
            ("kctl run -n team ^", "namespace", Some("team")),
            ("kctl run -nteam ^", "namespace", Some("team")),
            ("kctl run -n=team ^", "namespace", Some("team")),
            ("kctl run -wqnteam ^", "namespace", Some("team")),
            ("kctl run --dry-run -n team ^", "namespace", Some("team")),
            ("kctl run --wait -n team ^", "namespace", Some("team")),
            ("kctl run --id a ^", "operator_id", Some("a")),
            ("kctl run -- -n team ^", "namespace", None),
            ("kctl run -n", "namespace", Some("")),
            ("kctl -n run run -x a ^", "operator_id", Some("a")),
        ];
        for (line, flag, value) in cases {
            assert_eq!(read(line).get(flag), value, "{line}");
        }
    }

    #[test]
    fn a_connection_follows_the_flags() {
        let typed = read(
            "kctl run --kubeconfig ~/k --as jane --as-group a --as-group b --from x -n team --insecure-skip-tls-verify ^",
        );
        let options = typed.connection(Some(Path::new("/home/me")));
        assert_eq!(options.kubeconfig, Some(PathBuf::from("/home/me/k")));
        assert_eq!((options.as_user.as_deref(), options.as_group.len()), (Some("jane"), 2));
        assert_eq!((options.from, options.namespace.as_deref()), (Some(PathBuf::from("x")), Some("team")));
        assert!(options.unattended && options.insecure_skip_tls_verify);
        assert_eq!(read("kctl run --context").connection(None).context, None);
    }

    #[test]
    fn quotes_and_backslashes_go() {
        let cases = [
            ("plain", "plain"),
            ("'a b'", "a b"),
            ("a\\ b", "a b"),
            ("\"a\\\"b\\c\"", "a\"b\\c"),
            ("'a\\b'", "a\\b"),
            ("\"open", "open"),
            ("x\"y z\"'w'", "xy zw"),
            ("end\\", "end"),
        ];
        for (word, plain) in cases {
            assert_eq!(unquoted(word), plain, "{word}");
        }
    }
}
