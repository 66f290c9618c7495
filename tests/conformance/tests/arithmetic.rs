//! Numbers: random expressions over random spellings, computed, compared and printed by OPA and by us. Results
//! have to agree to the letter.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

use conformance::ours::{Sources, evaluate, patience};
use conformance::random::Random;
use conformance::{Judge, Verdict, scale};
use rego_compat::{Budget, Restrictions, Value};
use serde_json::json;

/// Expressions in one module: a rule each.
const RULES: usize = 50;

fn digits(random: &mut Random, count: usize) -> String {
    let all = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "0", "9", "5"];
    (0..count).map(|_| random.pick(&all)).collect()
}

/// A number in any of the spellings that a program may have.
fn number(random: &mut Random) -> String {
    if random.once_in(3) {
        return random.pick(SPECIAL).to_owned();
    }
    let whole = if random.once_in(4) {
        0
    } else {
        1 + random.below(3) + random.below(20) * usize::from(random.once_in(3))
    };
    let mut text = digits(random, whole);
    text = text.trim_start_matches('0').to_owned();
    if text.is_empty() {
        text.push('0');
    }
    if random.once_in(2) {
        let count = 1 + random.below(3) + random.below(25) * usize::from(random.once_in(3));
        text.push('.');
        text.push_str(&digits(random, count));
        if text.starts_with("0.") && random.once_in(6) {
            text.remove(0);
        }
    }
    if random.once_in(5) {
        text.push(random.pick(&['e', 'E']));
        text.push_str(random.pick(&["", "+", "-", "-"]));
        let range = random.pick(&[3, 30, 30, 330, 2000]);
        text.push_str(&random.below(range).to_string());
    }
    if random.once_in(3) { format!("-{text}") } else { text }
}

const SPECIAL: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "10",
    "0.5",
    "-0.5",
    "0.1",
    "0.2",
    "0.3",
    "1.0",
    "100.0",
    "1e0",
    "-0",
    "0.0",
    "-0.0",
    "1e21",
    "1e20",
    "2147483647",
    "-2147483648",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "9007199254740993",
    "0.30000000000000004",
    "1e-7",
    "1.5",
    "2.5",
    "-2.5",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
    "1e400",
    "1e-400",
];

fn expression(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.once_in(5) {
        return number(random);
    }
    let mut inner = || expression(random, depth - 1);
    let (a, b) = (inner(), inner());
    match random.below(12) {
        0..=6 => format!("({a} {} {b})", random.pick(&["+", "-", "*", "/", "+", "-", "*", "/", "%"])),
        7 | 8 => format!("{}({a})", random.pick(&["abs", "ceil", "floor", "round"])),
        9 => format!("{}([{a}, {b}, {}])", random.pick(&["sum", "product", "max", "min"]), number(random)),
        10 => format!("{}({{x | x := [{a}, {b}][_]}})", random.pick(&["sum", "product", "max", "min"])),
        _ => format!("to_number(sprintf(\"%v\", [{a}]))"),
    }
}

/// Returns what a policy may do with a number.
fn question(random: &mut Random) -> String {
    let (a, b) = (expression(random, 2), expression(random, 2));
    match random.below(10) {
        0..=3 => a,
        4 | 5 => format!("{a} {} {b}", random.pick(&["==", "!=", "<", "<=", ">", ">="])),
        6 => {
            let verb =
                random.pick(&["%v", "%d", "%f", "%g", "%s", "%.3f", "%e", "%x", "%08.2f", "%+v", "%t", "%b"]);
            format!("sprintf(\"{verb}|%v\", [{a}, [{b}]])")
        }
        7 => format!("json.marshal([{a}, {{{b}: {a}}}])"),
        8 => format!("format_int({a}, {})", random.pick(&["2", "8", "10", "16", "10.0"])),
        _ => random_set(random, &a, &b),
    }
}

fn random_set(random: &mut Random, a: &str, b: &str) -> String {
    match random.below(6) {
        0 => format!("sort([{a}, {b}, {}])", number(random)),
        1 => format!("{{x | x := [{a}, {b}, {}][_]}}", number(random)),
        2 => format!("{}({a}, {b})", random.pick(&["bits.and", "bits.or", "bits.xor"])),
        3 => format!("bits.{}({a}, {})", random.pick(&["lsh", "rsh"]), random.below(80)),
        4 => format!("list[{a}]"),
        _ => format!("units.parse(sprintf(\"%v\", [{a}]))"),
    }
}

