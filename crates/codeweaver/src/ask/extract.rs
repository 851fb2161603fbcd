//! Extract: the sentences and code blocks that answer a question, and the passages around them.
//!
//! The units of the retrieved passages are scored by the terms of the question in them and in the headings
//! above them, by the rank of their passage, and by the form that the kind of question asks for. The best
//! unit is the answer, together with related units: the code that a sentence announces, the sentence that
//! announces a code block, the sentence that continues it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use codeweaver_embed::{EmbedCost, Embedder};
use codeweaver_text as text;

use super::answer::{Answer, AnswerStatus, Quote, Source};
use super::question::{self, QuestionKind};
use super::units::{Structure, Unit, UnitKind};
use super::{audience, form};
use crate::query::passages::{Document, Passage, PassageTerm, Passages};

/// Number of best passages whose units may answer.
const MAX_READ: usize = 12;
/// Maximum number of parts of the short answer.
const MAX_PARTS: usize = 2;
/// A passage is extended by whole blocks up to this many bytes.
const PASSAGE_BYTES: usize = 1000;
/// Maximum size of code in a short answer, unless the code is the best unit.
const MAX_CODE_BYTES: usize = 600;
/// Weight of a term in code, as a share of one in prose: code has many names, and says nothing about them.
const CODE_SHARE: f32 = 0.9;
/// Units that score less than this share of the best are no part of the short answer.
const MIN_PART_SHARE: f32 = 0.95;
/// Passages whose best unit scores less than this share of the best one are left out.
const MIN_PASSAGE_SHARE: f32 = 0.5;

/// Weight of a term in a heading above a unit, as a share of one in the unit.
const HEADING_SHARE: f32 = 0.7;
/// Maximum weight of the rank of the passage.
const PASSAGE_WEIGHT: f32 = 1.0;
/// Weight of the form that the question asks for.
const FORM_WEIGHT: f32 = 0.25;
/// Weight of the fit of a heading above a unit to the question as a whole.
const HEADING_FIT_WEIGHT: f32 = 0.5;
/// Weight of a unit at the beginning of its section, which mostly says what the section is about.
const BEGINNING_WEIGHT: f32 = 0.1;
/// Weight of the cosine of a unit with the question.
const SIMILARITY_WEIGHT: f32 = 0.5;
/// The probability of the retrieval is clamped to this distance from 0 and 1.
const MIN_PROBABILITY: f32 = 0.018;
/// Lengths of prose in characters: a shorter unit says too little, a longer one too much.
const SHORT: usize = 25;
const LONG: usize = 420;

/// The limits of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Minimum relevance of an answer, 0–1.
    pub min_relevance: f32,
    /// Maximum number of quoted passages.
    pub max_passages: usize,
}

/// The answer to `question` from `passages`. Nothing is found if they are not relevant enough.
///
/// Cost: linear in the text of the documents of the best passages.
pub fn answer(question: &str, passages: Passages, limits: Limits, embedder: Option<&dyn Embedder>) -> Answer {
    let documents = Documents::from_passages(&passages);
    let scorer = Scorer::new(question, &passages.terms, embedder);
    let scored = scorer.score_units(&passages, &documents);
    let relevance = relevance(&passages, &scored);

    let mut answer = Answer {
        question: question.to_owned(),
        status: AnswerStatus::NothingFound,
        answer: Vec::new(),
        passages: Vec::new(),
        generated: None,
        failure: None,
        sources: Vec::new(),
        relevance,
        absent_words: passages.absent_words,
        warnings: passages.warnings,
        index: passages.index,
    };

    if relevance < limits.min_relevance || scored.is_empty() {
        return answer;
    }

    answer.status = AnswerStatus::Answered;
    // The short answer is quoted first, so that its sources have the first numbers.
    let mut quoter = Quoter { documents: &documents, sources: Vec::new() };
    let parts = parts(&scored, &documents, scorer.kind);
    answer.answer = parts.iter().map(|part| quoter.quote(part)).collect();
    answer.passages =
        around(&scored, &documents, limits.max_passages).iter().map(|span| quoter.quote(span)).collect();
    answer.sources = quoter.sources;

    answer
}

/// The documents of the passages with their structure.
struct Documents {
    list: Vec<(Arc<Document>, Structure)>,
    by_path: FxHashMap<String, usize>,
}

