//! Character classes and escapes.

use super::{Code, Translator};

const POSIX: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

impl Translator<'_> {
    /// What follows `[`.
    pub(super) fn class(&mut self) -> Result<(), Code> {
        self.out.push('[');
        if self.take("^") {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            if !first && self.take("]") {
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if self.rest.is_empty() {
                return Err("missing closing ]");
            }
            if !self.posix()? {
                self.item()?;
            }
        }
    }

    /// `[:alpha:]`, which both sides write in the same way.
    fn posix(&mut self) -> Result<bool, Code> {
        if !self.rest.starts_with("[:") {
            return Ok(false);
        }
        let Some((name, rest)) = self.rest.get(2..).and_then(|rest| rest.split_once(":]")) else {
            return Ok(false);
        };
        if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err("invalid character class range");
        }
        self.out.push_str(&format!("[:{name}:]"));
        self.rest = rest;
        Ok(true)
    }

    /// A Perl or Unicode class, a character, or a range of characters.
    fn item(&mut self) -> Result<(), Code> {
        let start = self.rest;
        if self.take("\\") {
            if let Some(class) = self.perl_or_unicode()? {
                self.out.push_str(&class);
                return Ok(());
            }
            self.rest = start;
        }
        let low = self.class_character()?;
        let mut high = low;
        if self.rest.starts_with('-') && self.rest.len() >= 2 && !self.rest.starts_with("-]") {
            self.take("-");
            high = self.class_character()?;
            if high < low {
                return Err("invalid character class range");
            }
        }
        self.out.push_str(&code_point(low));
        if high != low {
            self.out.push('-');
            self.out.push_str(&code_point(high));
        }
        Ok(())
    }

    fn class_character(&mut self) -> Result<char, Code> {
        if self.take("\\") {
            return self.escaped_character();
        }
        self.next().ok_or("missing closing ]")
    }

    /// `d`, `W`, `pL` or `p{Greek}` after its backslash, as items of a Rust class; none for a character.
    pub(super) fn perl_or_unicode(&mut self) -> Result<Option<String>, Code> {
        let items = match self.rest.chars().next() {
            Some('d') => "0-9",
            Some('D') => "[^0-9]",
            Some('s') => "\\t\\n\\x0C\\r\\x20",
            Some('S') => "[^\\t\\n\\x0C\\r\\x20]",
            Some('w') => "0-9A-Za-z_",
            Some('W') => "[^0-9A-Za-z_]",
            Some('p' | 'P') => return self.unicode().map(Some),
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(items.to_owned()))
    }

    /// `pL`, `P{Greek}` or `p{^Greek}`.
    fn unicode(&mut self) -> Result<String, Code> {
        let range = "invalid character class range";
        let mut negated = self.next() == Some('P');
        let name = if self.take("{") {
            let (name, rest) = self.rest.split_once('}').ok_or(range)?;
            self.rest = rest;
            name.to_owned()
        } else {
            self.next().ok_or(range)?.to_string()
        };
        let name = name.strip_prefix('^').map_or(name.as_str(), |name| {
            negated = !negated;
            name
        });
        let letter = if negated { 'P' } else { 'p' };
        let class = ["gc", "sc"].map(|property| format!("\\{letter}{{{property}={name}}}"));
        class.into_iter().find(|class| named(name) && regex::Regex::new(class).is_ok()).ok_or(range)
    }

    /// The character that an escape stands for, after its backslash.
    pub(super) fn escaped_character(&mut self) -> Result<char, Code> {
        let invalid = "invalid escape sequence";
        let character = self.next().ok_or("trailing backslash at end of expression")?;
        Ok(match character {
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => self.hexadecimal()?,
            '0' => self.octal(0),
            '1'..='7' if self.rest.starts_with(|c: char| ('0'..='7').contains(&c)) => {
                self.octal(character.to_digit(8).unwrap_or(0))
            }
            _ if character.is_ascii() && !character.is_ascii_alphanumeric() => character,
            _ => return Err(invalid),
        })
    }

    /// Up to two more octal digits.
    fn octal(&mut self, first: u32) -> char {
        let mut point = first;
        for _ in 0..2 {
            let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else {
                break;
            };
            point = point.saturating_mul(8).saturating_add(digit);
            self.next();
        }
        char::from_u32(point).unwrap_or('\0')
    }

    /// `41` or `{1F600}` after its `x`.
    fn hexadecimal(&mut self) -> Result<char, Code> {
        let invalid = "invalid escape sequence";
        let digits = if self.take("{") {
            let (digits, rest) = self.rest.split_once('}').ok_or(invalid)?;
            self.rest = rest;
            digits
        } else {
            let (digits, rest) = self.rest.split_at_checked(2).ok_or(invalid)?;
            self.rest = rest;
            digits
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(invalid);
        }
        u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).ok_or(invalid)
    }
}

/// A character as a Rust class takes it without a second meaning.
fn code_point(character: char) -> String {
    if character.is_ascii_alphanumeric() {
        character.to_string()
    } else {
        format!("\\x{{{:X}}}", u32::from(character))
    }
}

/// Whether a text can be the name of a table: Go has one for every category and script, and for no other
/// property; both sides ignore case, and what stands between words.
fn named(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_- ".contains(&byte))
}
