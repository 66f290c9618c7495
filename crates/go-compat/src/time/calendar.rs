//! Days, months and years of the Gregorian calendar, and the clock. Zones are in `zone`.

/// Nanoseconds in a second.
pub const NANOS: i64 = 1_000_000_000;
const DAY: i64 = 86_400;
/// Years after which the calendar repeats, and their days.
const ERA: i64 = 400;
const ERA_DAYS: i64 = 146_097;
/// Days from the first of March of the year 0 to 1970.
const EPOCH: i64 = 719_468;
/// Far beyond any instant in 64 bits of nanoseconds.
const MOST_YEARS: i64 = 1 << 40;

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// The year; 0 is the one before 1.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
}

/// Returns true for years with 366 days.
#[must_use]
pub const fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// Returns the days of a month from 1 to 12.
#[must_use]
pub const fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Date {
    /// Returns the day so many days after 1970 began. Years are counted from March, so that leap days come last.
    #[must_use]
    pub fn of_days(days: i64) -> Self {
        let days = days.saturating_add(EPOCH);
        let (era, within) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
        let leaps = (within / 1_460).saturating_sub(within / 36_524).saturating_add(within / 146_096);
        let year = within.saturating_sub(leaps) / 365;
        let before = days_of_years(year);
        let in_year = within.saturating_sub(before);
        let shifted = in_year.saturating_mul(5).saturating_add(2) / 153;
        let month = if shifted < 10 { shifted.saturating_add(3) } else { shifted.saturating_sub(9) };
        let day = in_year.saturating_sub(days_of_months(shifted)).saturating_add(1);
        let year = year.saturating_add(era.saturating_mul(ERA)).saturating_add(i64::from(month <= 2));
        Self { year, month, day }
    }

    /// Returns the number of days since 1970 began.
    #[must_use]
    pub fn days(self) -> i64 {
        let year = self.year.saturating_sub(i64::from(self.month <= 2));
        let shifted =
            if self.month > 2 { self.month.saturating_sub(3) } else { self.month.saturating_add(9) };
        let eras = year.div_euclid(ERA).saturating_mul(ERA_DAYS);
        let within = days_of_years(year.rem_euclid(ERA)).saturating_add(days_of_months(shifted));
        eras.saturating_add(within).saturating_add(self.day).saturating_sub(1).saturating_sub(EPOCH)
    }

    /// Returns the number of the day in its year, from 1.
    #[must_use]
    pub fn year_day(self) -> i64 {
        let first = Self { month: 1, day: 1, ..self };
        self.days().saturating_sub(first.days()).saturating_add(1)
    }

    /// Returns the English name of the day of the week.
    #[must_use]
    pub fn weekday(self) -> &'static str {
        const NAMES: [&str; 7] =
            ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
        let index = usize::try_from(self.days().rem_euclid(7)).unwrap_or(0);
        NAMES.get(index).copied().unwrap_or("")
    }
}

/// Days in so many years of an era.
const fn days_of_years(years: i64) -> i64 {
    years.saturating_mul(365).saturating_add(years / 4).saturating_sub(years / 100)
}

/// Days in so many months from March on.
const fn days_of_months(months: i64) -> i64 {
    months.saturating_mul(153).saturating_add(2) / 5
}

/// A day and a time of day, in some zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The day.
    pub date: Date,
    /// 0 to 23.
    pub hour: i64,
    /// 0 to 59.
    pub minute: i64,
    /// 0 to 59.
    pub second: i64,
}

impl Civil {
    /// Returns the clocks at a time in seconds since 1970, so many seconds ahead of UTC.
    #[must_use]
    pub fn at(seconds: i64, offset: i64) -> Self {
        let seconds = seconds.saturating_add(offset);
        let clock = seconds.rem_euclid(DAY);
        Self {
            date: Date::of_days(seconds.div_euclid(DAY)),
            hour: clock / 3_600,
            minute: clock / 60 % 60,
            second: clock % 60,
        }
    }

    /// Returns the seconds since 1970, if the zone is UTC.
    #[must_use]
    pub fn seconds(&self) -> i64 {
        let clock = self.hour.saturating_mul(3_600).saturating_add(self.minute.saturating_mul(60));
        self.date.days().saturating_mul(DAY).saturating_add(clock).saturating_add(self.second)
    }

    /// Returns the time so many years, months and days later; a day beyond the end of a month is one of the next.
    #[must_use]
    pub fn plus(&self, years: i64, months: i64, days: i64) -> Option<Self> {
        let months = self.date.month.checked_sub(1)?.checked_add(months)?;
        let year = self.date.year.checked_add(years)?.checked_add(months.div_euclid(12))?;
        if year.abs() > MOST_YEARS || days.abs() > MOST_YEARS {
            return None;
        }
        let first = Date { year, month: months.rem_euclid(12).saturating_add(1), day: 1 };
        let day = self.date.day.saturating_sub(1).saturating_add(days);
        Some(Self { date: Date::of_days(first.days().saturating_add(day)), ..*self })
    }

    /// Returns the years, months, days, hours, minutes and seconds until a later one.
    #[must_use]
    pub fn until(&self, later: &Self) -> [i64; 6] {
        let mut year = later.date.year.saturating_sub(self.date.year);
        let mut month = later.date.month.saturating_sub(self.date.month);
        let mut day = later.date.day.saturating_sub(self.date.day);
        let mut hour = later.hour.saturating_sub(self.hour);
        let mut minute = later.minute.saturating_sub(self.minute);
        let mut second = later.second.saturating_sub(self.second);
        borrow(&mut second, &mut minute, 60);
        borrow(&mut minute, &mut hour, 60);
        borrow(&mut hour, &mut day, 24);
        borrow(&mut day, &mut month, days_in(self.date.month, self.date.year));
        borrow(&mut month, &mut year, 12);
        [year, month, day, hour, minute, second]
    }
}

fn borrow(part: &mut i64, larger: &mut i64, size: i64) {
    if *part < 0 {
        *part = part.saturating_add(size);
        *larger = larger.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for days in (-800_000..800_000).step_by(97) {
            let date = Date::of_days(days);
            assert_eq!(date.days(), days, "{date:?}");
            assert!((1..=days_in(date.month, date.year)).contains(&date.day), "{date:?}");
        }
        assert_eq!(Date::of_days(0), Date { year: 1970, month: 1, day: 1 });
        assert_eq!(Date { year: 2020, month: 2, day: 29 }.year_day(), 60);
    }
}
