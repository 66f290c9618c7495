//! Steps of a body as lines: those that can hold in several ways become loops over arrays.

use crate::plan::{Collect, CollectKind, Each, Every, Expr, Hop, Pattern, Step};

use super::super::host::Request;
use super::super::subset::Reason;
use super::{Emitter, Lines, Scope};

impl Emitter<'_> {
    pub(super) fn steps(&mut self, steps: &[Step], scope: &mut Scope, lines: &mut Lines) {
        for step in steps {
            self.step(step, scope, lines);
        }
    }

    fn step(&mut self, step: &Step, scope: &mut Scope, lines: &mut Lines) {
        match step {
            Step::Test(expr) => {
                let value = self.expr(expr, scope, lines);
                lines.push(format!("{value} != false"));
            }
            Step::Let(slot, expr) => {
                let value = self.expr(expr, scope, lines);
                scope.bind(*slot, &value);
            }
            Step::Match(expr, pattern) => {
                let value = self.expr(expr, scope, lines);
                self.pattern(pattern, &value, scope, lines);
            }
            Step::Each(each) => self.each(each, scope, lines),
            Step::Walk(subject, pattern) => {
                let subject = self.expr(subject, scope, lines);
                let pairs = self.ask(Request::Walk, &[subject], lines);
                let pair = self.each_of(&pairs, lines);
                self.pattern(pattern, &pair, scope, lines);
            }
            Step::Collect(collect) => self.collect(collect, scope, lines),
            Step::Not(block, _) => {
                let ways = self.ways(block, scope, &[], lines);
                lines.push(format!("{ways} == []"));
            }
            Step::Every(every) => self.every(every, scope, lines),
            Step::And(left, right) => {
                for block in [left, right] {
                    let ways = self.ways(block, scope, &[], lines);
                    lines.push(format!("{ways} != []"));
                }
            }
            Step::Or(left, right) => {
                let left = self.ways(left, scope, &[], lines);
                let right = self.ways(right, scope, std::slice::from_ref(&left), lines);
                let both = self.assign(&format!("[{left}, {right}]"), lines);
                lines.push(format!("{both} != [[], []]"));
            }
            Step::Mark(_) => {}
            Step::With(..) => {
                self.refuse(Reason::With, lines);
            }
        }
    }

    /// A variable for an array with an element for each way a block holds, provided that the arrays in `without`
    /// are empty.
    fn ways(&mut self, block: &[Step], scope: &Scope, without: &[String], lines: &mut Lines) -> String {
        let mut inner: Lines = without.iter().map(|array| format!("{array} == []")).collect();
        self.steps(block, &mut scope.clone(), &mut inner);
        self.gather("1", &inner, lines)
    }

    /// A loop over an array; the rest of the body is inside of it.
    fn each_of(&mut self, array: &str, lines: &mut Lines) -> String {
        let element = self.name();
        lines.push(format!("some {element} in {array}"));
        element
    }

    fn each(&mut self, each: &Each, scope: &mut Scope, lines: &mut Lines) {
        let mut place = match each.base {
            Expr::Package(_) => self.refuse(Reason::Package, lines),
            ref base => self.expr(base, scope, lines),
        };
        for hop in &each.path {
            place = match hop {
                Hop::Key(key) => self.inside(&place, key, scope, lines),
                Hop::Any(pattern) => {
                    let pairs = self.ask(Request::Pairs, &[place], lines);
                    let pair = self.each_of(&pairs, lines);
                    let key = self.assign(&format!("{pair}[0]"), lines);
                    self.pattern(pattern, &key, scope, lines);
                    self.assign(&format!("{pair}[1]"), lines)
                }
            };
        }
        self.pattern(&each.target, &place, scope, lines);
    }

    fn every(&mut self, every: &Every, scope: &Scope, lines: &mut Lines) {
        let domain = self.expr(&every.domain, scope, lines);
        let pairs = self.ask(Request::Domain, &[domain], lines);
        let (mut inner, mut own) = (Lines::new(), scope.clone());
        let pair = self.each_of(&pairs, &mut inner);
        let key = self.assign(&format!("{pair}[0]"), &mut inner);
        let value = self.assign(&format!("{pair}[1]"), &mut inner);
        own.bind(every.key, &key);
        own.bind(every.value, &value);
        let ways = self.ways(&every.body, &own, &[], &mut inner);
        inner.push(format!("{ways} == []"));
        let refuting = self.gather("1", &inner, lines);
        lines.push(format!("{refuting} == []"));
    }

    fn collect(&mut self, collect: &Collect, scope: &mut Scope, lines: &mut Lines) {
        let (mut inner, mut own) = (Lines::new(), scope.clone());
        self.steps(&collect.body, &mut own, &mut inner);
        let value = match &collect.kind {
            CollectKind::Array(head) => {
                let head = self.expr(head, &own, &mut inner);
                self.gather(&head, &inner, lines)
            }
            CollectKind::Set(head) => {
                let head = self.expr(head, &own, &mut inner);
                let items = self.gather(&head, &inner, lines);
                self.set_of(&items, lines)
            }
            CollectKind::Object(key, value) => {
                let pair = self.pair(key, value, &own, &mut inner);
                let pairs = self.gather(&pair, &inner, lines);
                self.ask(Request::Object(None), &[pairs], lines)
            }
        };
        self.pattern(&collect.target, &value, scope, lines);
    }

    /// A variable for the set of an array's elements.
    pub(super) fn set_of(&mut self, array: &str, lines: &mut Lines) -> String {
        let item = self.name();
        self.assign(&format!("{{{item} | some {item} in {array}}}"), lines)
    }

    pub(super) fn pair(&mut self, key: &Expr, value: &Expr, scope: &Scope, lines: &mut Lines) -> String {
        let key = self.expr(key, scope, lines);
        let value = self.expr(value, scope, lines);
        self.assign(&format!("[{key}, {value}]"), lines)
    }

    /// Lines that hold where the value fits the pattern; its variables are in the scope afterwards.
    pub(super) fn pattern(&mut self, pattern: &Pattern, value: &str, scope: &mut Scope, lines: &mut Lines) {
        match pattern {
            Pattern::Any => {}
            Pattern::Truthy => lines.push(format!("{value} != false")),
            Pattern::Bind(slot) => scope.bind(*slot, value),
            Pattern::Equal(other) => {
                let other = self.expr(other, scope, lines);
                lines.push(format!("{value} == {other}"));
            }
            Pattern::Array(items) => {
                let array = self.ask(Request::ArrayOf(items.len()), &[value.to_owned()], lines);
                for (place, item) in items.iter().enumerate() {
                    let element = self.assign(&format!("{array}[{place}]"), lines);
                    self.pattern(item, &element, scope, lines);
                }
            }
            Pattern::Object(pairs) => {
                let object = self.ask(Request::ObjectOf(pairs.len()), &[value.to_owned()], lines);
                for (key, item) in pairs {
                    let element = self.inside(&object, key, scope, lines);
                    self.pattern(item, &element, scope, lines);
                }
            }
        }
    }
}
