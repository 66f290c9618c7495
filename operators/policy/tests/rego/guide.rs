//! Tests that what crates/rego-compat/README.md shows is what happens: its command lines are run in the folder that it
//! tells readers to go to.

use std::path::Path;

use libtest_mimic::Trial;

use super::command::{ours, run};
use super::trial;

const PROMPT: &str = "$ webtroller rego ";

/// One trial for each command line of the page.
pub(crate) fn trials() -> Vec<Trial> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(workspace.join("crates/rego-compat/README.md")).unwrap();
    let examples = workspace.join("examples/rego");
    let blocks = page.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let shown: Vec<(String, String)> = blocks.flat_map(commands).collect();
    assert!(!shown.is_empty(), "crates/rego-compat/README.md shows no command");
    shown
        .into_iter()
        .map(|(line, output)| {
            let examples = examples.clone();
            trial(format!("crates/rego-compat/README.md: {line}"), move || {
                let ran = run(ours(), &line, &examples);
                if ran.out.trim_end() == output.trim_end() {
                    return Ok(());
                }
                Err(format!("the page shows\n{output}\nand the command prints\n{}", ran.out))
            })
        })
        .collect()
}

/// The command lines of a block with what is shown behind each.
fn commands(block: &str) -> Vec<(String, String)> {
    let parts = block.split(PROMPT).skip(1);
    parts
        .map(|part| {
            let (line, output) = part.split_once('\n').unwrap_or((part, ""));
            (line.to_owned(), output.to_owned())
        })
        .collect()
}
