//! Calls: which overload of a function they mean, and what that yields.

use super::super::cost::Resolved;
use super::super::issue::Issue;
use super::super::library;
use super::super::node::{Call as CallNode, Node};
use super::super::operator::Operator;
use super::super::overload::{Overload, is_known, overloads};
use super::super::syntax::{Call, Expr, ExprKind};
use super::super::types::Type;
use super::super::value::Value;
use super::{Checked, Checker, undeclared};

impl Checker<'_> {
    pub(super) fn call(&mut self, expr: &Expr, call: &Call) -> Checked {
        if let Some(expanded) = self.expand(expr.at, call) {
            return expanded;
        }
        match (call.function.as_str(), &call.target) {
            ("_&&_" | "_||_", None) => return self.logical(call),
            (_, Some(target)) => {
                if let Some(qualified) = target.dotted().map(|prefix| format!("{prefix}.{}", call.function))
                    && is_known(&qualified)
                    && (qualified != "jsonpatch.escapeKey" || self.environment.has_patch_types())
                {
                    return self.function(expr, &qualified, None, &call.arguments);
                }
            }
            _ => {}
        }
        self.function(expr, &call.function, call.target.as_deref(), &call.arguments)
    }

    fn logical(&mut self, call: &Call) -> Checked {
        let mut nodes = Vec::new();
        let mut result = Type::Bool;
        for operand in &call.arguments {
            let (node, of) = self.check(operand);
            if !self.expect(operand.at, &of, &Type::Bool) {
                result = Type::Error;
            }
            nodes.push(node);
        }
        let node = if call.function == "_&&_" { Node::Every(nodes) } else { Node::Some(nodes) };
        (node, result)
    }

    /// Reports a type that does not fit.
    pub(super) fn expect(&mut self, at: usize, found: &Type, wanted: &Type) -> bool {
        let fits = self.mapping.fits(found, wanted);
        if !fits {
            let (found, wanted) = (self.printed_open(found), self.printed_open(wanted));
            self.issue(at, format!("expected type '{wanted}' but found '{found}'"));
        }
        fits
    }

    fn function(&mut self, expr: &Expr, name: &str, target: Option<&Expr>, arguments: &[Expr]) -> Checked {
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
            self.check_format(expr.at, target, arguments);
        }
        self.lenient = self.lenient.saturating_sub(is_lenient);
        let written = name;
        let name = name.strip_prefix('.').unwrap_or(name);
        if !is_known(name) {
            return self.issue(expr.at, undeclared(written));
        }
        let candidates = overloads(name, target.is_some());
        let Some((result, fitting)) = self.resolve(candidates, &types) else {
            return self.no_overload(expr.at, name, target.is_some(), &types);
        };
        if self.environment.root().is_some() {
            let is_member = target.is_some();
            self.resolved.insert(expr.address(), Resolved { function: name.to_owned(), is_member, fitting });
        }
        self.check_constants(name, arguments, &nodes);
        match folded(name, &nodes) {
            Ok(None) => {}
            Ok(Some(value)) => return (Node::Constant(value), result),
            Err(message) => {
                self.found.constants.push(Issue::new(expr.at, message));
                return (Node::Constant(Value::Null), result);
            }
        }
        match lowered(name, target.is_some(), candidates, &result, nodes) {
            Some(node) => (node, result),
            // A test calls every overload, so this is a defect of this crate.
            None => self.issue(expr.at, format!("internal error: the function '{name}' has no code")),
        }
    }

    /// Literals that can never be evaluated: invalid times and patterns. cel-go's validators look at the first
    /// argument behind the target, which in `matches(text, pattern)` is the text.
    fn check_constants(&mut self, name: &str, arguments: &[Expr], nodes: &[Node]) {
        let literal = match arguments.first() {
            Some(Expr { at, kind: ExprKind::Literal(literal), .. }) => Some((*at, literal)),
            _ => None,
        };
        let is_valid = match (name, literal) {
            ("duration" | "timestamp", Some(_)) => folded(name, nodes).is_ok(),
            ("matches", Some((_, Value::String(pattern)))) => library::check_pattern(pattern).is_ok(),
            _ => true,
        };
        if let (false, Some((at, _))) = (is_valid, literal) {
            return self.found.literals.push(Issue::new(at, format!("invalid {name} argument")));
        }
        // The keys that cel-go can look up are strings, numbers and bools.
        let unqualified = match (name, nodes) {
            ("_[_]", [_, Node::Constant(Value::Bytes(_))]) => Some("types.Bytes"),
            ("_[_]", [_, Node::Constant(Value::Null)]) => Some("types.Null"),
            ("_[_]", [_, Node::Map(entries)]) if entries.is_empty() => Some("*types.baseMap"),
            _ => None,
        };
        if let Some(of) = unqualified {
            self.found.constants.push(Issue::new(0, format!("invalid qualifier type: {of}")));
        }
        let pattern = match (name, nodes) {
            ("matches" | "find" | "findAll", [_, Node::Constant(Value::String(pattern)), ..]) => pattern,
            _ => return,
        };
        if let Err(message) = library::check_pattern(pattern) {
            let at = arguments.last().map_or(0, |last| last.at);
            self.found.constants.push(Issue::new(at, message));
        }
    }

    pub(super) fn no_overload(&mut self, at: usize, name: &str, on_target: bool, types: &[Type]) -> Checked {
        let mut types = types.iter().map(|of| self.printed(of));
        let target = if on_target { types.next().map(|of| format!("{of}.")) } else { None };
        let rest: Vec<_> = types.collect();
        let target = target.unwrap_or_default();
        let given = format!("{target}({})", rest.join(", "));
        self.issue(at, format!("found no matching overload for '{name}' applied to '{given}'"))
    }

    /// The result of the overloads that fit, dynamic when they disagree, and these overloads.
    pub(super) fn resolve(
        &mut self,
        candidates: &'static [Overload],
        given: &[Type],
    ) -> Option<(Type, Vec<&'static Overload>)> {
        let mut result: Option<Type> = None;
        let mut fitting = Vec::new();
        for candidate in candidates {
            let fresh = self.instance(candidate);
            if !self.mapping.all_fit(given, &fresh.arguments) {
                continue;
            }
            fitting.push(candidate);
            let of = self.mapping.resolve(&fresh.result);
            result = Some(match result {
                Some(before) if before != of => Type::Dyn,
                _ => of,
            });
        }
        result.map(|result| (result, fitting))
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
                let open = self.mapping.open();
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

/// The value of a conversion of a constant, see [`library::folded`].
fn folded(name: &str, arguments: &[Node]) -> Result<Option<Value>, String> {
    match arguments {
        [Node::Constant(constant)] => library::folded(name, constant),
        _ => Ok(None),
    }
}

/// The node of a call whose overload is known to exist.
fn lowered(
    name: &str,
    on_target: bool,
    overloads: &'static [Overload],
    result: &Type,
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
            let function = if name == "sum" { library::sum_of(result) } else { library::function(name)? };
            Node::Call(Box::new(CallNode { function, overloads, arguments }))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::overload::{all, is_known};
    use super::*;

    #[test]
    fn each_overload_has_code_and_each_code_an_overload() {
        for (name, on_target, overload) in all() {
            // Logic and optional selection are built before a function is looked up.
            if ["_&&_", "_||_", "_?._"].contains(&name) {
                continue;
            }
            let arguments = overload.arguments.iter().map(|_| Node::Constant(Value::Null)).collect();
            assert!(
                lowered(name, on_target, overloads(name, on_target), &Type::Dyn, arguments).is_some(),
                "{name}"
            );
        }
        for name in library::names() {
            assert!(is_known(name), "{name}");
        }
    }
}
