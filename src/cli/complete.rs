//! Shell completion: which argument takes which values, and where they come from.
//!
//! A completion script starts kctl with `KCTL_COMPLETE` set and the words of the line. What is known beforehand is
//! answered at once; names from a kubeconfig or a cluster are asked for on a thread that is given up after a moment.

mod cache;
mod names;
mod query;
mod shells;
mod typed;

use std::{ffi::OsStr, sync::Arc};

use clap::{Arg, Command};
use clap_complete::{
    CompleteEnv,
    engine::{ArgValueCompleter, CompletionCandidate},
    env::{EnvCompleter, Shells},
};

pub use shells::Shell;

use super::{global::duration, help_args::TOPICS};

use self::{
    names::{Offer, candidates, text},
    query::{Question, Role},
    shells::{Adapter, PROGRAM},
    typed::{Typed, unquoted},
};
use crate::{
    cluster::ConnectOptions,
    contracts::{
        FAMILIES, camel_k, camel_traits,
        kinds::{
            INTEGRATION, INTEGRATION_KIT, INTEGRATION_PLATFORM, INTEGRATION_PROFILE, KAMELET_BINDING, PIPE,
            SERVICE_ACCOUNT,
        },
    },
    error::{Error, Result},
    settings::{self, CompletionRequest, Settings, vars},
    tenancy::operators::Operator,
};

/// Answers a completion script, when one has started this process; else there is nothing to answer.
///
/// It has to come first: nothing else may print. `root` makes the definition of the whole command line.
///
/// # Errors
/// A shell of which kctl knows nothing (exit 2).
pub fn answer(root: fn() -> Command) -> Option<Result<()>> {
    let mut request = CompletionRequest::find()?;
    if request.shell == "bash" {
        // The others take quotes away themselves.
        for word in &mut request.arguments {
            if let Some(text) = word.to_str() {
                *word = unquoted(text).into();
            }
        }
    }
    let (arguments, current_dir, index) = (request.arguments.clone(), request.current_dir.clone(), request.index);
    let line = Arc::new(Line::new(root, request));
    let adapters = Shell::FILES.map(|(shell, _)| Adapter { shell, index });
    let shells = adapters.each_ref().map(|adapter| adapter as &dyn EnvCompleter);
    let answered = CompleteEnv::with_factory(|| attach(root(), &line))
        .var(vars::COMPLETE)
        .bin(PROGRAM)
        .completer(PROGRAM)
        .shells(Shells(&shells))
        .try_complete(arguments, current_dir.as_deref());
    Some(answered.map(|_| ()).map_err(|error| {
        Error::usage(format!("{}: {error}", vars::COMPLETE)).hint(format!("unset {}", vars::COMPLETE))
    }))
}

/// Drops what is kept of clusters' answers. A command that has changed a cluster calls it, so that new names are offered.
pub fn forget() {
    if let Some(dir) = settings::cache_dir() {
        cache::clear(&dir.join(query::CACHE));
    }
}

/// Keeps the ids of all operators of a cluster for completion, when a command has read them anyway.
pub fn remember(connection: &ConnectOptions, settings: &Settings, operators: &[Operator]) {
    if connection.from.is_none() {
        query::remember(connection, settings, operators);
    }
}

/// The line that is being typed.
#[derive(Debug)]
struct Line {
    root: fn() -> Command,
    words: Vec<String>,
    index: usize,
    request: CompletionRequest,
}

impl Line {
    fn new(root: fn() -> Command, request: CompletionRequest) -> Self {
        let after = request.arguments.iter().position(|word| word == "--").map_or(usize::MAX, |at| at + 1);
        let words: Vec<String> =
            request.arguments.iter().skip(after).map(|word| word.to_string_lossy().into_owned()).collect();
        let index = request.index.unwrap_or(words.len().saturating_sub(1));
        Self { root, words, index, request }
    }

    fn word(&self) -> &str {
        self.words.get(self.index).map_or("", String::as_str)
    }

    fn ask(&self, question: Question) -> Vec<Offer> {
        self.ask_in(None, question)
    }

