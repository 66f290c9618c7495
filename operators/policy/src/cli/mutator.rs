//! Gatekeeper's mutators among the inputs: checked as Gatekeeper checks them, and not applied.
//!
//! A mutator that a cluster would refuse must not pass a test. The rules are those of `pkg/mutation/mutators` of
//! Gatekeeper v3.23.1.

mod path;

use constraint_framework::api::FieldError;
use constraint_framework::target::{AdmissionTarget, Target};
use serde_json::Value;

use super::manifest::text;
use crate::api_version::{group, group_version};

use path::{Node, Path, parse};

/// The group of mutators.
pub(super) const GROUP: &str = "mutations.gatekeeper.sh";
/// The kinds, and the versions in which the API server serves them.
const KINDS: [(&str, &[&str]); 4] = [
    ("Assign", &["v1", "v1beta1", "v1alpha1"]),
    ("AssignMetadata", &["v1", "v1beta1", "v1alpha1"]),
    ("ModifySet", &["v1", "v1beta1", "v1alpha1"]),
    ("AssignImage", &["v1alpha1"]),
];
const MAX_NAME: usize = 63;
const LOCATION: &str = "/spec/location";
const ASSIGN: &str = "/spec/parameters/assign";

/// Returns true if an object is a mutator.
pub(super) fn is_mutator(object: &Value) -> bool {
    group(object) == GROUP && KINDS.iter().any(|(kind, _)| *kind == text(object, "/kind"))
}

/// Everything for which Gatekeeper would refuse a mutator.
pub(super) fn check(object: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let kind = text(object, "/kind");
    let (_, version) = group_version(text(object, "/apiVersion"));
    let served = KINDS.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, versions)| *versions);
    errors.must(served.contains(&version), "/apiVersion", || {
        format!("{kind} is served as {}", served.join(", "))
    });
    let length = text(object, "/metadata/name").len();
    let name = || format!("must have 1 to {MAX_NAME} characters, not {length}");
    errors.must((1..=MAX_NAME).contains(&length), "/metadata/name", name);
    if let Err(refused) = AdmissionTarget.matcher(object.pointer("/spec/match")) {
        errors.0.extend(refused.iter().cloned());
    }
    let path = parse(text(object, LOCATION)).map_err(|reason| errors.push(LOCATION, reason)).ok();
    if let Some(path) = &path {
        check_location(kind, path, &mut errors);
        check_path_tests(object, path, &mut errors);
    }
    if kind != "AssignMetadata" {
        check_apply_to(object, &mut errors);
    }
    match kind {
        "Assign" => check_assign(object, path.as_ref(), &mut errors),
        "AssignMetadata" => check_assign_metadata(object, &mut errors),
        "ModifySet" => check_modify_set(object, &mut errors),
        _ => check_assign_image(object, &mut errors),
    }
    errors.0
}

#[derive(Default)]
struct Errors(Vec<FieldError>);

impl Errors {
    fn push(&mut self, pointer: &str, rule: impl Into<String>) {
        self.0.push(FieldError::new(pointer, rule));
    }

    fn must(&mut self, holds: bool, pointer: &str, rule: impl FnOnce() -> String) {
        if !holds {
            self.push(pointer, rule());
        }
    }
}

fn check_location(kind: &str, path: &Path, errors: &mut Errors) {
    let consecutive = path.windows(2).any(|pair| matches!(pair, [Node::List { .. }, Node::List { .. }]));
    errors.must(!consecutive, LOCATION, || "a list in a list cannot be addressed".to_owned());
    let is_metadata = path.first() == Some(&Node::Object("metadata".to_owned()));
    if kind == "AssignMetadata" {
        let part = |name: &str| path.get(1) == Some(&Node::Object(name.to_owned()));
        let sound = path.len() == 3
            && is_metadata
            && (part("labels") || part("annotations"))
            && matches!(path.get(2), Some(Node::Object(_)));
        let rule = || "must be metadata.labels.NAME or metadata.annotations.NAME".to_owned();
        return errors.must(sound, LOCATION, rule);
    }
    errors.must(!is_metadata, LOCATION, || format!("{kind} cannot change metadata: use AssignMetadata"));
    let ends_in_list = matches!(path.last(), Some(Node::List { .. }));
    errors.must(kind == "Assign" || !ends_in_list, LOCATION, || format!("{kind} cannot end at a list item"));
    // `containers[name: x].name` would give the item another identity.
    if let [.., Node::List { key, .. }, Node::Object(field)] = path.as_slice() {
        errors.must(key != field, LOCATION, || "changing the key of an item is not allowed".to_owned());
    }
}

