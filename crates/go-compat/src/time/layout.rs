//! Layouts: how Go describes the look of a time, by writing `Mon Jan 2 15:04:05 MST 2006` that way.

/// A part of a layout that stands for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperHalf,
    LowerHalf,
    ZoneName,
    Offset(OffsetLook),
    /// So many digits of a second behind a point or comma, all of them written or without zeros at the end.
    Fraction {
        digits: usize,
        trimmed: bool,
        separator: char,
    },
}

/// The notation of an offset from Greenwich.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OffsetLook {
    /// `Z` for Greenwich itself.
    pub(super) zulu: bool,
    pub(super) colon: bool,
    pub(super) parts: Parts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    Hours,
    Minutes,
    Seconds,
}

/// Returns the layout that a name stands for, or the text itself.
#[must_use]
pub fn known(name: &str) -> &str {
    match name {
        "ANSIC" => "Mon Jan _2 15:04:05 2006",
        "UnixDate" => "Mon Jan _2 15:04:05 MST 2006",
        "RubyDate" => "Mon Jan 02 15:04:05 -0700 2006",
        "RFC822" => "02 Jan 06 15:04 MST",
        "RFC822Z" => "02 Jan 06 15:04 -0700",
        "RFC850" => "Monday, 02-Jan-06 15:04:05 MST",
        "RFC1123" => "Mon, 02 Jan 2006 15:04:05 MST",
        "RFC1123Z" => "Mon, 02 Jan 2006 15:04:05 -0700",
        "RFC3339" => "2006-01-02T15:04:05Z07:00",
        "RFC3339Nano" => "2006-01-02T15:04:05.999999999Z07:00",
        other => other,
    }
}

/// The text before the first field, that field, and the rest; no field in what is only text.
pub(super) fn next(layout: &str) -> (&str, Option<Field>, &str) {
    let mut at = 0usize;
    for character in layout.chars() {
        let rest = layout.get(at..).unwrap_or("");
        let after = at.saturating_add(character.len_utf8());
        if let Some((skipped, field, length)) = field_at(rest) {
            let start = at.saturating_add(skipped);
            let prefix = layout.get(..start).unwrap_or("");
            return (prefix, Some(field), layout.get(start.saturating_add(length)..).unwrap_or(""));
        }
        at = after;
    }
    (layout, None, "")
}

/// The field that a text begins with: what of it is still plain text, the field, and its length.
fn field_at(rest: &str) -> Option<(usize, Field, usize)> {
    let found = |field, length| Some((0, field, length));
    match rest.as_bytes().first()? {
        b'J' | b'M' => word(rest).and_then(|(field, length)| found(field, length)),
        b'0' => zero(rest).and_then(|(field, length)| found(field, length)),
        b'1' if rest.starts_with("15") => found(Field::Hour, 2),
        b'1' => found(Field::NumMonth, 1),
        b'2' if rest.starts_with("2006") => found(Field::LongYear, 4),
        b'2' => found(Field::Day, 1),
        // The underscore before a year is only an underscore.
        b'_' if rest.starts_with("_2006") => Some((1, Field::LongYear, 4)),
        b'_' if rest.starts_with("_2") => found(Field::UnderDay, 2),
        b'_' if rest.starts_with("__2") => found(Field::UnderYearDay, 3),
        b'3' => found(Field::Hour12, 1),
        b'4' => found(Field::Minute, 1),
        b'5' => found(Field::Second, 1),
        b'P' if rest.starts_with("PM") => found(Field::UpperHalf, 2),
        b'p' if rest.starts_with("pm") => found(Field::LowerHalf, 2),
        b'-' | b'Z' => offset(rest).and_then(|(field, length)| found(field, length)),
        b'.' | b',' => fraction(rest).and_then(|(field, length)| found(field, length)),
        _ => None,
    }
}

fn word(rest: &str) -> Option<(Field, usize)> {
    let capital = |length| !rest.as_bytes().get(length).is_some_and(u8::is_ascii_lowercase);
    if rest.starts_with("January") {
        return Some((Field::LongMonth, 7));
    }
    if rest.starts_with("Jan") && capital(3) {
        return Some((Field::Month, 3));
    }
    if rest.starts_with("Monday") {
        return Some((Field::LongWeekday, 6));
    }
    if rest.starts_with("Mon") && capital(3) {
        return Some((Field::Weekday, 3));
    }
    rest.starts_with("MST").then_some((Field::ZoneName, 3))
}

fn zero(rest: &str) -> Option<(Field, usize)> {
    let field = match rest.as_bytes().get(1)? {
        b'1' => Field::ZeroMonth,
        b'2' => Field::ZeroDay,
        b'3' => Field::ZeroHour12,
        b'4' => Field::ZeroMinute,
        b'5' => Field::ZeroSecond,
        b'6' => Field::Year,
        b'0' if rest.starts_with("002") => return Some((Field::ZeroYearDay, 3)),
        _ => return None,
    };
    Some((field, 2))
}

fn offset(rest: &str) -> Option<(Field, usize)> {
    const LOOKS: [(&str, bool, Parts); 5] = [
        ("070000", false, Parts::Seconds),
        ("07:00:00", true, Parts::Seconds),
        ("0700", false, Parts::Minutes),
        ("07:00", true, Parts::Minutes),
        ("07", false, Parts::Hours),
    ];
    let (sign, digits) = rest.split_at_checked(1)?;
    let (text, colon, parts) = LOOKS.into_iter().find(|(text, ..)| digits.starts_with(text))?;
    let look = OffsetLook { zulu: sign == "Z", colon, parts };
    Some((Field::Offset(look), text.len().saturating_add(1)))
}

/// A point or comma with zeros or nines behind it, and no other digit after them.
fn fraction(rest: &str) -> Option<(Field, usize)> {
    let separator = rest.chars().next()?;
    let digit = *rest.as_bytes().get(1).filter(|byte| matches!(byte, b'0' | b'9'))?;
    let digits = rest.bytes().skip(1).take_while(|byte| *byte == digit).count();
    let length = digits.saturating_add(1);
    if rest.as_bytes().get(length).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Some((Field::Fraction { digits, trimmed: digit == b'9', separator }, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_between_plain_text() {
        assert_eq!(next("a_2006"), ("a_", Some(Field::LongYear), ""));
        assert_eq!(next("Monitor 2"), ("Monitor ", Some(Field::Day), ""));
        assert_eq!(next("é.05").1, Some(Field::ZeroSecond));
    }
}
