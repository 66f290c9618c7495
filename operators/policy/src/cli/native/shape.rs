//! Refuses policies and bindings that the API server refuses before it compiles an expression: unknown fields, unknown values
//! and missing fields. A misspelt operation would otherwise be a policy that judges nothing.

use std::collections::BTreeSet;

use constraint_framework::api::FieldError;
use serde_json::Value;

use crate::api_version::group_version;
use crate::cli::manifest::text;

const MATCH: [&str; 5] =
    ["resourceRules", "excludeResourceRules", "namespaceSelector", "objectSelector", "matchPolicy"];
const RULE: [&str; 6] = ["apiGroups", "apiVersions", "operations", "resources", "resourceNames", "scope"];
const OPERATIONS: [&str; 5] = ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"];
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
/// The most match conditions of a policy.
const MATCH_CONDITIONS: usize = 64;
/// The most audit annotations of a policy.
const AUDIT_ANNOTATIONS: usize = 20;

/// Errors, each with the pointer to its field.
#[derive(Debug, Default)]
struct Errors(Vec<FieldError>);

/// Everything that is wrong with the fields of a policy, whose `spec` may have `own` besides those of all policies.
pub(super) fn of_policy(policy: &Value, own: &[&str]) -> Vec<FieldError> {
    let mut errors = Errors::default();
    errors.version(policy);
    let common = ["failurePolicy", "matchConstraints", "matchConditions", "paramKind", "variables"];
    let all: Vec<_> = common.iter().chain(own).copied().collect();
    errors.fields(policy, "/spec", &all);
    errors.word(policy, "/spec/failurePolicy", &["Fail", "Ignore"], true);
    errors.matching(policy, "/spec/matchConstraints", true);
    if is_set(policy, "/spec/paramKind") {
        errors.fields(policy, "/spec/paramKind", &["apiVersion", "kind"]);
        errors.required(policy, "/spec/paramKind/apiVersion");
        errors.required(policy, "/spec/paramKind/kind");
    }
    for (list, fields) in [
        ("validations", &["expression", "message", "messageExpression", "reason"][..]),
        ("auditAnnotations", &["key", "valueExpression"]),
        ("matchConditions", &["name", "expression"]),
        ("variables", &["name", "expression"]),
        ("mutations", &["patchType", "applyConfiguration", "jsonPatch"]),
    ] {
        errors.list(policy, list, fields);
    }
    errors.0
}

/// As [`of_policy`], of a binding.
pub(super) fn of_binding(binding: &Value, own: &[&str]) -> Vec<FieldError> {
    let mut errors = Errors::default();
    errors.version(binding);
    let all: Vec<_> = ["policyName", "paramRef", "matchResources"].iter().chain(own).copied().collect();
    errors.fields(binding, "/spec", &all);
    errors.required(binding, "/spec/policyName");
    errors.matching(binding, "/spec/matchResources", false);
    let reference = "/spec/paramRef";
    if is_set(binding, reference) {
        errors.fields(binding, reference, &["name", "namespace", "parameterNotFoundAction", "selector"]);
        errors.selector(binding, "/spec/paramRef/selector");
        errors.word(binding, "/spec/paramRef/parameterNotFoundAction", &["Allow", "Deny"], false);
        let (name, selector) =
            (text(binding, "/spec/paramRef/name"), is_set(binding, "/spec/paramRef/selector"));
        if name.is_empty() != selector {
            errors.add(reference, "must have a name or a selector, and not both");
        }
    }
    errors.0
}

/// Returns true if a field is there and not null.
fn is_set(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer).is_some_and(|value| !value.is_null())
}

impl Errors {
    fn add(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.0.push(FieldError::new(pointer, message));
    }

    fn version(&mut self, object: &Value) {
        let (_, version) = group_version(text(object, "/apiVersion"));
        if !["v1", "v1beta1", "v1alpha1"].contains(&version) {
            self.add("/apiVersion", format!("{version} is not a version of this kind: write v1"));
        }
    }

    fn fields(&mut self, object: &Value, pointer: &str, known: &[&str]) {
        let Some(value) = object.pointer(pointer).filter(|value| !value.is_null()) else { return };
        let Some(fields) = value.as_object() else {
            return self.add(pointer, "must be a mapping");
        };
        for field in fields.keys().filter(|field| !known.contains(&field.as_str())) {
            self.add(format!("{pointer}/{field}"), format!("unknown field: known are {}", known.join(", ")));
        }
    }

    fn required(&mut self, object: &Value, pointer: &str) {
        match object.pointer(pointer) {
            Some(Value::String(text)) if !text.is_empty() => {}
            None | Some(Value::Null | Value::String(_)) => self.add(pointer, "must be set"),
            Some(other) => self.add(pointer, format!("must be a string, not {other}: put it in quotes")),
        }
    }

