//! One walk over bodies: which paths are read, and which variables come from where.
//!
//! Bodies nested in others (`not`, comprehensions, `every`) see the variables around them, but an equation in them
//! says nothing about the body around them, so joins are collected per body.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::Name;
use crate::value::Value;

use crate::ir::{
    Action, Callee, Collect, CollectKind, Group, GroupId, Operand, Reference, Root, Rulebook, Slot,
    Statement, Target,
};

use super::accesses::Accesses;
use super::prefixes::Prefixes;
use super::{Analysis, Join, JoinTerm, Segment};

/// The origin of a variable's value.
#[derive(Clone, Debug)]
struct Origin {
    root: Document,
    path: Vec<Segment>,
    /// The function applied to the value there.
    function: Option<GroupId>,
}

/// The document that an [`Origin`] lies below.
#[derive(Clone, Copy, Debug)]
enum Document {
    Input,
    /// The access of this number.
    Data(usize),
}

pub(super) struct Scan<'a> {
    book: &'a Rulebook,
    data_paths: Prefixes,
    input_paths: Prefixes,
    accesses: Accesses,
    origins: BTreeMap<Slot, Origin>,
    bodies: usize,
    deterministic: bool,
    /// True if the rule that is scanned depends on more than its arguments.
    is_open: bool,
    /// The rules that depend on nothing but their arguments, of those that were scanned.
    closed: BTreeSet<GroupId>,
    /// True if some `with` replaces the input: what a rule compares then, is not the caller's input.
    replaces_input: bool,
    /// True if some `with` replaces a function or a rule: functions that use it may answer otherwise then than alone.
    replaces_rule: bool,
}

impl<'a> Scan<'a> {
    pub(super) fn new(book: &'a Rulebook) -> Self {
        Self {
            book,
            data_paths: Prefixes::default(),
            input_paths: Prefixes::default(),
            accesses: Accesses::default(),
            origins: BTreeMap::new(),
            bodies: 0,
            deterministic: true,
            is_open: false,
            closed: BTreeSet::new(),
            replaces_input: false,
            replaces_rule: false,
        }
    }

    pub(super) fn into_analysis(mut self, whole: bool) -> Analysis {
        if whole {
            self.data_paths.add_everything();
            self.accesses.add_everything();
        }
        if self.replaces_input {
            self.accesses.forget_input();
        }
        if self.replaces_rule {
            self.accesses.forget_functions();
        }
        Analysis {
            data_paths: self.data_paths.into_shortest(),
            input_paths: self.input_paths.into_shortest(),
            accesses: self.accesses.into_sorted(),
            deterministic: self.deterministic,
        }
    }

    /// Scans a rule after those that it uses.
    pub(super) fn group(&mut self, id: GroupId, used: &[GroupId]) {
        self.is_open = false;
        match self.book.groups.get(id) {
            Some(group) => self.branches(group),
            // Left out, the host would leave out documents that the rule reads.
            None => self.anything(),
        }
        if !self.is_open && used.iter().all(|id| self.closed.contains(id)) {
            self.closed.insert(id);
        }
    }

    fn branches(&mut self, group: &Group) {
        for branch in group.rules.iter().flat_map(|rule| &rule.branches) {
            self.origins.clear();
            let body = self.body(&branch.body);
            for operand in branch.keys.iter().chain([branch.leaf.operand()]) {
                self.operand(operand, body);
            }
        }
    }

    /// Notes that everything may be read, and in any way.
    fn anything(&mut self) {
        self.data_paths.add_everything();
        self.input_paths.add_everything();
        self.accesses.add_everything();
        self.changes();
    }

    fn body(&mut self, statements: &[Statement]) -> usize {
        self.bodies = self.bodies.saturating_add(1);
        let body = self.bodies;
        for statement in statements {
            self.statement(statement, body);
        }
        body
    }

