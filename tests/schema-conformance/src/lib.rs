//! Holds `schema-merge`'s verdicts against a real API server. All of it is in `tests/`:
//!
//! ```sh
//! cargo test -p schema-conformance
//! ```
