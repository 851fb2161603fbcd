//! Candidates → ranked files with their best chunks. No I/O here; the weights are one table.
//!
//! A file's score is its best chunk, plus what the file has as a whole, plus how well its path fits, times a prior for its
//! role (tests, examples, documentation, …). `docs/ranking.md` says what each signal is and what it is worth.

pub mod calibration;
pub mod features;
pub mod near_duplicates;
pub mod path_features;
pub mod weights;

use super::parse::intent::{Intent, QueryIntent};
use super::path_facts::PathMemory;
use super::retrieve::symbols::Wanted;
use super::retrieve::{Candidate, Candidates, mention_fit};
use super::view::View;
use crate::chunk::classes::TaskProfile;
use crate::chunk::{LanguageId, SemanticClass};
use crate::policy::PathFlags;
use crate::store::segment::RowRecord;
use crate::text::{Mention, QueryTerm};
use calibration::calibrate;
use features::FileEvidence;
use near_duplicates::NearDuplicate;
use path_features::{Words, has_implementation, is_named, mention_share, path_nearness, path_share};
use rustc_hash::FxHashSet;
pub use weights::{WEIGHTS, Weights};

/// A file of this size that is named like an index of exports has as much of its own.
const REEXPORT_BYTES: f32 = 8192.0;

/// How a score came about (`--explain`): each signal with its weight.
/// `score` = the sum of all × `prior` × `intent`. `lexical`, `dense`, `definition` and `importance` are those of the best
/// chunk, the others those of the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, schemars::JsonSchema, serde::Serialize)]
pub struct Explanation {
    pub lexical: f32,
    pub dense: f32,
    pub definition: f32,
    pub importance: f32,
    pub file_sum: f32,
    pub second_chunk: f32,
    pub file_lexical: f32,
    pub size: f32,
    pub path: f32,
    pub path_dense: f32,
    /// Not above 0.
    pub depth: f32,
    /// Not above 0.
    pub name_words: f32,
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
        self.file_sum
            + self.second_chunk
            + self.file_lexical
            + self.size
            + self.path
            + self.path_dense
            + self.depth
            + self.name_words
            + self.mention
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
    /// Files that say nearly the same, and rank below it.
    pub near_duplicates: Vec<NearDuplicate>,
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
    pub paths: &'a PathMemory,
    /// Which of a blob's paths may be shown.
    pub passes: &'a dyn Fn(&[u8], PathFlags) -> bool,
}

/// Ranks files; ties by path.
pub fn rank(context: &Context<'_>, found: &Candidates) -> Vec<RankedFile> {
    let words = Words::new(context, found);
    let scored = score_chunks(context, found);
    let evidence = features::of_files(context, &scored);
    let implemented = path_features::implemented(context, found);
    let mut files = group(context, scored, &words);
    for file in &mut files {
        let evidence = evidence.get(&file.doc).copied().unwrap_or_default();
        finish(context, found, &words, evidence, &implemented, file);
    }
    files.sort_by(|a, b| {
        b.explanation
            .score
            .total_cmp(&a.explanation.score)
            .then_with(|| path(context, a).cmp(path(context, b)))
    });
    calibrate(context, found, &words, &mut files);
    files
}

/// Ranks chunks by their likeness alone, each as if it were a file: what the signals are worth by themselves.
pub fn chunks(context: &Context<'_>, found: &Candidates) -> Vec<RankedFile> {
    let words = Words::new(context, found);
    let mut scored = score_chunks(context, found);
    let likeness = |scored: &ChunkScore| {
        let explanation = &scored.explanation;
        let by_path = context.weights.path_dense * path_nearness(&words, &scored.candidate);
        explanation.lexical + explanation.dense + by_path
    };
    scored.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    let alone = |scored: ChunkScore| {
        let (entry, also_at) = best_entry(context, scored.candidate.doc, &words)?;
        let score = likeness(&scored);
        let explanation = Explanation { score, ..scored.explanation };
        let doc = scored.candidate.doc;
        Some(RankedFile {
            entry,
            doc,
            also_at,
            near_duplicates: Vec::new(),
            chunks: vec![scored.candidate],
            explanation,
            relevance: 0.0,
        })
    };
    scored.into_iter().filter_map(alone).collect()
}

fn path<'a>(context: &'a Context<'_>, file: &RankedFile) -> &'a [u8] {
    context.view.entry(file.entry).0
}

/// A candidate with the signals of its own.
pub struct ChunkScore {
    pub candidate: Candidate,
    pub explanation: Explanation,
}

