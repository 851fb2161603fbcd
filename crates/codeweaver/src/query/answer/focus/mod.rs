//! Focus: the definition in a file that answers the query.
//!
//! The chunks of a file that were found hold several small definitions, or the beginning, middle or end of a
//! large one. Every definition that overlaps them is scored by the terms of the query in its name, its
//! documentation and its own text ([`texts`]), which is its text without that of the definitions in it. The
//! text outside of all definitions competes: if it has the most evidence, or if several definitions have as
//! much, the answer is a chunk as a whole.
//!
//! The best chunk need not hold the answer: the head of a type, with its documentation, has most words in
//! common with a question about what one of its methods does.

mod decision;
mod meaning;
mod texts;

use rustc_hash::FxHashMap;

use codeweaver_chunk::SymbolKind;
use codeweaver_embed::Embedder;
use codeweaver_store::segment::Segment;
use codeweaver_store::symbols::SymbolRecord;

use super::evidence::Evidence;
use crate::query::definitions::{self, is_of_kind, kind_of};
use crate::query::intent::{Intent, QueryIntent};
use crate::query::locate;
use crate::query::parse::profile::FocusProfile;
use crate::query::rank::marks;
use crate::query::response::Focus;
use crate::query::retrieve::name_forms::NameForms;
use crate::query::view::{RowId, View};
use meaning::Meaning;
use texts::Texts;

/// Weights of one occurrence in the name, of a word in the name that does the same, of one occurrence in the
/// documentation or the qualifiers, in occurrences in the text.
const NAME_WEIGHT: f32 = 4.0;
const SAME_WEIGHT: f32 = 1.0;
const DOC_WEIGHT: f32 = 1.0;
const QUALIFIER_WEIGHT: f32 = 0.5;
/// Factors on the score of text outside of definitions, and of tests unless they are asked for: questions ask
/// what code does. Measured by the functions that commits changed, with their messages as queries
/// (`benches/reports.py`).
const DATA_FACTOR: f32 = 0.6;
const TEST_FACTOR: f32 = 0.3;
/// Factor on the score of a definition whose name has all words of a query of several words.
const NAMED_FACTOR: f32 = 2.0;
/// Factor on the score of a definition that does the opposite of what is asked for.
const OPPOSITE_FACTOR: f32 = 0.6;
/// The weight of the cosine of a definition above the mean, in weights of the whole query.
const MEANING_WEIGHT: f32 = 0.15;
/// The gain of a definition in the best chunk, as a share of its score. In other chunks it is multiplied by
/// their share of the evidence.
const CHUNK_BONUS: f32 = 0.6;
/// Scores that differ by a smaller share count as equal: such differences come from the lengths of the texts
/// alone.
const MIN_DIFFERENCE: f32 = 0.001;
/// Minimum score of a further definition, as a share of the best.
const MIN_SHARE: f32 = 0.4;

/// The properties of a query that decide the focus of the matches of an answer.
pub struct FocusBy<'a> {
    evidence: &'a Evidence,
    /// The names of the evidence, in the form in which definitions are compared with them.
    names: Vec<(NameForms<'a>, f32)>,
    /// Whether tests are asked for.
    wants_tests: bool,
    /// The preferences of the intent.
    profile: FocusProfile,
    /// The marks of the intent.
    marks: Option<Evidence>,
    /// The meaning of the query, if its vector can be compared with those of definitions at little cost.
    meaning: Option<Meaning<'a>>,
}

impl<'a> FocusBy<'a> {
    /// `embedder` is the model of the vector of `evidence`.
    pub fn new(
        evidence: &'a Evidence,
        intent: &QueryIntent,
        embedder: Option<&'a dyn Embedder>,
    ) -> FocusBy<'a> {
        let profile = intent.acting().map_or(FocusProfile::NONE, |intent| intent.profile().focus);
        let marks = intent.acting().filter(|_| profile.marks_gain > 0.0);

        let marks = marks.map(|intent| {
            let marks = marks::terms(intent.profile().marks);
            Evidence::of_terms(&marks, &vec![1.0; marks.len()])
        });

        let wants_tests = intent.intent == Some(Intent::Test);
        let meaning = embedder.and_then(|embedder| Meaning::new(embedder, evidence.vector()?));
        FocusBy { evidence, names: evidence.names(), wants_tests, profile, marks, meaning }
    }
}

/// A chunk that was found.
#[derive(Clone, Copy)]
pub struct FoundChunk {
    pub id: RowId,
    /// Its evidence as a share of that of the best chunk of its file, 0–1.
    pub share: f32,
}

