//! The pipeline of judging on threads for blocking work; results come out in the order in which objects came in.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use constraint_framework::review::Document;
use kube::api::{DynamicObject, GetParams};
use kube::core::response::reason::NOT_FOUND;
use kube::core::{Request, Resource};
use tokio::sync::Semaphore;

use crate::api_error::reason;
use crate::audit::AuditContext;
use crate::audit::judge::Judge;
use crate::audit::kinds::ServedKind;
use crate::audit::ledger::{Judged, Pass, Scope, Suspicion};
use crate::audit::place::{Kind, Place, Version};
use crate::audit::source::Head;
use crate::enforce::{NamespaceError, Namespaces};

/// The number of attempts to read a Namespace.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// One thing that arrived.
pub(super) enum Work {
    /// A watch delivered the object. Without its text it is read.
    Watched { place: Place, version: String, text: Option<String>, served: ServedKind },
    /// A watch delivered that it is gone.
    Gone(Place),
    /// A list holds it.
    Listed { place: Place, version: String, text: String, scope: Scope, verifies: bool },
    /// To be read and judged again. The text is filled in, if the object exists.
    Read { place: Place, served: ServedKind, found: Option<(String, String)> },
    /// To be read, because a verification found it to be otherwise than it is known.
    Examine { place: Place, served: ServedKind, suspicion: Suspicion, found: ReadResult },
    /// Every object of the first list has arrived.
    KindListed(Kind),
    /// A page has arrived completely, and the next one begins there.
    PageEnded(Pass, String),
    /// A list has arrived completely, or as far as it could be fetched.
    PassEnded(Pass, Result<(), String>),
}

/// The same, judged.
pub(super) enum Done {
    Watched(Place, Version, Judged),
    Gone(Place),
    Listed(Place, Version, Judged, bool),
    Read(Place, Option<(Version, Judged)>),
    Examined(Place, Suspicion, Option<(Version, Judged)>),
    KindListed(Kind),
    PageEnded(Pass, String),
    PassEnded(Pass, Result<(), String>),
}

/// The result of reading one object.
#[derive(Default)]
pub(super) enum ReadResult {
    /// It exists, at this version.
    Object { version: String, text: String },
    /// It does not exist.
    Absent,
    /// It may not be read, or its kind is not served.
    #[default]
    Unknown,
}

/// Judges batches.
#[derive(Clone)]
pub(super) struct JudgePool {
    client: kube::Client,
    namespaces: Arc<dyn Namespaces>,
    threads: Arc<Semaphore>,
}

/// A Namespace as far as it is known.
#[derive(Clone)]
enum NamespaceState {
    /// `None` where it cannot be known.
    Namespace(Option<Document>),
    /// It does not exist: its objects are about to go.
    Gone,
}

impl JudgePool {
    pub(super) fn new(context: &AuditContext, threads: Arc<Semaphore>) -> Self {
        Self { client: context.client.clone(), namespaces: context.namespaces.clone(), threads }
    }

