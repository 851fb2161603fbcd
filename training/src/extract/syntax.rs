//! Scanner for the comments of a source text: one pass, by the comment and string marks of the language.
//!
//! The chunker knows which symbols are documented, but not the position of every comment, which the
//! extraction needs. A regular expression literal with an odd number of quotes may hide comments up to the
//! end of its line, not further.

use std::ops::Range;

/// A comment or a documentation string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Byte range, with marks; a line comment ends before its line feed.
    pub range: Range<usize>,
    /// Whether nothing else is on its first and last line.
    pub alone: bool,
    /// Whether it has an end mark and may span lines.
    pub block: bool,
}

/// Marks of comments and strings in a language.
struct Marks {
    line: &'static [&'static str],
    block: &'static [(&'static str, &'static str)],
    nested: bool,
    /// Quotes of strings that end at the latest with the line.
    quotes: &'static [u8],
    /// Marks of multi-line strings, longest first.
    long: &'static [(&'static str, &'static str)],
    /// Whether `'` opens a literal only if it closes within four bytes.
    char_literal: bool,
}

const C: Marks = Marks {
    line: &["//"],
    block: &[("/*", "*/")],
    nested: false,
    quotes: b"\"",
    long: &[],
    char_literal: true,
};

const NONE: Marks =
    Marks { line: &[], block: &[], nested: false, quotes: b"", long: &[], char_literal: false };

const HASH: Marks =
    Marks { line: &["#"], block: &[], nested: false, quotes: b"\"'", long: &[], char_literal: false };

const TRIPLE: &[(&str, &str)] = &[("\"\"\"", "\"\"\"")];

fn marks(language: &str) -> Marks {
    match language {
        "c" | "cpp" | "objective_c" | "cuda" | "opencl" | "arduino" | "proto" | "solidity" | "d" | "vala"
        | "glsl" | "hlsl" => C,
        "java" | "kotlin" | "csharp" | "swift" | "scala" => {
            Marks { long: TRIPLE, nested: matches!(language, "kotlin" | "swift" | "scala"), ..C }
        }
        "go" => Marks { long: &[("`", "`")], ..C },
        "rust" => Marks { long: &[("r#\"", "\"#")], nested: true, ..C },
        "zig" => Marks { line: &["//", "\\\\"], block: &[], ..C },
        "javascript" | "typescript" | "tsx" | "vue" | "svelte" | "astro" | "coffeescript" => {
            Marks { quotes: b"\"'", long: &[("`", "`")], char_literal: false, ..C }
        }
        "dart" | "groovy" => {
            Marks { quotes: b"\"'", long: &[("\"\"\"", "\"\"\""), ("'''", "'''")], char_literal: false, ..C }
        }
        "php" => Marks { line: &["//", "#"], quotes: b"\"'", char_literal: false, ..C },
        "css" | "scss" | "less" => Marks { line: &[], quotes: b"\"'", char_literal: false, ..C },
        "python" | "starlark" | "cython" => Marks { long: &[("\"\"\"", "\"\"\""), ("'''", "'''")], ..HASH },
        "ruby" => Marks { block: &[("=begin", "=end")], ..HASH },
        "bash" | "fish" | "zsh" | "make" | "dockerfile" | "cmake" | "r" | "perl" | "tcl" | "awk"
        | "crystal" | "just" => HASH,
        "nix" => Marks { block: &[("/*", "*/")], long: &[("''", "''")], quotes: b"\"", ..HASH },
        "hcl" => Marks { line: &["#", "//"], block: &[("/*", "*/")], quotes: b"\"", ..HASH },
        "julia" => Marks {
            block: &[("#=", "=#")],
            nested: true,
            quotes: b"\"",
            char_literal: true,
            long: TRIPLE,
            ..HASH
        },
        "powershell" => Marks { block: &[("<#", "#>")], ..HASH },
        "nim" => Marks {
            block: &[("#[", "]#")],
            nested: true,
            quotes: b"\"",
            char_literal: true,
            long: TRIPLE,
            ..HASH
        },
        "elixir" => Marks {
            // Documentation is an attribute whose value is a string.
            block: &[
                ("@doc \"\"\"", "\"\"\""),
                ("@moduledoc \"\"\"", "\"\"\""),
                ("@typedoc \"\"\"", "\"\"\""),
                ("@doc ~S\"\"\"", "\"\"\""),
                ("@moduledoc ~S\"\"\"", "\"\"\""),
                ("@doc \"", "\"\n"),
            ],
            quotes: b"\"",
            long: TRIPLE,
            char_literal: true,
            ..HASH
        },
        "lua" => Marks {
            line: &["--"],
            block: &[("--[[", "]]"), ("--[==[", "]==]"), ("--[=[", "]=]")],
            nested: false,
            quotes: b"\"'",
            long: &[("[[", "]]")],
            char_literal: false,
        },
        "haskell" | "elm" | "purescript" => Marks {
            line: &["--"],
            block: &[("{-", "-}")],
            nested: true,
            quotes: b"\"",
            long: &[],
            char_literal: true,
        },
        "sql" => Marks { line: &["--"], quotes: b"\"'", char_literal: false, ..C },
        "ocaml" | "ocaml_interface" | "fsharp" => Marks {
            line: if language == "fsharp" { &["//"] } else { &[] },
            block: &[("(*", "*)")],
            nested: true,
            quotes: b"\"",
            long: if language == "fsharp" { TRIPLE } else { &[] },
            char_literal: true,
        },
        "erlang" => Marks { line: &["%"], ..HASH },
        "clojure" | "scheme" | "common_lisp" | "emacs_lisp" | "racket" => {
            Marks { line: &[";"], quotes: b"", long: &[("\"", "\"")], ..HASH }
        }
        "vim_script" | "vim" => Marks { line: &[], ..NONE },
        _ => NONE,
    }
}