/// A file of a match, with the chunks and definitions among which the answer is looked for.
pub struct InFile<'a> {
    view: &'a View,
    by: &'a FocusBy<'a>,
    path: &'a [u8],
    /// Best first, at least one.
    chunks: &'a [FoundChunk],
    /// In the order of the text, those around others first.
    definitions: Vec<Definition<'a>>,
    /// For each chunk the positions of the definitions that overlap it.
    overlapping: Vec<Vec<usize>>,
    /// The definition that the ranking found to answer.
    entry_point: Option<SymbolRecord>,
    compares_meanings: bool,
}

/// A definition that overlaps a chunk.
struct Definition<'a> {
    record: SymbolRecord,
    name: &'a str,
    qualified_name: &'a str,
    doc: String,
    /// Position of the best chunk that it overlaps.
    chunk: usize,
    /// Whether it begins in one of the chunks. If it does not, its name only qualifies the content of the
    /// chunk.
    begins_here: bool,
}

/// The part of a file that answers the query.
pub struct Choice {
    /// Position of the chunk that holds the answer.
    pub chunk: usize,
    /// The definition; `None` if the chunk as a whole is the answer.
    pub focus: Option<(Focus, SymbolRecord)>,
    /// Further definitions of the file outside of it and of each other, best first.
    pub further: Vec<Further>,
}

/// A definition that answers less well.
pub struct Further {
    pub symbol: SymbolRecord,
    /// Its score as a share of that of the focus, 0–1.
    pub share: f32,
}

impl<'a> InFile<'a> {
    /// The file at `path` with its `chunks`, all of one doc.
    pub fn new(view: &'a View, by: &'a FocusBy<'a>, chunks: &'a [FoundChunk], path: &'a [u8]) -> InFile<'a> {
        let mut definitions: Vec<Definition<'a>> = Vec::new();
        let mut positions: FxHashMap<(u32, u32, &str), usize> = FxHashMap::default();
        let mut overlapping: Vec<Vec<usize>> = Vec::new();

        for (chunk, FoundChunk { id, .. }) in chunks.iter().enumerate() {
            let (segment, row) = view.row(*id);
            // A definition is recorded in the chunk in which it begins, which may be an earlier one.
            let found = definitions::of_rows(view, rows_before(view, *id), |begins_in, symbol| {
                begins_in == *id || symbol.end_byte > row.start_byte
            });

            let mut in_chunk = Vec::new();
            for (begins_in, record) in found {
                let qualified_name = segment.name(record.qualified_name);
                let key = (record.start_byte, record.end_byte, qualified_name);
                let position = *positions.entry(key).or_insert_with(|| {
                    definitions.push(Definition {
                        record,
                        name: segment.name(record.name),
                        qualified_name,
                        doc: segment.text(record.doc),
                        chunk,
                        begins_here: false,
                    });
                    definitions.len() - 1
                });
                definitions[position].begins_here |= begins_in == *id;
                in_chunk.push(position);
            }
            overlapping.push(in_chunk);
        }
        InFile {
            view,
            by,
            path,
            chunks,
            definitions,
            overlapping,
            entry_point: None,
            compares_meanings: false,
        }
    }

    /// This file, with the definition that the ranking found to answer, if there is one.
    pub fn with_entry_point(self, entry_point: Option<SymbolRecord>) -> InFile<'a> {
        InFile { entry_point, ..self }
    }

