//! Types, as far as OPA's compiler infers them, and when two of them can have a value in common.

use crate::value::Value;

use crate::builtin::Spec;

/// Parts of one type; what is larger counts as any. Keeps hostile modules from building types without end.
const MAX_PARTS: usize = 256;

/// The type of a term. `Option<Type>` is used where a type may be unknown.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Null,
    Bool,
    Number,
    String,
    /// Types of the first elements, and of those behind them.
    Array(Vec<Option<Type>>, Option<Box<Type>>),
    /// Types under known keys, and of other keys and their values.
    Object(Vec<(Value, Option<Type>)>, Option<Box<(Option<Type>, Option<Type>)>>),
    Set(Option<Box<Type>>),
    /// One of these; of anything, where there are none.
    Any(Vec<Type>),
    Function(Vec<Type>, Box<Type>),
}

/// Anything at all.
pub(super) const ANY: Type = Type::Any(Vec::new());

impl Type {
    pub(super) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Bool,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(items) => {
                Self::Array(items.iter().map(|item| Some(Self::of_value(item))).collect(), None).bounded()
            }
            Value::Set(items) => {
                let of = items.iter().map(Self::of_value).fold(None, |sum, item| or(sum, Some(item)));
                Self::Set(of.map(Box::new))
            }
            Value::Object(pairs) => {
                let known =
                    pairs.iter().map(|(key, value)| (key.clone(), Some(Self::of_value(value)))).collect();
                Self::object(known, None)
            }
            Value::Undefined => ANY,
        }
    }

    /// Returns an object with known keys, each once and in order.
    pub(super) fn object(
        mut known: Vec<(Value, Option<Self>)>,
        other: Option<Box<(Option<Self>, Option<Self>)>>,
    ) -> Self {
        known.sort_by(|(a, _), (b, _)| a.cmp(b));
        known.dedup_by(|(a, _), (b, _)| a == b);
        Self::Object(known, other).bounded()
    }

    pub(super) fn of_spec(spec: &Spec) -> Self {
        let boxed = |spec: &Spec| Box::new(Self::of_spec(spec));
        match spec {
            Spec::Any => ANY,
            Spec::Null => Self::Null,
            Spec::Bool => Self::Bool,
            Spec::Number => Self::Number,
            Spec::String => Self::String,
            Spec::Array(of) => Self::Array(Vec::new(), Some(boxed(of))),
            Spec::Tuple(of) => Self::Array(of.iter().map(|spec| Some(Self::of_spec(spec))).collect(), None),
            Spec::Set(of) => Self::Set(Some(boxed(of))),
            Spec::Object(key, value) => Self::Object(
                Vec::new(),
                Some(Box::new((Some(Self::of_spec(key)), Some(Self::of_spec(value))))),
            ),
            Spec::Declared(keys, (key, value)) => Self::object(
                keys.iter().map(|(key, of)| (Value::from(*key), Some(Self::of_spec(of)))).collect(),
                Some(Box::new((Some(Self::of_spec(key)), Some(Self::of_spec(value))))),
            ),
            Spec::Or(of) => Self::Any(of.iter().map(Self::of_spec).collect()),
        }
    }

    /// Returns the type itself, or any where it has too many parts.
    pub(super) fn bounded(self) -> Self {
        let mut left = MAX_PARTS;
        if self.fits(&mut left) { self } else { ANY }
    }

    fn fits(&self, left: &mut usize) -> bool {
        let Some(rest) = left.checked_sub(1) else {
            return false;
        };
        *left = rest;
        let part = |part: &Option<Self>, left: &mut usize| part.as_ref().is_none_or(|part| part.fits(left));
        match self {
            Self::Null | Self::Bool | Self::Number | Self::String => true,
            Self::Array(first, rest) => {
                first.iter().all(|item| part(item, left)) && rest.as_ref().is_none_or(|rest| rest.fits(left))
            }
            Self::Object(known, other) => {
                known.iter().all(|(_, value)| part(value, left))
                    && other.as_ref().is_none_or(|other| part(&other.0, left) && part(&other.1, left))
            }
            Self::Set(of) => of.as_ref().is_none_or(|of| of.fits(left)),
            Self::Any(of) => of.iter().all(|of| of.fits(left)),
            Self::Function(args, result) => args.iter().all(|arg| arg.fits(left)) && result.fits(left),
        }
    }

    /// Returns true if no member can be selected from it.
    pub(super) fn is_empty_collection(&self) -> bool {
        match self {
            Self::Object(known, other) => known.is_empty() && other.is_none(),
            Self::Array(first, rest) => first.is_empty() && rest.is_none(),
            Self::Set(of) => of.is_none(),
            _ => false,
        }
    }

    /// Returns the element type at a place of an array.
    pub(super) fn element(first: &[Option<Self>], rest: Option<&Self>, at: usize) -> Option<Self> {
        first.get(at).cloned().unwrap_or_else(|| rest.cloned())
    }
}

