//! Literals of lists and maps, whose elements must be of one type, and of the messages of mutations.

use super::super::issue::Issue;
use super::super::kubernetes::type_name;
use super::super::node::Node;
use super::super::syntax::{Expr, Message};
use super::super::types::{Type, is_as_general};
use super::super::value::Value;
use super::{Checked, Checker, undeclared};

/// The fields of a `JSONPatch`.
const PATCH: [&str; 4] = ["op", "path", "from", "value"];
/// The messages of `google.protobuf` that cel-go has, and makes plain values of.
const WELL_KNOWN: [&str; 15] = [
    "Any",
    "BoolValue",
    "BytesValue",
    "DoubleValue",
    "Duration",
    "FloatValue",
    "Int32Value",
    "Int64Value",
    "ListValue",
    "StringValue",
    "Struct",
    "Timestamp",
    "UInt32Value",
    "UInt64Value",
    "Value",
];

impl Checker<'_> {
    pub(super) fn list(&mut self, elements: &[(bool, Expr)]) -> Checked {
        let mut nodes = Vec::new();
        let mut joined = None;
        let mut types = Vec::new();
        for (optional, element) in elements {
            let (node, of) = self.check(element);
            let of = self.unwrapped(element.at, *optional, of);
            joined = Some(self.join(joined, of.clone()));
            types.push((element.at, of));
            nodes.push((*optional, node));
        }
        self.note_literal(types, true);
        let element = joined.unwrap_or_else(|| self.mapping.open());
        (Node::List(nodes), Type::list(element))
    }

    pub(super) fn map(&mut self, entries: &[(bool, Expr, Expr)]) -> Checked {
        let mut nodes = Vec::new();
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let (mut key_type, mut value_type) = (None, None);
        for (optional, key, value) in entries {
            let (key_node, key_of) = self.check(key);
            let (value_node, value_of) = self.check(value);
            let value_of = self.unwrapped(value.at, *optional, value_of);
            // The API server takes such keys in a rule, and only their evaluation fails.
            let is_key = !matches!(
                self.mapping.resolve(&key_of),
                Type::Double | Type::Null | Type::List(_) | Type::Map(..)
            );
            if !is_key && self.environment.root().is_none() {
                self.issue(key.at, "a key must be a string, a whole number or a bool");
            }
            key_type = Some(self.join(key_type, key_of.clone()));
            value_type = Some(self.join(value_type, value_of.clone()));
            keys.push((key.at, key_of));
            values.push((value.at, value_of));
            nodes.push((*optional, key_node, value_node));
        }
        self.note_literal(keys, false);
        self.note_literal(values, false);
        let key = key_type.unwrap_or_else(|| self.mapping.open());
        let value = value_type.unwrap_or_else(|| self.mapping.open());
        (Node::Map(nodes), Type::map(key, value))
    }

    /// A message, which is a map from the names of its fields: those of mutations.
    pub(super) fn message(&mut self, at: usize, message: &Message) -> Checked {
        let name = message.name.strip_prefix('.').unwrap_or(&message.name);
        let is_patch = name == "JSONPatch";
        let is_object = name == "Object" || name.starts_with("Object.");
        if !(self.environment.has_patch_types() && (is_patch || is_object)) {
            return self.no_message(at, &message.name, name);
        }
        let mut nodes = Vec::new();
        for field in &message.fields {
            if is_patch && !PATCH.contains(&field.name.as_str()) {
                self.issue(
                    field.at,
                    format!("undefined field '{}': JSONPatch has {}", field.name, PATCH.join(", ")),
                );
            }
            let (node, of) = self.check(&field.value);
            self.unwrapped(field.value.at, field.optional, of);
            nodes.push((field.optional, Node::Constant(Value::string(field.name.as_str())), node));
        }
        (Node::Map(nodes), Type::map(Type::String, Type::Dyn))
    }

    fn no_message(&mut self, at: usize, written: &str, name: &str) -> Checked {
        let well_known =
            name.strip_prefix("google.protobuf.").is_some_and(|message| WELL_KNOWN.contains(&message));
        self.issue(at, if well_known {
            format!("messages such as {name} are not supported: write the value itself, such as 1, {{}} or duration('1s')")
        } else if type_name(name).is_some() {
            format!("'{name}' is not a message type")
        } else if self.environment.has_patch_types() {
            let known = "the types of mutations are Object, those of its fields (Object.spec), and JSONPatch";
            format!("{}: {known}", undeclared(written))
        } else {
            undeclared(written)
        })
    }

    /// The type inside `?element`.
    fn unwrapped(&mut self, at: usize, optional: bool, of: Type) -> Type {
        if !optional {
            return of;
        }
        match self.mapping.resolve(&of) {
            Type::Optional(inner) => *inner,
            Type::Dyn | Type::Error | Type::Open(_) => Type::Dyn,
            other => {
                let found = self.printed(&other);
                self.issue(at, format!("expected type 'optional_type({found})' but found '{found}'"));
                other
            }
        }
    }

    /// The type of two elements; dynamic where they do not agree, which [`Checker::check_literals`] then refuses.
    fn join(&mut self, before: Option<Type>, now: Type) -> Type {
        let Some(before) = before else {
            return now;
        };
        if !self.mapping.fits(&before, &now) {
            return Type::Dyn;
        }
        if is_as_general(&before, &now) { before } else { now }
    }

    fn note_literal(&mut self, types: Vec<(usize, Type)>, is_list: bool) {
        if self.lenient == 0 {
            self.literals.push((types, is_list));
        }
    }

    /// Kubernetes refuses literals of mixed elements even where a dynamic one would fit. Of a list the first element
    /// that differs is reported, of a map all that do.
    pub(super) fn check_literals(&mut self) {
        for (literal, is_list) in std::mem::take(&mut self.literals) {
            let types: Vec<_> = literal.iter().map(|(at, of)| (*at, self.mapping.settle(of))).collect();
            let Some((_, first)) = types.first() else {
                continue;
            };
            let most = if is_list { 1 } else { usize::MAX };
            let first_printed = self.printed(first);
            for (at, other) in types.iter().filter(|(_, of)| of != first).take(most) {
                let other = self.printed(other);
                let message = format!("expected type '{first_printed}' but found '{other}'");
                self.found.literals.push(Issue::new(*at, message));
            }
        }
    }
}