impl Documents {
    fn from_passages(passages: &Passages) -> Documents {
        let mut documents = Documents { list: Vec::new(), by_path: FxHashMap::default() };

        for passage in passages.list.iter().take(MAX_READ) {
            let document = &passage.document;
            if !documents.by_path.contains_key(&document.path) {
                documents.by_path.insert(document.path.clone(), documents.list.len());
                documents.list.push((document.clone(), Structure::parse(&document.text, &document.path)));
            }
        }

        documents
    }

    fn number(&self, passage: &Passage) -> Option<usize> {
        self.by_path.get(&passage.document.path).copied()
    }

    fn unit(&self, at: UnitAt) -> &Unit {
        &self.list[at.document].1.units[at.unit]
    }

    fn text(&self, at: UnitAt) -> &str {
        &self.list[at.document].0.text[self.unit(at).bytes.clone()]
    }

    /// The unit after `at`, if it is in the same section.
    fn next(&self, at: UnitAt) -> Option<UnitAt> {
        let next = UnitAt { unit: at.unit + 1, ..at };
        let unit = self.list[at.document].1.units.get(next.unit)?;
        (unit.section == self.unit(at).section).then_some(next)
    }

    /// Returns whether a unit is one of the first two of its section.
    fn is_beginning(&self, at: UnitAt) -> bool {
        self.previous(at).is_none_or(|before| self.previous(before).is_none())
    }

    /// The unit before `at`, if it is in the same section.
    fn previous(&self, at: UnitAt) -> Option<UnitAt> {
        let previous = UnitAt { unit: at.unit.checked_sub(1)?, ..at };
        (self.unit(previous).section == self.unit(at).section).then_some(previous)
    }
}

/// Position of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct UnitAt {
    document: usize,
    unit: usize,
}

/// A sequence of units of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    document: usize,
    units: Range<usize>,
}

impl Span {
    fn one(at: UnitAt) -> Span {
        Span { document: at.document, units: at.unit..at.unit + 1 }
    }

    fn contains(&self, at: UnitAt) -> bool {
        self.document == at.document && self.units.contains(&at.unit)
    }

    fn overlaps(&self, other: &Span) -> bool {
        self.document == other.document
            && self.units.start < other.units.end
            && other.units.start < self.units.end
    }
}

/// A unit with its score.
#[derive(Debug, Clone)]
struct ScoredUnit {
    at: UnitAt,
    score: f32,
    /// Share of the weight of the question in the unit itself, 0–1.
    own: f32,
    /// The same with the headings above it.
    with_headings: f32,
}

/// Scores units against one question.
struct Scorer<'a> {
    kind: QuestionKind,
    /// The question in lower case without the marks at its end, if it is a sentence with a question word.
    asked: Option<String>,
    /// Weights of the terms, then of the figures.
    weights: Vec<f32>,
    numbers: FxHashMap<&'a str, usize>,
    /// Numbers and versions in the question, which are no terms.
    figures: Vec<&'a str>,
    total: f32,
    /// The model with the vector of the question, if its vectors cost next to nothing.
    vectors: Option<(&'a dyn Embedder, Vec<i8>)>,
}

