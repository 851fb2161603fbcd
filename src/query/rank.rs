//! Candidates → ranked files with their best chunks. No I/O here; the weights are one table.
//!
//! A file's score is its best chunk, plus what its other good chunks add, plus how well its path fits, times a prior for
//! its role (tests, examples, documentation, …). `docs/ranking.md` says what each signal is and what it is worth.

use super::candidates::{Candidate, Candidates};
use super::intent::{Intent, QueryIntent};
use super::view::View;
use crate::chunk::classes::TaskProfile;
use crate::chunk::{LanguageId, SemanticClass};
use crate::policy::PathFlags;
use crate::text::{self, QueryTerm};
use rustc_hash::FxHashMap;

/// The weights of all signals.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Weights {
    /// BM25, scaled so that the best candidate has 1.
    pub lexical: f32,
    /// Cosine above the mean, scaled so that the best candidate has 1.
    pub dense: f32,
    /// A definition of exactly what was asked for by name alone.
    pub definition: f32,
    /// The same for a name inside a sentence.
    pub definition_in_sentence: f32,
    /// Factor on the definition if the file is named after it.
    pub definition_in_own_file: f32,
    /// Sum over a file's chunks, scaled so that the best file has 1.
    pub file_sum: f32,
    /// Share of the query's words in file name and folder.
    pub path: f32,
    /// Importance of the chunk's class for the task.
    pub importance: f32,
    pub prior_test: f32,
    pub prior_example: f32,
    pub prior_docs: f32,
    pub prior_compat: f32,
    pub prior_bench: f32,
    pub prior_vendored: f32,
    pub prior_stub: f32,
    pub prior_reexport: f32,
    pub prior_data: f32,
    pub prior_prose: f32,
}

/// Found by hand on the development queries, starting from the feasibility study's.
pub const WEIGHTS: Weights = Weights {
    lexical: 0.5,
    dense: 0.5,
    definition: 3.0,
    definition_in_sentence: 1.5,
    definition_in_own_file: 1.5,
    file_sum: 0.5,
    path: 1.0,
    importance: 0.05,
    prior_test: 0.3,
    prior_example: 0.4,
    prior_docs: 0.5,
    prior_compat: 0.4,
    prior_bench: 0.5,
    prior_vendored: 0.6,
    prior_stub: 0.7,
    prior_reexport: 0.6,
    prior_data: 0.5,
    prior_prose: 0.5,
};

/// Chunks of a file that count towards its sum are among this many best.
const SUM_OVER: usize = 50;

/// How a score came about (`--explain`): `score` = (`chunk` + `file_sum` + `path`) × `prior` × `intent`.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Explanation {
    pub lexical: f32,
    pub dense: f32,
    pub definition: f32,
    pub importance: f32,
    pub file_sum: f32,
    pub path: f32,
    pub prior: f32,
    pub intent: f32,
    pub score: f32,
}

/// A file with its chunks, best first.
#[derive(Debug, Clone)]
pub struct RankedFile {
    /// The entry that is shown.
    pub entry: u32,
    pub doc: u32,
    /// Other paths with the same blob.
    pub also_at: Vec<u32>,
    pub chunks: Vec<Candidate>,
    pub explanation: Explanation,
    /// 0–1: how sure we are that this answers the question, comparable between questions.
    pub relevance: f32,
}

/// What ranking needs to know of the question.
pub struct Context<'a> {
    pub view: &'a View,
    pub terms: &'a [QueryTerm],
    pub identifiers: &'a [String],
    pub query: &'a str,
    pub intent: &'a QueryIntent,
    pub task: Option<TaskProfile>,
    pub weights: &'a Weights,
    /// Which of a blob's paths may be shown.
    pub passes: &'a dyn Fn(&[u8], PathFlags) -> bool,
}

/// Ranks files; ties by path.
pub fn rank(context: &Context<'_>, found: &Candidates) -> Vec<RankedFile> {
    let mut files = group(context, found);
    scale_file_sums(context, &mut files);
    for file in &mut files {
        finish(context, file);
    }
    files.sort_by(|a, b| {
        b.explanation
            .score
            .total_cmp(&a.explanation.score)
            .then_with(|| path(context, a).cmp(path(context, b)))
    });
    calibrate(context, found, &mut files);
    files
}

fn path<'a>(context: &'a Context<'_>, file: &RankedFile) -> &'a [u8] {
    context.view.entry(file.entry).0
}

struct ChunkScore {
    candidate: Candidate,
    explanation: Explanation,
}

impl ChunkScore {
    fn total(&self) -> f32 {
        let e = &self.explanation;
        e.lexical + e.dense + e.definition + e.importance
    }
}

