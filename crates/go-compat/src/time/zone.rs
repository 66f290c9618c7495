//! Time zones: which clocks a name stands for, from the database of time zones.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::calendar::Civil;

/// The database that is part of the program: an answer must not depend on the machine that gives it.
static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A place's clocks. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// Returns the zone of a name, as `time.LoadLocation` does. `Local` is taken for UTC: an answer must
    /// not depend on where it is asked.
    ///
    /// # Errors
    /// The database has no such zone; in the words of `time.LoadLocation`.
    pub fn named(name: &str) -> Result<Self, String> {
        if matches!(name, "" | "UTC" | "Local") {
            return Ok(Self::UTC);
        }
        // Go distinguishes upper from lower case, and knows no zone for times that have none.
        let found = DATABASE.get(name).ok();
        let found = found.filter(|zone| zone.iana_name() == Some(name) && !zone.is_unknown());
        found.map(Self).ok_or_else(|| format!("unknown time zone {name}"))
    }

    /// Returns how many seconds the clocks are ahead of UTC at a time in seconds since 1970.
    #[must_use]
    pub fn offset_at(&self, seconds: i64) -> i64 {
        i64::from(self.0.to_offset(at(seconds)).seconds())
    }

    /// Returns the name of the time kept then, for example `CEST`.
    #[must_use]
    pub fn abbreviation_at(&self, seconds: i64) -> String {
        self.0.to_offset_info(at(seconds)).abbreviation().to_owned()
    }

    /// Returns the seconds since 1970 at which clocks show this; of two, or of none, the ones Go chooses.
    #[must_use]
    pub fn instant_of(&self, civil: Civil) -> i64 {
        let local = civil.seconds();
        let guess = self.offset_at(local);
        if guess == 0 { local } else { local.saturating_sub(self.offset_at(local.saturating_sub(guess))) }
    }
}

/// The time, or the first or the last that there are rules for, in the years -9999 and 9999.
fn at(seconds: i64) -> Timestamp {
    let known = seconds.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(known).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are those of Go 1.26.
    #[test]
    fn a_time_without_a_name_has_its_offset_as_one_and_rules_go_on_for_ever() {
        let at = |name: &str, seconds| {
            let zone = Zone::named(name).unwrap();
            (zone.offset_at(seconds), zone.abbreviation_at(seconds))
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
            assert_eq!(Zone::named(name).unwrap_err(), format!("unknown time zone {name}"));
        }
    }
}
