//! The report, for people and for programs.

use serde_json::{Value, json};

use super::Report;
use super::finding::{Finding, Level};

const HEADINGS: [(Level, &str); 3] =
    [(Level::Unsupported, "Not supported"), (Level::Different, "Different"), (Level::Note, "Nothing to do")];

/// The report, for people.
pub(super) fn text(report: &Report) -> String {
    let used: Vec<_> = report.used.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let used = if used.is_empty() { "nothing".to_owned() } else { used.join(", ") };
    let mut text = format!("In use: {used}\n");
    for (level, heading) in HEADINGS {
        let findings: Vec<_> = report.findings.iter().filter(|finding| finding.level() == level).collect();
        if !findings.is_empty() {
            text.push_str(&format!("\n{heading}:\n"));
            findings.iter().for_each(|finding| text.push_str(&lines(finding)));
        }
    }
    let (objects, kinds) = report.judged;
    let important = report.findings.iter().filter(|finding| finding.level() != Level::Note).count();
    text.push_str(&format!("\n{important} to look at; {objects} objects of {kinds} kinds were judged\n"));
    text
}

fn lines(finding: &Finding) -> String {
    let place = finding.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
    let (page, words) = finding.rule.described();
    let message = finding.message.replace('\n', "\n    ");
    format!("  {}{place}\n    {message}\n    see {page}: {words}\n", finding.object)
}

/// The report, for programs.
pub(super) fn json(report: &Report) -> String {
    let (objects, kinds) = report.judged;
    let document = json!({
        "inUse": report.used,
        "findings": report.findings.iter().map(entry).collect::<Vec<_>>(),
        "judged": {"objects": objects, "kinds": kinds},
        "problems": report.problems,
    });
    format!("{document:#}\n")
}

fn entry(finding: &Finding) -> Value {
    let level = match finding.level() {
        Level::Unsupported => "unsupported",
        Level::Different => "different",
        Level::Note => "note",
    };
    let (page, words) = finding.rule.described();
    json!({
        "rule": finding.rule.word(), "level": level, "object": finding.object, "message": finding.message,
        "place": finding.place, "described": {"page": page, "at": words},
    })
}
