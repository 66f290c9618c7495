//! A text read as a layout says, as Go's `time.Parse` reads it.

use super::Time;
use super::calendar::{Civil, Date, days_in, is_leap};
use super::format::months;
use super::layout::{self, Field, OffsetLook, Parts};

/// The fields read so far.
#[derive(Default)]
struct Reading {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: i64,
    /// `AM` is false, `PM` true.
    half: Option<bool>,
    /// Seconds ahead of UTC.
    offset: Option<i64>,
    greenwich: bool,
}

pub(super) fn parse(layout: &str, text: &str) -> Result<Time, String> {
    let unreadable = || format!("parsing time \"{text}\" as \"{layout}\": cannot parse");
    let (mut found, mut rest, mut layout_left) = (Reading::default(), text, layout);
    loop {
        let (prefix, field, after) = layout::next(layout_left);
        rest = skip(rest, prefix).ok_or_else(unreadable)?;
        let Some(field) = field else { break };
        layout_left = after;
        rest = found.read(field, rest, after).ok_or_else(unreadable)?;
    }
    if !rest.is_empty() {
        return Err(format!("parsing time \"{text}\": extra text: \"{rest}\""));
    }
    found.instant().ok_or_else(|| format!("parsing time \"{text}\": out of range"))
}

/// Returns what follows a plain text. Any spaces stand for any others, and for none at the end.
fn skip<'t>(mut text: &'t str, mut prefix: &str) -> Option<&'t str> {
    while let Some(first) = prefix.chars().next() {
        if first == ' ' {
            if !text.is_empty() && !text.starts_with(' ') {
                return None;
            }
            prefix = prefix.trim_start_matches(' ');
            text = text.trim_start_matches(' ');
            continue;
        }
        text = text.strip_prefix(first)?;
        prefix = prefix.strip_prefix(first)?;
    }
    Some(text)
}

/// Up to so many digits, or exactly as many, and what follows.
fn digits(text: &str, most: usize, exactly: bool) -> Option<(i64, &str)> {
    let count = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if count == 0 || (exactly && count != most) {
        return None;
    }
    let (number, rest) = text.split_at_checked(count)?;
    Some((number.parse().ok()?, rest))
}

/// The place of the name that a text begins with, in whatever case, and what follows it.
fn name(text: &str, names: impl Iterator<Item = &'static str>) -> Option<(i64, &str)> {
    for (place, name) in names.enumerate() {
        if let Some((start, rest)) = text.split_at_checked(name.len())
            && start.eq_ignore_ascii_case(name)
        {
            return Some((i64::try_from(place).ok()?, rest));
        }
    }
    None
}

