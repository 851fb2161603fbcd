//! Joins the parts of a text to pieces near the target size.

use std::ops::Range;

use codeweaver_config::Granularity;

use super::source::{Part, Source};
use crate::pieces::{Piece, offset, trimmed};
use crate::text_split::{split_ranges, with_overlap};
use crate::{DelimiterMatch, tokens};

/// Comments and attributes of at most this many tokens are joined to the definition below them.
const MAX_LEADING_TOKENS: u32 = 300;
/// Share of the target, as its inverse, up to which the rest of a definition is joined to what is beside it.
const SMALL_REST: u32 = 8;

/// Packs parts, which are in order of position, into pieces. `base` is the offset of the text in its blob.
pub(super) fn pack(source: &Source<'_>, parts: Vec<Part>, base: u32) -> Vec<Piece> {
    let mut packer = Packer { source, packed: Vec::new() };

    let mut current: Option<Packed> = None;
    for part in packer.with_leading_comments(parts) {
        current = Some(match current.take() {
            Some(Packed { part: current, is_separate }) => {
                let stay_apart = packer.stay_apart(&current, &part);
                if !stay_apart && packer.fits(&current, &part) {
                    Packed { part: packer.joined(current, part), is_separate }
                } else {
                    packer.push(Packed { part: current, is_separate });
                    Packed { part, is_separate: stay_apart }
                }
            }
            None => Packed { part, is_separate: false },
        });
    }
    current.into_iter().for_each(|last| packer.push(last));

    let (ranges, facts): (Vec<_>, Vec<_>) = packer.packed.into_iter().flat_map(|it| cut(source, it)).unzip();
    let ranges = with_overlap(source.text, ranges, source.settings.simple_overlap, source.sizes.limit);

    let mut pieces = Vec::with_capacity(ranges.len());
    for (range, Facts { boundary, is_separate }) in ranges.into_iter().zip(facts) {
        pieces.push(Piece {
            byte_range: offset(base, range.start)..offset(base, range.end),
            delimiter: boundary.map(|boundary| delimiter_match(source, boundary)),
            is_separate,
        });
    }
    pieces
}

struct Packer<'a> {
    source: &'a Source<'a>,
    packed: Vec<Packed>,
}

/// Joined parts.
struct Packed {
    part: Part,
    /// Whether they must not be joined to those before.
    is_separate: bool,
}

impl Packer<'_> {
    /// Joins text directly above a definition (comments, attributes, its type) to it, and comments above a
    /// blank line.
    fn with_leading_comments(&self, parts: Vec<Part>) -> Vec<Part> {
        let limit = self.source.sizes.limit;
        let mut joined: Vec<Part> = Vec::with_capacity(parts.len());

        for part in parts {
            match joined.last_mut() {
                Some(last)
                    if part.is_definition
                        && (!part.after_blank_line || self.is_comment_above(last, &part))
                        && (!last.is_definition || last.is_line)
                        && last.cost <= MAX_LEADING_TOKENS
                        && last.owner == part.owner
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

    /// Returns whether `above` is nothing but comments, and a single blank line separates `part` from it.
    fn is_comment_above(&self, above: &Part, part: &Part) -> bool {
        self.source.n_blank_lines_before(part.range.start) == 1 && self.source.is_comment(&above.range)
    }

    /// Returns whether `part` is not joined to `current` whatever their sizes are: the end of a definition
    /// that was taken apart has nothing to do with the next one.
    fn stay_apart(&self, current: &Part, part: &Part) -> bool {
        current.owner != part.owner
            || self.is_by_definition() && (current.is_definition || part.is_definition)
    }

    /// Returns whether each definition is a chunk of its own.
    fn is_by_definition(&self) -> bool {
        self.source.settings.granularity == Granularity::Definition
    }

    /// Returns whether `part` and `current` are small enough to be joined.
    fn fits(&self, current: &Part, part: &Part) -> bool {
        // Small pieces, and text without a blank line between, are joined up to the soft size.
        let sum = current.cost + part.cost;
        let sizes = &self.source.sizes;
        let may_exceed_target = !part.after_blank_line || current.cost < sizes.target * 2 / 5;
        sum <= sizes.target || sum <= sizes.soft && may_exceed_target
    }

    /// Joins two parts; the pair of higher priority stands for both, of equals the first.
    fn joined(&self, current: Part, part: Part) -> Part {
        let boundary = if self.source.priority(part.boundary) > self.source.priority(current.boundary) {
            part.boundary
        } else {
            current.boundary
        };

        Part {
            range: current.range.start..part.range.end,
            cost: current.cost + part.cost,
            boundary,
            is_definition: current.is_definition || part.is_definition,
            is_line: false,
            owner: current.owner,
            after_blank_line: current.after_blank_line,
        }
    }

    /// Adds joined parts, or joins them to the last ones if one of both is the rest of a definition around
    /// the other.
    fn push(&mut self, packed: Packed) {
        let last = self.packed.last().filter(|_| packed.is_separate && !self.is_by_definition());
        let is_rest = last.is_some_and(|last| self.is_rest(&last.part, &packed.part));

        match self.packed.pop() {
            Some(last) if is_rest => {
                let part = self.joined(last.part, packed.part);
                self.packed.push(Packed { part, is_separate: last.is_separate });
            }
            last => self.packed.extend(last.into_iter().chain([packed])),
        }
    }

    /// Returns whether one of two neighbours is a small rest of a definition, such as its first line or its
    /// last bracket, around the other.
    fn is_rest(&self, before: &Part, after: &Part) -> bool {
        let sizes = &self.source.sizes;
        let (small, sum) = (sizes.target / SMALL_REST, before.cost + after.cost);
        let is_first = before.cost <= small && self.source.encloses(before.owner, after.owner);
        let is_last = after.cost <= small && self.source.encloses(after.owner, before.owner);
        sum <= sizes.soft && (is_first || is_last)
    }
}

/// Facts about a range of joined parts.
struct Facts {
    /// The pair around them.
    boundary: Option<usize>,
    /// Whether the range must not be joined to that before.
    is_separate: bool,
}

/// Returns the range of joined parts with their pair, or several if it exceeds the limit; only the first of
/// these is separate.
fn cut(source: &Source<'_>, packed: Packed) -> Vec<(Range<usize>, Facts)> {
    let Packed { part, is_separate } = packed;
    let range = trimmed(source.text, part.range);
    if range.is_empty() {
        return Vec::new();
    }

    // Costs of parts that are cut inside a word can be off by a few tokens.
    let sizes = &source.sizes;
    let is_long = part.cost >= sizes.limit / 2 && tokens::count(&source.text[range.clone()]) > sizes.limit;
    let ranges = if is_long { split_ranges(source.text, range, sizes.split) } else { vec![range] };

    let facts = |n| Facts { boundary: part.boundary, is_separate: is_separate && n == 0 };
    ranges.into_iter().enumerate().map(|(n, range)| (range, facts(n))).collect()
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
