//! From composed nodes to values: merge keys, and the names of fields.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use go_compat::strconv;
use go_compat::yaml::{self, ComposeOptions, Kind, Node, Resolved, Scalar, Version};

use crate::value::{Array, Number, Object, Value};

use crate::builtin::operand::CallError;

/// Deeper values are a risk to the stack of the code that walks them.
const OPTIONS: ComposeOptions = ComposeOptions { version: Version::V3, max_depth: 500 };

/// Returns the first document of a string whose other documents are well-formed.
pub(super) fn first_document(text: &str) -> Result<Value, CallError> {
    let documents = yaml::documents(text, &OPTIONS).map_err(|error| match error {
        yaml::Error::TooLarge { .. } => CallError::Excess,
        _ => CallError::Failed,
    })?;
    documents.first().map_or(Ok(Value::Null), |node| value(node, &mut Shared::new()))
}

/// The values of nodes with an anchor, by where the node is, so that an alias needs no memory of its own.
type Shared = HashMap<usize, Value>;

fn value(node: &Node, shared: &mut Shared) -> Result<Value, CallError> {
    match &node.kind {
        Kind::Alias(node) | Kind::Anchor(node) => {
            let place = Rc::as_ptr(node).addr();
            if let Some(value) = shared.get(&place) {
                return Ok(value.clone());
            }
            let made = value(node, shared)?;
            shared.insert(place, made.clone());
            Ok(made)
        }
        Kind::Sequence(items) => {
            let items = items.iter().map(|item| value(item, shared));
            Ok(items.collect::<Result<Array, _>>()?.into_value())
        }
        Kind::Mapping(pairs) => {
            let mut nodes = BTreeMap::new();
            let merges = pairs.iter().any(|(key, _)| key.is_merge_key());
            collect(pairs, merges && has_string_keys(pairs), &mut nodes)?;
            let fields = nodes.into_iter().map(|(key, node)| Ok((Value::from(key), value(node, shared)?)));
            Ok(fields.collect::<Result<Object, CallError>>()?.into_value())
        }
        Kind::Scalar(scalar) => of_scalar(scalar),
        _ => Err(CallError::Failed),
    }
}

/// Returns true if all keys but those that merge are strings. Source: go-yaml `decode.go`, `isStringMap`: such a mapping
/// becomes a Go map of strings, and the keys of what is merged into it are their text: `{<<: {0x10: 1}}` is `{"0x10": 1}`.
fn has_string_keys(pairs: &[(Node, Node)]) -> bool {
    let is_string = |key: &Node| match &key.target().kind {
        Kind::Scalar(scalar) => matches!(yaml::resolve(scalar), Resolved::String(_)),
        _ => false,
    };
    pairs.iter().all(|(key, _)| key.is_merge_key() || is_string(key))
}

/// The fields of a mapping: those that are written out win, and of those the last; of merged ones the first. A value that
/// loses is never made, so that it cannot be in error. With `as_text` keys are their text.
fn collect<'n>(
    pairs: &'n [(Node, Node)],
    as_text: bool,
    fields: &mut BTreeMap<String, &'n Node>,
) -> Result<(), CallError> {
    let (merges, own): (Vec<_>, Vec<_>) = pairs.iter().partition(|(key, _)| key.is_merge_key());
    let mut mine = BTreeMap::new();
    for (key, node) in own {
        if let Some(name) = field_name(key, as_text)? {
            mine.insert(name, node);
        }
    }
    for (name, node) in mine {
        fields.entry(name).or_insert(node);
    }
    for (_, node) in merges {
        let mappings = node.merged_mappings().ok_or(CallError::Failed)?;
        mappings.into_iter().try_for_each(|pairs| collect(pairs, as_text, fields))?;
    }
    Ok(())
}

/// The name of a field; `None` for a `null` as text, which go-yaml leaves out.
fn field_name(key: &Node, as_text: bool) -> Result<Option<String>, CallError> {
    let name = match &key.target().kind {
        Kind::Scalar(scalar) => match yaml::resolve(scalar) {
            Resolved::Null if as_text => return Ok(None),
            resolved @ (Resolved::String(_) | Resolved::Mismatch) => resolved.field_name(),
            _ if as_text => Some(scalar.text.clone()),
            resolved => resolved.field_name(),
        },
        _ => None,
    };
    name.map(Some).ok_or(CallError::Failed)
}

fn of_scalar(scalar: &Scalar) -> Result<Value, CallError> {
    Ok(match yaml::resolve(scalar) {
        Resolved::Null => Value::Null,
        Resolved::Bool(word) => Value::Bool(word),
        Resolved::Int(whole) => Value::Number(Number::from(whole)),
        Resolved::Float(float) => {
            let text = strconv::format_json(float).ok_or(CallError::Failed)?;
            Value::Number(Number::spelled(&text))
        }
        Resolved::String(text) | Resolved::Timestamp(text) => Value::from(text.as_str()),
        Resolved::Merge => Value::from("<<"),
        _ => return Err(CallError::Failed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        first_document(text).unwrap().to_json_str()
    }

    #[test]
    fn a_block_may_end_with_the_text() {
        for (text, expected) in [
            ("b: |\n  x\n  y", r#"{"b":"x\ny"}"#),
            ("b: |+\n  x", r#"{"b":"x"}"#),
            ("b: |-\n  x", r#"{"b":"x"}"#),
            ("b: >\n  x\n  y", r#"{"b":"x y"}"#),
            ("- |\n  x", r#"["x"]"#),
            ("a: |\n  x\nb: 1", r#"{"a":"x\n","b":1}"#),
            ("a: |\n  x\n# y", r#"{"a":"x\n"}"#),
            ("a: |\n  x\n", r#"{"a":"x\n"}"#),
            ("a: |\n  x\n  ", r#"{"a":"x\n"}"#),
            ("a: |\n  x\n ", r#"{"a":"x\n"}"#),
            ("a: |\n  x\n    ", r#"{"a":"x\n  "}"#),
            ("a: |\n  x\n    \n  ", r#"{"a":"x\n  \n"}"#),
            ("a: |\n  x\n  \t", r#"{"a":"x\n\t"}"#),
            ("a: >\n  x\n    ", r#"{"a":"x\n  "}"#),
            ("a: |2\n   ", r#"{"a":" "}"#),
            ("a: |-\n  x\n    ", r#"{"a":"x\n  "}"#),
            ("a: |+\n  x\n  ", r#"{"a":"x\n"}"#),
            ("a: |+\n  x\n\n  ", r#"{"a":"x\n\n"}"#),
            ("a: |\n  x\r", r#"{"a":"x\n"}"#),
            ("a: 'x'", r#"{"a":"x"}"#),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn keys_merged_into_strings_are_their_text() {
        for (text, expected) in [
            ("<<: {0x10: 1}", r#"{"0x10":1}"#),
            ("<<: {0x10: 1}\n3: 4", r#"{"16":1,"3":4}"#),
            ("a: &x {010: 1}\nb: {<<: *x}", r#"{"a":{"8":1},"b":{"010":1}}"#),
            ("<<: {~: 1, b: 2}", r#"{"b":2}"#),
            ("!!binary YWI=: 1", r#"{"ab":1}"#),
            ("<<: {!!binary YWI=: 1}\n!!binary Yw==: 2", r#"{"ab":1,"c":2}"#),
            ("b: 1\n<<: {1.50: 1, true: 2}", r#"{"1.50":1,"b":1,"true":2}"#),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }
}