fn short(name: &'static str) -> &'static str {
    name.get(..3).unwrap_or(name)
}

const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl Reading {
    /// Reads a field from the beginning of a text; the rest of it.
    fn read<'t>(&mut self, field: Field, text: &'t str, following: &str) -> Option<&'t str> {
        let zero = matches!(
            field,
            Field::ZeroMonth | Field::ZeroDay | Field::ZeroHour12 | Field::ZeroMinute | Field::ZeroSecond
        );
        match field {
            Field::LongMonth | Field::Month => {
                let long = field == Field::LongMonth;
                let names = months().into_iter().map(move |name| if long { name } else { short(name) });
                let (place, rest) = name(text, names)?;
                self.month = Some(place.saturating_add(1));
                Some(rest)
            }
            Field::LongWeekday => Some(name(text, WEEKDAYS.into_iter())?.1),
            Field::Weekday => Some(name(text, WEEKDAYS.into_iter().map(short))?.1),
            Field::NumMonth | Field::ZeroMonth => {
                let (month, rest) = digits(text, 2, zero)?;
                self.month = Some(month).filter(|month| (1..=12).contains(month));
                self.month.map(|_| rest)
            }
            Field::Day | Field::UnderDay | Field::ZeroDay => {
                let text =
                    if field == Field::UnderDay { text.strip_prefix(' ').unwrap_or(text) } else { text };
                let (day, rest) = digits(text, 2, zero)?;
                self.day = Some(day);
                Some(rest)
            }
            Field::UnderYearDay | Field::ZeroYearDay => self.read_year_day(field, text),
            Field::Hour => bounded(text, false, 23, &mut self.hour),
            Field::Hour12 | Field::ZeroHour12 => bounded(text, zero, 12, &mut self.hour),
            Field::Minute | Field::ZeroMinute => bounded(text, zero, 59, &mut self.minute),
            Field::Second | Field::ZeroSecond => {
                let rest = bounded(text, zero, 59, &mut self.second)?;
                self.read_unasked_fraction(rest, following)
            }
            Field::LongYear | Field::Year => self.read_year(field == Field::LongYear, text),
            Field::UpperHalf => self.read_half(text, ["AM", "PM"]),
            Field::LowerHalf => self.read_half(text, ["am", "pm"]),
            Field::ZoneName => self.read_zone_name(text),
            Field::Offset(look) => self.read_offset(look, text),
            Field::Fraction { digits, trimmed, .. } => self.read_fraction(digits, trimmed, text),
        }
    }

    fn read_year<'t>(&mut self, long: bool, text: &'t str) -> Option<&'t str> {
        let (year, rest) = digits(text, if long { 4 } else { 2 }, true)?;
        let century = match year {
            _ if long => 0,
            69.. => 1900,
            _ => 2000,
        };
        self.year = year.saturating_add(century);
        Some(rest)
    }

    fn read_year_day<'t>(&mut self, field: Field, mut text: &'t str) -> Option<&'t str> {
        let under = field == Field::UnderYearDay;
        for _ in 0..2 {
            text = if under { text.strip_prefix(' ').unwrap_or(text) } else { text };
        }
        let (day, rest) = digits(text, 3, !under)?;
        self.year_day = Some(day);
        Some(rest)
    }

    fn read_half<'t>(&mut self, text: &'t str, names: [&str; 2]) -> Option<&'t str> {
        let [morning, evening] = names;
        if let Some(rest) = text.strip_prefix(evening) {
            self.half = Some(true);
            return Some(rest);
        }
        let rest = text.strip_prefix(morning)?;
        // Of several, the afternoon counts.
        self.half = self.half.or(Some(false));
        Some(rest)
    }

    fn read_offset<'t>(&mut self, look: OffsetLook, text: &'t str) -> Option<&'t str> {
        if look.zulu
            && let Some(rest) = text.strip_prefix('Z')
        {
            self.greenwich = true;
            return Some(rest);
        }
        let (sign, mut rest) = text.split_at_checked(1)?;
        let count = match look.parts {
            Parts::Hours => 1,
            Parts::Minutes => 2,
            Parts::Seconds => 3,
        };
        let mut seconds = 0i64;
        for (index, (unit, most)) in [(3_600, 24), (60, 60), (1, 60)].into_iter().take(count).enumerate() {
            if index > 0 && look.colon {
                rest = rest.strip_prefix(':')?;
            }
            let (number, after) = digits(rest, 2, true).filter(|(number, _)| *number <= most)?;
            seconds = seconds.saturating_add(number.saturating_mul(unit));
            rest = after;
        }
        self.offset = match sign {
            "+" => Some(seconds),
            "-" => Some(seconds.saturating_neg()),
            _ => return None,
        };
        Some(rest)
    }

    fn read_zone_name<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        if let Some(rest) = text.strip_prefix("UTC") {
            self.greenwich = true;
            return Some(rest);
        }
        text.get(zone_name_length(text)?..)
    }

    /// A fraction behind the seconds is read even where the layout has none.
    fn read_unasked_fraction<'t>(&mut self, text: &'t str, following: &str) -> Option<&'t str> {
        let fraction =
            text.strip_prefix(['.', ',']).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let asked = matches!(layout::next(following).1, Some(Field::Fraction { .. }));
        let Some(fraction) = fraction.filter(|_| !asked) else { return Some(text) };
        let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
        self.read_nanos(fraction, count)
    }

    fn read_fraction<'t>(&mut self, count: usize, trimmed: bool, text: &'t str) -> Option<&'t str> {
        let fraction = text.strip_prefix(['.', ',']);
        if !trimmed {
            return self.read_nanos(fraction?, count);
        }
        match fraction.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            Some(fraction) => {
                let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
                self.read_nanos(fraction, count)
            }
            None => Some(text),
        }
    }

    /// Nine digits count.
    fn read_nanos<'t>(&mut self, text: &'t str, count: usize) -> Option<&'t str> {
        let (all, rest) = text.split_at_checked(count)?;
        let counted = all.get(..count.min(9))?;
        let number = counted.strip_prefix('+').unwrap_or(counted);
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let zeros = u32::try_from(9usize.saturating_sub(counted.len())).ok()?;
        self.nanos = number.parse::<i64>().ok()?.saturating_mul(10i64.checked_pow(zeros)?);
        Some(rest)
    }

    fn instant(self) -> Option<Time> {
        let hour = match self.half {
            Some(true) if self.hour < 12 => self.hour.saturating_add(12),
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let date = self.date()?;
        let seconds = Civil { date, hour, minute: self.minute, second: self.second }.seconds();
        // A zone's name moves nothing: its clocks are not known, and Go does not use the hours behind `GMT`.
        let offset = self.offset.filter(|_| !self.greenwich).unwrap_or(0);
        Some(Time { seconds: seconds.saturating_sub(offset), nanos: self.nanos, offset })
    }

    fn date(&self) -> Option<Date> {
        let year = self.year;
        let (mut month, mut day) = (self.month, self.day);
        if let Some(number) = self.year_day {
            let length = if is_leap(year) { 366 } else { 365 };
            if !(1..=length).contains(&number) {
                return None;
            }
            let first = Date { year, month: 1, day: 1 }.days();
            let date = Date::of_days(first.saturating_add(number).saturating_sub(1));
            if month.is_some_and(|month| month != date.month) || day.is_some_and(|day| day != date.day) {
                return None;
            }
            (month, day) = (Some(date.month), Some(date.day));
        }
        let (month, day) = (month.unwrap_or(1), day.unwrap_or(1));
        (1..=days_in(month, year)).contains(&day).then_some(Date { year, month, day })
    }
}

