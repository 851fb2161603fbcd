//! Takes a text apart at its delimiter pairs.

use std::cmp::Reverse;
use std::ops::Range;

use super::families::Extent;
use super::scan::Boundary;
use super::source::{Part, Source};
use crate::text_split::split_ranges;

/// Pairs nested deeper than this many opened pairs are not opened; the text is cut by lines.
const MAX_LEVELS: usize = 24;
/// Lowest priorities of the three tiers: constructs of the language, brackets and paragraphs, all others.
const TIERS: [u8; 3] = [50, 20, 0];
/// Lowest priority of a definition.
const DEFINITION: u8 = 65;
/// Length from which a line is minified text: pairs are cut out of it rather than extended to whole lines.
const LONG_LINE_BYTES: usize = 1000;

/// Returns the parts of the text in order of position. Only blank text is in none of them.
pub(super) fn parts(source: &Source<'_>) -> Vec<Part> {
    let mut splitter = Splitter { source, work: Vec::new(), parts: Vec::new() };
    splitter.run();
    splitter.parts
}

struct Splitter<'a> {
    source: &'a Source<'a>,
    /// A stack of the work that is left.
    work: Vec<Work>,
    parts: Vec<Part>,
}

enum Work {
    /// Text to be taken apart at the pairs in it.
    Level(Level),
    /// Text between pairs, with the definition around it.
    Gap(Range<usize>, Option<usize>),
    Done(Part),
}

struct Level {
    range: Range<usize>,
    /// Indices of the pairs in the range, sorted.
    inside: Vec<usize>,
    /// Number of pairs that were opened around the range.
    depth: usize,
    /// The pair that was opened last.
    enclosing: Option<usize>,
    /// The definition that was opened last.
    owner: Option<usize>,
}

/// Pairs that share lines, and so cannot be separated by cuts between lines.
struct Group {
    range: Range<usize>,
    members: Vec<usize>,
}

