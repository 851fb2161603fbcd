//! Readings of a pattern that does not say whether it is an expression, and whether case matters.

use std::sync::LazyLock;

use grep_matcher::Matcher as _;

use super::pattern::Pattern;

/// Signs of an expression that hardly occur in code: escaped characters, `.*`, sets that are repeated, bars
/// between words, and the beginning of a line.
static SIGNS: LazyLock<Option<regex::Regex>> = LazyLock::new(|| {
    regex::Regex::new(
        r"\\[wWdDsSbB(){}\[\].|+*?^$/]|\.[*+]|\]\)?[*+]|\[\^|\[[a-z]-[a-z]|[\w)]\|[\w(\\]|\(\?[:i]|^\^\S",
    )
    .ok()
});

impl Pattern {
    /// The readings of `text`, the most probable first. The first one with a match is the right one: an
    /// expression if `is_regex` or if it looks like one, the text as it is, then both in any case.
    pub fn readings(
        text: &str,
        is_regex: Option<bool>,
        ignore_case: Option<bool>,
        word: bool,
    ) -> Vec<Pattern> {
        let pattern = |is_regex, ignore_case| Pattern { text: text.to_owned(), is_regex, ignore_case, word };
        let looks_like_one = SIGNS.as_ref().is_some_and(|signs| signs.is_match(text));
        let syntaxes = match is_regex {
            Some(is_regex) => vec![is_regex],
            None if regex_syntax::escape(text) == text || !pattern(true, false).is_useful() => vec![false],
            None if looks_like_one => vec![true, false],
            None => vec![false, true],
        };

        let cases = match ignore_case {
            Some(ignore_case) => vec![ignore_case],
            None => vec![false, true],
        };
        let mut readings = Vec::new();
        for ignore_case in cases {
            readings.extend(syntaxes.iter().map(|&is_regex| pattern(is_regex, ignore_case)));
        }
        readings
    }

    /// Returns whether the pattern compiles and is not one that every line matches.
    fn is_useful(&self) -> bool {
        // An expression that matches the empty text would find every line.
        self.compile().is_ok_and(|matcher| !matcher.is_match(b"").unwrap_or(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_probable_reading_comes_first() {
        for (text, expected) in [
            ("parse_header", "t T"),
            ("a || b", "t T"),
            ("parse(line", "t T"),
            ("dict->table[0]", "tr TR"),
            ("foo(bar)", "tr TR"),
            ("foo|bar", "rt RT"),
            (r"fn \w+\(", "rt RT"),
            ("use .*Error", "rt RT"),
            ("^import", "rt RT"),
            ("^ *", "t T"),
            (r"C:\temp", "tr TR"),
        ] {
            let readings = Pattern::readings(text, None, None, false);
            let shown: Vec<&str> = readings
                .iter()
                .map(|pattern| match (pattern.is_regex, pattern.ignore_case) {
                    (false, false) => "t",
                    (true, false) => "r",
                    (false, true) => "T",
                    (true, true) => "R",
                })
                .collect();
            let (plain, folded) = shown.split_at(shown.len() / 2);
            assert_eq!(format!("{} {}", plain.concat(), folded.concat()), expected, "{text}");
        }
        assert_eq!(Pattern::readings("a.b", Some(true), Some(false), false).len(), 1);
    }
}
