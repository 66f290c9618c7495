//! `allOf`, `anyOf`, `oneOf` and `not`: merged into the node where they shape it, kept where they only validate.
//!
//! ```text
//! oneOf: [{const: a}, {enum: [b, c]}] of strings     type: string, enum: [a, b, c]           (`scalars`)
//! anyOf: [{type: integer}, {type: null}]             type: integer, nullable: true           (one member is left)
//! anyOf: [{type: integer}, {type: string}]           x-kubernetes-int-or-string: true, and the `anyOf` stays
//! oneOf: [{properties: {a: …}, required: [a]},       properties: {a: …, b: …},
//!         {properties: {b: …}, required: [b]}]       oneOf: [{required: [a]}, {required: [b]}]  (`variant::hoist`)
//! allOf: [{properties: {a: …}}, {minProperties: 1}]  properties: {a: …}, allOf: [{minProperties: 1}]
//! oneOf: [{type: integer}, {type: boolean}]          an error: one type per place
//! ```

use serde_json::{Map, Value, json};

use super::junctor_keywords::bare;
use super::keyword::{kind_of, split_null};
use super::{StructuralizeErrorKind, Walk, variant};
use crate::keyword::{ANNOTATIONS, INT_OR_STRING, PRESERVE};
use crate::merger::{flag, text};
use crate::number;
use crate::path::SchemaPath;

