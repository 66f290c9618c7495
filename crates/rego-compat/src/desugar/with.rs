//! `with` modifiers: what is replaced, and by what.

use crate::value::Value;

use crate::ast::{Name, Node, Term, With};
use crate::diagnostic::{DiagnosticCode, Pos};
use crate::ir::{Callee, Operand, Override, Statement, Target};

use super::names::rule_on;
use super::scope::Lowering;
use super::term::unify;

impl Lowering<'_> {
    /// Lowers modifiers; values that have to be computed are computed in front.
    pub(super) fn with(&mut self, modifiers: &[With], statements: &mut Vec<Statement>) -> Vec<Override> {
        let mut overrides = Vec::with_capacity(modifiers.len());
        for modifier in modifiers {
            if let Some(replacement) = self.replacement(modifier, statements) {
                overrides.push(replacement);
            }
        }
        overrides
    }

    fn replacement(&mut self, modifier: &With, statements: &mut Vec<Statement>) -> Option<Override> {
        let target = self.with_target(&modifier.target)?;
        if let Target::Call(replaced) = target {
            self.check_replaced(replaced, &modifier.target);
        }
        if let Target::Call(_) = target
            && let Some(function) = self.function_value(&modifier.value)
        {
            self.check_stand_in(function, &modifier.value);
            return Some(Override {
                target,
                value: Operand::Const(Value::Undefined),
                function: Some(function),
            });
        }
        let mut value = self.term(&modifier.value, statements);
        if value.needs_evaluation() {
            let slot = self.temporary();
            statements.push(unify(Operand::Var(slot), value, modifier.value.at));
            value = Operand::Var(slot);
        }
        Some(Override { target, value, function: None })
    }

    /// Refuses to replace `walk` and `print`, which are more than functions of their arguments, `rego.metadata.*`, whose calls are
    /// replaced with constants, and what signs are written for: `eq` and `internal.*`.
    /// Source: OPA `ast/compile.go`, `validateWithBuiltinTarget`.
    fn check_replaced(&mut self, replaced: Callee, written: &Term) {
        let Callee::Builtin(builtin) = replaced else { return };
        let reason = match builtin.name {
            "eq" => "replacement of \"eq\" invalid".to_owned(),
            name if name.starts_with("internal.") => {
                format!("replacement of internal function \"{name}\" invalid")
            }
            _ if builtin.is_relation() => "target must not be a relation".to_owned(),
            _ if builtin.is_variadic() => "target must not be a void function".to_owned(),
            name if builtin.is_planned() => format!("replacement of \"{name}\" invalid"),
            _ => return,
        };
        self.refuse_replacing(&reason, written.at);
    }

    fn refuse_replacing(&mut self, reason: &str, at: Pos) {
        let message = format!("with keyword replacing built-in function: {reason}");
        self.report(at, DiagnosticCode::Compile, message, "replace a function of your own that calls it");
    }

    /// Refuses as a stand-in what the host refuses, what this build lacks, and what only the planner can replace.
    fn check_stand_in(&mut self, function: Callee, written: &Term) {
        let Callee::Builtin(builtin) = function else { return };
        self.check_presence(builtin, written.at);
        if builtin.is_planned() || builtin.name == "eq" {
            // OPA evaluates `walk` in such a place, and fails with "unsupported built-in" for the others.
            let message = format!(
                "with keyword replacing built-in function: \"{}\" cannot replace a function",
                builtin.name
            );
            let help = "name a function of your own that calls it";
            self.report(written.at, DiagnosticCode::Compile, message, help);
        }
        if self.restrictions.disables(builtin.name) {
            let message = format!(
                "with keyword replacing built-in function: target must not be unsafe: \"{}\"",
                builtin.name
            );
            self.report(
                written.at,
                DiagnosticCode::Refused,
                message,
                "the host does not allow this function",
            );
        }
    }

    fn with_target(&mut self, target: &Term) -> Option<Target> {
        let Some(path) = static_path(target) else {
            self.report(
                target.at,
                DiagnosticCode::Type,
                "with keyword target must be a static reference",
                "",
            );
            return None;
        };
        let (head, rest) = path.split_first()?;
        let text = |name: &Name| Value::from(&**name);
        match &**head {
            "input" => return Some(Target::Input(rest.iter().map(text).collect())),
            "data" => return self.data_target(&path, target.at),
            _ => {}
        }
        let mut resolved = self.globals.get(head).cloned().unwrap_or_else(|| vec![head.clone()]);
        resolved.extend(rest.iter().cloned());
        match resolved.first().map(|root| &**root) {
            Some("input") => Some(Target::Input(resolved.iter().skip(1).map(text).collect())),
            Some("data") => self.data_target(&resolved, target.at),
            _ => match self.find_callee(&resolved) {
                Callee::Unknown => {
                    match resolved.join(".").as_str() {
                        // This compiler has no functions of these names.
                        name @ ("internal.print" | "internal.test_case") => {
                            let reason = format!("replacement of internal function \"{name}\" invalid");
                            self.refuse_replacing(&reason, target.at);
                        }
                        _ => {
                            let message =
                                "with keyword target must reference existing input, data, or a function";
                            self.report(target.at, DiagnosticCode::Type, message, "");
                        }
                    }
                    None
                }
                callee => Some(Target::Call(callee)),
            },
        }
    }

    /// Returns what a path into `data` replaces; a part of what a rule makes is refused.
    /// Source: OPA `ast/compile.go`, `validateWith`.
    fn data_target(&mut self, path: &[Name], at: Pos) -> Option<Target> {
        let (_, around) = path.split_last()?;
        let rule = rule_on(&self.book.tree, around.iter().skip(1).map(|name| &**name));
        if rule.and_then(|(group, _)| self.book.groups.get(group)).is_some_and(|group| group.is_whole) {
            let message = "with keyword cannot partially replace virtual document(s)";
            self.report(at, DiagnosticCode::Compile, message, "replace all that the rule makes");
            return None;
        }
        Some(match self.find_callee(path) {
            callee @ Callee::Function(group) if self.is_function(group) => Target::Call(callee),
            _ => Target::Data(path.iter().skip(1).cloned().collect()),
        })
    }

    /// Returns a function named where a value could stand.
    fn function_value(&self, term: &Term) -> Option<Callee> {
        let path = static_path(term)?;
        let (head, rest) = path.split_first()?;
        let mut resolved = self.globals.get(head).cloned().unwrap_or_else(|| vec![head.clone()]);
        resolved.extend(rest.iter().cloned());
        match self.find_callee(&resolved) {
            Callee::Unknown => None,
            callee => Some(callee),
        }
    }
}

/// Returns a reference made of names only.
fn static_path(term: &Term) -> Option<Vec<Name>> {
    match &term.node {
        Node::Var(name) => Some(vec![name.clone()]),
        Node::Ref(components) => components
            .iter()
            .enumerate()
            .map(|(index, component)| match &component.node {
                Node::Var(name) if index == 0 => Some(name.clone()),
                _ => component.as_str().map(Into::into),
            })
            .collect(),
        _ => None,
    }
}
