//! Run by the test beside it, in a build of its own.
#![allow(dead_code, unused_imports, unused_macros)]

#[path = "FAMILY"]
mod family;

use duck_types::{Duck, DuckType, PatchPrecondition};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize, DuckType)]
#[duck(path = "/spec/rates")]
struct Rates(Vec<f64>);

fn main() {
    let mut random = family::Random::new(1);
    let floats: Vec<f64> = (0..10_000).map(|_| (random.next() >> 11) as f64 / (1_u64 << 53) as f64).collect();
    let kept = floats.iter().filter(|float| {
        let text = format!(
            r#"{{"apiVersion": "v1", "kind": "K", "metadata": {{"name": "n", "uid": "u", "resourceVersion": "1"}}, "spec": {{"rates": [{float:?}]}}}}"#
        );
        let duck: Duck<Rates> = serde_json::from_str(&text).unwrap();
        let diff = duck.edit(|rates| rates.0.push(**float)).unwrap();
        let patched = family::patched(&serde_json::to_value(&duck).unwrap(), &diff.json(PatchPrecondition::Version).unwrap());
        let back: Duck<Rates> = serde_json::from_value(patched.unwrap()).unwrap();
        back.view().unwrap().0 == [**float, **float]
    });
    println!("floats: {} of {} kept", kept.count(), floats.len());
    #[cfg(feature = "arbitrary_precision")]
    {
        let duck: Duck<Rates> = serde_json::from_str(r#"{"metadata": {}, "spec": {"rates": [1.00]}}"#).unwrap();
        println!("as text: {}", duck.object().data["spec"]["rates"][0]);
    }
    let mut checked = 0;
    for seed in 0..4_000 {
        checked += u64::from(family::check_seed(seed).unwrap());
    }
    // Types with flattened or tagged numbers cannot be read with arbitrary_precision; all others can.
    assert!(checked > 1_500, "only {checked} of 4,000 cases are readable");
    println!("{checked} cases");
}
