//! Notebooks of Jupyter: cells of Markdown and of code, written as strings of JSON.
//!
//! The cells are read as one Markdown document in which code is fenced, so code has the path of the headings
//! above it. The chunks of that document are then placed in the file. Outputs and metadata between the cells
//! are chunks of their own, unless they are short.

use std::ops::Range;

use super::cover::Host;
use super::json::JsonReader;
use super::source_map::SourceMap;
use crate::language::{LanguageId, TEXT};
use crate::lines::TextIndex;
use crate::{Chunk, markdown};

/// Returns whether files of a language are notebooks.
pub(super) fn is_notebook(language: LanguageId) -> bool {
    language.name() == "jupyter_notebook"
}

/// Chunks a notebook by its cells; `None` if it has none.
pub(super) fn chunks(host: &Host<'_>) -> Option<Vec<Chunk>> {
    let cells = Cells::read(host.text)?;
    let document = Document::new(host.text, &cells);
    let index = TextIndex::new(document.map.text.as_bytes());

    let found = markdown::chunk_cells(&document.map.text, host.settings, &|code, language, base| {
        (host.embedded)(code, language, base, &index)
    });
    let placed: Vec<Chunk> = found.into_iter().flat_map(|chunk| document.placed(chunk, host)).collect();
    (!placed.is_empty()).then(|| host.covered(placed))
}

/// The cells of a notebook.
#[derive(Default)]
struct Cells {
    cells: Vec<Cell>,
    /// Language of the code, as the notebook names it.
    language: Option<String>,
}

#[derive(Default)]
struct Cell {
    is_markdown: bool,
    is_code: bool,
    /// The bytes between the quotes of each string of its text.
    source: Vec<Range<usize>>,
}

impl Cells {
    /// Reads the cells of a notebook; `None` if the text is not one.
    fn read(text: &str) -> Option<Cells> {
        let mut found = Cells::default();

        JsonReader::new(text).members(|key, reader| match key {
            "cells" => reader.elements(|reader| {
                found.cells.push(Cell::read(text, reader)?);
                Some(())
            }),
            "metadata" if reader.peek() == Some(b'{') => reader.members(|key, reader| match key {
                "kernelspec" | "language_info" if reader.peek() == Some(b'{') => {
                    found.read_language(text, reader)
                }
                _ => reader.skip(),
            }),
            _ => reader.skip(),
        })?;

        (!found.cells.is_empty()).then_some(found)
    }

    /// Reads the description of the language. The name in `language_info` is that of the language, the one in
    /// `kernelspec` may be another.
    fn read_language(&mut self, text: &str, reader: &mut JsonReader<'_>) -> Option<()> {
        reader.members(|key, reader| match key {
            "name" | "language" if reader.peek() == Some(b'"') => {
                let name = &text[reader.string()?];
                if self.language.is_none() && LanguageId::by_name(name).is_some() {
                    self.language = Some(name.to_owned());
                }
                Some(())
            }
            _ => reader.skip(),
        })
    }

    /// Returns the language of the code.
    fn code_language(&self) -> LanguageId {
        let named = self.language.as_deref().unwrap_or("python");
        LanguageId::by_name(named).unwrap_or(TEXT)
    }
}

impl Cell {
    fn read(text: &str, reader: &mut JsonReader<'_>) -> Option<Cell> {
        let mut cell = Cell::default();
        reader.members(|key, reader| match key {
            "cell_type" => {
                let kind = &text[reader.string()?];
                (cell.is_markdown, cell.is_code) = (kind == "markdown", kind == "code");
                Some(())
            }
            "source" => {
                cell.source = reader.strings()?;
                Some(())
            }
            _ => reader.skip(),
        })?;

        Some(cell)
    }
}

/// The cells as one Markdown document.
struct Document {
    map: SourceMap,
    /// The range of each cell in the document, without fences.
    cells: Vec<Range<usize>>,
}

impl Document {
    fn new(text: &str, cells: &Cells) -> Document {
        let mut document = Document { map: SourceMap::default(), cells: Vec::new() };
        let language = cells.code_language();

        for cell in &cells.cells {
            let (Some(first), Some(last)) = (cell.source.first(), cell.source.last()) else { continue };
            let (start, end) = (first.start, last.end);

            if cell.is_markdown {
                let range = document.push_source(text, cell);
                let closing = markdown::closing_fence(&document.map.text[range]);
                document.map.push_between(&format!("\n{closing}\n"), end);
                continue;
            }

            let mut source = SourceMap::default();
            cell.source.iter().for_each(|range| source.push_string(text, range.clone()));
            let fence = "`".repeat(longest_run(&source.text, '`').max(2) + 1);
            let language = if cell.is_code { magic_language(&source.text).unwrap_or(language) } else { TEXT };

            document.map.push_between(&format!("{fence}{}\n", language.name()), start);
            let range = document.push_source(text, cell);
            if matches!(language.name(), "python" | "bash" | "julia" | "r" | "ruby") {
                document.hide_magics(range);
            }
            document.map.push_between(&format!("\n{fence}\n\n"), end);
        }

        document
    }

    /// Adds the text of a cell. Returns its range.
    fn push_source(&mut self, text: &str, cell: &Cell) -> Range<usize> {
        let start = self.map.text.len();
        cell.source.iter().for_each(|range| self.map.push_string(text, range.clone()));
        let range = start..self.map.text.len();
        self.cells.push(range.clone());
        range
    }

    /// Writes the commands of IPython, `%magic` and `!shell`, as comments, which the grammar knows.
    fn hide_magics(&mut self, cell: Range<usize>) {
        let mut at = cell.start;
        let mut found = Vec::new();
        for line in self.map.text[cell].split_inclusive('\n') {
            let first = at + (line.len() - line.trim_start().len());
            at += line.len();
            if line.trim_start().starts_with(['%', '!']) {
                found.push(first);
            }
        }

        found.into_iter().for_each(|first| self.map.replace(first, "#"));
    }

