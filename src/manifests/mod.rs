//! From a wish to objects, pure.

pub mod crds;
pub mod dependencies;
pub mod endpoint;
pub mod flows;
pub mod integration;
pub mod kamelet;
pub mod metadata;
pub mod modeline;
pub mod mounts;
pub mod names;
pub mod operator;
pub mod pipe;
pub mod properties;
pub mod rbac;
pub mod sources;
pub mod tigera;
pub mod traits;
pub mod wish;

/// Of `known` the word that `word` was probably meant to be: at most two slips away, and not most of a short word.
fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let slips = |other: &str| strsim::damerau_levenshtein(&word.to_ascii_lowercase(), &other.to_ascii_lowercase());
    let nearest = known.into_iter().map(|other| (slips(other), other)).min_by_key(|(slips, _)| *slips)?;
    (nearest.0 <= 2 && nearest.0 * 2 < word.chars().count()).then_some(nearest.1)
}

/// `s` for a hint: `did you mean X?`
fn did_you_mean(word: Option<&str>) -> Option<String> {
    word.map(|word| format!("did you mean {word}?"))
}
