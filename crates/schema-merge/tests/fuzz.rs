//! Nothing panics, whatever it is given, and what must hold for every input holds.
//!
//! `SCHEMA_FUZZ_CASES` says how many cases to run, `SCHEMA_FUZZ_SEED` with which to start, `SCHEMA_FUZZ_SECONDS` for how long
//! to go on instead. A failure prints its seed.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test says no by panicking"
)]
#![allow(clippy::arithmetic_side_effects, reason = "seeds and counts stay small")]

mod generate;

use std::time::{Duration, Instant};

use generate::Random;
use schema_merge::{
    Change, Diagnostic, Direction, Fragment, Impact, Merger, MountPath, Severity, Sharing, StructuralOptions,
    Style, check_structural, compare, compare_crds, defaulted, pruned, structuralize, validate_crd,
    validate_object,
};
use serde_json::{Value, json};

/// Enough to see whether failures have one cause.
const MOST_FAILURES: usize = 12;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn no_input_panics_and_every_input_obeys() {
    let start = setting("SCHEMA_FUZZ_SEED").unwrap_or(0);
    let seconds = setting("SCHEMA_FUZZ_SECONDS").map(Duration::from_secs);
    let most = setting("SCHEMA_FUZZ_CASES").unwrap_or(if seconds.is_some() { u64::MAX } else { 4_000 });
    let since = Instant::now();
    let (mut cases, mut structural) = (0, 0);
    let mut failing = Vec::new();
    while cases < most
        && failing.len() < MOST_FAILURES
        && seconds.is_none_or(|seconds| since.elapsed() < seconds)
    {
        let seed = start + cases;
        match std::panic::catch_unwind(|| case(seed)) {
            Ok(count) => structural += count,
            Err(_) => failing.push(seed),
        }
        cases += 1;
        if cases % 1_000_000 == 0 {
            println!("{cases} cases, {} s", since.elapsed().as_secs());
        }
    }
    println!(
        "{cases} cases from seed {start} in {} s, {structural} became structural",
        since.elapsed().as_secs()
    );
    assert_eq!(
        failing,
        Vec::<u64>::new(),
        "seeds that fail; run one again with SCHEMA_FUZZ_SEED and SCHEMA_FUZZ_CASES=1"
    );
    assert!(cases < 100 || structural > 0, "no schema became structural");
}

/// One case; gives 1 when the schema could be made structural.
fn case(seed: u64) -> u64 {
    let r = &mut Random::new(seed);
    if r.chance(1) && r.chance(20) {
        return nested(r);
    }
    let schema = match r.below(7) {
        0 => generate::any(r, 3),
        1 | 2 => generate::heap(r, 3),
        3 => ruled(r),
        4 => generate::resource(r, 3),
        _ => generate::mistaken(r),
    };
    let object = generate::any(r, 3);
    let diagnostics =
        check_structural(&schema, &StructuralOptions::default().status_subresource(r.chance(20)));
    assert_eq!(&*diagnostics, sorted(&diagnostics), "diagnostics come sorted");
    objects(&schema, &object, &diagnostics);
    evolution(r, &schema, &diagnostics);
    crd(r, &schema);
    merge(r, &schema);
    u64::from(made_structural(&schema))
}

/// A sound schema with validation rules here and there, so that they are compiled.
fn ruled(r: &mut Random) -> Value {
    let mut schema = generate::resource(r, 2);
    for _ in 0..1 + r.below(3) {
        let rules: Vec<Value> = (0..1 + r.below(2))
            .map(|_| json!({"rule": generate::text::expression(r, 4), "message": "no"}))
            .collect();
        let at = r.below(generate::nodes(&schema));
        generate::visit(&mut schema, at, &mut |node| {
            if node.is_object() {
                node["x-kubernetes-validations"] = json!(rules);
            }
        });
    }
    schema
}

/// The same through everything with a schema nested close to the bounds.
fn nested(r: &mut Random) -> u64 {
    let mut schema = generate::heap(r, 1);
    for _ in 0..r.below(240) {
        let inner = schema;
        schema = match r.below(8) {
            0 => json!({"type": "array", "items": inner}),
            1 => json!({"type": "object", "additionalProperties": inner}),
            2 => json!({"type": "object", *r.pick(&["allOf", "anyOf", "oneOf"]): [inner]}),
            3 => json!({"type": "object", "not": inner}),
            4 => json!({"default": inner}),
            _ => json!({"type": "object", "properties": {"a": inner}}),
        };
    }
    let diagnostics = check_structural(&schema, &StructuralOptions::default());
    objects(&schema, &schema, &diagnostics);
    evolution(r, &schema, &diagnostics);
    merge(r, &schema);
    u64::from(made_structural(&schema))
}

