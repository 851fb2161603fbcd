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

mod texts;

use super::evidence::Evidence;
use crate::query::definitions::{self, is_of_kind, kind_of};
use crate::query::locate;
use crate::query::parse::intent::{Intent, QueryIntent};
use crate::query::parse::mentions;
use crate::query::parse::profile::FocusProfile;
use crate::query::rank::marks;
use crate::query::response::Focus;
use crate::query::retrieve::symbols::NameForms;
use crate::query::view::{RowId, View};
use codeweaver_chunk::SymbolKind;
use codeweaver_store::records::RowRecord;
use codeweaver_store::segment::Segment;
use codeweaver_store::symbols::SymbolRecord;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use texts::Texts;

/// Occurrences in the text that one occurrence in the name, the documentation or the qualifiers is worth.
const NAME_WEIGHT: f32 = 4.0;
const DOC_WEIGHT: f32 = 1.0;
const QUALIFIER_WEIGHT: f32 = 0.5;
/// What the score of a definition counts by its kind: questions ask what code does. Measured by the functions
/// that commits changed, with their messages as queries (`benches/reports.py`).
const DATA_FACTOR: f32 = 0.6;
const TEST_FACTOR: f32 = 0.3;
/// What it counts if the name has all words of the query, which are several.
const NAMED_FACTOR: f32 = 2.0;
/// What a definition in the best chunk gains, as a share of its score; in others, their share of it.
const CHUNK_BONUS: f32 = 0.6;
/// Scores that differ by a smaller share are equal: they come from the lengths of the texts.
const MIN_DIFFERENCE: f32 = 0.001;
/// Minimum score of a further definition, as a share of the best.
const MIN_SHARE: f32 = 0.4;

/// What decides the focus of the matches of an answer.
pub struct FocusBy<'a> {
    evidence: &'a Evidence,
    /// The names of the evidence, in the form in which definitions are compared with them.
    names: Vec<(NameForms<'a>, f32)>,
    /// Whether tests are asked for.
    wants_tests: bool,
    /// What the intent prefers.
    profile: FocusProfile,
    /// The marks of the intent.
    marks: Option<Evidence>,
}

impl<'a> FocusBy<'a> {
    pub fn new(evidence: &'a Evidence, intent: &QueryIntent) -> FocusBy<'a> {
        let profile = intent.acting().map_or(FocusProfile::NONE, |intent| intent.profile().focus);
        let marks = intent.acting().filter(|_| profile.marks_gain > 0.0);
        let marks = marks.map(|intent| {
            let marks = marks::terms(intent.profile().marks);
            Evidence::of_terms(&marks, &vec![1.0; marks.len()])
        });
        let wants_tests = intent.intent == Some(Intent::Test);
        FocusBy { evidence, names: evidence.names(), wants_tests, profile, marks }
    }
}

/// A chunk that was found.
#[derive(Clone, Copy)]
pub struct FoundChunk {
    pub id: RowId,
    /// Its evidence as a share of that of the best chunk of its file, 0–1.
    pub share: f32,
}

/// The chunks of a file in which the answer is looked for.
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
}

/// A definition that overlaps a chunk.
struct Definition<'a> {
    record: SymbolRecord,
    name: &'a str,
    qualified_name: &'a str,
    doc: String,
    /// Position of the best chunk that it overlaps.
    chunk: usize,
    /// Whether it begins in one of the chunks. The name of another one only qualifies what is in the chunk.
    begins_here: bool,
}

