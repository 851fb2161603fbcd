//! Candidates → ranked files with their best chunks. No I/O here; the weights are one table.
//!
//! A file's score is its best chunk, plus what the file has as a whole, plus how well its path fits, times a prior for its
//! role (tests, examples, documentation, …). `docs/ranking.md` says what each signal is and what it is worth.

use super::candidates::{Candidate, Candidates, mention_fit};
use super::definitions::{self, Wanted};
use super::intent::{Intent, QueryIntent};
use super::view::View;
use crate::chunk::classes::TaskProfile;
use crate::chunk::{LanguageId, SemanticClass};
use crate::policy::PathFlags;
use crate::store::postings::Field;
use crate::store::segment::RowRecord;
use crate::text::{self, Mention, QueryTerm, TermKind, affinity};
use rustc_hash::FxHashMap;

/// The weights of all signals.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Weights {
    /// BM25 (Robertson and Zaragoza 2009) of chunks: saturation of the frequency, and how much length counts.
    pub k1: f32,
    pub b: f32,
    /// Weight of a match in names of definitions, in documentation, in enclosing names; 1 in the body.
    pub field_symbol: f32,
    pub field_doc: f32,
    pub field_enclosing: f32,
    /// BM25 of files.
    pub file_k1: f32,
    pub file_b: f32,

    /// BM25 of the chunk, scaled so that the best candidate has 1.
    pub lexical: f32,
    /// Cosine above the mean, scaled so that the best candidate has 1.
    pub dense: f32,
    /// A definition of exactly what was asked for by name alone.
    pub definition: f32,
    /// The same for a name inside a sentence.
    pub definition_in_sentence: f32,
    /// Factor on the definition if the file is named after it.
    pub definition_in_own_file: f32,
    /// Importance of the chunk's class for the task.
    pub importance: f32,

    /// Sum over a file's chunks, scaled so that the best file has 1.
    pub file_sum: f32,
    /// BM25 of the file as a whole, scaled so that the best file has 1.
    pub file_lexical: f32,
    /// Share of the question's words in the path.
    pub path: f32,
    /// Nearness of the path as a whole, scaled so that the nearest has 1.
    pub path_dense: f32,
    /// How much rarity decides what a word counts for the path, 0..1.
    pub path_rarity: f32,
    /// A word in the folder of the file, and in folders above, as against one in its name.
    pub path_parent: f32,
    pub path_folders: f32,
    /// How much a path loses whose name has other words, 0..1.
    pub path_precision: f32,
    /// How much less a word counts that stands in all paths, 0..1.
    pub path_common: f32,
    /// The question names the file.
    pub mention: f32,
    /// 1; with 0 chunks are ranked alone, by their likeness only.
    pub whole_files: f32,
    /// Chunks of a file that count towards its sum are among this many best.
    pub sum_over: f32,
    /// Tokens at which a chunk's likeness to the question counts half: a few words are like many questions.
    pub small_chunk: f32,

    pub prior_test: f32,
    pub prior_example: f32,
    pub prior_docs: f32,
    pub prior_compat: f32,
    pub prior_bench: f32,
    pub prior_vendored: f32,
    pub prior_stub: f32,
    pub prior_reexport: f32,
    /// A header whose implementation lies beside it.
    pub prior_header: f32,
    pub prior_data: f32,
    pub prior_prose: f32,
}

/// Found by hand on those development repositories that are not kept aside, starting from the feasibility study's.
pub const WEIGHTS: Weights = Weights {
    k1: 1.0,
    b: 0.75,
    field_symbol: 0.9,
    field_doc: 0.3,
    field_enclosing: 0.4,
    file_k1: 1.2,
    file_b: 0.75,
    lexical: 0.65,
    dense: 0.5,
    definition: 2.5,
    definition_in_sentence: 1.5,
    definition_in_own_file: 2.0,
    importance: 0.05,
    file_sum: 0.4,
    file_lexical: 0.2,
    path: 2.0,
    path_dense: 0.25,
    path_rarity: 0.25,
    path_parent: 0.5,
    path_folders: 0.4,
    path_precision: 0.5,
    path_common: 0.3,
    mention: 3.0,
    whole_files: 1.0,
    sum_over: 50.0,
    small_chunk: 15.0,
    prior_test: 0.3,
    prior_example: 0.4,
    prior_docs: 0.5,
    prior_compat: 0.4,
    prior_bench: 0.5,
    prior_vendored: 0.6,
    prior_stub: 0.7,
    prior_reexport: 0.6,
    prior_header: 0.7,
    prior_data: 0.5,
    prior_prose: 0.5,
};

