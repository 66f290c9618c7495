//! Compares a contract with what a CustomResourceDefinition serves, before an object ever disagrees.
//!
//! A field that is *read* must hold only what the reader understands; a field that is *written* must accept
//! all the writer may send and must not be pruned. Below `x-kubernetes-preserve-unknown-fields` a schema
//! promises nothing, so nothing there is a violation.

use std::fmt;

use serde_json::Value;

use crate::path::pointer;
use crate::{DuckPath, Endpoint};

/// The JSON type of a field, as OpenAPI names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// `object`, including maps.
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `number`; an integer is one.
    Number,
    /// `boolean`
    Boolean,
    /// `x-kubernetes-int-or-string`
    IntOrString,
}

impl FieldType {
    fn of(schema: &Value) -> Option<Self> {
        if flag(schema, "x-kubernetes-int-or-string") {
            return Some(Self::IntOrString);
        }
        Some(match schema.get("type")?.as_str()? {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    /// Whether every value of this type is also one of `wider`.
    fn is_within(self, wider: Self) -> bool {
        self == wider
            || matches!(
                (self, wider),
                (Self::Integer, Self::Number) | (Self::Integer | Self::String, Self::IntOrString)
            )
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::IntOrString => "integer or string",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// One field of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSpec {
    path: DuckPath,
    shape: FieldType,
    access: Access,
}

impl FieldSpec {
    /// The contract reads a value of type `shape` at `path`.
    pub fn read(path: DuckPath, shape: FieldType) -> Self {
        Self { path, shape, access: Access::Read }
    }

    /// The contract writes a value of type `shape` at `path`.
    pub fn write(path: DuckPath, shape: FieldType) -> Self {
        Self { path, shape, access: Access::Write }
    }
}

/// How a CustomResourceDefinition breaks a contract. Its `Display` says what to do.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The version does not exist or has `served: false`.
    NotServed {
        /// The version that was asked for.
        version: String,
        /// The versions that are served.
        served: Vec<String>,
    },
    /// The schema does not declare the field, so the API server drops it.
    PathMissing {
        /// The field.
        path: DuckPath,
        /// Pointer to the deepest declared part of the path.
        at: String,
    },
    /// The schema declares another type, at the field or on the way to it.
    TypeDiffers {
        /// Pointer to the field with the other type.
        at: String,
        /// What the contract needs there.
        expected: FieldType,
        /// What the schema says, if it says anything.
        found: Option<FieldType>,
    },
    /// An object is declared there but none of its fields, so the API server drops all of them.
    Pruned {
        /// Pointer to the object; for a list of objects, to the list.
        at: String,
    },
    /// A field of `status` is written but the version has no status subresource.
    NoStatusSubresource {
        /// The field.
        path: DuckPath,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotServed { version, served } => {
                write!(f, "version {version} is not served; use one of: {}", served.join(", "))
            }
            Self::PathMissing { path, at } => {
                write!(f, "{path} is not in the schema: declare it below {at:?}, or it is dropped")
            }
            Self::TypeDiffers { at, expected, found: Some(found) } => {
                write!(f, "{at} must be of type {expected}, and the schema says {found}")
            }
            Self::TypeDiffers { at, expected, found: None } => {
                write!(f, "{at} must be of type {expected}, and the schema names no type")
            }
            Self::Pruned { at } => write!(
                f,
                "{at} is an object without declared fields: declare them or set \
                 x-kubernetes-preserve-unknown-fields, or all of them are dropped"
            ),
            Self::NoStatusSubresource { path } => {
                write!(f, "{path} is written, but the version has no status subresource: enable it")
            }
        }
    }
}

/// Every way in which `version` of the CustomResourceDefinition `crd` (v1, as JSON) breaks the contract
/// `fields`, in the order of the fields. No violation, no entry.
pub fn check_crd(crd: &Value, version: &str, fields: &[FieldSpec]) -> Vec<Violation> {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let served = || versions.iter().filter(|version| flag(version, "served"));
    let name = |version: &Value| version.get("name").and_then(Value::as_str).map(str::to_owned);
    let Some(found) = served().find(|candidate| name(candidate).as_deref() == Some(version)) else {
        let served = served().filter_map(name).collect();
        return vec![Violation::NotServed { version: version.to_owned(), served }];
    };
    let schema = found.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null);
    let has_status = found.pointer("/subresources/status").is_some();
    let mut violations = Vec::new();
    for field in fields {
        if field.access == Access::Write && field.path.endpoint() == Endpoint::Status && !has_status {
            violations.push(Violation::NoStatusSubresource { path: field.path.clone() });
        }
        violations.extend(check_field(schema, field));
    }
    violations
}

fn check_field(root: &Value, field: &FieldSpec) -> Option<Violation> {
    let at = |steps: usize| pointer(field.path.segments().take(steps));
    let mut schema = root;
    for (steps, segment) in field.path.segments().enumerate() {
        schema = match step(schema, segment) {
            Step::To(next) => next,
            Step::Anything => return None,
            Step::Nothing if FieldType::of(schema).is_some_and(|found| found != FieldType::Object) => {
                return Some(Violation::TypeDiffers {
                    at: at(steps),
                    expected: FieldType::Object,
                    found: FieldType::of(schema),
                });
            }
            Step::Nothing => {
                return Some(Violation::PathMissing { path: field.path.clone(), at: at(steps) });
            }
        };
    }
    check_leaf(schema, field)
}

fn check_leaf(schema: &Value, field: &FieldSpec) -> Option<Violation> {
    let found = FieldType::of(schema);
    if found.is_none() && preserves(schema) {
        return None;
    }
    let agrees = found.is_some_and(|found| match field.access {
        Access::Read => found.is_within(field.shape),
        Access::Write => field.shape.is_within(found),
    });
    if !agrees {
        return Some(Violation::TypeDiffers { at: field.path.to_string(), expected: field.shape, found });
    }
    let content = if found == Some(FieldType::Array) { schema.get("items")? } else { schema };
    let pruned = FieldType::of(content) == Some(FieldType::Object)
        && !preserves(content)
        && content.get("properties").is_none()
        && matches!(content.get("additionalProperties"), None | Some(Value::Bool(false)));
    pruned.then(|| Violation::Pruned { at: field.path.to_string() })
}

enum Step<'a> {
    To(&'a Value),
    /// The schema accepts any content from here on.
    Anything,
    Nothing,
}

/// Declared properties come before the two ways of accepting undeclared ones, as in the API server.
fn step<'a>(schema: &'a Value, segment: &str) -> Step<'a> {
    if let Some(next) = schema.get("properties").and_then(|properties| properties.get(segment)) {
        return Step::To(next);
    }
    match schema.get("additionalProperties") {
        Some(next @ Value::Object(_)) => Step::To(next),
        Some(Value::Bool(true)) => Step::Anything,
        _ if preserves(schema) => Step::Anything,
        _ => Step::Nothing,
    }
}

fn preserves(schema: &Value) -> bool {
    flag(schema, "x-kubernetes-preserve-unknown-fields")
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests;
