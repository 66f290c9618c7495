//! Tables of patterns for whole objects, and the objects that each accepts.

use serde_json::json;

use super::*;

#[track_caller]
fn check(pattern: Value, value: Value, expected: &str) {
    let outcome = match Pattern::compile(&pattern).unwrap().judge(Some(&value), "") {
        Outcome::Pass => "pass".to_owned(),
        Outcome::Skip(_) => "skip".to_owned(),
        Outcome::Fail(at) => at,
    };
    assert_eq!(outcome, expected, "{pattern} {value}");
}

#[test]
fn a_key_must_be_there_and_null_must_not() {
    check(json!({"spec": {"replicas": ">2"}}), json!({"spec": {"replicas": 3}}), "pass");
    check(json!({"spec": {"replicas": ">2"}}), json!({"spec": {"replicas": 2}}), "/spec/replicas");
    check(json!({"spec": {"replicas": ">2"}}), json!({"spec": {}}), "/spec/replicas");
    check(json!({"spec": {"replicas": ">2"}}), json!({"spec": {"replicas": null}}), "/spec/replicas");
    check(json!({"spec": {"replicas": "<=10"}}), json!({"spec": {}}), "pass");
    check(json!({"spec": {"replicas": ">2"}}), json!({}), "/spec");
    check(json!({"a": {}}), json!({"a": {"b": 1}}), "pass");
    check(json!({"a": {}}), json!({}), "/a");
    check(json!({"a": null}), json!({}), "pass");
}

/// Patterns that are not text: values that match, and values that do not.
#[test]
fn numbers_booleans_and_null() {
    for (pattern, good, bad) in [
        (json!(true), json!([true, [], [true]]), json!(["true", 1, null, [false], {}])),
        (json!(5), json!([5, 5.0, "5", [5, "5"]]), json!([5.5, "5.0", "five", null, [5, 6], true])),
        (json!(1.5), json!([1.5, "1.5"]), json!([1, 2, "1", null])),
        (json!(null), json!([null, 0, 0.0, "", false, []]), json!([1, "null", true, {}, [1]])),
        (json!("null"), json!(["null"]), json!([null, "", 0])),
    ] {
        for value in good.as_array().unwrap() {
            check(json!({"a": pattern}), json!({"a": value}), "pass");
        }
        for value in bad.as_array().unwrap() {
            check(json!({"a": pattern}), json!({"a": value}), "/a");
        }
    }
}

#[test]
fn a_star_stands_for_whatever_is_there() {
    for value in [json!("x"), json!(0), json!(false), json!({}), json!([]), json!([{"b": 1}, [2]])] {
        check(json!({"a": "*"}), json!({"a": value}), "pass");
    }
    check(json!({"a": "*"}), json!({}), "/a");
    check(json!({"a": "*"}), json!({"a": null}), "/a");
    // Behind an anchor it is a text with a wildcard.
    check(json!({"=(a)": "*"}), json!({"a": ["x", 1]}), "pass");
    check(json!({"=(a)": "*"}), json!({"a": {}}), "/a");
    check(json!({"=(a)": "*"}), json!({"a": [{}]}), "/a");
}

#[test]
fn a_text_is_about_each_element_of_a_list() {
    for pattern in [json!({"a": "x*"}), json!({"a": ["x*"]})] {
        check(pattern.clone(), json!({"a": ["x", "xy"]}), "pass");
        check(pattern.clone(), json!({"a": []}), "pass");
        check(pattern.clone(), json!({"a": ["x", "y"]}), "/a");
        check(pattern.clone(), json!({"a": ["x", ["x"]]}), "/a");
    }
    check(json!({"a": "x*"}), json!({"a": "x"}), "pass");
    check(json!({"a": ["x*"]}), json!({"a": "x"}), "/a");
}

#[test]
fn anchors() {
    check(json!({"=(a)": "1"}), json!({}), "pass");
    check(json!({"=(a)": "1"}), json!({"a": 2}), "/a");
    check(json!({"X(a)": "null"}), json!({}), "pass");
    check(json!({"X(a)": "null"}), json!({"a": 2}), "/a");
    check(json!({"^(a)": [{"b": "1"}]}), json!({"a": [{"b": 2}, {"b": 1}]}), "pass");
    check(json!({"^(a)": [{"b": "1"}]}), json!({"a": [{"b": 2}]}), "/a");
    check(json!({"^(a)": [{"b": "1"}]}), json!({"a": []}), "/a");
    check(json!({"^(a)": [{"b": "1"}]}), json!({"a": {"b": 1}}), "/a");
    check(json!({"^(a)": [{"(b)": "1"}]}), json!({"a": [{"b": 2}]}), "/a");
    check(json!({"^(a)": [{"b": "1"}]}), json!({}), "pass");
    check(json!({"<(a)": "1", "b": "2"}), json!({"a": 3}), "skip");
    check(json!({"<(a)": "1", "b": "2"}), json!({"a": 1}), "/b");
    check(json!({"<(a)": "1", "b": "2"}), json!({"b": 3}), "/b");
    check(json!({"(a)": ["x"], "b": "2"}), json!({"a": ["y"]}), "skip");
    check(json!({"(a)": ["x"], "b": "2"}), json!({"a": ["x"]}), "/b");
}

