//! The traits of Camel K: their ids, the names of their properties and the types the API wants.
//!
//! Read from v1.12.1 and v2.10.1. What differs between the two has the newer form.

/// Type of a property in `spec.traits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A string.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Int,
    /// A whole number, or a text such as `25%`.
    IntOrText,
    /// A list of strings.
    List,
    /// A map of strings.
    Map,
    /// An object with fields of its own.
    Object,
    /// A list of objects.
    Objects,
}

/// One property of a trait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Name on the command line: `request-cpu`.
    pub name: &'static str,
    /// Name in the object: `requestCPU`.
    pub field: String,
    /// Its type.
    pub kind: Type,
}

/// Traits that v1 kept under `spec.traits.addons`.
pub const ADDONS: &[&str] = &[
    "3scale",
    "aws-secrets-manager",
    "azure-key-vault",
    "gcp-secret-manager",
    "hashicorp-vault",
    "keda",
    "master",
    "strimzi",
    "telemetry",
    "tracing",
];

/// The key of `spec.traits` under which traits of other origin live.
pub const ADDONS_KEY: &str = "addons";

/// Properties of every trait.
const COMMON: &str = "enabled:bool configuration:map";

/// Trait id and its properties as `name[=field][:type]`; without a field it is the name in camel case, without a type
/// a string.
const TABLE: &[(&str, &str)] = &[
    ("3scale", "auto:bool scheme path port:int description-path"),
    (
        "affinity",
        "pod-affinity:bool pod-anti-affinity:bool node-affinity-labels:list pod-affinity-labels:list \
         pod-anti-affinity-labels:list",
    ),
    ("aws-secrets-manager", ""),
    ("azure-key-vault", ""),
    (
        "builder",
        "verbose:bool properties:list strategy base-image incremental-image-build:bool order-strategy \
         request-cpu=requestCPU request-memory limit-cpu=limitCPU limit-memory maven-profiles:list tasks:list \
         tasks-filter tasks-request-cpu=tasksRequestCPU:list tasks-request-memory:list \
         tasks-limit-cpu=tasksLimitCPU:list tasks-limit-memory:list node-selector:map annotations:map \
         platforms:list",
    ),
    ("camel", "runtime-version properties:list runtime-provider"),
    (
        "container",
        "auto:bool request-cpu=requestCPU request-memory limit-cpu=limitCPU limit-memory expose:bool port:int \
         port-name service-port:int service-port-name name image image-pull-policy ports:list run-as-user:int \
         run-as-non-root:bool seccomp-profile-type allow-privilege-escalation:bool capabilities-drop:list \
         capabilities-add:list",
    ),
    (
        "cron",
        "schedule components fallback:bool concurrency-policy auto:bool starting-deadline-seconds:int \
         active-deadline-seconds:int backoff-limit:int timeZone",
    ),
    ("dependencies", ""),
    ("deployer", "kind use-ssa=useSSA:bool"),
    (
        "deployment",
        "progress-deadline-seconds:int strategy rolling-update-max-unavailable:int-or-text \
         rolling-update-max-surge:int-or-text",
    ),
    ("environment", "container-meta:bool http-proxy:bool vars:list"),
    ("error-handler", "ref"),
    ("gateway", "class-name listeners:list"),
    ("gc", "discovery-cache"),
    ("gcp-secret-manager", ""),
    (
        "gitops",
        "url secret branch tag commit branch-push overlays:list overwrite-overlay:bool integration-directory \
         committed-name=committerName committed-email=committerEmail",
    ),
    ("hashicorp-vault", ""),
    (
        "health",
        "liveness-probe-enabled:bool liveness-scheme liveness-initial-delay:int liveness-timeout:int \
         liveness-period:int liveness-success-threshold:int liveness-failure-threshold:int \
         readiness-probe-enabled:bool readiness-scheme readiness-initial-delay:int readiness-timeout:int \
         readiness-period:int readiness-success-threshold:int readiness-failure-threshold:int liveness-probe \
         liveness-port:int readiness-probe readiness-port:int startup-probe-enabled:bool startup-scheme \
         startup-initial-delay:int startup-timeout:int startup-period:int startup-success-threshold:int \
         startup-failure-threshold:int startup-probe startup-port:int",
    ),
    (
        "ingress",
        "annotations:map host path path-type auto:bool ingress-class-name paths:list tls-hosts:list \
         tls-secret-name",
    ),
    ("init-containers", "init-tasks:list sidecar-tasks=sideCarTasks:list"),
    ("istio", "allow inject:bool"),
    (
        "jolokia",
        "ca-cert=CACert client-principal:list discovery-enabled:bool extended-client-check:bool host password \
         port:int protocol user use-ssl-client-authentication=useSSLClientAuthentication:bool options:list",
    ),
    (
        "jvm",
        "debug:bool debug-suspend:bool print-command:bool debug-address options:list classpath jar \
         agents:list ca-certificates:objects base-truststore:object truststore-password-path ca-cert-mount-path \
         ca-cert ca-cert-password",
    ),
    ("kamelets", "auto:bool list mount-point"),
    (
        "keda",
        "polling-interval:int cooldown-period:int idle-replica-count:int min-replica-count:int \
         max-replica-count:int triggers:objects auto:bool auto-metadata:map hack-controller-replicas:bool \
         authentication-secret",
    ),
    (
        "knative",
        "configuration=config channel-sources:list channel-sinks:list endpoint-sources:list \
         endpoint-sinks:list event-sources:list event-sinks:list filter-source-channels:bool \
         sink-binding:bool auto:bool namespace-label:bool filters:list filter-event-type:bool",
    ),
    (
        "knative-service",
        "autoscaling-class=class autoscaling-metric autoscaling-target:int min-scale:int max-scale:int \
         rollout-duration visibility auto:bool annotations:map timeout-seconds:int",
    ),
    ("logging", "color:bool format level json:bool json-pretty-print:bool"),
    ("master", "auto:bool include-delegate-dependencies:bool resource-name resource-type label-key label-value"),
    (
        "mount",
        "configs:list resources:list volumes:list empty-dirs:list hot-reload:bool \
         scan-kamelets-implicit-label-secrets:bool",
    ),
    ("openapi", "configmaps:list"),
    ("owner", "target-annotations:list target-labels:list"),
    ("pdb", "min-available max-unavailable"),
    ("platform", "create-default:bool global:bool auto:bool"),
    ("pod", ""),
    ("prometheus", "pod-monitor:bool pod-monitor-labels:list"),
    ("pull-secret", "secret-name image-puller-delegation:bool auto:bool"),
    ("quarkus", "package-type=packageTypes:list build-mode:list native-base-image native-builder-image"),
    ("registry", ""),
    (
        "route",
        "host tls-termination tls-certificate tls-certificate-secret tls-key tls-key-secret \
         tls-ca-certificate=tlsCACertificate tls-ca-certificate-secret=tlsCACertificateSecret \
         tls-destination-ca-certificate=tlsDestinationCACertificate \
         tls-destination-ca-certificate-secret=tlsDestinationCACertificateSecret \
         tls-insecure-edge-termination-policy annotations:map",
    ),
    ("security-context", "run-as-user:int run-as-non-root:bool seccomp-profile-type"),
    ("service", "auto:bool node-port:bool type annotations:map labels:map ports:list"),
    ("service-binding", "services:list"),
    ("strimzi", "auto:bool"),
    (
        "telemetry",
        "auto:bool service-name endpoint sampler sampler-ratio=sampler-ratio \
         sampler-parent-based=sampler-parent-based:bool",
    ),
    ("toleration", "taints:list"),
    ("tracing", "auto:bool service-name endpoint sampler-type sampler-param"),
];

