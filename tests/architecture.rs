//! The rooms of src/ import one way, and each outside library stays in its room. ARCHITECTURE.md draws the same picture.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Which rooms a room may import. `error` is open to all, and every room to itself.
const ARROWS: &[(&str, &[&str])] = &[
    ("main", &["commands"]),
    ("commands", &["cli", "settings", "cluster", "tenancy", "manifests", "report", "ui", "contracts"]),
    ("cli", &["tenancy", "contracts", "manifests"]),
    ("cluster", &["snapshot", "tenancy", "contracts", "settings"]),
    ("snapshot", &["contracts"]),
    ("manifests", &["contracts"]),
    ("tenancy", &["contracts"]),
    ("report", &["tenancy"]),
    ("ui", &["settings"]),
    ("settings", &[]),
    ("contracts", &[]),
    ("error", &[]),
];

/// The only files outside their room's arrows, and what they may import besides.
const EXCEPTIONS: &[(&str, &[&str])] = &[
    // Completion asks a cluster for candidates.
    ("cli/complete", &["cluster", "settings"]),
];

/// Where outside code may be named: a text in the source, and the rooms it may stand in.
const FENCES: &[(&str, &[&str])] = &[
    ("clap", &["cli", "commands"]),
    ("kube", &["cluster", "snapshot"]),
    ("kube::Client", &["cluster"]),
    ("comfy_table", &["report"]),
    ("terminal_size", &["ui"]),
    ("std::env", &["settings"]),
    ("process::exit", &[]),
    ("println!", &[]),
    ("eprintln!", &[]),
    ("io::stdout()", &["ui"]),
    ("io::stderr()", &["ui"]),
];

struct Source {
    path: PathBuf,
    /// Path below src without the ending: `tenancy/claim`.
    name: String,
    room: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![src.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("src can be read").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let below = path.strip_prefix(&src).expect("below src").with_extension("");
                let name = below.to_string_lossy().replace('\\', "/");
                let room = name.split('/').next().unwrap_or_default().to_owned();
                let text = code(&fs::read_to_string(&path).expect("a source file"));
                found.push(Source { path, name, room, text });
            }
        }
    }
    found
}

/// The code of a file: without comments, and without its tests, which may use what they like.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Whether `word` stands in `text` as a path of its own, not as the end of another name.
fn names(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let inside =
            |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '"' || c == '-' || c == '.');
        let joined = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let part_of_more = inside(before) || (word.ends_with(char::is_alphanumeric) && after.is_some_and(joined));
        !part_of_more && (word.contains("::") || word.ends_with('!') || after == Some(':'))
    })
}

/// Rooms that a file imports with `crate::ROOM` or `crate::{ROOM…`.
fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut word = String::new();
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => found.push(std::mem::take(&mut word)),
                    c if depth == 0 && !c.is_whitespace() => word.push(c),
                    _ => {}
                }
            }
            found.push(word);
        } else {
            found.push(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':').collect());
        }
    }
    found
        .iter()
        .map(|path| path.split("::").next().unwrap_or_default().to_owned())
        .filter(|room| !room.is_empty())
        .collect()
}

#[test]
fn imports_run_one_way() {
    let arrows: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| source.name != "lib") {
        let allowed =
            arrows.get(source.room.as_str()).unwrap_or_else(|| panic!("{} is in no room of ARROWS", source.name));
        let more = EXCEPTIONS.iter().find(|(file, _)| source.name.starts_with(file)).map_or(&[][..], |(_, more)| more);
        for room in imports(&source.text) {
            let fine = room == source.room
                || room == "error"
                || allowed.contains(&room.as_str())
                || more.contains(&room.as_str());
            if !fine {
                wrong.push(format!("{} imports {room}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn outside_code_stays_in_its_room() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (word, rooms) in FENCES {
            if names(&source.text, word) && !rooms.contains(&source.room.as_str()) {
                wrong.push(format!("{} names {word}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_are_small() {
    let long: Vec<String> = sources()
        .iter()
        .map(|source| (source, fs::read_to_string(&source.path).expect("a source file").lines().count()))
        .filter(|(_, lines)| *lines > 600)
        .map(|(source, lines)| format!("{}: {lines} lines", source.name))
        .collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn the_checks_see_what_they_should() {
    assert_eq!(imports("use crate::{a::B, c::{d, e}, f};\nuse crate::g;"), ["a", "c", "f", "g"]);
    assert!(names("use clap::Args;", "clap"));
    assert!(names("let x = std::env::var(\"A\");", "std::env"));
    assert!(!names("let clapper = 1;", "clap"));
    assert!(names("println!(\"x\")", "println!"));
    assert!(!names("eprintln!(\"x\")", "println!"));
    assert_eq!(code("a // b\n#[cfg(test)]\nmod tests {\n c"), "a ");
}
