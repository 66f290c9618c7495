//! The public policy library: every template with the constraint of its first suite, on one Pod and on all samples.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::{Measure, Policies, Scenario, policy};

/// B5, from a folder that holds the library.
///
/// # Errors
/// The first file that cannot be read.
pub fn library(folder: &Path) -> anyhow::Result<Vec<Scenario>> {
    let suites = conformance::library::suites(&folder.join("library")).map_err(anyhow::Error::msg)?;
    let mut policies = Policies::default();
    let mut samples = Vec::new();
    for suite in &suites {
        read_suite(suite, &mut policies, &mut samples)?;
    }
    let requests: Vec<String> = samples.iter().map(policy::request).collect();
    let scenario = |name: String, requests, goal| Scenario {
        group: "B5",
        name,
        measure: Measure::Review,
        policies: policies.clone(),
        requests,
        goal,
    };
    let count = policies.templates.len();
    Ok(vec![
        scenario(
            format!("{count} templates of the library, 1 KB Pod"),
            vec![policy::request(&policy::pod(1_000))],
            Some(12.0),
        ),
        scenario(format!("{count} templates of the library, {} samples", requests.len()), requests, None),
    ])
}

/// Adds the template and the first constraint of a suite, and the objects of all its cases. Suites without Rego, and
/// samples that are whole reviews, belong to other comparisons.
fn read_suite(suite: &Path, policies: &mut Policies, samples: &mut Vec<Value>) -> anyhow::Result<()> {
    let base = suite.parent().unwrap_or(suite);
    let tests = read(suite)?;
    for (position, test) in list(&tests, "/tests").iter().enumerate() {
        let file = |pointer| test.pointer(pointer).and_then(Value::as_str).map(|name| base.join(name));
        if let (0, Some(template), Some(constraint)) = (position, file("/template"), file("/constraint")) {
            policies.templates.push(read(&template)?);
            policies.constraints.push(read(&constraint)?);
        }
        for case in list(test, "/cases") {
            let object =
                read(&base.join(case.pointer("/object").and_then(Value::as_str).unwrap_or_default()))?;
            let is_review = object.get("kind").and_then(Value::as_str) == Some("AdmissionReview");
            samples.extend(Some(object).filter(|_| !is_review));
        }
    }
    Ok(())
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The first document of a file.
fn read(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let documents = go_compat::sigs_yaml::documents(&text).with_context(|| path.display().to_string())?;
    let first = documents.into_iter().next();
    first.map(|placed| placed.value).with_context(|| format!("{}: no document", path.display()))
}
