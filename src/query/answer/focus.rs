//! Focus: the definition in a chunk that answers the query.
//!
//! A chunk holds several small definitions, or the beginning, middle or end of a large one. Every definition
//! that overlaps it is scored by the terms of the query in its name, its documentation and its own text,
//! which is its text without that of the definitions in it. The text outside of all definitions competes: if
//! it has the most evidence, or if several definitions have as much, the answer is the chunk as a whole.

use super::evidence::Evidence;
use crate::query::definitions::{self, end_of_line, is_of_kind, is_part, kind_of, start_with_comment};
use crate::query::locate;
use crate::query::parse::mentions;
use crate::query::response::Focus;
use crate::query::retrieve::symbols::NameForms;
use crate::query::view::{RowId, View};
use crate::store::records::RowRecord;
use crate::store::segment::Segment;
use crate::store::symbols::SymbolRecord;
use crate::text;

/// Occurrences in the text that one occurrence in the name, the documentation or the qualifiers is worth.
const NAME_WEIGHT: f32 = 4.0;
const DOC_WEIGHT: f32 = 1.0;
const QUALIFIER_WEIGHT: f32 = 0.5;
/// Parameters of BM25.
const K1: f32 = 1.2;
const B: f32 = 0.5;
/// Scores that differ by a smaller share are equal: they come from the lengths of the texts.
const MIN_DIFFERENCE: f32 = 0.001;

/// A chunk in which a definition is looked for.
pub struct InChunk<'a> {
    view: &'a View,
    id: RowId,
    by: &'a FocusBy<'a>,
    path: &'a [u8],
    /// Those around others first.
    definitions: Vec<Definition<'a>>,
}

/// What decides the focus of the matches of an answer.
pub struct FocusBy<'a> {
    evidence: &'a Evidence,
    /// The names of the evidence, in the form in which definitions are compared with them.
    names: Vec<(NameForms<'a>, f32)>,
}

impl<'a> FocusBy<'a> {
    pub fn new(evidence: &'a Evidence) -> FocusBy<'a> {
        FocusBy { evidence, names: evidence.names() }
    }
}

/// A definition that overlaps the chunk.
struct Definition<'a> {
    record: SymbolRecord,
    name: &'a str,
    qualified_name: &'a str,
    doc: &'a str,
    /// Whether it begins in the chunk. The name of another one only qualifies what is in the chunk.
    begins_here: bool,
}

