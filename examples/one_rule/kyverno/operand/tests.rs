//! Tables of patterns for single values, and the values that each accepts.

use serde_json::json;

use super::*;

#[track_caller]
fn check(pattern: &str, value: &Value, expected: bool) {
    assert_eq!(Operand::read(pattern).unwrap().matches(value), expected, "{pattern} {value}");
}

#[test]
fn operators_ranges_and_their_combinations() {
    for number in -10..25 {
        let value = json!(number);
        check(">2", &value, number > 2);
        check("<= 10", &value, number <= 10);
        check("3-10", &value, (3..=10).contains(&number));
        check("3!-10", &value, !(3..=10).contains(&number));
        check("-5--1", &value, (-5..=-1).contains(&number));
        check("-5!-+1", &value, !(-5..=1).contains(&number));
        check(">2 & <11 | 20", &value, (3..11).contains(&number) || number == 20);
        check("!5", &value, number != 5);
    }
}

#[test]
fn numbers_quantities_and_durations_are_compared_by_their_value() {
    for (pattern, value, expected) in [
        ("5", json!(5.0), true),
        ("5", json!("5000m"), true),
        ("!5", json!("5000m"), false),
        ("<2", json!("500m"), true),
        (">2", json!("10Mi"), true),
        ("10Mi", json!("10240Ki"), true),
        ("!10Mi", json!("10240Ki"), false),
        (">10Mi", json!("11M"), true),
        ("10Mi-20Mi", json!("15Mi"), true),
        ("10Mi-20Mi", json!("25Mi"), false),
        ("10Mi!-20Mi", json!("25Mi"), true),
        ("10Mi!-20Mi", json!("15Mi"), false),
        ("1h-2h", json!("90m"), true),
        ("1h-2h", json!("3h"), false),
        ("1h-2h", json!(2), false),
        ("5m", json!("300s"), true),
        ("100m", json!(0.1), true),
        (">2", json!("many"), false),
        ("3!-10", json!("many"), false),
    ] {
        check(pattern, &value, expected);
    }
}

/// Null stands for what is missing: it is 0 for numbers, and no text.
#[test]
fn what_is_missing_is_zero() {
    for (pattern, expected) in [
        ("<=10", true),
        (">2", false),
        ("0", true),
        ("!5", true),
        ("3!-10", true),
        ("!latest", false),
        ("*", false),
        ("", false),
    ] {
        check(pattern, &json!(null), expected);
    }
}

#[test]
fn texts_are_matched_by_wildcards_and_never_by_operators() {
    check("nginx:*", &json!("nginx:1.2"), true);
    check("!*:latest", &json!("nginx:latest"), false);
    check("?*", &json!(""), false);
    check("?*", &json!("a"), true);
    check("*", &json!(""), true);
    check("?", &json!("é"), true);
    check("a|b", &json!("a|b"), true);
    check("2024-12-01", &json!("2024-12-01"), true);
    check("1.25.0-2", &json!("1.25.0-2"), true);
    check("7-zip", &json!("7-zip"), true);
    check(">2", &json!("3"), true);
    check("true", &json!(true), true);
    check("!true", &json!(false), true);
    check("1?", &json!(12), true);
    // A fraction has an exponent in its text.
    check("?.?", &json!(1.5), false);
    check("1.5E+0?", &json!(1.5), true);
    for value in [json!([]), json!({})] {
        check("*", &value, false);
        check("!5", &value, false);
    }
}

#[test]
fn what_would_admit_all_or_nothing_is_refused() {
    for (pattern, reason) in [
        ("> many", "a number"),
        (">NaN", "a number"),
        (">inf", "a number"),
        (">= 3-10", "a number"),
        (">", "a number"),
        ("10-3", "upside down"),
        ("2h-90m", "upside down"),
        ("20Mi!-10Mi", "upside down"),
        ("1h-10", "a number"),
        ("1a-2b", "a number"),
        ("3 - 10", "without spaces"),
        ("!>2", "behind `!`"),
        ("!=2", "behind `!`"),
        ("!!2", "behind `!`"),
        ("!3-10", "behind `!`"),
        ("!", "behind `!`"),
        ("a | !>2", "behind `!`"),
        ("{{ request.object.metadata.name }}", "variables"),
        ("!{{ element }}", "variables"),
        ("$(../b)", "variables"),
        (">$(../b)", "variables"),
    ] {
        let refused = Operand::read(pattern);
        assert!(refused.as_ref().is_err_and(|error| error.contains(reason)), "{pattern}: {refused:?}");
    }
}

/// Every pattern of up to four signs against every text of up to four, compared with the definition of `*` and `?`.
#[test]
fn wildcards_do_what_their_definition_says() {
    fn definition(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|from| definition(rest, text.get(from..).unwrap())),
            Some((sign, rest)) => text
                .split_first()
                .is_some_and(|(other, text)| (*sign == '?' || sign == other) && definition(rest, text)),
        }
    }
    let words = |signs: &[char]| {
        let mut words = vec![Vec::new()];
        let mut last = words.clone();
        for _ in 0..4 {
            last = last
                .iter()
                .flat_map(|word| signs.iter().map(move |sign| [word.as_slice(), &[*sign]].concat()))
                .collect();
            words.extend(last.clone());
        }
        words
    };
    let string = |word: &[char]| word.iter().collect::<String>();
    for pattern in words(&['a', 'é', '*', '?']) {
        for text in words(&['a', 'é']) {
            let (found, expected) =
                (wildcard(&string(&pattern), &string(&text)), definition(&pattern, &text));
            assert_eq!(found, expected, "{pattern:?} {text:?}");
        }
    }
}
