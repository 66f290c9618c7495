//! `strconv`: strings in quotes, and numbers as the shortest string that reads back as them; both ways.

mod float;
mod parse;
mod printable;
mod quote;
mod unquote;

pub use float::{format_float, format_float32, format_json};
pub use parse::{NumError, parse_float, parse_int, parse_uint};
pub use quote::{can_backquote, is_print, quote, quote_named_escapes, quote_rune, quote_to_ascii};
pub use unquote::{Unquoted, unquote, unquote_char};
