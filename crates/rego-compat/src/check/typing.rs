//! Calls, comparisons and references that can never succeed, found from the types of constants, builtins and rules.
//!
//! Follows OPA's `check.go`: bodies in order, each variable typed where it first gets a value; rules before those
//! that use them. What OPA does not look at (bodies of `every` and `not`, but for references) is not looked at here.

mod infer;
mod refer;
mod vars;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::diagnostic::{Diagnostic, DiagnosticCode, Pos};
use crate::ir::{
    Action, Callee, Collect, CollectKind, Definition, Group, GroupId, Kind, Leaf, Operand, Rulebook,
    Statement, Target,
};

use super::types::{ANY, Type, is_nil, or, unifies};
use vars::Vars;

/// Types every rule; `order` names rules before those that use them.
pub(super) fn check(book: &Rulebook, order: &[GroupId], diagnostics: &mut Vec<Diagnostic>) {
    let mut groups: Vec<Option<Type>> = vec![None; book.groups.len()];
    for id in order {
        let Some(group) = book.groups.get(*id) else {
            continue;
        };
        for rule in &group.rules {
            for branch in &rule.branches {
                let mut checker = Checker::new(book, &groups);
                checker.body(&branch.body);
                let mut made = checker.rule_type(group.kind, &rule.args, branch);
                if !checker.errors.is_empty() {
                    // Uses of the rule do not report it again.
                    made = Some(ANY);
                }
                for (at, message) in std::mem::take(&mut checker.errors) {
                    diagnostics.push(rule.source.diagnostic(at, DiagnosticCode::Type, message, ""));
                }
                if let Some(place) = groups.get_mut(*id) {
                    *place = merge(place.take(), made);
                }
            }
        }
    }
}

/// Returns the types of several definitions of one rule: sets and objects grow, others become alternatives.
fn merge(a: Option<Type>, b: Option<Type>) -> Option<Type> {
    match (a, b) {
        (Some(Type::Set(x)), Some(Type::Set(y))) => {
            Some(Type::Set(or(x.map(|x| *x), y.map(|y| *y)).map(Box::new)))
        }
        (Some(Type::Object(xs, Some(x))), Some(Type::Object(ys, Some(y))))
            if xs.is_empty() && ys.is_empty() =>
        {
            let (x, y) = (*x, *y);
            Some(Type::Object(Vec::new(), Some(Box::new((or(x.0, y.0), merge(x.1, y.1))))))
        }
        (a, b) => or(a, b),
    }
}

/// Returns true if a modifier of the statement replaces something with a type. `input` has none.
fn replaces_documents(statement: &Statement) -> bool {
    statement.with.iter().any(|with| !matches!(with.target, Target::Input(_)))
}

/// Names the callee, as the author of a policy knows it.
fn name(book: &Rulebook, callee: Callee) -> String {
    match callee {
        Callee::Builtin(builtin) => builtin.name.to_owned(),
        Callee::Function(group) => book.groups.get(group).map(Group::name).unwrap_or_default(),
        Callee::External(index) => book.externals.get(index).cloned().unwrap_or_default(),
        Callee::Hook(_) | Callee::Unknown => String::new(),
    }
}

/// The work on one body.
pub(super) struct Checker<'a> {
    book: &'a Rulebook,
    groups: &'a [Option<Type>],
    vars: Vars,
    /// Types of comprehensions, by their place in memory; computing them twice at each level would never end.
    collected: HashMap<usize, Option<Type>>,
    /// Types of everything below a node, by its place in memory.
    extents: HashMap<usize, Type>,
    /// In a statement that replaces documents of `data` or functions, documents may be anything.
    relaxed: bool,
    errors: Vec<(Pos, String)>,
}

impl<'a> Checker<'a> {
    fn new(book: &'a Rulebook, groups: &'a [Option<Type>]) -> Self {
        Self {
            book,
            groups,
            vars: Vars::default(),
            extents: HashMap::new(),
            collected: HashMap::new(),
            relaxed: false,
            errors: Vec::new(),
        }
    }

    fn body(&mut self, body: &[Statement]) {
        for statement in body {
            self.relaxed = replaces_documents(statement);
            self.statement(statement);
        }
        self.relaxed = false;
    }

