//! What a schema does to one object.
//!
//! `object/default.rs` fills in defaults. Nothing here looks at whether the schema itself is sound; that is
//! `structural.rs`.

mod default;

pub use default::defaulted;