    /// Places a chunk in the file: one chunk, or several if much is between the cells that it holds.
    fn placed(&self, chunk: Chunk, host: &Host<'_>) -> Vec<Chunk> {
        let range = chunk.byte_range.start as usize..chunk.byte_range.end as usize;
        let mut placed: Vec<Chunk> = Vec::new();

        let first = self.cells.partition_point(|cell| cell.end <= range.start);
        for cell in self.cells[first..].iter().take_while(|cell| cell.start < range.end) {
            let part = cell.start.max(range.start)..cell.end.min(range.end);
            let text = &self.map.text[part.clone()];
            if text.trim().is_empty() {
                continue;
            }

            let start = part.start + (text.len() - text.trim_start().len());
            let place = self.map.lines(start..part.start + text.trim_end().len(), host.text, host.index);
            let is_near = |last: &Chunk| {
                let between = last.byte_range.end..place.start;
                host.index.tokens(between) <= Host::MAX_BETWEEN
            };

            let is_added =
                placed.last_mut().is_some_and(|last| is_near(last) && host.extend(last, place.clone()));
            if !is_added {
                let mut part_chunk = Chunk { symbols: Vec::new(), ..chunk.clone() };
                host.place(&mut part_chunk, place);
                placed.push(part_chunk);
            }
        }

        for mut symbol in chunk.symbols {
            symbol.byte_range =
                self.map.place(symbol.byte_range.start as usize..symbol.byte_range.end as usize);
            symbol.line_span = host.index.span(&symbol.byte_range);
            let owner = placed.iter().rposition(|part| part.byte_range.start <= symbol.byte_range.start);
            if let Some(part) = placed.get_mut(owner.unwrap_or(0)) {
                part.symbols.push(symbol);
            }
        }

        placed
    }
}

/// Returns the language that the first line of a cell names: `%%bash`.
fn magic_language(source: &str) -> Option<LanguageId> {
    let word = source.strip_prefix("%%")?.split_whitespace().next()?;
    LanguageId::by_name(word)
}

/// Returns the length of the longest run of a character.
fn longest_run(text: &str, character: char) -> usize {
    text.split(|c| c != character).map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::{Chunk, LanguageId, SymbolKind, chunk_blob};
    use codeweaver_config::ChunkerSettings;

    const CELLS: &str = r###"{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": [
    "# Intro\n",
    "Some *text* with a \"quote\".\n",
    "```\n",
    "open"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "metadata": {},
   "outputs": [{"name": "stdout", "output_type": "stream", "text": ["hi\n"]}],
   "source": [
    "%matplotlib inline\n",
    "def f(x):\n",
    "    return \"a\"\n",
    "\n",
    "class B:\n",
    "    def g(self): pass"
   ]
  },
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": "## More\nText."
  },
  {
   "cell_type": "code",
   "metadata": {},
   "outputs": [],
   "source": [
    "%%bash\n",
    "h() { echo; }\n"
   ]
  }
 ],
 "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
 "nbformat": 4
}
"###;

    fn chunks(text: &str) -> Vec<Chunk> {
        let language = crate::language::by_path("a.ipynb".into()).unwrap();
        assert_eq!(Some(language), LanguageId::by_name("Jupyter Notebook"));
        chunk_blob(text.as_bytes(), language, &ChunkerSettings::default()).chunks
    }

    #[test]
    fn cells_are_chunked_as_what_they_are() {
        let chunks = chunks(CELLS);
        let languages: Vec<&str> = chunks.iter().map(|chunk| chunk.language.name()).collect();
        assert_eq!(languages, ["markdown", "python", "markdown", "bash"]);
        assert_eq!(chunks[3].enclosing, ["Intro", "More"]);

        let symbols: Vec<(String, u32)> = chunks
            .iter()
            .flat_map(|chunk| &chunk.symbols)
            .map(|symbol| (symbol.qualified_name.clone(), symbol.line_span.start))
            .collect();
        let expected = [("Intro", 7), ("f", 20), ("B", 23), ("B.g", 24), ("Intro > More", 30), ("h", 38)];
        assert_eq!(symbols, expected.map(|(name, line)| (name.to_owned(), line)));
        assert!(chunks.iter().flat_map(|chunk| &chunk.symbols).all(|symbol| symbol.kind != SymbolKind::Key));
    }

    #[test]
    fn every_line_of_a_notebook_is_in_a_chunk() {
        let output = "\"0123456789abcdef \", ".repeat(400);
        let long = CELLS.replacen("[\"hi\\n\"]", &format!("[{}\"\"]", output), 1);
        for text in [CELLS, &long] {
            let chunks = chunks(text);
            let mut n_next = 1;
            for chunk in &chunks {
                assert!(chunk.line_span.start as usize <= n_next, "{n_next}: {:?}", chunk.line_span);
                n_next = n_next.max(chunk.line_span.end as usize + 1);
            }
            assert_eq!(n_next, text.lines().count() + 1);
        }
        assert!(chunks(&long).iter().any(|chunk| chunk.language.name() == "jupyter_notebook"), "the output");
    }

    #[test]
    fn what_is_no_notebook_is_json() {
        let names = |text: &str| -> Vec<String> {
            chunks(text).iter().flat_map(|chunk| &chunk.symbols).map(|symbol| symbol.name.clone()).collect()
        };
        assert_eq!(names("{\"a\": 1}"), ["a"]);
        assert_eq!(names("{\"cells\": []}"), ["cells"]);
        assert_eq!(names("{\"cells\": [{\"source\": [\"a"), ["cells"; 0]);
    }
}
