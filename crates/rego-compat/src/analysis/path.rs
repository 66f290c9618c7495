//! Follows the paths of an analysis through documents. Knows values; does not know programs.

use crate::value::Value;

use crate::lookup;

use super::Segment;

/// Returns the values that a path leads to, from `root`. Keys that come from the input are looked up in `input`.
///
/// ```
/// use rego_compat::{Segment, Value, values_at};
///
/// let document = Value::from_json_str(r#"{"rules": [{"host": "a"}, {"host": "b"}, {}]}"#)?;
/// let path = [Segment::Key("rules".to_owned()), Segment::Any, Segment::Key("host".to_owned())];
/// assert_eq!(values_at(&path, &document, &Value::Null), [&Value::from("a"), &Value::from("b")]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn values_at<'v>(path: &[Segment], root: &'v Value, input: &'v Value) -> Vec<&'v Value> {
    let mut found = vec![root];
    for segment in path {
        found = found.into_iter().flat_map(|value| step(segment, value, input)).collect();
    }
    found
}

fn step<'v>(segment: &Segment, value: &'v Value, input: &'v Value) -> Vec<&'v Value> {
    match segment {
        Segment::Key(name) => lookup::get(value, &Value::from(name.as_str())).into_iter().collect(),
        Segment::Any => children(value),
        Segment::Input(path) => {
            let keys = values_at(path, input, input);
            keys.into_iter().filter_map(|key| lookup::get(value, key)).collect()
        }
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(pairs) => pairs.values().collect(),
        Value::Array(items) => items.iter().collect(),
        Value::Set(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Segment {
        Segment::Key(name.to_owned())
    }

    fn texts(path: &[Segment], root: &str, input: &str) -> Vec<String> {
        let (root, input) = (Value::from_json_str(root).unwrap(), Value::from_json_str(input).unwrap());
        values_at(path, &root, &input).into_iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_path_branches_where_any_key_will_do() {
        let found = texts(
            &[key("a"), Segment::Any, key("b")],
            r#"{"a": {"x": {"b": 1}, "y": {}, "z": {"b": 2}}}"#,
            "0",
        );
        assert_eq!(found, ["1", "2"]);
        assert_eq!(texts(&[Segment::Any], "[1, [2]]", "0"), ["1", "[2]"]);
        assert_eq!(texts(&[key("a")], "[1]", "0"), Vec::<String>::new());
        assert_eq!(texts(&[], "7", "0"), ["7"]);
    }

    #[test]
    fn keys_are_taken_from_the_input() {
        let path = [Segment::Input(vec![key("names"), Segment::Any]), key("b")];
        assert_eq!(texts(&path, r#"{"x": {"b": 1}, "y": {"b": 2}}"#, r#"{"names": ["y", "z"]}"#), ["2"]);
    }
}
