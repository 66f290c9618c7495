//! `regexp/syntax`: Go's pattern syntax, read and written as Rust's.
//!
//! [`translate`] accepts and refuses what Go 1.26 accepts and refuses under Perl flags, in the same words. Escapes and
//! classes are in `syntax/escape.rs` and `syntax/class.rs`.
//!
//! ```text
//! Go                 Rust
//! a(?i)*             a*(?i)         a repetition is for the item before the flags
//! (?U)a+             a+?            the flag is written out
//! a*(?i)*            (?:a*)*(?i)    Rust takes no repetition of a repetition
//! (?P<n>a)|(?P<n>b)  (?P<_n.0>a)|(?P<_n.1>b)
//! (?ii)a             (?i)a          Rust refuses a flag twice
//! a**                refused: invalid nested repetition operator: `**`
//! ```
//!
//! Source: `parse.go` of Go's package.

mod class;
mod escape;
mod name;
mod repetition;

use std::collections::HashMap;
use std::fmt;

use super::group_name;

/// The reason why Go would not compile an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    code: &'static str,
    expression: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}: `{}`", self.code, self.expression)
    }
}

/// Writes a Go pattern in Rust's syntax.
pub(super) fn translate(pattern: &str) -> Result<String, SyntaxError> {
    let mut parser = Parser {
        pattern,
        at: 0,
        out: String::with_capacity(pattern.len()),
        groups: Vec::new(),
        group: Group::default(),
        lazy: false,
        names: HashMap::new(),
    };
    parser.run()?;
    Ok(parser.out)
}

struct Parser<'p> {
    pattern: &'p str,
    /// The number of bytes that have been read.
    at: usize,
    /// The translation so far.
    out: String,
    /// The groups around the current one.
    groups: Vec<Group>,
    group: Group,
    /// The flag `U`: repetitions take as little as they can, and as much with a `?`.
    lazy: bool,
    /// The number of groups by name so far: to Go it may be several.
    names: HashMap<&'p str, usize>,
}

/// The state of the group that is being read.
#[derive(Default)]
struct Group {
    /// The start in the translation.
    start: usize,
    /// The flag `U` behind it.
    lazy: bool,
    /// The item a repetition would apply to; none at the start of the group and after `|`.
    last: Option<Item>,
    /// The items before it, taken together.
    before: Item,
}

/// A part of the pattern that can be repeated. Flags may stand between it and what repeats it: `a(?i)*` repeats the `a`.
#[derive(Clone, Copy, Default)]
struct Item {
    /// The number of copies that repetitions inside make, multiplied: 6 for `(a{2}){3}`. Go refuses more than 1,000.
    copies: u64,
    /// The size of its program, on which Go has a bound, too. Rust's programs are of other sizes, so it is counted here.
    size: u64,
    /// The start and the end in the translation.
    start: usize,
    end: usize,
    /// A repetition itself, which Rust repeats only in brackets: `a*?` is lazy.
    repetition: bool,
}

impl<'p> Parser<'p> {
    fn run(&mut self) -> Result<(), SyntaxError> {
        // Where the previous item was itself a repetition, which cannot be repeated directly.
        let mut last_repeat = None;
        while let Some(c) = self.peek() {
            let start = self.at;
            let mut repeat = None;
            match c {
                '(' => self.open()?,
                ')' => self.close()?,
                '|' => {
                    self.next();
                    self.group.settle();
                    self.out.push('|');
                }
                '*' | '+' | '?' => {
                    self.next();
                    self.repeat(start, last_repeat, &c.to_string(), None)?;
                    repeat = Some(start);
                }
                '{' => match self.bounds() {
                    None => {
                        self.next();
                        self.literal('{');
                    }
                    Some(bounds) => {
                        let counts = self.counted(start, bounds)?;
                        self.repeat(start, last_repeat, counts, Some(bounds))?;
                        repeat = Some(start);
                    }
                },
                '[' => self.class()?,
                '\\' => self.backslash()?,
                '^' | '$' | '.' => {
                    self.next();
                    self.item(c.encode_utf8(&mut [0; 4]));
                }
                c => {
                    self.next();
                    self.literal(c);
                }
            }
            last_repeat = repeat;
        }
        if self.groups.is_empty() {
            Ok(())
        } else {
            Err(self.error("missing closing )", 0, self.pattern.len()))
        }
    }

    fn open(&mut self) -> Result<(), SyntaxError> {
        if self.rest().starts_with("(?") {
            return self.perl_group();
        }
        self.next();
        self.enter("(");
        Ok(())
    }

    fn enter(&mut self, translated: &str) {
        let group = Group { start: self.out.len(), lazy: self.lazy, ..Group::default() };
        self.groups.push(std::mem::replace(&mut self.group, group));
        self.out.push_str(translated);
    }

