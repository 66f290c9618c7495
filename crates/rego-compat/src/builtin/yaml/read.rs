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
            collect(pairs, &mut nodes)?;
            let fields = nodes.into_iter().map(|(key, node)| Ok((Value::from(key), value(node, shared)?)));
            Ok(fields.collect::<Result<Object, CallError>>()?.into_value())
        }
        Kind::Scalar(scalar) => of_scalar(scalar),
        _ => Err(CallError::Failed),
    }
}

/// The fields of a mapping: those that are written out win, and of those the last; of merged ones the first. A value that
/// loses is never made, so that it cannot be in error.
fn collect<'n>(pairs: &'n [(Node, Node)], fields: &mut BTreeMap<String, &'n Node>) -> Result<(), CallError> {
    let (merges, own): (Vec<_>, Vec<_>) = pairs.iter().partition(|(key, _)| key.is_merge_key());
    let mut mine = BTreeMap::new();
    for (key, node) in own {
        mine.insert(field_name(key)?, node);
    }
    for (name, node) in mine {
        fields.entry(name).or_insert(node);
    }
    for (_, node) in merges {
        let mappings = node.merged_mappings().ok_or(CallError::Failed)?;
        mappings.into_iter().try_for_each(|pairs| collect(pairs, fields))?;
    }
    Ok(())
}

fn field_name(key: &Node) -> Result<String, CallError> {
    let name = match &key.target().kind {
        Kind::Scalar(scalar) => yaml::resolve(scalar).field_name(),
        _ => None,
    };
    name.ok_or(CallError::Failed)
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
            ("a: 'x'", r#"{"a":"x"}"#),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }
}
