//! Names of Integrations and Pipes, by the rules of the `kamel` command.

use crate::error::{Error, Result};

/// Longest name: the operator puts it into a label of everything it makes.
const LONGEST: usize = 63;

/// What an Integration can take its name from when none is given.
#[derive(Clone, Copy, Debug)]
pub enum NameFrom<'a> {
    /// The sources: a name for each that has one (standard input has none).
    Sources(&'a [Option<String>]),
    /// A container image.
    Image(&'a str),
    /// A Git repository.
    Git(&'a str),
}

/// Makes a name out of a file name: its last part up to the first dot, in kebab case, without what a name may not hold.
pub fn sanitise(text: &str) -> String {
    let base = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    // A leading dot (`.hidden.yaml`) would leave nothing before the first dot.
    let stem = base.trim_start_matches('.').split('.').next().unwrap_or_default();
    let kept: String =
        kebab_case(stem).chars().filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-').collect();
    kept.trim_matches('-').to_owned()
}

/// The name of the Integration: `wanted`, else taken from `from`; both are sanitised.
///
/// # Errors
/// No name can be told, or nothing of it is left, or it is too long (exit 2).
pub fn integration_name(wanted: Option<&str>, from: NameFrom<'_>) -> Result<String> {
    let origin = match (wanted, from) {
        (Some(name), _) => name.to_owned(),
        (None, NameFrom::Sources([Some(only)])) => only.clone(),
        (None, NameFrom::Sources([None])) => {
            return Err(Error::usage("standard input has no name to call the integration by")
                .hint("name it: kctl run --name NAME -"));
        }
        (None, NameFrom::Sources(many)) => {
            return Err(Error::usage(format!("{} sources and no name for the integration", many.len()))
                .hint("name it: kctl run --name NAME FILE…"));
        }
        (None, NameFrom::Image(image)) => image_name(image),
        (None, NameFrom::Git(url)) => url.trim_end_matches('/').trim_end_matches(".git").to_owned(),
    };
    let name = sanitise(&origin);
    if name.is_empty() {
        return Err(Error::usage(format!("no name can be made of {origin:?}: nothing is left of it"))
            .hint("name it with lower-case letters, digits and dashes: --name NAME"));
    }
    short_enough(name)
}

/// The name of a Pipe: `wanted` as it is, else `SOURCE-to-SINK` of the names of its ends, sanitised.
///
/// # Errors
/// No name is left, or `wanted` is none, or it is too long (exit 2).
pub fn pipe_name(wanted: Option<&str>, source: &str, sink: &str) -> Result<String> {
    let Some(name) = wanted else {
        // A dot would cut the name short, as it does with the ending of a file.
        let part = |text: &str| sanitise(&text.replace('.', "-"));
        return short_enough(format!("{}-to-{}", part(source), part(sink)));
    };
    let label = |part: &str| {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        part.starts_with(plain) && part.ends_with(plain) && part.chars().all(|c| plain(c) || c == '-')
    };
    if !name.split('.').all(label) {
        let error = Error::usage(format!("--name {name:?} is not a name of lower-case letters, digits, '-' and '.'"));
        let instead = sanitise(name);
        return Err(if instead.is_empty() {
            error.hint("--name NAME")
        } else {
            error.hint(format!("--name {instead}"))
        });
    }
    short_enough(name.to_owned())
}

fn short_enough(name: String) -> Result<String> {
    if name.len() > LONGEST {
        return Err(Error::usage(format!("the name {name} has {} characters; {LONGEST} are allowed", name.len()))
            .hint("give a shorter one: --name NAME"));
    }
    Ok(name)
}

/// `registry/me/app:1.0@sha256:…` as `app-v1.0`.
fn image_name(image: &str) -> String {
    let tagged = image.split('@').next().unwrap_or_default();
    let base = tagged.rsplit('/').next().unwrap_or_default();
    base.replace(':', "-v")
}

fn kebab_case(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut out = String::new();
    for (at, &letter) in letters.iter().enumerate() {
        if letter == '_' || letter.is_whitespace() {
            if !out.ends_with('-') {
                out.push('-');
            }
            continue;
        }
        let before = at.checked_sub(1).map(|before| letters[before]);
        let starts_word = letter.is_uppercase()
            && before.is_some_and(|before| {
                let next_is_lower = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
                before.is_lowercase() || before.is_ascii_digit() || (before.is_uppercase() && next_is_lower)
            });
        if starts_word && !out.ends_with('-') {
            out.push('-');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sanitised() {
        for (text, name) in [
            ("fooToBar.java", "foo-to-bar"),
            ("http://host/a/abc.java", "abc"),
            ("-foo-bar-", "foo-bar"),
            ("dir/My_Route.kamelet.yaml", "my-route"),
            ("HTTPServer.java", "http-server"),
            ("Route2Queue.xml", "route2-queue"),
            ("a b.yaml", "a-b"),
            ("größe.yaml", "gre"),
            ("orders", "orders"),
            ("a--b", "a--b"),
            (".hidden.yaml", "hidden"),
            ("___.yaml", ""),
            ("дом.yaml", ""),
            ("", ""),
        ] {
            assert_eq!(sanitise(text), name, "{text}");
        }
    }

    #[test]
    fn where_the_name_comes_from() {
        let one = [Some("Hello.java".to_owned())];
        let named = |wanted, from| integration_name(wanted, from).expect("a name");
        assert_eq!(named(None, NameFrom::Sources(&one)), "hello");
        assert_eq!(named(Some("MyName"), NameFrom::Sources(&one)), "my-name");
        assert_eq!(named(None, NameFrom::Image("docker.io/me/My-app:1.0")), "my-app-v1");
        assert_eq!(named(None, NameFrom::Image("localhost:5000/me/app@sha256:abcd")), "app");
        assert_eq!(named(None, NameFrom::Git("https://github.com/me/sample.git")), "sample");
        assert_eq!(named(None, NameFrom::Git("https://github.com/me/sample/")), "sample");
    }

    #[test]
    fn pipes() {
        for (wanted, source, sink, name) in [
            (None, "timer-source", "log-sink", "timer-source-to-log-sink"),
            (None, "my", "log", "my-to-log"),
            (None, "my.own-source", "log", "my-own-source-to-log"),
            (Some("as.it-is"), "a", "b", "as.it-is"),
        ] {
            assert_eq!(pipe_name(wanted, source, sink).expect("a name"), name);
        }
        let long = "x".repeat(40);
        for (wanted, hint) in [
            (Some("MyName"), "--name my-name"),
            (Some(""), "--name NAME"),
            (Some("a..b"), "--name a"),
            (Some("-a"), "--name a"),
        ] {
            let error = pipe_name(wanted, "a", "b").expect_err("no name");
            assert_eq!((error.exit(), error.all_hints()), (crate::error::Exit::Usage, &[hint.to_owned()][..]));
        }
        assert!(pipe_name(None, &long, &long).expect_err("long").message().contains("84 characters"));
    }

    #[test]
    fn no_name() {
        let two = [Some("a.yaml".to_owned()), Some("b.yaml".to_owned())];
        for (wanted, from, says) in [
            (None, NameFrom::Sources(&two[..]), "2 sources"),
            (None, NameFrom::Sources(&[None]), "standard input"),
            (Some("___"), NameFrom::Sources(&two[..]), "nothing is left"),
            (Some(""), NameFrom::Sources(&two[..]), "nothing is left"),
            (Some("x".repeat(64).as_str()), NameFrom::Sources(&two[..]), "64 characters"),
        ] {
            let error = integration_name(wanted, from).expect_err("no name");
            assert!(error.message().contains(says), "{error}");
            assert_eq!(error.exit(), crate::error::Exit::Usage);
            assert_eq!(error.all_hints().len(), 1);
        }
    }
}
