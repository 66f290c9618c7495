//! Refusals: what OPA's compiler or the host's rules do not accept. One file per rule family.

mod data_access;
mod default;
mod import;
mod keyword;
mod recursion;
mod required;
mod root_document;
#[cfg(test)]
mod tests;
mod types;
mod typing;

use crate::finding::{Finding, Findings};
use crate::ir::Rulebook;
use crate::module::Module;
use crate::rules::Rules;

pub(crate) use default::default_faults;
pub(crate) use recursion::Dependencies;

/// Everything that can be said of one module alone.
pub(crate) fn module(module: &Module, rules: &Rules) -> Result<(), Findings> {
    let mut findings = Vec::new();
    import::check(module, rules, &mut findings);
    keyword::check(module, &mut findings);
    root_document::check(module, &mut findings);
    required::check(module, rules, &mut findings);
    data_access::check(module, rules, &mut findings);
    verdict(findings)
}

/// Whether the module is written as its version of Rego asks: what OPA's parser looks at once it has read everything.
pub(crate) fn is_well_written(module: &Module) -> bool {
    let mut findings = Vec::new();
    keyword::check(module, &mut findings);
    let mut defaults = module.tree.rules.iter().filter(|rule| rule.default);
    findings.is_empty() && defaults.all(|rule| default_faults(rule).is_empty())
}

/// What only all modules together show.
pub(crate) fn program(book: &Rulebook, findings: &mut Vec<Finding>) -> Dependencies {
    let dependencies = Dependencies::of(book, findings);
    let order = recursion::check(book, &dependencies, findings);
    // As in OPA, types are looked at once everything else is in order.
    if findings.is_empty() {
        typing::check(book, &order, findings);
    }
    dependencies
}

/// No findings, or all of them as an error.
pub(crate) fn verdict(findings: Vec<Finding>) -> Result<(), Findings> {
    if findings.is_empty() { Ok(()) } else { Err(Findings::new(findings)) }
}
