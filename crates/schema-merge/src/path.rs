//! Paths: in a schema ([`SchemaPath`]) or in an object, as a mount point ([`MountPath`]).
//!
//! A `SchemaPath` is kept once and printed in three ways: as a JSON pointer (RFC 6901), as the API server words
//! it (`field.Path` of apimachinery) and as the path of the instances it describes. This file reads no schema.

use std::borrow::Cow;
use std::fmt;

/// One step of a [`SchemaPath`], in the vocabulary of the API server's `field.Path`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Step {
    /// A keyword, printed `.items`.
    Child(Cow<'static, str>),
    /// A key of a map such as `properties`, printed `[name]` without any escaping.
    Key(String),
    /// An index of a list such as `anyOf`, printed `[0]`.
    Index(usize),
}

/// A place inside a schema, from its root.
///
/// ```
/// use schema_merge::SchemaPath;
/// let path = SchemaPath::root().child("properties").key("a/b").child("items").child("type");
/// assert_eq!(path.pointer(), "/properties/a~1b/items/type");
/// assert_eq!(path.server("schema"), "schema.properties[a/b].items.type");
/// assert_eq!(path.instance(), "a/b[*]");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaPath(Vec<Step>);

/// A list of property names from the root of the resource: where a fragment is mounted.
///
/// Its text is the JSON pointer of the object it governs (`/spec/match`), not of the schema.
///
/// ```
/// use schema_merge::MountPath;
/// let path: MountPath = "/spec/match".parse()?;
/// assert_eq!(path, MountPath::of(["spec", "match"]));
/// assert!(MountPath::of(["spec"]).contains(&path));
/// # Ok::<(), schema_merge::MergeError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MountPath(Vec<String>);

// === impl SchemaPath ===

impl SchemaPath {
    /// Returns the root of the schema.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Appends a keyword.
    #[must_use]
    pub fn child(mut self, keyword: impl Into<Cow<'static, str>>) -> Self {
        self.push_child(keyword);
        self
    }

    /// Appends a map key.
    #[must_use]
    pub fn key(mut self, name: impl Into<String>) -> Self {
        self.0.push(Step::Key(name.into()));
        self
    }

    /// Appends a list index.
    #[must_use]
    pub fn index(mut self, at: usize) -> Self {
        self.0.push(Step::Index(at));
        self
    }

    /// Returns the steps, outermost first.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Returns the place as a JSON pointer into the schema, escaped as RFC 6901 says.
    #[must_use]
    pub fn pointer(&self) -> String {
        let mut text = String::new();
        for step in &self.0 {
            text.push('/');
            match step {
                Step::Child(name) => escape_into(&mut text, name),
                Step::Key(name) => escape_into(&mut text, name),
                Step::Index(at) => text.push_str(&at.to_string()),
            }
        }
        text
    }

    /// Returns the place as the API server prints it, behind `prefix` (such as `spec.validation.openAPIV3Schema`).
    #[must_use]
    pub fn server(&self, prefix: &str) -> String {
        let mut text = prefix.to_owned();
        for step in &self.0 {
            match step {
                Step::Child(name) if text.is_empty() => text.push_str(name),
                Step::Child(name) => {
                    text.push('.');
                    text.push_str(name);
                }
                Step::Key(name) => text.extend(["[", name, "]"]),
                Step::Index(at) => text.extend(["[", &at.to_string(), "]"]),
            }
        }
        text
    }

    /// Returns the place of the instances this part of the schema describes: `spec.rules[*].host`.
    ///
    /// Junctors and keywords describe the node they stand in, so they add nothing.
    #[must_use]
    pub fn instance(&self) -> String {
        let mut text = String::new();
        let mut steps = self.0.iter().peekable();
        while let Some(step) = steps.next() {
            let Step::Child(keyword) = step else { continue };
            match keyword.as_ref() {
                "properties" => {
                    if let Some(Step::Key(name)) = steps.peek() {
                        if !text.is_empty() {
                            text.push('.');
                        }
                        text.push_str(name);
                    }
                }
                "items" | "additionalProperties" => text.push_str("[*]"),
                "default" => break,
                _ => {}
            }
        }
        text
    }

    pub(crate) fn from_steps(steps: Vec<Step>) -> Self {
        Self(steps)
    }

    pub(crate) fn push_child(&mut self, keyword: impl Into<Cow<'static, str>>) {
        self.0.push(Step::Child(keyword.into()));
    }

    pub(crate) fn push_property(&mut self, name: &str) {
        self.push_child("properties");
        self.0.push(Step::Key(name.to_owned()));
    }

    pub(crate) fn push_key(&mut self, name: &str) {
        self.0.push(Step::Key(name.to_owned()));
    }

    pub(crate) fn push_index(&mut self, at: usize) {
        self.0.push(Step::Index(at));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Runs `visit` one or two steps further down and comes back, so that a walk needs one path only.
    pub(crate) fn within<T>(
        &mut self,
        descend: impl FnOnce(&mut Self),
        visit: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let len = self.len();
        descend(self);
        let outcome = visit(self);
        self.truncate(len);
        outcome
    }
}

impl fmt::Display for SchemaPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pointer())
    }
}

// === impl MountPath ===

impl MountPath {
    /// Returns the resource itself.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns the path through these property names.
    #[must_use]
    pub fn of<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    /// Returns the property names, outermost first.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Reads a JSON pointer of property names; `""` is the root. `None` when the text does not start with `/` or holds a bad
    /// `~` escape.
    pub(crate) fn of_pointer(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::root());
        }
        text.strip_prefix('/')?.split('/').map(unescape).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Returns true if `other` is this place or lies below it.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// Returns the place of this mount in a schema: `/properties/spec/properties/match`.
    #[must_use]
    pub fn schema_path(&self) -> SchemaPath {
        let mut path = SchemaPath::root();
        for name in &self.0 {
            path.push_property(name);
        }
        path
    }
}

impl fmt::Display for MountPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for name in &self.0 {
            text.push('/');
            escape_into(&mut text, name);
        }
        f.write_str(&text)
    }
}

/// Appends one reference token, escaped as RFC 6901 section 3 says.
fn escape_into(text: &mut String, token: &str) {
    for c in token.chars() {
        match c {
            '~' => text.push_str("~0"),
            '/' => text.push_str("~1"),
            c => text.push(c),
        }
    }
}

fn unescape(token: &str) -> Option<String> {
    let mut text = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        match c {
            '~' => match chars.next()? {
                '0' => text.push('~'),
                '1' => text.push('/'),
                _ => return None,
            },
            c => text.push(c),
        }
    }
    Some(text)
}
