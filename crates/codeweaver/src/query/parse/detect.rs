//! Detection of the intent of a query by its words.

use codeweaver_text::stem;

use crate::query::intent::{Complexity, Intent, QueryIntent};

/// The words that suggest an intent.
struct Rule {
    intent: Intent,
    /// Words that suggest it.
    words: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        intent: Intent::Understand,
        words: &[
            "how",
            "what",
            "where",
            "why",
            "explain",
            "understand",
            "overview",
            "architecture",
            "flow",
            "works",
        ],
    },
    Rule {
        intent: Intent::Implement,
        words: &["implement", "add", "create", "build", "write", "extend", "support", "introduce"],
    },
    Rule {
        intent: Intent::Debug,
        words: &[
            "debug",
            "fix",
            "bug",
            "error",
            "exception",
            "crash",
            "fails",
            "failing",
            "broken",
            "traceback",
            "panic",
            "wrong",
            "issue",
        ],
    },
    Rule {
        intent: Intent::Optimize,
        words: &[
            "optimize",
            "optimise",
            "performance",
            "faster",
            "slow",
            "speed",
            "memory",
            "refactor",
            "efficient",
        ],
    },
    Rule {
        intent: Intent::Test,
        words: &["test", "tests", "testing", "unittest", "fixture", "mock", "coverage", "assert"],
    },
    Rule {
        intent: Intent::Configure,
        words: &[
            "configure",
            "configuration",
            "config",
            "setting",
            "settings",
            "option",
            "environment",
            "setup",
            "install",
        ],
    },
    Rule {
        intent: Intent::Document,
        words: &[
            "document",
            "documentation",
            "docs",
            "readme",
            "changelog",
            "docstring",
            "comment",
            "describe",
        ],
    },
];

impl Rule {
    /// Returns whether `word` suggests the intent.
    fn suggests(&self, word: &str) -> bool {
        self.words.contains(&word) || (self.intent == Intent::Debug && is_error_type(word))
    }

    /// The weight of a word. Interrogatives are weak evidence: "how are tests run" is about tests.
    fn weight(&self) -> usize {
        if self.intent == Intent::Understand { 1 } else { 2 }
    }
}

/// Maximum number of words that the reasoning names.
const MAX_REASONS: usize = 5;

/// Returns whether `word` is the name of an error type (`TypeError`, `NullPointerException`), with which
/// pasted messages begin.
fn is_error_type(word: &str) -> bool {
    ["error", "exception"].iter().any(|end| word.len() > end.len() && word.ends_with(end))
}

/// Returns the intent of `query`: the `given` one, the one that it states, or else the one that most of its
/// words suggest. `terms` are those of the query.
pub fn intent(query: &str, given: Option<Intent>, terms: &[String]) -> QueryIntent {
    let words = words_of(query);
    let complexity = match words.len() {
        0..=3 => Complexity::Simple,
        4..=9 => Complexity::Moderate,
        _ => Complexity::Complex,
    };
    let unknown = QueryIntent {
        intent: None,
        confidence: 0.0,
        reasoning: "no word of the query suggests an intent".to_owned(),
        focus_areas: terms.iter().take(5).cloned().collect(),
        complexity,
        acts: false,
        stated_by: Vec::new(),
    };

    if let Some(intent) = given {
        return QueryIntent {
            intent: Some(intent),
            confidence: 1.0,
            reasoning: format!("given as {}", intent.name()),
            acts: true,
            ..unknown
        };
    }
    if let Some((intent, by)) = stated(&words) {
        return QueryIntent {
            intent: Some(intent),
            confidence: 0.9,
            reasoning: format!("the query states it: {}", by.join(" ")),
            acts: true,
            stated_by: by.iter().map(|word| stem(word)).collect(),
            ..unknown
        };
    }

    let Some((weight, rule)) = most_suggested(&words) else { return unknown };
    let mut found: Vec<&str> = Vec::new();
    for word in words.iter().filter(|word| rule.suggests(word)) {
        if found.len() < MAX_REASONS && !found.contains(&word.as_str()) {
            found.push(word);
        }
    }

    QueryIntent {
        intent: Some(rule.intent),
        confidence: (0.3 + 0.2 * weight as f32).min(0.9),
        reasoning: format!("suggested by {}", found.join(", ")),
        ..unknown
    }
}

