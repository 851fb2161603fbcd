//! Finds file paths in a query: pasted stack traces, compiler messages, plain paths.

/// A path in a query, with its line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mention {
    /// The path with `/` as separator, without a leading `./`.
    pub path: String,
    /// The 1-based line.
    pub line: Option<u32>,
}

use std::collections::HashSet;

use super::query::head_and_tail;

/// Maximum number of mentions. The first and the last frames of a longer trace are kept.
const MAX_MENTIONS: usize = 48;
/// Maximum length of a path.
const MAX_PATH_BYTES: usize = 300;

/// Returns the paths in `text`, in order, without duplicates of path and line. Recognised forms:
/// `a/b.py:12:5`, `File "a/b.py", line 12`, `b.py(12)`, `(a/b.js:1:2)`.
pub fn mentions(text: &str) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut known: HashSet<Mention> = HashSet::new();

    let mut rest = text;
    while let Some(start) = rest.find(|c: char| !is_separator(c)) {
        rest = &rest[start..];
        let end = rest.find(is_separator).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;

        for piece in pieces(word) {
            let Some(mut mention) = mention(piece) else { continue };
            mention.line = mention.line.or_else(|| line_after(after));
            if known.insert(mention.clone()) {
                found.push(mention);
            }
        }
    }

    head_and_tail(found, MAX_MENTIONS)
}

/// Returns true for characters that separate words and cannot be part of a path in a trace.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '<' | '>' | '[' | ']' | '{' | '}' | '|')
}

/// Splits a call from its argument: `Foo.bar(Baz.java:33)` is two pieces, `a.cs(12` is one.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    // A number in parentheses is a line, not an argument.
    let call =
        word.find('(').filter(|&at| at > 0 && !word[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    let (first, second) = match call {
        Some(at) => (&word[..at], Some(&word[at + 1..])),
        None => (word, None),
    };

    std::iter::once(first).chain(second)
}

/// Parses a word as a path with an optional line.
fn mention(word: &str) -> Option<Mention> {
    let word = word.trim_start_matches('(').trim_end_matches(['.', ')', ':', '!', '?']);
    let word = word.strip_prefix("file://").unwrap_or(word);

    let (path, line) = match word.find(['(', ':']).filter(|&at| at > 1) {
        // The colon at 1 in `C:\a.c` belongs to the path.
        Some(at) => (&word[..at], leading_number(&word[at + 1..])),
        None => (word, None),
    };

    // URLs and globs name no file.
    if path.len() > MAX_PATH_BYTES || path.contains("://") || path.contains("**") {
        return None;
    }

    let path = path.replace('\\', "/");
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.')?;
    let is_extension = (1..=6).contains(&extension.len())
        && extension.bytes().all(|b| b.is_ascii_alphanumeric())
        && extension.starts_with(|c: char| {
            c.is_ascii_lowercase() || (c.is_ascii_uppercase() && extension.len() == 1)
        });
    let is_name = !stem.is_empty() && stem.chars().any(char::is_alphabetic);

    // `os.path` and `e.g` look like file names, so a word without a folder or a line needs a known extension.
    let is_certain = path.contains('/') || line.is_some() || is_source_extension(extension);
    (is_extension && is_name && is_certain).then(|| Mention { path: path.to_owned(), line })
}

/// Returns the positive number that a text begins with.
fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok().filter(|&line| line > 0)
}

/// Returns the line in `", line 12`.
fn line_after(text: &str) -> Option<u32> {
    let text = text.trim_start_matches(['"', '\'', ',', ' ', '(']);
    let number = text
        .strip_prefix("line ")
        .or_else(|| text.strip_prefix("on line "))
        .or_else(|| text.strip_prefix("at line "))?;
    leading_number(number)
}

/// Returns whether a bare name with this extension is a file. The list is sorted for binary search.
fn is_source_extension(extension: &str) -> bool {
    const KNOWN: &[&str] = &[
        "bash", "c", "cc", "clj", "cpp", "cs", "css", "cxx", "dart", "el", "erl", "ex", "exs", "fs", "go",
        "h", "hpp", "hs", "html", "java", "jl", "js", "json", "jsx", "kt", "kts", "less", "lua", "m", "md",
        "mjs", "ml", "mli", "mm", "php", "pl", "pm", "proto", "ps1", "py", "pyi", "r", "rb", "rs", "scala",
        "scss", "sh", "sql", "svelte", "swift", "toml", "ts", "tsx", "vue", "xml", "yaml", "yml", "zig",
        "zsh",
    ];
    KNOWN.binary_search(&extension).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, Option<u32>)> {
        mentions(text).into_iter().map(|mention| (mention.path, mention.line)).collect()
    }

    #[test]
    fn paths_are_found_in_traces_and_messages() {
        for (text, path, line) in [
            ("src/http/server.rs", "src/http/server.rs", None),
            ("File \"a/b.py\", line 12, in run", "a/b.py", Some(12)),
            ("  --> src/main.rs:12:5", "src/main.rs", Some(12)),
            ("at foo (/srv/app/lib/x.js:10:5)", "/srv/app/lib/x.js", Some(10)),
            ("at Foo.bar(Baz.java:33)", "Baz.java", Some(33)),
            ("panicked at ./src/x.rs:7:1:", "src/x.rs", Some(7)),
            ("a\\b\\c.cs(12,3): error CS1002", "a/b/c.cs", Some(12)),
            ("what does parser.go do?", "parser.go", None),
        ] {
            let all = found(text);
            assert_eq!(all, [(path.to_owned(), line)], "{text}");
        }
    }

    #[test]
    fn names_numbers_and_urls_are_not_paths() {
        for text in [
            "os.path.join",
            "e.g. this",
            "version 1.2.3",
            "https://a.b/c.html",
            "src/**/*.rs",
            "Parser.next",
            "a sentence.",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
