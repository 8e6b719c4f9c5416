//! The arguments of `install`.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum, ValueHint};
use serde_json::{Value, json};

use super::global::duration;

/// Install an operator with an id that is unique on the cluster
///
/// The id is claimed before anything of the operator is made, so that of two concurrent installs only one can win.
/// Running the command again finishes an interrupted install, changes only what it names, or prints `unchanged`.
#[derive(Args, Clone, Debug)]
pub struct InstallArgs {
    /// Id the operator answers to: a DNS label of at most 54 characters
    #[arg(short = 'x', long, value_name = "ID")]
    pub operator_id: Option<String>,

    /// Family of the operator; tigera needs --like
    #[arg(long, value_name = "FAMILY", value_parser = ["camel-k", "tigera"], help_heading = "Family")]
    pub family: Option<String>,

    /// Clone the Tigera operator of this namespace; the clone waits until kctl switch-active makes it the active one
    #[arg(long, value_name = "NAMESPACE", help_heading = "Family", conflicts_with_all = ["operator_id", "standby", "output"])]
    pub like: Option<String>,

    /// Watch all namespaces (default: only the operator's own)
    #[arg(long, conflicts_with = "watch_namespace", help_heading = "Scope")]
    pub global: bool,

    /// Watch this namespace; several only with operators that can (2.11 and newer)
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',', help_heading = "Scope")]
    pub watch_namespace: Vec<String>,

    /// Version of the operator, 2.8.0 or newer
    #[arg(long, value_name = "VERSION", help_heading = "Operator")]
    pub operator_version: Option<String>,

    /// Image of the operator; give --operator-version too when its tag is no version
    #[arg(long, value_name = "IMAGE", help_heading = "Operator")]
    pub operator_image: Option<String>,

    /// When to pull the image
    #[arg(long, value_name = "POLICY", help_heading = "Operator")]
    pub image_pull_policy: Option<PullPolicy>,

    /// Secret to pull the image with (repeatable)
    #[arg(long, value_name = "SECRET", help_heading = "Operator")]
    pub image_pull_secret: Vec<String>,

    /// Environment variable of the operator (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = key_value, help_heading = "Operator")]
    pub env: Vec<(String, String)>,

    /// Resource of the operator, such as limits.memory=2Gi (repeatable)
    #[arg(long, value_name = "KEY=QUANTITY", value_parser = resource, value_delimiter = ',', help_heading = "Operator")]
    pub resources: Vec<(String, String)>,

    /// Node label the operator needs (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, help_heading = "Operator")]
    pub node_selector: Vec<(String, String)>,

    /// Taint the operator tolerates: key[=value]:effect[:seconds] (repeatable)
    #[arg(long, value_name = "TOLERATION", value_parser = toleration, help_heading = "Operator")]
    pub toleration: Vec<Value>,

    /// Log level: info, debug, error, or a number
    #[arg(long, value_name = "LEVEL", value_parser = log_level, help_heading = "Operator")]
    pub log_level: Option<String>,

    /// Registry that built images go to; without one integrations that need a build wait for ever
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Registry")]
    pub registry: Option<String>,

    /// Secret with the registry's credentials, in the operator's namespace
    #[arg(long, value_name = "SECRET", help_heading = "Registry")]
    pub registry_secret: Option<String>,

    /// Speak plain HTTP with the registry
    #[arg(long, help_heading = "Registry")]
    pub registry_insecure: bool,

    /// Organization that built images go to
    #[arg(long, value_name = "NAME", help_heading = "Registry")]
    pub registry_organization: Option<String>,

    /// File with the operator's own resource definitions, for a cluster that has none
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, conflicts_with = "skip_crds", help_heading = "Cluster")]
    pub crds: Option<PathBuf>,

    /// Make no resource definitions of Camel K
    #[arg(long, help_heading = "Cluster")]
    pub skip_crds: bool,

    /// Make the namespace when it does not exist
    #[arg(long, help_heading = "Cluster")]
    pub create_namespace: bool,

    /// Let everybody who may edit a namespace write Camel K resources there
    #[arg(long, help_heading = "Cluster")]
    pub tenant_role: bool,

    /// Take the id from a holder that is gone
    #[arg(long, help_heading = "Id")]
    pub take_over: bool,

    /// Add an instance that waits under an id that is claimed already, with the settings of the active one unless said
    /// otherwise; kctl switch-active makes it the active one
    #[arg(long, help_heading = "Id", conflicts_with_all = ["take_over", "output"])]
    pub standby: bool,

    /// Overrule a Deployment or platform that seems to use the id (repeatable)
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = namespaced_name, help_heading = "Id")]
    pub ignore_evidence: Vec<(String, String)>,

    /// Take back fields of kctl's own objects that somebody else has changed
    #[arg(long, help_heading = "Id")]
    pub force: bool,

    /// Wait until the operator is available
    #[arg(short, long)]
    pub wait: bool,

    /// How long to wait
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "5m")]
    pub timeout: Duration,

    /// Say what would be done: `client` plans only, `server` has the API server check every write
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub dry_run: Option<DryRun>,

    /// Print what changes in each object, line by line
    #[arg(long, conflicts_with = "output")]
    pub diff: bool,

    /// Print the manifests instead of installing; no cluster is contacted
    #[arg(short, long, value_name = "FORMAT", conflicts_with_all = ["wait", "dry_run"])]
    pub output: Option<ManifestFormat>,
}

