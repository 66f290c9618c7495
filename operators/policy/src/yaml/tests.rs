//! The same answers as `sigs.k8s.io/yaml` v1.6, and bounds on what hostile text can cost.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn one(text: &str) -> Value {
    let mut found = documents(text).unwrap();
    assert_eq!(found.len(), 1, "{text}");
    found.remove(0).value
}

#[test]
fn plain_words_mean_what_kubernetes_tools_say() {
    // The right-hand sides are what that library printed for the left-hand ones.
    for (text, expected) in [
        ("yes", json!(true)),
        ("no", json!(false)),
        ("on", json!(true)),
        ("y", json!(true)),
        ("\"no\"", json!("no")),
        ("0777", json!(511)),
        ("0o17", json!(15)),
        ("007", json!(7)),
        ("08", json!(8.0)),
        ("0x1F", json!(31)),
        ("1e3", json!(1000.0)),
        (".5", json!(0.5)),
        ("+1", json!(1)),
        ("1_000", json!(1000)),
        ("~", Value::Null),
        ("12:30:45", json!("12:30:45")),
        ("2020-01-01", json!("2020-01-01")),
        ("1.2.3", json!("1.2.3")),
        ("-9223372036854775808", json!(i64::MIN)),
        ("18446744073709551615", json!(u64::MAX)),
        ("-", json!([null])),
        ("100m", json!("100m")),
        ("1Gi", json!("1Gi")),
        ("!!str 1", json!("1")),
        ("0x", json!("0x")),
        ("1e", json!("1e")),
    ] {
        assert_eq!(one(text), expected, "{text}");
    }
}

#[test]
fn keys_become_text() {
    assert_eq!(one("1: a\nyes: b\n\"2\": c"), json!({"1": "a", "true": "b", "2": "c"}));
    assert_eq!(documents("? [a]\n: b"), Err(YamlError::Key(1)));
}

#[test]
fn documents_have_lines() {
    let lines: Vec<_> =
        documents("a: 1\n---\n\nb: 2\n---\n").unwrap().into_iter().map(|placed| placed.line).collect();
    assert_eq!(lines, [1, 4, 6]);
}

#[test]
fn quoted_text_may_hang_over_the_margin() {
    assert_eq!(one("a:\n  b: \"x\n  y\""), json!({"a": {"b": "x y"}}));
}

#[test]
fn anchors_and_merge_keys_are_written_out() {
    assert_eq!(
        one("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\nc: *x"),
        json!({
            "a": {"p": 1, "q": 2}, "b": {"p": 1, "q": 3}, "c": {"p": 1, "q": 2}
        })
    );
    assert!(matches!(documents("a: *nowhere"), Err(YamlError::UnknownAnchor { line: 1, .. })));
}

#[test]
fn json_is_read_as_json() {
    assert_eq!(one("{\"a\":\t\"no\"}"), json!({"a": "no"}));
}

#[test]
fn what_grows_without_bound_is_refused() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let alias = format!("*a{}", level - 1);
        laughs.push_str(&format!("a{level}: &a{level} [{}]\n", vec![alias; 10].join(", ")));
    }
    assert!(matches!(documents(&laughs), Err(YamlError::TooLarge(_))));
    let deep = "[".repeat(5000) + &"]".repeat(5000);
    assert!(documents(&deep).is_err());
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "[-:\\[\\]{}&*!|>'\"%@`#,?~a-c0-2 \\n\\t]{0,80}") {
        let _ = documents(&text);
    }

    #[test]
    fn json_and_yaml_agree_on_json(number in any::<i64>(), text in "[a-z \\\\\"]{0,12}", flag in any::<bool>()) {
        let value = json!({"n": number, "t": text, "f": flag, "l": [null, {"x": []}]});
        prop_assert_eq!(compose::documents(&value.to_string()).unwrap().remove(0).value, value);
    }
}
