//! Compares the shape of a field with the schema that a CustomResourceDefinition serves for it.
//!
//! The direction decides which side must contain the other. Reading: every value that the server may hold must be
//! one that the reader understands. Writing: every value that the writer may send must be one that the server
//! accepts and keeps. An `integer` without a format, read into an `i32`, is a violation; written from one, it is not.
//!
//! ```text
//! contract (`ours`)                    definition (`crd`)                 reader            writer
//! size: integer, minimum: 1            size: integer, minimum: 0          0 is refused      fits
//! size: integer, minimum: 0            size: integer, minimum: 1          fits              0 is not accepted
//! mode: enum [a, b]                    mode: string                       any string comes  fits
//! required: [name]                     name is not required               may be absent     fits
//! extra: any object                    no property `extra`                fits: is absent   is dropped
//! ```

use serde_json::Value;

use super::bound::BOUNDS;
use super::place::Place;
use super::report::{ContractViolation, FieldUse, Report, Unverified, ViolationKind};
use super::schema::{Additional, Node};

/// Collects the diagnostics of one comparison.
pub(crate) struct Comparison<'k> {
    pub(crate) direction: FieldUse,
    /// The keys of the list at a pointer from the field.
    pub(crate) keys: &'k dyn Fn(&str) -> Option<Vec<String>>,
    pub(crate) report: Report,
    /// The pairs of nodes around the current one.
    around: Vec<[*const Value; 2]>,
}

impl<'k> Comparison<'k> {
    pub(crate) fn new(direction: FieldUse, keys: &'k dyn Fn(&str) -> Option<Vec<String>>) -> Self {
        Self { direction, keys, report: Report::default(), around: Vec::new() }
    }

    pub(crate) fn violate(&mut self, at: &Place, kind: ViolationKind) {
        let (pointer, schema) = (at.object.clone(), at.schema.clone());
        let violation = ContractViolation { at: pointer, schema, field_use: Some(self.direction), kind };
        self.report.violations.push(violation);
    }

    pub(crate) fn unverified(&mut self, at: &Place, reason: &str) {
        let (pointer, schema, reason) = (at.object.clone(), at.schema.clone(), reason.to_owned());
        self.report.unverified.push(Unverified {
            at: pointer,
            schema,
            field_use: Some(self.direction),
            reason,
        });
    }

