//! Measures what hostile policies cost until they are refused or stopped, and how parsing grows with the size.
//!
//! `cargo run --release -p rego-compat --example hostile [PART OF A NAME]`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::arithmetic_side_effects,
    reason = "a program that measures"
)]
#![allow(unreachable_pub, reason = "the list is shared with a test")]

use std::time::{Duration, Instant};

use rego_compat::{Budget, Module, RegoVersion, Restrictions, Value, compile};

#[path = "../tests/hostile/templates.rs"]
mod templates;

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for hostile in templates::all().iter().filter(|hostile| hostile.name.contains(&wanted)) {
        let begun = Instant::now();
        let outcome = run(&hostile.text);
        println!("{:>9.1} ms  {:<48} {:?}: {outcome}", ms(begun.elapsed()), hostile.name, hostile.fate);
    }
    if wanted.is_empty() {
        growth();
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns what became of a policy, and how long each step took.
fn run(text: &str) -> String {
    let begun = Instant::now();
    let module = match Module::parse("hostile.rego", text, RegoVersion::V0) {
        Ok(module) => module,
        Err(diagnostics) => return format!("refused by the parser: {:.80}", first(&diagnostics)),
    };
    let parsed = ms(begun.elapsed());
    let begun = Instant::now();
    let program = match compile(&[module], "data.t.p", &Restrictions::default()) {
        Ok(program) => program,
        Err(diagnostics) => return format!("parsed in {parsed:.1}, refused: {:.80}", first(&diagnostics)),
    };
    let compiled = ms(begun.elapsed());
    let begun = Instant::now();
    let input = Value::from_json_str(r#"{"a": 1}"#).unwrap();
    let answer = program.evaluate(&input, &Value::new_object(), &Budget::default());
    let outcome = match answer {
        Ok(value) => format!("answered, {}", if value.is_some() { "with a value" } else { "undefined" }),
        Err(error) => format!("stopped: {error:.80}"),
    };
    format!(
        "parsed in {parsed:.1}, compiled in {compiled:.1}, evaluated in {:.1}, {outcome}",
        ms(begun.elapsed())
    )
}

fn first(diagnostics: &rego_compat::Diagnostics) -> String {
    let message = diagnostics.iter().next().map(ToString::to_string).unwrap_or_default();
    format!("{} diagnostics, {message}", diagnostics.len())
}

/// Parsing and compiling policies of growing size, per byte.
fn growth() {
    for (name, piece) in [
        ("rules", "r@ { input.a@ == \"b\"; not input.c@; count(input.d@) > 1 }\n"),
        ("set elements", "p[x] { x := sprintf(\"%v\", [input.a@]); x != \"\" }\n"),
    ] {
        for count in [125, 250, 500, 1_000, 2_000, 4_000 - 1] {
            let text: String = (0..count).map(|n| piece.replace('@', &n.to_string())).collect();
            measure(name, &format!("package t\n{text}"));
        }
    }
    for count in [125, 250, 500, 1_000] {
        let statements: String = (0..count).map(|n| format!("x{n} = [x{}]\n", n + 1)).collect();
        measure("reversed statements", &format!("package t\np = x0 {{ {statements} x{count} = 1 }}"));
    }
    for count in [1 << 10, 1 << 12, 1 << 14, 1 << 16] {
        measure("elements", &format!("package t\np = [{}1]", "\"abcde\",\n".repeat(count)));
    }
}

fn measure(name: &str, text: &str) {
    let begun = Instant::now();
    let module = Module::parse("growth.rego", text, RegoVersion::V0).unwrap();
    let parsed = begun.elapsed();
    let begun = Instant::now();
    let refused = compile(&[module], "data.t", &Restrictions::default()).is_err();
    let compiled = begun.elapsed();
    let per_byte = |time: Duration| time.as_secs_f64() * 1e9 / text.len() as f64;
    println!(
        "{name:<20} {:>8} bytes  parse {:>7.2} ms {:>6.0} ns/byte  compile {:>8.2} ms {:>6.0} ns/byte{}",
        text.len(),
        ms(parsed),
        per_byte(parsed),
        ms(compiled),
        per_byte(compiled),
        if refused { "  refused" } else { "" },
    );
}
