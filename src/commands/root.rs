//! The root parser, dispatch, and what happens around every verb.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::{
    cli::{
        complete,
        global::{ColorWhen, GlobalArgs},
        install_args::InstallArgs,
        run_args::RunArgs,
    },
    error::{Error, Exit, Result},
    settings::Settings,
    ui::{self, Color, Manner, Ui},
};

use super::{
    Session, completion::CompletionArgs, list_operators::ListOperatorsArgs, switch_active::SwitchActiveArgs,
};

/// Operators side by side on one Kubernetes cluster: unique ids, clear owners, safe switches
#[derive(Debug, Parser)]
#[command(name = "kctl", version, max_term_width = 100, disable_help_subcommand = true)]
struct Root {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[command(visible_alias = "completions")]
    Completion(CompletionArgs),
    Install(Box<InstallArgs>),
    ListOperators(ListOperatorsArgs),
    Run(Box<RunArgs>),
    SwitchActive(Box<SwitchActiveArgs>),
}

impl Verb {
    /// Whether the report is JSON, so that errors are, too.
    fn wants_json(&self) -> bool {
        match self {
            Self::Completion(_) => false,
            Self::Install(args) => args.wants_json(),
            Self::ListOperators(args) => args.wants_json(),
            Self::Run(args) => args.wants_json(),
            Self::SwitchActive(args) => args.wants_json(),
        }
    }

    async fn run(self, session: &Session<'_>) -> Result<Exit> {
        match self {
            Self::Completion(args) => args.run(session),
            Self::Install(args) => args.run(session).await,
            Self::ListOperators(args) => args.run(session).await,
            Self::Run(args) => args.run(session).await,
            Self::SwitchActive(args) => args.run(session).await,
        }
    }
}

/// Runs kctl on the process's arguments and returns its exit code.
pub fn main() -> ExitCode {
    if let Some(answered) = complete::answer(Root::command) {
        return answered;
    }
    let settings = match Settings::load() {
        Ok(settings) => settings,
        Err(error) => return report(&Ui::new(Manner::default(), &Settings::default()), &error),
    };
    let Root { global, verb } = match Root::try_parse() {
        Ok(root) => root,
        Err(error) => return not_parsed(&error, &settings),
    };
    let manner = Manner {
        quiet: global.quiet,
        verbose: global.verbose,
        color: match global.color {
            ColorWhen::Auto => Color::Auto,
            ColorWhen::Always => Color::Always,
            ColorWhen::Never => Color::Never,
        },
        yes: global.yes,
        errors_as_json: settings.errors_as_json || verb.wants_json(),
    };
    start_log(global.verbose);
    let ui = Ui::new(manner, &settings);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report(&ui, &Error::failed("Runtime", error.to_string())),
    };
    let outcome = runtime.block_on(run(verb, &Session::new(&ui, &settings, &global)));
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
    let outcome = outcome.map_err(|error| error.context(cluster.context()));
    if outcome.is_ok() || session.ui.has_applied() {
        let saved = cluster.save();
        return outcome.and_then(|exit| saved.map(|()| exit));
    }
    outcome
}

fn report(ui: &Ui, error: &Error) -> ExitCode {
    ui.error(error);
    ExitCode::from(error.exit().code())
}

/// Help and version go to stdout with 0; what cannot be parsed is a usage error.
fn not_parsed(error: &clap::Error, settings: &Settings) -> ExitCode {
    if error.use_stderr() && settings.errors_as_json {
        let ui = Ui::new(Manner { errors_as_json: true, ..Manner::default() }, settings);
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        return report(&ui, &Error::usage(first).hint("kctl --help"));
    }
    let printed = error.print();
    ExitCode::from(if error.use_stderr() || printed.is_err() { Exit::Usage.code() } else { Exit::Done.code() })
}

/// The log goes to stderr. Bodies never reach it: kube would log the text of an answer it cannot read.
fn start_log(verbose: u8) {
    let filter = match verbose {
        0 => return,
        1 => "kctl=info",
        2 => "kctl=debug",
        _ => "kctl=trace,hyper_util=debug,rustls=debug,kube_client=off",
    };
    let layer =
        tracing_subscriber::fmt().with_env_filter(EnvFilter::new(filter)).with_writer(std::io::stderr).without_time();
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
