//! What an Integration mounts and finds in its environment.

use crate::error::{Error, Result};

/// Checks `--config configmap:NAME[/KEY]` or `secret:…`.
///
/// # Errors
/// Another form (exit 2).
pub fn config(text: &str) -> Result<String> {
    match reference("--config", text)? {
        (_, None) => Ok(text.to_owned()),
        (_, Some(_)) => Err(form("--config", text, "configmap:NAME[/KEY] or secret:NAME[/KEY], without a path")
            .hint(format!("--resource {text}"))),
    }
}

/// Checks `--resource configmap:NAME[/KEY][@PATH]` or `secret:…`.
///
/// # Errors
/// Another form (exit 2).
pub fn resource(text: &str) -> Result<String> {
    reference("--resource", text).map(|_| text.to_owned())
}

fn reference<'a>(flag: &str, text: &'a str) -> Result<(&'a str, Option<&'a str>)> {
    let wanted = "configmap:NAME[/KEY] or secret:NAME[/KEY]";
    if let Some(path) = text.strip_prefix("file:") {
        let name = super::names::sanitise(path);
        return Err(form(flag, text, wanted).hint(format!(
            "make a ConfigMap of the file: kubectl create configmap {name} --from-file={path}, then {flag} configmap:{name}"
        )));
    }
    let rest = text.strip_prefix("configmap:").or_else(|| text.strip_prefix("secret:"));
    let Some(rest) = rest else { return Err(form(flag, text, wanted).hint(format!("{flag} configmap:NAME"))) };
    let (object, path) = match rest.split_once('@') {
        Some((object, path)) => (object, Some(path)),
        None => (rest, None),
    };
    let (name, key) = match object.split_once('/') {
        Some((name, key)) => (name, Some(key)),
        None => (object, None),
    };
    let word = |text: &str, more: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-:".contains(c) || more.contains(c))
    };
    if !word(name, "") || !key.is_none_or(|key| word(key, "")) || !path.is_none_or(|path| word(path, "/")) {
        return Err(form(flag, text, wanted).hint(format!("{flag} configmap:NAME/KEY")));
    }
    Ok((object, path))
}

/// Checks `-v CLAIM:/PATH`.
///
/// # Errors
/// Another form (exit 2).
pub fn volume(text: &str) -> Result<String> {
    match text.split_once(':') {
        Some((claim, path)) if !claim.is_empty() && path.starts_with('/') => Ok(text.to_owned()),
        _ => Err(form("--volume", text, "CLAIM:/PATH").hint("--volume my-claim:/data")),
    }
}

/// Checks `-e NAME=VALUE`.
///
/// # Errors
/// Another form (exit 2).
pub fn env(text: &str) -> Result<String> {
    match text.split_once('=') {
        Some((name, _)) if !name.is_empty() && !name.contains(char::is_whitespace) => Ok(text.to_owned()),
        _ => Err(form("--env", text, "NAME=VALUE").hint("--env MY_VAR=value")),
    }
}

fn form(flag: &str, text: &str, wanted: &str) -> Error {
    Error::usage(format!("{flag} {text:?} is not of the form {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;

    #[test]
    fn forms() {
        type Check = fn(&str) -> Result<String>;
        let cases: [(Check, &[&str], &[&str]); 4] = [
            (
                config,
                &["configmap:a", "secret:a/key.properties"],
                &["a", "configmap:", "configmap:a/", "file:x.properties", "configmap:a@/x", "pod:a"],
            ),
            (resource, &["configmap:a", "secret:a/b@/etc/x"], &["configmap:a@", "file:x", "configmap:a b", ""]),
            (volume, &["data:/mnt", "data:/mnt?x=1"], &["data", ":/mnt", "data:mnt"]),
            (env, &["A=1", "A=", "A=b=c"], &["A", "=1", "", "A B=1"]),
        ];
        for (check, good, bad) in cases {
            for text in good {
                assert_eq!(check(text).as_deref().ok(), Some(*text));
            }
            for text in bad {
                let error = check(text).expect_err(text);
                assert_eq!((error.exit(), error.all_hints().len()), (Exit::Usage, 1), "{text}");
            }
        }
    }

    #[test]
    fn a_file_is_no_config_any_more_and_the_hint_makes_one() {
        let error = config("file:dir/My.properties").expect_err("file");
        assert!(error.all_hints()[0].contains("kubectl create configmap my --from-file=dir/My.properties"));
    }
}
