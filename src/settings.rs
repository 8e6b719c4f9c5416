//! Flag over environment over config file over default. The only reader of the environment.

mod file;

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::error::Result;

use self::file::{ConfigFile, Defaults};

/// Names of the environment variables kctl reads.
pub mod vars {
    /// Default for `-x/--operator-id`.
    pub const OPERATOR_ID: &str = "KCTL_OPERATOR_ID";
    /// Default for `-n/--namespace`.
    pub const NAMESPACE: &str = "KCTL_NAMESPACE";
    /// `json` makes errors one JSON object; `text` is the default.
    pub const ERRORS: &str = "KCTL_ERRORS";
    /// Path of the config file, instead of `$XDG_CONFIG_HOME/kctl/config.yaml`.
    pub const CONFIG: &str = "KCTL_CONFIG";
    /// Kubeconfig files, separated as in `PATH`.
    pub const KUBECONFIG: &str = "KUBECONFIG";
    /// Any value turns colour off.
    pub const NO_COLOR: &str = "NO_COLOR";
    /// Where `kctl/config.yaml` is, instead of `~/.config`.
    pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
    /// `dumb` is a terminal without colour and without lines that are written over.
    pub const TERM: &str = "TERM";
    /// Set by the completion scripts: the shell that asks.
    pub const COMPLETE: &str = "KCTL_COMPLETE";
    /// Set by the completion scripts: which of the words is being completed; the last one without it.
    pub const COMPLETE_INDEX: &str = "KCTL_COMPLETE_INDEX";
    /// How long completion waits for a cluster or a credential plugin, instead of 700 ms.
    pub const COMPLETE_TIMEOUT: &str = "KCTL_COMPLETE_TIMEOUT";

