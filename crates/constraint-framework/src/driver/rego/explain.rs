//! A policy in Rego, expression by expression.
//!
//! The body of each `violation` rule is asked as a query, first its first expression, then the first two, and so on: the
//! first query without a solution names the expression that does not hold, and the solutions of the one before it have
//! the values of the variables.
//!
//! ```text
//! violation[{"msg": msg}] {          1. c := input.…containers[_]                      2 solutions
//!   c := input.…containers[_]        2. c := input.…containers[_]; not c.livenessProbe 0 solutions: does not hold
//!   not c.livenessProbe
//! ```

mod covered;

use std::collections::BTreeMap;

use rego_compat::{Module, NoExternals, Query, QueryScope, Range, Restrictions, Value as RegoValue};

use crate::driver::explain::{BodyKind, BodyTrace, ExpressionOutcome, ExpressionTrace, shown};
use crate::driver::{Budget, CompileErrors};

use super::compile_errors;

const VIOLATION: &str = "violation";

/// The subject of a request to a source.
pub(super) struct Question<'a> {
    pub(super) modules: &'a [Module],
    pub(super) scope: QueryScope,
    pub(super) input: RegoValue,
    pub(super) data: RegoValue,
    pub(super) budget: &'a Budget,
}

/// Returns the traces of all `violation` rules of the first module, then those of all other rules.
pub(super) fn bodies(question: &Question<'_>) -> Result<Vec<BodyTrace>, CompileErrors> {
    let Some(entry) = question.modules.first() else { return Ok(Vec::new()) };
    let run = covered::Run::of(question).map_err(|diagnostics| compile_errors(&diagnostics))?;
    let rules = question.modules.iter().flat_map(rules_of);
    let trace = |rule: RulePlace<'_>| {
        let is_entry = rule.module.name() == entry.name();
        let known = is_entry && !rule.has_arguments();
        let steps = if known { question.steps(rule.module, &rule.literals()) } else { Vec::new() };
        let (kind, held) = if is_entry && rule.name == VIOLATION {
            let held = steps.iter().all(|step| step.outcome == ExpressionOutcome::Held);
            (BodyKind::Check, held && (!steps.is_empty() || run.held(rule.module, rule.range)))
        } else {
            (BodyKind::Rule, run.held(rule.module, rule.range))
        };
        let (line, column) = rule.range.start;
        let place = format!("{}:{line}:{column}", rule.module.name());
        BodyTrace { kind, place, name: rule.full_name(is_entry), held, steps }
    };
    let (checks, others): (Vec<_>, Vec<_>) =
        rules.map(trace).partition(|trace| trace.kind == BodyKind::Check);
    Ok(checks.into_iter().chain(others).collect())
}

/// A rule of a module, up to the next one.
struct RulePlace<'a> {
    module: &'a Module,
    name: &'a str,
    range: Range,
}

/// Returns the rules of a module but for defaults, which hold where no other rule of the name does.
fn rules_of(module: &Module) -> Vec<RulePlace<'_>> {
    let starts: Vec<_> = module.rule_places().map(|(_, line, column)| (line, column)).collect();
    let rule = |(name, line, column)| {
        let next = starts.iter().filter(|start| **start > (line, column)).min().copied();
        let range = Range { start: (line, column), end: next.unwrap_or((u32::MAX, u32::MAX)) };
        RulePlace { module, name, range }
    };
    module.rule_places().map(rule).filter(|rule| !rule.is_default()).collect()
}

impl RulePlace<'_> {
    fn text(&self) -> String {
        slice(self.module.source(), self.range)
    }

    fn is_default(&self) -> bool {
        self.text().strip_prefix("default").is_some_and(|rest| rest.starts_with(char::is_whitespace))
    }

    /// Returns true if the rule is a function.
    fn has_arguments(&self) -> bool {
        self.text().strip_prefix(self.name).is_some_and(|rest| rest.trim_start().starts_with('('))
    }

    fn full_name(&self, is_entry: bool) -> String {
        if is_entry {
            self.name.to_owned()
        } else {
            format!("data.{}.{}", self.module.package().join("."), self.name)
        }
    }

    /// Returns the expressions and declarations of the body; an `else` is none.
    fn literals(&self) -> Vec<Range> {
        let mut literals = literals(&self.module.ranges(), self.range, self.text().starts_with('{'));
        literals.retain(|range| !slice(self.module.source(), *range).starts_with("else"));
        literals
    }
}