    fn outer(&self) -> &'static str {
        if self.is_write() { "the schema" } else { "the contract" }
    }

    fn is_write(&self) -> bool {
        self.direction == FieldUse::Write
    }

    /// The side that must be contained, and the side that must contain it.
    fn sides<'n>(&self, crd: Node<'n>, ours: Node<'n>) -> (Node<'n>, Node<'n>) {
        if self.is_write() { (ours, crd) } else { (crd, ours) }
    }

    /// Compares two nodes. `is_member`: the value belongs to an object, so a writer leaves a null out.
    pub(crate) fn node(&mut self, crd: Node<'_>, ours: Node<'_>, at: &Place, is_member: bool) {
        let pair = [crd.address(), ours.address()];
        if self.around.contains(&pair) {
            return self.unverified(at, "the schemas return to themselves, which is not followed");
        }
        self.around.push(pair);
        self.compare(crd, ours, at, is_member);
        self.around.pop();
    }

    /// Types first: values of types that do not fit are not compared any further.
    fn compare(&mut self, crd: Node<'_>, ours: Node<'_>, at: &Place, is_member: bool) {
        if let Some(keyword) = ours.incomparable() {
            return self.unverified(at, &format!("the contract uses {keyword}, which is not compared"));
        }
        if crd.preserves() && !crd.has("type") {
            let reason = "x-kubernetes-preserve-unknown-fields: the schema accepts anything here";
            return self.unverified(at, reason);
        }
        // A reader is content with fewer values than it understands, so that a restriction of the definition cannot harm it.
        if let Some(keyword) = crd.incomparable().filter(|keyword| self.is_write() || *keyword == "recursion")
        {
            self.unverified(
                at,
                &format!("the schema restricts the value by {keyword}, which is not compared"),
            );
        }
        if !self.types(crd, ours, at) {
            return;
        }
        let (inner, outer) = self.sides(crd, ours);
        if inner.is_nullable() && !outer.is_nullable() && !(self.is_write() && is_member) {
            self.violate(at, ViolationKind::Nullable { written: self.is_write() });
        }
        self.values(inner, outer, at);
        let both = crd.types().unwrap_or_default();
        if both.contains("array") {
            self.list(crd, ours, at);
        }
        if both.contains("object") {
            self.object(crd, ours, at);
        }
    }

    /// Returns true if the values can be compared any further.
    fn types(&mut self, crd: Node<'_>, ours: Node<'_>, at: &Place) -> bool {
        let describe = |node: Node<'_>| {
            let types: Vec<&str> = node.types().unwrap_or_default().into_iter().collect();
            if types.is_empty() { "anything".to_owned() } else { types.join(" or ") }
        };
        let (inner, outer) = self.sides(crd, ours);
        let fits = match (inner.types(), outer.types()) {
            (_, None) => self.direction == FieldUse::Read,
            (None, Some(_)) => false,
            (Some(inner), Some(outer)) => {
                inner.iter().all(|one| outer.contains(one) || (*one == "integer" && outer.contains("number")))
            }
        };
        if !fits {
            self.violate(at, ViolationKind::Type { contract: describe(ours), schema: describe(crd) });
        }
        fits && ours.types().is_some()
    }

    /// Enumerations, then bounds. `outer: minimum 0`, `inner: enum [1, 2]`: a list is not compared with bounds, and reported
    /// as unverified.
    fn values(&mut self, inner: Node<'_>, outer: Node<'_>, at: &Place) {
        let known = inner.values();
        if let Some(allowed) = outer.values() {
            let extra: Vec<Value> = match &known {
                Some(known) => known
                    .iter()
                    // Null is compared as such, because an optional value has it beside the enumeration.
                    .filter(|value| !value.is_null() && !allowed.contains(value))
                    .map(|value| (*value).clone())
                    .collect(),
                None => vec![],
            };
            if known.is_none() || !extra.is_empty() {
                let allowed = allowed.into_iter().cloned().collect();
                self.violate(at, ViolationKind::Values { allowed, extra, written: self.is_write() });
            }
            return;
        }
        if known.is_some() {
            let stated = BOUNDS.iter().any(|(low, high)| outer.has(low) || outer.has(high));
            let bounded = ["pattern", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
            let format = outer.format().is_some_and(|format| !format.starts_with("int"));
            if stated || format || bounded.iter().any(|key| outer.has(key)) {
                self.unverified(at, "enumerated values are not compared with bounds, patterns and formats");
            }
            return;
        }
        if outer.number("multipleOf").is_some_and(|number| inner.number("multipleOf") != Some(number)) {
            self.unverified(
                at,
                &format!("{} restricts the value by multipleOf, which is not compared", self.outer()),
            );
        }
        for (low, high) in BOUNDS {
            self.bound(inner, outer, low, at, |inner, outer| inner < outer);
            self.bound(inner, outer, high, at, |inner, outer| inner > outer);
        }
        self.strings(inner, outer, at);
    }

    /// `outer: maximum 9` contains `inner: maximum 9` and `inner: maximum 5`; an `inner` without the bound exceeds it.
    fn bound(
        &mut self,
        inner: Node<'_>,
        outer: Node<'_>,
        keyword: &'static str,
        at: &Place,
        exceeds: impl Fn(f64, f64) -> bool,
    ) {
        let Some((limit, excluded)) = outer.bound(keyword) else { return };
        let bounded: &[&str] = match keyword {
            "minLength" | "maxLength" => &["string"],
            "minItems" | "maxItems" => &["array"],
            "minProperties" | "maxProperties" => &["object"],
            _ => &["integer", "number"],
        };
        if !inner.types().is_none_or(|types| bounded.iter().any(|name| types.contains(name))) {
            return;
        }
        // Zero is the lower bound of every length.
        if keyword.starts_with("min") && keyword != "minimum" && limit <= 0.0 {
            return;
        }
        let fits = inner.bound(keyword).is_some_and(|(value, also_excluded)| {
            !exceeds(value, limit) && (value != limit || !excluded || also_excluded)
        });
        if !fits {
            self.violate(at, ViolationKind::Bound { keyword, limit, written: self.is_write() });
        }
    }

    fn strings(&mut self, inner: Node<'_>, outer: Node<'_>, at: &Place) {
        if !inner.types().is_some_and(|types| types.contains("string")) {
            return;
        }
        match (inner.text("pattern"), outer.text("pattern")) {
            (_, None) => {}
            (inner, Some(outer)) if inner == Some(outer) => {}
            (Some(_), Some(_)) => self.unverified(at, "the patterns differ, and patterns are not compared"),
            (None, Some(pattern)) => {
                self.violate(
                    at,
                    ViolationKind::Pattern { pattern: pattern.to_owned(), written: self.is_write() },
                );
            }
        }
        if outer.format().is_some_and(|format| inner.format() != Some(format)) {
            let format = outer.text("format").unwrap_or_default().to_owned();
            self.violate(at, ViolationKind::Format { format, written: self.is_write() });
        }
    }

    fn list(&mut self, crd: Node<'_>, ours: Node<'_>, at: &Place) {
        if self.is_write() {
            self.list_type(crd, ours, at);
        }
        let Some(held) = crd.items() else {
            return self.unverified(at, "the schema does not say what the list holds");
        };
        let at = at.element();
        match ours.items() {
            Some(ours) => self.node(held, ours, &at, false),
            None if self.is_write() && held.drops_everything() => self.violate(&at, ViolationKind::Pruned),
            None => {}
        }
    }

    /// Server-side apply merges by the list type of the definition: a writer that owns single entries needs their keys.
    fn list_type(&mut self, crd: Node<'_>, ours: Node<'_>, at: &Place) {
        let mut found = crd.strings("x-kubernetes-list-map-keys");
        found.sort_unstable();
        let kind = crd.text("x-kubernetes-list-type").unwrap_or("atomic");
        let mut wanted = (self.keys)(&at.field).unwrap_or_default();
        wanted.sort_unstable();
        let fits = match kind {
            "map" => found == wanted,
            "set" => wanted.is_empty() && ours.flag("uniqueItems"),
            _ => wanted.is_empty(),
        };
        if !fits {
            let found = if kind == "map" { format!("map of {}", found.join(", ")) } else { kind.to_owned() };
            self.violate(at, ViolationKind::ListType { keys: wanted, found });
        }
    }

    fn object(&mut self, crd: Node<'_>, ours: Node<'_>, at: &Place) {
        for (name, ours_below) in ours.properties() {
            self.member(crd, ours, name, ours_below, at);
        }
        for name in ours.strings("required").into_iter().filter(|name| ours.property(name).is_none()) {
            self.member(crd, ours, name, ours.unnamed(), at);
        }
        // A writer that may leave a member out, or has null for it, which is not sent, does not always write it.
        let missing = crd.needed().into_iter().filter(|name| {
            let ours_below = ours.property(name);
            !ours.strings("required").contains(name) || ours_below.is_none_or(|node| node.is_nullable())
        });
        if self.is_write() && ours.has("properties") {
            for name in missing {
                self.violate(&at.member(name, "properties"), ViolationKind::Mandatory);
            }
        }
        self.undeclared(crd, ours, at);
    }

    /// Compares one member that the contract names.
    fn member(&mut self, crd: Node<'_>, ours: Node<'_>, name: &str, below: Node<'_>, at: &Place) {
        let required = ours.strings("required").contains(&name);
        let Some(found) = crd.property(name) else {
            let here = at.undeclared(name);
            let map = at.member(name, "additionalProperties");
            return match crd.additional() {
                Additional::Each(each) => self.node(each, below, &map, true),
                Additional::Any(_) => self.any_value(below, &map),
                _ if crd.preserves() => {
                    self.unverified(
                        &here,
                        "x-kubernetes-preserve-unknown-fields: the schema does not declare it",
                    );
                }
                _ if self.is_write() || required => self.violate(&here, ViolationKind::Missing),
                _ => {}
            };
        };
        let here = at.member(name, "properties");
        // A default of the definition is filled in before a reader sees the object.
        let mandatory = required && !crd.strings("required").contains(&name) && !found.has("default");
        if !self.is_write() && mandatory {
            self.violate(&here, ViolationKind::Optional);
        }
        self.node(found, below, &here, true);
    }

    /// A value below `additionalProperties: true`: scalars are kept, every object in it is pruned to `{}`.
    pub(crate) fn any_value(&mut self, ours: Node<'_>, at: &Place) {
        if self.is_write() && ours.may_hold_objects() {
            self.violate(at, ViolationKind::Pruned);
        } else if !self.is_write() {
            self.unverified(at, "additionalProperties: true accepts any value");
        }
    }

    /// Compares the members that the contract does not name: those of maps.
    fn undeclared(&mut self, crd: Node<'_>, ours: Node<'_>, at: &Place) {
        let every = at.member("*", "additionalProperties");
        let each = match ours.additional() {
            Additional::Each(each) | Additional::Any(each) => each,
            Additional::None if self.is_write() => return,
            Additional::None => return self.refused(crd, ours, at),
            Additional::Unstated => {
                if self.is_write() && !ours.has("properties") {
                    self.content_of_any_object(crd, at);
                }
                return;
            }
        };
        if !self.is_write() {
            // A reader of a map meets declared members in it too: in a map of integers, `a: string` of the definition.
            for (name, declared) in crd.properties().filter(|(name, _)| ours.property(name).is_none()) {
                self.node(declared, each, &at.member(name, "properties"), true);
            }
        }
        match crd.additional() {
            Additional::Each(found) => self.node(found, each, &every, false),
            Additional::Any(_) => self.any_value(each, &every),
            _ if crd.preserves() => {
                self.unverified(
                    &every,
                    "x-kubernetes-preserve-unknown-fields: the schema accepts any member",
                );
            }
            _ if self.is_write() => self.violate(at, ViolationKind::Pruned),
            _ => {}
        }
    }

    /// Finds members that a reader refuses because the contract does not name them.
    fn refused(&mut self, crd: Node<'_>, ours: Node<'_>, at: &Place) {
        if let Some((name, _)) = crd.properties().find(|(name, _)| ours.property(name).is_none()) {
            self.violate(&at.member(name, "properties"), ViolationKind::Unknown);
        }
        match crd.additional() {
            Additional::Each(_) | Additional::Any(_) => {
                self.violate(&at.member("*", "additionalProperties"), ViolationKind::Unknown);
            }
            _ if crd.preserves() => {
                let every = at.undeclared("*");
                self.unverified(
                    &every,
                    "x-kubernetes-preserve-unknown-fields: the schema accepts any member",
                );
            }
            _ => {}
        }
    }

    /// A writer of a map of anything: what the schema does not keep would be dropped without an error.
    fn content_of_any_object(&mut self, crd: Node<'_>, at: &Place) {
        match crd.additional() {
            _ if crd.preserves() => {
                self.unverified(at, "x-kubernetes-preserve-unknown-fields: the schema accepts any member");
            }
            Additional::Any(_) => self.violate(at, ViolationKind::Pruned),
            Additional::Each(each) if each.drops_everything() => {
                self.violate(&at.member("*", "additionalProperties"), ViolationKind::Pruned);
            }
            _ if crd.drops_everything() => self.violate(at, ViolationKind::Pruned),
            _ => {}
        }
    }
}
