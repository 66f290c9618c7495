//! The rules of `lint`.

use std::collections::BTreeSet;
use std::ops::Deref;

use constraint_framework::api::{
    CONSTRAINTS_GROUP, ConstraintTemplate, RegoSource, TEMPLATES_GROUP, TargetSpec,
};
use constraint_framework::inventory::Reads;
use regex::Regex;
use rego_compat::{BuiltinFunction, Module, RegoVersion, Restrictions, Segment, builtin_functions};
use schema_merge::MountPath;
use serde_json::Value;

use crate::api_version::{self, group_version};
use crate::cli::manifest::{Manifest, text};
use crate::cli::snippet::{FieldPlaces, place_of};

use super::Lint;

/// The rules, and what each is about.
pub(super) const RULES: &[(&str, &str)] = &[
    (
        "missing-schema",
        "The policy reads parameters, and its template has no schema for them: none can be set.",
    ),
    ("unused-parameter", "A parameter of the schema is not read by the policy."),
    ("undeclared-parameter", "The policy reads a parameter that is not in the schema: it is never set."),
    (
        "delete-without-object",
        "On DELETE there is no new object: a policy in CEL sees null, one in Rego the object that is deleted.",
    ),
    ("unindexed-join", "The policy goes through all objects of the inventory for each review."),
    ("not-deterministic", "The same object may be judged differently from one time to the next."),
    ("old-rego", "The policy is written in Rego before 1.0."),
    ("matches-everything", "The constraint is asked about every object of a cluster."),
    ("never-matches", "No object meets the criteria of the constraint, or one of them."),
    ("no-description", "The template does not say what it is for."),
];

/// A manifest, and where its fields are.
struct Reviewed<'a> {
    manifest: &'a Manifest,
    places: &'a FieldPlaces,
}

impl Deref for Reviewed<'_> {
    type Target = Manifest;

    fn deref(&self) -> &Manifest {
        self.manifest
    }
}

/// Lists the lints of a manifest.
pub(super) fn of(manifest: &Manifest, places: &FieldPlaces) -> Vec<Lint> {
    let manifest = &Reviewed { manifest, places };
    match api_version::group(&manifest.object) {
        TEMPLATES_GROUP => of_template(manifest),
        CONSTRAINTS_GROUP => of_constraint(manifest),
        _ => Vec::new(),
    }
}

/// A lint about a field, or about what would hold it.
fn at(manifest: &Reviewed<'_>, pointer: &str, rule: &'static str, message: impl Into<String>) -> Lint {
    Lint { place: manifest.places.of(pointer, manifest), rule, message: message.into() }
}

fn of_constraint(manifest: &Reviewed<'_>) -> Vec<Lint> {
    let block = manifest.object.pointer("/spec/match").cloned().unwrap_or_default();
    let listed =
        |field: &str| block.get(field).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let mut lints = Vec::new();
    let narrow = ["labelSelector", "name", "namespaces", "namespaceSelector"];
    if !listed("kinds") && narrow.iter().all(|field| block.get(*field).is_none()) {
        let message = "spec.match names no kinds: every object is judged, and each review takes as long as the policy does";
        lints.push(at(manifest, "/spec/match", "matches-everything", message));
    }
    if text(&block, "/scope") == "Cluster" && listed("namespaces") {
        let message = "spec.match.scope is Cluster, and spec.match.namespaces is about objects in namespaces and Namespaces only";
        lints.push(at(manifest, "/spec/match/scope", "never-matches", message));
    }
    let kinds = block.get("kinds").and_then(Value::as_array).into_iter().flatten();
    for (position, entry) in kinds.enumerate() {
        let lint = |(pointer, message): (String, String)| {
            at(manifest, &format!("/spec/match/kinds/{position}/{pointer}"), "never-matches", message)
        };
        lints.extend(mistaken(entry).into_iter().map(lint));
    }
    lints
}

/// Returns what is a version or a resource in an entry of `spec.match.kinds`, where groups and kinds are meant: where it
/// stands in the entry, and a message.
fn mistaken(entry: &Value) -> Vec<(String, String)> {
    let words = |field: &'static str| {
        let words = entry.get(field).and_then(Value::as_array).into_iter().flatten().enumerate();
        words.filter_map(move |(position, word)| Some((format!("{field}/{position}"), word.as_str()?)))
    };
    let version = Regex::new(r"^(.*/)?v[0-9]+((alpha|beta)[0-9]+)?$");
    let of_groups =
        words("apiGroups").filter(|(_, group)| version.as_ref().is_ok_and(|version| version.is_match(group)));
    let of_kinds =
        words("kinds").filter(|(_, kind)| kind.starts_with(|letter: char| letter.is_ascii_lowercase()));
    let group = |text: &str| match group_version(text).0 {
        "" => format!("{text:?} in spec.match.kinds.apiGroups is a version: the group of v1 is \"\""),
        group => format!("{text:?} in spec.match.kinds.apiGroups is a group and a version: write {group:?}"),
    };
    let kind = |text: &str| {
        format!("{text:?} in spec.match.kinds.kinds is not a kind: they begin with a capital, as Pod does")
    };
    let of_groups = of_groups.map(|(pointer, text)| (pointer, group(text)));
    of_groups.chain(of_kinds.map(|(pointer, text)| (pointer, kind(text)))).collect()
}