/// Returns the expressions directly in the body of a rule: behind its head, in no other expression, before the next rule.
/// The range that starts where the rule does is its head, and expressions in that are those of comprehensions. A `chained`
/// rule, the second of `f { a } { b }`, has no head: that range is its body.
fn literals(ranges: &[Range], rule: Range, chained: bool) -> Vec<Range> {
    let heads = ranges.iter().filter(|range| range.start == rule.start && !chained);
    let head = heads.map(|range| range.end).min().unwrap_or(rule.start);
    let within = |outer: &Range, inner: &Range| outer.start <= inner.start && inner.end <= outer.end;
    let is_body = |range: &Range| chained && range.start == rule.start;
    let inside: Vec<_> = ranges
        .iter()
        .filter(|range| range.start >= head && range.start < rule.end && !is_body(range))
        .collect();
    let nested = |range: &Range| inside.iter().any(|outer| **outer != *range && within(outer, range));
    inside.iter().copied().filter(|range| !nested(range)).copied().collect()
}

impl Question<'_> {
    /// Returns the data with one more document.
    fn data_with(&self, name: &str, value: RegoValue) -> RegoValue {
        let RegoValue::Object(own) = &self.data else { return self.data.clone() };
        let pairs = own.iter().map(|(key, value)| (key.clone(), value.clone()));
        RegoValue::from(pairs.chain([(RegoValue::from(name), value)]).collect::<BTreeMap<_, _>>())
    }

    fn steps(&self, module: &Module, literals: &[Range]) -> Vec<ExpressionTrace> {
        let mut steps: Vec<ExpressionTrace> = Vec::new();
        let mut bindings = Vec::new();
        let mut stopped = false;
        for literal in literals {
            let text = slice(module.source(), *literal);
            if is_declaration(&text) {
                continue;
            }
            let outcome = if stopped {
                ExpressionOutcome::NotReached
            } else {
                let start = literals.first().map_or(literal.start, |first| first.start);
                self.ask(&slice(module.source(), Range { start, end: literal.end }), &mut bindings)
            };
            let held = outcome == ExpressionOutcome::Held;
            let values = if stopped { Vec::new() } else { self.values(module, &text, &bindings) };
            stopped = stopped || !held;
            let place = format!("{}:{}:{}", module.name(), literal.start.0, literal.start.1);
            steps.push(ExpressionTrace { place, text, outcome, values });
        }
        steps
    }

    /// Evaluates expressions together. Those that read a variable which a later one binds are taken to hold, until
    /// that one is there.
    fn ask(&self, text: &str, bindings: &mut Vec<(String, String)>) -> ExpressionOutcome {
        let Ok(query) = Query::compile(self.modules, text, &self.scope, &Restrictions::default()) else {
            return ExpressionOutcome::Held;
        };
        match query.solve(&self.input, &self.data, self.budget, &NoExternals) {
            Err(error) => ExpressionOutcome::Error(error.to_string()),
            // A query shows an expression that is false, where a rule does not hold.
            Ok(solutions) => {
                match solutions.into_iter().find(|found| !found.values.contains(&false.into())) {
                    None => ExpressionOutcome::Failed,
                    Some(first) => {
                        let shown = |(name, value): (String, RegoValue)| (name, shown(&value.to_string()));
                        *bindings = first.bindings.into_iter().map(shown).collect();
                        ExpressionOutcome::Held
                    }
                }
            }
        }
    }

    /// Returns the variables, the parts of the input and the rules that an expression names.
    fn values(&self, module: &Module, text: &str, bindings: &[(String, String)]) -> Vec<(String, String)> {
        let names = bindings.iter().map(|(name, _)| name.as_str());
        let roots: Vec<&str> = names.chain(["input"]).chain(module.rule_names()).collect();
        let found = references(text, &roots).into_iter().map(|reference| {
            let root = reference.split('.').next().unwrap_or_default();
            match bindings.iter().find(|(name, _)| name == root) {
                Some((name, value)) => (name.clone(), value.clone()),
                None => (reference.clone(), self.value(&reference)),
            }
        });
        let mut values: Vec<(String, String)> = Vec::new();
        for entry in found {
            if !values.contains(&entry) {
                values.push(entry);
            }
        }
        values
    }

    fn value(&self, reference: &str) -> String {
        let query = Query::compile(self.modules, reference, &self.scope, &Restrictions::default());
        let solved =
            query.ok().and_then(|query| query.solve(&self.input, &self.data, self.budget, &NoExternals).ok());
        let value = solved.and_then(|found| found.into_iter().next()?.values.into_iter().next());
        value.map_or_else(|| "undefined".to_owned(), |value| shown(&value.to_string()))
    }
}

