//! Go's pattern syntax, read and written as Rust's.

mod class;

/// Why Go refuses a pattern.
type Refusal = &'static str;

/// The largest repeat count that Go takes.
const MOST_REPEATS: u32 = 1000;

/// Writes a Go pattern in Rust's syntax.
pub(super) fn translate(pattern: &str) -> Result<String, Refusal> {
    let mut translator =
        Translator { rest: pattern, out: String::with_capacity(pattern.len()), repeated: false, flags: None };
    while let Some(character) = translator.next() {
        translator.element(character)?;
    }
    Ok(translator.out)
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    /// The last element was a repetition, which Go does not let be repeated.
    repeated: bool,
    /// Where flags such as `(?i)` begin that nothing has followed yet.
    flags: Option<usize>,
}

impl Translator<'_> {
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

    fn element(&mut self, character: char) -> Result<(), Refusal> {
        let repeated = std::mem::take(&mut self.repeated);
        let flags = self.flags.take();
        match character {
            '*' | '+' | '?' => self.repetition(&character.to_string(), repeated, flags),
            '{' => match self.counts()? {
                Some(counts) => self.repetition(&counts, repeated, flags),
                None => self.literal('{'),
            },
            '(' => self.group(),
            '[' => self.class(),
            '\\' => self.escape(),
            '.' | '^' | '$' | '|' | ')' => {
                self.out.push(character);
                Ok(())
            }
            _ => self.literal(character),
        }
    }

    fn literal(&mut self, character: char) -> Result<(), Refusal> {
        self.out.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
        Ok(())
    }

    /// Repeats the last element. Flags in between are none: `a(?i)*` repeats the `a`.
    fn repetition(&mut self, operator: &str, repeated: bool, flags: Option<usize>) -> Result<(), Refusal> {
        if repeated {
            return Err("invalid nested repetition operator");
        }
        let lazy = if self.take("?") { "?" } else { "" };
        let place = flags.filter(|place| *place <= self.out.len()).unwrap_or(self.out.len());
        let before = self.out.get(..place).unwrap_or("");
        if flags.is_some() && before.ends_with(['*', '+', '?', '}']) && !before.ends_with("\\}") {
            // Go would repeat a repetition here, which Rust reads as one operator.
            return Err("invalid nested repetition operator");
        }
        self.out.insert_str(place, &format!("{operator}{lazy}"));
        self.repeated = true;
        Ok(())
    }

    /// `{2}`, `{2,}` or `{2,5}` after its brace; none where the brace is a literal one.
    fn counts(&mut self) -> Result<Option<String>, Refusal> {
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
        if let Some(most) = most.filter(|most| !most.is_empty()) {
            count(most).filter(|most| *most >= least_count).ok_or("invalid repeat count")?;
        }
        let counts = format!("{{{inside}}}");
        self.rest = rest;
        Ok(Some(counts))
    }

    /// What follows `(`: a capture, a named capture, or flags.
    fn group(&mut self) -> Result<(), Refusal> {
        if !self.take("?") {
            self.out.push('(');
            return Ok(());
        }
        if self.take("P<") || self.take("<") {
            let (name, rest) = self.rest.split_once('>').ok_or("invalid named capture")?;
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err("invalid named capture");
            }
            self.out.push_str("(?P<");
            self.out.push_str(name);
            self.out.push('>');
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
        let place = self.out.len();
        // Rust refuses a flag that is set twice, and `(?)`; to Go both are harmless.
        self.out.push_str("(?");
        self.out.push_str(&once_each(on));
        if let Some(off) = off {
            self.out.push('-');
            self.out.push_str(&once_each(off));
        }
        self.rest = rest.get(1..).unwrap_or("");
        if rest.starts_with(':') {
            self.out.push(':');
            return Ok(());
        }
        self.flags = Some(place);
        self.out.push(')');
        if on.is_empty() && off.is_none() {
            self.out.truncate(place);
        }
        Ok(())
    }

    /// What follows a backslash outside of a class.
    fn escape(&mut self) -> Result<(), Refusal> {
        let start = self.rest;
        match self.next().ok_or("trailing backslash at end of expression")? {
            'A' => self.out.push_str("\\A"),
            'z' => self.out.push_str("\\z"),
            'b' => self.out.push_str("(?-u:\\b)"),
            'B' => self.out.push_str("(?-u:\\B)"),
            'Q' => {
                let (quoted, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                self.out.push_str(&regex::escape(quoted));
                self.rest = rest;
            }
            _ => {
                self.rest = start;
                match self.perl_or_unicode()? {
                    Some(class) => self.out.push_str(&format!("[{class}]")),
                    None => {
                        let character = self.escaped_character()?;
                        self.literal(character)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn once_each(flags: &str) -> String {
    let mut seen = String::new();
    for flag in flags.chars().filter(|flag| "imsU".contains(*flag)) {
        if !seen.contains(flag) {
            seen.push(flag);
        }
    }
    seen
}
