//! One object of the inventory: its text, and its value where a policy that cannot be indexed reads it.
//!
//! An object that cannot be read at all is known from the start, without reading it: see [`is_suspect`].

use std::sync::OnceLock;

use rego_compat::Value as RegoValue;

/// An object as compact text. The value is kept only by readers who look at every object anyway.
#[derive(Debug)]
pub(super) struct Stored {
    text: Box<str>,
    value: OnceLock<RegoValue>,
}

impl Stored {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.into(), value: OnceLock::new() }
    }

    pub(super) const fn text(&self) -> &str {
        &self.text
    }

    /// The value, parsed on every call unless [`Stored::kept`] was asked before.
    pub(super) fn fresh(&self) -> RegoValue {
        self.value.get().cloned().unwrap_or_else(|| self.parse())
    }

    /// The value, parsed on the first call and kept.
    pub(super) fn kept(&self) -> &RegoValue {
        self.value.get_or_init(|| self.parse())
    }

    /// Returns true if there is no value: the text nests too deep, or has a number out of bounds.
    pub(super) fn is_unreadable(&self) -> bool {
        is_suspect(&self.text) && RegoValue::from_json_str(&self.text).is_err()
    }

    /// The text was JSON when it came. No policy gets to see what is unreadable, see `Inventory::unreadable`.
    fn parse(&self) -> RegoValue {
        RegoValue::from_json_str(&self.text).unwrap_or(RegoValue::Null)
    }

    #[cfg(test)]
    pub(super) fn is_kept(&self) -> bool {
        self.value.get().is_some()
    }
}

/// Levels that every reader reads.
const SHALLOW: usize = 100;
/// Digits that every reader reads.
const SHORT: usize = 100;

/// Returns true if JSON text may be more than can be read: it nests, or has digits in a row or an exponent, beyond what
/// objects have. Tells almost all objects from the few that are worth parsing to know.
fn is_suspect(text: &str) -> bool {
    let (mut depth, mut digits) = (0_usize, 0_usize);
    let mut exponent = false;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                skip_string(&mut bytes);
                (digits, exponent) = (0, false);
                continue;
            }
            b'[' | b'{' => depth = depth.saturating_add(1),
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match byte {
            b'0'..=b'9' => digits = digits.saturating_add(1),
            b'e' | b'E' if digits > 0 => (digits, exponent) = (0, true),
            b'+' | b'-' | b'.' => {}
            _ => (digits, exponent) = (0, false),
        }
        // An exponent of three digits is within every bound.
        if depth > SHALLOW || digits > SHORT || exponent && digits > 3 {
            return true;
        }
    }
    false
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_cannot_be_read_is_known() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for (text, unreadable) in [
            (nested(512), false),
            (nested(513), true),
            (format!("{{\"a\": {}}}", nested(512)), true),
            (format!("[\"{}\"]", "[".repeat(600)), false),
            (format!("[\"\\\"{}\"]", "[".repeat(600)), false),
            ("[1e9999999]".to_owned(), true),
            ("[-1.5E+99999999]".to_owned(), true),
            ("[1e-9999999]".to_owned(), true),
            ("[1e300, 1e-300, 0.001]".to_owned(), false),
            (format!("[{}]", "9".repeat(40_000)), false),
            (format!("[{}]", "9".repeat(400)), false),
        ] {
            assert_eq!(Stored::new(&text).is_unreadable(), unreadable, "{:.80}", text);
            assert_eq!(RegoValue::from_json_str(&text).is_err(), unreadable);
        }
    }

    proptest! {
        #[test]
        fn what_is_above_suspicion_can_be_read(
            number in "-?(0|[1-9][0-9]{0,120})(\\.[0-9]{1,120})?([eE][+-]?[0-9]{1,8})?", levels in 0..600_usize,
            text in "[a-z0-9\\[{e]{0,20}"
        ) {
            let text = format!("{}{{\"{text}\": {number}}}{}", "[".repeat(levels), "]".repeat(levels));
            prop_assert!(is_suspect(&text) || RegoValue::from_json_str(&text).is_ok());
        }
    }
}
