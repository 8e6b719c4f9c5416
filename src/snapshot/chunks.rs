//! The documents of a YAML text. Long ones are parsed piece by piece, on all cores: a dump of fifty thousand objects is
//! one document of two hundred megabytes.

use std::{num::NonZero, panic, thread};

use super::yaml::{Document, Fault, Tree, parse};

/// Texts longer than this are worth threads.
const LONG: usize = 1 << 20;
const MOST_THREADS: usize = 8;

/// Parses the documents of a text. Gives the line each begins in, from 1.
pub(super) fn documents(text: &str) -> Vec<(usize, Result<Document, Fault>)> {
    let chunks = split(text);
    in_parallel(&chunks, chunks.len() > 1 && text.len() > LONG, |&(line, chunk)| {
        let long_list = if chunk.len() > LONG { list(chunk, line) } else { None };
        (line, long_list.map_or_else(|| parse(chunk, line), Ok))
    })
}

/// The documents of a text with the lines they begin in. A line that begins with `---` ends one wherever it stands, as
/// for kubectl.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut documents = Vec::new();
    let (mut start, mut start_line, mut at) = (0, 1, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let marks =
            line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if marks && at > 0 {
            documents.push((start_line, &text[start..at]));
            (start, start_line) = (at, index + 1);
        }
        at += line.len();
    }
    documents.push((start_line, &text[start..]));
    documents.retain(|(_, chunk)| chunk.lines().any(has_content));
    documents.iter().map(|&(line, chunk)| skip_blank(line, chunk)).collect()
}

/// Whether a line is more than a comment, a directive or a document mark.
fn has_content(line: &str) -> bool {
    let line = line.strip_prefix("---").unwrap_or(line).trim_start_matches('\u{feff}').trim();
    !line.is_empty() && !line.starts_with(['#', '%']) && line != "..."
}

/// Moves the beginning of a document to its first line with content, so that messages name that one.
fn skip_blank(mut line: usize, mut chunk: &str) -> (usize, &str) {
    while let Some((first, rest)) = chunk.split_once('\n') {
        if has_content(first) || first.starts_with('%') {
            break;
        }
        line += 1;
        chunk = rest;
    }
    (line, chunk)
}

/// Parses a list in the form in which kubectl prints one: `items:` and each `- ` of it begin a line. `None` when it is
/// anything else, or when a piece cannot be parsed alone.
fn list(text: &str, first_line: usize) -> Option<Document> {
    let (before, rest) = text.split_once("\nitems:\n").map(|(before, rest)| (format!("{before}\n"), rest))?;
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in rest.split_inclusive('\n') {
        match line.as_bytes() {
            [b'-', b' ', ..] if at > 0 => {
                pieces.push(&rest[start..at]);
                start = at;
            }
            [b'-' | b' ' | b'\n' | b'\r' | b'#', ..] => {}
            _ => break,
        }
        at += line.len();
    }
    pieces.push(&rest[start..at]);
    let items = in_parallel(&pieces, true, |piece| match parse::<Vec<Tree>>(piece, 1).ok()?.as_slice() {
        [Tree(item)] => Some(item.to_string()),
        _ => None,
    });
    let items: Option<Vec<String>> = items.into_iter().collect();
    match parse(&(before + &rest[at..]), first_line).ok()? {
        Document::Mapping { fields, items: None } => Some(Document::Mapping { fields, items: Some(items?) }),
        _ => None,
    }
}

/// Does a job for each of many things and keeps their order.
fn in_parallel<T: Sync, R: Send>(things: &[T], worth_it: bool, job: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    if !worth_it || threads < 2 {
        return things.iter().map(job).collect();
    }
    let share = things.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let workers: Vec<_> =
            things.chunks(share).map(|share| scope.spawn(|| share.iter().map(&job).collect::<Vec<R>>())).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_split_and_their_lines_known() {
        let text = "# only a comment\n---\na: 1\n---\n\n# c\n---\n\nb: |\n  x\n   ---\n--- # mark\nc: 3\n...\n";
        let found: Vec<(usize, bool)> = documents(text)
            .into_iter()
            .map(|(line, document)| (line, matches!(document, Ok(Document::Mapping { .. }))))
            .collect();
        assert_eq!(found, [(3, true), (9, true), (13, true)]);
        assert!(documents("").is_empty());
        assert!(documents("---\n").is_empty());
    }

    #[test]
    fn a_fault_names_its_line() {
        let faults: Vec<usize> = documents("a: 1\n---\nb: 1\nc: [1\nd: 2\n")
            .into_iter()
            .filter_map(|(_, document)| document.err().map(|fault| fault.line))
            .collect();
        assert_eq!(faults.len(), 1);
        assert!((4..=6).contains(&faults[0]), "{faults:?}");
        let twice = documents("a: 1\nb: 2\na: 3\n").remove(0).1.unwrap_err();
        assert_eq!(twice.line, 3, "{twice:?}");
    }

    #[test]
    fn items_stand_apart() {
        let text = "kind: List\napiVersion: v1\nitems:\n- a: yes\n- b: 0644\n";
        let (_, document) = documents(text).remove(0);
        let Ok(Document::Mapping { fields, items }) = document else { panic!("{document:?}") };
        assert_eq!(fields["kind"], "List");
        assert_eq!(items.unwrap(), [r#"{"a":true}"#, r#"{"b":420}"#]);
    }

    #[test]
    fn a_list_in_pieces_is_the_list() {
        let plain = "apiVersion: v1\nitems:\n- a: |\n    - x\n\n    y: [\n  b: 'it''s'\n\n# c\n- - deep\n- k:\n  - 1\n  - z: 0644\n\
                     kind: List\nmetadata:\n  resourceVersion: \"\"\n";
        assert_eq!(list(plain, 1).unwrap(), parse::<Document>(plain, 1).unwrap());
        for other in [
            "apiVersion: v1\nkind: List\n",
            "kind: List\nitems:\n- a: &x 1\n- b: *x\n",
            "kind: List\nitems:\n- a: \"x\n- y\"\n",
            "kind: List\nitems:\n- a: 1\nitems:\n- b: 1\n",
        ] {
            assert!(list(other, 1).is_none(), "{other}");
        }
    }

    #[test]
    fn long_texts_are_parsed_as_short_ones() {
        let item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n";
        let long = format!("apiVersion: v1\nitems:\n{}kind: List\n", item.repeat(LONG / item.len() + 10));
        let Ok(Document::Mapping { items: Some(items), .. }) = documents(&long).remove(0).1 else { panic!() };
        assert_eq!(items.len(), LONG / item.len() + 10);
        assert_eq!(items[0], json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}).to_string());
    }
}
