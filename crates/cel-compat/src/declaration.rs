//! Declared types: what a structural schema says about a value, to the checker and to the cost estimate.
//!
//! A [`TypeDeclaration`] is what the API server's `DeclType` is: the type of a value, how many elements it has at most and
//! how few bytes it takes as JSON. Where a schema sets no bound, the bound is what fits into a request of 3 MiB.

mod value;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::parser::RESERVED;
use crate::types::{Fields, Type};

/// The largest request that the API server takes, in bytes.
const LARGEST_REQUEST: u64 = 3 * 1024 * 1024;

/// The declared type of a value.
///
/// ```
/// use cel_compat::{TypeDeclaration, Environment};
///
/// let tags = TypeDeclaration::list(TypeDeclaration::string(Some(63)), Some(8));
/// let spec = TypeDeclaration::object([("tags", tags, false)]);
/// let rule = Environment::for_rule(&spec, false).compile("self.tags.all(t, t.startsWith('a'))")?;
/// // Eight tags: each is compared with a prefix, and the loop itself costs three more.
/// assert_eq!(rule.max_cost(), Some(43));
/// # Ok::<(), cel_compat::Issues>(())
/// ```
#[derive(Clone, Debug)]
pub struct TypeDeclaration {
    of: Type,
    max_elements: u64,
    min_size: u64,
    parts: Parts,
}

/// The declared parts of a value.
#[derive(Clone, Debug)]
enum Parts {
    None,
    Items(Arc<TypeDeclaration>),
    Values(Arc<TypeDeclaration>),
    /// By the names that expressions use.
    Fields(Arc<BTreeMap<String, TypeDeclaration>>),
}

impl TypeDeclaration {
    const fn simple(of: Type, max_elements: u64, min_size: u64) -> Self {
        Self { of, max_elements, min_size, parts: Parts::None }
    }

    /// Declares an integer or a string (`x-kubernetes-int-or-string`): its type is known only when a rule runs.
    #[must_use]
    pub fn int_or_string(max_length: Option<u64>) -> Self {
        Self::simple(Type::Dyn, string_length(max_length), 1)
    }

    /// Declares a boolean.
    #[must_use]
    pub const fn boolean() -> Self {
        Self::simple(Type::Bool, 0, 4)
    }

    /// Declares an integer.
    #[must_use]
    pub const fn integer() -> Self {
        Self::simple(Type::Int, 0, 1)
    }

    /// Declares a number.
    #[must_use]
    pub const fn number() -> Self {
        Self::simple(Type::Double, 0, 1)
    }

    /// Declares a string of at most so many characters, each of which may take four bytes.
    #[must_use]
    pub fn string(max_length: Option<u64>) -> Self {
        Self::simple(Type::String, string_length(max_length), 2)
    }

    /// Declares a string that is one of a list: the longest has so many bytes.
    #[must_use]
    pub const fn one_of(longest: u64) -> Self {
        Self::simple(Type::String, longest, 2)
    }

    /// Declares a string of the format `byte`.
    #[must_use]
    pub fn bytes(max_length: Option<u64>) -> Self {
        Self::simple(Type::Bytes, max_length.unwrap_or(LARGEST_REQUEST.saturating_sub(2)), 2)
    }

    /// Declares a string of the format `duration`.
    #[must_use]
    pub const fn duration() -> Self {
        Self::simple(Type::Duration, 32, 3)
    }

    /// Declares a string of the format `date`.
    #[must_use]
    pub const fn date() -> Self {
        Self::simple(Type::Timestamp, 12, 12)
    }

    /// Declares a string of the format `date-time`.
    #[must_use]
    pub const fn date_time() -> Self {
        Self::simple(Type::Timestamp, 32, 21)
    }

    /// Declares a list of at most so many items.
    #[must_use]
    pub fn list(item: Self, max_items: Option<u64>) -> Self {
        let max_elements = max_items.unwrap_or_else(|| fitting(item.min_size.saturating_add(1)));
        let of = Type::list(item.of.clone());
        Self { of, max_elements, min_size: 2, parts: Parts::Items(Arc::new(item)) }
    }

    /// Declares a map of at most so many entries, whose keys are strings.
    #[must_use]
    pub fn map(value: Self, max_properties: Option<u64>) -> Self {
        // A key of two bytes, two quotes, a colon and a comma.
        let max_elements = max_properties.unwrap_or_else(|| fitting(value.min_size.saturating_add(6)));
        let of = Type::map(Type::String, value.of.clone());
        Self { of, max_elements, min_size: 2, parts: Parts::Values(Arc::new(value)) }
    }

