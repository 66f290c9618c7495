//! Work that takes longer than the loop may wait: compiling, and CRDs.

use std::time::Duration;

use constraint_framework::IngestError;
use constraint_framework::api::ConstraintTemplate;
use constraint_framework::policyset::{CompiledTemplate, Compiler};
use pod_status::ParentKey;
use serde_json::Value;

use crate::controller::constraint_crd::establish;

/// The first retry of a CRD that was refused, and the longest wait between two.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

/// A job that came to its end, and which version of which template it was for.
pub(super) struct Done {
    pub(super) template: ParentKey,
    pub(super) version: u64,
    pub(super) result: JobResult,
}

pub(super) enum JobResult {
    Compiled(Box<Result<CompiledTemplate, IngestError>>),
    Established(Result<(), String>),
}

/// Compiles on a thread for blocking work: a template may take as long as its budget allows.
pub(super) async fn compile(compiler: Compiler, template: ParentKey, version: u64, manifest: Value) -> Done {
    let work = tokio::task::spawn_blocking(move || {
        let template = ConstraintTemplate::from_value(&manifest)?;
        compiler.compile(&template)
    });
    let compiled = work.await.unwrap_or_else(|_| Err(IngestError::CompilerFailed));
    Done { template, version, result: JobResult::Compiled(Box::new(compiled)) }
}

/// Applies a constraint CRD, after a wait that grows with the attempts that failed before.
pub(super) async fn apply_crd(
    client: kube::Client,
    template: ParentKey,
    version: u64,
    crd: Value,
    attempt: u32,
) -> Done {
    if let Some(previous) = attempt.checked_sub(1) {
        let (first, longest) = RETRY;
        tokio::time::sleep(first.saturating_mul(2_u32.saturating_pow(previous)).min(longest)).await;
    }
    let established = establish(client, template.clone(), crd).await;
    Done { template, version, result: JobResult::Established(established) }
}
