//! Noise: lines of a report that say nothing about the code.

use std::sync::LazyLock;

use regex::RegexSet;

use super::trace::ascii;

/// Headings of issue templates.
const HEADINGS: &str = include_str!("data/headings.txt");

/// Returns the headings of `kind` in [`HEADINGS`].
fn headings(kind: &'static str) -> impl Iterator<Item = &'static str> {
    HEADINGS.lines().filter_map(move |line| line.strip_prefix(kind)?.strip_prefix(' '))
}

/// Meaning of a heading for the lines below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    /// A heading of a template, which is dropped.
    Template,
    /// A heading of a template that is dropped with everything below it.
    Machine,
    /// A heading of the report itself.
    Own,
}

/// Returns the kind of heading of `line`, if it is one: `## Title`, `**Title**`, `Title:`.
pub fn heading(line: &str) -> Option<Heading> {
    let line = line.trim();
    let is_marked = line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    let is_bold = line.starts_with("**") && line.trim_end_matches(':').ends_with("**") && line.len() > 4;
    let is_lead = line.ends_with([':', '?']) && line.split_whitespace().count() <= 7;

    // `:memo:` is an emoji.
    let words = line
        .split_whitespace()
        .filter(|word| !(word.len() > 2 && word.starts_with(':') && word.ends_with(':')));
    let plain: String = words
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == ' ')
        .collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");

    let is_machine = headings("machine").any(|known| known == plain);
    let is_listed = is_machine || headings("template").any(|known| known == plain);
    let is_template = is_listed || headings("begins").any(|beginning| plain.starts_with(beginning));

    let is_heading = is_marked || is_bold || is_lead || is_listed;
    if !is_heading {
        return None;
    }

    Some(match () {
        () if is_machine || plain.starts_with("what version") => Heading::Machine,
        () if is_template => Heading::Template,
        () if is_marked || is_bold => Heading::Own,
        () => return None,
    })
}

static NOISE: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = [
        // Check boxes of templates.
        r"^\s*[-*] \[[ xX]\] ",
        // Trailers of commits, and lines that squashing leaves.
        r"(?i)^\s*(signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reported-by|change-id|cc|refs?|closes|fixes|resolves|see also|bug|pr-url|ref|assisted-by|fixes-issue):?\s+(#\d+|\S+#\d+|https?:|\S+ \S*.*<\S+@\S+>|I[0-9a-f]{20,})",
        r"^-{3,}$|^={3,}$|^_{3,}$|^\*{3,}$",
        // `Python: 3.11`, `- OS: Ubuntu 22.04`, `node v18.1.0`, `redis==4.5`.
        r"(?i)^\s*[-*>|]?\s*\**(os|operating system|platform|browser|python|node|npm|yarn|pnpm|java|jdk|jvm|kotlin|gradle|maven|ruby|rails|php|go|rustc?|cargo|elixir|erlang|otp|swift|xcode|ios|macos|windows|linux|ubuntu|debian|device|arch|architecture|machine|cpu|memory|shell|terminal|kernel|version|versions|package|library|framework|docker|gcc|clang|cmake|\.net|dotnet|[\w.-]+ version)\b[^.:=]{0,25}[:=]?\**\s*`?v?\d",
        r"(?i)^\s*[-*]?\s*\**(os|operating system|platform|browser|device|architecture|shell|terminal|package manager)\**\s*:",
        r"^\s*[\w.-]+\s*(==|>=|~=|@|=>)\s*[~^]?v?\d[\w.-]*,?$",
        r"^\s*[\w@/.-]+:? v?\d+\.\d+(\.\d+)?[\w.+-]*\s*$",
        // Timestamps and levels of logs.
        r"^\s*\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d",
        r"^\s*\[?\d\d:\d\d:\d\d[\].,: ]",
        r"^\s*\[?(INFO|DEBUG|TRACE|VERBOSE|NOTICE)\]?[: ]",
        // Hex dumps, progress, quoted mail.
        r"^\s*(0x)?[0-9a-f]{6,}[ :]+([0-9a-f]{2,} ){4,}",
        r"(?i)^(thanks|thank you|hi|hello|hey|cheers|best regards|regards|greetings)\b[^.]{0,40}[,.!]*$",
        r"^\s*\|?[\s:|-]+\|?$",
    ];
    // The patterns are constant, and a unit test compiles them.
    RegexSet::new(patterns.map(ascii)).unwrap_or_else(|_| RegexSet::empty())
});

/// Returns whether `line` is noise by itself.
pub fn is_noise(line: &str) -> bool {
    NOISE.is_match(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_headings_are_recognised() {
        for (line, expected) in [
            ("### Steps to reproduce", Some(Heading::Template)),
            ("**Describe the bug**", Some(Heading::Template)),
            ("Expected behaviour:", Some(Heading::Template)),
            ("What did you expect to happen?", Some(Heading::Template)),
            ("## Environment", Some(Heading::Machine)),
            ("### Checklist :white_check_mark:", Some(Heading::Machine)),
            ("## Parser loops on empty input", Some(Heading::Own)),
            ("The parser loops on empty input.", None),
            ("this is the code I use:", None),
        ] {
            assert_eq!(heading(line), expected, "{line}");
        }
    }

    #[test]
    fn versions_logs_and_check_boxes_are_noise() {
        assert!(!NOISE.is_empty());
        for line in [
            "- [x] I have read the guide",
            "Co-authored-by: A B <a@example.com>",
            "- OS: Ubuntu 22.04",
            "Python 3.11.2",
            "Node version: v18.1.0",
            "redis==4.5.1",
            "2024-01-02 10:20:30,123 worker started",
            "[INFO] Scanning for projects...",
            "-------",
            "Thanks!",
        ] {
            assert!(is_noise(line), "{line}");
        }
        for line in [
            "The cookie jar drops the cookie after a redirect.",
            "Python callbacks are invoked twice",
            "fixes the order of headers",
            "version negotiation fails with HTTP/2",
            "Windows paths are not split",
        ] {
            assert!(!is_noise(line), "{line}");
        }
    }
}
