//! `regexp/syntax`: Go's pattern syntax, read and written as Rust's.

mod class;

use std::collections::HashMap;

/// Why Go refuses a pattern: its `ErrorCode`.
type Code = &'static str;

/// The largest repeat count that Go takes.
const MOST_REPEATS: u32 = 1000;

/// Writes a Go pattern in Rust's syntax.
pub(super) fn translate(pattern: &str) -> Result<String, Code> {
    let mut translator = Translator {
        rest: pattern,
        out: String::with_capacity(pattern.len()),
        last: Element::default(),
        repeated: false,
        lazy: false,
        groups: Vec::new(),
        names: HashMap::new(),
    };
    while let Some(character) = translator.next() {
        translator.element(character)?;
    }
    Ok(translator.out)
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    /// What a repetition repeats. Flags and empty quotes may stand in between: `a(?i)*` repeats the `a`.
    last: Element,
    /// A repetition was just read, which Go does not let be repeated.
    repeated: bool,
    /// The flag `U`: repetitions take as little as they can, and as much with a `?`.
    lazy: bool,
    groups: Vec<Group>,
    /// How many groups have a name so far: to Go it may be several.
    names: HashMap<&'a str, usize>,
}

/// A part of the pattern as it is written.
#[derive(Clone, Copy, Default)]
struct Element {
    start: usize,
    end: usize,
    /// A repetition, which Rust repeats only in brackets.
    repetition: bool,
    /// How often a part of it is repeated by counts inside of one another.
    product: u32,
}

/// An open group, with what is restored behind it.
struct Group {
    start: usize,
    lazy: bool,
    product: u32,
}

