//! Errors with their causes as sentences for people, and the errors of the Kubernetes client that trying again cannot help.

use kube::core::Status;

use crate::text::beginning;

/// The longest message of an API server, in bytes.
const LONGEST: usize = 4096;

/// The error in words: the API server's own message, or the causes of a failed request, each once.
pub(crate) fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => answer(status),
        error => causes(error),
    }
}

/// The causes of an error, outermost first. A cause whose text its parent already includes is left out.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(kube::Error::Api(status)) = cause.downcast_ref() {
            return format!("{text}: {}", answer(status));
        }
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// A proxy's answer has no message of its own, or a page of HTML.
fn answer(status: &Status) -> String {
    match beginning(status.message.trim_end(), LONGEST) {
        "" => format!("HTTP {}", status.code),
        message => format!("{message} (HTTP {})", status.code),
    }
}

/// Returns true if the API server refused the content of the request, so that the same request cannot succeed later.
///
/// Everything else may pass: a restarted API server answers 403 to service accounts until its RBAC cache is filled,
/// 404 while a CRD is not served yet, and 5xx or 429 under load.
pub(crate) fn is_permanent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 400 | 405 | 413 | 422))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("this pod could not be registered")]
    struct Outer(#[source] kube::Error);

    #[test]
    fn an_answer_of_the_api_server_is_told_once_wherever_it_is_in_the_chain() {
        let status = Status::failure("pods is forbidden", "Forbidden").with_code(403);
        let error = kube::Error::Api(Box::new(status));
        assert_eq!(reason(&error), "pods is forbidden (HTTP 403)");
        assert_eq!(causes(&Outer(error)), "this pod could not be registered: pods is forbidden (HTTP 403)");
    }

    #[test]
    fn an_answer_of_a_proxy_is_its_code_and_the_beginning_of_its_page() {
        let answered = |message: &str| {
            kube::Error::Api(Box::new(Status::failure(message, "ServiceUnavailable").with_code(503)))
        };
        assert_eq!(reason(&answered("")), "HTTP 503");
        assert_eq!(reason(&answered(&"<p>".repeat(5000))).len(), LONGEST + " (HTTP 503)".len());
    }
}
