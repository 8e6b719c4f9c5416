//! Flag over environment over config file over default. The only reader of the environment.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::error::{Error, Result};

/// Names of the environment variables kctl reads.
pub mod vars {
    /// Default for `-x/--operator-id`.
    pub const OPERATOR_ID: &str = "KCTL_OPERATOR_ID";
    /// Default for `-n/--namespace`.
    pub const NAMESPACE: &str = "KCTL_NAMESPACE";
    /// `json` makes errors one JSON object.
    pub const ERRORS: &str = "KCTL_ERRORS";
    /// Path of the config file, instead of `$XDG_CONFIG_HOME/kctl/config.yaml`.
    pub const CONFIG: &str = "KCTL_CONFIG";
    /// Kubeconfig files, separated as in `PATH`.
    pub const KUBECONFIG: &str = "KUBECONFIG";
    /// Any value turns colour off.
    pub const NO_COLOR: &str = "NO_COLOR";
    /// Set by the completion scripts: the shell that asks.
    pub const COMPLETE: &str = "KCTL_COMPLETE";
    /// Set by the completion scripts: which of the words is being completed; the last one without it.
    pub const COMPLETE_INDEX: &str = "KCTL_COMPLETE_INDEX";
}

/// Where a value came from, for notes and error messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A flag of this name.
    Flag(&'static str),
    /// An environment variable of this name.
    Environment(&'static str),
    /// The config file.
    ConfigFile(PathBuf),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(name) | Self::Environment(name) => f.write_str(name),
            Self::ConfigFile(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The proxy variables that every HTTP client honours.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    /// `HTTPS_PROXY`.
    pub https: Option<String>,
    /// `HTTP_PROXY`, for servers without TLS.
    pub http: Option<String>,
    /// `NO_PROXY`.
    pub no: Option<String>,
}

/// Per-context part of the config file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Defaults {
    operator_id: Option<String>,
    namespace: Option<String>,
}

/// `config.yaml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ConfigFile {
    operator_id: Option<String>,
    namespace: Option<String>,
    #[serde(default)]
    contexts: BTreeMap<String, Defaults>,
}

/// What the environment and the config file say, read once at the start.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    operator_id: Option<String>,
    namespace: Option<String>,
    config: ConfigFile,
    config_path: PathBuf,
    /// Kubeconfig files to merge; the first wins. Empty when there is no home directory either.
    pub kubeconfig: Vec<PathBuf>,
    /// Whether `KUBECONFIG` named them.
    pub kubeconfig_from_env: bool,
    /// Whether a pod's service account can be used (`KUBERNETES_SERVICE_HOST` is set).
    pub in_cluster: bool,
    /// Proxy variables.
    pub proxies: Proxies,
    /// `KCTL_ERRORS=json`.
    pub errors_as_json: bool,
    /// `NO_COLOR` is set.
    pub no_color: bool,
}

/// The process as a completion script started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionRequest {
    /// Name or path of the shell.
    pub shell: OsString,
    /// All arguments, the program's name included.
    pub arguments: Vec<OsString>,
    /// Which of the words after `--` is being completed.
    pub index: Option<usize>,
    /// Where relative paths start.
    pub current_dir: Option<PathBuf>,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
}

impl CompletionRequest {
    /// The request, when a completion script started this process.
    pub fn find() -> Option<Self> {
        let shell = env::var_os(vars::COMPLETE).filter(|value| !value.is_empty() && value != "0")?;
        Some(Self {
            shell,
            arguments: env::args_os().collect(),
            index: env::var(vars::COMPLETE_INDEX).ok().and_then(|index| index.parse().ok()),
            current_dir: env::current_dir().ok(),
            home: env::home_dir(),
        })
    }
}

/// The folder for what can be fetched again: `$XDG_CACHE_HOME/kctl`, or below `%LOCALAPPDATA%` or `~/.cache`.
pub fn cache_dir() -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    named("XDG_CACHE_HOME")
        .or_else(|| named("LOCALAPPDATA").filter(|_| cfg!(windows)))
        .or_else(|| env::home_dir().map(|home| home.join(".cache")))
        .map(|dir| dir.join("kctl"))
}

