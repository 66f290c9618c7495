//! Joins fragments into one schema: [`Merger`].
//!
//! `merger/boundary.rs` says who may contribute where, `merger/join.rs` joins the nodes, `merger/frame.rs` keeps what many
//! schemas share. What the API server would say about the outcome is `structural.rs`; reading the outcome is `merged.rs`.

mod boundary;
mod frame;
mod join;
mod vacuous;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::conflict::MergeError;
use crate::diagnostic::Diagnostic;
use crate::errors::{Errors, ValidationResult};
use crate::fragment::Fragment;
use crate::limit::SchemaLimits;
use crate::merged::Merged;
use crate::number;
use crate::path::{MountPath, SchemaPath};
use crate::structural::{StructuralOptions, check_refusals, check_structural};

pub use frame::Frame;

/// A collector of fragments, which joins them. The order of mounts makes no difference.
///
/// The root is an object of the API machinery: `apiVersion`, `kind`, `metadata` and `status` are reserved until the
/// host grants them.
///
/// ```
/// use schema_merge::{Fragment, Merger, MountPath};
/// use serde_json::json;
///
/// let merged = Merger::new()
///     .mount(Fragment::new("target", MountPath::of(["spec", "match"]), json!({"type": "object"})))
///     .mount(Fragment::new("template", MountPath::of(["spec", "parameters"]), json!({"type": "object"})))
///     .build()
///     .expect("two mounts beside each other");
/// assert_eq!(merged.schema()["properties"]["spec"]["properties"]["match"], json!({"type": "object"}));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Merger {
    pub(crate) fragments: Vec<Fragment>,
    pub(crate) terms: Terms,
}

/// The decisions of the host, as opposed to the contributors.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Terms {
    pub(crate) grants: BTreeSet<(String, String)>,
    pub(crate) seals: BTreeSet<(MountPath, BTreeSet<String>)>,
    pub(crate) metadata: MetadataLimits,
    pub(crate) status_subresource: bool,
    pub(crate) strip_descriptions: bool,
    pub(crate) limits: SchemaLimits,
}

/// Restrictions on the resource's own name: all that a CRD may say about `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetadataLimits {
    /// Restricts `metadata.name`.
    pub name: Option<StringLimits>,
    /// Restricts `metadata.generateName`.
    pub generate_name: Option<StringLimits>,
}

/// Restrictions on a string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StringLimits {
    /// Fewest characters.
    pub min_length: Option<u64>,
    /// Most characters.
    pub max_length: Option<u64>,
    /// A regular expression in Go's RE2 syntax.
    pub pattern: Option<String>,
}

// === impl Merger ===

impl Merger {
    /// Creates a merger without any fragment: it builds the schema of an object with no fields of its own.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a fragment.
    #[must_use]
    pub fn mount(mut self, fragment: Fragment) -> Self {
        self.fragments.push(fragment);
        self
    }

    /// Adds everything that `merged` was built from, on the terms it was mounted on.
    ///
    /// Building a part, remounting it and adding the rest gives what building everything at once gives.
    #[must_use]
    pub fn remount(mut self, merged: &Merged) -> Self {
        self.fragments.extend(merged.fragments.iter().cloned());
        self
    }

    /// Lets `origin` describe a reserved property of the root (`status`, say).
    #[must_use]
    pub fn grant(mut self, property: impl Into<String>, origin: impl Into<String>) -> Self {
        self.terms.grants.insert((property.into(), origin.into()));
        self
    }

    /// Allows only these children below `parent`, from every contributor.
    #[must_use]
    pub fn seal<S: Into<String>>(mut self, parent: MountPath, children: impl IntoIterator<Item = S>) -> Self {
        self.terms.seals.insert((parent, children.into_iter().map(Into::into).collect()));
        self
    }

    /// Restricts the resource's name.
    #[must_use]
    pub fn limit_metadata(mut self, limits: MetadataLimits) -> Self {
        self.terms.metadata = limits;
        self
    }

    /// Sets whether the CRD has the status subresource, which forbids many keywords at the root.
    #[must_use]
    pub fn status_subresource(mut self, enabled: bool) -> Self {
        self.terms.status_subresource = enabled;
        self
    }

    /// Leaves all descriptions out: a large CRD does not fit into etcd or into an annotation of kubectl.
    #[must_use]
    pub fn strip_descriptions(mut self, strip: bool) -> Self {
        self.terms.strip_descriptions = strip;
        self
    }

    /// Bounds the size of each fragment.
    #[must_use]
    pub fn limits(mut self, limits: SchemaLimits) -> Self {
        self.terms.limits = limits;
        self
    }

    /// Joins everything that was mounted.
    ///
    /// # Errors
    /// All conflicts and refusals at once, sorted by place. Each says who is involved.
    pub fn build(&self) -> Result<Merged, Errors<MergeError>> {
        let fragments = settled(&self.fragments);
        let mut errors = self.oversized(&fragments);
        if !errors.is_empty() {
            MergeError::settle(&mut errors);
            return Err(errors.into());
        }
        errors.extend(boundary::check(&self.terms, &fragments));
        let joined = join::join(&self.terms, &fragments);
        errors.extend(joined.errors);
        if !errors.is_empty() {
            MergeError::settle(&mut errors);
            return Err(errors.into());
        }
        let schema = sorted(with_metadata(joined.schema, &self.terms.metadata));
        let status_subresource = self.terms.status_subresource;
        let merged = Merged { schema, origins: joined.origins, fragments, status_subresource };
        let mut refused = refused(&merged);
        if refused.is_empty() {
            return Ok(merged);
        }
        MergeError::settle(&mut refused);
        Err(refused.into())
    }

