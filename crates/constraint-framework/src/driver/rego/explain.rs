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

use rego_compat::{Coverage, Module, Query, Range, Rules, Scope, Silent, Suite, Value as RegoValue};

use crate::driver::explain::{BodyTrace, ExpressionOutcome, ExpressionTrace, references, shown};
use crate::driver::{Budget, CompileError};

use super::from_findings;

/// The subject of a request to a source.
pub(super) struct Question<'a> {
    pub(super) modules: &'a [Module],
    pub(super) scope: Scope,
    pub(super) input: RegoValue,
    pub(super) data: RegoValue,
    pub(super) budget: &'a Budget,
}

/// The traces of all `violation` rules of the first module.
pub(super) fn bodies(question: &Question<'_>) -> Result<Vec<BodyTrace>, Vec<CompileError>> {
    let Some(entry) = question.modules.first() else { return Ok(Vec::new()) };
    let suite = Suite::compile_covered(question.modules, &Rules::default())
        .map_err(|findings| from_findings(&findings))?;
    // Nothing ran, so that every place is one that was not passed.
    let mut places = suite.report(&Coverage::default());
    let ranges = places.remove(entry.name()).unwrap_or_default().not_covered;
    let starts: Vec<_> = entry.rule_places().map(|(_, line, column)| (line, column)).collect();
    let rules = entry.rule_places().filter(|(name, _, _)| *name == "violation");
    let traces = rules.map(|(name, line, column)| {
        let next = starts.iter().filter(|start| **start > (line, column)).min().copied();
        let rule = Range { start: (line, column), end: next.unwrap_or((u32::MAX, u32::MAX)) };
        let steps = question.steps(entry, &literals(&ranges, rule));
        let violated = steps.iter().all(|step| step.outcome == ExpressionOutcome::Held);
        let place = format!("{}:{line}:{column}", entry.name());
        BodyTrace { place, name: name.to_owned(), violated, steps }
    });
    Ok(traces.collect())
}

/// The expressions directly in the body of a rule: behind its head, in no other expression, before the next rule. The
/// range that starts where the rule does is its head, and expressions in that are those of comprehensions.
fn literals(ranges: &[Range], rule: Range) -> Vec<Range> {
    let heads = ranges.iter().filter(|range| range.start == rule.start);
    let head = heads.map(|range| range.end).min().unwrap_or(rule.start);
    let within = |outer: &Range, inner: &Range| outer.start <= inner.start && inner.end <= outer.end;
    let inside: Vec<_> =
        ranges.iter().filter(|range| range.start >= head && range.start < rule.end).collect();
    let nested = |range: &Range| inside.iter().any(|outer| **outer != *range && within(outer, range));
    inside.iter().copied().filter(|range| !nested(range)).copied().collect()
}

impl Question<'_> {
    fn steps(&self, module: &Module, literals: &[Range]) -> Vec<ExpressionTrace> {
        let mut steps: Vec<ExpressionTrace> = Vec::new();
        let mut bindings = Vec::new();
        let mut stopped = false;
        for literal in literals {
            let text = slice(module.source(), *literal);
            let outcome = if stopped {
                ExpressionOutcome::NotReached
            } else {
                let start = literals.first().map_or(literal.start, |first| first.start);
                self.ask(&slice(module.source(), Range { start, end: literal.end }), &mut bindings)
            };
            let held = outcome == ExpressionOutcome::Held;
            let values = if stopped { Vec::new() } else { self.values(&text, &bindings) };
            stopped = stopped || !held;
            let place = format!("{}:{}:{}", module.name(), literal.start.0, literal.start.1);
            steps.push(ExpressionTrace { place, text, outcome, values });
        }
        steps
    }

    /// Evaluates expressions together. Those that read a variable which a later one binds are taken to hold, until
    /// that one is there.
    fn ask(&self, text: &str, bindings: &mut Vec<(String, String)>) -> ExpressionOutcome {
        let Ok(query) = Query::compile(self.modules, text, &self.scope, &Rules::default()) else {
            return ExpressionOutcome::Held;
        };
        match query.solve(&self.input, &self.data, self.budget, &Silent) {
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

    /// The variables and the parts of the input that an expression names.
    fn values(&self, text: &str, bindings: &[(String, String)]) -> Vec<(String, String)> {
        let names: Vec<&str> = bindings.iter().map(|(name, _)| name.as_str()).collect();
        let roots: Vec<&str> = names.iter().copied().chain(["input"]).collect();
        let found = references(text, &roots).into_iter().filter_map(|reference| {
            let root = reference.split('.').next().unwrap_or_default();
            if root == "input" {
                return Some((reference.clone(), self.value(&reference)));
            }
            let (name, value) = bindings.iter().find(|(name, _)| name == root)?;
            Some((name.clone(), value.clone()))
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
        let query = Query::compile(&[], reference, &Scope::default(), &Rules::default());
        let solved = query
            .ok()
            .and_then(|query| query.solve(&self.input, &RegoValue::new_object(), self.budget, &Silent).ok());
        let value = solved.and_then(|found| found.into_iter().next()?.values.into_iter().next());
        value.map_or_else(|| "undefined".to_owned(), |value| shown(&value.to_string()))
    }
}

/// The text of a range; columns count characters.
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
