//! The macros of CEL and of Kubernetes: calls that bind names, recognised by name, target and number of arguments.

use super::super::node::{Fold, Node, OptionalMap, Shape};
use super::super::syntax::{Call, Expr, ExprKind};
use super::super::types::Type;
use super::{Checked, Checker};

/// How a macro treats its body.
#[derive(Clone, Copy)]
enum Form {
    All,
    Exists,
    ExistsOne,
    Filter,
    List,
    Map,
    Entries,
    SortBy,
}

/// A macro over a range: its form, its number of names, and whether a filter stands before the body.
fn form(function: &str, arguments: usize) -> Option<(Form, usize, bool)> {
    Some(match (function, arguments) {
        ("all", 2) => (Form::All, 1, false),
        ("all", 3) => (Form::All, 2, false),
        ("exists", 2) => (Form::Exists, 1, false),
        ("exists", 3) => (Form::Exists, 2, false),
        ("exists_one", 2) => (Form::ExistsOne, 1, false),
        ("exists_one" | "existsOne", 3) => (Form::ExistsOne, 2, false),
        ("filter", 2) => (Form::Filter, 1, false),
        ("map", 2) => (Form::List, 1, false),
        ("map", 3) => (Form::List, 1, true),
        ("transformList", 3) => (Form::List, 2, false),
        ("transformList", 4) => (Form::List, 2, true),
        ("transformMap", 3) => (Form::Map, 2, false),
        ("transformMap", 4) => (Form::Map, 2, true),
        ("transformMapEntry", 3) => (Form::Entries, 2, false),
        ("transformMapEntry", 4) => (Form::Entries, 2, true),
        ("sortBy", 2) => (Form::SortBy, 1, false),
        _ => return None,
    })
}

