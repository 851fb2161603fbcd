//! The results of a search, as the picker lists them.

use codeweaver::query::Match;
use codeweaver::query::grep::GrepFile;
use codeweaver_text::Highlighter;

/// A place with its text.
#[derive(Debug, Clone)]
pub struct Item {
    /// Relative to the root of the repository.
    pub path: String,
    /// The line at which the file is opened.
    pub line: u32,
    /// The declaration, or the line that matches.
    pub title: String,
    /// Number of the first of `lines`.
    pub first_line: u32,
    pub lines: Vec<String>,
    /// Name in the language table.
    pub language: String,
    /// Emphasises the words of the query and the symbol.
    pub highlighter: Highlighter,
}

impl Item {
    /// A match of a search that ranks.
    pub fn from_match(found: &Match, highlighter: &Highlighter) -> Item {
        let lines: Vec<String> = found.content.text.lines().map(|line| line.trim_end().to_owned()).collect();

        Item {
            path: found.file.path.clone(),
            line: found.focus.start_line.max(1),
            title: found.header().to_owned(),
            first_line: found.span.0,
            lines,
            language: found.file.language.clone(),
            highlighter: highlighter.with_symbol(&found.focus.symbol),
        }
    }

    /// The matching lines of a file, each with its context.
    pub fn from_lines(file: &GrepFile, highlighter: &Highlighter) -> Vec<Item> {
        let number = |line: u64| u32::try_from(line).unwrap_or(u32::MAX);
        let mut items = Vec::new();

        // Lines that do not follow each other belong to different places.
        for part in file.lines.chunk_by(|one, next| next.line == one.line + 1) {
            let lines: Vec<String> = part.iter().map(|line| line.text.trim_end().to_owned()).collect();

            items.extend(part.iter().filter(|line| line.column.is_some()).map(|line| Item {
                path: file.path.clone(),
                line: number(line.line),
                title: line.text.trim().to_owned(),
                first_line: number(part[0].line),
                lines: lines.clone(),
                language: file.language.clone(),
                highlighter: highlighter.clone(),
            }));
        }

        items
    }
}
