//! A small operator that honours the contracts of real ones.

mod args;
mod camel_k;
mod environment;
mod kubelet;
mod lease;
mod object;
mod process;
mod tigera;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser as _;
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use tracing::error;
use tracing_subscriber::EnvFilter;

use args::{Args, Family};
use process::{Ended, Flags, Process, Start, Stop};

fn main() -> ExitCode {
    let args = Args::parse();
    let filter = EnvFilter::try_from_env("LOG_LEVEL").unwrap_or_else(|_| EnvFilter::new("info,kube_runtime=error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match start(args) {
        Ok(Ended::Stopped) => ExitCode::SUCCESS,
        Ok(Ended::Exited(code)) => ExitCode::from(code),
        Err(error) => {
            error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(args: Args) -> Result<Ended> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let ended = runtime.block_on(run(args));
    // A thread may be waiting for the end of standard input; nothing else is left to wait for.
    runtime.shutdown_background();
    ended
}

async fn run(args: Args) -> Result<Ended> {
    let client = connect(&args).await?;
    let stop = Stop::on_signal(args.until_eof)?;
    let family = args.family;
    let flags = Flags::from(&args);
    if let Some((namespace, name)) = &args.deployment {
        return Box::pin(kubelet::play(client, namespace, name, flags, family, stop)).await;
    }
    let process = Process::new(client, Start::of_this_process(args.identity), flags);
    operator(family, process, stop).await
}

/// Runs an operator until it is stopped or ends by itself.
async fn operator(family: Family, process: Process, stop: Stop) -> Result<Ended> {
    match family {
        Family::CamelK => camel_k::run(process, stop).await,
        Family::Tigera => tigera::run(process, stop).await,
    }
}

async fn connect(args: &Args) -> Result<Client> {
    let options = KubeConfigOptions { context: args.context.clone(), ..KubeConfigOptions::default() };
    let config = match &args.kubeconfig {
        Some(path) => Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await?,
        None if args.context.is_some() => Config::from_kubeconfig(&options).await?,
        None => Config::infer().await?,
    };
    Client::try_from(config).context("cannot make a client")
}
