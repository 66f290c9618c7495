//! From a verdict to the AdmissionReview that answers the request. Codes and wording are Gatekeeper's.

use constraint_framework::review::Verdict;
use serde_json::{Value, json};

use super::decode::Request;

/// An answer, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer(Value);

impl Answer {
    pub(super) fn verdict(request: &Request, verdict: &Verdict) -> Self {
        let warnings = verdict.warnings();
        let denial = verdict.denial();
        let mut response = match (verdict.is_denied(), warnings.is_empty()) {
            (true, _) => {
                json!({"allowed": false, "status": {"code": 403, "reason": "Forbidden", "message": denial}})
            }
            (false, false) => json!({"allowed": true, "status": {"code": 299}}),
            (false, true) => json!({"allowed": true, "status": {"code": 200}}),
        };
        if let Some(fields) = response.as_object_mut().filter(|_| !warnings.is_empty()) {
            fields.insert("warnings".to_owned(), Value::from(warnings));
        }
        Self::new(request, response)
    }

    /// The webhook itself failed: refused with code 500, as in Gatekeeper.
    pub(super) fn error(request: &Request, reason: &str) -> Self {
        let status = json!({"code": 500, "reason": "InternalError", "message": reason});
        Self::new(request, json!({"allowed": false, "status": status}))
    }

    /// Whether the request is admitted.
    pub fn is_allowed(&self) -> bool {
        self.0.pointer("/response/allowed") == Some(&Value::Bool(true))
    }

    /// The AdmissionReview as JSON text.
    pub fn body(&self) -> String {
        self.0.to_string()
    }

    fn new(request: &Request, mut response: Value) -> Self {
        if let Some(fields) = response.as_object_mut() {
            fields.insert("uid".to_owned(), Value::from(request.uid.as_str()));
        }
        Self(json!({"apiVersion": request.api_version, "kind": "AdmissionReview", "response": response}))
    }
}

/// The body for a request that is no AdmissionReview: readable by people and by clients that expect a review.
pub fn refusal(code: u16, message: &str) -> String {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "", "allowed": false, "status": {"code": code, "reason": "BadRequest", "message": message}}
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use constraint_framework::api::ConstraintRef;
    use constraint_framework::review::{Action, Violation};

    use super::*;

    fn answer(actions: &[Action]) -> Value {
        let body = json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {"uid": "u"}});
        let request = Request::decode(body.to_string().as_bytes()).unwrap();
        let violation = |(position, action): (usize, &Action)| Violation {
            constraint: ConstraintRef { kind: "K".to_owned(), name: format!("c{position}") },
            message: "no".to_owned(),
            details: None,
            actions: vec![*action],
        };
        Answer::verdict(&request, &Verdict::new(actions.iter().enumerate().map(violation).collect())).0
    }

    #[test]
    fn uid_and_version_are_the_requests_own() {
        let answer = answer(&[]);
        assert_eq!(answer["apiVersion"], "admission.k8s.io/v1beta1");
        assert_eq!(answer["response"], json!({"uid": "u", "allowed": true, "status": {"code": 200}}));
    }

    #[test]
    fn a_denial_keeps_the_warnings() {
        let response = &answer(&[Action::Deny, Action::Warn, Action::Dryrun])["response"];
        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"], json!({"code": 403, "reason": "Forbidden", "message": "[c0] no"}));
        assert_eq!(response["warnings"], json!(["[c1] no"]));
    }

    #[test]
    fn a_warning_admits_and_a_dry_run_is_silent() {
        let response = &answer(&[Action::Warn])["response"];
        assert_eq!((&response["allowed"], &response["status"]["code"]), (&json!(true), &json!(299)));
        let response = &answer(&[Action::Dryrun])["response"];
        assert_eq!((&response["status"]["code"], response.get("warnings")), (&json!(200), None));
    }
}
