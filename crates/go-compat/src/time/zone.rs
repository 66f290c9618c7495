//! Time zones: which clocks a name stands for, from the database of time zones.

use chrono::{DateTime, Offset, TimeZone, Utc};
use chrono_tz::{OffsetName, Tz};

use crate::error::GoError;

use super::calendar::{Civil, Date};

/// The database's rules are written out up to here; later years repeat earlier ones that are as long, and begin on
/// the same day of the week.
const LAST_YEAR: i64 = 2_099;
const REPEATED: i64 = 2_060;
const DAY: i64 = 86_400;

/// A place's clocks.
#[derive(Clone, Copy, Debug)]
pub struct Zone(Option<Tz>);

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Self = Self(None);

    /// Returns the zone of a name, as `time.LoadLocation` does. `Local` is taken for UTC: an answer must
    /// not depend on where it is asked.
    ///
    /// # Errors
    /// The database has no such zone; in the words of `time.LoadLocation`.
    pub fn named(name: &str) -> Result<Self, GoError> {
        match name {
            "" | "UTC" | "Local" => Ok(Self::UTC),
            name => {
                let zone: Tz = name.parse().map_err(|_| GoError(format!("unknown time zone {name}")))?;
                Ok(Self(Some(zone)))
            }
        }
    }

    /// Returns how many seconds the clocks are ahead of UTC at a time in seconds since 1970.
    #[must_use]
    pub fn offset_at(self, seconds: i64) -> i64 {
        let Some(zone) = self.0 else { return 0 };
        let offset = zone.offset_from_utc_datetime(&instant(zone, seconds).naive_utc());
        i64::from(offset.fix().local_minus_utc())
    }

    /// Returns the name of the time kept then, for example `CEST`; empty if it has none.
    #[must_use]
    pub fn abbreviation_at(self, seconds: i64) -> String {
        let Some(zone) = self.0 else { return "UTC".to_owned() };
        let offset = zone.offset_from_utc_datetime(&instant(zone, seconds).naive_utc());
        offset.abbreviation().unwrap_or_default().to_owned()
    }

    /// Returns the seconds since 1970 at which clocks show this; of two, or of none, the ones Go chooses.
    #[must_use]
    pub fn instant_of(self, civil: Civil) -> i64 {
        let local = civil.seconds();
        let guess = self.offset_at(local);
        if guess == 0 { local } else { local.saturating_sub(self.offset_at(local.saturating_sub(guess))) }
    }
}

/// The instant, or one before the last known year at which the same rules hold.
fn instant(zone: Tz, seconds: i64) -> DateTime<Utc> {
    let year = Date::of_days(seconds.div_euclid(DAY)).year;
    if year <= LAST_YEAR {
        return at(seconds);
    }
    if is_steady(zone) {
        return at(first_day(LAST_YEAR).saturating_mul(DAY));
    }
    let length = |year| first_day(i64::saturating_add(year, 1)).saturating_sub(first_day(year));
    let alike = |candidate: &i64| {
        first_day(*candidate).rem_euclid(7) == first_day(year).rem_euclid(7)
            && length(*candidate) == length(year)
    };
    let earlier = (REPEATED..LAST_YEAR).rev().find(alike).unwrap_or(LAST_YEAR);
    let shift = first_day(year).saturating_sub(first_day(earlier)).saturating_mul(DAY);
    at(seconds.saturating_sub(shift))
}

/// Returns true if the clocks are not put forward and back in the last year.
fn is_steady(zone: Tz) -> bool {
    let first = first_day(LAST_YEAR);
    let offset = |week: i64| {
        let day = first.saturating_add(week.saturating_mul(7));
        zone.offset_from_utc_datetime(&at(day.saturating_mul(DAY)).naive_utc()).fix()
    };
    (1..52).all(|week| offset(week) == offset(0))
}

fn first_day(year: i64) -> i64 {
    Date { year, month: 1, day: 1 }.days()
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    /// The expected values are those of Go 1.26.
    #[test]
    fn a_time_without_a_name_is_formatted_as_its_offset_and_rules_go_on_for_ever() {
        let at = |name: &str, seconds| {
            let zone = Zone::named(name).unwrap();
            let time = Time { seconds, nanos: 0, offset: zone.offset_at(seconds) };
            (time.offset, time.format("MST", &zone.abbreviation_at(seconds)))
        };
        for (name, seconds, offset, abbreviation) in [
            ("Europe/Berlin", 1_752_000_000, 7_200, "CEST"),
            ("Asia/Singapore", 165_673_998, 27_000, "+0730"),
            ("Asia/Singapore", 1_752_000_000, 28_800, "+08"),
            ("America/Sao_Paulo", 1_752_000_000, -10_800, "-03"),
            ("Europe/Berlin", 157_785_753_600, 3_600, "CET"),
            ("Europe/Berlin", 157_801_305_600, 7_200, "CEST"),
            ("Europe/Berlin", -60_000_000_000, 3_208, "LMT"),
        ] {
            assert_eq!(at(name, seconds), (offset, abbreviation.to_owned()), "{name} {seconds}");
        }
    }

    #[test]
    fn names_are_those_of_the_database() {
        assert_eq!(Zone::named("Local").unwrap().abbreviation_at(0), "UTC");
        for name in ["europe/berlin", "utc", "Etc/Unknown", "Mars/Olympus"] {
            assert_eq!(Zone::named(name).unwrap_err().to_string(), format!("unknown time zone {name}"));
        }
    }
}
