//! Refusals: what OPA's compiler or the host's rules do not accept. One file per rule family.

mod data_access;
mod import;
mod recursion;
mod required;

use crate::finding::{Finding, Findings};
use crate::ir::Rulebook;
use crate::module::Module;
use crate::rules::Rules;

/// Everything that can be said of one module alone.
pub(crate) fn module(module: &Module, rules: &Rules) -> Result<(), Findings> {
    let mut findings = Vec::new();
    import::check(module, rules, &mut findings);
    required::check(module, rules, &mut findings);
    data_access::check(module, rules, &mut findings);
    verdict(findings)
}

/// What only all modules together show.
pub(crate) fn program(book: &Rulebook, findings: &mut Vec<Finding>) {
    recursion::check(book, findings);
}

/// No findings, or all of them as an error.
pub(crate) fn verdict(findings: Vec<Finding>) -> Result<(), Findings> {
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Findings::new(findings))
    }
}
