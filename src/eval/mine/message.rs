//! A commit message as a question: what a person wanted, without what only the archive needs.

use super::{Reason, tables};
use std::collections::BTreeSet;

/// Fewer words say nothing that could be searched for.
const LEAST_WORDS: usize = 3;
/// Of the body's first paragraph, this many characters are taken; what follows is detail.
const BODY_CHARS: usize = 300;

/// Words before a colon that announce a sort of change and not a place.
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

/// Words that refer to an issue; alone on a line they say nothing.
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

/// A message in parts. Kept as written until the names of the changed files are known.
pub struct Message {
    /// The announced type and the subject without it.
    kind: Option<String>,
    subject: String,
    body: String,
}

impl Message {
    /// Takes a message apart, or says why it is no question.
    pub fn parse(raw: &str) -> Result<Message, Reason> {
        let mut lines = raw.lines();
        let subject = lines.by_ref().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
        let first = subject.to_lowercase();
        if first.starts_with("revert") || first.starts_with("back out") || first.starts_with("reapply") {
            return Err(Reason::Revert);
        }
        if first.starts_with("merge") {
            return Err(Reason::NotOneParent);
        }
        if tables::is_routine(subject) {
            return Err(Reason::Routine);
        }
        let (kind, rest) = without_type(subject);
        if tables::is_routine(&rest) {
            return Err(Reason::Routine);
        }
        Ok(Message { kind, subject: rest, body: paragraph(lines) })
    }

    /// The sort of change.
    pub fn category(&self) -> &'static str {
        let first = || self.subject.split_whitespace().next().map(bare).unwrap_or("");
        // After a place (`parser: fix …`) the sort is the next word.
        let second = || self.subject.split_once(": ").and_then(|(_, rest)| rest.split_whitespace().next());
        let by_kind = self.kind.as_deref().map(tables::category).filter(|found| *found != "other");
        by_kind.unwrap_or_else(|| match tables::category(first()) {
            "other" => second().map_or("other", tables::category),
            found => found,
        })
    }

    /// The question, without the names of the changed `paths`; `None` if too little is left.
    pub fn question(&self, paths: &[&str]) -> Option<String> {
        let (subject, body) = (clean(&self.subject, paths), clean(&self.body, paths));
        let said = words(&subject);
        if said.len() < LEAST_WORDS {
            return None;
        }
        // A body that only says it again is none.
        let adds = words(&body).difference(&said).count() >= LEAST_WORDS;
        Some(if adds { format!("{subject}\n{body}") } else { subject })
    }
}

/// The words of a text, in lower case: letters only, at least two.
pub fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !c.is_alphabetic());
    parts.filter(|word| word.chars().count() >= 2).map(str::to_lowercase).collect()
}

/// `fix(parser)!: keep blanks` → (`fix`, `parser: keep blanks`).
fn without_type(subject: &str) -> (Option<String>, String) {
    let Some((head, rest)) = subject.split_once(':') else { return (None, subject.to_owned()) };
    let head = head.trim().trim_end_matches('!');
    let (kind, scope) = match head.split_once('(') {
        Some((kind, scope)) => (kind.trim(), scope.trim_end_matches(')')),
        None => (head, ""),
    };
    if !TYPES.contains(&kind.to_lowercase().as_str()) {
        return (None, subject.to_owned());
    }
    let rest = rest.trim();
    let subject = if scope.is_empty() { rest.to_owned() } else { format!("{scope}: {rest}") };
    (Some(kind.to_owned()), subject)
}

/// The first paragraph of prose: no trailers, quotations, lists of commits or code.
fn paragraph<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut is_fenced = false;
    for line in lines {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
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
    let Some((end, _)) = text.char_indices().nth(BODY_CHARS) else { return text };
    let end = text[..end].rfind(' ').unwrap_or(end);
    text.truncate(end);
    text
}

/// `Signed-off-by: …`, `Fixes: …`, `git-svn-id: …`, `(cherry picked from …)`, and lines that only close an issue.
fn is_trailer(line: &str) -> bool {
    let by_key = line.split_once(": ").is_some_and(|(key, _)| {
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        is_key && (key.contains('-') || CLOSERS.contains(&key.to_lowercase().as_str()) || key == "Cc")
    });
    let says_nothing = || {
        let mut left = line.split_whitespace().map(bare).filter(|word| !is_reference(word));
        left.all(|word| CLOSERS.contains(&word.to_lowercase().as_str()))
    };
    by_key || line.starts_with("(cherry picked from") || (!line.is_empty() && says_nothing())
}

