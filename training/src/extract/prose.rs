//! Extracts from a comment the sentence that resembles a query.

/// The first sentences of a comment, with the length of the part that they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prose {
    pub text: String,
    /// Length of the comment in bytes, up to the end of the last line of `text`.
    pub used: usize,
    /// Whether only comment marks follow after `used`.
    pub whole: bool,
}

/// Maximum length of a text, in characters.
pub const MAX_TEXT: usize = 240;
/// A first sentence shorter than this is extended by the second.
const SHORT_SENTENCE: usize = 60;

/// Prefixes of lines, in lower case, that end the prose.
const SECTIONS: &[&str] = &[
    "args:",
    "arguments:",
    "parameters",
    "params:",
    "returns:",
    "return:",
    "raises:",
    "yields:",
    "throws:",
    "example:",
    "examples",
    "usage:",
    "note:",
    "notes:",
    "see also",
    "see:",
    "# example",
    "# panic",
    "# error",
    "# safety",
    "# return",
    "# argument",
    "## ",
    "- parameter",
    "- returns",
    "- throws",
    "- note",
    "- important",
    "- warning",
    "attributes:",
    ">>>",
    "```",
    "~~~",
    "~~~~",
    "===",
    "---",
    "***",
    ":param",
    ":return",
    ":raise",
    ":type",
    ":rtype",
    ".. ",
    "todo",
    "fixme",
    "@param",
    "iex>",
    "<pre",
    "<example",
    "<param",
    "<returns",
    "<remarks",
    "<exception",
    "<typeparam",
    "example usage",
    "for example:",
    "copyright",
    "-- *",
    "| ",
    "mark:",
];

/// Tags whose text is the prose.
const PROSE_TAGS: &[&str] = &[
    "brief",
    "doc",
    "moduledoc",
    "typedoc",
    "summary",
    "description",
    "desc",
    "notice",
    "title",
    "short",
    "details",
];

/// The first one or two sentences of a comment; `None` if it has none.
pub fn prose(comment: &str) -> Option<Prose> {
    let mut paragraph = String::new();
    let mut ends: Vec<(usize, usize)> = Vec::new(); // (length of the paragraph, bytes used)
    let mut at = 0;
    let mut ended = false;
    for raw in comment.split_inclusive('\n') {
        at += raw.len();
        let line = strip_marks(raw);
        let line = line.trim();
        if !paragraph.is_empty() && (line.is_empty() || begins_section(line)) {
            ended = true;
        }
        if ended {
            break;
        }
        let code = line.starts_with("```") || line.starts_with("~~~");
        if line.is_empty() || paragraph.is_empty() && is_rule(line) && !code {
            continue;
        }
        let Some(line) = tag_text(line) else {
            if paragraph.is_empty() && line.starts_with(['@', '\\']) {
                continue; // `@file`, `@class Name`
            }
            break;
        };
        if begins_section(line) {
            if paragraph.is_empty() {
                return None;
            }
            break;
        }
        if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(line);
        ends.push((paragraph.len(), at));
        if paragraph.len() > 4 * MAX_TEXT {
            break;
        }
    }
    let taken = sentences(&paragraph);
    let used = ends.iter().find(|(length, _)| *length >= taken).or(ends.last())?.1;
    let text = plain(&paragraph[..taken]);
    let whole = comment[used..].lines().all(|line| strip_marks(line).trim().is_empty());
    (!text.is_empty()).then_some(Prose { text, used, whole })
}

/// Length in bytes of the first sentence, or of the first two if the first is short.
fn sentences(paragraph: &str) -> usize {
    let first = sentence_end(paragraph, 0);
    if first < SHORT_SENTENCE && first < paragraph.len() {
        let second = sentence_end(paragraph, first);
        if paragraph[..second].chars().count() <= MAX_TEXT {
            return second;
        }
    }
    if paragraph[..first].chars().count() <= MAX_TEXT {
        return first;
    }
    // A long sentence is cut between words.
    let limit = paragraph.char_indices().nth(MAX_TEXT).map_or(paragraph.len(), |(at, _)| at);
    paragraph[..limit].rfind(' ').unwrap_or(limit)
}

fn sentence_end(text: &str, from: usize) -> usize {
    const ABBREVIATIONS: [&str; 9] =
        ["e.g.", "i.e.", "etc.", "cf.", "vs.", "approx.", "incl.", "resp.", "no."];
    let mut at = from;
    while let Some(found) = text[at..].find(['.', '!', '?']) {
        let mark = at + found;
        at = mark + 1;
        let rest = &text[at..];
        if rest.is_empty() {
            return at;
        }
        let next = rest.trim_start();
        let word = text[..at].rsplit(' ').next().unwrap_or_default().to_ascii_lowercase();
        let begins =
            next.starts_with(|c: char| c.is_uppercase() || c == '`' || c == '"' || c == '<' || c == '{');
        if rest.starts_with(' ') && begins && !ABBREVIATIONS.contains(&word.trim_start_matches('(')) {
            return at;
        }
    }
    text.len()
}

