//! The types of the checker, and when one may stand for another: cel-go's rules.
//!
//! Almost everything a policy touches is [`Type::Dyn`]; types matter for literals, for the results of functions and
//! for the request, and they decide whether an expression is a condition or a message.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::value::Value;

/// A type of the language.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Type {
    /// Known only when evaluated.
    Dyn,
    /// `null`
    Null,
    /// `true` and `false`.
    Bool,
    /// Whole numbers with a sign.
    Int,
    /// Whole numbers without a sign.
    Uint,
    /// Binary floating point numbers.
    Double,
    /// Strings of Unicode characters.
    String,
    /// Strings of bytes.
    Bytes,
    /// Spans of time.
    Duration,
    /// Points in time.
    Timestamp,
    /// Lists of one element type.
    List(Box<Type>),
    /// Maps of one key type and one value type.
    Map(Box<Type>, Box<Type>),
    /// A value or none.
    Optional(Box<Type>),
    /// The type of a type.
    Type,
    /// A value that only functions look into, such as `kubernetes.Quantity`.
    Opaque(&'static str),
    /// A type with declared fields, such as the admission request.
    Object(&'static str),
    /// An object that a structural schema declares, see [`crate::TypeDeclaration`].
    Struct(Fields),
    /// The type of an expression that has none; it fits everywhere, so that one issue is not reported twice.
    Error,
    /// Any type, the same wherever this letter stands in one overload.
    Parameter(char),
    /// A type still to be found out.
    Open(usize),
}

/// The fields of a declared object. Two objects are of one type when they are declared in one place.
#[derive(Clone, Debug)]
pub struct Fields(Arc<BTreeMap<String, Type>>);

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Fields {}

impl Fields {
    /// The fields of an object declared at a place of its own.
    pub(super) fn new(types: BTreeMap<String, Type>) -> Self {
        Self(Arc::new(types))
    }

    /// Returns the type of a field, by the name that expressions use.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Type> {
        self.0.get(name)
    }
}

impl Type {
    pub(super) fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    pub(super) fn optional(value: Self) -> Self {
        Self::Optional(Box::new(value))
    }

    /// The type inside an optional, and whether there was one.
    pub(super) fn unwrapped(&self) -> (&Self, bool) {
        match self {
            Self::Optional(inner) => (inner, true),
            other => (other, false),
        }
    }

    /// The type as cel-go's issues print it, with a name for each declared object.
    pub(super) fn printed(&self, name: &dyn Fn(&Fields) -> String) -> String {
        match self {
            Self::Duration => "duration".to_owned(),
            Self::Timestamp => "timestamp".to_owned(),
            Self::List(element) => format!("list({})", element.printed(name)),
            Self::Map(key, value) => format!("map({}, {})", key.printed(name), value.printed(name)),
            Self::Optional(value) => format!("optional_type({})", value.printed(name)),
            Self::Struct(fields) => name(fields),
            Self::Open(open) => format!("_var{open}"),
            other => other.to_string(),
        }
    }

    /// Returns true if a value has one part for size: all but strings, bytes, lists, maps and what is not known.
    pub(super) fn is_scalar(&self) -> bool {
        match self {
            Self::Bool | Self::Double | Self::Duration | Self::Int | Self::Timestamp | Self::Uint => true,
            Self::Optional(value) => value.is_scalar(),
            _ => false,
        }
    }

    /// Returns true if an argument has the type that an overload asks for. Elements are not looked at, as in cel-go.
    pub(super) fn admits(&self, value: &Value) -> bool {
        match self {
            Self::Dyn | Self::Error | Self::Parameter(_) | Self::Open(_) => true,
            Self::Null => matches!(value, Value::Null),
            Self::Bool => matches!(value, Value::Bool(_)),
            Self::Int => matches!(value, Value::Int(_)),
            Self::Uint => matches!(value, Value::Uint(_)),
            Self::Double => matches!(value, Value::Float(_)),
            Self::String => matches!(value, Value::String(_)),
            Self::Bytes => matches!(value, Value::Bytes(_)),
            Self::Duration => matches!(value, Value::Duration(_)),
            Self::Timestamp => matches!(value, Value::Timestamp(_)),
            Self::List(_) => matches!(value, Value::List(_)),
            Self::Map(..) | Self::Object(_) | Self::Struct(_) => matches!(value, Value::Map(_)),
            Self::Optional(_) => matches!(value, Value::Optional(_)),
            Self::Type => matches!(value, Value::Type(_)),
            Self::Opaque(name) => value.type_name() == *name,
        }
    }

    /// Returns true if `null` may stand for it.
    const fn is_nullable(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::Optional(_)
                | Self::Opaque(_)
                | Self::Object(_)
                | Self::Struct(_)
                | Self::Duration
                | Self::Timestamp
        )
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn | Self::Open(_) => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Duration => f.write_str("google.protobuf.Duration"),
            Self::Timestamp => f.write_str("google.protobuf.Timestamp"),
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Optional(value) => write!(f, "optional_type({value})"),
            Self::Type => f.write_str("type"),
            Self::Opaque(name) | Self::Object(name) => f.write_str(name),
            Self::Struct(_) => f.write_str("object"),
            Self::Error => f.write_str("!error!"),
            Self::Parameter(letter) => write!(f, "<{letter}>"),
        }
    }
}