impl<'a> InChunk<'a> {
    /// The chunk `id` of the file at `path`.
    pub fn new(view: &'a View, by: &'a FocusBy<'a>, id: RowId, path: &'a [u8]) -> InChunk<'a> {
        let (segment, row) = view.row(id);
        let definition = |(begins_in, record): (RowId, SymbolRecord)| Definition {
            record,
            name: segment.string(record.name),
            qualified_name: segment.string(record.qualified_name),
            doc: segment.string(record.doc),
            begins_here: begins_in == id,
        };
        let overlaps =
            |begins_in: RowId, symbol: &SymbolRecord| begins_in == id || symbol.end_byte > row.start_byte;
        // A definition is recorded in the chunk in which it begins.
        let found = definitions::of_rows(view, rows_before(view, id), overlaps);
        InChunk { view, id, by, path, definitions: found.into_iter().map(definition).collect() }
    }

    /// Whether the text of the chunk has no influence on the focus.
    pub fn is_decided(&self) -> bool {
        self.definitions.is_empty() || self.decision().is_some()
    }

    /// The definition that has most of the evidence; `None` if the chunk as a whole is the answer. `text` are
    /// the bytes of the chunk, empty if only names and documentation decide.
    pub fn focus(&self, text: &[u8]) -> Option<(Focus, SymbolRecord)> {
        let (segment, row) = self.view.row(self.id);
        let best = match self.decision() {
            Some(decided) => decided,
            None => self.best(row, text),
        }?;
        let record = self.definitions[best].record;
        Some((focus_on(segment, row, &record), record))
    }

    /// The position of the definition that is decided without the text: it is known, it has the line that the
    /// query names, or it alone has the name that the query consists of.
    fn decision(&self) -> Option<Option<usize>> {
        let evidence = self.by.evidence;
        let (_, row) = self.view.row(self.id);
        let definitions = &self.definitions;
        if let Some(bytes) = evidence.known_in(self.id) {
            let is_known = |record: &SymbolRecord| (record.start_byte..record.end_byte) == *bytes;
            return Some(definitions.iter().position(|definition| is_known(&definition.record)));
        }
        if let Some(line) = self.mentioned_line(row, evidence) {
            let has_line = |record: &SymbolRecord| (record.start_line..=record.end_line).contains(&line);
            return Some(definitions.iter().rposition(|definition| has_line(&definition.record)));
        }
        if !evidence.is_single_name() || !evidence.kinds.is_empty() {
            return None;
        }
        let (_, weight) = self.by.names.first()?;
        let is_named = |i: &usize| name_score(&definitions[*i], &self.by.names) >= *weight;
        let mut named = (0..definitions.len()).filter(is_named);
        let first = named.next()?;
        named.next().is_none().then_some(Some(first))
    }

    /// The first line of the chunk that the query names.
    fn mentioned_line(&self, row: &RowRecord, evidence: &Evidence) -> Option<u32> {
        let lines = row.start_line..=row.end_line;
        let of_path = evidence.mentions.iter().filter(|mention| mentions::fit(mention, self.path) > 0.0);
        of_path.filter_map(|mention| mention.line).find(|line| lines.contains(line))
    }

    /// The position of the definition with the most evidence.
    fn best(&self, row: &RowRecord, text: &[u8]) -> Option<usize> {
        let FocusBy { evidence, names } = self.by;
        let definitions = &self.definitions;
        let is_wanted = |definition: &Definition<'_>| is_of_kind(&definition.record, &evidence.kinds);
        let has_wanted = definitions.iter().any(is_wanted);
        let mut texts = Texts::new(definitions.len() + 1, evidence);
        texts.add_chunk(row, text, definitions);
        for (i, definition) in definitions.iter().enumerate() {
            let qualifiers = definition.qualified_name.strip_suffix(definition.name);
            let name_weight = if definition.begins_here { NAME_WEIGHT } else { QUALIFIER_WEIGHT };
            texts.add_bonus(i, definition.name, name_weight);
            texts.add_bonus(i, qualifiers.unwrap_or_default(), QUALIFIER_WEIGHT);
            texts.add_bonus(i, definition.doc, DOC_WEIGHT);
        }
        let scores: Vec<f32> = definitions
            .iter()
            .enumerate()
            .map(|(i, definition)| match has_wanted && !is_wanted(definition) {
                true => f32::NEG_INFINITY,
                false => texts.score(i) + name_score(definition, names),
            })
            .collect();
        let outside =
            if has_wanted && !evidence.kinds.is_empty() { 0.0 } else { texts.score(definitions.len()) };
        let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if definitions.is_empty() || most < outside {
            return None;
        }
        // Of equals the one around all others; the first of them is the only candidate.
        let mut equals = (0..scores.len()).filter(|&i| scores[i] >= most - most.abs() * MIN_DIFFERENCE);
        let first = equals.next()?;
        let end = definitions[first].record.end_byte;
        equals.all(|i| definitions[i].record.end_byte <= end).then_some(first)
    }
}

/// The rows of the doc of `id` up to it, from the last one in which a definition that is in no other begins:
/// no definition before that one reaches further.
fn rows_before(view: &View, id: RowId) -> impl Iterator<Item = RowId> {
    let first = locate::rows(view, view.doc_of(id)).next().unwrap_or(id);
    let is_start = |row: &u32| {
        let (segment, record) = view.row(RowId { row: *row, ..id });
        segment.symbols_of(record).any(|symbol| symbol.nesting == 0)
    };
    let start = (first.row..id.row).rev().find(is_start).unwrap_or(first.row);
    (start..=id.row).map(move |row| RowId { row, ..id })
}