#[test]
fn expressions_have_the_values_they_have_in_opa() {
    let modules = scale::from_env("CONFORMANCE_EXPRESSIONS", 20_000) / RULES;
    let mut random = Random::new(u64::try_from(scale::from_env("CONFORMANCE_SEED", 5)).unwrap());
    let module = |random: &mut Random| {
        let rules: String = (0..RULES).map(|index| format!("r{index} := {}\n", question(random))).collect();
        Sources {
            modules: vec![(
                "n.rego".to_owned(),
                format!("package n\n\nlist := json.unmarshal(\"[10, 11, 12]\")\n{rules}"),
            )],
            v0: false,
        }
    };
    let sources: Vec<Sources> = (0..modules).map(|_| module(&mut random)).collect();
    let questions = sources
        .iter()
        .map(|sources| json!({"op": "eval", "modules": sources.to_json(), "query": "data.n"}).to_string());
    let (mut differences, mut defined) = (Vec::new(), 0);
    let mut judge = Judge::opa().expect("a judge");
    judge
        .ask_all(questions, |position, answer| {
            let (opa, ours) = (Verdict::of_judge(&answer), ours(&sources[position]));
            let (Verdict::Value(opa), Verdict::Value(ours)) = (&opa, &ours) else {
                if opa.agrees(&ours) {
                    return;
                }
                differences.push(format!("OPA {opa:?}\n  ours {ours:?}\n{}", sources[position].modules[0].1));
                return;
            };
            for (index, line) in sources[position].modules[0].1.lines().skip(3).enumerate() {
                let of = |document: &Value| {
                    let found = document.as_object().unwrap().get(&Value::from(format!("r{index}"))).cloned();
                    found.map_or(Verdict::Undefined, Verdict::Value)
                };
                let (opa, ours) = (of(opa), of(ours));
                defined += usize::from(matches!(opa, Verdict::Value(_)));
                if !opa.agrees(&ours) {
                    differences.push(format!("{line}\n  OPA  {opa:?}\n  ours {ours:?}"));
                }
            }
        })
        .expect("answers");
    println!("{} expressions, {defined} with a value, {} differences", modules * RULES, differences.len());
    let shown = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} differences:\n{shown}", differences.len());
}

/// Chains of left-associative operators, which are not nesting: OPA has no bound on them below a module's size.
fn chain(random: &mut Random, operators: usize) -> String {
    let mut text = random.pick(&["1", "2.5", "-3"]).to_owned();
    for _ in 0..operators {
        // Line by line: a line is at most 16,384 characters long.
        let operand = random.pick(&["1", "1", "0.5", "0.5", "2 * 3", "7 % 4", "(1 - 2)", "4 / 2 / 2"]);
        text += &format!("\n{} {operand}", random.pick(&["+", "-"]));
    }
    text
}

#[test]
fn chains_have_the_values_they_have_in_opa() {
    let mut random = Random::new(7);
    let lengths = [2, 3, 16, 17, 90, 95, 96, 97, 300, 300, 1_000];
    let mut bounds = Restrictions::default().bounds();
    bounds.terms = 100_000;
    let restrictions = Restrictions::default().with_bounds(bounds);
    let long = format!("0{}", "\n+ 1".repeat(10_000));
    let chains = lengths.iter().map(|length| chain(&mut random, *length)).chain([long]);
    let sources: Vec<Sources> = chains
        .map(|chain| format!("package n\n\nv := {chain}\n"))
        .map(|text| Sources { modules: vec![("n.rego".to_owned(), text)], v0: false })
        .collect();
    let questions = sources
        .iter()
        .map(|sources| json!({"op": "eval", "modules": sources.to_json(), "query": "data.n.v"}).to_string());
    let mut judge = Judge::opa().expect("a judge");
    judge
        .ask_all(questions, |position, answer| {
            let program = sources[position].compile("data.n.v", &restrictions).expect("no bound is met");
            let ours = evaluate(&program, &Value::Undefined, &Value::new_object(), &patience());
            let opa = Verdict::of_judge(&answer);
            assert!(matches!(opa, Verdict::Value(_)), "chain {position}: {opa:?}");
            assert!(opa.agrees(&ours), "chain {position}: OPA {opa:?}, ours {ours:?}");
        })
        .expect("answers");
}

fn ours(sources: &Sources) -> Verdict {
    match sources.compile("data.n", &Restrictions::default()) {
        Ok(program) => evaluate(&program, &Value::Undefined, &Value::new_object(), &Budget::default()),
        Err(refused) => refused,
    }
}