    /// Judges a batch by one policy set.
    pub(super) async fn process(self, judge: Judge, mut batch: Vec<Work>) -> Vec<Done> {
        for work in &mut batch {
            self.read(work).await;
        }
        let around = self.around(&batch, &judge).await;
        // The semaphore is never closed.
        let permit = self.threads.acquire_owned().await.ok();
        let judged = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            batch.into_iter().filter_map(|work| work.judge(&judge, &around)).collect()
        });
        // A policy's panic is contained where it is evaluated; this one is a defect, and ends the audit.
        judged.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    /// Fills in what is to be read.
    async fn read(&self, work: &mut Work) {
        match work {
            Work::Watched { place, version, text: text @ None, served } => {
                let found = self.object(place, served).await.content();
                // Another version is on its way, with its text.
                *text = found.filter(|(found, _)| found == version).map(|(_, text)| text);
            }
            Work::Read { place, served, found } => *found = self.object(place, served).await.content(),
            Work::Examine { place, served, found, .. } => *found = self.object(place, served).await,
            _ => {}
        }
    }

    /// Reads an object. While the API server is away, so is everything else that is to be judged. One that has just
    /// started refuses what is allowed (403) until it knows the roles.
    async fn object(&self, place: &Place, served: &ServedKind) -> ReadResult {
        let namespace = Some(place.namespace()).filter(|namespace| !namespace.is_empty());
        let url = DynamicObject::url_path(&served.resource(), namespace);
        let mut refusals = 0..ATTEMPTS;
        loop {
            let Ok(request) = Request::new(url.clone()).get(place.name(), &GetParams::default()) else {
                return ReadResult::Unknown;
            };
            match self.client.request_text(request).await {
                Ok(text) => return ReadResult::of(text),
                // The API server answers 404 for a kind that it does not serve too, without this reason.
                Err(kube::Error::Api(status)) if status.reason == NOT_FOUND => return ReadResult::Absent,
                Err(kube::Error::Api(status)) if status.code == 404 => return ReadResult::Unknown,
                Err(kube::Error::Api(status)) if status.code == 403 && refusals.next().is_none() => {
                    return ReadResult::Unknown;
                }
                Err(error) => {
                    tracing::warn!(object = %place, error = reason(&error), "cannot be read for the audit, will retry");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// The Namespaces of a batch.
    async fn around(&self, batch: &[Work], judge: &Judge) -> HashMap<Box<str>, NamespaceState> {
        let mut found = HashMap::new();
        for place in batch.iter().filter_map(Work::judged_place) {
            let namespace = place.namespace();
            if namespace.is_empty() || found.contains_key(namespace) {
                continue;
            }
            let around = match judge.leaves_out(place) {
                true => NamespaceState::Namespace(None),
                false => self.namespace(namespace).await,
            };
            found.insert(namespace.into(), around);
        }
        found
    }

    async fn namespace(&self, name: &str) -> NamespaceState {
        for _ in 0..ATTEMPTS {
            match self.namespaces.get(name).await {
                Ok(namespace) => return NamespaceState::Namespace(namespace),
                Err(NamespaceError::NotFound(_)) => return NamespaceState::Gone,
                Err(error) => {
                    tracing::warn!(%error, "an object is not audited yet, will retry");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        NamespaceState::Namespace(None)
    }
}

impl ReadResult {
    fn of(text: String) -> Self {
        match serde_json::from_str::<Head<'_>>(&text) {
            Ok(head) => Self::Object { version: head.metadata.resource_version.to_string(), text },
            Err(_) => Self::Unknown,
        }
    }

    /// Version and text, if there are any.
    fn content(self) -> Option<(String, String)> {
        match self {
            Self::Object { version, text } => Some((version, text)),
            Self::Absent | Self::Unknown => None,
        }
    }
}

impl Work {
    fn judged_place(&self) -> Option<&Place> {
        match self {
            Self::Watched { place, .. } | Self::Listed { place, .. } | Self::Read { place, .. } => {
                Some(place)
            }
            Self::Examine { place, .. } => Some(place),
            _ => None,
        }
    }

    fn judge(self, judge: &Judge, around: &HashMap<Box<str>, NamespaceState>) -> Option<Done> {
        Some(match self {
            Self::Watched { place, version, text, .. } => {
                let judged = verdict(judge, &place, text?, Scope::All, around);
                Done::Watched(place, Version::from(version.as_str()), judged)
            }
            Self::Listed { place, version, text, scope, verifies } => {
                let judged = verdict(judge, &place, text, scope, around);
                Done::Listed(place, Version::from(version.as_str()), judged, verifies)
            }
            Self::Gone(place) => Done::Gone(place),
            Self::Read { place, found, .. } => {
                let judged = found.map(|(version, text)| {
                    let judged = verdict(judge, &place, text, Scope::All, around);
                    (Version::from(version.as_str()), judged)
                });
                Done::Read(place, judged)
            }
            Self::Examine { place, suspicion, found, .. } => {
                let is_absent = matches!(found, ReadResult::Absent);
                let judged = found.content().map(|(version, text)| {
                    let judged = verdict(judge, &place, text, Scope::All, around);
                    (Version::from(version.as_str()), judged)
                });
                (is_absent || judged.is_some()).then_some(Done::Examined(place, suspicion, judged))?
            }
            Self::KindListed(kind) => Done::KindListed(kind),
            Self::PageEnded(pass, token) => Done::PageEnded(pass, token),
            Self::PassEnded(pass, result) => Done::PassEnded(pass, result),
        })
    }
}

fn verdict(
    judge: &Judge,
    place: &Place,
    text: String,
    scope: Scope,
    around: &HashMap<Box<str>, NamespaceState>,
) -> Judged {
    let namespace = match around.get(place.namespace()) {
        Some(NamespaceState::Gone) => return judge.nothing(scope),
        Some(NamespaceState::Namespace(namespace)) => namespace.clone(),
        None => None,
    };
    if judge.leaves_out(place) {
        return judge.nothing(scope);
    }
    match Document::from_json_string(text) {
        Ok(object) => judge.judge(object, namespace, scope),
        // The API server sends none.
        Err(error) => {
            tracing::warn!(object = %place, %error, "not audited: the object cannot be read");
            judge.nothing(scope)
        }
    }
}
