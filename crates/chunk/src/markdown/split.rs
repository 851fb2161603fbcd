//! Splitting a long section by characters, with overlap.

use std::ops::Range;

use crate::pieces::trimmed;

/// Returns parts of at most `chunk_size` characters. All but the first repeat up to `overlap` characters of
/// the text before them, but never more than half of `chunk_size`. Parts are trimmed and not blank.
pub(super) fn split_with_overlap(
    text: &str,
    range: Range<usize>,
    chunk_size: usize,
    overlap: usize,
) -> Vec<Range<usize>> {
    // More overlap would leave too little room for new text.
    let overlap = overlap.min(chunk_size / 2);
    let mut parts: Vec<Range<usize>> = Vec::new();
    let (mut start, mut n_chars) = (range.start, 0);
    let mut end = range.start;

    for block in blocks(text, range.clone(), chunk_size - overlap) {
        let block_chars = text[block.clone()].chars().count();
        let room = if parts.is_empty() { chunk_size } else { chunk_size - overlap };

        if n_chars + block_chars > room && n_chars > 0 {
            parts.push(start..end);
            (start, n_chars) = (end, 0);
        }
        n_chars += block_chars;
        end = block.end;
    }
    parts.push(start..range.end);

    let mut extended = Vec::with_capacity(parts.len());
    let mut previous_start = range.start;
    for part in parts {
        let start = if part.start > range.start {
            overlap_start(text, previous_start, part.start, overlap)
        } else {
            part.start
        };
        previous_start = part.start;

        let part = trimmed(text, start..part.end);
        if !part.is_empty() {
            extended.push(part);
        }
    }
    extended
}

/// Cuts the range at natural breaks: after paragraphs, else lines, else sentences, else words. Each block has
/// at most `size` characters.
fn blocks(text: &str, range: Range<usize>, size: usize) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();

    for paragraph in cut_after(text, range, Cut::Paragraphs) {
        if text[paragraph.clone()].chars().count() <= size {
            blocks.push(paragraph);
            continue;
        }

        for line in cut_after(text, paragraph, Cut::Lines) {
            if text[line.clone()].chars().count() <= size {
                blocks.push(line);
            } else {
                blocks.extend(cut_line(text, line, size));
            }
        }
    }

    blocks
}

/// Returns the start of an overlap of at most `overlap` characters before `at`: after `floor`, at the
/// beginning of a line or else of a word. Returns `at` if there is no such place.
fn overlap_start(text: &str, floor: usize, at: usize, overlap: usize) -> usize {
    let before = &text[floor..at];
    let Some((from, _)) = before.char_indices().rev().take(overlap).last() else { return at };
    // The overlap starts after `floor`, or the part would repeat all of the one before it.
    let from = if from == 0 { before.chars().next().map_or(0, char::len_utf8) } else { from };

    let window = &before[from..];
    let Some(found) = window.find('\n').or_else(|| window.find(' ')) else { return at };
    let start = floor + from + found + 1;
    if text[start..at].trim().is_empty() { at } else { start }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// After each run of blank lines.
    Paragraphs,
    /// After each line; blank lines go with the line before them.
    Lines,
}

/// Cuts a range into parts that each hold a non-blank line.
fn cut_after(text: &str, range: Range<usize>, cut: Cut) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut at, mut after_blank) = (range.start, range.start, false);

    for line in text[range.clone()].split_inclusive('\n') {
        let is_blank = line.trim().is_empty();
        let is_boundary = !is_blank && (cut == Cut::Lines || after_blank);

        if is_boundary && start < at && !text[start..at].trim().is_empty() {
            parts.push(start..at);
            start = at;
        }

        after_blank = is_blank;
        at += line.len();
    }

    if start < range.end {
        parts.push(start..range.end);
    }

    parts
}

/// Cuts a long line after sentences, else words, else `size` characters.
fn cut_line(text: &str, range: Range<usize>, size: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = range.start;

    while start < range.end {
        let rest = &text[start..range.end];
        let Some((end, _)) = rest.char_indices().nth(size.max(1)) else { break };
        let window = &rest[..end];

        let sentence = [". ", "! ", "? ", "。"]
            .iter()
            .filter_map(|mark| window.rfind(mark).map(|at| at + mark.len()))
            .max();
        // A sentence that fills less than half of the part would leave many short ones.
        let cut = sentence
            .filter(|&cut| cut >= end / 2)
            .or_else(|| window.rfind([' ', '\t']).map(|at| at + 1))
            .filter(|&cut| cut > 0)
            .unwrap_or(end);
        parts.push(start..start + cut);
        start += cut;
    }

    if start < range.end {
        parts.push(start..range.end);
    }

    parts
}
