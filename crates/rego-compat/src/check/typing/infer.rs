//! Types of terms, and the types that follow from them for the variables in a term.
//!
//! ```text
//! [x, "a"] = [1, y]       x: number, y: string
//! {"k": v} = {"k": [1]}   v: array of a number
//! [x, "a"] = [1, 2]       a type error: a string is never a number
//! [x, y] = input.pair     x and y: any, as everything in `input`
//! ```
//!
//! Source: OPA's `unify2` and `unify1` (`ast/check.go`). A type that is not known yet, or has a part that is not, is *nil* there.

use crate::value::Value;

use crate::desugar::same_key;
use crate::ir::Operand;

use super::super::types::{ANY, Type, is_nil, or, select, unifies, values};
use super::Checker;

impl Checker<'_> {
    /// Returns the type of a term, as far as it is known.
    pub(super) fn type_of(&mut self, operand: &Operand) -> Option<Type> {
        match operand {
            Operand::Const(value) => Some(Type::of_value(value)),
            Operand::Var(slot) => self.vars.get(*slot).cloned(),
            Operand::Array(items) => {
                Some(Type::Array(items.iter().map(|item| self.type_of(item)).collect(), None).bounded())
            }
            Operand::Set(items) => {
                let of = items.iter().fold(None, |sum, item| or(sum, self.type_of(item)));
                Some(Type::Set(of.map(Box::new)))
            }
            Operand::Object(pairs) => {
                let (mut known, mut other) = (Vec::new(), None);
                for (key, value) in pairs {
                    let value = self.type_of(value);
                    match key {
                        Operand::Const(key) => known.push((key.clone(), value)),
                        key => other = Some(Box::new((self.type_of(key), value))),
                    }
                }
                Some(Type::object(known, other))
            }
            Operand::Ref(reference) => self.reference_type(reference),
            Operand::Collect(collect) => self.collect_type(collect),
        }
    }

    /// Returns true if two terms can be equal; gives types to variables on either side.
    pub(super) fn unify_both(
        &mut self,
        a: &Operand,
        type_a: Option<Type>,
        b: &Operand,
        type_b: Option<Type>,
    ) -> bool {
        // One side that is known whole gives its type to the other. Two such sides need a value in common, and two sides that
        // both have gaps are gone through part by part: each may fill those of the other, as in `[x, "a"] = [1, y]`.
        match (is_nil(type_a.as_ref()), is_nil(type_b.as_ref())) {
            (true, false) => return self.unify_one(a, type_b.as_ref(), false),
            (false, true) => return self.unify_one(b, type_a.as_ref(), false),
            (false, false) => return unifies(type_a.as_ref(), type_b.as_ref()),
            (true, true) => {}
        }
        match (a, b) {
            (Operand::Array(xs), Operand::Array(ys)) => {
                xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| self.unify_parts(x, y))
            }
            (Operand::Object(xs), Operand::Object(ys)) => {
                xs.len() == ys.len()
                    && xs.iter().all(|(key, x)| {
                        let other = ys.iter().find(|(other, _)| same_key(key, other));
                        other.is_some_and(|(_, y)| self.unify_parts(x, y))
                    })
            }
            (Operand::Array(_) | Operand::Object(_), Operand::Var(_)) => self.spread(a, b),
            (Operand::Var(_), Operand::Array(_) | Operand::Object(_)) => self.spread(b, a),
            (Operand::Var(_), Operand::Var(_)) => self.spread(a, b),
            (Operand::Var(_), _) if type_a.is_none() && type_b.is_some() => {
                self.unify_one(a, type_b.as_ref(), false)
            }
            (_, Operand::Var(_)) if type_b.is_none() && type_a.is_some() => {
                self.unify_one(b, type_a.as_ref(), false)
            }
            _ => false,
        }
    }

    fn unify_parts(&mut self, a: &Operand, b: &Operand) -> bool {
        let (type_a, type_b) = (self.type_of(a), self.type_of(b));
        self.unify_both(a, type_a, b, type_b)
    }

    /// Gives the variables of a pattern, and the variable on the other side, the type `any`: nothing is known of either side.
    fn spread(&mut self, pattern: &Operand, variable: &Operand) -> bool {
        let any = self.unify_one(pattern, Some(&ANY), false);
        let made = self.type_of(pattern);
        any && self.unify_one(variable, made.as_ref(), false)
    }

    /// Returns true if a term can be of a type; `union` widens what variables may be instead of checking it.
    pub(super) fn unify_one(&mut self, operand: &Operand, of: Option<&Type>, union: bool) -> bool {
        match operand {
            Operand::Var(slot) => {
                let known = self.vars.get(*slot);
                // A variable keeps the first type that it is found to have; only alternatives add to it.
                let next = match known {
                    known if union => or(known.cloned(), of.cloned()),
                    None => of.cloned(),
                    known => return unifies(known, of),
                };
                if let Some(next) = next {
                    self.vars.insert(*slot, next);
                }
                true
            }
            Operand::Ref(_) | Operand::Collect(_) => {
                let known = self.type_of(operand);
                unifies(known.as_ref(), of)
            }
            Operand::Const(value) => unify_value(value, of),
            Operand::Array(_) | Operand::Set(_) | Operand::Object(_) => {
                self.unify_compound(operand, of, union)
            }
        }
    }

    fn unify_compound(&mut self, operand: &Operand, of: Option<&Type>, union: bool) -> bool {
        let Some(of) = of else { return false };
        match (operand, of) {
            (_, Type::Any(of)) if of.is_empty() => {
                self.widen_parts(operand);
                true
            }
            // All alternatives are tried, also behind one that fits: `[x] = y`, where `y` is an array of a number or one of a
            // string, gives `x` either.
            (_, Type::Any(of)) => {
                let mut fits = false;
                for of in of {
                    fits = self.unify_one(operand, Some(of), true) || fits;
                }
                fits
            }
            (Operand::Array(items), Type::Array(first, rest)) => {
                (items.len() == first.len() || rest.is_some())
                    && items.iter().enumerate().all(|(at, item)| {
                        let of = Type::element(first, rest.as_deref(), at);
                        self.unify_one(item, of.as_ref(), union)
                    })
            }
            (Operand::Object(pairs), Type::Object(known, other)) => {
                (pairs.len() == known.len() || other.is_some())
                    && pairs.iter().all(|(key, value)| match key {
                        Operand::Const(key) => {
                            let child = select(Some(of), key);
                            child.is_some() && self.unify_one(value, child.as_ref(), union)
                        }
                        // The key is known at run time only, so the value may be that of any.
                        _ => {
                            self.unify_one(value, Some(&ANY), union);
                            true
                        }
                    })
            }
            (Operand::Set(items), Type::Set(_)) => {
                let of = values(Some(of));
                items.iter().all(|item| self.unify_one(item, of.as_ref(), union))
            }
            _ => false,
        }
    }

    fn widen_parts(&mut self, operand: &Operand) {
        match operand {
            Operand::Array(items) | Operand::Set(items) => {
                for item in items {
                    self.unify_one(item, Some(&ANY), true);
                }
            }
            Operand::Object(pairs) => {
                for (key, value) in pairs {
                    self.unify_one(key, Some(&ANY), true);
                    self.unify_one(value, Some(&ANY), true);
                }
            }
            _ => {}
        }
    }
}

/// Returns true if a constant is of a type. Each element of a set has to be, not just some.
fn unify_value(value: &Value, of: Option<&Type>) -> bool {
    match (value, of) {
        (Value::Set(items), Some(Type::Set(Some(of)))) => {
            items.iter().all(|item| unify_value(item, Some(of)))
        }
        (Value::Array(items), Some(Type::Array(first, rest))) => {
            (items.len() == first.len() || rest.is_some())
                && items
                    .iter()
                    .enumerate()
                    .all(|(at, item)| unify_value(item, Type::element(first, rest.as_deref(), at).as_ref()))
        }
        (Value::Object(pairs), Some(of @ Type::Object(known, other))) => {
            (pairs.len() == known.len() || other.is_some())
                && pairs.iter().all(|(key, value)| {
                    let child = select(Some(of), key);
                    child.is_some() && unify_value(value, child.as_ref())
                })
        }
        (Value::Array(_) | Value::Set(_) | Value::Object(_), Some(Type::Any(of))) => {
            of.is_empty() || of.iter().any(|of| unify_value(value, Some(of)))
        }
        (value, of) => unifies(Some(&Type::of_value(value)), of),
    }
}