/// Returns the intent that most of `words` suggest, the first of equals, with their weight.
fn most_suggested(words: &[String]) -> Option<(usize, &'static Rule)> {
    let mut best: Option<(usize, &Rule)> = None;
    for rule in RULES {
        let weight = rule.weight() * words.iter().filter(|word| rule.suggests(word)).count();
        if weight > best.map_or(0, |(most, _)| most) {
            best = Some((weight, rule));
        }
    }
    best
}

/// Returns the intent that `words` state, and the words that state it. An intent that is only mentioned (`how
/// errors are handled`, `the cache of settings`) is not stated.
fn stated(words: &[String]) -> Option<(Intent, Vec<&str>)> {
    let among = |known: &[&str]| -> Vec<&str> {
        words.iter().map(String::as_str).filter(|word| known.contains(word)).collect()
    };

    // If several statements apply, the first of these checks decides.
    if names_documents(words) {
        return Some((Intent::Document, among(DOCUMENTS)));
    }

    let begins_with = |known: &[&str]| known.contains(&word_at(words, 0)) && words.len() > 1;
    let asks_how = word_at(words, 0) == "how"
        && matches!(word_at(words, 1), "does" | "do")
        && !among(&["work", "works"]).is_empty();
    if begins_with(&["explain", "understand"]) || asks_how {
        let by = ["explain", "understand", "how", "does", "do", "work", "works"];
        return Some((Intent::Understand, among(&by)));
    }

    let fails = among(&["fails", "failing", "crashes", "crashing", "panics", "broken", "traceback"]);
    if begins_with(&["fix", "debug"]) || !fails.is_empty() {
        let faults = among(&["fix", "debug", "bug", "issue", "crash", "error", "exception"]);
        return Some((Intent::Debug, [fails, faults].concat()));
    }

    let is_slow = matches!(words.last().map(String::as_str), Some("slow" | "slower" | "faster"))
        || !among(&["faster", "slower", "optimize", "optimise", "speedup"]).is_empty()
        || (0..words.len()).any(|i| word_at(words, i) == "performance" && word_at(words, i + 1) == "of");
    if is_slow {
        let by =
            ["slow", "slower", "faster", "optimize", "optimise", "speedup", "performance", "make", "improve"];
        return Some((Intent::Optimize, among(&by)));
    }

    // An imperative alone describes the behaviour of code: `create a temporary file`.
    let is_new = !among(&["new", "another", "support"]).is_empty();
    if begins_with(&["implement"]) || (begins_with(&["add", "create", "introduce", "write"]) && is_new) {
        return Some((Intent::Implement, vec![word_at(words, 0)]));
    }

    let names_settings = matches!(word_at(words, 0), "settings" | "configuration" | "config" | "options")
        && matches!(word_at(words, 1), "for" | "of");
    if begins_with(&["configure", "configuring"]) || names_settings {
        return Some((Intent::Configure, vec![word_at(words, 0)]));
    }

    if begins_with(&["assert"]) {
        return Some((Intent::Test, vec![word_at(words, 0)]));
    }
    if names_tests(&words.join(" ")) {
        return Some((Intent::Test, among(&["test", "tests", "tested", "unit", "spec", "specs"])));
    }

    None
}

/// Returns whether words ask for documents: `guide to testing`, `documentation of views`, `readme`. A query
/// that mentions documentation otherwise (`how documentation comments are parsed`) asks for code.
fn names_documents(words: &[String]) -> bool {
    words.iter().enumerate().any(|(i, word)| {
        let next = words.get(i + 1).map(String::as_str);
        DOCUMENTS.contains(&word.as_str())
            && matches!(next, None | Some("of" | "for" | "to" | "about" | "on"))
    })
}

/// Words for documents.
const DOCUMENTS: &[&str] = &["documentation", "docs", "readme", "changelog", "guide", "tutorial", "overview"];

/// Returns whether the words of `text` ask for tests: `tests for the parser`, `unit test of Foo`, `parser
/// tests`. A query that mentions tests otherwise (`how test files are collected`) asks for code that has to
/// do with tests.
pub fn names_tests(text: &str) -> bool {
    let words = words_of(text);

    for (i, word) in words.iter().map(String::as_str).enumerate() {
        let is_asked = is_test(word) && asks_for_test(&words, i);
        if is_asked || word == "tested" {
            return true;
        }
    }
    false
}

