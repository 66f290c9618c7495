//! The objects to apply: every file is read and checked before the cluster is asked for anything.

use std::collections::BTreeSet;

use constraint_framework::api::{Constraint, ConstraintTemplate};
use schema_merge::Errors;
use serde_json::{Map, Value, json};

use super::EnforcementAction;
use super::library::Library;
use super::model::Policy;

pub(super) const MANAGED_BY: &str = "gatekeeper.sh/managed-by";
/// gator's own, so that either program finds what the other one installed.
pub(super) const MANAGER: &str = "gator";
pub(super) const BUNDLE: &str = "gatekeeper.sh/bundle";
pub(super) const VERSION: &str = "gatekeeper.sh/policy-version";
pub(super) const SOURCE: &str = "gatekeeper.sh/policy-source";
pub(super) const INSTALLED_AT: &str = "gatekeeper.sh/installed-at";

/// One policy, ready to be applied.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) policy: String,
    pub(super) version: String,
    pub(super) template: Value,
    /// The kind of its constraints.
    pub(super) kind: String,
    pub(super) constraint: Option<Value>,
    /// The constraint's action in the cluster stays.
    pub(super) keeps_action: bool,
}

/// A policy, and the bundle whose constraint it is installed with.
pub(super) type Wanted<'a> = (String, Option<&'a str>);

/// The policies of all bundles, then those that are named, each once.
///
/// # Errors
/// Every bundle that cannot be resolved.
pub(super) fn wanted<'a>(
    library: &'a Library,
    policies: &[String],
    bundles: &'a [String],
) -> Result<Vec<Wanted<'a>>, Errors<String>> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    let mut wanted = Vec::new();
    for bundle in bundles {
        match library.catalog.members(bundle) {
            Ok(members) => {
                let new = members.into_iter().filter(|name| seen.insert((*name).to_owned()));
                wanted.extend(new.map(|name| (name.to_owned(), Some(bundle.as_str()))));
            }
            Err(error) => errors.push(error),
        }
    }
    let new = policies.iter().filter(|name| seen.insert((*name).clone()));
    wanted.extend(new.map(|name| (name.clone(), None)));
    if errors.is_empty() { Ok(wanted) } else { Err(errors.into()) }
}

/// Reads and checks everything that is wanted. `now` is the time that it is annotated with.
///
/// # Errors
/// Everything that cannot be used.
pub(super) fn steps(
    library: &Library,
    wanted: &[Wanted<'_>],
    action: Option<EnforcementAction>,
    now: &str,
) -> Result<Vec<Step>, Errors<String>> {
    let mut errors = Vec::new();
    let mut steps = Vec::new();
    for (name, bundle) in wanted {
        let Some(policy) = library.catalog.policy(name) else {
            errors.push(format!("policy not found: {name}; `webtroller policy search` lists all"));
            continue;
        };
        match step(library, policy, *bundle, action, now) {
            Ok(step) => steps.push(step),
            Err(reason) => errors.push(format!("{name}: {reason}")),
        }
    }
    if errors.is_empty() { Ok(steps) } else { Err(errors.into()) }
}

fn step(
    library: &Library,
    policy: &Policy,
    bundle: Option<&str>,
    action: Option<EnforcementAction>,
    now: &str,
) -> Result<Step, String> {
    let repository = match library.catalog.metadata.repository.as_str() {
        "" => library.catalog.metadata.name.as_str(),
        repository => repository,
    };
    let managed = |object: &mut Value| mark(object, policy, bundle, repository, now);
    let mut template = library.object(&policy.template_path)?;
    let parsed =
        ConstraintTemplate::from_value(&template).map_err(|errors| format!("invalid template: {errors}"))?;
    // An upgrade finds it by this name.
    let name = template.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if name != policy.name {
        return Err(format!("its template is called {name}: the catalogue is wrong"));
    }
    managed(&mut template)?;
    let path = bundle.and_then(|bundle| policy.bundle_constraints.get(bundle));
    let constraint = path.filter(|path| !path.is_empty()).map(|path| {
        let mut constraint = library.object(path)?;
        if let Some(action) = action {
            set_action(&mut constraint, action.as_str())?;
        }
        let id =
            Constraint::from_value(&constraint).map_err(|errors| format!("invalid constraint: {errors}"))?.id;
        if id.kind != parsed.constraint_kind() {
            return Err(format!("its constraint is a {}, and not a {}", id.kind, parsed.constraint_kind()));
        }
        managed(&mut constraint)?;
        Ok(constraint)
    });
    Ok(Step {
        policy: policy.name.clone(),
        version: policy.version.clone(),
        kind: parsed.constraint_kind().to_owned(),
        template,
        constraint: constraint.transpose()?,
        keeps_action: action.is_none(),
    })
}

/// Sets the action of a constraint.
///
/// # Errors
/// Its `spec` is not a mapping.
pub(super) fn set_action(constraint: &mut Value, action: &str) -> Result<(), String> {
    fields(constraint, "spec")?.insert("enforcementAction".to_owned(), action.into());
    Ok(())
}

/// The labels and annotations by which gator knows what it may change.
fn mark(
    object: &mut Value,
    policy: &Policy,
    bundle: Option<&str>,
    source: &str,
    now: &str,
) -> Result<(), String> {
    let metadata = fields(object, "metadata")?;
    // What a cluster added to a file that was exported from it.
    for field in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"] {
        metadata.remove(field);
    }
    let mut metadata = Value::Object(std::mem::take(metadata));
    let labels = fields(&mut metadata, "labels")?;
    labels.insert(MANAGED_BY.to_owned(), MANAGER.into());
    if let Some(bundle) = bundle {
        labels.insert(BUNDLE.to_owned(), bundle.into());
    }
    let annotations = fields(&mut metadata, "annotations")?;
    let own = [(VERSION, policy.version.as_str()), (SOURCE, source), (INSTALLED_AT, now)];
    annotations.extend(own.map(|(name, value)| (name.to_owned(), json!(value))));
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
        object.insert("metadata".to_owned(), metadata);
    }
    Ok(())
}

/// The mapping in a field, made where it is absent.
fn fields<'a>(object: &'a mut Value, field: &str) -> Result<&'a mut Map<String, Value>, String> {
    let object = object.as_object_mut().ok_or("not a mapping")?;
    let entry = object.entry(field).or_insert(Value::Null);
    if entry.is_null() {
        *entry = json!({});
    }
    entry.as_object_mut().ok_or_else(|| format!("/{field} must be a mapping"))
}
