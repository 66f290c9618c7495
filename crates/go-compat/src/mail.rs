//! Addresses as `net/mail`'s `ParseAddress` takes them: `a@b`, `Name <a@b>`, and a group of one.

use std::net::IpAddr;

/// Returns true where `mail.ParseAddress` reads the string without an error.
#[must_use]
pub fn is_address(text: &str) -> bool {
    let mut reader = Reader { rest: text };
    reader.address(true) == Some(1) && reader.comments().is_some() && reader.rest.is_empty()
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn take(&mut self, wanted: char) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let first = characters.next();
        self.rest = characters.as_str();
        first
    }

    /// Parses addresses and returns how many there are: one, or those of a group.
    fn address(&mut self, may_be_group: bool) -> Option<usize> {
        self.space();
        let start = self.rest;
        if self.plain().is_some() {
            self.space();
            if self.take('(') {
                self.comment()?;
            }
            return Some(1);
        }
        self.rest = start;
        if !self.rest.starts_with('<') {
            self.phrase()?;
        }
        self.space();
        if may_be_group && self.take(':') {
            return self.group();
        }
        self.take('<').then_some(())?;
        self.plain()?;
        self.take('>').then_some(1)
    }

    /// `local@domain`
    fn plain(&mut self) -> Option<()> {
        self.space();
        if self.rest.starts_with('"') {
            (self.quoted()? > 0).then_some(())?;
        } else {
            self.atom(true)?;
        }
        self.take('@').then_some(())?;
        self.space();
        if self.take('[') {
            let (address, rest) = self.rest.split_once(']')?;
            self.rest = rest;
            return address.parse::<IpAddr>().ok().map(drop);
        }
        self.atom(true)
    }

    /// Letters and most signs; points where they are not checked, or between others.
    fn atom(&mut self, is_strict: bool) -> Option<()> {
        let ends = |c: char| !is_visible(c) || "()[];@\\,<>\":".contains(c);
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (atom, rest) = self.rest.split_at_checked(end)?;
        let is_wrong = is_strict && (atom.starts_with('.') || atom.ends_with('.') || atom.contains(".."));
        if atom.is_empty() || is_wrong {
            return None;
        }
        self.rest = rest;
        Some(())
    }

    /// A text in quotes, and how many characters it has.
    fn quoted(&mut self) -> Option<usize> {
        self.take('"').then_some(())?;
        let mut count = 0usize;
        loop {
            let character = match self.next()? {
                '"' => return Some(count),
                '\\' => self.next()?,
                other => other,
            };
            (is_visible(character) || matches!(character, ' ' | '\t')).then_some(())?;
            count = count.saturating_add(1);
        }
    }

    /// Words; what follows the last one need not be one.
    fn phrase(&mut self) -> Option<()> {
        let mut words = 0usize;
        loop {
            if words > 0 {
                self.comments()?;
            }
            self.space();
            let start = self.rest;
            let word = if start.starts_with('"') { self.quoted().map(drop) } else { self.atom(false) };
            if word.is_none() {
                self.rest = start;
                return (words > 0).then_some(());
            }
            words = words.saturating_add(1);
        }
    }

    fn group(&mut self) -> Option<usize> {
        self.space();
        let mut count = 0usize;
        if self.take(';') {
            return self.comments().map(|()| count);
        }
        loop {
            self.space();
            count = count.saturating_add(self.address(false)?);
            self.comments()?;
            if self.take(';') {
                return self.comments().map(|()| count);
            }
            self.take(',').then_some(())?;
        }
    }

    fn comments(&mut self) -> Option<()> {
        self.space();
        while self.take('(') {
            self.comment()?;
            self.space();
        }
        Some(())
    }

    /// Parses what follows `(`.
    fn comment(&mut self) -> Option<()> {
        let mut depth = 1usize;
        while depth > 0 {
            match self.next()? {
                '\\' => drop(self.next()?),
                '(' => depth = depth.saturating_add(1),
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        Some(())
    }
}

fn is_visible(character: char) -> bool {
    character.is_ascii_graphic() || !character.is_ascii()
}
