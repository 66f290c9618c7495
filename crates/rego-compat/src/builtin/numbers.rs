//! `numbers.range` and `numbers.range_step`, number by number, so that each is paid for; and random numbers.
//! Source: OPA `topdown/numbers.go`.

use num_bigint::BigInt;

use crate::meter::Meter;
use crate::value::number::float::Float;
use crate::value::{Number, Value};

use super::operand::CallError;
use super::{Answer, Outcome, answer, operand};

/// Implements `numbers.range` and `numbers.range_step`: up or down from the first to the last, in steps of one or of the
/// third argument.
pub(super) fn range(args: &[&Value], meter: &Meter) -> Answer {
    let mut numbers = args.iter().map(|arg| whole(arg));
    let (Some(Some(first)), Some(Some(last))) = (numbers.next(), numbers.next()) else { return Ok(None) };
    let Some(step) = numbers.next().unwrap_or_else(|| Some(BigInt::from(1))) else { return Ok(None) };
    if step <= BigInt::ZERO {
        return Ok(None);
    }
    let way = if first <= last { step.clone() } else { -&step };
    let distance = if first <= last { &last - &first } else { &first - &last };
    let steps = u64::try_from(distance / step).unwrap_or(u64::MAX);
    meter.afford(steps)?;
    meter.afford_bytes(usize::try_from(steps).unwrap_or(usize::MAX).saturating_mul(24))?;
    let mut values = Vec::new();
    let small = |number: &BigInt| i64::try_from(number).ok();
    if let (Some(mut next), Some(way), Some(_)) = (small(&first), small(&way), small(&last)) {
        for _ in 0..=steps {
            meter.spend(1)?;
            values.push(Value::from(next));
            // The last number is in range, so that only what is behind it could be out of it.
            next = next.saturating_add(way);
        }
    } else {
        let mut next = first;
        for _ in 0..=steps {
            meter.charge(64)?;
            values.push(Value::from(Number::from(&next)));
            next += &way;
        }
    }
    meter.charge(values.len().saturating_mul(24))?;
    answer(values)
}

/// Returns the whole number that a value is in OPA's floats of 64 significant bits.
fn whole(value: &Value) -> Option<BigInt> {
    let Value::Number(number) = value else { return None };
    match number.as_i64() {
        Some(small) => Some(BigInt::from(small)),
        None => Float::of(number).filter(Float::is_whole).map(|float| float.truncated()),
    }
}

/// Implements `rand.intn(key, n)`: a number from 0 up to the size of `n`, and 0 for 0.
pub(super) fn intn(args: &[&Value]) -> Outcome {
    let answer = operand::string(args, 0).and_then(|_| {
        let bound = u128::from(operand::integer(args, 1)?.unsigned_abs());
        // 128 random bits: the remainder favours no number by more than one in 2^64.
        let drawn = u128::from_be_bytes(random()?).checked_rem(bound).unwrap_or(0);
        Ok(Value::from(drawn))
    });
    answer.into()
}

/// A key or a number is not bad because the system fails.
pub(super) const NO_RANDOM: CallError = CallError::Internal("the system has no random numbers");

pub(super) fn random() -> Result<[u8; 16], CallError> {
    let mut bytes = [0_u8; 16];
    getrandom::getrandom(&mut bytes).map(|()| bytes).map_err(|_| NO_RANDOM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::EvalError;
    use eval_budget::{Budget, Limit};

    fn run(args: &[&str]) -> Answer {
        let args: Vec<Value> = args.iter().map(|arg| Value::from_json_str(arg).unwrap()).collect();
        range(&args.iter().collect::<Vec<_>>(), &Meter::new(&Budget::default()))
    }

    fn list(text: &str) -> Answer {
        Ok(Some(Value::from_json_str(text).unwrap()))
    }

    #[test]
    fn numbers_go_up_and_down_in_steps() {
        assert_eq!(run(&["1", "3"]), list("[1,2,3]"));
        assert_eq!(run(&["3", "1"]), list("[3,2,1]"));
        assert_eq!(run(&["1.0", "6", "2"]), list("[1,3,5]"));
        assert_eq!(run(&["5", "0", "4"]), list("[5,1]"));
        assert_eq!(
            run(&["9223372036854775806", "9223372036854775807"]),
            list("[9223372036854775806,9223372036854775807]")
        );
        assert_eq!(
            run(&["9223372036854775807", "9223372036854775808"]),
            list("[9223372036854775807,9223372036854775808]")
        );
    }

    #[test]
    fn steps_are_positive_and_numbers_whole() {
        assert_eq!(run(&["1", "3", "0"]), Ok(None));
        assert_eq!(run(&["1", "3", "-1"]), Ok(None));
        assert_eq!(run(&["1.5", "3"]), Ok(None));
        assert_eq!(run(&["\"1\"", "3"]), Ok(None));
    }

    #[test]
    fn too_many_numbers_end_the_evaluation() {
        for (from, to) in
            [("1", "1000000000000"), ("-9223372036854775808", "9223372036854775807"), ("0", "1e300")]
        {
            let ended = run(&[from, to]);
            assert!(matches!(ended, Err(EvalError::Budget(Limit::Instructions | Limit::Time))), "{ended:?}");
        }
    }
}
