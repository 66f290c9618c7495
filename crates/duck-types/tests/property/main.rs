//! The promises of reading and editing, for generated objects and edits of a family of types (K2, K3, K4, K6).
//!
//! `DUCK_CASES` is the number of cases of the property, 10,000 by default. `DUCK_FUZZ_SECONDS` and `DUCK_FUZZ_SEED`
//! let the fuzz test run longer, and from another seed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::panic)]
#![allow(missing_docs, unreachable_pub, clippy::cast_precision_loss)]

#[path = "../family/mod.rs"]
#[allow(dead_code, reason = "the cases for the API server are used by the package duck-types-tests")]
mod family;

use std::time::{Duration, Instant};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn a_patch_gives_the_edited_view_and_touches_nothing_else() {
    let wanted = number("DUCK_CASES", 10_000);
    let (mut seed, mut checked, mut failed) = (0, 0, Vec::new());
    while checked < wanted {
        match family::check_seed(seed) {
            Ok(readable) => checked += u64::from(readable),
            Err(error) => {
                checked += 1;
                failed.push(error);
            }
        }
        seed += 1;
    }
    println!("{checked} cases from {seed} seeds");
    let shown: Vec<_> = failed.iter().take(12).map(String::as_str).collect();
    assert!(failed.is_empty(), "{} of {checked} cases failed:\n{}", failed.len(), shown.join("\n"));
}

#[test]
fn fuzz() {
    let (mut seed, mut checked) = (number("DUCK_FUZZ_SEED", 1 << 40), 0_u64);
    let (start, begun) = (seed, Instant::now());
    let time = Duration::from_secs(number("DUCK_FUZZ_SECONDS", 2));
    while begun.elapsed() < time {
        checked += u64::from(family::check_seed(seed).unwrap());
        seed += 1;
    }
    println!("{checked} cases from {} seeds after {start} in {} s", seed - start, begun.elapsed().as_secs());
    assert!(checked > 0);
}