/// Returns true if some part of the type is unknown.
pub(super) fn is_nil(of: Option<&Type>) -> bool {
    let Some(of) = of else { return true };
    match of {
        Type::Array(first, rest) => {
            first.iter().any(|item| is_nil(item.as_ref()))
                || rest.as_ref().is_some_and(|rest| is_nil(Some(rest)))
        }
        Type::Object(known, other) => {
            known.iter().any(|(_, value)| is_nil(value.as_ref()))
                || other.as_ref().is_some_and(|other| is_nil(other.0.as_ref()) || is_nil(other.1.as_ref()))
        }
        Type::Set(of) => is_nil(of.as_deref()),
        Type::Function(args, result) => args.iter().any(|arg| is_nil(Some(arg))) || is_nil(Some(result)),
        _ => false,
    }
}

/// Returns a type that has the values of both.
pub(super) fn or(a: Option<Type>, b: Option<Type>) -> Option<Type> {
    let (a, b) = match (a, b) {
        (None, other) | (other, None) => return other,
        (Some(a), Some(b)) => (a, b),
    };
    let joined = match (a, b) {
        (Type::Function(xs, x), Type::Function(ys, y)) => {
            let args = xs.into_iter().zip(ys).map(|(x, y)| or(Some(x), Some(y)).unwrap_or(ANY)).collect();
            Type::Function(args, Box::new(or(Some(*x), Some(*y)).unwrap_or(ANY)))
        }
        (Type::Function(..), _) | (_, Type::Function(..)) => return None,
        (Type::Any(mut of), Type::Any(others)) => {
            if of.is_empty() || others.is_empty() {
                return Some(ANY);
            }
            others.into_iter().for_each(|other| add(&mut of, other));
            Type::Any(of)
        }
        (Type::Any(mut of), other) | (other, Type::Any(mut of)) => {
            if !of.is_empty() {
                add(&mut of, other);
            }
            Type::Any(of)
        }
        (a, b) if a == b => a,
        (a, b) => Type::Any(vec![a, b]),
    };
    Some(joined.bounded())
}

fn add(of: &mut Vec<Type>, other: Type) {
    if !of.contains(&other) {
        of.push(other);
    }
}

/// Returns the type of the keys one can enumerate.
pub(super) fn keys(of: Option<&Type>) -> Option<Type> {
    match of? {
        Type::Array(..) => Some(Type::Number),
        Type::Object(known, other) => {
            let known = known.iter().map(|(key, _)| Some(Type::of_value(key))).fold(None, or);
            or(known, other.as_ref().and_then(|other| other.0.clone()))
        }
        Type::Set(of) => of.as_deref().cloned(),
        Type::Any(of) if of.is_empty() => Some(ANY),
        Type::Any(of) => of.iter().map(|of| keys(Some(of))).fold(None, or),
        _ => None,
    }
}

/// Returns the type of the values one can enumerate.
pub(super) fn values(of: Option<&Type>) -> Option<Type> {
    match of? {
        Type::Array(first, rest) => or(first.iter().cloned().fold(None, or), rest.as_deref().cloned()),
        Type::Object(known, other) => {
            let known = known.iter().map(|(_, value)| value.clone()).fold(None, or);
            or(known, other.as_ref().and_then(|other| other.1.clone()))
        }
        Type::Set(of) => of.as_deref().cloned(),
        Type::Any(of) if of.is_empty() => Some(ANY),
        Type::Any(of) => of.iter().map(|of| values(Some(of))).fold(None, or),
        _ => None,
    }
}

/// Returns the type under a constant key.
pub(super) fn select(of: Option<&Type>, key: &Value) -> Option<Type> {
    match of? {
        Type::Array(first, rest) => Type::element(first, rest.as_deref(), crate::lookup::position(key)?),
        Type::Object(known, other) => {
            let found = known.binary_search_by(|(name, _)| name.cmp(key)).ok().and_then(|at| known.get(at));
            if let Some((_, value)) = found {
                return value.clone();
            }
            let (keys, value) = other.as_deref()?;
            contains(keys.as_ref()?, &Type::of_value(key)).then(|| value.clone()).flatten()
        }
        Type::Set(of) => {
            let key = Type::of_value(key);
            contains(of.as_deref()?, &key).then_some(key)
        }
        Type::Any(of) if of.is_empty() => Some(ANY),
        Type::Any(of) => of.iter().map(|of| select(Some(of), key)).fold(None, or),
        _ => None,
    }
}