/// What answers in a file.
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
            let overlaps = |begins_in: RowId, symbol: &SymbolRecord| {
                begins_in == *id || symbol.end_byte > row.start_byte
            };
            let mut of_chunk = Vec::new();
            // A definition is recorded in the chunk in which it begins.
            for (begins_in, record) in definitions::of_rows(view, rows_before(view, *id), overlaps) {
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
                of_chunk.push(position);
            }
            overlapping.push(of_chunk);
        }
        InFile { view, by, path, chunks, definitions, overlapping }
    }

    /// Whether the texts of the chunks have no influence on the focus.
    pub fn is_decided(&self) -> bool {
        self.definitions.is_empty() || self.decision().is_some()
    }

    /// What answers. `texts` are the bytes of each chunk, empty if only names and documentation decide.
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

    /// The chunk and the definition that are decided without the text: the definition is known, it has the
    /// line that the query names, or it alone has the name that the query consists of.
    fn decision(&self) -> Option<(usize, Option<usize>)> {
        let evidence = self.by.evidence;
        let record = |position: &usize| &self.definitions[*position].record;
        if let Some(bytes) = evidence.known_in(self.chunks[0].id) {
            let is_known = |at: &&usize| (record(at).start_byte..record(at).end_byte) == *bytes;
            return Some((0, self.overlapping[0].iter().find(is_known).copied()));
        }
        for (chunk, FoundChunk { id, .. }) in self.chunks.iter().enumerate() {
            let (_, row) = self.view.row(*id);
            if let Some(line) = self.mentioned_line(row, evidence) {
                let has_line = |at: &&usize| (record(at).start_line..=record(at).end_line).contains(&line);
                return Some((chunk, self.overlapping[chunk].iter().rfind(has_line).copied()));
            }
        }
        if !evidence.is_single_name() || !evidence.kinds.is_empty() {
            return None;
        }
        let (_, weight) = self.by.names.first()?;
        let is_named = |at: &&usize| name_score(&self.definitions[**at], &self.by.names) >= *weight;
        let mut named = self.overlapping[0].iter().filter(is_named);
        let first = named.next()?;
        named.next().is_none().then_some((0, Some(*first)))
    }

    /// The first line of the chunk that the query names.
    fn mentioned_line(&self, row: &RowRecord, evidence: &Evidence) -> Option<u32> {
        let lines = row.start_line..=row.end_line;
        let of_path = evidence.mentions.iter().filter(|mention| mentions::fit(mention, self.path) > 0.0);
        of_path.filter_map(|mention| mention.line).find(|line| lines.contains(line))
    }

    /// The score of every definition, then that of the text outside of them in every chunk.
    fn scores(&self, texts: &[Vec<u8>]) -> Vec<f32> {
        let FocusBy { evidence, names, .. } = self.by;
        let definitions = &self.definitions;
        let n = definitions.len();
        let mut counted = Texts::new(n + self.chunks.len(), evidence, self.by.marks.as_ref());
        for (chunk, text) in texts.iter().enumerate() {
            let (_, row) = self.view.row(self.chunks[chunk].id);
            counted.add_chunk(row, text, definitions, &self.overlapping[chunk], n + chunk);
        }
        for (i, definition) in definitions.iter().enumerate() {
            let qualifiers = definition.qualified_name.strip_suffix(definition.name);
            let name_weight = if definition.begins_here { NAME_WEIGHT } else { QUALIFIER_WEIGHT };
            counted.add_bonus(i, definition.name, name_weight);
            counted.add_bonus(i, qualifiers.unwrap_or_default(), QUALIFIER_WEIGHT);
            counted.add_bonus(i, &definition.doc, DOC_WEIGHT);
        }
        let mean = counted.mean_length();
        let is_wanted = |definition: &Definition<'_>| is_of_kind(&definition.record, &evidence.kinds);
        let has_wanted = definitions.iter().any(is_wanted);
        let by_chunk = |chunk: usize| 1.0 + CHUNK_BONUS * self.chunks[chunk].share;
        let of_definition = |(i, definition): (usize, &Definition<'_>)| {
            if has_wanted && !is_wanted(definition) {
                return f32::NEG_INFINITY;
            }
            let mut by_kind = self.by.factor(&definition.record);
            if counted.has_all(i, NAME_WEIGHT) {
                by_kind *= NAMED_FACTOR;
            }
            let profile = &self.by.profile;
            let kind = kind_of(&definition.record);
            if profile.named_gain > 0.0 && (kind.has_members() || kind == SymbolKind::Module) {
                let fit = evidence.name_fit(definition.name);
                by_kind *= 1.0 + profile.named_gain * fit * fit;
            }
            by_kind *= 1.0 + profile.marks_gain * counted.marked_share(i);
            (counted.score(i, mean) * by_kind + name_score(definition, names)) * by_chunk(definition.chunk)
        };
        let outside = |chunk: usize| match has_wanted && !evidence.kinds.is_empty() {
            true => 0.0,
            false => counted.score(n + chunk, mean) * DATA_FACTOR * by_chunk(chunk),
        };
        let scores = definitions.iter().enumerate().map(of_definition);
        scores.chain((0..self.chunks.len()).map(outside)).collect()
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
        // Without evidence, those of the best chunk. Of equals the one around all others; the first of them
        // is the only candidate.
        let is_best = |i: &usize| {
            let is_most = of_definitions[*i] >= most - most.abs() * MIN_DIFFERENCE;
            is_most && (most > 0.0 || self.definitions[*i].chunk == 0)
        };
        let equals: Vec<usize> = (0..of_definitions.len()).filter(is_best).collect();
        let Some(chunk) = equals.iter().map(|&i| self.definitions[i].chunk).min() else { return (0, None) };
        let around_others = |&i: &usize| {
            let SymbolRecord { start_byte, end_byte, .. } = self.definitions[i].record;
            (start_byte, Reverse(end_byte))
        };
        let equals: Vec<usize> = equals.into_iter().filter(|&i| self.definitions[i].chunk == chunk).collect();
        let first = equals.iter().copied().min_by_key(around_others);
        let end = first.map_or(0, |first| self.definitions[first].record.end_byte);
        let is_around = equals.iter().all(|&i| self.definitions[i].record.end_byte <= end);
        (chunk, first.filter(|_| is_around))
    }

    /// The definitions besides `best`, outside of it and of each other, best first.
    fn further(&self, best: Option<usize>, scores: &[f32]) -> Vec<Further> {
        let definitions = &self.definitions;
        let most = best.map_or_else(|| scores.iter().copied().fold(0.0, f32::max), |best| scores[best]);
        let is_good = |i: &usize| scores[*i] > 0.0 && scores[*i] >= most * MIN_SHARE;
        let mut order: Vec<usize> = (0..definitions.len()).filter(is_good).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        let mut taken: Vec<&SymbolRecord> = best.map(|best| &definitions[best].record).into_iter().collect();
        let mut further = Vec::new();
        for i in order {
            let symbol = &definitions[i].record;
            let overlaps =
                |it: &&SymbolRecord| it.start_byte < symbol.end_byte && symbol.start_byte < it.end_byte;
            if !definitions[i].begins_here || taken.iter().any(overlaps) {
                continue;
            }
            taken.push(symbol);
            further.push(Further { symbol: *symbol, share: (scores[i] / most).min(1.0) });
        }
        further
    }
}

