//! The places of modules that were passed: heads of rules that held, and expressions that were tried.
//!
//! Places are those of OPA's coverage: a range is covered once a run passed it or one around it.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{HeadValue, Literal, LiteralKind, Rule, Term};
use crate::diagnostic::{Pos, Source};
use crate::eval::Witness;
use crate::module::Module;
use crate::plan::Plan;
use crate::walk::{Visit, walk_rule};

/// The places that were evaluated so far, by file.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    passed: BTreeMap<String, BTreeSet<Pos>>,
}

/// A range of a file; lines and columns count from 1, columns in characters, the end is behind the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// The line and column of the start.
    pub start: (u32, u32),
    /// The line and column of the end.
    pub end: (u32, u32),
}

/// The places of a file that were evaluated, and those that were not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCoverage {
    /// The ranges that were evaluated, in order.
    pub covered: Vec<Range>,
    /// The ranges that were not evaluated, in order.
    pub not_covered: Vec<Range>,
}

impl Coverage {
    pub(super) fn add(&mut self, plan: &Plan, witness: &Witness) {
        for (mark, passed) in plan.marks.iter().zip(&witness.passed) {
            if passed.get() {
                self.passed.entry(mark.source.name.clone()).or_default().insert(mark.at);
            }
        }
    }

    pub(super) fn report(&self, modules: &[Module]) -> BTreeMap<String, FileCoverage> {
        let none = BTreeSet::new();
        let report = modules.iter().map(|module| {
            let covered = self.passed.get(module.name()).unwrap_or(&none);
            (module.name().to_owned(), file(module, covered))
        });
        report.collect()
    }
}

impl Module {
    /// Returns the ranges of the heads of rules, of `else` branches and of the expressions in bodies, in order.
    ///
    /// As those of [`FileCoverage::not_covered`] before anything ran, and `some x in xs` and `some x` besides, which OPA
    /// does not count.
    #[must_use]
    pub fn ranges(&self) -> Vec<Range> {
        let places = Places::of(self, true);
        let filled = places.found.into_iter().filter(|place| place.1 > place.0);
        filled.map(|place| range(&self.source, place)).collect()
    }
}

fn file(module: &Module, covered: &BTreeSet<Pos>) -> FileCoverage {
    let places = Places::of(module, false);
    let missed =
        places.found.into_iter().filter(|place| !covered.iter().any(|around| contains(*around, *place)));
    let ranges = |places: &mut dyn Iterator<Item = Pos>| -> Vec<Range> {
        let mut ranges: Vec<Range> = places.map(|place| range(&module.source, place)).collect();
        ranges.sort();
        ranges.dedup();
        ranges
    };
    FileCoverage {
        covered: ranges(&mut covered.iter().copied()),
        not_covered: ranges(&mut missed.filter(|place| place.1 > place.0)),
    }
}

const fn contains(around: Pos, place: Pos) -> bool {
    around.0 <= place.0 && place.1 <= around.1
}

fn range(source: &Source, at: Pos) -> Range {
    Range { start: source.place(at.0), end: source.place(at.1) }
}

/// Collects the places of a module that a run can pass.
struct Places {
    found: BTreeSet<Pos>,
    /// With `some` and what it declares.
    declarations: bool,
}

impl Places {
    fn of(module: &Module, declarations: bool) -> Self {
        let mut places = Self { found: BTreeSet::new(), declarations };
        module.tree.rules.iter().for_each(|rule| places.rule(rule));
        places
    }

    fn rule(&mut self, rule: &Rule) {
        self.found.insert(rule.at);
        if rule.default {
            self.found.insert(rule.head.at);
            return;
        }
        if rule.body.is_empty() {
            self.found.extend(body_of_value(rule));
        }
        for branch in &rule.otherwise {
            self.found.insert(branch.at);
        }
        walk_rule(rule, self);
    }
}

/// Returns where OPA says the body is of a rule that has none.
fn body_of_value(rule: &Rule) -> Option<Pos> {
    match &rule.head.value {
        HeadValue::Single(term) => Some(term.at),
        HeadValue::True | HeadValue::Element(_) => rule.head.path.first().map(|name| name.at),
    }
}

impl Visit for Places {
    fn term(&mut self, _: &Term) {}

    fn literal(&mut self, literal: &Literal) {
        let declares = matches!(literal.kind, LiteralKind::Some(_) | LiteralKind::SomeIn { .. });
        if self.declarations || !declares {
            self.found.insert(literal.at);
        }
    }
}
