//! Chunks by the delimiters of the language's family: the step for languages without a grammar (C2, C8).
//!
//! [`scan`](scan()) finds the pairs; here overlaps are resolved by priority, the text is taken apart at the pairs
//! that remain (opening those that are too large, level by level), and the parts are packed to `target_tokens`.
//! Everything between pairs belongs to a part too, so that no line is lost.

use std::ops::Range;

use self::families::{Delimiter, Family};
use self::scan::{Boundary, scan};
use super::language::LanguageId;
use super::pieces::{Piece, offset, trimmed};
use super::text_split::{split_ranges, with_overlap};
use super::{DelimiterMatch, tokens};
use crate::config::{ChunkerSettings, Granularity};

pub(crate) mod families;
pub(crate) mod generic;
mod scan;

/// Splits `text` at the delimiters of its language.
///
/// `base` is the offset of `text` in its blob. `settings.custom_delimiters` of the language come first. `None` if the
/// text holds no pair. No piece exceeds `settings.token_limit`; see [`Piece`] for what else holds. Time is bounded by
/// O(n log n), without recursion. A text of the language `text` gets a family by inference.
pub fn chunk_delimited(
    text: &str,
    base: u32,
    language: LanguageId,
    settings: &ChunkerSettings,
) -> Option<Vec<Piece>> {
    let family_name = families::family_name(language, text);
    match custom_delimiters(language, settings) {
        [] => chunk_with(text, base, families::by_name(family_name), settings),
        added => chunk_with(text, base, &families::custom(family_name, added), settings),
    }
}

/// As [`chunk_delimited`] with a family at hand.
pub(crate) fn chunk_with(
    text: &str,
    base: u32,
    family: &Family,
    settings: &ChunkerSettings,
) -> Option<Vec<Piece>> {
    let boundaries = scan(text, family);
    if !boundaries.iter().any(|boundary| boundary.delimiter != family.comment) {
        return None;
    }
    let source = Source::new(text, family, settings);
    let parts = source.parts(&boundaries);
    let parts = source.with_leading_comments(parts);
    Some(source.packed(parts, &boundaries, base))
}

fn custom_delimiters(language: LanguageId, settings: &ChunkerSettings) -> &[crate::config::CustomDelimiter] {
    let of_language = |(name, _): &(&String, _)| LanguageId::by_name(name) == Some(language);
    settings.custom_delimiters.iter().find(of_language).map_or(&[], |(_, added)| added)
}

/// Pairs inside pairs are opened at most this often; below, the text is cut by lines.
const MAX_LEVELS: usize = 24;
/// Lowest priorities of constructs of the language, of brackets and paragraphs, and of the rest.
const TIERS: [u8; 3] = [50, 20, 0];
/// From this priority on a pair is a definition.
const DEFINITION: u8 = 65;
/// Longer lines are no lines: minified text is cut inside them.
const LONG_LINE_BYTES: usize = 1000;
/// A comment of at most that many tokens stays with the definition below it.
const LEADING_TOKENS: u32 = 300;

/// A stretch of text that is not cut any more.
#[derive(Debug, Clone)]
struct Part {
    range: Range<usize>,
    cost: u32,
    /// The pair it is, if any.
    boundary: Option<usize>,
    is_definition: bool,
    /// A blank line, or nothing, stands before it.
    set_off: bool,
}

struct Source<'a> {
    text: &'a str,
    family: &'a Family,
    settings: &'a ChunkerSettings,
    target: u32,
    /// What parts are packed to at most, and what is opened beyond.
    stretch: u32,
    limit: u32,
    split_limit: u32,
    line_starts: Vec<usize>,
    tokens_before: Vec<u32>,
}

