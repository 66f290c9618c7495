//! The places of errors in an object: from the paths that an API server prints to JSON pointers.
//!
//! A printed path does not escape: `labels.a.b` may be one key or two. The object itself decides.

use serde_json::Value;

use crate::api::pointer_segment;

/// Returns the pointer to `path`, such as `spec.list[0].name`, in `object`.
pub(super) fn pointer(path: &str, object: &Value) -> String {
    let (mut pointer, mut at, mut rest) = (String::new(), Some(object), path);
    while !rest.is_empty() {
        let (step, behind) = step(rest, at);
        at = at.and_then(|value| match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            value => value.get(step),
        });
        pointer.push('/');
        pointer.push_str(&pointer_segment(step));
        rest = behind.strip_prefix('.').unwrap_or(behind);
    }
    pointer
}

/// Returns the next step and what is behind it.
fn step<'p>(path: &'p str, at: Option<&Value>) -> (&'p str, &'p str) {
    if let Some((index, behind)) = path.strip_prefix('[').and_then(|path| path.split_once(']')) {
        return (index, behind);
    }
    let keys = at.and_then(Value::as_object).into_iter().flat_map(|fields| fields.keys());
    let longest = keys.filter(|key| ends_at_a_step(path, key)).map(String::len).max();
    let end = longest.or_else(|| path.find(['.', '['])).filter(|end| *end > 0);
    end.and_then(|end| path.split_at_checked(end)).unwrap_or((path, ""))
}

fn ends_at_a_step(path: &str, key: &str) -> bool {
    path.strip_prefix(key).is_some_and(|behind| behind.is_empty() || behind.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_object_says_where_a_key_ends() {
        let object = json!({"spec": {"a": {"b": 1}, "x.y": {"z/w": [{"n~m": 1}]}, "list": [[1]], "": 1}});
        for (path, expected) in [
            ("", ""),
            ("spec", "/spec"),
            ("spec.a.b", "/spec/a/b"),
            ("spec.absent.c", "/spec/absent/c"),
            ("spec.x.y.z/w[0].n~m", "/spec/x.y/z~1w/0/n~0m"),
            ("spec.list[0][0]", "/spec/list/0/0"),
        ] {
            assert_eq!(pointer(path, &object), expected, "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_path_has_a_pointer(path in r"[a-c.\[\]0]{0,12}") {
            let found = pointer(&path, &json!({"a": {"b": [{"c": 1}]}, "a.b": 1, "": 1}));
            prop_assert_eq!(found.is_empty(), path.is_empty());
        }
    }
}
