//! Waiting for a tenant's resource to run.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    contracts::kinds::{INTEGRATION, Kind},
    error::{Error, ObjectRef, Result},
    tenancy::progress::{Goal, PipeGoal, Progress},
};

use super::{ApiError, Cluster};

/// An operator that is there reacts within a second or two.
const GRACE: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What a wait has to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A phase that was not told before, with the reason it is not further.
    Phase(String, Option<String>),
    /// Nobody has taken the resource, or its change, within the time an operator needs.
    Ignored {
        /// Whether an operator had taken it before the change.
        outdated: bool,
    },
}

/// The resource of one write, and the state that is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// An Integration.
    Integration(Goal),
    /// A Pipe or `KameletBinding`, together with its Integration.
    Pipe(Kind, PipeGoal),
}

impl Awaited {
    fn kind(&self) -> Kind {
        match self {
            Self::Integration(_) => INTEGRATION,
            Self::Pipe(kind, _) => *kind,
        }
    }
}

impl Cluster {
    /// Waits until the resource runs in the state of one write, and tells on the way what happens.
    ///
    /// # Errors
    /// It failed or was deleted (exit 1), or the time is over (exit 6).
    pub async fn wait_resource(
        &self,
        name: &str,
        awaited: &Awaited,
        timeout: Duration,
        tell: &mut dyn FnMut(News),
    ) -> Result<()> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut last: Option<News> = None;
        let namespace = self.namespace();
        let kind = awaited.kind();
        let about = || ObjectRef::new(kind.kind, Some(namespace), name);
        let what = format!("{} {name} in namespace {namespace}", kind.kind.to_ascii_lowercase());
        let look = || format!("kubectl describe {}/{name} -n {namespace}", kind.result_name());
        loop {
            let news = match self.progress(name, awaited).await {
                Ok(None) => {
                    let text = format!("{what} was deleted meanwhile");
                    return Err(Error::failed("Deleted", text).object(about()).hint("run the same command again"));
                }
                Ok(Some(progress)) => match progress {
                    Progress::Done { phase } => {
                        tell(News::Phase(phase, None));
                        return Ok(());
                    }
                    Progress::Failed { message } => {
                        let text = format!("{what} is in phase Error: {message}");
                        let reason = if kind == INTEGRATION { "IntegrationFailed" } else { "PipeFailed" };
                        return Err(Error::failed(reason, text).object(about()).hint(look()));
                    }
                    Progress::Underway { phase, reason } => Some(News::Phase(phase, reason)),
                    idle => (start.elapsed() >= GRACE.min(timeout / 2))
                        .then_some(News::Ignored { outdated: idle == Progress::Outdated }),
                },
                // The server may be away for a moment.
                Err(error) if error.is_undecided() && start.elapsed() < timeout => None,
                Err(error) => return Err(error.into()),
            };
            if let Some(news) = news.filter(|news| last.as_ref() != Some(news)) {
                tell(news.clone());
                last = Some(news);
            }
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                let state = match last {
                    Some(News::Phase(phase, Some(reason))) => format!("it is in phase {phase}: {reason}"),
                    Some(News::Phase(phase, None)) => format!("it is in phase {phase}"),
                    Some(News::Ignored { outdated: true }) => "no operator has taken its change".to_owned(),
                    Some(News::Ignored { outdated: false }) | None => "no operator has taken it".to_owned(),
                };
                let text = format!("{what} does not run after {timeout:?}: {state}");
                return Err(Error::deadline(text).object(about()).hint(look()));
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
    /// How far it is; `None` when it is gone.
    async fn progress(&self, name: &str, awaited: &Awaited) -> Result<Option<Progress>, ApiError> {
        let namespace = Some(self.namespace());
        match awaited {
            Awaited::Integration(goal) => {
                let object = self.get(&INTEGRATION, namespace, name).await?;
                Ok(object.map(|object| goal.progress(&object)))
            }
            Awaited::Pipe(kind, goal) => {
                let (pipe, integration) =
                    tokio::join!(self.get(kind, namespace, name), self.get(&INTEGRATION, namespace, name));
                let Some(pipe) = pipe? else { return Ok(None) };
                match integration {
                    Err(error) if error.is_forbidden() => Ok(Some(goal.progress_of_pipe(&pipe))),
                    integration => Ok(Some(goal.progress(&pipe, integration?.as_ref()))),
                }
            }
        }
    }
}
