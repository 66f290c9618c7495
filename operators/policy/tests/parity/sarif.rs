//! SARIF of every command: valid under the schema of SARIF 2.1.0, with ranges that exist in the files.
//!
//! The schema is read from a Go module that ships it as a text, and evaluated by Rego's own `json.match_schema`.

use std::path::Path;

use rego_compat::{Budget, Module, RegoVersion, Restrictions, Value as Term, compile};
use serde_json::Value;

use super::program::{judge, ours};

const MODULE: &str = "github.com/owenrumney/go-sarif/v3@v3.3.1";
const POLICY: &str = "package sarif\nimport rego.v1\nerrors contains text if {\n[valid, found] := json.match_schema(input.log, input.schema)\nnot valid\nsome text in found\n}";

fn schema() -> Value {
    let folder = go_program::module_folder(&judge(), MODULE).unwrap();
    let source = std::fs::read_to_string(folder.join("pkg/report/v210/sarif/schema.go")).unwrap();
    let text = source.split('`').nth(1).unwrap();
    serde_json::from_str(text).unwrap()
}

/// Returns what is wrong with a log under the schema.
fn errors(log: &Value, schema: &Value) -> Vec<Term> {
    let module = Module::parse("sarif", POLICY, RegoVersion::V1).unwrap();
    let program = compile(&[module], "data.sarif.errors", &Restrictions::default()).unwrap();
    let input = serde_json::json!({"log": log, "schema": schema}).to_string();
    let input = Term::from_json_str(&input).unwrap();
    let answer = program.evaluate(&input, &Term::new_object(), &Budget::default()).unwrap().unwrap();
    let Term::Set(errors) = answer else { panic!("{answer:?}") };
    errors.iter().cloned().collect()
}

#[test]
fn every_command_writes_valid_sarif_with_ranges() {
    let schema = schema();
    let broken = serde_json::json!({"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]});
    assert!(!errors(&broken, &schema).is_empty(), "a log without a name is refused");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = |name: &str| root.join(name).display().to_string();
    let quickstart = path("examples/quickstart");
    let missing = path("examples/quickstart/constraint.yaml");
    for (arguments, has_results) in [
        (vec!["test", &quickstart, "-o", "sarif"], true),
        (vec!["test", &missing, "-o", "sarif"], false),
        (vec!["lint", &quickstart, "-o", "sarif"], true),
        (vec!["audit", &quickstart, "-o", "sarif"], true),
    ] {
        let ran = ours(&arguments, "");
        let log: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{arguments:?}: {ran:?}"));
        assert_eq!(errors(&log, &schema), Vec::<Term>::new(), "{arguments:?}: {}", ran.out);
        let run = &log["runs"][0];
        let results = run["results"].as_array().unwrap();
        assert_eq!(!results.is_empty(), has_results, "{arguments:?}: {}", ran.err);
        for result in results {
            let region = &result["locations"][0]["physicalLocation"]["region"];
            let [start, end] = ["startLine", "endLine"].map(|field| region[field].as_u64().unwrap_or(0));
            assert!(start > 0 && end >= start && region["endColumn"].as_u64() > Some(1), "{result}");
            let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
            let rule = rules.iter().find(|rule| rule["id"] == result["ruleId"]).unwrap();
            assert!(!rule["fullDescription"]["text"].as_str().unwrap().is_empty(), "{rule}");
        }
    }
}