impl<'s> Walk<'s> {
    pub(super) fn unions(
        &mut self,
        map: &'s Map<String, Value>,
        node: &mut Map<String, Value>,
        at: &mut SchemaPath,
    ) {
        if let Some(Value::Array(members)) = map.get("allOf") {
            self.all_of(members, node, at);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(members)) = map.get(keyword) {
                self.one_of(keyword, members, node, at);
            }
        }
        if let Some(negated) = map.get("not") {
            self.negation(negated, node, at);
        }
    }

    /// Everything holds at once: members that shape the node become part of it, others stay.
    fn all_of(&mut self, members: &'s [Value], node: &mut Map<String, Value>, at: &mut SchemaPath) {
        let mut kept = Vec::new();
        for (index, member) in members.iter().enumerate() {
            if is_validation(member) || is_int_or_string(member) {
                kept.push(if is_validation(member) { validation(member) } else { member.clone() });
                continue;
            }
            let member = self.member("allOf", index, member, at);
            if let Err(name) = variant::absorb(node, member) {
                self.error(at, StructuralizeErrorKind::Collision(name));
            }
        }
        self.keep("allOf", kept, node, at);
    }

    /// Merges the members of `oneOf` (exactly one matches) or `anyOf` (at least one matches). `null` makes the node nullable
    /// instead of being a member.
    fn one_of(
        &mut self,
        keyword: &'static str,
        members: &'s [Value],
        node: &mut Map<String, Value>,
        at: &mut SchemaPath,
    ) {
        let is_pattern = keyword == "anyOf" && int_or_string_pattern(members);
        if is_pattern || members.iter().all(is_validation) {
            if is_pattern && !node.contains_key("type") {
                node.insert(INT_OR_STRING.to_owned(), json!(true));
            }
            let kept = if is_pattern { members.to_vec() } else { members.iter().map(validation).collect() };
            return self.keep(keyword, kept, node, at);
        }
        let (null, rest) = split_null(members);
        let mut done: Vec<Map<String, Value>> =
            rest.iter().map(|(index, member)| self.member(keyword, *index, member, at)).collect();
        let shared = node.get("nullable").cloned();
        if null || done.iter().any(|member| flag(member, "nullable")) {
            node.insert("nullable".to_owned(), json!(true));
            done.iter_mut().for_each(|member| drop(member.remove("nullable")));
        }
        // `{nullable: true, anyOf: [{type: null}]}` says nothing more; without the flag no value but null is left.
        if shared.is_none() && rest.is_empty() {
            return self.error(at, StructuralizeErrorKind::Empty("null"));
        }
        // `Option<T>` of schemars: without null one member is left, and the node is it.
        match <[_; 1]>::try_from(done) {
            Ok([only]) => {
                if let Err(name) = variant::absorb(node, only) {
                    self.error(at, StructuralizeErrorKind::Collision(name));
                }
            }
            Err(several) => self.several(keyword, several, node, at),
        }
    }

    /// A union of several members that are not null.
    fn several(
        &mut self,
        keyword: &'static str,
        members: Vec<Map<String, Value>>,
        node: &mut Map<String, Value>,
        at: &SchemaPath,
    ) {
        let own = text(node, "type").map(str::to_owned);
        let kinds: Vec<&str> = members.iter().map(kind_of).collect();
        let mut distinct: Vec<&str> = kinds.clone();
        distinct.sort_unstable();
        distinct.dedup();
        match (&*distinct, own.as_deref()) {
            (["object"], None | Some("object")) => match variant::hoist(keyword, members, node) {
                Ok(losses) => losses.into_iter().for_each(|loss| self.lose(at, loss)),
                Err(name) => self.error(at, StructuralizeErrorKind::Collision(name)),
            },
            ([kind @ ("string" | "integer" | "number" | "boolean" | "array")], None) => {
                let kind = (*kind).to_owned();
                self.scalars(keyword, &kind, members, node, at);
            }
            (
                ["integer", "string"]
                | ["integer or string"]
                | ["integer", "integer or string"]
                | ["integer or string", "string"],
                None,
            ) => {
                if members.iter().any(|member| !bare(member).is_empty()) {
                    self.lose(at, "the bounds and formats of the integer and of the string are dropped");
                }
                node.insert(INT_OR_STRING.to_owned(), json!(true));
            }
            (kinds, _)
                if kinds.contains(&"anything") && members.iter().any(|member| flag(member, PRESERVE)) =>
            {
                self.lose(at, "one member accepts anything, so that the others say nothing");
                node.insert(PRESERVE.to_owned(), json!(true));
            }
            (kinds, _) => self.error(at, StructuralizeErrorKind::Union(kinds.join(" and "))),
        }
    }

    /// Members of one scalar type: the type goes to the node, enums are put together, other validations stay.
    fn scalars(
        &mut self,
        keyword: &'static str,
        kind: &str,
        members: Vec<Map<String, Value>>,
        node: &mut Map<String, Value>,
        at: &SchemaPath,
    ) {
        node.insert("type".to_owned(), json!(kind));
        if members.iter().any(|member| ANNOTATIONS.iter().any(|annotation| member.contains_key(*annotation)))
        {
            self.lose(at, "the descriptions of the members are dropped");
        }
        if kind == "array" {
            let items: Vec<_> = members.iter().filter_map(|member| member.get("items")).collect();
            match *items.as_slice() {
                [first, ref rest @ ..] if rest.iter().all(|other| *other == first) => {
                    node.insert("items".to_owned(), first.clone());
                }
                _ => {
                    return self
                        .error(at, StructuralizeErrorKind::Union("lists of different items".to_owned()));
                }
            }
        }
        let bare: Vec<Map<String, Value>> = members.iter().map(bare).collect();
        let enums: Option<Vec<&Vec<Value>>> =
            bare.iter().map(|member| member.get("enum").filter(|_| member.len() == 1)?.as_array()).collect();
        if let Some(enums) = enums {
            let values: Vec<Value> = enums.into_iter().flatten().cloned().collect();
            node.insert("enum".to_owned(), Value::Array(number::unique(&values)));
        } else if bare.iter().any(Map::is_empty) {
            self.lose(at, format!("one member of {keyword} has no bounds, so that the others say nothing"));
        } else {
            let members: Vec<Value> = bare.into_iter().map(Value::Object).collect();
            self.keep(keyword, members, node, at);
        }
    }

    /// `not` stays where it validates alone. `{not: {type: null}}` says that the value is not null, as does a node that is
    /// not nullable.
    fn negation(&mut self, negated: &'s Value, node: &mut Map<String, Value>, at: &mut SchemaPath) {
        if is_validation(negated) {
            node.insert("not".to_owned(), validation(negated));
        } else if super::is_null(negated) {
            node.remove("nullable");
        } else {
            self.lose(at, "not is dropped: inside it a structural schema cannot speak about types");
        }
    }

    /// Makes one member structural, in its place below the junctor.
    fn member(
        &mut self,
        keyword: &'static str,
        index: usize,
        member: &'s Value,
        at: &mut SchemaPath,
    ) -> Map<String, Value> {
        at.within(
            |at| {
                at.push_child(keyword);
                at.push_index(index);
            },
            |at| self.node(member, at),
        )
    }

    /// Puts validations under a junctor, beside those that are there already.
    fn keep(&mut self, keyword: &str, members: Vec<Value>, node: &mut Map<String, Value>, at: &SchemaPath) {
        if members.is_empty() {
            return;
        }
        if node.contains_key(keyword) && keyword != "allOf" {
            return self.error(at, StructuralizeErrorKind::Collision(keyword.to_owned()));
        }
        match node.get_mut(keyword) {
            Some(Value::Array(list)) => list.extend(members),
            _ => drop(node.insert(keyword.to_owned(), Value::Array(members))),
        }
    }
}

/// Returns true if a junctor may hold the schema, once descriptions are gone.
fn is_validation(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return false };
    let mut described = map.clone();
    described.retain(|keyword, _| !ANNOTATIONS.contains(&keyword.as_str()));
    bare(&described) == described
}

fn validation(schema: &Value) -> Value {
    schema.as_object().map(|map| Value::Object(bare(map))).unwrap_or_default()
}

fn is_int_or_string(schema: &Value) -> bool {
    let members = schema.get("anyOf").and_then(Value::as_array);
    schema.as_object().is_some_and(|map| map.len() == 1)
        && members.is_some_and(|members| int_or_string_pattern(members))
}

fn int_or_string_pattern(members: &[Value]) -> bool {
    *members == [json!({"type": "integer"}), json!({"type": "string"})]
}
