//! The admission webhook: judges requests by the policies in force.
//!
//! The server that carries the bytes is `admission-server`.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use admission_server::{AdmissionHandler, AdmissionRequest, AdmissionResponse};
use constraint_framework::driver::Budget;
use constraint_framework::policyset::Compiler;
use constraint_framework::review::{Document, EnforcementPoint, Verdict};
use constraint_framework::target::AdmissionTarget;
use futures::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument, Span};

use crate::api_error::causes;
use crate::config::Process;
use crate::in_force::{InForce, PolicyHandle};

use super::costs::{self, ReviewCosts};
use super::inline_review::{self, AtOnce};
use super::{Namespaces, Records, is_namespace, own_kinds};

/// The part of the time to the deadline that is kept for writing the answer.
const ANSWER: Duration = Duration::from_millis(100);

/// Gatekeeper's words.
const LEFT_OUT: &str = "Namespace is set to be ignored by Gatekeeper config";

/// Says whether an answer may leave, or why not.
type AnswerGuard = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The handler of `/v1/admit`.
pub struct Webhook {
    policies: PolicyHandle,
    namespaces: Arc<dyn Namespaces>,
    budget: Budget,
    permits: Arc<Semaphore>,
    concurrency: usize,
    at_once: AtOnce,
    guard: AnswerGuard,
    records: Records,
    /// Checks templates before they are stored. One for all requests: it keeps the match schema that it has checked.
    compiler: Compiler,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").field("permits", &self.permits).finish_non_exhaustive()
    }
}

impl Webhook {
    /// Creates a webhook that judges at most `concurrency` reviews at once; the others wait, at most until their deadlines.
    pub fn new(
        policies: PolicyHandle,
        namespaces: Arc<dyn Namespaces>,
        budget: Budget,
        concurrency: usize,
    ) -> Self {
        costs::announce();
        let concurrency = concurrency.max(1);
        Self {
            policies,
            namespaces,
            budget,
            permits: Arc::new(Semaphore::new(concurrency)),
            concurrency,
            at_once: AtOnce::default(),
            guard: Box::new(|| Ok(())),
            records: Records::default(),
            compiler: Compiler::default(),
        }
    }

    /// Asks `guard` after each decision, before the answer leaves; where it refuses, the webhook's `failurePolicy`
    /// decides. After the decision: a process that was frozen in between must not answer with what it decided then.
    #[must_use]
    pub fn guarded_by(self, guard: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self { guard: Box::new(guard), ..self }
    }

    /// Records verdicts there.
    #[must_use]
    pub fn recording(self, records: Records) -> Self {
        Self { records, ..self }
    }

    async fn answer(&self, request: AdmissionRequest) -> AdmissionResponse {
        let (begun, dry_run) = (Instant::now(), request.dry_run);
        let span = span(&request);
        let decided = self.decide(request).instrument(span.clone()).await;
        let response = match (self.guard)() {
            Ok(()) => decided,
            Err(reason) => AdmissionResponse::unavailable(reason),
        };
        let took = begun.elapsed();
        count(&response, dry_run, took);
        span.in_scope(|| tracing::debug!(code = response.code(), ?took, "answered"));
        response
    }

    async fn decide(&self, request: AdmissionRequest) -> AdmissionResponse {
        let deadline = request.deadline.checked_sub(ANSWER).unwrap_or(request.deadline);
        if self.is_left_out(&request) {
            return AdmissionResponse::allow().with_message(LEFT_OUT);
        }
        let namespace = match self.namespace(&request).await {
            Ok(namespace) => namespace,
            Err(reason) => return AdmissionResponse::error(reason),
        };
        let waiting = metrics::gauge!("webtroller_reviews_waiting");
        let begun = Instant::now();
        waiting.increment(1.0);
        let permit = timeout_at(deadline, self.permits.clone().acquire_owned()).await;
        waiting.decrement(1.0);
        metrics::histogram!("webtroller_review_wait_seconds").record(begun.elapsed());
        match permit {
            Ok(Ok(permit)) => self.judge(request, namespace, deadline, permit).await,
            Ok(Err(error)) => AdmissionResponse::error(error.to_string()),
            Err(_) => AdmissionResponse::unavailable(
                "overloaded: the request was not judged in time; raise --max-serving-threads or add pods",
            ),
        }
    }

    /// Returns true if the Config leaves out the Namespace that the object is in, or is.
    fn is_left_out(&self, request: &AdmissionRequest) -> bool {
        let namespace = if is_namespace(request) { &request.name } else { &request.namespace };
        self.policies.current().excluded.contains(Process::Webhook, namespace)
    }

    async fn namespace(&self, request: &AdmissionRequest) -> Result<Option<Document>, String> {
        // A Namespace is in no namespace, although the API server sends its name as one.
        if request.namespace.is_empty() || is_namespace(request) {
            return Ok(None);
        }
        self.namespaces.get(&request.namespace).await.map_err(|error| error.to_string())
    }

