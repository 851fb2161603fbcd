//! Title: the subject of a report.

/// Maximum length of a first line that is the title. Of a longer one, the first sentence is.
const MAX_BYTES: usize = 200;
/// Tags before a title, in lower case.
const TAGS: &[&str] =
    &["bug", "bug report", "issue", "feature", "feature request", "question", "regression", "help", "rfc"];
/// Types of conventional commits.
const TYPES: &[&str] = &["fix", "feat", "bugfix", "chore", "perf", "hotfix"];

/// Splits `prose` into its title, without tags, and the rest.
pub fn split(prose: &str) -> (String, String) {
    let prose = prose.trim();
    let (first, rest) = prose.split_once('\n').unwrap_or((prose, ""));
    let end = if first.len() <= MAX_BYTES { first.len() } else { end_of_sentence(first) };
    let (title, more) = first.split_at(end);
    let rest = if more.trim().is_empty() { rest.to_owned() } else { format!("{}\n{rest}", more.trim()) };

    (without_tags(title), rest.trim().to_owned())
}

/// Returns the end of the first sentence of `text`, at most [`MAX_BYTES`].
fn end_of_sentence(text: &str) -> usize {
    let limit = text.floor_char_boundary(MAX_BYTES);
    let ends = [". ", "? ", "! ", ": "].iter().filter_map(|end| text[..limit].find(end));
    ends.min().map_or_else(|| text[..limit].rfind(' ').unwrap_or(limit), |at| at + 1)
}

/// Removes `[Bug]:`, `Bug report:`, `fix(scope):` and `(#123)` from `title`. The scope of a commit stays.
fn without_tags(title: &str) -> String {
    let mut title = title.trim().trim_start_matches('#').trim_start();
    loop {
        let rest = match title.strip_prefix('[') {
            Some(rest) => rest.split_once(']').filter(|(tag, _)| is_tag(tag)).map(|(_, rest)| rest),
            None => title.split_once(':').filter(|(tag, _)| is_tag(tag)).map(|(_, rest)| rest),
        };
        match rest.map(|rest| rest.trim_start_matches([':', '-', ' '])) {
            Some(rest) if !rest.is_empty() => title = rest,
            _ => break,
        }
    }

    let scoped = title.split_once(':').and_then(|(head, rest)| {
        let (kind, scope) =
            head.trim_end_matches('!').split_once('(').unwrap_or((head.trim_end_matches('!'), ""));
        TYPES
            .contains(&kind.to_ascii_lowercase().as_str())
            .then(|| (scope.trim_end_matches(')'), rest.trim()))
    });

    let title = match scoped {
        Some((scope, rest)) if !rest.is_empty() => format!("{scope} {rest}"),
        _ => title.to_owned(),
    };

    without_references(&title).trim_matches('*').trim().to_owned()
}

/// Removes the numbers of issues at the end of `text`, such as `(#123)`, unless there is nothing else.
pub fn without_references(text: &str) -> &str {
    let mut rest = text;
    while let Some(inner) = rest.trim_end().strip_suffix(')')
        && let Some((before, number)) = inner.rsplit_once("(#")
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && !before.trim().is_empty()
    {
        rest = before.trim_end();
    }

    rest
}

fn is_tag(tag: &str) -> bool {
    let tag = tag.trim().trim_matches(|c: char| !c.is_ascii_alphabetic()).to_ascii_lowercase();
    TAGS.contains(&tag.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_numbers_are_no_part_of_a_title() {
        for (text, title) in [
            ("[Bug]: it fails (#12)", "it fails"),
            ("🐛 Bug Report: - it fails", "it fails"),
            ("fix(router): it fails (#8903 regression) (#10)", "router it fails (#8903 regression)"),
            ("feat!: it fails", "it fails"),
            ("## it fails", "it fails"),
            ("url: keep it", "url: keep it"),
            ("[core] it fails", "[core] it fails"),
        ] {
            assert_eq!(split(text).0, title);
        }
    }

    #[test]
    fn numbers_of_issues_are_no_part_of_a_query() {
        for (text, query) in [
            ("it fails (#12) (#13)", "it fails"),
            ("(#12)", "(#12)"),
            ("f(#12) fails", "f(#12) fails"),
            ("f(x)", "f(x)"),
            ("it fails (#)", "it fails (#)"),
        ] {
            assert_eq!(without_references(text), query);
        }
    }

    #[test]
    fn the_title_of_a_paragraph_is_its_first_sentence() {
        let (title, rest) = split(&format!("A server sends it. {}", "Then more follows. ".repeat(20)));
        assert_eq!(title, "A server sends it.");
        assert!(rest.starts_with("Then more"));
        assert_eq!(split("one\ntwo"), ("one".to_owned(), "two".to_owned()));
    }
}
