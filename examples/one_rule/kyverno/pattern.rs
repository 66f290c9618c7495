//! A Kyverno pattern: an object that looks like the objects it accepts, with operands as leaves and anchors around keys.
//!
//! ```yaml
//! spec:
//!   replicas: ">2"              # must be more than 2
//!   strategy: "*"               # must be there
//!   =(paused): false            # if it is there, it must be so
//!   X(hostNetwork): "null"      # must not be there
//!   ^(volumes): [{name: data}]  # if there is a list, one of it must be so
//!   containers:
//!   - (name): "web"             # for those elements that are called web,
//!     image: "shop/*"           # this must hold
//! ```
//!
//! `(key)` and `<(key)` end the comparison of an element where they do not hold, and that of the whole object outside lists. They
//! differ where the key is missing: `(key)` does not hold, `<(key)` does.

use serde_json::{Map, Value};

use super::operand::{Operand, has_variable};

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pattern {
    /// Whatever is there, but null.
    Present,
    /// A value, or each element of a list of values.
    Leaf(Leaf),
    Object(Object),
    /// Every element matches.
    Each(Box<Pattern>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Leaf {
    /// Null, 0, false, an empty text, or not there.
    Empty,
    Bool(bool),
    Number(serde_json::Number),
    Text(Operand),
}

/// Members in the order in which Kyverno asks them: the first that fails or ends the rule decides.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Object {
    /// With an anchor other than `<`: all are asked before the others.
    anchored: Vec<Member>,
    others: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq)]
struct Member {
    anchor: Anchor,
    key: String,
    pattern: Pattern,
}

/// Anchor of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Anchor {
    None,
    /// `(key)`: the rest is about objects where it is there and matches.
    Condition,
    /// `=(key)`.
    IfPresent,
    /// `X(key)`.
    Absent,
    /// `^(key)`.
    Exists,
    /// `<(key)`: the rest is about objects where it is missing or matches.
    Global,
}

/// The answer of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Pass,
    /// The pattern is not about this value: such an anchor did not hold, `Condition` or `Global`.
    Skip(Anchor),
    /// The place where it failed.
    Fail(String),
}

// === impl Pattern ===

impl Pattern {
    /// Compiles a pattern, and refuses what this subset of Kyverno's patterns does not have.
    ///
    /// # Errors
    ///
    /// All places that cannot be compiled, each with the reason.
    pub(crate) fn compile(pattern: &Value) -> Result<Self, Vec<String>> {
        compile(pattern, "")
    }

    /// Compares a value with the pattern; `None` is a value that is not there.
    pub(crate) fn judge(&self, value: Option<&Value>, at: &str) -> Outcome {
        let passes = match (self, value.unwrap_or(&Value::Null)) {
            (Self::Object(object), Value::Object(fields)) => return object.judge(fields, at),
            (Self::Each(element), value @ Value::Array(elements)) => match element.as_ref() {
                Self::Leaf(_) => return element.judge(Some(value), at),
                element => return judge_each(element, elements, at),
            },
            (Self::Leaf(leaf), Value::Array(elements)) => {
                elements.iter().all(|element| leaf.matches(element))
            }
            (Self::Leaf(leaf), value) => leaf.matches(value),
            (Self::Present, value) => !value.is_null(),
            (Self::Object(_) | Self::Each(_), _) => false,
        };
        if passes { Outcome::Pass } else { Outcome::Fail(at.to_owned()) }
    }

    fn has_anchors(&self) -> bool {
        match self {
            Self::Object(Object { anchored, others }) => {
                let is_anchored =
                    |member: &Member| member.anchor != Anchor::None || member.pattern.has_anchors();
                !anchored.is_empty() || others.iter().any(is_anchored)
            }
            Self::Each(element) => element.has_anchors(),
            Self::Present | Self::Leaf(_) => false,
        }
    }
}

fn compile(pattern: &Value, at: &str) -> Result<Pattern, Vec<String>> {
    let wrong = |reason: &str| vec![format!("{at}: {reason}")];
    Ok(match pattern {
        Value::Null => Pattern::Leaf(Leaf::Empty),
        Value::Bool(truth) => Pattern::Leaf(Leaf::Bool(*truth)),
        Value::Number(number) => Pattern::Leaf(Leaf::Number(number.clone())),
        Value::String(text) => {
            Pattern::Leaf(Leaf::Text(Operand::read(text).map_err(|reason| wrong(&reason))?))
        }
        Value::Array(elements) => match elements.as_slice() {
            [Value::Array(_)] => return Err(wrong("lists of lists are not supported here")),
            [element] => Pattern::Each(Box::new(compile(element, &format!("{at}/0"))?)),
            _ => return Err(wrong("a list has one element, which all elements must match")),
        },
        Value::Object(members) => Pattern::Object(Object::compile(members, at)?),
    })
}

/// Elements that the pattern is not about count only when there are no others.
fn judge_each(pattern: &Pattern, elements: &[Value], at: &str) -> Outcome {
    let (mut holds, mut skips) = (false, false);
    for (index, element) in elements.iter().enumerate() {
        match pattern.judge(Some(element), &format!("{at}/{index}")) {
            Outcome::Pass => holds = true,
            Outcome::Skip(_) => skips = true,
            failed @ Outcome::Fail(_) => return failed,
        }
    }
    if skips && !holds { Outcome::Skip(Anchor::Condition) } else { Outcome::Pass }
}

// === impl Leaf ===

