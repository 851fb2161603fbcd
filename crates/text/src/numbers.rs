//! Formats numbers and times for readers.

use std::time::Duration;

/// Formats a count with thousands separators: `12,345`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();

    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }

    out
}

/// Formats a count with its noun: `1 file`, `2 files`, `2 queries`.
pub fn plural(n: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if n == 1 => format!("1 {noun}"),
        Some(stem) => format!("{} {stem}ies", count(n)),
        None => format!("{} {noun}s", count(n)),
    }
}

/// Formats a size: `734 B`, `1.2 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }

    let mut value = n as f64 / 1024.0;
    let mut unit = 0;

    // `1.0 MiB` is shorter than `1000.0 KiB`, so the next unit begins at 1,000.
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }

    format!("{value:.1} {}", UNITS[unit])
}

/// Formats a duration: `12 ms`, `3.4 s`, `2 min 05 s`, `3 h 12 min`.
pub fn duration(duration: Duration) -> String {
    let (ms, s) = (duration.as_millis(), duration.as_secs());
    match s {
        _ if ms < 1000 => format!("{ms} ms"),
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} min", s / 3600, s / 60 % 60),
    }
}

/// Formats the age of `then`: `3 minutes ago`. Both times are in seconds since 1970.
pub fn ago(then: u64, now: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let seconds = now.saturating_sub(then);

    match UNITS.iter().find(|(length, _)| seconds >= *length) {
        Some((length, unit)) => format!("{} ago", plural(seconds / length, unit)),
        None => "just now".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_for_people() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([bytes(1023), bytes(1024), bytes(1_300_000)], ["1023 B", "1.0 KiB", "1.2 MiB"]);
        assert_eq!(
            [plural(1, "query"), plural(2, "query"), plural(1000, "file")],
            ["1 query", "2 queries", "1,000 files"]
        );
    }

    #[test]
    fn times_are_formatted_for_people() {
        let shown = [5, 3400, 125_000, 11_520_000].map(|ms| duration(Duration::from_millis(ms)));
        assert_eq!(shown, ["5 ms", "3.4 s", "2 min 05 s", "3 h 12 min"]);
        assert_eq!([ago(10, 10), ago(10, 11), ago(10, 200)], ["just now", "1 second ago", "3 minutes ago"]);
    }
}
