//! Wall-clock seconds, for messages and for garbage collection by age. No search result depends on them.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// Seconds since 1970; 0 for a clock before that.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// Formats seconds since 1970 as RFC 3339 in UTC, for example `2026-11-21T10:00:00Z`. Later times are clamped
/// to the year 9999.
pub fn rfc3339(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX).to_string()
}

/// Formats a time as [`rfc3339`] does, with milliseconds: `2026-11-21T10:00:00.042Z`.
pub fn rfc3339_with_milliseconds(at: SystemTime) -> String {
    let at = Timestamp::try_from(at).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_around_leap_days() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_795_300_000), "2026-11-21T22:26:40Z");
        assert_eq!(rfc3339(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn milliseconds_have_three_digits() {
        let at = |ms| rfc3339_with_milliseconds(UNIX_EPOCH + std::time::Duration::from_micros(ms));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399_042_900), "2000-02-28T23:59:59.042Z");
    }
}
