//! Sites: for each file, the place that most likely printed a message.

use rustc_hash::FxHashMap;

use codeweaver_index::Codebase;

use super::fit::{self, Fit};
use super::literals::{Piece, Statement, pieces, statements};
use super::message::Message;
use crate::query::error::QueryError;
use crate::query::retrieve::parallel;
use crate::query::similar::texts::Texts;
use crate::query::view::{RowId, View};

/// Maximum length of a file that is read from its beginning. Of a longer one, the chunks are.
const MAX_WHOLE: usize = 512 << 10;
/// Number of bytes behind the last chunk of such a file in which its statements may end.
const MARGIN: usize = 400;
/// Number of bytes before a statement in which the exception is named.
const HEAD: usize = 120;
/// Number of rows that one task reads.
const ROWS_OF_TASK: usize = 24;

/// Minimum scores of a place, in letters; of a message that is not certain to be one, more is asked.
const MIN_SCORE: f32 = 11.0;
const MIN_SCORE_UNCERTAIN: f32 = 16.0;
/// Minimum number of words of the message that a literal has.
const MIN_WORDS: u32 = 3;
/// Minimum share of the constant text that the message has.
const MIN_SHARE: f32 = 0.5;
/// Minimum share and score of a literal with one word less.
const WHOLE: f32 = 0.9;
const MIN_SCORE_WHOLE: f32 = 16.0;

/// Score of a statement that names the exception of the message, that raises or reports something, and that
/// compares a text.
const NAMES_EXCEPTION: f32 = 4.0;
const RAISES: f32 = 3.0;
const COMPARES: f32 = -4.0;
/// Words that stand before a text that is raised or reported.
const RAISING: &[&str] = &[
    "raise",
    "throw",
    "err",
    "fail",
    "panic",
    "fatal",
    "warn",
    "abort",
    "die",
    "reject",
    "bail",
    "exception",
    "assert",
    "log",
    "invalid",
    "reply",
];
/// Code before a text that is compared.
const COMPARING: &[&str] =
    &["==", "!=", "startswith", "starts_with", "contains", "includes(", "endswith", "strcmp", "match"];

/// A place that may have printed a message.
#[derive(Debug, Clone)]
pub struct Site {
    pub row: RowId,
    /// Byte of its literal in the file.
    pub at: u32,
    /// Line of its literal, 1-based.
    pub line: u32,
    pub score: f32,
}

/// A search for the places of a message.
pub struct Search<'a> {
    pub codebase: &'a Codebase,
    pub view: &'a View,
    pub message: &'a Message,
    pub is_over: &'a (dyn Fn() -> bool + Sync),
}

