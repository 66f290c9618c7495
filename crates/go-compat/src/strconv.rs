//! `strconv`: strings in quotes, and numbers as the shortest string that reads back as them.

mod float;
mod printable;
mod quote;

pub use float::{format_float, format_float32, format_json};
pub use quote::{can_backquote, is_print, quote, quote_named_escapes, quote_rune, quote_to_ascii};
