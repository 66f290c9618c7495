//! The place of a duck: a JSON pointer (RFC 6901) whose every step is an object field.
//!
//! List positions are not addressable: after an edit of the list they name another element.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use crate::error::PathError;

/// The endpoint of a resource with a status subresource that accepts writes to a path.
///
/// The API server silently ignores `status` in a write to the object, and everything else in a write to
/// its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Endpoint {
    /// The object itself.
    Object,
    /// Its `status` subresource.
    Status,
}

/// A path of object fields, at least one long.
///
/// `apiVersion` and `kind` are refused, and of `metadata` only `labels`, `annotations`, `finalizers` and
/// `ownerReferences` can be addressed: the rest identifies the object or belongs to the API server.
///
/// [`duck_path!`](crate::duck_path) makes a constant; a string is parsed with [`FromStr`]. The order is
/// lexicographic by segment, so a path comes right before the paths below it.
#[derive(Clone)]
pub struct DuckPath(Segments);

#[derive(Clone)]
enum Segments {
    /// A checked pointer, with its escapes.
    Pointer(&'static str),
    /// Segments without escapes.
    Owned(Vec<String>),
}

impl DuckPath {
    /// The path `/spec`.
    pub const SPEC: Self = Self(Segments::Pointer("/spec"));
    /// The path `/status`.
    pub const STATUS: Self = Self(Segments::Pointer("/status"));

    /// The constant behind [`duck_path!`](crate::duck_path), which evaluates it at compile time.
    #[doc(hidden)]
    #[must_use]
    #[expect(
        clippy::panic,
        reason = "the macros evaluate it in a constant, where a panic is a compile error"
    )]
    pub const fn from_static(pointer: &'static str) -> Self {
        match check(pointer.as_bytes()) {
            None => Self(Segments::Pointer(pointer)),
            Some(PointerError::Empty) => panic!("a duck path names at least one field, such as /status"),
            Some(PointerError::NoSlash) => {
                panic!("a duck path starts with a slash, such as /status/conditions")
            }
            Some(PointerError::Escape) => {
                panic!("a duck path has a tilde that is followed by neither 0 nor 1")
            }
            Some(PointerError::Identity) => panic!(
                "a duck path cannot lead into apiVersion, kind or metadata, \
                 other than labels, annotations, finalizers and ownerReferences"
            ),
        }
    }

    /// Returns the path of the field `name` below this one; `name` is taken literally, not as a pointer.
    #[must_use]
    pub fn child(&self, name: impl Into<String>) -> Self {
        let mut segments = self.to_owned_segments();
        segments.push(name.into());
        Self(Segments::Owned(segments))
    }

    /// Returns the path one field shorter, or nothing where no duck can be: for a path of one field, and right below `metadata`.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let mut segments = self.to_owned_segments();
        segments.pop();
        check(pointer(&segments).as_bytes()).is_none().then_some(Self(Segments::Owned(segments)))
    }

    /// Returns the names of the fields, unescaped.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = Cow<'_, str>> {
        let segments: Vec<Cow<'_, str>> = match &self.0 {
            Segments::Pointer(text) => text.split('/').skip(1).map(unescape).collect(),
            Segments::Owned(segments) => {
                segments.iter().map(|segment| Cow::Borrowed(segment.as_str())).collect()
            }
        };
        segments.into_iter()
    }

    fn to_owned_segments(&self) -> Vec<String> {
        self.segments().map(Cow::into_owned).collect()
    }

    /// The first field, which decides the endpoint.
    pub(crate) fn first(&self) -> String {
        self.segments().next().map(Cow::into_owned).unwrap_or_default()
    }

    /// Returns true if `other` lies strictly below this path.
    #[must_use]
    pub fn is_ancestor_of(&self, other: &Self) -> bool {
        let (above, below) = (self.to_owned_segments(), other.to_owned_segments());
        below.len() > above.len() && below.starts_with(&above)
    }

    /// Returns true if a write to one of the two paths can be seen at the other.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self == other || self.is_ancestor_of(other) || other.is_ancestor_of(self)
    }

    /// Returns the endpoint that accepts writes to this path.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        endpoint(&self.first())
    }
}

