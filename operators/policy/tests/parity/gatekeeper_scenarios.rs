//! Every scenario of Gatekeeper's own end-to-end suite is in the document, with tests that exist or the reason why none does.

use std::path::Path;

use crate::gatekeeper::file;

const TITLE: &str = "## Gatekeeper's end-to-end suite";

/// Scenario and what stands beside it, in the order of the document.
fn table() -> Vec<(String, String)> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/conformance.md");
    let page = std::fs::read_to_string(page).unwrap();
    let section = page.split_once(TITLE).unwrap().1;
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let rows =
        section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    rows.skip(1).map(|(scenario, tests)| (scenario.to_owned(), tests.to_owned())).collect()
}

/// The sources of the tests that need a cluster.
fn sources() -> String {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = ["e2e", "install"].map(|folder| std::fs::read_dir(tests.join(folder)).unwrap());
    let files = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn every_scenario_of_gatekeepers_own_suite_is_in_the_table() {
    let suite = std::fs::read_to_string(file("test/bats/test.bats")).unwrap();
    let names = suite.lines().filter_map(|line| line.strip_prefix("@test \"")?.split('"').next());
    let names: Vec<_> = names.map(str::to_owned).collect();
    let table = table();
    assert_eq!(table.iter().map(|(scenario, _)| scenario.clone()).collect::<Vec<_>>(), names);
    let sources = sources();
    for (scenario, tests) in table {
        let named: Vec<_> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty() || tests.starts_with("none: "), "{scenario}");
        for test in named {
            assert!(sources.contains(&format!("async fn {test}()")), "{scenario}: there is no test {test}");
        }
    }
}