/// A schema does not differ from itself, and stored objects survive what is said to be safe.
fn evolution(r: &mut Random, schema: &Value, diagnostics: &[Diagnostic]) {
    let other = if r.chance(70) { generate::evolved(r, schema) } else { generate::heap(r, 2) };
    let changes = compare(schema, &other);
    for change in changes.iter().chain(&compare(&other, schema)) {
        assert!(!change.to_string().is_empty() && !change.rule.is_empty());
    }
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Decode) {
        return;
    }
    assert_eq!(compare(schema, schema), vec![], "{schema}");
    let sound = |diagnostics: &[Diagnostic]| !diagnostics.iter().any(Diagnostic::is_error);
    if !sound(diagnostics)
        || !sound(&check_structural(&other, &StructuralOptions::default()))
        || changes.iter().any(endangers)
    {
        return;
    }
    for _ in 0..3 {
        let before = validate_object(schema, &generate::sample(r, schema));
        if before.is_valid() {
            let after = validate_object(&other, &before.stored);
            assert!(after.is_valid(), "{}\n{:?}\nold {schema}\nnew {other}", before.stored, after.errors);
            assert_eq!(
                after.unknown_fields,
                Vec::<String>::new(),
                "{} old {schema} new {other}",
                before.stored
            );
        }
    }
}

fn endangers(change: &Change) -> bool {
    change.direction == Direction::Stored && change.impact != Impact::Behaviour
}

fn sorted(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut diagnostics = diagnostics.to_vec();
    diagnostics.sort_by_cached_key(|diagnostic| (diagnostic.severity, diagnostic.to_string()));
    diagnostics
}

/// Pruning and defaulting twice changes nothing any more.
fn objects(schema: &Value, object: &Value, diagnostics: &[Diagnostic]) {
    let verdict = validate_object(schema, object);
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Decode) {
        return;
    }
    let once = pruned(schema, object);
    let twice = pruned(schema, &once.object);
    assert_eq!(once.object, twice.object, "pruning is idempotent");
    assert_eq!(twice.unknown_fields, Vec::<String>::new());
    // A default that is not valid may bring in nulls, which the next pass fills again.
    if !diagnostics.iter().any(Diagnostic::is_error) {
        let filled = defaulted(schema, object);
        assert_eq!(defaulted(schema, &filled), filled, "defaulting is idempotent");
        assert!(verdict.stored.is_object() || !object.is_object());
    }
}

fn crd(r: &mut Random, schema: &Value) {
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "foos", "kind": "Foo"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}},
            {"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": generate::any(r, 1)}},
        ]},
    });
    if r.chance(30) {
        crd["spec"]["versions"][r.below(2)] = generate::any(r, 2);
    }
    if r.chance(10) {
        crd["spec"] = generate::any(r, 3);
    }
    let diagnostics = validate_crd(&crd);
    for diagnostic in &diagnostics {
        assert!(!diagnostic.to_string().is_empty());
    }
    if !diagnostics.iter().any(Diagnostic::is_error) {
        assert_eq!(compare_crds(&crd, &crd), vec![], "{crd}");
    }
    for change in compare_crds(&crd, &generate::any(r, 3)) {
        assert!(!change.to_string().is_empty());
    }
}

fn merge(r: &mut Random, schema: &Value) {
    let mut merger = Merger::new().status_subresource(r.chance(50)).strip_descriptions(r.chance(20));
    for origin in ["a", "b", "c"] {
        let path = *r.pick(&["", "/spec", "/spec/a", "/spec/a/b", "/status", "/spec/a~1b"]);
        let path: MountPath = path.parse().unwrap();
        let part = if r.chance(50) { schema.clone() } else { generate::heap(r, 2) };
        let sharing = *r.pick(&[Sharing::Exclusive, Sharing::SharedStrict, Sharing::SharedIntersect]);
        let fragment = Fragment::new(origin, path, part).sharing(sharing);
        merger = merger.mount(if r.chance(30) { fragment.any_type() } else { fragment });
    }
    match merger.build() {
        Ok(merged) => {
            assert!(
                !check_structural(merged.schema(), &StructuralOptions::default())
                    .iter()
                    .any(Diagnostic::is_error)
            );
            let _ = merged.blame("spec.validation.openAPIV3Schema.properties[spec].properties[a/b].type: x");
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            errors
                .iter()
                .for_each(|error| assert!(!error.to_string().is_empty() && !error.code().is_empty()));
        }
    }
}

/// Asserts that the outcome has no errors left, and that another pass changes nothing.
fn made_structural(schema: &Value) -> bool {
    let Ok(done) = structuralize(schema, Style::default()) else {
        return false;
    };
    let mounted = json!({"type": "object", "properties": {"it": done.schema}});
    let errors: Vec<_> = check_structural(&mounted, &StructuralOptions::default())
        .into_iter()
        .filter(Diagnostic::is_error)
        .collect();
    assert_eq!(errors, Vec::new(), "{schema}");
    let again = structuralize(&done.schema, Style::default())
        .unwrap_or_else(|e| panic!("{e:?} after {}", done.schema));
    assert_eq!(again.schema, done.schema, "structuralizing is idempotent: {schema}");
    true
}
