//! Regular expressions as Go compiles them, which is what the API server does with `pattern`.
//!
//! [`parse`] accepts and refuses what Go's `regexp/syntax` accepts and refuses (Go 1.26, Perl flags), in the same words,
//! and translates the expression for the `regex` crate, whose syntax differs in places. Escapes and classes are in
//! `regexp/escape.rs` and `regexp/class.rs`. Matching itself is the `regex` crate's business.

mod class;
mod escape;
mod name;

use std::fmt;

/// Repetitions multiply; Go accepts at most this many copies of anything.
const MAX_REPEAT: u64 = 1000;
/// Go's bound on the size of a compiled program, in instructions.
const MAX_SIZE: u64 = 3_355_443;

/// Why Go would not compile an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    code: &'static str,
    expression: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}: `{}`", self.code, self.expression)
    }
}

/// Checks `pattern` and gives the same expression in the syntax of the `regex` crate.
pub(crate) fn parse(pattern: &str) -> Result<String, SyntaxError> {
    let mut parser = Parser {
        pattern,
        at: 0,
        out: String::with_capacity(pattern.len()),
        groups: Vec::new(),
        group: Group::default(),
    };
    parser.run()?;
    Ok(parser.out)
}

/// A matcher for `pattern`, if Go compiles it and the `regex` crate can run it.
pub(crate) fn matcher(pattern: &str) -> Option<regex::Regex> {
    regex::Regex::new(&parse(pattern).ok()?).ok()
}

struct Parser<'p> {
    pattern: &'p str,
    /// How much has been read, in bytes.
    at: usize,
    /// The translation so far.
    out: String,
    /// The groups around the current one.
    groups: Vec<Group>,
    group: Group,
}

/// What is known about the group that is being read.
#[derive(Default)]
struct Group {
    /// The item a repetition would apply to; none at the start of the group and after `|`.
    last: Option<Item>,
    /// The items before it, taken together.
    before: Item,
}

