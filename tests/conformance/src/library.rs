//! Constraint templates with their samples, read in place: the public policy library, or a folder of ours.
//!
//! A *suite* is a folder with a `suite.yaml` that names a template, constraints and sample objects. What is
//! read here is only what an evaluation of the template's Rego needs; matching is not looked at.

use std::path::{Path, PathBuf};

use go_compat::sigs_yaml;
use serde_json::{Map, Value as Json, json};

use crate::ours::Sources;

/// The environment variable that says where the policy library is.
pub const VARIABLE: &str = "GATEKEEPER_LIBRARY";

/// A template's Rego with the inputs that its suite's cases make.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The template's name.
    pub name: String,
    /// The template's modules.
    pub sources: Sources,
    /// The reference to the template's violations.
    pub query: String,
    /// The cases of the suite.
    pub cases: Vec<Case>,
}

/// One evaluation: the documents that a constraint and an object make.
#[derive(Clone, Debug)]
pub struct Case {
    /// The suite's name for it.
    pub name: String,
    /// `{"review": ..., "parameters": ...}`.
    pub input: Json,
    /// `{"inventory": ...}`.
    pub data: Json,
    /// The kinds of objects that the constraint selects; none where it selects all.
    pub kinds: Vec<String>,
}

/// The folder of the policy library, or what to do to have one.
///
/// # Errors
/// The sentence to show when there is no such folder.
pub fn folder() -> Result<PathBuf, String> {
    let fallback = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/gatekeeper-library");
    let named = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = named.unwrap_or(fallback);
    if folder.join("library").is_dir() {
        return Ok(folder);
    }
    Err(format!(
        "no policy library: clone https://github.com/open-policy-agent/gatekeeper-library and set {VARIABLE} to it"
    ))
}

/// Every subject below a folder that has Rego, ordered by path.
///
/// # Errors
/// A sentence about the first file that cannot be read or understood.
pub fn subjects(folder: &Path) -> Result<Vec<Subject>, String> {
    let mut subjects = Vec::new();
    for suite in suites(folder)? {
        subjects.extend(read_suite(&suite)?);
    }
    Ok(subjects)
}

/// The `suite.yaml` files below a folder, ordered by path.
///
/// # Errors
/// A sentence about the first folder that cannot be read.
pub fn suites(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut suites = Vec::new();
    find_suites(folder, &mut suites)?;
    suites.sort();
    Ok(suites)
}

fn find_suites(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    let unreadable = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            find_suites(&path, found)?;
        } else if path.file_name().is_some_and(|name| name == "suite.yaml") {
            found.push(path);
        }
    }
    Ok(())
}

fn read_suite(suite: &Path) -> Result<Vec<Subject>, String> {
    let base = suite.parent().unwrap_or(suite);
    let mut subjects: Vec<Subject> = Vec::new();
    for test in list(&read_yaml(suite)?, "/tests") {
        let template = read_yaml(&base.join(text(&test, "/template")))?;
        let constraint = read_yaml(&base.join(text(&test, "/constraint")))?;
        let Some(mut subject) = read_template(&template) else {
            continue;
        };
        for case in list(&test, "/cases") {
            subject.cases.push(read_case(base, text(&test, "/name"), &case, &constraint)?);
        }
        match subjects.iter_mut().find(|known| known.name == subject.name) {
            Some(known) => known.cases.append(&mut subject.cases),
            None => subjects.push(subject),
        }
    }
    Ok(subjects)
}

/// The Rego of a template, in either of the two places where a template may have it.
fn read_template(template: &Json) -> Option<Subject> {
    let target = template.pointer("/spec/targets/0")?;
    let code = list(target, "/code").into_iter().find(|code| text(code, "/engine") == "Rego");
    let (rego, libs, version) = match &code {
        Some(code) => (text(code, "/source/rego"), list(code, "/source/libs"), text(code, "/source/version")),
        None => (text(target, "/rego"), list(target, "/libs"), ""),
    };
    let package = rego.lines().find_map(|line| line.trim().strip_prefix("package "))?.trim();
    let mut modules = vec![("template.rego".to_owned(), rego.to_owned())];
    for (position, lib) in libs.iter().enumerate() {
        modules.push((format!("lib-{position}.rego"), lib.as_str().unwrap_or_default().to_owned()));
    }
    Some(Subject {
        name: text(template, "/metadata/name").to_owned(),
        query: format!("data.{package}.violation"),
        sources: Sources { modules, v0: version != "v1" },
        cases: Vec::new(),
    })
}

