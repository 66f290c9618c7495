//! Conflicting values, reported as OPA reports them.
//!
//! OPA ends an evaluation at the first value that differs from an earlier one, and then runs the definitions once more
//! to list what each of them gives (`topdown/conflicts.go`).

use crate::error::{EvalError, place};
use crate::ir::Kind;
use crate::plan::{Branch, Expr, Group, Spot};
use crate::value::Value;
use crate::value::literal;

use super::candidate::{Candidates, is_excluded};
use super::{EvalContext, Flow};

pub(super) const KEY_CONFLICT: &str = "object keys must be unique";

/// Values that are listed.
const MOST_LISTED: usize = 10;

/// Characters of a value that are shown.
const MOST_SHOWN: usize = 80;

/// Returns the error at a place.
pub(super) fn conflict(spot: Option<&Spot>, message: impl Into<String>) -> EvalError {
    let (file, line, column) =
        spot.map_or((String::new(), 1, 1), |spot| (spot.file.to_string(), spot.line, spot.column));
    EvalError::Conflict { file, line, column, message: message.into() }
}

/// Returns OPA's message about two values of one rule or function.
pub(super) fn conflict_of(group: &Group) -> String {
    let path = reference(group.path.iter().map(|name| Value::from(&**name)));
    if matches!(group.kind, Kind::Function { .. }) {
        format!("function {path} produced conflicting values for the same inputs")
    } else {
        format!("rule {path} produced conflicting values")
    }
}

/// Returns a path as OPA writes it: `data.a.b["c d"][1]`.
fn reference(path: impl Iterator<Item = Value>) -> String {
    let mut text = "data".to_owned();
    for key in path {
        match &key {
            Value::String(name) if is_name(name) => {
                text.push('.');
                text.push_str(name);
            }
            key => text.push_str(&format!("[{}]", literal::of(key))),
        }
    }
    text
}

fn is_name(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(letter) && text.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// Returns true if every key of an object is written out, so that each is a document of its own to OPA.
fn is_fixed(group: &Group) -> bool {
    let mut keys = group.rules.iter().flat_map(|rule| &rule.branches).flat_map(|branch| &branch.keys);
    keys.all(|key| matches!(key, Expr::Const(_)))
}

/// The values that conflict with the first.
#[derive(Default)]
struct Listed {
    values: Vec<(Spot, Value)>,
    more: bool,
}

impl EvalContext<'_> {
    /// Returns the error where an object would get two values for a key.
    pub(super) fn key_conflict(&self, group: &Group, branch: &Branch, keys: &[Value]) -> EvalError {
        let spot = branch.spot.as_deref();
        if !is_fixed(group) {
            return conflict(spot, KEY_CONFLICT);
        }
        let path = group.path.iter().map(|name| Value::from(&**name)).chain(keys.iter().cloned());
        let message = format!("rule {} produced conflicting values", reference(path));
        let mut listed = Listed::default();
        let same = |other: &&Branch| {
            other.keys.iter().zip(keys).all(|(key, wanted)| matches!(key, Expr::Const(key) if key == wanted))
        };
        for rule in &group.rules {
            let mut frame = self.frame(rule.slots);
            for branch in rule.branches.iter().filter(same) {
                // What else goes wrong is not what ended the evaluation.
                drop(self.list_branch(branch, false, &mut frame, &mut listed));
            }
            self.recycle(frame);
        }
        conflict(spot, if listed.values.len() < 2 { message } else { listed.text(&message) })
    }

    /// Returns the error, with all values that the definitions of the group give for these arguments.
    pub(super) fn listed(
        &self,
        group: &Group,
        args: &[Value],
        candidates: &Candidates,
        error: EvalError,
    ) -> EvalError {
        let EvalError::Conflict { file, line, column, message } = error else { return error };
        let mut listed = Listed::default();
        // What else goes wrong is not what ended the evaluation.
        drop(self.list(group, args, candidates, &mut listed));
        let message = if listed.values.len() < 2 { message } else { listed.text(&message) };
        EvalError::Conflict { file, line, column, message }
    }

    fn list(
        &self,
        group: &Group,
        args: &[Value],
        candidates: &Candidates,
        listed: &mut Listed,
    ) -> Result<(), EvalError> {
        let mut tried = candidates.tried(group);
        for rule in &group.rules {
            tried.next(rule);
            if is_excluded(rule, args) {
                continue;
            }
            let mut frame = self.frame(rule.slots);
            if self.accept(rule, args, &mut frame)? {
                for (place, branch) in rule.branches.iter().enumerate() {
                    if tried.passes(place) && self.list_branch(branch, tried.once, &mut frame, listed)? {
                        break;
                    }
                }
            }
            self.recycle(frame);
            if listed.more {
                break;
            }
        }
        Ok(())
    }

    /// Lists the values of a branch until one differs from the first.
    fn list_branch(
        &self,
        branch: &Branch,
        once: bool,
        frame: &mut super::Frame,
        listed: &mut Listed,
    ) -> Result<bool, EvalError> {
        let mut held = false;
        self.run(&branch.body, frame, &mut |frame| {
            let Some(value) = self.value(&branch.value, frame)? else { return Ok(Flow::Continue) };
            held = true;
            let differs = listed.add(branch, &value);
            Ok(if differs || once { Flow::Stop } else { Flow::Continue })
        })?;
        Ok(held)
    }
}