impl Splitter<'_> {
    fn run(&mut self) {
        let inside = (0..self.source.boundaries.len()).collect();
        let range = 0..self.source.text.len();
        self.work.push(Work::Level(Level { range, inside, depth: 0, enclosing: None, owner: None }));

        while let Some(next) = self.work.pop() {
            match next {
                Work::Done(part) => self.parts.push(part),
                Work::Gap(range, owner) => self.cut(range, (None, owner), self.source.sizes.soft),
                Work::Level(level) => self.open(level),
            }
        }
    }

    /// Replaces a level by its groups and the gaps between them.
    fn open(&mut self, level: Level) {
        let groups = self.groups(&level);
        if groups.is_empty() {
            return self.leaf(level);
        }

        let boundaries = self.source.boundaries;
        let first = self.work.len();
        let mut at = level.range.start;
        let mut rest = level.inside.as_slice();

        for Group { range: group, members } in groups {
            if at < group.start {
                self.work.push(Work::Gap(at..group.start, level.owner));
            }
            at = group.end;

            let main = self.most_important(&members);
            let cost = self.source.cost(&group);
            let whole = main.map_or(self.source.sizes.soft, |main| self.whole_up_to(main));

            if cost <= whole || level.depth >= MAX_LEVELS {
                // A pair over the limit is left without inner pairs, so that it is cut as text.
                let (depth, owner) = (level.depth, level.owner);
                self.work.push(if cost <= self.source.sizes.limit {
                    Work::Done(Part { owner, ..self.part(group, cost, main) })
                } else {
                    Work::Level(Level { range: group, inside: Vec::new(), depth, enclosing: main, owner })
                });
                continue;
            }

            // Both lists are sorted by start: pairs before this group are not needed for later groups.
            let skip = rest.partition_point(|&index| boundaries[index].start < group.start);
            rest = &rest[skip..];
            let until = rest.partition_point(|&index| boundaries[index].start < group.end);

            let inside: Vec<usize> = rest[..until]
                .iter()
                .copied()
                .filter(|&index| boundaries[index].end <= group.end && members.binary_search(&index).is_err())
                .collect();
            let depth = level.depth + 1;
            // Loops and conditions belong to the definition that they are in.
            let owner = main.filter(|&main| self.is_definition(main)).or(level.owner);
            self.work.push(Work::Level(Level { range: group, inside, depth, enclosing: main, owner }));
        }

        if at < level.range.end {
            self.work.push(Work::Gap(at..level.range.end, level.owner));
        }

        // The stack returns the last item first.
        self.work[first..].reverse();
    }

    /// Returns the member of highest priority, the earliest of equals.
    fn most_important(&self, members: &[usize]) -> Option<usize> {
        members.iter().copied().min_by_key(|&index| (Reverse(self.source.delimiter(index).priority), index))
    }

    /// Returns the pairs of a level that remain after resolution, as the ranges that they cover.
    fn groups(&self, level: &Level) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();

        for index in self.resolved(&level.inside) {
            let covered = self.covered(index, &level.range);
            let is_level_itself =
                covered == level.range && self.source.boundaries[index].start > level.range.start;
            // A pair around the whole level would be opened again without end.
            if covered.is_empty() || is_level_itself {
                continue;
            }

            match groups.last_mut() {
                Some(last) if covered.start < last.range.end => {
                    last.range.end = last.range.end.max(covered.end);
                    last.members.push(index);
                }
                _ => groups.push(Group { range: covered, members: vec![index] }),
            }
        }

        groups
    }

    /// Returns the pairs among `inside` that remain where pairs overlap, by start.
    ///
    /// Of two crossing pairs the one of higher priority remains, of equals the earlier. Of two nested pairs
    /// the outer remains, unless the inner is of a higher tier; the inner is considered again when the outer
    /// is opened.
    fn resolved(&self, inside: &[usize]) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        let mut highest = u8::MAX;

        for lowest in TIERS {
            let members: Vec<usize> = inside
                .iter()
                .copied()
                .filter(|&index| (lowest..=highest).contains(&self.source.delimiter(index).priority))
                .collect();
            highest = lowest.saturating_sub(1);
            chosen = without_overlaps(chosen, self.outermost(&members), self.source.boundaries);
        }

        chosen
    }

    /// Returns the outer of nested pairs and, of crossing ones, those of higher priority.
    fn outermost(&self, sorted: &[usize]) -> Vec<usize> {
        let mut outermost: Vec<usize> = Vec::new();

        for &index in sorted {
            let Some(&last) = outermost.last() else {
                outermost.push(index);
                continue;
            };

            let (boundary, other) = (&self.source.boundaries[index], &self.source.boundaries[last]);
            if boundary.start >= other.end {
                outermost.push(index);
            } else if boundary.end > other.end
                && self.source.delimiter(index).priority > self.source.delimiter(last).priority
            {
                outermost.pop();
                outermost.push(index);
            }
        }

        outermost
    }

    /// Returns the range that a pair covers inside `within`, as its delimiter wants it: with or without its
    /// marks, extended to whole lines or not.
    fn covered(&self, index: usize, within: &Range<usize>) -> Range<usize> {
        let (boundary, delimiter) = (&self.source.boundaries[index], self.source.delimiter(index));
        let (start, end) = if delimiter.inclusive { (boundary.start, boundary.end) } else { boundary.inner };
        if !delimiter.whole_lines {
            return start.max(within.start)..end.min(within.end).max(start);
        }

        let (start, end) = if delimiter.inclusive {
            self.whole_lines(start, end)
        } else {
            // Marks that are left out keep their lines.
            let text = self.source.text;
            let after_mark = text[start..end].find('\n').map_or(start, |at| start + at + 1);
            let before_mark = text[after_mark..end].rfind('\n').map_or(end, |at| after_mark + at + 1);
            (after_mark, before_mark)
        };

        start.max(within.start)..end.min(within.end).max(start.max(within.start))
    }

    /// Extends a non-empty range to whole lines, except into long lines.
    fn whole_lines(&self, start: usize, end: usize) -> (usize, usize) {
        let lines = &self.source.lines;
        let line_start = lines.start(lines.line_of(start));
        // The line of an end is the one of its last byte.
        let line_end = lines.start(lines.line_of(end.saturating_sub(1).max(start)) + 1);

        (
            if start - line_start <= LONG_LINE_BYTES { line_start } else { start },
            if line_end - end <= LONG_LINE_BYTES { line_end } else { end },
        )
    }

    /// Returns the number of tokens up to which a pair stays whole: the limit for custom pairs, else the soft
    /// size, beyond which a piece would be cut by its lines.
    fn whole_up_to(&self, index: usize) -> u32 {
        let is_custom = self.source.boundaries[index].delimiter < self.source.family.n_custom;
        if is_custom { self.source.sizes.limit } else { self.source.sizes.soft }
    }

    fn is_definition(&self, index: usize) -> bool {
        self.source.delimiter(index).priority >= DEFINITION
    }

    /// Returns whether a pair is a line that ends where a line is no deeper.
    fn is_line_by_layout(&self, index: usize) -> bool {
        let boundary = &self.source.boundaries[index];
        let by_layout =
            boundary.start_token.is_none() && self.source.delimiter(index).extent == Extent::Dedent;
        by_layout && !self.source.text[boundary.start..boundary.end].trim_end().contains('\n')
    }

    /// A part of the text that has no definition around it.
    fn part(&self, range: Range<usize>, cost: u32, main: Option<usize>) -> Part {
        let is_definition = main.is_some_and(|main| self.is_definition(main));
        let after_blank_line = self.source.is_after_blank_line(range.start);
        let is_line = is_definition && main.is_some_and(|main| self.is_line_by_layout(main));
        Part { range, cost, boundary: main, is_definition, is_line, owner: None, after_blank_line }
    }

    /// Cuts a pair that is too large and holds no other pair.
    fn leaf(&mut self, level: Level) {
        let sizes = &self.source.sizes;
        let limit = if self.source.cost(&level.range) > sizes.limit { sizes.split } else { sizes.soft };
        let owner = level.enclosing.filter(|&pair| self.is_definition(pair)).or(level.owner);
        self.cut(level.range, (level.enclosing, owner), limit);
    }

    /// Cuts a text into paragraphs. Those that exceed the soft size are cut into lines, and lines that do so
    /// into parts of at most `limit` tokens. `around` is the pair that describes the parts, and the
    /// definition around them.
    fn cut(&mut self, range: Range<usize>, around: (Option<usize>, Option<usize>), limit: u32) {
        let source = self.source;

        for paragraph in paragraphs(source.text, range) {
            if source.cost(&paragraph) <= source.sizes.soft {
                self.add(paragraph, around);
                continue;
            }

            for line in lines(source.text, paragraph) {
                if source.cost(&line) <= source.sizes.soft {
                    self.add(line, around);
                } else {
                    for range in split_ranges(source.text, line, limit.min(source.sizes.split)) {
                        self.add(range, around);
                    }
                }
            }
        }
    }

    /// Adds a part that is no pair, unless it is blank.
    fn add(&mut self, range: Range<usize>, (boundary, owner): (Option<usize>, Option<usize>)) {
        if self.source.text[range.clone()].trim().is_empty() {
            return;
        }

        let cost = self.source.cost(&range);
        let after_blank_line = self.source.is_after_blank_line(range.start);
        self.parts.push(Part {
            range,
            cost,
            boundary,
            is_definition: false,
            is_line: false,
            owner,
            after_blank_line,
        });
    }
}