fn group(context: &Context<'_>, found: &Candidates) -> Vec<RankedFile> {
    let mut by_doc: FxHashMap<u32, Vec<ChunkScore>> = FxHashMap::default();
    for scored in score_chunks(context, found) {
        by_doc.entry(scored.candidate.doc).or_default().push(scored);
    }
    let mut files = Vec::with_capacity(by_doc.len());
    for (doc, mut chunks) in by_doc {
        let Some((entry, also_at)) = best_entry(context, doc) else { continue };
        let start = |c: &ChunkScore| {
            context.view.reader.segments[c.candidate.id.segment as usize].rows()[c.candidate.id.row as usize]
                .start_byte
        };
        chunks.sort_by(|a, b| b.total().total_cmp(&a.total()).then_with(|| start(a).cmp(&start(b))));
        let explanation = chunks[0].explanation;
        let chunks = chunks.into_iter().map(|c| c.candidate).collect();
        files.push(RankedFile { entry, doc, also_at, chunks, explanation, relevance: 0.0 });
    }
    files.sort_by(|a, b| path(context, a).cmp(path(context, b)));
    files
}

fn score_chunks(context: &Context<'_>, found: &Candidates) -> Vec<ChunkScore> {
    let weights = context.weights;
    let max = |of: &dyn Fn(&Candidate) -> f32| found.list.iter().map(of).fold(0.0f32, f32::max);
    let max_bm25 = max(&|c| c.bm25);
    let max_dense = max(&|c| c.cosine - found.mean_cosine);
    let share = |value: f32, max: f32| if max > 0.0 { (value / max).clamp(0.0, 1.0) } else { 0.0 };
    let is_only_name = context.identifiers.len() == 1 && context.query.split_whitespace().count() == 1;
    let definition = if is_only_name { weights.definition } else { weights.definition_in_sentence };
    let task = context
        .task
        .or_else(|| context.intent.intent.filter(|_| context.intent.confidence == 1.0).map(Intent::task));
    let task = task.unwrap_or(TaskProfile::Default);
    found
        .list
        .iter()
        .map(|candidate| {
            let class = class_of(context.view, candidate);
            ChunkScore {
                candidate: candidate.clone(),
                explanation: Explanation {
                    lexical: weights.lexical * share(candidate.bm25, max_bm25),
                    dense: weights.dense * share(candidate.cosine - found.mean_cosine, max_dense),
                    definition: definition * candidate.definition,
                    importance: weights.importance * class.importance().weighted(task),
                    ..Explanation::default()
                },
            }
        })
        .collect()
}

/// Class of a candidate's chunk.
pub fn class_of(view: &View, candidate: &Candidate) -> SemanticClass {
    let row = &view.reader.segments[candidate.id.segment as usize].rows()[candidate.id.row as usize];
    SemanticClass::from_u8(row.class).unwrap_or(SemanticClass::Unknown)
}

/// Of several paths with the same blob, the one that fits best; the others are mentioned.
fn best_entry(context: &Context<'_>, doc: u32) -> Option<(u32, Vec<u32>)> {
    let view = context.view;
    let mut entries: Vec<u32> = view
        .entries_of(doc)
        .filter(|&id| {
            let (path, flags) = view.entry(id);
            (context.passes)(path, flags)
        })
        .collect();
    let score = |id: u32| {
        let (path, flags) = view.entry(id);
        prior(context, flags, "") * (1.0 + path_share(path, context.terms))
    };
    entries
        .sort_by(|&a, &b| score(b).total_cmp(&score(a)).then_with(|| view.entry(a).0.cmp(view.entry(b).0)));
    let first = *entries.first()?;
    Some((first, entries.split_off(1)))
}

fn scale_file_sums(context: &Context<'_>, files: &mut [RankedFile]) {
    let mut scores: Vec<(f32, usize)> = Vec::new();
    for (i, file) in files.iter().enumerate() {
        let e = &file.explanation;
        // Chunks below the best one count by their retrieval evidence; the first by its own score.
        let top = e.lexical + e.dense;
        let best = file.chunks.first().map_or(0.0, evidence).max(f32::MIN_POSITIVE);
        scores.extend(file.chunks.iter().map(|chunk| (top * evidence(chunk) / best, i)));
    }
    scores.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut sums = vec![0.0f32; files.len()];
    for (score, i) in scores.into_iter().take(SUM_OVER) {
        sums[i] += score;
    }
    let max = sums.iter().copied().fold(0.0, f32::max);
    for (file, sum) in files.iter_mut().zip(sums) {
        file.explanation.file_sum = if max > 0.0 { context.weights.file_sum * sum / max } else { 0.0 };
    }
}

fn evidence(candidate: &Candidate) -> f32 {
    candidate.bm25 + candidate.cosine.max(0.0)
}

fn finish(context: &Context<'_>, file: &mut RankedFile) {
    let (path, flags) = context.view.entry(file.entry);
    let best = &file.chunks[0];
    let segment = &context.view.reader.segments[best.id.segment as usize];
    let row = &segment.rows()[best.id.row as usize];
    let language = segment.docs().get(row.doc as usize).map_or("text", |doc| segment.language(doc.language));
    let e = &mut file.explanation;
    if e.definition > 0.0 && context.identifiers.iter().any(|name| is_stem_of(path, name)) {
        e.definition *= context.weights.definition_in_own_file;
    }
    e.path = context.weights.path * path_share(path, context.terms);
    e.prior = prior(context, flags, language);
    e.intent = match context.intent.intent.filter(|_| context.intent.confidence == 1.0) {
        Some(intent) => intent.factor(class_of(context.view, best)),
        None => 1.0,
    };
    e.score = (e.lexical + e.dense + e.definition + e.importance + e.file_sum + e.path) * e.prior * e.intent;
}