impl<'a> Source<'a> {
    fn new(text: &'a str, family: &'a Family, settings: &'a ChunkerSettings) -> Self {
        let (mut line_starts, mut tokens_before) = (vec![0], vec![0]);
        let (mut at, mut sum) = (0, 0u32);
        for line in text.split_inclusive('\n') {
            at += line.len();
            sum += tokens::count(line);
            line_starts.push(at);
            tokens_before.push(sum);
        }
        let limit = settings.token_limit.max(1);
        let target = settings.target_tokens.clamp(1, limit);
        let stretch = (target.saturating_mul(8) / 5).min(limit);
        let split_limit = (limit.saturating_mul(9) / 10).max(1);
        Self { text, family, settings, target, stretch, limit, split_limit, line_starts, tokens_before }
    }

    // ---- taking apart

    /// The text as parts in order, all of it but blanks.
    fn parts(&self, boundaries: &[Boundary]) -> Vec<Part> {
        enum Work {
            Level { range: Range<usize>, inside: Vec<usize>, level: usize, around: Option<usize> },
            Gap(Range<usize>),
            Done(Part),
        }
        let mut parts = Vec::new();
        let inside = (0..boundaries.len()).collect();
        let mut work = vec![Work::Level { range: 0..self.text.len(), inside, level: 0, around: None }];
        while let Some(next) = work.pop() {
            match next {
                Work::Done(part) => parts.push(part),
                Work::Gap(range) => self.gap_parts(range, &mut parts),
                Work::Level { range, inside, level, around } => {
                    let groups = self.groups(&range, &inside, boundaries);
                    if groups.is_empty() {
                        self.leaf_parts(range, around, &mut parts);
                        continue;
                    }
                    let first = work.len();
                    let mut at = range.start;
                    let mut rest = inside.as_slice();
                    for Group { range: group, members } in groups {
                        if at < group.start {
                            work.push(Work::Gap(at..group.start));
                        }
                        at = group.end;
                        let chief = members.iter().copied().min_by_key(|&index| {
                            (std::cmp::Reverse(self.delimiter(&boundaries[index]).priority), index)
                        });
                        let cost = self.cost(&group);
                        let whole = chief.map_or(self.stretch, |chief| self.whole_up_to(&boundaries[chief]));
                        if cost <= whole || level >= MAX_LEVELS {
                            if cost <= self.limit {
                                work.push(Work::Done(self.part(group, cost, chief, boundaries)));
                            } else {
                                work.push(Work::Level {
                                    range: group,
                                    inside: Vec::new(),
                                    level,
                                    around: chief,
                                });
                            }
                            continue;
                        }
                        // Both lists are sorted by start: what lies before the group will not be needed again.
                        let skip = rest.partition_point(|&index| boundaries[index].start < group.start);
                        rest = &rest[skip..];
                        let until = rest.partition_point(|&index| boundaries[index].start < group.end);
                        let nested = |index: &usize| {
                            let boundary = &boundaries[*index];
                            boundary.end <= group.end && members.binary_search(index).is_err()
                        };
                        let inside: Vec<usize> = rest[..until].iter().copied().filter(nested).collect();
                        work.push(Work::Level { range: group, inside, level: level + 1, around: chief });
                    }
                    if at < range.end {
                        work.push(Work::Gap(at..range.end));
                    }
                    // A stack hands out the last first.
                    work[first..].reverse();
                }
            }
        }
        parts
    }

