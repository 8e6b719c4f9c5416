//! Id, namespaces and lease of an operator, from its environment.

use anyhow::{Result, bail};

use super::rule::{DEFAULT_ID, Era, Identity};
use crate::environment::Environment;

/// Who an operator is and what it watches.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the rule needs to know. Its namespace is empty when nobody tells it.
    pub identity: Identity,
    /// The namespaces it watches; none is all of them.
    pub watch: Vec<String>,
}

impl Settings {
    /// Reads the environment as a release of `era` does.
    ///
    /// # Errors
    /// `WATCH_NAMESPACE` is absent. Set and empty is fine: it means the whole cluster.
    pub fn new(era: Era, env: &Environment) -> Result<Self> {
        let Some(watch) = env.get("WATCH_NAMESPACE") else { bail!("WATCH_NAMESPACE must be set") };
        let watch = watched(era, watch);
        // NAMESPACE, else what it watches: a global operator without NAMESPACE does not know where it is.
        let namespace = env.filled("NAMESPACE").or(watch.first().map(String::as_str)).unwrap_or_default().to_owned();
        let identity = Identity { era, id: operator_id(era, env), namespace, global: watch.is_empty() };
        Ok(Self { identity, watch })
    }

    /// The operator id, or what stands for it in names when there is none.
    pub fn name(&self) -> &str {
        if self.identity.id.is_empty() { DEFAULT_ID } else { &self.identity.id }
    }

    /// Name of the Lease of the leader election.
    pub fn lease(&self) -> String {
        format!("{}-lock", self.name())
    }
}

/// The first variable that is not empty. The static manifests set `OPERATOR_ID`, installers add `KAMEL_OPERATOR_ID`.
fn operator_id(era: Era, env: &Environment) -> String {
    let second = env.filled("OPERATOR_ID").filter(|_| era > Era::E0);
    env.filled("KAMEL_OPERATOR_ID").or(second).unwrap_or_default().to_owned()
}

/// Only v2.11 splits a list; before, a value with commas is the name of a namespace that cannot exist.
fn watched(era: Era, value: &str) -> Vec<String> {
    let parts: Vec<&str> = if era >= Era::E5 { value.split(',').collect() } else { vec![value] };
    parts.into_iter().map(str::trim).filter(|namespace| !namespace.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(era: Era, variables: &[(&str, &str)]) -> Settings {
        let env = variables.iter().copied().collect();
        Settings::new(era, &env).expect("WATCH_NAMESPACE is set")
    }

    #[test]
    fn the_first_id_that_is_not_empty_wins() {
        let watch = ("WATCH_NAMESPACE", "");
        let both = [watch, ("OPERATOR_ID", "camel-k"), ("KAMEL_OPERATOR_ID", "tenant-a")];
        assert_eq!(settings(Era::E4, &both).identity.id, "tenant-a");
        let empty = [watch, ("OPERATOR_ID", "tenant-b"), ("KAMEL_OPERATOR_ID", "")];
        assert_eq!(settings(Era::E4, &empty).identity.id, "tenant-b");
        assert_eq!(settings(Era::E0, &empty).identity.id, "", "the oldest releases read one variable only");
        assert_eq!(settings(Era::E4, &[watch]).lease(), "camel-k-lock");
        assert_eq!(settings(Era::E4, &both).lease(), "tenant-a-lock");
    }

    #[test]
    fn empty_is_the_cluster_and_absent_is_an_error() {
        for blank in ["", "  "] {
            assert!(settings(Era::E4, &[("WATCH_NAMESPACE", blank)]).identity.global);
        }
        assert!(Settings::new(Era::E4, &Environment::default()).is_err());
    }

    #[test]
    fn lists_are_split_by_the_newest_only() {
        let list = [("WATCH_NAMESPACE", "a, b")];
        assert_eq!(settings(Era::E5, &list).watch, ["a", "b"]);
        assert_eq!(settings(Era::E4, &list).watch, ["a, b"]);
        assert!(!settings(Era::E5, &list).identity.global);
    }

    #[test]
    fn the_own_namespace_falls_back_to_the_watched_one() {
        assert_eq!(settings(Era::E4, &[("WATCH_NAMESPACE", "team")]).identity.namespace, "team");
        assert_eq!(settings(Era::E4, &[("WATCH_NAMESPACE", "team"), ("NAMESPACE", "ops")]).identity.namespace, "ops");
        assert_eq!(settings(Era::E4, &[("WATCH_NAMESPACE", "")]).identity.namespace, "");
    }
}