impl Settings {
    /// Reads the environment and the config file.
    ///
    /// # Errors
    /// A config file that cannot be read or has an unknown key (exit 2). A missing one is none.
    pub fn load() -> Result<Self> {
        let var = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let home = env::home_dir();
        let config_home =
            var("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| home.as_ref().map(|home| home.join(".config")));
        let config_path = match (var(vars::CONFIG), config_home) {
            (Some(path), _) => PathBuf::from(path),
            (None, Some(dir)) => dir.join("kctl").join("config.yaml"),
            (None, None) => PathBuf::new(),
        };
        let from_env: Vec<PathBuf> = env::var_os(vars::KUBECONFIG)
            .map(|value| env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()).collect())
            .unwrap_or_default();
        let kubeconfig_from_env = !from_env.is_empty();
        let kubeconfig = if kubeconfig_from_env {
            from_env
        } else {
            home.iter().map(|home| home.join(".kube").join("config")).collect()
        };
        let either = |upper: &str, lower: &str| var(upper).or_else(|| var(lower));
        Ok(Self {
            operator_id: var(vars::OPERATOR_ID),
            namespace: var(vars::NAMESPACE),
            config: read_config(&config_path)?,
            config_path,
            kubeconfig,
            kubeconfig_from_env,
            in_cluster: var("KUBERNETES_SERVICE_HOST").is_some(),
            proxies: Proxies {
                https: either("HTTPS_PROXY", "https_proxy"),
                http: either("HTTP_PROXY", "http_proxy"),
                no: either("NO_PROXY", "no_proxy"),
            },
            errors_as_json: var(vars::ERRORS).is_some_and(|value| value == "json"),
            no_color: var(vars::NO_COLOR).is_some(),
        })
    }

    /// The operator id to use when no flag names one: environment, then the config file for `context`, then its top level.
    pub fn operator_id(&self, context: Option<&str>) -> Option<(String, Source)> {
        self.pick(
            self.operator_id.as_ref(),
            vars::OPERATOR_ID,
            context,
            |d| d.operator_id.as_ref(),
            self.config.operator_id.as_ref(),
        )
    }

    /// The namespace to use when no flag names one, by the same order.
    pub fn namespace(&self, context: Option<&str>) -> Option<(String, Source)> {
        self.pick(
            self.namespace.as_ref(),
            vars::NAMESPACE,
            context,
            |d| d.namespace.as_ref(),
            self.config.namespace.as_ref(),
        )
    }

    fn pick(
        &self,
        from_env: Option<&String>,
        name: &'static str,
        context: Option<&str>,
        of: impl Fn(&Defaults) -> Option<&String>,
        top: Option<&String>,
    ) -> Option<(String, Source)> {
        let from_file = || {
            let per_context = context.and_then(|context| self.config.contexts.get(context)).and_then(of);
            per_context.or(top).map(|value| (value.clone(), Source::ConfigFile(self.config_path.clone())))
        };
        from_env.map(|value| (value.clone(), Source::Environment(name))).or_else(from_file)
    }
}

fn read_config(path: &Path) -> Result<ConfigFile> {
    if path.as_os_str().is_empty() {
        return Ok(ConfigFile::default());
    }
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ConfigFile::default()),
        Err(error) => return Err(Error::usage(format!("cannot read config file {}: {error}", path.display()))),
    };
    if text.trim().is_empty() {
        return Ok(ConfigFile::default());
    }
    serde_saphyr::from_str(&text).map_err(|error| {
        Error::usage(format!("config file {}: {}", path.display(), first_line(&error.to_string())))
            .hint("known keys: operatorId, namespace, contexts.<name>.operatorId, contexts.<name>.namespace")
    })
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(text: &str) -> Result<ConfigFile> {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        fs::write(file.path(), text).expect("written");
        read_config(file.path())
    }

    #[test]
    fn environment_beats_context_beats_top_level() {
        let config = with_file("operatorId: top\ncontexts:\n  prod:\n    operatorId: ctx\n").expect("valid");
        let mut settings = Settings { config, ..Settings::default() };
        let id = |settings: &Settings, context| settings.operator_id(context).map(|(id, _)| id);
        assert_eq!(id(&settings, Some("prod")).as_deref(), Some("ctx"));
        assert_eq!(id(&settings, Some("other")).as_deref(), Some("top"));
        settings.operator_id = Some("env".into());
        assert_eq!(id(&settings, Some("prod")).as_deref(), Some("env"));
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        let error = with_file("operatorID: x\n").expect_err("unknown key");
        assert!(error.message().contains("operatorID"), "{error}");
        assert_eq!(error.exit(), crate::error::Exit::Usage);
    }

    #[test]
    fn a_missing_or_empty_file_is_no_error() {
        assert!(read_config(Path::new("/no/such/file")).is_ok());
        assert!(with_file("\n").is_ok());
    }
}
