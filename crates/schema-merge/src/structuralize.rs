//! Turns what schemars and other generators emit into structural schemas: [`structuralize`].
//!
//! `structuralize/reference.rs` inlines references, `keyword.rs` rewrites the keywords of one node, `union.rs` and
//! `variant.rs` turn unions into something with one type, `junctor_keywords.rs` reduces what stays inside junctors to value
//! validations. Every step that accepts more or less than before is reported. What cannot be expressed is an
//! [`StructuralizeError`], never a panic. The outcome is held against `structural.rs` before it is handed out.
//!
//! Worked example, an optional enum of Rust with a doc comment on the field:
//!
//! ```text
//! emitted     {"description": "Its level.", "anyOf": [{"$ref": "#/$defs/Level"}, {"type": "null"}]}
//!             #/$defs/Level: {"oneOf": [{"const": "low", "type": "string"}, {"const": "high", "type": "string"}]}
//! keywords    {"description": "Its level."}
//! unions      the null becomes `nullable`; the reference is inlined; two constants of one type are one enum
//! outcome     {"description": "Its level.", "type": "string", "enum": ["low", "high"], "nullable": true}
//! ```

mod junctor_keywords;
mod keyword;
mod reference;
mod union;
mod variant;

use serde_json::{Map, Value, json};

use crate::errors::Errors;
use crate::limit::SchemaLimits;
use crate::path::{SchemaPath, Step};
use crate::structural::{StructuralOptions, check_structural};

/// The bound on the growth of a schema by inlining: where each definition uses the next one twice, 17 definitions are more than
/// 100,000 schemas.
const MAX_NODES: usize = 100_000;
/// The bound on its depth by inlining; references that lead to references count as well.
const MAX_DEPTH: usize = 512;

/// A structural schema, and what got lost on the way.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Structuralized {
    /// The structural schema.
    pub schema: Value,
    /// The differences in what the schema accepts or states now, by place in the input.
    pub losses: Vec<Loss>,
}

/// One thing that structuralizing changed for the reader or the validator of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The place in the input, with references followed.
    pub path: SchemaPath,
    /// The change.
    pub detail: String,
}

/// Something that no structural schema can express.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
#[non_exhaustive]
pub struct StructuralizeError {
    /// The place in the input, with references followed.
    pub path: SchemaPath,
    /// The reason.
    pub reason: StructuralizeErrorKind,
}

/// The reason why there is no structural schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StructuralizeErrorKind {
    /// A type that contains itself.
    #[error("{0} contains itself, and a structural schema cannot; keep the inner part as a preserved object")]
    Recursive(String),
    /// A reference to nowhere.
    #[error("{0} leads nowhere; only references within the document are followed")]
    Unresolved(String),
    /// A list whose items have a type each.
    #[error("a tuple has a type per position, and a structural list has one for all; use a struct")]
    Tuple,
    /// Two variants, or two parts, that describe one field differently.
    #[error(
        "{0:?} is described in two ways; rename it in one variant, or give both the same type and documentation"
    )]
    Collision(String),
    /// A union whose members have different types.
    #[error("a union of {0}; a structural schema has one type per place, except integer or string")]
    Union(String),
    /// Declared properties beside typed additional ones.
    #[error("declared properties and a typed map in one object; put the map into a property of its own")]
    PropertiesAndMap,
    /// A schema that accepts nothing, or only null.
    #[error("nothing but {0} would be valid here")]
    Empty(&'static str),
    /// A regular expression that Go cannot run.
    #[error("{0}; the API server runs patterns with RE2, which has no look-around and no back references")]
    Pattern(String),
    /// Too much of everything.
    #[error("{0}")]
    TooLarge(String),
    /// An error that the API server would still report.
    #[error("{0}")]
    Refused(String),
}

/// The choices of structuralizing where there is more than one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Style {
    /// Turn `uniqueItems` of lists of scalars into `x-kubernetes-list-type: set` instead of dropping it. That changes how
    /// server-side apply merges the list.
    pub unique_items_as_set: bool,
}

impl Style {
    /// Sets the treatment of `uniqueItems`.
    #[must_use]
    pub fn unique_items_as_set(mut self, as_set: bool) -> Self {
        self.unique_items_as_set = as_set;
        self
    }
}