/// The solutions of open types (cel-go's `mapping`).
#[derive(Debug, Default)]
pub(super) struct Mapping {
    known: Vec<Option<Type>>,
    /// The state before each change, so that a failed attempt can be taken back.
    before: Vec<(usize, Option<Type>)>,
}

impl Mapping {
    /// A new type of which nothing is known.
    pub(super) fn open(&mut self) -> Type {
        self.known.push(None);
        Type::Open(self.known.len().saturating_sub(1))
    }

    fn found(&self, open: usize) -> Option<&Type> {
        self.known.get(open)?.as_ref()
    }

    fn note(&mut self, open: usize, found: Type) {
        if let Some(slot) = self.known.get_mut(open) {
            self.before.push((open, slot.replace(found)));
        }
    }

    /// The type with everything filled in that is known.
    pub(super) fn resolve(&self, of: &Type) -> Type {
        match of {
            Type::Open(open) => self.found(*open).map_or_else(|| of.clone(), |found| self.resolve(found)),
            Type::List(element) => Type::list(self.resolve(element)),
            Type::Map(key, value) => Type::map(self.resolve(key), self.resolve(value)),
            Type::Optional(value) => Type::optional(self.resolve(value)),
            other => other.clone(),
        }
    }

    /// The type with everything unknown made [`Type::Dyn`].
    pub(super) fn settle(&self, of: &Type) -> Type {
        match of {
            Type::Open(open) => self.found(*open).map_or(Type::Dyn, |found| self.settle(found)),
            Type::List(element) => Type::list(self.settle(element)),
            Type::Map(key, value) => Type::map(self.settle(key), self.settle(value)),
            Type::Optional(value) => Type::optional(self.settle(value)),
            other => other.clone(),
        }
    }

    /// Returns true if values of types `given` may stand where `wanted` are expected, one by one. What that says about
    /// open types is kept only when all fit.
    pub(super) fn all_fit(&mut self, given: &[Type], wanted: &[Type]) -> bool {
        if given.len() != wanted.len() {
            return false;
        }
        let mark = self.before.len();
        let fit = given.iter().zip(wanted).all(|(given, wanted)| self.unify(given, wanted));
        while !fit && self.before.len() > mark {
            if let Some((open, before)) = self.before.pop()
                && let Some(slot) = self.known.get_mut(open)
            {
                *slot = before;
            }
        }
        fit
    }

    /// [`Mapping::all_fit`] for one.
    pub(super) fn fits(&mut self, given: &Type, wanted: &Type) -> bool {
        self.all_fit(std::slice::from_ref(given), std::slice::from_ref(wanted))
    }

    fn unify(&mut self, given: &Type, wanted: &Type) -> bool {
        if let Type::Open(open) = wanted {
            match self.substitute(given, *open) {
                Some(fits) => return fits,
                None if self.found(*open).is_some() => return false,
                None => {}
            }
        }
        if let Type::Open(open) = given {
            return self.substitute(wanted, *open).unwrap_or(false);
        }
        match (given, wanted) {
            (Type::Dyn | Type::Error, _) | (_, Type::Dyn | Type::Error) => true,
            (Type::Null, other) | (other, Type::Null) => other.is_nullable(),
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.unify(a, b),
            (Type::Map(a, x), Type::Map(b, y)) => self.unify(a, b) && self.unify(x, y),
            (a, b) => a == b,
        }
    }

    /// Puts `with` in the place of an open type; `None` when that would make the type contain itself.
    fn substitute(&mut self, with: &Type, open: usize) -> Option<bool> {
        if *with == Type::Open(open) {
            return Some(true);
        }
        let Some(known) = self.found(open).cloned() else {
            if self.mentions(with, open) {
                return None;
            }
            self.note(open, with.clone());
            return Some(true);
        };
        if *with == known {
            return Some(true);
        }
        if !self.unify(with, &known) {
            return Some(false);
        }
        let general = if is_as_general(with, &known) { with.clone() } else { known };
        if !self.mentions(&general, open) {
            self.note(open, general);
        }
        Some(true)
    }

    fn mentions(&self, within: &Type, open: usize) -> bool {
        match within {
            Type::Open(other) => {
                *other == open || self.found(*other).is_some_and(|found| self.mentions(found, open))
            }
            Type::List(inner) | Type::Optional(inner) => self.mentions(inner, open),
            Type::Map(key, value) => self.mentions(key, open) || self.mentions(value, open),
            _ => false,
        }
    }
}

/// Returns true if every value of type `b` is of type `a`, as `dyn` and `list(dyn)` are for `list(int)`.
pub(super) fn is_as_general(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Open(_), _) => true,
        (_, Type::Dyn | Type::Open(_)) => false,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => is_as_general(a, b),
        (Type::Map(a, x), Type::Map(b, y)) => is_as_general(a, b) && is_as_general(x, y),
        (a, b) => a == b,
    }
}
