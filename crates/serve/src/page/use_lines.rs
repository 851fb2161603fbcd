//! Use lines: the line of code at each use of a definition.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use codeweaver::query::symbol_scan::FoundSymbol;
use codeweaver::query::view::View;
use codeweaver::query::{Cancel, QueryError, Searcher};
use codeweaver_chunk::language::{self, LanguageId};
use codeweaver_chunk::syntax::syntax_of_lines;
use codeweaver_git::{BlobReader, quoting};
use codeweaver_text::{Highlighter, LineIndex};
use codeweaver_xref::about::Use;

use super::code;

/// Maximum number of characters shown of a line.
const WIDTH: usize = 120;
/// Characters shown before the name where it is further right.
const BEFORE: usize = 40;

/// The lines of code at uses of a definition.
pub struct UseLines {
    highlighter: Highlighter,
    /// The lines of each file, by path.
    files: BTreeMap<String, FileLines>,
}

/// Lines of a file.
struct FileLines {
    /// Name in the language table; empty if it is unknown.
    language: &'static str,
    /// The shown part of each line, by number.
    texts: BTreeMap<u32, String>,
}

impl UseLines {
    /// Reads the lines at `uses` of `symbol` from `view`, each file once.
    ///
    /// A use has no line if its file is not in this clone, or has changed and `view` shows it as committed.
    ///
    /// # Errors
    /// [`QueryError::Cancelled`], and those of reading the repository.
    pub fn read<'u>(
        searcher: &Searcher,
        view: &View,
        symbol: &FoundSymbol,
        uses: impl Iterator<Item = &'u Use>,
        cancel: &Cancel,
    ) -> Result<UseLines, QueryError> {
        let mut by_path: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for it in uses {
            by_path.entry(&it.path).or_default().insert(it.line);
        }

        let mut blobs = searcher.codebase.repo.blobs();
        let mut files = BTreeMap::new();
        for (path, numbers) in by_path {
            cancel.check()?;
            if let Some(lines) = FileLines::read((view, &mut blobs), path, &numbers, &symbol.name)? {
                files.insert(path.to_owned(), lines);
            }
        }

        Ok(UseLines { highlighter: Highlighter::default().with_symbol(&symbol.qualified_name), files })
    }

    /// The line at a use, with the name of the definition marked; nothing if there is none.
    pub fn line(&self, it: &Use) -> Markup {
        let Some(file) = self.files.get(&it.path) else { return html! {} };
        let Some(text) = file.texts.get(&it.line) else { return html! {} };

        let syntax = syntax_of_lines(&[text.as_str()], file.language).concat();
        html! { div.line { code { (code::line_of_code(text, &self.highlighter.ranges(text), &syntax)) } } }
    }
}

impl FileLines {
    /// Reads the lines with `numbers` of the file at `path`, in which `name` is used; `None` if the view has
    /// no text of the file.
    fn read(
        (view, blobs): (&View, &mut BlobReader),
        path: &str,
        numbers: &BTreeSet<u32>,
        name: &str,
    ) -> Result<Option<FileLines>, QueryError> {
        let path = quoting::bytes(path);
        // The numbers are those of the file on disk.
        if view.is_pending(path.as_ref()) {
            return Ok(None);
        }

        let entry = view.reader.find_entry(&view.snapshot.entries, &path);
        let Some(oid) = entry.and_then(|entry| view.reader.blob_of(entry)) else { return Ok(None) };
        let Some(bytes) = view.blob_from(blobs, &oid)? else { return Ok(None) };

        let starts = LineIndex::new(&bytes);
        let mut texts = BTreeMap::new();
        for &number in numbers {
            let line = &bytes[starts.range(number.saturating_sub(1) as usize)];
            let text = shown_part(&String::from_utf8_lossy(line), name);
            // A number beyond the end belongs to another version of the file.
            if !text.is_empty() {
                texts.insert(number, text);
            }
        }

        let language = language::by_path(path.as_ref()).or_else(|| language::by_first_line(&bytes));
        Ok(Some(FileLines { language: language.map_or("", LanguageId::name), texts }))
    }
}

/// The part of a line that is shown: at most [`WIDTH`] characters, without indentation, with `name` if the
/// line has it.
fn shown_part(line: &str, name: &str) -> String {
    let line = line.trim();
    let name_at = line.find(name).filter(|at| at + name.len() > end_of_chars(line, WIDTH));
    let before = name_at.map_or("", |at| &line[..at]);
    let start = before.char_indices().rev().nth(BEFORE - 1).map_or(0, |(at, _)| at);

    let rest = &line[start..];
    let end = end_of_chars(rest, WIDTH);
    let [gap_before, gap_after] = [start > 0, end < rest.len()].map(|is_cut| if is_cut { "…" } else { "" });
    format!("{gap_before}{}{gap_after}", &rest[..end])
}

/// The byte offset of the end of the first `n` characters; the length of a text that has no more.
fn end_of_chars(text: &str, n: usize) -> usize {
    text.char_indices().nth(n).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_the_name() {
        assert_eq!(shown_part("\t\tcall();  \r\n", "call"), "call();");
        assert_eq!(shown_part("", "call"), "");

        let full = format!("call({})", "é".repeat(WIDTH - 6));
        assert_eq!(shown_part(&full, "call"), full);
        let longer = format!("    call({})", "é".repeat(WIDTH));
        assert_eq!(shown_part(&longer, "call"), format!("call({}…", "é".repeat(WIDTH - 5)));

        let far = format!("{}call{}", "é".repeat(WIDTH), "è".repeat(WIDTH));
        let shown = format!("…{}call{}…", "é".repeat(BEFORE), "è".repeat(WIDTH - BEFORE - 4));
        assert_eq!(shown_part(&far, "call"), shown);
        assert_eq!(shown_part(&far, "other"), format!("{}…", "é".repeat(WIDTH)));
    }
}
