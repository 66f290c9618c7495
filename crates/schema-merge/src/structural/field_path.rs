//! The paths that a validation rule may point to: `.spec.x` and `['a.b']`, through properties and maps.

use crate::node::{Additional, Node};

/// Returns true if `path` leads to a declared field below `node`.
pub(super) fn is_valid(path: &str, node: &Node<'_>) -> bool {
    walk(path, node).is_some()
}

/// The type of the field that `path` leads to without brackets; empty for one of which nothing is known.
///
/// # Errors
/// The reason why the server does not take the path.
pub(crate) fn field_type<'a>(path: &str, node: &Node<'a>) -> Result<&'a str, &'static str> {
    if path.contains('[') {
        return Err("array notation is not allowed");
    }
    let field = walk(path, node).ok_or("does not refer to a valid field")?;
    Ok(field.map_or("", |field| field.kind()))
}

/// A field path as the server prints it below the path of a value: `.a['b.c']` becomes `a.b.c`, and the key of a map
/// stands in brackets. `None` for a path that leads nowhere.
#[cfg(feature = "cel")]
pub(crate) fn normalized(path: &str, node: &Node<'_>) -> Option<String> {
    let mut rest = path;
    let mut here = Some(node);
    let mut printed = String::new();
    while !rest.is_empty() {
        let name;
        (name, rest) = step(rest)?;
        let node = here?;
        if node.properties.is_empty() {
            here = node.additional();
            printed = format!("{printed}[{name}]");
        } else {
            here = Some(node.properties.get(name.as_str())?);
            let dot = if printed.is_empty() { "" } else { "." };
            printed = format!("{printed}{dot}{name}");
        }
    }
    (!printed.is_empty()).then_some(printed)
}

/// The field, or `None` inside for a place of which nothing is known.
fn walk<'n, 'a>(path: &str, node: &'n Node<'a>) -> Option<Option<&'n Node<'a>>> {
    let mut rest = path;
    // `None` stands for a place of which nothing is known, below a map of anything.
    let mut node = Some(node);
    while !rest.is_empty() {
        let name;
        (name, rest) = step(rest)?;
        let here = node?;
        node = if here.get("properties").is_some() && !here.properties.is_empty() {
            Some(here.properties.get(name.as_str())?)
        } else {
            match here.additional_properties.as_ref()? {
                Additional::Schema(schema) => Some(schema),
                Additional::Bool(_) => None,
            }
        };
    }
    Some(node)
}

/// The first step of a path, and what follows.
fn step(path: &str) -> Option<(String, &str)> {
    if let Some(rest) = path.strip_prefix("['") {
        let (quoted, rest) = quoted(rest)?;
        return Some((quoted, rest.strip_prefix(']')?));
    }
    let rest = path.strip_prefix('.')?;
    let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
    let (name, rest) = rest.split_at_checked(end)?;
    // A delimiter directly after the dot is taken for the name itself, as the server's scanner does.
    if name.is_empty() { None } else { Some((name.to_owned(), rest)) }
}

/// A text in single quotes, of which the opening one is gone. `\\` and `\'` are the only escapes.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => return Some((name, text.get(at.saturating_add(1)..)?)),
            '\\' => match chars.next()?.1 {
                escaped @ ('\\' | '\'') => name.push(escaped),
                _ => return None,
            },
            c => name.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::decode::decode;

    #[track_caller]
    fn check(path: &str, valid: bool) {
        let schema: Value = json!({"properties": {"a": {"properties": {"b.c": {}}}, "m": {"additionalProperties": {"properties": {"x": {}}}}}});
        let (node, _) = decode(&schema, "", "");
        assert_eq!(is_valid(path, &node), valid, "{path}");
    }

    #[test]
    fn paths_lead_through_properties_and_maps() {
        check(".a", true);
        check(".a['b.c']", true);
        check(".m.anything.x", true);
        check(".m['any.thing'].x", true);
        check(".a.b", false);
        check("a", false);
        check(".a.", false);
        check(".a['b.c'", false);
        check(".a[0]", false);
        check(".m.k.y", false);
    }
}