impl FocusBy<'_> {
    /// What the evidence for `symbol` counts by its kind.
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

/// The rows of the doc of `id` up to it, from the last one in which a definition that is in no other begins:
/// no definition before that one reaches further.
pub(super) fn rows_before(view: &View, id: RowId) -> impl Iterator<Item = RowId> {
    let first = locate::rows(view, view.doc_of(id)).next().unwrap_or(id);
    let is_start = |row: &u32| {
        let (segment, record) = view.row(RowId { row: *row, ..id });
        segment.symbols_of(record).any(|symbol| symbol.nesting == 0)
    };
    let start = (first.row..id.row).rev().find(is_start).unwrap_or(first.row);
    (start..=id.row).map(move |row| RowId { row, ..id })
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

/// How well the name of a definition fits the names in the query, by their weights. A name that is the only
/// one may be misspelt or incomplete.
fn name_score(definition: &Definition<'_>, names: &[(NameForms<'_>, f32)]) -> f32 {
    if !definition.begins_here {
        return 0.0;
    }
    let Definition { name, qualified_name, record, .. } = definition;
    let fit = |(wanted, weight): &(NameForms<'_>, f32)| {
        wanted.fit(name, qualified_name, record.kind, names.len() == 1) * weight
    };
    names.iter().map(fit).fold(0.0, f32::max)
}