    /// Declares an object of these properties: name, declaration, and whether every object has it from the start (required
    /// and without a default). Properties whose names cannot be written in an expression count for the size only.
    #[must_use]
    pub fn object<'a>(properties: impl IntoIterator<Item = (&'a str, Self, bool)>) -> Self {
        let mut fields = BTreeMap::new();
        let mut min_size = 2_u64;
        for (name, declaration, is_certain) in properties {
            if is_certain {
                let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
                let property = length.saturating_add(declaration.min_size).saturating_add(4);
                min_size = min_size.saturating_add(property);
            }
            if let Some(name) = escaped(name) {
                fields.insert(name, declaration);
            }
        }
        let types = fields.iter().map(|(name, field): (&String, &Self)| (name.clone(), field.of.clone()));
        let of = Type::Struct(Fields::new(types.collect()));
        Self { of, max_elements: 0, min_size, parts: Parts::Fields(Arc::new(fields)) }
    }

    /// Returns the type of the value.
    #[must_use]
    pub const fn type_of(&self) -> &Type {
        &self.of
    }

    /// Returns how often a value of this type fits into one request at most.
    #[must_use]
    pub fn max_cardinality(&self) -> u64 {
        LARGEST_REQUEST.checked_div(self.min_size.saturating_add(1)).unwrap_or(u64::MAX)
    }

    /// The most characters, bytes, items or entries of the value; 0 for values without any.
    pub(crate) const fn max_elements(&self) -> u64 {
        self.max_elements
    }

    /// The declaration of items of a list or of values of a map.
    pub(crate) fn element(&self) -> Option<&Self> {
        match &self.parts {
            Parts::Items(element) | Parts::Values(element) => Some(element),
            Parts::None | Parts::Fields(_) => None,
        }
    }

    /// Returns true if the value is a map, whose keys are strings without a declared length.
    pub(crate) const fn is_map(&self) -> bool {
        matches!(self.parts, Parts::Values(_))
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        match &self.parts {
            Parts::Fields(fields) => fields.get(name),
            Parts::None | Parts::Items(_) | Parts::Values(_) => None,
        }
    }

    /// The name that the API server gives to the type of an object below this value: the way that leads there.
    ///
    /// ```text
    /// {spec: {rules: [{match: {}}]}}  at "selfType"  →  "selfType.spec.rules.@idx.match" for the innermost
    /// ```
    pub(crate) fn name_of(&self, wanted: &Fields, at: &str) -> Option<String> {
        match &self.parts {
            Parts::None => None,
            Parts::Items(item) => item.name_of(wanted, &format!("{at}.@idx")),
            Parts::Values(value) => value.name_of(wanted, &format!("{at}.@elem")),
            Parts::Fields(_) if matches!(&self.of, Type::Struct(fields) if fields == wanted) => {
                Some(at.to_owned())
            }
            Parts::Fields(fields) => {
                fields.iter().find_map(|(name, field)| field.name_of(wanted, &format!("{at}.{name}")))
            }
        }
    }
}

/// Returns how many values of this size, brackets aside, fit into a request.
fn fitting(size: u64) -> u64 {
    LARGEST_REQUEST.saturating_sub(2).checked_div(size).unwrap_or(u64::MAX)
}

fn string_length(max_length: Option<u64>) -> u64 {
    max_length.map_or(LARGEST_REQUEST.saturating_sub(2), |length| length.saturating_mul(4))
}

/// Words of the language besides the parser's reserved names.
const WORDS: [&str; 4] = ["true", "false", "null", "in"];

/// Escapes a property's name as expressions have to write it; returns `None` for a name that no expression can write.
///
/// ```text
/// x-y  →  x__dash__y        namespace  →  __namespace__        a__b  →  a__underscores__b        3d  →  none
/// ```
#[must_use]
pub fn escaped(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if WORDS.contains(&name) || RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/')) {
        return None;
    }
    let name = name.replace("__", "__underscores__").replace('.', "__dot__");
    Some(name.replace('-', "__dash__").replace('/', "__slash__"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, wanted: Option<&str>) {
        assert_eq!(escaped(name).as_deref(), wanted, "{name}");
    }

    #[test]
    fn names_are_escaped_as_the_api_server_escapes_them() {
        check("plain", Some("plain"));
        check("a-b.c/d", Some("a__dash__b__dot__c__slash__d"));
        check("while", Some("__while__"));
        check("___", Some("__underscores___"));
        check("", None);
        check("3d", None);
        check("é", None);
        check("a b", None);
    }

    #[test]
    fn what_a_schema_leaves_open_is_bounded_by_the_request() {
        let strings = TypeDeclaration::list(TypeDeclaration::string(None), None);
        assert_eq!((strings.max_elements(), strings.max_cardinality()), (1_048_575, 1_048_576));
        let pair = TypeDeclaration::object([("a", TypeDeclaration::integer(), true), ("b", strings, false)]);
        assert_eq!(pair.max_cardinality(), 3 * 1024 * 1024 / 9);
        assert_eq!(TypeDeclaration::map(pair, None).max_elements(), (3 * 1024 * 1024 - 2) / 14);
    }

    #[test]
    fn objects_are_named_after_the_way_to_them() {
        let inner = TypeDeclaration::object([("a", TypeDeclaration::integer(), false)]);
        let Type::Struct(fields) = inner.type_of().clone() else { panic!("an object") };
        let outer = TypeDeclaration::object([(
            "m",
            TypeDeclaration::map(TypeDeclaration::list(inner, None), None),
            false,
        )]);
        assert_eq!(outer.name_of(&fields, "selfType").unwrap(), "selfType.m.@elem.@idx");
    }
}
