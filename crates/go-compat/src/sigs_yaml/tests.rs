//! The same answers as `sigs.k8s.io/yaml` v1.6, and bounds on what hostile text can cost.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::yaml;

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
        ("08", json!(8)),
        ("0x1F", json!(31)),
        ("1e3", json!(1000)),
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
fn numbers_in_json_are_those_of_yaml() {
    let texts = [
        "1.0",
        "1e3",
        "-0",
        "0.5",
        "1e20",
        "1e21",
        "9007199254740993",
        "12345678901234567890",
        "1e-7",
        "-2.0",
    ];
    for text in texts {
        let read = |text: String| one(&text)["a"].to_string();
        assert_eq!(read(format!("{{\"a\": {text}}}")), read(format!("a: {text}")), "{text}");
    }
    assert_eq!(one("{\"a\": 1.0}"), json!({"a": 1}));
}

#[test]
fn a_key_that_stands_twice_is_noted_in_json_too() {
    let found = documents("{\"a\": 1}\n{\"b\": [{\"c\": 1, \"c\": 2}]}").unwrap().remove(1);
    assert_eq!(found.value, json!({"b": [{"c": 2}]}));
    assert_eq!(found.duplicate, Some(DuplicateKey { line: 2, key: "c".to_owned() }));
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
fn items_of_a_list_have_lines() {
    let lines = |text: &str| documents(text).unwrap().remove(0).item_lines;
    assert_eq!(lines("kind: List\nitems:\n- a: 1\n\n- b: [\n  1]\n- c\nother: [1]\n"), [3, 5, 7]);
    assert_eq!(lines("other: [1]\nitems: []\n"), [0; 0]);
    assert_eq!(lines("- a: 1\n\n- b\n"), [1, 3]);
    assert_eq!(lines("[{\"a\":\n1},\n[2]]"), [1, 3]);
    assert_eq!(lines("x: &x [1, 2]\nitems: *x\n"), [0; 0], "an alias has no lines of its own");
    assert_eq!(lines("{\"kind\": \"List\",\n\"items\": [{},\n{\"items\": [1]}]}"), [2, 3]);
}

#[test]
fn json_lines_have_lines() {
    let lines: Vec<_> = documents("{\"a\": 1}\n\n{\"b\":\n2} {}\n[]")
        .unwrap()
        .into_iter()
        .map(|placed| placed.line)
        .collect();
    assert_eq!(lines, [1, 3, 4, 5]);
}

#[test]
fn a_byte_order_mark_is_no_text() {
    assert_eq!(one("\u{feff}a: 1"), json!({"a": 1}));
    assert_eq!(one("\u{feff}{\"a\": 1}"), json!({"a": 1}));
    assert_eq!(one("\u{ff03}: 1"), json!({"\u{ff03}": 1}), "shares its first byte with the mark");
}

#[test]
fn a_key_that_stands_twice_is_noted_and_the_last_value_counts() {
    let placed = documents("a: 1\nb: {c: 1,\n  c: 2}\n").unwrap().remove(0);
    assert_eq!(placed.duplicate, Some(DuplicateKey { line: 3, key: "c".to_owned() }));
    assert_eq!(placed.value, json!({"a": 1, "b": {"c": 2}}));
    assert_eq!(documents("a: &a {b: 1}\nc: {<<: *a, b: 2}").unwrap()[0].duplicate, None);
}

#[test]
fn a_suite_reads_words_as_text() {
    let words = |text: &str| documents_with(text, Words::Yaml12).unwrap().remove(0).value;
    assert_eq!(words("[yes, No, on, y, true, 1, 0x1]"), json!(["yes", "No", "on", "y", true, 1, 1]));
}

#[test]
fn blocks_read_back_as_what_they_were() {
    let value = json!({
        "words": ["yes", "true", "null", "~", "", "1", "0644", "1e3", "2020-01-01", "a: b", "- x", "#", "é", "v1", "12:30"],
        "text": "two\nlines\n", "tail": "no newline\nat the end", "spaces": "  first\n", "control": "\u{7}\u{feff}\r\n",
        "empty": {"list": [], "map": {}}, "numbers": [0, -1, 1.5, true, null], "nested": [[1, [2]], {"a": [{"b": 1}]}]
    });
    let text = block(&value.to_string()).unwrap();
    assert_eq!(one(&text), value, "{text}");
    assert!(text.contains("- v1\n") && text.contains("- 'yes'\n") && text.contains("text: |\n"), "{text}");
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
    assert!(matches!(
        documents("a: *nowhere"),
        Err(YamlError::Compose(yaml::Error::UnknownAnchor { line: 1, .. }))
    ));
}

#[test]
fn a_merge_key_is_for_what_stands_before_it() {
    assert_eq!(one("{a: 1, <<: {a: 2}, b: 1}"), json!({"a": 2, "b": 1}));
    assert_eq!(one("{<<: [{a: 2}, {a: 3, c: 3}], a: 1}"), json!({"a": 1, "c": 3}));
    let version_3 = documents_with("{a: 1, <<: {a: 2}}", Words::Yaml12).unwrap().remove(0);
    assert_eq!((version_3.value, version_3.duplicate), (json!({"a": 1}), None));
}

#[test]
fn a_merge_key_is_without_quotes_or_has_its_tag() {
    for merges in ["{<<: {a: 1}}", "{! <<: {a: 1}}", "{!!merge <<: {a: 1}}", "{!!merge '<<': {a: 1}}"] {
        assert_eq!(one(merges), json!({"a": 1}), "{merges}");
    }
    for string in ["{'<<': {a: 1}}", "{!!str <<: {a: 1}}"] {
        assert_eq!(one(string), json!({"<<": {"a": 1}}), "{string}");
    }
    assert_eq!(one("{!!merge x: {a: 1}}"), json!({"x": {"a": 1}}));
}

#[test]
fn a_key_that_is_written_twice_is_a_duplicate_also_beside_a_merge_key() {
    let duplicate = |text: &str, words| {
        documents_with(text, words).unwrap().remove(0).duplicate.map(|duplicate| duplicate.key)
    };
    for words in [Words::Yaml11, Words::Yaml12] {
        for once in ["{<<: {a: 1}, a: 2}", "{a: 2, <<: {a: 1}}", "{<<: {a: 1}, <<: {a: 2}, a: 3}"] {
            assert_eq!(duplicate(once, words), None, "{once}");
        }
        for twice in ["{<<: {a: 1}, a: 2, a: 3}", "{a: 2, <<: {a: 1}, a: 3}", "{a: 2, a: 3, <<: {a: 1}}"] {
            assert_eq!(duplicate(twice, words).as_deref(), Some("a"), "{twice}");
        }
    }
}

#[test]
fn a_merge_key_takes_mappings_and_their_aliases() {
    assert_eq!(one("a: &x {p: 1}\nb: {<<: [*x, {q: 2}]}")["b"], json!({"p": 1, "q": 2}));
    for text in ["a: &x [{p: 1}]\nb: {<<: *x}", "<<: 1", "<<: [1]", "<<:"] {
        assert!(matches!(documents(text), Err(YamlError::Merge(_))), "{text}");
    }
}

#[test]
fn json_is_read_as_json() {
    assert_eq!(one("{\"a\":\t\"no\"}"), json!({"a": "no"}));
}

#[test]
fn a_tag_at_a_comma_is_refused() {
    for text in ["[!,", "[!!str, a]", "{a: !b,}"] {
        assert!(matches!(documents(text), Err(YamlError::Compose(yaml::Error::Syntax { .. }))), "{text}");
    }
}

#[test]
fn what_grows_without_bound_is_refused() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let alias = format!("*a{}", level - 1);
        laughs.push_str(&format!("a{level}: &a{level} [{}]\n", vec![alias; 10].join(", ")));
    }
    assert!(matches!(documents(&laughs), Err(YamlError::Compose(yaml::Error::TooLarge { .. }))));
    let deep = "[".repeat(5000) + &"]".repeat(5000);
    assert!(documents(&deep).is_err());
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "[-:\\[\\]{}&*!|>'\"%@`#,?~a-c0-2 \\n\\t]{0,80}") {
        let _ = documents(&text);
    }

    #[test]
    fn any_text_survives_a_block(text in any::<String>(), key in any::<String>()) {
        let value = json!({key: [text]});
        let written = block(&value.to_string()).unwrap();
        prop_assert_eq!(&documents(&written).unwrap().remove(0).value, &value, "{}", written);
    }

    #[test]
    fn json_and_yaml_agree_on_json(number in any::<i64>(), text in "[a-z \\\\\"]{0,12}", flag in any::<bool>()) {
        let value = json!({"n": number, "t": text, "f": flag, "l": [null, {"x": []}]});
        prop_assert_eq!(compose::documents(&value.to_string(), Words::Yaml11, DEPTH).unwrap().remove(0).value, value);
    }
}
