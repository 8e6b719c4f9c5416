//! The kinds a snapshot serves without being told, and kinds of other products it knows by name.

use super::resource::{Resource, ScalePaths, Version};

const CLUSTER: u8 = 0;
const NAMESPACED: u8 = 1;
const STATUS: u8 = 2;
const SCALE: u8 = 4;
/// The server counts generations of it. Every custom resource has one.
const GENERATION: u8 = 8;
/// Namespaced, with generation and status.
const WORKLOAD: u8 = NAMESPACED | STATUS | GENERATION;

/// Group, version, kind, plural, short names, flags.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str, u8);

/// Built into every API server (as of v1.36).
const BUILT_IN: &[Row] = &[
    ("", "v1", "ConfigMap", "configmaps", "cm", NAMESPACED),
    ("", "v1", "Endpoints", "endpoints", "ep", NAMESPACED),
    ("", "v1", "Event", "events", "ev", NAMESPACED),
    ("", "v1", "LimitRange", "limitranges", "limits", NAMESPACED),
    ("", "v1", "Namespace", "namespaces", "ns", CLUSTER | STATUS),
    ("", "v1", "Node", "nodes", "no", CLUSTER | STATUS),
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", NAMESPACED | STATUS),
    ("", "v1", "PersistentVolume", "persistentvolumes", "pv", CLUSTER | STATUS),
    ("", "v1", "Pod", "pods", "po", WORKLOAD),
    ("", "v1", "PodTemplate", "podtemplates", "", NAMESPACED),
    ("", "v1", "ReplicationController", "replicationcontrollers", "rc", WORKLOAD | SCALE),
    ("", "v1", "ResourceQuota", "resourcequotas", "quota", NAMESPACED | STATUS),
    ("", "v1", "Secret", "secrets", "", NAMESPACED),
    ("", "v1", "ServiceAccount", "serviceaccounts", "sa", NAMESPACED),
    ("", "v1", "Service", "services", "svc", NAMESPACED | STATUS),
    ("apps", "v1", "ControllerRevision", "controllerrevisions", "", NAMESPACED),
    ("apps", "v1", "DaemonSet", "daemonsets", "ds", WORKLOAD),
    ("apps", "v1", "Deployment", "deployments", "deploy", WORKLOAD | SCALE),
    ("apps", "v1", "ReplicaSet", "replicasets", "rs", WORKLOAD | SCALE),
    ("apps", "v1", "StatefulSet", "statefulsets", "sts", WORKLOAD | SCALE),
    ("batch", "v1", "CronJob", "cronjobs", "cj", WORKLOAD),
    ("batch", "v1", "Job", "jobs", "", WORKLOAD),
    ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", NAMESPACED | STATUS),
    ("coordination.k8s.io", "v1", "Lease", "leases", "", NAMESPACED),
    ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "", NAMESPACED | GENERATION),
    ("events.k8s.io", "v1", "Event", "events", "ev", NAMESPACED),
    ("networking.k8s.io", "v1", "Ingress", "ingresses", "ing", WORKLOAD),
    ("networking.k8s.io", "v1", "IngressClass", "ingressclasses", "", CLUSTER | GENERATION),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol", NAMESPACED | GENERATION),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", WORKLOAD),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "", CLUSTER),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", "", CLUSTER),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", "", NAMESPACED),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "", NAMESPACED),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", CLUSTER | GENERATION),
    ("storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc", CLUSTER),
    ("storage.k8s.io", "v1", "CSIDriver", "csidrivers", "", CLUSTER),
    ("storage.k8s.io", "v1", "CSINode", "csinodes", "", CLUSTER),
    ("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", "", CLUSTER | STATUS),
    ("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", "", CLUSTER),
    ("apiextensions.k8s.io", "v1", CRD_KIND, "customresourcedefinitions", "crd,crds", CLUSTER | STATUS | GENERATION),
    ("apiregistration.k8s.io", "v1", "APIService", "apiservices", "", CLUSTER | STATUS),
    (ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "", CLUSTER | GENERATION),
    (ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "", CLUSTER | GENERATION),
    (ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "", CLUSTER | STATUS | GENERATION),
    (
        ADMISSION,
        "v1",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        "",
        CLUSTER | GENERATION,
    ),
];

const ADMISSION: &str = "admissionregistration.k8s.io";
const CRD_KIND: &str = "CustomResourceDefinition";
const CAMEL: &str = "camel.apache.org";

