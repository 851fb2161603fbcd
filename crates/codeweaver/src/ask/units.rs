//! Units: the sentences, list items, table rows and code blocks of a document.
//!
//! A unit is a range of bytes of the document, so a quote is exactly the text of the document. Text that is
//! not meant to be read is in no unit: comments, link definitions, rules, images.

use std::ops::Range;

use codeweaver_chunk::document::{self, DocumentCode, DocumentSection};

use super::sentences::sentences;

/// The kind of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitKind {
    /// A sentence of a paragraph or of a list item.
    Sentence,
    /// A row of a table, or a field of a list of definitions.
    Row,
    /// A fenced or indented block, with its fence lines.
    Code,
}

/// A part of a document that can be quoted by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub kind: UnitKind,
    pub bytes: Range<usize>,
    /// Number of its paragraph, list item, table or code block in the document.
    pub block: usize,
    /// Position of its section in [`Structure::sections`].
    pub section: usize,
}

/// The sections and the units of a document, each in order of position.
#[derive(Debug, Default)]
pub struct Structure {
    pub sections: Vec<DocumentSection>,
    pub units: Vec<Unit>,
}

impl Structure {
    /// The structure of the document `text` at `path`. Linear.
    pub fn parse(text: &str, path: &str) -> Structure {
        let (sections, codes) = document::structure(text, path.into());
        let mut reader = Reader { text, units: Vec::new(), n_blocks: 0, section: 0 };
        let front_matter = front_matter_len(text);

        for (number, section) in sections.iter().enumerate() {
            reader.section = number;
            let body = section.body.start.max(front_matter).min(section.body.end)..section.body.end;
            reader.section(body, &codes);
        }

        Structure { units: reader.units, sections }
    }

    /// The positions of the units that overlap `bytes`.
    pub fn units_in(&self, bytes: &Range<usize>) -> Range<usize> {
        let first = self.units.partition_point(|unit| unit.bytes.end <= bytes.start);
        let end = self.units.partition_point(|unit| unit.bytes.start < bytes.end);
        first..end.max(first)
    }

    /// The titles of the headings around a unit, outermost first.
    pub fn headings(&self, unit: &Unit) -> &[String] {
        self.sections.get(unit.section).map_or(&[], |section| &section.path)
    }
}

/// Splits a document into units.
struct Reader<'a> {
    text: &'a str,
    units: Vec<Unit>,
    n_blocks: usize,
    section: usize,
}

impl Reader<'_> {
    /// Adds the units of a section: its code blocks, and the text between them.
    fn section(&mut self, body: Range<usize>, codes: &[DocumentCode]) {
        let mut at = body.start;
        let first = codes.partition_point(|code| code.range.start < body.start);

        for code in codes[first..].iter().take_while(|code| code.range.start < body.end) {
            self.prose(at..code.range.start);
            if !self.text[code.code.clone()].trim().is_empty() {
                self.block(UnitKind::Code, code.range.clone());
            }
            at = code.range.end.min(body.end).max(at);
        }

        self.prose(at..body.end);
    }

    /// Adds the units of text without fenced code.
    fn prose(&mut self, range: Range<usize>) {
        let (mut paragraph, mut is_code, mut was_blank, mut in_list) = (None, false, true, false);
        let mut in_comment = false;
        let mut at = range.start;

        for line in self.text[range.clone()].split_inclusive('\n') {
            let lines = at..at + line.len();
            at = lines.end;

            let content = line.trim();
            let begins_comment = content.starts_with("<!--");
            if begins_comment || in_comment {
                self.end(&mut paragraph, is_code);
                in_comment = !content.contains("-->");
                continue;
            }

            let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
            let marker = list_marker(content);

            // Indentation in a list continues its item.
            let is_indented = (line.starts_with("    ") || line.starts_with('\t')) && !in_list && marker == 0;

            if content.is_empty() {
                // A blank line does not end indented code.
                if !is_code {
                    self.end(&mut paragraph, false);
                }
                was_blank = true;
                continue;
            }

            if is_code && !is_indented {
                self.end(&mut paragraph, true);
                is_code = false;
            }

            if indent == 0 && marker == 0 && was_blank {
                in_list = false;
            }

            if is_code {
                extend(&mut paragraph, lines);
            } else if is_indented && was_blank {
                self.end(&mut paragraph, false);
                (paragraph, is_code) = (Some(lines), true);
            } else if content.starts_with('|') {
                self.end(&mut paragraph, false);
                if content.chars().any(char::is_alphanumeric) {
                    self.row(lines);
                }
            } else if is_unread(content) {
                self.end(&mut paragraph, false);
            } else if marker > 0 {
                self.end(&mut paragraph, false);
                in_list = true;
                paragraph = Some(lines.start + indent + marker..lines.end);
            } else {
                extend(&mut paragraph, lines);
            }

            was_blank = false;
        }

        self.end(&mut paragraph, is_code);
    }

    /// Ends the paragraph or the indented code, if one has begun.
    fn end(&mut self, paragraph: &mut Option<Range<usize>>, is_code: bool) {
        let Some(range) = paragraph.take() else { return };
        if is_code {
            self.block(UnitKind::Code, range);
            return;
        }

        self.n_blocks += 1;
        for sentence in sentences(self.text, range) {
            self.add(UnitKind::Sentence, sentence);
        }
    }

    /// Adds a unit that is a block of its own.
    fn block(&mut self, kind: UnitKind, range: Range<usize>) {
        self.n_blocks += 1;
        self.add(kind, range);
    }

    /// Adds a row of a table. Consecutive rows are one block.
    fn row(&mut self, range: Range<usize>) {
        let continues = self.units.last().is_some_and(|unit| {
            unit.kind == UnitKind::Row
                && self.text[unit.bytes.end..range.start].trim_matches(is_rule).is_empty()
        });
        if !continues {
            self.n_blocks += 1;
        }
        self.add(UnitKind::Row, range);
    }

    fn add(&mut self, kind: UnitKind, range: Range<usize>) {
        let bytes = match kind {
            UnitKind::Code => without_newlines(self.text, range),
            UnitKind::Sentence | UnitKind::Row => trimmed(self.text, range),
        };

        if self.text[bytes.clone()].chars().any(char::is_alphanumeric) {
            self.units.push(Unit { kind, bytes, block: self.n_blocks, section: self.section });
        }
    }
}

