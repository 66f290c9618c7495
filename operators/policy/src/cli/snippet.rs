//! From a place in the code of a template to the place in the file that holds it, and the line there with a caret.
//!
//! ```text
//! webtroller test: policy.yaml:12:24: unexpected } token
//!    12 |         violation[{"msg": msg}}] {
//!       |                              ^
//! ```

use std::fmt::Write as _;
use std::path::Path;

use constraint_framework::api::{ConstraintTemplate, RegoSource};
use constraint_framework::driver::CompileError;
use serde_json::Value;

use super::assemble::{Place, Problem};
use super::color::{Color, Stream, paint};
use super::load::Manifest;

/// The problem that an error of a template's code is, at its place in the file where that can be found.
pub(super) fn problem(error: &CompileError, manifest: &Manifest) -> Problem {
    match place_of(&error.location, manifest) {
        Some(place) => Problem { place: Some(place), message: error.message.clone() },
        None => Problem::at(manifest, error.to_string()),
    }
}

/// The line of a problem with a caret below its column; empty where the file cannot be read again.
pub(super) fn caret(problem: &Problem) -> String {
    let Some(place) = problem.place.as_ref().filter(|place| place.column > 0) else {
        return String::new();
    };
    let text = std::fs::read_to_string(&place.file).unwrap_or_default();
    let Some(line) = nth(&text, place.line) else { return String::new() };
    let number = place.line.to_string();
    let before: String = line.chars().take(to_usize(place.column).saturating_sub(1)).collect();
    // Tabs stay tabs, so that the caret stands where the terminal puts the column.
    let indent: String = before.chars().map(|letter| if letter == '\t' { '\t' } else { ' ' }).collect();
    let gap = " ".repeat(number.len());
    let mut text = String::new();
    let _ = writeln!(text, "  {} {line}", paint(&format!("{number} |"), Color::Dim, Stream::Error));
    let caret = paint("^", Color::Red, Stream::Error);
    let _ = writeln!(text, "  {} {indent}{caret}", paint(&format!("{gap} |"), Color::Dim, Stream::Error));
    text
}

/// The place in its file of one in the code of a template, such as `template:5:3`.
pub(super) fn place_of(location: &str, manifest: &Manifest) -> Option<Place> {
    let mut parts = location.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    let source = source(parts.next()?, &manifest.object)?;
    let file = std::fs::read_to_string(&manifest.path).ok()?;
    let (line, column) = find(&file, manifest.line, &source, line, column)?;
    Some(Place { file: manifest.path.clone(), line, column })
}

/// The text of a module or an expression: `template`, `libs[0]`, `source/validations/0/expression`.
fn source(name: &str, template: &Value) -> Option<String> {
    let template = ConstraintTemplate::from_value(template).ok()?;
    let sources = template.target()?.sources();
    let of = |engine: &str| sources.iter().find(|code| code.engine == engine).map(|code| code.source.clone());
    if let Some(pointer) = name.strip_prefix("source") {
        return of("K8sNativeValidation")?.pointer(pointer)?.as_str().map(str::to_owned);
    }
    let rego = RegoSource::from_value(&of("Rego")?).ok()?;
    match name.strip_prefix("libs[").and_then(|rest| rest.strip_suffix(']')) {
        Some(index) => rego.libs.get(index.parse::<usize>().ok()?).cloned(),
        None => Some(rego.rego),
    }
}

/// Where a line and column of a source are in the file that holds it: lines of a block are indented, and one that is
/// written in a line stands somewhere in it. Quoted and folded texts are not found.
fn find(file: &str, from: u64, source: &str, line: u64, column: u64) -> Option<(u64, u64)> {
    let lines: Vec<&str> = file.lines().collect();
    let wanted: Vec<&str> = source.lines().collect();
    let first = to_usize(from).saturating_sub(1);
    if let [only] = wanted.as_slice() {
        let found = lines
            .iter()
            .enumerate()
            .skip(first)
            .find_map(|(index, text)| Some((index, text.find(only)?, text)));
        let (index, byte, text) = found?;
        let before = text.get(..byte)?.chars().count();
        return Some((number(index)?, u64::try_from(before).ok()?.saturating_add(column)));
    }
    let starts = (first..lines.len()).find(|start| {
        let block = lines.get(*start..).unwrap_or_default();
        block.len() >= wanted.len()
            && block.iter().zip(&wanted).all(|(text, wanted)| text.trim() == wanted.trim())
    })?;
    let index = starts.saturating_add(to_usize(line).saturating_sub(1));
    let depth = |text: &str| text.chars().take_while(|letter| letter.is_whitespace()).count();
    let own = wanted.get(to_usize(line).saturating_sub(1)).map_or(0, |text| depth(text));
    let indent = depth(lines.get(index)?).saturating_sub(own);
    Some((number(index)?, u64::try_from(indent).ok()?.saturating_add(column)))
}

fn number(index: usize) -> Option<u64> {
    u64::try_from(index).ok()?.checked_add(1)
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn nth(text: &str, line: u64) -> Option<&str> {
    text.lines().nth(to_usize(line).saturating_sub(1))
}

/// What a text that is no YAML probably is.
pub(super) fn hint(text: &str, path: &Path) -> &'static str {
    let is_chart = path.components().any(|part| part.as_os_str() == "templates");
    if text.contains("{{") && (text.contains("}}") || is_chart) {
        "; it looks like a Helm template: send what `helm template` prints of the chart to standard input instead"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "a: 1\n---\nrego: |\n    package a\n\n    violation[x] {\n      x := 1\n    }\nexpression: object.x == 1\n";
    const SOURCE: &str = "package a\n\nviolation[x] {\n  x := 1\n}\n";

    #[test]
    fn lines_of_a_block_and_of_a_value_are_found() {
        assert_eq!(find(FILE, 2, SOURCE, 4, 3), Some((7, 7)));
        assert_eq!(find(FILE, 2, SOURCE, 1, 1), Some((4, 5)));
        assert_eq!(find(FILE, 2, "object.x == 1", 1, 8), Some((9, 20)));
        assert_eq!(find(FILE, 2, "package b\nx", 1, 1), None);
        assert_eq!(find(FILE, 9, SOURCE, 1, 1), None);
    }

    #[test]
    fn a_caret_stands_below_the_column() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        std::fs::write(&file, FILE).unwrap();
        let problem = Problem { place: Some(Place { file, line: 7, column: 7 }), message: String::new() };
        assert_eq!(caret(&problem), "  7 |       x := 1\n    |       ^\n");
    }

    #[test]
    fn charts_are_recognised() {
        assert!(hint("a: {{ .Values.x }}", Path::new("a.yaml")).contains("helm template"));
        assert_eq!(hint("a: [", Path::new("a.yaml")), "");
    }
}