/// Cuts a range after runs of blank lines.
fn paragraphs(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut paragraphs = Vec::new();
    let (mut start, mut after_blank) = (range.start, false);

    for line in lines(text, range.clone()) {
        let is_blank = text[line.clone()].trim().is_empty();
        if after_blank && !is_blank && start < line.start {
            paragraphs.push(start..line.start);
            start = line.start;
        }

        after_blank = is_blank;
    }

    if start < range.end {
        paragraphs.push(start..range.end);
    }

    paragraphs
}

/// Returns the lines of a range; the first and the last may be partial.
fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = range.start;
    text[range].split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        start..at
    })
}

/// Merges `chosen` with those of `others` that overlap none of it. Both are sorted and free of overlaps, and
/// so is the result.
fn without_overlaps(chosen: Vec<usize>, others: Vec<usize>, boundaries: &[Boundary]) -> Vec<usize> {
    let mut merged = Vec::with_capacity(chosen.len() + others.len());
    let mut next = chosen.into_iter().peekable();

    for index in others {
        let (start, end) = (boundaries[index].start, boundaries[index].end);
        while let Some(before) = next.next_if(|&before| boundaries[before].end <= start) {
            merged.push(before);
        }

        if next.peek().is_none_or(|&after| boundaries[after].start >= end) {
            merged.push(index);
        }
    }

    merged.extend(next);
    merged
}