#[test]
fn a_condition_chooses_the_elements_that_the_rest_is_about() {
    let of = |anchor: &str| json!({"containers": [{"image": "shop/*", anchor: "web*"}]});
    let containers = |name: &str, image: &str| json!({"containers": [{"name": "x", "image": "y"}, {"name": name, "image": image}]});
    for pattern in [of("(name)"), of("<(name)")] {
        check(pattern.clone(), containers("web-1", "shop/a"), "pass");
        check(pattern.clone(), containers("web-1", "other/a"), "/containers/1/image");
        check(pattern.clone(), containers("db", "other/a"), "skip");
        check(pattern.clone(), json!({"containers": []}), "pass");
        check(pattern.clone(), json!({"containers": ["web"]}), "/containers/0");
    }
    let unnamed = json!({"containers": [{"image": "y"}]});
    check(of("(name)"), unnamed.clone(), "skip");
    check(of("<(name)"), unnamed, "/containers/0/image");
}

#[test]
fn a_condition_that_does_not_hold_outside_a_list_ends_the_rule() {
    let pattern = json!({"metadata": {"labels": {"app": "?*"}}, "spec": {"(hostNetwork)": true, "x": 1}});
    check(pattern.clone(), json!({"spec": {"hostNetwork": false}}), "skip");
    check(pattern.clone(), json!({"spec": {}}), "skip");
    check(pattern.clone(), json!({"spec": {"hostNetwork": true, "x": 1}}), "/metadata");
    check(pattern, json!({"spec": {"hostNetwork": true}}), "/spec/x");
    let nested = json!({"labels": {"a": "1"}, "(spec)": {"(volumes)": [{"(host)": {"path": "/run"}}]}});
    let volume = |path: &str| json!({"spec": {"volumes": [{"host": {"path": path}}]}, "labels": {}});
    check(nested.clone(), volume("/run"), "/labels/a");
    check(nested.clone(), volume("/var"), "skip");
    check(nested, json!({}), "skip");
}

/// The first key that fails or ends the rule decides: those with anchors in them come first, the last of the alphabet before
/// the others.
#[test]
fn keys_are_asked_in_the_order_of_kyverno() {
    let bad = json!({"a": {"x": 0}, "b": {"x": 0}});
    check(json!({"a": {"(x)": "1"}, "b": {"x": "1"}}), bad.clone(), "skip");
    check(json!({"a": {"x": "1"}, "b": {"(x)": "1"}}), bad.clone(), "skip");
    check(json!({"a": {"(x)": "1"}, "b": {"=(x)": "1"}}), bad.clone(), "/b/x");
    check(json!({"a": {"=(x)": "1"}, "b": {"(x)": "1"}}), bad.clone(), "skip");
    check(json!({"a": {"x": "1"}, "b": {"x": "1"}}), bad, "/a/x");
}

#[test]
fn a_condition_below_an_optional_key_ends_the_rule_unless_a_sibling_holds() {
    let value = json!({"a": {"b": 2}, "c": 1, "d": 2});
    check(json!({"=(a)": {"(b)": "1"}, "d": "1"}), value.clone(), "skip");
    check(json!({"=(a)": {"(b)": "1"}, "=(c)": "1", "d": "1"}), value.clone(), "/d");
    check(json!({"=(a)": {"(b)": "1"}, "=(c)": "2", "d": "1"}), value.clone(), "/c");
    check(json!({"=(a)": {"<(b)": "1"}, "=(c)": "1", "d": "1"}), value.clone(), "skip");
    check(json!({"=(a)": {"<(b)": "1"}, "=(c)": "2", "d": "1"}), value, "skip");
}

#[test]
fn what_is_not_supported_is_refused_with_its_place() {
    let pattern = json!({
        "%(f)": 1, "+(a)": 1, "=(a*)": "false", "X(a?)": "null", "()": 1, "=(X(a))": 1, "^(a)": {"b": 1}, "^(b)": ["x"],
        "b*": 1, "c": [1, 2], "d": {"e": "<many"}, "f": "$(../b)", "g": [["x"]], "h": "!>2", "i": "10-3", "j": [],
        "{{ k }}": "x",
    });
    let errors = Pattern::compile(&pattern).unwrap_err();
    let mut places: Vec<_> = errors.iter().filter_map(|error| error.split(':').next()).collect();
    places.sort_unstable();
    let expected = [
        "/%(f)", "/()", "/+(a)", "/=(X(a))", "/=(a*)", "/X(a?)", "/^(a)", "/^(b)", "/b*", "/c", "/d/e", "/f",
        "/g", "/h", "/i", "/j", "/{{ k }}",
    ];
    assert_eq!(places, expected);
}
