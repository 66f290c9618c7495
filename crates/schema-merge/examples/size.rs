//! Measures how long a deep and a wide schema take, in milliseconds: `cargo run --release --example size`.

use std::time::Instant;

use schema_merge::{
    Fragment, Merger, MountPath, StructuralOptions, Style, check_structural, compare, structuralize,
};
use serde_json::{Map, Value, json};

fn main() {
    let deep = (0..200)
        .fold(json!({"type": "string"}), |inner, _| json!({"type": "object", "properties": {"a": inner}}));
    let property = |number| {
        (format!("p{number}"), json!({"type": "string", "maxLength": 63, "description": "what it means"}))
    };
    let wide = json!({"type": "object", "properties": (0..10_000).map(property).collect::<Map<_, _>>()});
    println!("{:<24}{:>10}{:>10}{:>10}{:>10}", "", "check", "mount", "derive", "compat");
    for (name, spec) in [("200 levels", deep), ("10,000 properties", wide)] {
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        let check = milliseconds(|| check_structural(&schema, &StructuralOptions::default()).len());
        let mount = milliseconds(|| {
            let fragment = Fragment::new("a", MountPath::of(["spec"]), spec.clone());
            usize::from(Merger::new().mount(fragment).build().is_ok())
        });
        let derive = milliseconds(|| usize::from(structuralize(&spec, Style::default()).is_ok()));
        let compare = milliseconds(|| compare(&schema, &Value::clone(&schema)).len());
        println!("{name:<24}{check:>10.1}{mount:>10.1}{derive:>10.1}{compare:>10.1}");
    }
}

/// The best of five runs.
fn milliseconds(run: impl Fn() -> usize) -> f64 {
    let once = || {
        let since = Instant::now();
        std::hint::black_box(run());
        since.elapsed().as_secs_f64() * 1_000.0
    };
    (0..5).map(|_| once()).fold(f64::INFINITY, f64::min)
}
