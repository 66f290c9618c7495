//! Waits until a component says that it is ready, or has ended, or a deadline passes.
//!
//! It asks the component's own endpoint; nothing here guesses from elapsed time or from log lines.

use std::fs;
use std::path::Path;
use std::time::Duration;

use kube::{Client, Config};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::supervisor::Supervised;
use crate::{Component, Error};

/// Generous: two cores may be compiling at the same time. A healthy start takes seconds.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);
const BETWEEN_PROBES: Duration = Duration::from_millis(25);
/// A paused component accepts connections and never answers.
const PER_PROBE: Duration = Duration::from_secs(2);

/// The address to ask, and what to show when there is no answer.
pub(crate) struct Probe<'a> {
    pub(crate) component: Component,
    pub(crate) config: Config,
    pub(crate) log: &'a Path,
}

// === impl Probe ===

impl Probe<'_> {
    /// Returns once the component is ready.
    ///
    /// Cancel-safe: it only asks.
    pub(crate) async fn until_ready(self, process: &mut Supervised) -> Result<(), Error> {
        let client = Client::try_from(self.config.clone());
        let client = client.map_err(Error::kube(format!("make a client for {}", self.component)))?;
        let mut answer = "it was not asked".to_owned();
        let waiting = timeout(DEADLINE, self.ask(&client, process, &mut answer)).await;
        waiting.unwrap_or_else(|_| {
            let log = tail(self.log);
            Err(Error::NotReady { component: self.component, after: DEADLINE, answer, log })
        })
    }

    async fn ask(&self, client: &Client, process: &mut Supervised, answer: &mut String) -> Result<(), Error> {
        let mut ticks = interval(BETWEEN_PROBES);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Some(status) = process.try_wait().map_err(Error::io("look at a process"))? {
                return Err(Error::Exited { component: self.component, status, log: tail(self.log) });
            }
            match timeout(PER_PROBE, get(client, self.component.readiness())).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => *answer = describe(&error),
                Err(_) => *answer = "it did not answer".to_owned(),
            }
        }
    }
}

async fn get(client: &Client, path: &str) -> Result<(), kube::Error> {
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request_text(request).await.map(drop)
}

/// The error with what caused it, on one line.
fn describe(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// The last lines of a log.
fn tail(path: &Path) -> String {
    let log = fs::read_to_string(path).unwrap_or_else(|error| format!("(no log: {error})"));
    let lines: Vec<_> = log.lines().rev().take(30).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}
