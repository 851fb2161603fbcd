//! The last step of the chain: splits text without usable delimiters at the coarsest break that fills half a
//! piece.

use std::ops::Range;

use codeweaver_config::ChunkerSettings;

use super::pieces::{Piece, offset, trimmed};
use super::tokens;

/// Splits `text` into pieces of at most `limit_tokens`: at paragraphs, else lines, sentences, words,
/// characters.
///
/// The coarsest break that leaves a piece at least half full is used. `base` is the offset of `text` in its
/// blob. Every piece but the first repeats up to `settings.simple_overlap` tokens of the text before it. The
/// result is empty if the text is blank. A piece exceeds the limit only if it is a single character that
/// alone does. Linear.
pub fn split_text(text: &str, base: u32, limit_tokens: u32, settings: &ChunkerSettings) -> Vec<Piece> {
    let ranges = split_ranges(text, 0..text.len(), limit_tokens);
    let ranges = with_overlap(text, ranges, settings.simple_overlap, limit_tokens);
    let mut pieces = Vec::with_capacity(ranges.len());

    for range in ranges {
        let byte_range = offset(base, range.start)..offset(base, range.end);
        pieces.push(Piece { byte_range, delimiter: None, is_separate: false });
    }

    pieces
}

/// Number of kinds of breaks: paragraph, line, sentence, word.
const N_BREAKS: usize = 4;

/// Does the work of [`split_text`] for a part of a text, without overlap. The ranges are trimmed and not
/// blank.
pub(crate) fn split_ranges(text: &str, range: Range<usize>, limit: u32) -> Vec<Range<usize>> {
    let limit = limit.max(1);
    let mut ranges = Vec::new();
    // The piece being filled begins at `start` and reaches to `at`; `cost` counts its tokens.
    let (mut start, mut at, mut cost) = (range.start, range.start, 0);
    // The last break of each kind, coarsest first, with the cost up to it.
    let mut breaks: [Option<(usize, u32)>; N_BREAKS] = [None; N_BREAKS];

    while at < range.end {
        let word = next_word(text, at..range.end);
        let word_cost = tokens::count(&text[at..word.text_end]);
        if cost + word_cost <= limit {
            cost += word_cost;
            at = word.end;
            breaks[word.break_after] = Some((at, cost));
            continue;
        }

        if start < at {
            let cut =
                breaks.iter().flatten().find(|(_, cost)| *cost >= limit / 2).map_or(at, |&(cut, _)| cut);
            push_trimmed(&mut ranges, text, start..cut);
            start = cut;
        } else {
            // A single word over the limit is cut by characters.
            let cut = fitting_prefix(text, at..word.text_end, limit);
            push_trimmed(&mut ranges, text, at..cut);
            start = cut;
        }
        // Words after the cut are read again, so that they count from the new start.
        (at, cost, breaks) = (start, 0, [None; N_BREAKS]);
    }
    push_trimmed(&mut ranges, text, start..range.end);

    ranges
}

/// Appends `range` without its surrounding blanks, unless all of it is blank.
fn push_trimmed(ranges: &mut Vec<Range<usize>>, text: &str, range: Range<usize>) {
    let range = trimmed(text, range);
    if !range.is_empty() {
        ranges.push(range);
    }
}

/// The end of a word and the break after it.
struct Word {
    text_end: usize,
    /// End of the white space after the word.
    end: usize,
    /// Kind of the break after the word, coarsest first: 0 paragraph, 1 line, 2 sentence, 3 word.
    break_after: usize,
}

/// Reads a word and the white space before and after it.
fn next_word(text: &str, range: Range<usize>) -> Word {
    let bytes = text.as_bytes();

    let is_blank = |at: usize| bytes[at].is_ascii_whitespace();
    let mut at = range.start;
    while at < range.end && is_blank(at) {
        at += 1;
    }
    while at < range.end && !is_blank(at) {
        at += 1;
    }
    let text_end = at;

    let mut newlines = 0;
    while at < range.end && is_blank(at) {
        newlines += usize::from(bytes[at] == b'\n');
        at += 1;
    }

    // Closing quotes and brackets may follow the end of a sentence.
    let word = text[range.start..text_end].trim_end_matches(['"', '\'', ')', '*', '_']);
    let break_after = match newlines {
        0 if word.ends_with(['.', '!', '?', '。']) => 2,
        0 => 3,
        1 => 1,
        _ => 0,
    };

    Word { text_end, end: at, break_after }
}