pub(crate) fn endpoint(first: &str) -> Endpoint {
    if first == "status" { Endpoint::Status } else { Endpoint::Object }
}

/// A [`DuckPath`] from a literal JSON pointer, checked at compile time.
///
/// ```
/// use duck_types::{duck_path, DuckPath};
///
/// const ADDRESS: DuckPath = duck_path!("/status/address");
/// assert_eq!(ADDRESS.to_string(), "/status/address");
/// ```
///
/// ```compile_fail
/// let path = duck_types::duck_path!("status/address"); // no leading slash
/// ```
#[macro_export]
macro_rules! duck_path {
    ($pointer:literal) => {{
        const PATH: $crate::DuckPath = $crate::DuckPath::from_static($pointer);
        PATH
    }};
}

enum PointerError {
    Empty,
    NoSlash,
    Escape,
    Identity,
}

/// Checks a pointer. The only place that decides about paths, at compile time and at run time; a constant
/// function can neither allocate nor use iterators, so it works on bytes.
const fn check(pointer: &[u8]) -> Option<PointerError> {
    let Some((first, mut rest)) = pointer.split_first() else { return Some(PointerError::Empty) };
    if *first != b'/' {
        return Some(PointerError::NoSlash);
    }
    if is_identity(pointer) {
        return Some(PointerError::Identity);
    }
    while let Some((byte, after)) = rest.split_first() {
        if *byte == b'~' && !matches!(after.first(), Some(b'0' | b'1')) {
            return Some(PointerError::Escape);
        }
        rest = after;
    }
    None
}

const fn is_identity(pointer: &[u8]) -> bool {
    if below(pointer, b"/metadata") {
        return !(below(pointer, b"/metadata/labels")
            || below(pointer, b"/metadata/annotations")
            || below(pointer, b"/metadata/finalizers")
            || below(pointer, b"/metadata/ownerReferences"));
    }
    below(pointer, b"/apiVersion") || below(pointer, b"/kind")
}

/// Returns true if `pointer` is `prefix` or leads below it.
const fn below(mut pointer: &[u8], mut prefix: &[u8]) -> bool {
    while let Some((wanted, more)) = prefix.split_first() {
        match pointer.split_first() {
            Some((found, after)) if *found == *wanted => (pointer, prefix) = (after, more),
            _ => return false,
        }
    }
    matches!(pointer.first(), None | Some(b'/'))
}

/// Writes the pointer of the given segments: each is introduced by a slash, `~` and `/` are escaped.
pub(crate) fn pointer<S: AsRef<str>>(segments: impl IntoIterator<Item = S>) -> String {
    let mut out = String::new();
    for segment in segments {
        out.push('/');
        out.push_str(&segment.as_ref().replace('~', "~0").replace('/', "~1"));
    }
    out
}

/// Reverses the escapes of one segment. `~01` is a literal `~1`, hence the order.
pub(crate) fn unescape(segment: &str) -> Cow<'_, str> {
    if segment.contains('~') {
        Cow::Owned(segment.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(segment)
    }
}

impl fmt::Display for DuckPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&pointer(self.segments()))
    }
}

impl fmt::Debug for DuckPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DuckPath({self})")
    }
}

impl FromStr for DuckPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        match check(text.as_bytes()) {
            None => {
                Ok(Self(Segments::Owned(text.split('/').skip(1).map(|s| unescape(s).into_owned()).collect())))
            }
            Some(PointerError::Empty) => Err(PathError::Empty),
            Some(PointerError::NoSlash) => Err(PathError::NoSlash),
            Some(PointerError::Escape) => Err(PathError::Escape { path: text.to_owned() }),
            Some(PointerError::Identity) => Err(PathError::Identity { path: text.to_owned() }),
        }
    }
}

impl serde::Serialize for DuckPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for DuckPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

// A constant and a parsed path with the same segments are equal, so these compare segments.

impl PartialEq for DuckPath {
    fn eq(&self, other: &Self) -> bool {
        self.segments().eq(other.segments())
    }
}

impl Eq for DuckPath {}

impl PartialOrd for DuckPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DuckPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.segments().cmp(other.segments())
    }
}

impl Hash for DuckPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for segment in self.segments() {
            segment.hash(state);
        }
    }
}

#[cfg(test)]
mod tests;
