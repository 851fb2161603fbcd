//! Intent: the kind of answer that a query asks for, detected by its words or given with the request.

use crate::chunk::SemanticClass;
use crate::chunk::classes::TaskProfile;

/// The kind of answer that a query asks for: to understand, implement, debug, optimise, test, configure or
/// document something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(
    missing_docs,
    reason = "documented at the type: variants with documentation have another JSON schema"
)]
pub enum Intent {
    Understand,
    Implement,
    Debug,
    Optimize,
    Test,
    Configure,
    Document,
}

/// A detected or given intent.
#[derive(Debug, Clone, PartialEq, schemars::JsonSchema, serde::Serialize)]
pub struct QueryIntent {
    /// `None` if no word suggests one.
    #[serde(rename = "type")]
    pub intent: Option<Intent>,
    /// 0–1; 1 if it is given with the request.
    pub confidence: f32,
    /// Why it was chosen.
    pub reasoning: String,
    /// The first terms of the query.
    pub focus_areas: Vec<String>,
    /// By the number of words.
    pub complexity: Complexity,
    /// Whether it changes the ranking: if it is given, or if the query asks for documentation by name. One
    /// that is only guessed from a word of the query does not.
    #[serde(skip)]
    pub acts: bool,
}

impl QueryIntent {
    /// Whether it was given with the request.
    pub fn is_given(&self) -> bool {
        self.confidence == 1.0
    }

    /// The intent, if it changes the ranking.
    pub fn acting(&self) -> Option<Intent> {
        self.intent.filter(|_| self.acts)
    }
}

/// Length of a query: up to 3, up to 9, or more words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    Simple,
    Moderate,
    Complex,
}

/// Definition of an intent.
struct Rule {
    intent: Intent,
    name: &'static str,
    /// The importance profile of a request that gives this intent.
    task: TaskProfile,
    /// Words that suggest it.
    words: &'static [&'static str],
    profile: Profile,
}

/// What an intent that acts changes in ranking.
pub struct Profile {
    /// Classes, and the factor on the score of a file whose best chunk is of one of them or has a definition
    /// that is.
    pub classes: &'static [SemanticClass],
    pub class_factor: f32,
    /// Words of code that does what is asked for, and what three of them add to the factor of a file whose
    /// best chunk also has all words of the query.
    pub marks: &'static [&'static str],
    pub mark_gain: f32,
    /// Words in the name of a file, and what they add to its factor.
    pub path_words: &'static [&'static str],
    pub path_gain: f32,
    /// Factor on files that do not have the role that is asked for.
    pub others: f32,
    /// The least prior of documentation.
    pub docs_floor: f32,
}

impl Profile {
    const NONE: Profile = Profile {
        classes: &[],
        class_factor: 1.0,
        marks: &[],
        mark_gain: 0.0,
        path_words: &[],
        path_gain: 0.0,
        others: 1.0,
        docs_floor: 0.0,
    };
}

use SemanticClass as C;

