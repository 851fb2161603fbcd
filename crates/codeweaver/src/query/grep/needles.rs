//! Needles: the words, or parts of words, that every line with a match has.
//!
//! They follow from the syntax of the pattern. A literal is cut into words at other characters. A word that
//! begins or ends inside of the literal is known to begin or end there. The text before and after the literal
//! is unknown, so a word at its ends may be longer.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use codeweaver_store::segment::Segment;
use codeweaver_store::words::{DocSet, Needle, Words, is_word_byte};

use super::pattern::Pattern;

/// Minimum length of a needle that is no whole word. Shorter ones are in most files.
const MIN_PART: usize = 3;
/// Maximum number of needles that are no whole words, which are looked for in all words. Whole words are
/// looked up and cost nothing.
const MAX_PARTS: usize = 3;
/// Number of docs that are read in less time than another needle is looked for.
const FEW_DOCS: u32 = 8;

/// A condition that every file with a match meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// A word has this text.
    Needle(Needle),
    /// All conditions are met; none if there are none.
    All(Vec<Requirement>),
    /// One of the conditions is met.
    Any(Vec<Requirement>),
}

impl Requirement {
    /// Derives the requirement of a pattern that compiles.
    pub(super) fn from_pattern(pattern: &Pattern) -> Requirement {
        let parsed = ParserBuilder::new().utf8(false).multi_line(true).build().parse(&pattern.expression());
        let Ok(hir) = parsed else { return Requirement::All(Vec::new()) };
        requirement(&hir, pattern.ignore_case)
    }

    /// The docs of `segment` that may have a match; `None` if all may. With `shown`, the docs among these.
    pub(super) fn candidates(&self, segment: &Segment, shown: Option<&DocSet>) -> Option<DocSet> {
        if let Some(shown) = shown.filter(|shown| shown.is_empty()) {
            return Some(shown.clone());
        }

        let words = segment.words()?;
        let is_shown = |doc: u32| shown.is_some_and(|shown| shown.contains(doc));
        let words = if shown.is_some() { words.limited_to(&is_shown) } else { words };

        let mut docs = self.docs(&words)?;
        docs.unite(&words.unknown());
        Some(docs)
    }

    /// The docs that meet the requirement; `None` if it is not known which do.
    fn docs(&self, words: &Words<'_>) -> Option<DocSet> {
        match self {
            Requirement::Needle(needle) => words.docs_with(needle),
            Requirement::Any(parts) => {
                // If the docs of one branch are unknown, those of all are.
                let mut all = parts.iter().map(|part| part.docs(words));
                let first = all.next()??;
                all.try_fold(first, |mut docs, other| {
                    docs.unite(&other?);
                    Some(docs)
                })
            }
            Requirement::All(parts) => {
                // Every part narrows the docs, so unknown ones can be left out.
                let mut parts: Vec<(usize, &Requirement)> =
                    parts.iter().map(|part| (part.rank(), part)).collect();
                parts.sort_by_key(|(rank, _)| *rank);

                let n_whole = parts.iter().filter(|(rank, _)| *rank == 0).count();
                let mut found =
                    parts.iter().take(n_whole + MAX_PARTS).filter_map(|(_, part)| part.docs(words));
                let mut docs = found.next()?;
                while docs.len() > FEW_DOCS {
                    let Some(other) = found.next() else { break };
                    docs.intersect(&other);
                }

                Some(docs)
            }
        }
    }

    /// Returns whether every file meets the requirement.
    fn is_nothing(&self) -> bool {
        match self {
            Requirement::Needle(_) => false,
            Requirement::All(parts) => parts.is_empty(),
            Requirement::Any(parts) => parts.iter().any(Requirement::is_nothing),
        }
    }

    /// The order in which parts are used: whole words, then the longest.
    fn rank(&self) -> usize {
        match self {
            Requirement::Needle(needle) if needle.is_start && needle.is_end && !needle.ignore_case => 0,
            Requirement::Needle(needle) => 1000usize.saturating_sub(needle.text.len()).max(1),
            Requirement::All(_) | Requirement::Any(_) => 1000,
        }
    }
}

/// Derives the requirement of an expression.
fn requirement(hir: &Hir, ignore_case: bool) -> Requirement {
    let mut gathering = Gathering { ignore_case, parts: Vec::new(), literal: Vec::new() };
    gathering.add(hir);
    gathering.gap();
    Requirement::All(gathering.parts)
}

/// A character that is no part of a word.
const OTHER: u8 = b'\n';

/// A requirement under construction.
struct Gathering {
    ignore_case: bool,
    parts: Vec<Requirement>,
    /// The literal that the expression so far ends with: its bytes, and whether their case is ignored.
    literal: Vec<(u8, bool)>,
}

