//! What the intent of a query changes among the best files, by what is in them and around them besides their
//! best chunk: a type that is named as the query, siblings, marks. Costs a look at the definitions of
//! the best files, only if an intent acts.

use super::RankedFile;
use super::context::Context;
use super::marks;
use crate::query::definitions::kind_of;
use crate::query::locate;
use crate::query::parse::profile::Profile;
use crate::query::path_facts::Place;
use crate::query::retrieve::{Candidate, Candidates};
use crate::query::view::RowId;
use codeweaver_chunk::SymbolKind;
use codeweaver_text::{self as text, QueryTerm, TermKind};
use rustc_hash::FxHashMap;

/// Number of best files that are looked into.
const MAX_FILES: usize = 40;
/// Number of best chunks of a file whose marks count.
const MAX_CHUNKS: usize = 3;
/// Number of best files in which a type is looked for, and the maximum number of chunks of each.
const MAX_FILES_WITH_TYPES: usize = 12;
const MAX_ROWS: usize = 64;
/// Number of best files among which siblings are counted.
const MAX_SIBLINGS: usize = 100;
/// Minimum fit of the name of a type that is looked into for the focus.
const MIN_NAME_FIT: f32 = 0.5;
/// Number of siblings from which on more add nothing.
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
                look_into(file, row);
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

/// How well `name` is named as the query, 0–1: the share of the query that its words have, which `share_of`
/// tells of a term, times the share of its words that are in the query.
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

/// The words of the query with their shares of its weight.
fn shares<'a>(context: &Context<'a>, candidates: &Candidates) -> Vec<(&'a str, f32)> {
    let max_idf = candidates.idf.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let weigh = |(i, term): (usize, &'a QueryTerm)| {
        let idf = candidates.idf.get(i).copied().filter(|&idf| idf > 0.0).unwrap_or(max_idf);
        (term.term.as_str(), term.weight * idf / max_idf)
    };
    let words = context.query.terms.iter().enumerate().filter(|(_, term)| !term.is_identifier);
    let mut terms: Vec<(&str, f32)> = words.map(weigh).collect();
    let total = terms.iter().map(|(_, weight)| weight).sum::<f32>().max(f32::MIN_POSITIVE);
    terms.iter_mut().for_each(|(_, weight)| *weight /= total);
    terms
}

/// Moves the chunk `row` among those of the file that the focus may be in.
fn look_into(file: &mut RankedFile, row: RowId) {
    match file.chunks.iter().position(|chunk| chunk.id == row) {
        Some(at) if at > 1 => file.chunks[1..=at].rotate_right(1),
        Some(_) => {}
        None => file.chunks.insert(1, Candidate { id: row, doc: file.doc, ..Candidate::default() }),
    }
}

/// How well the best type or module of the file is named as the query, with the chunk in which it begins.
fn best_type(context: &Context<'_>, file: &RankedFile, terms: &[(&str, f32)]) -> (f32, Option<RowId>) {
    let share_of = |term: &str| terms.iter().find(|(known, _)| *known == term).map(|(_, share)| *share);
    let mut best = (0.0, None);
    for id in locate::rows(context.view, file.doc).take(MAX_ROWS) {
        let (segment, row) = context.view.row(id);
        for symbol in segment.symbols_of(row) {
            let kind = kind_of(&symbol);
            let is_type = (kind.has_members() || kind == SymbolKind::Module) && kind != SymbolKind::Impl;
            if is_type && symbol.nesting <= 1 {
                let fit = name_fit(segment.name(symbol.name), share_of);
                if fit > best.0 {
                    best = (fit, Some(id));
                }
            }
        }
    }
    best
}

/// By entry, how many other files of its folder share a word of the query in their names, or in the name of
/// the folder: 1 for many, 0 for none. A word that is a small part of the query counts less.
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
            let is_near = |(term, _): &(&str, f32)| text::affinity(term, part) > 0.0;
            if let Some(at) = terms.iter().position(is_near).filter(|at| !shared.contains(at)) {
                shared.push(at);
                families.entry((folder, at)).or_default().push(file.entry);
            }
        }
    }
    let mut of_entry: FxHashMap<u32, f32> = FxHashMap::default();
    for ((_, at), family) in families {
        let many = ((family.len() as f32 - 1.0) / MANY_SIBLINGS).min(1.0);
        let share = many * terms[at].1.sqrt();
        for entry in family {
            let known = of_entry.entry(entry).or_default();
            *known = known.max(share);
        }
    }
    of_entry
}

/// The share of marks in one of the best chunks of each file, 0–1.
fn marked(context: &Context<'_>, profile: &Profile, files: &[RankedFile]) -> Vec<f32> {
    let best_chunks = |file: &RankedFile| file.chunks.iter().take(MAX_CHUNKS).cloned().collect::<Vec<_>>();
    let chunks: Vec<Candidate> = files.iter().flat_map(best_chunks).collect();
    let counts = marks::count(context.view, &chunks, &marks::terms(profile.marks));
    let share =
        |chunk: &Candidate| f32::from(counts.get(&chunk.id).copied().unwrap_or(0)) / f32::from(marks::ENOUGH);
    let of_file = |file: &RankedFile| {
        let strength = |chunk: &Candidate| chunk.bm25 + chunk.cosine.max(0.0) + chunk.definition;
        let best = strength(&file.chunks[0]).max(f32::MIN_POSITIVE);
        let chunks = file.chunks.iter().take(MAX_CHUNKS);
        chunks.map(|chunk| share(chunk) * (strength(chunk) / best).min(1.0)).fold(0.0, f32::max)
    };
    files.iter().map(of_file).collect()
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
