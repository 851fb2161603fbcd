//! Tables: the commits that are skipped as routine, and the kinds of change of the others.
//!
//! Phrases are in lower case and match whole words.

/// Names of programs that commit: whole author names or prefixes of them, or the local part of the address.
const BOTS: &[&str] = &[
    "allcontributors",
    "autofix-ci",
    "codecov",
    "copybara",
    "crowdin",
    "dependabot",
    "github-actions",
    "github actions",
    "gitlocalize",
    "greenkeeper",
    "imgbot",
    "k8s-ci-robot",
    "mergify",
    "pre-commit-ci",
    "pyup-bot",
    "release-please",
    "renovate",
    "scala-steward",
    "scala steward",
    "semantic-release-bot",
    "snyk-bot",
    "transifex",
    "weblate",
];

/// A message that begins with one of these is routine.
const ROUTINE_BEGINNINGS: &[&str] = &[
    "apply code style",
    "apply suggestions",
    "auto format",
    "autoformat",
    "back to snapshot",
    "black",
    "build(deps",
    "bump",
    "cargo fmt",
    "cargo update",
    "changelog",
    "checkstyle",
    "chore(deps",
    "chore(release",
    "clang-format",
    "copyright",
    "deps",
    "fix checkstyle",
    "fix format",
    "fix formatting",
    "fix indentation",
    "fix lint",
    "fix linting",
    "fix pmd",
    "fix spelling",
    "fix typo",
    "fix typos",
    "fix whitespace",
    "fmt",
    "format",
    "formatting",
    "go fmt",
    "gofmt",
    "indent",
    "indentation",
    "lint",
    "mix format",
    "next development version",
    "post release",
    "prepare for release",
    "prepare release",
    "prepare version",
    "prettier",
    "re-format",
    "reformat",
    "regenerate",
    "release",
    "run prettier",
    "rustfmt",
    "scalafmt",
    "sort imports",
    "sort members",
    "spelling",
    "spotless",
    "spotlessapply",
    "start development",
    "style",
    "swiftformat",
    "typo",
    "typos",
    "update authors",
    "update changelog",
    "update contributors",
    "update copyright",
    "update dependencies",
    "update dependency",
    "update version",
    "upgrade dependencies",
    "version",
    "whitespace",
    "wip",
    "zig fmt",
];

/// A message that contains one of these is routine.
const ROUTINE_PHRASES: &[&str] = &[
    "autofix",
    "autofixes",
    "bump version",
    "bump the version",
    "code style",
    "for release",
    "golangci-lint",
    "linter",
    "linters",
    "linting",
    "spelling",
    "trailing whitespace",
    "typo",
    "typos",
    "version bump",
];

/// Kinds of change, with the first words that announce them.
const CATEGORIES: &[(&str, &[&str])] = &[
    (
        "fix",
        &[
            "fix", "fixes", "fixed", "fixing", "bugfix", "hotfix", "correct", "prevent", "avoid", "handle",
            "don't", "do", "ensure", "resolve",
        ],
    ),
    (
        "feature",
        &[
            "feat",
            "add",
            "adds",
            "added",
            "adding",
            "support",
            "implement",
            "introduce",
            "allow",
            "enable",
            "new",
            "expose",
            "provide",
        ],
    ),
    (
        "refactor",
        &[
            "refactor",
            "rename",
            "move",
            "extract",
            "simplify",
            "clean",
            "cleanup",
            "remove",
            "drop",
            "delete",
            "deprecate",
            "inline",
            "replace",
            "reuse",
            "use",
            "switch",
            "convert",
        ],
    ),
    ("performance", &["perf", "optimize", "optimise", "speed", "faster", "cache", "reduce", "improve"]),
];
/// The kind of a message that begins with a word of no kind.
const OTHER: &str = "other";

/// Returns whether a program made the commit.
pub fn is_bot(name: &str, email: &str) -> bool {
    let (name, email) = (name.to_lowercase(), email.to_lowercase());
    let user = email.split('@').next().unwrap_or("");

    name.contains("[bot]")
        || email.contains("[bot]")
        || BOTS.iter().any(|bot| name == *bot || name.starts_with(bot) || user == *bot)
}

/// Returns whether the subject announces routine work.
pub fn is_routine(subject: &str) -> bool {
    let subject = subject.trim().to_lowercase();
    ROUTINE_BEGINNINGS.iter().any(|phrase| subject.strip_prefix(phrase).is_some_and(is_word_end))
        || ROUTINE_PHRASES.iter().any(|phrase| contains_phrase(&subject, phrase))
}

/// Returns whether `text` contains `phrase` between the boundaries of words.
fn contains_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(start, _)| {
        is_word_end(&text[start + phrase.len()..])
            && text[..start].chars().next_back().is_none_or(|last| !last.is_alphanumeric())
    })
}

/// Returns whether a word that `rest` follows ends there.
fn is_word_end(rest: &str) -> bool {
    rest.chars().next().is_none_or(|next| !next.is_alphanumeric())
}

/// Returns the kind of change of a message that begins with `word`.
pub fn category(word: &str) -> &'static str {
    let word = word.to_lowercase();
    let found = CATEGORIES.iter().find(|(_, words)| words.contains(&word.as_str()));
    found.map_or(OTHER, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bots_are_recognised_by_name() {
        for (name, email, expected) in [
            ("dependabot[bot]", "support@github.com", true),
            ("Renovate Bot", "bot@renovateapp.com", true),
            ("GitHub Actions", "x@y", true),
            ("Ada", "41898282+github-actions[bot]@users.noreply.github.com", true),
            ("Abbott Costello", "abbott@example.com", false),
            ("Bob", "bob@example.com", false),
        ] {
            assert_eq!(is_bot(name, email), expected, "{name}");
        }
    }

    #[test]
    fn routine_phrases_match_whole_words() {
        for subject in [
            "Bump serde from 1.0 to 1.1",
            "style: wrap lines",
            "chore(deps): update x",
            "Release 1.2.3",
            "Fix typo in reader",
            "remove trailing whitespace",
            "Address warnings of the linter",
        ] {
            assert!(is_routine(subject), "{subject}");
        }
        for subject in ["Release the lock before waiting", "formatter keeps blank lines", "bumpy road"] {
            let expected = subject.starts_with("Release");
            assert_eq!(is_routine(subject), expected, "{subject}");
        }
    }

    #[test]
    fn the_first_word_decides_the_kind() {
        assert_eq!((category("Fixes"), category("feat"), category("Zebra")), ("fix", "feature", "other"));
    }
}