impl<'a> Scorer<'a> {
    fn new(question: &'a str, terms: &'a [PassageTerm], embedder: Option<&'a dyn Embedder>) -> Scorer<'a> {
        let table = embedder.filter(|embedder| embedder.cost() == EmbedCost::Table);
        let figures = question::figures(question);

        let mut weights: Vec<f32> = terms.iter().map(|term| term.weight).collect();
        // A number in the question says as much as its rarest word.
        let largest = weights.iter().copied().fold(1.0f32, f32::max);
        weights.extend(figures.iter().map(|_| largest));

        Scorer {
            vectors: table.and_then(|table| Some((table, table.embed_query(question).ok()?))),
            kind: QuestionKind::from_question(question),
            asked: question::asked(question),
            numbers: terms.iter().enumerate().map(|(number, term)| (term.term.as_str(), number)).collect(),
            total: weights.iter().sum::<f32>().max(f32::MIN_POSITIVE),
            weights,
            figures,
        }
    }

    /// The units of the best passages, best first; ties by place.
    fn score_units(&self, passages: &Passages, documents: &Documents) -> Vec<ScoredUnit> {
        let best = passages.list.first().map_or(1.0, |passage| passage.score).max(f32::MIN_POSITIVE);
        let mut found: BTreeMap<UnitAt, ScoredUnit> = BTreeMap::new();

        for passage in passages.list.iter().take(MAX_READ) {
            let Some(document) = documents.number(passage) else { continue };
            let prior = PASSAGE_WEIGHT * (passage.score / best).clamp(0.0, 1.0);
            let prior = prior * audience::share(&passage.document.path);

            for unit in documents.list[document].1.units_in(&passage.bytes) {
                let at = UnitAt { document, unit };
                let scored = self.score_unit(at, documents, prior);
                // Passages can overlap, so a unit may have been scored with another rank.
                let known = found.entry(at).or_insert_with(|| scored.clone());
                if scored.score > known.score {
                    *known = scored;
                }
            }
        }

        let mut scored: Vec<ScoredUnit> = found.into_values().collect();
        scored.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at)));
        scored
    }

    fn score_unit(&self, at: UnitAt, documents: &Documents, prior: f32) -> ScoredUnit {
        let structure = &documents.list[at.document].1;
        let unit = documents.unit(at);
        let text = documents.text(at);

        let mut has = vec![false; self.weights.len()];
        self.mark(text, &mut has);
        let own = self.share(&has);

        let mut evidence = own;
        if unit.kind == UnitKind::Code {
            // The sentence that announces code says what the code is, so its terms count in full.
            let mut announced = vec![false; self.weights.len()];
            let before = documents.previous(at).filter(|&it| documents.unit(it).kind == UnitKind::Sentence);
            self.mark(before.map_or("", |before| documents.text(before)), &mut announced);
            let in_sentence = self.share(&announced);
            has.iter_mut().zip(announced).for_each(|(has, announced)| *has |= announced);
            evidence = in_sentence + CODE_SHARE * (self.share(&has) - in_sentence);
        }

        let without_headings = self.share(&has);
        for heading in structure.headings(unit) {
            self.mark(heading, &mut has);
        }
        let with_headings = self.share(&has);
        evidence += HEADING_SHARE * (with_headings - without_headings);

        let score = evidence * self.length_factor(unit, text)
            + prior
            + HEADING_FIT_WEIGHT * self.heading_fit(structure.headings(unit))
            + if documents.is_beginning(at) { BEGINNING_WEIGHT } else { 0.0 }
            + FORM_WEIGHT * self.form(at, documents)
            + SIMILARITY_WEIGHT * self.similarity(text);

        ScoredUnit { at, score, own, with_headings }
    }

    /// The fit of the best of `headings` to the whole question, 0–1: high if it has the words of the question
    /// and few others.
    fn heading_fit(&self, headings: &[String]) -> f32 {
        headings.iter().map(|heading| self.fit_of_heading(heading)).fold(0.0, f32::max)
    }

    fn fit_of_heading(&self, heading: &str) -> f32 {
        let mut has = vec![false; self.weights.len()];
        self.mark(heading, &mut has);
        let recall = self.share(&has);

        let terms = text::query_terms(heading);
        let n_known = terms.iter().filter(|term| self.numbers.contains_key(term.term.as_str())).count();
        let precision = n_known as f32 / terms.len().max(1) as f32;

        if recall + precision == 0.0 { 0.0 } else { 2.0 * recall * precision / (recall + precision) }
    }

    /// Marks the terms and figures of the question that occur in `text`.
    fn mark(&self, text: &str, has: &mut [bool]) {
        text::visit_terms(text, |term, _| {
            if let Some(&number) = self.numbers.get(term) {
                has[number] = true;
            }
        });

        let first_figure = has.len() - self.figures.len();
        for (figure, has) in self.figures.iter().zip(&mut has[first_figure..]) {
            *has |= question::has_figure(text, figure);
        }
    }

    /// Cosine of `text` with the question, at least 0; 0 if vectors are not at hand.
    fn similarity(&self, text: &str) -> f32 {
        let Some((embedder, question)) = &self.vectors else { return 0.0 };
        let mut vector = Vec::new();
        if embedder.embed_documents(&[text], &mut vector).is_err() {
            return 0.0;
        }

        let product: i32 = question.iter().zip(&vector).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        (product as f32 / (embedder.scale() * embedder.scale())).max(0.0)
    }

    /// The weight of the marked terms as a share of all.
    fn share(&self, has: &[bool]) -> f32 {
        let marked = self.weights.iter().zip(has).filter(|(_, has)| **has);
        marked.map(|(weight, _)| weight).sum::<f32>() / self.total
    }

    /// A factor for units that say too little or too much.
    fn length_factor(&self, unit: &Unit, text: &str) -> f32 {
        let n = text.chars().count();
        match unit.kind {
            UnitKind::Code if n > MAX_CODE_BYTES => 0.7,
            UnitKind::Code => 1.0,
            _ if n < SHORT => 0.75,
            _ if n > LONG => 0.8,
            _ => 1.0,
        }
    }

    /// The share of the question in the subject of a sentence that begins as a definition; 0 for others.
    fn defines(&self, text: &str) -> f32 {
        let Some(subject) = form::defined_subject(text) else { return 0.0 };
        let mut has = vec![false; self.weights.len()];
        self.mark(subject, &mut has);
        self.share(&has)
    }

    /// Fit of the form of a unit to the kind of question, −2 to 2.
    fn form(&self, at: UnitAt, documents: &Documents) -> f32 {
        let unit = documents.unit(at);
        let text = documents.text(at);

        // A question, or an example of asking this one, answers nothing.
        let repeats_question = self.asked.as_ref().is_some_and(|asked| text.to_lowercase().contains(asked));
        if text.trim_end().ends_with('?') || repeats_question {
            return -2.0;
        }

        let is_definition = self.kind == QuestionKind::Definition && unit.kind != UnitKind::Code;
        let defines = if is_definition { 2.0 * self.defines(text) } else { 0.0 };
        (form::fit(self.kind, unit.kind, text, MAX_CODE_BYTES) + defines).clamp(-2.0, 2.0)
    }
}