/// `--image-pull-policy`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PullPolicy {
    /// At every start
    #[value(name = "Always")]
    Always,
    /// When the node has not got it
    #[value(name = "IfNotPresent")]
    IfNotPresent,
    /// Never
    #[value(name = "Never")]
    Never,
}

impl PullPolicy {
    /// The word of a manifest.
    pub fn word(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// `--dry-run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// Read the cluster, plan, stop
    Client,
    /// Send every write with dryRun=All
    Server,
}

/// `-o` of commands that render manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ManifestFormat {
    /// YAML documents
    Yaml,
    /// JSON; several objects as a List
    Json,
}

/// Parses `NAME=VALUE`.
///
/// # Errors
/// No `=`, or nothing in front of it.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

fn resource(text: &str) -> Result<(String, String), String> {
    let (key, quantity) = key_value(text)?;
    let known = matches!(key.split_once('.'), Some(("limits" | "requests", resource)) if !resource.is_empty());
    if !known {
        return Err("write limits.NAME=QUANTITY or requests.NAME=QUANTITY, such as limits.memory=2Gi".to_owned());
    }
    let digits = quantity.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    if digits.parse::<f64>().is_err() {
        return Err(format!("{quantity:?} is no quantity; write 500m, 2, 2Gi"));
    }
    Ok((key, quantity))
}

fn toleration(text: &str) -> Result<Value, String> {
    let wrong = || "write key[=value]:effect[:seconds], such as dedicated=camel:NoSchedule".to_owned();
    let mut parts = text.split(':');
    let (taint, effect) = (parts.next().unwrap_or_default(), parts.next().ok_or_else(wrong)?);
    if taint.is_empty() || !matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
        return Err(wrong());
    }
    let mut out = match taint.split_once('=') {
        Some((key, value)) => json!({"key": key, "operator": "Equal", "value": value, "effect": effect}),
        None => json!({"key": taint, "operator": "Exists", "effect": effect}),
    };
    if let Some(seconds) = parts.next() {
        let seconds: u32 = seconds.parse().map_err(|_| wrong())?;
        if effect != "NoExecute" {
            return Err("seconds go with the effect NoExecute only".to_owned());
        }
        out["tolerationSeconds"] = json!(seconds);
    }
    if parts.next().is_some() { Err(wrong()) } else { Ok(out) }
}

fn log_level(text: &str) -> Result<String, String> {
    if matches!(text, "info" | "debug" | "error") || text.parse::<u8>().is_ok() {
        Ok(text.to_owned())
    } else {
        Err("use info, debug, error, or a number".to_owned())
    }
}

fn namespaced_name(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err("write NAMESPACE/NAME".to_owned()),
    }
}

/// Pairs as a map; a key that is given twice takes the last value.
pub fn map(pairs: &[(String, String)]) -> BTreeMap<String, String> {
    pairs.iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerations() {
        assert_eq!(
            toleration("gpu:NoSchedule"),
            Ok(json!({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}))
        );
        assert_eq!(
            toleration("a=b:NoExecute:30"),
            Ok(json!({"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 30}))
        );
        for wrong in ["", "a", "a:Nope", ":NoSchedule", "a:NoSchedule:30", "a:NoExecute:x", "a:NoExecute:1:2"] {
            assert!(toleration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn resources() {
        assert!(resource("limits.memory=2Gi").is_ok());
        assert!(resource("requests.cpu=500m").is_ok());
        for wrong in ["memory=2Gi", "limits.=1", "limits.cpu", "limits.cpu=many", "max.cpu=1"] {
            assert!(resource(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn pairs() {
        assert_eq!(key_value("A=b=c"), Ok(("A".into(), "b=c".into())));
        assert_eq!(key_value("A="), Ok(("A".into(), String::new())));
        assert!(key_value("=b").is_err());
        assert!(namespaced_name("a/b").is_ok());
        assert!(namespaced_name("a/b/c").is_err());
    }
}