impl Gathering {
    /// Adds the needles of the next part of the expression.
    fn add(&mut self, hir: &Hir) {
        let ignore_case = self.ignore_case;

        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => {
                self.literal.extend(literal.0.iter().map(|&byte| (byte, ignore_case)))
            }
            // Nothing, or a line break, is beyond the end of a line.
            HirKind::Look(Look::Start | Look::End | Look::StartLF | Look::EndLF) => {
                self.literal.push((OTHER, false));
            }
            HirKind::Look(_) => {}
            HirKind::Class(class) => match of_class(class) {
                Some((byte, is_folded)) => self.literal.push((byte, is_folded || ignore_case)),
                None => self.gap(),
            },
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.add(part)),
            // The number of repetitions is unknown, so its text does not continue the literals around it.
            HirKind::Repetition(repetition) => {
                self.gap();
                if repetition.min > 0 {
                    self.push(requirement(&repetition.sub, ignore_case));
                }
            }
            HirKind::Alternation(branches) => {
                self.gap();
                let branches = branches.iter().map(|branch| requirement(branch, ignore_case));
                self.push(Requirement::Any(branches.collect()));
            }
        }
    }

    /// Adds `requirement` unless every file meets it.
    fn push(&mut self, requirement: Requirement) {
        if !requirement.is_nothing() {
            self.parts.push(requirement);
        }
    }

    /// Ends the literal, because anything may follow here, and adds its words.
    fn gap(&mut self) {
        let literal = std::mem::take(&mut self.literal);

        let mut start = 0;
        while start < literal.len() {
            let len = literal[start..].iter().take_while(|(byte, _)| is_word_byte(*byte)).count();
            let end = start + len;
            if len > 0 {
                let bytes: Vec<u8> = literal[start..end].iter().map(|(byte, _)| *byte).collect();
                // The ends of the literal are not known to be ends of words.
                let needle = Needle {
                    text: String::from_utf8(bytes).unwrap_or_default(),
                    is_start: start > 0,
                    is_end: end < literal.len(),
                    ignore_case: literal[start..end].iter().any(|(_, ignore_case)| *ignore_case),
                };

                let is_whole = needle.is_start && needle.is_end;
                if !needle.text.is_empty() && (is_whole || needle.text.len() >= MIN_PART) {
                    self.parts.push(Requirement::Needle(needle));
                }
            }
            start = end + 1;
        }
    }
}

/// The byte that a class stands for, and whether its case is ignored: [`OTHER`] for characters that are no
/// part of a word, or a letter in both cases.
fn of_class(class: &Class) -> Option<(u8, bool)> {
    /// Maximum number of characters for a letter: both cases, and two signs that fold to `k` and `s`.
    const MAX_CASES: usize = 4;

    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => {
            class.ranges().iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect()
        }
        Class::Bytes(class) => {
            class.ranges().iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect()
        }
    };
    let (first, _) = *ranges.first()?;

    let is_other =
        ranges.iter().all(|&(start, end)| end < 0x80 && (start..=end).all(|byte| !is_word_byte(byte as u8)));
    if is_other {
        return Some((OTHER, false));
    }

    let n: u32 = ranges.iter().map(|(start, end)| end - start + 1).sum();
    let letter = char::from_u32(first)?.to_ascii_lowercase();
    let is_letter = letter.is_ascii_lowercase() && n as usize <= MAX_CASES && n > 1;
    let is_folded =
        is_letter && ranges.iter().flat_map(|&(start, end)| start..=end).all(|c| is_case_of(letter, c));
    is_folded.then_some((letter as u8, true))
}

/// Returns whether the code point `c` is `letter` in either case, or one of the two signs that fold to a
/// letter.
fn is_case_of(letter: char, c: u32) -> bool {
    char::from_u32(c).is_some_and(|c| c.to_ascii_lowercase() == letter || "\u{212a}\u{17f}".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(requirement: &Requirement) -> String {
        let list = |parts: &[Requirement], separator: &str| {
            let parts: Vec<String> = parts.iter().map(shown).collect();
            format!("({})", parts.join(separator))
        };

        match requirement {
            Requirement::Needle(Needle { text, is_start, is_end, ignore_case }) => format!(
                "{}{text}{}{}",
                if *is_start { "<" } else { "" },
                if *is_end { ">" } else { "" },
                if *ignore_case { "/i" } else { "" }
            ),
            Requirement::All(parts) => list(parts, " "),
            Requirement::Any(parts) => list(parts, "|"),
        }
    }

    #[test]
    fn words_are_whole_where_the_literal_shows_their_ends() {
        for (pattern, is_regex, expected) in [
            ("parse_header", false, "(parse_header)"),
            ("parse(line, x)", false, "(parse> <line> <x>)"),
            (" = é.b", false, "(<é>)"),
            ("ab", false, "()"),
            (r"foo_\w+\(barr", true, "(foo_ <barr)"),
            (r"^use std::(fmt|iox);$", true, "(<use> <std> ((fmt)|(iox)))"),
            (r"^name$", true, "(<name>)"),
            (r"(?i)Task_1", true, "(task_1/i)"),
            (r"(error|warning): ", true, "(((error)|(warning)))"),
            (r"(error|e): ", true, "()"),
            (r"(abc)+[.]def?", true, "((abc))"),
            (r"\bword\b", true, "(word)"),
            (r"caf[éè]s", true, "(caf)"),
            (r"(?i)école", true, "(cole/i)"),
            (r"abcd.*b|", true, "()"),
        ] {
            let pattern = Pattern { text: pattern.to_owned(), is_regex, ..Pattern::default() };
            let got = shown(&Requirement::from_pattern(&pattern));

            assert_eq!(got, expected, "{pattern:?}");
        }
    }
}
