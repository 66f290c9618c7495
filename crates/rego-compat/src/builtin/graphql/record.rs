//! Syntax trees as values, and values as syntax trees: the shapes of `gqlparser`, pruned as OPA prunes them.
//!
//! OPA leaves out positions, `null` and what is empty, but neither empty texts nor `false`.

use crate::value::{Array, Object, Value};

/// A part of a syntax tree.
pub(super) trait Part: Default {
    /// Returns the part as a value; what is empty is pruned by its owner.
    fn write(&self) -> Value;

    /// Returns the part from a value; none where it is another thing.
    fn read(value: &Value) -> Option<Self>;
}

impl Part for String {
    fn write(&self) -> Value {
        self.as_str().into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_string().ok().map(|text| text.to_string())
    }
}

impl Part for bool {
    fn write(&self) -> Value {
        Value::Bool(*self)
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_bool().ok()
    }
}

impl Part for i64 {
    fn write(&self) -> Value {
        (*self).into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_number().ok()?.small()
    }
}

impl<T: Part> Part for Vec<T> {
    fn write(&self) -> Value {
        self.iter().map(Part::write).filter(|value| !is_pruned(value)).collect::<Array>().into_value()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_array().ok()?.iter().map(T::read).collect()
    }
}

impl<T: Part> Part for Option<Box<T>> {
    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, |part| part.write())
    }

    fn read(value: &Value) -> Option<Self> {
        T::read(value).map(|part| Some(Box::new(part)))
    }
}

fn is_pruned(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(pairs) => pairs.is_empty(),
        _ => false,
    }
}

/// Returns the object of some fields, and of others that say nothing before a document is validated.
pub(super) fn object(fields: Vec<(&str, Value)>, others: &[(&str, Value)]) -> Value {
    let others = others.iter().map(|(key, value)| (*key, value.clone()));
    let kept = fields.into_iter().chain(others).filter(|(_, value)| !is_pruned(value));
    kept.map(|(key, value)| (Value::from(key), value)).collect::<Object>().into_value()
}

/// Returns a field of an object; the default where there is none.
pub(super) fn field<T: Part>(pairs: &Object, key: &str) -> Option<T> {
    match pairs.get(&key.into()) {
        None | Some(Value::Null) => Some(T::default()),
        Some(value) => T::read(value),
    }
}

/// Declares a structure of the syntax tree with the names its fields have as a value.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $kind:ty = $key:literal),* $(,)? } $(also $other:literal = $value:expr)?) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub(super) struct $name {
            $(pub(super) $field: $kind,)*
        }

        impl Part for $name {
            fn write(&self) -> Value {
                object(vec![$(($key, self.$field.write())),*], &[$(($other, $value))?])
            }

            fn read(value: &Value) -> Option<Self> {
                let pairs = value.as_object().ok()?;
                Some(Self { $($field: field(pairs, $key)?),* })
            }
        }
    };
}

pub(super) use record;
