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
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(pattern: Value, value: Value, expected: &str) {
        let outcome = match Pattern::compile(&pattern).unwrap().judge(Some(&value), "") {
            Outcome::Pass => "pass".to_owned(),
            Outcome::Skip(_) => "skip".to_owned(),
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
        check(json!({"spec": {"replicas": "<=10"}}), json!({"spec": {}}), "pass");
        check(json!({"spec": {"replicas": ">2"}}), json!({}), "/spec");
        check(json!({"a": {}}), json!({"a": {"b": 1}}), "pass");
        check(json!({"a": {}}), json!({}), "/a");
        check(json!({"a": null}), json!({}), "pass");
    }

    /// What is not a text in the pattern: what the value may be, and what it may not.
    #[test]
    fn numbers_booleans_and_null() {
        for (pattern, good, bad) in [
            (json!(true), json!([true, [], [true]]), json!(["true", 1, null, [false], {}])),
            (json!(5), json!([5, 5.0, "5", [5, "5"]]), json!([5.5, "5.0", "five", null, [5, 6], true])),
            (json!(1.5), json!([1.5, "1.5"]), json!([1, 2, "1", null])),
            (json!(null), json!([null, 0, 0.0, "", false, []]), json!([1, "null", true, {}, [1]])),
            (json!("null"), json!(["null"]), json!([null, "", 0])),
        ] {
            for value in good.as_array().unwrap() {
                check(json!({"a": pattern}), json!({"a": value}), "pass");
            }
            for value in bad.as_array().unwrap() {
                check(json!({"a": pattern}), json!({"a": value}), "/a");
            }
        }
    }

    #[test]
    fn a_star_stands_for_whatever_is_there() {
        for value in [json!("x"), json!(0), json!(false), json!({}), json!([]), json!([{"b": 1}, [2]])] {
            check(json!({"a": "*"}), json!({"a": value}), "pass");
        }
        check(json!({"a": "*"}), json!({}), "/a");
        check(json!({"a": "*"}), json!({"a": null}), "/a");
        // Behind an anchor it is a text with a wildcard.
        check(json!({"=(a)": "*"}), json!({"a": ["x", 1]}), "pass");
        check(json!({"=(a)": "*"}), json!({"a": {}}), "/a");
        check(json!({"=(a)": "*"}), json!({"a": [{}]}), "/a");
    }

    #[test]
    fn a_text_is_about_each_element_of_a_list() {
        for pattern in [json!({"a": "x*"}), json!({"a": ["x*"]})] {
            check(pattern.clone(), json!({"a": ["x", "xy"]}), "pass");
            check(pattern.clone(), json!({"a": []}), "pass");
            check(pattern.clone(), json!({"a": ["x", "y"]}), "/a");
            check(pattern.clone(), json!({"a": ["x", ["x"]]}), "/a");
        }
        check(json!({"a": "x*"}), json!({"a": "x"}), "pass");
        check(json!({"a": ["x*"]}), json!({"a": "x"}), "/a");
    }

    #[test]
    fn anchors() {
        check(json!({"=(a)": "1"}), json!({}), "pass");
        check(json!({"=(a)": "1"}), json!({"a": 2}), "/a");
        check(json!({"X(a)": "null"}), json!({}), "pass");
        check(json!({"X(a)": "null"}), json!({"a": 2}), "/a");
        check(json!({"^(a)": [{"b": "1"}]}), json!({"a": [{"b": 2}, {"b": 1}]}), "pass");
        check(json!({"^(a)": [{"b": "1"}]}), json!({"a": [{"b": 2}]}), "/a");
        check(json!({"^(a)": [{"b": "1"}]}), json!({"a": []}), "/a");
        check(json!({"^(a)": [{"b": "1"}]}), json!({"a": {"b": 1}}), "/a");
        check(json!({"^(a)": [{"(b)": "1"}]}), json!({"a": [{"b": 2}]}), "/a");
        check(json!({"^(a)": [{"b": "1"}]}), json!({}), "pass");
        check(json!({"<(a)": "1", "b": "2"}), json!({"a": 3}), "skip");
        check(json!({"<(a)": "1", "b": "2"}), json!({"a": 1}), "/b");
        check(json!({"<(a)": "1", "b": "2"}), json!({"b": 3}), "/b");
        check(json!({"(a)": ["x"], "b": "2"}), json!({"a": ["y"]}), "skip");
        check(json!({"(a)": ["x"], "b": "2"}), json!({"a": ["x"]}), "/b");
    }

    #[test]
    fn a_condition_chooses_the_elements_that_the_rest_is_about() {
        let of = |anchor: &str| json!({"containers": [{"image": "shop/*", anchor: "web*"}]});
        let containers = |name: &str, image: &str| json!({"containers": [{"name": "x", "image": "y"}, {"name": name, "image": image}]});
        for pattern in [of("(name)"), of("<(name)")] {
            check(pattern.clone(), containers("web-1", "shop/a"), "pass");
            check(pattern.clone(), containers("web-1", "other/a"), "/containers/1/image");
            check(pattern.clone(), containers("db", "other/a"), "skip");
            check(pattern.clone(), json!({"containers": []}), "pass");
            check(pattern.clone(), json!({"containers": ["web"]}), "/containers/0");
        }
        let unnamed = json!({"containers": [{"image": "y"}]});
        check(of("(name)"), unnamed.clone(), "skip");
        check(of("<(name)"), unnamed, "/containers/0/image");
    }

    #[test]
    fn a_condition_that_does_not_hold_outside_a_list_ends_the_rule() {
        let pattern = json!({"metadata": {"labels": {"app": "?*"}}, "spec": {"(hostNetwork)": true, "x": 1}});
        check(pattern.clone(), json!({"spec": {"hostNetwork": false}}), "skip");
        check(pattern.clone(), json!({"spec": {}}), "skip");
        check(pattern.clone(), json!({"spec": {"hostNetwork": true, "x": 1}}), "/metadata");
        check(pattern, json!({"spec": {"hostNetwork": true}}), "/spec/x");
        let nested = json!({"labels": {"a": "1"}, "(spec)": {"(volumes)": [{"(host)": {"path": "/run"}}]}});
        let volume = |path: &str| json!({"spec": {"volumes": [{"host": {"path": path}}]}, "labels": {}});
        check(nested.clone(), volume("/run"), "/labels/a");
        check(nested.clone(), volume("/var"), "skip");
        check(nested, json!({}), "skip");
    }

    /// The first key that fails or ends the rule decides: those with anchors in them come first, the last of the alphabet before
    /// the others.
    #[test]
    fn keys_are_asked_in_the_order_of_kyverno() {
        let bad = json!({"a": {"x": 0}, "b": {"x": 0}});
        check(json!({"a": {"(x)": "1"}, "b": {"x": "1"}}), bad.clone(), "skip");
        check(json!({"a": {"x": "1"}, "b": {"(x)": "1"}}), bad.clone(), "skip");
        check(json!({"a": {"(x)": "1"}, "b": {"=(x)": "1"}}), bad.clone(), "/b/x");
        check(json!({"a": {"=(x)": "1"}, "b": {"(x)": "1"}}), bad.clone(), "skip");
        check(json!({"a": {"x": "1"}, "b": {"x": "1"}}), bad, "/a/x");
    }

    #[test]
    fn a_condition_below_an_optional_key_ends_the_rule_unless_a_sibling_holds() {
        let value = json!({"a": {"b": 2}, "c": 1, "d": 2});
        check(json!({"=(a)": {"(b)": "1"}, "d": "1"}), value.clone(), "skip");
        check(json!({"=(a)": {"(b)": "1"}, "=(c)": "1", "d": "1"}), value.clone(), "/d");
        check(json!({"=(a)": {"(b)": "1"}, "=(c)": "2", "d": "1"}), value.clone(), "/c");
        check(json!({"=(a)": {"<(b)": "1"}, "=(c)": "1", "d": "1"}), value.clone(), "skip");
        check(json!({"=(a)": {"<(b)": "1"}, "=(c)": "2", "d": "1"}), value, "skip");
    }

    #[test]
    fn what_is_not_supported_is_refused_with_its_place() {
        let pattern = json!({
            "%(f)": 1, "+(a)": 1, "=(a*)": "false", "X(a?)": "null", "()": 1, "=(X(a))": 1, "^(a)": {"b": 1}, "^(b)": ["x"],
            "b*": 1, "c": [1, 2], "d": {"e": "<many"}, "f": "$(../b)", "g": [["x"]], "h": "!>2", "i": "10-3", "j": [],
            "{{ k }}": "x",
        });
        let errors = Pattern::compile(&pattern).unwrap_err();
        let mut places: Vec<_> = errors.iter().filter_map(|error| error.split(':').next()).collect();
        places.sort_unstable();
        let expected = [
            "/%(f)", "/()", "/+(a)", "/=(X(a))", "/=(a*)", "/X(a?)", "/^(a)", "/^(b)", "/b*", "/c", "/d/e",
            "/f", "/g", "/h", "/i", "/j", "/{{ k }}",
        ];
        assert_eq!(places, expected);
    }
}
