//! Counting, object access and template strings.

use crate::value::{Set, Value};

use crate::meter::Meter;

use crate::builtin::{Answer, Native, answer};

pub(in crate::builtin) fn find(name: &str) -> Option<Native> {
    Some(match name {
        "count" => count,
        "object.get" => object_get,
        "union" => union,
        "internal.template_string" => template,
        "print" => |_, _| answer(true),
        "trace" => |args, _| Ok(crate::builtin::text_at(args, 0).map(|_| true.into())),
        // What OPA answers where no runtime is configured.
        "opa.runtime" => |_, _| answer(Value::new_object()),
        _ => return None,
    })
}

/// Everything in any set of a set of sets.
fn union(args: &[&Value], meter: &Meter) -> Answer {
    let [Value::Set(sets)] = args else { return Ok(None) };
    let mut united = Set::new();
    for set in sets.iter() {
        let Value::Set(set) = set else { return Ok(None) };
        for element in set.iter() {
            meter.charge_tree(element)?;
            meter.charge(48)?;
            united.insert(element.clone());
        }
    }
    answer(united.into_value())
}

/// Elements, pairs, or the characters of a string.
fn count(args: &[&Value], meter: &Meter) -> Answer {
    let count = match args.first() {
        Some(Value::Array(items)) => items.len(),
        Some(Value::Set(items)) => items.len(),
        Some(Value::Object(pairs)) => pairs.len(),
        Some(Value::String(text)) => {
            meter.spend(u64::try_from(text.len() / 256).unwrap_or(u64::MAX))?;
            text.chars().count()
        }
        _ => return Ok(None),
    };
    answer(count)
}

/// The value under a key or path, or the default.
fn object_get(args: &[&Value], _: &Meter) -> Answer {
    let [subject @ Value::Object(pairs), key, default] = args else {
        return Ok(None);
    };
    let found = match key {
        Value::Array(path) => path.iter().try_fold(*subject, crate::lookup::get),
        key => pairs.get(key),
    };
    answer(found.unwrap_or(default).clone())
}

/// Parts of a template string: texts as they are, sets of at most one value as `sprintf` prints it.
fn template(args: &[&Value], meter: &Meter) -> Answer {
    let Some(Value::Array(parts)) = args.first() else {
        return Ok(None);
    };
    let mut text = String::new();
    for part in parts.iter() {
        meter.charge_tree(part)?;
        meter.afford_bytes(text.len())?;
        match part {
            Value::Set(values) if values.len() > 1 => return Ok(None),
            Value::Set(values) => match values.first() {
                Some(Value::String(value)) => text.push_str(value),
                Some(value) => text.push_str(&crate::value::literal::of(value)),
                None => text.push_str("<undefined>"),
            },
            Value::String(value) => text.push_str(value),
            value => text.push_str(&crate::value::literal::of(value)),
        }
    }
    meter.charge(text.len())?;
    answer(text)
}