/// Number of bytes of the `---` or `+++` block at the beginning of a document, which describes it; 0 if there
/// is none.
fn front_matter_len(text: &str) -> usize {
    let text_start = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut lines = text[text_start..].split_inclusive('\n');
    let Some(mark) = lines.next().filter(|line| ["---", "+++"].contains(&line.trim_end())) else { return 0 };

    let mut at = text_start + mark.len();

    // A block that does not end within 500 lines is taken for text.
    for line in lines.take(500) {
        at += line.len();
        if line.trim_end() == mark.trim_end() {
            return at;
        }
    }

    0
}

/// Extends a paragraph by `lines`, or begins it with them.
fn extend(paragraph: &mut Option<Range<usize>>, lines: Range<usize>) {
    match paragraph {
        Some(range) => range.end = lines.end,
        none => *none = Some(lines),
    }
}

/// Returns whether `c` occurs in the line between the head and the rows of a table.
fn is_rule(c: char) -> bool {
    c.is_whitespace() || matches!(c, '|' | '-' | ':' | '=' | '+')
}

/// Length of the marker of a list item with the blanks after it; 0 if the line begins none.
fn list_marker(content: &str) -> usize {
    let digits = content.len() - content.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mark = match content.as_bytes().get(digits) {
        Some(b'.' | b')') if (1..=3).contains(&digits) => digits + 1,
        Some(b'-' | b'*' | b'+') if digits == 0 => 1,
        _ => return 0,
    };

    let rest = &content[mark..];
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    if blanks == 0 { 0 } else { mark + blanks }
}

/// Returns whether a line has no text for a reader: a rule, a link definition, an image, a tag, a directive.
fn is_unread(content: &str) -> bool {
    let is_link_definition = content.starts_with('[') && content.contains("]: ") && !content.contains(". ");
    let is_image = (content.starts_with("![") || content.starts_with("[![")) && content.ends_with(')');
    let is_tag = content.starts_with('<') && content.ends_with('>') && !content.starts_with("<http");
    let is_shortcode = content.starts_with("{{") && content.ends_with("}}");

    is_link_definition
        || is_image
        || is_tag
        || is_shortcode
        || content.starts_with(".. ") && content.contains("::")
        || !content.chars().any(char::is_alphanumeric)
}

/// `range` without white space at its ends.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    start..(start + part.trim().len())
}

/// `range` without the line ends after its last line.
fn without_newlines(text: &str, range: Range<usize>) -> Range<usize> {
    range.start..range.start + text[range.clone()].trim_end().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str) -> Vec<(UnitKind, &str)> {
        let structure = Structure::parse(text, "a.md");
        structure.units.iter().map(|unit| (unit.kind, &text[unit.bytes.clone()])).collect()
    }

    #[test]
    fn front_matter_is_no_text() {
        assert_eq!(units("---\ntitle: A b c\n---\nText here.\n"), [(UnitKind::Sentence, "Text here.")]);
        assert_eq!(units("---\nText here.\n"), [(UnitKind::Sentence, "Text here.")]);
    }

    #[test]
    fn paragraphs_lists_tables_and_code_become_units() {
        let text = "# T\nOne is `a. B` here. Two, e.g. this,\nruns on! \n\n* item one. More\n  of it\n- item two\n\n\
            | k | v |\n|---|---|\n| a | b |\n\n<!-- not\nthis -->\n[x]: https://x\n\n```sh\nrun. It\n```\n\n    indented\n";
        use UnitKind::*;
        assert_eq!(
            units(text),
            [
                (Sentence, "One is `a. B` here."),
                (Sentence, "Two, e.g. this,\nruns on!"),
                (Sentence, "item one."),
                (Sentence, "More\n  of it"),
                (Sentence, "item two"),
                (Row, "| k | v |"),
                (Row, "| a | b |"),
                (Code, "```sh\nrun. It\n```"),
                (Code, "    indented"),
            ]
        );
        let structure = Structure::parse(text, "a.md");
        assert_eq!(structure.units[5].block, structure.units[6].block);
        assert_eq!(structure.headings(&structure.units[0]), ["T"]);
    }

    proptest::proptest! {
        /// Any text has units in order, without overlap, on character boundaries.
        #[test]
        fn units_are_ordered_ranges_of_the_text(text in "([#*>|`. \\n]|[a-zA-ZäÖ0-9]|- |```\\n|    |<!--|-->|\\. ){0,80}") {
            let structure = Structure::parse(&text, "a.md");
            let mut end = 0;
            for unit in &structure.units {
                proptest::prop_assert!(unit.bytes.start >= end && unit.bytes.start < unit.bytes.end);
                proptest::prop_assert!(text.get(unit.bytes.clone()).is_some());
                end = unit.bytes.end;
            }
        }
    }
}
