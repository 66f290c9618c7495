//! Parsing, escapes and the algebra of paths (K1).

use proptest::prelude::*;

use super::*;

fn segment() -> impl Strategy<Value = String> {
    prop_oneof!["[~/01a]{0,4}", ".{0,6}", Just("__proto__".to_owned()), Just("$ref".to_owned())]
}

fn path() -> impl Strategy<Value = DuckPath> {
    prop::collection::vec(segment(), 0..4)
        .prop_map(|rest| rest.into_iter().fold(DuckPath::SPEC, |path, name| path.child(name)))
}

proptest! {
    #[test]
    fn display_and_parse_are_inverse(path in path()) {
        prop_assert_eq!(path.to_string().parse::<DuckPath>().unwrap(), path);
    }

    #[test]
    fn parsing_never_panics_and_what_it_accepts_is_canonical(text in "[/~01a-z]{0,12}") {
        if let Ok(path) = text.parse::<DuckPath>() {
            prop_assert_eq!(path.to_string(), text);
        }
    }

    #[test]
    fn ancestry_is_a_strict_order(a in path(), b in path(), c in path()) {
        prop_assert!(!a.is_ancestor_of(&a));
        prop_assert!(!(a.is_ancestor_of(&b) && b.is_ancestor_of(&a)));
        if a.is_ancestor_of(&b) && b.is_ancestor_of(&c) {
            prop_assert!(a.is_ancestor_of(&c));
        }
        prop_assert_eq!(a.overlaps(&b), b.overlaps(&a));
    }

    #[test]
    fn a_child_has_its_parent_and_overlaps_it(path in path(), name in segment()) {
        let child = path.child(name);
        prop_assert_eq!(child.parent(), Some(path.clone()));
        prop_assert!(path.is_ancestor_of(&child) && child.overlaps(&path) && path < child);
    }
}

#[test]
fn a_constant_equals_the_parsed_path() {
    const SLASH: DuckPath = crate::duck_path!("/spec/a~1b/~0");
    let parsed: DuckPath = "/spec/a~1b/~0".parse().unwrap();
    assert_eq!(SLASH, parsed);
    assert_eq!(SLASH.segments().collect::<Vec<_>>(), ["spec", "a/b", "~"]);
    assert_eq!(SLASH, DuckPath::SPEC.child("a/b").child("~"));
    let set = std::collections::HashSet::from([SLASH, parsed]);
    assert_eq!(set.len(), 1);
}

#[test]
fn the_parent_of_a_path_is_a_path() {
    assert_eq!("/metadata/labels/a".parse::<DuckPath>().unwrap().parent(), "/metadata/labels".parse().ok());
    assert_eq!(crate::duck_path!("/metadata/labels").parent(), None, "the metadata is not addressable");
    assert_eq!(DuckPath::SPEC.parent(), None);
}

#[test]
fn siblings_whose_names_share_a_prefix_do_not_overlap() {
    let (a, b) = (DuckPath::SPEC.child("port"), DuckPath::SPEC.child("ports"));
    assert!(!a.overlaps(&b) && !b.overlaps(&a));
}

#[test]
fn refusals_name_the_reason() {
    let identity = |path: &str| PathError::Identity { path: path.to_owned() };
    let escape = |path: &str| PathError::Escape { path: path.to_owned() };
    for (text, expected) in [
        ("", PathError::Empty),
        ("status", PathError::NoSlash),
        ("/a~2", escape("/a~2")),
        ("/a~", escape("/a~")),
        ("/metadata", identity("/metadata")),
        ("/metadata/uid", identity("/metadata/uid")),
        ("/metadata/labelsX", identity("/metadata/labelsX")),
        ("/kind", identity("/kind")),
        ("/apiVersion/x", identity("/apiVersion/x")),
    ] {
        assert_eq!(text.parse::<DuckPath>(), Err(expected), "{text}");
    }
    for text in ["/metadata/labels/a", "/metadata/finalizers", "/kinds", "/metadataX"] {
        assert!(text.parse::<DuckPath>().is_ok(), "{text}");
    }
}

#[test]
fn only_the_first_field_decides_the_endpoint() {
    assert_eq!(DuckPath::STATUS.child("conditions").endpoint(), Endpoint::Status);
    assert_eq!(DuckPath::SPEC.child("status").endpoint(), Endpoint::Object);
    assert_eq!("/data".parse::<DuckPath>().unwrap().endpoint(), Endpoint::Object);
}

#[test]
fn a_path_is_a_string_in_json() {
    let path: DuckPath = serde_json::from_str(r#""/spec/a~1b""#).unwrap();
    assert_eq!(serde_json::to_string(&path).unwrap(), r#""/spec/a~1b""#);
    assert!(serde_json::from_str::<DuckPath>(r#""spec""#).is_err());
}