    /// What a user may set, each with the line that explains it.
    pub const ALL: &[(&str, &str)] = &[
        (OPERATOR_ID, "operator id where -x/--operator-id is not given"),
        (NAMESPACE, "namespace where -n/--namespace is not given"),
        (ERRORS, "json: an error is one JSON object on stderr (default: text)"),
        (CONFIG, "path of the config file"),
        (KUBECONFIG, "kubeconfig files, separated as in PATH"),
        (NO_COLOR, "any value: no colour"),
        (TERM, "dumb: no colour, and progress as plain lines"),
        (XDG_CONFIG_HOME, "folder that holds kctl/config.yaml, instead of ~/.config"),
        (COMPLETE_TIMEOUT, "how long a Tab waits for names from a cluster (default: 700ms)"),
        ("XDG_CACHE_HOME", "folder that holds kctl's completion cache, instead of ~/.cache"),
        ("HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "proxies, as curl takes them"),
    ];
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

impl Source {
    /// What kind of place it is, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Flag(_) => "flag",
            Self::Environment(_) => "environment",
            Self::ConfigFile(_) => "config-file",
        }
    }
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

/// What the environment and the config file say, read once at the start.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    operator_id: Option<String>,
    namespace: Option<String>,
    config: ConfigFile,
    config_path: PathBuf,
    config_path_from_env: bool,
    /// Kubeconfig files to merge; the first wins. Empty when there is no home directory either.
    pub kubeconfig: Vec<PathBuf>,
    /// Whether `KUBECONFIG` named them.
    pub kubeconfig_from_env: bool,
    /// Whether a pod's service account can be used (`KUBERNETES_SERVICE_HOST` is set).
    pub in_cluster: bool,
    /// Proxy variables.
    pub proxies: Proxies,
    /// Errors as JSON: `KCTL_ERRORS`, else the config file.
    pub errors_as_json: bool,
    /// Whether `KCTL_ERRORS` has decided that.
    errors_from_env: bool,
    /// `NO_COLOR` is set.
    no_color: bool,
    /// The terminal cannot do more than print lines.
    pub dumb_terminal: bool,
    /// Started by kubectl, as `kubectl kctl`.
    pub plugin: bool,
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
    /// How long to wait for names, as the user has set it.
    pub timeout: Option<String>,
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
            timeout: env::var(vars::COMPLETE_TIMEOUT).ok(),
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
            var(vars::XDG_CONFIG_HOME).map(PathBuf::from).or_else(|| home.as_ref().map(|home| home.join(".config")));
        let config_path_from_env = var(vars::CONFIG).is_some();
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
        let config = ConfigFile::read(&config_path)?;
        let errors = var(vars::ERRORS).map(|word| file::one_of(&word, vars::ERRORS, file::ERRORS)).transpose()?;
        let errors_from_env = errors.is_some();
        let errors_as_json = errors.as_ref().or(config.errors.as_ref()).is_some_and(|word| word == "json");
        Ok(Self {
            operator_id: var(vars::OPERATOR_ID),
            namespace: var(vars::NAMESPACE),
            config,
            config_path,
            config_path_from_env,
            kubeconfig,
            kubeconfig_from_env,
            in_cluster: var("KUBERNETES_SERVICE_HOST").is_some(),
            proxies: Proxies {
                https: either("HTTPS_PROXY", "https_proxy"),
                http: either("HTTP_PROXY", "http_proxy"),
                no: either("NO_PROXY", "no_proxy"),
            },
            errors_as_json,
            errors_from_env,
            no_color: var(vars::NO_COLOR).is_some(),
            dumb_terminal: var(vars::TERM).is_some_and(|value| value == "dumb"),
            plugin: is_plugin(),
        })
    }

    /// The operator id to use when no flag names one: environment, then the config file for `context`, then its top level.
    pub fn operator_id(&self, context: Option<&str>) -> Option<(String, Source)> {
        self.pick(
            self.operator_id.as_ref(),
            vars::OPERATOR_ID,
            context,
            |d| d.operator_id.as_ref(),
            self.config.defaults.operator_id.as_ref(),
        )
    }

    /// The namespace to use when no flag names one, by the same order.
    pub fn namespace(&self, context: Option<&str>) -> Option<(String, Source)> {
        self.pick(
            self.namespace.as_ref(),
            vars::NAMESPACE,
            context,
            |d| d.namespace.as_ref(),
            self.config.defaults.namespace.as_ref(),
        )
    }

    /// When to colour where no flag says it: `NO_COLOR`, then the config file. One of `auto`, `always`, `never`.
    pub fn color(&self) -> Option<(&str, Source)> {
        if self.no_color {
            return Some(("never", Source::Environment(vars::NO_COLOR)));
        }
        Some((self.config.color.as_deref()?, Source::ConfigFile(self.config_path.clone())))
    }

    /// Where it was said whether errors are JSON; `None` when nowhere.
    pub fn errors_source(&self) -> Option<Source> {
        if self.errors_from_env {
            return Some(Source::Environment(vars::ERRORS));
        }
        self.config.errors.as_ref().map(|_| Source::ConfigFile(self.config_path.clone()))
    }

    /// The config file, whether there is one or not, and the variable that has named it.
    pub fn config_file(&self) -> (&Path, Option<Source>) {
        (&self.config_path, self.config_path_from_env.then_some(Source::Environment(vars::CONFIG)))
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

/// The program's arguments, its own name first.
pub fn arguments() -> Vec<OsString> {
    env::args_os().collect()
}

/// Whether kubectl has started this process: it finds its plugins by a name that begins with its own.
pub fn is_plugin() -> bool {
    let name = env::args_os().next().map(PathBuf::from);
    let stem = name.as_deref().and_then(Path::file_stem);
    stem.is_some_and(|stem| stem == "kubectl-kctl" || stem == "kubectl_kctl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_beats_context_beats_top_level() {
        let defaults = |id: &str| Defaults { operator_id: Some(id.into()), namespace: None };
        let contexts = [("prod".to_owned(), defaults("ctx"))].into();
        let config = ConfigFile { defaults: defaults("top"), contexts, ..ConfigFile::default() };
        let mut settings = Settings { config, ..Settings::default() };
        let id = |settings: &Settings, context| settings.operator_id(context).map(|(id, _)| id);
        assert_eq!(id(&settings, Some("prod")).as_deref(), Some("ctx"));
        assert_eq!(id(&settings, Some("other")).as_deref(), Some("top"));
        settings.operator_id = Some("env".into());
        assert_eq!(id(&settings, Some("prod")).as_deref(), Some("env"));
    }
}
