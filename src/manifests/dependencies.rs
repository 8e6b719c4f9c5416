//! Dependencies as the operator writes them.

use crate::error::{Error, Result};

/// A dependency in its usual form: `camel-x`, `camel-quarkus-x` and `camel-quarkus:x` are `camel:x`, `camel-k-x` is
/// `camel-k:x`; all others (`mvn:`, `github:`, …) stay.
///
/// # Errors
/// An empty one (exit 2).
pub fn normalise(text: &str) -> Result<String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::usage("-d: a dependency is empty").hint("-d camel:http, or -d mvn:GROUP:ARTIFACT:VERSION"));
    }
    for (prefix, scheme) in
        [("camel-quarkus-", "camel:"), ("camel-quarkus:", "camel:"), ("camel-k-", "camel-k:"), ("camel-", "camel:")]
    {
        // `camel-k:x` has its form already.
        if let Some(rest) = text.strip_prefix(prefix)
            && !text.starts_with("camel-k:")
        {
            return Ok(format!("{scheme}{rest}"));
        }
    }
    Ok(text.to_owned())
}

/// All dependencies in their usual form, each once; what is odd about one goes to `remarks`.
///
/// # Errors
/// An empty one (exit 2).
pub fn all(texts: &[String], remarks: &mut Vec<String>) -> Result<Vec<String>> {
    let mut wanted: Vec<String> = Vec::new();
    for text in texts {
        let dependency = normalise(text)?;
        remarks.extend(oddity(&dependency));
        if !wanted.contains(&dependency) {
            wanted.push(dependency);
        }
    }
    Ok(wanted)
}

/// What is odd about a normalised dependency, if anything is.
pub fn oddity(dependency: &str) -> Option<String> {
    match dependency.split_once(':') {
        None => Some(format!("dependency {dependency} has no scheme; did you mean camel:{dependency}?")),
        Some(("mvn", coordinates)) if coordinates.split(':').count() < 2 => {
            Some(format!("dependency {dependency} has no artifact; mvn:GROUP:ARTIFACT:VERSION"))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (text, normal, odd) in [
            ("camel-quarkus-http", "camel:http", false),
            ("camel-quarkus:http", "camel:http", false),
            ("camel-http", "camel:http", false),
            ("camel:http", "camel:http", false),
            ("camel-k-cron", "camel-k:cron", false),
            ("camel-k:cron", "camel-k:cron", false),
            ("mvn:org.my:app:1.0", "mvn:org.my:app:1.0", false),
            ("github:me/x", "github:me/x", false),
            ("http", "http", true),
            ("mvn:app", "mvn:app", true),
        ] {
            let found = normalise(text).expect("valid");
            assert_eq!((found.as_str(), oddity(&found).is_some()), (normal, odd));
        }
        assert!(normalise(" ").is_err());
    }
}
