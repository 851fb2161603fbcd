//! Turns a commit message into a query: the subject and first paragraph, without trailers, references and
//! file names.

use std::collections::BTreeSet;

use super::{SkipReason, tables};

/// Minimum number of words of a query.
const MIN_WORDS: usize = 3;
/// Maximum number of characters taken from the first paragraph of the body.
const BODY_CHARS: usize = 300;

/// Words before a colon that name a kind of change and not a component.
const TYPES: &[&str] = &[
    "build",
    "bug",
    "bugfix",
    "change",
    "chore",
    "ci",
    "doc",
    "docs",
    "enhancement",
    "feat",
    "feature",
    "fix",
    "hotfix",
    "improvement",
    "minor",
    "misc",
    "perf",
    "refactor",
    "revert",
    "style",
    "test",
    "tests",
];

/// Words that refer to an issue. A line that has only these and references is dropped.
const CLOSERS: &[&str] = &[
    "bug",
    "close",
    "closed",
    "closes",
    "fix",
    "fixed",
    "fixes",
    "follow-up",
    "for",
    "issue",
    "issues",
    "pr",
    "ref",
    "refs",
    "related",
    "resolve",
    "resolved",
    "resolves",
    "see",
    "to",
];

/// A commit message in parts, as written. Cleaning needs the names of the changed files and is done in
/// [`Message::query`].
pub struct Message {
    /// The type prefix of the subject, such as `fix`.
    kind: Option<String>,
    /// The subject without the type prefix.
    subject: String,
    body: String,
}

impl Message {
    /// Parses a message. The error is the reason to skip the commit.
    pub fn parse(raw: &str) -> Result<Message, SkipReason> {
        let mut lines = raw.lines();
        let subject = lines.by_ref().find(|line| !line.trim().is_empty()).unwrap_or("").trim();

        let lowercase = subject.to_lowercase();
        if ["revert", "back out", "reapply"].iter().any(|word| lowercase.starts_with(word)) {
            return Err(SkipReason::Revert);
        }
        // A merge that was rebased or squashed has one parent, and still its message.
        if lowercase.starts_with("merge") {
            return Err(SkipReason::NotOneParent);
        }

        // Routine phrases have a type (`build(deps`) or follow one (`chore: bump …`).
        if tables::is_routine(subject) {
            return Err(SkipReason::Routine);
        }
        let (kind, rest) = without_type(subject);
        if tables::is_routine(&rest) {
            return Err(SkipReason::Routine);
        }

        Ok(Message { kind, subject: rest, body: paragraph(lines) })
    }

    /// Returns the kind of change: that of the type prefix or else of the first word, one of [`tables`].
    pub fn category(&self) -> &'static str {
        if let Some(kind) = &self.kind {
            let category = tables::category(kind);
            if category != "other" {
                return category;
            }
        }

        let first = self.subject.split_whitespace().next().map_or("", bare);
        match tables::category(first) {
            // After a component (`parser: fix …`) the kind is the next word.
            "other" => {
                let rest = self.subject.split_once(": ").map_or("", |(_, rest)| rest);
                rest.split_whitespace().next().map_or("other", tables::category)
            }
            category => category,
        }
    }

    /// Returns the query, without the names of the changed `paths`; `None` if fewer than three words remain.
    pub fn query(&self, paths: &[&str]) -> Option<String> {
        let (subject, body) = (clean(&self.subject, paths), clean(&self.body, paths));
        let subject_words = words(&subject);
        if subject_words.len() < MIN_WORDS {
            return None;
        }

        // A body that only repeats the subject is dropped.
        let adds = words(&body).difference(&subject_words).count() >= MIN_WORDS;
        Some(if adds { format!("{subject}\n{body}") } else { subject })
    }
}

/// Returns the distinct words of at least two letters, in lower case.
pub fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !c.is_alphabetic());
    parts.filter(|word| word.chars().count() >= 2).map(str::to_lowercase).collect()
}

/// Splits off the type prefix: `fix(parser)!: keep blanks` → (`fix`, `parser: keep blanks`).
fn without_type(subject: &str) -> (Option<String>, String) {
    let Some((head, rest)) = subject.split_once(':') else { return (None, subject.to_owned()) };
    let head = head.trim().trim_end_matches('!');
    let (kind, scope) = match head.split_once('(') {
        Some((kind, scope)) => (kind.trim(), scope.trim_end_matches(')')),
        None => (head, ""),
    };
    // Another word before a colon is a component, which belongs to the subject.
    if !TYPES.contains(&kind.to_lowercase().as_str()) {
        return (None, subject.to_owned());
    }

    let rest = rest.trim();
    let subject = if scope.is_empty() { rest.to_owned() } else { format!("{scope}: {rest}") };
    (Some(kind.to_owned()), subject)
}

/// Returns the first paragraph of the body without trailers, quotations, headings and code.
fn paragraph<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut is_fenced = false;
    for line in lines {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        // Four spaces or a tab begin a code block of Markdown.
        let is_code = is_fence || is_fenced || line.starts_with("    ") || line.starts_with('\t');
        let line = line.trim();

        if line.is_empty() && !text.is_empty() {
            break;
        }
        if is_code || line.starts_with('>') || line.starts_with('#') || is_trailer(line) {
            continue;
        }
        if !line.is_empty() {
            text.push_str(line);
            text.push(' ');
        }
    }

    // Cut between words.
    let Some((end, _)) = text.char_indices().nth(BODY_CHARS) else { return text };
    let end = text[..end].rfind(' ').unwrap_or(end);
    text.truncate(end);
    text
}