/// Returns the end of a prefix of a word: at most `limit` tokens, at least one character, and after a
/// separator if one is near.
fn fitting_prefix(text: &str, range: Range<usize>, limit: u32) -> usize {
    let word = &text[range.clone()];
    let one = word.chars().next().map_or(word.len(), char::len_utf8);
    // Longer prefixes than 4 bytes per token are not tried; the size is halved until it fits.
    let mut size = word.floor_char_boundary((limit as usize).saturating_mul(4)).max(one);
    while size > one && tokens::count(&word[..size]) > limit {
        size = word.floor_char_boundary(size / 2).max(one);
    }

    // Avoids cutting names in minified code and lists.
    let near = word.floor_char_boundary(size - size / 4);
    match word[near..size].rfind([';', '}', ',', '>', '。', '、']) {
        Some(at) if size < word.len() => {
            let separator = word[near + at..].chars().next().map_or(1, char::len_utf8);
            range.start + near + at + separator
        }
        _ => range.start + size,
    }
}

/// Extends each range but the first to the left by up to `overlap` tokens: by whole lines if possible, else
/// by whole words.
///
/// A range stays after the start of the range before it, and within `limit` tokens.
pub(crate) fn with_overlap(
    text: &str,
    ranges: Vec<Range<usize>>,
    overlap: u32,
    limit: u32,
) -> Vec<Range<usize>> {
    if overlap == 0 {
        return ranges;
    }

    let mut extended = Vec::with_capacity(ranges.len());
    for (index, range) in ranges.iter().enumerate() {
        let Some(before) = index.checked_sub(1).map(|index| &ranges[index]) else {
            extended.push(range.clone());
            continue;
        };

        let room = overlap.min(limit.saturating_sub(tokens::count(&text[range.clone()])));
        let start = overlap_start(text, before.start + 1..range.start, room);
        extended.push(trimmed(text, start..range.end));
    }

    extended
}

/// Returns the smallest start in `within` that has at most `room` tokens between it and the end.
fn overlap_start(text: &str, within: Range<usize>, room: u32) -> usize {
    let bytes = text.as_bytes();
    // A token is much shorter on average; this bounds the search in long lines.
    let furthest = within.end.saturating_sub(room as usize * 16 + 64).max(within.start);
    let (mut by_line, mut by_word, mut cost, mut counted) = (within.end, within.end, 0, within.end);

    for at in (furthest..within.end).rev() {
        if !bytes[at].is_ascii_whitespace() || at + 1 >= counted {
            continue;
        }

        cost += tokens::count(&text[at + 1..counted]);
        counted = at + 1;
        if cost > room {
            break;
        }

        by_word = at + 1;
        if bytes[at] == b'\n' {
            by_line = at + 1;
        }
    }

    if by_line < within.end { by_line } else { by_word }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, limit: u32) -> Vec<&str> {
        let pieces = split_text(text, 0, limit, &ChunkerSettings::default());
        pieces
            .iter()
            .map(|piece| &text[piece.byte_range.start as usize..piece.byte_range.end as usize])
            .collect()
    }

    #[test]
    fn cuts_at_the_coarsest_break_that_fills_half() {
        let text = "one two.\nthree four.\n\nfive six. seven eight\nnine";
        assert_eq!(split(text, 8), ["one two.\nthree four.", "five six. seven eight\nnine"]);
        assert_eq!(split(text, 4), ["one two.", "three four.", "five six.", "seven eight\nnine"]);
        assert_eq!(split(text, 1000), [text]);
    }

    #[test]
    fn cuts_words_by_characters() {
        let text = "é".repeat(1000);
        for piece in split(&text, 20) {
            assert!(tokens::count(piece) <= 20);
        }
        assert_eq!(split(&text, 20).concat(), text);
        assert_eq!(split("aaaa;bbbb;cccc;dddd", 3).concat(), "aaaa;bbbb;cccc;dddd");
        assert_eq!(split("日", 0), ["日"]);
    }

    #[test]
    fn blank_text_has_no_pieces() {
        assert!(split("", 10).is_empty());
        assert!(split(" \n\t\r\n", 10).is_empty());
    }

    #[test]
    fn overlap_repeats_whole_lines_or_words_and_stays_in_the_limit() {
        let settings = ChunkerSettings { simple_overlap: 3, ..Default::default() };
        let text = "a b c d e f g h i j k l m n o p\nq r\ns t u v w x y z";
        for limit in [6, 8, 10, 12] {
            let pieces = split_text(text, 0, limit, &settings);
            for pair in pieces.windows(2) {
                assert!(pair[0].byte_range.start < pair[1].byte_range.start, "{limit}");
            }
            for piece in &pieces {
                let text = &text[piece.byte_range.start as usize..piece.byte_range.end as usize];
                assert!(tokens::count(text) <= limit, "{limit}: {text}");
            }
        }
        let pieces = split_text("aa bb\ncc dd\nee ff\ngg hh", 0, 6, &settings);
        assert!(pieces.len() > 1 && pieces[1].byte_range.start < pieces[0].byte_range.end);
    }
}
