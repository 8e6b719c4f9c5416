//! Who an operator is, from its environment.

use crate::process::Start;

const DEFAULT: &str = "tigera-operator";

/// Who an operator is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The namespace it runs in, as far as it knows. Its identity.
    pub namespace: String,
    /// Its service account.
    pub service_account: String,
}

impl Settings {
    /// `OPERATOR_NAMESPACE`, also when it is set to nothing; else the namespace of the pod; else the usual one.
    pub fn new(start: &Start) -> Self {
        let told = start.env.get("OPERATOR_NAMESPACE").or(start.pod_namespace.as_deref());
        Self {
            namespace: told.unwrap_or(DEFAULT).to_owned(),
            service_account: start.env.filled("OPERATOR_SERVICEACCOUNT").unwrap_or(DEFAULT).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    fn namespace(env: &[(&str, &str)], pod: Option<&str>) -> String {
        let env: Environment = env.iter().copied().collect();
        let start = Start { env, host: String::new(), pod_namespace: pod.map(str::to_owned) };
        Settings::new(&start).namespace
    }

    #[test]
    fn the_variable_then_the_pod_then_the_usual_one() {
        assert_eq!(namespace(&[("OPERATOR_NAMESPACE", "alt")], Some("pod")), "alt");
        assert_eq!(namespace(&[("OPERATOR_NAMESPACE", "")], Some("pod")), "", "set and empty counts");
        assert_eq!(namespace(&[], Some("pod")), "pod");
        assert_eq!(namespace(&[], None), "tigera-operator");
    }
}