/// All comments of `text`, in order. Empty for languages whose marks are not known.
pub fn comments(text: &str, language: &str) -> Vec<Comment> {
    let marks = marks(language);
    let bytes = text.as_bytes();
    let docstrings = matches!(language, "python" | "starlark" | "cython");
    let mut found = Vec::new();
    // The last byte that is neither white space nor comment.
    let mut last_code = None;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        // Most bytes start neither a comment nor a string.
        if bytes[at].is_ascii_alphanumeric() && bytes[at] != b'r' || bytes[at].is_ascii_whitespace() {
            if !bytes[at].is_ascii_whitespace() {
                last_code = Some(bytes[at]);
            }
            at += 1;
            continue;
        }
        if let Some(&(open, close)) = marks.block.iter().find(|(open, _)| opens_block(bytes, at, open)) {
            let end = block_end(bytes, at + open.len(), open, close, marks.nested);
            push(&mut found, text, at..end, true);
            at = end;
        } else if marks
            .line
            .iter()
            .any(|mark| rest.starts_with(mark.as_bytes()) && opens_line(bytes, at, language))
        {
            let end = line_end(bytes, at);
            push(&mut found, text, at..end, false);
            at = end;
        } else if let Some(&(open, close)) =
            marks.long.iter().find(|(open, _)| rest.starts_with(open.as_bytes()))
        {
            let end = long_end(bytes, at + open.len(), close.as_bytes());
            // A string at the start of a body or a file is documentation.
            if docstrings && matches!(last_code, None | Some(b':')) {
                push(&mut found, text, at..end, true);
                if found.last().is_some_and(|comment| !comment.alone) {
                    found.pop();
                }
            }
            last_code = Some(b'"');
            at = end;
        } else if marks.quotes.contains(&bytes[at]) {
            last_code = Some(bytes[at]);
            at = quoted_end(bytes, at);
        } else if marks.char_literal && bytes[at] == b'\'' {
            last_code = Some(bytes[at]);
            at = char_end(bytes, at);
        } else {
            last_code = Some(bytes[at]);
            at += 1;
        }
    }
    found
}

fn opens_block(bytes: &[u8], at: usize, open: &str) -> bool {
    // `=begin` is valid only at the line start.
    bytes[at..].starts_with(open.as_bytes()) && (!open.starts_with('=') || at == 0 || bytes[at - 1] == b'\n')
}

