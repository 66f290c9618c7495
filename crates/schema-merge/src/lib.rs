//! Merges partial OpenAPI schemas into separate roots of one structural CRD schema.
