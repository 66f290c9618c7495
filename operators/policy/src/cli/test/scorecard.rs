//! The counts of a run, for who reads no single violation: how often each constraint is violated, and how many objects of
//! each type violate one.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use crate::cli::assemble::{Assembly, Subject};
use crate::cli::judge::PlacedViolation;
use crate::text::thousands;

/// The counts. What only warns or is a dry run counts as well.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scorecard {
    objects: usize,
    violating: usize,
    /// All constraints, also those that nothing violates.
    constraints: Vec<ConstraintRow>,
    types: Vec<TypeRow>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ConstraintRow {
    kind: String,
    name: String,
    enforcement_action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<String>,
    violations: usize,
}

#[derive(Debug, Serialize)]
struct TypeRow {
    r#type: String,
    objects: usize,
    violating: usize,
}

impl Scorecard {
    /// Counts all objects, and policies where they violate something themselves.
    pub(super) fn of(assembly: &Assembly, violations: &[PlacedViolation<'_>]) -> Self {
        let mut of_constraint = BTreeMap::new();
        let mut violating = BTreeMap::new();
        for violation in violations {
            let count: &mut usize = of_constraint.entry(violation.id()).or_default();
            *count = count.saturating_add(1);
            violating.insert(std::ptr::from_ref(violation.subject), violation.subject);
        }
        let constraints = assembly.constraints.iter().map(|(id, loaded)| ConstraintRow {
            kind: id.kind.clone(),
            name: id.name.clone(),
            enforcement_action: loaded.enforcement_action().to_owned(),
            severity: loaded.severity.clone(),
            violations: of_constraint.get(id).copied().unwrap_or_default(),
        });
        let is_counted = |subject: &&Subject| {
            subject.is_no_policy() || violating.contains_key(&std::ptr::from_ref(*subject))
        };
        let mut types: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        for subject in assembly.subjects.iter().filter(is_counted) {
            let [objects, bad] = types.entry(subject.type_name()).or_default();
            *objects = objects.saturating_add(1);
            *bad = bad.saturating_add(usize::from(violating.contains_key(&std::ptr::from_ref(subject))));
        }
        let types =
            types.into_iter().map(|(r#type, [objects, violating])| TypeRow { r#type, objects, violating });
        let types: Vec<_> = types.collect();
        Self {
            objects: types.iter().map(|row| row.objects).sum(),
            violating: violating.len(),
            constraints: constraints.collect(),
            types,
        }
    }

    /// Both tables, below an empty line.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "\n{} of {} objects violate a constraint\n",
            thousands(self.violating),
            thousands(self.objects)
        )?;
        let names: Vec<_> = self.constraints.iter().map(|row| format!("{}/{}", row.kind, row.name)).collect();
        let lengths = names.iter().map(String::len).chain(self.types.iter().map(|row| row.r#type.len()));
        let width = lengths.chain(["constraint".len()]).max().unwrap_or_default();
        writeln!(out, "{:width$}  {:8}  {:8}  violations", "constraint", "action", "severity")?;
        for (name, row) in names.iter().zip(&self.constraints) {
            let severity = row.severity.as_deref().unwrap_or("-");
            let violations = thousands(row.violations);
            writeln!(out, "{name:width$}  {:8}  {severity:8}  {violations:>10}", row.enforcement_action)?;
        }
        writeln!(out, "\n{:width$}  {:>8}  violating", "type", "objects")?;
        for row in &self.types {
            let [objects, violating] = [row.objects, row.violating].map(thousands);
            writeln!(out, "{:width$}  {objects:>8}  {violating:>9}", row.r#type)?;
        }
        Ok(())
    }
}
