//! A Kyverno pattern: an object that looks like the objects it accepts, with operands as leaves and anchors around keys.
//!
//! ```yaml
//! spec:
//!   replicas: ">2"              # must be there, and be more than 2
//!   =(paused): false            # if it is there, it must be so
//!   X(hostNetwork): "null"      # must not be there
//!   ^(volumes): [{name: data}]  # one of the list must be so
//!   containers:
//!   - (name): "web"             # for those elements that are called web,
//!     image: "shop/*"           # this must hold
//! ```
//!
//! `<(key)` makes the whole rule not apply where it does not match.

use serde_json::{Map, Value};

use super::operand::Operand;

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pattern {
    /// The value is null or not there.
    Absent,
    Leaf(Operand),
    Object(Vec<(Anchor, String, Pattern)>),
    /// Every element matches.
    Each(Box<Pattern>),
}

/// Anchor of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Anchor {
    None,
    /// `(key)`: where it does not match, its siblings are not asked.
    Condition,
    /// `=(key)`.
    IfPresent,
    /// `X(key)`.
    Absent,
    /// `^(key)`.
    Exists,
    /// `<(key)`: where it does not match, the rule does not apply.
    Global,
}

/// The answer of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Pass,
    /// The rule is not about this object.
    Skip,
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
        let value = value.filter(|value| !value.is_null());
        let failed = || Outcome::Fail(at.to_owned());
        match (self, value) {
            (Self::Absent, None) => Outcome::Pass,
            (Self::Leaf(operand), Some(value)) if operand.matches(value) => Outcome::Pass,
            (Self::Object(members), Some(Value::Object(fields))) => judge_object(members, fields, at),
            (Self::Each(pattern), Some(Value::Array(elements))) => judge_each(pattern, elements, at),
            _ => failed(),
        }
    }
}

fn compile(pattern: &Value, at: &str) -> Result<Pattern, Vec<String>> {
    let wrong = |reason: String| vec![format!("{at}: {reason}")];
    match pattern {
        Value::Null => Ok(Pattern::Absent),
        Value::String(text) if text == "null" => Ok(Pattern::Absent),
        Value::String(text) => Operand::read(text).map(Pattern::Leaf).map_err(wrong),
        Value::Number(_) | Value::Bool(_) => {
            Operand::read(&pattern.to_string()).map(Pattern::Leaf).map_err(wrong)
        }
        Value::Array(elements) => match elements.as_slice() {
            [element] => Ok(Pattern::Each(Box::new(compile(element, &format!("{at}/0"))?))),
            _ => Err(wrong("a list has one element, which all elements must match".to_owned())),
        },
        Value::Object(members) => compile_object(members, at),
    }
}

fn compile_object(members: &Map<String, Value>, at: &str) -> Result<Pattern, Vec<String>> {
    let (mut compiled, mut errors) = (Vec::new(), Vec::new());
    for (key, value) in members {
        let place = format!("{at}/{key}");
        match Anchor::read(key) {
            Err(reason) => errors.push(format!("{place}: {reason}")),
            Ok((anchor, name)) => match compile(value, &place) {
                Ok(Pattern::Each(_)) if matches!(anchor, Anchor::Condition | Anchor::Global) => {
                    errors.push(format!("{place}: a condition is about one value, not about a list"));
                }
                Ok(pattern) => compiled.push((anchor, name.to_owned(), pattern)),
                Err(found) => errors.extend(found),
            },
        }
    }
    // Conditions come first: they say whether the rest is asked.
    compiled.sort_by_key(|(anchor, _, _)| !matches!(anchor, Anchor::Condition | Anchor::Global));
    if errors.is_empty() { Ok(Pattern::Object(compiled)) } else { Err(errors) }
}

fn judge_object(members: &[(Anchor, String, Pattern)], fields: &Map<String, Value>, at: &str) -> Outcome {
    for (anchor, key, pattern) in members {
        let (value, place) = (fields.get(key), format!("{at}/{key}"));
        let outcome = match anchor {
            Anchor::None => pattern.judge(value, &place),
            Anchor::IfPresent if value.is_none() => Outcome::Pass,
            Anchor::IfPresent => pattern.judge(value, &place),
            Anchor::Absent if value.is_none() => Outcome::Pass,
            Anchor::Absent => Outcome::Fail(place),
            Anchor::Exists => judge_exists(pattern, value, place),
            Anchor::Condition | Anchor::Global => match pattern.judge(value, &place) {
                Outcome::Pass => Outcome::Pass,
                // Of an element of a list, the element; of the whole object, the rule.
                _ if *anchor == Anchor::Condition => return Outcome::Pass,
                _ => Outcome::Skip,
            },
        };
        if outcome != Outcome::Pass {
            return outcome;
        }
    }
    Outcome::Pass
}

