//! The requests before a batch of decisions, beside everything else: decisions that are under way do not wait for them.
//!
//! The reports that a decision is made by are from before the list of the registrations: the caller reads none meanwhile.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::time::{Instant, sleep_until};

use crate::cluster::Cluster;
use crate::epoch::{Epoch, Plan};
use crate::pace::LONGEST_REQUEST;
use crate::parent::ParentRef;
use crate::registration::Registration;

/// The answers to the requests before a batch.
pub(crate) struct Listed {
    pub(crate) registered: Vec<Registration>,
    /// The activations, if a rollout is strict: read after the registrations.
    pub(crate) epoch: Option<Epoch>,
    /// Parents whose activations have been removed.
    pub(crate) removed: Vec<ParentRef>,
}

/// The next thing to do.
pub(crate) enum Step {
    /// The next batch is due.
    Due,
    Listed(kube::Result<Listed>),
    /// The pods that are asked about are known, or the wait for them is over.
    Counted(Listed),
}

#[derive(Default)]
pub(crate) enum Batch {
    #[default]
    Idle,
    Listing(BoxFuture<'static, kube::Result<Listed>>),
    /// The registrations are known, and answers about pods are waited for until then.
    Waiting(Listed, Instant),
}

impl Batch {
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    pub(crate) fn is_waiting_for_pods(&self) -> bool {
        matches!(self, Self::Waiting(..))
    }

    pub(crate) fn begin(&mut self, requests: BoxFuture<'static, kube::Result<Listed>>) {
        *self = Self::Listing(requests);
    }

    pub(crate) fn wait_for_pods(&mut self, listed: Listed, until: Instant) {
        *self = Self::Waiting(listed, until);
    }

    /// All pods that are asked about are known.
    pub(crate) fn wait_no_longer(&mut self) {
        if let Self::Waiting(_, until) = self {
            *until = Instant::now();
        }
    }

    /// The next step; `due` is the time at which a batch is to be begun. Cancel-safe.
    pub(crate) async fn next(&mut self, due: Instant) -> Step {
        match self {
            Self::Idle => {
                sleep_until(due).await;
                return Step::Due;
            }
            Self::Listing(requests) => {
                let listed = requests.await;
                *self = Self::Idle;
                return Step::Listed(listed);
            }
            Self::Waiting(_, until) => sleep_until(*until).await,
        }
        match std::mem::take(self) {
            Self::Waiting(listed, _) => Step::Counted(listed),
            _ => Step::Due,
        }
    }
}

/// Changes and reads the activations, if there is reason to, and lists the registrations in between.
pub(crate) fn list(
    cluster: Arc<Cluster>,
    epoch: Arc<Epoch>,
    writes: Option<(Vec<Plan>, Vec<ParentRef>)>,
    reads_epoch: bool,
) -> BoxFuture<'static, kube::Result<Listed>> {
    Box::pin(async move {
        let mut removed = Vec::new();
        if let Some((plans, gone)) = writes
            && cluster.epochs.write(&epoch, &plans, &gone, LONGEST_REQUEST).await?
        {
            removed = gone;
        }
        let registered = cluster.registrations().await?;
        let epoch = match reads_epoch {
            true => Some(cluster.epochs.read(LONGEST_REQUEST).await?),
            false => None,
        };
        Ok(Listed { registered, epoch, removed })
    })
}
