//! Templates in CEL find what Gatekeeper finds, in the same words.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says no by panicking"
)]

use conformance::admission::asked;
use conformance::{Judge, native, reviews};
use serde_json::{Value as Json, json};

/// The lines of one side alone, each with the source of its template.
fn only(these: &[Json], those: &[Json], sources: &[Json]) -> String {
    let source = |line: &Json| {
        let kind = line[0].as_str().unwrap().split('/').next().unwrap();
        kind.strip_prefix('K').and_then(|number| sources.get(number.parse::<usize>().ok()?)).cloned()
    };
    let shown = |line: &Json| line.to_string().chars().take(300).collect::<String>();
    let lines = these.iter().filter(|line| !those.contains(line));
    lines.map(|line| format!("  {}\n    {}\n", shown(line), source(line).unwrap_or_default())).collect()
}

#[test]
fn templates_in_cel_find_what_gatekeeper_finds() {
    let sources = native::sources();
    let policies = native::policies(&sources);
    let mut judge = Judge::gatekeeper().expect("a judge");
    let mut client = policies.client();
    client["cel"] = json!(true);
    assert_eq!(judge.ask(&client).expect("an answer")["refused"], json!({}));
    let set = reviews::builder(&policies.templates, &policies.constraints, &[]).expect("policies").build();
    let mut differ = Vec::new();
    for (position, review) in native::reviews().iter().enumerate() {
        let theirs = reviews::of_judge(&judge.ask(&asked(review)).expect("an answer")).unwrap();
        let ours = reviews::answer(&set, review).unwrap();
        if ours != theirs {
            let (only_ours, only_theirs) = (only(&ours, &theirs, &sources), only(&theirs, &ours, &sources));
            differ.push(format!("review {position}\nonly ours:\n{only_ours}only theirs:\n{only_theirs}"));
        }
    }
    assert!(differ.is_empty(), "{} reviews differ:\n{}", differ.len(), differ.join("\n"));
}