/// How often an item is repeated inside, and how large its program gets.
#[derive(Clone, Copy, Default)]
struct Item {
    copies: u64,
    size: u64,
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
                    self.out.push(c);
                    self.repeat(start, last_repeat, None)?;
                    repeat = Some(start);
                }
                '{' => match self.bounds() {
                    None => {
                        self.next();
                        self.literal('{');
                    }
                    Some(bounds) => {
                        self.counted(start, bounds)?;
                        self.repeat(start, last_repeat, Some(bounds))?;
                        repeat = Some(start);
                    }
                },
                '[' => self.class()?,
                '\\' => self.backslash()?,
                '^' | '$' | '.' => {
                    self.next();
                    self.out.push(c);
                    self.group.push(Item { copies: 1, size: 1 });
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
        self.out.push_str(translated);
        self.groups.push(std::mem::take(&mut self.group));
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        let Some(mut outer) = self.groups.pop() else {
            return Err(self.error("unexpected )", 0, self.pattern.len()));
        };
        self.next();
        self.out.push(')');
        self.group.settle();
        let inner = self.group.before;
        outer.push(Item { copies: inner.copies.max(1), size: inner.size.saturating_add(2) });
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
            let name = rest.get(skip..end).unwrap_or_default();
            let after = start.saturating_add(end).saturating_add(1);
            if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
                return Err(self.error("invalid named capture", start, after));
            }
            self.at = after;
            // Go allows the same name twice, so the translation goes without names.
            self.enter("(");
            return Ok(());
        }
        self.next();
        self.next();
        let (mut negated, mut seen) = (false, false);
        while let Some(c) = self.next() {
            match c {
                'i' | 'm' | 's' | 'U' => seen = true,
                '-' if !negated => (negated, seen) = (true, false),
                ':' | ')' if !negated || seen => {
                    let flags = self.pattern.get(start..self.at).unwrap_or_default().to_owned();
                    if c == ':' {
                        self.enter(&flags);
                    } else if flags != "(?)" {
                        self.out.push_str(&flags);
                    }
                    return Ok(());
                }
                _ => break,
            }
        }
        Err(self.error("invalid or unsupported Perl syntax", start, self.at))
    }

    /// `{min}`, `{min,}` and `{min,max}`; `None` when the brace stands for itself. Advances only in the first case.
    fn bounds(&mut self) -> Option<(Option<u64>, Option<u64>)> {
        let start = self.at;
        self.next();
        let read = |parser: &mut Self| -> Option<(Option<u64>, Option<u64>)> {
            let min = parser.number()?;
            let max = match parser.next()? {
                '}' => return Some((min, min)),
                ',' if parser.peek()? == '}' => {
                    parser.next();
                    return Some((min, Some(u64::MAX)));
                }
                ',' => parser.number()?,
                _ => return None,
            };
            (parser.next()? == '}').then_some((min, max))
        };
        let bounds = read(self);
        if bounds.is_none() {
            self.at = start;
        }
        bounds
    }

    /// A decimal number without leading zeros; the inner `None` stands for one that is far too large.
    fn number(&mut self) -> Option<Option<u64>> {
        let digits = self.rest().chars().take_while(char::is_ascii_digit).count();
        let text = self.rest().get(..digits).unwrap_or_default();
        if text.is_empty() || (text.len() > 1 && text.starts_with('0')) {
            return None;
        }
        let number = text.parse().ok().filter(|number| *number < 1_000_000_000);
        self.at = self.at.saturating_add(digits);
        Some(number)
    }

    fn counted(&mut self, start: usize, (min, max): (Option<u64>, Option<u64>)) -> Result<(), SyntaxError> {
        let (Some(low), Some(high)) = (min, max) else {
            return Err(self.error("invalid repeat count", start, self.at));
        };
        let open = high == u64::MAX;
        if low > MAX_REPEAT || (!open && (high > MAX_REPEAT || low > high)) {
            return Err(self.error("invalid repeat count", start, self.at));
        }
        let text = self.pattern.get(start..self.at).unwrap_or_default();
        self.out.push_str(text);
        Ok(())
    }

    /// Applies a repetition that has just been read to the last item.
    fn repeat(
        &mut self,
        start: usize,
        last_repeat: Option<usize>,
        bounds: Option<(Option<u64>, Option<u64>)>,
    ) -> Result<(), SyntaxError> {
        if self.peek() == Some('?') {
            self.next();
            self.out.push('?');
        }
        if let Some(last) = last_repeat {
            return Err(self.error("invalid nested repetition operator", last, self.at));
        }
        let Some(item) = &mut self.group.last else {
            return Err(self.error("missing argument to repetition operator", start, self.at));
        };
        match bounds {
            Some((Some(low), Some(high))) => {
                let copies = if high == u64::MAX { low } else { high };
                let all = if high == 0 { 1 } else { copies.max(1).saturating_mul(item.copies.max(1)) };
                let checked = low >= 2 || (high >= 2 && high != u64::MAX);
                *item = Item {
                    copies: all,
                    size: copies.max(1).saturating_mul(item.size).saturating_add(copies),
                };
                if checked && all > MAX_REPEAT {
                    return Err(self.error("invalid repeat count", start, self.at));
                }
            }
            _ => item.size = item.size.saturating_add(2),
        }
        if item_size(&self.group) > MAX_SIZE {
            return Err(self.error("expression too large", 0, self.pattern.len()));
        }
        Ok(())
    }

    /// A character that stands for itself.
    fn literal(&mut self, c: char) {
        escape::push_literal(&mut self.out, c);
        self.group.push(Item { copies: 1, size: 1 });
    }

    fn backslash(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let second = self.rest().chars().nth(1);
        match second {
            Some('A' | 'z' | 'b' | 'B') => {
                self.next();
                self.next();
                self.out.push_str(match second {
                    Some('A') => r"\A",
                    Some('z') => r"\z",
                    // Go's word boundaries know ASCII only.
                    Some('b') => r"(?-u:\b)",
                    _ => r"\B",
                });
                self.group.push(Item { copies: 1, size: 1 });
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
                quoted.chars().for_each(|c| self.literal(c));
                self.at = self.at.saturating_add(length);
            }
            _ => {
                let mut class = String::new();
                if self.class_escape(&mut class)? {
                    self.out.push_str(&format!("[{class}]"));
                    self.group.push(Item { copies: 1, size: 1 });
                } else {
                    let c = self.escape()?;
                    self.out.push_str(&escape::code_point(c));
                    self.group.push(Item { copies: 1, size: 1 });
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

fn item_size(group: &Group) -> u64 {
    group.last.map_or(0, |item| item.size).saturating_add(group.before.size)
}

#[cfg(test)]
mod tests;
