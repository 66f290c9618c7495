//! Terms to operands: names resolved, every call a statement of its own in front.

use std::borrow::Cow;

use crate::value::Value;
use crate::value::{Object, Set};

use crate::ast::{Call, Chain, Comprehension, ComprehensionKind, Name, Node, TemplatePart, Term};
use crate::builtin::{self, Builtin};
use crate::diagnostic::{DiagnosticCode, Pos};
use crate::ir::{Action, Callee, Collect, CollectKind, Kind, Operand, Reference, Root, Statement};

use super::names::rule_on;
use super::scope::{Lowering, Meaning, text};

impl Lowering<'_> {
    /// Returns the operand for a term; what has to be computed first goes to `before`.
    pub(super) fn term(&mut self, term: &Term, before: &mut Vec<Statement>) -> Operand {
        if self.is_full() {
            return Operand::Const(Value::Undefined);
        }
        match &term.node {
            Node::Scalar(value) => Operand::Const(value.clone()),
            Node::Var(name) => self.variable(name, term.at),
            Node::Ref(components) => self.reference(components, term.at, before),
            Node::Call(call) => {
                let output = Operand::Var(self.temporary());
                if &*call.name() == "print" && self.declared("print").is_none() {
                    let message = "print(...) used as value";
                    self.report(term.at, DiagnosticCode::Type, message, "print in a statement of its own");
                }
                self.call(call, Some(output.clone()), term.at, before);
                output
            }
            Node::Chain(chain) => {
                let output = Operand::Var(self.temporary());
                self.chain(chain, Some(output.clone()), before);
                output
            }
            Node::Array(items) => self.array(items, before),
            Node::Set(items) => self.set(items, before),
            Node::Object(pairs) => self.object(pairs, before),
            Node::Comprehension(comprehension) => {
                Operand::Collect(Box::new(self.comprehension(comprehension, term.at)))
            }
            Node::Template(parts) => self.template(parts, term.at, before),
        }
    }

    fn variable(&mut self, name: &Name, at: Pos) -> Operand {
        match self.meaning(name) {
            Meaning::Slot(slot) => Operand::Var(slot),
            Meaning::Document(path) => document(&path, at),
        }
    }

    fn array(&mut self, items: &[Term], before: &mut Vec<Statement>) -> Operand {
        let items: Vec<Operand> = items.iter().map(|item| self.term(item, before)).collect();
        let constants: Option<Vec<Value>> = items.iter().map(constant).collect();
        if let Some(values) = constants {
            return Operand::Const(values.into());
        }
        self.count(items.len());
        Operand::Array(items)
    }

    fn set(&mut self, items: &[Term], before: &mut Vec<Statement>) -> Operand {
        let items = self.in_order(items, |item| item);
        let mut items: Vec<Operand> = items.into_iter().map(|item| self.term(item, before)).collect();
        // Of equal numbers the first stays, and OPA looks at what is constant first.
        items.sort_by_key(|item| constant(item).is_none());
        let constants: Option<Set> = items.iter().map(constant).collect();
        if let Some(set) = constants {
            return Operand::Const(set.into_value());
        }
        self.count(items.len());
        Operand::Set(items)
    }

    fn object(&mut self, pairs: &[(Term, Term)], before: &mut Vec<Statement>) -> Operand {
        let pairs = self.in_order(pairs, |(key, _)| key).into_iter();
        let pairs: Vec<(Operand, Operand)> =
            pairs.map(|(key, value)| (self.term(key, before), self.term(value, before))).collect();
        let mut object = Object::new();
        for (key, value) in &pairs {
            let (Some(key), Some(value)) = (constant(key), constant(value)) else {
                self.count(pairs.len());
                return Operand::Object(pairs);
            };
            object.insert(key, value);
        }
        Operand::Const(object.into_value())
    }

    fn reference(&mut self, components: &[Term], at: Pos, before: &mut Vec<Statement>) -> Operand {
        let Some((head, rest)) = components.split_first() else {
            return Operand::Const(Value::Undefined);
        };
        let (root, mut path) = self.root(head, before);
        for component in rest {
            path.push(self.term(component, before));
        }
        match root {
            Root::Var(slot) if path.is_empty() => Operand::Var(slot),
            root => Operand::Ref(Box::new(Reference { root, path, at })),
        }
    }

    fn root(&mut self, head: &Term, before: &mut Vec<Statement>) -> (Root, Vec<Operand>) {
        if let Node::Var(name) = &head.node {
            match &**name {
                "input" if self.declared(name).is_none() => return (Root::Input, Vec::new()),
                "data" if self.declared(name).is_none() => return (Root::Data, Vec::new()),
                _ => {}
            }
        }
        match self.term(head, before) {
            Operand::Var(slot) => (Root::Var(slot), Vec::new()),
            Operand::Ref(reference) => (reference.root, reference.path),
            other => {
                let slot = self.temporary();
                before.push(unify(Operand::Var(slot), other, head.at));
                (Root::Var(slot), Vec::new())
            }
        }
    }

    /// Adds the statement for a call.
    pub(super) fn call(
        &mut self,
        call: &Call,
        output: Option<Operand>,
        at: Pos,
        before: &mut Vec<Statement>,
    ) {
        let args: Vec<Operand> = call.args.iter().map(|arg| self.term(arg, before)).collect();
        before.push(self.called(&call.operator, args, output, at));
    }

    /// Adds the statements for a chain, one for each operator: `output = 1 + 2 - 3` becomes `plus(1, 2, a)` and
    /// `minus(a, 3, output)`. Variables are numbered from the outermost call inwards, as for nested calls.
    pub(super) fn chain(&mut self, chain: &Chain, output: Option<Operand>, before: &mut Vec<Statement>) {
        let inner = chain.links.len().saturating_sub(1);
        let mut outputs: Vec<Option<Operand>> = vec![output];
        outputs.extend((0..inner).map(|_| Some(Operand::Var(self.temporary()))));
        let mut left = self.term(&chain.first, before);
        for (link, output) in chain.links.iter().zip(outputs.into_iter().rev()) {
            let right = self.term(&link.right, before);
            let args = vec![
                std::mem::replace(&mut left, output.clone().unwrap_or(Operand::Const(Value::Undefined))),
                right,
            ];
            before.push(self.called(&link.operator, args, output, link.at));
        }
    }

    /// Returns the statement for a call of these operands.
    fn called(
        &mut self,
        operator: &[Name],
        mut args: Vec<Operand>,
        output: Option<Operand>,
        at: Pos,
    ) -> Statement {
        let callee = self.callee(operator, at);
        let arity = self.arity(callee);
        let mut output = output;
        if let Some(arity) = arity {
            if output.is_none() && args.len() == arity.saturating_add(1) {
                output = args.pop();
            }
            if args.len() != arity {
                self.wrong_arity(operator, arity, args.len(), at);
            }
        }
        let action = match (self.described(callee), output) {
            (Some(value), Some(output)) => {
                Action::Unify { left: output, right: Operand::Const(value), assigned: false }
            }
            (Some(value), None) => Action::Term(Operand::Const(value)),
            (None, output) => Action::Call { callee, args, output },
        };
        Statement { negated: false, action, with: Vec::new(), at }
    }

    /// Returns the annotations that `rego.metadata.rule` and `rego.metadata.chain` are replaced with; `None` for other functions.
    fn described(&self, callee: Callee) -> Option<Value> {
        let place = self.place?;
        match callee {
            Callee::Builtin(builtin) if builtin.name == "rego.metadata.rule" => {
                Some(self.book.annotations.rule(place))
            }
            Callee::Builtin(builtin) if builtin.name == "rego.metadata.chain" => {
                Some(self.book.annotations.chain(self.module, place))
            }
            _ => None,
        }
    }

    fn arity(&self, callee: Callee) -> Option<usize> {
        match callee {
            Callee::Builtin(builtin) if builtin.is_variadic() => None,
            Callee::Builtin(builtin) => Some(builtin.args.len()),
            Callee::External(_) | Callee::Hook(_) => Some(1),
            Callee::Function(group) => match self.book.groups.get(group).map(|group| group.kind) {
                Some(Kind::Function { arity }) => Some(arity),
                Some(_) => Some(0),
                None => None,
            },
            Callee::Unknown => None,
        }
    }

    fn wrong_arity(&mut self, operator: &[Name], arity: usize, given: usize, at: Pos) {
        let plural = if given == 1 { "" } else { "s" };
        let message =
            format!("function {} has arity {arity}, got {given} argument{plural}", operator.join("."));
        self.report(at, DiagnosticCode::Type, message, "");
    }

    /// Resolves the operator of a call; unknown names are reported.
    fn callee(&mut self, operator: &[Name], at: Pos) -> Callee {
        let path = self.operator_path(operator);
        let Some(path) = path else {
            self.report(
                at,
                DiagnosticCode::Compile,
                format!("called function {} shadowed", operator.join(".")),
                "rename the variable",
            );
            return Callee::Unknown;
        };
        let found = self.find_callee(&path);
        match found {
            Callee::Unknown => {
                let name = path.join(".");
                let help = match builtin::similar(&name) {
                    Some(similar) => format!("define it, or correct its name: did you mean {similar}?"),
                    None => "define it, or correct its name".to_owned(),
                };
                self.report(at, DiagnosticCode::Type, format!("undefined function {name}"), &help);
            }
            Callee::Builtin(builtin) => self.check_builtin(builtin, at),
            Callee::Function(_) | Callee::External(_) | Callee::Hook(_) => {}
        }
        found
    }

    fn check_builtin(&mut self, builtin: &'static Builtin, at: Pos) {
        if self.restrictions.disables(builtin.name) {
            let message = format!("undefined function {}", builtin.name);
            self.report(at, DiagnosticCode::Refused, message, "the host does not allow it");
        }
        self.check_presence(builtin, at);
        if builtin.removed && self.module.tree.strict {
            let message = format!("deprecated built-in function calls in expression: {}", builtin.name);
            self.report(at, DiagnosticCode::Type, message, "Rego v1 has no such function");
        }
    }

    /// Reports a function that this build leaves out: undefined, it would silence the policy.
    pub(super) fn check_presence(&mut self, builtin: &'static Builtin, at: Pos) {
        if let Some(feature) = builtin.lacks() {
            let message = format!("built-in function {} is not in this build", builtin.name);
            self.report(
                at,
                DiagnosticCode::Refused,
                message,
                &format!("build rego-compat with the feature `{feature}`"),
            );
        }
    }

    /// Returns the operator with its first name resolved; `None` where a variable hides it.
    fn operator_path(&self, operator: &[Name]) -> Option<Vec<Name>> {
        let (head, rest) = operator.split_first()?;
        if self.declared(head).is_some() {
            return None;
        }
        let mut path = self.globals.get(head).cloned().unwrap_or_else(|| vec![head.clone()]);
        path.extend(rest.iter().cloned());
        Some(path)
    }

    pub(super) fn find_callee(&self, path: &[Name]) -> Callee {
        if path.first().is_some_and(|root| &**root == "data") {
            let names = path.iter().skip(1).map(|name| &**name);
            return match rule_on(&self.book.tree, names) {
                Some((group, taken)) if taken.saturating_add(1) == path.len() && self.is_callable(group) => {
                    Callee::Function(group)
                }
                _ => Callee::Unknown,
            };
        }
        let name: Cow<'_, str> = match path {
            [only] => Cow::Borrowed(only),
            names => Cow::Owned(names.join(".")),
        };
        if let Some(index) = self.book.externals.iter().position(|external| *external == name) {
            return Callee::External(index);
        }
        builtin::find(&name).map_or(Callee::Unknown, Callee::Builtin)
    }

    /// Functions, and complete rules, which are functions of nothing.
    fn is_callable(&self, group: usize) -> bool {
        let kind = self.book.groups.get(group).map(|group| group.kind);
        matches!(kind, Some(Kind::Function { .. } | Kind::Complete))
    }

    pub(super) fn is_function(&self, group: usize) -> bool {
        self.book.groups.get(group).is_some_and(|group| matches!(group.kind, Kind::Function { .. }))
    }

    fn comprehension(&mut self, comprehension: &Comprehension, at: Pos) -> Collect {
        let names = self.declarations(&comprehension.body);
        self.push(names);
        let mut body = self.body(&comprehension.body);
        let kind = match &comprehension.kind {
            ComprehensionKind::Array(head) => CollectKind::Array(self.collected(head, &mut body)),
            ComprehensionKind::Set(head) => CollectKind::Set(self.collected(head, &mut body)),
            ComprehensionKind::Object(key, value) => {
                let key = self.collected(key, &mut body);
                CollectKind::Object(key, self.collected(value, &mut body))
            }
        };
        self.pop();
        let head = match &comprehension.kind {
            ComprehensionKind::Array(head)
            | ComprehensionKind::Set(head)
            | ComprehensionKind::Object(head, _) => head.at,
        };
        Collect { kind, body, at, head }
    }

    /// Returns the head of a comprehension or rule: computed at the end of the body where it has to be.
    pub(super) fn collected(&mut self, head: &Term, body: &mut Vec<Statement>) -> Operand {
        let operand = self.term(head, body);
        if !operand.needs_evaluation() {
            return operand;
        }
        let slot = self.temporary();
        body.push(unify(Operand::Var(slot), operand, head.at));
        Operand::Var(slot)
    }

    /// Lowers `$"a {b}"`: each expression becomes a set, empty where it is undefined.
    fn template(&mut self, parts: &[TemplatePart], at: Pos, before: &mut Vec<Statement>) -> Operand {
        let mut items = Vec::new();
        for part in parts {
            items.push(match part {
                TemplatePart::Text(text) => Operand::Const(text.clone()),
                TemplatePart::Expression(literal) => {
                    self.push(Vec::new());
                    let mut body = Vec::new();
                    let value = self.literal_value(literal, &mut body);
                    self.pop();
                    Operand::Collect(Box::new(Collect {
                        kind: CollectKind::Set(value),
                        body,
                        at: literal.at,
                        head: literal.at,
                    }))
                }
            });
        }
        let output = Operand::Var(self.temporary());
        let callee = builtin::find("internal.template_string").map_or(Callee::Unknown, Callee::Builtin);
        let action = Action::Call { callee, args: vec![Operand::Array(items)], output: Some(output.clone()) };
        before.push(Statement { negated: false, action, with: Vec::new(), at });
        output
    }
}

/// Returns a reference to a document by its path.
pub(super) fn document(path: &[Name], at: Pos) -> Operand {
    let root = if path.first().is_some_and(|root| &**root == "input") { Root::Input } else { Root::Data };
    let path = path.iter().skip(1).map(|name| Operand::Const(text(name))).collect();
    Operand::Ref(Box::new(Reference { root, path, at }))
}

/// Returns the statement `left = right` of a rewrite.
pub(super) fn unify(left: Operand, right: Operand, at: Pos) -> Statement {
    let action = Action::Unify { left, right, assigned: false };
    Statement { negated: false, action, with: Vec::new(), at }
}

fn constant(operand: &Operand) -> Option<Value> {
    match operand {
        Operand::Const(value) => Some(value.clone()),
        _ => None,
    }
}
