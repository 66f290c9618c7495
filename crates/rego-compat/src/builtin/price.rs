//! The price of a call at its worst, charged before it is made.
//!
//! For functions that cannot be interrupted. Most pay for the size of their arguments, [`arguments`]; those that do much
//! more than read them once pay for their worst case. The estimates count steps of about 10 ns and may be too high: what
//! is affordable is made, and costs what it costs.

use crate::error::EvalError;
use crate::meter::Meter;
use crate::value::Value;

use super::text_at;

/// Pays for a call, or refuses it.
pub(super) type Price = fn(&[&Value], &Meter) -> Result<(), EvalError>;

/// Charges for a walk of all arguments.
pub(super) fn arguments(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    args.iter().try_for_each(|arg| meter.charge_tree(arg))
}

pub(super) fn size(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Elements of a collection; anything else counts as one.
fn count(value: Option<&&Value>) -> u64 {
    match value {
        Some(Value::Array(items)) => size(items.len()),
        Some(Value::Set(items)) => size(items.len()),
        Some(Value::Object(pairs)) => size(pairs.len()),
        _ => 1,
    }
}

/// Charges for a comparison of every string of one argument with every string of the other.
pub(super) fn string_pairs(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    pairs(args, meter, 1)
}

/// Charges for a comparison of every network of one argument with every network of the other, read again each time.
pub(super) fn cidr_pairs(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    pairs(args, meter, 16)
}

fn pairs(args: &[&Value], meter: &Meter, each: u64) -> Result<(), EvalError> {
    arguments(args, meter)?;
    let pairs = count(args.first()).saturating_mul(count(args.get(1)));
    meter.afford(pairs.saturating_mul(each))
}

/// Arrays are searched for one another from each element on.
pub(super) fn subset(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    let mut weights = args.iter().map(|arg| meter.weigh(arg));
    let (whole, part) = (weights.next().unwrap_or(Ok(0))?, weights.next().unwrap_or(Ok(0))?);
    meter.afford(whole.saturating_mul(part) / 4)
}

/// Charges for what has been united, which is copied for each further object.
pub(super) fn union_n(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    let weight = args.first().map_or(Ok(0), |arg| meter.weigh(arg))?;
    meter.afford(weight.saturating_mul(count(args.first())))
}

/// Charges for a sort: each element is compared with as many others as their number has bits.
pub(super) fn sort(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    let weight = args.first().map_or(Ok(0), |arg| meter.weigh(arg))?;
    let rounds = u64::from(u64::BITS.saturating_sub(count(args.first()).leading_zeros()));
    meter.afford(weight.saturating_mul(rounds).saturating_mul(4))
}

/// The text looked for may begin anywhere, and differ in its last letter only.
pub(super) fn search(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    arguments(args, meter)?;
    let length = |index| size(text_at(args, index).unwrap_or("").len());
    meter.afford(length(0).saturating_mul(length(1)) / 32)
}

/// A patch that copies a document into itself doubles it, and sets are rebuilt for each change inside them.
pub(super) fn patch(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    let weight = args.first().map_or(Ok(0), |arg| meter.weigh(arg))?;
    let added = args.get(1).map_or(Ok(0), |arg| meter.weigh(arg))?;
    let copies = match args.get(1) {
        Some(Value::Array(items)) => items.iter().filter(|item| is_copy(item)).count(),
        _ => 0,
    };
    let grown = weight.saturating_add(added);
    let doubled = 1u64.checked_shl(u32::try_from(copies).unwrap_or(u32::MAX)).unwrap_or(u64::MAX);
    // An array is copied for each change in it.
    let operations = count(args.get(1));
    meter.afford(grown.saturating_mul(doubled.max(operations)))
}

fn is_copy(operation: &Value) -> bool {
    let Value::Object(pairs) = operation else { return false };
    pairs.get(&Value::from("op")) == Some(&Value::from("copy"))
}

/// Values take more memory than the text they are read from.
pub(super) fn document(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    arguments(args, meter)?;
    let length = text_at(args, 0).unwrap_or("").len();
    meter.afford(size(length))?;
    meter.afford_bytes(length.saturating_mul(32))
}

/// Each line is indented by its depth.
pub(super) fn marshalled(args: &[&Value], meter: &Meter) -> Result<(), EvalError> {
    let weight = args.first().map_or(Ok(0), |arg| meter.weigh(arg))?;
    meter.afford_bytes(usize::try_from(weight.saturating_mul(64)).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use eval_budget::Budget;

    use super::*;
    use crate::builtin::Code;

    fn price(name: &str, args: &[Value]) -> Result<(), EvalError> {
        let args: Vec<&Value> = args.iter().collect();
        let Code::Priced(_, price) = crate::builtin::find(name).unwrap().code else {
            panic!("{name} has no price")
        };
        price(&args, &Meter::new(&Budget::default()))
    }

    #[test]
    fn what_people_ask_for_is_affordable() {
        assert_eq!(price("indexof", &["a".repeat(100_000).into(), "b".repeat(1_000).into()]), Ok(()));
        let names: Value = (0..2_000u64).map(Value::from).collect::<Vec<_>>().into();
        assert_eq!(price("sort", std::slice::from_ref(&names)), Ok(()));
        assert_eq!(price("strings.any_prefix_match", &[names.clone(), names]), Ok(()));
    }

    #[test]
    fn what_cannot_end_is_refused_beforehand() {
        let refused = |name, args: &[Value]| matches!(price(name, args), Err(EvalError::Budget(_)));
        assert!(refused("indexof_n", &["a".repeat(1 << 20).into(), "a".repeat(1 << 19).into()]));
    }

    #[test]
    fn a_patch_that_doubles_is_priced_as_doubling() {
        let copy = Value::from_json_str(r#"{"op": "copy", "from": "", "path": "/a"}"#).unwrap();
        let patches = |count| Value::from(vec![copy.clone(); count]);
        assert_eq!(price("json.patch", &[Value::new_object(), patches(5)]), Ok(()));
        assert!(price("json.patch", &[Value::new_object(), patches(50)]).is_err());
    }
}
