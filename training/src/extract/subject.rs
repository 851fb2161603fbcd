//! Turns commit subjects into the texts of pairs.

/// Minimum number of words.
const MIN_WORDS: usize = 4;

/// Conventional-commit types of changes that are not searched for.
const DULL_TYPES: &[&str] = &[
    "chore",
    "ci",
    "docs",
    "doc",
    "style",
    "build",
    "release",
    "deps",
    "lint",
    "test-infra",
    "changelog",
    "revert",
];

/// First words, in lower case, of unusable subjects.
const DULL_STARTS: &[&str] = &[
    "release",
    "bump",
    "typo",
    "lint",
    "format",
    "reformat",
    "formatting",
    "docs",
    "doc",
    "documentation",
    "ci",
    "merge",
    "revert",
    "changelog",
    "version",
    "prepare",
    "wip",
    "nit",
    "nits",
    "cosmetic",
    "cosmetics",
    "whitespace",
    "fixup!",
    "squash!",
    "upgrade",
    "backport",
    "cherry-pick",
    "tidy",
    "cleanup",
    "oops",
    "misc",
    "apply",
    "rebase",
    "sync",
    "import",
    "initial",
    "first",
    "style",
    "reword",
    "spelling",
    "grammar",
    "regenerate",
    "regen",
    "re-generate",
    "rustfmt",
    "gofmt",
    "prettier",
    "run",
    "travis",
    "appveyor",
];

/// Words, in lower case, that make a subject unusable anywhere in it.
const DULL_WORDS: &[&str] = &[
    "dependabot",
    "changelog",
    "typo",
    "typos",
    "lint",
    "linter",
    "linting",
    "eslint",
    "rubocop",
    "gofmt",
    "rustfmt",
    "clippy",
    "prettier",
    "clang-format",
    "pylint",
    "flake8",
    "mypy",
    "readme",
    "license",
    "copyright",
    "whitespace",
    "travis",
    "appveyor",
    "codecov",
    "coverage",
    "spelling",
    "misspelling",
    "misspellings",
    "gitignore",
    "submodule",
    "snapshot",
    "snapshots",
    "scalafmt",
    "ktlint",
    "swiftlint",
    "phpstan",
    "phpcs",
    "psalm",
    "ormolu",
    "hlint",
    "pre-commit",
    "dependencies",
    "renovate",
    "translations",
    "cherry",
    "docstring",
    "docstrings",
    "haddock",
    "haddocks",
    "reformatting",
    "reformat",
    "javadoc",
    "kdoc",
    "xmldoc",
    "godoc",
    "warnings",
    "indentation",
];

/// Phrases, in lower case, that make a subject unusable anywhere in it.
const DULL_PHRASES: &[&str] = &[
    "code review",
    "review comment",
    "review feedback",
    "address feedback",
    "address comments",
    "pull request",
    "merge branch",
    "this reverts",
    "github action",
    "documentation for",
    "code style",
    "coding style",
    "style fix",
    "cs fix",
    "fix build",
    "fix the build",
    "fix compil",
    "fix ci",
    "fix test",
    "fix tests",
    "pep8",
    "pep 8",
    "up to date",
    "clean up",
    "code cleanup",
    "in comment",
    "in docs",
    "of docs",
    "the docs",
    "minor fix",
    "minor change",
    "small fix",
    "more fixes",
    "various fixes",
    "new version",
    "next version",
    "to version",
    "dev version",
    "post-release",
    "auto-generated",
    "http://",
    "https://",
    "co-authored",
];

/// The subject of a commit message as a text; `None` if it is unusable.
pub fn clean(message: &str) -> Option<String> {
    let mut subject = message.lines().next()?.trim();
    loop {
        let stripped = strip_prefix(subject)?;
        if stripped.len() == subject.len() {
            break;
        }
        subject = stripped;
    }
    let mut subject = strip_suffixes(subject).to_owned();
    subject.retain(|c| c != '`');
    let lower = subject.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')'))
        .filter(|word| !word.is_empty())
        .collect();
    let first = words.first()?.trim_end_matches(':');
    let dull = DULL_STARTS.contains(&first)
        || words.iter().any(|word| DULL_WORDS.contains(&word.trim_matches(|c: char| !c.is_alphanumeric())))
        || DULL_PHRASES.iter().any(|phrase| lower.contains(phrase))
        || words.iter().any(|word| is_version(word))
        || matches!(first, "update" | "updated" | "updates" | "add" | "fix" | "improve")
            && words.iter().any(|word| {
                matches!(
                    *word,
                    "doc"
                        | "docs"
                        | "documentation"
                        | "comment"
                        | "comments"
                        | "deps"
                        | "dependency"
                        | "version"
                )
            });
    let n_words = words.iter().filter(|word| word.chars().any(char::is_alphabetic)).count();
    (!dull && n_words >= MIN_WORDS).then_some(subject)
}

