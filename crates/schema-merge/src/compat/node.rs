//! The declarations of a node: type, properties, items, and what happens to the rest.
//!
//! Worked example, for stored objects. A structural schema prunes: fields that it does not declare are dropped, when an object is
//! written and again when it is read.
//!
//! ```text
//! old                                       new                                       stored objects
//! a: integer                                a: number                                 fit
//! a: integer                                a: string                                 break
//! a: integer                                `a` not declared                          lose it when they are read
//! a: integer                                not declared, x-kubernetes-preserve-…     keep it
//! `a` not declared                          a: integer                                fit: it was dropped, so it is absent
//! not declared, x-kubernetes-preserve-…     a: integer                                may hold another type there
//! a: integer                                required: [a]                             break where it is absent
//! a: integer                                required: [a], a: integer, default: 1     fit: it is filled in
//! ```
//!
//! For clients the sides change places: what the new schema allows, code that knows the old one has to understand.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Compare, Impact};
use crate::keyword::{EMBEDDED, INT_OR_STRING, LIST_MAP_KEYS, LIST_TYPE, PRESERVE, RULES};
use crate::node::{Additional, Node};
use crate::number;
use crate::path::SchemaPath;

/// The types a value of this schema may have; `None` for any.
fn types<'a>(node: &Node<'a>) -> Option<Vec<&'a str>> {
    if node.flag(INT_OR_STRING) {
        return Some(vec!["integer", "string"]);
    }
    Some(node.kind()).filter(|kind| !kind.is_empty()).map(|kind| vec![kind])
}

/// The first type that `from` allows and `to` does not. Each integer is a number, so that `integer` fits into `number`.
fn lost_type(from: &Node<'_>, to: &Node<'_>) -> Option<String> {
    let to = types(to)?;
    let Some(from) = types(from) else {
        return Some("any type".to_owned());
    };
    let fits = |kind: &&str| to.contains(kind) || (*kind == "integer" && to.contains(&"number"));
    from.iter().find(|kind| !fits(kind)).map(|kind| (*kind).to_owned())
}

/// Returns true if a schema counts or matches fields, so that one more of them makes a difference: `{a: 1}` fits under
/// `maxProperties: 1`, and does not when a default adds `b`. In a set, a default can make two items equal.
pub(super) fn is_delicate(node: &Node<'_>) -> bool {
    node.junctors().next().is_some()
        || ["maxProperties", RULES].iter().any(|keyword| node.get(keyword).is_some())
        || node.string(LIST_TYPE) == "set"
        || node.properties.values().any(is_delicate)
        || node.item().is_some_and(is_delicate)
        || node.additional().is_some_and(is_delicate)
}

impl Compare {
    /// Compares what matters to stored objects.
    pub(super) fn stored(&mut self, old: &Node<'_>, new: &Node<'_>, at: &mut SchemaPath) {
        if let Some(lost) = lost_type(old, new) {
            let now = types(new).unwrap_or_default().join(" or ");
            return self.push(
                at,
                "type",
                Impact::Breaking,
                format!("{lost} is not allowed any more, only {now}"),
            );
        }
        if old.flag("nullable") && !new.flag("nullable") && types(new).is_some() {
            self.push(at, "nullable", Impact::Breaking, "null is not allowed any more");
        }
        self.validations(old, new, at);
        self.required(old, new, at);
        self.defaults(old, new, at);
        self.lists(old, new, at);
        if new.flag(EMBEDDED) && !old.flag(EMBEDDED) {
            let detail = "apiVersion, kind and metadata are checked now";
            self.push(at, "embedded-resource", Impact::Breaking, detail);
        }
        self.properties(old, new, at);
        self.rest(old, new, at);
        match (old.item(), new.item()) {
            (Some(old), Some(new)) => at.within(|at| at.push_child("items"), |at| self.stored(old, new, at)),
            (None, Some(_)) if old.kind() != "array" && old.flag(PRESERVE) => {
                self.push(at, "items", Impact::Possible, "items were not described, and are now");
            }
            _ => {}
        }
    }

