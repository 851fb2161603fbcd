//! Parts of the compact text of answers that several tools share.

use codeweaver::query::view::{Freshness, MatchState};

/// Lower bound of the number of tokens of a line with a name.
pub const MIN_LINE_TOKENS: usize = 4;

/// The last line of an answer that has a continuation.
pub fn more(cursor: &str) -> String {
    format!("more: cursor {cursor:?}\n")
}

/// The freshness of an answer that may not show the present state, in brackets after a blank; empty for a
/// present one.
pub fn unless_fresh(freshness: Freshness) -> String {
    if is_current(freshness) { String::new() } else { format!(" [{}]", name_of(freshness)) }
}

/// Returns whether an answer of this freshness shows the present state.
pub fn is_current(freshness: Freshness) -> bool {
    matches!(freshness, Freshness::Fresh | Freshness::Overlaid | Freshness::Synced)
}

/// The warning of an answer without any of its `n` items, because the first alone needs `needed` tokens.
pub fn no_room(item: &str, n: usize, needed: u32) -> String {
    let items = if n == 1 { item.to_owned() } else { format!("{item}s") };
    format!("{n} {items} found; token_limit is too small for the first, which needs {needed}")
}

/// The day, in UTC, of a time in seconds since 1970.
pub fn day(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map(|time| time.strftime("%Y-%m-%d").to_string())
        .unwrap_or_default()
}

/// The name of a freshness in structured content.
pub fn name_of(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Fresh => "fresh",
        Freshness::Synced => "synced",
        Freshness::Overlaid => "overlaid",
        Freshness::SkippedIndexing => "skipped_indexing",
        Freshness::Stale => "stale",
    }
}

/// The state of a file as a suffix; empty for committed files.
pub fn state_of(state: MatchState) -> &'static str {
    match state {
        MatchState::Committed => "",
        MatchState::Staged => ", staged",
        MatchState::Dirty => ", dirty",
        MatchState::Untracked => ", untracked",
        MatchState::Unreadable => ", committed; the file cannot be read",
    }
}

/// A gap in shown lines, before the line `number`.
pub fn gap_before(number: u32) -> String {
    format!("… {number}:\n")
}

/// Writes the lines of `code` with their numbers, of which `first` is the number of the first. A gap
/// ([`gap_before`]) sets the number of the next line. Returns the number after that of the last.
pub fn write_numbered(text: &mut String, code: &str, first: u32) -> u32 {
    let mut number = first;

    for line in code.lines() {
        match line_after_gap(line) {
            Some(next) => {
                text.push_str("…\n");
                number = next;
            }
            None => {
                text.extend([number.to_string().as_str(), "\t", line, "\n"]);
                number += 1;
            }
        }
    }
    number
}

fn line_after_gap(line: &str) -> Option<u32> {
    line.strip_prefix("… ")?.strip_suffix(':')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_on_both_sides_of_a_gap() {
        let mut text = String::new();
        let next = write_numbered(&mut text, &format!("fn a() {{\n{}}}\n", gap_before(12)), 7);
        assert_eq!((text.as_str(), next), ("7\tfn a() {\n…\n12\t}\n", 13));
        assert_eq!(write_numbered(&mut String::new(), "", 3), 3);
    }
}