    fn statement(&mut self, statement: &Statement, body: usize) {
        // Under `not` and `with` an equation says nothing about the rest of the body.
        let plain = !statement.negated && statement.with.is_empty();
        match &statement.action {
            Action::Unify { left, right, .. } if plain => self.equation(left, right, body),
            Action::Unify { left, right, .. } => {
                self.bodies = self.bodies.saturating_add(1);
                let inner = self.bodies;
                self.operands([left, right], inner);
            }
            Action::Term(operand) => self.operands([operand], body),
            Action::Call { callee, args, output } => {
                self.callee(*callee);
                match (callee, args.as_slice(), output) {
                    (Callee::Function(id), [argument], Some(output)) if plain => {
                        self.called(*id, argument, output, body);
                    }
                    _ => self.operands(args.iter().chain(output), body),
                }
            }
            Action::Every { domain, body: inner, .. } => {
                self.operand(domain, body);
                self.nested(inner, &[]);
            }
            Action::Not { body: inner, .. } => self.nested(inner, &[]),
            Action::And(branches) | Action::Or(branches) => {
                branches.iter().for_each(|branch| self.nested(&branch.body, &[]));
            }
        }
        for with in &statement.with {
            self.operand(&with.value, body);
            if let Some(stand_in) = with.function {
                self.callee(stand_in);
            }
            match &with.target {
                Target::Call(callee) => {
                    self.callee(*callee);
                    self.replaces_rule = true;
                }
                Target::Input(_) => self.replaces_input = true,
                Target::Data(path) => self.replaces_rule |= self.is_near_rule(path),
            }
        }
    }

    /// Scans a body in another, and the operands that it gives. What it learns of the outer variables, such as that one is equal to
    /// something, need not hold around it.
    fn nested(&mut self, statements: &[Statement], gives: &[&Operand]) {
        let outer = self.origins.clone();
        let body = self.body(statements);
        self.operands(gives.iter().copied(), body);
        self.origins = outer;
    }

    fn callee(&mut self, callee: Callee) {
        match callee {
            Callee::Builtin(builtin) if !builtin.pure => self.changes(),
            Callee::External(_) | Callee::Hook(_) => self.changes(),
            _ => {}
        }
    }

    /// Notes that an answer may be another each time.
    const fn changes(&mut self) {
        self.deterministic = false;
        self.is_open = true;
    }

    fn equation(&mut self, left: &Operand, right: &Operand, body: usize) {
        let (a, b) = (self.operand(left, body), self.operand(right, body));
        self.compared(a.as_ref(), b.as_ref(), body);
        self.inherit(left, b);
        self.inherit(right, a);
    }

    /// Scans `function(argument) = output`.
    fn called(&mut self, function: GroupId, argument: &Operand, output: &Operand, body: usize) {
        let (argument, known) = (self.operand(argument, body), self.operand(output, body));
        let made = argument
            .filter(|origin| origin.function.is_none() && self.closed.contains(&function))
            .map(|origin| Origin { function: Some(function), ..origin });
        self.compared(made.as_ref(), known.as_ref(), body);
        self.inherit(output, made);
    }

    fn compared(&mut self, one: Option<&Origin>, other: Option<&Origin>, body: usize) {
        let (Some(one), Some(other)) = (one, other) else { return };
        match (one.root, other.root) {
            (Document::Data(access), Document::Input) => self.join(access, one, other, body),
            (Document::Input, Document::Data(access)) => self.join(access, other, one, body),
            (Document::Data(_), Document::Data(_)) | (Document::Input, Document::Input) => {}
        }
    }

    /// Gives a variable the origin of the operand that it is equal to.
    fn inherit(&mut self, operand: &Operand, origin: Option<Origin>) {
        if let (Operand::Var(slot), Some(origin)) = (operand, origin) {
            self.origins.entry(*slot).or_insert(origin);
        }
    }

    fn join(&mut self, access: usize, data: &Origin, input: &Origin, body: usize) {
        if !self.accesses.is_made_in(access, body) {
            return;
        }
        // Without a join more is read, which is always right.
        let (Some(data), Some(input)) = (self.term(data), self.term(input)) else { return };
        self.accesses.join(access, Join { data, input });
    }

    /// Returns one side of a join; `None` where its function is unknown.
    fn term(&self, origin: &Origin) -> Option<JoinTerm> {
        let function = match origin.function {
            Some(id) => Some(self.book.groups.get(id)?.name()),
            None => None,
        };
        Some(JoinTerm { path: origin.path.clone(), function })
    }

