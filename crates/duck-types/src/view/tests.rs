//! Three outcomes besides success, each with the place.

use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::Place;

#[derive(Debug, PartialEq, Deserialize)]
struct Address {
    url: String,
    #[serde(default)]
    port: Option<i32>,
    #[serde(default)]
    names: Vec<Name>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Name {
    #[serde(rename = "a/b")]
    slash: u8,
}

impl DuckType for Address {
    const NAME: &'static str = "Addressable";
    const PLACE: Place = Place::At(crate::duck_path!("/status/address"));
}

#[track_caller]
fn check(object: Value, expected: &str) {
    let error = view::<Address>(&object).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert_eq!(error, view_ref::<Address, Address>(&object).unwrap_err());
}

#[test]
fn what_is_absent_says_how_far_the_path_goes() {
    let absent = |at: &str| format!("Addressable is absent: /status/address does not exist below {at}");
    check(json!({}), &absent("the root of the object"));
    check(json!({"status": {}}), &absent("/status"));
    // kube's DynamicObject has null data when an object has nothing but metadata.
    check(Value::Null, &absent("the root of the object"));
}

#[test]
fn null_is_neither_absent_nor_wrong() {
    check(json!({"status": null}), "Addressable is null at /status");
    check(json!({"status": {"address": null}}), "Addressable is null at /status/address");
    assert!(view::<Address>(&json!({"status": null})).unwrap_err().is_missing());
}

#[test]
fn a_mismatch_has_one_pointer_from_the_root_of_the_object() {
    let mismatch =
        |at: &str, message: &str| format!("Addressable does not have the expected shape at {at}: {message}");
    check(json!({"status": "up"}), &mismatch("/status", "expected an object, found a string"));
    check(json!({"status": [{"address": {}}]}), &mismatch("/status", "expected an object, found an array"));
    check(
        json!({"status": {"address": {"url": "u", "port": 3_000_000_000_u32}}}),
        &mismatch("/status/address/port", "invalid value: integer `3000000000`, expected i32"),
    );
    check(
        json!({"status": {"address": {"url": "u", "port": 80.0}}}),
        &mismatch("/status/address/port", "invalid type: floating point `80.0`, expected i32"),
    );
    check(
        json!({"status": {"address": {"url": "u", "names": [{"a/b": 1}, {"a/b": "x"}]}}}),
        &mismatch("/status/address/names/1/a~1b", "invalid type: string \"x\", expected u8"),
    );
    check(json!({"status": {"address": {}}}), &mismatch("/status/address", "missing field `url`"));
}

#[test]
fn unknown_fields_are_not_looked_at() {
    let object = json!({"status": {"address": {"url": "u", "CACerts": {"any": ["thing"]}}, "other": 1}});
    assert_eq!(view::<Address>(&object).unwrap(), Address { url: "u".into(), port: None, names: vec![] });
}

#[test]
fn a_view_can_borrow() {
    #[derive(Deserialize)]
    struct Url<'a> {
        url: &'a str,
    }
    let object = json!({"status": {"address": {"url": "https://example.com"}}});
    let url: Url<'_> = view_ref::<Address, _>(&object).unwrap();
    let stored = object["status"]["address"]["url"].as_str().unwrap();
    assert!(std::ptr::eq(url.url, stored), "not copied");
}

#[test]
fn a_number_is_a_field_name_and_not_a_position() {
    struct Zero;
    impl<'de> Deserialize<'de> for Zero {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            u8::deserialize(deserializer).map(|_| Self)
        }
    }
    impl DuckType for Zero {
        const NAME: &'static str = "Zero";
        const PLACE: Place = Place::At(crate::duck_path!("/spec/0"));
    }
    assert!(view::<Zero>(&json!({"spec": {"0": 7}})).is_ok());
    assert!(matches!(view::<Zero>(&json!({"spec": [7]})), Err(DuckError::Mismatch { .. })));
}

#[derive(Debug, PartialEq, Deserialize)]
struct Spanning {
    #[serde(default)]
    spec: Option<Part>,
    #[serde(default)]
    status: Option<Part>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Part {
    size: u8,
    other: Option<Value>,
}

impl DuckType for Spanning {
    const NAME: &'static str = "Spanning";
    const PLACE: Place = Place::Across(&[crate::duck_path!("/spec/size"), crate::duck_path!("/status/size")]);
}

#[test]
fn several_paths_are_seen_and_nothing_else() {
    let part = |size| Some(Part { size, other: None });
    let read = |object: Value| view::<Spanning>(&object);
    let both = json!({"spec": {"size": 1, "other": 1}, "status": {"size": 2}});
    assert_eq!(read(both), Ok(Spanning { spec: part(1), status: part(2) }));
    assert_eq!(read(json!({"status": {"size": 2}})), Ok(Spanning { spec: None, status: part(2) }));
    assert!(read(json!({"spec": {"other": 1}})).unwrap_err().is_missing());
    let text = |object: Value| read(object).unwrap_err().to_string();
    assert_eq!(
        text(json!({"spec": "x", "status": {"size": 2}})),
        "Spanning does not have the expected shape at /spec: expected an object, found a string"
    );
    assert_eq!(
        text(json!({"spec": {"size": "x"}})),
        "Spanning does not have the expected shape at /spec/size: invalid type: string \"x\", expected u8"
    );
}