fn opens_line(bytes: &[u8], at: usize, language: &str) -> bool {
    let before = at.checked_sub(1).map(|before| bytes[before]);
    let next = bytes.get(at + 1).copied();
    match (language, bytes[at]) {
        // `$#`, `${x#y}`, `#[Attribute]`.
        ("bash" | "fish" | "zsh", b'#') => {
            before.is_none_or(|byte| byte.is_ascii_whitespace() || byte == b';')
        }
        ("php", b'#') => next != Some(b'['),
        ("make" | "perl" | "ruby" | "tcl" | "cmake" | "nix" | "elixir", b'#') => {
            before.is_none_or(|byte| byte.is_ascii_whitespace() || b";)}]".contains(&byte))
                && next != Some(b'{')
        }
        // `-->` and `--|` are operators, `-- |` is not.
        ("haskell" | "purescript", b'-') => {
            let after = bytes[at..].iter().find(|&&byte| byte != b'-').copied();
            after.is_none_or(|byte| !b"!#$%&*+./<=>?@\\^|~:".contains(&byte))
        }
        // `https://`.
        (_, b'/') => before != Some(b':'),
        _ => true,
    }
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    let length = bytes[at..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - at);
    let end = at + length;
    if end > at && bytes[end - 1] == b'\r' { end - 1 } else { end }
}