/// Makes a JSON schema of any draft structural, as a schema for a property of a CRD.
///
/// Inlines references, turns `[T, null]` into nullable, `const` into `enum`, numeric exclusive bounds into pairs, maps of
/// anything into preserving ones, and unions of objects into one object whose variants are told apart under `oneOf`. Doing
/// it twice changes nothing, and a structural schema that keeps all its fields stays as it is.
///
/// ```
/// use schema_merge::{Style, structuralize};
/// use serde_json::json;
/// let emitted = json!({"type": "object", "properties": {"port": {"type": ["integer", "null"], "exclusiveMinimum": 0}}});
/// let done = structuralize(&emitted, Style::default()).expect("nothing is in the way");
/// assert_eq!(done.schema["properties"]["port"], json!({
///     "type": "integer", "nullable": true, "minimum": 0, "exclusiveMinimum": true,
/// }));
/// ```
///
/// # Errors
/// Everything that is in the way, by place.
pub fn structuralize(schema: &Value, style: Style) -> Result<Structuralized, Errors<StructuralizeError>> {
    if let Some(detail) = SchemaLimits::default().exceeded(schema) {
        return Err(vec![StructuralizeError {
            path: SchemaPath::root(),
            reason: StructuralizeErrorKind::TooLarge(detail),
        }]
        .into());
    }
    let mut walk = Walk {
        root: schema,
        style,
        // A reference to the document is one to a schema that contains the reference.
        following: vec!["#".to_owned()],
        nodes: 0,
        losses: Vec::new(),
        errors: Vec::new(),
    };
    let node = walk.node(schema, &mut SchemaPath::root());
    let Walk { mut losses, mut errors, .. } = walk;
    let schema = Value::Object(node);
    if errors.is_empty() {
        errors = refused(&schema);
    }
    if !errors.is_empty() {
        errors.sort_by_cached_key(ToString::to_string);
        errors.dedup();
        return Err(errors.into());
    }
    losses.sort_by_cached_key(|loss| (loss.path.pointer(), loss.detail.clone()));
    losses.dedup();
    Ok(Structuralized { schema, losses })
}

/// Returns what the API server would say about the outcome, as the schema of a property.
fn refused(schema: &Value) -> Vec<StructuralizeError> {
    // Inlining may exceed the limits on inputs; the walk has bounds of its own.
    let limits = SchemaLimits::default().with_depth(usize::MAX).with_values(usize::MAX);
    let options = StructuralOptions::default().errors_only().limits(limits);
    // As a property: a root has to be an object, and the outcome may be a string.
    let mounted = json!({"type": "object", "properties": {"it": schema}});
    let diagnostics = check_structural(&mounted, &options);
    let error = |diagnostic: crate::Diagnostic| {
        // Without the steps to `it`, which the caller has never seen.
        let steps = diagnostic.path.steps().iter().skip(2).cloned().collect::<Vec<Step>>();
        StructuralizeError {
            path: SchemaPath::from_steps(steps),
            reason: StructuralizeErrorKind::Refused(diagnostic.to_string()),
        }
    };
    diagnostics.into_iter().filter(crate::Diagnostic::is_error).map(error).collect()
}

/// The walk over a schema: what it has found, and the references it is inside of.
struct Walk<'s> {
    root: &'s Value,
    style: Style,
    following: Vec<String>,
    nodes: usize,
    losses: Vec<Loss>,
    errors: Vec<StructuralizeError>,
}

impl<'s> Walk<'s> {
    /// Structuralizes one node. After an error the outcome is of no use, but the walk goes on to find the others.
    fn node(&mut self, schema: &'s Value, at: &mut SchemaPath) -> Map<String, Value> {
        self.nodes = self.nodes.saturating_add(1);
        if self.nodes > MAX_NODES {
            if self.nodes == MAX_NODES.saturating_add(1) {
                self.error(
                    at,
                    StructuralizeErrorKind::TooLarge(format!(
                        "more than {MAX_NODES} schemas after inlining references"
                    )),
                );
            }
            return Map::new();
        }
        if at.len().saturating_add(self.following.len()) > MAX_DEPTH {
            self.error(
                at,
                StructuralizeErrorKind::TooLarge(format!(
                    "nested deeper than {MAX_DEPTH} levels after inlining references"
                )),
            );
            return Map::new();
        }
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(true) | Value::Null => return anything(),
            _ => {
                self.error(at, StructuralizeErrorKind::Empty("no value"));
                return Map::new();
            }
        };
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            return self.reference(reference, map, at);
        }
        // `settle` comes last: the type of a node may follow from what its unions add.
        let mut node = self.keywords(map, at);
        self.unions(map, &mut node, at);
        self.settle(&mut node, at);
        node
    }

    fn lose(&mut self, at: &SchemaPath, detail: impl Into<String>) {
        self.losses.push(Loss { path: at.clone(), detail: detail.into() });
    }

    fn error(&mut self, at: &SchemaPath, reason: StructuralizeErrorKind) {
        self.errors.push(StructuralizeError { path: at.clone(), reason });
    }
}

/// A schema that keeps and accepts everything.
fn anything() -> Map<String, Value> {
    Map::from_iter([(crate::keyword::PRESERVE.to_owned(), json!(true))])
}

/// Returns true if a schema accepts null and nothing else.
fn is_null(schema: &Value) -> bool {
    let null = Value::Null;
    let only = |keyword: &str| {
        schema.get(keyword).and_then(Value::as_array).is_some_and(|list| *list == [Value::Null])
    };
    schema.get("type") == Some(&json!("null")) || schema.get("const") == Some(&null) || only("enum") || {
        schema.get("type").and_then(Value::as_array).is_some_and(|list| *list == [json!("null")])
    }
}