impl Search<'_> {
    /// Returns the best place of each doc among those in `rows`.
    pub fn run(&self, rows: &[RowId], min_parallel_rows: u64) -> Result<FxHashMap<u32, Site>, QueryError> {
        // The rows of a file follow each other, so that it is read once.
        let mut rows = rows.to_vec();
        rows.sort_unstable_by_key(|id| (id.segment, id.row));
        let tasks: Vec<&[RowId]> = rows.chunks(ROWS_OF_TASK).collect();
        let found = parallel::map(tasks.len(), self.view.n_rows(), min_parallel_rows, |task| {
            self.sites_in(tasks[task])
        });

        let mut best: FxHashMap<u32, Site> = FxHashMap::default();
        for sites in found {
            for site in sites? {
                let doc = self.view.doc_of(site.row);
                let known = best.get(&doc);
                if known.is_none_or(|known| site.score > known.score) {
                    best.insert(doc, site);
                }
            }
        }
        Ok(best)
    }

    /// Returns the best place of each file that has one of `rows`, which ascend.
    fn sites_in(&self, rows: &[RowId]) -> Result<Vec<Site>, QueryError> {
        let mut texts = Texts::new(self.codebase, self.view);
        let mut sites = Vec::new();

        for of_file in rows.chunk_by(|a, b| self.view.doc_of(*a) == self.view.doc_of(*b)) {
            if (self.is_over)() {
                break;
            }
            sites.extend(self.site_in(of_file, texts.of_doc(of_file[0])?));
        }
        Ok(sites)
    }

    /// Returns the best place in `rows` of a file with the bytes `text`.
    ///
    /// The file is read from its beginning, since a chunk may begin inside of a literal, unless it is large.
    fn site_in(&self, rows: &[RowId], text: &[u8]) -> Option<Site> {
        let (segment, first) = self.view.row(rows[0]);
        let (_, last) = self.view.row(rows[rows.len() - 1]);
        let (start, end) = match text.len() <= MAX_WHOLE {
            true => (0, text.len()),
            false => (first.start_byte as usize, text.len().min(last.end_byte as usize + MARGIN)),
        };
        let part = text.get(start..end)?;

        let mut best: Option<Site> = None;
        for statement in statements(part, segment.language(first.language)) {
            let bytes = start + statement.literals[0].0.outer.start;
            let Some(row) = self.row_at(rows, bytes, start + statement.end()) else { continue };
            let Some((fit, literal)) = self.fit(part, &statement) else { continue };

            let score = fit.score() + self.bonus(text, bytes);
            if best.as_ref().is_none_or(|best| score > best.score) {
                let at = start + statement.literals[literal].0.outer.start;
                let line = 1 + memchr::memchr_iter(b'\n', &text[..at]).count() as u32;
                let row = self.row_at(rows, at, at + 1).unwrap_or(row);
                best = Some(Site { row, at: at as u32, line, score });
            }
        }
        best
    }

    /// Returns the first of `rows` that has one of the bytes from `start` to `end`.
    fn row_at(&self, rows: &[RowId], start: usize, end: usize) -> Option<RowId> {
        rows.iter().copied().find(|&id| {
            let (_, row) = self.view.row(id);
            (row.start_byte as usize) < end && start < row.end_byte as usize
        })
    }

    /// Returns the fit of a statement of `part`, if the message was likely printed from it, and the position
    /// of the literal with most of the message.
    fn fit(&self, part: &[u8], statement: &Statement) -> Option<(Fit, usize)> {
        let mut joined: Vec<Piece> = Vec::new();
        let mut total = 0.0;
        let mut best: Option<(Fit, usize)> = None;

        for (at, (literal, is_direct)) in statement.literals.iter().enumerate() {
            let mut words = pieces(&part[literal.range.clone()], literal.is_raw);
            let alone = self.fit_of(&words);
            if alone.covered > 0.0 && alone.share() >= MIN_SHARE {
                total += alone.total;
            }
            if best.as_ref().is_none_or(|(best, _)| alone.score() > best.score()) {
                best = Some((alone, at));
            }

            // Only what directly continues the literal before it stands without a value in between.
            if let Some(first) = words.first_mut().filter(|_| !is_direct) {
                first.has_gap_before = true;
            }
            joined.extend(words);
        }

        let (alone, literal) = best?;
        let together = Fit { total, ..self.fit_of(&joined) };
        let fit = if together.score() > alone.score() { together } else { alone };
        self.is_likely(&fit).then_some((fit, literal))
    }

    /// Returns the fit of `pieces`; nothing fits if they have no two words of the message.
    fn fit_of(&self, pieces: &[Piece]) -> Fit {
        let n_known =
            pieces.iter().filter(|piece| !self.message.places_of(&piece.word).is_empty()).take(2).count();
        match n_known {
            2 => fit::fit(self.message, pieces),
            _ => Fit { total: fit::total(pieces), ..Fit::default() },
        }
    }

    /// Returns whether so much of the literal is in the message, and of the message in the literal, that it
    /// is no chance.
    fn is_likely(&self, fit: &Fit) -> bool {
        let is_whole = fit.n_words == MIN_WORDS - 1 && fit.share() >= WHOLE && fit.score() >= MIN_SCORE_WHOLE;
        if fit.n_words < MIN_WORDS && !is_whole || fit.share() < MIN_SHARE {
            return false;
        }

        let min_score = if self.message.is_certain { MIN_SCORE } else { MIN_SCORE_UNCERTAIN };
        fit.score() >= min_score && fit.covered >= self.message.min_share * self.message.n_letters
    }

    /// The score of the code before a literal at `at`.
    fn bonus(&self, text: &[u8], at: usize) -> f32 {
        let head = &text[at.saturating_sub(HEAD)..at];
        let head = String::from_utf8_lossy(head);
        let names = self.message.names.iter().any(|name| head.contains(name.as_str()));

        // The word that raises or compares is in the statement itself.
        let head = head.to_lowercase();
        let statement = head.rsplit([';', '{', '}']).next().unwrap_or_default();
        let raises = RAISING.iter().any(|word| statement.contains(word));
        let before = statement.trim_end_matches([' ', '(', '\n']);
        let compares = COMPARING.iter().any(|word| before.ends_with(word.trim_end_matches('(')));

        let score = |is: bool, score: f32| if is { score } else { 0.0 };
        score(names, NAMES_EXCEPTION) + score(raises, RAISES) + score(compares, COMPARES)
    }
}