/// Returns whether the word for tests at position `i` is the subject of the query.
fn asks_for_test(words: &[String], i: usize) -> bool {
    let before = if i > 0 { word_at(words, i - 1) } else { "" };
    let is_plural = matches!(word_at(words, i), "tests" | "specs" | "testcases");

    // `a mock for tests`, `add a parser and tests` and `failing tests` are about something else.
    let is_aside = match before {
        "for" | "in" | "during" | "with" | "by" | "under" | "as" => true,
        "and" => i < 2 || !is_test(word_at(words, i - 2)),
        _ => matches!(before, "pending" | "failing" | "skipped"),
    };
    let is_last = i + 1 == words.len() && !is_aside;

    matches!(word_at(words, i + 1), "for" | "of" | "that" | "which" | "covering" | "case" | "cases")
        || matches!(before, "unit" | "integration" | "regression" | "e2e" | "fuzz" | "which")
        || (is_last && (i == 0 || is_plural))
}

/// Returns the word at position `i`; empty beyond the end.
fn word_at(words: &[String], i: usize) -> &str {
    words.get(i).map_or("", String::as_str)
}

/// Returns whether `word` is a word for tests.
fn is_test(word: &str) -> bool {
    matches!(word, "tests" | "specs" | "testcases" | "test" | "spec" | "testcase")
}

/// Returns the words of `text` in lower case; `&` counts as `and`.
fn words_of(text: &str) -> Vec<String> {
    let text = text.replace('&', " and ");
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intents_are_detected_by_their_words() {
        let cases = [
            ("how does the router match paths", Some(Intent::Understand)),
            ("fix crash when the file is empty", Some(Intent::Debug)),
            ("how are tests run", Some(Intent::Test)),
            ("add support for websockets", Some(Intent::Implement)),
            ("make parsing faster", Some(Intent::Optimize)),
            ("database connection settings", Some(Intent::Configure)),
            ("readme for the installer", Some(Intent::Document)),
            ("TypeError: Cannot read properties of undefined (reading 'map')", Some(Intent::Debug)),
            ("java.lang.NullPointerException\n\tat a.B.c(B.java:3)", Some(Intent::Debug)),
            ("thread 'main' panicked: index out of bounds, this is an error", Some(Intent::Debug)),
            ("parse_header", None),
        ];
        for (query, expected) in cases {
            assert_eq!(intent(query, None, &[]).intent, expected, "{query}");
        }
        for (query, acts) in [
            ("guide to testing", true),
            ("documentation of views", true),
            ("readme", true),
            ("documentation generation for man pages", false),
            ("how test files are collected", false),
            ("how does the router match paths", false),
            ("create a temporary file", false),
            ("slow query log", false),
            ("database connection settings", false),
        ] {
            assert_eq!(intent(query, None, &[]).acts, acts, "{query}");
        }
        for (query, wanted, by) in [
            ("how does the cache work", Intent::Understand, &["how", "doe", "work"][..]),
            ("explain sessions", Intent::Understand, &["explain"]),
            ("fix bug: lost sessions", Intent::Debug, &["fix", "bug"]),
            ("upload fails with an error", Intent::Debug, &["fail", "error"]),
            ("add another reporter", Intent::Implement, &["add"]),
            ("implement sessions", Intent::Implement, &["implement"]),
            ("make parsing faster", Intent::Optimize, &["faster", "make"]),
            ("tests of the parser", Intent::Test, &["test"]),
            ("assert that sessions end", Intent::Test, &["assert"]),
            ("overview of the parts", Intent::Document, &["overview"]),
            ("settings for sessions", Intent::Configure, &["setting"]),
        ] {
            let found = intent(query, None, &[]);
            assert_eq!((found.intent, found.acts), (Some(wanted), true), "{query}");
            let mut stated_by = found.stated_by;
            let mut by: Vec<String> = by.iter().map(|word| stem(word)).collect();
            stated_by.sort();
            by.sort();
            assert_eq!(stated_by, by, "{query}");
        }
        assert!(intent("the router", Some(Intent::Debug), &[]).acts);
        let found = intent("an error, an Error and an IOError", None, &[]);
        assert_eq!(found.reasoning, "suggested by error, ioerror");
        assert!(found.confidence > 0.5 && found.confidence <= 0.9);
        assert_eq!(Intent::by_name("DEBUG"), Some(Intent::Debug));
        assert_eq!(Intent::by_name("ponder"), None);
    }
}
