//! What changes in an object, line by line.

use similar::TextDiff;

use super::manifest;
use crate::{error::Result, tenancy::preview::Preview};

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// A unified diff of the object's YAML.
///
/// # Errors
/// A value that YAML cannot hold; there is none in JSON.
pub fn unified(preview: &Preview) -> Result<String> {
    let text = |object: &Option<_>| {
        object.as_ref().map_or_else(|| Ok(String::new()), |object| manifest::yaml(std::slice::from_ref(object)))
    };
    let (before, after) = (text(&preview.before)?, text(&preview.after)?);
    let name = |side: &str, object: &Option<_>| match object {
        Some(_) => format!("{} ({side})", preview.label),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (name("now", &preview.before), name("then", &preview.after));
    let diff = TextDiff::from_lines(&before, &after);
    Ok(diff.unified_diff().context_radius(CONTEXT).header(&old, &new).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_and_a_new_object() {
        let label = "integration.camel.apache.org/orders".to_owned();
        let preview = Preview { label, before: Some(json!({"a": 1, "b": 2})), after: Some(json!({"a": 1, "b": 3})) };
        let expected = "--- integration.camel.apache.org/orders (now)\n+++ integration.camel.apache.org/orders (then)\n\
                        @@ -1,2 +1,2 @@\n a: 1\n-b: 2\n+b: 3\n";
        assert_eq!(unified(&preview).unwrap(), expected);
        let new = unified(&Preview { before: None, ..preview }).unwrap();
        assert!(new.starts_with("--- /dev/null\n") && new.contains("\n+b: 3\n"), "{new}");
    }
}
