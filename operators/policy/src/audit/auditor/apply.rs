//! Applies watch events to the pipeline, and the results of the pipeline to the ledger.

use futures::FutureExt;
use watch_manager::{EventKind, GvkStatus, WatchEvent, WatchedObject};

use super::Auditor;
use super::pipeline::{Done, Work};
use crate::audit::kinds::ServedKind;
use crate::audit::place::{Kind, Place, Version};

impl Auditor {
    pub(super) fn on_objects(&mut self, events: Vec<WatchEvent>) {
        let batch = events.into_iter().filter_map(|event| self.work(event)).collect();
        self.submit(batch);
    }

    fn work(&mut self, event: WatchEvent) -> Option<Work> {
        let (kind, served) = self.kinds.get(&*event.gvk)?.clone();
        match event.kind {
            EventKind::Applied(object) => self.applied(&kind, served, &object),
            EventKind::Deleted(object) => Some(Work::Gone(place(&kind, &object))),
            EventKind::Synced => Some(Work::KindListed(kind)),
            EventKind::Status(status) => {
                self.kind_status(&kind, &status);
                None
            }
            _ => None,
        }
    }

    fn applied(&mut self, kind: &Kind, served: ServedKind, object: &WatchedObject) -> Option<Work> {
        let place = place(kind, object);
        let held = self.hold.take(object.gvk(), place.namespace(), place.name());
        let (version, text) = match held {
            Some(content) => (content.version, Some(content.text)),
            None => (object.resource_version().to_owned(), None),
        };
        // An earlier event took the newer text along.
        let known = self.ledger.version(&place) == Some(Version::from(version.as_str()));
        (!known || text.is_some()).then_some(Work::Watched { place, version, text, served })
    }

    /// A kind that is cut off keeps what is known of it; it is read again when it is back.
    fn kind_status(&mut self, kind: &Kind, status: &GvkStatus) {
        match status {
            GvkStatus::Ready => self.ledger.set_unavailable(kind, None),
            GvkStatus::Pending => self.cluster.rediscover(),
            status if status.is_stuck() => self.ledger.set_unavailable(kind, Some(&status.to_string())),
            GvkStatus::Degraded { .. } => self.ledger.set_unavailable(kind, Some(&status.to_string())),
            _ => {}
        }
    }

    pub(super) fn submit(&mut self, batch: Vec<Work>) {
        if batch.is_empty() {
            return;
        }
        self.epochs.push_back(self.judge.epoch);
        let work = self.judge_pool.clone().process(self.judge.clone(), batch);
        self.pipeline.push_back(work.boxed());
    }

    pub(super) fn on_done(&mut self, done: Vec<Done>) {
        self.epochs.pop_front();
        let oldest = self.epochs.front().copied().unwrap_or(self.judge.epoch);
        for done in done {
            match done {
                Done::Watched(place, version, judged) => {
                    self.violation_log.judged();
                    self.ledger.observed(&place, version, &judged);
                }
                Done::Listed(place, version, judged, verifies) => {
                    self.violation_log.judged();
                    self.ledger.confirmed(&place, version, &judged, verifies);
                }
                Done::Read(place, judged) => {
                    if let Some((version, judged)) = judged {
                        self.violation_log.judged();
                        self.ledger.confirmed(&place, version, &judged, false);
                    }
                    self.ledger.read_ended(&place);
                }
                Done::Examined(place, suspicion, now) => {
                    self.violation_log.judged();
                    self.ledger.examined(&place, suspicion, now);
                }
                Done::Gone(place) => self.ledger.deleted(&place),
                Done::KindListed(kind) => self.ledger.kind_listed(&kind),
                Done::PageEnded(pass, token) => self.next_page(pass, token),
                Done::PassEnded(pass, result) => self.pass_ended(&pass, result),
            }
        }
        self.ledger.forget_before(oldest);
    }
}

fn place(kind: &Kind, object: &WatchedObject) -> Place {
    Place::new(kind, object.shared_key())
}
