//! What the Camel K operator may do, by scope.
//!
//! The rules are those of the roles that v2.10.1 ships (`camel-k-operator` and its siblings for events, KEDA, Knative,
//! leases, pod monitors, Strimzi), cluster-wide or per namespace.

use serde_json::{Value, json};

/// One rule: API groups, resources, verbs.
type Rule = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);

const CAMEL: &[&str] = &["camel.apache.org"];
const CORE: &[&str] = &[""];
const WORK: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
const MAKE: &[&str] = &["create", "delete", "get", "list", "patch", "watch"];
const READ: &[&str] = &["get", "list", "watch"];

const OPERATOR: &[Rule] = &[
    (
        CAMEL,
        &[
            "builds",
            "camelcatalogs",
            "integrationkits",
            "integrationplatforms",
            "integrationprofiles",
            "integrations",
            "pipes",
            "kamelets",
        ],
        &["create", "get", "list", "patch", "update", "watch"],
    ),
    (CAMEL, &["builds", "integrations"], &["delete"]),
    (
        CAMEL,
        &[
            "builds/status",
            "camelcatalogs/status",
            "integrationkits/status",
            "integrationplatforms/status",
            "integrationprofiles/status",
            "integrations/scale",
            "integrations/status",
            "kamelets/status",
            "pipes/scale",
            "pipes/status",
        ],
        &["get", "patch", "update"],
    ),
    (CORE, &["configmaps", "services"], MAKE),
    (CORE, &["secrets"], READ),
    (CORE, &["pods"], &["create", "delete", "get", "list", "patch", "watch"]),
    (CORE, &["pods/exec"], &["create"]),
    (CORE, &["pods/proxy", "pods/log"], &["get"]),
    (CORE, &["persistentvolumeclaims"], &["create", "get", "list", "watch"]),
    (CORE, &["serviceaccounts"], &["create", "delete", "get", "list", "watch"]),
    (&["apps"], &["deployments"], MAKE),
    (&["batch"], &["cronjobs", "jobs"], MAKE),
    (&["policy"], &["poddisruptionbudgets"], &["create", "delete", "list", "patch"]),
    (&["networking.k8s.io"], &["ingresses"], &["create", "delete", "get", "list", "patch"]),
    (&["gateway.networking.k8s.io"], &["gateways", "httproutes"], &["create", "delete", "get", "list", "patch"]),
    (&["rbac.authorization.k8s.io"], &["roles", "rolebindings"], &["create", "get", "list", "patch", "watch"]),
    (CORE, &["events"], &["create", "get", "list", "patch", "watch"]),
    (&["events.k8s.io"], &["events"], &["create", "get", "list", "patch", "watch"]),
    (&["keda.sh"], &["scaledobjects", "triggerauthentications"], WORK),
    (&["monitoring.coreos.com"], &["podmonitors"], WORK),
    (&["kafka.strimzi.io"], &["kafkatopics", "kafkas"], READ),
    (&["serving.knative.dev"], &["services", "routes"], WORK),
    (&["eventing.knative.dev"], &["triggers", "brokers"], WORK_WITHOUT_WATCH),
    (&["messaging.knative.dev"], &["subscriptions", "channels", "inmemorychannels"], WORK_WITHOUT_WATCH),
    (&["sources.knative.dev"], &["sinkbindings"], WORK_WITHOUT_WATCH),
];

const WORK_WITHOUT_WATCH: &[&str] = &["create", "delete", "get", "list", "patch", "update"];

/// Only where the operator watches the whole cluster.
const CLUSTER_ONLY: &[Rule] = &[
    (&["storage.k8s.io"], &["storageclasses"], &["get", "list"]),
    (&["rbac.authorization.k8s.io"], &["clusterrolebindings"], &["create", "get", "list", "patch", "watch"]),
    (&["authorization.k8s.io"], &["subjectaccessreviews"], &["create"]),
];

/// Leader election, and the test whether another operator has locked a namespace.
const LEASES: Rule = (&["coordination.k8s.io"], &["leases"], WORK);

/// Only on OpenShift: its image streams, builds and routes, and owner references that block deletion.
const OPENSHIFT: &[Rule] = &[
    (
        CAMEL,
        &[
            "builds/finalizers",
            "integrationkits/finalizers",
            "integrationplatforms/finalizers",
            "integrations/finalizers",
            "pipes/finalizers",
        ],
        &["update"],
    ),
    (&["apps"], &["deployments/finalizers"], &["update"]),
    (&["build.openshift.io"], &["buildconfigs", "buildconfigs/webhooks", "builds"], WORK),
    (&["build.openshift.io"], &["buildconfigs/instantiate", "buildconfigs/instantiatebinary"], &["create"]),
    (&["image.openshift.io"], &["imagestreams", "imagestreamimages", "imagestreammappings", "imagestreamtags"], WORK),
    (&["image.openshift.io"], &["imagestreams/layers"], &["get", "update"]),
    (&["route.openshift.io"], &["routes"], WORK),
    (&["route.openshift.io"], &["routes/custom-host"], &["create"]),
];

fn rule((groups, resources, verbs): &Rule) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

/// Rules in each namespace that the operator watches, its own included.
pub fn in_namespace() -> Vec<Value> {
    OPERATOR.iter().chain([&LEASES]).map(rule).collect()
}

/// Rules of an operator that watches the whole cluster.
pub fn cluster_wide() -> Vec<Value> {
    OPERATOR.iter().chain(CLUSTER_ONLY).chain([&LEASES]).map(rule).collect()
}

/// Further rules on OpenShift, in both scopes.
pub fn openshift() -> Vec<Value> {
    OPENSHIFT.iter().map(rule).collect()
}

/// Reading claims: for every authenticated user.
pub fn claim_reader() -> Vec<Value> {
    vec![json!({"apiGroups": ["kctl.dev"], "resources": ["operatorclaims"], "verbs": READ})]
}

/// Reading Camel K resources and claims: aggregated into the cluster's `view` role.
pub fn viewer() -> Vec<Value> {
    let mut rules = claim_reader();
    rules.push(json!({"apiGroups": CAMEL, "resources": ["*"], "verbs": READ}));
    rules
}

/// Writing what tenants write: aggregated into the cluster's `edit` role on request.
pub fn tenant() -> Vec<Value> {
    let tenants = ["integrations", "integrationkits", "integrationprofiles", "kamelets", "pipes"];
    vec![
        json!({"apiGroups": CAMEL, "resources": tenants, "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]}),
        json!({"apiGroups": CAMEL, "resources": ["integrations/scale", "pipes/scale", "integrations/status", "pipes/status"], "verbs": ["get", "patch", "update"]}),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespaced_role_names_nothing_cluster_scoped() {
        let text = serde_json::to_string(&in_namespace()).expect("JSON");
        for word in ["clusterrolebindings", "storageclasses", "subjectaccessreviews"] {
            assert!(!text.contains(word), "{word}");
        }
    }

    #[test]
    fn secrets_are_only_read() {
        let rules = cluster_wide();
        let secrets: Vec<&Value> = rules.iter().filter(|rule| rule["resources"] == json!(["secrets"])).collect();
        assert_eq!(secrets.len(), 1);
        assert_eq!(secrets[0]["verbs"], json!(["get", "list", "watch"]));
    }
}
