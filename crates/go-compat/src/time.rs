//! `time`: instants, read and written as a layout says.
//!
//! Layouts are in `layout`, days and months in `calendar`, the clocks of places in `zone`.

mod calendar;
mod format;
mod layout;
mod parse;
#[cfg(feature = "zones")]
mod zone;

pub use calendar::{Civil, Date, NANOS, days_in, is_leap};
pub use layout::known as known_layout;
#[cfg(feature = "zones")]
pub use zone::Zone;

use crate::error::GoError;

use format::Formatter;

/// `time.RFC3339`.
pub const RFC3339: &str = "2006-01-02T15:04:05Z07:00";
/// `time.RFC3339Nano`.
pub const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";

/// An instant, and how far the clocks that show it are ahead of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds after those, 0 to 999,999,999.
    pub nanos: i64,
    /// Seconds ahead of UTC.
    pub offset: i64,
}

impl Time {
    /// Parses as `time.Parse` does. A zone's name in the string moves nothing, as in Go where the name is not that of
    /// the local zone.
    ///
    /// # Errors
    /// The string does not have the layout, or there is no such time; in words close to Go's.
    pub fn parse(layout: &str, text: &str) -> Result<Self, GoError> {
        parse::parse(layout, text).map_err(GoError)
    }

    /// Formats as `Time.Format` does. The zone's name stands where the layout has `MST`; its offset, where the name is empty.
    #[must_use]
    pub fn format(&self, layout: &str, zone: &str) -> String {
        let civil = Civil::at(self.seconds, self.offset);
        Formatter { civil, nanos: self.nanos, offset: self.offset, zone }.format(layout)
    }
}
