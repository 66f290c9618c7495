//! Editing a duck: what the patches contain, and what they leave alone.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test says no by panicking"
)]

use std::collections::BTreeMap;

use duck_types::{Duck, DuckError, DuckPath, DuckType, Endpoint};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, ObjectList};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Rollout {
    #[serde(default)]
    replicas: i32,
    name: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    step: Option<Step>,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Step {
    #[serde(default)]
    weight: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause: Option<bool>,
}

impl DuckType for Rollout {
    const NAME: &'static str = "Rollout";
    fn path() -> DuckPath {
        DuckPath::spec().child("delivery").child("roll/out")
    }
}

/// As `Rollout`, in the status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Observed(BTreeMap<String, i64>);

impl DuckType for Observed {
    const NAME: &'static str = "Observed";
    fn path() -> DuckPath {
        DuckPath::status().child("observed")
    }
}

fn step() -> impl Strategy<Value = Step> {
    (prop_oneof![Just(0.0), 0.0..1.0], any::<Option<bool>>())
        .prop_map(|(weight, pause)| Step { weight, pause })
}

fn rollout() -> impl Strategy<Value = Rollout> {
    let labels = prop::collection::btree_map("[a-c/~]{1,2}", "[x-z]{0,2}", 0..3);
    let steps = prop::collection::vec(step(), 0..3);
    (-2..3i32, prop::option::of("[a-b]{1,2}"), labels, prop::option::of(step()), steps)
        .prop_map(|(replicas, name, labels, step, steps)| Rollout { replicas, name, labels, step, steps })
}

/// Any JSON, small, for the fields that nobody here knows.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0.0..1.0f64).prop_map(Value::from),
        "\\PC{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map("\\PC{0,3}", inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

/// An object that carries `rollout`, with unknown fields beside, above and inside it.
fn object() -> impl Strategy<Value = Value> {
    (rollout(), json_value(), json_value(), json_value(), any::<bool>()).prop_map(
        |(rollout, beside, above, inside, sparse)| {
            let mut duck = serde_json::to_value(rollout).unwrap();
            let fields = duck.as_object_mut().unwrap();
            if sparse {
                // What equals a default may be left out by whoever wrote the object, or be null.
                fields.retain(|name, value| {
                    !(value.is_null() && name == "name"
                        || *value == json!(0)
                        || *value == json!({})
                        || *value == json!([]))
                });
            }
            fields.insert("unknown".into(), inside.clone());
            if let Some(steps) = fields.get_mut("steps").and_then(Value::as_array_mut) {
                for (position, step) in steps.iter_mut().enumerate() {
                    step["unknown"] = json!(position);
                }
            }
            if let Some(step) = fields.get_mut("step").and_then(Value::as_object_mut) {
                step.insert("unknown".into(), inside);
            }
            json!({
                "apiVersion": "example.com/v1", "kind": "Thing",
                "metadata": {"name": "thing", "namespace": "ns", "uid": "u1", "resourceVersion": "7"},
                "spec": {"delivery": {"roll/out": duck, "beside": beside}, "above": above},
            })
        },
    )
}

fn duck<T>(object: &Value) -> Duck<T> {
    serde_json::from_value(object.clone()).unwrap()
}

fn without_duck(mut object: Value) -> Value {
    object["spec"]["delivery"].as_object_mut().unwrap().remove("roll/out");
    object
}

fn patched(object: &Value, patch: &json_patch::Patch) -> Result<Value, json_patch::PatchError> {
    let mut object = object.clone();
    json_patch::patch(&mut object, patch).map(|()| object)
}

proptest! {
    #[test]
    fn an_object_goes_through_unchanged(object in object()) {
        prop_assert_eq!(serde_json::to_value(duck::<Rollout>(&object)).unwrap(), object);
    }

    #[test]
    fn an_edit_that_changes_nothing_is_empty(object in object()) {
        let diff = duck::<Rollout>(&object).edit(|_| {}).unwrap();
        prop_assert!(diff.is_empty());
        prop_assert_eq!(diff.json().unwrap().0, []);
    }

    #[test]
    fn a_patch_gives_the_edited_duck_and_touches_nothing_else(object in object(), edited in rollout()) {
        let diff = duck::<Rollout>(&object).edit(|rollout| *rollout = edited.clone()).unwrap();
        let result = patched(&object, &diff.json().unwrap()).unwrap();
        prop_assert_eq!(duck::<Rollout>(&result).view().unwrap(), edited);
        let at = |object: &Value, below: &str| object.pointer(&format!("/spec/delivery/roll~1out/{below}")).cloned();
        prop_assert_eq!(at(&result, "unknown"), at(&object, "unknown"));
        if at(&result, "step").is_some_and(|step| step.is_object()) && at(&object, "step/unknown").is_some() {
            prop_assert_eq!(at(&result, "step/unknown"), at(&object, "step/unknown"));
        }
        prop_assert_eq!(without_duck(result), without_duck(object));
    }

    #[test]
    fn elements_of_a_list_keep_their_unknown_fields(
        object in object(),
        inserted in prop::collection::vec(step(), 0..2),
        at in 0..3usize,
        removed in 0..2usize,
        weight in 0.0..1.0f64,
    ) {
        let steps = |object: &Value| {
            let steps = object.pointer("/spec/delivery/roll~1out/steps").and_then(Value::as_array);
            steps.cloned().unwrap_or_default()
        };
        let original = steps(&object);
        // Which of two equal elements went away, nobody can tell.
        let mut known = duck::<Rollout>(&object).view().unwrap().steps;
        known.extend(inserted.clone());
        prop_assume!(known.iter().enumerate().all(|(at, step)| !known[..at].contains(step)));
        let splice = |list: &mut Vec<Value>| {
            let at = at.min(list.len());
            let until = at.saturating_add(removed).min(list.len());
            list.splice(at..until, inserted.iter().map(|step| json!(step)));
        };
        let diff = duck::<Rollout>(&object).edit(|rollout| {
            let mut list: Vec<Value> = rollout.steps.iter().map(|step| json!(step)).collect();
            splice(&mut list);
            rollout.steps = list.into_iter().map(|step| serde_json::from_value(step).unwrap()).collect();
        }).unwrap();
        let result = steps(&patched(&object, &diff.json().unwrap()).unwrap());
        // An element in the middle may be made from its predecessor; those on both sides are the same.
        let front = at.min(original.len());
        let back = original.len().saturating_sub(front.saturating_add(removed));
        prop_assert_eq!(&result[..front], &original[..front]);
        prop_assert_eq!(&result[result.len() - back..], &original[original.len() - back..]);

        let diff = duck::<Rollout>(&object).edit(|rollout| {
            for step in &mut rollout.steps {
                step.weight = weight;
            }
        }).unwrap();
        let result = steps(&patched(&object, &diff.json().unwrap()).unwrap());
        let unknown = |list: &[Value]| list.iter().map(|step| step["unknown"].clone()).collect::<Vec<_>>();
        prop_assert_eq!(unknown(&result), unknown(&original));
    }

    #[test]
    fn a_patch_of_an_outdated_object_is_refused(object in object(), edited in rollout(), recreated in any::<bool>()) {
        let diff = duck::<Rollout>(&object).edit(|rollout| *rollout = edited).unwrap();
        let mut newer = object;
        newer["metadata"][if recreated { "uid" } else { "resourceVersion" }] = json!("8");
        prop_assert_eq!(patched(&newer, &diff.json().unwrap()).is_err(), !diff.is_empty());
    }

    #[test]
    fn an_apply_contains_identity_and_duck(object in object(), edited in rollout()) {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Thing"));
        let diff = duck::<Rollout>(&object).edit(|rollout| *rollout = edited.clone()).unwrap();
        let apply = diff.apply(&resource, "manager").unwrap();
        prop_assert_eq!(duck::<Rollout>(&apply.body).view().unwrap(), edited);
        prop_assert_eq!(
            without_duck(apply.body),
            json!({
                "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "thing", "namespace": "ns"},
                "spec": {"delivery": {}},
            })
        );
        prop_assert!(!apply.params.force && apply.params.field_manager.as_deref() == Some("manager"));
    }
}

fn bare(rest: Value) -> Value {
    let mut object = json!({
        "apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {"name": "thing", "uid": "u1", "resourceVersion": "7"},
    });
    object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    object
}

#[test]
fn what_is_absent_or_null_is_created_whole() {
    for (rest, path) in [
        (json!({}), "/status"),
        (json!({"status": null}), "/status"),
        (json!({"status": {}}), "/status/observed"),
        (json!({"status": {"observed": null, "other": 1}}), "/status/observed"),
    ] {
        let object = bare(rest);
        let duck = duck::<Observed>(&object);
        assert!(duck.edit(|_| {}).unwrap_err().is_missing());
        let diff = duck
            .edit_or_default(|observed| {
                observed.0.insert("a".into(), 1);
            })
            .unwrap();
        let patch = diff.json().unwrap();
        assert_eq!(patch.0.last().unwrap().path().to_string(), path);
        let result = patched(&object, &patch).unwrap();
        assert_eq!(result["status"]["observed"], json!({"a": 1}));
        assert_eq!(result["status"].get("other"), object["status"].get("other"));
    }
}

#[test]
fn a_malformed_duck_is_not_overwritten_with_a_default() {
    let object = bare(json!({"status": {"observed": "soon"}}));
    assert!(matches!(duck::<Observed>(&object).edit_or_default(|_| {}), Err(DuckError::Mismatch { .. })));
}

#[test]
fn a_removed_entry_is_one_removal() {
    let object = bare(json!({"status": {"observed": {"a": 1, "b/c": 2}}}));
    let diff = duck::<Observed>(&object)
        .edit(|observed| {
            observed.0.remove("b/c");
        })
        .unwrap();
    let patch = serde_json::to_value(diff.json().unwrap()).unwrap();
    assert_eq!(
        patch,
        json!([
            {"op": "test", "path": "/metadata/uid", "value": "u1"},
            {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
            {"op": "remove", "path": "/status/observed/b~1c"},
        ])
    );
}

#[test]
fn none_is_left_out_and_not_written_as_null() {
    let object = bare(json!({"spec": {"delivery": {"roll/out": {"name": "x", "steps": [{"weight": 1.0}]}}}}));
    let diff = duck::<Rollout>(&object).edit(|rollout| rollout.name = None).unwrap();
    let patch = serde_json::to_value(diff.json().unwrap()).unwrap();
    assert_eq!(patch[2], json!({"op": "remove", "path": "/spec/delivery/roll~1out/name"}));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Thing"));
    let applied = diff.apply(&resource, "m").unwrap().body;
    assert_eq!(
        applied["spec"]["delivery"]["roll/out"],
        json!({"replicas": 0, "labels": {}, "steps": [{"weight": 1.0}]})
    );
}

#[test]
fn the_path_decides_the_endpoint() {
    let object = bare(json!({"status": {"observed": {}}, "spec": {"delivery": {"roll/out": {}}}}));
    assert_eq!(duck::<Observed>(&object).edit(|_| {}).unwrap().endpoint(), Endpoint::Status);
    assert_eq!(duck::<Rollout>(&object).edit(|_| {}).unwrap().endpoint(), Endpoint::Object);
}

#[test]
fn an_object_that_no_server_has_seen_cannot_be_patched() {
    let object = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"generateName": "x-"}});
    let diff = duck::<Observed>(&object)
        .edit_or_default(|o| {
            o.0.insert("a".into(), 1);
        })
        .unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Thing"));
    assert_eq!(diff.json().unwrap_err(), DuckError::Anonymous { field: "uid" });
    assert_eq!(diff.apply(&resource, "m").unwrap_err(), DuckError::Anonymous { field: "name" });
}

#[test]
fn one_malformed_object_does_not_hide_its_neighbours() {
    let list = json!({
        "apiVersion": "v1", "kind": "List", "metadata": {},
        "items": [
            bare(json!({"status": {"observed": {"a": 1}}})),
            bare(json!({"status": {"observed": ["wrong"]}})),
            // Items of built-in lists carry neither apiVersion nor kind.
            {"metadata": {"name": "x"}, "status": {"observed": {"b": 2}}},
        ],
    });
    let list: ObjectList<Duck<Observed>> = serde_json::from_value(list).unwrap();
    let views: Vec<bool> = list.items.iter().map(|duck| duck.view().is_ok()).collect();
    assert_eq!(views, [true, false, true]);
}

#[test]
fn the_object_stays_as_it_was() {
    let object = bare(json!({"status": {"observed": {"a": 1}}}));
    let duck = duck::<Observed>(&object);
    duck.edit(|observed| observed.0.clear()).unwrap();
    let back: DynamicObject = duck.into_object();
    assert_eq!(serde_json::to_value(back).unwrap(), object);
}
