//! Reads the activations of a strict rollout again and again.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Schedule;
use crate::epoch::Epochs;
use crate::reason::reason;

/// Reads every `period`, for as long as it is polled. A read that fails is not repeated before its time: it is one of many.
pub(crate) async fn follow(schedule: Schedule, epochs: Epochs, period: Duration) {
    let mut is_failing = false;
    loop {
        let started = Instant::now();
        match epochs.read(schedule.limit()).await {
            Ok(epoch) => {
                schedule.read(&epoch.by_uid(), started, Instant::now());
                is_failing = false;
            }
            Err(error) if !std::mem::replace(&mut is_failing, true) => {
                let reason = reason(&error);
                tracing::warn!(
                    reason,
                    "cannot read the activations, will retry; this pod stops answering in time"
                );
            }
            Err(_) => {}
        }
        sleep_until(started.checked_add(period).unwrap_or(started).max(Instant::now())).await;
    }
}
