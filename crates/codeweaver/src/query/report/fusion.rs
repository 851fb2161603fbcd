//! Fusion: one list of files from those of the parts of a report.

use rustc_hash::FxHashMap;

use codeweaver_index::policy::PathFlags;

use super::evidence::{FileEvidence, Parts};
use super::relevance::{self, AbsentTerms};
use crate::query::rank::RankedFile;
use crate::query::response::{PartScores, Strategy};
use crate::query::view::View;

/// Weights of the parts. Those of title and text are factors on the share that a file has of the best score
/// in the list of that part.
struct PartWeights {
    title: f32,
    text: f32,
    frames: f32,
    paths: f32,
    modules: f32,
    messages: f32,
    names: f32,
    /// Factor for tests and examples.
    test: f32,
    /// Factor for documents and data.
    document: f32,
}

/// The weights in use.
const WEIGHTS: PartWeights = PartWeights {
    title: 0.5,
    text: 0.65,
    frames: 1.0,
    paths: 0.6,
    modules: 0.5,
    messages: 0.5,
    names: 0.2,
    test: 0.5,
    document: 0.4,
};

/// Joins the lists of the title and the text with the evidence. Best first; ties by path.
pub fn fuse(
    view: &View,
    title: Vec<RankedFile>,
    text: Vec<RankedFile>,
    absent: AbsentTerms,
    found: &FileEvidence,
) -> Vec<RankedFile> {
    let by_title = shares(&title);
    let by_text = shares(&text);
    let evidence = relevance::evidence(&title, &text, absent);
    let has_vectors = title.iter().chain(&text).any(|file| file.evidence.cosine != 0.0);

    let only_title = title.into_iter().filter(|file| !by_text.contains_key(&file.doc));
    let only_title: Vec<RankedFile> = only_title.collect();
    let mut files: Vec<RankedFile> = text.into_iter().chain(only_title).collect();

    for file in &mut files {
        let share_in = |shares: &FxHashMap<u32, f32>| shares.get(&file.doc).copied().unwrap_or(0.0);
        let parts = found.by_doc.get(&file.doc).copied().unwrap_or_default();

        let Parts { frames, paths, modules, messages, names } = parts;
        let scores = PartScores {
            title: WEIGHTS.title * share_in(&by_title),
            text: WEIGHTS.text * share_in(&by_text),
            frames: WEIGHTS.frames * frames,
            paths: WEIGHTS.paths * paths,
            modules: WEIGHTS.modules * modules,
            messages: WEIGHTS.messages * messages,
            names: WEIGHTS.names * names,
            factor: factor(file),
        };

        file.explanation.score = scores.factor * scores.sum();
        file.explanation.parts = Some(scores);
        file.explanation.report = Some(evidence);
        file.reasons = found.reasons.get(&file.doc).cloned().unwrap_or_default();
    }

    files.sort_by(|a, b| {
        b.explanation
            .score
            .total_cmp(&a.explanation.score)
            .then_with(|| view.entry(a.entry).0.cmp(view.entry(b.entry).0))
    });

    let Some(first) = files.first() else { return files };
    let best = first.explanation.score.max(f32::MIN_POSITIVE);

    // Code that the report names by path or verbatim is meant, regardless of its other words.
    let named = found.by_doc.get(&first.doc).map_or(0.0, Parts::named);
    let most_relevant = 1.0 - (1.0 - relevance::probability(&evidence, has_vectors)) * (1.0 - 0.9 * named);
    for file in &mut files {
        file.relevance = most_relevant * (file.explanation.score / best).clamp(0.0, 1.0).sqrt();
    }

    files
}

/// Returns for each doc its share of the best score.
fn shares(files: &[RankedFile]) -> FxHashMap<u32, f32> {
    let best = files.first().map_or(0.0, |file| file.explanation.score).max(f32::MIN_POSITIVE);

    let mut shares = FxHashMap::default();
    for file in files {
        shares.insert(file.doc, (file.explanation.score / best).clamp(0.0, 1.0));
    }
    shares
}

/// Returns the factor for the role of a file, which is 1 if the request asks for that role.
fn factor(file: &RankedFile) -> f32 {
    let roles = file.features.file.roles;
    if roles.is_prose || roles.is_data || roles.flags.contains(PathFlags::DOCS) {
        WEIGHTS.document
    } else if roles.flags.contains(PathFlags::TEST) || roles.flags.contains(PathFlags::EXAMPLE) {
        WEIGHTS.test
    } else {
        1.0
    }
}

/// Returns the kinds of evidence that found a candidate, without duplicates.
pub fn strategies(title: &[Strategy], text: &[Strategy]) -> Vec<Strategy> {
    let mut all = title.to_vec();
    all.extend(text.iter().filter(|strategy| !title.contains(strategy)));
    all
}
