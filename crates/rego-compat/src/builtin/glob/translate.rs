//! Globs written as Rust's regular expressions.

/// Returns the expression that matches what the glob matches; none where it is not a glob.
pub(super) fn translate(glob: &str, separators: &str) -> Option<String> {
    let (one, any) = if separators.is_empty() {
        ("(?s:.)".to_owned(), "(?s:.)*".to_owned())
    } else {
        let class: String = separators.chars().map(escaped).collect();
        (format!("[^{class}]"), format!("[^{class}]*"))
    };
    let mut translator = Translator { rest: glob, out: "\\A".to_owned(), one, any, level: 0 };
    while let Some(character) = translator.next() {
        translator.element(character)?;
    }
    translator.out.push_str("\\z");
    (translator.level == 0).then_some(translator.out)
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    /// The translation of `?`.
    one: String,
    /// The translation of `*`.
    any: String,
    /// Braces that are open.
    level: usize,
}

impl Translator<'_> {
    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let first = characters.next();
        self.rest = characters.as_str();
        first
    }

    fn take(&mut self, wanted: char) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn element(&mut self, character: char) -> Option<()> {
        match character {
            '*' if self.take('*') => self.out.push_str("(?s:.)*"),
            '*' => self.out.push_str(&self.any),
            '?' => self.out.push_str(&self.one),
            '[' => return self.class(),
            '{' => {
                self.level = self.level.saturating_add(1);
                self.out.push_str("(?:");
            }
            ',' if self.level > 0 => self.out.push('|'),
            '}' if self.level > 0 => {
                self.level = self.level.saturating_sub(1);
                self.out.push(')');
            }
            '\\' => {
                let literal = self.next()?;
                self.out.push_str(&escaped(literal));
            }
            literal => self.out.push_str(&escaped(literal)),
        }
        Some(())
    }

    /// Parses what follows `[`: two characters with a minus between them, or any number of characters.
    fn class(&mut self) -> Option<()> {
        self.out.push('[');
        if self.take('!') {
            self.out.push('^');
        }
        let first = self.rest.chars().next()?;
        let behind = self.rest.get(first.len_utf8()..)?;
        if let Some(rest) = behind.strip_prefix('-') {
            self.rest = rest;
            let last = self.next()?;
            (first <= last && self.take(']')).then_some(())?;
            self.out.push_str(&format!("{}-{}]", escaped(first), escaped(last)));
            return Some(());
        }
        let mut empty = true;
        loop {
            let literal = match self.next()? {
                ']' if empty => return None,
                ']' => break,
                '\\' => self.next()?,
                literal => literal,
            };
            self.out.push_str(&escaped(literal));
            empty = false;
        }
        self.out.push(']');
        Some(())
    }
}

/// Returns a character without a second meaning, in a class and outside of one.
fn escaped(character: char) -> String {
    if character.is_ascii_alphanumeric() {
        character.to_string()
    } else {
        format!("\\x{{{:X}}}", u32::from(character))
    }
}
