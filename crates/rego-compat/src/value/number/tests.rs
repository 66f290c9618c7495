//! Spelling, order and arithmetic. What is expected is what OPA answers; tests/conformance asks it much more.

use std::cmp::Ordering;

use super::arithmetic::{absolute, ceil, floor, minus, over, plus, product, remainder, round, sum, times};
use super::*;

fn number(text: &str) -> Number {
    Number::parse(text).unwrap()
}

#[test]
fn a_number_keeps_its_text() {
    for text in ["0", "-0", "1.0", "1e3", "100.00", "-9223372036854775808", "9223372036854775808", ".5", "5."]
    {
        assert_eq!(number(text).text(), text);
    }
    assert!(matches!(number("-12").0, Repr::Small(-12)));
    assert!(matches!(number("12.0").0, Repr::Text(_)));
}

#[test]
fn what_is_no_number_or_beyond_all_bounds_is_refused() {
    for text in ["", "-", "1x", "1e", "e1", ".", "1e31000", "1e-31000", "1e99999999999999999999", "0x1"] {
        assert!(Number::parse(text).is_none(), "{text}");
    }
    assert!(Number::parse("1e30102").is_some());
    assert!(Number::parse("0e999999999").is_some());
}

#[test]
fn numbers_are_compared_as_decimals() {
    for (a, b, order) in [
        ("1", "1.0", Ordering::Equal),
        ("1e2", "100", Ordering::Equal),
        ("-0.0", "0", Ordering::Equal),
        ("0.1", "0.10000000000000000001", Ordering::Less),
        ("0.10000000000000000010", "0.10000000000000000020", Ordering::Equal),
        ("9007199254740993", "9007199254740992.5", Ordering::Greater),
        ("-2", "-1.5", Ordering::Less),
        ("1e400", "1e399", Ordering::Greater),
        ("-1e400", "1", Ordering::Less),
        ("0x1p4", "16", Ordering::Equal),
        ("0x1p-1", "0.5", Ordering::Equal),
    ] {
        assert_eq!(number(a).cmp(&number(b)), order, "{a} {b}");
        assert_eq!(number(b).cmp(&number(a)), order.reverse(), "{b} {a}");
    }
}

#[track_caller]
fn check(compute: fn(&Number, &Number) -> Option<Number>, a: &str, b: &str, expected: &str) {
    let result = compute(&number(a), &number(b));
    assert_eq!(
        result.map_or_else(|| "none".to_owned(), |result| result.text().into_owned()),
        expected,
        "{a} {b}"
    );
}

#[test]
fn arithmetic_is_exact_on_whole_numbers_and_rounds_to_64_bits_elsewhere() {
    check(plus, "0.1", "0.2", "0.3");
    check(plus, "9223372036854775807", "1", "9223372036854775808");
    check(plus, "1.0", "2", "3");
    check(minus, "1", "0.9", "0.10000000000000000002");
    check(times, "1e30", "1e30", &format!("1{}", "0".repeat(60)));
    check(times, "0", "-0.5", "-0");
    check(over, "1", "3", "0.33333333333333333334");
    check(over, "4", "2", "2");
    check(over, "0", "-5", "-0");
    check(over, "1", "0.0", "none");
    check(over, "1", "0", "none");
    check(over, "1e-7", "1", "1e-07");
    check(remainder, "-7", "3", "-1");
    check(remainder, "-9223372036854775808", "-1", "0");
    check(remainder, "1e20", "7", "2");
    check(remainder, "1.5", "1", "none");
    check(remainder, "1", "0", "none");
}

#[test]
fn rounding_follows_opa_around_zero() {
    let all = |compute: fn(&Number) -> Option<Number>| {
        ["1.5", "-1.5", "-0.5", "0.5", "1.0", "12345678901234567890123"]
            .map(|text| compute(&number(text)).unwrap().text().into_owned())
    };
    assert_eq!(all(round), ["2", "-2", "-1", "1", "1", "12345678901234567889920"]);
    assert_eq!(all(ceil), ["2", "-1", "1", "1", "1", "12345678901234567889920"]);
    assert_eq!(all(floor), ["1", "-2", "0", "0", "1", "12345678901234567889920"]);
    assert_eq!(all(absolute).map(|text| text.starts_with('-')), [false; 6]);
}

#[test]
fn sums_and_products_are_exact_if_all_are_whole() {
    let numbers = ["9223372036854775807", "1.0", "1"].map(number);
    let parts: Vec<&Number> = numbers.iter().collect();
    assert_eq!(sum(&parts).unwrap().text(), "9223372036854775809");
    assert_eq!(product(&parts).unwrap().text(), "9223372036854775807");
    let numbers = ["0.1", "3"].map(number);
    let parts: Vec<&Number> = numbers.iter().collect();
    assert_eq!(sum(&parts).unwrap().text(), "3.1");
    assert_eq!(product(&parts).unwrap().text(), "0.30000000000000004");
    assert_eq!(sum(&[]).unwrap().text(), "0");
    assert_eq!(product(&[]).unwrap().text(), "1");
}