    fn operands<'o>(&mut self, operands: impl IntoIterator<Item = &'o Operand>, body: usize) {
        for operand in operands {
            self.read(operand, body);
        }
    }

    /// Reads an operand whose origin does not matter.
    fn read(&mut self, operand: &Operand, body: usize) {
        if !matches!(operand, Operand::Var(_) | Operand::Const(_)) {
            self.operand(operand, body);
        }
    }

    fn operand(&mut self, operand: &Operand, body: usize) -> Option<Origin> {
        match operand {
            Operand::Const(_) => None,
            Operand::Var(slot) => self.origins.get(slot).cloned(),
            Operand::Array(items) | Operand::Set(items) => {
                self.operands(items, body);
                None
            }
            Operand::Object(pairs) => {
                self.operands(pairs.iter().flat_map(|(key, value)| [key, value]), body);
                None
            }
            Operand::Ref(reference) => self.reference(reference, body),
            Operand::Collect(collect) => {
                self.collect(collect);
                None
            }
        }
    }

    fn collect(&mut self, collect: &Collect) {
        match &collect.kind {
            CollectKind::Array(head) | CollectKind::Set(head) => self.nested(&collect.body, &[head]),
            CollectKind::Object(key, value) => self.nested(&collect.body, &[key, value]),
        }
    }

    fn reference(&mut self, reference: &Reference, body: usize) -> Option<Origin> {
        self.operands(&reference.path, body);
        let path = self.segments(&reference.path);
        match reference.root {
            Root::Input => {
                self.is_open = true;
                self.input_paths.add(&path);
                Some(Origin { root: Document::Input, path, function: None })
            }
            Root::Var(slot) => {
                let base = self.origins.get(&slot).filter(|origin| origin.function.is_none())?;
                Some(Origin { root: base.root, path: joined(&base.path, path)?, function: None })
            }
            Root::Data if self.is_virtual(&reference.path) => None,
            Root::Data => {
                self.is_open = true;
                self.data_paths.add(&path);
                let access = self.accesses.add(path, body);
                Some(Origin { root: Document::Data(access), path: Vec::new(), function: None })
            }
        }
    }

    fn segments(&self, path: &[Operand]) -> Vec<Segment> {
        path.iter()
            .map(|part| match part {
                Operand::Const(Value::String(name)) => Segment::Key(name.to_string()),
                Operand::Var(slot) => match self.origins.get(slot) {
                    Some(Origin { root: Document::Input, path, function: None }) if is_short(path) => {
                        Segment::Input(path.clone())
                    }
                    _ => Segment::Any,
                },
                _ => Segment::Any,
            })
            .collect()
    }

    /// Returns true if a rule is at, above or below a path.
    fn is_near_rule(&self, path: &[Name]) -> bool {
        self.book.groups.iter().any(|group| path.starts_with(&group.path) || group.path.starts_with(path))
    }

    /// Returns true if rules make what the path leads to. Where the path may lead to rules and data alike, both are
    /// read.
    fn is_virtual(&mut self, path: &[Operand]) -> bool {
        let mut node = &self.book.tree;
        for part in path {
            if node.group.is_some() {
                return true;
            }
            let Operand::Const(Value::String(name)) = part else {
                break;
            };
            match node.children.get(&**name) {
                Some(child) => node = child,
                None => return false,
            }
        }
        node.group.is_some()
    }
}

/// Segments of a path that is still followed. Beyond it nothing is claimed of a variable, which is always right.
const LONGEST_PATH: usize = 64;

fn joined(base: &[Segment], path: Vec<Segment>) -> Option<Vec<Segment>> {
    let fits = base.len().saturating_add(path.len()) <= LONGEST_PATH;
    fits.then(|| base.iter().cloned().chain(path).collect())
}

/// Returns true if a path with all paths inside it is short: two of them in each of a chain of variables double each
/// time.
fn is_short(path: &[Segment]) -> bool {
    fn count(path: &[Segment], left: &mut usize) -> bool {
        path.iter().all(|segment| {
            *left = left.saturating_sub(1);
            *left > 0 && (!matches!(segment, Segment::Input(inner) if !count(inner, left)))
        })
    }
    count(path, &mut LONGEST_PATH.clone())
}
