//! The rules that can fail, and where it shows what is tried first.
//!
//! A body either holds or does not, in whatever order it is run, unless something in it can fail: two values of one
//! rule, two values for one key, a function of the host. Only rules that use such a thing are run step by step as OPA
//! runs them; all others may be run in the order that is fastest.
//!
//! ```rego
//! p := 1 if input.a          # p can fail: where both hold, its values conflict
//! p := 2 if input.b
//! q if { input.c; p == 1 }   # uses p: what is tried, and how far, is OPA's choice, by its rule index
//! r if { input.c; s }        # uses nothing that can fail: the first solution ends it, without an index
//! s := true if input.a       # both definitions of s give one value
//! s := true if input.b
//! ```

use super::{
    Branch, Callee, CollectKind, Expr, Group, Hop, Override, Pattern, Plan, Replacement, Search, Step,
};
use crate::ir::Kind;

/// Finds the rules that use what can fail, and has each `not` in them try every way.
pub(super) fn mark(plan: &mut Plan, everything: bool) {
    let own: Vec<bool> = plan.groups.iter().map(can_conflict).collect();
    let uses: Vec<Uses> = plan.groups.iter().map(|group| Uses::of_group(group, plan)).collect();
    // `with` may put any rule in the place of a function, so that one which cannot fail as written may fail there.
    let mocked = uses.iter().any(|uses| uses.mocks) && own.contains(&true);
    let mut fails: Vec<bool> = uses.iter().map(|uses| uses.fails || mocked || everything).collect();
    // What a rule uses is marked in some round, and the rule itself in the next; rules do not recurse, so the rounds end.
    loop {
        let known = fails.clone();
        // A group that does not exist is an internal error when it is used: that is a failure, too.
        let is = |of: &[bool], group: &usize| of.get(*group).copied().unwrap_or(true);
        for (fails, uses) in fails.iter_mut().zip(&uses) {
            *fails = *fails || uses.groups.iter().any(|group| is(&own, group) || is(&known, group));
        }
        if known == fails {
            break;
        }
    }
    for (group, fails) in plan.groups.iter_mut().zip(fails) {
        group.exact = fails;
        if fails {
            let rules = group.rules.iter_mut().chain(&mut group.default);
            // OPA finds all solutions under `not` before it decides, so an error behind the first one shows.
            rules.flat_map(|rule| &mut rule.branches).for_each(|branch| search_all(&mut branch.body));
        }
    }
}

/// Returns true if two definitions, or two ways for one to hold, can give a rule or function different values.
pub(crate) fn can_conflict(group: &Group) -> bool {
    let mut branches = group.rules.iter().flat_map(|rule| &rule.branches);
    match group.kind {
        Kind::Set => false,
        Kind::Complete | Kind::Function { .. } if group.settled => false,
        // One definition is enough where it holds in several ways: `p := x if some x in input.list`.
        _ => group.rules.len() > 1 || branches.any(|branch| holds_often(&branch.body)),
    }
}

/// Returns true if steps can hold in more than one way.
pub(super) fn holds_often(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Each(_) | Step::Walk(..) | Step::With(..)))
}

fn search_all(steps: &mut [Step]) {
    for step in steps {
        match step {
            Step::Not(block, search) => {
                *search = Search::All;
                search_all(block);
            }
            Step::Collect(collect) => search_all(&mut collect.body),
            Step::Every(every) => search_all(&mut every.body),
            Step::With(_, block) => search_all(block),
            Step::And(blocks) | Step::Or(blocks) => {
                blocks.iter_mut().for_each(|block| search_all(block));
            }
            Step::Test(_)
            | Step::Let(..)
            | Step::Match(..)
            | Step::Each(_)
            | Step::Walk(..)
            | Step::Mark(_) => {}
        }
    }
}

/// The variables and places that the definitions of a group use.
#[derive(Default)]
struct Uses {
    groups: Vec<usize>,
    fails: bool,
    mocks: bool,
}

