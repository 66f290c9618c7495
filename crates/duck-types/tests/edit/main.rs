//! Single cases of editing: the exact patches, and the defects that were found by trying.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

use std::collections::{BTreeMap, BTreeSet};

use duck_types::{Duck, DuckDiff, DuckError, DuckPatch, DuckType, Endpoint, PatchPrecondition, StaleError};
use kube::core::params::Patch;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, ObjectList};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

#[derive(Debug, Default, PartialEq, Serialize, Deserialize, DuckType)]
#[serde(transparent)]
#[duck(path = "/status/observed")]
struct Observed(BTreeMap<String, Value>);

#[derive(Debug, Default, PartialEq, Serialize, Deserialize, DuckType)]
#[serde(transparent)]
#[duck(path = "/spec/tags")]
struct Tags(BTreeSet<String>);

#[derive(Debug, PartialEq, Serialize, Deserialize, DuckType)]
#[duck(path = "/spec/role")]
struct Role {
    #[serde(alias = "oldName", default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default)]
    level: i32,
    limit: Option<i32>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, DuckType)]
#[serde(transparent)]
#[duck(path = "/status/conditions")]
struct ByType(#[serde(with = "by_type")] BTreeMap<String, Condition>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Condition {
    r#type: String,
    status: String,
}

mod by_type {
    use super::*;