fn of_template(manifest: &Reviewed<'_>) -> Vec<Lint> {
    let Ok(template) = ConstraintTemplate::from_value(&manifest.object) else { return Vec::new() };
    let sources = template.target().map(TargetSpec::sources).unwrap_or_default();
    let of = |engine: &str| sources.iter().find(|code| code.engine == engine).map(|code| code.source.clone());
    let rego = of("Rego").and_then(|source| RegoSource::from_value(&source).ok());
    let cel = of("K8sNativeValidation");
    let mut lints = of_parameters(manifest, &template, rego.as_ref(), cel.as_ref());
    if let Some(rego) = &rego {
        lints.extend(of_rego(manifest, rego));
    }
    lints.extend(of_deletion(manifest, rego.as_ref(), cel.as_ref()));
    if text(&manifest.object, "/metadata/annotations/description").is_empty() {
        let message = "there is no annotation `description`: reports and catalogues show it";
        lints.push(at(manifest, "/metadata", "no-description", message));
    }
    lints
}

/// A template that asks for DELETE and does not look at what that means.
fn of_deletion(manifest: &Reviewed<'_>, rego: Option<&RegoSource>, cel: Option<&Value>) -> Vec<Lint> {
    let operations = manifest.object.pointer("/spec/targets/0/operations").and_then(Value::as_array);
    if !operations.into_iter().flatten().any(|word| word == "DELETE" || word == "*") {
        return Vec::new();
    }
    let mut messages = Vec::new();
    let cel = cel.map(expressions);
    if cel.is_some_and(|cel| !cel.contains("anyObject") && !cel.contains("oldObject")) {
        messages.push("the template asks for DELETE, where object is null in CEL: use variables.anyObject, or oldObject");
    }
    let reads = |rego: &RegoSource, name: &str| code_of(rego).any(|line| line.contains(name));
    let deletes = |rego: &&RegoSource| {
        let knows = ["review.operation", "review.oldObject"].iter().any(|name| reads(rego, name));
        reads(rego, "review.object") && !knows
    };
    if rego.filter(deletes).is_some() {
        messages.push(
            "the template asks for DELETE, where input.review.object is the object that is deleted: one that violates the \
             policy cannot be deleted; look at input.review.operation",
        );
    }
    let lint = |message| at(manifest, "/spec/targets/0/operations", "delete-without-object", message);
    messages.into_iter().map(lint).collect()
}

/// The lines of a template's code, without comments.
fn code_of(rego: &RegoSource) -> impl Iterator<Item = &str> {
    let lines = std::iter::once(&rego.rego).chain(&rego.libs).flat_map(|text| text.lines());
    lines.map(|line| line.split('#').next().unwrap_or_default())
}

