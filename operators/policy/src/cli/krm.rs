//! `webtroller fn`: the KRM function that kpt and kustomize run to validate a package.
//!
//! It reads a ResourceList, judges its items by the templates and constraints among them (and those of `--filename`),
//! and writes the list back with `results`. The items are written as they were read, comments and all: this function
//! changes nothing. How objects are judged is `assemble.rs` and `judge.rs`.

mod list;
mod result;

use std::io::{self, Write};
use std::path::PathBuf;

use constraint_framework::expansion::EXPANSION_GROUP;
use constraint_framework::policyset::Compiler;
use serde_json::Value;

use list::ResourceList;
use result::FunctionResult;

use super::assemble::assemble;
use super::input::{STANDARD_INPUT, StandardInput};
use super::judge::{JudgeOptions, Unplaced, judge};
use super::load::{items, load};
use super::manifest::{Manifest, ManifestError};
use super::progress::Progress;
use crate::api_version::group;
use go_compat::sigs_yaml::Placed;

/// Validated: no result is an error.
const VALID: u8 = 0;
/// A result is an error, or the input cannot be used.
const INVALID: u8 = 1;

const EXAMPLES: &str = "\
Examples:
  # From kpt
  kpt fn eval my-package --exec 'webtroller fn'

  # By hand, with policies beside the package
  webtroller fn -f policies/ < resource-list.yaml";

/// Run as a KRM function (kpt, kustomize): a ResourceList on standard input, and out again with results.
///
/// Exits with 0 unless a result is an error.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct FunctionArgs {
    /// Take templates and constraints from here as well, beside those in the list; repeat it for several.
    #[arg(long = "filename", short = 'f', value_name = "PATH")]
    pub filenames: Vec<PathBuf>,
}

/// Runs the function and gives its exit code. The list goes to `out`; `err` gets a line per error, which kpt shows.
pub fn function(
    args: &FunctionArgs,
    standard: StandardInput<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let mut text = String::new();
    let list = standard.reader.read_to_string(&mut text).map_err(|error| error.to_string());
    let list = match list.and_then(|_| ResourceList::read(&text)) {
        Ok(list) => list,
        Err(reason) => {
            let _ = writeln!(err, "webtroller fn: standard input is not a ResourceList: {reason}");
            return INVALID;
        }
    };
    let results = results(args, &list);
    for result in results.iter().filter(|result| result.is_error()) {
        let _ = writeln!(err, "{}", result.line());
    }
    let code = if results.iter().any(FunctionResult::is_error) { INVALID } else { VALID };
    match out.write_all(list.with_results(&results).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(err, "webtroller fn: cannot write: {error}");
            INVALID
        }
        _ => code,
    }
}

fn results(args: &FunctionArgs, list: &ResourceList<'_>) -> Vec<FunctionResult> {
    let mut manifests = Vec::new();
    let mut results = Vec::new();
    for path in &args.filenames {
        let found = load(path);
        results.extend(found.read_errors(path).into_iter().map(FunctionResult::failure));
        // Objects beside the policies are not in the package, and are not its fault.
        manifests.extend(found.manifests.into_iter().filter(is_policy));
    }
    // What is in a List is judged too; there it cannot hide.
    let unpacked = list
        .items()
        .flat_map(|(line, item)| items(Placed { line, value: item.clone(), ..Placed::default() }));
    let package = unpacked.map(|(line, object)| Manifest {
        path: STANDARD_INPUT.into(),
        line,
        object,
        duplicate: None,
    });
    let policies = manifests.len();
    manifests.extend(package);
    match assemble(&manifests, Compiler::default()) {
        Ok(assembly) => {
            let progress = Progress::new(assembly.subjects.len(), "objects");
            let violations = judge(
                &assembly,
                JudgeOptions { unplaced: Unplaced::Anywhere, in_turn: false, times: None },
                &progress,
            );
            let own = assembly.subjects.get(policies..).unwrap_or_default();
            let of_package = |subject| own.iter().any(|item| std::ptr::eq(item, subject));
            results.extend(
                violations
                    .iter()
                    .filter(|violation| of_package(violation.subject))
                    .map(FunctionResult::violation),
            );
        }
        Err(found) => {
            let package = manifests.get(policies..).unwrap_or_default();
            results.extend(found.iter().map(|error| FunctionResult::error(error, package)));
        }
    }
    results.sort();
    results
}

fn is_policy(manifest: &Manifest) -> bool {
    let groups = [
        constraint_framework::api::TEMPLATES_GROUP,
        constraint_framework::api::CONSTRAINTS_GROUP,
        EXPANSION_GROUP,
    ];
    groups.contains(&group(&manifest.object))
}

/// The item of the package that an error is about.
fn item_of<'a>(error: &ManifestError, package: &'a [Manifest]) -> Option<&'a Value> {
    let place = error.place.as_ref()?;
    let found = package.iter().find(|manifest| manifest.path == place.file && manifest.line == place.line)?;
    Some(&found.object)
}

#[cfg(test)]
mod tests;