    /// Asks in a namespace that the word itself names.
    fn ask_in(&self, namespace: Option<&str>, question: Question) -> Vec<Offer> {
        let mut root = (self.root)();
        root.build();
        let typed = Typed::read(&root, &self.words, self.index);
        let mut connection = typed.connection(self.request.home.as_deref());
        if let Some(namespace) = namespace {
            connection.namespace = Some(namespace.to_owned());
        }
        let timeout = self.request.timeout.as_deref().and_then(|text| duration(text).ok());
        let patience = timeout.filter(|timeout| !timeout.is_zero()).unwrap_or(query::PATIENCE);
        query::ask(connection, typed.get("operator_id").map(str::to_owned), question, patience)
    }
}

/// Where the values of an argument come from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// A kubeconfig or cluster, by one question.
    Ask(Question),
    /// A Kamelet of this role, in one of the forms of an endpoint.
    Endpoint(Role),
    /// What happens to messages that cannot be handled.
    ErrorHandler,
    /// `TRAIT.PROPERTY=`, and `true` or `false` behind it.
    Traits,
    /// Words known beforehand.
    Words(&'static [&'static str]),
    /// Commands and topics of the help.
    Help,
    /// Names of families.
    Families,
    /// Versions of the operator: released ones and those on the cluster.
    Versions,
}

/// Where the values of an argument of a verb come from; `None` when only the user knows, or the definition itself says it.
fn source(verb: &str, argument: &str) -> Option<Source> {
    Some(match (verb, argument) {
        (_, "operator_id" | "move_to") => Source::Ask(Question::OperatorIds),
        (_, "namespace" | "watch_namespace" | "like") | ("switch-active", "target") => {
            Source::Ask(Question::Namespaces)
        }
        (_, "context") => Source::Ask(Question::Contexts),
        (_, "cluster") => Source::Ask(Question::Clusters),
        (_, "user") => Source::Ask(Question::Users),
        ("run", "name") => Source::Ask(Question::Objects(&[INTEGRATION])),
        ("bind", "name") => Source::Ask(Question::Objects(&[PIPE, KAMELET_BINDING])),
        ("bind", "source") => Source::Endpoint(Role::Source),
        ("bind", "sink") => Source::Endpoint(Role::Sink),
        ("bind", "step") => Source::Endpoint(Role::Action),
        ("bind", "error_handler") => Source::ErrorHandler,
        ("run", "kit") => Source::Ask(Question::Objects(&[INTEGRATION_KIT])),
        ("run", "platform") => Source::Ask(Question::Objects(&[INTEGRATION_PLATFORM])),
        ("run", "integration_profile") => Source::Ask(Question::Objects(&[INTEGRATION_PROFILE])),
        ("run", "profile") => Source::Words(&["Kubernetes", "Knative", "OpenShift"]),
        ("run" | "bind", "service_account") => Source::Ask(Question::Objects(&[SERVICE_ACCOUNT])),
        ("run" | "bind", "traits") => Source::Traits,
        ("help", "words") => Source::Help,
        (_, "family") => Source::Families,
        (_, "operator_version") => Source::Versions,
        (_, "log_level") => Source::Words(&["info", "debug", "error"]),
        _ => return None,
    })
}

/// Gives every argument its source.
fn attach(command: Command, line: &Arc<Line>) -> Command {
    let verb = command.get_name().to_owned();
    command
        .mut_args(|arg| {
            let Some(source) = source(&verb, arg.get_id().as_str()) else { return needs_equals(arg, line) };
            let line = Arc::clone(line);
            arg.add(ArgValueCompleter::new(move |word: &OsStr| values(source, &line, text(word))))
        })
        .mut_subcommands(|subcommand| attach(subcommand, line))
}

fn values(source: Source, line: &Line, word: &str) -> Vec<CompletionCandidate> {
    let known = |words: &[&str]| words.iter().copied().map(Offer::new).collect::<Vec<_>>();
    match source {
        Source::Ask(question) => candidates(line.ask(question), "", word),
        Source::Words(words) => candidates(known(words), "", word),
        Source::Help => {
            let root = (line.root)();
            let commands = root.get_subcommands().map(|verb| Offer::new(verb.get_name()));
            candidates(commands.chain(known(TOPICS)).collect(), "", word)
        }
        Source::Families => candidates(FAMILIES.iter().map(|family| Offer::new(family.name)).collect(), "", word),
        Source::Endpoint(role) => endpoints(line, role, "", word),
        Source::ErrorHandler => match word.strip_prefix("sink:") {
            Some(endpoint) => endpoints(line, Role::Sink, "sink:", endpoint),
            None => candidates(known(&["none", "log", "sink:"]), "", word),
        },
        Source::Traits => traits(word),
        Source::Versions => {
            let installed = line.ask(Question::Versions);
            let mut offers = known(camel_k::RELEASES);
            offers.retain(|release| installed.iter().all(|seen| seen.name != release.name));
            offers.splice(0..0, installed);
            candidates(offers, "", word)
        }
    }
}