    /// Writes an element that can be repeated.
    fn item(&mut self, translated: &str) {
        let start = self.out.len();
        self.out.push_str(translated);
        self.group.push(Item { copies: 1, size: 1, start, end: self.out.len(), repetition: false });
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        let Some(mut outer) = self.groups.pop() else {
            return Err(self.error("unexpected )", 0, self.pattern.len()));
        };
        self.next();
        self.out.push(')');
        self.group.settle();
        let inner = self.group.before;
        // The group is one item of the group around it, with two instructions of its own, which note its start and its end.
        outer.push(Item {
            copies: inner.copies.max(1),
            size: inner.size.saturating_add(2),
            start: self.group.start,
            end: self.out.len(),
            repetition: false,
        });
        // Flags that were set inside end with the group, as in Rust; `U` is kept here, because it is never handed over.
        self.lazy = self.group.lazy;
        self.group = outer;
        Ok(())
    }

    /// `(?P<name>`, `(?<name>`, `(?i)` and `(?i:`.
    fn perl_group(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let rest = self.rest();
        let named = (rest.starts_with("(?P<") && rest.len() > 4).then_some(4);
        let named = named.or((rest.starts_with("(?<") && rest.len() > 3).then_some(3));
        if let Some(skip) = named {
            let Some(end) = rest.find('>') else {
                return Err(self.error("invalid named capture", start, self.pattern.len()));
            };
            // Any name that ends is read to its end before it is refused, so that the error has all of it.
            let name = rest.get(skip..end).unwrap_or_default();
            let after = start.saturating_add(end).saturating_add(1);
            if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
                return Err(self.error("invalid named capture", start, after));
            }
            self.at = after;
            let times = self.names.entry(name).or_insert(0);
            let written = group_name(name, *times);
            *times = times.saturating_add(1);
            self.enter(&format!("(?P<{written}>"));
            return Ok(());
        }
        self.flags(start)
    }

    /// `(?i)` and `(?i:`. Rust refuses a flag that is set twice, and `(?)`; to Go both are harmless.
    fn flags(&mut self, start: usize) -> Result<(), SyntaxError> {
        self.next();
        self.next();
        let (mut on, mut off, mut negated) = (String::new(), String::new(), false);
        while let Some(c) = self.next() {
            match c {
                'i' | 'm' | 's' | 'U' if negated => off.push(c),
                'i' | 'm' | 's' | 'U' => on.push(c),
                '-' if !negated => negated = true,
                // `(?-)` and `(?i-)` are errors: behind the dash there has to be a flag.
                ':' | ')' if !negated || !off.is_empty() => {
                    let lazy = (self.lazy || on.contains('U')) && !off.contains('U');
                    let (on, off) = (once_each(&on, &off), once_each(&off, ""));
                    let minus = if off.is_empty() { "" } else { "-" };
                    let flags = format!("(?{on}{minus}{off}{c}");
                    if c == ':' {
                        self.enter(&flags);
                    } else if flags != "(?)" {
                        self.out.push_str(&flags);
                    }
                    self.lazy = lazy;
                    return Ok(());
                }
                _ => break,
            }
        }
        Err(self.error("invalid or unsupported Perl syntax", start, self.at))
    }

    /// A character that stands for itself.
    fn literal(&mut self, c: char) {
        self.item(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }

    fn backslash(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let second = self.rest().chars().nth(1);
        match second {
            Some('A' | 'z' | 'b' | 'B') => {
                self.next();
                self.next();
                self.item(match second {
                    Some('A') => r"\A",
                    Some('z') => r"\z",
                    // Go's word boundaries know ASCII only.
                    Some('b') => r"(?-u:\b)",
                    _ => r"(?-u:\B)",
                });
            }
            Some('C') => return Err(self.error("invalid escape sequence", start, start.saturating_add(2))),
            Some('Q') => {
                self.next();
                self.next();
                let rest = self.rest();
                let (quoted, length) = match rest.split_once(r"\E") {
                    Some((quoted, _)) => (quoted, quoted.len().saturating_add(2)),
                    None => (rest, rest.len()),
                };
                // One item each: in `\Qab\E*` the star is for `b`. Without `\E` the rest of the pattern is quoted.
                quoted.chars().for_each(|c| self.literal(c));
                self.at = self.at.saturating_add(length);
            }
            _ => {
                let mut class = String::new();
                if self.class_escape(&mut class)? {
                    self.item(&format!("[{class}]"));
                } else {
                    let c = self.escape()?;
                    self.item(&escape::code_point(c));
                }
            }
        }
        Ok(())
    }

    fn rest(&self) -> &'p str {
        self.pattern.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at = self.at.saturating_add(c.len_utf8());
        Some(c)
    }

    fn error(&self, code: &'static str, from: usize, to: usize) -> SyntaxError {
        SyntaxError { code, expression: self.pattern.get(from..to).unwrap_or_default().to_owned() }
    }
}

impl Group {
    fn push(&mut self, item: Item) {
        self.settle();
        self.last = Some(item);
    }

    /// Takes the last item out of reach of repetitions.
    fn settle(&mut self) {
        if let Some(item) = self.last.take() {
            self.before.copies = self.before.copies.max(item.copies);
            self.before.size = self.before.size.saturating_add(item.size);
        }
    }
}

/// The flags that are handed to Rust's engine, without those that are unset again; `U` is taken care of by `repetition`.
fn once_each(flags: &str, unset: &str) -> String {
    let mut seen = String::new();
    for flag in flags.chars().filter(|flag| "ims".contains(*flag) && !unset.contains(*flag)) {
        if !seen.contains(flag) {
            seen.push(flag);
        }
    }
    seen
}
