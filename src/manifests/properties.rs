//! Java properties: reading `.properties` files and writing one entry as the `camel` trait wants it.

use crate::error::{Error, Result};

/// One property.
pub type Pair = (String, String);

/// The pair of a `-p key=value`.
///
/// # Errors
/// No `=`, or no key (exit 2).
pub fn pair(flag: &str, text: &str) -> Result<Pair> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim_start_matches([' ', '\t']).to_owned()))
        }
        _ => Err(Error::usage(format!("{flag} {text:?} is not of the form key=value"))
            .hint(format!("{flag} my.key=value, or {flag} file:my.properties"))),
    }
}

/// The pairs of a `.properties` file; of a key that occurs twice, the last value.
///
/// # Errors
/// A `\u` escape without four hexadecimal digits: which line, and why.
pub fn parse(text: &str) -> Result<Vec<Pair>, String> {
    let mut pairs: Vec<Pair> = Vec::new();
    for (line_number, line) in logical_lines(text) {
        let (key, value) = split_entry(&line);
        let at = |reason: String| format!("line {line_number}: {reason}");
        let (key, value) = (unescape(key).map_err(at)?, unescape(value).map_err(at)?);
        match pairs.iter_mut().find(|(known, _)| *known == key) {
            Some(known) => known.1 = value,
            None => pairs.push((key, value)),
        }
    }
    Ok(pairs)
}

/// A pair as one line of a properties file: `key = value`, escaped.
pub fn encode((key, value): &Pair) -> String {
    let mut out = String::new();
    for c in key.chars() {
        escape(c, " :=", &mut out);
    }
    if out.starts_with(['#', '!']) {
        out.insert(0, '\\');
    }
    out.push_str(" = ");
    for c in value.chars() {
        escape(c, "", &mut out);
    }
    out
}

fn escape(c: char, special: &str, out: &mut String) {
    match c {
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\x0c' => out.push_str("\\f"),
        c => {
            if special.contains(c) {
                out.push('\\');
            }
            out.push(c);
        }
    }
}

/// Lines without blank ones and comments, continued lines joined, each with the number of its first line.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start_matches([' ', '\t', '\x0c']);
        let (number, mut joined) = match open.take() {
            Some(open) => open,
            None if line.is_empty() || line.starts_with(['#', '!']) => continue,
            None => (index + 1, String::new()),
        };
        let backslashes = line.chars().rev().take_while(|c| *c == '\\').count();
        if backslashes % 2 == 1 {
            joined.push_str(&line[..line.len() - 1]);
            open = Some((number, joined));
        } else {
            joined.push_str(line);
            out.push((number, joined));
        }
    }
    out.extend(open);
    out
}

/// Key and value, still escaped: the key ends at the first `=`, `:` or blank that is not escaped.
fn split_entry(line: &str) -> (&str, &str) {
    let blank = [' ', '\t', '\x0c'];
    let mut escaped = false;
    let end = line
        .char_indices()
        .find(|(_, c)| {
            let ends = !escaped && (blank.contains(c) || *c == '=' || *c == ':');
            escaped = *c == '\\' && !escaped;
            ends
        })
        .map_or(line.len(), |(at, _)| at);
    let rest = line[end..].trim_start_matches(blank);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (&line[..end], rest.trim_start_matches(blank))
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = text.chars();
    let mut high: Option<u16> = None;
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            None => {}
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('f') => out.push('\x0c'),
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                let unit = u16::from_str_radix(&digits, 16)
                    .ok()
                    .filter(|_| digits.len() == 4)
                    .ok_or_else(|| format!("\\u{digits} is not a character"))?;
                // Characters beyond the first plane are written as two halves.
                let units: Vec<u16> = high.take().into_iter().chain([unit]).collect();
                match String::from_utf16(&units) {
                    Ok(whole) => out.push_str(&whole),
                    Err(_) if units.len() == 1 => high = Some(unit),
                    Err(_) => return Err(format!("\\u{digits} is half a character")),
                }
            }
            Some(other) => out.push(other),
        }
    }
    match high {
        None => Ok(out),
        Some(_) => Err("half a character at the end".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<Pair> {
        list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn files() {
        for (text, expected) in [
            ("a=b", &[("a", "b")][..]),
            ("# comment\n! other\n\n  a : b c \n", &[("a", "b c ")]),
            ("a b", &[("a", "b")]),
            ("only", &[("only", "")]),
            ("a=1\na=2", &[("a", "2")]),
            ("fruits = apple, \\\n    pear", &[("fruits", "apple, pear")]),
            ("path=C:\\\\temp\\\\", &[("path", "C:\\temp\\")]),
            ("a\\ b\\=c = d=e", &[("a b=c", "d=e")]),
            ("x = \\u00e4\\t\\ud83d\\ude00", &[("x", "ä\t😀")]),
            ("end = a\\", &[("end", "a")]),
        ] {
            assert_eq!(parse(text).expect("valid"), pairs(expected), "{text:?}");
        }
        assert_eq!(parse("a=1\nb=\\u12"), Err("line 2: \\u12 is not a character".to_owned()));
    }

    #[test]
    fn entries() {
        for (key, value, entry) in [
            ("my.key", "a value", "my.key = a value"),
            ("a b", "c", "a\\ b = c"),
            ("dir", "C:\\temp", "dir = C:\\\\temp"),
            ("two", "1\n2", "two = 1\\n2"),
            ("#no", "x", "\\#no = x"),
        ] {
            assert_eq!(encode(&(key.to_owned(), value.to_owned())), entry);
        }
    }

    #[test]
    fn flags() {
        assert_eq!(pair("-p", "a=b=c").expect("valid"), ("a".to_owned(), "b=c".to_owned()));
        assert_eq!(pair("-p", "a = b").expect("valid"), ("a".to_owned(), "b".to_owned()));
        for bad in ["a", "=b", "", " =x"] {
            assert_eq!(pair("-p", bad).expect_err("bad").exit(), crate::error::Exit::Usage);
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_read_back(key in "[^\\s].{0,8}", value in "([^ \t\x0c].*)?") {
            let encoded = encode(&(key.clone(), value.clone()));
            prop_assert_eq!(parse(&encoded), Ok(vec![(key, value)]));
        }
    }
}