fn judge_each(pattern: &Pattern, elements: &[Value], at: &str) -> Outcome {
    let outcomes = elements.iter().enumerate();
    let mut outcomes =
        outcomes.map(|(index, element)| pattern.judge(Some(element), &format!("{at}/{index}")));
    outcomes.find(|outcome| *outcome != Outcome::Pass).unwrap_or(Outcome::Pass)
}

fn judge_exists(pattern: &Pattern, value: Option<&Value>, at: String) -> Outcome {
    let element = match pattern {
        Pattern::Each(element) => element,
        other => other,
    };
    let elements = value.and_then(Value::as_array).into_iter().flatten();
    let found = elements.into_iter().any(|it| element.judge(Some(it), &at) == Outcome::Pass);
    if found { Outcome::Pass } else { Outcome::Fail(at) }
}

// === impl Anchor ===

impl Anchor {
    /// `=(key)` is `(IfPresent, "key")`.
    fn read(key: &str) -> Result<(Self, &str), String> {
        let Some((sign, name)) = key.strip_suffix(')').and_then(|rest| rest.split_once('(')) else {
            return match key.contains(['*', '?']) {
                true => Err("wildcards in keys are not supported here".to_owned()),
                false => Ok((Self::None, key)),
            };
        };
        let anchor = match sign {
            "" => Self::Condition,
            "=" => Self::IfPresent,
            "X" => Self::Absent,
            "^" => Self::Exists,
            "<" => Self::Global,
            "+" => return Err("`+(…)` changes objects: it belongs into a mutate rule".to_owned()),
            other => return Err(format!("{other:?} is not an anchor: use one of ( =( X( ^( <(")),
        };
        Ok((anchor, name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(pattern: Value, value: Value, expected: &str) {
        let outcome = match Pattern::compile(&pattern).unwrap().judge(Some(&value), "") {
            Outcome::Pass => "pass".to_owned(),
            Outcome::Skip => "skip".to_owned(),
            Outcome::Fail(at) => at,
        };
        assert_eq!(outcome, expected, "{pattern} {value}");
    }

    #[test]
    fn a_key_must_be_there_and_null_must_not() {
        check(json!({"spec": {"replicas": ">2"}}), json!({"spec": {"replicas": 3}}), "pass");
        check(json!({"spec": {"replicas": ">2"}}), json!({"spec": {"replicas": 2}}), "/spec/replicas");
        check(json!({"spec": {"replicas": ">2"}}), json!({"spec": {}}), "/spec/replicas");
        check(json!({"spec": {"replicas": ">2"}}), json!({"spec": {"replicas": null}}), "/spec/replicas");
        check(json!({"spec": {"replicas": ">2"}}), json!({}), "/spec");
        check(json!({"a": null}), json!({}), "pass");
        check(json!({"a": "null"}), json!({"a": 1}), "/a");
    }

    #[test]
    fn anchors() {
        check(json!({"=(a)": "1"}), json!({}), "pass");
        check(json!({"=(a)": "1"}), json!({"a": 2}), "/a");
        check(json!({"X(a)": "null"}), json!({}), "pass");
        check(json!({"X(a)": "null"}), json!({"a": 2}), "/a");
        check(json!({"^(a)": [{"b": "1"}]}), json!({"a": [{"b": 2}, {"b": 1}]}), "pass");
        check(json!({"^(a)": [{"b": "1"}]}), json!({"a": [{"b": 2}]}), "/a");
        check(json!({"^(a)": [{"b": "1"}]}), json!({}), "/a");
        check(json!({"<(a)": "1", "b": "2"}), json!({"a": 3}), "skip");
        check(json!({"<(a)": "1", "b": "2"}), json!({"a": 1}), "/b");
    }

    #[test]
    fn a_condition_chooses_the_elements_that_the_rest_is_about() {
        let pattern = json!({"containers": [{"image": "shop/*", "(name)": "web*"}]});
        let containers = |name: &str, image: &str| json!({"containers": [{"name": "x", "image": "y"}, {"name": name, "image": image}]});
        check(pattern.clone(), containers("web-1", "shop/a"), "pass");
        check(pattern.clone(), containers("web-1", "other/a"), "/containers/1/image");
        check(pattern.clone(), containers("db", "other/a"), "pass");
        check(pattern, json!({"containers": []}), "pass");
    }

    #[test]
    fn what_is_not_supported_is_refused_with_its_place() {
        let pattern = json!({"%(f)": 1, "+(a)": 1, "b*": 1, "c": [1, 2], "d": {"e": "<1Gi"}});
        let errors = Pattern::compile(&pattern).unwrap_err();
        let places: Vec<_> = errors.iter().filter_map(|error| error.split(':').next()).collect();
        assert_eq!(places, ["/%(f)", "/+(a)", "/b*", "/c", "/d/e"]);
    }
}
