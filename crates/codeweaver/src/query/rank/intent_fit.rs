//! Effects of the intent of a query among the best files, by their contents and surroundings besides their
//! best chunk: a type that is named as the query, siblings, marks. Costs a look at the definitions of the
//! best files, and only if an intent acts.

use rustc_hash::FxHashMap;

use codeweaver_chunk::SymbolKind;
use codeweaver_text::{self as text, TermKind};

use super::RankedFile;
use super::context::Context;
use super::marks;
use crate::query::definitions::kind_of;
use crate::query::locate;
use crate::query::parse::profile::Profile;
use crate::query::path_facts::Place;
use crate::query::retrieve::{Candidate, Candidates};
use crate::query::view::RowId;

/// Number of best files whose scores are changed.
const MAX_FILES: usize = 40;
/// Number of best chunks of a file whose marks count.
const MAX_CHUNKS: usize = 3;
/// Number of best files in which a type is looked for, and the maximum number of chunks of each.
const MAX_FILES_WITH_TYPES: usize = 12;
const MAX_ROWS: usize = 64;
/// Number of best files among which siblings are counted.
const MAX_SIBLINGS: usize = 100;
/// Minimum fit of the name of a type that becomes a candidate for the focus.
const MIN_NAME_FIT: f32 = 0.5;
/// Number of siblings from which more add nothing.
const MANY_SIBLINGS: f32 = 8.0;

/// Changes the scores of the best of `files`, which are sorted.
pub fn apply(context: &Context<'_>, candidates: &Candidates, files: &mut [RankedFile]) {
    let Some(profile) = context.query.acting_intent().map(|intent| intent.profile()) else { return };
    let terms = shares(context, candidates);

    let siblings = (profile.siblings_gain > 0.0)
        .then(|| siblings(context, &files[..files.len().min(MAX_SIBLINGS)], &terms));
    let n = files.len().min(MAX_FILES);
    let files = &mut files[..n];
    let marked = (profile.marks_gain > 0.0).then(|| marked(context, profile, files));

    for (i, file) in files.iter_mut().enumerate() {
        let mut factor = 1.0;
        if profile.named_gain > 0.0 && i < MAX_FILES_WITH_TYPES {
            let (fit, row) = best_type(context, file, &terms);
            factor *= 1.0 + profile.named_gain * fit * fit;
            if let Some(row) = row.filter(|_| fit > MIN_NAME_FIT) {
                look_into(file, row, 1);
            }
        }

        if let Some(siblings) = &siblings {
            factor *= 1.0 + profile.siblings_gain * siblings.get(&file.entry).copied().unwrap_or(0.0);
        }
        if let Some(marked) = &marked {
            factor *= 1.0 + profile.marks_gain * marked[i];
        }

        if factor != 1.0 {
            file.features.file.intent *= factor;
            file.explanation = file.features.contributions(context.weights);
        }
    }
}

/// Returns the fit of `name` to the query, 0–1: the share of the query that its words have, times the share
/// of its words that are in the query. `share_of` returns the share of the query that a term has, if it is in
/// the query.
pub fn name_fit(name: &str, share_of: impl Fn(&str) -> Option<f32>) -> f32 {
    let (mut recall, mut n_words, mut n_fit) = (0.0f32, 0u32, 0u32);

    text::visit_terms(name, |term, kind| {
        if matches!(kind, TermKind::Word | TermKind::Part) {
            n_words += 1;
            if let Some(share) = share_of(term) {
                n_fit += 1;
                recall += share;
            }
        }
    });

    recall.min(1.0) * n_fit as f32 / n_words.max(1) as f32
}

/// Returns the words of the query with their shares of its weight.
fn shares<'a>(context: &Context<'a>, candidates: &Candidates) -> Vec<(&'a str, f32)> {
    let max_idf = candidates.idf.iter().copied().fold(f32::MIN_POSITIVE, f32::max);

    let mut terms: Vec<(&str, f32)> = Vec::new();
    for (i, term) in context.query.terms.iter().enumerate().filter(|(_, term)| !term.is_identifier) {
        // A word that no chunk has is as rare as the rarest.
        let idf = candidates.idf.get(i).copied().filter(|&idf| idf > 0.0).unwrap_or(max_idf);
        terms.push((term.term.as_str(), term.weight * idf / max_idf));
    }

    let total = terms.iter().map(|(_, weight)| weight).sum::<f32>().max(f32::MIN_POSITIVE);
    terms.iter_mut().for_each(|(_, weight)| *weight /= total);
    terms
}

