//! Finds what is computed again and again with the same outcome: expressions and comprehensions that read no variable,
//! in functions and behind steps that hold in several ways.
//!
//! Each gets a number under which a run keeps its value, once it was needed. What calls the host, or answers differently
//! each time it is asked, is left alone.
//!
//! ```text
//! container := input.spec.containers[_]              holds once for each container, so that what follows repeats
//! most := units.parse_bytes(input.parameters.most)   reads no variable: number 0, computed for the first container only
//! used := units.parse_bytes(container.memory)        reads `container`: computed for each
//! used > most
//! ```

use super::{
    Branch, Callee, Collect, CollectKind, Each, Expr, Hop, Invariant, Pattern, Plan, Rule, SlotIndex, Step,
};

/// Numbers the invariants of a plan.
pub(super) fn number(plan: &mut Plan) {
    let mut finder = Finder { found: 0 };
    for group in &mut plan.groups {
        group.rules.iter_mut().chain(&mut group.default).for_each(|rule| finder.rule(rule));
    }
    plan.invariants = finder.found;
}

struct Finder {
    found: usize,
}

impl Finder {
    fn next(&mut self) -> usize {
        let id = self.found;
        self.found = self.found.saturating_add(1);
        id
    }

    fn rule(&mut self, rule: &mut Rule) {
        for Branch { body, keys, value, .. } in &mut rule.branches {
            let repeats = self.steps(body, !rule.args.is_empty());
            keys.iter_mut().chain([value]).for_each(|expr| self.expr(expr, repeats));
        }
    }

    /// Visits steps; `repeats` is true if they run more than once for one state of the documents. Returns true if what follows
    /// them does.
    fn steps(&mut self, steps: &mut [Step], mut repeats: bool) -> bool {
        for step in steps {
            match step {
                Step::Test(expr) | Step::Let(_, expr) => self.expr(expr, repeats),
                Step::Match(expr, pattern) => {
                    self.expr(expr, repeats);
                    self.pattern(pattern, repeats);
                }
                Step::Walk(expr, _) => {
                    self.expr(expr, repeats);
                    repeats = true;
                }
                Step::Each(each) => {
                    self.each(each, repeats);
                    repeats = true;
                }
                Step::Collect(collect) => self.collect(collect, repeats),
                Step::Not(block, _) => drop(self.steps(block, repeats)),
                Step::And(blocks) | Step::Or(blocks) => {
                    for block in blocks {
                        self.steps(block, repeats);
                    }
                }
                Step::Every(every) => {
                    self.expr(&mut every.domain, repeats);
                    self.steps(&mut every.body, true);
                }
                // The block sees documents of its own each time.
                Step::With(_, block) => drop(self.steps(block, false)),
                Step::Mark(_) => {}
            }
        }
        repeats
    }

    fn each(&mut self, each: &mut Each, mut repeats: bool) {
        self.expr(&mut each.base, repeats);
        for hop in &mut each.path {
            match hop {
                Hop::Key(key) => self.expr(key, repeats),
                Hop::Any(_) => repeats = true,
            }
        }
        self.pattern(&mut each.target, repeats);
    }

    fn collect(&mut self, collect: &mut Collect, repeats: bool) {
        let invariant = repeats && is_invariant(collect);
        if invariant {
            collect.invariant = Some(self.next());
        }
        let repeats = self.steps(&mut collect.body, repeats && !invariant);
        match &mut collect.kind {
            CollectKind::Array(head) | CollectKind::Set(head) => self.expr(head, repeats),
            CollectKind::Object(key, value) => {
                self.expr(key, repeats);
                self.expr(value, repeats);
            }
        }
    }

    fn pattern(&mut self, pattern: &mut Pattern, repeats: bool) {
        match pattern {
            Pattern::Equal(expr) => self.expr(expr, repeats),
            Pattern::Array(items) => items.iter_mut().for_each(|item| self.pattern(item, repeats)),
            Pattern::Object(pairs) => pairs.iter_mut().for_each(|(_, value)| self.pattern(value, repeats)),
            Pattern::Any | Pattern::Truthy | Pattern::Bind(_) => {}
        }
    }

