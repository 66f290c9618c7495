//! The flat form to a plan.
//!
//! A statement becomes one or more steps, by what is known where it stands: whether a variable has a value decides between
//! looking it up and giving it one.
//!
//! ```text
//! x := input.a            Let x = input.a
//! input.b[i] == x         Each input.b[Bind i], whose items must Equal x
//! input.c[i]              Test input.c[i]        `i` has a value by now
//! not f(x)                Not [Test f(x)]        what is bound inside is not bound behind
//! ```

use std::collections::HashMap;

use crate::value::Value;

use crate::ast::Name;
use crate::desugar::SlotSet;
use crate::diagnostic::{Pos, Source};
use crate::ir::{self, Action, Leaf, Operand, Reference, Root, Rulebook, Statement};

use super::binding::{Binder, Marks, UNPLANNED, index};
use super::fuse::fuse;
use super::invariant::number;
use super::pattern::{each, matched};
use super::{
    Branch, Collect, CollectKind, Every, Expr, Group, Mark, Node, Override, Pattern, Plan, Replacement, Rule,
    Search, Spot, Step, Target, risk, rule_index,
};

/// Plans every rule; the query is a path of names under `data`.
pub(crate) fn plan(book: &Rulebook, query: &[Name]) -> Plan {
    let (mut plan, nodes) = plan_groups(book, &Queried::default());
    let binder =
        Binder { book, nodes: &nodes, bound: SlotSet::default(), slots: 0, source: None, marks: None };
    let path = query.iter().map(|name| Operand::Const(Value::from(&**name))).collect();
    let reference = Reference { root: Root::Data, path, at: crate::diagnostic::Pos::default() };
    plan.query = Some(binder.expr(&Operand::Ref(Box::new(reference))));
    number(&mut plan);
    plan
}

/// Plans every rule, and no query. A traced plan notes each place it passes.
pub(crate) fn plan_rules(book: &Rulebook, queried: &Queried) -> Plan {
    plan_groups(book, queried).0
}

/// The documents that the rules are planned for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Queried {
    /// Each place a run passes is noted.
    pub(crate) traced: bool,
    /// The rule that stands for the query, which has no index.
    pub(crate) query: Option<ir::GroupId>,
}

fn plan_groups(book: &Rulebook, queried: &Queried) -> (Plan, HashMap<Vec<Name>, usize>) {
    let mut plan = Plan { externals: book.externals.clone(), ..Plan::default() };
    let mut nodes = HashMap::new();
    add_node(&book.tree, &mut Vec::new(), &mut plan.nodes, &mut nodes);
    for group in &book.groups {
        let marks = queried.traced.then_some(&mut plan.marks);
        plan.groups.push(plan_group(book, &nodes, group, marks));
    }
    // All groups are planned first: whether a rule can fail depends on the rules that it uses.
    risk::mark(&mut plan, queried.traced);
    for (id, (planned, group)) in plan.groups.iter_mut().zip(&book.groups).enumerate() {
        // A query is asked for all of its solutions, so no definition of it is left out.
        planned.exact &= queried.query != Some(id);
        if planned.exact {
            rule_index::build(book, group, planned);
        }
        if risk::can_conflict(planned) {
            place(group, planned);
        }
    }
    (plan, nodes)
}

/// Notes where each definition is.
fn place(group: &ir::Group, planned: &mut Group) {
    let rules = group.rules.iter().filter(|rule| !rule.default);
    let written = rules.flat_map(|rule| rule.branches.iter().map(|branch| spot(&rule.source, branch.at)));
    let branches = planned.rules.iter_mut().flat_map(|rule| &mut rule.branches);
    for (branch, spot) in branches.zip(written) {
        branch.spot = Some(Box::new(spot));
    }
}

fn spot(source: &Source, at: Pos) -> Spot {
    let (line, column) = source.locate(at);
    Spot { file: source.name.as_str().into(), line, column }
}

fn add_node(
    node: &ir::Node,
    path: &mut Vec<Name>,
    nodes: &mut Vec<Node>,
    known: &mut HashMap<Vec<Name>, usize>,
) -> usize {
    let id = nodes.len();
    nodes.push(Node { path: path.clone(), children: Vec::new(), group: node.group });
    known.insert(path.clone(), id);
    for (name, child) in &node.children {
        path.push(name.clone());
        let child = add_node(child, path, nodes, known);
        path.pop();
        if let Some(node) = nodes.get_mut(id) {
            node.children.push((Value::from(&**name), child));
        }
    }
    id
}

