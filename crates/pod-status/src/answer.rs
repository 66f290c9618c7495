//! The answer to one question about a parent, as a condition gives it.

/// The reason of `Ingested=False` if some pod has an error that it does not retry.
pub(crate) const INGEST_ERROR: &str = "IngestError";

/// The reason of `Enforced=False` if the parent has nothing for the pods to enforce.
pub(crate) const NOTHING_TO_ENFORCE: &str = "NothingToEnforce";

/// The reason of `Enforced=False` if some pod has ingested the parent and does not enforce it.
pub(crate) const NOT_ENFORCING: &str = "NotEnforcing";

/// The status of a condition, its reason and its message.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Answer {
    pub(crate) fn yes(reason: &'static str, message: String) -> Self {
        Self { status: "True", reason, message }
    }
    pub(crate) fn no(reason: &'static str, message: String) -> Self {
        Self { status: "False", reason, message }
    }
    pub(crate) fn unknown(reason: &'static str, message: String) -> Self {
        Self { status: "Unknown", reason, message }
    }

    pub(crate) fn is_true(&self) -> bool {
        self.status == "True"
    }
}
