//! Answer: the found lines as they are sent in JSON.

use std::cell::Cell;

use codeweaver_text::plural;
use serde::ser::{Error as _, SerializeSeq as _, SerializeStruct as _};
use serde::{Serialize, Serializer};

use super::{CorpusInfo, Found, GrepFile, Page};
use crate::query::error::QueryError;

/// Maximum number of bytes of a line. Longer ones are cut around the match.
const MAX_LINE: usize = 2000;

/// Found lines.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct LineAnswer {
    /// `exact` or `regex`.
    pub mode: &'static str,
    /// The text or expression that was searched for.
    pub pattern: String,
    /// The number of lines and files in a sentence.
    pub summary: String,
    /// Number of matching lines, shown or not.
    pub total_lines: u64,
    /// Number of files with matching lines.
    pub total_files: usize,
    /// Best first.
    pub files: Vec<GrepFile>,
    /// Number of matching lines that the limit leaves out.
    pub omitted_lines: u64,
    /// Sentences for the user on files that were not searched.
    pub warnings: Vec<String>,
    /// Time to find them, in milliseconds.
    pub execution_time_ms: u64,
    /// The state of the codebase that was searched.
    pub index: CorpusInfo,
}

impl GrepFile {
    /// Number of matching lines that are shown. A binary file counts as one.
    pub fn n_shown(&self) -> u64 {
        match self.binary {
            true => 1,
            false => self.lines.iter().filter(|line| line.column.is_some()).count() as u64,
        }
    }
}

/// An answer whose files are read while it is written, so that only one of them is in memory.
/// It is serialised like the [`LineAnswer`] of [`Found::answer`].
pub struct StreamedAnswer<'f> {
    found: &'f Found<'f>,
    page: Page,
}

impl Serialize for StreamedAnswer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let StreamedAnswer { found, page } = *self;
        let head = found.head();
        let files = StreamedFiles { found, page, n_shown: Cell::new(0) };

        let mut fields = serializer.serialize_struct("LineAnswer", 10)?;
        fields.serialize_field("mode", head.mode)?;
        fields.serialize_field("pattern", &head.pattern)?;
        fields.serialize_field("summary", &head.summary)?;
        fields.serialize_field("total_lines", &head.total_lines)?;
        fields.serialize_field("total_files", &head.total_files)?;
        fields.serialize_field("files", &files)?;
        fields.serialize_field("omitted_lines", &found.n_omitted(page, files.n_shown.get()))?;
        fields.serialize_field("warnings", &head.warnings)?;
        fields.serialize_field("execution_time_ms", &head.execution_time_ms)?;
        fields.serialize_field("index", &head.index)?;
        fields.end()
    }
}

/// The files of a [`StreamedAnswer`].
struct StreamedFiles<'f> {
    found: &'f Found<'f>,
    page: Page,
    /// Number of lines that were written.
    n_shown: Cell<u64>,
}

impl Serialize for StreamedFiles<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let written = self.found.for_each(self.page, |file| {
            self.n_shown.set(self.n_shown.get() + file.n_shown());
            list.serialize_element(&file).map_err(Stop::Writer)
        });

        match written {
            Ok(()) => list.end(),
            Err(Stop::Writer(error)) => Err(error),
            Err(Stop::Query(error)) => Err(S::Error::custom(error)),
        }
    }
}

/// The reason why not all files are written.
enum Stop<E> {
    Query(QueryError),
    Writer(E),
}

impl<E> From<QueryError> for Stop<E> {
    fn from(error: QueryError) -> Stop<E> {
        Stop::Query(error)
    }
}

impl Found<'_> {
    /// `41 lines in 12 files`, or the extent of a search without a match.
    pub fn summary(&self) -> String {
        match self.n_files() {
            0 => {
                let searched = plural(self.info.files, "file");
                format!("No line matches '{}' (searched {searched})", self.pattern().text)
            }
            n => format!("{} in {}", plural(self.n_lines, "line"), plural(n as u64, "file")),
        }
    }

    /// The lines in `page`.
    ///
    /// # Errors
    /// [`QueryError::Cancelled`].
    pub fn answer(&self, page: Page) -> Result<LineAnswer, QueryError> {
        let (mut files, mut n_shown) = (Vec::new(), 0);
        let page = cut(page);
        self.for_each(page, |file| {
            n_shown += file.n_shown();
            files.push(file);
            Ok::<_, QueryError>(())
        })?;

        Ok(LineAnswer { files, omitted_lines: self.n_omitted(page, n_shown), ..self.head() })
    }

    /// The lines in `page`, which are read while they are written.
    pub fn streamed(&self, page: Page) -> StreamedAnswer<'_> {
        StreamedAnswer { found: self, page: cut(page) }
    }

    /// The answer without lines.
    fn head(&self) -> LineAnswer {
        let pattern = self.pattern();

        LineAnswer {
            mode: if pattern.is_regex { "regex" } else { "exact" },
            pattern: pattern.text.clone(),
            summary: self.summary(),
            total_lines: self.n_lines,
            total_files: self.n_files(),
            files: Vec::new(),
            omitted_lines: self.n_lines,
            warnings: self.warnings(),
            execution_time_ms: self.execution_time_ms,
            index: self.info.clone(),
        }
    }

    /// Number of lines that are left out if `n_shown` lines of `page` are shown.
    fn n_omitted(&self, page: Page, n_shown: u64) -> u64 {
        self.n_lines.saturating_sub(page.offset as u64 + n_shown)
    }
}

/// `page` with lines of at most [`MAX_LINE`] bytes.
fn cut(page: Page) -> Page {
    Page { max_line: page.max_line.min(MAX_LINE), ..page }
}
