//! Single steps of the transfer; its promises are properties in `tests/property`.

use serde_json::json;

use super::*;

fn values(json: Value) -> Vec<Value> {
    json.as_array().unwrap().clone()
}

#[test]
fn elements_correspond_in_order_or_by_unique_cover() {
    let seen = values(json!([{"n": 2, "u": 1}, {"n": 1}]));
    let find = |old: Value| correspondence(&values(old), &seen, false);
    assert_eq!(find(json!([{"n": 2}, {"n": 1}])), Some(vec![0, 1]));
    assert_eq!(find(json!([{"n": 1}, {"n": 2}])), Some(vec![1, 0]));
    assert_eq!(find(json!([{"n": 1}])), None, "one element was lost in reading");
    assert_eq!(find(json!([{"n": 1}, {"n": 1}])), None);
    let doubtful = values(json!([{}, {}]));
    assert_eq!(
        correspondence(&values(json!([{"n": 1}, {"n": 2}])), &doubtful, true),
        None,
        "read by another name"
    );
}

#[test]
fn new_elements_continue_equal_ones_or_the_only_candidate() {
    let find = |old: Value, new: Value, in_order| partners(&values(old), &values(new), in_order);
    assert_eq!(find(json!(["a", "b", "c"]), json!(["a", "c"]), true), [Some(0), Some(2)]);
    assert_eq!(find(json!(["a", "b"]), json!(["b", "a"]), true), [Some(1), Some(0)]);
    assert_eq!(find(json!(["a", "b"]), json!(["a", "x"]), false), [Some(0), Some(1)], "one change");
    assert_eq!(find(json!(["a", "b"]), json!(["x", "y"]), true), [Some(0), Some(1)], "all changed in place");
    assert_eq!(find(json!(["a", "b"]), json!(["x", "y"]), false), [None, None], "a set tells nothing");
    assert_eq!(find(json!(["a", "b"]), json!(["b", "x"]), true), [Some(1), Some(0)], "the only candidate");
    assert_eq!(find(json!([]), json!(["x"]), true), [None]);
}

#[test]
fn a_pattern_names_the_lists_below() {
    let list = ListMap { path: "/spec/containers/*/ports", keys: &["name"] };
    let pattern = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(list.matches(&pattern("spec containers * ports")));
    assert!(!list.matches(&pattern("spec containers *")) && !list.matches(&[]));
    assert!(ListMap { path: "", keys: &["type"] }.matches(&[]));
}
