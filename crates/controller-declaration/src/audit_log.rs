//! An audit log of the API server against a declaration.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::{Call, Declaration, DeclaredAccess, field};

/// The paths that `system:discovery` opens to everyone: how any client finds its resources.
const DISCOVERY: [&str; 8] =
    ["/api", "/apis", "/healthz", "/livez", "/openapi", "/openapi/v3", "/readyz", "/version"];

/// The differences between a declaration and an audit log; [`is_empty`](Self::is_empty) when there are none.
///
/// `Display` is one difference a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditLogReport {
    /// Calls that were made and are not declared.
    pub undeclared: BTreeSet<Call>,
    /// Calls that are declared and were not made.
    pub unexercised: BTreeSet<Call>,
    /// Calls that the API server's authorizer refused, declared or not.
    pub forbidden: BTreeSet<Call>,
    /// Fields that were written and are not declared, as `/status/ready of machines.example.com`.
    pub undeclared_fields: BTreeSet<String>,
    /// Fields that are declared and were not written.
    pub unexercised_fields: BTreeSet<String>,
    /// The number of bodies that the fields were read from. Only an audit policy with the level `Request` or above logs
    /// them: when this is 0, no field was judged.
    pub bodies: usize,
}

/// Returns the events of one user: of the impersonated user where the caller impersonates one.
pub fn of_user<'a>(log: &'a [Value], username: &'a str) -> impl Iterator<Item = &'a Value> {
    log.iter().filter(move |event| {
        let name = |user: &str| event.pointer(user).and_then(Value::as_str);
        name("/impersonatedUser/username").or_else(|| name("/user/username")) == Some(username)
    })
}

/// The field that kinds have by default with the value -1, so that no tool takes a new object for one that is done.
const UNOBSERVED: &str = "/status/observedGeneration";

/// Compares a declaration with what a controller has done: `events` of an audit log (`audit.k8s.io/v1`), and only its own.
///
/// A call counts whatever the API server answered, because a controller that asks for what is gone has still asked. A
/// server-side apply that created its object (201) used `create` besides `patch`.
#[must_use]
pub fn check<'a>(declaration: &Declaration, events: impl IntoIterator<Item = &'a Value>) -> AuditLogReport {
    let mut report = AuditLogReport::default();
    let (mut made, mut written) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        let calls = calls(event);
        if event.pointer("/annotations/authorization.k8s.io~1decision") == Some(&"forbid".into()) {
            report.forbidden.extend(calls.iter().cloned());
        }
        if let (Some(call), Some(body)) = (calls.first(), event.get("requestObject"))
            && matches!(call.verb.as_str(), "create" | "update" | "patch")
        {
            report.bodies = report.bodies.saturating_add(1);
            let resource = call.resource.split('/').next().unwrap_or_default();
            let kind = (call.group.clone(), resource.to_owned());
            // The log has a created object as the API server reads it, with the status that kinds have by default.
            let is_unobserved = body.pointer(UNOBSERVED).and_then(Value::as_i64) == Some(-1);
            let is_default = |field: &String| {
                call.verb == "create" && (field == "/status" || is_unobserved && field == UNOBSERVED)
            };
            let fields = field::written(body).into_iter().filter(|field| !is_default(field));
            written.extend(fields.map(|field| (kind.clone(), field)));
        }
        made.extend(calls);
    }
    let declared = declaration.calls();
    report.unexercised =
        declared.iter().filter(|call| !made.iter().any(|made| call.covers(made))).cloned().collect();
    report.undeclared =
        made.into_iter().filter(|made| !declared.iter().any(|call| call.covers(made))).collect();
    if report.bodies > 0 {
        compare_fields(declaration, &written, &mut report);
    }
    report
}

