//! Where a duck is: a JSON pointer (RFC 6901) whose every step is an object field.
//!
//! Array positions are not addressable: they name another element after every edit of the list.

use std::fmt;
use std::str::FromStr;

use crate::error::PathError;

const IDENTITY: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Which endpoint of a resource with a status subresource accepts writes to a path.
///
/// The API server silently ignores `status` in a write to the object, and everything else in a write to
/// its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// The object itself.
    Object,
    /// Its `status` subresource.
    Status,
}

/// A path of object fields, at least one long, that does not lead into the identity of the object.
///
/// The order is lexicographic by segment, so a path comes right before the paths below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DuckPath {
    segments: Vec<String>,
}

impl DuckPath {
    /// `/spec`
    pub fn spec() -> Self {
        Self { segments: vec!["spec".to_owned()] }
    }

    /// `/status`
    pub fn status() -> Self {
        Self { segments: vec!["status".to_owned()] }
    }

    /// The path of the field `name` below this one; `name` is taken literally, not as a pointer.
    #[must_use]
    pub fn child(mut self, name: impl Into<String>) -> Self {
        self.segments.push(name.into());
        self
    }

    /// The path one field shorter, or nothing for a path of one field.
    pub fn parent(&self) -> Option<Self> {
        let (_, parent) = self.segments.split_last()?;
        (!parent.is_empty()).then(|| Self { segments: parent.to_vec() })
    }

    /// The names of the fields, unescaped.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &str> {
        self.segments.iter().map(String::as_str)
    }

    /// Whether `other` lies strictly below this path.
    pub fn is_ancestor_of(&self, other: &Self) -> bool {
        other.segments.len() > self.segments.len() && other.segments.starts_with(&self.segments)
    }

    /// Whether a write to one of the two paths can be seen at the other.
    pub fn overlaps(&self, other: &Self) -> bool {
        self == other || self.is_ancestor_of(other) || other.is_ancestor_of(self)
    }

    /// Which endpoint accepts writes to this path.
    pub fn endpoint(&self) -> Endpoint {
        match self.segments.first().map(String::as_str) {
            Some("status") => Endpoint::Status,
            _ => Endpoint::Object,
        }
    }
}

/// Writes the pointer of the given segments: each is introduced by a slash, `~` and `/` are escaped.
pub(crate) fn pointer<'a>(segments: impl IntoIterator<Item = &'a str>) -> String {
    let mut out = String::new();
    for segment in segments {
        out.push('/');
        out.push_str(&segment.replace('~', "~0").replace('/', "~1"));
    }
    out
}

impl fmt::Display for DuckPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&pointer(self.segments()))
    }
}

impl FromStr for DuckPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        let rest = text.strip_prefix('/').ok_or(PathError::NoSlash)?;
        let segments = rest.split('/').map(unescape).collect::<Result<Vec<_>, _>>()?;
        match segments.first() {
            Some(first) if IDENTITY.contains(&first.as_str()) => {
                Err(PathError::Identity { field: first.clone() })
            }
            _ => Ok(Self { segments }),
        }
    }
}

/// Reverses the escapes of one segment. `~01` is a literal `~1`, hence the order.
fn unescape(segment: &str) -> Result<String, PathError> {
    let followed_badly =
        segment.split('~').skip(1).any(|after| !after.starts_with('0') && !after.starts_with('1'));
    if followed_badly {
        return Err(PathError::Escape { segment: segment.to_owned() });
    }
    Ok(segment.replace("~1", "/").replace("~0", "~"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn segment() -> impl Strategy<Value = String> {
        prop_oneof!["[~/01a]{0,4}", ".{0,6}", Just("__proto__".to_owned()), Just("$ref".to_owned())]
    }

    fn path() -> impl Strategy<Value = DuckPath> {
        prop::collection::vec(segment(), 0..4)
            .prop_map(|rest| rest.into_iter().fold(DuckPath::spec(), DuckPath::child))
    }

    proptest! {
        #[test]
        fn display_and_parse_are_inverse(path in path()) {
            prop_assert_eq!(path.to_string().parse::<DuckPath>().unwrap(), path);
        }

        #[test]
        fn parsing_never_panics_and_what_it_accepts_is_canonical(text in "[/~01a-z]{0,12}") {
            if let Ok(path) = text.parse::<DuckPath>() {
                prop_assert_eq!(path.to_string(), text);
            }
        }

        #[test]
        fn ancestry_is_a_strict_order(a in path(), b in path(), c in path()) {
            prop_assert!(!a.is_ancestor_of(&a));
            prop_assert!(!(a.is_ancestor_of(&b) && b.is_ancestor_of(&a)));
            if a.is_ancestor_of(&b) && b.is_ancestor_of(&c) {
                prop_assert!(a.is_ancestor_of(&c));
            }
            prop_assert_eq!(a.overlaps(&b), b.overlaps(&a));
        }

        #[test]
        fn a_child_has_its_parent_and_overlaps_it(path in path(), name in segment()) {
            let child = path.clone().child(name);
            prop_assert_eq!(child.parent(), Some(path.clone()));
            prop_assert!(path.is_ancestor_of(&child) && child.overlaps(&path));
        }
    }

    #[test]
    fn siblings_whose_names_share_a_prefix_do_not_overlap() {
        let (a, b) = (DuckPath::spec().child("port"), DuckPath::spec().child("ports"));
        assert!(!a.overlaps(&b) && !b.overlaps(&a));
    }

    #[test]
    fn refusals_name_the_reason() {
        for (text, expected) in [
            ("", PathError::Empty),
            ("status", PathError::NoSlash),
            ("/a~2", PathError::Escape { segment: "a~2".to_owned() }),
            ("/a~", PathError::Escape { segment: "a~".to_owned() }),
            ("/metadata/labels", PathError::Identity { field: "metadata".to_owned() }),
            ("/kind", PathError::Identity { field: "kind".to_owned() }),
        ] {
            assert_eq!(text.parse::<DuckPath>(), Err(expected), "{text}");
        }
    }

    #[test]
    fn only_the_first_field_decides_the_endpoint() {
        assert_eq!(DuckPath::status().child("conditions").endpoint(), Endpoint::Status);
        assert_eq!(DuckPath::spec().child("status").endpoint(), Endpoint::Object);
        assert_eq!("/data".parse::<DuckPath>().unwrap().endpoint(), Endpoint::Object);
    }
}
