//! Numbers as people read them.

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
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
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
}
