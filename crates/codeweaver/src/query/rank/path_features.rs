//! Features of paths: terms of the query in a path, files that are named after a definition, headers and
//! their implementations.

use rustc_hash::{FxHashMap, FxHashSet};

use codeweaver_text::affinity;

use super::context::{Context, share, size_of};
use super::weights::Weights;
use crate::query::parse::names;
use crate::query::parse::verbs::{self, Relation};
use crate::query::path_facts::{PathFacts, Place};
use crate::query::retrieve::{Candidate, Candidates};
use crate::query::view::View;

/// Affinity of a term that begins or ends a part of a path, as `map` in `keymap`.
const AFFIX_AFFINITY: f32 = 0.7;
/// Minimum length of such a term in bytes.
const MIN_AFFIX_BYTES: usize = 3;

/// Minimum size of an implementation as a share of its header's. If it is smaller, the header is the
/// implementation: sizes are logarithms, so a file of 300 tokens cannot implement a header of 20,000.
const MIN_IMPLEMENTATION_SIZE: f32 = 0.6;

/// Whether a file is a header, and whether it has an implementation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HeaderKind {
    /// No header, or one that is an implementation itself.
    #[default]
    None,
    /// Its implementation is among the candidates or in the same folder.
    Implemented,
    /// A header of C or C++ without such a file.
    Alone,
}

/// Extensions of headers of C and C++.
const C_HEADERS: [&[u8]; 4] = [b"h", b"hh", b"hpp", b"hxx"];

/// Extensions of headers, each with those of the files that implement its declarations.
const HEADERS: &[(&str, &[&str])] = &[
    ("h", &["c", "cc", "cpp", "cxx", "m", "mm"]),
    ("hh", &["cc", "cpp"]),
    ("hpp", &["cpp", "cc", "cxx"]),
    ("hxx", &["cxx", "cpp"]),
    ("mli", &["ml"]),
    ("rbi", &["rb"]),
    ("pyi", &["py"]),
];

/// The query, as far as paths are concerned.
pub struct PathQuery<'a> {
    /// Terms with their share of the total weight.
    terms: Vec<(&'a str, f32)>,
    /// Terms that are in the table of [`verbs`].
    verbs: Vec<&'a str>,
    /// Mean over the paths of all candidates.
    mean_cosine: f32,
    max_cosine: f32,
}

