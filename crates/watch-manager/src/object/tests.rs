//! Tests of `object`: what is read, what is completed, what is left alone.

use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::config::Config;

const EVERYTHING: Keep = Keep::EVERYTHING;
const STRIPPED: Keep = Keep { managed_fields: false, ..EVERYTHING };

fn config_map() -> Arc<GroupVersionKind> {
    Arc::new(GroupVersionKind::gvk("", "v1", "ConfigMap"))
}

fn decode(text: &str, keep: Keep) -> Result<WatchedObject, serde_json::Error> {
    WatchedObject::from_raw(&config_map(), &RawValue::from_string(text.to_owned())?, keep)
}

#[track_caller]
fn check_text(text: &str, keep: Keep, expected: &str) {
    assert_eq!(decode(text, keep).unwrap().json(), expected);
}

#[test]
fn an_item_of_a_list_gets_the_kind_of_the_watch() {
    check_text(
        r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#,
        EVERYTHING,
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#,
    );
}

#[test]
fn another_kind_in_the_text_is_replaced_even_when_it_is_escaped() {
    check_text(
        r#"{"kind":"PartialObjectMetadata","\u006bind":"x","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}"#,
        EVERYTHING,
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#,
    );
}

#[test]
fn managed_fields_are_kept_or_left_out_and_nothing_else_is_touched() {
    let text = r#"{"metadata":{"managedFields":[{"manager":"m"}],"name":"a","labels":{"managedFields":"x"}},"managedFields":1}"#;
    check_text(
        text,
        STRIPPED,
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"managedFields":"x"}},"managedFields":1}"#,
    );
    assert!(decode(text, EVERYTHING).unwrap().json().contains(r#""manager":"m""#));
}

#[test]
fn identity_is_read_without_parsing_the_rest() {
    let object = decode(
        r#"{"metadata":{"name":"a\u0062","namespace":"n","uid":"u","resourceVersion":"7"},"data":12}"#,
        EVERYTHING,
    )
    .unwrap();
    assert_eq!(
        (object.namespace(), object.name(), object.uid(), object.resource_version()),
        (Some("n"), "ab", "u", "7")
    );
    assert_eq!(object.key().to_string(), "n/ab");
    assert!(object.parse::<ConfigMap>().is_err(), "the body is not a ConfigMap");
}

#[test]
fn a_cluster_scoped_object_has_no_namespace() {
    for text in [r#"{"metadata":{"name":"a"}}"#, r#"{"metadata":{"name":"a","namespace":""}}"#] {
        assert_eq!(decode(text, EVERYTHING).unwrap().namespace(), None);
    }
}

#[test]
fn what_is_no_object_is_refused() {
    for text in ["1", "[]", "{}", r#"{"metadata":{}}"#, r#"{"metadata":{"name":3}}"#, r#"{"metadata":[]}"#] {
        assert!(decode(text, EVERYTHING).is_err(), "{text} was accepted");
    }
}

#[test]
fn typed_dynamic_and_metadata_views_agree() {
    let text = r#"{"metadata":{"name":"a","namespace":"n","labels":{"app":"x"}},"data":{"k":"v"}}"#;
    let object = decode(text, EVERYTHING).unwrap();
    let typed: ConfigMap = object.parse().unwrap();
    assert_eq!(typed.data.unwrap()["k"], "v");
    let dynamic = object.to_dynamic().unwrap();
    assert_eq!(dynamic.types.unwrap().kind, "ConfigMap");
    assert_eq!(dynamic.metadata, object.metadata());
    assert_eq!(object.labels()["app"], "x");
    assert_eq!(object.metadata().labels.as_ref().unwrap()["app"], "x");
}

#[test]
fn impossible_metadata_leaves_the_identity() {
    let object = decode(r#"{"metadata":{"name":"a","uid":"u","labels":7}}"#, EVERYTHING).unwrap();
    assert_eq!(object.metadata().name.as_deref(), Some("a"));
    assert_eq!(object.metadata().uid.as_deref(), Some("u"));
    assert_eq!(object.metadata().labels, None);
}

#[test]
fn an_object_nested_too_deeply_is_an_error_of_its_reader() {
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let object = decode(&format!(r#"{{"metadata":{{"name":"a"}},"spec":{deep}}}"#), EVERYTHING).unwrap();
    assert!(object.to_value().is_err());
    assert!(object.json().contains(&deep));
    assert_eq!(object.metadata().name.as_deref(), Some("a"));
}

#[test]
fn debug_output_says_which_object_and_not_what_is_in_it() {
    let object = decode(r#"{"metadata":{"name":"a"},"data":{"password":"hunter2"}}"#, EVERYTHING).unwrap();
    let text = format!("{object:?}");
    assert!(text.contains("ConfigMap") && text.contains('a') && !text.contains("hunter2"), "{text}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let key =
        prop_oneof!["[a-z\"\\\\\u{e9}]{0,4}", Just("managedFields".to_owned()), Just("kind".to_owned())];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~\u{20ac}]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_text_is_the_object_with_its_kind(
        body in prop::collection::btree_map("[a-zA-Z]{1,10}", any_json(), 0..5),
        extra in prop::collection::btree_map("[a-zA-Z]{1,10}", any_json(), 0..3),
        strip in any::<bool>(),
    ) {
        let mut metadata: serde_json::Map<_, _> = extra.into_iter().collect();
        for field in ["namespace", "uid", "resourceVersion"] {
            metadata.remove(field);
        }
        metadata.insert("name".into(), json!("a"));
        metadata.insert("managedFields".into(), json!([{"manager": "m"}]));
        let mut original: serde_json::Map<_, _> = body.into_iter().collect();
        original.insert("metadata".into(), metadata.clone().into());

        let keep = if strip { STRIPPED } else { EVERYTHING };
        let object = decode(&serde_json::to_string(&original).unwrap(), keep).unwrap();

        if strip {
            metadata.remove("managedFields");
        }
        original.insert("metadata".into(), metadata.into());
        original.insert("apiVersion".into(), json!("v1"));
        original.insert("kind".into(), json!("ConfigMap"));
        prop_assert_eq!(object.to_value().unwrap(), Value::Object(original));
    }
}

#[test]
fn labels_annotations_and_the_generation_are_read_without_a_parse() {
    let text = r#"{"metadata":{"name":"a","generation":4,"deletionTimestamp":"2024-01-01T00:00:00Z",
        "labels":{"a\u0062":"c\n"},"annotations":{"x":"y"}},"spec":"not an object"}"#;
    let object = decode(text, EVERYTHING).unwrap();
    assert_eq!((object.generation(), object.is_deleting()), (Some(4), true));
    assert_eq!(object.labels().into_iter().collect::<Vec<_>>(), [("ab".into(), "c\n".into())]);
    assert_eq!(object.annotations()["x"], "y");
    let bare = decode(r#"{"metadata":{"name":"a","deletionTimestamp":null}}"#, EVERYTHING).unwrap();
    assert_eq!((bare.generation(), bare.is_deleting(), bare.labels().len()), (None, false, 0));
}

#[test]
fn the_last_applied_configuration_is_left_out_on_request() {
    let text = r#"{"metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","x":"y"}}}"#;
    let keep = Keep { last_applied: false, managed_fields: false, rest: true };
    let object = decode(text, keep).unwrap();
    assert_eq!(
        object.json(),
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","annotations":{"x":"y"}}}"#
    );
    assert_eq!(decode(text, STRIPPED).unwrap().annotations().len(), 2);
}

#[test]
fn of_an_identity_nothing_else_is_kept() {
    let text = r#"{"kind":"A","spec":{},"metadata":{"uid":"u","name":"a","namespace":"n","labels":{"b":"c"},"resourceVersion":"7",
        "generation":2,"deletionTimestamp":"2024-01-01T00:00:00Z"}}"#;
    let object = decode(text, Keep { rest: false, ..STRIPPED }).unwrap();
    assert_eq!(object.json(), r#"{"metadata":{"uid":"u","labels":{"b":"c"},"resourceVersion":"7"}}"#);
    assert_eq!((object.namespace(), object.name(), object.uid()), (Some("n"), "a", "u"));
    assert_eq!((object.resource_version(), object.generation(), object.is_deleting()), ("7", Some(2), true));
    assert_eq!(object.labels().len(), 1);
}

#[test]
fn a_transform_changes_what_is_stored() {
    let transform: Transform = Arc::new(|_, value| {
        value.as_object_mut().unwrap().remove("data");
    });
    let decoder = Decoder::new(config_map(), &Config::default(), Some(transform));
    let raw = RawValue::from_string(r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#.to_owned()).unwrap();
    assert_eq!(decoder.decode(&raw).unwrap().to_value().unwrap().get("data"), None);
}

/// Strings that a server writes with escapes, as Go writes `<`, are what they mean.
#[test]
fn the_uid_and_the_version_are_what_they_mean_in_any_text() {
    for (uid, version) in [("u-1", "7"), ("", ""), ("a\"b", "7"), ("u", "<8>"), ("\u{e9}", "\\")] {
        let plain = serde_json::to_string(
            &json!({"metadata": {"uid": uid, "name": "a", "resourceVersion": version}}),
        );
        let plain = plain.unwrap();
        for text in [plain.replace('<', "\\u003c"), plain] {
            let object = decode(&text, STRIPPED).unwrap();
            assert_eq!((object.uid(), object.resource_version()), (uid, version), "{text}");
        }
    }
    let without = decode(r#"{"metadata":{"name":"a"}}"#, STRIPPED).unwrap();
    assert_eq!((without.uid(), without.resource_version()), ("", ""));
    let spaced = decode(
        "{\"metadata\": {\"name\": \"a\", \"uid\" : \"u\" , \"resourceVersion\":\t\"9\"}}",
        EVERYTHING,
    )
    .unwrap();
    assert_eq!((spaced.uid(), spaced.resource_version()), ("u", "9"));
}

/// A parse that is kept costs more than the object: 925 B after one label filter, before there was this bound.
#[cfg(target_pointer_width = "64")]
#[test]
fn an_object_has_no_place_for_what_is_parsed_of_it() {
    assert!(size_of::<WatchedObject>() <= 88, "{} bytes", size_of::<WatchedObject>());
}
