//! One result of the function, as the KRM function specification has it.

use serde_json::{Map, Value, json};

use crate::cli::judge::{Gravity, PlacedViolation};
use crate::cli::manifest::{Manifest, ManifestError};

/// The annotations in which orchestrators note the file of an item and its position in it; older ones use the second.
const ANNOTATIONS: [&str; 2] = ["internal.config.kubernetes.io/", "config.kubernetes.io/"];

/// A message about an item, ordered by file, position in it, and severity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FunctionResult {
    file: Option<(String, Option<i64>)>,
    severity: Severity,
    resource: Resource,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Error,
    Warning,
    Info,
}

/// The item; empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Resource {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

impl FunctionResult {
    /// A violation, with the constraint behind the message as kpt's own function has it.
    pub(super) fn violation(violation: &PlacedViolation<'_>) -> Self {
        let severity = match violation.gravity {
            Gravity::Deny => Severity::Error,
            Gravity::Warn => Severity::Warning,
            Gravity::Quiet => Severity::Info,
        };
        let message = format!("{}\nviolatedConstraint: {}", violation.message, violation.id().name);
        Self { severity, message, ..Self::about(violation.subject.object.json().unwrap_or(&Value::Null)) }
    }

    /// Describes what keeps an item from being used.
    pub(super) fn error(error: &ManifestError, package: &[Manifest]) -> Self {
        match super::item_of(error, package) {
            Some(item) => Self { message: error.message.clone(), ..Self::about(item) },
            None => Self::failure(error.to_string()),
        }
    }

    /// Something that is wrong with no item in particular.
    pub(super) fn failure(message: String) -> Self {
        Self { message, ..Self::about(&Value::Null) }
    }

    fn about(item: &Value) -> Self {
        let text =
            |pointer: &str| item.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let index = annotation(item, "index").and_then(|index| index.parse().ok());
        Self {
            file: annotation(item, "path").map(|path| (path.to_owned(), index)),
            severity: Severity::Error,
            resource: Resource {
                api_version: text("/apiVersion"),
                kind: text("/kind"),
                namespace: text("/metadata/namespace"),
                name: text("/metadata/name"),
            },
            message: String::new(),
        }
    }

    pub(super) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// For people: one line.
    pub(super) fn line(&self) -> String {
        let Resource { api_version, kind, namespace, name } = &self.resource;
        let message = self.message.replace('\n', " ");
        match (kind.as_str(), namespace.as_str()) {
            ("", _) => format!("[error] {message}"),
            (_, "") => format!("[error] {api_version}/{kind}/{name}: {message}"),
            (_, namespace) => format!("[error] {api_version}/{kind}/{namespace}/{name}: {message}"),
        }
    }

    pub(super) fn to_value(&self) -> Value {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        let mut result = Map::new();
        result.insert("message".to_owned(), json!(self.message));
        result.insert("severity".to_owned(), json!(severity));
        let Resource { api_version, kind, namespace, name } = &self.resource;
        let fields = [("apiVersion", api_version), ("kind", kind), ("namespace", namespace), ("name", name)];
        let fields: Map<String, Value> = fields
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(field, value)| (field.to_owned(), json!(value)))
            .collect();
        if !fields.is_empty() {
            result.insert("resourceRef".to_owned(), Value::Object(fields));
        }
        if let Some((path, index)) = &self.file {
            let mut file = Map::from_iter([("path".to_owned(), json!(path))]);
            file.extend(index.map(|index| ("index".to_owned(), json!(index))));
            result.insert("file".to_owned(), Value::Object(file));
        }
        Value::Object(result)
    }
}

/// Returns what the orchestrator noted about an item.
fn annotation<'a>(item: &'a Value, name: &str) -> Option<&'a str> {
    let annotations = item.pointer("/metadata/annotations")?;
    ANNOTATIONS.iter().find_map(|prefix| annotations.get(format!("{prefix}{name}"))?.as_str())
}
