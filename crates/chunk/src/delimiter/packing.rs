//! Joins the parts of a text to pieces near the target size.

use std::ops::Range;

use codeweaver_config::Granularity;

use super::source::{Part, Source};
use crate::pieces::{Piece, offset, trimmed};
use crate::text_split::{split_ranges, with_overlap};
use crate::{DelimiterMatch, tokens};

/// Comments and attributes of at most this many tokens are joined to the definition below them.
const MAX_LEADING_TOKENS: u32 = 300;

/// Packs parts, which are in order of position, into pieces. `base` is the offset of the text in its blob.
pub(super) fn pack(source: &Source<'_>, parts: Vec<Part>, base: u32) -> Vec<Piece> {
    let mut packer = Packer { source, ranges: Vec::new(), boundaries: Vec::new() };

    let mut current: Option<Part> = None;
    for part in packer.with_leading_comments(parts) {
        current = Some(match current.take() {
            Some(current) if packer.fits(&current, &part) => packer.joined(current, part),
            Some(done) => {
                packer.finish(done);
                part
            }
            None => part,
        });
    }
    if let Some(done) = current {
        packer.finish(done);
    }

    let Packer { ranges, boundaries, .. } = packer;
    let ranges = with_overlap(source.text, ranges, source.settings.simple_overlap, source.sizes.limit);

    let mut pieces = Vec::with_capacity(ranges.len());
    for (range, boundary) in ranges.into_iter().zip(boundaries) {
        pieces.push(Piece {
            byte_range: offset(base, range.start)..offset(base, range.end),
            delimiter: boundary.map(|boundary| delimiter_match(source, boundary)),
        });
    }
    pieces
}

struct Packer<'a> {
    source: &'a Source<'a>,
    /// Ranges of finished pieces.
    ranges: Vec<Range<usize>>,
    /// The most important pair of each range.
    boundaries: Vec<Option<usize>>,
}

impl Packer<'_> {
    /// Joins text directly above a definition (comments, attributes) to it.
    fn with_leading_comments(&self, parts: Vec<Part>) -> Vec<Part> {
        let limit = self.source.sizes.limit;
        let mut joined: Vec<Part> = Vec::with_capacity(parts.len());

        for part in parts {
            match joined.last_mut() {
                Some(last)
                    if part.is_definition
                        && !part.after_blank_line
                        && !last.is_definition
                        && last.cost <= MAX_LEADING_TOKENS
                        && last.cost + part.cost <= limit =>
                {
                    *last = Part {
                        range: last.range.start..part.range.end,
                        cost: last.cost + part.cost,
                        after_blank_line: last.after_blank_line,
                        ..part
                    };
                }
                _ => joined.push(part),
            }
        }

        joined
    }

    /// Returns whether `part` is joined to `current`.
    fn fits(&self, current: &Part, part: &Part) -> bool {
        // Each definition is a chunk of its own in this granularity.
        if self.source.settings.granularity == Granularity::Definition
            && (current.is_definition || part.is_definition)
        {
            return false;
        }

        // Small pieces, and text without a blank line between, are joined up to the soft size.
        let sum = current.cost + part.cost;
        let sizes = &self.source.sizes;
        let may_exceed_target = !part.after_blank_line || current.cost < sizes.target * 2 / 5;
        sum <= sizes.target || sum <= sizes.soft && may_exceed_target
    }

    /// Joins two parts; the pair of higher priority stands for both, of equals the first.
    fn joined(&self, current: Part, part: Part) -> Part {
        let boundary = if self.priority(part.boundary) > self.priority(current.boundary) {
            part.boundary
        } else {
            current.boundary
        };

        Part {
            range: current.range.start..part.range.end,
            cost: current.cost + part.cost,
            boundary,
            is_definition: current.is_definition || part.is_definition,
            after_blank_line: current.after_blank_line,
        }
    }

    /// Returns the priority of a pair, 0 for none.
    fn priority(&self, boundary: Option<usize>) -> u8 {
        boundary.map_or(0, |boundary| self.source.delimiter(boundary).priority)
    }

    /// Adds a part as a piece, or as several if it exceeds the limit.
    fn finish(&mut self, part: Part) {
        let text = self.source.text;
        let range = trimmed(text, part.range);
        if range.is_empty() {
            return;
        }

        // Costs of parts that are cut inside a word can be off by a few tokens.
        let sizes = &self.source.sizes;
        let ranges = if part.cost >= sizes.limit / 2 && tokens::count(&text[range.clone()]) > sizes.limit {
            split_ranges(text, range, sizes.split)
        } else {
            vec![range]
        };

        self.boundaries.resize(self.boundaries.len() + ranges.len(), part.boundary);
        self.ranges.extend(ranges);
    }
}

/// Returns a pair as it is shown in the metadata of a chunk.
fn delimiter_match(source: &Source<'_>, boundary: usize) -> DelimiterMatch {
    let delimiter = source.delimiter(boundary);
    let boundary = &source.boundaries[boundary];

    DelimiterMatch {
        kind: delimiter.kind,
        start: token_text(source, boundary.start_token),
        end: token_text(source, boundary.end_token),
        priority: delimiter.priority,
        nesting: boundary.nesting,
        inclusive: delimiter.inclusive,
    }
}

/// Returns the text of a token, empty for a pair that begins or ends by layout.
fn token_text(source: &Source<'_>, token: Option<u16>) -> String {
    token.map_or_else(String::new, |token| source.family.tokens[usize::from(token)].text())
}
