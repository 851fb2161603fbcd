//! Noise: lines of a report that say nothing about the code.

use regex::RegexSet;
use std::sync::LazyLock;

use super::trace::ascii;

/// Headings of issue templates, in lower case without punctuation. A heading is dropped if it is one of
/// these, or begins with one of [`HEADING_BEGINNINGS`].
const HEADINGS: &[&str] = &[
    "actual",
    "actual behavior",
    "actual behaviour",
    "actual result",
    "actual results",
    "additional context",
    "additional details",
    "additional info",
    "additional information",
    "affected versions",
    "anything else",
    "background",
    "behavior",
    "behaviour",
    "bug",
    "bug description",
    "bug report",
    "cause",
    "changes",
    "checklist",
    "code",
    "code example",
    "code of conduct",
    "code sample",
    "code snippet",
    "config",
    "configuration",
    "context",
    "current behavior",
    "current behaviour",
    "debug log",
    "description",
    "details",
    "dependencies",
    "environment",
    "environment settings",
    "error",
    "error log",
    "error message",
    "example",
    "exception",
    "expectation",
    "expected",
    "expected behavior",
    "expected behaviour",
    "expected output",
    "expected result",
    "expected results",
    "feature",
    "fix",
    "full code",
    "full log",
    "full stack trace",
    "goals",
    "how to fix",
    "implementation details",
    "info",
    "input",
    "installation",
    "issue",
    "issue description",
    "issue link",
    "issue summary",
    "link to reproduction",
    "log",
    "log output",
    "logs",
    "logs and screenshots",
    "mandatory debugging tests",
    "minimal example",
    "minimal reproducible example",
    "minimal reproduction",
    "minimally reproducible test case",
    "minimum reproduction",
    "motivation",
    "notes",
    "observed",
    "observed behavior",
    "observed behaviour",
    "operating system",
    "optional debugging tests",
    "os",
    "other information",
    "output",
    "platform",
    "please complete the following information",
    "possible solution",
    "prerequisites",
    "problem",
    "problem description",
    "proposal",
    "proposed solution",
    "rationale",
    "related issues",
    "related issues and possible duplicates",
    "related prs",
    "relevant log output",
    "relevant logs",
    "relevant output",
    "replicate",
    "repro",
    "reproducible example",
    "reproducible steps",
    "reproducing",
    "reproduction",
    "reproduction repository",
    "reproduction steps",
    "root cause",
    "sample",
    "sample code",
    "screenshot",
    "screenshots",
    "setup",
    "solution",
    "stack trace",
    "stacktrace",
    "steps",
    "steps to repro",
    "steps to replicate",
    "steps to reproduce",
    "suggested fix",
    "suggestion",
    "summary",
    "system info",
    "system information",
    "test case",
    "testing",
    "testing details",
    "tests",
    "the problem",
    "to reproduce",
    "traceback",
    "used package manager",
    "validations",
    "version",
    "version information",
    "versions",
    "what",
    "why",
    "workaround",
    "your environment",
    "your example website or app",
];

/// See [`HEADINGS`].
const HEADING_BEGINNINGS: &[&str] = &[
    "a clear and concise",
    "are there any",
    "can you reproduce",
    "describe the",
    "describe what",
    "describe your",
    "do you have",
    "does this issue",
    "how can we",
    "how did you",
    "how do we",
    "how do you",
    "how to reproduce",
    "i have searched",
    "i did this",
    "i expected",
    "is there an existing",
    "is this a",
    "is your feature",
    "please describe",
    "please provide",
    "python logs",
    "steps to",
    "tell us",
    "what actually",
    "what are you",
    "what are the",
    "what did you",
    "what do you",
    "what happened",
    "what happens",
    "what is the",
    "what issue",
    "what steps",
    "what version",
    "what was",
    "what were",
    "what went",
    "what you expected",
    "when did",
    "which version",
    "why is this",
    "would you",
];

/// Headings of sections whose contents are about the machine and not about the code.
const MACHINE: &[&str] = &[
    "affected versions",
    "checklist",
    "code of conduct",
    "environment",
    "environment settings",
    "info",
    "operating system",
    "optional debugging tests",
    "mandatory debugging tests",
    "os",
    "platform",
    "please complete the following information",
    "related issues and possible duplicates",
    "system info",
    "system information",
    "used package manager",
    "validations",
    "version",
    "version information",
    "versions",
    "your environment",
    "dependencies",
];

/// What a heading means for the lines below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    /// Of a template: it is dropped.
    Template,
    /// Of a template, like everything below it.
    Machine,
    /// The report's own.
    Own,
}

/// The heading that `line` is, if it is one: `## Title`, `**Title**`, `Title:`.
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
    let is_template = HEADINGS.contains(&plain.as_str())
        || HEADING_BEGINNINGS.iter().any(|beginning| plain.starts_with(beginning));
    let is_heading = is_marked || is_bold || is_lead || (is_template && HEADINGS.contains(&plain.as_str()));
    if !is_heading {
        return None;
    }
    Some(match () {
        () if MACHINE.contains(&plain.as_str()) || plain.starts_with("what version") => Heading::Machine,
        () if is_template => Heading::Template,
        () if is_marked || is_bold => Heading::Own,
        () => return None,
    })
}

static NOISE: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = [
        // Check boxes of templates.
        r"^\s*[-*] \[[ xX]\] ",
        // Trailers of commits, and what squashing leaves.
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
        r"^\s*\[?(INFO|DEBUG|TRACE|VERBOSE|NOTICE)\]?\b[: ]",
        // Hex dumps, progress, quoted mail.
        r"^\s*(0x)?[0-9a-f]{6,}[ :]+([0-9a-f]{2,} ){4,}",
        r"(?i)^(thanks|thank you|hi|hello|hey|cheers|best regards|regards|greetings)\b[^.]{0,40}[,.!]*$",
        r"^\s*\|?[\s:|-]+\|?$",
    ];
    // Constant patterns; a unit test compiles them.
    RegexSet::new(patterns.map(ascii)).unwrap_or_else(|_| RegexSet::empty())
});

/// Whether `line` is noise by itself.
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