/// `text` without references to issues, commits and pages, addresses, and names of `paths`.
fn clean(text: &str, paths: &[&str]) -> String {
    let names: BTreeSet<&str> =
        paths.iter().flat_map(|path| [*path, path.rsplit('/').next().unwrap_or(path)]).collect();
    let is_name = |word: &str| {
        // `lib/a.c:12` is named as well; a word without a dot or slash may be just a word.
        let word = word.split(':').next().unwrap_or(word);
        word.contains(['.', '/']) && names.contains(word)
    };
    let kept = text.split_whitespace().filter(|word| {
        let bare = bare(word);
        !is_reference(bare) && !is_name(bare)
    });
    let text = kept.collect::<Vec<_>>().join(" ");
    text.trim_matches(|c: char| c.is_whitespace() || ":;,-*".contains(c)).to_owned()
}

/// A word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| "()[]{}<>\"'`,;:.!?".contains(c))
}

/// `#12`, `GH-12`, `owner/name#12`, `LANG-1234`, a page, an address, the name of a commit.
fn is_reference(word: &str) -> bool {
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_key = || {
        word.split_once('-').is_some_and(|(key, number)| {
            key.len() >= 2
                && key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
                && all_digits(number)
        })
    };
    let is_commit = || {
        (7..=40).contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
            && word.bytes().any(|b| b.is_ascii_digit())
    };
    word.contains("://")
        || word.starts_with("www.")
        || (word.contains('@') && word.contains('.'))
        || word.rsplit_once('#').is_some_and(|(_, number)| all_digits(number))
        || is_key()
        || is_commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(raw: &str, paths: &[&str]) -> Option<String> {
        Message::parse(raw).ok().and_then(|message| message.question(paths))
    }

    #[test]
    fn what_only_the_archive_needs_is_taken_out() {
        let raw = "fix(parser)!: keep blanks in quoted values (#123)\n\nReported in LANG-99, see https://example.com/x.\nThe reader dropped them since 1a2b3c4d5e.\n\nMore detail.\n\nCloses #5\nSigned-off-by: A <a@b.c>\n";
        assert_eq!(
            question(raw, &[]).unwrap(),
            "parser: keep blanks in quoted values\nReported in see The reader dropped them since"
        );
        let trailers =
            "Keep blanks in values\n\nFixes #12\nSee: other thing here\nCo-authored-by: B <b@c.d>\n";
        assert_eq!(question(trailers, &[]).unwrap(), "Keep blanks in values");
        let twice = "Keep blanks in values (#3)\n\nfix: keep blanks in values\n";
        assert_eq!(question(twice, &[]).unwrap(), "Keep blanks in values");
        let code = "Keep blanks in values\n\n```\nlet x = 1;\n```\n> quoted words of others\nplain words stay here\n";
        assert_eq!(question(code, &[]).unwrap(), "Keep blanks in values\nplain words stay here");
    }

    #[test]
    fn names_of_changed_files_are_taken_out_and_words_are_not() {
        let raw = "reader: make src/reader.rs and `util.rs` skip empty lines";
        assert_eq!(
            question(raw, &["src/reader.rs", "src/util.rs", "reader"]).unwrap(),
            "reader: make and skip empty lines"
        );
    }

    #[test]
    fn too_little_is_no_question() {
        for raw in ["", "oops", "fix #12", "Fix bug (#3)", "see lib/a.c", "1.2.3"] {
            assert_eq!(question(raw, &["lib/a.c"]), None, "{raw}");
        }
    }

    #[test]
    fn reverts_merges_and_routine_are_told_apart() {
        let reason = |raw| Message::parse(raw).err();
        assert_eq!(reason("Revert \"add a thing\""), Some(Reason::Revert));
        assert_eq!(reason("Merge branch 'x'"), Some(Reason::NotOneParent));
        assert_eq!(reason("chore: bump the toolchain"), Some(Reason::Routine));
        assert_eq!(reason("Close the file before renaming it"), None);
    }

    #[test]
    fn the_sort_is_in_the_type_or_the_first_verb() {
        let category = |raw| Message::parse(raw).map(|message| message.category()).ok();
        assert_eq!(category("feat(x): y of z"), Some("feature"));
        assert_eq!(category("parser: fix blanks again"), Some("fix"));
        assert_eq!(category("Remove the old reader"), Some("refactor"));
        assert_eq!(category("Zebras are striped"), Some("other"));
    }
}
