//! The arguments of `run`.

use std::time::Duration;

use clap::{ArgAction, Args, ValueHint};

use super::{
    global::duration,
    install_args::{DryRun, ManifestFormat},
};

/// Run an integration from files, under the operator of your choice
///
/// YAML route files become the integration's flows, other languages its sources. A file is a path, a pattern, an
/// http(s) address or - for standard input; options in its modeline (`# camel-k: trait=…`) hold as well, and the
/// command line wins. Without -x the id comes from `KCTL_OPERATOR_ID`, the config file, the namespace's
/// label kctl.dev/operator-id, or is camel-k. An integration that another operator owns is left alone without --take-over.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    /// Id of the operator that is to run it
    #[arg(short = 'x', long, value_name = "ID")]
    pub operator_id: Option<String>,

    /// Sources: files, patterns, http(s) addresses, or - for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<String>,

    // `-v` is --volume here, as it was in `kamel run`; this takes the place of the global flag, under its id.
    /// Say more; repeat for requests and the libraries' own log (-v stands for --volume here)
    #[arg(id = "verbose", long = "verbose", action = ArgAction::Count)]
    pub louder: u8,

    /// What the integration is.
    #[command(flatten)]
    pub integration: IntegrationArgs,

    /// Move it here even though another operator owns it
    #[arg(long)]
    pub take_over: bool,

    /// Write it even though the operator is unknown or does not watch the namespace
    #[arg(long)]
    pub force: bool,

    /// Wait until it runs
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

/// The options of an Integration, as typed; what they mean is checked together with those of modelines.
#[derive(Args, Clone, Debug)]
pub struct IntegrationArgs {
    /// Name of the integration (default: that of its only file)
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Dependency, such as camel:http or mvn:GROUP:ARTIFACT:VERSION (repeatable)
    #[arg(short, long, value_name = "DEPENDENCY", help_heading = "Integration")]
    pub dependency: Vec<String>,

    /// Property, as KEY=VALUE, or a file of them as `file:PATH` (repeatable)
    #[arg(short, long, value_name = "PROPERTY", help_heading = "Integration")]
    pub property: Vec<String>,

    /// Property of the build, as KEY=VALUE, or a file of them as `file:PATH` (repeatable)
    #[arg(long, value_name = "PROPERTY", help_heading = "Integration")]
    pub build_property: Vec<String>,

    /// Trait option, such as container.port=8080 (repeatable)
    #[arg(short = 't', long = "trait", value_name = "TRAIT.PROPERTY=VALUE", help_heading = "Integration")]
    pub traits: Vec<String>,

    /// Environment variable (repeatable)
    #[arg(short, long, value_name = "NAME=VALUE", help_heading = "Integration")]
    pub env: Vec<String>,

    /// Configuration to mount: configmap:NAME[/KEY] or secret:NAME[/KEY] (repeatable)
    #[arg(long, value_name = "CONFIG", help_heading = "Integration")]
    pub config: Vec<String>,

    /// Resource to mount: configmap:NAME[/KEY][@PATH] or secret:… (repeatable)
    #[arg(long, value_name = "RESOURCE", help_heading = "Integration")]
    pub resource: Vec<String>,

    /// Volume to mount (repeatable)
    #[arg(short, long, value_name = "CLAIM:/PATH", help_heading = "Integration")]
    pub volume: Vec<String>,

    /// Label (repeatable)
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Integration")]
    pub label: Vec<String>,

    /// Annotation (repeatable)
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Integration")]
    pub annotation: Vec<String>,

    /// Trait profile: Kubernetes, Knative or `OpenShift`
    #[arg(long, value_name = "PROFILE", help_heading = "Integration")]
    pub profile: Option<String>,

    /// Integration profile
    #[arg(long, value_name = "[NAMESPACE/]NAME", help_heading = "Integration")]
    pub integration_profile: Option<String>,

    /// Integration platform
    #[arg(long, value_name = "NAME", help_heading = "Integration")]
    pub platform: Option<String>,

    /// Service account of the integration's pods
    #[arg(long, value_name = "NAME", help_heading = "Integration")]
    pub service_account: Option<String>,

    /// File with a pod's spec to start from
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Integration")]
    pub pod_template: Option<String>,

    /// Send the sources compressed
    #[arg(long, help_heading = "Integration")]
    pub compression: bool,

    /// Kit to run on, instead of a build
    #[arg(short, long, value_name = "[NAMESPACE/]NAME", help_heading = "Build")]
    pub kit: Option<String>,

    /// Image to run, instead of files
    #[arg(long, value_name = "IMAGE", help_heading = "Build")]
    pub image: Option<String>,

    /// Git repository of a project to build, instead of files
    #[arg(long, value_name = "URL", help_heading = "Build")]
    pub git: Option<String>,

    /// Branch of the repository
    #[arg(long, value_name = "BRANCH", help_heading = "Build")]
    pub git_branch: Option<String>,

    /// Tag of the repository
    #[arg(long, value_name = "TAG", help_heading = "Build")]
    pub git_tag: Option<String>,

    /// Commit of the repository, whole
    #[arg(long, value_name = "COMMIT", help_heading = "Build")]
    pub git_commit: Option<String>,

    /// Maven repository (repeatable)
    #[arg(long, value_name = "URL", help_heading = "Build")]
    pub maven_repository: Vec<String>,
}
