//! Errors of the Kubernetes client as sentences for people, and the ones that trying again cannot help.

/// The error in words: the API server's own message, or the causes of a failed request, each once.
pub(crate) fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} (HTTP {})", status.message, status.code),
        error => causes(error),
    }
}

/// The causes of an error, outermost first. A cause whose text its parent already includes is left out.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Returns true if the API server refused the content of the request, so that the same request cannot succeed later.
///
/// Everything else may pass: a restarted API server answers 403 to service accounts until its RBAC cache is filled,
/// 404 while a CRD is not served yet, and 5xx or 429 under load.
pub(crate) fn is_permanent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 400 | 405 | 413 | 422))
}