/// Camel K from v2.3, served whether or not its CRDs were loaded.
const CAMEL_K: &[Row] = &[
    (CAMEL, "v1", "Build", "builds", "ikb", NAMESPACED | STATUS),
    (CAMEL, "v1", "CamelCatalog", "camelcatalogs", "cc", NAMESPACED | STATUS),
    (CAMEL, "v1", "Integration", "integrations", "it", NAMESPACED | STATUS | SCALE),
    (CAMEL, "v1", "IntegrationKit", "integrationkits", "ik", NAMESPACED | STATUS),
    (CAMEL, "v1", "IntegrationPlatform", "integrationplatforms", "itp", NAMESPACED | STATUS),
    (CAMEL, "v1", "IntegrationProfile", "integrationprofiles", "ipr", NAMESPACED | STATUS),
    (CAMEL, "v1", "Kamelet", "kamelets", "kl", NAMESPACED | STATUS),
    (CAMEL, "v1", "Pipe", "pipes", "pp", NAMESPACED | STATUS | SCALE),
];

/// Custom kinds whose scope or plural cannot be guessed from an object; served once one is seen.
const KNOWN: &[Row] = &[
    (CAMEL, "v1alpha1", "KameletBinding", "kameletbindings", "klb", NAMESPACED | STATUS | SCALE),
    ("kctl.dev", "v1alpha1", "OperatorClaim", "operatorclaims", "opclaim", CLUSTER),
    ("operator.tigera.io", "v1", "Installation", "installations", "", CLUSTER | STATUS),
    ("operator.tigera.io", "v1", "TigeraStatus", "tigerastatuses", "ts", CLUSTER | STATUS),
    ("operator.tigera.io", "v1", "APIServer", "apiservers", "", CLUSTER | STATUS),
    ("operators.coreos.com", "v1alpha1", "CatalogSource", "catalogsources", "catsrc", NAMESPACED | STATUS),
    ("operators.coreos.com", "v1alpha1", "ClusterServiceVersion", "clusterserviceversions", "csv", NAMESPACED | STATUS),
    ("operators.coreos.com", "v1alpha1", "InstallPlan", "installplans", "ip", NAMESPACED | STATUS),
    ("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions", "sub,subs", NAMESPACED | STATUS),
    ("operators.coreos.com", "v1", "OperatorGroup", "operatorgroups", "og", NAMESPACED | STATUS),
    ("operators.coreos.com", "v1", "Operator", "operators", "", CLUSTER | STATUS),
];

/// The kinds every snapshot serves.
pub(super) fn served() -> impl Iterator<Item = Resource> {
    BUILT_IN.iter().map(|row| resource(row, false)).chain(CAMEL_K.iter().map(|row| resource(row, true)))
}

/// A kind of another product that is known by name; any version of it.
pub(super) fn known(group: &str, version: &str, kind: &str) -> Option<Resource> {
    let row = KNOWN.iter().find(|row| row.0 == group && row.2 == kind)?;
    let mut known = resource(row, true);
    version.clone_into(&mut known.versions[0].name);
    Some(known)
}

/// A custom resource of which nothing is known but what is given.
pub(super) fn custom(group: &str, version: &str, kind: &str, plural: &str, namespaced: bool) -> Resource {
    Resource {
        group: group.to_owned(),
        plural: plural.to_owned(),
        singular: kind.to_ascii_lowercase(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced,
        custom: true,
        generation: true,
        versions: vec![Version { name: version.to_owned(), status: true, ..Version::default() }],
    }
}

fn resource(&(group, version, kind, plural, short_names, flags): &Row, is_custom: bool) -> Resource {
    let mut resource = custom(group, version, kind, plural, flags & NAMESPACED != 0);
    resource.custom = is_custom;
    resource.generation = is_custom || flags & GENERATION != 0;
    resource.short_names = short_names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    resource.categories = match group {
        CAMEL => vec!["kamel".into(), "camel".into()],
        "apps" | "batch" if flags & STATUS != 0 => vec!["all".into()],
        "apiextensions.k8s.io" | "apiregistration.k8s.io" | ADMISSION => vec!["api-extensions".into()],
        "" if matches!(kind, "Pod" | "Service" | "ReplicationController") => vec!["all".into()],
        _ => Vec::new(),
    };
    let version = &mut resource.versions[0];
    version.status = flags & STATUS != 0;
    version.scale = (flags & SCALE != 0).then(ScalePaths::default);
    resource
}