impl Listed {
    /// Adds the first value, and those that differ from it; returns true for the latter.
    fn add(&mut self, branch: &Branch, value: &Value) -> bool {
        let is_first = match self.values.first() {
            Some((_, first)) if first == value => return false,
            first => first.is_none(),
        };
        if self.values.len() == MOST_LISTED {
            self.more = true;
        } else if let Some(spot) = &branch.spot {
            self.values.push(((**spot).clone(), value.clone()));
        }
        !is_first
    }

    /// Returns the message with the values and their places, a line for each.
    fn text(mut self, message: &str) -> String {
        self.values.sort_by(|(a, _), (b, _)| a.cmp(b));
        let lines = self.values.iter().map(|(spot, value)| {
            format!("\n  {} at {}", shown(value), place(&spot.file, spot.line, spot.column))
        });
        let more = if self.more { "\n  ..." } else { "" };
        format!("{message}:{}{more}", lines.collect::<String>())
    }
}

/// Returns a value on one line.
fn shown(value: &Value) -> String {
    let text = literal::of(value);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Budget, Module, RegoVersion, Restrictions, Value, compile};

    /// Returns the text of the error with which `data.t.p` ends.
    fn error_of(body: &str) -> String {
        let module = Module::parse("t.rego", &format!("package t\n{body}"), RegoVersion::V0).unwrap();
        let program = compile(&[module], "data.t.p", &Restrictions::default()).unwrap();
        let nothing = Value::new_object();
        program.evaluate(&nothing, &nothing, &Budget::default()).unwrap_err().to_string()
    }

    #[test]
    fn every_value_is_listed_with_its_place() {
        assert_eq!(
            error_of("p = 1 { true }\np = 2 { true }\np = 1 { true }\np = [3,\n 4] { true }"),
            "t.rego:3: eval_conflict_error: rule data.t.p produced conflicting values:\n  1 at t.rego:2\n  \
             2 at t.rego:3\n  [3, 4] at t.rego:5"
        );
        assert_eq!(
            error_of("p { f(1) }\nf(x) = \"a b\" { x }\nf(x) = y {\n y := [2, 3][_] }"),
            "t.rego:4: eval_conflict_error: function data.t.f produced conflicting values for the same inputs:\n  \
             \"a b\" at t.rego:3\n  2 at t.rego:4"
        );
    }

    #[test]
    fn no_more_than_ten_values_of_eighty_characters_are_listed() {
        let definitions: String = (1..=12).map(|n| format!("p = x {{ x := \"{n:x<90}\" }}\n")).collect();
        let text = error_of(&definitions);
        assert_eq!(text.lines().count(), 12);
        assert!(text.ends_with("\n  ..."), "{text}");
        assert!(text.contains(&format!("\n  \"2{}... at t.rego:3\n", "x".repeat(78))), "{text}");
    }

    #[test]
    fn keys_are_at_odds_where_they_are_written() {
        assert_eq!(
            error_of("p[x] = y {\n x := 1; y := [1, 2][_] }"),
            "t.rego:2: eval_conflict_error: object keys must be unique"
        );
        assert_eq!(
            error_of("p = x {\n x := {\n  1: y | y := [1, 2][_] } }"),
            "t.rego:4: eval_conflict_error: object keys must be unique"
        );
        assert_eq!(
            error_of("p[\"a b\"] = y { y := [1, 2][_] }"),
            "t.rego:2: eval_conflict_error: rule data.t.p[\"a b\"] produced conflicting values:\n  1 at t.rego:2\n  \
             2 at t.rego:2"
        );
    }
}
