//! The field `apiVersion`, taken apart. `kube::core::GroupVersion` puts it together.

use serde_json::Value;

/// Returns group and version of an `apiVersion` such as `apps/v1`; the group is empty for `v1`.
pub(crate) fn group_version(api_version: &str) -> (&str, &str) {
    api_version.rsplit_once('/').unwrap_or(("", api_version))
}

/// Returns the API group of an object; empty for the core group and for an object without `apiVersion`.
pub(crate) fn group(object: &Value) -> &str {
    group_version(object.get("apiVersion").and_then(Value::as_str).unwrap_or_default()).0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_alone_is_of_the_core_group() {
        assert_eq!(group_version("apps/v1"), ("apps", "v1"));
        assert_eq!(group_version("v1"), ("", "v1"));
        assert_eq!(group(&json!({"apiVersion": "v1"})), "");
        assert_eq!(group(&json!({"apiVersion": 1})), "");
        assert_eq!(group(&json!({"apiVersion": "templates.gatekeeper.sh/v1"})), "templates.gatekeeper.sh");
    }
}
