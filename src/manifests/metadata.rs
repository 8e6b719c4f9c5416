//! Labels, annotations and references to other objects from the command line.

use serde_json::{Map, Value, json};

use crate::{
    contracts::camel_k::OPERATOR_ID,
    error::{Error, Result},
};

/// The labels of all `--label` options; of a key given twice the last value.
///
/// # Errors
/// What is wrong with one (exit 2).
pub fn labels(texts: &[String]) -> Result<Map<String, Value>> {
    texts.iter().map(|text| label(text).map(|(key, value)| (key, json!(value)))).collect()
}

/// The annotations of all `--annotation` options, and apart from them the operator id that one of them sets.
///
/// # Errors
/// What is wrong with one (exit 2).
pub fn annotations(texts: &[String]) -> Result<(Map<String, Value>, Option<String>)> {
    let mut annotations = Map::new();
    let mut id = None;
    for text in texts {
        let (key, value) = annotation(text)?;
        if key == OPERATOR_ID {
            id = Some(value);
        } else {
            annotations.insert(key, json!(value));
        }
    }
    Ok((annotations, id))
}

/// Splits `[namespace/]name`.
///
/// # Errors
/// Anything else (exit 2).
pub fn namespaced_name(flag: &str, text: &str) -> Result<(Option<String>, String)> {
    let word = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.')
    };
    let (namespace, name) = match text.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, text),
    };
    if !word(name) || !namespace.is_none_or(word) {
        return Err(
            Error::usage(format!("{flag} {text:?} is not a name")).hint(format!("{flag} NAME, or NAMESPACE/NAME"))
        );
    }
    Ok((namespace.map(str::to_owned), name.to_owned()))
}

/// The name of a `--service-account`: it is always one of the object's own namespace.
///
/// # Errors
/// Not a name, or one with a namespace (exit 2).
pub fn service_account(text: &str) -> Result<String> {
    match namespaced_name("--service-account", text)? {
        (None, name) => Ok(name),
        (Some(_), name) => {
            Err(Error::usage(format!("--service-account {text}: an account is named without its namespace"))
                .hint(format!("--service-account {name}")))
        }
    }
}

/// Splits `--label key=value` (exactly one `=`) and checks both against the rules of labels.
///
/// # Errors
/// What is wrong with it (exit 2).
pub fn label(text: &str) -> Result<(String, String)> {
    let (key, value) = pair("--label", text)?;
    let wrong = |what: String| Error::usage(format!("--label {text:?}: {what}")).hint("--label team=orders");
    check_key(&key).map_err(wrong)?;
    let name_like = value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if value.len() > 63 || !name_like || !ends_plain(&value) {
        return Err(wrong(format!(
            "the value {value:?} must have at most 63 letters, digits, dashes, dots and underscores, the first and last a letter or digit"
        )));
    }
    Ok((key, value))
}

/// Splits `--annotation key=value` (exactly one `=`) and checks the key.
///
/// # Errors
/// What is wrong with it (exit 2).
pub fn annotation(text: &str) -> Result<(String, String)> {
    let (key, value) = pair("--annotation", text)?;
    check_key(&key)
        .map_err(|what| Error::usage(format!("--annotation {text:?}: {what}")).hint("--annotation my.org/key=value"))?;
    Ok((key, value))
}

fn pair(flag: &str, text: &str) -> Result<(String, String)> {
    match text.split('=').collect::<Vec<_>>()[..] {
        [key, value] => Ok((key.to_owned(), value.to_owned())),
        _ => Err(Error::usage(format!("{flag} {text:?} must have exactly one =")).hint(format!("{flag} key=value"))),
    }
}

fn check_key(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.rsplit_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let name_like = !name.is_empty()
        && name.len() <= 63
        && ends_plain(name)
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let domain_like = prefix.is_none_or(|prefix| {
        prefix.len() <= 253
            && prefix.split('.').all(|part| {
                ends_plain(part)
                    && !part.is_empty()
                    && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            })
    });
    if name_like && domain_like { Ok(()) } else { Err(format!("{key:?} is not a key such as team or my.org/team")) }
}

fn ends_plain(text: &str) -> bool {
    let plain = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    plain(text.chars().next()) && plain(text.chars().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;

    #[test]
    fn labels_and_annotations() {
        type Split = fn(&str) -> Result<(String, String)>;
        let cases: [(Split, &[&str], &[&str]); 2] = [
            (label, &["a=b", "my.org/a=", "a=B_c.d"], &["a", "a=b=c", "=b", "a=-b", "a= b", "A.b/c=d", "a/=b"]),
            (annotation, &["a=any thing: at all", "camel.apache.org/x=1"], &["a", "a=b=c", "=b", "a b=c", "x/y/z=1"]),
        ];
        for (split, good, bad) in cases {
            for text in good {
                assert!(split(text).is_ok(), "{text}");
            }
            for text in bad {
                let error = split(text).expect_err(text);
                assert_eq!((error.exit(), error.all_hints().len()), (Exit::Usage, 1), "{text}");
            }
        }
    }
}