impl Weights {
    /// Weight of a term in `field` of a chunk.
    pub fn field(&self, field: Field) -> f32 {
        match field {
            Field::Body | Field::Path => 1.0,
            Field::Symbol => self.field_symbol,
            Field::Doc => self.field_doc,
            Field::Enclosing => self.field_enclosing,
        }
    }
}

/// Nearness that a question nobody answers here reaches as well.
const CHANCE_NEARNESS: f32 = 0.15;
/// Nearness that is as good as certain.
const CERTAIN_NEARNESS: f32 = 0.5;
/// A file of this size that is named like an index of exports has as much of its own.
const REEXPORT_BYTES: f32 = 8192.0;
/// Names of files that stand for their folder.
const FOLDER_NAMES: &[&str] = &["mod", "index", "lib", "main", "__init__", "init", "default"];
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

/// How a score came about (`--explain`):
/// `score` = (`lexical` + `dense` + `definition` + `importance` of the best chunk
/// plus `file_sum` + `file_lexical` + `path` + `mention`) × `prior` × `intent`.
#[derive(Debug, Clone, Copy, Default, PartialEq, schemars::JsonSchema, serde::Serialize)]
pub struct Explanation {
    pub lexical: f32,
    pub dense: f32,
    pub definition: f32,
    pub importance: f32,
    pub file_sum: f32,
    pub file_lexical: f32,
    pub path: f32,
    pub mention: f32,
    pub prior: f32,
    pub intent: f32,
    pub score: f32,
}

impl Explanation {
    fn chunk(&self) -> f32 {
        self.lexical + self.dense + self.definition + self.importance
    }

    fn file(&self) -> f32 {
        self.file_sum + self.file_lexical + self.path + self.mention
    }
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
    pub names: &'a [Wanted],
    pub mentions: &'a [Mention],
    pub query: &'a str,
    pub intent: &'a QueryIntent,
    pub task: Option<TaskProfile>,
    pub weights: &'a Weights,
    /// Which of a blob's paths may be shown.
    pub passes: &'a dyn Fn(&[u8], PathFlags) -> bool,
}

