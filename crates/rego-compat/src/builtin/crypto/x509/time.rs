//! Times in certificates: the layouts that DER allows, and RFC 3339 as JSON shows it.

use go_compat::time::{Civil, RFC3339_NANO, Time};

use crate::value::Value;

use super::der::{self, Reader};
use crate::builtin::operand::CallError;

/// Returns the seconds since 1970, and the seconds that the clock it is given by is ahead of UTC.
pub(super) fn moment(reader: &mut Reader<'_>) -> Result<(i64, i64), CallError> {
    let text = |content: &[u8]| String::from_utf8(content.to_vec()).map_err(|_| CallError::Failed);
    if reader.peeks(der::UTC_TIME) {
        let text = text(reader.read(der::UTC_TIME)?.0)?;
        return exactly("060102150405Z0700", &text)
            .or_else(|| exactly("0601021504Z0700", &text))
            .map(|(seconds, offset)| (of_last_century(seconds, offset), offset))
            .ok_or(CallError::Failed);
    }
    let text = text(reader.read(der::GENERALIZED_TIME)?.0)?;
    exactly("20060102150405Z0700", &text).ok_or(CallError::Failed)
}

/// Returns the seconds since 1970, and the offset, of a string that is exactly what the layout makes of them.
fn exactly(layout: &str, text: &str) -> Option<(i64, i64)> {
    let time = Time::parse(layout, text).ok()?;
    (time.format(layout, "") == text).then_some((time.seconds, time.offset))
}

/// Years of two digits from 50 on are those of the last century.
fn of_last_century(seconds: i64, offset: i64) -> i64 {
    let civil = Civil::at(seconds, offset);
    if civil.date.year < 2050 {
        return seconds;
    }
    civil.plus(-100, 0, 0).map_or(seconds, |earlier| earlier.seconds().saturating_sub(offset))
}

/// Returns a time in RFC 3339.
pub(super) fn shown((seconds, offset): (i64, i64)) -> Value {
    Value::from(Time { seconds, nanos: 0, offset }.format(RFC3339_NANO, ""))
}
