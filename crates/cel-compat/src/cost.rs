//! The most that an evaluation costs, as the API server estimates it before it accepts a rule.
//!
//! cel-go's estimator walks the expression with its macros expanded, and Kubernetes' estimator prices the functions of
//! its library; both work with sizes, which come from the schema where a value comes from there. What a macro expands
//! to is in `cost/macros`, what a call costs in `cost/call`, sizes are in `cost/size`, and the way from `self` to a
//! value in `cost/path`.
//!
//! ```text
//! self.tags.all(t, t.startsWith('ab'))        tags: at most 8 items
//!
//!   self, .tags            2   one each for the name and for the field
//!   t.startsWith('ab')     2   one for the name; a tenth of the prefix's length, rounded up
//!   per item               5   the same, `result && …` 1, and `result is not false` 2
//!   result                 1
//!   in total              43 = 2 + 8 * 5 + 1
//! ```

mod call;
mod macros;
mod path;
mod size;

use std::collections::HashMap;

use super::declaration::TypeDeclaration;
use super::overload::Overload;
use super::syntax::{Expr, ExprKind, Select};
use super::types::Type;
use super::value::Value;

use self::path::Path;
use self::size::{Entry, Size};

/// A list or a map, made from nothing.
const LIST: u64 = 10;
const MAP: u64 = 30;

/// The function that a call means, and the overloads that fit.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) function: String,
    pub(super) is_member: bool,
    pub(super) fitting: Vec<&'static Overload>,
}

/// The most that `expr` costs, given the type of each part and the overloads of each call, by address.
pub(super) fn estimate(
    expr: &Expr,
    typed: &HashMap<usize, Type>,
    resolved: &HashMap<usize, Resolved>,
    root: &TypeDeclaration,
) -> u64 {
    Estimator { typed, resolved, root, locals: Vec::new() }.cost(expr).cost
}

struct Estimator<'a> {
    typed: &'a HashMap<usize, Type>,
    resolved: &'a HashMap<usize, Resolved>,
    root: &'a TypeDeclaration,
    /// The names bound by macros around the place estimated, the innermost last.
    locals: Vec<(String, Local)>,
}

/// The facts known about a name that a macro binds.
#[derive(Clone, Debug, Default)]
struct Local {
    path: Path,
    size: Option<Size>,
    entry: Option<Entry>,
}

/// The facts known about a part of an expression.
#[derive(Debug)]
struct Part<'e> {
    cost: u64,
    /// The type; dynamic when it is not known.
    of: Type,
    /// The way to the value from a name; empty for a value that is made.
    path: Path,
    /// The size that was computed for a call or a macro, and for all else once it was asked for.
    size: Option<Size>,
    /// The sizes of the parts of a list or a map that the expression makes.
    entry: Option<Entry>,
    /// The name of a variable.
    name: Option<&'e str>,
    /// The value of a literal.
    literal: Option<&'e Value>,
}

impl<'e> Part<'e> {
    const fn new(cost: u64, of: Type) -> Self {
        Self { cost, of, path: Path::none(), size: None, entry: None, name: None, literal: None }
    }

    fn sized(mut self, size: Size) -> Self {
        self.size = Some(size);
        self
    }
}

