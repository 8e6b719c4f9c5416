//! The root parser, dispatch, and what happens around every verb.

use std::process::ExitCode;

use clap::{ColorChoice, Command, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};
use tracing_subscriber::EnvFilter;

use crate::{
    cli::{
        adopt_args::AdoptArgs,
        bind_args::BindArgs,
        complete,
        global::{ColorWhen, GlobalArgs},
        help_args::HelpArgs,
        install_args::InstallArgs,
        run_args::RunArgs,
        uninstall_args::UninstallArgs,
    },
    error::{Error, Exit, Result},
    settings::{self, Settings},
    ui::{self, Color, Manner, Ui},
};

use super::{
    Session,
    completion::CompletionArgs,
    config::ConfigArgs,
    hints,
    list_operators::ListOperatorsArgs,
    switch_active::SwitchActiveArgs,
    usage::{self, Typed},
    version::VersionArgs,
};

/// Operators side by side on one Kubernetes cluster: unique ids, clear owners, safe switches
#[derive(Debug, Parser)]
#[command(name = "kctl", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Topics: kctl help environment | exit-codes | output | tenancy")]
struct Root {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Adopt(AdoptArgs),
    #[command(visible_alias = "completions")]
    Completion(CompletionArgs),
    Config(ConfigArgs),
    Help(HelpArgs),
    Install(Box<InstallArgs>),
    ListOperators(ListOperatorsArgs),
    Run(Box<RunArgs>),
    Bind(Box<BindArgs>),
    Uninstall(UninstallArgs),
    Version(VersionArgs),
    SwitchActive(Box<SwitchActiveArgs>),
}

impl Verb {
    /// Whether the report is JSON, so that errors are, too.
    fn wants_json(&self) -> bool {
        match self {
            Self::Completion(_) | Self::Help(_) => false,
            Self::Adopt(args) => args.wants_json(),
            Self::Config(args) => args.wants_json(),
            Self::Install(args) => args.wants_json(),
            Self::ListOperators(args) => args.wants_json(),
            Self::Run(args) => args.wants_json(),
            Self::Bind(args) => args.wants_json(),
            Self::Uninstall(args) => args.wants_json(),
            Self::Version(args) => args.wants_json(),
            Self::SwitchActive(args) => args.wants_json(),
        }
    }

    async fn run(self, session: &Session<'_>) -> Result<Exit> {
        match self {
            Self::Completion(args) => Ok(args.run(session)),
            Self::Adopt(args) => args.run(session).await,
            Self::Config(args) => args.run(session),
            Self::Help(args) => args.run(session, command()),
            Self::Install(args) => Box::pin(args.run(session)).await,
            Self::ListOperators(args) => args.run(session).await,
            Self::Run(args) => args.run(session).await,
            Self::Bind(args) => args.run(session).await,
            Self::Uninstall(args) => args.run(session).await,
            Self::Version(args) => args.run(session).await,
            Self::SwitchActive(args) => args.run(session).await,
        }
    }
}

/// The definition of the whole command line, for man pages and help.
pub fn command() -> Command {
    let root = Root::command();
    if settings::is_plugin() { root.bin_name("kubectl kctl") } else { root }
}