/// A line of a comment without comment marks of any language.
pub fn strip_marks(line: &str) -> &str {
    let mut line = line.trim();
    for end in ["*/", "-->", "-}", "*)", "\"\"\"", "'''", "]]", "=#", "#>"] {
        line = line.strip_suffix(end).unwrap_or(line).trim_end();
    }
    for start in [
        "@moduledoc ~S\"\"\"",
        "@moduledoc \"\"\"",
        "@typedoc \"\"\"",
        "@doc ~S\"\"\"",
        "@doc \"\"\"",
        "@doc \"",
        "r\"\"\"",
        "\"\"\"",
        "'''",
        "--[==[",
        "--[=[",
        "--[[",
        "<!--",
        "{-|",
        "{-",
        "(**",
        "(*",
        "#=",
        "<#",
        "/**",
        "/*!",
        "/*",
        "///",
        "//!",
        "//",
        "#'",
        "#:",
        "-- |",
        "-- ^",
        "---",
        "--",
        "%%%",
        "%%",
        "%",
        ";;;;",
        ";;;",
        ";;",
        ";",
        "=begin",
        "=end",
    ] {
        if let Some(rest) = line.strip_prefix(start) {
            return rest.trim_start_matches(['/', '*', '!', '-', '<']).trim();
        }
    }
    let hashes = line.trim_start_matches('#');
    if hashes.len() + 2 < line.len() && hashes.starts_with(' ') {
        return line; // a Markdown heading, or a rule of hashes
    }
    let line = if hashes.len() < line.len() { hashes } else { line };
    // A star is a mark only before a space or the line end: `*args` and `**bold**` are words.
    match line.strip_prefix('*') {
        Some(rest) if rest.is_empty() || rest.starts_with([' ', '\t']) => rest.trim(),
        _ => line.trim(),
    }
}

fn begins_section(line: &str) -> bool {
    let lower: String = line.chars().take(20).collect::<String>().to_ascii_lowercase();
    SECTIONS.iter().any(|section| lower.starts_with(section))
        || is_rule(line)
        || lower.starts_with("- ")
        || lower.starts_with("* ")
        || lower.starts_with("+ ")
        || lower.starts_with("1. ")
        || lower.starts_with("1) ")
}

/// Whether a line consists of marks only.
fn is_rule(line: &str) -> bool {
    !line.contains(|c: char| c.is_alphanumeric())
}

/// The text of a line after a prose tag; the line itself if it has no tag; `None` for other tags.
fn tag_text(line: &str) -> Option<&str> {
    let Some(rest) = line.strip_prefix(['@', '\\']) else { return Some(line) };
    let (tag, text) = rest.split_once(char::is_whitespace)?;
    PROSE_TAGS.contains(&tag.trim_end_matches(':')).then(|| text.trim()).filter(|text| !text.is_empty())
}

/// Removes the markup of Markdown, XML, Javadoc and reStructuredText, and collapses white space.
pub fn plain(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        at += match rest[0] {
            '<' => xml(rest, &mut out),
            '{' => braces(rest, &mut out),
            '[' => link(rest, &mut out),
            ':' => role(rest, &mut out),
            '`' => 1,
            '*' if rest.get(1) == Some(&'*') => 2,
            '!' if rest.get(1) == Some(&'[') => 1,
            c => {
                out.push(c);
                1
            }
        };
    }
    let mut collapsed = String::with_capacity(out.len());
    for word in out.split_whitespace() {
        let word = word
            .strip_prefix(['@', '\\'])
            .filter(|rest| ["p", "c", "a", "ref", "e", "em", "b"].contains(rest))
            .map_or(word, |_| "");
        if !word.is_empty() {
            if !collapsed.is_empty() {
                collapsed.push(' ');
            }
            collapsed.push_str(word);
        }
    }
    collapsed
}

fn position(rest: &[char], wanted: char, within: usize) -> Option<usize> {
    rest.iter().take(within).position(|&c| c == wanted)
}

/// Names of markup tags; other names in angle brackets are types.
const MARKUP: &[&str] = &[
    "summary",
    "see",
    "seealso",
    "paramref",
    "typeparamref",
    "c",
    "code",
    "p",
    "br",
    "b",
    "i",
    "em",
    "strong",
    "a",
    "ul",
    "li",
    "ol",
    "tt",
    "pre",
    "para",
    "remarks",
    "returns",
    "param",
    "value",
    "inheritdoc",
    "example",
    "h1",
    "h2",
    "h3",
    "h4",
    "kbd",
    "sup",
    "sub",
    "font",
    "blockquote",
    "hr",
    "div",
    "span",
    "list",
    "item",
    "description",
    "term",
    "typeparam",
    "exception",
];

