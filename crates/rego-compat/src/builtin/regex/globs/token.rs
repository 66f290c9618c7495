//! Patterns of `regex.globs_match` as tokens. What is not refused here is a pattern to OPA, too.

/// The repetition of a token's characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    Once,
    /// `+`
    Some,
    /// `*`
    Any,
}

/// One element of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Token {
    /// Ranges of characters in order, none touching another.
    ranges: Ranges,
    /// Two tokens are the same only if they are written in the same way.
    kind: Kind,
    pub(super) repeat: Repeat,
}

type Ranges = Vec<(u32, u32)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Character,
    Dot,
    Class,
}

impl Token {
    fn new(kind: Kind, ranges: Ranges) -> Self {
        Self { ranges, kind, repeat: Repeat::Once }
    }

    /// Returns true if a character fits both. A dot fits any class, even an empty one.
    pub(super) fn meets(&self, other: &Self) -> bool {
        if self.kind == Kind::Dot || other.kind == Kind::Dot {
            return true;
        }
        let (mut mine, mut theirs) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some((low, high)), Some((least, most))) = (mine.peek(), theirs.peek()) {
            if low <= most && least <= high {
                return true;
            }
            if high < least {
                mine.next()
            } else {
                theirs.next()
            };
        }
        false
    }

    fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.ranges == other.ranges
    }
}

/// Returns the tokens of a pattern; repetitions of equal tokens that follow one another are one.
pub(super) fn tokens(pattern: &str) -> Option<Vec<Token>> {
    let mut reader = Reader { rest: pattern };
    let mut tokens: Vec<Token> = Vec::new();
    while !reader.rest.is_empty() {
        let token = reader.token()?;
        match tokens.last_mut() {
            Some(last)
                if last.repeat != Repeat::Once && token.repeat != Repeat::Once && last.is_like(&token) =>
            {
                if token.repeat == Repeat::Some {
                    last.repeat = Repeat::Some;
                }
            }
            _ => tokens.push(token),
        }
    }
    Some(tokens)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// Returns a character, and whether a backslash stood before it; none at the end, and for a backslash there.
    fn next(&mut self) -> Option<(char, bool)> {
        let mut characters = self.rest.chars();
        let first = characters.next()?;
        let read = if first == '\\' { (characters.next()?, true) } else { (first, false) };
        self.rest = characters.as_str();
        Some(read)
    }

    fn token(&mut self) -> Option<Token> {
        let mut token = match self.next()? {
            ('.', false) => Token::new(Kind::Dot, Vec::new()),
            ('[', false) => self.class()?,
            (']' | '*' | '+', false) => return None,
            (character, _) => Token::new(Kind::Character, vec![(character.into(), character.into())]),
        };
        token.repeat = match self.rest.chars().next() {
            Some('+') => Repeat::Some,
            Some('*') => Repeat::Any,
            // A backslash that nothing follows is found here.
            Some('\\') if self.rest.len() == 1 => return None,
            _ => return Some(token),
        };
        self.next();
        Some(token)
    }

    /// Parses what follows `[`.
    fn class(&mut self) -> Option<Token> {
        let (mut ranges, mut previous) = (Vec::new(), None);
        loop {
            match self.next()? {
                (']', false) => return Some(Token::new(Kind::Class, merged(ranges))),
                ('-', false) => {
                    let low: char = previous.take()?;
                    // OPA wants more than one character here.
                    self.rest.chars().nth(1)?;
                    let high = match self.next()? {
                        (']' | '-', false) => return None,
                        (high, _) => high,
                    };
                    if high < low {
                        return None;
                    }
                    ranges.push((u32::from(low), u32::from(high)));
                }
                (character, _) => {
                    ranges.push((character.into(), character.into()));
                    previous = Some(character);
                }
            }
        }
    }
}

fn merged(mut ranges: Ranges) -> Ranges {
    ranges.sort_unstable();
    let mut merged: Ranges = Vec::new();
    for (low, high) in ranges {
        match merged.last_mut() {
            Some((_, last)) if low <= last.saturating_add(1) => *last = high.max(*last),
            _ => merged.push((low, high)),
        }
    }
    merged
}