    fn word(&mut self, object: &Value, pointer: &str, words: &[&str], optional: bool) {
        let word = text(object, pointer);
        if !(words.contains(&word) || optional && !is_set(object, pointer)) {
            self.add(pointer, format!("must be {}, not {word:?}", words.join(" or ")));
        }
    }

    fn list(&mut self, policy: &Value, list: &str, fields: &[&str]) {
        let pointer = format!("/spec/{list}");
        let items = policy.pointer(&pointer).and_then(Value::as_array).map_or(0, Vec::len);
        if is_set(policy, &pointer) && policy.pointer(&pointer).is_some_and(|value| !value.is_array()) {
            self.add(&pointer, "must be a list");
        }
        let most = [("matchConditions", MATCH_CONDITIONS), ("auditAnnotations", AUDIT_ANNOTATIONS)];
        for (_, most) in most.iter().filter(|(name, most)| *name == list && items > *most) {
            self.add(&pointer, format!("must have at most {most} items, not {items}"));
        }
        let mut names = BTreeSet::new();
        for position in 0..items {
            let item = format!("{pointer}/{position}");
            self.fields(policy, &item, fields);
            self.word(policy, &format!("{item}/reason"), &REASONS, true);
            self.message(policy, &format!("{item}/message"));
            for field in ["name", "key"].iter().filter(|field| fields.contains(field)) {
                let name = text(policy, &format!("{item}/{field}"));
                if !names.insert(name) {
                    self.add(format!("{item}/{field}"), format!("{name:?} is there twice"));
                }
            }
            for required in
                fields.iter().filter(|field| ["name", "expression", "key", "valueExpression"].contains(field))
            {
                self.required(policy, &format!("{item}/{required}"));
            }
        }
    }

    fn message(&mut self, policy: &Value, pointer: &str) {
        let message = text(policy, pointer);
        if message.contains(['\n', '\r']) {
            self.add(pointer, "must not contain line breaks");
        } else if !message.is_empty() && message.trim().is_empty() {
            self.add(pointer, "must not be blank");
        }
    }

    fn matching(&mut self, object: &Value, pointer: &str, is_policy: bool) {
        if !is_set(object, pointer) {
            if is_policy {
                self.add(pointer, "is missing");
            }
            return;
        }
        self.fields(object, pointer, &MATCH);
        self.word(object, &format!("{pointer}/matchPolicy"), &["Exact", "Equivalent"], true);
        for selector in ["namespaceSelector", "objectSelector"] {
            self.selector(object, &format!("{pointer}/{selector}"));
        }
        for list in ["resourceRules", "excludeResourceRules"] {
            let list = format!("{pointer}/{list}");
            let rules = object.pointer(&list).and_then(Value::as_array).map_or(0, Vec::len);
            (0..rules).for_each(|position| self.rule(object, &format!("{list}/{position}")));
        }
        let rules = object.pointer(&format!("{pointer}/resourceRules")).and_then(Value::as_array);
        if is_policy && rules.is_none_or(Vec::is_empty) {
            self.add(format!("{pointer}/resourceRules"), "must hold at least one rule");
        }
    }

    fn rule(&mut self, object: &Value, pointer: &str) {
        self.fields(object, pointer, &RULE);
        self.word(object, &format!("{pointer}/scope"), &["Cluster", "Namespaced", "*"], true);
        for list in ["apiGroups", "apiVersions", "operations", "resources"] {
            let pointer = format!("{pointer}/{list}");
            let words: Vec<_> =
                object.pointer(&pointer).and_then(Value::as_array).into_iter().flatten().collect();
            if words.is_empty() {
                self.add(&pointer, "must hold at least one entry");
            }
            if words.len() > 1 && words.contains(&&Value::from("*")) && list != "resources" {
                self.add(&pointer, "* must stand alone");
            }
            let is_operation = |word: &&&Value| word.as_str().is_some_and(|word| OPERATIONS.contains(&word));
            for word in words.iter().filter(|word| list == "operations" && !is_operation(word)) {
                self.add(&pointer, format!("must hold {}, not {word}", OPERATIONS.join(", ")));
            }
        }
    }

    fn selector(&mut self, object: &Value, pointer: &str) {
        self.fields(object, pointer, &["matchLabels", "matchExpressions"]);
        let expressions = format!("{pointer}/matchExpressions");
        let count = object.pointer(&expressions).and_then(Value::as_array).map_or(0, Vec::len);
        for position in 0..count {
            self.fields(object, &format!("{expressions}/{position}"), &["key", "operator", "values"]);
        }
    }
}