    fn statement(&mut self, statement: &Statement) {
        let before = self.errors.len();
        self.closures(&statement.action);
        self.references(&statement.action);
        let has_cause = self.errors.len() > before;
        let problem = match &statement.action {
            Action::Unify { left, right, .. } => self.equation(left, right),
            Action::Call { callee, args, output } => self.call(*callee, args, output.as_ref()),
            _ => None,
        };
        // An error that only follows from an unknown type is not reported beside its cause.
        if let Some(problem) = problem
            && !(has_cause && problem.from_unknown)
        {
            self.errors.push((statement.at, problem.message));
        }
        for with in &statement.with {
            if let (Target::Call(target), Some(stand_in)) = (&with.target, with.function)
                && !self.stands_in(*target, stand_in)
            {
                self.errors.push((statement.at, format!("{}: arity mismatch", name(self.book, *target))));
            }
        }
    }

    /// Returns true if a function may be replaced by another: they have to take the same arguments.
    fn stands_in(&self, target: Callee, stand_in: Callee) -> bool {
        let (Some(wanted), Some(given)) = (self.arguments(target), self.arguments(stand_in)) else {
            return true;
        };
        wanted.len() == given.len() && wanted.iter().zip(&*given).all(|(a, b)| unifies(Some(a), Some(b)))
    }