impl Estimator<'_> {
    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|(local, _)| local == name).map(|(_, local)| local)
    }

    fn cost<'e>(&mut self, expr: &'e Expr) -> Part<'e> {
        // A part without a type is a defect of the checker: no limit admits it.
        let Some(of) = self.typed.get(&expr.address()).cloned() else {
            return Part::new(u64::MAX, Type::Dyn);
        };
        match &expr.kind {
            ExprKind::Literal(value) => {
                let mut part = Part::new(0, of).sized(Size::of_literal(value));
                part.literal = Some(value);
                part
            }
            ExprKind::Name(name) => self.name(name, of),
            ExprKind::Select(select) => self.select(expr, select, of),
            ExprKind::Call(call) => match self.macro_call(call, &of) {
                Some(part) => part,
                None => self.call(expr, call, of),
            },
            ExprKind::List(elements) => self.list(elements.iter().map(|(_, element)| element), of),
            ExprKind::Map(entries) => self.map(entries, of),
            // No rule has one.
            ExprKind::Message(_) => Part::new(u64::MAX, of),
        }
    }

    fn name<'e>(&self, name: &'e str, of: Type) -> Part<'e> {
        let name = name.strip_prefix('.').unwrap_or(name);
        let path = self.local(name).map_or_else(|| Path::of(name), |local| local.path.clone());
        Part { path, name: Some(name), ..Part::new(1, of) }
    }

    fn select<'e>(&mut self, expr: &'e Expr, select: &'e Select, of: Type) -> Part<'e> {
        if of == Type::Type && expr.dotted().is_some_and(|name| super::kubernetes::type_name(&name).is_some())
        {
            return Part::new(1, of);
        }
        let operand = self.cost(&select.operand);
        if select.optional {
            // A call with the field's name as its second argument.
            return self.sized_by_type(Part::new(operand.cost.saturating_add(1), of));
        }
        let access = match operand.of {
            Type::Map(..) | Type::Struct(_) | Type::Object(_) => 1,
            Type::Opaque(name) if !name.starts_with("net.") => 1,
            _ => 0,
        };
        let path = operand.path.with(&select.field);
        Part { path, ..Part::new(operand.cost.saturating_add(access), of) }
    }

    fn list<'e, 'l>(&mut self, elements: impl Iterator<Item = &'l Expr>, of: Type) -> Part<'e> {
        let (mut cost, mut count, mut item) = (LIST, 0_u64, None);
        for element in elements {
            let mut element = self.cost(element);
            cost = cost.saturating_add(element.cost);
            count = count.saturating_add(1);
            item = Some(self.joined(item, &mut element));
        }
        let entry = Entry { is_list: true, key: Size::exactly(1), value: item.unwrap_or(Size::exactly(0)) };
        Part { entry: Some(entry), ..Part::new(cost, of).sized(Size::exactly(count)) }
    }

    fn map<'e>(&mut self, entries: &[(bool, Expr, Expr)], of: Type) -> Part<'e> {
        let (mut cost, mut count, mut key_size, mut value_size) = (MAP, 0_u64, None, None);
        for (_, key, value) in entries {
            let (mut key, mut value) = (self.cost(key), self.cost(value));
            cost = cost.saturating_add(key.cost).saturating_add(value.cost);
            count = count.saturating_add(1);
            key_size = Some(self.joined(key_size, &mut key));
            value_size = Some(self.joined(value_size, &mut value));
        }
        let nothing = Size::exactly(0);
        let entry =
            Entry { is_list: false, key: key_size.unwrap_or(nothing), value: value_size.unwrap_or(nothing) };
        Part { entry: Some(entry), ..Part::new(cost, of).sized(Size::exactly(count)) }
    }

    fn joined(&self, before: Option<Size>, part: &mut Part<'_>) -> Size {
        let size = self.size_or_unknown(part);
        before.map_or(size, |before| before.union(size))
    }

    // === sizes ===

    /// The size of a part: the computed one, the declared one, the one of its type, or the one of what its name is
    /// bound to. A size that was found once stays.
    fn size(&self, part: &mut Part<'_>) -> Option<Size> {
        if part.size.is_none() {
            let bound = part.name.and_then(|name| self.local(name));
            let path = bound.map_or(&part.path, |bound| &bound.path);
            part.size = self.declared_size(path);
            if part.size.is_none() && part.of.is_scalar() {
                return Some(Size::exactly(1));
            }
            if part.size.is_none() {
                return bound.and_then(|bound| bound.size);
            }
        }
        part.size
    }

    fn size_or_unknown(&self, part: &mut Part<'_>) -> Size {
        self.size(part).unwrap_or(Size::UNKNOWN)
    }

    fn sized_by_type<'e>(&self, mut part: Part<'e>) -> Part<'e> {
        part.size = self.size(&mut part);
        part
    }

    /// The sizes of the parts of a value, as far as the expression makes it.
    fn entry(&self, part: &Part<'_>) -> Option<Entry> {
        part.entry.or_else(|| self.local(part.name?)?.entry)
    }

    /// Returns what the schema says about the size of a value, when a path leads to it.
    ///
    /// The first step is taken for `self` whatever it is. So a name bound to the elements of a list literal, whose
    /// path is `@items` alone, has the declared size of `self`: cel-go's and Kubernetes' estimators disagree about
    /// what a path begins with, and the API server's verdict includes that.
    fn declared_size(&self, path: &Path) -> Option<Size> {
        let steps = path.steps()?;
        let mut here = Some(self.root);
        let mut is_key = false;
        for step in steps.iter().skip(1) {
            let declared = here.filter(|_| !is_key)?;
            match step.as_ref() {
                "@items" | "@values" => here = Some(declared.element()?),
                "@keys" if declared.is_map() => is_key = true,
                "@keys" => return None,
                name => here = Some(declared.field(name)?),
            }
        }
        // The keys of a map are strings of which nothing is declared, which counts as length 0.
        let max = if is_key { 0 } else { here?.max_elements() };
        Some(Size { min: 0, max })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parser::parse;
    use super::*;

    #[test]
    fn what_the_checker_left_out_is_not_free() {
        let root = TypeDeclaration::string(None);
        let expr = parse("size(self)", true).unwrap();
        let none = HashMap::new();
        assert_eq!(estimate(&expr, &none, &HashMap::new(), &root), u64::MAX);
        let types = |expr: &Expr| HashMap::from([(expr.address(), Type::Int)]);
        assert_eq!(estimate(&expr, &types(&expr), &HashMap::new(), &root), u64::MAX);
    }
}
