//! Repetitions: `*`, `+`, `?` and counts, each with or without a `?` that turns its greed round.

use super::{Group, Parser, SyntaxError};

/// Repetitions multiply; Go accepts at most this many copies of anything.
const MAX_REPEAT: u64 = 1000;
/// Go's bound on the size of a compiled program, in instructions.
const MAX_SIZE: u64 = 3_355_443;

impl<'p> Parser<'p> {
    /// `{min}`, `{min,}` and `{min,max}`; `None` when the brace stands for itself. Advances only in the first case.
    pub(super) fn bounds(&mut self) -> Option<(Option<u64>, Option<u64>)> {
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

    pub(super) fn counted(
        &self,
        start: usize,
        (min, max): (Option<u64>, Option<u64>),
    ) -> Result<&'p str, SyntaxError> {
        let (Some(low), Some(high)) = (min, max) else {
            return Err(self.error("invalid repeat count", start, self.at));
        };
        let open = high == u64::MAX;
        if low > MAX_REPEAT || (!open && (high > MAX_REPEAT || low > high)) {
            return Err(self.error("invalid repeat count", start, self.at));
        }
        Ok(self.pattern.get(start..self.at).unwrap_or_default())
    }

    /// Applies a repetition that has just been read to the last item.
    pub(super) fn repeat(
        &mut self,
        start: usize,
        last_repeat: Option<usize>,
        operator: &str,
        bounds: Option<(Option<u64>, Option<u64>)>,
    ) -> Result<(), SyntaxError> {
        let is_marked = self.peek() == Some('?');
        if is_marked {
            self.next();
        }
        let lazy = if is_marked == self.lazy { "" } else { "?" };
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
                item.copies = all;
                item.size = copies.max(1).saturating_mul(item.size).saturating_add(copies);
                if checked && all > MAX_REPEAT {
                    return Err(self.error("invalid repeat count", start, self.at));
                }
            }
            _ => item.size = item.size.saturating_add(2),
        }
        if item_size(&self.group) > MAX_SIZE {
            return Err(self.error("expression too large", 0, self.pattern.len()));
        }
        self.write_repetition(&format!("{operator}{lazy}"));
        Ok(())
    }

    /// Writes a repetition behind the last item, in front of flags that stand between them.
    fn write_repetition(&mut self, operator: &str) {
        let Some(item) = &mut self.group.last else { return };
        if item.repetition {
            self.out.insert(item.end, ')');
            self.out.insert_str(item.start, "(?:");
            item.end = item.end.saturating_add("(?:)".len());
        }
        self.out.insert_str(item.end, operator);
        item.end = item.end.saturating_add(operator.len());
        item.repetition = true;
    }
}

fn item_size(group: &Group) -> u64 {
    group.last.map_or(0, |item| item.size).saturating_add(group.before.size)
}
