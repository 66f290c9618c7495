//! The macros of CEL and of Kubernetes: calls that bind names, recognised by name, target and number of arguments.

use super::super::node::{Fold, Node, OptionalMap, Shape};
use super::super::parser::{Form, bound, form};
use super::super::syntax::{Call, Expr, ExprKind};
use super::super::types::Type;
use super::{Checked, Checker};

/// A macro in an expression.
struct Place<'e> {
    at: usize,
    target: &'e Expr,
    function: &'e str,
}

/// The type of what a macro goes over, and of the first name it binds.
struct Range {
    of: Type,
    first: Type,
}

impl Checker<'_> {
    /// The call as a macro; `None` when it is not one.
    pub(super) fn expand(&mut self, at: usize, call: &Call) -> Option<Checked> {
        let Some(target) = &call.target else {
            return match (call.function.as_str(), call.arguments.as_slice()) {
                ("has", [argument]) => self.has(at, argument),
                _ => None,
            };
        };
        let place = Place { at, target, function: &call.function };
        if let ("optMap" | "optFlatMap", [name, body]) = (call.function.as_str(), call.arguments.as_slice()) {
            return Some(self.optional_map(&place, name, body));
        }
        let (form, names, has_filter) = form(&call.function, call.arguments.len())?;
        let (names, bodies) = call.arguments.split_at_checked(names)?;
        Some(self.fold(&place, form, names, has_filter, bodies))
    }

    fn has(&mut self, at: usize, argument: &Expr) -> Option<Checked> {
        let ExprKind::Select(select) = &argument.kind else { return None };
        // A declared variable is always there; an undeclared one is an issue.
        if self.variable(argument.at, select).is_some() {
            return Some((Node::Constant(true.into()), Type::Bool));
        }
        let (operand, of) = self.check(&select.operand);
        let field = self.property(&of, &select.field);
        self.field(at, &of, &field);
        let node = Node::Has { operand: Box::new(operand), field };
        Some((node, Type::Bool))
    }

    /// `target.hasValue() ? optional.of(body with target.value() as name) : optional.none()`
    fn optional_map(&mut self, place: &Place<'_>, name: &Expr, body: &Expr) -> Checked {
        let is_flat = place.function == "optFlatMap";
        let (target, of) = self.check(place.target);
        let inner = self.mapping.open();
        let mut bound_to = inner.clone();
        if !self.mapping.fits(&of, &Type::optional(inner)) {
            for function in ["hasValue", "value"] {
                bound_to = self.no_overload(place.at, function, true, std::slice::from_ref(&of)).1;
            }
        }
        let slot = self.locals.len();
        let bound = bound(name);
        let bound_to = self.mapping.settle(&bound_to);
        self.locals.push((bound, bound_to));
        let (body, result) = self.check(body);
        self.locals.truncate(slot);
        let value = self.mapping.open();
        let none = Type::optional(value);
        if is_flat && !self.mapping.fits(&result, &none) {
            self.no_overload(place.at, "_?_:_", false, &[Type::Bool, result.clone(), none]);
        }
        let node = Node::Optional(Box::new(OptionalMap { target, slot, body, is_flat }));
        (node, if is_flat { result } else { Type::optional(result) })
    }

    fn fold(
        &mut self,
        place: &Place<'_>,
        form: Form,
        names: &[Expr],
        has_filter: bool,
        bodies: &[Expr],
    ) -> Checked {
        let (range, of) = self.check(place.target);
        let is_pair = names.len() == 2;
        let of = self.mapping.resolve(&of);
        // What sortBy goes over is a name that the macro makes, at its own place.
        let range_at = if form == Form::SortBy { place.at } else { place.target.at };
        let (first, second) = self.bound_types(range_at, &of, is_pair);
        let slot = self.locals.len();
        let bound: Vec<_> = names.iter().map(bound).collect();
        self.locals.extend(bound.into_iter().zip([first.clone(), second]));
        let (filter, body) = match bodies {
            [filter, body] if has_filter => (Some(self.check(filter)), body),
            [body, ..] => (None, body),
            [] => return self.issue(place.at, "missing argument"),
        };
        let checked = self.check(body);
        let range_of = Range { of, first };
        let (shape, result) = self.shape(place.at, body.at, form, filter, checked, &range_of);
        self.locals.truncate(slot);
        let fold = Fold { range, slot, is_pair, shape };
        (Node::Fold(Box::new(fold)), result)
    }

    /// The types of the names that a macro binds over a range.
    fn bound_types(&mut self, at: usize, range: &Type, is_pair: bool) -> (Type, Type) {
        match range {
            Type::List(element) if is_pair => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Dyn),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Error => (Type::Dyn, Type::Dyn),
            Type::Open(_) => {
                self.mapping.fits(&Type::Dyn, range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let other = self.printed(other);
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.issue(at, message);
                (Type::Error, Type::Error)
            }
        }
    }

    /// The condition of a choice between two values of a type, as macros with a filter make one.
    fn chooses(&mut self, at: usize, condition: &Type, of: &Type) {
        if !self.mapping.fits(condition, &Type::Bool) {
            self.no_overload(at, "_?_:_", false, &[condition.clone(), of.clone(), of.clone()]);
        }
    }

    fn shape(
        &mut self,
        at: usize,
        body_at: usize,
        form: Form,
        filter: Option<Checked>,
        (body, of): Checked,
        range: &Range,
    ) -> (Shape, Type) {
        let elements = Type::list(range.first.clone());
        let result = match form {
            Form::All | Form::Exists => {
                self.expect(body_at, &of, &Type::Bool);
                Type::Bool
            }
            Form::ExistsOne => {
                self.chooses(at, &of, &Type::Int);
                Type::Bool
            }
            Form::Filter => {
                self.chooses(at, &of, &elements);
                elements
            }
            Form::List => Type::list(of.clone()),
            Form::Map => Type::map(range.first.clone(), of.clone()),
            Form::Entries => self.entries(at, &of),
            Form::SortBy => self.sorted(at, &of, range, elements),
        };
        let filter = filter.map(|(filter, condition)| {
            self.chooses(at, &condition, &result);
            filter
        });
        let shape = match form {
            Form::All => Shape::All(body),
            Form::Exists => Shape::Exists(body),
            Form::ExistsOne => Shape::ExistsOne(body),
            Form::Filter => Shape::Filter(body),
            Form::List => Shape::List(filter, body),
            Form::Map => Shape::Map(filter, body),
            Form::Entries => Shape::Entries(filter, body),
            Form::SortBy => Shape::SortBy(body),
        };
        (shape, result)
    }

    /// The map that the entries of maps of type `of` make.
    fn entries(&mut self, at: usize, of: &Type) -> Type {
        let (key, value) = (self.mapping.open(), self.mapping.open());
        let entries = Type::map(key, value);
        if !self.mapping.fits(of, &entries) {
            self.no_overload(at, "cel.@mapInsert", false, &[entries.clone(), of.clone()]);
        }
        self.mapping.resolve(&entries)
    }

    /// The list sorted by values of type `of`. Sorted by what is not known, the list is not known either.
    fn sorted(&mut self, at: usize, of: &Type, range: &Range, elements: Type) -> Type {
        let by = self.mapping.settle(of);
        let is_sortable = matches!(
            by,
            Type::Dyn
                | Type::Error
                | Type::Bool
                | Type::Int
                | Type::Uint
                | Type::Double
                | Type::String
                | Type::Bytes
                | Type::Duration
                | Type::Timestamp
        );
        let is_list = matches!(range.of, Type::List(_) | Type::Dyn | Type::Error | Type::Open(_));
        if !is_sortable || !is_list {
            let given = [range.of.clone(), Type::list(by)];
            return self.no_overload(at, "@sortByAssociatedKeys", true, &given).1;
        }
        if by == Type::Dyn { Type::Dyn } else { elements }
    }
}