    /// Pairs of one level after resolution, as the ranges they take; pairs that share a line form one group.
    fn groups(&self, range: &Range<usize>, inside: &[usize], boundaries: &[Boundary]) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for index in self.resolved(inside, boundaries) {
            let taken = self.taken(&boundaries[index], range);
            if taken.is_empty() || taken == *range && boundaries[index].start > range.start {
                continue;
            }
            match groups.last_mut() {
                Some(last) if taken.start < last.range.end => {
                    last.range.end = last.range.end.max(taken.end);
                    last.members.push(index);
                }
                _ => groups.push(Group { range: taken, members: vec![index] }),
            }
        }
        groups
    }

    /// Of pairs that overlap the one that stands (C2), by start.
    ///
    /// Of two that cross, the higher priority wins, then the earlier. Of two nested ones the outer stands for now and
    /// the inner comes up when the outer is opened, unless the inner is of a higher tier.
    fn resolved(&self, inside: &[usize], boundaries: &[Boundary]) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        let mut above = u8::MAX;
        for tier in TIERS {
            let in_tier = |index: &usize| {
                let priority = self.delimiter(&boundaries[*index]).priority;
                (tier..=above).contains(&priority)
            };
            let members: Vec<usize> = inside.iter().copied().filter(in_tier).collect();
            above = tier.saturating_sub(1);
            chosen = without_overlaps(chosen, self.outermost(&members, boundaries), boundaries);
        }
        chosen
    }

    fn outermost(&self, sorted: &[usize], boundaries: &[Boundary]) -> Vec<usize> {
        let mut kept: Vec<usize> = Vec::new();
        for &index in sorted {
            let boundary = &boundaries[index];
            let Some(&last) = kept.last() else {
                kept.push(index);
                continue;
            };
            let other = &boundaries[last];
            if boundary.start >= other.end {
                kept.push(index);
            } else if boundary.end > other.end
                && self.delimiter(boundary).priority > self.delimiter(other).priority
            {
                kept.pop();
                kept.push(index);
            }
        }
        kept
    }

    /// The range a pair takes: with or without its marks, whole lines or not, inside `within`.
    fn taken(&self, boundary: &Boundary, within: &Range<usize>) -> Range<usize> {
        let delimiter = self.delimiter(boundary);
        let (start, end) = if delimiter.inclusive { (boundary.start, boundary.end) } else { boundary.inner };
        if !delimiter.whole_lines {
            return start.max(within.start)..end.min(within.end).max(start);
        }
        let line = self.line_of(start);
        let line_start = self.line_starts[line];
        // The line of an end is that of its last byte.
        let last = self.line_of(end.saturating_sub(1).max(start));
        let line_end = self.line_starts.get(last + 1).copied().unwrap_or(self.text.len());
        // Marks that stay outside keep their lines.
        let (start, end) = match delimiter.inclusive {
            true => (
                if start - line_start <= LONG_LINE_BYTES { line_start } else { start },
                if line_end - end <= LONG_LINE_BYTES { line_end } else { end },
            ),
            false => {
                let after_mark = self.text[start..end].find('\n').map_or(start, |at| start + at + 1);
                let before_mark =
                    self.text[after_mark..end].rfind('\n').map_or(end, |at| after_mark + at + 1);
                (after_mark, before_mark)
            }
        };
        start.max(within.start)..end.min(within.end).max(start.max(within.start))
    }

    /// Up to how many tokens a pair is left whole: definitions up to the limit (C3), all else while it packs well.
    fn whole_up_to(&self, boundary: &Boundary) -> u32 {
        let delimiter = self.delimiter(boundary);
        let is_custom = boundary.delimiter < self.family.n_custom;
        let whole = matches!(delimiter.kind, "function" | "method" | "extension") || is_custom;
        if whole { self.limit } else { self.stretch }
    }

    fn part(&self, range: Range<usize>, cost: u32, chief: Option<usize>, boundaries: &[Boundary]) -> Part {
        let is_definition =
            chief.is_some_and(|chief| self.delimiter(&boundaries[chief]).priority >= DEFINITION);
        Part { set_off: self.is_set_off(range.start), range, cost, boundary: chief, is_definition }
    }

    /// Text between pairs: by paragraphs, and those by lines if they are large.
    fn gap_parts(&self, range: Range<usize>, parts: &mut Vec<Part>) {
        self.cut_parts(range, None, self.stretch, parts);
    }

    /// A pair that is too large and holds no other.
    fn leaf_parts(&self, range: Range<usize>, around: Option<usize>, parts: &mut Vec<Part>) {
        let limit = if self.cost(&range) > self.limit { self.split_limit } else { self.stretch };
        self.cut_parts(range, around, limit, parts);
    }

    fn cut_parts(&self, range: Range<usize>, boundary: Option<usize>, limit: u32, parts: &mut Vec<Part>) {
        let mut push = |range: Range<usize>| {
            if !self.text[range.clone()].trim().is_empty() {
                let (cost, set_off) = (self.cost(&range), self.is_set_off(range.start));
                parts.push(Part { range, cost, boundary, is_definition: false, set_off });
            }
        };
        for paragraph in self.paragraphs(range) {
            if self.cost(&paragraph) <= self.stretch {
                push(paragraph);
                continue;
            }
            for line in self.lines(paragraph) {
                if self.cost(&line) <= self.stretch {
                    push(line);
                } else {
                    split_ranges(self.text, line, limit.min(self.split_limit))
                        .into_iter()
                        .for_each(&mut push);
                }
            }
        }
    }

    /// Cut after runs of blank lines.
    fn paragraphs(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut paragraphs = Vec::new();
        let (mut start, mut blank) = (range.start, false);
        for line in self.lines(range.clone()) {
            let is_blank = self.text[line.clone()].trim().is_empty();
            if blank && !is_blank && start < line.start {
                paragraphs.push(start..line.start);
                start = line.start;
            }
            blank = is_blank;
        }
        if start < range.end {
            paragraphs.push(start..range.end);
        }
        paragraphs
    }

    fn lines(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let text = self.text;
        let mut at = range.start;
        text[range].split_inclusive('\n').map(move |line| {
            let start = at;
            at += line.len();
            start..at
        })
    }

    // ---- packing

    /// Text directly above a definition (comments, attributes) joins it.
    fn with_leading_comments(&self, parts: Vec<Part>) -> Vec<Part> {
        let mut joined: Vec<Part> = Vec::with_capacity(parts.len());
        for part in parts {
            let comment = |last: &Part| !last.is_definition && last.cost <= LEADING_TOKENS;
            match joined.last_mut() {
                Some(last)
                    if part.is_definition
                        && !part.set_off
                        && comment(last)
                        && last.cost + part.cost <= self.limit =>
                {
                    *last = Part {
                        range: last.range.start..part.range.end,
                        cost: last.cost + part.cost,
                        set_off: last.set_off,
                        ..part
                    };
                }
                _ => joined.push(part),
            }
        }
        joined
    }

    fn packed(&self, parts: Vec<Part>, boundaries: &[Boundary], base: u32) -> Vec<Piece> {
        let mut ranges: Vec<(Range<usize>, Option<usize>)> = Vec::new();
        let mut current: Option<Part> = None;
        for part in parts {
            current = Some(match current.take() {
                Some(current) if self.joins(&current, &part) => self.joined(current, part, boundaries),
                Some(done) => {
                    self.finish(done, &mut ranges);
                    part
                }
                None => part,
            });
        }
        if let Some(done) = current {
            self.finish(done, &mut ranges);
        }
        let (ranges, chiefs): (Vec<_>, Vec<_>) = ranges.into_iter().unzip();
        let ranges = with_overlap(self.text, ranges, self.settings.simple_overlap, self.limit);
        let piece = |(range, chief): (Range<usize>, Option<usize>)| Piece {
            byte_range: offset(base, range.start)..offset(base, range.end),
            delimiter: chief.map(|chief| self.described(&boundaries[chief])),
        };
        ranges.into_iter().zip(chiefs).map(piece).collect()
    }

    fn joins(&self, current: &Part, part: &Part) -> bool {
        let sum = current.cost + part.cost;
        if self.settings.granularity == Granularity::Definition
            && (current.is_definition || part.is_definition)
        {
            return false;
        }
        // Little text gets company; and lines that stand together stay together while it fits.
        let may_stretch = !part.set_off || current.cost < self.target * 2 / 5;
        sum <= self.target || sum <= self.stretch && may_stretch
    }

    fn joined(&self, current: Part, part: Part, boundaries: &[Boundary]) -> Part {
        let priority =
            |index: Option<usize>| index.map_or(0, |index| self.delimiter(&boundaries[index]).priority);
        let boundary = if priority(part.boundary) > priority(current.boundary) {
            part.boundary
        } else {
            current.boundary
        };
        Part {
            range: current.range.start..part.range.end,
            cost: current.cost + part.cost,
            boundary,
            is_definition: current.is_definition || part.is_definition,
            set_off: current.set_off,
        }
    }

    fn finish(&self, part: Part, ranges: &mut Vec<(Range<usize>, Option<usize>)>) {
        let range = trimmed(self.text, part.range);
        if range.is_empty() {
            return;
        }
        // Sums of parts cut inside a word can be off by a few.
        if part.cost >= self.limit / 2 && tokens::count(&self.text[range.clone()]) > self.limit {
            let split = split_ranges(self.text, range, self.split_limit);
            ranges.extend(split.into_iter().map(|range| (range, part.boundary)));
        } else {
            ranges.push((range, part.boundary));
        }
    }

    fn described(&self, boundary: &Boundary) -> DelimiterMatch {
        let delimiter = self.delimiter(boundary);
        let mark = |token: Option<u16>| {
            token.map_or_else(String::new, |token| self.family.tokens[usize::from(token)].text())
        };
        DelimiterMatch {
            kind: delimiter.kind,
            start: mark(boundary.start_token),
            end: mark(boundary.end_token),
            priority: delimiter.priority,
            nesting: boundary.nesting,
            inclusive: delimiter.inclusive,
        }
    }

    // ---- measures

    fn delimiter(&self, boundary: &Boundary) -> &'a Delimiter {
        &self.family.delimiters[usize::from(boundary.delimiter)]
    }

    fn line_of(&self, at: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= at).saturating_sub(1)
    }

    fn is_set_off(&self, at: usize) -> bool {
        let before = &self.text.as_bytes()[..at];
        let mut newlines = 0;
        for byte in before.iter().rev() {
            match byte {
                b'\n' => newlines += 1,
                byte if byte.is_ascii_whitespace() => {}
                _ => return newlines >= 2,
            }
            if newlines >= 2 {
                return true;
            }
        }
        true
    }

    /// Tokens of a range: by the sums of whole lines, and by counting what is cut.
    fn cost(&self, range: &Range<usize>) -> u32 {
        if range.is_empty() {
            return 0;
        }
        let (first, last) = (self.line_of(range.start), self.line_of(range.end - 1));
        let last_end = self.line_starts.get(last + 1).copied().unwrap_or(self.text.len());
        let count = |range: Range<usize>| tokens::count(&self.text[range]);
        if first == last && (range.start, range.end) != (self.line_starts[first], last_end) {
            return count(range.clone());
        }
        let lines = self.tokens_before[last + 1] - self.tokens_before[first];
        // Blanks cut off at either end cost nothing; anything else is counted and taken away.
        let before = count(self.line_starts[first]..range.start);
        let after = count(range.end..last_end);
        lines.saturating_sub(before).saturating_sub(after)
    }
}