/// Kamelets for `NAME`, `NAMESPACE/NAME` and both with `kamelet:` in front, after a part that stays as it is.
fn endpoints(line: &Line, role: Role, kept: &str, word: &str) -> Vec<CompletionCandidate> {
    let (form, place) = word.strip_prefix("kamelet:").map_or(("", word), |place| ("kamelet:", place));
    if place.contains(['?', ':']) {
        // Properties, or another kind of endpoint.
        return Vec::new();
    }
    match place.split_once('/') {
        Some((namespace, name)) => {
            let offers = line.ask_in(Some(namespace), Question::Kamelets(role));
            candidates(offers, &format!("{kept}{form}{namespace}/"), name)
        }
        None => candidates(line.ask(Question::Kamelets(role)), &format!("{kept}{form}"), place),
    }
}

fn traits(word: &str) -> Vec<CompletionCandidate> {
    let Some((id, property)) = word.split_once('.') else {
        return candidates(camel_traits::ids().map(|id| Offer::new(format!("{id}."))).collect(), "", word);
    };
    let known = camel_traits::properties(id).unwrap_or_default();
    match property.split_once('=') {
        Some((name, value))
            if known.iter().any(|known| known.name == name && known.kind == camel_traits::Type::Bool) =>
        {
            candidates(vec![Offer::new("true"), Offer::new("false")], &format!("{id}.{name}="), value)
        }
        Some(_) => Vec::new(),
        None => {
            let offers = known.iter().map(|known| Offer::new(format!("{}=", known.name)));
            candidates(offers.collect(), &format!("{id}."), property)
        }
    }
}

/// Keeps the values of a flag that takes them behind `=` only from being offered as a word of their own.
fn needs_equals(arg: Arg, line: &Arc<Line>) -> Arg {
    if !arg.is_require_equals_set() {
        return arg;
    }
    let line = Arc::clone(line);
    let values = arg.get_possible_values();
    arg.add(ArgValueCompleter::new(move |word: &OsStr| {
        if !line.word().starts_with("--") {
            return Vec::new();
        }
        let fitting = values.iter().filter(|value| value.get_name().starts_with(text(word)));
        fitting.map(|value| CompletionCandidate::new(value.get_name()).help(value.get_help().cloned())).collect()
    }))
}

/// Arguments whose values nobody but the user knows.
#[cfg(test)]
const FREE: &[&str] = &[
    "base_image",
    "registry_ca",
    "maven_settings",
    "maven_ca_secret",
    "build_timeout",
    "max_running_builds",
    "runtime_version",
    "annotation",
    "as_group",
    "as_uid",
    "as_user",
    "build_property",
    "config",
    "dependency",
    "env",
    "exclude",
    "git",
    "git_branch",
    "git_commit",
    "git_tag",
    "ignore_evidence",
    "image",
    "image_pull_secret",
    "include",
    "label",
    "maven_repository",
    "node_selector",
    "operator_image",
    "property",
    "registry",
    "registry_organization",
    "registry_secret",
    "request_timeout",
    "resource",
    "resources",
    "selector",
    "server",
    "timeout",
    "tls_server_name",
    "token",
    "toleration",
    "volume",
];

/// Arguments with values of which nobody has said yet where they come from.
#[cfg(test)]
pub fn undecided(root: &Command) -> Vec<String> {
    let own = root.get_arguments().filter(|arg| {
        arg.get_num_args().is_some_and(|values| values.takes_values())
            && arg.get_possible_values().is_empty()
            && arg.get_value_hint() == clap::ValueHint::Unknown
            && source(root.get_name(), arg.get_id().as_str()).is_none()
            && !FREE.contains(&arg.get_id().as_str())
    });
    let own = own.map(|arg| format!("{} {}", root.get_name(), arg.get_id()));
    own.chain(root.get_subcommands().filter(|verb| verb.get_name() != "help").flat_map(undecided)).collect()
}
