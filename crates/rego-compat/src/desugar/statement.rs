//! Bodies: every literal becomes one statement and those that compute its parts.

use crate::ast::{Body, Call, Equation, Every, Literal, LiteralKind, Name, Node, Operand as Side, Term};
use crate::diagnostic::{DiagnosticCode, Pos};
use crate::ir::{Action, Branch, Callee, Collect, CollectKind, Hook, Operand, Reference, Root, Statement};

use super::scope::{Lowering, Origin, pattern_names};
use super::term::unify;

impl Lowering<'_> {
    /// Lowers the literals of a body whose scope is already there. Never empty.
    pub(super) fn body(&mut self, body: &Body) -> Vec<Statement> {
        let mut statements = Vec::with_capacity(body.len());
        for literal in body {
            if self.is_full() {
                break;
            }
            self.count(1);
            self.literal(literal, &mut statements);
        }
        if statements.is_empty() {
            let at = body.first().map_or_else(Pos::default, |literal| literal.at);
            let action = Action::Term(Operand::Const(true.into()));
            statements.push(Statement { negated: false, action, with: Vec::new(), at });
        }
        statements
    }

    /// Lowers a body in a scope of its own.
    pub(super) fn scoped_body(&mut self, body: &Body) -> Vec<Statement> {
        let names = self.declarations(body);
        self.push(names);
        let statements = self.body(body);
        self.pop();
        statements
    }

    pub(super) fn literal(&mut self, literal: &Literal, statements: &mut Vec<Statement>) {
        if let Some(call) = printing(literal) {
            if self.restrictions.prints() {
                self.print(call, literal, statements);
            }
            return;
        }
        let mut before = Vec::new();
        let with = self.with(&literal.with, statements);
        let Some(action) = self.action(literal, &mut before) else {
            return;
        };
        let statement = Statement { negated: literal.negated, action, with: Vec::new(), at: literal.at };
        // What computes the parts of a literal sees the world the literal sees.
        for mut part in before.into_iter().chain([statement]) {
            if part.with.is_empty() {
                part.with.clone_from(&with);
            }
            statements.push(part);
        }
    }

    /// Lowers a call of `print`. Each argument becomes a set, empty where it is undefined: printing never fails.
    fn print(&mut self, call: &Call, literal: &Literal, statements: &mut Vec<Statement>) {
        let with = self.with(&literal.with, statements);
        let mut items = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            self.push(Vec::new());
            let mut body = Vec::new();
            let value = self.term(arg, &mut body);
            let slot = Operand::Var(self.temporary());
            body.push(unify(slot.clone(), value, arg.at));
            self.pop();
            items.push(Operand::Collect(Box::new(Collect {
                kind: CollectKind::Set(slot),
                body,
                at: arg.at,
                head: arg.at,
            })));
        }
        let callee = Callee::Hook(Hook::Print);
        let action = Action::Call { callee, args: vec![Operand::Array(items)], output: None };
        statements.push(Statement { negated: false, action, with, at: literal.at });
    }

    fn action(&mut self, literal: &Literal, before: &mut Vec<Statement>) -> Option<Action> {
        if let Some(equation) = self.equation(literal) {
            return Some(self.equated(&equation, literal, before));
        }
        match &literal.kind {
            LiteralKind::Term(term) => Some(self.term_action(term, before)),
            LiteralKind::Unify(..) | LiteralKind::Assign(..) => None,
            LiteralKind::Some(names) => {
                for (name, at) in names {
                    self.declare(name, Origin::Declared, *at);
                }
                None
            }
            LiteralKind::SomeIn { key, value, domain } => {
                Some(self.some_in(key.as_ref(), value, domain, literal.at, before))
            }
            LiteralKind::Every(every) => Some(self.every(every, before)),
            LiteralKind::Not { body, explicit } => Some(Action::Not {
                body: self.operand_body(body, *explicit, "negated expression"),
                explicit: *explicit,
            }),
            LiteralKind::And(operands) => Some(Action::And(self.operands(operands, "and operand"))),
            LiteralKind::Or(operands) => Some(Action::Or(self.operands(operands, "or operand"))),
        }
    }

    fn equated(&mut self, equation: &Equation<'_>, literal: &Literal, before: &mut Vec<Statement>) -> Action {
        if !equation.assigned {
            let left = self.term(equation.left, before);
            return Action::Unify { left, right: self.term(equation.right, before), assigned: false };
        }
        if literal.negated {
            let message = "cannot assign vars inside negated expression";
            self.report(literal.at, DiagnosticCode::Compile, message, "assign in front of it");
        }
        let right = self.term(equation.right, before);
        Action::Unify { left: self.target(equation.left), right, assigned: true }
    }

    /// Lowers a term that is a statement. A call there has no output: its result has to hold.
    fn term_action(&mut self, term: &Term, before: &mut Vec<Statement>) -> Action {
        match &term.node {
            Node::Call(call) => self.call(call, None, term.at, before),
            Node::Chain(chain) => self.chain(chain, None, before),
            _ => return Action::Term(self.term(term, before)),
        }
        match before.pop() {
            Some(Statement { action, .. }) => action,
            None => Action::Term(Operand::Const(false.into())),
        }
    }

    /// Returns the value of an expression, for templates.
    pub(super) fn literal_value(&mut self, literal: &Literal, body: &mut Vec<Statement>) -> Operand {
        let with = self.with(&literal.with, body);
        let mut before = Vec::new();
        let value = match &literal.kind {
            LiteralKind::Term(term) => self.term(term, &mut before),
            _ => Operand::Const(true.into()),
        };
        let slot = self.temporary();
        before.push(unify(Operand::Var(slot), value, literal.at));
        for mut part in before {
            part.with.clone_from(&with);
            body.push(part);
        }
        Operand::Var(slot)
    }

    /// Returns the left side of `:=`: variables, arrays and objects of them, and constants to compare with.
    fn target(&mut self, term: &Term) -> Operand {
        match &term.node {
            Node::Var(name) if name.starts_with('$') => Operand::Var(self.temporary()),
            Node::Var(name) => Operand::Var(self.declare(name, Origin::Assigned, term.at)),
            Node::Array(items) => Operand::Array(items.iter().map(|item| self.target(item)).collect()),
            Node::Object(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| {
                    let mut before = Vec::new();
                    (self.term(key, &mut before), self.target(value))
                });
                Operand::Object(pairs.collect())
            }
            Node::Ref(terms) if terms.len() == 1 => match terms.first().map(|term| &term.node) {
                Some(Node::Var(name)) => Operand::Var(self.declare(&name.clone(), Origin::Assigned, term.at)),
                _ => self.bad_target(term),
            },
            _ => self.bad_target(term),
        }
    }

    fn bad_target(&mut self, term: &Term) -> Operand {
        self.report(
            term.at,
            DiagnosticCode::Compile,
            format!("cannot assign to {}", term.describe()),
            "use == to compare",
        );
        Operand::Const(false.into())
    }

    /// Lowers `some k, v in domain`, which is `v = domain[k]` with its variables declared.
    fn some_in(
        &mut self,
        key: Option<&Term>,
        value: &Term,
        domain: &Term,
        at: Pos,
        before: &mut Vec<Statement>,
    ) -> Action {
        let domain = self.term(domain, before);
        for term in key.into_iter().chain([value]) {
            let mut names: Vec<Name> = Vec::new();
            pattern_names(term, &mut names);
            names.sort();
            names.dedup();
            for name in names {
                self.declare(&name, Origin::Declared, term.at);
            }
        }
        let key = match key {
            Some(key) => self.term(key, before),
            None => Operand::Var(self.temporary()),
        };
        let left = self.term(value, before);
        let (root, mut path) = match domain {
            Operand::Ref(reference) => (reference.root, reference.path),
            Operand::Var(slot) => (Root::Var(slot), Vec::new()),
            other => {
                let slot = self.temporary();
                before.push(unify(Operand::Var(slot), other, at));
                (Root::Var(slot), Vec::new())
            }
        };
        path.push(key);
        let right = Operand::Ref(Box::new(Reference { root, path, at }));
        Action::Unify { left, right, assigned: false }
    }

    fn every(&mut self, every: &Every, before: &mut Vec<Statement>) -> Action {
        let domain = self.term(&every.domain, before);
        let slot = self.temporary();
        before.push(unify(Operand::Var(slot), domain, every.domain.at));
        self.push(Vec::new());
        let key = match &every.key {
            Some(term) => self.every_name(term),
            None => self.temporary(),
        };
        let value = self.every_name(&every.value);
        let names = self.declarations(&every.body);
        self.announce(names);
        let body = self.body(&every.body);
        self.pop();
        Action::Every { key, value, domain: Operand::Var(slot), body }
    }

    fn every_name(&mut self, term: &Term) -> u32 {
        match &term.node {
            Node::Var(name) if !name.starts_with('$') => self.declare(name, Origin::Declared, term.at),
            _ => self.temporary(),
        }
    }

    fn operands(&mut self, operands: &[Side], place: &str) -> Vec<Branch> {
        let branch = |operand: &Side| Branch {
            body: self.operand_body(&operand.body, operand.explicit, place),
            explicit: operand.explicit,
        };
        operands.iter().map(branch).collect()
    }

    fn operand_body(&mut self, body: &Body, explicit: bool, place: &str) -> Vec<Statement> {
        if explicit {
            return self.scoped_body(body);
        }
        for literal in body {
            if !self.equation(literal).is_some_and(|equation| equation.assigned) {
                continue;
            }
            let message = format!("cannot assign vars inside {place}");
            self.report(literal.at, DiagnosticCode::Compile, message, "write it in braces");
        }
        self.body(body)
    }
}

/// Returns the call in a literal that prints. It has no effect on a server, where OPA drops it too.
pub(super) fn printing(literal: &Literal) -> Option<&Call> {
    match &literal.kind {
        LiteralKind::Term(Term { node: Node::Call(call), .. }) => {
            matches!(&*call.operator, [name] if &**name == "print").then_some(&**call)
        }
        _ => None,
    }
}
