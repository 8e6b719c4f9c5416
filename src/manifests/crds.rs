//! Custom resource definitions that kctl makes where a cluster has none.

use serde_json::{Value, json};

use crate::error::{Error, Result};

/// One Camel K kind as kctl defines it.
struct CamelKind {
    kind: &'static str,
    plural: &'static str,
    short: &'static str,
    /// Whether it has the scale subresource, as Integration and Pipe do.
    scale: bool,
    /// Printer columns: name, type, JSON path.
    columns: &'static [(&'static str, &'static str, &'static str)],
}

const PHASE: (&str, &str, &str) = ("Phase", "string", ".status.phase");

/// Kinds, short names, subresources and main columns as v2.10.1 serves them.
const CAMEL_KINDS: [CamelKind; 8] = [
    CamelKind {
        kind: "Integration",
        plural: "integrations",
        short: "it",
        scale: true,
        columns: &[
            PHASE,
            ("Ready", "string", ".status.conditions[?(@.type==\"Ready\")].status"),
            ("Runtime Provider", "string", ".status.runtimeProvider"),
            ("Runtime Version", "string", ".status.runtimeVersion"),
            ("Kit", "string", ".status.integrationKit.name"),
            ("Replicas", "integer", ".status.replicas"),
        ],
    },
    CamelKind {
        kind: "IntegrationKit",
        plural: "integrationkits",
        short: "ik",
        scale: false,
        columns: &[
            PHASE,
            ("Type", "string", ".metadata.labels.camel\\.apache\\.org/kit\\.type"),
            ("Image", "string", ".status.image"),
        ],
    },
    CamelKind {
        kind: "IntegrationPlatform",
        plural: "integrationplatforms",
        short: "itp",
        scale: false,
        columns: &[
            PHASE,
            ("Registry", "string", ".status.build.registry.address"),
            ("Version", "string", ".status.version"),
        ],
    },
    CamelKind { kind: "IntegrationProfile", plural: "integrationprofiles", short: "ipr", scale: false, columns: &[] },
    CamelKind {
        kind: "Build",
        plural: "builds",
        short: "ikb",
        scale: false,
        columns: &[PHASE, ("Started", "date", ".status.startedAt"), ("Duration", "string", ".status.duration")],
    },
    CamelKind {
        kind: "CamelCatalog",
        plural: "camelcatalogs",
        short: "cc",
        scale: false,
        columns: &[
            ("Runtime Provider", "string", ".spec.runtime.provider"),
            ("Runtime Version", "string", ".spec.runtime.version"),
            PHASE,
        ],
    },
    CamelKind { kind: "Kamelet", plural: "kamelets", short: "kl", scale: false, columns: &[PHASE] },
    CamelKind {
        kind: "Pipe",
        plural: "pipes",
        short: "pp",
        scale: true,
        columns: &[PHASE, ("Replicas", "integer", ".status.replicas")],
    },
];

/// The Camel K definitions: right names, versions, subresources and columns over permissive schemas, which is all an
/// operator needs (seen with v2.10.1). Official ones can be given with `--crds`.
pub fn camel() -> Vec<Value> {
    CAMEL_KINDS.iter().map(camel_crd).collect()
}

fn camel_crd(kind: &CamelKind) -> Value {
    let columns: Vec<Value> =
        kind.columns.iter().map(|(name, of, path)| json!({"name": name, "type": of, "jsonPath": path})).collect();
    let mut subresources = json!({"status": {}});
    if kind.scale {
        subresources["scale"] = json!({
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        });
    }
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut version = json!({
        "name": "v1",
        "served": true,
        "storage": true,
        "subresources": subresources,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": anything,
            "status": anything,
        }}},
    });
    if kind.scale {
        // The scale subresource needs the types of the fields it points at.
        let replicas = json!({"type": "integer", "format": "int32"});
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = json!({"replicas": replicas});
        version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"] =
            json!({"replicas": replicas, "selector": {"type": "string"}});
    }
    if !columns.is_empty() {
        version["additionalPrinterColumns"] = json!(columns);
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{}.camel.apache.org", kind.plural),
            "labels": {"app": "camel-k", "app.kubernetes.io/managed-by": "kctl", "kctl.dev/shared": "camel-k"},
        },
        "spec": {
            "group": "camel.apache.org",
            "scope": "Namespaced",
            "names": {
                "kind": kind.kind,
                "listKind": format!("{}List", kind.kind),
                "plural": kind.plural,
                "singular": kind.kind.to_lowercase(),
                "shortNames": [kind.short],
                "categories": ["kamel", "camel"],
            },
            "versions": [version],
        },
    })
}

/// The definition of kctl's own kind, `OperatorClaim`.
pub fn claim() -> Value {
    // The file is part of the program, and a test reads it.
    serde_saphyr::from_str(include_str!("claim_crd.yaml")).unwrap_or_default()
}

/// Reads the definitions of a file with official ones; documents of other kinds are an error.
///
/// # Errors
/// Not YAML, or something else than definitions of the group `camel.apache.org` (exit 2).
pub fn from_documents(documents: Vec<Value>, origin: &str) -> Result<Vec<Value>> {
    for document in &documents {
        let kind = document.get("kind").and_then(Value::as_str).unwrap_or("nothing of a kind");
        let group = document.pointer("/spec/group").and_then(Value::as_str).unwrap_or_default();
        if kind != "CustomResourceDefinition" || group != "camel.apache.org" {
            return Err(Error::usage(format!(
                "{origin} holds a {kind}, not a definition of the group camel.apache.org"
            ))
            .hint("give the CRD files of the operator's own release"));
        }
    }
    if documents.is_empty() { Err(Error::usage(format!("{origin} holds no definition"))) } else { Ok(documents) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claim_definition_is_read() {
        let crd = claim();
        assert_eq!(crd["metadata"]["name"], "operatorclaims.kctl.dev");
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        assert_eq!(
            spec["properties"]["standbys"]["items"]["properties"]["uid"]["type"], "string",
            "anchors are expanded"
        );
    }

    #[test]
    fn kinds_have_their_names() {
        let names: Vec<String> =
            camel().iter().map(|crd| crd["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect();
        assert!(names.contains(&"integrations.camel.apache.org".to_owned()));
        assert_eq!(names.len(), 8);
        assert!(camel().iter().all(|crd| crd["spec"]["versions"][0]["subresources"]["status"].is_object()));
    }

    #[test]
    fn only_definitions_are_taken_from_a_file() {
        let error = from_documents(vec![json!({"kind": "Secret"})], "x.yaml").expect_err("a Secret is no definition");
        assert!(error.message().contains("Secret"));
        assert!(from_documents(camel(), "x.yaml").is_ok());
    }
}