/// The ids of all traits.
pub fn ids() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(id, _)| *id)
}

/// The properties of a trait, or `None` when there is no such trait.
pub fn properties(id: &str) -> Option<Vec<Property>> {
    let (_, own) = TABLE.iter().find(|(known, _)| *known == id)?;
    let mut found: Vec<Property> = own.split_whitespace().map(property).collect();
    for common in COMMON.split_whitespace().map(property) {
        if found.iter().all(|property| property.name != common.name) {
            found.push(common);
        }
    }
    Some(found)
}

/// `some-name` as `someName`.
pub fn camel_case(name: &str) -> String {
    let mut words = name.split('-');
    let mut out = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
    out
}

fn property(entry: &'static str) -> Property {
    let (names, kind) = entry.split_once(':').unwrap_or((entry, "text"));
    let (name, field) = match names.split_once('=') {
        Some((name, field)) => (name, field.to_owned()),
        None => (names, camel_case(names)),
    };
    let kind = match kind {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "int-or-text" => Type::IntOrText,
        "list" => Type::List,
        "map" => Type::Map,
        "object" => Type::Object,
        "objects" => Type::Objects,
        _ => Type::Text,
    };
    Property { name, field, kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(id: &str, name: &str) -> Property {
        let all = properties(id).unwrap_or_default();
        all.into_iter().find(|property| property.name == name).unwrap_or_else(|| panic!("{id}.{name}"))
    }

    #[test]
    fn names_and_types() {
        for (id, name, field, kind) in [
            ("container", "request-cpu", "requestCPU", Type::Text),
            ("container", "port", "port", Type::Int),
            ("container", "enabled", "enabled", Type::Bool),
            ("jvm", "options", "options", Type::List),
            ("jolokia", "ca-cert", "CACert", Type::Text),
            ("keda", "triggers", "triggers", Type::Objects),
            ("ingress", "annotations", "annotations", Type::Map),
            ("deployment", "rolling-update-max-surge", "rollingUpdateMaxSurge", Type::IntOrText),
            ("knative", "configuration", "config", Type::Text),
            ("telemetry", "sampler-ratio", "sampler-ratio", Type::Text),
            ("pod", "enabled", "enabled", Type::Bool),
        ] {
            assert_eq!(found(id, name), Property { name, field: field.to_owned(), kind });
        }
        assert_eq!(properties("contaner"), None);
    }

    #[test]
    fn the_table_is_in_order_and_each_type_is_known() {
        assert!(ids().is_sorted());
        let kinds = ["bool", "int", "int-or-text", "list", "map", "object", "objects"];
        for (id, own) in TABLE {
            for entry in own.split_whitespace() {
                assert!(entry.split_once(':').is_none_or(|(_, kind)| kinds.contains(&kind)), "{id}: {entry}");
            }
        }
        assert!(ADDONS.iter().all(|addon| properties(addon).is_some()));
    }
}