/// Removes one prefix that is not part of the sentence; `None` if the prefix marks the commit as unusable.
fn strip_prefix(subject: &str) -> Option<&str> {
    // `:bug: text`.
    if let Some(rest) = subject.strip_prefix(':')
        && let Some((name, text)) = rest.split_once(':')
        && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    {
        return Some(text);
    }
    let subject = subject.trim_start_matches(|c: char| {
        !c.is_ascii() || c.is_whitespace() || matches!(c, '-' | '*' | '.' | ':' | '|' | '+' | '>')
    });
    for (open, close) in [('[', ']'), ('(', ')'), ('{', '}'), ('<', '>')] {
        if let Some(rest) = subject.strip_prefix(open)
            && let Some((inside, after)) = rest.split_once(close)
            && inside.len() <= 40
        {
            let dull = DULL_TYPES.contains(&inside.to_ascii_lowercase().as_str());
            return (!dull).then_some(after);
        }
    }
    if let Some((head, rest)) = subject.split_once(": ") {
        let name = head.split(['(', '!']).next().unwrap_or(head).to_ascii_lowercase();
        if DULL_TYPES.contains(&name.as_str()) || name.starts_with("test") {
            return None;
        }
        const TYPES: [&str; 14] = [
            "feat",
            "fix",
            "perf",
            "refactor",
            "feature",
            "bug",
            "bugfix",
            "hotfix",
            "improvement",
            "enhancement",
            "add",
            "change",
            "core",
            "minor",
        ];
        // `imp(Usage): …`, with any type name.
        let scoped = head.ends_with([')', '!']) && !head.contains(' ');
        if scoped || TYPES.contains(&name.as_str()) || is_reference(head) {
            return Some(rest);
        }
    }
    // `Fix #12: text`, `#12 text`, `ABC-12 text`, `Closes #12 - text`.
    let mut words = subject.splitn(3, ' ');
    let (one, two) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if is_reference(one) {
        return Some(subject[one.len()..].trim_start());
    }
    const VERBS: [&str; 14] = [
        "re", "refs", "ref", "see", "fix", "fixes", "fixed", "close", "closes", "closed", "resolve",
        "resolves", "issue", "gh",
    ];
    if VERBS.contains(&one.to_ascii_lowercase().as_str()) && is_reference(two) {
        return Some(subject[one.len() + 1 + two.len()..].trim_start());
    }
    Some(subject)
}

/// `#12`, `GH-12`, `ABC-123`, `(#12)`, with punctuation around.
fn is_reference(word: &str) -> bool {
    let word = word.trim_matches(|c: char| matches!(c, '(' | ')' | '[' | ']' | ':' | ',' | '.' | '-'));
    if let Some(number) = word.strip_prefix('#') {
        return !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    }
    word.split_once(['-', '#']).is_some_and(|(project, number)| {
        !project.is_empty()
            && project.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            && project.starts_with(|c: char| c.is_ascii_uppercase())
            && number.len() >= 2
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn strip_suffixes(subject: &str) -> &str {
    let mut subject = subject.trim();
    loop {
        let before = subject;
        subject = subject.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | ';' | '-'));
        for (open, close) in [('(', ')'), ('[', ']')] {
            let Some(rest) = subject.strip_suffix(close) else { continue };
            let Some(at) = rest.rfind(open) else { continue };
            let inside = rest[at + 1..].to_ascii_lowercase();
            if inside.contains('#')
                || inside.contains("gh-")
                || inside.contains("skip")
                || inside.starts_with("close")
                || inside.starts_with("fix")
                || is_reference(&rest[at + 1..])
            {
                subject = &subject[..at];
            }
        }
        if let Some((rest, last)) = subject.rsplit_once(' ')
            && is_reference(last)
        {
            let verb = rest.rsplit(' ').next().unwrap_or_default().to_ascii_lowercase();
            let verb = verb.trim_matches(|c: char| !c.is_alphanumeric());
            let named = [
                "fixes",
                "fix",
                "addresses",
                "closes",
                "close",
                "resolves",
                "refs",
                "ref",
                "issue",
                "see",
                "re",
                "for",
                "from",
                "pr",
                "bug",
            ]
            .contains(&verb);
            subject = if named { rest.rsplit_once(' ').map_or("", |(rest, _)| rest) } else { rest };
        }
        if subject.len() == before.len() {
            return subject.trim_end_matches(':');
        }
    }
}

/// `1.2`, `v1.2.3`, `2.0.0-rc1`.
fn is_version(word: &str) -> bool {
    let word = word.strip_prefix('v').unwrap_or(word);
    let mut parts = word.split('.');
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.next().is_some_and(number)
        && parts.next().is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()))
        && word.len() <= 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_references_are_stripped() {
        for (message, wanted) in [
            ("feat(parser)!: read headers of long files (#123)", "read headers of long files"),
            ("[core] Read headers of long files", "Read headers of long files"),
            ("Fix #12: read headers of long files", "read headers of long files"),
            ("ABC-123 Read headers of long files. Closes #4", "Read headers of long files"),
            ("GH-77: Read headers of long files", "Read headers of long files"),
            (":bug: fix: Read headers of long files\n\nBody.", "Read headers of long files"),
            ("\u{1f41b} Read headers of `long` files (fixes #1) [ci skip]", "Read headers of long files"),
            ("net/http: read headers of long files", "net/http: read headers of long files"),
        ] {
            assert_eq!(clean(message).as_deref(), Some(wanted), "{message}");
        }
    }

    #[test]
    fn unusable_subjects_are_refused() {
        for message in [
            "Release the next big thing today",
            "Bump serde from 1.0.1 to 1.0.2 in /training",
            "Fix a typo in the parser module",
            "docs: explain how headers are read",
            "chore(deps): update all of the things",
            "Merge branch 'main' of the other repository",
            "Revert \"Read headers of long files\"",
            "Run rustfmt on all of the files",
            "Address code review comments of the parser",
            "Update version to the newest one available",
            "Read headers",
            "",
            "test(parser): cover headers of long files",
            "Update documentation of the header reader",
        ] {
            assert_eq!(clean(message), None, "{message}");
        }
    }
}