/// Probability that the units answer the question: a logistic regression on the probability of the retrieval
/// and on the largest share of the question in one unit.
///
/// Fitted on the questions of `benches/ask/tuning.toml` and on 76 further ones about nine other
/// repositories. A third of both has no answer.
fn relevance(passages: &Passages, scored: &[ScoredUnit]) -> f32 {
    let largest_share = scored.iter().map(|unit| unit.with_headings).fold(0.0f32, f32::max);
    let retrieved = passages.relevance.clamp(MIN_PROBABILITY, 1.0 - MIN_PROBABILITY);
    let log_odds = libm::logf(retrieved / (1.0 - retrieved));
    let relevance = 1.0 / (1.0 + libm::expf(-(1.05 * log_odds + 2.69 * largest_share - 3.01)));
    (relevance * 10_000.0).round() / 10_000.0
}

/// The parts of the short answer, in the order in which they are shown.
fn parts(scored: &[ScoredUnit], documents: &Documents, kind: QuestionKind) -> Vec<Span> {
    let mut parts: Vec<Span> = Vec::new();
    let best = scored[0].score;

    for unit in scored.iter().take_while(|unit| unit.score >= MIN_PART_SHARE * best) {
        if parts.len() == MAX_PARTS {
            break;
        }

        // Only the first part may owe its score to its headings and its passage alone.
        if parts.iter().any(|part| part.contains(unit.at)) || (!parts.is_empty() && unit.own == 0.0) {
            continue;
        }

        let part = completed(unit.at, documents, kind);
        if !parts.iter().any(|known| known.overlaps(&part)) && !is_repeated(&part, &parts, documents) {
            parts.push(part);
        }
    }

    parts
}

/// Returns whether the first unit of one of `spans` has the same words as that of `span`.
fn is_repeated(span: &Span, spans: &[Span], documents: &Documents) -> bool {
    let wanted = first_words(span, documents);
    spans.iter().any(|known| first_words(known, documents) == wanted)
}

