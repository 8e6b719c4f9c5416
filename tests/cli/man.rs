//! The manual pages in man/ are those of the program.

use std::{collections::BTreeMap, fs, path::Path};

const UPDATE: &str = "KCTL_UPDATE";

fn pages(folder: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .map(|file| {
            let text = fs::read_to_string(file.path()).expect("a page");
            (file.file_name().to_string_lossy().into_owned(), text)
        })
        .collect()
}

#[test]
fn pages_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let fresh = tempfile::tempdir().expect("a folder");
    clap_mangen::generate_to(kctl::commands::command(), fresh.path()).expect("pages");
    let wanted = pages(fresh.path());
    assert!(wanted.contains_key("kctl.1") && wanted.contains_key("kctl-config-view.1"), "{:?}", wanted.keys());
    if std::env::var_os(UPDATE).is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        for (name, text) in &wanted {
            fs::write(folder.join(name), text).expect("written");
        }
    }
    let there = pages(&folder);
    let again = format!("write the pages anew: {UPDATE}=1 cargo test --test cli man");
    assert_eq!(there.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>(), "{again}");
    for (name, text) in wanted {
        assert!(there[&name] == text, "man/{name} differs; {again}");
    }
}
