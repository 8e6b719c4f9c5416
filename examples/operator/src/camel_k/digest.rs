//! The digest of an Integration: when it changes, the Integration is built anew.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use sha2::{Digest as _, Sha256};

use super::keys::{OPERATOR_ID, PROFILE_ID, PROFILE_NAMESPACE, TRAIT};

/// Fields of the spec that make a difference to what is built. Replicas and the service account do not.
const FIELDS: [&str; 10] = [
    "integrationKit",
    "profile",
    "sources",
    "resources",
    "flows",
    "dependencies",
    "configuration",
    "git",
    "repositories",
    "traits",
];

/// SHA-256 over the operator id and what is built, in base64 for URLs, with the letter v in front.
pub fn digest(integration: &DynamicObject) -> String {
    let mut hash = Sha256::new();
    let mut add = |key: &str, value: &str| {
        // Lengths keep neighbours apart.
        for part in [key, value] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
    };
    for (key, value) in integration.annotations() {
        if [OPERATOR_ID, PROFILE_ID, PROFILE_NAMESPACE].contains(&key.as_str()) || key.starts_with(TRAIT) {
            add(key, value);
        }
    }
    for field in FIELDS {
        if let Some(value) = integration.data.get("spec").and_then(|spec| spec.get(field)) {
            add(field, &value.to_string());
        }
    }
    format!("v{}", BASE64_URL_SAFE_NO_PAD.encode(hash.finalize()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(annotations: Value, spec: Value) -> String {
        let mut object = json!({"metadata": {"name": "x"}});
        object["metadata"]["annotations"] = annotations;
        object["spec"] = spec;
        digest(&serde_json::from_value(object).expect("an object"))
    }

    #[test]
    fn id_and_content_count() {
        let a = of(json!({OPERATOR_ID: "a"}), json!({"flows": [1]}));
        assert!(a.starts_with('v') && a.len() == 44, "{a}");
        assert_eq!(a, of(json!({OPERATOR_ID: "a", "note": "x"}), json!({"flows": [1], "replicas": 3})));
        assert_ne!(a, of(json!({OPERATOR_ID: "b"}), json!({"flows": [1]})));
        assert_ne!(a, of(json!({}), json!({"flows": [1]})));
        assert_ne!(a, of(json!({OPERATOR_ID: "a"}), json!({"flows": [2]})));
        assert_ne!(
            a,
            of(json!({OPERATOR_ID: "a", "trait.camel.apache.org/container.image": "x"}), json!({"flows": [1]}))
        );
    }
}