/// Returns whether a line is a trailer (`Signed-off-by: …`, `Fixes: …`, `git-svn-id: …`, `(cherry picked
/// from …)`) or only closes an issue.
fn is_trailer(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(key, _)| is_trailer_key(key))
        || line.starts_with("(cherry picked from")
        || (!line.is_empty() && only_closes(line))
}

/// Returns whether `key` is the key of a trailer: it has a hyphen, refers to an issue, or is `Cc`.
fn is_trailer_key(key: &str) -> bool {
    !key.is_empty()
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        && (key.contains('-') || CLOSERS.contains(&key.to_lowercase().as_str()) || key == "Cc")
}

/// Returns whether all words of `line` are references or words that refer to an issue.
fn only_closes(line: &str) -> bool {
    let mut words = line.split_whitespace().map(bare).filter(|word| !is_reference(word));
    words.all(|word| CLOSERS.contains(&word.to_lowercase().as_str()))
}

/// Returns `text` without references to issues, commits and URLs, e-mail addresses, and names of `paths`.
fn clean(text: &str, paths: &[&str]) -> String {
    let names: BTreeSet<&str> =
        paths.iter().flat_map(|path| [*path, path.rsplit('/').next().unwrap_or(path)]).collect();

    let mut kept = Vec::new();
    for word in text.split_whitespace() {
        let bare = bare(word);
        // `lib/a.c:12` is a name too; a word without a dot or slash may be an ordinary word.
        let name = bare.split(':').next().unwrap_or(bare);
        let is_name = name.contains(['.', '/']) && names.contains(name);
        if !is_reference(bare) && !is_name {
            kept.push(word);
        }
    }

    let text = kept.join(" ");
    text.trim_matches(|c: char| c.is_whitespace() || ":;,-*".contains(c)).to_owned()
}

/// Returns a word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| "()[]{}<>\"'`,;:.!?".contains(c))
}

/// Returns whether a word is a reference: `#12`, `GH-12`, `owner/name#12`, `LANG-1234`, a URL, an e-mail
/// address, a commit id.
fn is_reference(word: &str) -> bool {
    word.contains("://")
        || word.starts_with("www.")
        || (word.contains('@') && word.contains('.'))
        || word.rsplit_once('#').is_some_and(|(_, number)| is_number(number))
        || word.split_once('-').is_some_and(|(key, number)| is_tracker_key(key) && is_number(number))
        || is_commit_id(word)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Returns whether `key` may be that of an issue tracker, such as `LANG` of `LANG-1234`.
fn is_tracker_key(key: &str) -> bool {
    key.len() >= 2 && key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

/// Returns whether a word is a commit id, whole or abbreviated. It must have a digit: `defaced` is a word.
fn is_commit_id(word: &str) -> bool {
    (7..=40).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        && word.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(raw: &str, paths: &[&str]) -> Option<String> {
        Message::parse(raw).ok().and_then(|message| message.query(paths))
    }

    #[test]
    fn references_trailers_and_code_are_removed() {
        let raw = "fix(parser)!: keep blanks in quoted values (#123)\n\nReported in LANG-99, see https://example.com/x.\nThe reader dropped them since 1a2b3c4d5e.\n\nMore detail.\n\nCloses #5\nSigned-off-by: A <a@b.c>\n";
        assert_eq!(
            query(raw, &[]).unwrap(),
            "parser: keep blanks in quoted values\nReported in see The reader dropped them since"
        );
        let trailers =
            "Keep blanks in values\n\nFixes #12\nSee: other thing here\nCo-authored-by: B <b@c.d>\n";
        assert_eq!(query(trailers, &[]).unwrap(), "Keep blanks in values");
        let twice = "Keep blanks in values (#3)\n\nfix: keep blanks in values\n";
        assert_eq!(query(twice, &[]).unwrap(), "Keep blanks in values");
        let code = "Keep blanks in values\n\n```\nlet x = 1;\n```\n> quoted words of others\nplain words stay here\n";
        assert_eq!(query(code, &[]).unwrap(), "Keep blanks in values\nplain words stay here");
    }

    #[test]
    fn names_of_changed_files_are_removed_and_words_are_kept() {
        let raw = "reader: make src/reader.rs and `util.rs` skip empty lines";
        assert_eq!(
            query(raw, &["src/reader.rs", "src/util.rs", "reader"]).unwrap(),
            "reader: make and skip empty lines"
        );
    }

    #[test]
    fn short_messages_give_no_query() {
        for raw in ["", "oops", "fix #12", "Fix bug (#3)", "see lib/a.c", "1.2.3"] {
            assert_eq!(query(raw, &["lib/a.c"]), None, "{raw}");
        }
    }

    #[test]
    fn reverts_merges_and_routine_commits_are_skipped() {
        let reason = |raw| Message::parse(raw).err();
        assert_eq!(reason("Revert \"add a thing\""), Some(SkipReason::Revert));
        assert_eq!(reason("Merge branch 'x'"), Some(SkipReason::NotOneParent));
        assert_eq!(reason("chore: bump the toolchain"), Some(SkipReason::Routine));
        assert_eq!(reason("Close the file before renaming it"), None);
    }

    #[test]
    fn the_kind_is_the_type_prefix_or_the_first_verb() {
        let category = |raw| Message::parse(raw).map(|message| message.category()).ok();
        assert_eq!(category("feat(x): y of z"), Some("feature"));
        assert_eq!(category("parser: fix blanks again"), Some("fix"));
        assert_eq!(category("Remove the old reader"), Some("refactor"));
        assert_eq!(category("Zebras are striped"), Some("other"));
    }
}
