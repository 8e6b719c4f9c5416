//! The arguments of `bind`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{
    global::duration,
    install_args::{DryRun, ManifestFormat},
};

/// Connect a source with a sink, under the operator of your choice
///
/// An endpoint is a Kamelet (`timer-source?message=hi`), a resource (`channel:orders`, `broker:default`,
/// `ksvc:web`, `apps/v1:Deployment:web`) or a Camel URI (`log:info?showAll=true`). The result is a Pipe, or a
/// `KameletBinding` where the cluster has no Pipes. Running the command again changes only what it names; what others wrote
/// into the resource stays. Without -x the id comes from `KCTL_OPERATOR_ID`, the config file, the namespace's label
/// kctl.dev/operator-id, or is camel-k. A binding that another operator owns is left alone without --take-over.
#[derive(Args, Clone, Debug)]
pub struct BindArgs {
    /// Id of the operator that is to run it
    #[arg(short = 'x', long, value_name = "ID")]
    pub operator_id: Option<String>,

    /// Where messages come from
    #[arg(value_name = "SOURCE")]
    pub source: String,

    /// Where messages go
    #[arg(value_name = "SINK")]
    pub sink: String,

    /// Name of the binding (default: SOURCE-to-SINK, by the names of the two)
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Step between source and sink; the first is step-1 (repeatable)
    #[arg(long, value_name = "ENDPOINT", help_heading = "Binding")]
    pub step: Vec<String>,

    /// Property of an endpoint: source.KEY=VALUE, sink.KEY=VALUE, step-N.KEY=VALUE or error-handler.KEY=VALUE (repeatable)
    #[arg(short, long, value_name = "PROPERTY", help_heading = "Binding")]
    pub property: Vec<String>,

    /// What happens to messages that cannot be handled: none, log or sink:ENDPOINT
    #[arg(long, value_name = "HANDLER", help_heading = "Binding")]
    pub error_handler: Option<String>,

    /// Trait option, such as container.port=8080 (repeatable)
    #[arg(short = 't', long = "trait", value_name = "TRAIT.PROPERTY=VALUE", help_heading = "Binding")]
    pub traits: Vec<String>,

    /// Dependency, such as camel:http or mvn:GROUP:ARTIFACT:VERSION (repeatable)
    #[arg(short, long, value_name = "DEPENDENCY", help_heading = "Binding")]
    pub dependency: Vec<String>,

    /// Service account of the binding's pods
    #[arg(long, value_name = "NAME", help_heading = "Binding")]
    pub service_account: Option<String>,

    /// Label (repeatable)
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Binding")]
    pub label: Vec<String>,

    /// Annotation (repeatable)
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Binding")]
    pub annotation: Vec<String>,

    /// Which resource to write (default: what the cluster serves, and a pipe with -o)
    #[arg(long, value_name = "KIND", ignore_case = true)]
    pub api: Option<ApiChoice>,

    /// Do not look whether the Kamelets exist and have the properties
    #[arg(long)]
    pub skip_checks: bool,

    /// Move it here even though another operator owns it
    #[arg(long)]
    pub take_over: bool,

    /// Write it even though the operator is unknown or does not watch the namespace
    #[arg(long)]
    pub force: bool,

    /// Wait until it is ready
    #[arg(short, long, conflicts_with_all = ["dry_run", "output"])]
    pub wait: bool,

    /// How long to wait
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10m")]
    pub timeout: Duration,

    /// Say what would be done: `client` plans only, `server` has the API server check the write
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub dry_run: Option<DryRun>,

    /// Print what changes in each object, line by line
    #[arg(long, conflicts_with = "output")]
    pub diff: bool,

    /// Print the manifest instead of sending it; no cluster is contacted
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<ManifestFormat>,
}

/// `--api`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ApiChoice {
    /// Pipe, of Camel K 2
    Pipe,
    /// `KameletBinding`, of Camel K 1
    #[value(name = "kameletbinding", help = "KameletBinding, of Camel K 1")]
    KameletBinding,
}
