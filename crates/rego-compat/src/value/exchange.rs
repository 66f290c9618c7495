//! Values to and from regorus: for the builtins that it answers, whose numbers have no spelling, and for its virtual
//! machine, which only carries numbers and is given their text.

use regorus::Value as Engine;

use super::{Array, Number, Object, Set, Value};

/// The value as regorus' builtins take it.
pub(crate) fn to_engine(value: &Value) -> Engine {
    given(value, computable)
}

/// The value as regorus' virtual machine carries it.
#[cfg(feature = "rvm")]
pub(crate) fn to_machine(value: &Value) -> Engine {
    given(value, |number| match number.small() {
        Some(small) => Engine::from(small),
        // No value of a document is undefined: an object under that key can only be a number.
        None => {
            let text = Engine::from(&*number.text());
            std::iter::once((Engine::Undefined, text)).collect::<regorus::value::Object>().into_value()
        }
    })
}

fn given(value: &Value, number: fn(&Number) -> Engine) -> Engine {
    match value {
        Value::Null => Engine::Null,
        Value::Bool(bool) => Engine::Bool(*bool),
        Value::Number(it) => number(it),
        Value::String(text) => Engine::String(text.clone()),
        Value::Array(items) => Engine::from(items.iter().map(|item| given(item, number)).collect::<Vec<_>>()),
        Value::Set(items) => {
            items.iter().map(|item| given(item, number)).collect::<regorus::value::Set>().into_value()
        }
        Value::Object(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| (given(key, number), given(value, number)));
            pairs.collect::<regorus::value::Object>().into_value()
        }
        Value::Undefined => Engine::Undefined,
    }
}

fn computable(number: &Number) -> Engine {
    if let Some(small) = number.as_i64() {
        return Engine::from(small);
    }
    // regorus reads JSON's spelling only.
    let spelled = Engine::from_numeric_string(&number.text());
    spelled.ok().or_else(|| number.as_f64().map(Engine::from)).unwrap_or(Engine::Undefined)
}

/// The value that regorus has.
pub(crate) fn from_engine(value: &Engine) -> Value {
    match value {
        Engine::Null => Value::Null,
        Engine::Bool(bool) => Value::Bool(*bool),
        Engine::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(small), _) => Value::from(small),
            (None, Some(float)) if !number.is_integer() => Value::from(float),
            _ => Value::Number(Number::spelled(&number.format_decimal())),
        },
        Engine::String(text) => Value::String(text.clone()),
        Engine::Array(items) => items.iter().map(from_engine).collect::<Array>().into_value(),
        Engine::Set(items) => items.iter().map(from_engine).collect::<Set>().into_value(),
        Engine::Object(pairs) => match pairs.get(&Engine::Undefined) {
            Some(Engine::String(text)) => Value::Number(Number::spelled(text)),
            _ => {
                let pairs = pairs.iter().map(|(key, value)| (from_engine(key), from_engine(value)));
                pairs.collect::<Object>().into_value()
            }
        },
        Engine::Undefined => Value::Undefined,
    }
}