impl Uses {
    fn of_group(group: &Group, plan: &Plan) -> Self {
        let mut uses = Self::default();
        for rule in group.rules.iter().chain(&group.default) {
            rule.args.iter().for_each(|arg| uses.pattern(arg, plan));
            rule.branches.iter().for_each(|branch| uses.branch(branch, plan));
        }
        uses
    }

    fn branch(&mut self, branch: &Branch, plan: &Plan) {
        self.steps(&branch.body, plan);
        branch.keys.iter().chain([&branch.value]).for_each(|expr| self.expr(expr, plan));
    }

    fn steps(&mut self, steps: &[Step], plan: &Plan) {
        for step in steps {
            match step {
                Step::Test(expr) | Step::Let(_, expr) => self.expr(expr, plan),
                Step::Match(expr, pattern) | Step::Walk(expr, pattern) => {
                    self.expr(expr, plan);
                    self.pattern(pattern, plan);
                }
                Step::Each(each) => {
                    self.expr(&each.base, plan);
                    each.path.iter().for_each(|hop| match hop {
                        Hop::Key(expr) => self.expr(expr, plan),
                        Hop::Any(pattern) => self.pattern(pattern, plan),
                    });
                    self.pattern(&each.target, plan);
                }
                Step::Collect(collect) => {
                    self.steps(&collect.body, plan);
                    self.pattern(&collect.target, plan);
                    match &collect.kind {
                        CollectKind::Array(head) | CollectKind::Set(head) => self.expr(head, plan),
                        CollectKind::Object(key, value) => {
                            // Two solutions may have one key: `{k: v | some k, v in input.pairs[_]}`.
                            self.fails |= holds_often(&collect.body);
                            self.expr(key, plan);
                            self.expr(value, plan);
                        }
                    }
                }
                Step::Not(block, _) => self.steps(block, plan),
                Step::Every(every) => {
                    self.expr(&every.domain, plan);
                    self.steps(&every.body, plan);
                }
                Step::With(overrides, block) => {
                    overrides.iter().for_each(|with| self.with(with, plan));
                    self.steps(block, plan);
                }
                Step::And(blocks) | Step::Or(blocks) => {
                    blocks.iter().for_each(|block| self.steps(block, plan));
                }
                Step::Mark(_) => {}
            }
        }
    }

    fn with(&mut self, with: &Override, plan: &Plan) {
        match &with.value {
            Replacement::Value(expr) => self.expr(expr, plan),
            Replacement::Call(callee) => {
                self.mocks = true;
                self.callee(*callee);
            }
        }
    }

    fn callee(&mut self, callee: Callee) {
        match callee {
            Callee::Builtin(_) => {}
            Callee::Function(group) => self.groups.push(group),
            Callee::External(_) | Callee::Hook(_) => self.fails = true,
        }
    }

    fn pattern(&mut self, pattern: &Pattern, plan: &Plan) {
        match pattern {
            Pattern::Any | Pattern::Truthy | Pattern::Bind(_) => {}
            Pattern::Equal(expr) => self.expr(expr, plan),
            Pattern::Array(items) => items.iter().for_each(|item| self.pattern(item, plan)),
            Pattern::Object(pairs) => {
                for (key, value) in pairs {
                    self.expr(key, plan);
                    self.pattern(value, plan);
                }
            }
        }
    }

    fn expr(&mut self, expr: &Expr, plan: &Plan) {
        match expr {
            Expr::Rule(group) => self.groups.push(*group),
            Expr::Package(node) => self.package(*node, plan),
            Expr::Call(call) => self.callee(call.callee),
            _ => {}
        }
        expr.all_parts(&mut |part| {
            self.expr(part, plan);
            true
        });
    }

    fn package(&mut self, node: usize, plan: &Plan) {
        let Some(node) = plan.nodes.get(node) else {
            self.fails = true;
            return;
        };
        self.groups.extend(node.group);
        node.children.iter().for_each(|(_, child)| self.package(*child, plan));
    }
}