    fn required(&mut self, old: &Node<'_>, new: &Node<'_>, at: &SchemaPath) {
        let before: BTreeSet<_> = old.strings("required").collect();
        for name in new.strings("required").collect::<BTreeSet<_>>().difference(&before) {
            // The server fills in defaults when it reads a stored object, and before it validates.
            let filled = new.properties.get(name).is_some_and(|property| property.default_value().is_some());
            if !filled {
                self.push(
                    at,
                    "required",
                    Impact::Breaking,
                    format!("{name:?} is required now and has no default"),
                );
            }
        }
        for name in new.strings("required").filter(|name| before.contains(name)) {
            let default = |node: &Node<'_>| {
                node.properties.get(name).is_some_and(|property| property.default_value().is_some())
            };
            if default(old) && !default(new) {
                let detail = format!(
                    "{name:?} is required and its default is gone; objects that rely on it are invalid"
                );
                self.push(at, "required", Impact::Possible, detail);
            }
        }
    }

    fn defaults(&mut self, old: &Node<'_>, new: &Node<'_>, at: &SchemaPath) {
        let detail = match (old.default_value(), new.default_value()) {
            (Some(old), Some(new)) if number::same(old, new) => return,
            (None, None) => return,
            (Some(old), Some(new)) => format!("the default was {old} and is {new}"),
            (None, Some(new)) => format!("the default {new} is new"),
            (Some(old), None) => format!("the default {old} is gone"),
        };
        let impact = if self.delicate { Impact::Possible } else { Impact::Behaviour };
        self.push(at, "default", impact, detail);
    }

    fn lists(&mut self, old: &Node<'_>, new: &Node<'_>, at: &SchemaPath) {
        let (before, now) = (old.string(LIST_TYPE), new.string(LIST_TYPE));
        if before != now && matches!(now, "set" | "map") {
            self.push(
                at,
                "list-type",
                Impact::Possible,
                format!("the list is a {now} now and must not have duplicates"),
            );
        }
        let keys =
            |node: &Node<'_>| node.list(LIST_MAP_KEYS).iter().map(Value::to_string).collect::<BTreeSet<_>>();
        if now == "map" && before == now && keys(old) != keys(new) {
            self.push(at, "list-map-keys", Impact::Possible, "the keys of list items changed");
        }
    }

    fn properties(&mut self, old: &Node<'_>, new: &Node<'_>, at: &mut SchemaPath) {
        for (name, before) in &old.properties {
            at.within(
                |at| at.push_property(name),
                |at| match (new.properties.get(name), &new.additional_properties) {
                    (Some(now), _) => self.stored(before, now, at),
                    (None, Some(Additional::Schema(now))) => self.stored(before, now, at),
                    // `additionalProperties: true` keeps a value and prunes inside: of `a: {b: 1}` it leaves `a: {}`.
                    (None, Some(Additional::Bool(true))) if is_scalar(before) => {}
                    (None, None) if new.flag(PRESERVE) => {}
                    (None, Some(Additional::Bool(false))) => {
                        self.push(at, "property-removed", Impact::Breaking, "the field is refused now");
                    }
                    (None, _) => {
                        self.push(
                            at,
                            "property-removed",
                            Impact::Breaking,
                            "the field is dropped when it is read next",
                        );
                    }
                },
            );
        }
        for (name, now) in new.properties.iter().filter(|(name, _)| !old.properties.contains_key(**name)) {
            at.within(
                |at| at.push_property(name),
                |at| match &old.additional_properties {
                    Some(Additional::Schema(before)) => self.stored(before, now, at),
                    Some(Additional::Bool(true)) => {
                        self.push(
                            at,
                            "property-declared",
                            Impact::Possible,
                            "anything could be here, and it is described now",
                        );
                    }
                    _ if old.flag(PRESERVE) || types(old).is_none() => {
                        let detail = "unknown fields were kept here, and one of this name is described now";
                        self.push(at, "property-declared", Impact::Possible, detail);
                    }
                    _ if now.default_value().is_some() => {
                        let impact = if self.delicate { Impact::Possible } else { Impact::Behaviour };
                        self.push(at, "default", impact, "a new field is filled in");
                    }
                    _ => {}
                },
            );
        }
    }

    /// Compares what happens to fields without a declaration of their own.
    fn rest(&mut self, old: &Node<'_>, new: &Node<'_>, at: &mut SchemaPath) {
        // Beside `additionalProperties`, it is by that schema that unknown fields are pruned.
        let keeps = new.flag(PRESERVE) && new.additional_properties.is_none();
        match (&old.additional_properties, &new.additional_properties) {
            (Some(Additional::Schema(before)), Some(Additional::Schema(now))) => {
                at.within(|at| at.push_child("additionalProperties"), |at| self.stored(before, now, at));
            }
            (Some(Additional::Bool(false)) | None, Some(Additional::Schema(_))) if old.flag(PRESERVE) => {
                self.push(at, "map", Impact::Possible, "unknown fields were kept, and are described now");
            }
            (Some(Additional::Schema(before)), Some(Additional::Bool(true))) if is_scalar(before) => {}
            (Some(Additional::Schema(_) | Additional::Bool(true)), _) if keeps => {}
            (Some(Additional::Bool(true)), Some(Additional::Bool(true))) => {}
            (Some(Additional::Bool(true)), Some(Additional::Schema(_))) => {
                self.push(at, "map", Impact::Possible, "the values of the map are described now");
            }
            (Some(Additional::Schema(_) | Additional::Bool(true)), _) => {
                self.push(
                    at,
                    "map-removed",
                    Impact::Breaking,
                    "the keys of the map are dropped when they are read next",
                );
            }
            (None, Some(Additional::Bool(false))) if old.flag(PRESERVE) => {
                self.push(at, "map", Impact::Possible, "unknown fields were kept, and are refused now");
            }
            _ => {}
        }
        let open = matches!(new.additional_properties, Some(Additional::Schema(_)));
        if old.flag(PRESERVE) && !new.flag(PRESERVE) && !open {
            let detail = "unknown fields are dropped now when they are read";
            self.push(at, "preserve-removed", Impact::Breaking, detail);
        }
    }

    /// Compares what matters to old code that reads new objects. Fields it does not know it ignores.
    pub(super) fn clients(&mut self, old: &Node<'_>, new: &Node<'_>, at: &mut SchemaPath) {
        if let Some(lost) = lost_type(new, old) {
            return self.push(at, "type", Impact::Breaking, format!("{lost} is possible now, and was not"));
        }
        if new.flag("nullable") && !old.flag("nullable") && types(old).is_some() {
            self.push(at, "nullable", Impact::Possible, "null is possible now");
        }
        self.new_values(old, new, at);
        let now: BTreeSet<_> = new.strings("required").collect();
        for name in old.strings("required").filter(|name| !now.contains(name)) {
            self.push(
                at,
                "required",
                Impact::Possible,
                format!("{name:?} could be relied on, and may be absent now"),
            );
        }
        for (name, before) in &old.properties {
            at.within(
                |at| at.push_property(name),
                |at| match new.properties.get(name) {
                    Some(now) => self.clients(before, now, at),
                    None => self.push(
                        at,
                        "property-removed",
                        Impact::Breaking,
                        "the field does not exist any more",
                    ),
                },
            );
        }
        for (keyword, before, now) in
            [("items", old.item(), new.item()), ("additionalProperties", old.additional(), new.additional())]
        {
            if let (Some(before), Some(now)) = (before, now) {
                at.within(|at| at.push_child(keyword), |at| self.clients(before, now, at));
            }
        }
    }
}

/// Returns true if nothing can be dropped from inside a value.
fn is_scalar(node: &Node<'_>) -> bool {
    types(node).is_some_and(|types| !types.contains(&"object") && !types.contains(&"array"))
}