/// The expressions of a template in CEL, without its messages, one in a line.
fn expressions(source: &Value) -> String {
    match source {
        Value::Object(fields) => {
            let text = |(name, value): (&String, &Value)| match value {
                Value::String(text) if name.ends_with("xpression") => text.clone(),
                value => expressions(value),
            };
            fields.iter().map(text).collect::<Vec<_>>().join("\n")
        }
        Value::Array(items) => items.iter().map(expressions).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// Parameters are looked for by name in the text of the code: one that is read by a computed name counts as read.
fn of_parameters(
    manifest: &Reviewed<'_>,
    template: &ConstraintTemplate,
    rego: Option<&RegoSource>,
    cel: Option<&Value>,
) -> Vec<Lint> {
    let code = format!(
        "{}\n{}\n{}",
        rego.map(|rego| rego.rego.as_str()).unwrap_or_default(),
        rego.map(|rego| rego.libs.join("\n")).unwrap_or_default(),
        cel.map(expressions).unwrap_or_default()
    );
    let read = names(&code, r"(?:input\.parameters|variables\.params)\.([A-Za-z_][A-Za-z0-9_]*)");
    let Some(schema) = template.parameter_schema() else {
        let message =
            format!("the policy reads {}, and the template has no schema for parameters", read.join(", "));
        return if read.is_empty() {
            Vec::new()
        } else {
            vec![at(manifest, "/spec/crd/spec", "missing-schema", message)]
        };
    };
    let declared: Vec<&String> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(serde_json::Map::keys)
        .collect();
    let unused = declared.iter().filter(|name| !code.contains(name.as_str()));
    let mut lints: Vec<_> = unused
        .map(|name| {
            let path = ["spec", "crd", "spec", "validation", "openAPIV3Schema", "properties", name];
            let message = format!("the parameter {name:?} is not read by the policy");
            at(manifest, &MountPath::of(path).to_string(), "unused-parameter", message)
        })
        .collect();
    let open = ["additionalProperties", "x-kubernetes-preserve-unknown-fields"];
    if template.legacy_schema() || open.iter().any(|keyword| schema.get(keyword).is_some()) {
        return lints;
    }
    let unknown = read.iter().filter(|name| !declared.contains(name));
    lints.extend(unknown.map(|name| {
        let message = format!("the policy reads the parameter {name:?}, which the schema does not have");
        let read = rego.and_then(|rego| place_in_rego(&format!("input.parameters.{name}"), rego));
        placed(manifest, &read.unwrap_or_default(), "undeclared-parameter", message)
    }));
    lints
}

/// The place of a text in the code of a template.
fn place_in_rego(text: &str, rego: &RegoSource) -> Option<String> {
    let (number, column) =
        rego.rego.lines().enumerate().find_map(|(number, line)| Some((number, line.find(text)?)))?;
    Some(format!("template:{}:{}", number.saturating_add(1), column.saturating_add(1)))
}

fn of_rego(manifest: &Reviewed<'_>, rego: &RegoSource) -> Vec<Lint> {
    let mut lints = Vec::new();
    for (number, line) in rego.rego.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default();
        for BuiltinFunction { name, .. } in builtin_functions().filter(|function| !function.deterministic) {
            if let Some(column) = code.find(&format!("{name}(")) {
                let place = format!("template:{}:{}", number.saturating_add(1), column.saturating_add(1));
                let message = format!("{name} has a value that depends on more than its arguments");
                lints.push(placed(manifest, &place, "not-deterministic", message));
            }
        }
    }
    if rego.version != "v1" {
        let message = "the policy is written in Rego before 1.0: --fix rewrites it with `if` and `contains`, and sets `version: v1` in the code's source";
        lints.push(at(manifest, "/spec/targets/0", "old-rego", message));
    }
    if let Some(kinds) = unindexed(rego).filter(|kinds| !kinds.is_empty()) {
        let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
        let message = format!(
            "the policy reads the inventory without an equation that selects objects: each review goes through all objects \
             of it ({kinds}); with 1,000 of them an audit looks at 1,000,000"
        );
        let read = place_in_rego("data.inventory", rego);
        lints.push(placed(manifest, &read.unwrap_or_default(), "unindexed-join", message));
    }
    lints
}

fn placed(manifest: &Reviewed<'_>, place: &str, rule: &'static str, message: String) -> Lint {
    let place = place_of(place, manifest).unwrap_or_else(|| manifest.places.of("/spec/targets/0", manifest));
    Lint { place, rule, message }
}

/// The kinds of the objects that the policy reads without an equation that selects them; `None` where it reads no inventory.
fn unindexed(rego: &RegoSource) -> Option<BTreeSet<String>> {
    let version = if rego.version == "v1" { RegoVersion::V1 } else { RegoVersion::V0 };
    let mut modules = vec![Module::parse("template", &rego.rego, version).ok()?];
    for (position, text) in rego.libs.iter().enumerate() {
        modules.push(Module::parse(&format!("libs[{position}]"), text, version).ok()?);
    }
    let package = modules.first()?.package().join(".");
    let compiled =
        rego_compat::compile(&modules, &format!("data.{package}.violation"), &Restrictions::default())
            .ok()?;
    Some(Reads::of(&compiled)?.unindexed().map(kind_at).collect())
}

/// The kind at `cluster[version][kind]` or `namespace[name][version][kind]` of the inventory.
fn kind_at(path: &[Segment]) -> String {
    let place = match path.first() {
        Some(Segment::Key(scope)) if scope == "cluster" => 2,
        _ => 3,
    };
    match path.get(place) {
        Some(Segment::Key(kind)) => kind.clone(),
        _ => "every kind".to_owned(),
    }
}

/// The names that a pattern finds, each once.
fn names(text: &str, pattern: &str) -> Vec<String> {
    let Ok(pattern) = Regex::new(pattern) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for captures in pattern.captures_iter(text) {
        if let Some(name) =
            captures.get(1).map(|name| name.as_str().to_owned()).filter(|name| !found.contains(name))
        {
            found.push(name);
        }
    }
    found
}
