//! Character classes: `[a-z]`, `[[:alpha:]]`, `\d` and `\p{Greek}`.

use super::escape::code_point;
use super::{Parser, SyntaxError, name};

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

impl Parser<'_> {
    pub(super) fn class(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        self.next();
        let mut class = String::from("[");
        if self.peek() == Some('^') {
            self.next();
            class.push('^');
        }
        // A bracket that comes first stands for itself.
        let mut first = true;
        while first || self.peek() != Some(']') {
            first = false;
            if self.posix(&mut class)? || self.class_escape(&mut class)? {
                continue;
            }
            self.range(start, &mut class)?;
        }
        self.next();
        class.push(']');
        self.item(&class);
        Ok(())
    }

    /// One character, or two with a dash between them. A dash before the closing bracket stands for itself.
    fn range(&mut self, start: usize, class: &mut String) -> Result<(), SyntaxError> {
        let from = self.at;
        let low = self.class_char(start)?;
        let mut high = low;
        let mut following = self.rest().chars();
        if following.next() == Some('-') && following.next().is_some_and(|c| c != ']') {
            self.next();
            high = self.class_char(start)?;
            if high < low {
                return Err(self.error("invalid character class range", from, self.at));
            }
        }
        class.push_str(&code_point(low));
        if high != low {
            class.push('-');
            class.push_str(&code_point(high));
        }
        Ok(())
    }

    fn class_char(&mut self, start: usize) -> Result<u32, SyntaxError> {
        match self.peek() {
            None => Err(self.error("missing closing ]", start, self.pattern.len())),
            Some('\\') => self.escape(),
            Some(c) => {
                self.next();
                Ok(u32::from(c))
            }
        }
    }

    /// `[:alpha:]`, if that is what comes next.
    fn posix(&mut self, class: &mut String) -> Result<bool, SyntaxError> {
        let Some(inside) = self.rest().strip_prefix("[:") else {
            return Ok(false);
        };
        let Some(end) = inside.find(":]") else {
            return Ok(false);
        };
        let length = end.saturating_add(4);
        let after = self.at.saturating_add(length);
        let name = inside.get(..end).unwrap_or_default();
        if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(self.error("invalid character class range", self.at, after));
        }
        class.push_str(&format!("[:{name}:]"));
        self.at = after;
        Ok(true)
    }

    /// `\d` and its kind, or `\p{Greek}`, if that is what comes next. Go's Perl classes know ASCII only.
    pub(super) fn class_escape(&mut self, class: &mut String) -> Result<bool, SyntaxError> {
        let Some(letter) = self.rest().strip_prefix('\\').and_then(|rest| rest.chars().next()) else {
            return Ok(false);
        };
        let members = match letter {
            'd' => r"0-9",
            'D' => r"[^0-9]",
            's' => r"\t\n\x0C\r\x20",
            'S' => r"[^\t\n\x0C\r\x20]",
            'w' => r"0-9A-Za-z_",
            'W' => r"[^0-9A-Za-z_]",
            'p' | 'P' => return self.unicode(letter == 'P', class).map(|()| true),
            _ => return Ok(false),
        };
        self.next();
        self.next();
        class.push_str(members);
        Ok(true)
    }

    fn unicode(&mut self, mut negated: bool, class: &mut String) -> Result<(), SyntaxError> {
        let start = self.at;
        self.next();
        self.next();
        let name = match self.next() {
            None => String::new(),
            Some('{') => {
                let Some(end) = self.rest().find('}') else {
                    return Err(self.error("invalid character class range", start, self.pattern.len()));
                };
                let name = self.rest().get(..end).unwrap_or_default().to_owned();
                self.at = self.at.saturating_add(end).saturating_add(1);
                name
            }
            Some(c) => c.to_string(),
        };
        let mut plain = name.as_str();
        if let Some(rest) = name.strip_prefix('^') {
            negated = !negated;
            plain = rest;
        }
        let Some(known) = name::canonical(plain) else {
            return Err(self.error("invalid character class range", start, self.at));
        };
        class.push_str(&format!("\\{}{{{known}}}", if negated { 'P' } else { 'p' }));
        Ok(())
    }
}