    async fn judge(
        &self,
        request: AdmissionRequest,
        namespace: Option<Document>,
        deadline: Instant,
        permit: OwnedSemaphorePermit,
    ) -> AdmissionResponse {
        let own_kind = own_kinds::is_own(&request);
        let work = Work {
            in_force: self.policies.current(),
            budget: self.budget,
            records: self.records.clone(),
            compiler: self.compiler.clone(),
            request,
            namespace,
            deadline,
            _permit: permit,
        };
        let alone = self.permits.available_permits().saturating_add(1) == self.concurrency;
        // The operator's own kinds are compiled, which takes long.
        if !own_kind && self.at_once.takes(work.request.json().len(), alone) {
            match std::panic::catch_unwind(AssertUnwindSafe(|| work.at_once())) {
                Ok(Some(response)) => return response,
                Ok(None) => self.at_once.overran(),
                Err(_) => return engine_failed(),
            }
        }
        let span = Span::current();
        // Policies may compute for long, and an engine may panic: neither must reach the threads that keep connections
        // alive.
        tokio::task::spawn_blocking(move || span.in_scope(|| work.run()))
            .await
            .unwrap_or_else(|_| engine_failed())
    }
}

/// Everything that judging one request takes.
struct Work {
    request: AdmissionRequest,
    namespace: Option<Document>,
    in_force: InForce,
    budget: Budget,
    deadline: Instant,
    records: Records,
    compiler: Compiler,
    /// Kept by the thread, not by the request: a client that gives up does not make room for another thread.
    _permit: OwnedSemaphorePermit,
}

impl Work {
    /// The answer, however long it takes.
    fn run(&self) -> AdmissionResponse {
        match own_kinds::check(&self.request, &self.compiler, &self.in_force.policies, &self.budget) {
            Ok(warnings) => {
                let answered = self.judge(self.deadline).map(|judged| self.answer(judged));
                answered.unwrap_or_else(AdmissionResponse::error).with_warnings(warnings)
            }
            Err(refusal) => refusal,
        }
    }

    /// The answer, if it takes no longer than a thread is lent for. Otherwise nothing was recorded, and `run` begins anew.
    fn at_once(&self) -> Option<AdmissionResponse> {
        let deadline = Instant::now().checked_add(inline_review::LONGEST)?;
        match self.judge(deadline.min(self.deadline)) {
            Ok((_, cost)) if cost.is_out_of_time() => None,
            judged => Some(judged.map_or_else(AdmissionResponse::error, |judged| self.answer(judged))),
        }
    }

    fn judge(&self, deadline: Instant) -> Result<(Verdict, ReviewCosts), String> {
        let mut review = AdmissionTarget.request(self.request.json()).map_err(|error| causes(&error))?;
        if self.namespace.is_some() {
            review = review.into_builder().namespace_object(self.namespace.clone()).build();
        }
        let (point, mut cost) = (EnforcementPoint::WEBHOOK, ReviewCosts::default());
        let policies = &self.in_force.policies;
        let verdict = policies.review_observed(&review, point, &self.budget, deadline.into_std(), &mut cost);
        Ok((verdict, cost))
    }

    /// Records the verdict, and answers by it.
    fn answer(&self, (verdict, cost): (Verdict, ReviewCosts)) -> AdmissionResponse {
        cost.add_to(&self.records.costs);
        self.records.record(&self.request, &verdict, &self.in_force.policies);
        answer(&verdict, self.in_force.suspension.as_deref())
    }
}

fn engine_failed() -> AdmissionResponse {
    AdmissionResponse::error("the policies could not be evaluated: an engine failed")
}

impl AdmissionHandler for Webhook {
    fn admit(&self, request: AdmissionRequest) -> BoxFuture<'_, AdmissionResponse> {
        Box::pin(self.answer(request))
    }
}

fn answer(verdict: &Verdict, suspension: Option<&str>) -> AdmissionResponse {
    match suspension {
        Some(suspension) if verdict.is_denied() => suspended(verdict, suspension),
        _ => response(verdict),
    }
}

/// Everything that is logged about a request carries its `uid`, which the API server's audit log has too.
fn span(request: &AdmissionRequest) -> Span {
    tracing::info_span!(
        "review",
        request_uid = request.uid,
        operation = request.operation,
        kind = request.kind.kind,
        namespace = request.namespace,
        // `name` is the span's own: a second one of that key would hide the object's from most parsers.
        resource_name = request.name,
    )
}

/// Counts an answer as Gatekeeper does.
fn count(response: &AdmissionResponse, dry_run: bool, took: Duration) {
    let status = match response.code() {
        200 => "allow",
        403 | 422 => "deny",
        _ => "error",
    };
    let dry_run = if dry_run { "true" } else { "false" };
    metrics::counter!(
        "gatekeeper_validation_request_count_total", "admission_status" => status, "admission_dryrun" => dry_run
    )
    .increment(1);
    metrics::histogram!("gatekeeper_validation_request_duration_seconds", "admission_status" => status)
        .record(took);
}

/// Admits what would be refused, with a warning that says so.
fn suspended(verdict: &Verdict, suspension: &str) -> AdmissionResponse {
    let denied = verdict.denial();
    let denials = denied.lines().map(|line| format!("not enforced: {line}"));
    let warnings = std::iter::once(suspension.to_owned()).chain(denials).chain(verdict.warnings());
    AdmissionResponse::allow().with_warnings(warnings)
}

/// Codes and wording are Gatekeeper's.
fn response(verdict: &Verdict) -> AdmissionResponse {
    let response = match verdict.is_denied() {
        true => AdmissionResponse::deny(verdict.denial()),
        false => AdmissionResponse::allow(),
    };
    response.with_warnings(verdict.warnings())
}