    fn arguments(&self, callee: Callee) -> Option<Cow<'a, [Type]>> {
        match callee {
            // `print` has none but those it is given.
            Callee::Builtin(builtin) => Some(builtin.args.iter().map(Type::of_spec).collect()),
            Callee::Function(group) => match self.groups.get(group)?.as_ref()? {
                Type::Function(args, _) => Some(Cow::Borrowed(args)),
                _ => None,
            },
            Callee::External(_) | Callee::Hook(_) => Some(Cow::Owned(vec![ANY])),
            Callee::Unknown => None,
        }
    }

    fn equation(&mut self, left: &Operand, right: &Operand) -> Option<TypeError> {
        let (a, b) = (self.type_of(left), self.type_of(right));
        let from_unknown = is_nil(a.as_ref()) || is_nil(b.as_ref());
        let fits = self.unify_both(left, a, right, b);
        (!fits).then(|| TypeError { message: "match error".to_owned(), from_unknown })
    }

    fn call(&mut self, callee: Callee, args: &[Operand], output: Option<&Operand>) -> Option<TypeError> {
        let (wanted, result) = self.signature(callee)?;
        if matches!(callee, Callee::Builtin(builtin) if builtin.name.starts_with("internal.member_"))
            && let Some(problem) = self.membership(args)
        {
            return Some(problem);
        }
        // Source: OPA `ast/check.go`, `checkExprEq`: a third operand would be the value of an equation, which has none.
        if matches!(callee, Callee::Builtin(builtin) if builtin.name == "eq") && output.is_some() {
            return Some(TypeError { message: "eq: too many arguments".to_owned(), from_unknown: false });
        }
        let operands: Vec<&Operand> = args.iter().chain(output).collect();
        let have: Vec<Option<Type>> = operands.iter().map(|operand| self.type_of(operand)).collect();
        let book = self.book;
        let problem = |have: &[Option<Type>]| TypeError {
            message: format!("{}: invalid argument(s)", name(book, callee)),
            from_unknown: have.iter().any(|have| is_nil(have.as_ref())),
        };
        let wanted = wanted.iter().chain(output.map(|_| &*result));
        for ((operand, have_one), want) in operands.iter().zip(&have).zip(wanted) {
            if !is_nil(have_one.as_ref()) && !unifies(have_one.as_ref(), Some(want)) {
                return Some(problem(&have));
            }
            if !self.unify_one(operand, Some(want), false) {
                return Some(problem(&have));
            }
        }
        None
    }

    /// Returns the argument types and the result type of a callee.
    fn signature(&self, callee: Callee) -> Option<(Cow<'a, [Type]>, Cow<'a, Type>)> {
        match callee {
            Callee::Builtin(builtin) if builtin.is_variadic() => None,
            Callee::Builtin(builtin) => {
                let args = builtin.args.iter().map(Type::of_spec).collect();
                Some((Cow::Owned(args), Cow::Owned(Type::of_spec(&builtin.result))))
            }
            Callee::Function(group) if !self.relaxed => match self.groups.get(group)?.as_ref()? {
                Type::Function(args, result) => Some((Cow::Borrowed(args), Cow::Borrowed(&**result))),
                _ => None,
            },
            Callee::Function(_) | Callee::External(_) | Callee::Hook(_) | Callee::Unknown => None,
        }
    }

    /// Checks `x in xs` and `k, x in xs`: the type of the element must occur in the collection.
    fn membership(&mut self, args: &[Operand]) -> Option<TypeError> {
        let (collection, looked_for) = args.split_last()?;
        let collection = self.type_of(collection);
        let values = super::types::values(collection.as_ref())?;
        let mut wanted = vec![Some(values)];
        if looked_for.len() == 2 {
            wanted.insert(0, super::types::keys(collection.as_ref()));
        }
        for (operand, want) in looked_for.iter().zip(wanted) {
            if is_nil(want.as_ref()) {
                continue;
            }
            let have = self.type_of(operand);
            let fits = is_nil(have.as_ref()) || unifies(have.as_ref(), want.as_ref());
            if !fits || !self.unify_one(operand, want.as_ref(), false) {
                return Some(TypeError {
                    message: "match error".to_owned(),
                    from_unknown: is_nil(have.as_ref()),
                });
            }
        }
        None
    }

    /// Returns the type a definition gives its rule.
    fn rule_type(&mut self, kind: Kind, args: &[Operand], branch: &Definition) -> Option<Type> {
        if let Kind::Function { .. } = kind {
            args.iter().for_each(|arg| self.default_to_any(arg));
            let args = args.iter().map(|arg| self.type_of(arg).unwrap_or(ANY)).collect();
            let result = self.type_of(branch.leaf.operand()).unwrap_or(ANY);
            return Some(Type::Function(args, Box::new(result)));
        }
        let value = self.type_of(branch.leaf.operand());
        let leaf = match &branch.leaf {
            Leaf::Value(_) => value,
            Leaf::Element(_) => Some(Type::Set(value.map(Box::new))),
        };
        branch.keys.iter().rev().fold(leaf, |inner, key| {
            let key = self.type_of(key)?;
            Some(Type::Object(Vec::new(), Some(Box::new((Some(key), Some(inner?))))).bounded())
        })
    }

    fn default_to_any(&mut self, operand: &Operand) {
        match operand {
            Operand::Var(slot) => self.vars.default_to_any(*slot),
            Operand::Array(items) | Operand::Set(items) => {
                items.iter().for_each(|item| self.default_to_any(item))
            }
            Operand::Object(pairs) => pairs.iter().for_each(|(_, value)| self.default_to_any(value)),
            _ => {}
        }
    }

    /// Returns the type of a comprehension; errors in it are reported once.
    fn collect_type(&mut self, collect: &Collect) -> Option<Type> {
        let place = std::ptr::from_ref(collect).addr();
        if let Some(known) = self.collected.get(&place) {
            return known.clone();
        }
        let outer = self.vars.mark();
        let (relaxed, before) = (self.relaxed, self.errors.len());
        for statement in &collect.body {
            self.relaxed = relaxed || replaces_documents(statement);
            self.statement(statement);
        }
        self.relaxed = relaxed;
        let made = if self.errors.len() > before { None } else { Some(self.collect_kind(&collect.kind)) };
        self.vars.undo(outer);
        self.collected.insert(place, made.clone());
        made
    }

    fn collect_kind(&mut self, kind: &CollectKind) -> Type {
        match kind {
            CollectKind::Array(head) => Type::Array(Vec::new(), self.type_of(head).map(Box::new)),
            CollectKind::Set(head) => Type::Set(self.type_of(head).map(Box::new)),
            CollectKind::Object(key, value) => {
                let pair = (self.type_of(key), self.type_of(value));
                Type::Object(Vec::new(), Some(Box::new(pair)))
            }
        }
        .bounded()
    }
}

/// The reason why a statement cannot succeed.
struct TypeError {
    message: String,
    /// Some type was unknown, so this may be a consequence only.
    from_unknown: bool,
}
