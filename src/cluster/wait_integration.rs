//! Waiting for an Integration to run.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    contracts::kinds::INTEGRATION,
    error::{Error, ObjectRef, Result},
    tenancy::progress::{Goal, Progress},
};

use super::Cluster;

/// An operator that is there reacts within a second or two.
const GRACE: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What a wait has to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A phase that was not told before, with the reason it is not further.
    Phase(String, Option<String>),
    /// Nobody has taken the Integration, or its change, within the time an operator needs.
    Ignored {
        /// Whether an operator had taken it before the change.
        outdated: bool,
    },
}

impl Cluster {
    /// Waits until the Integration runs in the state of one write, and tells on the way what happens.
    ///
    /// # Errors
    /// It failed or was deleted (exit 1), or the time is over (exit 6).
    pub async fn wait_integration(
        &self,
        name: &str,
        goal: &Goal,
        timeout: Duration,
        tell: &mut dyn FnMut(News),
    ) -> Result<()> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut last: Option<News> = None;
        let namespace = self.namespace();
        let about = || ObjectRef::new(INTEGRATION.kind, Some(namespace), name);
        let look = || format!("kubectl describe {}/{name} -n {namespace}", INTEGRATION.result_name());
        loop {
            let news = match self.get(&INTEGRATION, Some(namespace), name).await {
                Ok(None) => {
                    let text = format!("integration {name} in namespace {namespace} was deleted meanwhile");
                    return Err(Error::failed("Deleted", text).object(about()).hint("run the same command again"));
                }
                Ok(Some(object)) => match goal.progress(&object) {
                    Progress::Done { phase } => {
                        tell(News::Phase(phase, None));
                        return Ok(());
                    }
                    Progress::Failed { message } => {
                        let text = format!("integration {name} in namespace {namespace} is in phase Error: {message}");
                        return Err(Error::failed("IntegrationFailed", text).object(about()).hint(look()));
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
                let text =
                    format!("integration {name} in namespace {namespace} does not run after {timeout:?}: {state}");
                return Err(Error::deadline(text).object(about()).hint(look()));
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
