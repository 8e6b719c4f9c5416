//! Text that came from a cluster and goes to a terminal.

use std::fmt::Write;

/// Replaces control characters, so that a terminal does not act on them. Tabs and line breaks count as such.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if is_unsafe(c) { '\u{fffd}' } else { c }).collect()
}

/// Escapes in JSON text what its writer leaves bare and a terminal may act on: DEL, C1 and direction controls.
///
/// Such characters occur only inside of strings, where an escape means the same.
pub fn escape_controls(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_unsafe(c) && c != '\n' {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Like [`clean`], but line breaks stay.
pub fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// Whether a terminal can get the text as it is; tabs and line breaks are fine.
pub fn is_printable(text: &str) -> bool {
    text.chars().all(|c| matches!(c, '\n' | '\t') || !is_unsafe(c))
}

/// Control characters, and those that turn the direction of a line around and so make it read as something else.
fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_codes_do_not_reach_a_terminal() {
        assert_eq!(clean("a\x1b[31mb\u{9b}c\td\u{202e}e"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\u{fffd}e");
        assert_eq!(clean_lines("a\r\nb\x1b"), "a\nb\u{fffd}");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({"a": "x\u{9b}31m\u{7f}\u{202e}\x1b"});
        let text = escape_controls(&serde_json::to_string_pretty(&value).unwrap());
        assert!(text.chars().all(|c| c == '\n' || !is_unsafe(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
