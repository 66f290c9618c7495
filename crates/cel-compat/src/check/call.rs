//! Calls: which overload of a function they mean, and what that yields.

use super::super::library;
use super::super::node::{Call as CallNode, Node};
use super::super::operator::Operator;
use super::super::overload::{Overload, is_known, overloads};
use super::super::syntax::{Call, Expr};
use super::super::types::{Findings, Type};
use super::{Checked, Checker};

impl Checker<'_> {
    pub(super) fn call(&mut self, at: usize, call: &Call) -> Checked {
        if let Some(expanded) = self.expand(at, call) {
            return expanded;
        }
        match (call.function.as_str(), &call.target) {
            ("_&&_" | "_||_", None) => return self.logical(call),
            (_, Some(target)) => {
                if let Some(qualified) = target.dotted().map(|prefix| format!("{prefix}.{}", call.function))
                    && is_known(&qualified)
                {
                    return self.function(at, &qualified, None, &call.arguments);
                }
            }
            _ => {}
        }
        self.function(at, &call.function, call.target.as_deref(), &call.arguments)
    }

    fn logical(&mut self, call: &Call) -> Checked {
        let mut nodes = Vec::new();
        for operand in &call.arguments {
            let (node, of) = self.check(operand);
            self.expect(operand.at, &of, &Type::Bool);
            nodes.push(node);
        }
        let node = if call.function == "_&&_" { Node::Every(nodes) } else { Node::Some(nodes) };
        (node, Type::Bool)
    }

    pub(super) fn expect(&mut self, at: usize, found: &Type, wanted: &Type) {
        if !self.findings.fits(found, wanted) {
            let found = self.findings.settle(found);
            self.mistake(at, format!("expected type '{wanted}' but found '{found}'"));
        }
    }

    fn function(&mut self, at: usize, name: &str, target: Option<&Expr>, arguments: &[Expr]) -> Checked {
        let mut nodes = Vec::new();
        let mut types = Vec::new();
        let is_lenient = usize::from(name == "format" && target.is_some());
        self.lenient = self.lenient.saturating_add(is_lenient);
        for argument in target.into_iter().chain(arguments) {
            let (node, of) = self.check(argument);
            nodes.push(node);
            types.push(of);
        }
        if is_lenient > 0 {
            self.check_format(at, target, arguments);
        }
        self.lenient = self.lenient.saturating_sub(is_lenient);
        if !is_known(name) {
            return self.mistake(at, format!("undeclared reference to '{name}'"));
        }
        let candidates = overloads(name, target.is_some());
        let Some(result) = self.resolve(candidates, &types) else {
            let message = no_overload(name, target.is_some(), &types, &self.findings);
            return self.mistake(at, message);
        };
        if let Err(message) = library::check_pattern(name, &nodes) {
            return self.mistake(at, message);
        }
        match library::folded(name, &nodes) {
            Ok(None) => {}
            Ok(Some(value)) => return (Node::Constant(value), result),
            Err(message) => return self.mistake(at, message),
        }
        match lowered(name, target.is_some(), candidates, nodes) {
            Some(node) => (node, result),
            None => self.mistake(at, format!("the function '{name}' is not supported")),
        }
    }

    /// The result of the overloads that fit; dynamic when they disagree.
    fn resolve(&mut self, candidates: &[Overload], given: &[Type]) -> Option<Type> {
        let mut result: Option<Type> = None;
        for candidate in candidates {
            let fresh = self.instance(candidate);
            if !self.findings.all_fit(given, &fresh.arguments) {
                continue;
            }
            let of = self.findings.resolve(&fresh.result);
            result = Some(match result {
                Some(before) if before != of => Type::Dyn,
                _ => of,
            });
        }
        result
    }

    /// An overload with an open type for each of its letters.
    fn instance(&mut self, overload: &Overload) -> Overload {
        let mut letters = Vec::new();
        let arguments = overload.arguments.iter().map(|of| self.opened(of, &mut letters)).collect();
        let result = self.opened(&overload.result, &mut letters);
        Overload { arguments, result }
    }

    fn opened(&mut self, of: &Type, letters: &mut Vec<(char, Type)>) -> Type {
        match of {
            Type::Parameter(letter) => {
                if let Some((_, open)) = letters.iter().find(|(known, _)| known == letter) {
                    return open.clone();
                }
                let open = self.findings.open();
                letters.push((*letter, open.clone()));
                open
            }
            Type::List(element) => Type::list(self.opened(element, letters)),
            Type::Map(key, value) => Type::map(self.opened(key, letters), self.opened(value, letters)),
            Type::Optional(value) => Type::optional(self.opened(value, letters)),
            other => other.clone(),
        }
    }
}

fn no_overload(name: &str, on_target: bool, types: &[Type], findings: &Findings) -> String {
    let mut types = types.iter().map(|of| findings.settle(of).to_string());
    let target = if on_target { types.next().map(|of| format!("{of}.")) } else { None };
    let rest: Vec<_> = types.collect();
    let target = target.unwrap_or_default();
    format!("found no matching overload for '{name}' applied to '{target}({})'", rest.join(", "))
}

/// The node of a call whose overload is known to exist.
fn lowered(
    name: &str,
    on_target: bool,
    overloads: &'static [Overload],
    arguments: Vec<Node>,
) -> Option<Node> {
    if let Some(operator) = Operator::named(name) {
        return Some(Node::Operation(operator, Box::new(arguments.try_into().ok()?)));
    }
    Some(match name {
        "!_" => Node::Not(Box::new(arguments.into_iter().next()?)),
        "-_" => Node::Negate(Box::new(arguments.into_iter().next()?)),
        "_?_:_" => Node::Conditional(Box::new(arguments.try_into().ok()?)),
        "or" | "orValue" if on_target => {
            Node::Otherwise { parts: Box::new(arguments.try_into().ok()?), is_value: name == "orValue" }
        }
        "_[_]" => Node::Index(Box::new(arguments.try_into().ok()?)),
        "_[?_]" => Node::IndexOptional(Box::new(arguments.try_into().ok()?)),
        _ => {
            let function = library::function(name, on_target)?;
            Node::Call(Box::new(CallNode { function, overloads, arguments }))
        }
    })
}