fn plan_group(
    book: &Rulebook,
    nodes: &HashMap<Vec<Name>, usize>,
    group: &ir::Group,
    mut marks: Option<&mut Vec<Mark>>,
) -> Group {
    let mut rules = Vec::new();
    let mut default = None;
    for rule in &group.rules {
        let planned = plan_rule(book, nodes, rule, marks.as_deref_mut());
        if rule.default {
            default = Some(planned);
        } else {
            rules.push(planned);
        }
    }
    let settled = is_settled(&rules);
    Group {
        path: group.path.clone(),
        kind: group.kind,
        rules,
        default,
        nodes: group.nodes.clone(),
        settled,
        exact: false,
        places: Vec::new(),
        agreed: Vec::new(),
    }
}

/// Returns true if every definition gives the same constant.
fn is_settled(rules: &[Rule]) -> bool {
    let mut values = rules.iter().flat_map(|rule| &rule.branches).map(|branch| match &branch.value {
        Expr::Const(value) => Some(value),
        _ => None,
    });
    match values.next() {
        Some(Some(first)) => values.all(|value| value == Some(first)),
        _ => false,
    }
}

fn plan_rule(
    book: &Rulebook,
    nodes: &HashMap<Vec<Name>, usize>,
    rule: &ir::Rule,
    marks: Option<&mut Vec<Mark>>,
) -> Rule {
    let marks = marks.map(|made| Marks { source: rule.source.clone(), made });
    let mut binder = Binder {
        book,
        nodes,
        bound: SlotSet::default(),
        slots: rule.slots.len(),
        source: Some(&rule.source),
        marks,
    };
    let args: Vec<Pattern> = rule.args.iter().map(|arg| binder.pattern(arg)).collect();
    let given = binder.bound.clone();
    let mut branches = Vec::with_capacity(rule.branches.len());
    for definition in &rule.branches {
        // Each `else` starts from the arguments alone: what the branch before bound has no value where that one failed.
        binder.bound = given.clone();
        let mut body = Vec::new();
        if definition.body.is_empty() {
            binder.mark(definition.bodiless.unwrap_or_default(), &mut body);
        }
        body.extend(binder.block(&definition.body));
        binder.mark(definition.at, &mut body);
        branches.push(Branch {
            body,
            keys: definition.keys.iter().map(|key| binder.expr(key)).collect(),
            value: binder.expr(definition.leaf.operand()),
            element: matches!(definition.leaf, Leaf::Element(_)),
            conditions: None,
            spot: None,
        });
    }
    // The head reads the body's variables, too: a slot that only the head reads must be kept.
    for branch in &mut branches {
        let ends: Vec<&Expr> = branch.keys.iter().chain([&branch.value]).collect();
        branch.body = fuse(std::mem::take(&mut branch.body), &ends);
    }
    Rule { args, slots: binder.slots, branches }
}