/// The words of the first unit of a span.
fn first_words(span: &Span, documents: &Documents) -> String {
    let at = UnitAt { document: span.document, unit: span.units.start };
    documents.text(at).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a unit is code that fits in a short answer.
fn is_short_code(at: UnitAt, documents: &Documents) -> bool {
    documents.unit(at).kind == UnitKind::Code && documents.text(at).len() <= MAX_CODE_BYTES
}

/// A unit with the units that belong to it: the sentence before code; the next sentence or code after a
/// sentence.
fn completed(at: UnitAt, documents: &Documents, kind: QuestionKind) -> Span {
    let mut span = Span::one(at);
    let unit = documents.unit(at);

    if unit.kind == UnitKind::Code {
        let before =
            documents.previous(at).filter(|&before| documents.unit(before).kind == UnitKind::Sentence);
        if let Some(before) = before {
            span.units.start = before.unit;
        }
        return span;
    }

    // A row of a table is complete by itself.
    if unit.kind == UnitKind::Row {
        return span;
    }

    let wants_code =
        matches!(kind, QuestionKind::HowTo | QuestionKind::Possibility) || documents.text(at).ends_with(':');
    let mut last = at;

    if let Some(next) = documents.next(at) {
        let continues = documents.unit(next).block == unit.block;
        if wants_code && is_short_code(next, documents) || continues && documents.text(next).len() <= LONG {
            span.units.end = next.unit + 1;
            last = next;
        }
    }

    if wants_code
        && documents.unit(last).kind == UnitKind::Sentence
        && let Some(next) = documents.next(last)
        && is_short_code(next, documents)
    {
        span.units.end = next.unit + 1;
    }

    span
}

/// The passages around the best units, best first.
fn around(scored: &[ScoredUnit], documents: &Documents, max: usize) -> Vec<Span> {
    let mut passages: Vec<Span> = Vec::new();
    let best = scored[0].score;

    for unit in scored.iter().take_while(|unit| unit.score >= MIN_PASSAGE_SHARE * best) {
        if passages.len() == max {
            break;
        }
        if passages.iter().any(|passage| passage.contains(unit.at)) {
            continue;
        }

        let passage = blocks_around(unit.at, documents);
        if !passages.iter().any(|known| known.overlaps(&passage))
            && !is_repeated(&passage, &passages, documents)
        {
            passages.push(passage);
        }
    }

    passages
}

/// The block of a unit with the following and preceding blocks of its section, as long as they fit.
fn blocks_around(at: UnitAt, documents: &Documents) -> Span {
    let units = documents.list[at.document].1.units.as_slice();
    let Unit { section, block, .. } = units[at.unit];
    let mut span = at.unit..at.unit + 1;

    // A table can be longer than a passage, so its rows are added one by one.
    while is_in_block(units, span.end, section, block) && fits(units, &(span.start..span.end + 1)) {
        span.end += 1;
    }
    while span.start > 0
        && is_in_block(units, span.start - 1, section, block)
        && fits(units, &(span.start - 1..span.end))
    {
        span.start -= 1;
    }

    // Following blocks come first; preceding ones only fill the rest of the passage.
    loop {
        let end = end_of_block(units, span.end, section);
        if end == span.end || !fits(units, &(span.start..end)) {
            break;
        }
        span.end = end;
    }
    loop {
        let start = start_of_block(units, span.start, section);
        if start == span.start || !fits(units, &(start..span.end)) {
            break;
        }
        span.start = start;
    }

    Span { document: at.document, units: span }
}

/// Returns whether the text of the units in `span` is short enough for a passage.
fn fits(units: &[Unit], span: &Range<usize>) -> bool {
    units[span.end - 1].bytes.end - units[span.start].bytes.start <= PASSAGE_BYTES
}

/// Returns whether there is a unit `at`, and it is in `block` of `section`.
fn is_in_block(units: &[Unit], at: usize, section: usize, block: usize) -> bool {
    units.get(at).is_some_and(|unit| unit.section == section && unit.block == block)
}

/// The end of the block that begins with the unit `start`; `start` if that unit is not in `section`.
fn end_of_block(units: &[Unit], start: usize, section: usize) -> usize {
    let Some(first) = units.get(start) else { return start };
    let mut end = start;
    while is_in_block(units, end, section, first.block) {
        end += 1;
    }
    end
}

/// The start of the block that ends before the unit `end`; `end` if the unit before is not in `section`.
fn start_of_block(units: &[Unit], end: usize, section: usize) -> usize {
    let mut start = end;
    while start > 0 && is_in_block(units, start - 1, section, units[end - 1].block) {
        start -= 1;
    }
    start
}

/// Makes quotes and numbers their sources.
struct Quoter<'a> {
    documents: &'a Documents,
    sources: Vec<Source>,
}

impl Quoter<'_> {
    fn quote(&mut self, span: &Span) -> Quote {
        let (document, structure) = &self.documents.list[span.document];
        let units = &structure.units[span.units.clone()];
        let bytes = units[0].bytes.start..units[units.len() - 1].bytes.end;
        let text = &document.text[bytes.clone()];
        let first = 1 + memchr::memchr_iter(b'\n', &document.text.as_bytes()[..bytes.start]).count() as u32;
        let last = first + memchr::memchr_iter(b'\n', text.as_bytes()).count() as u32;

        Quote {
            source: self.source(document),
            path: document.path.clone(),
            lines: (first, last),
            bytes: (bytes.start, bytes.end),
            headings: structure.headings(&units[0]).to_vec(),
            text: text.to_owned(),
        }
    }

    /// Returns the number of a source, which is added with the first quote of its document.
    fn source(&mut self, document: &Document) -> usize {
        if let Some(known) = self.sources.iter().find(|source| source.path == document.path) {
            return known.number;
        }

        let number = self.sources.len() + 1;
        let (path, blob, state) = (document.path.clone(), document.blob.clone(), document.state);
        self.sources.push(Source { number, path, blob, state });
        number
    }
}
