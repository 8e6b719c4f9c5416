//! Answers of a cluster, kept for a minute: names only, in files that nobody else may read.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use sha2::{Digest, Sha256};

use super::names::{MOST, Offer};

/// How long an answer counts as current.
const FRESH: Duration = Duration::from_secs(60);
/// How long an older one is kept for when the cluster does not answer.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The place of one answer.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    path: PathBuf,
}

/// An answer that was kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// The names.
    pub(super) offers: Vec<Offer>,
    /// Whether it is younger than a minute.
    pub(super) fresh: bool,
}

impl Slot {
    /// The place in `dir` of the answer to `question`. Who asks which server is part of the question; its text goes into a hash.
    pub(super) fn new(dir: &Path, question: &[String]) -> Self {
        let mut hash = Sha256::new();
        for part in question {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        let name: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self { path: dir.join(name) }
    }

    /// The answer, if there is one.
    pub(super) fn read(&self) -> Option<Kept> {
        let age = age(&self.path)?;
        let offers = serde_json::from_slice(&fs::read(&self.path).ok()?).ok()?;
        Some(Kept { offers, fresh: age < FRESH })
    }

    /// Keeps an answer. Failure to do so is none of completion.
    pub(super) fn write(&self, offers: &[Offer]) -> io::Result<()> {
        let dir = self.path.parent().ok_or(io::ErrorKind::NotFound)?;
        make_private(dir)?;
        drop_old(dir);
        // Made with mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(&serde_json::to_vec(&offers[..offers.len().min(5 * MOST)])?)?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// Drops every answer in `dir`.
pub(super) fn clear(dir: &Path) {
    if dir.is_dir() {
        // One that stays is outdated in a minute.
        let _ = fs::remove_dir_all(dir);
    }
}

fn age(path: &Path) -> Option<Duration> {
    let written = fs::metadata(path).ok()?.modified().ok()?;
    SystemTime::now().duration_since(written).ok()
}

fn drop_old(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if age(&entry.path()).is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(unix)]
fn make_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(not(unix))]
fn make_private(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(parts: &[&str]) -> Vec<String> {
        parts.iter().map(|part| (*part).to_owned()).collect()
    }

    fn age_by(slot: &Slot, by: Duration) {
        let file = fs::File::options().write(true).open(&slot.path).expect("opened");
        file.set_modified(SystemTime::now() - by).expect("dated back");
    }

    #[test]
    fn an_answer_is_kept_and_grows_old() {
        let dir = tempfile::tempdir().expect("a directory");
        let dir = dir.path().join("completion");
        let slot = Slot::new(&dir, &question(&["server", "user", "namespaces"]));
        assert_eq!(slot.read(), None);
        let offers = vec![Offer::new("team-a"), Offer::new("team-b").about("mine")];
        slot.write(&offers).expect("written");
        assert_eq!(slot.read(), Some(Kept { offers: offers.clone(), fresh: true }));
        age_by(&slot, FRESH);
        assert_eq!(slot.read(), Some(Kept { offers, fresh: false }));
        clear(&dir);
        assert_eq!(slot.read(), None);
    }

    #[test]
    fn each_question_has_its_place() {
        let dir = Path::new("/x");
        let path = |parts: &[&str]| Slot::new(dir, &question(parts)).path;
        assert_ne!(path(&["ab", "c"]), path(&["a", "bc"]));
        assert_eq!(path(&["a", "b"]), path(&["a", "b"]));
        assert!(!path(&["secret-token"]).to_string_lossy().contains("secret"));
    }

    #[test]
    fn what_is_no_answer_is_none() {
        let dir = tempfile::tempdir().expect("a directory");
        let slot = Slot::new(dir.path(), &question(&["a"]));
        fs::write(&slot.path, "{").expect("written");
        assert_eq!(slot.read(), None);
    }

    #[test]
    fn answers_of_last_week_go() {
        let dir = tempfile::tempdir().expect("a directory");
        let (old, new) = (Slot::new(dir.path(), &question(&["a"])), Slot::new(dir.path(), &question(&["b"])));
        old.write(&[]).expect("written");
        age_by(&old, KEPT + FRESH);
        new.write(&[]).expect("written");
        assert!(!old.path.exists() && new.path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a directory");
        let dir = dir.path().join("deep").join("completion");
        let slot = Slot::new(&dir, &question(&["a"]));
        slot.write(&[]).expect("written");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&slot.path), mode(&dir)), (0o600, 0o700));
    }
}
