//! `net.cidr_expand`, address by address, so that each is paid for.

use crate::builtin::cidr::addresses;
use crate::meter::Meter;
use crate::value::{Set, Value};

use crate::builtin::{Answer, answer, text_at};

/// Bytes of one address in a set.
const EACH: usize = 72;

pub(in crate::builtin) fn expand(args: &[&Value], meter: &Meter) -> Answer {
    let Some((count, addresses)) = text_at(args, 0).and_then(addresses) else { return Ok(None) };
    meter.afford(u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(40))?;
    meter.afford_bytes(usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(EACH))?;
    let mut listed = Vec::new();
    for address in addresses {
        meter.charge(EACH)?;
        meter.spend(8)?;
        listed.push(Value::from(address));
    }
    answer(listed.into_iter().collect::<Set>().into_value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::EvalError;
    use eval_budget::{Budget, Limit};

    fn run(network: &str) -> Answer {
        expand(&[&Value::from(network)], &Meter::new(&Budget::default()))
    }

    #[test]
    fn networks_that_fit_are_listed_and_others_end_the_evaluation() {
        let two = Value::from_json_str(r#"["10.0.0.0", "10.0.0.1"]"#).unwrap();
        let two: Set = two.as_array().unwrap().iter().cloned().collect();
        assert_eq!(run("10.0.0.1/31"), Ok(Some(two.into_value())));
        assert_eq!(run("10.0.0.0"), Ok(None));
        for network in ["10.0.0.0/1", "::/0", "0.0.0.0/0"] {
            let ended = run(network);
            assert!(matches!(ended, Err(EvalError::Budget(Limit::Instructions | Limit::Time))), "{ended:?}");
        }
    }
}