const RULES: &[Rule] = &[
    Rule {
        intent: Intent::Understand,
        name: "understand",
        task: TaskProfile::Search,
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
        profile: Profile {
            classes: &[C::DefinitionCallable, C::DefinitionType, C::DefinitionData],
            class_factor: 1.5,
            docs_floor: 0.7,
            ..Profile::NONE
        },
    },
    Rule {
        intent: Intent::Implement,
        name: "implement",
        task: TaskProfile::Implement,
        words: &["implement", "add", "create", "build", "write", "extend", "support", "introduce"],
        profile: Profile {
            classes: &[
                C::DefinitionCallable,
                C::DefinitionType,
                C::DefinitionData,
                C::BoundaryModule,
                C::BoundaryError,
                C::BoundaryResource,
            ],
            class_factor: 1.3,
            path_words: &["interface", "abstract", "base"],
            path_gain: 0.2,
            ..Profile::NONE
        },
    },
    Rule {
        intent: Intent::Debug,
        name: "debug",
        task: TaskProfile::Debug,
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
        profile: Profile {
            classes: &[
                C::BoundaryError,
                C::FlowBranching,
                C::FlowIteration,
                C::FlowControl,
                C::FlowAsync,
                C::OperationInvocation,
                C::OperationData,
                C::OperationOperator,
            ],
            class_factor: 1.4,
            ..Profile::NONE
        },
    },
    Rule {
        intent: Intent::Optimize,
        name: "optimize",
        task: TaskProfile::Refactor,
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
        profile: Profile {
            marks: &[
                "cache",
                "pool",
                "buffer",
                "batch",
                "lazy",
                "reuse",
                "limit",
                "capacity",
                "memory",
                "stream",
                "fast",
                "allocate",
                "benchmark",
            ],
            mark_gain: 0.3,
            ..Profile::NONE
        },
    },
    Rule {
        intent: Intent::Test,
        name: "test",
        task: TaskProfile::Test,
        words: &["test", "tests", "testing", "unittest", "fixture", "mock", "coverage", "assert"],
        profile: Profile { classes: &[C::DefinitionTest], class_factor: 2.0, others: 0.5, ..Profile::NONE },
    },
    Rule {
        intent: Intent::Configure,
        name: "configure",
        task: TaskProfile::LocalEdit,
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
        profile: Profile {
            path_words: &[
                "config",
                "configuration",
                "conf",
                "setting",
                "option",
                "opt",
                "setopt",
                "default",
                "rc",
                "env",
            ],
            path_gain: 0.5,
            docs_floor: 0.7,
            ..Profile::NONE
        },
    },
    Rule {
        intent: Intent::Document,
        name: "document",
        task: TaskProfile::Document,
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
        profile: Profile { others: 0.5, ..Profile::NONE },
    },
];

impl Intent {
    /// The intent called `name`, in any case; `None` if there is none.
    pub fn by_name(name: &str) -> Option<Intent> {
        RULES.iter().find(|rule| rule.name.eq_ignore_ascii_case(name.trim())).map(|rule| rule.intent)
    }

    /// The names of all intents.
    pub fn names() -> impl Iterator<Item = &'static str> {
        RULES.iter().map(|rule| rule.name)
    }

    /// The name, in lower case.
    pub fn name(self) -> &'static str {
        self.rule().name
    }

    /// The importance profile of a request that gives this intent.
    pub fn task(self) -> TaskProfile {
        self.rule().task
    }

    /// What it changes in ranking.
    pub fn profile(self) -> &'static Profile {
        &self.rule().profile
    }

    fn rule(self) -> &'static Rule {
        RULES.iter().find(|rule| rule.intent == self).unwrap_or(&RULES[0])
    }
}

/// Maximum number of words that the reasoning names.
const MAX_REASONS: usize = 5;

/// Whether `word` is the name of an error type (`TypeError`, `NullPointerException`), with which pasted
/// messages begin.
fn is_error_type(word: &str) -> bool {
    ["error", "exception"].iter().any(|end| word.len() > end.len() && word.ends_with(end))
}

