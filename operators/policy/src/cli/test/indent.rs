//! Compact JSON with lines and indentation, without reading it as values: an object is printed with each of its violations.

/// The spaces of a level, as gator has them.
const INDENT: &[u8] = b"    ";

/// The text that serde_json's `PrettyFormatter` makes of the same value, with four spaces a level: `{"a":[1,{}]}` becomes
///
/// ```text
/// {
///     "a": [
///         1,
///         {}
///     ]
/// }
/// ```
pub(super) fn indented(compact: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(compact.len().saturating_mul(2));
    let mut depth = 0_usize;
    let mut rest = compact;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => rest = copy_string(after, &mut text),
            b'{' | b'[' if matches!(after.first(), Some(b'}' | b']')) => {
                text.extend([byte, byte.saturating_add(2)]);
                rest = after.get(1..).unwrap_or_default();
            }
            b'{' | b'[' => {
                depth = depth.saturating_add(1);
                text.push(byte);
                new_line(depth, &mut text);
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                new_line(depth, &mut text);
                text.push(byte);
            }
            b',' => {
                text.push(byte);
                new_line(depth, &mut text);
            }
            b':' => text.extend(b": "),
            _ => text.push(byte),
        }
    }
    text
}

/// Copies a string with both quotes, and returns what follows it.
fn copy_string<'a>(inside: &'a [u8], text: &mut Vec<u8>) -> &'a [u8] {
    let mut escaped = false;
    let closes = |byte: &u8| {
        let closes = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    };
    let end = inside.iter().position(closes).map_or(inside.len(), |quote| quote.saturating_add(1));
    let (string, rest) = inside.split_at_checked(end).unwrap_or((inside, &[]));
    text.push(b'"');
    text.extend_from_slice(string);
    rest
}

fn new_line(depth: usize, text: &mut Vec<u8>) {
    text.push(b'\n');
    (0..depth).for_each(|_| text.extend_from_slice(INDENT));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Serialize;
    use serde_json::Value;
    use serde_json::ser::PrettyFormatter;

    use super::indented;

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![any::<String>(), "[\"\\\\,:{}\\[\\]\n ]{0,6}"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(text.clone(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_looks_as_serde_json_prints_it(value in values()) {
            let mut expected = Vec::new();
            let formatter = PrettyFormatter::with_indent(b"    ");
            value.serialize(&mut serde_json::Serializer::with_formatter(&mut expected, formatter)).unwrap();
            let found = indented(&serde_json::to_vec(&value).unwrap());
            prop_assert_eq!(String::from_utf8(found).unwrap(), String::from_utf8(expected).unwrap());
        }
    }
}