/// Runs kctl on the process's arguments and returns its exit code.
pub fn main() -> ExitCode {
    match complete::answer(Root::command) {
        None => {}
        Some(Ok(())) => return ExitCode::from(Exit::Done.code()),
        Some(Err(error)) => return report(&Ui::new(Manner::default(), &Settings::default()), &error),
    }
    let arguments = settings::arguments();
    let typed = Typed::new(&arguments);
    let loaded = Settings::load();
    let mut root = command();
    if let Ok(settings) = &loaded {
        root = root.color(typed.color(settings));
    }
    let parsed = root.try_get_matches_from_mut(arguments).and_then(|matches| Root::from_arg_matches(&matches));
    let early = |loaded: &Settings, color| {
        let errors_as_json = loaded.errors_as_json || typed.wants_json();
        Ui::new(Manner { color, errors_as_json, ..Manner::default() }, loaded)
    };
    let (settings, Root { global, verb }) = match (loaded, parsed) {
        (loaded, Err(error)) => {
            let settings = loaded.unwrap_or_default();
            let color = match typed.color(&settings) {
                ColorChoice::Always => Color::Always,
                ColorChoice::Never => Color::Never,
                ColorChoice::Auto => Color::Auto,
            };
            return not_parsed(&error, &typed, &early(&settings, color), &root);
        }
        (Err(error), Ok(_)) => return report(&early(&Settings::default(), Color::Auto), &error),
        (Ok(settings), Ok(root)) => (settings, root),
    };
    let manner = Manner {
        quiet: global.quiet,
        verbose: global.verbose,
        color: color(&global, &settings),
        yes: global.yes,
        errors_as_json: settings.errors_as_json || verb.wants_json(),
    };
    let ui = Ui::new(manner, &settings);
    start_log(global.verbose, ui.paints());
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report(&ui, &Error::failed("Runtime", error.to_string())),
    };
    let session = Session::new(&ui, &settings, &global);
    ui.lead_to(session.same_cluster());
    let outcome = runtime.block_on(run(verb, &session));
    // A prompt that waits for input on another thread must not hold the end up.
    runtime.shutdown_background();
    match outcome.and_then(|exit| ui.finish().map(|()| exit)) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => report(&ui, &error),
    }
}

async fn run(verb: Verb, session: &Session<'_>) -> Result<Exit> {
    let outcome = tokio::select! {
        outcome = verb.run(session) => outcome,
        () = ui::interruption() => Err(session.ui.interrupted()),
    };
    if session.ui.has_applied() {
        complete::forget();
    }
    let Some(cluster) = session.connected() else { return outcome };
    let outcome = match outcome {
        Ok(exit) => Ok(exit),
        Err(error) => Err(hints::complete(error.context(cluster.context()), cluster).await),
    };
    if outcome.is_ok() || session.ui.has_applied() {
        let saved = cluster.save();
        let snapshot = &session.global.snapshot;
        if outcome.is_ok() && session.ui.has_applied() && snapshot.from.is_some() && snapshot.save.is_none() {
            session.ui.note("this was done in memory only; --save PATH keeps it");
        }
        return outcome.and_then(|exit| saved.map(|()| exit));
    }
    outcome
}

fn report(ui: &Ui, error: &Error) -> ExitCode {
    ui.error(error);
    ExitCode::from(error.exit().code())
}

/// Help and version go to stdout with 0; what cannot be parsed is a usage error.
fn not_parsed(error: &clap::Error, typed: &Typed, ui: &Ui, root: &Command) -> ExitCode {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            ui.help(&text.ansi().to_string(), &text.to_string());
            match ui.finish() {
                Ok(()) => ExitCode::from(Exit::Done.code()),
                Err(error) => report(ui, &error),
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let missing = Error::usage("which command?").hint("kctl help");
            if !ui.speaks_json() {
                ui.plan(&text.to_string());
            }
            report(ui, &missing)
        }
        _ => report(ui, &usage::error(error, typed, root)),
    }
}

fn color(global: &GlobalArgs, settings: &Settings) -> Color {
    match global.color.map(ColorWhen::word).or(settings.color().map(|(word, _)| word)) {
        Some("always") => Color::Always,
        Some("never") => Color::Never,
        _ => Color::Auto,
    }
}

/// The log goes to stderr. Bodies never reach it: kube would log the text of an answer it cannot read.
fn start_log(verbose: u8, paint: bool) {
    let filter = match verbose {
        0 => return,
        1 => "kctl=info",
        2 => "kctl=debug",
        _ => "kctl=trace,hyper_util=debug,rustls=debug,kube_client=off",
    };
    let layer = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(paint)
        .without_time();
    // Only a second call could fail, and there is none.
    let _ = layer.try_init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Root::command().debug_assert();
    }

    #[test]
    fn every_value_is_completed_or_free() {
        let mut root = Root::command();
        root.build();
        assert_eq!(complete::undecided(&root), Vec::<String>::new());
    }
}
