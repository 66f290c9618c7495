//! The boundaries of contributions: reserved properties of the root, sealed parents, objects only.
//!
//! Exclusive mounts are held in `join.rs`, where contributions meet.

use serde_json::{Map, Value};

use super::{Terms, flag, json_type, root_property, text};
use crate::conflict::MergeError;
use crate::fragment::Fragment;
use crate::keyword::{INT_OR_STRING, PRESERVE};
use crate::path::MountPath;

/// Properties of every resource which belong to the API machinery, or to the controller that owns the status.
const RESERVED: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

pub(super) fn check(terms: &Terms, fragments: &[Fragment]) -> Vec<MergeError> {
    let mut errors = Vec::new();
    for fragment in fragments {
        errors.extend(reserved(terms, fragment));
        for (parent, children) in &terms.seals {
            errors.extend(
                contributed(fragment, parent).into_iter().filter(|name| !children.contains(*name)).map(
                    |name| MergeError::Sealed {
                        at: parent.schema_path().child("properties").key(name),
                        origin: fragment.origin.clone(),
                        parent: parent.clone(),
                        property: name.to_owned(),
                    },
                ),
            );
        }
        errors.extend(shape(fragment));
    }
    errors
}

fn reserved(terms: &Terms, fragment: &Fragment) -> Vec<MergeError> {
    let granted = |name: &str| terms.grants.contains(&(name.to_owned(), fragment.origin.clone()));
    contributed(fragment, &MountPath::root())
        .into_iter()
        .filter(|name| RESERVED.contains(name) && !granted(name))
        .map(|name| MergeError::Reserved {
            at: root_property(name),
            origin: fragment.origin.clone(),
            property: name.to_owned(),
        })
        .collect()
}

/// The children of `parent` which this fragment describes or leads through.
fn contributed<'a>(fragment: &'a Fragment, parent: &MountPath) -> Vec<&'a str> {
    if fragment.at.names().len() > parent.names().len() {
        let child = fragment.at.names().get(parent.names().len());
        return child.filter(|_| parent.contains(&fragment.at)).map(String::as_str).into_iter().collect();
    }
    let inner = parent.names().strip_prefix(fragment.at.names());
    let node = inner.and_then(|names| {
        names.iter().try_fold(&fragment.schema, |schema, name| schema.get("properties")?.get(name))
    });
    let properties = node.and_then(|node| node.get("properties")).and_then(Value::as_object);
    let mut names: Vec<_> = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// A fragment that is not an object can be mounted by mistake only, unless its policy says otherwise.
fn shape(fragment: &Fragment) -> Option<MergeError> {
    let at = fragment.at.schema_path();
    let origin = fragment.origin.clone();
    let Value::Object(schema) = &fragment.schema else {
        return Some(MergeError::NotASchema { at, origin, found: json_type(&fragment.schema) });
    };
    let found = match text(schema, "type") {
        Some("object") => return None,
        Some(other) => format!("type {other}"),
        None if flag(schema, PRESERVE) => "no type, so that any value is valid".to_owned(),
        None if flag(schema, INT_OR_STRING) => "type integer or string".to_owned(),
        // Nothing says what it is: harmless beside a fragment that does, and not structural on its own.
        None => return None,
    };
    (!fragment.policy.any_type).then_some(MergeError::NotAnObject { at, origin, found })
}