/// One or two digits, or exactly two, up to a bound.
fn bounded<'t>(text: &'t str, exactly: bool, most: i64, into: &mut i64) -> Option<&'t str> {
    let (number, rest) = digits(text, 2, exactly)?;
    *into = number;
    (number <= most).then_some(rest)
}

/// The length of the zone's name at the beginning of a text, by the looks of it.
fn zone_name_length(text: &str) -> Option<usize> {
    if text.len() < 3 {
        return None;
    }
    if text.starts_with("ChST") || text.starts_with("MeST") {
        return Some(4);
    }
    if let Some(rest) = text.strip_prefix("GMT") {
        return Some(signed_offset_length(rest).saturating_add(3));
    }
    if text.starts_with(['+', '-']) {
        return Some(signed_offset_length(text)).filter(|length| *length > 0);
    }
    let capitals = text.bytes().take(6).take_while(u8::is_ascii_uppercase).count();
    let ends_in_t = |last: usize| text.as_bytes().get(last) == Some(&b'T');
    match capitals {
        3 => Some(3),
        4 if ends_in_t(3) || text.starts_with("WITA") => Some(4),
        5 if ends_in_t(4) => Some(5),
        _ => None,
    }
}

/// The length of a sign with hours up to 23 behind it; none for what is not.
fn signed_offset_length(text: &str) -> usize {
    let Some(digits) = text.strip_prefix(['+', '-']) else { return 0 };
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let hours = digits.get(..count).and_then(|hours| hours.parse::<u64>().ok());
    if hours.is_some_and(|hours| hours <= 23) { count.saturating_add(1) } else { 0 }
}