    /// This file, with the meanings of its definitions compared too if the model allows it.
    pub fn with_meanings(self) -> InFile<'a> {
        InFile { compares_meanings: true, ..self }
    }

    /// Returns whether the texts of the chunks have no influence on the focus.
    pub fn is_decided(&self) -> bool {
        self.definitions.is_empty() || self.decision().is_some()
    }

    /// Chooses the part of the file that answers. `texts` are the bytes of each chunk; empty if only names
    /// and documentation decide.
    pub fn choice(&self, texts: &[Vec<u8>]) -> Choice {
        let scores = self.scores(texts);
        let (chunk, best) = self.decision().unwrap_or_else(|| self.best(&scores));
        let focus = best.map(|best| {
            let record = self.definitions[best].record;
            let (segment, _) = self.view.row(self.chunks[chunk].id);
            (focus_on(segment, &record), record)
        });
        Choice { chunk, focus, further: self.further(best, &scores) }
    }

    /// The score of every definition, then that of the text outside of them in every chunk.
    ///
    /// Meanings choose among definitions with words of the query. Whether a definition or the text outside
    /// answers is decided by words alone, since that text has no vector of its own.
    fn scores(&self, texts: &[Vec<u8>]) -> Vec<f32> {
        let n = self.definitions.len();
        let kinds = &self.by.evidence.kinds;
        let counted = self.count_terms(texts);
        let mean = counted.mean_length();
        let weights = counted.weights_among(n);
        let has_declaration = (0..n).any(|i| self.declares(i));
        let has_wanted = self.definitions.iter().any(|definition| is_of_kind(&definition.record, kinds));

        let mut scores = Vec::with_capacity(n + self.chunks.len());
        for (i, definition) in self.definitions.iter().enumerate() {
            if has_wanted && !is_of_kind(&definition.record, kinds) {
                scores.push(f32::NEG_INFINITY);
                continue;
            }
            // A use of the name beside its declaration is no answer.
            if has_declaration && !self.declares(i) {
                scores.push(0.0);
                continue;
            }
            let own = counted.score(i, mean, &weights) * self.definition_factor(i, &counted);
            let score = own + name_score(definition, &self.by.names);
            scores.push(score * self.chunk_factor(definition.chunk));
        }

        // Text outside of definitions is of no kind, so it does not compete with definitions of a wanted one.
        let is_outside_excluded = has_wanted && !kinds.is_empty();
        for chunk in 0..self.chunks.len() {
            scores.push(match is_outside_excluded {
                true => 0.0,
                false => counted.score(n + chunk, mean, &weights) * DATA_FACTOR * self.chunk_factor(chunk),
            });
        }

        let (of_definitions, outside) = scores.split_at_mut(n);
        let most = of_definitions.iter().copied().fold(0.0, f32::max);
        if most > 0.0 && outside.iter().all(|score| *score <= most) {
            self.add_meanings(of_definitions, &counted, weights.iter().sum::<f32>() * MEANING_WEIGHT);
        }
        scores
    }

    /// Adds the meanings of definitions to their scores; `weight` is that of a cosine of 1 above the mean.
    fn add_meanings(&self, scores: &mut [f32], counted: &Texts<'_>, weight: f32) {
        let has_declaration = (0..scores.len()).any(|i| self.declares(i));
        for (i, meaning) in self.meanings().into_iter().enumerate() {
            if !has_declaration || self.declares(i) {
                let factor =
                    self.definition_factor(i, counted) * self.chunk_factor(self.definitions[i].chunk);
                scores[i] += weight * meaning * factor;
            }
        }
    }

    /// Counts the terms of the query: in every definition, with its name and documentation, then in the text
    /// outside of definitions in every chunk.
    fn count_terms(&self, texts: &[Vec<u8>]) -> Texts<'_> {
        let definitions = &self.definitions;
        let n = definitions.len();
        let mut counted = Texts::new(n + self.chunks.len(), self.by.evidence, self.by.marks.as_ref());
        for (chunk, text) in texts.iter().enumerate() {
            let (_, row) = self.view.row(self.chunks[chunk].id);
            counted.add_chunk(row, text, definitions, &self.overlapping[chunk], n + chunk);
        }

        for (i, definition) in definitions.iter().enumerate() {
            let qualifiers = definition.qualified_name.strip_suffix(definition.name);
            let name_weight = if definition.begins_here { NAME_WEIGHT } else { QUALIFIER_WEIGHT };
            counted.add_name(i, definition.name, name_weight, name_weight.min(SAME_WEIGHT));
            counted.add_bonus(i, qualifiers.unwrap_or_default(), QUALIFIER_WEIGHT);
            counted.add_bonus(i, &definition.doc, DOC_WEIGHT);
        }
        counted
    }

    /// Factor on the score of the text of definition `i`, by its kind, its name and its marks.
    fn definition_factor(&self, i: usize, counted: &Texts<'_>) -> f32 {
        let definition = &self.definitions[i];
        let mut factor = self.by.factor(&definition.record);
        if counted.has_all(i, NAME_WEIGHT) {
            factor *= NAMED_FACTOR;
        }
        if counted.is_opposite(i) {
            factor *= OPPOSITE_FACTOR;
        }

        let profile = &self.by.profile;
        let kind = kind_of(&definition.record);
        if profile.named_gain > 0.0 && (kind.has_members() || kind == SymbolKind::Module) {
            let fit = self.by.evidence.name_fit(definition.name);
            // The square keeps weak resemblances small.
            factor *= 1.0 + profile.named_gain * fit * fit;
        }
        factor *= 1.0 + profile.marks_gain * counted.marked_share(i);
        factor
    }

    /// Factor on the scores of the definitions and the text in a chunk.
    fn chunk_factor(&self, chunk: usize) -> f32 {
        1.0 + CHUNK_BONUS * self.chunks[chunk].share
    }

    /// The chunk and the definition with the most evidence.
    fn best(&self, scores: &[f32]) -> (usize, Option<usize>) {
        let (of_definitions, outside) = scores.split_at(self.definitions.len());
        let most = of_definitions.iter().copied().fold(f32::NEG_INFINITY, f32::max);

        // Of equal chunks the best.
        let chunks = (0..outside.len()).rev();
        let chunk = chunks.max_by(|&a, &b| outside[a].total_cmp(&outside[b])).unwrap_or(0);
        if most < outside[chunk] || of_definitions.is_empty() {
            return (chunk, None);
        }

        let mut equals: Vec<usize> = Vec::new();
        for (i, &score) in of_definitions.iter().enumerate() {
            let is_most = score >= most - most.abs() * MIN_DIFFERENCE;
            // Without evidence, only the definitions of the best chunk compete.
            if is_most && (most > 0.0 || self.definitions[i].chunk == 0) {
                equals.push(i);
            }
        }
        let Some(chunk) = equals.iter().map(|&i| self.definitions[i].chunk).min() else { return (0, None) };
        equals.retain(|&i| self.definitions[i].chunk == chunk);

        // Of equal definitions only one that is around all others can answer, and it is the first.
        let outermost = self.outermost(&equals);
        (chunk, outermost.filter(|(_, is_around)| *is_around).map(|(first, _)| first))
    }

    /// The definitions besides `best`, outside of it and of each other, best first.
    fn further(&self, best: Option<usize>, scores: &[f32]) -> Vec<Further> {
        let definitions = &self.definitions;
        let most = best.map_or_else(|| scores.iter().copied().fold(0.0, f32::max), |best| scores[best]);
        let mut order: Vec<usize> =
            (0..definitions.len()).filter(|&i| scores[i] > 0.0 && scores[i] >= most * MIN_SHARE).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));

        let mut taken: Vec<&SymbolRecord> = best.map(|best| &definitions[best].record).into_iter().collect();
        let mut further = Vec::new();
        for i in order {
            let symbol = &definitions[i].record;
            let is_taken = taken
                .iter()
                .any(|other| other.start_byte < symbol.end_byte && symbol.start_byte < other.end_byte);
            // A definition that begins in no chunk was not found itself.
            if !definitions[i].begins_here || is_taken {
                continue;
            }
            taken.push(symbol);
            further.push(Further { symbol: *symbol, share: (scores[i] / most).min(1.0) });
        }
        further
    }
}

