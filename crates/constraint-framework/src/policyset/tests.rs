//! Tests of the whole module, and what they generate.

pub(super) mod generated;
mod laws;