impl<'a> PathQuery<'a> {
    pub fn new(context: &Context<'a>, candidates: &Candidates) -> PathQuery<'a> {
        let max_idf = candidates.idf.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let Weights { path_rarity, path_common, .. } = *context.weights;

        let mut terms: Vec<(&str, f32)> = Vec::new();
        for (i, term) in context.query.terms.iter().enumerate() {
            // A term that no chunk has may still be in a path.
            let idf = candidates.idf.get(i).copied().filter(|&idf| idf > 0.0).unwrap_or(max_idf);
            let rarity = 1.0 - path_rarity + path_rarity * idf / max_idf;
            let rest = 1.0 - path_common * candidates.path_share.get(i).copied().unwrap_or(0.0);
            terms.push((term.term.as_str(), term.weight * rarity * rest));
        }
        let total = terms.iter().map(|(_, weight)| weight).sum::<f32>().max(f32::MIN_POSITIVE);
        terms.iter_mut().for_each(|(_, weight)| *weight /= total);

        let mut paths: Vec<(u32, f32)> = candidates.list.iter().map(|c| (c.doc, c.path_cosine)).collect();
        paths.sort_unstable_by_key(|(doc, _)| *doc);
        paths.dedup_by_key(|(doc, _)| *doc);
        // Doc ids depend on the history of the store, so the sum is made in the order of the cosines.
        paths.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
        let mean_cosine = paths.iter().map(|(_, cosine)| cosine).sum::<f32>() / paths.len().max(1) as f32;
        let max_cosine = paths.iter().map(|(_, cosine)| *cosine).fold(0.0, f32::max);

        // A report has many verbs.
        let words = context.query.terms.iter().map(|term| term.term.as_str());
        let verbs = words.filter(|word| !context.query.is_report && verbs::is_known(word)).collect();
        PathQuery { terms, verbs, mean_cosine, max_cosine }
    }

    /// Returns whether a path names an actor (`writers`) that does the opposite of a verb of the query, and
    /// none that does the same.
    pub fn is_opposite(&self, path: &PathFacts) -> bool {
        if self.verbs.is_empty() {
            return false;
        }

        let (mut is_asked, mut is_opposite) = (false, false);
        for (part, ..) in path.parts() {
            if !part.ends_with("er") && !part.ends_with("or") {
                continue;
            }
            let Some(deed) = verbs::deed_of(part).filter(|deed| !verbs::is_both_ways(deed)) else { continue };
            for verb in &self.verbs {
                is_asked |= deed == *verb || verbs::relation(&deed, verb) == Some(Relation::Same);
                is_opposite |= verbs::relation(&deed, verb) == Some(Relation::Opposite);
            }
        }
        is_opposite && !is_asked
    }

    /// Returns the weighted share of the query's terms that a path has, 0–1. Terms in folders count less than
    /// those in the file's name, and a name with other words counts less.
    pub fn share(&self, path: &PathFacts, weights: &Weights) -> f32 {
        let mut fits = vec![0.0f32; self.terms.len()];
        let (mut n_parts, mut n_fit) = (0.0f32, 0.0f32);

        for (part, place, names_the_file) in path.parts() {
            let place_weight = match place {
                Place::Name => 1.0,
                Place::Folder => weights.path_folders,
            };

            let mut best = 0.0f32;
            for ((term, _), fit) in self.terms.iter().zip(&mut fits) {
                let near = path_affinity(term, part);
                *fit = fit.max(near * place_weight);
                best = best.max(near);
            }

            if names_the_file {
                n_parts += 1.0;
                n_fit += best;
            }
        }

        let recall: f32 = self.terms.iter().zip(&fits).map(|((_, share), fit)| share * fit).sum();
        let precision = if n_parts > 0.0 { n_fit / n_parts } else { 0.0 };
        recall * (1.0 - weights.path_precision * (1.0 - precision))
    }

    /// Returns the cosine of a candidate's path above the mean of the candidates, as a share of the best
    /// candidate's, 0–1.
    pub fn relative_cosine(&self, candidate: &Candidate) -> f32 {
        share(candidate.path_cosine - self.mean_cosine, self.max_cosine - self.mean_cosine)
    }
}

/// Returns the affinity of [`affinity`], also for words that are written together (`key map`, `keymap`).
fn path_affinity(term: &str, part: &str) -> f32 {
    let near = affinity(term, part);
    if near > 0.0 {
        return near;
    }

    let is_affix = term.len() >= MIN_AFFIX_BYTES && (part.starts_with(term) || part.ends_with(term));
    if is_affix { AFFIX_AFFINITY } else { 0.0 }
}

/// Returns whether a file is named after the definition `name`, without its qualifiers.
pub fn is_named(path: &PathFacts, name: &str) -> bool {
    path.name == names::normalised(names::last_segment(name))
}

/// Returns the paths in the same folder that would implement a header at `path`; none for other files.
pub fn implementation_paths(path: &[u8]) -> Vec<Vec<u8>> {
    let Some((_, extension)) = split_name(path) else { return Vec::new() };
    let header = HEADERS.iter().find(|(header, _)| extension == header.as_bytes());
    let stem = &path[..path.len() - extension.len()];
    let extensions = header.into_iter().flat_map(|(_, extensions)| extensions.iter());
    extensions.map(|extension| [stem, extension.as_bytes()].concat()).collect()
}

/// Returns the file names, without folders and extensions, of the candidates that may implement a header,
/// with the [size](size_of) of the largest of each name.
pub fn implementations(context: &Context<'_>, candidates: &Candidates) -> FxHashMap<Vec<u8>, f32> {
    let mut docs: Vec<u32> = candidates.list.iter().map(|candidate| candidate.doc).collect();
    docs.dedup();

    let mut sizes: FxHashMap<Vec<u8>, f32> = FxHashMap::default();
    for (doc, id) in docs.iter().flat_map(|&doc| context.view.entries_of(doc).map(move |id| (doc, id))) {
        let (path, _) = context.view.entry(id);
        if let Some((name, _)) = split_name(path).filter(|(_, extension)| is_implementation(extension)) {
            let size = sizes.entry(name.to_vec()).or_default();
            *size = size.max(size_of(context.view, doc));
        }
    }

    sizes
}

/// Returns whether files with this extension implement headers.
fn is_implementation(extension: &[u8]) -> bool {
    HEADERS.iter().any(|(_, all)| all.iter().any(|known| known.as_bytes() == extension))
}

/// Returns the names of the files among the candidates whose paths name no platform.
pub fn neutral_names<'a>(context: &Context<'a>, candidates: &Candidates) -> FxHashSet<&'a [u8]> {
    let mut docs: Vec<u32> = candidates.list.iter().map(|candidate| candidate.doc).collect();
    docs.dedup();

    let view = context.view;
    let paths = docs.iter().flat_map(|&doc| view.entries_of(doc)).map(|id| view.entry(id).0);
    paths.filter(|path| context.paths.get(path).platform.is_none()).map(file_name).collect()
}

