//! Answer: the found lines as they are sent in JSON.

use codeweaver_text::plural;

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
        let page = Page { max_line: page.max_line.min(MAX_LINE), ..page };
        self.for_each(page, |file| {
            n_shown += file.n_shown();
            files.push(file);
            Ok::<_, QueryError>(())
        })?;

        Ok(LineAnswer {
            mode: if self.pattern().is_regex { "regex" } else { "exact" },
            pattern: self.pattern().text.clone(),
            summary: self.summary(),
            total_lines: self.n_lines,
            total_files: self.n_files(),
            files,
            omitted_lines: self.n_lines.saturating_sub(page.offset as u64 + n_shown),
            warnings: self.warnings(),
            execution_time_ms: self.execution_time_ms,
            index: self.info.clone(),
        })
    }
}
