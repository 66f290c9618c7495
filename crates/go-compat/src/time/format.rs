//! An instant, written as a layout says.

use super::calendar::Civil;
use super::layout::{self, Field, OffsetLook, Parts};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// English names of the months, January first.
pub(super) const fn months() -> [&'static str; 12] {
    MONTHS
}

/// A time with the clocks that show it.
pub(super) struct Formatter<'a> {
    pub(super) civil: Civil,
    pub(super) nanos: i64,
    pub(super) offset: i64,
    pub(super) zone: &'a str,
}

impl Formatter<'_> {
    pub(super) fn format(&self, layout: &str) -> String {
        let (mut out, mut rest) = (String::new(), layout);
        loop {
            let (prefix, field, after) = layout::next(rest);
            out.push_str(prefix);
            let Some(field) = field else { return out };
            out.push_str(&self.field(field));
            rest = after;
        }
    }

    fn field(&self, field: Field) -> String {
        let Civil { date, hour, minute, second } = self.civil;
        let month = MONTHS.get(usize::try_from(date.month.saturating_sub(1)).unwrap_or(0)).copied();
        let short = |name: Option<&'static str>| name.and_then(|name| name.get(..3)).unwrap_or("").to_owned();
        let half = if hour % 12 == 0 { 12 } else { hour % 12 };
        match field {
            Field::LongMonth => month.unwrap_or("").to_owned(),
            Field::Month => short(month),
            Field::NumMonth => date.month.to_string(),
            Field::ZeroMonth => format!("{:02}", date.month),
            Field::LongWeekday => date.weekday().to_owned(),
            Field::Weekday => short(Some(date.weekday())),
            Field::Day => date.day.to_string(),
            Field::UnderDay => format!("{:2}", date.day),
            Field::ZeroDay => format!("{:02}", date.day),
            Field::UnderYearDay => format!("{:3}", date.year_day()),
            Field::ZeroYearDay => format!("{:03}", date.year_day()),
            Field::Hour => format!("{hour:02}"),
            Field::Hour12 => half.to_string(),
            Field::ZeroHour12 => format!("{half:02}"),
            Field::Minute => minute.to_string(),
            Field::ZeroMinute => format!("{minute:02}"),
            Field::Second => second.to_string(),
            Field::ZeroSecond => format!("{second:02}"),
            Field::LongYear => format!("{:04}", date.year),
            Field::Year => format!("{:02}", date.year.rem_euclid(100)),
            Field::UpperHalf => if hour >= 12 { "PM" } else { "AM" }.to_owned(),
            Field::LowerHalf => if hour >= 12 { "pm" } else { "am" }.to_owned(),
            Field::ZoneName => self.zone_name(),
            Field::Offset(look) => self.offset(look),
            Field::Fraction { digits, trimmed, separator } => self.fraction(digits, trimmed, separator),
        }
    }

    /// The zone's name, or its offset where it has none.
    fn zone_name(&self) -> String {
        if !self.zone.is_empty() {
            return self.zone.to_owned();
        }
        let minutes = self.offset.abs() / 60;
        let sign = if self.offset < 0 { '-' } else { '+' };
        let rest = if minutes % 60 == 0 { String::new() } else { format!("{:02}", minutes % 60) };
        format!("{sign}{:02}{rest}", minutes / 60)
    }

    fn offset(&self, look: OffsetLook) -> String {
        if look.zulu && self.offset == 0 {
            return "Z".to_owned();
        }
        // Whole minutes decide about the sign.
        let sign = if self.offset / 60 < 0 { '-' } else { '+' };
        let minutes = self.offset.abs() / 60;
        let colon = if look.colon { ":" } else { "" };
        let mut out = format!("{sign}{:02}", minutes / 60);
        if look.parts != Parts::Hours {
            out.push_str(&format!("{colon}{:02}", minutes % 60));
        }
        if look.parts == Parts::Seconds {
            out.push_str(&format!("{colon}{:02}", self.offset.abs() % 60));
        }
        out
    }

    fn fraction(&self, digits: usize, trimmed: bool, separator: char) -> String {
        let all = format!("{:09}", self.nanos);
        // Nanoseconds have nine digits, however many are asked for.
        let shown = all.get(..digits.min(9)).unwrap_or("");
        let shown = if trimmed { shown.trim_end_matches('0') } else { shown };
        if trimmed && shown.is_empty() { String::new() } else { format!("{separator}{shown}") }
    }
}
