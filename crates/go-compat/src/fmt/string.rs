//! Strings and characters under Go's string verbs.

use super::Spec;
use crate::strconv::{can_backquote, quote, quote_to_ascii};

/// Prints a string; false if the verb does not take one.
pub(super) fn print(string: &str, verb: char, spec: Spec, out: &mut String) -> bool {
    match verb {
        'v' if spec.go_syntax => quoted_under(string, spec, out),
        'v' | 's' => plain(string, spec, out),
        'q' => quoted_under(string, spec, out),
        'x' => hex(string, spec, false, out),
        'X' => hex(string, spec, true, out),
        _ => return false,
    }
    true
}

/// `%s`: at most precision characters, padded to the width.
pub(super) fn plain(string: &str, spec: Spec, out: &mut String) {
    spec.pad(truncated(string, spec), out);
}

fn truncated(string: &str, spec: Spec) -> &str {
    let end = spec.precision.and_then(|precision| string.char_indices().nth(precision));
    end.and_then(|(end, _)| string.get(..end)).unwrap_or(string)
}

fn quoted_under(string: &str, spec: Spec, out: &mut String) {
    let string = truncated(string, spec);
    if spec.sharp && can_backquote(string) {
        return spec.pad(&format!("`{string}`"), out);
    }
    spec.pad(&if spec.plus { quote_to_ascii(string) } else { quote(string) }, out);
}

/// The character of a number, or the replacement character where there is none.
pub(super) fn rune(int: i64) -> char {
    u32::try_from(int).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// `%x`: two digits a byte, of at most precision bytes.
fn hex(string: &str, spec: Spec, upper: bool, out: &mut String) {
    let count = spec.precision.unwrap_or(string.len()).min(string.len());
    let prefix = match (spec.sharp, upper) {
        (true, true) => "0X",
        (true, false) => "0x",
        (false, _) => "",
    };
    let mut body = String::new();
    for (position, byte) in string.bytes().take(count).enumerate() {
        if position > 0 && spec.space {
            body.push(' ');
        }
        if position == 0 || spec.space {
            body.push_str(prefix);
        }
        body.push_str(&if upper { format!("{byte:02X}") } else { format!("{byte:02x}") });
    }
    spec.pad(&body, out);
}

/// Digits with zeros in front up to a length; Rust's own padding ends at 65,535.
pub(super) fn zeros_before(digits: &str, length: usize) -> String {
    let missing = length.saturating_sub(digits.len());
    std::iter::repeat_n('0', missing).chain(digits.chars()).collect()
}