    pub(super) fn serialize<S: Serializer>(
        map: &BTreeMap<String, Condition>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(map.values())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<String, Condition>, D::Error> {
        let list = Vec::<Condition>::deserialize(from)?;
        Ok(list.into_iter().map(|condition| (condition.r#type.clone(), condition)).collect())
    }
}

/// Parts of both endpoints.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, DuckType)]
#[duck(paths("/spec/size", "/status/size"))]
struct Sizes {
    #[serde(default)]
    spec: Size,
    #[serde(default)]
    status: Size,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Size {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outside: Option<i32>,
}

fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Thing"))
}

fn bare(rest: Value) -> Value {
    let mut object = json!({
        "apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {"name": "thing", "uid": "u1", "resourceVersion": "7"},
    });
    object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    object
}

fn duck<T>(rest: Value) -> Duck<T> {
    serde_json::from_value(bare(rest)).unwrap()
}

/// The operations of the only patch.
#[track_caller]
fn operations(diff: &DuckDiff) -> Value {
    let patches = diff.json(PatchPrecondition::Version).unwrap();
    let [DuckPatch { patch: Patch::Json(patch), .. }] = patches.as_slice() else { panic!("{patches:?}") };
    serde_json::to_value(patch).unwrap()
}

fn body(patch: &DuckPatch) -> &Value {
    match &patch.patch {
        Patch::Apply(body) | Patch::Merge(body) => body,
        other => panic!("{other:?}"),
    }
}

fn applied<T>(object: &Value, diff: &DuckDiff) -> Duck<T> {
    let mut object = object.clone();
    for patch in diff.json(PatchPrecondition::Version).unwrap() {
        let Patch::Json(patch) = patch.patch else { unreachable!() };
        json_patch::patch(&mut object, &patch).unwrap();
    }
    serde_json::from_value(object).unwrap()
}

#[test]
fn an_element_of_a_set_is_removed_by_value_and_not_by_position_in_the_view() {
    let object = bare(json!({"spec": {"tags": ["b", "a"]}}));
    let diff =
        duck::<Tags>(json!({"spec": {"tags": ["b", "a"]}})).edit(|tags| assert!(tags.0.remove("a"))).unwrap();
    let stored = applied::<Tags>(&object, &diff);
    assert_eq!(stored.object().data["spec"]["tags"], json!(["b"]));
}

#[test]
fn a_condition_in_a_map_by_type_changes_and_no_other() {
    let conditions =
        json!([{"type": "Ready", "status": "True"}, {"type": "Available", "status": "True", "unknown": 1}]);
    let object = bare(json!({"status": {"conditions": conditions}}));
    let ready = |map: &mut ByType| map.0.get_mut("Ready").unwrap().status = "False".into();
    let diff = serde_json::from_value::<Duck<ByType>>(object.clone()).unwrap().edit(ready).unwrap();
    let stored = applied::<ByType>(&object, &diff).view().unwrap();
    assert_eq!((stored.0["Ready"].status.as_str(), stored.0["Available"].status.as_str()), ("False", "True"));
}

#[test]
fn an_alias_is_cleared_and_set_under_one_name() {
    let object = bare(json!({"spec": {"role": {"oldName": "x", "unknown": 1}}}));
    for (name, expected) in [
        (None, json!({"unknown": 1, "level": 0})),
        (Some("y".to_owned()), json!({"unknown": 1, "level": 0, "name": "y"})),
    ] {
        let role = serde_json::from_value::<Duck<Role>>(object.clone()).unwrap();
        let diff = role.edit(|role| role.name.clone_from(&name)).unwrap();
        let stored = applied::<Role>(&object, &diff);
        assert_eq!(stored.object().data["spec"]["role"], expected);
        assert_eq!(stored.view().unwrap().name, name);
    }
}

#[test]
fn explicit_nulls_in_values_are_kept_and_those_of_options_left_out() {
    let diff = duck::<Observed>(json!({"status": {"observed": {"a": [1]}}}))
        .edit(|observed| {
            observed.0.insert("a".into(), json!([{"b": null, "c": 1}, null]));
            observed.0.insert("d".into(), Value::Null);
        })
        .unwrap();
    let stored = applied::<Observed>(&bare(json!({"status": {"observed": {"a": [1]}}})), &diff);
    let expected = json!({"a": [{"b": null, "c": 1}, null], "d": null});
    assert_eq!(stored.object().data["status"]["observed"], expected);

    let diff = duck::<Role>(json!({"spec": {"role": {"limit": 1}}})).edit(|role| role.limit = None).unwrap();
    assert_eq!(operations(&diff)[3], json!({"op": "remove", "path": "/spec/role/limit"}));
    let applied = diff.apply(&resource(), "m").unwrap();
    assert_eq!(body(&applied[0])["spec"]["role"], json!({"level": 0}));
}

#[test]
fn absent_or_null_ducks_are_created_whole() {
    for (rest, path) in [
        (json!({}), "/status"),
        (json!({"status": null}), "/status"),
        (json!({"status": {}}), "/status/observed"),
        (json!({"status": {"observed": null, "other": 1}}), "/status/observed"),
    ] {
        let object = bare(rest.clone());
        let absent = duck::<Observed>(rest);
        assert!(absent.edit(|_| {}).unwrap_err().is_missing());
        let diff = absent.edit_or_default(|observed| drop(observed.0.insert("a".into(), json!(1)))).unwrap();
        assert_eq!(operations(&diff).as_array().unwrap().last().unwrap()["path"], path);
        let stored = applied::<Observed>(&object, &diff);
        assert_eq!(stored.object().data["status"]["observed"], json!({"a": 1}));
        assert_eq!(stored.object().data["status"].get("other"), object["status"].get("other"));
    }
}

#[test]
fn a_malformed_duck_is_not_overwritten_with_a_default() {
    let malformed = duck::<Observed>(json!({"status": {"observed": "soon"}}));
    assert!(matches!(malformed.edit_or_default(|_| {}), Err(DuckError::Mismatch { .. })));
}

#[test]
fn a_patch_tests_identity_version_and_old_leaf() {
    let observed = duck::<Observed>(json!({"status": {"observed": {"a": 1, "b/c": 2, "d": 0.5}}}));
    let diff = observed
        .edit(|observed| {
            observed.0.remove("b/c");
            observed.0.insert("d".into(), json!(0.25));
        })
        .unwrap();
    let leaf = json!({"op": "test", "path": "/status/observed/b~1c", "value": 2});
    let expected = json!([
        {"op": "test", "path": "/metadata/uid", "value": "u1"},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        leaf,
        {"op": "remove", "path": "/status/observed/b~1c"},
        // A float is not tested: the API server compares numbers as text.
        {"op": "replace", "path": "/status/observed/d", "value": 0.25},
    ]);
    assert_eq!(operations(&diff), expected);
    let merge = diff.merge().unwrap();
    let metadata = json!({"uid": "u1", "resourceVersion": "7"});
    let expected = json!({"metadata": metadata, "status": {"observed": {"b/c": null, "d": 0.25}}});
    assert_eq!(body(&merge[0]), &expected);
}

#[test]
fn without_the_version_lists_are_tested_as_a_whole() {
    let list = |list: Value| duck::<Observed>(json!({"status": {"observed": {"l": list}}}));
    let edit = |observed: &mut Observed| drop(observed.0.insert("l".into(), json!([3])));
    let patches = list(json!([1, 2])).edit(edit).unwrap().json(PatchPrecondition::Leaves).unwrap();
    let Patch::Json(patch) = &patches[0].patch else { unreachable!() };
    let patch = serde_json::to_value(patch).unwrap();
    assert_eq!(patch[1], json!({"op": "test", "path": "/status/observed/l", "value": [1, 2]}));
    let floats = list(json!([0.5])).edit(edit).unwrap();
    assert!(floats.json(PatchPrecondition::Version).is_ok());
    let pointer = "/status/observed/l".to_owned();
    assert_eq!(floats.json(PatchPrecondition::Leaves).unwrap_err(), DuckError::Untestable { pointer });
}

#[test]
fn an_apply_has_the_identity_and_the_whole_duck() {
    let observed = duck::<Observed>(json!({"status": {"observed": {"a": 1}, "other": 1}, "spec": {}}));
    let diff = observed.edit(|observed| drop(observed.0.insert("b".into(), json!(2)))).unwrap();
    let applies = diff.apply(&resource(), "m").unwrap();
    let expected = json!({
        "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "thing", "uid": "u1"},
        "status": {"observed": {"a": 1, "b": 2}},
    });
    assert_eq!((applies.len(), body(&applies[0]), applies[0].endpoint), (1, &expected, Endpoint::Status));
    assert!(!applies[0].params.force && applies[0].params.field_manager.as_deref() == Some("m"));
}

#[test]
fn a_duck_of_both_endpoints_is_split() {
    let sizes = duck::<Sizes>(json!({"spec": {"size": 1, "x": 1}, "status": {"size": 1, "y": 1}}));
    let diff = sizes.edit(|sizes| (sizes.spec.size, sizes.status.size) = (Some(2), None)).unwrap();
    assert_eq!(diff.endpoints(), [Endpoint::Object, Endpoint::Status]);
    let merges = diff.merge().unwrap();
    assert_eq!(body(&merges[0])["spec"], json!({"size": 2}));
    assert_eq!(body(&merges[1])["status"], json!({"size": null}));
    let only = sizes.edit(|sizes| sizes.status.size = Some(3)).unwrap();
    assert_eq!(only.endpoints(), [Endpoint::Status]);
    let outside = sizes.edit(|sizes| sizes.spec.outside = Some(1)).unwrap_err();
    assert!(matches!(outside, DuckError::Unwritable { .. }), "{outside}");
}

#[test]
fn the_second_patch_follows_the_first() {
    let sizes = duck::<Sizes>(json!({"spec": {"size": 1}, "status": {"size": 1}}));
    let diff = sizes.edit(|sizes| (sizes.spec.size, sizes.status.size) = (Some(2), Some(2))).unwrap();
    let mut answer = sizes.into_object();
    answer.metadata.resource_version = Some("8".into());
    for patch in [diff.json(PatchPrecondition::Version).unwrap().remove(1), diff.merge().unwrap().remove(1)] {
        let followed = format!("{:?}", patch.clone().follow(&answer).patch);
        assert!(followed.contains("\"8\"") && !followed.contains("\"7\""), "{followed}");
    }
}

#[test]
fn a_stale_edit_says_what_changed() {
    let observed = duck::<Observed>(json!({"status": {"observed": {"a": 1}, "other": 1}}));
    let diff = observed.edit(|observed| drop(observed.0.insert("a".into(), json!(2)))).unwrap();
    let stale = |change: &dyn Fn(&mut DynamicObject)| {
        let mut current = observed.object().clone();
        change(&mut current);
        diff.stale::<Observed>(&current).unwrap()
    };
    assert_eq!(stale(&|_| {}), None);
    let changed = stale(&|object| {
        object.metadata.resource_version = Some("8".into());
        object.data["status"]["observed"] = json!({"a": 3, "b": 1});
    });
    assert_eq!(changed.unwrap().to_string(), "another client wrote /status/observed/a, /status/observed/b");
    let elsewhere = stale(&|object| object.metadata.resource_version = Some("8".into()));
    assert_eq!(elsewhere, Some(StaleError::Changed { changes: vec![] }));
    assert_eq!(stale(&|object| object.metadata.uid = Some("u2".into())), Some(StaleError::Recreated));
}

#[test]
fn objects_that_no_server_has_seen_cannot_be_patched() {
    let object = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"generateName": "x-"}});
    let object: Duck<Observed> = serde_json::from_value(object).unwrap();
    let diff = object.edit_or_default(|observed| drop(observed.0.insert("a".into(), json!(1)))).unwrap();
    assert_eq!(
        diff.json(PatchPrecondition::Version).unwrap_err(),
        DuckError::MissingIdentity { field: "uid" }
    );
    assert_eq!(diff.apply(&resource(), "m").unwrap_err(), DuckError::MissingIdentity { field: "name" });
}

#[test]
fn one_malformed_object_does_not_hide_the_others_of_a_list() {
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
fn the_shapes_of_list_patches() {
    #[derive(Debug, PartialEq, Serialize, Deserialize, DuckType)]
    #[duck(path = "/spec/list")]
    struct List(Vec<i32>);

    for (before, after, expected) in [
        (json!([1, 2]), vec![1, 2, 3], json!([["add", "/spec/list/2"]])),
        (json!([1, 2, 3]), vec![1, 2], json!([["remove", "/spec/list/2"]])),
        (json!([1, 2, 3]), vec![2, 3], json!([["remove", "/spec/list/0"]])),
        (json!([1, 2, 3]), vec![1, 4, 3], json!([["replace", "/spec/list/1"]])),
        (
            json!([1, 2, 3]),
            vec![4, 5],
            json!([["replace", "/spec/list/0"], ["replace", "/spec/list/1"], ["remove", "/spec/list/2"]]),
        ),
    ] {
        let diff = duck::<List>(json!({"spec": {"list": before}})).edit(|list| list.0 = after).unwrap();
        let found: Vec<Value> = operations(&diff)
            .as_array()
            .unwrap()
            .iter()
            .filter(|operation| operation["op"] != "test")
            .map(|operation| json!([operation["op"], operation["path"]]))
            .collect();
        assert_eq!(Value::from(found), expected);
    }
}

/// The API server refuses a JSON patch of more than 10,000 operations.
#[test]
fn a_list_with_many_changes_is_replaced() {
    let numbers = |count: i64, from: i64| json!({"status": {"observed": {"l": (from..from + count).collect::<Vec<_>>()}}});
    for (count, expected) in [(4_000, 8_002), (6_000, 4)] {
        let object = bare(numbers(count, 0));
        let edit = |observed: &mut Observed| {
            *observed = duck::<Observed>(numbers(count, 1_000_000)).view().unwrap();
        };
        let diff = duck::<Observed>(numbers(count, 0)).edit(edit).unwrap();
        assert_eq!(operations(&diff).as_array().unwrap().len(), expected);
        let stored = applied::<Observed>(&object, &diff).view().unwrap();
        assert_eq!(Ok(stored), duck::<Observed>(numbers(count, 1_000_000)).view());
    }
}

#[test]
fn a_merge_patch_with_a_null_in_an_object_of_a_list_is_refused() {
    let observed = duck::<Observed>(json!({"status": {"observed": {}}}));
    let merge = |value: Value| {
        let diff = observed.edit(|observed| drop(observed.0.insert("l".into(), value))).unwrap();
        diff.merge().map(|patches| body(&patches[0])["status"]["observed"]["l"].clone())
    };
    assert_eq!(merge(json!([null, 1])), Ok(json!([null, 1])));
    let error = merge(json!([1, {"a": {"b": null}}])).unwrap_err().to_string();
    assert!(error.contains("the null at /status/observed/l/1/a/b"), "{error}");
}

#[test]
fn the_workloads_are_pod_specable() {
    use duck_types::ready::{Container, PodSpecable};
    use duck_types::verify_type;
    use k8s_openapi::api::{apps::v1 as apps, batch::v1::Job, core::v1::ConfigMap};

    let mut sample = PodSpecable::default();
    sample.metadata.labels.insert("app".into(), "x".into());
    sample.spec.service_account_name = Some("account".into());
    sample.spec.node_selector.insert("zone".into(), "a".into());
    let env = vec![json!({"name": "A", "value": "b"})];
    sample.spec.containers.push(Container { name: "main".into(), image: Some("x".into()), env });
    let bare = json!({"metadata": {}, "spec": {"selector": {}, "template": {}, "serviceName": ""}});
    let lost = [
        verify_type::<apps::Deployment, _>(&sample, &bare),
        verify_type::<apps::ReplicaSet, _>(&sample, &bare),
        verify_type::<apps::StatefulSet, _>(&sample, &bare),
        verify_type::<apps::DaemonSet, _>(&sample, &bare),
        verify_type::<Job, _>(&sample, &bare),
    ];
    assert_eq!(lost, [const { Ok(Vec::new()) }; 5]);
    assert_eq!(verify_type::<ConfigMap, _>(&sample, &json!({"metadata": {}})), Ok(vec!["/spec".to_owned()]));
}

/// Returns what the edit leaves at `/spec/duck`.
#[track_caller]
fn left<T: DuckType + Serialize + PartialEq>(before: Value, change: impl FnOnce(&mut T)) -> Value {
    let object = bare(json!({"spec": {"duck": before}}));
    let diff = serde_json::from_value::<Duck<T>>(object.clone()).unwrap().edit(change).unwrap();
    applied::<T>(&object, &diff).object().data["spec"]["duck"].clone()
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Rank {
    #[serde(alias = "old")]
    name: String,
    level: i32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, DuckType)]
#[duck(path = "/spec/duck")]
struct Ranks(BTreeSet<Rank>);

/// The names are read by an alias, so nothing in the observed elements says that the set has another order.
#[test]
fn unknown_fields_stay_with_their_element_of_a_set() {
    let before = json!([{"old": "b", "level": 1, "u": "of b"}, {"old": "a", "level": 1, "u": "of a"}]);
    let after = left::<Ranks>(before, |ranks| {
        ranks.0 = [("a", 2), ("b", 3)].map(|(name, level)| Rank { name: name.into(), level }).into();
    });
    assert_eq!(after, json!([{"old": "a", "level": 2, "u": "of a"}, {"old": "b", "level": 3, "u": "of b"}]));
}

#[test]
fn an_element_that_replaces_another_does_not_inherit_its_unknown_fields() {
    #[derive(Debug, PartialEq, Serialize, Deserialize, DuckType)]
    #[duck(path = "/spec/duck")]
    struct Conditions(Vec<Condition>);

    let condition = |name: &str, status: &str| Condition { r#type: name.into(), status: status.into() };
    let before =
        json!([{"type": "A", "status": "True", "since": 1}, {"type": "B", "status": "True", "since": 2}]);
    let after = left::<Conditions>(before, |conditions| {
        conditions.0 = vec![condition("B", "False"), condition("C", "False")];
    });
    assert_eq!(
        after,
        json!([{"type": "B", "status": "False", "since": 2}, {"type": "C", "status": "False"}])
    );
}

#[test]
fn a_set_of_tuples_is_told_apart_by_order_within_the_tuple() {
    #[derive(Debug, PartialEq, Serialize, Deserialize, DuckType)]
    #[duck(path = "/spec/duck")]
    struct Pairs(BTreeSet<(i32, i32)>);

    let after = left::<Pairs>(json!([[2, 1], [1, 2]]), |pairs| assert!(pairs.0.remove(&(1, 2))));
    assert_eq!(after, json!([[2, 1]]));
}

/// A rate in single precision, and a time without fractions: what they are read from is not what they serialise to.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Sample {
    rate: f32,
    #[serde(serialize_with = "whole")]
    seconds: f64,
    #[serde(skip)]
    cached: i32,
}

fn whole<S: Serializer>(seconds: &f64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(seconds.trunc())
}

#[derive(Debug, PartialEq, Serialize, Deserialize, DuckType)]
#[duck(path = "/spec/duck")]
struct Samples(Vec<Sample>);

#[test]
fn values_that_the_edit_does_not_touch_keep_their_text() {
    let before = json!([{"rate": 0.1, "seconds": 1.0, "u": 1}, {"rate": 0.2, "seconds": 2.5, "u": 2}]);
    let after = left::<Samples>(before.clone(), |samples| samples.0[0].seconds = 3.0);
    let mut expected = before.clone();
    expected[0]["seconds"] = json!(3.0);
    assert_eq!(after, expected);

    let whole = json!([{"rate": 0.1, "seconds": 1.0}]);
    let mut skipped = |samples: &mut Samples| (samples.0[0].cached, samples.0[0].rate) = (1, 0.5);
    assert_eq!(left::<Samples>(whole, &mut skipped), json!([{"rate": 0.5, "seconds": 1.0}]));
    // The fraction would be lost in the copy of a list that is written whole.
    let object: Duck<Samples> = duck(json!({"spec": {"duck": before}}));
    let rebuilt = object.edit(|samples| samples.0[1].rate = 0.25).unwrap();
    let Patch::Json(patch) = &rebuilt.json(PatchPrecondition::Version).unwrap()[0].patch else {
        unreachable!()
    };
    assert!(!serde_json::to_string(patch).unwrap().contains("seconds"));
}

#[test]
fn what_serialises_under_another_name_than_it_reads_is_refused() {
    #[derive(Debug, PartialEq, Serialize, Deserialize, DuckType)]
    #[duck(path = "/spec/duck")]
    struct Renamed {
        #[serde(rename(serialize = "out", deserialize = "in"), default)]
        value: i32,
        #[serde(default)]
        other: i32,
    }

    assert_eq!(left::<Renamed>(json!({"in": 3}), |duck| duck.other = 1), json!({"in": 3, "other": 1}));
    for before in [json!({"in": 3}), json!({})] {
        let object: Duck<Renamed> = duck(json!({"spec": {"duck": before}}));
        let error = object.edit(|duck| duck.value = 1).unwrap_err();
        assert!(matches!(error, DuckError::Unwritable { .. }), "{error}");
    }
}

#[test]
fn without_the_version_a_value_that_cannot_be_tested_is_refused() {
    for before in [json!(0.5), json!({"a": 0.5}), json!([null])] {
        let observed = duck::<Observed>(json!({"status": {"observed": {"x": before, "y": 1}}}));
        let replaced = observed.edit(|observed| drop(observed.0.insert("x".into(), json!("s")))).unwrap();
        let removed = observed.edit(|observed| drop(observed.0.remove("x"))).unwrap();
        for diff in [replaced, removed] {
            let pointer = "/status/observed/x".to_owned();
            assert_eq!(diff.json(PatchPrecondition::Leaves).unwrap_err(), DuckError::Untestable { pointer });
        }
        let beside = observed.edit(|observed| drop(observed.0.insert("y".into(), json!(2)))).unwrap();
        assert!(beside.json(PatchPrecondition::Leaves).is_ok());
    }
}