/// Role of the file, unless the question is about that role.
fn prior(context: &Context<'_>, flags: PathFlags, language: &str) -> f32 {
    let weights = context.weights;
    let about = |words: &[&str]| context.terms.iter().any(|term| words.contains(&term.term.as_str()));
    let wants_tests =
        context.intent.intent == Some(Intent::Test) || about(&["test", "spec", "fixture", "mock"]);
    let wants_docs = context.intent.intent == Some(Intent::Document)
        || about(&["doc", "docs", "readme", "changelog", "guide", "tutorial"]);
    let roles = [
        (PathFlags::TEST, weights.prior_test, wants_tests),
        (
            PathFlags::EXAMPLE,
            weights.prior_example,
            about(&["exampl", "example", "sample", "demo", "tutorial"]),
        ),
        (PathFlags::DOCS, weights.prior_docs, wants_docs),
        (
            PathFlags::COMPAT,
            weights.prior_compat,
            about(&["compat", "compatibility", "legacy", "deprecat", "polyfill"]),
        ),
        (PathFlags::BENCH, weights.prior_bench, about(&["bench", "benchmark", "perf", "performance"])),
        (PathFlags::VENDORED_LIKE, weights.prior_vendored, false),
        (PathFlags::STUB, weights.prior_stub, about(&["type", "stub", "declaration"])),
        (PathFlags::REEXPORT, weights.prior_reexport, about(&["export", "reexport", "index", "init"])),
    ];
    let by_role =
        roles.iter().filter(|(flag, _, wanted)| flags.contains(*flag) && !wanted).map(|(_, prior, _)| *prior);
    let mut prior = by_role.fold(1.0, f32::min);
    if let Some(language) = LanguageId::by_name(language) {
        let wants_config = context.intent.intent == Some(Intent::Configure);
        if language.is_prose() && !wants_docs {
            prior = prior.min(weights.prior_prose);
        } else if language.is_data() && !wants_config {
            prior = prior.min(weights.prior_data);
        }
    }
    prior
}

/// Share of the query's words that file name or folder begin with (or that begin with them).
fn path_share(path: &[u8], terms: &[QueryTerm]) -> f32 {
    let path = String::from_utf8_lossy(path);
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let parent = folder.rsplit('/').next().unwrap_or("");
    let mut words: Vec<String> = Vec::new();
    text::path_terms(name, &mut |term| words.push(term.to_owned()));
    text::path_terms(parent, &mut |term| words.push(term.to_owned()));
    let total: f32 = terms.iter().map(|term| term.weight).sum();
    let fits = |term: &str| {
        words.iter().any(|word| {
            word == term
                || (term.len() >= 3 && word.starts_with(term))
                || (word.len() >= 4 && term.starts_with(word.as_str()))
        })
    };
    let hit: f32 = terms.iter().filter(|term| fits(&term.term)).map(|term| term.weight).sum();
    if total > 0.0 { hit / total } else { 0.0 }
}

fn is_stem_of(path: &[u8], name: &str) -> bool {
    let plain = |text: &str| {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>()
    };
    let path = String::from_utf8_lossy(path);
    let file = path.rsplit('/').next().unwrap_or(&path);
    let stem = file.split('.').next().unwrap_or(file);
    let last = name.rsplit([':', '.', '#', '/', '>']).next().unwrap_or(name);
    plain(stem) == plain(last)
}

/// Turns scores, which compare only within one question, into relevances that compare between questions.
///
/// The best file is judged by absolute evidence: how much of the question its chunks cover, how near they are, and
/// whether they define what was named. The others follow in proportion to their scores.
fn calibrate(context: &Context<'_>, found: &Candidates, files: &mut [RankedFile]) {
    let Some(best) = files.first() else { return };
    let top = best.explanation.score.max(f32::MIN_POSITIVE);
    let strongest = |of: &dyn Fn(&Candidate) -> f32| best.chunks.iter().map(of).fold(0.0f32, f32::max);
    let coverage = strongest(&|c| c.coverage);
    let nearness =
        ((strongest(&|c| c.cosine) - found.mean_cosine) / (1.0 - found.mean_cosine).max(0.1)).clamp(0.0, 1.0);
    let definition = strongest(&|c| c.definition);
    let path = best.explanation.path / context.weights.path.max(f32::MIN_POSITIVE);
    let doubt = (1.0 - 0.75 * coverage * coverage)
        * (1.0 - 0.5 * nearness)
        * (1.0 - 0.9 * definition)
        * (1.0 - 0.4 * path);
    let sure = (1.0 - doubt).clamp(0.0, 1.0);
    for file in files {
        file.relevance = (sure * file.explanation.score / top).clamp(0.0, 1.0);
    }
}