    fn oversized(&self, fragments: &[Fragment]) -> Vec<MergeError> {
        let exceeded = |fragment: &Fragment| {
            let detail = self.terms.limits.exceeded(&fragment.schema)?;
            Some(MergeError::TooLarge { origin: fragment.origin.clone(), at: fragment.at.clone(), detail })
        };
        fragments.iter().filter_map(exceeded).collect()
    }
}

// === impl StringLimits ===

impl StringLimits {
    /// Restricts a string to at most this many characters.
    #[must_use]
    pub fn max_length(max_length: u64) -> Self {
        Self { max_length: Some(max_length), ..Self::default() }
    }

    fn to_schema(&self) -> Value {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("string"));
        let bounds = [("minLength", self.min_length), ("maxLength", self.max_length)];
        for (keyword, bound) in bounds {
            if let Some(bound) = bound {
                schema.insert(keyword.to_owned(), json!(bound));
            }
        }
        if let Some(pattern) = &self.pattern {
            schema.insert("pattern".to_owned(), json!(pattern));
        }
        Value::Object(schema)
    }
}

// === impl MetadataLimits ===

impl MetadataLimits {
    /// Restricts `metadata.name` only.
    #[must_use]
    pub fn name(limits: StringLimits) -> Self {
        Self { name: Some(limits), ..Self::default() }
    }
}

/// Returns what the API server would refuse, or drop in silence.
fn refused(merged: &Merged) -> Vec<MergeError> {
    let error = |diagnostic: Diagnostic| {
        let origins = merged.blame(&diagnostic.path.pointer()).into_iter().map(str::to_owned).collect();
        MergeError::NotStructural { diagnostic: Box::new(diagnostic), origins }
    };
    check_refusals(&merged.schema, &options(merged)).into_iter().filter(is_fatal).map(error).collect()
}

impl Merged {
    /// Returns what the API server accepts without an error though it is likely one, about the schema as a whole and about
    /// each mount. Computed at each call.
    #[must_use]
    pub fn lints(&self) -> ValidationResult {
        let found = check_structural(&self.schema, &options(self));
        let mut lints: Vec<_> = found.into_iter().filter(|diagnostic| !is_fatal(diagnostic)).collect();
        lints.extend(vacuous::check(self));
        lints.into()
    }
}

fn options(merged: &Merged) -> StructuralOptions {
    let limits = SchemaLimits::default().with_depth(usize::MAX).with_values(usize::MAX);
    StructuralOptions::default().status_subresource(merged.status_subresource).limits(limits)
}

fn is_fatal(diagnostic: &Diagnostic) -> bool {
    diagnostic.is_error() || diagnostic.rule == "unknown-keyword"
}

/// The fragments in an order of their own and without repetitions, so that nothing depends on who came first.
fn settled(fragments: &[Fragment]) -> Vec<Fragment> {
    let mut fragments = fragments.to_vec();
    fragments.sort_by(|left, right| {
        (&left.origin, &left.at, left.policy)
            .cmp(&(&right.origin, &right.at, right.policy))
            .then_with(|| number::order(&left.schema, &right.schema))
    });
    fragments.dedup_by(|right, left| {
        (&left.origin, &left.at, left.policy) == (&right.origin, &right.at, right.policy)
            && number::same(&left.schema, &right.schema)
    });
    fragments
}

/// Adds the host's restriction of the name; `metadata` is reserved, so no fragment can have described it.
fn with_metadata(mut schema: Map<String, Value>, limits: &MetadataLimits) -> Value {
    let names = [("name", &limits.name), ("generateName", &limits.generate_name)];
    let restricted: Map<String, Value> = names
        .into_iter()
        .filter_map(|(name, limits)| Some((name.to_owned(), limits.as_ref()?.to_schema())))
        .collect();
    if !restricted.is_empty() {
        let metadata = json!({"type": "object", "properties": restricted});
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            properties.insert("metadata".to_owned(), metadata);
        }
    }
    Value::Object(schema)
}

/// The same value with sorted keys, so that its text is the same whichever map serde_json was built with. The map it
/// has by default sorts by itself.
fn sorted(value: Value) -> Value {
    match value {
        value if is_sorted(&value) => value,
        Value::Array(list) => list.into_iter().map(sorted).collect(),
        Value::Object(map) => {
            let mut entries: Vec<_> = map.into_iter().collect();
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(entries.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        scalar => scalar,
    }
}

fn is_sorted(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().all(is_sorted),
        Value::Object(map) => map.keys().is_sorted() && map.values().all(is_sorted),
        _ => true,
    }
}

/// The text of a keyword, when it is text.
pub(crate) fn text<'a>(schema: &'a Map<String, Value>, keyword: &str) -> Option<&'a str> {
    schema.get(keyword).and_then(Value::as_str)
}

/// Returns true if a flag is set.
pub(crate) fn flag(schema: &Map<String, Value>, keyword: &str) -> bool {
    schema.get(keyword).and_then(Value::as_bool).unwrap_or(false)
}

/// The JSON type of a value, in the words of an error message.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A path to the property `name` of the root.
fn root_property(name: &str) -> SchemaPath {
    MountPath::of([name]).schema_path()
}