/// Moves the chunk `row` to the position `to` of the chunks of the file, in the first of which the focus is
/// looked for, unless it is before it.
pub fn look_into(file: &mut RankedFile, row: RowId, to: usize) {
    match file.chunks.iter().position(|chunk| chunk.id == row) {
        Some(at) if at > to => file.chunks[to..=at].rotate_right(1),
        Some(_) => {}
        None => file.chunks.insert(to, Candidate { id: row, doc: file.doc, ..Candidate::default() }),
    }
}

/// Returns the fit of the best type or module of the file to the query, with the chunk in which it begins.
fn best_type(context: &Context<'_>, file: &RankedFile, terms: &[(&str, f32)]) -> (f32, Option<RowId>) {
    let mut best = (0.0, None);
    for id in locate::rows(context.view, file.doc).take(MAX_ROWS) {
        let (segment, row) = context.view.row(id);

        for symbol in segment.symbols_of(row) {
            let kind = kind_of(&symbol);
            let is_type = (kind.has_members() || kind == SymbolKind::Module) && kind != SymbolKind::Impl;
            if is_type && symbol.nesting <= 1 {
                let fit = name_fit(segment.name(symbol.name), |term| {
                    terms.iter().find(|(known, _)| *known == term).map(|(_, share)| *share)
                });
                if fit > best.0 {
                    best = (fit, Some(id));
                }
            }
        }
    }

    best
}

/// Returns, by entry, the number of other files of its folder that share a word of the query in their names,
/// or in the name of the folder: 1 for many, 0 for none. A word that is a small part of the query counts
/// less.
fn siblings(context: &Context<'_>, files: &[RankedFile], terms: &[(&str, f32)]) -> FxHashMap<u32, f32> {
    let mut families: FxHashMap<(&[u8], usize), Vec<u32>> = FxHashMap::default();
    for file in files {
        let (path, _) = context.view.entry(file.entry);
        let folder = &path[..path.iter().rposition(|&byte| byte == b'/').unwrap_or(0)];
        let facts = context.paths.get(path);

        let mut shared = Vec::new();
        for (part, place, names_the_file) in facts.parts() {
            if place == Place::Name && !names_the_file {
                continue;
            }

            let position = terms.iter().position(|(term, _)| text::affinity(term, part) > 0.0);
            if let Some(at) = position.filter(|at| !shared.contains(at)) {
                shared.push(at);
                families.entry((folder, at)).or_default().push(file.entry);
            }
        }
    }

    let mut by_entry: FxHashMap<u32, f32> = FxHashMap::default();
    for ((_, at), family) in families {
        let many = ((family.len() as f32 - 1.0) / MANY_SIBLINGS).min(1.0);
        let share = many * terms[at].1.sqrt();

        for entry in family {
            let known = by_entry.entry(entry).or_default();
            *known = known.max(share);
        }
    }

    by_entry
}

/// Returns the share of marks in one of the best chunks of each file, 0–1.
fn marked(context: &Context<'_>, profile: &Profile, files: &[RankedFile]) -> Vec<f32> {
    let best_chunks = files.iter().flat_map(|file| file.chunks.iter().take(MAX_CHUNKS));
    let chunks: Vec<Candidate> = best_chunks.cloned().collect();
    let counts = marks::count(context.view, &chunks, &marks::terms(profile.marks));

    let mut shares = Vec::with_capacity(files.len());
    for file in files {
        let best = strength(&file.chunks[0]).max(f32::MIN_POSITIVE);
        let mut most = 0.0f32;
        for chunk in file.chunks.iter().take(MAX_CHUNKS) {
            let n_marks = counts.get(&chunk.id).copied().unwrap_or(0);
            let share = f32::from(n_marks) / f32::from(marks::ENOUGH);
            // Marks in a chunk that hardly answers the query say little.
            most = most.max(share * (strength(chunk) / best).min(1.0));
        }
        shares.push(most);
    }
    shares
}

/// The evidence of a chunk, to compare chunks of one file.
fn strength(chunk: &Candidate) -> f32 {
    chunk.bm25 + chunk.cosine.max(0.0) + chunk.definition
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_by_what_it_has_and_by_what_else_it_has() {
        let fit = |name: &str| name_fit(name, |term| matches!(term, "modul" | "mocker").then_some(0.5));
        assert_eq!((fit("ModuleMocker"), fit("module_mocker"), fit("Mocker")), (1.0, 1.0, 0.5));
        assert!((fit("BareModuleMocker") - 2.0 / 3.0).abs() < 1e-6);
        assert_eq!((fit("Runner"), fit("")), (0.0, 0.0));
    }
}
