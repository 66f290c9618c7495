//! `webtroller coverage`: which rules and validations of policies the cases of suites exercise.
//!
//! A `violation` rule or a validation is exercised when a case violates it and another one does not: one that every case
//! violates could as well deny everything, and one that none violates could as well be missing. A match condition is
//! exercised when it lets one case pass and another one not, any other rule when it holds in one case.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use constraint_framework::driver::BodyKind;
use constraint_framework::policyset::Explanation;
use serde_json::{Value, json};

use crate::cli::color::{Color, Stream, paint};
use crate::cli::engine_args::EngineArgs;
use crate::cli::load::load_file;
use crate::cli::snippet::in_file;

use super::filter::Filter;
use super::find::templates as templates_of;
use super::{RunOptions, find_all, run_suite};

const EXAMPLES: &str = "\
Examples:
  # Which rules does no case try?
  webtroller coverage policies/...

  # Fail a build below 80 percent
  webtroller coverage policies/... --threshold 80";

/// Report which rules and validations of policies the cases of suites exercise.
///
/// A violation rule or a validation is exercised when one case violates it and another one does not, any other rule when it
/// holds in one case. A template in the folders that no suite tests counts as one rule. Exits with 1 below --threshold, and when a test
/// fails.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CoverageArgs {
    /// Suite files, folders, or folders with everything below them (`folder/...`).
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Percent of the bodies that must be exercised.
    #[arg(long, value_name = "PCT", default_value_t = 0.0, allow_negative_numbers = true, value_parser = share)]
    pub threshold: f64,
    /// Output format of the report.
    #[arg(long, short, value_enum, default_value_t, ignore_case = true)]
    pub output: CoverageFormat,
}

/// The format of the printed report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CoverageFormat {
    /// The bodies that are not exercised, by template.
    #[default]
    Text,
    /// A JSON object with every body.
    Json,
}

/// The use that cases made of each body, by the template's file.
#[derive(Debug, Default)]
pub(super) struct Coverage(RefCell<BTreeMap<PathBuf, BTreeMap<String, Body>>>);

#[derive(Clone, Debug)]
struct Body {
    /// `None` for a template that no suite tests.
    kind: Option<BodyKind>,
    name: String,
    held: usize,
    /// Cases in which it did not hold.
    failed: usize,
}

impl Coverage {
    /// Notes what a case did. A template that no case matches is noted without bodies.
    pub(super) fn add(&self, template: &Path, explanation: &Explanation) {
        let mut templates = self.0.borrow_mut();
        let bodies = templates.entry(template.to_owned()).or_default();
        for body in &explanation.bodies {
            let (kind, name) = (Some(body.kind), body.name.clone());
            let new = || Body { kind, name, held: 0, failed: 0 };
            let counts = bodies.entry(body.place.clone()).or_insert_with(new);
            let count = if body.held { &mut counts.held } else { &mut counts.failed };
            *count = count.saturating_add(1);
        }
    }

    /// Notes the templates beside the suites that no suite has tested.
    fn add_untested(&self, templates: impl Iterator<Item = PathBuf>) {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut known = self.0.borrow_mut();
        let tested: BTreeSet<_> = known.keys().map(|path| real(path)).collect();
        for template in templates.filter(|path| !tested.contains(&real(path))) {
            let untested = Body { kind: None, name: String::new(), held: 0, failed: 0 };
            known.insert(template, BTreeMap::from([(String::new(), untested)]));
        }
    }
}

impl Body {
    /// The reason why it is not exercised.
    fn missing(&self) -> Option<String> {
        let reason = match (self.kind, self.held, self.failed) {
            (None, ..) => "no suite tests it",
            (Some(BodyKind::Check), 0, _) => "no case violates it",
            (Some(BodyKind::Check), _, 0) => "every case violates it",
            (Some(BodyKind::Condition), 0, _) => "it leaves out every case",
            (Some(BodyKind::Condition), _, 0) => "it leaves out no case",
            (_, 0, _) => return Some(format!("{} holds in no case", self.name)),
            _ => return None,
        };
        Some(reason.to_owned())
    }
}

/// Comparisons with a number that is none are never true.
fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("a number of percent, from 0 to 100".to_owned()),
    }
}