/// `chosen` and those of `others` that overlap none of it; each sorted and free of overlaps, as is the result.
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

/// Pairs that cannot be told apart by whole lines.
struct Group {
    range: Range<usize>,
    members: Vec<usize>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::*;
    use crate::chunk::language::{self, TEXT};
    use crate::chunk::text_split::split_text;
    use crate::config::CustomDelimiter;

    fn language(name: &str) -> LanguageId {
        LanguageId::by_name(name).unwrap()
    }

    /// What holds for all pieces; returns their texts.
    fn checked<'a>(text: &'a str, pieces: &[Piece], settings: &ChunkerSettings) -> Vec<&'a str> {
        let mut covered_to = 0;
        let mut last = None;
        let mut texts = Vec::new();
        for piece in pieces {
            let range = piece.byte_range.start as usize..piece.byte_range.end as usize;
            let inside = &text[range.clone()];
            assert!(!inside.trim().is_empty());
            assert!(tokens::count(inside) <= settings.token_limit.max(2), "{} tokens", tokens::count(inside));
            assert!(last < Some(range.start), "order");
            last = Some(range.start);
            if covered_to < range.start {
                assert!(
                    text[covered_to..range.start].trim().is_empty(),
                    "lost {:?}",
                    &text[covered_to..range.start]
                );
            }
            covered_to = covered_to.max(range.end);
            texts.push(inside);
        }
        assert!(text[covered_to..].trim().is_empty(), "lost at the end: {:?}", &text[covered_to..]);
        texts
    }

    fn pieces_of<'a>(text: &'a str, name: &str, settings: &ChunkerSettings) -> Vec<&'a str> {
        let pieces = chunk_delimited(text, 0, language(name), settings).unwrap_or_default();
        checked(text, &pieces, settings)
    }

    fn small(target_tokens: u32) -> ChunkerSettings {
        ChunkerSettings { target_tokens, ..Default::default() }
    }

    /// Family, expectations (`kind first-last`), text.
    fn fixtures() -> Vec<(String, Vec<String>, String)> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/delimiter");
        let mut fixtures = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let content = std::fs::read_to_string(&path).unwrap();
            let (expected, text) = content.split_once("----\n").unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            fixtures.push((name, expected.lines().map(str::to_owned).collect(), text.to_owned()));
        }
        fixtures.sort();
        fixtures
    }

    fn found(text: &str, family: &Family) -> Vec<(&'static str, usize, usize, u8)> {
        let line = |at: usize| text[..at].matches('\n').count() + 1;
        let lines = |b: &Boundary| {
            let kind = family.delimiters[usize::from(b.delimiter)].kind;
            (kind, line(b.start), line(b.end - 1), b.nesting)
        };
        scan(text, family).iter().map(lines).collect()
    }

    #[test]
    fn every_family_has_a_fixture_and_finds_what_it_says() {
        let fixtures = fixtures();
        let missing: Vec<_> = families::names()
            .into_iter()
            .filter(|name| !fixtures.iter().any(|(other, ..)| other == name))
            .collect();
        assert_eq!(missing, ["brace_base"]);
        let mut problems = Vec::new();
        for (name, expected, text) in &fixtures {
            let found: Vec<String> = found(text, families::by_name(name))
                .iter()
                .map(|(kind, first, last, _)| format!("{kind} {first}-{last}"))
                .collect();
            for wanted in expected.iter().filter(|wanted| !found.contains(wanted)) {
                problems.push(format!("{name}: {wanted} not in {found:?}"));
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn fixtures_and_their_mutations_keep_the_invariants() {
        let mut random = fastrand::Rng::with_seed(11);
        let noise = [
            "{", "}", "end", "\"", "'", "/*", "*/", "\n", "\n\n", "é", "日本", "(", ")", "class X ", ";",
            "    ", "<a>", "</a>", "\u{a0}", "#", "\r\n", "\0", "begin", "\\",
        ];
        for (name, _, text) in fixtures() {
            let family = families::by_name(&name);
            for round in 0..60 {
                let mut text: String = text.clone();
                for _ in 0..round {
                    let mut at = random.usize(..=text.len());
                    while !text.is_char_boundary(at) {
                        at -= 1;
                    }
                    if random.bool() && at < text.len() {
                        text.remove(at);
                    } else {
                        text.insert_str(at, noise[random.usize(..noise.len())]);
                    }
                }
                let settings = ChunkerSettings {
                    target_tokens: [5, 20, 500][round % 3],
                    token_limit: [30, 60, 4000][round % 3],
                    simple_overlap: [0, 4][round % 2],
                    granularity: [Granularity::Packed, Granularity::Definition][round / 2 % 2],
                    ..Default::default()
                };
                if let Some(pieces) = chunk_with(&text, 0, family, &settings) {
                    checked(&text, &pieces, &settings);
                    assert_eq!(Some(pieces), chunk_with(&text, 0, family, &settings));
                }
                checked(&text, &split_text(&text, 0, settings.token_limit, &settings), &settings);
            }
        }
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        let settings = ChunkerSettings::default();
        let deep = format!("{}{}", "{".repeat(300_000), "}".repeat(300_000));
        let rows = format!("{}x{}", "{\n".repeat(100_000), "}\n".repeat(100_000));
        let mut texts = vec![deep, rows];
        for unit in [
            "{",
            "}",
            "begin\n",
            "a",
            "a ",
            "word; ",
            "{}",
            "{a:[1]},",
            "<a>",
            "<a",
            "r#\"",
            "/*",
            "\"",
            "'",
            "[{",
            "\n",
            "if x do\n",
            "é",
            "({)}",
            "  x:\n",
            "class ",
            "\\",
        ] {
            let bytes = if ["{", "a", "begin\n"].contains(&unit) { 1 << 20 } else { 200_000 };
            texts.push(unit.repeat(bytes / unit.len()));
        }
        texts.push((0..2000).map(|n| format!("{}x:\n", " ".repeat(n % 1000))).collect());
        for name in ["c", "ruby", "python", "yaml", "markup", "rust", "pascal", "plain", "lisp", "json"] {
            let name = match name {
                "markup" => "xml",
                "plain" => "text",
                "lisp" => "common_lisp",
                other => other,
            };
            for text in &texts {
                let start = std::time::Instant::now();
                if let Some(pieces) = chunk_delimited(text, 0, language(name), &settings) {
                    checked(text, &pieces, &settings);
                }
                let seconds = start.elapsed().as_secs_f32();
                assert!(seconds < 6.0, "{name}: {:?} took {seconds} s", &text[..8]);
            }
        }
    }

    #[test]
    fn nested_functions_have_levels() {
        let text = "function outer() {\n  function inner() {\n    if (true) {\n      console.log('nested');\n    }\n  }\n}\n";
        let found = found(text, families::by_name("js_style"));
        assert!(
            found.contains(&("function", 1, 7, 0)) && found.contains(&("function", 2, 6, 1)),
            "{found:?}"
        );
        let pieces = chunk_delimited(text, 10, language("javascript"), &ChunkerSettings::default()).unwrap();
        let delimiter = pieces[0].delimiter.as_ref().unwrap();
        assert_eq!(
            (delimiter.kind, delimiter.start.as_str(), delimiter.end.as_str()),
            ("function", "function", "}")
        );
        assert_eq!((delimiter.priority, delimiter.nesting, pieces[0].byte_range.start), (70, 0, 10));
    }

    #[test]
    fn a_class_beats_the_comment_in_it() {
        let text = "class MyClass {\n    function myMethod() {\n        // comment\n    }\n}\n";
        let pieces = chunk_delimited(text, 0, language("java"), &ChunkerSettings::default()).unwrap();
        assert_eq!(pieces[0].delimiter.as_ref().unwrap().kind, "class");
    }

    #[test]
    fn of_crossing_pairs_the_higher_priority_stands() {
        let delimiter = |start: &str, end: &str, priority| CustomDelimiter {
            starts: vec![start.to_owned()],
            ends: vec![end.to_owned()],
            kind: "block".to_owned(),
            priority,
            inclusive: true,
            take_whole_lines: true,
            nestable: false,
        };
        let text = "<<\na b c\n[[\nd e f\n>>\ng h i\n]]\n";
        let mut settings = small(4);
        let mut kept = |first, second| {
            let mut second = delimiter("[[", "]]", second);
            second.kind = "loop".to_owned();
            let added = vec![delimiter("<<", ">>", first), second];
            settings.custom_delimiters = BTreeMap::from([("tla".to_owned(), added)]);
            let pieces = chunk_delimited(text, 0, language("tla"), &settings).unwrap();
            checked(text, &pieces, &settings);
            pieces
                .iter()
                .filter_map(|piece| piece.delimiter.as_ref())
                .map(|found| found.start.clone())
                .next()
                .unwrap()
        };
        assert_eq!(kept(60, 55), "<<");
        assert_eq!(kept(55, 60), "[[");
        assert_eq!(kept(60, 60), "<<");
    }

    #[test]
    fn custom_delimiters_take_precedence() {
        let custom = CustomDelimiter {
            starts: vec!["START".to_owned(), "OPEN IT".to_owned()],
            ends: vec!["STOP".to_owned()],
            kind: "function".to_owned(),
            priority: 77,
            inclusive: false,
            take_whole_lines: true,
            nestable: true,
        };
        let settings = ChunkerSettings {
            custom_delimiters: BTreeMap::from([("Rust".to_owned(), vec![custom])]),
            granularity: Granularity::Definition,
            ..Default::default()
        };
        let text = "a\nSTART\nb {\n}\nSTOP\nOPEN  IT\nc\nSTOP\n";
        let pieces = chunk_delimited(text, 0, language("rust"), &settings).unwrap();
        let texts = checked(text, &pieces, &settings);
        assert!(texts.iter().any(|text| text.ends_with("b {\n}")), "{texts:?}");
        let described = pieces.iter().find_map(|piece| piece.delimiter.clone()).unwrap();
        assert_eq!((described.priority, described.inclusive, described.start.as_str()), (77, false, "START"));
    }

    #[test]
    fn pieces_are_packed_to_the_target_and_keep_pairs_whole() {
        let function = |n: usize| {
            format!("// Number {n}.\nint f{n}(int a) {{\n{}}}\n\n", "  a = a + 1;\n".repeat(n % 20 + 1))
        };
        let text: String = (0..200).map(function).collect();
        let texts = pieces_of(&text, "c", &ChunkerSettings::default());
        let sizes: Vec<u32> = texts.iter().map(|text| tokens::count(text)).collect();
        let mean = sizes.iter().sum::<u32>() as usize / sizes.len();
        assert!((400..=600).contains(&mean), "{mean} {sizes:?}");
        for text in &texts {
            assert!(text.starts_with("// Number") && text.ends_with('}'), "{text}");
        }
        let definition = ChunkerSettings { granularity: Granularity::Definition, ..Default::default() };
        assert_eq!(pieces_of(&text, "c", &definition).len(), 200);
    }

    #[test]
    fn large_pairs_are_opened_and_at_last_split() {
        let methods: String =
            (0..60).map(|n| format!("  void f{n}() {{\n{}  }}\n\n", "    call(a, b);\n".repeat(8))).collect();
        let class = format!("class A {{\n{methods}}}\n");
        let texts = pieces_of(&class, "java", &ChunkerSettings::default());
        assert!(texts.len() > 3);
        for text in &texts {
            assert_eq!(
                text.matches("void").count(),
                text.matches("  }\n").count() + usize::from(text.ends_with("  }"))
            );
        }
        let flat = format!("void f() {{\n{}}}\n", "  a = a + 1;\n".repeat(3000));
        assert!(pieces_of(&flat, "java", &ChunkerSettings::default()).len() >= 5);
        let minified = format!("var a=[{}];", "{b:1,c:[1,2,3]},".repeat(20_000));
        assert!(pieces_of(&minified, "javascript", &ChunkerSettings::default()).len() > 50);
    }

    #[test]
    fn overlap_is_honoured() {
        let text: String = (0..100).map(|n| format!("fn f{n}() {{\n    body();\n}}\n\n")).collect();
        let settings = ChunkerSettings { simple_overlap: 12, target_tokens: 100, ..Default::default() };
        let pieces = chunk_delimited(&text, 0, language("rust"), &settings).unwrap();
        checked(&text, &pieces, &settings);
        assert!(pieces.windows(2).all(|pair| pair[1].byte_range.start < pair[0].byte_range.end));
    }

    #[test]
    fn all_languages_chunk_any_text() {
        let settings = small(20);
        let text: String = fixtures().into_iter().map(|(.., text)| text).collect();
        for language in language::all() {
            if let Some(pieces) = chunk_delimited(&text, 0, language, &settings) {
                checked(&text, &pieces, &settings);
            }
        }
        assert_eq!(chunk_delimited("", 0, TEXT, &settings), None);
        assert_eq!(chunk_delimited(" \n\n", 0, TEXT, &settings), None);
        assert!(chunk_delimited("x = 1;\n", 0, language("c"), &settings).is_none());
    }
}
