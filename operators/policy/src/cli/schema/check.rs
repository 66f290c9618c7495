//! `schema check`: the API server's verdict, and the lints apart from it.

use schema_merge::{Finding, Options, Severity, check_crd, check_structural};

use super::CheckArgs;
use super::report::{Level, Note, Report};
use super::source::{Content, Source, Standard, read};

pub(super) fn run(args: &CheckArgs, input: &mut Standard<'_>) -> Report {
    let mut report = Report::default();
    for path in &args.files {
        let reading = read(path, input);
        report.skipped.extend(reading.foreign);
        report.unread.extend(reading.unread);
        for source in &reading.sources {
            let findings = match &source.content {
                Content::Crd(crd) => check_crd(crd),
                Content::Schema(schema) => {
                    check_structural(schema, &Options::default().status_subresource(args.status))
                }
            };
            let kept = findings.into_iter().map(|finding| note(&finding, source));
            report.notes.extend(kept.filter(|note| note.level == Level::Error || !args.errors_only));
        }
    }
    report.settle();
    report
}

fn note(finding: &Finding, source: &Source) -> Note {
    let level = match finding.severity {
        // The server drops these fields, with an error or a warning as the client asks.
        Severity::Decode | Severity::Error | Severity::UnknownField => Level::Error,
        Severity::Warning => Level::Warning,
        _ => Level::Lint,
    };
    Note {
        file: source.file.clone(),
        others: Vec::new(),
        line: source.line,
        subject: source.subject.clone(),
        level,
        rule: finding.rule,
        pointer: finding.pointer(),
        text: finding.to_string(),
    }
}