fn check_apply_to(object: &Value, errors: &mut Errors) {
    let entries = object.pointer("/spec/applyTo").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    errors.must(!entries.is_empty(), "/spec/applyTo", || "must name at least one kind".to_owned());
    for (position, entry) in entries.iter().enumerate() {
        let pointer = format!("/spec/applyTo/{position}");
        let listed = |field| entry.get(field).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        let whole = ["groups", "versions", "kinds"].into_iter().all(listed);
        errors.must(whole, &pointer, || "groups, versions and kinds must all be specified".to_owned());
        let operations = entry.get("operations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let words: Vec<_> = operations.iter().map(|word| word.as_str().unwrap_or_default()).collect();
        let known = words.iter().all(|word| ["CREATE", "UPDATE", "*"].contains(word));
        let alone = !words.contains(&"*") || words.len() == 1;
        let mut distinct = words.clone();
        distinct.sort_unstable();
        distinct.dedup();
        errors.must(
            known && alone && distinct.len() == words.len(),
            &format!("{pointer}/operations"),
            || "must be CREATE and UPDATE, each at most once, or * alone".to_owned(),
        );
    }
}

fn check_path_tests(object: &Value, location: &Path, errors: &mut Errors) {
    let tests = object.pointer("/spec/parameters/pathTests").and_then(Value::as_array);
    for (position, test) in tests.into_iter().flatten().enumerate() {
        let pointer = format!("/spec/parameters/pathTests/{position}");
        let condition = text(test, "/condition");
        let known = ["MustExist", "MustNotExist"].contains(&condition);
        let rule = || format!("must be MustExist or MustNotExist, not {condition:?}");
        errors.must(known, &format!("{pointer}/condition"), rule);
        let below = format!("{pointer}/subPath");
        match parse(text(test, "/subPath")) {
            Ok(path) => errors
                .must(location.starts_with(&path), &below, || "must be a prefix of spec.location".to_owned()),
            Err(reason) => errors.push(&below, reason),
        }
    }
}

fn check_assign(object: &Value, path: Option<&Path>, errors: &mut Errors) {
    let assign = object.pointer(ASSIGN);
    let has = |field: &str| assign.and_then(|assign| assign.get(field)).filter(|value| !value.is_null());
    let set = ["value", "fromMetadata", "externalData"].map(|field| has(field).is_some());
    let count = set.iter().filter(|present| **present).count();
    let rule = || "must set one of value, fromMetadata or externalData, and no more than one".to_owned();
    errors.must(count == 1, ASSIGN, rule);
    if let Some(field) = has("fromMetadata").map(|source| text(source, "/field")) {
        let known = ["name", "namespace"].contains(&field);
        let pointer = format!("{ASSIGN}/fromMetadata/field");
        errors.must(known, &pointer, || format!("must be name or namespace, not {field:?}"));
    }
    let Some(Node::List { key, value: wanted }) = path.and_then(|path| path.last()) else { return };
    let rule = || "only a value can be assigned to a list item".to_owned();
    errors.must(has("fromMetadata").or(has("externalData")).is_none(), ASSIGN, rule);
    if let Some(value) = has("value") {
        let same = wanted.as_ref().is_some_and(|wanted| value.get(key) == Some(wanted));
        errors.must(same, &format!("{ASSIGN}/value"), || {
            format!("must be a mapping whose {key} is that of the item in spec.location, which must not be *")
        });
    }
}

fn check_assign_metadata(object: &Value, errors: &mut Errors) {
    let assign = object.pointer(ASSIGN);
    if let Some(value) = assign.and_then(|assign| assign.get("value")).filter(|value| !value.is_null()) {
        errors.must(value.is_string(), &format!("{ASSIGN}/value"), || "must be a string".to_owned());
    }
    let count = assign.and_then(Value::as_object).map_or(0, serde_json::Map::len);
    errors.must(count == 1, ASSIGN, || "must set one of value, fromMetadata or externalData".to_owned());
    if let Some(source) = assign.and_then(|assign| assign.pointer("/externalData/dataSource")) {
        let pointer = format!("{ASSIGN}/externalData/dataSource");
        errors.must(source == "Username", &pointer, || "must be Username".to_owned());
    }
}

fn check_modify_set(object: &Value, errors: &mut Errors) {
    let operation = text(object, "/spec/parameters/operation");
    errors.must(["", "merge", "prune"].contains(&operation), "/spec/parameters/operation", || {
        format!("must be merge or prune, not {operation:?}")
    });
}

fn check_assign_image(object: &Value, errors: &mut Errors) {
    let part = |field: &str| text(object, &format!("/spec/parameters/{field}"));
    let [domain, path, tag] = ["assignDomain", "assignPath", "assignTag"].map(part);
    errors.must([domain, path, tag].iter().any(|part| !part.is_empty()), "/spec/parameters", || {
        "must set at least one of assignDomain, assignPath, assignTag".to_owned()
    });
    let marked = tag.is_empty() || tag.starts_with([':', '@']) && tag.len() > 1;
    errors.must(marked, "/spec/parameters/assignTag", || {
        "must start with : for a tag or @ for a digest".to_owned()
    });
    errors.must(!domain.contains('/'), "/spec/parameters/assignDomain", || "must not hold a /".to_owned());
    // `example.com/a` as a path would be read as a domain, unless there is one before it.
    let first = path.split_once('/').map_or("", |(first, _)| first);
    let like_domain = first.contains(['.', ':']) || first == "localhost";
    errors.must(!(like_domain && domain.is_empty()), "/spec/parameters/assignPath", || {
        "starts with what looks like a domain: set assignDomain".to_owned()
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mutator(kind: &str, location: &str, parameters: Value) -> Value {
        json!({
            "apiVersion": "mutations.gatekeeper.sh/v1alpha1", "kind": kind, "metadata": {"name": "m"},
            "spec": {
                "applyTo": [{"groups": [""], "versions": ["v1"], "kinds": ["Pod"]}], "location": location,
                "parameters": parameters,
            },
        })
    }

    fn pointers(object: &Value) -> Vec<String> {
        check(object).into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn sound_mutators_have_no_errors() {
        let value = json!({"assign": {"value": 1}});
        for object in [
            mutator("Assign", "spec.containers[name: *].imagePullPolicy", value.clone()),
            mutator("Assign", "spec.c[name: a]", json!({"assign": {"value": {"name": "a", "x": 1}}})),
            mutator("AssignMetadata", "metadata.labels.\"a/b\"", json!({"assign": {"value": "x"}})),
            mutator("ModifySet", "spec.containers[name: a].args", json!({"values": {"fromList": []}})),
            mutator("AssignImage", "spec.containers[name: *].image", json!({"assignTag": ":v1"})),
        ] {
            assert!(is_mutator(&object));
            assert_eq!(pointers(&object), Vec::<String>::new(), "{object}");
        }
    }

    #[test]
    fn what_gatekeeper_refuses_is_named_with_its_field() {
        let value = || json!({"assign": {"value": "x"}});
        for (object, expected) in [
            (mutator("Assign", "spec.", value()), LOCATION),
            (mutator("Assign", "", value()), LOCATION),
            (mutator("Assign", "metadata.name", value()), LOCATION),
            (mutator("Assign", "spec.a[b: c].b", value()), LOCATION),
            (mutator("Assign", "spec.a", json!({})), ASSIGN),
            (
                mutator(
                    "Assign",
                    "spec.a",
                    json!({"assign": {"value": 1, "fromMetadata": {"field": "name"}}}),
                ),
                ASSIGN,
            ),
            (mutator("Assign", "spec.a[b: c]", value()), "/spec/parameters/assign/value"),
            (mutator("AssignMetadata", "metadata.name", value()), LOCATION),
            (
                mutator("AssignMetadata", "metadata.labels.a", json!({"assign": {"value": 1}})),
                "/spec/parameters/assign/value",
            ),
            (mutator("ModifySet", "spec.a[b: c]", json!({})), LOCATION),
            (mutator("ModifySet", "spec.a", json!({"operation": "add"})), "/spec/parameters/operation"),
            (mutator("AssignImage", "spec.image", json!({})), "/spec/parameters"),
            (mutator("AssignImage", "spec.image", json!({"assignTag": "v1"})), "/spec/parameters/assignTag"),
            (
                mutator(
                    "Assign",
                    "spec.a.b",
                    json!({"assign": {"value": 1}, "pathTests": [{"subPath": "spec.c", "condition": "MustExist"}]}),
                ),
                "/spec/parameters/pathTests/0/subPath",
            ),
        ] {
            assert_eq!(pointers(&object), [expected], "{object}");
        }
        let mut object = mutator("Assign", "spec.a", value());
        object["spec"]["applyTo"] = json!([{"kinds": ["Pod"], "operations": ["DELETE"]}]);
        object["spec"]["match"] = json!({"scope": "cluster"});
        object["apiVersion"] = json!("mutations.gatekeeper.sh/v2");
        assert_eq!(
            pointers(&object),
            ["/apiVersion", "/spec/match/scope", "/spec/applyTo/0", "/spec/applyTo/0/operations"]
        );
    }
}
