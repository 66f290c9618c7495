//! Answers of different contenders in one form: JSON whose lists are sorted, for a set has no order.

use serde_json::Value as Json;

/// The form of an answer in which contenders are compared.
#[must_use]
pub fn unordered(answer: Json) -> Json {
    match answer {
        Json::Array(items) => {
            let mut items: Vec<Json> = items.into_iter().map(unordered).collect();
            items.sort_by_cached_key(Json::to_string);
            Json::Array(items)
        }
        Json::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, unordered(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_are_compared_as_sets() {
        assert_eq!(unordered(json!([{"a": [2, 1]}, 0])), unordered(json!([0, {"a": [1, 2]}])));
        assert_ne!(unordered(json!([1, 1])), unordered(json!([1])));
    }
}