/// The calls that an event stands for; none for discovery.
fn calls(event: &Value) -> Vec<Call> {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (verb, resource) = (text("/verb"), text("/objectRef/resource"));
    if resource.is_empty() {
        let path = text("/requestURI").split('?').next().unwrap_or_default().trim_end_matches('/');
        let discovered = DISCOVERY.contains(&path) || path.starts_with("/api/") || path.starts_with("/apis/");
        return if discovered { Vec::new() } else { vec![Call::new("", path, verb)] };
    }
    let resource = match text("/objectRef/subresource") {
        "" => resource.to_owned(),
        subresource => format!("{resource}/{subresource}"),
    };
    let created = verb == "patch" && event.pointer("/responseStatus/code") == Some(&201.into());
    let verbs = [Some(verb), created.then_some("create")];
    verbs.into_iter().flatten().map(|verb| Call::new(text("/objectRef/apiGroup"), &resource, verb)).collect()
}

type Written = ((String, String), String);

fn compare_fields(declaration: &Declaration, written: &BTreeSet<Written>, report: &mut AuditLogReport) {
    let is_of = |access: &DeclaredAccess, kind: &(String, String)| {
        let matches = |declared: &str, made: &str| declared == "*" || declared == made;
        matches(&access.group, &kind.0) && matches(&access.resource, &kind.1)
    };
    for access in declaration.all() {
        let of = access.kind();
        let was_written = |declared: &&String| {
            written.iter().any(|(kind, field)| is_of(access, kind) && field::is_within(field, declared))
        };
        let never = access.fields.iter().filter(|declared| !was_written(declared));
        report.unexercised_fields.extend(never.map(|field| format!("{field} of {of}")));
    }
    for (kind, field) in written {
        let mut owners = declaration.all().iter().filter(|access| is_of(access, kind));
        if !owners.any(|access| access.fields.iter().any(|declared| field::is_within(field, declared))) {
            let of = DeclaredAccess::to(&kind.0, &kind.1).kind();
            report.undeclared_fields.insert(format!("{field} of {of}"));
        }
    }
}

// === impl AuditLogReport ===

impl AuditLogReport {
    /// Returns true if the controller did what it declares, all of it and nothing else.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self { bodies: self.bodies, ..Self::default() }
    }

    /// Returns the report of a controller that did what it declares: [`bodies`](Self::bodies) says if fields were judged.
    ///
    /// # Errors
    /// The report itself, if there are differences.
    pub fn into_result(self) -> Result<Self, Box<Self>> {
        if self.is_empty() { Ok(self) } else { Err(Box::new(self)) }
    }
}

impl fmt::Display for AuditLogReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = [
            ("not declared", &self.undeclared),
            ("declared and never made", &self.unexercised),
            ("forbidden", &self.forbidden),
        ];
        let fields = [
            ("written and not declared", &self.undeclared_fields),
            ("declared and never written", &self.unexercised_fields),
        ];
        let calls = calls
            .into_iter()
            .flat_map(|(difference, calls)| calls.iter().map(move |call| format!("{difference}: {call}")));
        let fields = fields.into_iter().flat_map(|(difference, fields)| {
            fields.iter().map(move |field| format!("{difference}: {field}"))
        });
        f.write_str(&calls.chain(fields).collect::<Vec<_>>().join("\n"))
    }
}

impl std::error::Error for AuditLogReport {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_empty_status_of_a_created_object_was_not_written_by_its_client() {
        let access = DeclaredAccess::to("apps", "deployments").creates().writes(["/spec"]);
        let declaration = Declaration::new("a", "A.").access(access);
        let undeclared = |verb: &str, status: Value| {
            let event = json!({"verb": verb, "objectRef": {"apiGroup": "apps", "resource": "deployments"},
                               "requestObject": {"spec": {"replicas": 1}, "status": status}});
            check(&declaration, [&event]).undeclared_fields.into_iter().collect::<Vec<_>>().join(", ")
        };
        assert_eq!(undeclared("create", json!({})), "");
        assert_eq!(undeclared("create", json!({"observedGeneration": -1})), "");
        let observed = "/status/observedGeneration of deployments.apps";
        assert_eq!(undeclared("create", json!({"observedGeneration": 1})), observed);
        assert_eq!(undeclared("patch", json!({"observedGeneration": -1})), observed);
        assert_eq!(undeclared("create", json!({"replicas": 1})), "/status/replicas of deployments.apps");
        assert_eq!(undeclared("patch", json!({})), "/status of deployments.apps");
    }
}
