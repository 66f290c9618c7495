//! The features of a string, and the quotes that they require. Source: the emitter of `go.yaml.in/yaml/v3`.

use go_compat::yaml::{Resolved, Words, is_break, old_bool, plain};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// The features of a string that require quotes.
#[derive(Default)]
pub(super) struct Features {
    indicators: bool,
    line_breaks: bool,
    tabs: bool,
    special: bool,
    space_at_start: bool,
    space_at_end: bool,
    break_at_an_end: bool,
    break_before_space: bool,
    space_before_break: bool,
}

impl Features {
    pub(super) fn of(text: &str) -> Self {
        let mut features =
            Self { indicators: text.starts_with("---") || text.starts_with("..."), ..Self::default() };
        let (mut before, mut characters) = (None, text.chars().peekable());
        while let Some(character) = characters.next() {
            let following = characters.peek().copied();
            features.see(before, character, following);
            before = Some(character);
        }
        features
    }

    fn see(&mut self, before: Option<char>, character: char, following: Option<char>) {
        let blank_follows = following.is_none_or(|following| matches!(following, ' ' | '\t'));
        let blank_before =
            before.is_none_or(|before| matches!(before, ' ' | '\t' | '\0') || is_break(before));
        self.indicators |= match character {
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
            | '`'
                if before.is_none() =>
            {
                true
            }
            '?' | '-' => before.is_none() && blank_follows,
            ':' => blank_follows,
            '#' => blank_before,
            _ => false,
        };
        self.tabs |= character == '\t';
        self.special |= character != '\t' && !is_printable(character);
        if character == ' ' {
            self.space_at_start |= before.is_none();
            self.space_at_end |= following.is_none();
            self.break_before_space |= before.is_some_and(is_break);
        } else if is_break(character) {
            self.line_breaks = true;
            self.break_at_an_end |= before.is_none() || following.is_none();
            self.space_before_break |= before == Some(' ');
        }
    }

    pub(super) fn style(&self, text: &str, is_key: bool) -> Style {
        let hard = self.space_before_break || self.special;
        let wanted = match () {
            () if text.contains('\n') => Style::Literal,
            () if stays_text(text) => Style::Plain,
            () => Style::Double,
        };
        let wanted = if is_key && self.line_breaks { Style::Double } else { wanted };
        let needs_quotes = self.space_at_start
            || self.space_at_end
            || self.break_at_an_end
            || self.break_before_space
            || self.line_breaks
            || self.tabs
            || self.indicators
            || hard;
        match wanted {
            Style::Plain if !needs_quotes => Style::Plain,
            Style::Plain if self.break_before_space || self.tabs || hard => Style::Double,
            Style::Plain => Style::Single,
            Style::Literal if hard || self.space_at_end || is_key => Style::Double,
            wanted => wanted,
        }
    }
}

/// Returns true if a plain word would be read as the text it is, by this reader and by older ones.
fn stays_text(text: &str) -> bool {
    old_bool(text).is_none()
        && !is_sexagesimal(text)
        && matches!(plain(text, Words::Yaml12), Resolved::String(_) | Resolved::Merge)
}

/// Numbers of base 60, such as `12:30`.
fn is_sexagesimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or("");
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let minutes = |part: &str| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    whole.contains(':')
        && first.starts_with(|first: char| first.is_ascii_digit())
        && digits(first)
        && parts.all(minutes)
        && digits(fraction)
}

/// Returns true if the encoder takes a character for printable; it takes none of four bytes of UTF-8 for it.
pub(super) const fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && character != '\u{feff}'
}