/// Replaces `<see cref="X"/>` by X and removes other markup; keeps `a < b` and `List<T>`.
fn xml(rest: &[char], out: &mut String) -> usize {
    let name: String =
        rest[1..].iter().skip_while(|c| **c == '/').take_while(|c| c.is_ascii_alphanumeric()).collect();
    let named = MARKUP.contains(&name.to_ascii_lowercase().as_str());
    let Some(close) = position(rest, '>', 120).filter(|_| named) else {
        out.push('<');
        return 1;
    };
    let tag: String = rest[..close].iter().collect();
    for attribute in ["cref=\"", "name=\"", "langword=\""] {
        if let Some((_, value)) = tag.split_once(attribute) {
            let value = value.split('"').next().unwrap_or_default();
            out.push_str(value.rsplit([':', '.']).next().unwrap_or(value));
        }
    }
    if matches!(name.as_str(), "br" | "p" | "li" | "para") {
        out.push(' ');
    }
    close + 1
}

/// Replaces `{@link X}` and `{@code x}` by their content.
fn braces(rest: &[char], out: &mut String) -> usize {
    let Some(close) = position(rest, '}', 160).filter(|_| rest.get(1) == Some(&'@')) else {
        out.push('{');
        return 1;
    };
    let inside: String = rest[2..close].iter().collect();
    let shown = inside.split_once(char::is_whitespace).map_or("", |(_, shown)| shown.trim());
    // `{@link Type#method label}` is replaced by its label.
    let shown = match shown.split_once(char::is_whitespace) {
        Some((_, label)) if inside.starts_with("link") => label.trim(),
        _ => shown,
    };
    out.push_str(&shown.replace(['#', '|'], " "));
    close + 1
}

/// Replaces `[text](url)` and `[text][ref]` by their text, `[Type]` and `[[Type]]` by the name.
fn link(rest: &[char], out: &mut String) -> usize {
    let Some(close) = position(rest, ']', 120) else {
        out.push('[');
        return 1;
    };
    let next = rest.get(close + 1);
    let end = match next {
        Some('(') => position(&rest[close..], ')', 200),
        Some('[') => position(&rest[close + 1..], ']', 120).map(|at| at + 1),
        _ => None,
    };
    let inside: String = rest[1..close].iter().filter(|c| !matches!(c, '`' | '[')).collect();
    out.push_str(&inside);
    end.map_or(close + 1, |end| close + end + 1)
}

/// Replaces `` :class:`X` `` by X.
fn role(rest: &[char], out: &mut String) -> usize {
    if let Some(colon) = position(&rest[1..], ':', 16)
        && colon > 0
        && rest.get(colon + 2) == Some(&'`')
        && rest[1..=colon].iter().all(|c| c.is_ascii_alphabetic())
    {
        return colon + 2;
    }
    out.push(':');
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(comment: &str) -> String {
        prose(comment).map(|prose| prose.text).unwrap_or_default()
    }

    #[test]
    fn sentences_of_comments_of_all_styles() {
        for comment in [
            "/// Parses a header of the file.",
            "/**\n * Parses a header of the file.\n * @param x the header\n */",
            "/* Parses a header\n   of the file. */",
            "# Parses a header of the file.",
            "-- | Parses a header of the file.",
            "{-| Parses a header of the file. -}",
            "\"\"\"Parses a header of the file.\n\n    Args:\n        x: it\n\"\"\"",
            "@doc \"\"\"\nParses a header of the file.\n\"\"\"",
            "/// <summary>\n/// Parses a header of the file.\n/// </summary>",
            "/**\n * @brief Parses a header of the file.\n */",
            "/**\n * @file\n * Parses a {@link header} of the file.\n */",
            "(** Parses a [header] of the file. *)",
            ";; Parses a `header` of the file.",
            "/// Parses a [header](https://example.org) of the file.\n///\n/// # Examples",
            "\"\"\"Parses a :class:`header` of the file.\"\"\"",
            "/// Parses a <c>header</c> of<br/>the file.",
            "/// Parses a <see cref=\"T:Lib.header\"/> of the file.",
        ] {
            assert_eq!(text(comment), "Parses a header of the file.", "{comment}");
        }
    }

    #[test]
    fn a_short_sentence_is_extended_by_the_second() {
        assert_eq!(
            text("// Reads it. Blocks until there is more (e.g. Data). No."),
            "Reads it. Blocks until there is more (e.g. Data)."
        );
        let long = format!("// {} end. Next.", "word ".repeat(20));
        assert!(text(&long).ends_with("end."), "{}", text(&long));
        assert_eq!(text("// Wraps a List<T> of headers."), "Wraps a List<T> of headers.");
        assert!(text(&format!("// {}", "word ".repeat(200))).len() <= MAX_TEXT);
    }

    #[test]
    fn used_ends_after_the_lines_of_the_text() {
        let comment = "/// Parses a header that is long enough for a sentence of its own.\n/// More follows.\n/// And more.";
        let prose = prose(comment).unwrap();
        assert_eq!(&comment[prose.used..], "/// More follows.\n/// And more.");
        assert!(!prose.whole);
        assert!(super::prose("/** One. */").unwrap().whole);
    }

    #[test]
    fn tags_rules_and_code_are_not_prose() {
        for comment in [
            "/** @param x the header */",
            "// -----------",
            "/// ```\n/// x\n/// ```",
            "# TODO: do it",
            "/**/",
        ] {
            assert_eq!(text(comment), "", "{comment}");
        }
    }
}
