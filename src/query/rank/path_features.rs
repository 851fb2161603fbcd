//! What the path of a file says: words of the question in it, files that the question names, headers and what implements
//! them, and how plain the path is.

use super::weights::Weights;
use super::{Context, share};
use crate::query::path_facts::{PathFacts, Place};
use crate::query::retrieve::symbols;
use crate::query::retrieve::{Candidate, Candidates, mention_fit};
use crate::text::{Mention, QueryTerm, affinity};
use rustc_hash::FxHashSet;

/// Extensions of declarations, and of what implements them.
const HEADERS: &[(&str, &[&str])] = &[
    ("h", &["c", "cc", "cpp", "cxx", "m", "mm"]),
    ("hh", &["cc", "cpp"]),
    ("hpp", &["cpp", "cc", "cxx"]),
    ("hxx", &["cxx", "cpp"]),
    ("mli", &["ml"]),
    ("rbi", &["rb"]),
    ("pyi", &["py"]),
];

/// The question's words with their share of its weight, for paths.
pub struct Words<'a> {
    terms: Vec<(&'a str, f32)>,
    /// BM25 of the best file.
    pub max_file: f32,
    /// Nearness of the candidates' paths to the question: mean and best.
    path_nearness: (f32, f32),
}

impl<'a> Words<'a> {
    pub fn new(context: &Context<'a>, found: &Candidates) -> Words<'a> {
        let max_idf = found.idf.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let Weights { path_rarity, path_common, .. } = *context.weights;
        let weigh = |(i, term): (usize, &'a QueryTerm)| {
            // A word that is in no chunk may still be in a path.
            let idf = found.idf.get(i).copied().filter(|&idf| idf > 0.0).unwrap_or(max_idf);
            let rarity = 1.0 - path_rarity + path_rarity * idf / max_idf;
            let rest = 1.0 - path_common * found.path_share.get(i).copied().unwrap_or(0.0);
            (term.term.as_str(), term.weight * rarity * rest)
        };
        let mut terms: Vec<(&str, f32)> = context.terms.iter().enumerate().map(weigh).collect();
        let total = terms.iter().map(|(_, weight)| weight).sum::<f32>().max(f32::MIN_POSITIVE);
        terms.iter_mut().for_each(|(_, weight)| *weight /= total);
        let max_file = found.files.values().map(|file| file.bm25).fold(0.0f32, f32::max);
        let mut paths: Vec<(u32, f32)> = found.list.iter().map(|c| (c.doc, c.path_cosine)).collect();
        paths.sort_unstable_by_key(|(doc, _)| *doc);
        paths.dedup_by_key(|(doc, _)| *doc);
        // Numbers of docs depend on how the store came about, so the sum is made in an order that does not.
        paths.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
        let mean = paths.iter().map(|(_, cosine)| cosine).sum::<f32>() / paths.len().max(1) as f32;
        let best = paths.iter().map(|(_, cosine)| *cosine).fold(0.0, f32::max);
        Words { terms, max_file, path_nearness: (mean, best) }
    }
}

/// Share of the question's words that the path has, most in the file's name.
pub fn path_share(path: &PathFacts, words: &Words<'_>, weights: &Weights) -> f32 {
    let mut fits = vec![0.0f32; words.terms.len()];
    let (mut n_parts, mut n_fit) = (0.0f32, 0.0f32);
    for (part, place, names_the_file) in path.parts() {
        let place_weight = match place {
            Place::Name => 1.0,
            Place::Folder => weights.path_folders,
        };
        let mut best = 0.0f32;
        for ((term, _), fit) in words.terms.iter().zip(&mut fits) {
            let near = path_affinity(term, part);
            *fit = fit.max(near * place_weight);
            best = best.max(near);
        }
        if names_the_file {
            n_parts += 1.0;
            n_fit += best;
        }
    }
    let recall: f32 = words.terms.iter().zip(&fits).map(|((_, share), fit)| share * fit).sum();
    let precision = if n_parts > 0.0 { n_fit / n_parts } else { 0.0 };
    recall * (1.0 - weights.path_precision * (1.0 - precision))
}

/// How near the path of a candidate is to the question, from the mean of the candidates to the nearest, 0–1.
pub fn path_nearness(words: &Words<'_>, candidate: &Candidate) -> f32 {
    let (mean, nearest) = words.path_nearness;
    share(candidate.path_cosine - mean, nearest - mean)
}

/// The same by itself: above the mean of the candidates, as a share of what is possible.
pub fn absolute_path_nearness(words: &Words<'_>, candidate: &Candidate) -> f32 {
    let (mean, _) = words.path_nearness;
    ((candidate.path_cosine - mean) / (1.0 - mean).max(0.1)).clamp(0.0, 1.0)
}

/// [`affinity`], and names that are written together (`key map`, `keymap`).
fn path_affinity(term: &str, part: &str) -> f32 {
    let near = affinity(term, part);
    if near > 0.0 {
        return near;
    }
    if term.len() >= 3 && (part.starts_with(term) || part.ends_with(term)) { 0.7 } else { 0.0 }
}

/// Whether a file goes by the (unqualified) name of a definition.
pub fn is_named(path: &PathFacts, name: &str) -> bool {
    path.name == symbols::joined(symbols::last_of(name))
}

pub fn mention_share(path: &[u8], mentions: &[Mention]) -> f32 {
    mentions.iter().map(|mention| mention_fit(mention, path)).fold(0.0, f32::max)
}

/// Names of the files among the candidates that implement something, without folders and extension.
pub fn implemented(context: &Context<'_>, found: &Candidates) -> FxHashSet<Vec<u8>> {
    let mut docs: Vec<u32> = found.list.iter().map(|candidate| candidate.doc).collect();
    docs.dedup();
    let paths = docs.iter().flat_map(|&doc| context.view.entries_of(doc)).map(|id| context.view.entry(id).0);
    let is_implementation = |extension: &[u8]| {
        HEADERS.iter().any(|(_, all)| all.iter().any(|known| known.as_bytes() == extension))
    };
    paths
        .filter_map(|path| split_name(path).filter(|(_, extension)| is_implementation(extension)))
        .map(|(name, _)| name.to_vec())
        .collect()
}

/// Whether what a header declares is implemented beside it, or by a candidate of its name: `include/x/a.h` and `src/a.cc`.
pub fn has_implementation(context: &Context<'_>, path: &[u8], implemented: &FxHashSet<Vec<u8>>) -> bool {
    let Some((name, extension)) = split_name(path) else { return false };
    let Some((_, implementations)) = HEADERS.iter().find(|(header, _)| extension == header.as_bytes()) else {
        return false;
    };
    let view = context.view;
    implemented.contains(name)
        || implementations.iter().any(|implementation| {
            let stem = &path[..path.len() - extension.len()];
            let sibling = [stem, implementation.as_bytes()].concat();
            view.reader.find_entry(&view.snapshot.entries, &sibling).is_some()
        })
}

/// A path's file name before and after its last dot.
fn split_name(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let name = path.rsplit(|&b| b == b'/').next()?;
    let dot = name.iter().rposition(|&b| b == b'.')?;
    Some((&name[..dot], &name[dot + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::path_facts::PathMemory;

    #[test]
    fn names_are_split_at_their_last_dot() {
        assert_eq!(split_name(b"include/a.b/c.d.h"), Some((&b"c.d"[..], &b"h"[..])));
        assert_eq!(split_name(b"a.b/Makefile"), None);
    }

    #[test]
    fn files_that_stand_for_their_folder_bear_its_name() {
        for (path, name, expected) in [
            ("src/parser.rs", "Parser", true),
            ("src/parser/mod.rs", "Parser", true),
            ("src/parser/index.ts", "a::parser", true),
            ("src/parser/other.rs", "Parser", false),
            ("mod.rs", "Parser", false),
        ] {
            let facts = PathMemory::default().of(path.as_bytes());
            assert_eq!(is_named(&facts, name), expected, "{path}");
        }
    }
}
