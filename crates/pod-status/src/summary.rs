//! `status.summary`: how many pods there are, and how far they are with the generation that was read.

use serde_json::{Value, json};

use crate::shape::Shape;
use crate::vote::Vote;

/// `{pods, ingested, enforcing, failed}`, over all members, also those that [`Shape::by_pod_limit`] leaves out. A kind that
/// is not enforced has no `enforcing`.
pub(crate) fn of(shape: &Shape, generation: i64, votes: &[Vote<'_>]) -> Value {
    let heard = || votes.iter().filter(|vote| vote.is_about(generation));
    let ingested = heard().filter(|vote| vote.is_clean());
    let enforcing = ingested.clone().filter(|vote| vote.is_enforced(shape, generation)).count();
    let mut summary = json!({
        "pods": votes.len(),
        "ingested": ingested.count(),
        "failed": heard().filter(|vote| !vote.is_clean()).count(),
    });
    if let Some(fields) = summary.as_object_mut().filter(|_| !shape.enforcing.is_empty()) {
        fields.insert("enforcing".to_owned(), json!(enforcing));
    }
    summary
}