impl Binder<'_> {
    /// Returns the steps for a body; its variables have values afterwards.
    pub(super) fn block(&mut self, body: &[Statement]) -> Vec<Step> {
        let mut steps = Vec::with_capacity(body.len());
        for statement in body {
            self.statement(statement, &mut steps);
        }
        steps
    }

    /// Returns the steps for a body whose variables are not visible outside.
    fn inner_block(&mut self, body: &[Statement]) -> Vec<Step> {
        let before = self.bound.clone();
        let steps = self.block(body);
        self.bound = before;
        steps
    }

    fn inner_blocks(&mut self, branches: &[ir::Branch]) -> Vec<Vec<Step>> {
        branches.iter().map(|branch| self.inner_block(&branch.body)).collect()
    }

    fn statement(&mut self, statement: &Statement, steps: &mut Vec<Step>) {
        self.mark(statement.at, steps);
        if statement.with.is_empty() {
            self.maybe_negated(statement, steps);
            return;
        }
        let overrides = statement.with.iter().map(|with| self.replacement(with)).collect();
        let mut inner = Vec::new();
        self.maybe_negated(statement, &mut inner);
        steps.push(Step::With(overrides, inner));
    }

    fn maybe_negated(&mut self, statement: &Statement, steps: &mut Vec<Step>) {
        if !statement.negated {
            self.action(&statement.action, steps);
            return;
        }
        let before = self.bound.clone();
        let mut inner = Vec::new();
        self.action(&statement.action, &mut inner);
        self.bound = before;
        steps.push(Step::Not(inner, Search::First));
    }

    fn replacement(&self, with: &ir::Override) -> Override {
        let target = match &with.target {
            ir::Target::Input(path) => Target::Input(path.clone()),
            ir::Target::Data(path) => Target::Data(path.clone()),
            ir::Target::Call(callee) => Target::Call(Self::callee(*callee)),
        };
        let value = match with.function {
            Some(callee) => Replacement::Call(Self::callee(callee)),
            None => Replacement::Value(self.expr(&with.value)),
        };
        Override { target, value }
    }

    fn action(&mut self, action: &Action, steps: &mut Vec<Step>) {
        match action {
            Action::Term(operand) => self.test(operand, steps),
            Action::Unify { left, right, .. } => self.unify(left, right, steps),
            Action::Call { callee, args, output } => self.call_step(*callee, args, output.as_ref(), steps),
            Action::Every { key, value, domain, body } => {
                let domain = self.expr(domain);
                let before = self.bound.clone();
                self.bound.insert(*key);
                self.bound.insert(*value);
                let body = self.block(body);
                self.bound = before;
                steps.push(Step::Every(Box::new(Every {
                    domain,
                    key: index(*key),
                    value: index(*value),
                    body,
                })));
            }
            Action::Not { body, .. } => {
                let inner = self.inner_block(body);
                steps.push(Step::Not(inner, Search::First));
            }
            Action::And(branches) => steps.push(Step::And(self.inner_blocks(branches))),
            Action::Or(branches) => steps.push(Step::Or(self.inner_blocks(branches))),
        }
    }

    fn test(&mut self, operand: &Operand, steps: &mut Vec<Step>) {
        match operand {
            closed if self.is_closed(closed) => steps.push(Step::Test(self.expr(closed))),
            Operand::Collect(collect) => self.push_collect(collect, Pattern::Any, steps),
            Operand::Ref(reference) => {
                let (base, path) = self.base(reference);
                let path = self.hops(path);
                steps.push(each(base, path, Pattern::Truthy));
            }
            _ => steps.push(Step::Test(UNPLANNED)),
        }
    }

    fn call_step(
        &mut self,
        callee: ir::Callee,
        args: &[Operand],
        output: Option<&Operand>,
        steps: &mut Vec<Step>,
    ) {
        let walks = matches!(callee, ir::Callee::Builtin(builtin) if builtin.is_relation());
        // `walk` is a relation: it holds once for each pair, as a loop does, where other functions have one value.
        if walks && let Some(subject) = args.first() {
            let subject = self.expr(subject);
            let target = output.map_or(Pattern::Any, |output| self.pattern(output));
            steps.push(Step::Walk(subject, target));
            return;
        }
        let call =
            if args.iter().all(|arg| self.is_closed(arg)) { self.call(callee, args) } else { UNPLANNED };
        match output {
            None => steps.push(Step::Test(call)),
            // The value is looked for under an open reference, `f(1) == input.list[i]`: called once, before the loop.
            Some(Operand::Ref(reference)) => {
                let slot = self.temporary();
                steps.push(Step::Let(index(slot), call));
                self.bound.insert(slot);
                self.unify(&Operand::Ref(reference.clone()), &Operand::Var(slot), steps);
            }
            Some(output) => {
                let target = self.pattern(output);
                steps.push(matched(call, target));
            }
        }
    }

    /// Adds the step of a comprehension that is matched with a term.
    pub(super) fn collect(&mut self, collect: &ir::Collect, target: &Operand, steps: &mut Vec<Step>) {
        // The body is planned first: it must not see what the match is about to bind.
        self.push_collect(collect, Pattern::Any, steps);
        let target = self.pattern(target);
        if let Some(Step::Collect(step)) = steps.last_mut() {
            step.target = target;
        }
    }

    fn push_collect(&mut self, collect: &ir::Collect, target: Pattern, steps: &mut Vec<Step>) {
        let before = self.bound.clone();
        let body = self.block(&collect.body);
        let kind = match &collect.kind {
            ir::CollectKind::Array(head) => CollectKind::Array(self.expr(head)),
            ir::CollectKind::Set(head) => CollectKind::Set(self.expr(head)),
            ir::CollectKind::Object(key, value) => CollectKind::Object(self.expr(key), self.expr(value)),
        };
        self.bound = before;
        // Two solutions may have one key, which is an error with this place.
        let spot = match (&kind, self.source) {
            (CollectKind::Object(..), Some(source)) if risk::holds_often(&body) => {
                Some(Box::new(spot(source, collect.head)))
            }
            _ => None,
        };
        steps.push(Step::Collect(Box::new(Collect { body, kind, target, invariant: None, spot })));
    }
}