impl Leaf {
    fn matches(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Empty, Value::Null) => true,
            (Self::Empty, Value::Bool(truth)) => !truth,
            (Self::Empty, Value::Number(number)) => number.as_f64() == Some(0.0),
            (Self::Empty, Value::String(text)) => text.is_empty(),
            (Self::Bool(expected), Value::Bool(truth)) => expected == truth,
            (Self::Number(expected), Value::Number(number)) => expected.as_f64() == number.as_f64(),
            (Self::Number(expected), Value::String(text)) => match expected.as_i64() {
                Some(expected) => text.parse() == Ok(expected),
                None => text.parse().ok() == expected.as_f64(),
            },
            (Self::Text(operand), value) => operand.matches(value),
            (Self::Empty | Self::Bool(_) | Self::Number(_), _) => false,
        }
    }
}

// === impl Object ===

impl Object {
    fn compile(members: &Map<String, Value>, at: &str) -> Result<Self, Vec<String>> {
        let (mut compiled, mut errors) = (Vec::new(), Vec::new());
        let mut members: Vec<_> = members.iter().collect();
        members.sort_unstable_by_key(|(key, _)| *key);
        for (key, value) in members {
            match Member::compile(key, value, &format!("{at}/{key}")) {
                Ok(member) => compiled.push(member),
                Err(found) => errors.extend(found),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let (others, anchored): (Vec<_>, Vec<_>) =
            compiled.into_iter().partition(|member| matches!(member.anchor, Anchor::None | Anchor::Global));
        let (mut others, plain): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|member| member.anchor == Anchor::Global || member.pattern.has_anchors());
        others.reverse();
        others.extend(plain);
        Ok(Self { anchored, others })
    }

    fn judge(&self, fields: &Map<String, Value>, at: &str) -> Outcome {
        let (mut holds, mut skips) = (false, false);
        for member in &self.anchored {
            match member.judge(fields, at) {
                Outcome::Pass => holds = true,
                // Further down. What holds beside it still counts, and keeps the rest of the rule.
                Outcome::Skip(Anchor::Condition) if member.anchor == Anchor::IfPresent => skips = true,
                Outcome::Skip(_) => return Outcome::Skip(Anchor::Condition),
                failed @ Outcome::Fail(_) => return failed,
            }
        }
        if skips && !holds {
            return Outcome::Skip(Anchor::Condition);
        }
        let mut outcomes = self.others.iter().map(|member| member.judge(fields, at));
        outcomes.find(|outcome| *outcome != Outcome::Pass).unwrap_or(Outcome::Pass)
    }
}

// === impl Member ===

impl Member {
    fn compile(key: &str, value: &Value, at: &str) -> Result<Self, Vec<String>> {
        let wrong = |reason: String| vec![format!("{at}: {reason}")];
        let (anchor, key) = Anchor::read(key).map_err(wrong)?;
        let is_list = value.as_array().is_some_and(|elements| elements.iter().all(Value::is_object));
        if anchor == Anchor::Exists && !is_list {
            return Err(wrong("`^(…)` is about a list of objects".to_owned()));
        }
        let pattern = match anchor {
            Anchor::None if value == "*" => Pattern::Present,
            _ => compile(value, at)?,
        };
        Ok(Self { anchor, key: key.to_owned(), pattern })
    }

    fn judge(&self, fields: &Map<String, Value>, at: &str) -> Outcome {
        let (value, at) = (fields.get(&self.key), format!("{at}/{}", self.key));
        let judge = || self.pattern.judge(value, &at);
        match (self.anchor, value) {
            (Anchor::IfPresent | Anchor::Absent | Anchor::Exists | Anchor::Global, None) => Outcome::Pass,
            (Anchor::None | Anchor::IfPresent, _) => judge(),
            (Anchor::Exists, Some(Value::Array(elements))) if self.is_in(elements) => Outcome::Pass,
            (Anchor::Absent | Anchor::Exists, _) => Outcome::Fail(at),
            (Anchor::Condition | Anchor::Global, Some(_)) if judge() == Outcome::Pass => Outcome::Pass,
            (anchor @ (Anchor::Condition | Anchor::Global), _) => Outcome::Skip(anchor),
        }
    }

    fn is_in(&self, elements: &[Value]) -> bool {
        let Pattern::Each(pattern) = &self.pattern else { return false };
        elements.iter().any(|element| pattern.judge(Some(element), "") == Outcome::Pass)
    }
}

// === impl Anchor ===

impl Anchor {
    /// `=(key)` is `(IfPresent, "key")`.
    fn read(key: &str) -> Result<(Self, &str), String> {
        let (anchor, name) = match key.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
            None => (Self::None, key),
            Some(("", name)) => (Self::Condition, name),
            Some(("=", name)) => (Self::IfPresent, name),
            Some(("X", name)) => (Self::Absent, name),
            Some(("^", name)) => (Self::Exists, name),
            Some(("<", name)) => (Self::Global, name),
            Some(("+", _)) => return Err("`+(…)` changes objects: it belongs into a mutate rule".to_owned()),
            Some((other, _)) => return Err(format!("{other:?} is not an anchor: use one of ( =( X( ^( <(")),
        };
        if has_variable(name) {
            return Err("variables are not supported here".to_owned());
        }
        if name.contains(['*', '?']) {
            return Err("wildcards in keys are not supported here".to_owned());
        }
        if name.is_empty() || name.contains(['(', ')']) {
            return Err("one anchor is written around one key".to_owned());
        }
        Ok((anchor, name))
    }
}

#[cfg(test)]
mod tests;