/// The intent of `query`: the `given` one, or the one that most of its words suggest. `terms` are those of
/// the query.
pub fn detect(query: &str, given: Option<Intent>, terms: &[String]) -> QueryIntent {
    let words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let complexity = match words.len() {
        0..=3 => Complexity::Simple,
        4..=9 => Complexity::Moderate,
        _ => Complexity::Complex,
    };
    let focus_areas: Vec<String> = terms.iter().take(5).cloned().collect();
    if let Some(intent) = given {
        let reasoning = format!("given as {}", intent.name());
        return QueryIntent {
            intent: Some(intent),
            confidence: 1.0,
            reasoning,
            focus_areas,
            complexity,
            acts: true,
        };
    }
    if names_documents(&words) {
        let reasoning = "the query asks for documentation".to_owned();
        let intent = Some(Intent::Document);
        return QueryIntent { intent, confidence: 0.9, reasoning, focus_areas, complexity, acts: true };
    }
    let suggests = |rule: &Rule, word: &str| {
        rule.words.contains(&word) || (rule.intent == Intent::Debug && is_error_type(word))
    };
    let hits = |rule: &Rule| words.iter().filter(|word| suggests(rule, word)).count();
    // Interrogatives are weak evidence: "how are tests run" is about tests.
    let weight = |rule: &Rule| if rule.intent == Intent::Understand { 1 } else { 2 };
    let best = RULES.iter().map(|rule| (hits(rule) * weight(rule), rule)).filter(|(n, _)| *n > 0);
    match best.fold(
        None,
        |best: Option<(usize, &Rule)>, next| {
            if best.is_some_and(|b| b.0 >= next.0) { best } else { Some(next) }
        },
    ) {
        Some((n, rule)) => {
            let mut found: Vec<&str> = Vec::new();
            for word in words.iter().filter(|word| suggests(rule, word)) {
                if found.len() < MAX_REASONS && !found.contains(&word.as_str()) {
                    found.push(word);
                }
            }
            let confidence = (0.3 + 0.2 * n as f32).min(0.9);
            let reasoning = format!("the words {} speak for it", found.join(", "));
            QueryIntent {
                intent: Some(rule.intent),
                confidence,
                reasoning,
                focus_areas,
                complexity,
                acts: false,
            }
        }
        None => QueryIntent {
            acts: false,
            intent: None,
            confidence: 0.0,
            reasoning: "no word of the query speaks for an intent".to_owned(),
            focus_areas,
            complexity,
        },
    }
}

/// Whether words ask for documents: `guide to testing`, `documentation of views`, `readme`. A query that
/// speaks of documentation otherwise (`how documentation comments are parsed`) asks for code.
fn names_documents(words: &[String]) -> bool {
    let is_document = |word: &String| DOCUMENTS.contains(&word.as_str());
    words.iter().enumerate().any(|(i, word)| {
        let next = words.get(i + 1).map(String::as_str);
        is_document(word) && matches!(next, None | Some("of" | "for" | "to" | "about" | "on"))
    })
}

/// Words for documents.
const DOCUMENTS: &[&str] = &["documentation", "docs", "readme", "changelog", "guide", "tutorial"];

/// Whether the words of `text` ask for tests: `tests for the parser`, `unit test of Foo`, `parser tests`. A
/// query that speaks of tests otherwise (`how test files are collected`) asks for code that has to do with
/// tests.
pub fn names_tests(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let word = |i: usize| words.get(i).map_or("", String::as_str);
    (0..words.len()).any(|i| {
        let before = if i > 0 { word(i - 1) } else { "" };
        let is_plural = matches!(word(i), "tests" | "specs" | "testcases");
        let is_test = is_plural || matches!(word(i), "test" | "spec" | "testcase");
        // `a mock for tests`, `return as tests` and `failing tests` are about something else.
        let is_aside = matches!(
            before,
            "for" | "in" | "during" | "with" | "by" | "under" | "as" | "pending" | "failing" | "skipped"
        );
        let is_last = i + 1 == words.len() && !is_aside;
        let is_asked = matches!(word(i + 1), "for" | "of" | "that" | "which" | "covering" | "case" | "cases")
            || matches!(before, "unit" | "integration" | "regression" | "e2e" | "fuzz" | "which")
            || (is_last && (i == 0 || is_plural));
        (is_test && is_asked) || word(i) == "tested"
    })
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
            assert_eq!(detect(query, None, &[]).intent, expected, "{query}");
        }
        for (query, acts) in [
            ("guide to testing", true),
            ("documentation of views", true),
            ("readme", true),
            ("documentation generation for man pages", false),
            ("how test files are collected", false),
            ("fix crash when the file is empty", false),
        ] {
            assert_eq!(detect(query, None, &[]).acts, acts, "{query}");
        }
        assert!(detect("the router", Some(Intent::Debug), &[]).acts);
        let found = detect("an error, an Error and an IOError", None, &[]);
        assert_eq!(found.reasoning, "the words error, ioerror speak for it");
        assert!(found.confidence > 0.5 && found.confidence <= 0.9);
        assert_eq!(Intent::by_name("DEBUG"), Some(Intent::Debug));
        assert_eq!(Intent::by_name("ponder"), None);
    }
}
