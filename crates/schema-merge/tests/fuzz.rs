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
    Finding, Fragment, Merger, MountPath, Options, Severity, Sharing, Style, check_crd, check_structural,
    defaulted, pruned, structuralize, validate_object,
};
use serde_json::{Value, json};

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
    while cases < most && seconds.is_none_or(|seconds| since.elapsed() < seconds) {
        let seed = start + cases;
        let outcome = std::panic::catch_unwind(|| case(seed));
        structural +=
            outcome.unwrap_or_else(|_| panic!("seed {seed} fails: run again with SCHEMA_FUZZ_SEED={seed}"));
        cases += 1;
        if cases % 1_000_000 == 0 {
            println!("{cases} cases, {} s", since.elapsed().as_secs());
        }
    }
    println!(
        "{cases} cases from seed {start} in {} s, {structural} became structural",
        since.elapsed().as_secs()
    );
    assert!(cases < 100 || structural > 0, "no schema became structural");
}

/// One case; gives 1 when the schema could be made structural.
fn case(seed: u64) -> u64 {
    let r = &mut Random::new(seed);
    let schema = match r.below(4) {
        0 => generate::any(r, 3),
        1 | 2 => generate::heap(r, 3),
        _ => generate::mistaken(r),
    };
    let object = generate::any(r, 3);
    let findings = check_structural(&schema, &Options::default().status_subresource(r.chance(20)));
    assert_eq!(findings, sorted(&findings), "findings come sorted");
    objects(&schema, &object, &findings);
    crd(r, &schema);
    merge(r, &schema);
    u64::from(made_structural(&schema))
}

fn sorted(findings: &[Finding]) -> Vec<Finding> {
    let mut findings = findings.to_vec();
    findings.sort_by_cached_key(|finding| (finding.severity, finding.to_string()));
    findings
}

/// Pruning and defaulting twice changes nothing any more.
fn objects(schema: &Value, object: &Value, findings: &[Finding]) {
    let verdict = validate_object(schema, object);
    if findings.iter().any(|finding| finding.severity == Severity::Decode) {
        return;
    }
    let once = pruned(schema, object);
    let twice = pruned(schema, &once.object);
    assert_eq!(once.object, twice.object, "pruning is idempotent");
    assert_eq!(twice.unknown_fields, Vec::<String>::new());
    // A default that is not valid may bring in nulls, which the next pass fills again.
    if !findings.iter().any(Finding::is_error) {
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
    for finding in check_crd(&crd) {
        assert!(!finding.to_string().is_empty());
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
            assert!(!check_structural(merged.schema(), &Options::default()).iter().any(Finding::is_error));
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

/// What comes out has no errors left, and coming out again changes nothing.
fn made_structural(schema: &Value) -> bool {
    let Ok(done) = structuralize(schema, Style::default()) else {
        return false;
    };
    let mounted = json!({"type": "object", "properties": {"it": done.schema}});
    let errors: Vec<_> =
        check_structural(&mounted, &Options::default()).into_iter().filter(Finding::is_error).collect();
    assert_eq!(errors, Vec::new(), "{schema}");
    let again = structuralize(&done.schema, Style::default())
        .unwrap_or_else(|e| panic!("{e:?} after {}", done.schema));
    assert_eq!(again.schema, done.schema, "structuralizing is idempotent: {schema}");
    true
}
