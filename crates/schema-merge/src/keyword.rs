//! The keywords of a CRD schema (`JSONSchemaProps` of apiextensions.k8s.io/v1) and what each holds.
//!
//! One table, so that decoding, merging and comparing agree on what a keyword is.

/// The type that the API server decodes a keyword into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Text,
    Flag,
    OptionalFlag,
    Number,
    Integer,
    Texts,
    Anything,
    Anythings,
    Schema,
    Schemas,
    SchemaMap,
    Items,
    SchemaOrBool,
    Dependencies,
    Docs,
    Rules,
}

/// Every keyword, with the name of its Go type where decoding errors print it.
const KEYWORDS: &[(&str, Holds)] = &[
    ("$ref", Holds::Text),
    ("$schema", Holds::Text),
    ("additionalItems", Holds::SchemaOrBool),
    ("additionalProperties", Holds::SchemaOrBool),
    ("allOf", Holds::Schemas),
    ("anyOf", Holds::Schemas),
    ("default", Holds::Anything),
    ("definitions", Holds::SchemaMap),
    ("dependencies", Holds::Dependencies),
    ("description", Holds::Text),
    ("enum", Holds::Anythings),
    ("example", Holds::Anything),
    ("exclusiveMaximum", Holds::Flag),
    ("exclusiveMinimum", Holds::Flag),
    ("externalDocs", Holds::Docs),
    ("format", Holds::Text),
    ("id", Holds::Text),
    ("items", Holds::Items),
    ("maxItems", Holds::Integer),
    ("maxLength", Holds::Integer),
    ("maxProperties", Holds::Integer),
    ("maximum", Holds::Number),
    ("minItems", Holds::Integer),
    ("minLength", Holds::Integer),
    ("minProperties", Holds::Integer),
    ("minimum", Holds::Number),
    ("multipleOf", Holds::Number),
    ("not", Holds::Schema),
    ("nullable", Holds::Flag),
    ("oneOf", Holds::Schemas),
    ("pattern", Holds::Text),
    ("patternProperties", Holds::SchemaMap),
    ("properties", Holds::SchemaMap),
    ("required", Holds::Texts),
    ("title", Holds::Text),
    ("type", Holds::Text),
    ("uniqueItems", Holds::Flag),
    ("x-kubernetes-embedded-resource", Holds::Flag),
    ("x-kubernetes-int-or-string", Holds::Flag),
    ("x-kubernetes-list-map-keys", Holds::Texts),
    ("x-kubernetes-list-type", Holds::Text),
    ("x-kubernetes-map-type", Holds::Text),
    ("x-kubernetes-preserve-unknown-fields", Holds::OptionalFlag),
    ("x-kubernetes-validations", Holds::Rules),
];

pub(crate) const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
pub(crate) const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
pub(crate) const EMBEDDED: &str = "x-kubernetes-embedded-resource";
pub(crate) const LIST_TYPE: &str = "x-kubernetes-list-type";
pub(crate) const LIST_MAP_KEYS: &str = "x-kubernetes-list-map-keys";
pub(crate) const MAP_TYPE: &str = "x-kubernetes-map-type";
pub(crate) const RULES: &str = "x-kubernetes-validations";

/// Keywords that describe without deciding anything.
pub(crate) const ANNOTATIONS: [&str; 4] = ["description", "example", "externalDocs", "title"];

/// Returns what `keyword` holds, or `None` for a keyword the API server does not know.
pub(crate) fn holds(keyword: &str) -> Option<Holds> {
    KEYWORDS
        .binary_search_by_key(&keyword, |(name, _)| name)
        .ok()
        .and_then(|at| KEYWORDS.get(at))
        .map(|(_, holds)| *holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_as_its_search_needs() {
        assert!(KEYWORDS.windows(2).all(|pair| pair[0].0 < pair[1].0), "{KEYWORDS:?}");
        assert!(KEYWORDS.iter().all(|(name, what)| holds(name) == Some(*what)));
        assert_eq!(holds("const"), None);
    }
}
