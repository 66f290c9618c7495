//! Escape sequences for single characters.

use super::{Parser, SyntaxError};

impl Parser<'_> {
    /// Reads `\n`, `\x7F`, `\x{10FFFF}`, `\123` or an escaped punctuation character.
    pub(super) fn escape(&mut self) -> Result<u32, SyntaxError> {
        let start = self.at;
        self.next();
        let Some(c) = self.next() else {
            return Err(self.error("trailing backslash at end of expression", 0, 0));
        };
        let code = match c {
            'a' => Some(7),
            'f' => Some(12),
            'n' => Some(10),
            'r' => Some(13),
            't' => Some(9),
            'v' => Some(11),
            'x' => self.hexadecimal(),
            '0' => Some(self.octal(0)),
            // A single digit would be a back reference, which RE2 does not have.
            '1'..='7' if self.peek().is_some_and(|next| next.is_digit(8)) => {
                Some(self.octal(c.to_digit(8).unwrap_or(0)))
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(u32::from(c)),
            _ => None,
        };
        code.ok_or_else(|| self.error("invalid escape sequence", start, self.at))
    }

    /// Up to two further octal digits.
    fn octal(&mut self, first: u32) -> u32 {
        let mut code = first;
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else {
                break;
            };
            self.next();
            code = code.saturating_mul(8).saturating_add(digit);
        }
        code
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let first = self.next()?;
        if first != '{' {
            let second = self.next();
            let (high, low) = (first.to_digit(16)?, second?.to_digit(16)?);
            return Some(high.saturating_mul(16).saturating_add(low));
        }
        let (mut code, mut digits) = (0_u32, false);
        loop {
            match self.next()? {
                '}' => return digits.then_some(code),
                c => code = code.saturating_mul(16).saturating_add(c.to_digit(16)?),
            }
            if code > u32::from(char::MAX) {
                return None;
            }
            digits = true;
        }
    }
}

/// A code point, in a form that is literal inside and outside of classes. Surrogates match nothing in UTF-8.
pub(super) fn code_point(code: u32) -> String {
    match char::from_u32(code) {
        Some(_) => format!("\\x{{{code:X}}}"),
        None => "\\x{FFFD}".to_owned(),
    }
}
