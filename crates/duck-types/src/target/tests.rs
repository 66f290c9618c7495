//! Single steps of the transfer; its promises are properties in `tests/property`.

use serde_json::json;

use super::lists::*;
use super::*;

fn values(json: Value) -> Vec<Value> {
    json.as_array().unwrap().clone()
}

#[test]
fn elements_correspond_in_order_or_by_unique_cover() {
    let seen = values(json!([{"n": 2, "u": 1}, {"n": 1}]));
    let find = |old: Value| correspondence(&values(old), &seen);
    assert_eq!(find(json!([{"n": 2}, {"n": 1}])), Some(vec![0, 1]));
    assert_eq!(find(json!([{"n": 1}, {"n": 2}])), Some(vec![1, 0]));
    assert_eq!(find(json!([{"n": 1}])), None, "one element was lost in reading");
    assert_eq!(find(json!([{"n": 1}, {"n": 1}])), None);
}

#[test]
fn the_view_of_an_element_says_nothing_else() {
    let (old, seen) = (json!({"n": 1, "l": [2, 1]}), json!({"n": 1, "l": [2, 1], "u": 1}));
    assert!(is_view_of(&old, &seen));
    assert!(!is_view_of(&json!({"n": 1, "l": [1, 2]}), &seen), "another order");
    assert!(!is_view_of(&json!({"n": 1, "default": 0}), &seen), "read by another name, or a default");
}

#[test]
fn the_missing_element_is_found_in_any_order() {
    let old = values(json!([{"n": 1}, {"n": 2, "none": null}, {"n": 1}]));
    assert_eq!(gone(&old, &values(json!([{"n": 1}, {"n": 1}]))), Some(&old[1]));
    assert_eq!(gone(&old, &values(json!([{"n": 2}, {"n": 1}]))), Some(&old[2]));
    for wrong in [json!([{"n": 1}]), json!([{"n": 1}, {"n": 3}]), json!([{"n": 1}, {"n": 1}, {"n": 2}])] {
        assert_eq!(gone(&old, &values(wrong)), None);
    }
}

#[test]
fn new_elements_continue_equal_ones_or_those_most_alike() {
    let find = |old: Value, new: Value| partners(&values(old), &values(new));
    assert_eq!(find(json!(["a", "b", "c"]), json!(["a", "c"])), [Some(0), Some(2)]);
    assert_eq!(find(json!(["a", "b"]), json!(["b", "a"])), [Some(1), Some(0)]);
    assert_eq!(find(json!([]), json!(["x"])), [None]);
    let thing = |name: &str, ok: bool| json!({"name": name, "ok": ok});
    let old = json!([thing("a", true), thing("b", true)]);
    assert_eq!(find(old.clone(), json!([thing("a", false), thing("b", false)])), [Some(0), Some(1)]);
    assert_eq!(find(old.clone(), json!([thing("b", false), thing("c", false)])), [Some(1), None]);
    assert_eq!(find(old.clone(), json!([thing("a", true), thing("c", true)])), [Some(0), Some(1)], "renamed");
    assert_eq!(
        find(old.clone(), json!([thing("c", true), thing("d", true)])),
        [None, None],
        "which is which?"
    );
    assert_eq!(find(old, json!([{"other": 1}])), [None]);
}

#[test]
fn a_pattern_names_the_lists_below() {
    let list = ListMap { path: "/spec/containers/*/ports", keys: &["name"] };
    let pattern = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(list.matches(&pattern("spec containers * ports")));
    assert!(!list.matches(&pattern("spec containers *")) && !list.matches(&[]));
    assert!(ListMap { path: "", keys: &["type"] }.matches(&[]));
}