    fn expr(&mut self, expr: &mut Expr, repeats: bool) {
        if !repeats {
            return;
        }
        if is_work(expr) && reads_nothing(expr) {
            let inner = std::mem::replace(expr, Expr::Undefined);
            *expr = Expr::Invariant(Box::new(Invariant { id: self.next(), expr: inner }));
            return;
        }
        expr.each_part_mut(&mut |part| self.expr(part, repeats));
    }
}

/// Returns true if computing the expression takes more than looking up its value.
fn is_work(expr: &Expr) -> bool {
    match expr {
        Expr::Get(get) => get.path.len() > 1,
        Expr::Array(_) | Expr::Set(_) | Expr::Object(_) | Expr::Builtin(_) | Expr::Call(_) => true,
        _ => false,
    }
}

fn reads_nothing(expr: &Expr) -> bool {
    let mut reads = Reads::default();
    reads.expr(expr);
    !reads.wavers && reads.read.is_empty()
}

fn is_invariant(collect: &Collect) -> bool {
    let mut reads = Reads::default();
    reads.collect(collect);
    !reads.wavers && reads.read.iter().all(|slot| reads.bound.contains(slot))
}

/// Variables that are read, and those that get their value in the same place.
#[derive(Default)]
struct Reads {
    read: Vec<SlotIndex>,
    bound: Vec<SlotIndex>,
    /// Something asks the host, or may answer differently each time.
    wavers: bool,
}

impl Reads {
    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Slot(slot) => self.read.push(*slot),
            Expr::Builtin(call) => self.wavers |= !call.builtin.pure,
            Expr::Call(call) => self.wavers |= matches!(call.callee, Callee::External(_) | Callee::Hook(_)),
            _ => {}
        }
        expr.all_parts(&mut |part| {
            self.expr(part);
            true
        });
    }

    fn pattern(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Bind(slot) => self.bound.push(*slot),
            Pattern::Equal(expr) => self.expr(expr),
            Pattern::Array(items) => items.iter().for_each(|item| self.pattern(item)),
            Pattern::Object(pairs) => pairs.iter().for_each(|(key, value)| {
                self.expr(key);
                self.pattern(value);
            }),
            Pattern::Any | Pattern::Truthy => {}
        }
    }

    fn collect(&mut self, collect: &Collect) {
        self.steps(&collect.body);
        match &collect.kind {
            CollectKind::Array(head) | CollectKind::Set(head) => self.expr(head),
            CollectKind::Object(key, value) => {
                self.expr(key);
                self.expr(value);
            }
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Test(expr) => self.expr(expr),
                Step::Let(slot, expr) => {
                    self.expr(expr);
                    self.bound.push(*slot);
                }
                Step::Match(expr, pattern) | Step::Walk(expr, pattern) => {
                    self.expr(expr);
                    self.pattern(pattern);
                }
                Step::Each(each) => self.each(each),
                Step::Collect(collect) => {
                    self.collect(collect);
                    self.pattern(&collect.target);
                }
                Step::Not(block, _) => self.steps(block),
                Step::Every(every) => {
                    self.expr(&every.domain);
                    self.bound.extend([every.key, every.value]);
                    self.steps(&every.body);
                }
                Step::And(blocks) | Step::Or(blocks) => {
                    blocks.iter().for_each(|block| self.steps(block));
                }
                // Rare, and not worth looking into.
                Step::With(..) | Step::Mark(_) => self.wavers = true,
            }
        }
    }

    fn each(&mut self, each: &Each) {
        self.expr(&each.base);
        for hop in &each.path {
            match hop {
                Hop::Key(key) => self.expr(key),
                Hop::Any(pattern) => self.pattern(pattern),
            }
        }
        self.pattern(&each.target);
    }
}
