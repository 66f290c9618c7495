//! The order of keys, which people read. Source: the sorter of `go.yaml.in/yaml/v3`.

use std::cmp::Ordering;

/// Returns the order of keys: letters after anything else, and digits by the numbers they are.
pub(super) fn natural(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut digits = false;
    for (place, (x, y)) in a.iter().zip(&b).enumerate() {
        if x == y {
            digits = x.is_numeric();
            continue;
        }
        return match (x.is_alphabetic(), y.is_alphabetic()) {
            (true, true) => x.cmp(y),
            (true, false) => {
                if digits {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (false, true) => {
                if digits {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (false, false) => numeric(&a, &b, place),
        };
    }
    a.len().cmp(&b.len())
}

/// Compares from the first difference on, which is among digits or signs.
fn numeric(a: &[char], b: &[char], place: usize) -> Ordering {
    let rest = |text: &[char]| text.get(place..).unwrap_or_default().to_vec();
    let (rest_a, rest_b) = (rest(a), rest(b));
    let zero = rest_a.first() == Some(&'0') || rest_b.first() == Some(&'0');
    let before = a.get(..place).unwrap_or_default().iter().rev().take_while(|digit| digit.is_numeric());
    // A zero within a number counts, one in front of it does not.
    let start = i64::from(zero && before.into_iter().any(|digit| *digit != '0'));
    let run = |text: &[char]| text.iter().take_while(|digit| digit.is_numeric()).count();
    let number = |text: &[char]| {
        text.iter().take(run(text)).fold(start, |number, digit| {
            let digit = i64::from(u32::from(*digit)).wrapping_sub(i64::from(u32::from('0')));
            number.wrapping_mul(10).wrapping_add(digit)
        })
    };
    let order = number(&rest_a).cmp(&number(&rest_b));
    order.then(run(&rest_a).cmp(&run(&rest_b))).then(rest_a.first().cmp(&rest_b.first()))
}
