//! The costs of macros: the loops and bindings that cel-go expands them to.
//!
//! ```text
//! r.all(x, p)          for x in r, result = true,  while not_strictly_false(result):   result && p      → result
//! r.exists(x, p)       for x in r, result = false, while not_strictly_false(!result):  result || p      → result
//! r.exists_one(x, p)   for x in r, result = 0:      p ? result + 1 : result                             → result == 1
//! r.filter(x, p)       for x in r, result = []:     p ? result + [x] : result                           → result
//! r.map(x, f, e)       for x in r, result = []:     f ? result + [e] : result                           → result
//! o.optMap(x, e)       o.hasValue() ? optional.of(e with x = o.value()) : optional.none()
//! l.sortBy(x, e)       i.@sortByAssociatedKeys(i.map(x, e)) with i = l
//! ```
//!
//! A name costs 1, a call 1 unless `cost/call` says otherwise, a new list 10, a new map 30.

use super::super::parser::{Form, bound, form};
use super::super::syntax::{Call, Expr, ExprKind};
use super::super::types::Type;
use super::path::Path;
use super::size::{Entry, Size};
use super::{Estimator, LIST, Local, MAP, Part, call};

/// The name of the list that `sortBy` binds; no expression can use it.
const SORTED: &str = "@__sortBy_input__";

/// The cost and the value of one step of a loop.
struct Loop {
    /// The cost of what the result begins with.
    begin: u64,
    /// The cost of one step with its condition.
    step: u64,
    /// The cost of what the loop yields.
    result: u64,
    /// The size of the result and of its parts.
    size: LoopSize,
}

/// The size of what a loop yields.
enum LoopSize {
    /// A bool or a number.
    Scalar,
    /// As many parts as the range has, of these sizes.
    Range(Option<Entry>),
}

