//! The first sentence of a comment.

/// Maximum length of documentation sentences, signatures and titles, in characters.
pub const MAX_CHARS: usize = 200;

/// Words that mark a comment as a licence header or a tool directive, lower case.
const NOT_DOCUMENTATION: &[&str] = &[
    "copyright",
    "spdx-license",
    "licensed under",
    "license:",
    "licence:",
    "all rights reserved",
    "permission is hereby",
    "eslint-",
    "clang-format",
    "prettier-ignore",
    "@ts-",
    "pylint:",
    "noqa",
    "go:generate",
    "go:build",
    "+build",
    "istanbul ignore",
    "rubocop:",
    "shellcheck",
    "nolint",
    "-*-",
    "vim:",
    "code generated",
];

/// Tags whose text is the description of a definition.
const DOC_TAGS: &[&str] = &["@brief", "@doc", "@title", "@notice", "@dev", "@description"];

/// Number of lines of a comment that are searched for its first sentence.
const MAX_LINES: usize = 40;

/// Returns the first sentence of a comment or docstring without its markers, white space collapsed, at most
/// [`MAX_CHARS`] characters. Empty if there is none, and for licence headers and tool directives.
pub(crate) fn first_sentence(comment: &str) -> String {
    let mut sentence = String::new();
    if comment.starts_with("#!") {
        return sentence; // `#!` line of a script
    }

    for line in comment.lines().take(MAX_LINES) {
        let line = strip_markers(line);
        let is_tag = line.starts_with('@') || line.starts_with("\\param") || line.starts_with(":param");
        if line.is_empty() || is_tag {
            // The first sentence ends at a tag, but some tags introduce it.
            if !sentence.is_empty() || line.starts_with("@param") || line.starts_with("@return") {
                break;
            }
            if DOC_TAGS.iter().any(|tag| line.starts_with(tag)) {
                let rest = line.trim_start_matches(|c: char| c == '@' || c.is_alphanumeric());
                push_words(&mut sentence, rest);
            }
            continue;
        }

        let done = push_words(&mut sentence, line);
        if done || sentence.chars().count() > MAX_CHARS {
            break;
        }
    }

    let lower = sentence.to_ascii_lowercase();
    // A rule of dashes or a number is no sentence either.
    if NOT_DOCUMENTATION.iter().any(|word| lower.contains(word)) || !sentence.chars().any(char::is_alphabetic)
    {
        return String::new();
    }

    clip(&mut sentence);
    sentence
}

/// Truncates `text` to [`MAX_CHARS`] characters.
pub(crate) fn clip(text: &mut String) {
    if let Some((at, _)) = text.char_indices().nth(MAX_CHARS) {
        text.truncate(at);
    }
}

/// Appends `text` to `out`, with each run of white space as one blank, up to [`MAX_CHARS`] characters in all.
pub(crate) fn collapse(out: &mut String, text: &str) {
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > MAX_CHARS * 4 {
            break;
        }
    }
    clip(out);
}

/// Appends the words of `line`. Returns true if the sentence ends in it.
fn push_words(sentence: &mut String, line: &str) -> bool {
    for word in line.split_whitespace() {
        if word.starts_with('<') && word.ends_with('>') && word.len() > 2 {
            continue; // <summary>, <p>
        }

        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.push_str(word);

        let is_abbreviation = matches!(word, "e.g." | "i.e." | "etc." | "cf." | "vs.");
        if word.len() > 2 && word.ends_with(['.', '!', '?', '。']) && !is_abbreviation {
            return true;
        }
    }
    false
}

/// Returns `line` without comment markers, of any language, at both ends.
fn strip_markers(line: &str) -> &str {
    let mut line = line.trim();

    for end in ["*/", "-->", "-}", "*)", "\"\"\"", "'''", "]]", "=#", "|#"] {
        line = line.strip_suffix(end).unwrap_or(line);
    }

    // Longer markers come before their beginnings.
    for start in [
        "--[[", "<!--", "{-|", "{-", "(**", "(*", "#=", "\"\"\"", "'''", "r\"\"\"", "#'", "-- |", "-- ^",
        "%%%", "%%", "%",
    ] {
        line = line.strip_prefix(start).unwrap_or(line);
    }

    let stripped = line
        .trim_start_matches(['/', '*', '#', ';', '!', '-', '=', '\'', '"'])
        .trim_start_matches(['|', '<']);
    stripped.trim().trim_end_matches(['"', '\'']).trim_end_matches(['*', '=', '-', '#', '/']).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_sentence_in_comments_of_all_styles() {
        for comment in [
            "/// Parses a header. Then more.",
            "//! Parses a header.\n//! More.",
            "/**\n * Parses a header.\n * @param x the header\n */",
            "/* Parses\n   a header. */",
            "# Parses a header.\n# more",
            "-- | Parses a header.",
            "%% Parses a header.",
            ";; Parses a header.",
            "\"\"\"Parses a header.\n\n    More.\n\"\"\"",
            "{-| Parses a header. -}",
            "(** Parses a header. *)",
            "/// <summary>\n/// Parses a header.\n/// </summary>",
            "/**\n * @brief Parses a header.\n */",
        ] {
            assert_eq!(first_sentence(comment), "Parses a header.", "{comment}");
        }
    }

    #[test]
    fn a_header_without_a_full_stop_ends_at_the_blank_line() {
        assert_eq!(
            first_sentence("/*\n * foo() - short description\n *\n * Long.\n */"),
            "foo() - short description"
        );
    }

    #[test]
    fn licences_and_directives_are_not_documentation() {
        assert_eq!(first_sentence("/* Copyright (c) 2020 A. Nother */"), "");
        assert_eq!(first_sentence("// SPDX-License-Identifier: GPL-2.0"), "");
        assert_eq!(first_sentence("#!/bin/sh"), "");
        assert_eq!(first_sentence("/* ------------- */"), "");
    }

    #[test]
    fn is_bounded_on_character_boundaries() {
        let long = format!("// {}", "é".repeat(500));
        assert_eq!(first_sentence(&long).chars().count(), MAX_CHARS);
    }
}
