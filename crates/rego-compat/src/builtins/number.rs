//! `numbers.range` and `numbers.range_step`. Source: OPA `topdown/numbers.go`.

use regorus::Value;

use super::Outcome;
use super::operand::{self, Fault};

/// The numbers that a range holds at most. OPA generates until the query's deadline; an array of this size
/// is where that is out of reach of an evaluation's budget.
const MOST_NUMBERS: i128 = 1 << 22;

/// `numbers.range(a, b)`.
pub(super) fn range(args: &[Value]) -> Outcome {
    bounds(args)
        .and_then(|(from, to)| numbers("numbers.range", from, to, 1))
        .into()
}

/// `numbers.range_step(a, b, step)`.
pub(super) fn range_step(args: &[Value]) -> Outcome {
    let answer = bounds(args).and_then(|(from, to)| {
        let step = integer(args, 2)?;
        if step <= 0 {
            return Err("numbers.range_step: step must be a positive integer".to_owned());
        }
        numbers("numbers.range_step", from, to, step)
    });
    answer.into()
}

fn bounds(args: &[Value]) -> Result<(i128, i128), Fault> {
    Ok((integer(args, 0)?, integer(args, 1)?))
}

/// An integer of up to 128 bits.
fn integer(args: &[Value], index: usize) -> Result<i128, Fault> {
    let Some(Value::Number(number)) = args.get(index) else {
        return Err(operand::wrong(index, "number", args.get(index)));
    };
    let fault = || {
        format!(
            "operand {} must be integer number but got floating-point number",
            index.saturating_add(1)
        )
    };
    number.as_i128().ok_or_else(fault)
}

fn numbers(name: &str, from: i128, to: i128, step: i128) -> Result<Value, Fault> {
    let distance = to.checked_sub(from).map(i128::unsigned_abs);
    let count = distance.and_then(|distance| i128::try_from(distance).ok()?.checked_div(step));
    if count.is_none_or(|count| count >= MOST_NUMBERS) {
        return Err(format!(
            "{name}: timed out before generating all numbers in range"
        ));
    }
    let direction = if from <= to { step } else { step.saturating_neg() };
    let mut next = Some(from);
    let within = |number: &i128| if from <= to { *number <= to } else { *number >= to };
    let listed = std::iter::from_fn(|| {
        let number = next.filter(within)?;
        next = number.checked_add(direction);
        Some(Value::from(number))
    });
    Ok(Value::from(listed.collect::<Vec<_>>()))
}