/// Ranks files; ties by path.
pub fn rank(context: &Context<'_>, found: &Candidates) -> Vec<RankedFile> {
    let words = Words::new(context, found);
    let mut files = group(context, found, &words);
    for file in &mut files {
        finish(context, found, &words, file);
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

/// Ranks chunks by their likeness alone, each as if it were a file: what the signals are worth by themselves.
pub fn chunks(context: &Context<'_>, found: &Candidates) -> Vec<RankedFile> {
    let words = Words::new(context, found);
    let mut scored = score_chunks(context, found);
    let likeness = |scored: &ChunkScore| {
        let explanation = &scored.explanation;
        explanation.lexical + explanation.dense + path_nearness(context, &words, &scored.candidate)
    };
    scored.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    let alone = |scored: ChunkScore| {
        let (entry, also_at) = best_entry(context, scored.candidate.doc, &words)?;
        let score = likeness(&scored);
        let explanation = Explanation { score, ..scored.explanation };
        let doc = scored.candidate.doc;
        Some(RankedFile { entry, doc, also_at, chunks: vec![scored.candidate], explanation, relevance: 0.0 })
    };
    scored.into_iter().filter_map(alone).collect()
}

fn path<'a>(context: &'a Context<'_>, file: &RankedFile) -> &'a [u8] {
    context.view.entry(file.entry).0
}

/// The question's words with their share of its weight, for paths.
struct Words<'a> {
    terms: Vec<(&'a str, f32)>,
    /// BM25 of the best file.
    max_file: f32,
    /// Nearness of paths to the question: mean and best.
    path_nearness: (f32, f32),
}

impl<'a> Words<'a> {
    fn new(context: &Context<'a>, found: &Candidates) -> Words<'a> {
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

struct ChunkScore {
    candidate: Candidate,
    explanation: Explanation,
}

fn group(context: &Context<'_>, found: &Candidates, words: &Words<'_>) -> Vec<RankedFile> {
    let scored = score_chunks(context, found);
    let sums = file_sums(context.weights, &scored);
    let mut by_doc: FxHashMap<u32, Vec<ChunkScore>> = FxHashMap::default();
    for scored in scored {
        by_doc.entry(scored.candidate.doc).or_default().push(scored);
    }
    let mut files = Vec::with_capacity(by_doc.len());
    for (doc, mut chunks) in by_doc {
        let Some((entry, also_at)) = best_entry(context, doc, words) else { continue };
        let (path, _) = context.view.entry(entry);
        // The line that was asked about comes first, then the best.
        let order = |c: &ChunkScore| {
            (
                !has_mentioned_line(context, &c.candidate, path),
                -c.explanation.chunk(),
                row_of(context.view, &c.candidate).start_byte,
            )
        };
        chunks.sort_by(|a, b| {
            let (a, b) = (order(a), order(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
        });
        let mut explanation = chunks[0].explanation;
        explanation.file_sum = sums.get(&doc).copied().unwrap_or(0.0);
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
    let is_only_name = context.query.split_whitespace().count() == 1;
    let definition = if is_only_name { weights.definition } else { weights.definition_in_sentence };
    let task = context
        .task
        .or_else(|| context.intent.intent.filter(|_| context.intent.confidence == 1.0).map(Intent::task));
    let task = task.unwrap_or(TaskProfile::Default);
    let score = |candidate: &Candidate| {
        let class = class_of(context.view, candidate);
        let tokens = row_of(context.view, candidate).token_count as f32;
        let size = tokens / (tokens + weights.small_chunk).max(1.0);
        ChunkScore {
            candidate: candidate.clone(),
            explanation: Explanation {
                lexical: weights.lexical * size * share(candidate.bm25, max_bm25),
                dense: weights.dense * size * share(candidate.cosine - found.mean_cosine, max_dense),
                definition: definition * candidate.definition,
                importance: weights.importance * class.importance().weighted(task),
                ..Explanation::default()
            },
        }
    };
    found.list.iter().map(score).collect()
}

fn share(value: f32, max: f32) -> f32 {
    if max > 0.0 { (value / max).clamp(0.0, 1.0) } else { 0.0 }
}

fn row_of<'a>(view: &'a View, candidate: &Candidate) -> &'a RowRecord {
    &view.reader.segments[candidate.id.segment as usize].rows()[candidate.id.row as usize]
}

/// Class of a candidate's chunk.
pub fn class_of(view: &View, candidate: &Candidate) -> SemanticClass {
    SemanticClass::from_u8(row_of(view, candidate).class).unwrap_or(SemanticClass::Unknown)
}

/// Of several paths with the same blob, the one that fits best; the others are mentioned.
fn best_entry(context: &Context<'_>, doc: u32, words: &Words<'_>) -> Option<(u32, Vec<u32>)> {
    let view = context.view;
    let mut entries: Vec<u32> = view
        .entries_of(doc)
        .filter(|&id| {
            let (path, flags) = view.entry(id);
            (context.passes)(path, flags)
        })
        .collect();
    if entries.len() > 1 {
        let score = |id: u32| {
            let (path, flags) = view.entry(id);
            prior(context, flags, "")
                * (1.0 + path_share(path, words, context.weights) + mention_share(path, context.mentions))
        };
        entries.sort_by(|&a, &b| {
            score(b).total_cmp(&score(a)).then_with(|| view.entry(a).0.cmp(view.entry(b).0))
        });
    }
    let first = *entries.first()?;
    Some((first, entries.split_off(1)))
}

/// What the chunks of each doc add up to, among the best of all, scaled so that the best doc has the full weight.
fn file_sums(weights: &Weights, chunks: &[ChunkScore]) -> FxHashMap<u32, f32> {
    // In the order of the candidates, which is the same however the store is segmented.
    let mut order: Vec<usize> = (0..chunks.len()).collect();
    let evidence = |i: usize| chunks[i].explanation.lexical + chunks[i].explanation.dense;
    order.sort_by(|&a, &b| evidence(b).total_cmp(&evidence(a)).then(a.cmp(&b)));
    let mut sums: FxHashMap<u32, f32> = FxHashMap::default();
    for i in order.into_iter().take(weights.sum_over as usize) {
        *sums.entry(chunks[i].candidate.doc).or_default() += evidence(i);
    }
    let max = sums.values().copied().fold(0.0, f32::max);
    sums.values_mut().for_each(|sum| *sum = weights.file_sum * share(*sum, max));
    sums
}

fn finish(context: &Context<'_>, found: &Candidates, words: &Words<'_>, file: &mut RankedFile) {
    let weights = context.weights;
    let (path, flags) = context.view.entry(file.entry);
    let best = &file.chunks[0];
    let segment = &context.view.reader.segments[best.id.segment as usize];
    let row = &segment.rows()[best.id.row as usize];
    let record = segment.docs().get(row.doc as usize);
    let language = record.map_or("text", |doc| segment.language(doc.language));
    let blob_bytes = record.map_or(0, |doc| doc.blob_bytes);
    let whole = found.files.get(&file.doc).copied().unwrap_or_default();
    let e = &mut file.explanation;
    if e.definition > 0.0 && context.names.iter().any(|name| is_stem_of(path, &name.name)) {
        e.definition *= weights.definition_in_own_file;
    }
    e.file_lexical = weights.file_lexical * share(whole.bm25, words.max_file);
    if !found.idf.is_empty() {
        // Where only vectors are compared, words of the path are no evidence either.
        e.path = weights.path * path_share(path, words, weights) + path_nearness(context, words, best);
        e.mention = weights.mention * mention_share(path, context.mentions);
    }
    e.prior = prior(context, flags, language);
    if flags.contains(PathFlags::REEXPORT) && e.prior == weights.prior_reexport {
        // A large file of such a name is not only there for its exports.
        let rest = 1.0 - e.prior;
        e.prior += rest * (blob_bytes as f32 / REEXPORT_BYTES).min(1.0);
    }
    if weights.prior_header < 1.0 && has_implementation(context.view, path) {
        e.prior *= weights.prior_header;
    }
    e.intent = match context.intent.intent.filter(|_| context.intent.confidence == 1.0) {
        Some(intent) => intent.factor(class_of(context.view, best)),
        None => 1.0,
    };
    e.score = (e.chunk() + e.file()) * e.prior * e.intent;
}

/// Whether what a header declares is implemented beside it.
fn has_implementation(view: &View, path: &[u8]) -> bool {
    let Some(dot) = path.iter().rposition(|&b| b == b'.') else { return false };
    let Some((_, implementations)) = HEADERS.iter().find(|(header, _)| path[dot + 1..] == *header.as_bytes())
    else {
        return false;
    };
    implementations.iter().any(|extension| {
        let sibling = [&path[..=dot], extension.as_bytes()].concat();
        view.reader.find_entry(&view.snapshot.entries, &sibling).is_some()
    })
}

/// Whether the question names a line of this chunk.
fn has_mentioned_line(context: &Context<'_>, candidate: &Candidate, path: &[u8]) -> bool {
    let row = row_of(context.view, candidate);
    context.mentions.iter().any(|mention| {
        mention.line.is_some_and(|line| (row.start_line..=row.end_line).contains(&line))
            && mention_fit(mention, path) > 0.0
    })
}

fn mention_share(path: &[u8], mentions: &[Mention]) -> f32 {
    mentions.iter().map(|mention| mention_fit(mention, path)).fold(0.0, f32::max)
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

/// Share of the question's words that the path has, most in the file's name.
fn path_share(path: &[u8], words: &Words<'_>, weights: &Weights) -> f32 {
    let path = String::from_utf8_lossy(path);
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let (above, parent) = folders.rsplit_once('/').unwrap_or(("", folders));
    let mut fits = vec![0.0f32; words.terms.len()];
    let (mut n_parts, mut n_fit) = (0.0f32, 0.0f32);
    let mut place = |text: &str, place_weight: f32, is_name: bool| {
        if place_weight == 0.0 {
            return;
        }
        let mut visit = |part: &str, kind: TermKind| {
            let mut best = 0.0f32;
            for ((term, _), fit) in words.terms.iter().zip(&mut fits) {
                let near = path_affinity(term, part);
                *fit = fit.max(near * place_weight);
                best = best.max(near);
            }
            if is_name && !matches!(kind, TermKind::Whole | TermKind::Prefix) {
                n_parts += 1.0;
                n_fit += best;
            }
        };
        text::visit_terms(text, &mut visit);
    };
    let stands_for_folder = FOLDER_NAMES.contains(&file_stem(name));
    place(file_stem(name), 1.0, !stands_for_folder);
    place(parent, if stands_for_folder { 1.0 } else { weights.path_parent }, stands_for_folder);
    place(above, weights.path_folders, false);
    let recall: f32 = words.terms.iter().zip(&fits).map(|((_, share), fit)| share * fit).sum();
    let precision = if n_parts > 0.0 { n_fit / n_parts } else { 0.0 };
    recall * (1.0 - weights.path_precision * (1.0 - precision))
}

/// How near the path of a candidate is to the question, above the mean and as a share of the nearest.
fn path_nearness(context: &Context<'_>, words: &Words<'_>, candidate: &Candidate) -> f32 {
    let (mean, nearest) = words.path_nearness;
    context.weights.path_dense * share(candidate.path_cosine - mean, nearest - mean)
}

/// [`affinity`], and names that are written together (`key map`, `keymap`).
fn path_affinity(term: &str, part: &str) -> f32 {
    let near = affinity(term, part);
    if near > 0.0 {
        return near;
    }
    if term.len() >= 3 && (part.starts_with(term) || part.ends_with(term)) { 0.7 } else { 0.0 }
}

/// A file's name without its extension.
fn file_stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}

fn is_stem_of(path: &[u8], name: &str) -> bool {
    let plain = |text: &str| {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>()
    };
    let path = String::from_utf8_lossy(path);
    let file = path.rsplit('/').next().unwrap_or(&path);
    let stem = file_stem(file);
    let folder = path.rsplit('/').nth(1).filter(|_| FOLDER_NAMES.contains(&stem));
    let stem = folder.unwrap_or(stem);
    plain(stem) == plain(definitions::last_of(name))
}

/// Turns scores, which compare only within one question, into relevances that compare between questions.
///
/// The best file is judged by absolute evidence: how much of the question its chunks cover, how near they are, and whether
/// they define what was named. The others follow by the square root of their share of its score: a use of a name scores
/// far below its definition and is still an answer.
fn calibrate(context: &Context<'_>, found: &Candidates, files: &mut [RankedFile]) {
    let Some(first) = files.first() else { return };
    let (sure, top) = (sureness(context, found, first), first.explanation.score.max(f32::MIN_POSITIVE));
    for file in files {
        file.relevance = sure * (file.explanation.score / top).clamp(0.0, 1.0).sqrt();
    }
}

/// How sure it is that a file answers the question, 0–1.
fn sureness(context: &Context<'_>, found: &Candidates, file: &RankedFile) -> f32 {
    let strongest = |of: &dyn Fn(&Candidate) -> f32| file.chunks.iter().map(of).fold(0.0f32, f32::max);
    let coverage = strongest(&|c| c.coverage);
    let nearness =
        ((strongest(&|c| c.cosine) - found.mean_cosine) / (1.0 - found.mean_cosine).max(0.1)).clamp(0.0, 1.0);
    let definition = strongest(&|c| c.definition);
    let path = file.explanation.path / context.weights.path.max(f32::MIN_POSITIVE);
    let mention = file.explanation.mention / context.weights.mention.max(f32::MIN_POSITIVE);
    let by_nearness = if found.idf.is_empty() {
        // Nothing but vectors was compared: what two unrelated texts have in common by chance is no evidence.
        (nearness - CHANCE_NEARNESS) / (CERTAIN_NEARNESS - CHANCE_NEARNESS)
    } else {
        0.5 * nearness
    };
    let evidence = [0.75 * coverage * coverage, by_nearness, 0.9 * definition, 0.4 * path, 0.9 * mention];
    1.0 - evidence.iter().map(|evidence| 1.0 - evidence.clamp(0.0, 1.0)).product::<f32>()
}