impl Estimator<'_> {
    /// The cost of a call that is a macro; `None` for all others.
    pub(super) fn macro_call<'e>(&mut self, call: &'e Call, of: &Type) -> Option<Part<'e>> {
        let arguments = call.arguments.as_slice();
        let Some(target) = &call.target else {
            return match (call.function.as_str(), arguments) {
                ("has", [Expr { kind: ExprKind::Select(select), .. }]) => {
                    let cost = self.cost(&select.operand).cost;
                    Some(Part::new(cost, Type::Bool))
                }
                _ => None,
            };
        };
        if let ("optMap" | "optFlatMap", [name, body]) = (call.function.as_str(), arguments) {
            return Some(self.optional_map(target, name, body, call.function == "optFlatMap", of));
        }
        let (form, names, has_filter) = form(&call.function, arguments.len())?;
        let (names, bodies) = arguments.split_at_checked(names)?;
        let (filter, body) = match bodies {
            [filter, body] if has_filter => (Some(filter), body),
            [body, ..] => (None, body),
            [] => return None,
        };
        if form == Form::SortBy {
            return Some(self.sort_by(target, names, body, of));
        }
        let range = self.cost(target);
        Some(self.fold(range, form, names, filter, body, of))
    }

    fn fold<'e>(
        &mut self,
        mut range: Part<'_>,
        form: Form,
        names: &[Expr],
        filter: Option<&Expr>,
        body: &Expr,
        of: &Type,
    ) -> Part<'e> {
        let outside = self.locals.len();
        self.bind(&range, names);
        let element = match &range.of {
            Type::List(element) | Type::Map(element, _) => (**element).clone(),
            _ => Type::Dyn,
        };
        let turn = self.turn(form, filter, body, element);
        self.locals.truncate(outside);
        let times = self.size_or_unknown(&mut range);
        let cost = range.cost.saturating_add(turn.begin).saturating_add(turn.result);
        let cost = cost.saturating_add(times.max.saturating_mul(turn.step));
        let part = Part::new(cost, of.clone());
        match turn.size {
            LoopSize::Scalar => part.sized(Size::exactly(1)),
            LoopSize::Range(entry) => Part { entry, ..part.sized(times) },
        }
    }

    /// Binds the names of a macro to the parts of a range.
    fn bind(&mut self, range: &Part<'_>, names: &[Expr]) {
        let entry = self.entry(range);
        let is_list = entry.map_or(matches!(range.of, Type::List(_)), |entry| entry.is_list);
        let key = (if is_list { "@indices" } else { "@keys" }, entry.map(|entry| entry.key));
        let value = (if is_list { "@items" } else { "@values" }, entry.map(|entry| entry.value));
        let parts = match names.len() {
            1 if is_list => vec![value],
            1 => vec![key],
            _ => vec![key, value],
        };
        for (name, (step, size)) in names.iter().zip(parts) {
            let path = range.path.with(step);
            self.locals.push((bound(name), Local { path, size, entry: None }));
        }
    }

    /// One step of the loop of a macro.
    fn turn(&mut self, form: Form, filter: Option<&Expr>, body: &Expr, element: Type) -> Loop {
        let filter = filter.map(|filter| self.cost(filter).cost);
        let mut body = if form == Form::Filter { self.filtered(body, element) } else { self.cost(body) };
        let chosen = |step: u64| match filter {
            Some(filter) => filter.saturating_add(step.max(1)),
            None => step,
        };
        let plus = |more: u64| body.cost.saturating_add(more);
        match form {
            Form::All => Loop { begin: 0, step: plus(3), result: 1, size: LoopSize::Scalar },
            Form::Exists => Loop { begin: 0, step: plus(4), result: 1, size: LoopSize::Scalar },
            Form::ExistsOne => Loop { begin: 0, step: plus(2), result: 2, size: LoopSize::Scalar },
            Form::Map => Loop { begin: MAP, step: chosen(plus(3)), result: 1, size: LoopSize::Range(None) },
            Form::Entries => {
                Loop { begin: MAP, step: chosen(plus(2)), result: 1, size: LoopSize::Range(None) }
            }
            Form::Filter | Form::List | Form::SortBy => {
                let step = if form == Form::Filter { plus(13) } else { chosen(plus(12)) };
                let nothing = Entry { is_list: true, key: Size::exactly(1), value: Size::exactly(0) };
                let item = self.size_or_unknown(&mut body);
                let made = Entry { value: item, ..nothing };
                Loop { begin: LIST, step, result: 1, size: LoopSize::Range(Some(nothing.union(made))) }
            }
        }
    }

    /// The condition of `filter`, with the size of the element, which is what the result is made of.
    fn filtered<'e>(&mut self, condition: &Expr, element: Type) -> Part<'e> {
        let cost = self.cost(condition).cost;
        let bound = self.locals.last().map(|(name, local)| (name.clone(), local.path.clone()));
        let size = bound.and_then(|(name, path)| {
            self.size(&mut Part { path, name: Some(&name), ..Part::new(1, element) })
        });
        Part { size, ..Part::new(cost, Type::Dyn) }
    }

    fn optional_map<'e>(
        &mut self,
        target: &'e Expr,
        name: &'e Expr,
        body: &'e Expr,
        is_flat: bool,
        of: &Type,
    ) -> Part<'e> {
        let target = self.cost(target);
        let bound_of = match &target.of {
            Type::Optional(inner) => (**inner).clone(),
            _ => Type::Dyn,
        };
        let size = bound_of.is_scalar().then_some(Size::exactly(1));
        self.locals.push((bound(name), Local { path: Path::none(), size, entry: None }));
        let mut body = self.cost(body);
        let body_size = self.size(&mut body);
        self.locals.pop();
        // The binding begins with an empty list and evaluates the optional a second time.
        let binding = LIST.saturating_add(target.cost).saturating_add(1).saturating_add(body.cost);
        let present = if is_flat { binding } else { binding.saturating_add(1) };
        let cost = target.cost.saturating_add(1).saturating_add(present.max(1));
        let by_type = of.is_scalar().then_some(Size::exactly(1));
        let present_size = if is_flat { body_size } else { by_type };
        let (present_size, none) = (present_size.unwrap_or(Size::UNKNOWN), by_type.unwrap_or(Size::UNKNOWN));
        Part::new(cost, of.clone()).sized(present_size.union(none))
    }

    fn sort_by<'e>(&mut self, target: &Expr, names: &[Expr], body: &Expr, of: &Type) -> Part<'e> {
        let mut target = self.cost(target);
        let entry = self.entry(&target);
        let size = self.size(&mut target);
        self.locals.push((SORTED.to_owned(), Local { path: target.path.clone(), size, entry }));
        let list = self.name(SORTED, target.of.clone());
        let key = self.typed.get(&body.address()).cloned().unwrap_or(Type::Dyn);
        let mut keys = self.fold(list, Form::List, names, None, body, &Type::list(Type::Dyn));
        self.locals.pop();
        let size = self.size_or_unknown(&mut keys);
        let (sorting, size) = call::sorting(size, matches!(key, Type::String | Type::Bytes | Type::Dyn));
        // The binding, the list as target, its keys as argument.
        let cost = LIST.saturating_add(target.cost).saturating_add(1);
        Part::new(cost.saturating_add(keys.cost).saturating_add(sorting), of.clone()).sized(size)
    }
}
