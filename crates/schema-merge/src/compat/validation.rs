//! Value validations: what was valid has to stay valid.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Number, Value};

use super::{Compare, Impact};
use crate::keyword::RULES;
use crate::node::Node;
use crate::number::{self, ByValue};
use crate::object::is_supported;
use crate::path::SchemaPath;

/// Bounds, the flag that excludes the bound itself, and which way is tighter.
const BOUNDS: [(&str, &str, Ordering); 8] = [
    ("minimum", "exclusiveMinimum", Ordering::Greater),
    ("minLength", "", Ordering::Greater),
    ("minItems", "", Ordering::Greater),
    ("minProperties", "", Ordering::Greater),
    ("maximum", "exclusiveMaximum", Ordering::Less),
    ("maxLength", "", Ordering::Less),
    ("maxItems", "", Ordering::Less),
    ("maxProperties", "", Ordering::Less),
];

impl Compare {
    pub(super) fn validations(&mut self, old: &Node<'_>, new: &Node<'_>, at: &SchemaPath) {
        for (keyword, exclusive, tighter) in BOUNDS {
            self.bound(old, new, keyword, exclusive, tighter, at);
        }
        self.enumeration(old, new, at);
        self.factor(old, new, at);
        let (before, now) = (old.string("pattern"), new.string("pattern"));
        if !now.is_empty() && now != before {
            self.push(at, "pattern", Impact::Possible, format!("values must match {now:?} now"));
        }
        let (before, now) = (old.string("format"), new.string("format"));
        let wider =
            before == now || (before == "int32" && now == "int64") || (before == "float" && now == "double");
        if is_supported(new.kind(), now) && !wider {
            self.push(at, "format", Impact::Possible, format!("values must have the format {now} now"));
        }
        if new.flag("uniqueItems") && !old.flag("uniqueItems") {
            self.push(at, "unique-items", Impact::Possible, "items must be unique now");
        }
        self.junctors(old, new, at);
        self.rules(old, new, at);
    }

    fn bound(
        &mut self,
        old: &Node<'_>,
        new: &Node<'_>,
        keyword: &'static str,
        exclusive: &str,
        tighter: Ordering,
        at: &SchemaPath,
    ) {
        let Some(now) = new.number(keyword) else { return };
        if keyword.starts_with("min") && keyword != "minimum" && now.as_i64().is_some_and(|least| least <= 0)
        {
            return;
        }
        let open = |node: &Node<'_>| !exclusive.is_empty() && node.flag(exclusive);
        let detail = match old.number(keyword) {
            None => format!("{keyword} {now} is new"),
            Some(before) => match number::compare(now, before) {
                order if order == tighter => format!("{keyword} was {before} and is {now}"),
                Ordering::Equal if open(new) && !open(old) => {
                    format!("{keyword} {now} itself is not allowed any more")
                }
                _ => return,
            },
        };
        self.push(at, keyword, Impact::Breaking, detail);
    }

    fn enumeration(&mut self, old: &Node<'_>, new: &Node<'_>, at: &SchemaPath) {
        let (before, now) = (old.list("enum"), new.list("enum"));
        if now.is_empty() {
            return;
        }
        if before.is_empty() {
            return self.push(at, "enum", Impact::Breaking, "only certain values are allowed now");
        }
        let gone = missing(before, now);
        if !gone.is_empty() {
            self.push(at, "enum", Impact::Breaking, format!("{} is not allowed any more", gone.join(", ")));
        }
    }

    /// Values that clients of the old schema have never seen.
    pub(super) fn new_values(&mut self, old: &Node<'_>, new: &Node<'_>, at: &SchemaPath) {
        let (before, now) = (old.list("enum"), new.list("enum"));
        if before.is_empty() {
            return;
        }
        if now.is_empty() {
            return self.push(at, "enum", Impact::Possible, "any value is possible now");
        }
        let added = missing(now, before);
        if !added.is_empty() {
            self.push(at, "enum", Impact::Possible, format!("{} is possible now", added.join(", ")));
        }
    }

    fn factor(&mut self, old: &Node<'_>, new: &Node<'_>, at: &SchemaPath) {
        let Some(now) = new.number("multipleOf") else {
            return;
        };
        let before = old.number("multipleOf");
        let multiple = match (before.and_then(Number::as_i64), now.as_i64()) {
            (Some(before), Some(now)) => before == now || before.checked_rem(now) == Some(0),
            _ => before.is_some_and(|before| number::compare(before, now).is_eq()),
        };
        if !multiple {
            self.push(at, "multipleOf", Impact::Breaking, format!("values must be multiples of {now} now"));
        }
    }

    /// Junctors are compared as they are written; one that is new or different may refuse what was valid.
    fn junctors(&mut self, old: &Node<'_>, new: &Node<'_>, at: &SchemaPath) {
        for keyword in ["allOf", "anyOf", "oneOf", "not"] {
            let Some(now) = new.get(keyword) else { continue };
            let same = match (old.get(keyword), now) {
                (Some(Value::Array(before)), Value::Array(now)) if keyword == "allOf" => {
                    missing(now, before).is_empty()
                }
                (Some(before), now) => number::same(before, now),
                (None, _) => false,
            };
            let empty = now.as_array().is_some_and(Vec::is_empty);
            if !same && !empty {
                self.push(at, "junctor", Impact::Possible, format!("{keyword} is new or different"));
            }
        }
    }

    fn rules(&mut self, old: &Node<'_>, new: &Node<'_>, at: &SchemaPath) {
        let text = |rule: &Value| rule.get("rule").and_then(Value::as_str).unwrap_or_default().to_owned();
        let before: BTreeSet<String> = old.rules().iter().map(text).collect();
        for rule in new.rules().iter().map(text).filter(|rule| !before.contains(rule)) {
            self.push(at, RULES, Impact::Possible, format!("the rule {rule:?} is new"));
        }
    }
}

/// Those of `wanted` that are not among `there`.
fn missing(wanted: &[Value], there: &[Value]) -> Vec<String> {
    let there: BTreeSet<_> = there.iter().map(ByValue).collect();
    wanted.iter().filter(|value| !there.contains(&ByValue(value))).map(Value::to_string).collect()
}