/// The focus on `symbol`, whose lines are limited to those of the chunk `row`.
fn focus_on(segment: &Segment, row: &RowRecord, symbol: &SymbolRecord) -> Focus {
    let clamp = |line: u32| line.max(row.start_line).min(row.end_line);
    Focus {
        start_line: clamp(symbol.start_line),
        end_line: clamp(symbol.end_line),
        symbol: segment.string(symbol.qualified_name).to_owned(),
        kind: kind_of(symbol).name(),
        signature: segment.string(symbol.signature).to_owned(),
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

/// The terms of the query in several texts.
struct Texts<'a> {
    evidence: &'a Evidence,
    /// Occurrences of each term of the query, by text.
    counts: Vec<f32>,
    /// As `counts`, for names and documentation.
    bonuses: Vec<f32>,
    /// Number of bytes of each text.
    lengths: Vec<f32>,
}

impl<'a> Texts<'a> {
    fn new(n: usize, evidence: &'a Evidence) -> Texts<'a> {
        let empty = vec![0.0; n * evidence.n_terms()];
        Texts { evidence, counts: empty.clone(), bonuses: empty, lengths: vec![0.0; n] }
    }

    /// Adds the text of the chunk `row`, each part to the innermost of `definitions` around it and the rest
    /// to the last text. Fields and the like are parts of their type too, since it is described by them.
    fn add_chunk(&mut self, row: &RowRecord, text: &[u8], definitions: &[Definition<'_>]) {
        let rest = definitions.len();
        let offset = |byte: u32| byte.min(row.end_byte).saturating_sub(row.start_byte) as usize;
        let end = |i: usize| offset(definitions[i].record.end_byte);
        // The definitions around `at`, each with the text that its own text belongs to as well.
        let mut around: Vec<(usize, Option<usize>)> = Vec::new();
        let mut at = 0;
        for (i, definition) in definitions.iter().enumerate() {
            let start = offset(definition.record.start_byte);
            while let Some(&(inner, also)) = around.last().filter(|(inner, _)| end(*inner) <= start) {
                self.add(inner, also, text, at, end(inner));
                at = at.max(end(inner));
                around.pop();
            }
            let &(outer, also) = around.last().unwrap_or(&(rest, None));
            let head = definitions.get(outer).filter(|outer| outer.record.start_byte >= row.start_byte);
            let head_end = head.map_or(0, |outer| end_of_line(text, offset(outer.record.start_byte)));
            let start = start_with_comment(text, at.max(head_end), start);
            self.add(outer, also, text, at, start);
            at = at.max(start);
            let is_part = outer != rest && is_part(&definition.record, &definitions[outer].record);
            around.push((i, is_part.then_some(outer)));
        }
        while let Some((inner, also)) = around.pop() {
            self.add(inner, also, text, at, end(inner));
            at = at.max(end(inner));
        }
        self.add(rest, None, text, at, text.len());
    }

    fn add(&mut self, i: usize, also: Option<usize>, text: &[u8], start: usize, end: usize) {
        let Some(part) = text.get(start..end).filter(|part| !part.is_empty()) else { return };
        for i in std::iter::once(i).chain(also) {
            self.lengths[i] += part.len() as f32;
        }
        let n_terms = self.evidence.n_terms();
        // Most lines have no term of the query, and cutting a line into terms is the costly part.
        for line in part.split(|&byte| byte == b'\n').filter(|line| self.evidence.may_occur_in(line)) {
            text::visit_terms(&String::from_utf8_lossy(line), |term, _| {
                let Some(number) = self.evidence.number_of(term) else { return };
                for i in std::iter::once(i).chain(also) {
                    self.counts[i * n_terms + number] += 1.0;
                }
            });
        }
    }

    /// Adds `weight` for each term of the query in `name`, a description of text `i`.
    fn add_bonus(&mut self, i: usize, name: &str, weight: f32) {
        let n_terms = self.evidence.n_terms();
        text::visit_terms(name, |term, _| {
            if let Some(number) = self.evidence.number_of(term) {
                let bonus = &mut self.bonuses[i * n_terms + number];
                *bonus = bonus.max(weight);
            }
        });
    }

    /// BM25 of text `i` among these texts, with the weights of the query.
    fn score(&self, i: usize) -> f32 {
        let n_terms = self.evidence.n_terms();
        let mean = (self.lengths.iter().sum::<f32>() / self.lengths.len() as f32).max(1.0);
        let norm = 1.0 - B + B * self.lengths[i] / mean;
        let of_text = i * n_terms..(i + 1) * n_terms;
        let counts = self.counts[of_text.clone()].iter().zip(&self.bonuses[of_text]);
        let terms = self.evidence.weights().iter().zip(counts);
        terms
            .map(|(weight, (count, bonus))| {
                let tf = count / norm + bonus;
                weight * tf / (tf + K1)
            })
            .sum()
    }
}