/// Runs the command and gives the exit code.
pub fn coverage(args: &CoverageArgs, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    match run(args, out, err) {
        Ok(code) => code,
        Err(message) => {
            let _ = writeln!(err, "webtroller coverage: {message}");
            1
        }
    }
}

fn run(args: &CoverageArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<u8, String> {
    let coverage = Coverage::default();
    let cel = EngineArgs::default();
    let filter = Filter::All;
    let options = RunOptions {
        filter: &filter,
        engine: None,
        cel: &cel,
        trace: false,
        prints: None,
        coverage: Some(&coverage),
    };
    let mut failed = 0_usize;
    for file in find_all(&args.paths, "coverage", err)? {
        if !run_suite(&file, &options).passed() {
            failed = failed.saturating_add(1);
            let _ = writeln!(err, "webtroller coverage: {}: its tests fail", file.path.display());
        }
    }
    if coverage.0.borrow().is_empty() {
        return Err("no case of a suite in what was named was run".to_owned());
    }
    coverage.add_untested(args.paths.iter().flat_map(|path| templates_of(path)));
    let templates = coverage.0.into_inner();
    let bodies = || templates.values().flat_map(BTreeMap::values);
    let exercised = bodies().filter(|body| body.missing().is_none()).count();
    let percentage = percent(exercised, bodies().count());
    let text = match args.output {
        CoverageFormat::Text => text(&templates, exercised, percentage),
        CoverageFormat::Json => format!("{:#}\n", to_json(&templates, percentage)),
    };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(format!("cannot write: {error}"));
        }
        _ => {}
    }
    if percentage < args.threshold {
        let _ = writeln!(
            err,
            "webtroller coverage: {percentage:.1} % are exercised, and --threshold wants {} %",
            args.threshold
        );
        return Ok(1);
    }
    Ok(u8::from(failed > 0))
}

#[expect(clippy::cast_precision_loss, reason = "no policy set has 2^52 rules")]
fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

fn text(templates: &BTreeMap<PathBuf, BTreeMap<String, Body>>, exercised: usize, percentage: f64) -> String {
    let mut text = String::new();
    for (file, bodies) in templates {
        let whole = bodies.values().filter(|body| body.missing().is_none()).count();
        let line = format!("{}: {whole} of {} exercised", file.display(), bodies.len());
        let color = if whole == bodies.len() && whole > 0 { Color::Green } else { Color::Yellow };
        text.push_str(&format!("{}\n", paint(&line, color, Stream::Out)));
        if bodies.is_empty() {
            text.push_str("  no case matches a constraint of it\n");
        }
        for (place, body) in bodies {
            match body.missing() {
                Some(missing) if place.is_empty() => text.push_str(&format!("  {missing}\n")),
                Some(missing) => text.push_str(&format!("  {}: {missing}\n", place_in_file(file, place))),
                None => {}
            }
        }
    }
    let whole: usize = templates.values().map(BTreeMap::len).sum();
    text.push_str(&format!("total: {exercised} of {whole} exercised ({percentage:.1} %)\n"));
    text
}

/// The line of the file where that can be found, and otherwise the place in the code.
fn place_in_file(file: &Path, place: &str) -> String {
    let manifests = load_file(file).unwrap_or_default();
    manifests.first().map_or_else(|| place.to_owned(), |manifest| in_file(place, manifest))
}

fn to_json(templates: &BTreeMap<PathBuf, BTreeMap<String, Body>>, percentage: f64) -> Value {
    let of = |(file, bodies): (&PathBuf, &BTreeMap<String, Body>)| {
        let bodies: Vec<_> = bodies
            .iter()
            .filter(|(_, body)| body.kind.is_some())
            .map(|(place, body)| to_entry(place, body))
            .collect();
        json!({"template": file.display().to_string(), "bodies": bodies})
    };
    json!({"percentage": percentage, "templates": templates.iter().map(of).collect::<Vec<_>>()})
}

fn to_entry(place: &str, body: &Body) -> Value {
    let [held, failed] = match body.kind {
        Some(BodyKind::Check) => ["violated", "fulfilled"],
        _ => ["held", "failed"],
    };
    json!({
        "place": place, "name": body.name, held: body.held, failed: body.failed,
        "exercised": body.missing().is_none(), "missing": body.missing(),
    })
}
