//! Tests of duck-types that need a real API server. The control plane is not published, so they are not part of the crate.
//!
//! ```console
//! $ cargo test -p duck-types-tests --test cluster
//! ```

/// The example of the derive macro, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../crates/duck-types-derive/README.md")]
mod derive_readme {}
