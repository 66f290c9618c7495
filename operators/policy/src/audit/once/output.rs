//! The result of an audit for people, for programs, and for code scanning services.

use std::collections::BTreeMap;
use std::io::{self, Write};

use constraint_framework::policyset::ConstraintInForce;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::assembly::Assembly;
use super::{Found, Object, OnceFormat, Violation};
use crate::audit::reports::{ReportFormat, ReportedViolation, reports};
use crate::cli::sarif::{Log, Note};

pub(super) fn write(
    format: OnceFormat,
    assembly: &Assembly,
    found: &Found,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        OnceFormat::Table => table(assembly, found, out),
        OnceFormat::Json => json(assembly, found, out),
        OnceFormat::Jsonl => lines(assembly, found, out),
        OnceFormat::Openreports => {
            writeln!(out, "{:#}", all_reports(assembly, found, ReportFormat::Openreports))
        }
        OnceFormat::Wgpolicy => writeln!(out, "{:#}", all_reports(assembly, found, ReportFormat::Wgpolicy)),
        OnceFormat::Sarif => out.write_all(sarif(assembly, found).render().as_bytes()),
    }
}

fn table(assembly: &Assembly, found: &Found, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<_> = assembly
        .constraints()
        .map(|constraint| {
            let count = found.violations.get(constraint.id()).map_or(0, Vec::len);
            (constraint.id().to_string(), constraint.enforcement_action(), count)
        })
        .collect();
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or_default().max("CONSTRAINT".len());
    writeln!(out, "{:width$}  {:6}  VIOLATIONS", "CONSTRAINT", "ACTION")?;
    for (name, action, count) in &rows {
        writeln!(out, "{name:width$}  {action:6}  {count}")?;
    }
    for constraint in assembly.constraints() {
        for violation in found.violations.get(constraint.id()).into_iter().flatten() {
            let (id, action) = (constraint.id(), constraint.enforcement_action());
            writeln!(out, "{action}: {}: [{}] {}", about(violation), id.name, violation.message)?;
        }
    }
    Ok(())
}

/// The violations of each constraint have the fields of its status. They are written as they are: millions of them do not fit into memory a
/// second time.
#[derive(Serialize)]
struct Document<'a> {
    constraints: Vec<Constraint<'a>>,
    kinds: usize,
    objects: usize,
    /// The key stays as programs read it.
    #[serde(rename = "problems")]
    errors: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Constraint<'a> {
    enforcement_action: &'a str,
    enforcement_actions: Vec<&'a str>,
    kind: &'a str,
    name: &'a str,
    total_violations: usize,
    violations: Violations<'a>,
}

impl<'a> Constraint<'a> {
    fn new(assembly: &Assembly, found: &'a Found, constraint: &'a ConstraintInForce) -> Self {
        let id = constraint.id();
        let violations = found.violations.get(id).map(Vec::as_slice).unwrap_or_default();
        Self {
            enforcement_action: constraint.enforcement_action(),
            enforcement_actions: assembly.actions(id),
            kind: &id.kind,
            name: &id.name,
            total_violations: violations.len(),
            violations: Violations(violations),
        }
    }
}

struct Violations<'a>(&'a [Violation]);

#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    object: &'a Object,
    message: &'a str,
}

impl Serialize for Violations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.0.iter().map(|Violation { object, message, .. }| Entry { object, message });
        serializer.collect_seq(entries)
    }
}

fn json(assembly: &Assembly, found: &Found, out: &mut dyn Write) -> io::Result<()> {
    let constraints = assembly.constraints().map(|constraint| Constraint::new(assembly, found, constraint));
    let Found { kinds, objects, errors, .. } = found;
    let document = Document { constraints: constraints.collect(), kinds: *kinds, objects: *objects, errors };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// A line for each violation, with the fields of a constraint's status and the constraint.
fn lines(assembly: &Assembly, found: &Found, out: &mut dyn Write) -> io::Result<()> {
    for violation in violations(assembly, found) {
        let line = json!({
            "constraint": {"kind": violation.constraint_kind, "name": violation.constraint_name},
            "enforcementAction": violation.action, "group": violation.group, "version": violation.version,
            "kind": violation.kind, "namespace": violation.namespace, "name": violation.name,
            "message": violation.message,
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn all_reports(assembly: &Assembly, found: &Found, format: ReportFormat) -> Value {
    let mut by_namespace: BTreeMap<String, Vec<ReportedViolation>> = BTreeMap::new();
    for violation in violations(assembly, found) {
        by_namespace.entry(violation.namespace.clone()).or_default().push(violation);
    }
    let of = |(namespace, violations): (String, Vec<ReportedViolation>)| {
        reports(violations).into_iter().map(move |report| report.document(format, &namespace, None))
    };
    let items: Vec<_> = by_namespace.into_iter().flat_map(of).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

fn violations<'a>(assembly: &'a Assembly, found: &'a Found) -> impl Iterator<Item = ReportedViolation> + 'a {
    assembly.constraints().flat_map(|constraint| {
        let violations = found.violations.get(constraint.id()).into_iter().flatten();
        violations.map(move |violation| ReportedViolation {
            group: violation.object.group.clone(),
            version: violation.object.version.clone(),
            kind: violation.object.kind.clone(),
            namespace: violation.object.namespace.clone(),
            name: violation.object.name.clone(),
            constraint_kind: constraint.id().kind.clone(),
            constraint_name: constraint.id().name.clone(),
            action: constraint.enforcement_action().to_owned(),
            message: violation.message.clone(),
        })
    })
}

fn sarif(assembly: &Assembly, found: &Found) -> Log {
    let mut log = Log { tool: "webtroller audit", ..Log::default() };
    log.rules = BTreeMap::new();
    for constraint in assembly.constraints() {
        let rule = constraint.id().to_string();
        let level = match constraint.enforcement_action() {
            "deny" => "error",
            "dryrun" => "note",
            _ => "warning",
        };
        for violation in found.violations.get(constraint.id()).into_iter().flatten() {
            log.rules.entry(rule.clone()).or_insert_with(|| format!("Violates the constraint {rule}."));
            // A service wants a file; an object of a cluster has its path in the API.
            let live = || (about(violation).replace(' ', "/"), 1);
            let place = violation.place.as_ref().map(|(file, line)| (file.display().to_string(), *line));
            log.results.push(Note {
                rule: rule.clone(),
                level,
                message: violation.message.clone(),
                place: Some(place.unwrap_or_else(live)),
                column: 0,
                about: about(violation),
            });
        }
    }
    let failure = |error: &String| Note {
        rule: String::new(),
        level: "error",
        message: error.clone(),
        place: None,
        column: 0,
        about: String::new(),
    };
    log.failures = found.errors.iter().map(failure).collect();
    log
}

/// Kind, namespace and name.
fn about(violation: &Violation) -> String {
    let Object { kind, namespace, name, .. } = &*violation.object;
    match namespace.as_str() {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}
