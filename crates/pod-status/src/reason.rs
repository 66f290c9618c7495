//! Errors of the Kubernetes client in words, for log messages and metrics.

use std::error::Error;

use kube::core::Status;
use tokio::time::error::Elapsed;

/// The longest text. A proxy may answer with a page of HTML.
const LONGEST: usize = 512;

/// The failure of a request: the API server's own message, or the causes, outermost first and each once.
///
/// kube's own text of a refusal ends in the debug output of a `Status`, and of a lost answer in `deadline has elapsed`.
pub(crate) fn reason(error: &kube::Error) -> String {
    let text = match error {
        kube::Error::Api(status) if status.message.is_empty() => format!("HTTP {}", status.code),
        kube::Error::Api(status) => format!("{} (HTTP {})", status.message.trim_end(), status.code),
        error => error.source().map_or_else(|| error.to_string(), causes),
    };
    text.chars().take(LONGEST).collect()
}

/// The answer of an API server that serves a kind without the subresource `status`, in words.
pub(crate) fn no_subresource(kind: &str, code: u16) -> kube::Error {
    let message = format!(
        "{kind} is served without the subresource status: its CustomResourceDefinition must have subresources: {{status: {{}}}}"
    );
    kube::Error::Api(Status::failure(&message, "NotFound").with_code(code).boxed())
}

/// The code for the label of a metric. The client does not show which code a success had.
pub(crate) fn code<T>(answer: &kube::Result<T>) -> String {
    match answer {
        Ok(_) => "2xx".to_owned(),
        Err(kube::Error::Api(status)) => status.code.to_string(),
        Err(_) => "none".to_owned(),
    }
}

fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = in_words(error);
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = in_words(cause);
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

fn in_words(error: &(dyn Error + 'static)) -> String {
    if error.is::<Elapsed>() { "no answer in time".to_owned() } else { error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::pace::answered_within;

    fn refused(message: &str) -> kube::Error {
        let status = serde_json::json!({"code": 403, "message": message, "reason": "Forbidden"});
        kube::Error::Api(serde_json::from_value(status).unwrap())
    }

    #[test]
    fn a_refusal_is_the_servers_message() {
        let error = refused("policies.test \"p\" is forbidden\n");
        assert_eq!(reason(&error), "policies.test \"p\" is forbidden (HTTP 403)");
        assert_eq!(reason(&refused("")), "HTTP 403");
        assert!(reason(&refused(&"<p>".repeat(5000))).len() <= LONGEST);
        assert_eq!(code::<()>(&Err(error)), "403");
    }

    #[tokio::test(start_paused = true)]
    async fn other_failures_are_their_causes_without_the_names_of_types() {
        let lost = answered_within::<()>(Duration::from_secs(1), std::future::pending()).await;
        assert_eq!(code(&lost), "none");
        assert_eq!(reason(&lost.unwrap_err()), "no answer in time");
        let closed = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "connection refused");
        assert_eq!(reason(&kube::Error::Service(closed.into())), "connection refused");
        assert_eq!(code(&Ok(())), "2xx");
    }
}
