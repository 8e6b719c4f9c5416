//! Families that kctl does not have yet, as their files in `contracts` would be: data alone must do.

use serde_json::json;

use super::{Scope, State, build::of_family};
use crate::contracts::{
    Family, Find, IdSource, IdVariable, LeaseName, Legacy, Lock, Reach, Reconciled, Rules, Watch, kinds::Kind,
};
use crate::tenancy::evidence::{DeploymentFacts, Evidence};

const ALERTS: Kind = Kind {
    group: "monitoring.coreos.com",
    version: "v1",
    kind: "Prometheus",
    plural: "prometheuses",
    namespaced: true,
};

/// The Prometheus operator: id and namespaces are flags, the annotation must match exactly.
const PROMETHEUS: Family = Family {
    name: "prometheus",
    groups: &["monitoring.coreos.com"],
    default_id: None,
    deployments: &[Find::Label { key: "app.kubernetes.io/name", value: "prometheus-operator", sure: true }],
    containers: &["prometheus-operator"],
    command: &[],
    id: IdSource::Flag("--controller-id"),
    watch: Watch::Flag("--namespaces"),
    lease: LeaseName::Fixed("prometheus-operator"),
    version_label: "app.kubernetes.io/version",
    id_annotation: Some("operator.prometheus.io/controller-id"),
    registry: None,
    resources: &[Reconciled { kind: ALERTS, since: (0, 0), until: None, counted: true }],
    rules: &[Rules { era: "P", since: (0, 0), legacy: Legacy::SameOnly, lock: Lock::None, lock_binds_ids: false }],
    rules_until: (1, 0),
    pointer: None,
    olm_packages: &["prometheus"],
};

/// Zalando's Postgres operator: id and namespace are variables, `*` is all, nothing is its own namespace.
const POSTGRES: Family = Family {
    name: "postgres",
    groups: &["acid.zalan.do"],
    deployments: &[Find::Name("postgres-operator")],
    containers: &["postgres-operator"],
    id: IdSource::Env(&[IdVariable { name: "CONTROLLER_ID", since: None }]),
    watch: Watch::Env { name: "WATCHED_NAMESPACE", all: "*", absent: Reach::Own, list_since: (99, 0) },
    id_annotation: Some("acid.zalan.do/controller"),
    resources: &[],
    ..PROMETHEUS
};

#[test]
fn an_id_and_namespaces_from_flags() {
    let deployment = |namespace: &str, args: &[&str]| {
        json!({
            "metadata": {"namespace": namespace, "name": "prom", "labels": {"app.kubernetes.io/name": "prometheus-operator"}},
            "spec": {"template": {"spec": {"containers": [{
                "name": "prometheus-operator", "image": "quay.io/prometheus-operator/prometheus-operator:v0.80.0", "args": args,
            }]}}},
        })
    };
    let objects = [
        deployment("a", &["--controller-id=team-a", "--namespaces=x,y"]),
        deployment("b", &["--controller-id", "team-a"]),
        deployment("c", &["--namespaces=c"]),
    ];
    let deployments = objects.iter().filter_map(|object| DeploymentFacts::parse(&PROMETHEUS, object)).collect();
    let evidence = Evidence { deployments, ..Evidence::default() };
    let found = of_family(&PROMETHEUS, &evidence, jiff::Timestamp::UNIX_EPOCH);
    let rows: Vec<_> = found.iter().map(|row| (row.id.as_str(), row.scope.clone(), row.state)).collect();
    let listed = Scope::Namespaces(vec!["x".into(), "y".into()]);
    assert_eq!(
        rows,
        [
            ("team-a", listed, State::Duplicate),
            ("team-a", Scope::Cluster, State::Duplicate),
            ("", Scope::Own, State::Active),
        ]
    );
    assert_eq!(found[0].version.as_deref(), Some("0.80.0"));
}

#[test]
fn other_words_for_the_same_scopes() {
    for (env, scope) in [
        (json!([]), Scope::Own),
        (json!([{"name": "WATCHED_NAMESPACE", "value": "*"}]), Scope::Cluster),
        (json!([{"name": "WATCHED_NAMESPACE", "value": "x"}]), Scope::Namespaces(vec!["x".into()])),
    ] {
        let object = json!({
            "metadata": {"namespace": "ops", "name": "postgres-operator"},
            "spec": {"template": {"spec": {"containers": [{"name": "postgres-operator", "env": env}]}}},
        });
        let deployments = DeploymentFacts::parse(&POSTGRES, &object).into_iter().collect();
        let evidence = Evidence { deployments, ..Evidence::default() };
        assert_eq!(of_family(&POSTGRES, &evidence, jiff::Timestamp::UNIX_EPOCH)[0].scope, scope);
    }
}