fn read_case(base: &Path, test: &str, case: &Json, constraint: &Json) -> Result<Case, String> {
    let object = read_yaml(&base.join(text(case, "/object")))?;
    let mut inventory = json!({});
    for path in list(case, "/inventory") {
        for object in read_documents(&base.join(path.as_str().unwrap_or_default()))? {
            remember(&mut inventory, object);
        }
    }
    let kinds = list(constraint, "/spec/match/kinds").into_iter().flat_map(|entry| list(&entry, "/kinds"));
    let kinds = kinds.filter_map(|kind| kind.as_str().map(str::to_owned)).collect();
    let parameters = constraint.pointer("/spec/parameters").cloned().unwrap_or_else(|| json!({}));
    Ok(Case {
        name: format!("{test}/{}", text(case, "/name")),
        input: json!({ "review": review(object), "parameters": parameters }),
        data: json!({ "inventory": inventory }),
        kinds,
    })
}

/// The review of an object; a sample that is an AdmissionReview brings its own.
fn review(object: Json) -> Json {
    if text(&object, "/kind") == "AdmissionReview" {
        return object.pointer("/request").cloned().unwrap_or(Json::Null);
    }
    let (group, version) = group_version(&object);
    let mut review = json!({
        "kind": { "group": group, "version": version, "kind": text(&object, "/kind") },
        "name": text(&object, "/metadata/name"),
        "operation": "CREATE",
        "userInfo": { "username": "jane", "groups": ["system:authenticated"] },
    });
    if let Some(fields) = review.as_object_mut() {
        if let Some(namespace) = object.pointer("/metadata/namespace") {
            fields.insert("namespace".to_owned(), namespace.clone());
        }
        fields.insert("object".to_owned(), object);
    }
    review
}

fn group_version(object: &Json) -> (&str, &str) {
    let version = text(object, "/apiVersion");
    version.split_once('/').unwrap_or(("", version))
}

/// Puts an object where `data.inventory` has it.
fn remember(inventory: &mut Json, object: Json) {
    let namespace = object.pointer("/metadata/namespace").and_then(Json::as_str);
    let mut path: Vec<String> = match namespace {
        Some(namespace) => vec!["namespace".to_owned(), namespace.to_owned()],
        None => vec!["cluster".to_owned()],
    };
    path.extend(["/apiVersion", "/kind", "/metadata/name"].map(|field| text(&object, field).to_owned()));
    let mut place = inventory;
    for name in path {
        if !place.is_object() {
            *place = Json::Object(Map::new());
        }
        let Some(fields) = place.as_object_mut() else {
            return;
        };
        place = fields.entry(name).or_insert(Json::Null);
    }
    *place = object;
}

fn text<'a>(json: &'a Json, pointer: &str) -> &'a str {
    json.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

fn list(json: &Json, pointer: &str) -> Vec<Json> {
    json.pointer(pointer).and_then(Json::as_array).cloned().unwrap_or_default()
}

fn read_yaml(path: &Path) -> Result<Json, String> {
    let first = read_documents(path)?.into_iter().next();
    first.ok_or_else(|| format!("{}: no document", path.display()))
}

/// The documents of a file, read as `kubectl` reads them.
fn read_documents(path: &Path) -> Result<Vec<Json>, String> {
    let content = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let documents = sigs_yaml::documents(&content).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(documents.into_iter().map(|document| document.value).filter(|value| !value.is_null()).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says no by panicking")]

    use super::*;

    #[test]
    fn every_document_of_the_examples_is_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies");
        let subjects = subjects(&folder).unwrap();
        assert!(!subjects.is_empty());
        for case in subjects.iter().flat_map(|subject| &subject.cases) {
            let places = ["/review/object/metadata", "/review/oldObject/metadata"];
            assert!(places.iter().any(|place| case.input.pointer(place).is_some()), "{}", case.name);
        }
    }
}
