//! `webtroller lint --fix`: rewrites policies in Rego before 1.0, in the files they stand in.
//!
//! The Rego is rewritten by `rego-compat` ([`Module::to_v1`]), the YAML by `fix/block.rs`, line by line, so that comments
//! and layout stay. Nothing is written that does not read back as the same objects with the new code, and nothing that
//! the engine refuses.

mod block;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use constraint_framework::api::{ConstraintTemplate, RegoSource};
use constraint_framework::policyset::Compiler;
use rego_compat::{Module, RegoVersion};
use serde_json::{Value, json};

use crate::cli::expand::is_policy;
use crate::cli::load::{load_file, load_reader};
use crate::cli::manifest::{Manifest, Place};

use block::Form;

const TARGET: &str = "/spec/targets/0";

/// The outcome for templates in old Rego. Places are those of the new files.
#[derive(Debug, Default)]
pub(super) struct Fixes {
    /// The templates that were rewritten.
    pub(super) fixed: Vec<Place>,
    /// The templates that were not, and why.
    pub(super) refused: Vec<(Place, String)>,
    /// Files that could not be read or written.
    pub(super) errors: Vec<String>,
}

/// A template in old Rego: the number of its manifest in its file.
type Old = (usize, Manifest);

/// Rewrites the templates among manifests in their files; afterwards the manifests are those of the new files.
pub(super) fn apply(manifests: &mut Vec<Manifest>) -> Fixes {
    let mut files: BTreeMap<PathBuf, (usize, Vec<Old>)> = BTreeMap::new();
    for manifest in manifests.iter() {
        let (count, old) = files.entry(manifest.path.clone()).or_default();
        if is_old(&manifest.object) {
            old.push((*count, manifest.clone()));
        }
        *count = count.saturating_add(1);
    }
    let mut fixes = Fixes::default();
    for (path, (_, old)) in files.iter().filter(|(_, (_, old))| !old.is_empty()) {
        let outcomes = match fix_file(path, old) {
            Ok(outcomes) => outcomes,
            Err(error) => {
                fixes.errors.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        if outcomes.iter().any(Result::is_ok) {
            match load_file(path) {
                Ok(mut new) => {
                    new.retain(|manifest| is_policy(&manifest.object));
                    replace(manifests, path, new);
                }
                Err(error) => fixes.errors.push(error.to_string()),
            }
        }
        for ((position, _), outcome) in old.iter().zip(outcomes) {
            let line = manifests.iter().filter(|manifest| manifest.path == *path).nth(*position);
            let place =
                Place { file: path.clone(), line: line.map_or(0, |manifest| manifest.line), column: 0 };
            match outcome {
                Ok(()) => fixes.fixed.push(place),
                Err(reason) => fixes.refused.push((place, reason)),
            }
        }
    }
    fixes
}

fn replace(manifests: &mut Vec<Manifest>, path: &Path, new: Vec<Manifest>) {
    let position = manifests.iter().position(|manifest| manifest.path == path).unwrap_or(0);
    manifests.retain(|manifest| manifest.path != path);
    manifests.splice(position..position, new);
}

/// Returns true if a manifest is a template with code in Rego before 1.0.
fn is_old(object: &Value) -> bool {
    rego_of(object).is_some_and(|(source, _)| source.version != "v1")
}

/// The code of a template in Rego, and where in its target it stands.
fn rego_of(object: &Value) -> Option<(RegoSource, Form)> {
    let template = ConstraintTemplate::from_value(object).ok()?;
    let code = template.target()?.sources().into_iter().find(|code| code.engine == "Rego")?;
    let source = RegoSource::from_value(&code.source).ok()?;
    let target = object.pointer(TARGET)?;
    let entries = target.get("code").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let form =
        match entries.iter().position(|entry| entry.get("engine").is_some_and(|engine| engine == "Rego")) {
            Some(position) => Form::Code(position),
            None => Form::Legacy,
        };
    Some((source, form))
}

/// Rewrites the templates of a file. Nothing is written where none can be.
fn fix_file(path: &Path, old: &[Old]) -> Result<Vec<Result<(), String>>, String> {
    if !path.is_file() {
        let reason = || Err("it does not stand in a file: rewrite it where it comes from".to_owned());
        return Ok(old.iter().map(|_| reason()).collect());
    }
    let mut text = std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    let mut outcomes = Vec::new();
    // From the last one: the lines of those before stay where they are.
    for (_, manifest) in old.iter().rev() {
        outcomes.push(rewritten(&text, manifest).map(|new| text = new));
    }
    outcomes.reverse();
    if outcomes.iter().any(Result::is_ok) {
        std::fs::write(path, text).map_err(|error| format!("cannot be written: {error}"))?;
    }
    Ok(outcomes)
}

/// The text of a file with one template rewritten.
fn rewritten(text: &str, manifest: &Manifest) -> Result<String, String> {
    let (source, form) = rego_of(&manifest.object).ok_or("it has no Rego")?;
    let new = RegoSource {
        rego: to_v1("template", &source.rego)?,
        version: "v1".to_owned(),
        libs: numbered(&source.libs).map(|(name, lib)| to_v1(&name, lib)).collect::<Result<_, _>>()?,
    };
    if form == Form::Legacy
        && manifest.object.pointer(TARGET).is_some_and(|target| target.get("code").is_some())
    {
        return Err("the target has both rego and code: move rego into an entry of code first".to_owned());
    }
    let edited = block::replace(text, manifest.line, form, &source, &new)?;
    check(text, &edited, manifest, form, &new)?;
    Ok(edited)
}

fn numbered(libs: &[String]) -> impl Iterator<Item = (String, &String)> {
    libs.iter().enumerate().map(|(position, lib)| (format!("libs[{position}]"), lib))
}

fn to_v1(name: &str, text: &str) -> Result<String, String> {
    let refused = |diagnostics: rego_compat::Diagnostics| {
        let texts = diagnostics.iter().map(|found| format!("{name}:{}: {}", found.line, found.message));
        texts.collect::<Vec<_>>().join("; ")
    };
    Module::parse(name, text, RegoVersion::V0).and_then(|module| module.to_v1()).map_err(refused)
}

/// The new text holds the same objects but for the code of the one template, and that compiles.
fn check(old: &str, new: &str, manifest: &Manifest, form: Form, code: &RegoSource) -> Result<(), String> {
    let read = |text: &str| {
        let loaded = load_reader(&manifest.path, &mut text.as_bytes());
        loaded.map_err(|error| format!("the rewritten file would not be readable: {error}"))
    };
    let [old, new] = [read(old)?, read(new)?];
    let position = old.iter().position(|other| other.line == manifest.line);
    let position = position.ok_or("it is not where it was: run the command again")?;
    let is_same = |(index, (old, new)): (usize, (&Manifest, &Manifest))| {
        if index == position {
            trimmed(expected(&old.object, form, code)) == trimmed(new.object.clone())
        } else {
            old.object == new.object
        }
    };
    if old.len() != new.len() || !old.iter().zip(&new).enumerate().all(is_same) {
        return Err("the YAML has a form that cannot be edited safely".to_owned());
    }
    let template = new.get(position).and_then(|new| ConstraintTemplate::from_value(&new.object).ok());
    let template = template.ok_or("the rewritten template would be refused")?;
    match Compiler::default().compile(&template) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the rewritten template would be refused: {error}")),
    }
}

/// The template as it should be.
fn expected(object: &Value, form: Form, code: &RegoSource) -> Value {
    let mut object = object.clone();
    let source = json!({"rego": code.rego, "version": code.version, "libs": code.libs});
    let Some(target) = object.pointer_mut(TARGET).and_then(Value::as_object_mut) else { return object };
    match form {
        Form::Legacy => {
            target.remove("rego");
            target.remove("libs");
            target.insert("code".to_owned(), json!([{"engine": "Rego", "source": source}]));
        }
        Form::Code(position) => {
            let entry = target.get_mut("code").and_then(|code| code.get_mut(position));
            if let Some(fields) = entry.and_then(Value::as_object_mut) {
                fields.insert("source".to_owned(), source);
            }
        }
    }
    object
}

/// Without the white space at the end of texts, which block scalars may have or not.
fn trimmed(mut value: Value) -> Value {
    match &mut value {
        Value::String(text) => *text = text.trim_end().to_owned(),
        Value::Array(list) => list.iter_mut().for_each(|entry| *entry = trimmed(entry.take())),
        Value::Object(fields) => {
            // `libs: []` is as good as none.
            fields.retain(|name, entry| name != "libs" || *entry != json!([]));
            fields.values_mut().for_each(|entry| *entry = trimmed(entry.take()));
        }
        _ => {}
    }
    value
}
