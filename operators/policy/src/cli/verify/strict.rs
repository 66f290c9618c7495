//! The fields that an AdmissionReview has: any other in a file is a typing error, as to `gator verify`.

use serde_json::Value;

const KIND: &[&str] = &["group", "version", "kind"];
const RESOURCE: &[&str] = &["group", "version", "resource"];
const REQUEST: &[&str] = &[
    "uid",
    "kind",
    "resource",
    "subResource",
    "requestKind",
    "requestResource",
    "requestSubResource",
    "name",
    "namespace",
    "operation",
    "userInfo",
    "object",
    "oldObject",
    "dryRun",
    "options",
];

/// Places and their fields, see `AdmissionReview` in `k8s.io/api/admission/v1`.
const FIELDS: &[(&str, &[&str])] = &[
    ("", &["apiVersion", "kind", "request", "response"]),
    ("/request", REQUEST),
    ("/request/kind", KIND),
    ("/request/requestKind", KIND),
    ("/request/resource", RESOURCE),
    ("/request/requestResource", RESOURCE),
    ("/request/userInfo", &["username", "uid", "groups", "extra"]),
];

/// The pointers of all fields that an AdmissionReview does not have.
pub(super) fn unknown_fields(review: &Value) -> Vec<String> {
    let unknown = |(place, known): &(&str, &[&str])| {
        let fields = review.pointer(place).and_then(Value::as_object).into_iter().flatten();
        let others = fields.map(|(field, _)| field.as_str()).filter(|field| !known.contains(field));
        others.map(|field| format!("{place}/{field}")).collect::<Vec<_>>()
    };
    FIELDS.iter().flat_map(unknown).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_that_is_not_one_is_named() {
        let review = json!({"kind": "AdmissionReview", "spec": {}, "request": {
            "uid": "1", "oldObjet": {}, "kind": {"kind": "Pod", "resource": "pods"}, "object": {"any": 1}}});
        assert_eq!(unknown_fields(&review), ["/spec", "/request/oldObjet", "/request/kind/resource"]);
    }
}