/// Files with their chunks, in no order.
fn group(context: &Context<'_>, mut scored: Vec<ChunkScore>, words: &Words<'_>) -> Vec<RankedFile> {
    scored.sort_by_key(|chunk| chunk.candidate.doc);
    let mut files = Vec::new();
    for chunks in scored.chunk_by_mut(|a, b| a.candidate.doc == b.candidate.doc) {
        let doc = chunks[0].candidate.doc;
        let Some((entry, also_at)) = best_entry(context, doc, words) else { continue };
        let (path, _) = context.view.entry(entry);
        // The line that was asked about comes first, then the best.
        let order = |c: &ChunkScore| {
            let place = row_of(context.view, &c.candidate).start_byte;
            (!has_mentioned_line(context, &c.candidate, path), -c.explanation.chunk(), place)
        };
        chunks.sort_by(|a, b| {
            let (a, b) = (order(a), order(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
        });
        let explanation = chunks[0].explanation;
        let chunks = chunks.iter().map(|chunk| chunk.candidate.clone()).collect();
        files.push(RankedFile {
            entry,
            doc,
            also_at,
            near_duplicates: Vec::new(),
            chunks,
            explanation,
            relevance: 0.0,
        });
    }
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

/// `value` as a share of `max`, 0–1.
pub fn share(value: f32, max: f32) -> f32 {
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
        let scored = entries.iter().map(|&id| {
            let (path, flags) = view.entry(id);
            let share = path_share(&context.paths.of(path), words, context.weights);
            (prior(context, flags, "") * (1.0 + share + mention_share(path, context.mentions)), path, id)
        });
        let mut scored: Vec<(f32, &[u8], u32)> = scored.collect();
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        entries = scored.into_iter().map(|(_, _, id)| id).collect();
    }
    let first = *entries.first()?;
    Some((first, entries.split_off(1)))
}

fn finish(
    context: &Context<'_>,
    found: &Candidates,
    words: &Words<'_>,
    evidence: FileEvidence,
    implemented: &FxHashSet<Vec<u8>>,
    file: &mut RankedFile,
) {
    let weights = context.weights;
    let (path, flags) = context.view.entry(file.entry);
    let facts = context.paths.of(path);
    let best = &file.chunks[0];
    let segment = &context.view.reader.segments[best.id.segment as usize];
    let row = &segment.rows()[best.id.row as usize];
    let record = segment.docs().get(row.doc as usize);
    let language = record.map_or("text", |doc| segment.language(doc.language));
    let blob_bytes = record.map_or(0, |doc| doc.blob_bytes);
    let whole = found.files.get(&file.doc).copied().unwrap_or_default();
    let e = &mut file.explanation;
    if e.definition > 0.0 && context.names.iter().any(|name| is_named(&facts, &name.name)) {
        e.definition *= weights.definition_in_own_file;
    }
    e.file_sum = weights.file_sum * evidence.sum;
    e.second_chunk = weights.second_chunk * evidence.second;
    e.file_lexical = weights.file_lexical * share(whole.bm25, words.max_file);
    e.size = weights.size * size_of(context.view, file.doc);
    e.depth = -weights.depth * facts.folders;
    e.name_words = -weights.name_words * facts.name_words;
    if !found.idf.is_empty() {
        // Where only vectors are compared, words of the path are no evidence either.
        e.path = weights.path * path_share(&facts, words, weights);
        e.path_dense = weights.path_dense * path_nearness(words, best);
        e.mention = weights.mention * mention_share(path, context.mentions);
    }
    e.prior = prior(context, flags, language);
    if flags.contains(PathFlags::REEXPORT) && e.prior == weights.prior_reexport {
        // A large file of such a name is not only there for its exports.
        let rest = 1.0 - e.prior;
        e.prior += rest * (blob_bytes as f32 / REEXPORT_BYTES).min(1.0);
    }
    if weights.prior_header < 1.0 && has_implementation(context, path, implemented) {
        e.prior *= weights.prior_header;
    }
    e.intent = match context.intent.intent.filter(|_| context.intent.confidence == 1.0) {
        Some(intent) => intent.factor(class_of(context.view, best)),
        None => 1.0,
    };
    e.score = (e.chunk() + e.file()) * e.prior * e.intent;
}

/// ln(1 + tokens) / 10 of a whole file.
fn size_of(view: &View, doc: u32) -> f32 {
    let Some((s, ordinal)) = view.reader.locate_doc(doc) else { return 0.0 };
    let segment = &view.reader.segments[s];
    let rows = segment.doc_rows(ordinal);
    let rows = segment.rows().get(rows.start as usize..rows.end as usize).unwrap_or(&[]);
    let tokens: u64 = rows.iter().map(|row| u64::from(row.token_count)).sum();
    libm::logf(1.0 + tokens as f32) / 10.0
}

/// Whether the question names a line of this chunk.
fn has_mentioned_line(context: &Context<'_>, candidate: &Candidate, path: &[u8]) -> bool {
    let row = row_of(context.view, candidate);
    context.mentions.iter().any(|mention| {
        mention.line.is_some_and(|line| (row.start_line..=row.end_line).contains(&line))
            && mention_fit(mention, path) > 0.0
    })
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
