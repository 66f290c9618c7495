//! From a place in the code of a template to the place in the file that holds it, and the line there with a caret.
//!
//! ```text
//! webtroller test: policy.yaml:12:24: unexpected } token
//!    12 |         violation[{"msg": msg}}] {
//!       |                              ^
//! ```

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use constraint_framework::api::{ConstraintTemplate, FieldError, RegoSource};
use constraint_framework::driver::{CompileError, CompileErrors};
use constraint_framework::policyset::Explanation;
use go_compat::yaml::{self, ComposeOptions, Kind, Node, Version};
use schema_merge::{Errors, MountPath};
use serde_json::Value;

use super::color::{Color, Stream, paint};
use super::manifest::{Manifest, ManifestError, ManifestErrors, Place, text, text_again};

/// The errors of a template's code, one for each cause.
///
/// `x := inpt.a` makes `x` unsafe because of `inpt`, and with it every later use of `x`: only `inpt` is named.
pub(super) fn code_errors(errors: &CompileErrors, manifest: &Manifest) -> Vec<ManifestError> {
    let unsafe_var = |error: &CompileError| {
        let (name, _) = error.message.strip_prefix("var ")?.split_once(" is unsafe")?;
        Some(name.to_owned())
    };
    let names: BTreeSet<String> = errors.iter().filter_map(unsafe_var).collect();
    let follows = |error: &CompileError| {
        let name = unsafe_var(error)?;
        let line = line_of(error, manifest)?;
        let value = line.trim_start().strip_prefix(&format!("{name} :="))?;
        let mut words = value.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        words.any(|word| word != name && names.contains(word)).then_some(name)
    };
    let following: BTreeSet<String> = errors.iter().filter_map(follows).collect();
    let is_cause = |error: &&CompileError| unsafe_var(error).is_none_or(|name| !following.contains(&name));
    let causes: Vec<_> = errors.iter().filter(is_cause).map(|error| placed(error, manifest)).collect();
    // Two that follow from each other have no other cause.
    if causes.is_empty() { errors.iter().map(|error| placed(error, manifest)).collect() } else { causes }
}

/// Errors about fields, each at the line of its field, or of what would hold it.
pub(super) fn field_errors<'a>(
    errors: impl IntoIterator<Item = &'a FieldError>,
    manifest: &Manifest,
) -> Vec<ManifestError> {
    let places = FieldPlaces::default();
    let placed = |error: &FieldError| ManifestError {
        place: Some(places.of(&error.pointer, manifest)),
        message: error.to_string(),
    };
    errors.into_iter().map(placed).collect()
}

/// The places of fields in files, each of which is read once.
#[derive(Debug, Default)]
pub(super) struct FieldPlaces(RefCell<BTreeMap<PathBuf, Vec<Node>>>);

impl FieldPlaces {
    /// The line of a field of a manifest, or of what would hold it.
    pub(super) fn of(&self, pointer: &str, manifest: &Manifest) -> Place {
        let mut files = self.0.borrow_mut();
        let documents = files.entry(manifest.path.clone()).or_insert_with(|| documents_of(&manifest.path));
        let object = documents.iter().find_map(|document| object_at(document, manifest.line));
        let line = object.map_or(manifest.line, |object| field_line(object, pointer));
        Place { file: manifest.path.clone(), line, column: 0 }
    }
}

fn documents_of(path: &Path) -> Vec<Node> {
    let file = text_again(path).unwrap_or_default();
    let options = ComposeOptions { version: Version::V2, max_depth: 100 };
    yaml::documents(&file, &options).unwrap_or_default()
}

/// The mapping that begins in a line: a document, or an item of a list in it.
fn object_at(node: &Node, line: u64) -> Option<&Node> {
    match &node.bare().kind {
        Kind::Mapping(_) if node.line == line => Some(node),
        Kind::Mapping(pairs) => {
            let items = pairs.iter().filter(|(key, _)| is_key(key, "items"));
            items.filter_map(|(_, value)| object_at(value, line)).next()
        }
        Kind::Sequence(items) => items.iter().find_map(|item| object_at(item, line)),
        _ => None,
    }
}

/// The line of the last field of a pointer that is there; of what is not a pointer, the line of the object.
fn field_line(object: &Node, pointer: &str) -> u64 {
    let (mut node, mut line) = (object, object.line);
    let path: MountPath = pointer.parse().unwrap_or_default();
    for part in path.names() {
        let found = match &node.bare().kind {
            Kind::Mapping(pairs) => {
                pairs.iter().rfind(|(key, _)| is_key(key, part)).map(|(key, value)| (value, key.line))
            }
            Kind::Sequence(items) => part
                .parse()
                .ok()
                .and_then(|position: usize| items.get(position))
                .map(|item| (item, item.line)),
            _ => None,
        };
        let Some(found) = found else { return line };
        (node, line) = found;
    }
    line
}

fn is_key(key: &Node, name: &str) -> bool {
    matches!(&key.bare().kind, Kind::Scalar(scalar) if scalar.text == name)
}