/// Returns true for `some x, y`, which declares variables and is not an expression; `some x in xs` is one.
fn is_declaration(literal: &str) -> bool {
    let is_name = |name: &str| name.trim().chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    literal
        .strip_prefix("some")
        .is_some_and(|names| names.starts_with(char::is_whitespace) && names.split(',').all(is_name))
}

/// Returns the text of a range; columns count characters.
fn slice(source: &str, range: Range) -> String {
    let line = |number: u32| usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
    let column = |number: u32| usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
    let (first, last) = (line(range.start.0), line(range.end.0));
    let mut text = String::new();
    for (number, content) in source.lines().enumerate().skip(first) {
        if number > last {
            break;
        }
        let start = if number == first { column(range.start.1) } else { 0 };
        let end = if number == last { column(range.end.1) } else { usize::MAX };
        if number > first {
            text.push('\n');
        }
        text.extend(content.chars().skip(start).take(end.saturating_sub(start)));
    }
    text
}

/// Returns the references in an expression: `input.review.object` in `count(input.review.object.x) > 1`.
///
/// A name and the names behind its dots, without those that are called. What stands in quotes is not a reference.
fn references(text: &str, roots: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = text;
    let mut previous = ' ';
    while let Some(first) = rest.chars().next() {
        if ['"', '`'].contains(&first) {
            rest = behind_quotes(rest, first);
        } else if is_name(first) && !is_name(previous) && previous != '.' {
            let end = rest.find(|letter| !is_name(letter) && letter != '.').unwrap_or(rest.len());
            let (chain, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
            let called = behind.trim_start().starts_with('(');
            let chain = if called { chain.rsplit_once('.').map_or("", |(of, _)| of) } else { chain };
            let chain = chain.trim_end_matches('.');
            let root = chain.split('.').next().unwrap_or_default();
            if roots.contains(&root) && !found.iter().any(|known| known == chain) {
                found.push(chain.to_owned());
            }
            rest = behind;
        } else {
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
        previous = if is_name(first) { ' ' } else { first };
    }
    found
}

fn is_name(letter: char) -> bool {
    letter == '_' || letter.is_ascii_alphanumeric()
}

fn behind_quotes(text: &str, quote: char) -> &str {
    let mut letters = text.chars();
    letters.next();
    while let Some(letter) = letters.next() {
        // A raw string has no escapes.
        if letter == '\\' && quote == '"' {
            letters.next();
        } else if letter == quote {
            break;
        }
    }
    letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_names_with_dots_outside_of_quotes() {
        let roots = ["input", "object", "x"];
        for (text, expected) in [
            (
                "count(input.review.object.x) > input.parameters.max",
                &["input.review.object.x", "input.parameters.max"][..],
            ),
            (r"regex.match(`\`, input.a)", &["input.a"]),
            ("x == \"input.a\"; x", &["x"]),
            ("other.input.a", &[]),
            ("input.a[x].b", &["input.a", "x"]),
        ] {
            assert_eq!(references(text, &roots), expected, "{text}");
        }
    }
}