fn block_end(bytes: &[u8], mut at: usize, open: &str, close: &str, nested: bool) -> usize {
    let mut depth = 1;
    while at < bytes.len() {
        if bytes[at..].starts_with(close.as_bytes()) {
            depth -= 1;
            at += close.len();
            if depth == 0 {
                return if close.ends_with('\n') { at - 1 } else { at };
            }
        } else if nested && bytes[at..].starts_with(open.as_bytes()) {
            depth += 1;
            at += open.len();
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn long_end(bytes: &[u8], mut at: usize, close: &[u8]) -> usize {
    while at < bytes.len() {
        if bytes[at] == b'\\' && close[0] != b']' {
            at += 2;
        } else if bytes[at..].starts_with(close) {
            return at + close.len();
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn quoted_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\n' => return at,
            byte if byte == bytes[start] => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn char_end(bytes: &[u8], start: usize) -> usize {
    let escaped = bytes.get(start + 1) == Some(&b'\\');
    let from = start + if escaped { 3 } else { 2 };
    let to = (start + 8).min(bytes.len());
    let close = (from..to).find(|&at| bytes[at] == b'\'').filter(|&at| escaped || at <= start + 5);
    match close {
        Some(at) if escaped || at == start + 2 || !bytes[start + 1].is_ascii() => at + 1,
        _ => start + 1,
    }
}

fn push(found: &mut Vec<Comment>, text: &str, range: Range<usize>, block: bool) {
    let bytes = text.as_bytes();
    // At the end of an unterminated string the scanner may stop inside a character.
    let end = (range.end.min(bytes.len())..=bytes.len())
        .find(|&end| text.is_char_boundary(end))
        .unwrap_or(bytes.len());
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
    let before = bytes[..range.start].iter().rev().find(|byte| !blank(byte));
    let after = bytes[end..].iter().find(|byte| !blank(byte));
    let alone = before.is_none_or(|&byte| byte == b'\n') && after.is_none_or(|&byte| byte == b'\n');
    found.push(Comment { range: range.start..end, alone, block });
}

/// Returns the runs of comments that stand alone on their lines: each block comment is a run, and so are
/// consecutive line comments of equal indentation.
pub fn runs(text: &str, comments: &[Comment]) -> Vec<Range<usize>> {
    let mut runs: Vec<(Range<usize>, bool)> = Vec::new();
    for comment in comments.iter().filter(|comment| comment.alone) {
        let joins = runs.last().is_some_and(|(run, is_block)| {
            !comment.block && !is_block && continues(text, run, &comment.range)
        });
        match runs.last_mut().filter(|_| joins) {
            Some(last) => last.0.end = comment.range.end,
            None => runs.push((comment.range.clone(), comment.block)),
        }
    }

    runs.into_iter().map(|(range, _)| range).collect()
}

/// Returns whether a line comment stands on the line after a run of line comments, with equal indentation.
fn continues(text: &str, run: &Range<usize>, comment: &Range<usize>) -> bool {
    let between = &text[run.end..comment.start];
    between.bytes().filter(|&byte| byte == b'\n').count() == 1
        && between.trim().is_empty()
        && indentation(text, run.start) == indentation(text, comment.start)
}

/// Indentation, in columns, of the line that contains `at`; a tab counts four.
pub fn indentation(text: &str, at: usize) -> usize {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    width(&text[start..])
}

/// Indentation of a line, in columns.
pub fn width(line: &str) -> usize {
    line.bytes()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .map(|byte| if byte == b'\t' { 4 } else { 1 })
        .sum()
}

/// `text` without the given ranges (sorted, disjoint) and without lines that become blank.
pub fn without(text: &str, base: usize, ranges: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        let (start, end) = (range.start.saturating_sub(base), range.end.saturating_sub(base).min(text.len()));
        if start >= text.len() || end <= at {
            continue;
        }
        if let Some(part) = text.get(at..start.max(at)) {
            kept.push_str(part);
        }
        at = end;
    }
    kept.push_str(text.get(at..).unwrap_or_default());
    squeeze(&kept)
}

/// Removes blank lines and trailing white space.
pub fn squeeze(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        out.push_str(line);
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
        comments(text, language).into_iter().map(|comment| &text[comment.range]).collect()
    }

    #[test]
    fn comments_of_many_languages() {
        assert_eq!(
            found("let a = \"// no\"; // yes\n/* a /* b */ c */ x", "rust"),
            ["// yes", "/* a /* b */ c */"]
        );
        assert_eq!(found("fn f<'a>(x: &'a str) {} // yes '", "rust"), ["// yes '"]);
        assert_eq!(found("char c = '\"'; // yes", "c"), ["// yes"]);
        assert_eq!(found("a = '#no' # yes\n\"\"\" # no \"\"\"\n", "python"), ["# yes"]);
        assert_eq!(
            found("def f():\n    \"\"\"Reads.\"\"\"\n    x = \"\"\"no\"\"\"", "python"),
            ["\"\"\"Reads.\"\"\""]
        );
        assert_eq!(found("echo $# ${a#b} # yes", "bash"), ["# yes"]);
        assert_eq!(found("x --> y -- yes\n{- a -}", "haskell"), ["-- yes", "{- a -}"]);
        assert_eq!(found("--[[ a\nb ]] x -- c", "lua"), ["--[[ a\nb ]]", "-- c"]);
        assert_eq!(found("`// no` // yes\n'it''s' // b", "typescript"), ["// yes", "// b"]);
        assert_eq!(
            found("@doc \"\"\"\nReads.\n\"\"\"\ndef a, do: 1 # b", "elixir"),
            ["@doc \"\"\"\nReads.\n\"\"\"", "# b"]
        );
        assert_eq!(found("#[Attribute]\n$a = 1; # yes", "php"), ["# yes"]);
        assert_eq!(found("fetch(https://x) // yes", "go"), ["// yes"]);
        assert_eq!(found("a // b", "no_such_language"), [""; 0]);
        assert_eq!(found("\"unclosed é", "c"), [""; 0]);
    }

    #[test]
    fn runs_join_line_comments_of_one_indentation() {
        let text = "// a\n// b\n\n// c\n  // d\nx // e\n/* f */\n/* g */";
        let runs: Vec<&str> =
            runs(text, &comments(text, "c")).into_iter().map(|range| &text[range]).collect();
        assert_eq!(runs, ["// a\n// b", "// c", "// d", "/* f */", "/* g */"]);
    }

    #[test]
    fn ranges_are_cut_out_with_their_lines() {
        let text = "a\n// b\nc // d\n";
        let ranges = comments(text, "c").into_iter().map(|comment| comment.range);
        assert_eq!(without(text, 0, ranges), "a\nc");
    }
}
