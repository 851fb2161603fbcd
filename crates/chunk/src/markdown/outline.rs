//! Headings and fenced blocks of a document.

use std::ops::Range;

use codeweaver_text::LineIndex;

use super::dialect::Dialect;
use super::opening::{FenceEnd, HeadingLine, LineContext, OpeningFence};
use super::restructured::Adornment;
use super::{asciidoc, restructured};
use crate::language::LanguageId;

/// Maximum length of front matter; a longer block is text.
const MAX_FRONT_MATTER_LINES: usize = 500;

pub(super) struct Heading {
    /// Level of the heading, from 1.
    pub level: usize,
    pub title: String,
    /// The lines of the heading itself.
    pub range: Range<usize>,
    /// The line of the title, without those of punctuation above and below it.
    pub title_line: Range<usize>,
}

/// A fenced block of code.
pub(super) struct Fence {
    /// The bytes including the fence lines.
    pub range: Range<usize>,
    /// The bytes without the fence lines.
    pub code: Range<usize>,
    pub language: Option<LanguageId>,
    pub n_lines: usize,
}

/// Headings and fenced blocks, each in order of position.
#[derive(Default)]
pub(super) struct Outline {
    pub headings: Vec<Heading>,
    pub fences: Vec<Fence>,
}

/// Returns the outline of `text`. Marks inside front matter and fenced blocks are not headings. Linear.
pub(super) fn outline(text: &str, lines: &LineIndex, dialect: Dialect) -> Outline {
    let mut outliner = Outliner {
        text,
        lines,
        dialect,
        paragraph_start: None,
        adornments: Vec::new(),
        unclosed: Vec::new(),
        source_language: None,
        outline: Outline::default(),
    };

    let mut line = outliner.front_matter_lines();
    while line < lines.count() {
        line = outliner.step(line);
    }

    outliner.outline
}

struct Outliner<'a> {
    text: &'a str,
    lines: &'a LineIndex,
    dialect: Dialect,
    /// First line of the current paragraph.
    paragraph_start: Option<usize>,
    /// Adornments of titles in order of their first use.
    adornments: Vec<Adornment>,
    /// Fence ends that do not occur in the rest of the document, so that each is searched for once.
    unclosed: Vec<FenceEnd>,
    /// Language of the AsciiDoc source block that the line above names.
    source_language: Option<LanguageId>,
    outline: Outline,
}

impl<'a> Outliner<'a> {
    /// Returns a line without its trailing white space.
    fn line(&self, line: usize) -> &'a str {
        self.text[self.lines.range(line)].trim_end()
    }

    /// Returns the number of lines of a `---` or `+++` block at the beginning of the document; 0 if there is
    /// none.
    fn front_matter_lines(&self) -> usize {
        let mark = self.line(0).trim_start_matches('\u{feff}');
        if mark != "---" && mark != "+++" {
            return 0;
        }

        for line in 1..self.lines.count().min(MAX_FRONT_MATTER_LINES) {
            let content = self.line(line);
            if content == mark || mark == "---" && content == "..." {
                return line + 1;
            }
        }
        0
    }

    /// Consumes the fence, heading or text at `line` and returns the line after it.
    fn step(&mut self, line: usize) -> usize {
        let content = self.line(line);
        if let Some(next) = self.dialect.opening_fence(content).and_then(|open| self.fence(line, open)) {
            self.paragraph_start = None;
            return next;
        }

        if self.dialect == Dialect::Asciidoc && !content.is_empty() {
            self.source_language = asciidoc::source_language(content);
        }

        // The title of reStructuredText may have an overline, which reads like a paragraph before it.
        let below = (line + 1 < self.lines.count()).then(|| self.line(line + 1));
        let overline = if self.dialect == Dialect::Restructured { self.overline(line) } else { None };
        let context = LineContext {
            line: content,
            below,
            is_overlined: overline.is_some() && overline == below,
            inside_paragraph: self.paragraph_start.is_some() && overline.is_none(),
        };

        match self.dialect.heading(&context, &mut self.adornments) {
            Some(heading) => {
                self.paragraph_start = None;
                self.heading(line, heading, context.is_overlined)
            }
            None => {
                let is_blank = content.trim().is_empty();
                self.paragraph_start = if is_blank { None } else { self.paragraph_start.or(Some(line)) };
                line + 1
            }
        }
    }

    /// Returns the line of punctuation above a line, unless it is the underline of the heading before.
    fn overline(&self, line: usize) -> Option<&'a str> {
        let above = line.checked_sub(1)?;
        let is_underline =
            self.outline.headings.last().is_some_and(|heading| heading.range.end > self.lines.start(above));
        let text = self.line(above);
        (!is_underline && restructured::adornment(text).is_some()).then_some(text)
    }

    /// Records the fenced block that opens at `line` and returns the line after it; `None` if the block has
    /// no end and the dialect requires one.
    fn fence(&mut self, line: usize, open: OpeningFence) -> Option<usize> {
        let n_lines = self.lines.count();
        let close = if self.unclosed.contains(&open.end) {
            None
        } else {
            (line + 1..n_lines).find(|&close| open.end.is_at(self.line(close)))
        };

        if close.is_none() && !self.dialect.unclosed_fence_runs_on() {
            // Otherwise each unclosed mark would search the whole rest again.
            self.unclosed.push(open.end);
            return None;
        }

        let close = close.unwrap_or(n_lines);
        let next = (close + 1).min(n_lines);

        self.outline.fences.push(Fence {
            range: self.lines.start(line)..self.lines.start(next),
            code: self.lines.start(line + 1)..self.lines.start(close),
            language: open.language.or(self.source_language.take()),
            n_lines: close - line - 1,
        });

        Some(next)
    }

    /// Records a heading, which includes its overline, and returns the line after it.
    fn heading(&mut self, line: usize, heading: HeadingLine, is_overlined: bool) -> usize {
        let next = line + heading.n_lines;
        let start = if is_overlined { line - 1 } else { line };
        let range = self.lines.start(start)..self.lines.start(next.min(self.lines.count()));

        let title_line = self.lines.range(line);
        self.outline.headings.push(Heading { level: heading.level, title: heading.title, range, title_line });
        next
    }
}
