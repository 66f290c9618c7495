//! Keeps the stored reports equal to what the ledger knows: gathered, limited in rate, and only what differs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::time::Instant;

use super::foreign_edits::Strays;
use crate::audit::AuditContext;
use crate::audit::ledger::Ledger;
use crate::audit::reports::{Key, PolicyReport, PutError, ReportFormat, ReportStore, Stored, reports};
use crate::retry::Waits;

/// A change waits this long for others of its namespace.
const GATHER: Duration = Duration::from_secs(2);
/// Namespaces that are written at the same time, and the time for each report, so that they are at most 20 a second.
const WRITES: usize = 2;
const PACE: Duration = Duration::from_millis(100);
/// The waits after a failure.
const RETRY: Waits = Waits { first: Duration::from_secs(1), longest: Duration::from_secs(60) };

/// The reports of a term; nothing where none are asked for.
pub(super) struct Reports(Option<Writer>);

struct Writer {
    store: ReportStore,
    format: ReportFormat,
    strays: Strays,
    /// The stored reports, once they were listed.
    stored: BTreeMap<Key, Stored>,
    /// The time when what is stored is to be listed; `None` while it is being listed, or is known.
    open_at: Option<Instant>,
    is_open: bool,
    /// The first pass over everything has ended. Before, reports would lose what other pods have found.
    is_complete: bool,
    due: BTreeMap<Box<str>, Instant>,
    busy: BTreeSet<Box<str>>,
    waits: BTreeMap<Box<str>, Duration>,
    open_wait: Duration,
    work: FuturesUnordered<BoxFuture<'static, Ended>>,
}

/// A report to write over what is known of it; without one, to delete.
struct Change {
    key: Key,
    report: Option<PolicyReport>,
    known: Option<Stored>,
}

/// The end of some work.
pub(super) enum Ended {
    Opened(Result<BTreeMap<Key, Stored>, String>),
    /// The stored object, `None` for one that was deleted.
    Written {
        namespace: Box<str>,
        written: Vec<(Key, Option<Stored>)>,
        failure: Option<(Key, PutError)>,
    },
}

impl Reports {
    /// Reports that are written where they are asked for.
    ///
    /// # Errors
    /// A defect of the composition.
    pub(super) fn new(context: &AuditContext) -> Result<Self, watch_manager::Error> {
        let Some(format) = context.options.reports else { return Ok(Self(None)) };
        let now = Instant::now();
        Ok(Self(Some(Writer {
            store: ReportStore::new(context.client.clone(), format),
            format,
            strays: Strays::new(context.manager.registrar("audit: reports")?),
            stored: BTreeMap::new(),
            open_at: Some(now),
            is_open: false,
            is_complete: false,
            due: BTreeMap::new(),
            busy: BTreeSet::new(),
            waits: BTreeMap::new(),
            open_wait: Duration::ZERO,
            work: FuturesUnordered::new(),
        })))
    }

    /// Begins to write what is due and differs.
    pub(super) fn write(&mut self, ledger: &mut Ledger, now: Instant) {
        let touched = ledger.take_touched();
        if let Some(writer) = &mut self.0 {
            writer.touch(touched, now);
            writer.find_strays(now);
            writer.write(ledger, now);
        }
    }

    /// Compares what is stored with what is known.
    pub(super) fn verify(&mut self, now: Instant) {
        if let Some(writer) = &mut self.0 {
            writer.open_at = Some(now);
        }
    }

    /// The next work that has ended; `None` while there is none. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Ended> {
        match &mut self.0 {
            Some(writer) => writer.next().await,
            None => None,
        }
    }

    pub(super) fn on_ended(&mut self, ended: Ended) {
        let Some(writer) = &mut self.0 else { return };
        match ended {
            Ended::Opened(opened) => writer.opened(opened),
            Ended::Written { namespace, written, failure } => writer.written(namespace, written, failure),
        }
    }

    /// Returns when the next report is due.
    pub(super) fn due(&self) -> Option<Instant> {
        let writer = self.0.as_ref().filter(|writer| writer.may_write() && writer.work.len() < WRITES)?;
        writer.due.iter().filter(|(namespace, _)| !writer.busy.contains(*namespace)).map(|(_, at)| *at).min()
    }
}

impl Writer {
    fn touch(&mut self, namespaces: BTreeSet<Box<str>>, now: Instant) {
        let at = now.checked_add(GATHER).unwrap_or(now);
        for namespace in namespaces {
            self.due.entry(namespace).or_insert(at);
        }
    }

    /// The next work that has ended; `None` while there is none. Cancel-safe.
    async fn next(&mut self) -> Option<Ended> {
        tokio::select! {
            Some(ended) = self.work.next() => Some(ended),
            () = self.strays.next() => None,
        }
    }

    fn find_strays(&mut self, now: Instant) {
        if !self.is_open || self.open_at.is_some() {
            return;
        }
        let busy = &self.busy;
        if let Some((namespace, name)) = self.strays.find(&self.stored, |one| busy.contains(one), now) {
            tracing::warn!(namespace = &*namespace, name, "another client has changed a report of the audit");
            self.open_at = Some(now);
        }
    }

