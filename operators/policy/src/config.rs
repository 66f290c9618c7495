//! The fields of SyncSets and of the Config: the kinds to sync, and the Namespaces that each process excludes; and what the webhook is
//! asked about whatever they say.

use constraint_framework::api::{FieldError, FieldErrors};
use constraint_framework::review::Document;
use constraint_framework::target::Glob;
use serde_json::Value;

/// The name of the Config that is used; others are ignored.
pub const CONFIG_NAME: &str = "config";

/// Subresources whose requests policies may want to see. `resources: ["*"]` alone stands for main resources only.
pub const SUBRESOURCES: [&str; 16] = [
    "pods/ephemeralcontainers",
    "pods/exec",
    "pods/log",
    "pods/eviction",
    "pods/portforward",
    "pods/proxy",
    "pods/attach",
    "pods/binding",
    "pods/resize",
    "deployments/scale",
    "replicasets/scale",
    "statefulsets/scale",
    "replicationcontrollers/scale",
    "services/proxy",
    "services/status",
    "nodes/proxy",
];

/// A part of the operator that may leave Namespaces out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// The audit.
    Audit,
    /// The copy of objects into `data.inventory`.
    Sync,
    /// The validating webhook.
    Webhook,
}

impl Process {
    const fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Sync => "sync",
            Self::Webhook => "webhook",
        }
    }
}

/// The words for processes in a Config. This release mutates nothing, and takes Gatekeeper's word for it.
const PROCESSES: [&str; 5] = ["*", "audit", "sync", "webhook", "mutation-webhook"];

/// The Namespaces that `spec.match` of the Config leaves out, for each process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcludedNamespaces(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    namespaces: Vec<Glob>,
    processes: Vec<String>,
}

impl ExcludedNamespaces {
    /// Returns true if `process` leaves out a Namespace and what is in it. No Namespace is empty, and cluster-scoped
    /// objects are never left out.
    pub fn contains(&self, process: Process, namespace: &str) -> bool {
        let concerns =
            |entry: &&Entry| entry.processes.iter().any(|named| named == "*" || named == process.name());
        let mut globs = self.0.iter().filter(concerns).flat_map(|entry| &entry.namespaces);
        !namespace.is_empty() && globs.any(|glob| glob.matches(namespace))
    }

    /// Returns true if `process` leaves out an object: by its Namespace, or a Namespace by its own name.
    pub fn contains_object(&self, process: Process, object: &Document) -> bool {
        self.contains_named(process, (object.group(), object.kind()), object.namespace(), object.name())
    }

    /// Returns what [`contains_object`](Self::contains_object) does, of an object of which no more is known.
    pub fn contains_named(
        &self,
        process: Process,
        (group, kind): (&str, &str),
        namespace: &str,
        name: &str,
    ) -> bool {
        let is_namespace = group.is_empty() && kind == "Namespace";
        self.contains(process, if is_namespace { name } else { namespace })
    }

    /// Reads `spec.match` of a Config.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn from_config(config: &Value) -> Result<Self, FieldErrors> {
        let mut errors = Vec::new();
        let entries = list(config, "/spec/match", &mut errors).map(|(pointer, entry)| {
            let namespaces = strings(entry, &pointer, "excludedNamespaces", &mut errors);
            let processes = strings(entry, &pointer, "processes", &mut errors);
            for (index, process) in processes.iter().enumerate() {
                if !PROCESSES.contains(&process.as_str()) {
                    let rule = format!("must be one of {}, not {process:?}", PROCESSES.join(", "));
                    errors.push(FieldError::new(format!("{pointer}/processes/{index}"), rule));
                }
            }
            Entry { namespaces: namespaces.iter().map(|name| Glob::new(name)).collect(), processes }
        });
        let entries = entries.collect();
        FieldErrors::check(errors).map(|()| Self(entries))
    }
}

/// Checks a Config or a SyncSet that is about to be stored.
///
/// # Errors
/// Everything that is wrong with it.
pub fn check(manifest: &Value) -> Result<(), FieldErrors> {
    let mut errors = Vec::new();
    for place in ["/spec/gvks", "/spec/sync/syncOnly"] {
        for (pointer, kind) in list(manifest, place, &mut errors).collect::<Vec<_>>() {
            for field in ["version", "kind"] {
                if kind.get(field).and_then(Value::as_str).unwrap_or_default().is_empty() {
                    errors.push(FieldError::new(format!("{pointer}/{field}"), "must not be empty"));
                }
            }
        }
    }
    if let Err(excluded) = ExcludedNamespaces::from_config(manifest) {
        errors.extend(excluded.iter().cloned());
    }
    FieldErrors::check(errors)
}

/// The entries of the list at a pointer, each with its own. `null` is an empty list.
fn list<'a>(
    manifest: &'a Value,
    pointer: &str,
    errors: &mut Vec<FieldError>,
) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
    let entries = match manifest.pointer(pointer) {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(entries)) => entries,
        Some(_) => {
            errors.push(FieldError::new(pointer, "must be a list"));
            &[]
        }
    };
    let pointer = pointer.to_owned();
    entries.iter().enumerate().map(move |(index, entry)| (format!("{pointer}/{index}"), entry))
}

fn strings(entry: &Value, pointer: &str, field: &str, errors: &mut Vec<FieldError>) -> Vec<String> {
    let mut found = Vec::new();
    for (place, text) in list(entry, &format!("/{field}"), errors) {
        match text.as_str() {
            Some(text) => found.push(text.to_owned()),
            None => errors.push(FieldError::new(format!("{pointer}{place}"), "must be a string")),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn namespaces_are_excluded_by_name_prefix_suffix_or_part_for_the_processes_named() {
        let config = json!({"spec": {"match": [
            {"excludedNamespaces": ["kube-*", "*-ci"], "processes": ["*"]},
            {"excludedNamespaces": ["shop", "*tmp*"], "processes": ["webhook", "mutation-webhook"]}
        ]}});
        let excluded = ExcludedNamespaces::from_config(&config).unwrap();
        for (process, namespace, expected) in [
            (Process::Webhook, "kube-system", true),
            (Process::Sync, "a-ci", true),
            (Process::Webhook, "shop", true),
            (Process::Webhook, "a-tmp-b", true),
            (Process::Webhook, "shops", false),
            (Process::Sync, "shop", false),
            (Process::Audit, "shop", false),
            (Process::Webhook, "", false),
        ] {
            assert_eq!(excluded.contains(process, namespace), expected, "{process:?} {namespace}");
        }
    }

    #[test]
    fn all_errors_of_a_config_are_named_with_their_places() {
        let config = json!({"spec": {
            "sync": {"syncOnly": [{"group": "", "version": "v1", "kind": "Pod"}, {"kind": "Service"}]},
            "match": [{"excludedNamespaces": [1], "processes": ["webhok"]}, {"processes": "sync"}]
        }});
        let errors = check(&config).unwrap_err();
        let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(
            pointers,
            [
                "/processes",
                "/spec/match/0/excludedNamespaces/0",
                "/spec/match/0/processes/0",
                "/spec/sync/syncOnly/1/version"
            ]
        );
        check(&json!({"spec": {"gvks": null}})).unwrap();
        check(&json!({})).unwrap();
    }
}
