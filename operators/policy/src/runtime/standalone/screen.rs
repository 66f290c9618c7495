//! The screen of a person: the verdicts with their reasons, and how to ask for more.

use admission_server::ServingCertificate;
use constraint_framework::target::AdmissionTarget;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::cli::folder::Reading;
use crate::cli::{Manifest, admission_review};
use crate::text::counted;

use super::client::Judged;

/// Prints readings, and keeps the files that its `curl` line names.
pub(super) struct Screen {
    folder: PathBuf,
    url: String,
    files: TempDir,
}

impl Screen {
    pub(super) fn new(folder: &Path, url: String, certificate: &ServingCertificate) -> io::Result<Self> {
        let files = tempfile::Builder::new().prefix("webtroller-").tempdir()?;
        std::fs::write(files.path().join("ca.crt"), &certificate.authority)?;
        Ok(Self { folder: folder.to_owned(), url, files })
    }

    pub(super) fn show(
        &self,
        out: &mut dyn Write,
        reading: &Reading,
        verdicts: &[Result<Judged, String>],
    ) -> io::Result<()> {
        let folder = self.folder.display();
        let referential = reading.policies.inventory(&AdmissionTarget).len();
        writeln!(
            out,
            "{folder}: {}, {} ({} in force), {} to refer to",
            counted(reading.templates, "template"),
            counted(reading.constraints, "constraint"),
            reading.policies.len(),
            counted(referential, "object")
        )?;
        for error in &reading.errors {
            writeln!(out, "  problem  {error}")?;
        }
        writeln!(out)?;
        for (review, verdict) in reading.reviews.iter().zip(verdicts) {
            show_verdict(out, review, verdict)?;
        }
        self.show_address(out, reading.reviews.first())
    }

    /// The `curl` line sends the first object of the folder, so that pasting it shows the verdict above again.
    fn show_address(&self, out: &mut dyn Write, first: Option<&Manifest>) -> io::Result<()> {
        let authority = self.files.path().join("ca.crt");
        let body = self.files.path().join("review.json");
        let object = first.map_or(Value::Null, |review| admission_review(&review.object));
        std::fs::write(&body, object.to_string())?;
        writeln!(out, "Webhook  {}", self.url)?;
        writeln!(out, "CA       {}", authority.display())?;
        writeln!(
            out,
            "Try      curl --cacert {} -H 'Content-Type: application/json' --data @{} {}",
            authority.display(),
            body.display(),
            self.url
        )?;
        writeln!(out, "\nWatching {} for changes; Ctrl-C ends.\n", self.folder.display())?;
        out.flush()
    }
}

fn show_verdict(out: &mut dyn Write, review: &Manifest, verdict: &Result<Judged, String>) -> io::Result<()> {
    let subject = subject(&review.object);
    let (word, lines) = match verdict {
        Err(error) => ("FAILED  ", vec![error.clone()]),
        Ok(judged) => {
            let warnings = judged.warnings.iter().map(|warning| format!("warning: {warning}"));
            let denials = judged.message.lines().map(str::to_owned);
            (if judged.allowed { "ADMITTED" } else { "DENIED  " }, denials.chain(warnings).collect())
        }
    };
    writeln!(out, "{word}  {subject}  ({})", review.path.display())?;
    for line in lines {
        writeln!(out, "          {line}")?;
    }
    writeln!(out)
}

/// Kind and name of an object, or of the object that an AdmissionReview is about.
fn subject(object: &Value) -> String {
    let candidates = [object.pointer("/request/object"), object.pointer("/request/oldObject"), Some(object)];
    let object = candidates.into_iter().flatten().find(|candidate| candidate.is_object()).unwrap_or(object);
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    match text("/metadata/namespace") {
        "" => format!("{} {}", text("/kind"), text("/metadata/name")),
        namespace => format!("{} {namespace}/{}", text("/kind"), text("/metadata/name")),
    }
}