/// The line of the code that an error is about.
fn line_of(error: &CompileError, manifest: &Manifest) -> Option<String> {
    let mut parts = error.location.rsplitn(3, ':');
    let line = parts.nth(1)?.parse().ok()?;
    nth(&source(parts.next()?, &manifest.object)?, line).map(str::to_owned)
}

/// An error of a template's code, at its place in the file where that can be found.
fn placed(error: &CompileError, manifest: &Manifest) -> ManifestError {
    match place_of(&error.location, manifest) {
        Some(place) => ManifestError { place: Some(place), message: error.message.clone() },
        None => ManifestError::at(manifest, error.to_string()),
    }
}

/// The line of an error with a caret below its column; empty where the file cannot be read again.
pub(super) fn caret(error: &ManifestError) -> String {
    let Some(place) = error.place.as_ref().filter(|place| place.column > 0) else {
        return String::new();
    };
    let text = text_again(&place.file).unwrap_or_default();
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

/// Each error as text, with its line and a caret where it has a column.
pub(super) fn with_carets(errors: ManifestErrors) -> Errors<String> {
    let text = |error: ManifestError| format!("{error}\n{}", caret(&error)).trim_end().to_owned();
    errors.into_iter().map(text).collect::<Vec<_>>().into()
}

/// The place in its file of one in the code of a template, such as `template:5:3`.
pub(super) fn place_of(location: &str, manifest: &Manifest) -> Option<Place> {
    let mut parts = location.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    let source = source(parts.next()?, &manifest.object)?;
    let file = text_again(&manifest.path)?;
    let (line, column) = find(&file, manifest.line, &source, line, column)?;
    Some(Place { file: manifest.path.clone(), line, column })
}

/// As [`place_of`], as text: a place in the code stays what it is where the file does not have it. Of a validation in CEL it is
/// the place of its expression.
pub(super) fn in_file(place: &str, manifest: &Manifest) -> String {
    let found = place_of(place, manifest);
    let found = found.or_else(|| place_of(&format!("{place}/expression:1:1"), manifest));
    found.map_or_else(|| place.to_owned(), |found| found.to_string())
}

/// Puts places in the file of the template for those in its code.
pub(super) fn locate(explanation: &mut Explanation, manifest: &Manifest) {
    for body in &mut explanation.bodies {
        body.place = in_file(&body.place, manifest);
        body.steps.iter_mut().for_each(|step| step.place = in_file(&step.place, manifest));
    }
}

/// The text of a module or an expression: `template`, `libs[0]`, `source/validations/0/expression`.
fn source(name: &str, template: &Value) -> Option<String> {
    // A ValidatingAdmissionPolicy has its expressions in its `spec`.
    if text(template, "/kind") != "ConstraintTemplate" {
        return template
            .pointer(&format!("/spec{}", name.strip_prefix("source")?))?
            .as_str()
            .map(str::to_owned);
    }
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

/// Returns where a line and column of a source are in the file that holds it: lines of a block are indented, and one
/// that is written in a line stands somewhere in it. Quoted and folded texts are not found.
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

/// Returns what a text that is not YAML probably is.
pub(super) fn hint(text: &str, path: &Path) -> &'static str {
    let is_chart = path.components().any(|part| part.as_os_str() == "templates");
    if text.contains("{{") && (text.contains("}}") || is_chart) {
        "; it looks like a Helm template: send what `helm template` prints of the chart to standard input instead"
    } else if text.lines().any(|line| line.trim_start_matches(' ').starts_with('\t')) {
        "; a line is indented with a tab, and YAML is indented with spaces"
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
    fn fields_have_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        let text = "a: 1\n---\nkind: List\nitems:\n- kind: A\n- kind: B\n  spec:\n    match:\n      kinds:\n      - a\n      - {b/c: 1,\n         d: 2}\n";
        std::fs::write(&path, text).unwrap();
        let manifest = Manifest { path, line: 6, object: Value::Null, duplicate: None };
        let line = |pointer: &str| {
            let errors = [FieldError::new(pointer, "wrong")];
            field_errors(&errors, &manifest)[0].place.as_ref().unwrap().line
        };
        for (pointer, expected) in [
            ("", 6),
            ("/kind", 6),
            ("/spec/match/kinds", 9),
            ("/spec/match/kinds/1/b~1c", 11),
            ("/spec/match/kinds/1/d", 12),
            ("/spec/match/kinds/2", 9),
            ("/spec/other", 7),
        ] {
            assert_eq!(line(pointer), expected, "{pointer}");
        }
    }

    #[test]
    fn a_caret_stands_below_the_column() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        std::fs::write(&file, FILE).unwrap();
        let error = ManifestError { place: Some(Place { file, line: 7, column: 7 }), message: String::new() };
        assert_eq!(caret(&error), "  7 |       x := 1\n    |       ^\n");
    }

    #[test]
    fn charts_are_recognised() {
        assert!(hint("a: {{ .Values.x }}", Path::new("a.yaml")).contains("helm template"));
        assert!(hint("a:\n \tb: 1", Path::new("a.yaml")).contains("tab"));
        assert_eq!(hint("a: [\tb", Path::new("a.yaml")), "");
        assert_eq!(hint("a: [", Path::new("a.yaml")), "");
    }
}