/// Returns whether `path`, with these facts, is for a platform that the query does not name, while a file of
/// the same name among the candidates is for any platform.
pub fn is_platform_variant(
    context: &Context<'_>,
    path: &[u8],
    facts: &PathFacts,
    neutral_names: &FxHashSet<&[u8]>,
) -> bool {
    facts.platform.is_some_and(|platform| {
        neutral_names.contains(file_name(path)) && !context.query.text.to_ascii_lowercase().contains(platform)
    })
}

fn file_name(path: &[u8]) -> &[u8] {
    &path[memchr::memrchr(b'/', path).map_or(0, |at| at + 1)..]
}

/// Returns whether `path` is a header of this `size`, and whether a file of the same name implements it: one
/// in `implementations`, as `src/a.cc` for `include/x/a.h`, or else one in the same folder. A header that is
/// much larger than the file in `implementations` is an implementation itself.
pub fn header_kind(
    view: &View,
    path: &[u8],
    size: f32,
    implementations: &FxHashMap<Vec<u8>, f32>,
) -> HeaderKind {
    let Some((name, extension)) = split_name(path) else { return HeaderKind::None };
    let Some((_, extensions)) = HEADERS.iter().find(|(header, _)| extension == header.as_bytes()) else {
        return HeaderKind::None;
    };

    if let Some(&implementation) = implementations.get(name) {
        let is_implemented = implementation >= MIN_IMPLEMENTATION_SIZE * size;
        return if is_implemented { HeaderKind::Implemented } else { HeaderKind::None };
    }

    // Looking up siblings is the costlier test, so it comes last.
    let stem = &path[..path.len() - extension.len()];
    let has_sibling = view
        .reader
        .paths_below(&view.snapshot.entries, stem)
        .any(|sibling| extensions.iter().any(|known| known.as_bytes() == &sibling[stem.len()..]));

    match has_sibling {
        true => HeaderKind::Implemented,
        false if C_HEADERS.contains(&extension) => HeaderKind::Alone,
        false => HeaderKind::None,
    }
}

/// Returns the file name of a path before and after its last dot; `None` without a dot.
fn split_name(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let name = path.rsplit(|&b| b == b'/').next()?;
    let dot = name.iter().rposition(|&b| b == b'.')?;
    Some((&name[..dot], &name[dot + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::path_facts::PathCache;

    #[test]
    fn names_are_split_at_their_last_dot() {
        assert_eq!(split_name(b"include/a.b/c.d.h"), Some((&b"c.d"[..], &b"h"[..])));
        assert_eq!(split_name(b"a.b/Makefile"), None);
    }

    #[test]
    fn index_files_have_the_name_of_their_folder() {
        for (path, name, expected) in [
            ("src/parser.rs", "Parser", true),
            ("src/parser/mod.rs", "Parser", true),
            ("src/parser/index.ts", "a::parser", true),
            ("src/parser/other.rs", "Parser", false),
            ("mod.rs", "Parser", false),
        ] {
            let facts = PathCache::default().get(path.as_bytes());
            assert_eq!(is_named(&facts, name), expected, "{path}");
        }
    }
}
