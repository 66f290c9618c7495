//! Logs and counts what the controllers restored after another client changed or deleted it.

/// A repair of the object `name`.
pub(super) fn note(object: &'static str, name: &str) {
    tracing::warn!(object, name, "changed or deleted by another client; restoring it");
    metrics::counter!("webtroller_repairs_total", "object" => object).increment(1);
}
