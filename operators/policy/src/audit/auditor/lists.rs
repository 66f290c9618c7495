//! Lists of what has to be judged again, page by page, and reads of single objects.

use std::collections::VecDeque;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::Instant;
use watch_manager::source::{Listed, Page, SourceError, WatchTarget};

use super::pipeline::{ReadResult, Work};
use super::{Auditor, BATCH};
use crate::audit::ledger::Pass;
use crate::audit::place::{Kind, Place};
use crate::audit::source::Head;
use crate::retry::Waits;

/// Lists that are fetched at the same time.
const LISTS: usize = 4;
/// The waits after a list that failed.
const RETRY: Waits = Waits { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
/// The time between two passes that the inventory makes necessary, at least.
const REFRESH: Duration = Duration::from_secs(10);
/// A watch delivers what is on its way within this time.
const GRACE: Duration = Duration::from_secs(10);
/// Reads of suspects in that time, so that a watch that has missed everything does not become a flood of requests.
const SUSPECTS: usize = 500;
/// The deadline of a page.
const ANSWER: Duration = Duration::from_secs(30);

/// A page, or why there is none.
pub(super) struct Fetched {
    pass: Pass,
    page: Result<Listed, SourceError>,
}

/// The delays after which a kind whose list failed is listed again.
#[derive(Clone, Copy)]
pub(super) struct Backoff {
    until: Instant,
    wait: Duration,
}

impl Auditor {
    pub(super) fn start_lists(&mut self, now: Instant) {
        while self.lists.len() < LISTS {
            let may_begin = |kind: &Kind| self.backoffs.get(kind).is_none_or(|backoff| backoff.until <= now);
            let refresh = self.refresh_at <= now;
            let Some(pass) = self.ledger.next_pass(refresh, may_begin) else { break };
            self.violation_log.pass_begins(&pass);
            self.fetch(pass, None);
        }
        self.read_outdated();
    }

    /// Requests the page of a pass that begins at `token`.
    fn fetch(&mut self, pass: Pass, token: Option<String>) {
        let Some((_, served)) = self.kinds.get(&pass.kind.gvk()) else {
            return self.ledger.pass_ended(&pass, false);
        };
        let mut target = WatchTarget::all(served.resource());
        target.namespace = pass.namespace.clone();
        let mut page = Page::first(self.options.chunk_size);
        page.continue_token = token;
        let source = self.objects.clone();
        let fetch = async move {
            let answer = tokio::time::timeout(ANSWER, source.list(&target, &page)).await;
            let late = || SourceError::Unavailable(format!("no answer within {} s", ANSWER.as_secs()));
            Fetched { pass, page: answer.unwrap_or_else(|_| Err(late())) }
        };
        self.lists.push(fetch.boxed());
    }

    pub(super) fn on_fetched(&mut self, Fetched { mut pass, page }: Fetched) {
        let listed = match page {
            Ok(listed) => listed,
            Err(error) => return self.submit(vec![Work::PassEnded(pass, Err(error.to_string()))]),
        };
        let gvk = pass.kind.gvk();
        let work = |raw: Box<serde_json::value::RawValue>| -> serde_json::Result<Work> {
            let head: Head<'_> = serde_json::from_str(raw.get())?;
            Ok(Work::Listed {
                place: Place::of(&pass.kind, &head.metadata.namespace, &head.metadata.name),
                version: head.metadata.resource_version.to_string(),
                text: head.complete(&gvk, raw.get()),
                scope: pass.scope.clone(),
                verifies: pass.verifies,
            })
        };
        let (mut works, mut unreadable) = (VecDeque::new(), 0_usize);
        for read in listed.items.into_iter().map(work) {
            match read {
                Ok(work) => works.push_back(work),
                Err(error) => {
                    tracing::warn!(kind = %pass.kind, %error, "an object cannot be read for the audit");
                    unreadable = unreadable.saturating_add(1);
                }
            }
        }
        pass.unreadable = pass.unreadable.saturating_add(unreadable);
        works.push_back(match listed.continue_token {
            Some(token) => Work::PageEnded(pass, token),
            None => Work::PassEnded(pass, Ok(())),
        });
        self.submit_all(works);
    }

    /// The page before has been judged, so that at most one page of a list is in memory.
    pub(super) fn next_page(&mut self, pass: Pass, token: String) {
        self.fetch(pass, Some(token));
    }

    pub(super) fn pass_ended(&mut self, pass: &Pass, result: Result<(), String>) {
        let now = Instant::now();
        let complete = result.is_ok();
        match result {
            Ok(()) => {
                self.backoffs.remove(&pass.kind);
                self.ledger.set_unavailable(&pass.kind, None);
                self.violation_log.pass_ends(pass);
            }
            Err(error) => {
                let before = self.backoffs.get(&pass.kind).map(|backoff| backoff.wait);
                let wait = RETRY.following(before.unwrap_or_default());
                let until = now.checked_add(wait).unwrap_or(now);
                self.backoffs.insert(pass.kind.clone(), Backoff { until, wait });
                tracing::warn!(kind = %pass.kind, error, retry = ?wait, "cannot be listed for the audit");
                self.ledger.set_unavailable(&pass.kind, Some(&format!("list: {error}")));
            }
        }
        self.ledger.pass_ended(pass, complete);
        self.refresh_at = now.checked_add(REFRESH).unwrap_or(now);
    }

    /// Few objects that a change of the inventory concerns are read one by one.
    fn read_outdated(&mut self) {
        let outdated = self.ledger.take_outdated();
        let works = outdated.into_iter().filter_map(|place| {
            let (_, served) = self.kinds.get(&place.kind.gvk())?.clone();
            Some(Work::Read { place, served, found: None })
        });
        self.submit_all(works.collect());
    }

    /// Reads what a verification found to be otherwise than the watch has it, after a time in which the watch delivers what
    /// is on its way.
    pub(super) fn examine_suspects(&mut self, now: Instant) {
        if self.examine_at > now {
            return;
        }
        self.examine_at = now.checked_add(GRACE).unwrap_or(now);
        let suspects = self.ledger.take_suspects(SUSPECTS);
        let works = suspects.into_iter().filter_map(|(place, suspicion)| {
            let (_, served) = self.kinds.get(&place.kind.gvk())?.clone();
            Some(Work::Examine { place, served, suspicion, found: ReadResult::default() })
        });
        self.submit_all(works.collect());
    }

    fn submit_all(&mut self, mut works: VecDeque<Work>) {
        while !works.is_empty() {
            let batch = works.drain(..works.len().min(BATCH)).collect();
            self.submit(batch);
        }
    }
}
