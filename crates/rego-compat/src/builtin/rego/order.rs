//! The order OPA has terms in, over terms as they are written. Source: OPA `ast/compare.go`.

use std::cmp::Ordering;

use crate::value::Value;

/// Compares two written terms.
pub(super) fn terms(a: &Value, b: &Value) -> Ordering {
    let (kind, value) = (field(a, "type"), field(a, "value"));
    let (other_kind, other) = (field(b, "type"), field(b, "value"));
    rank(kind).cmp(&rank(other_kind)).then_with(|| match kind {
        Value::String(kind) if matches!(&**kind, "ref" | "array" | "set" | "call") => {
            lists(value, other, terms)
        }
        Value::String(kind) if &**kind == "object" => lists(value, other, |a, b| lists(a, b, terms)),
        Value::String(kind) if kind.ends_with("comprehension") => comprehensions(value, other),
        _ => value.cmp(other),
    })
}

fn rank(kind: &Value) -> usize {
    const KINDS: [&str; 14] = [
        "null",
        "boolean",
        "number",
        "string",
        "templatestring",
        "var",
        "ref",
        "array",
        "object",
        "set",
        "arraycomprehension",
        "objectcomprehension",
        "setcomprehension",
        "call",
    ];
    KINDS.iter().position(|known| *kind == Value::from(*known)).unwrap_or(KINDS.len())
}

fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    let fields = value.as_object().ok();
    fields.and_then(|fields| fields.get(&Value::from(name))).unwrap_or(&Value::Undefined)
}

/// Compares by the first elements that differ, else by length.
fn lists(a: &Value, b: &Value, compare: fn(&Value, &Value) -> Ordering) -> Ordering {
    let (Value::Array(a), Value::Array(b)) = (a, b) else { return Ordering::Equal };
    let differing = a.iter().zip(b.iter()).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
    differing.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Compares comprehensions by their heads, then by their bodies.
fn comprehensions(a: &Value, b: &Value) -> Ordering {
    let heads = ["key", "value", "term"];
    let differing = heads.iter().filter_map(|head| {
        let (a, b) = (field(a, head), field(b, head));
        (*a != Value::Undefined && *b != Value::Undefined).then(|| terms(a, b))
    });
    let differing = differing.fold(Ordering::Equal, Ordering::then);
    differing.then_with(|| field(a, "body").cmp(field(b, "body")))
}
