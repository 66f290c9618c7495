//! Refusals: what OPA's compiler or the host's rules do not accept. One file per rule family.

mod data_access;
mod import;
mod required;

use crate::finding::{Finding, Findings};
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

/// No findings, or all of them as an error.
pub(crate) fn verdict(findings: Vec<Finding>) -> Result<(), Findings> {
    if findings.is_empty() { Ok(()) } else { Err(Findings::new(findings)) }
}