impl FocusBy<'_> {
    /// Factor on the evidence for `symbol` by its kind.
    fn factor(&self, symbol: &SymbolRecord) -> f32 {
        match kind_of(symbol) {
            SymbolKind::Test if !self.wants_tests => TEST_FACTOR,
            kind if kind.is_callable() => self.profile.callables,
            kind if kind.has_members() => self.profile.types,
            SymbolKind::Heading | SymbolKind::Other => 1.0,
            _ => self.profile.data,
        }
    }
}

/// The rows of the doc of `id` up to it, from the last row in which a definition begins that is in no other:
/// no definition of an earlier row reaches further.
pub(super) fn rows_before(view: &View, id: RowId) -> impl Iterator<Item = RowId> {
    let first = locate::rows(view, view.doc_of(id)).next().unwrap_or(id).row;
    let start = (first..id.row).rev().find(|&row| has_outermost(view, RowId { row, ..id })).unwrap_or(first);
    (start..=id.row).map(move |row| RowId { row, ..id })
}

/// Returns whether a definition that is in no other begins in a row.
fn has_outermost(view: &View, id: RowId) -> bool {
    let (segment, record) = view.row(id);
    segment.symbols_of(record).any(|symbol| symbol.nesting == 0)
}

/// The focus on `symbol`.
fn focus_on(segment: &Segment, symbol: &SymbolRecord) -> Focus {
    Focus {
        start_line: symbol.start_line,
        end_line: symbol.end_line,
        symbol: segment.name(symbol.qualified_name).to_owned(),
        kind: kind_of(symbol).name(),
        signature: segment.signature(symbol),
    }
}

/// The degree to which the name of a definition fits the names in the query, times their weights. If the
/// query has only one name, it may be misspelt or incomplete.
fn name_score(definition: &Definition<'_>, names: &[(NameForms<'_>, f32)]) -> f32 {
    if !definition.begins_here {
        return 0.0;
    }

    let Definition { name, qualified_name, record, .. } = definition;
    let is_only = names.len() == 1;
    names
        .iter()
        .map(|(wanted, weight)| wanted.fit(name, qualified_name, record.kind, is_only) * weight)
        .fold(0.0, f32::max)
}