    /// Returns true if what is stored is known, and what should be.
    fn may_write(&self) -> bool {
        self.is_open && self.is_complete && self.open_at.is_none()
    }

    fn write(&mut self, ledger: &Ledger, now: Instant) {
        // Not beside writes: a list from before one of them would hide it.
        if self.work.is_empty() && self.open_at.is_some_and(|at| at <= now) {
            self.open_at = None;
            self.is_open = false;
            self.work.push(self.store.clone().open().map(Ended::Opened).boxed());
        }
        self.is_complete |= ledger.is_settled();
        if !self.may_write() {
            return;
        }
        let due = self.due.iter().filter(|(namespace, at)| **at <= now && !self.busy.contains(*namespace));
        let due: Vec<_> = due.map(|(namespace, _)| namespace.clone()).collect();
        for namespace in due {
            if self.work.len() >= WRITES {
                return;
            }
            self.due.remove(&namespace);
            self.begin(namespace, ledger);
        }
    }

    fn begin(&mut self, namespace: Box<str>, ledger: &Ledger) {
        let changes = self.changes(&namespace, reports(ledger.violations(&namespace)));
        if !changes.is_empty() {
            self.busy.insert(namespace.clone());
            self.work.push(apply(self.store.clone(), namespace, changes).boxed());
        }
    }

    /// The reports of a namespace that differ from what is stored, and those that should not be there.
    fn changes(&self, namespace: &str, wanted: Vec<PolicyReport>) -> Vec<Change> {
        let key = |report: &PolicyReport| (Box::<str>::from(namespace), report.name.clone());
        let wanted: BTreeMap<_, _> = wanted.into_iter().map(|report| (key(&report), report)).collect();
        let first: Key = (namespace.into(), String::new());
        let here = self.stored.range(first..).take_while(|((of, _), _)| **of == *namespace);
        let left = here.filter(|(key, _)| !wanted.contains_key(*key)).map(|(key, _)| (key.clone(), None));
        let left: Vec<_> = left.collect();
        let differs = |(key, report): &(Key, PolicyReport)| {
            self.stored.get(key).map(|stored| stored.digest) != Some(report.digest())
        };
        let changed = wanted.into_iter().filter(differs).map(|(key, report)| (key, Some(report)));
        let known = |(key, report)| Change { known: self.stored.get(&key).cloned(), key, report };
        changed.chain(left).map(known).collect()
    }

    fn opened(&mut self, opened: Result<BTreeMap<Key, Stored>, String>) {
        let now = Instant::now();
        match opened {
            Ok(stored) => {
                // A report in a namespace without violations is left over.
                let namespaces =
                    stored.keys().chain(self.stored.keys()).map(|(namespace, _)| namespace.clone());
                let namespaces = namespaces.collect();
                self.touch(namespaces, now);
                self.strays.watch(self.format);
                (self.stored, self.is_open, self.open_wait) = (stored, true, Duration::ZERO);
            }
            Err(error) => {
                self.open_wait = RETRY.following(self.open_wait);
                self.open_at = now.checked_add(self.open_wait);
                tracing::warn!(error, retry = ?self.open_wait, "the reports of the audit are not written");
            }
        }
    }

    fn written(
        &mut self,
        namespace: Box<str>,
        written: Vec<(Key, Option<Stored>)>,
        failure: Option<(Key, PutError)>,
    ) {
        for (key, stored) in written {
            match stored {
                Some(stored) => self.stored.insert(key, stored),
                None => self.stored.remove(&key),
            };
        }
        self.busy.remove(&namespace);
        let Some(((_, name), error)) = failure else {
            self.waits.remove(&namespace);
            return;
        };
        let wait = RETRY.following(self.waits.get(&namespace).copied().unwrap_or_default());
        let now = Instant::now();
        match error {
            PutError::Conflict => {
                tracing::info!(
                    namespace = &*namespace,
                    name,
                    "another client has written a report of the audit"
                );
                self.open_at = Some(now);
            }
            PutError::Failed(error) => {
                tracing::warn!(namespace = &*namespace, name, error, retry = ?wait, "a report of the audit is not stored");
            }
        }
        self.due.insert(namespace.clone(), now.checked_add(wait).unwrap_or(now));
        self.waits.insert(namespace, wait);
    }
}

/// Writes one after the other, up to the first that fails.
async fn apply(store: ReportStore, namespace: Box<str>, changes: Vec<Change>) -> Ended {
    let (mut written, mut failure) = (Vec::new(), None);
    for Change { key, report, known } in changes {
        let put = store.put(&key, report.as_ref(), known.as_ref());
        match tokio::join!(put, tokio::time::sleep(PACE)).0 {
            Ok(stored) => written.push((key, stored)),
            Err(error) => {
                failure = Some((key, error));
                break;
            }
        }
    }
    Ended::Written { namespace, written, failure }
}