fn contains(of: &Type, part: &Type) -> bool {
    match of {
        Type::Any(all) => all.is_empty() || all.contains(part),
        of => of == part,
    }
}

/// Returns true if some value can be of both types.
pub(super) fn unifies(a: Option<&Type>, b: Option<&Type>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    match (a, b) {
        // Alternatives are not nested, so each pair is looked at once.
        (Type::Any(of), other) | (other, Type::Any(of)) => any_unifies(of, other),
        (Type::Null, Type::Null)
        | (Type::Bool, Type::Bool)
        | (Type::Number, Type::Number)
        | (Type::String, Type::String) => true,
        (Type::Array(xs, x), Type::Array(ys, y)) => {
            covers(xs, ys, y.as_deref())
                && covers(ys, xs, x.as_deref())
                && (x.is_none() || y.is_none() || unifies(x.as_deref(), y.as_deref()))
        }
        (Type::Object(xs, x), Type::Object(ys, y)) => {
            let value =
                |other: &Option<Box<(Option<Type>, Option<Type>)>>| other.as_ref().and_then(|o| o.1.clone());
            let (x_value, y_value) = (value(x), value(y));
            let open = x_value.is_some() || y_value.is_some();
            let fits = |known: &[(Value, Option<Type>)], other: &Type| {
                known.iter().all(|(key, mine)| match select(Some(other), key) {
                    None => open,
                    theirs => unifies(mine.as_ref(), theirs.as_ref()),
                })
            };
            fits(xs, b)
                && fits(ys, a)
                && (x_value.is_none() || y_value.is_none() || unifies(x_value.as_ref(), y_value.as_ref()))
        }
        (Type::Set(x), Type::Set(y)) => x.is_none() || y.is_none() || unifies(x.as_deref(), y.as_deref()),
        (Type::Function(xs, _), Type::Function(ys, _)) => {
            xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| unifies(Some(x), Some(y)))
        }
        _ => false,
    }
}

fn any_unifies(of: &[Type], other: &Type) -> bool {
    !matches!(other, Type::Function(..))
        && (of.is_empty() || of.iter().any(|of| unifies(Some(of), Some(other))))
}

/// Returns true if each known element has a counterpart.
fn covers(known: &[Option<Type>], first: &[Option<Type>], rest: Option<&Type>) -> bool {
    known.iter().enumerate().all(|(at, item)| unifies(item.as_ref(), Type::element(first, rest, at).as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Type {
        Type::of_value(&Value::from_json_str(json).unwrap())
    }

    fn unify(a: &str, b: &str) -> bool {
        let (a, b) = (of(a), of(b));
        assert_eq!(unifies(Some(&a), Some(&b)), unifies(Some(&b), Some(&a)), "unifies is symmetric");
        unifies(Some(&a), Some(&b))
    }

    #[test]
    fn values_of_different_shape_do_not_unify() {
        assert!(unify("1", "2.5"));
        assert!(!unify("1", "\"1\""));
        assert!(unify("[1, \"a\"]", "[2, \"b\"]"));
        assert!(!unify("[1]", "[1, 2]"));
        assert!(!unify("{\"a\": 1}", "{\"b\": 1}"));
        assert!(unify("{\"a\": 1}", "{\"a\": 2}"));
    }

    #[test]
    fn anything_unifies_with_any() {
        assert!(unifies(Some(&ANY), Some(&of("[1]"))));
        let either = or(Some(Type::Number), Some(Type::String));
        assert!(unifies(either.as_ref(), Some(&Type::String)));
        assert!(!unifies(either.as_ref(), Some(&Type::Bool)));
    }

    #[test]
    fn members_are_selected() {
        assert_eq!(select(Some(&of("{\"a\": [1]}")), &"a".into()), Some(of("[1]")));
        assert_eq!(select(Some(&of("[1, \"a\"]")), &1u64.into()), Some(Type::String));
        assert_eq!(select(Some(&of("[1]")), &1u64.into()), None);
        assert_eq!(keys(Some(&of("[true]"))), Some(Type::Number));
        assert_eq!(values(Some(&of("[true]"))), Some(Type::Bool));
        assert_eq!(keys(Some(&Type::Number)), None);
    }

    #[test]
    fn types_do_not_grow_without_end() {
        let mut wide = Type::Number;
        for _ in 0..64 {
            wide = Type::Array(vec![Some(wide.clone()), Some(wide)], None).bounded();
        }
        assert!(is_small(&wide), "doubling 64 times stays small");
    }

    fn is_small(of: &Type) -> bool {
        let mut left = MAX_PARTS;
        of.fits(&mut left)
    }
}
