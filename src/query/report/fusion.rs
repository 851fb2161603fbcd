//! Fusion: one list of files from those of the parts of a report.

use super::evidence::{FileEvidence, Parts};
use crate::policy::PathFlags;
use crate::query::rank::RankedFile;
use crate::query::view::View;
use rustc_hash::FxHashMap;

/// Weights of the parts.
#[derive(Debug, Clone, Copy)]
pub struct PartWeights {
    pub title: f32,
    pub text: f32,
    pub title_rank: f32,
    pub text_rank: f32,
    pub frames: f32,
    pub paths: f32,
    pub modules: f32,
    pub messages: f32,
    pub names: f32,
    /// Factor for tests.
    pub test: f32,
    /// Factor for documents and data.
    pub document: f32,
}

/// The weights in use.
pub const WEIGHTS: PartWeights = PartWeights {
    title: 1.0,
    text: 1.0,
    title_rank: 0.3,
    text_rank: 0.3,
    frames: 1.0,
    paths: 0.5,
    modules: 0.3,
    messages: 0.5,
    names: 0.3,
    test: 0.5,
    document: 0.4,
};

/// Number of ranks over which the contribution of a rank halves.
const RANKS: f32 = 3.0;

/// What the parts of a report contribute to the score of a file, before its factor.
#[derive(Debug, Clone, Copy, Default, PartialEq, schemars::JsonSchema, serde::Serialize)]
pub struct PartScores {
    /// The title, as a query of its own.
    pub title: f32,
    /// The words of the whole text.
    pub text: f32,
    pub title_rank: f32,
    pub text_rank: f32,
    /// Frames of stack traces.
    pub frames: f32,
    /// Named paths.
    pub paths: f32,
    /// Named modules.
    pub modules: f32,
    /// Messages that the file has verbatim.
    pub messages: f32,
    /// Definitions of what is named.
    pub names: f32,
    /// Factor for tests, documents and data.
    pub factor: f32,
}

/// Joins the lists of the title and the text with the evidence. Best first; ties by path.
pub fn fuse(view: &View, title: Vec<RankedFile>, text: Vec<RankedFile>, found: &FileEvidence) -> Vec<RankedFile> {
    let by_title = shares(&title);
    let by_text = shares(&text);
    let relevance = |files: &[RankedFile]| files.first().map_or(0.0, |file| file.relevance);
    let most_relevant = relevance(&title).max(relevance(&text));
    let is_known = |file: &RankedFile| by_text.contains_key(&file.doc);
    let only_title: Vec<RankedFile> = title.into_iter().filter(|file| !is_known(file)).collect();
    let mut files: Vec<RankedFile> = text.into_iter().chain(only_title).collect();
    for file in &mut files {
        let of = |shares: &FxHashMap<u32, (f32, usize)>| {
            shares.get(&file.doc).map_or((0.0, 0.0), |&(share, rank)| (share, RANKS / (RANKS + rank as f32)))
        };
        let ((title, title_rank), (text, text_rank)) = (of(&by_title), of(&by_text));
        let parts = found.by_doc.get(&file.doc).copied().unwrap_or_default();
        let Parts { frames, paths, modules, messages, names } = parts;
        let w = WEIGHTS;
        let scores = PartScores {
            title: w.title * title,
            text: w.text * text,
            title_rank: w.title_rank * title_rank,
            text_rank: w.text_rank * text_rank,
            frames: w.frames * frames,
            paths: w.paths * paths,
            modules: w.modules * modules,
            messages: w.messages * messages,
            names: w.names * names,
            factor: factor(view, file),
        };
        file.explanation.score = scores.factor * scores.sum();
        file.explanation.parts = Some(scores);
    }
    let path = |file: &RankedFile| view.entry(file.entry).0;
    files.sort_by(|a, b| {
        b.explanation.score.total_cmp(&a.explanation.score).then_with(|| path(a).cmp(path(b)))
    });
    let best = files.first().map_or(0.0, |file| file.explanation.score).max(f32::MIN_POSITIVE);
    for file in &mut files {
        file.relevance = most_relevant * (file.explanation.score / best).clamp(0.0, 1.0).sqrt();
    }
    files
}

impl PartScores {
    fn sum(&self) -> f32 {
        self.title + self.text + self.title_rank + self.text_rank + self.frames + self.paths + self.modules
            + self.messages
            + self.names
    }
}

/// For each doc its share of the best score, and its rank from 0.
fn shares(files: &[RankedFile]) -> FxHashMap<u32, (f32, usize)> {
    let best = files.first().map_or(0.0, |file| file.explanation.score).max(f32::MIN_POSITIVE);
    let share = |file: &RankedFile| (file.explanation.score / best).clamp(0.0, 1.0);
    files.iter().enumerate().map(|(rank, file)| (file.doc, (share(file), rank))).collect()
}

/// Factor for what a file is, unless the request asks for it.
fn factor(view: &View, file: &RankedFile) -> f32 {
    let roles = file.features.file.roles;
    let _ = view;
    if roles.is_prose || roles.is_data || roles.flags.contains(PathFlags::DOCS) {
        WEIGHTS.document
    } else if roles.flags.contains(PathFlags::TEST) || roles.flags.contains(PathFlags::EXAMPLE) {
        WEIGHTS.test
    } else {
        1.0
    }
}

/// Kinds of evidence that found a candidate.
pub fn strategies(title: &[&'static str], text: &[&'static str]) -> Vec<&'static str> {
    let mut all = title.to_vec();
    all.extend(text.iter().filter(|name| !title.contains(name)));
    all
}