impl Checker<'_> {
    /// The call as a macro; `None` when it is none.
    pub(super) fn expand(&mut self, at: usize, call: &Call) -> Option<Checked> {
        let Some(target) = &call.target else {
            return match (call.function.as_str(), call.arguments.as_slice()) {
                ("has", [argument]) => Some(self.has(argument)),
                _ => None,
            };
        };
        if let ("optMap" | "optFlatMap", [name, body]) = (call.function.as_str(), call.arguments.as_slice()) {
            return Some(self.optional_map(target, name, body, call.function == "optFlatMap"));
        }
        let (form, names, has_filter) = form(&call.function, call.arguments.len())?;
        let (names, bodies) = call.arguments.split_at_checked(names)?;
        Some(self.fold(at, target, form, names, has_filter, bodies))
    }

    fn has(&mut self, argument: &Expr) -> Checked {
        let ExprKind::Select(select) = &argument.kind else {
            return self
                .mistake(argument.at, "invalid argument to has() macro: it takes a selection such as a.b");
        };
        if select.optional {
            return self.mistake(argument.at, "invalid argument to has() macro: `.?` is a test already");
        }
        // A declared variable is always there; an undeclared one is a mistake.
        if self.variable(argument.at, select).is_some() {
            return (Node::Constant(true.into()), Type::Bool);
        }
        let (operand, of) = self.check(&select.operand);
        self.field(argument.at, &of, &select.field);
        let node = Node::Has { operand: Box::new(operand), field: select.field.clone() };
        (node, Type::Bool)
    }

    /// The simple name that a macro binds.
    fn bound(&mut self, name: &Expr) -> String {
        match &name.kind {
            ExprKind::Name(name) => name.clone(),
            _ => {
                self.mistake(name.at, "argument must be a simple name");
                String::new()
            }
        }
    }

    fn optional_map(&mut self, target: &Expr, name: &Expr, body: &Expr, is_flat: bool) -> Checked {
        let (target_node, of) = self.check(target);
        let inner = self.findings.open();
        self.expect(target.at, &of, &Type::optional(inner.clone()));
        let slot = self.locals.len();
        let bound = self.bound(name);
        let inner = self.findings.settle(&inner);
        self.locals.push((bound, inner));
        let (body_node, result) = self.check(body);
        self.locals.truncate(slot);
        if is_flat {
            let value = self.findings.open();
            self.expect(body.at, &result, &Type::optional(value));
        }
        let node =
            Node::Optional(Box::new(OptionalMap { target: target_node, slot, body: body_node, is_flat }));
        (node, if is_flat { result } else { Type::optional(result) })
    }

    fn fold(
        &mut self,
        at: usize,
        target: &Expr,
        form: Form,
        names: &[Expr],
        has_filter: bool,
        bodies: &[Expr],
    ) -> Checked {
        let (range, of) = self.check(target);
        let is_pair = names.len() == 2;
        let of = self.findings.resolve(&of);
        let (first, second) = self.bound_types(target.at, &of, is_pair);
        let slot = self.locals.len();
        let bound: Vec<_> = names.iter().map(|name| self.bound(name)).collect();
        if let [a, b] = bound.as_slice()
            && a == b
        {
            self.mistake(at, format!("duplicate variable name: {a}"));
        }
        self.locals.extend(bound.into_iter().zip([first.clone(), second]));
        let (filter, body) = match bodies {
            [filter, body] if has_filter => (Some(self.condition(filter)), body),
            [body, ..] => (None, body),
            [] => return self.mistake(at, "missing argument"),
        };
        let body_at = body.at;
        let (body, result) = self.check(body);
        let (shape, result) = self.shape(form, body_at, filter, (body, result), &first, &of);
        self.locals.truncate(slot);
        let fold = Fold { range, slot, is_pair, shape };
        (Node::Fold(Box::new(fold)), result)
    }

    fn condition(&mut self, filter: &Expr) -> Node {
        let (node, of) = self.check(filter);
        self.expect(filter.at, &of, &Type::Bool);
        node
    }

    /// The types of the names that a macro binds over a range.
    fn bound_types(&mut self, at: usize, range: &Type, is_pair: bool) -> (Type, Type) {
        match range {
            Type::List(element) if is_pair => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Dyn),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn => (Type::Dyn, Type::Dyn),
            Type::Open(_) => {
                self.findings.fits(&Type::Dyn, range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                self.mistake(at, format!("expression of type '{other}' cannot be range of a comprehension"));
                (Type::Dyn, Type::Dyn)
            }
        }
    }

    fn shape(
        &mut self,
        form: Form,
        at: usize,
        filter: Option<Node>,
        (body, of): Checked,
        first: &Type,
        range: &Type,
    ) -> (Shape, Type) {
        if matches!(form, Form::All | Form::Exists | Form::ExistsOne | Form::Filter) {
            self.expect(at, &of, &Type::Bool);
        }
        match form {
            Form::All => (Shape::All(body), Type::Bool),
            Form::Exists => (Shape::Exists(body), Type::Bool),
            Form::ExistsOne => (Shape::ExistsOne(body), Type::Bool),
            Form::Filter => (Shape::Filter(body), Type::list(first.clone())),
            Form::List => (Shape::List(filter, body), Type::list(of)),
            Form::Map => (Shape::Map(filter, body), Type::map(first.clone(), of)),
            Form::Entries => {
                let (key, value) = (self.findings.open(), self.findings.open());
                let entries = Type::map(key, value);
                self.expect(at, &of, &entries);
                (Shape::Entries(filter, body), self.findings.resolve(&entries))
            }
            Form::SortBy => {
                let sortable = matches!(
                    self.findings.settle(&of),
                    Type::Dyn
                        | Type::Bool
                        | Type::Int
                        | Type::Uint
                        | Type::Double
                        | Type::String
                        | Type::Bytes
                        | Type::Duration
                        | Type::Timestamp
                );
                if !sortable || matches!(range, Type::Map(..)) {
                    self.mistake(at, "sortBy takes a list and an expression that can be ordered");
                }
                // Sorted by what is not known, the list is not known either.
                let is_known = self.findings.settle(&of) != Type::Dyn;
                let result = if is_known { Type::list(first.clone()) } else { Type::Dyn };
                (Shape::SortBy(body), result)
            }
        }
    }
}