impl<'a> Translator<'a> {
    fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = self.rest.get(character.len_utf8()..)?;
        Some(character)
    }

    fn take(&mut self, wanted: &str) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn element(&mut self, character: char) -> Result<(), Code> {
        let repeated = std::mem::take(&mut self.repeated);
        let start = self.out.len();
        match character {
            '*' | '+' | '?' => return self.repetition(&character.to_string(), 1, repeated),
            '{' => match self.counts()? {
                Some((counts, product)) => return self.repetition(&counts, product, repeated),
                None => self.out.push_str("\\{"),
            },
            '(' => return self.group(),
            ')' => return self.close(),
            '[' => self.class()?,
            '\\' => return self.escape(),
            '.' | '^' | '$' => self.out.push(character),
            '|' => {
                self.out.push(character);
                self.nothing();
                return Ok(());
            }
            _ => self.out.push_str(&regex::escape(character.encode_utf8(&mut [0; 4]))),
        }
        self.written(start);
        Ok(())
    }

    /// An element that has been written from a place on.
    fn written(&mut self, start: usize) {
        self.last = Element { start, end: self.out.len(), repetition: false, product: 1 };
    }

    /// There is nothing to be repeated here.
    fn nothing(&mut self) {
        self.last = Element::default();
    }

    fn literal(&mut self, character: char) {
        let start = self.out.len();
        self.out.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
        self.written(start);
    }

    /// Repeats the last element.
    fn repetition(&mut self, operator: &str, count: u32, repeated: bool) -> Result<(), Code> {
        if repeated {
            return Err("invalid nested repetition operator");
        }
        if self.last.start == self.last.end {
            return Err("missing argument to repetition operator");
        }
        let product = self.last.product.saturating_mul(count.max(1));
        if count >= 2 && product > MOST_REPEATS {
            return Err("invalid repeat count");
        }
        let lazy = if self.take("?") != self.lazy { "?" } else { "" };
        if self.last.repetition {
            self.out.insert(self.last.end, ')');
            self.out.insert_str(self.last.start, "(?:");
            self.last.end = self.last.end.saturating_add("(?:)".len());
        }
        self.out.insert_str(self.last.end, &format!("{operator}{lazy}"));
        self.last.end = self.last.end.saturating_add(operator.len()).saturating_add(lazy.len());
        (self.last.repetition, self.last.product) = (true, product);
        if let Some(group) = self.groups.last_mut() {
            group.product = group.product.max(product);
        }
        self.repeated = true;
        Ok(())
    }

    /// The end of a group, which is an element.
    fn close(&mut self) -> Result<(), Code> {
        let group = self.groups.pop().ok_or("unexpected )")?;
        self.out.push(')');
        self.lazy = group.lazy;
        self.last =
            Element { start: group.start, end: self.out.len(), repetition: false, product: group.product };
        if let Some(outer) = self.groups.last_mut() {
            outer.product = outer.product.max(group.product);
        }
        Ok(())
    }

    fn open(&mut self, opening: &str, lazy: bool) {
        self.groups.push(Group { start: self.out.len(), lazy: self.lazy, product: 1 });
        self.lazy = lazy;
        self.out.push_str(opening);
        self.nothing();
    }

    /// `{2}`, `{2,}` or `{2,5}` after its brace, and the largest of its counts; none where the brace is a literal one.
    fn counts(&mut self) -> Result<Option<(String, u32)>, Code> {
        let Some((inside, rest)) = self.rest.split_once('}') else {
            return Ok(None);
        };
        let (least, most) =
            inside.split_once(',').map_or((inside, None), |(least, most)| (least, Some(most)));
        let is_number = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_digit())
                && (text.len() == 1 || !text.starts_with('0'))
        };
        if !is_number(least) || most.is_some_and(|most| !most.is_empty() && !is_number(most)) {
            return Ok(None);
        }
        let count = |text: &str| text.parse::<u32>().ok().filter(|count| *count <= MOST_REPEATS);
        let least_count = count(least).ok_or("invalid repeat count")?;
        let most_count = match most.filter(|most| !most.is_empty()) {
            Some(most) => count(most).filter(|most| *most >= least_count).ok_or("invalid repeat count")?,
            None => least_count,
        };
        let counts = format!("{{{inside}}}");
        self.rest = rest;
        Ok(Some((counts, most_count)))
    }

    /// What follows `(`: a capture, a named capture, or flags.
    fn group(&mut self) -> Result<(), Code> {
        if !self.take("?") {
            self.open("(", self.lazy);
            return Ok(());
        }
        if self.take("P<") || self.take("<") {
            let (name, rest) = self.rest.split_once('>').ok_or("invalid named capture")?;
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err("invalid named capture");
            }
            let times = self.names.entry(name).or_insert(0);
            let written = super::group_name(name, *times);
            *times = times.saturating_add(1);
            self.open(&format!("(?P<{written}>"), self.lazy);
            self.rest = rest;
            return Ok(());
        }
        let end = self.rest.find([':', ')']).ok_or("missing closing )")?;
        let (flags, rest) = self.rest.split_at_checked(end).ok_or("missing closing )")?;
        let known = flags.bytes().all(|flag| b"imsU-".contains(&flag));
        let (on, off) = flags.split_once('-').map_or((flags, None), |(on, off)| (on, Some(off)));
        if !known || off.is_some_and(|off| off.is_empty() || off.contains('-')) {
            return Err("invalid or unsupported Perl syntax");
        }
        let off = off.unwrap_or("");
        let lazy = (self.lazy || on.contains('U')) && !off.contains('U');
        // Rust refuses a flag that is set twice, and `(?)`; to Go both are harmless.
        let (on, off) = (once_each(on, off), once_each(off, ""));
        let minus = if off.is_empty() { "" } else { "-" };
        let flags = format!("(?{on}{minus}{off}");
        self.rest = rest.get(1..).unwrap_or("");
        if rest.starts_with(':') {
            self.open(&format!("{flags}:"), lazy);
            return Ok(());
        }
        self.lazy = lazy;
        if flags != "(?" {
            self.out.push_str(&flags);
            self.out.push(')');
        }
        Ok(())
    }

    /// What follows a backslash outside of a class.
    fn escape(&mut self) -> Result<(), Code> {
        let (rest, start) = (self.rest, self.out.len());
        match self.next().ok_or("trailing backslash at end of expression")? {
            'A' => self.out.push_str("\\A"),
            'z' => self.out.push_str("\\z"),
            'b' => self.out.push_str("(?-u:\\b)"),
            'B' => self.out.push_str("(?-u:\\B)"),
            'Q' => {
                let (quoted, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                quoted.chars().for_each(|character| self.literal(character));
                self.rest = rest;
                return Ok(());
            }
            _ => {
                self.rest = rest;
                match self.perl_or_unicode()? {
                    Some(class) => self.out.push_str(&format!("[{class}]")),
                    None => {
                        let character = self.escaped_character()?;
                        self.literal(character);
                        return Ok(());
                    }
                }
            }
        }
        self.written(start);
        Ok(())
    }
}

/// The flags that Rust is told, without those that are unset again; `U` is taken care of here.
fn once_each(flags: &str, unset: &str) -> String {
    let mut seen = String::new();
    for flag in flags.chars().filter(|flag| "ims".contains(*flag) && !unset.contains(*flag)) {
        if !seen.contains(flag) {
            seen.push(flag);
        }
    }
    seen
}
