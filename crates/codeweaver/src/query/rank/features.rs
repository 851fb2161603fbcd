//! Features: every number that ranking uses of a candidate and its file.
//!
//! They are computed here and nowhere else, and are plain data. [`Features::contributions`] turns them into
//! the summands of the score, which `--explain` shows; the trainer reads [`Features::linear`].

use rustc_hash::{FxHashMap, FxHashSet};

use codeweaver_chunk::SemanticClass;
use codeweaver_chunk::classes::TaskProfile;
use codeweaver_index::policy::PathFlags;

use super::context::{Context, share, size_of};
use super::intents::IntentFactors;
use super::path_features::{self, HeaderKind, PathQuery};
use super::roles::Roles;
use super::weights::Weights;
use crate::query::intent::Intent;
use crate::query::parse::mentions;
use crate::query::response::Explanation;
use crate::query::retrieve::{Candidate, Candidates};
use crate::query::view::View;

/// Size in bytes from which a file that is named like an index of exports counts as having code of its own.
const REEXPORT_BYTES: f32 = 8192.0;

/// Factor for the file of an actor that does the opposite of what the query asks for: a writer, if something
/// reads.
const OPPOSITE_PRIOR: f32 = 0.7;

/// Features of a chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ChunkFeatures {
    /// BM25, as a share of the best candidate's.
    pub lexical: f32,
    /// Cosine above the mean of all rows, as a share of the best candidate's.
    pub dense: f32,
    /// Tokens of the chunk.
    pub tokens: f32,
    /// Fit of the name of a definition in the chunk to a name in the query, 0–1.
    pub definition: f32,
    /// Importance of the chunk's class for the task, 0–1.
    pub importance: f32,
    /// Whether the query is a single word.
    pub is_single_word: bool,
}

/// Features of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FileFeatures {
    /// Sum of [`Explanation::similarity`] over its chunks among the best of all, as a share of the best
    /// file's.
    pub sum: f32,
    /// [`Explanation::similarity`] of its second best chunk, as a share of the best of all.
    pub second_chunk: f32,
    /// BM25 of the file as a whole, as a share of the best file's.
    pub lexical: f32,
    /// ln(1 + tokens) / 10.
    pub size: f32,
    /// Share of the query's terms in the path, 0–1.
    pub path: f32,
    /// Cosine of the path above the mean of the candidates, as a share of the best candidate's.
    pub path_dense: f32,
    /// Folders above the file, in tenths, at most 2.
    pub depth: f32,
    /// Words of the file's name, in tenths, at most 2.
    pub name_words: f32,
    /// Fit of the path to a file that the query names, 0–1.
    pub mention: f32,
    /// Source files in the part of the repository that it is in, as a share of all, 0–1.
    pub part: f32,
    /// Whether the file is named after a name in the query.
    pub is_own_file: bool,
    /// Roles that the query does not ask for.
    pub roles: Roles,
    /// For a file that is named like an index of exports, the amount of other code in it, 0–1.
    pub reexport_rest: Option<f32>,
    pub header: HeaderKind,
    /// Whether its path names the actor of the opposite of what the query asks for.
    pub is_opposite: bool,
    /// Whether the file is for one platform, and a candidate of the same name is for any platform.
    pub is_platform_variant: bool,
    /// Factor of the intent of the query, if it acts.
    pub intent: f32,
}

/// Features of a file and of its best chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Features {
    pub chunk: ChunkFeatures,
    pub file: FileFeatures,
}

impl ChunkFeatures {
    /// The contributions of a chunk. Those of its file are 0.
    pub fn contributions(&self, weights: &Weights) -> Explanation {
        let definition =
            if self.is_single_word { weights.definition } else { weights.definition_in_sentence };

        let size = self.size_factor(weights);
        // The order of the factors decides the last bit of the score.
        Explanation {
            lexical: weights.lexical * size * self.lexical,
            dense: weights.dense * size * self.dense,
            definition: definition * self.definition,
            importance: weights.importance * self.importance,
            ..Explanation::default()
        }
    }

    /// Factor on the similarity: a chunk of a few words is similar to many queries.
    fn size_factor(&self, weights: &Weights) -> f32 {
        self.tokens / (self.tokens + weights.small_chunk).max(1.0)
    }
}

impl FileFeatures {
    /// Product of the factors of the file's role.
    fn prior(&self, weights: &Weights) -> f32 {
        let mut prior = self.roles.prior(weights);
        // An index of exports with much other code is ranked like any other file.
        if let Some(rest) = self.reexport_rest.filter(|_| prior == weights.prior_reexport) {
            prior += (1.0 - prior) * rest;
        }

        match self.header {
            HeaderKind::Implemented => prior *= weights.prior_header,
            HeaderKind::Alone if prior == 1.0 => prior = weights.prior_header_alone,
            HeaderKind::Alone | HeaderKind::None => {}
        }

        if self.is_platform_variant {
            prior *= weights.prior_platform;
        }
        if self.is_opposite {
            prior *= OPPOSITE_PRIOR;
        }

        prior
    }
}

/// The weights that the score is linear in, in the order of [`Features::linear`].
pub const LINEAR_WEIGHTS: [&str; 14] = [
    "lexical",
    "dense",
    "definition",
    "definition_in_sentence",
    "importance",
    "file_sum",
    "second_chunk",
    "file_lexical",
    "size",
    "path",
    "path_dense",
    "depth",
    "name_words",
    "mention",
];

impl Features {
    /// The contributions of the file and of its best chunk, with the score.
    pub fn contributions(&self, weights: &Weights) -> Explanation {
        let file = &self.file;
        let mut e = self.chunk.contributions(weights);

        if file.is_own_file {
            e.definition *= weights.definition_in_own_file;
        }

        e.file_sum = weights.file_sum * file.sum;
        e.second_chunk = weights.second_chunk * file.second_chunk;
        e.file_lexical = weights.file_lexical * file.lexical;
        e.size = weights.size * file.size;
        e.depth = -weights.depth * file.depth;
        e.name_words = -weights.name_words * file.name_words;
        e.path = weights.path * file.path;
        e.path_dense = weights.path_dense * file.path_dense;
        e.mention = weights.mention * file.mention;
        e.prior = file.prior(weights);
        e.part = 1.0 + weights.part * file.part;
        e.intent = file.intent;

        e.score = (e.chunk() + e.file()) * e.prior * e.part * e.intent;
        e
    }

    /// The factors of the weights in [`LINEAR_WEIGHTS`]: before prior, part and intent, the score is the sum
    /// of their products. They depend on the other `weights`.
    pub fn linear(&self, weights: &Weights) -> [f32; LINEAR_WEIGHTS.len()] {
        let Features { chunk, file } = self;
        let size = chunk.size_factor(weights);
        let own_file = if file.is_own_file { weights.definition_in_own_file } else { 1.0 };

        let definition = own_file * chunk.definition;
        [
            size * chunk.lexical,
            size * chunk.dense,
            if chunk.is_single_word { definition } else { 0.0 },
            if chunk.is_single_word { 0.0 } else { definition },
            chunk.importance,
            file.sum,
            file.second_chunk,
            file.lexical,
            file.size,
            file.path,
            file.path_dense,
            -file.depth,
            -file.name_words,
            file.mention,
        ]
    }
}

/// Computes the features of candidates. Most are relative to the other candidates, so one extractor is made
/// for all.
pub struct Extractor<'a> {
    context: &'a Context<'a>,
    candidates: &'a Candidates,
    path_query: PathQuery<'a>,
    task: TaskProfile,
    intent: IntentFactors<'a>,
    is_single_word: bool,
    /// Whether the query is a single word that no candidate defines: every place that has the word may be
    /// meant.
    is_undefined_name: bool,
    max_bm25: f32,
    max_dense: f32,
    max_file_bm25: f32,
    /// Names of candidates that are for any platform.
    neutral_names: FxHashSet<&'a [u8]>,
    /// Names of implementations among the candidates, with the size of the largest.
    implementations: FxHashMap<Vec<u8>, f32>,
}

impl<'a> Extractor<'a> {
    pub fn new(context: &'a Context<'a>, candidates: &'a Candidates) -> Extractor<'a> {
        let max = |of: &dyn Fn(&Candidate) -> f32| candidates.list.iter().map(of).fold(0.0f32, f32::max);
        let intent = &context.query.intent;
        // A profile follows from an intent only if the request gives it: a detected one may be wrong.
        let given_intent = intent.intent.filter(|_| intent.confidence == 1.0);

        Extractor {
            context,
            candidates,
            path_query: PathQuery::new(context, candidates),
            task: given_intent.map_or(TaskProfile::Default, Intent::task),
            intent: IntentFactors::new(context, &candidates.list),
            is_single_word: context.query.is_single_word(),
            is_undefined_name: context.query.is_single_word()
                && candidates.list.iter().all(|candidate| candidate.definition == 0.0),
            max_bm25: max(&|c| c.bm25),
            max_dense: max(&|c| c.cosine - candidates.mean_cosine),
            max_file_bm25: candidates.files.values().map(|file| file.bm25).fold(0.0f32, f32::max),
            neutral_names: path_features::neutral_names(context, candidates),
            implementations: path_features::implementations(context, candidates),
        }
    }

    /// The query as far as paths are concerned.
    pub fn path_query(&self) -> &PathQuery<'a> {
        &self.path_query
    }

    /// Computes the features of a chunk.
    pub fn chunk(&self, candidate: &Candidate) -> ChunkFeatures {
        let (_, row) = self.context.view.row(candidate.id);

        ChunkFeatures {
            lexical: share(candidate.bm25, self.max_bm25),
            dense: share(candidate.cosine - self.candidates.mean_cosine, self.max_dense),
            tokens: row.token_count as f32,
            definition: candidate.definition,
            importance: class_of(self.context.view, candidate).importance().weighted(self.task),
            is_single_word: self.is_single_word,
        }
    }

    /// Computes the features of the file at `entry` with the chunk `best`. `sums` are those of its doc, from
    /// [`chunk_sums`].
    pub fn file(&self, entry: u32, best: &Candidate, sums: ChunkSums) -> FileFeatures {
        let Context { view, query, weights, .. } = *self.context;
        let (path, flags) = view.entry(entry);
        let facts = self.context.paths.get(path);

        let (segment, row) = view.row(best.id);
        let record = segment.docs().get(row.doc as usize);
        let language = record.map_or("text", |doc| segment.language(doc.language));
        let blob_bytes = record.map_or(0, |doc| doc.blob_bytes);

        // Evidence of the file as a whole, which is missing if no terms were searched.
        let whole = self.candidates.files.get(&best.doc).copied().unwrap_or_default();
        let size = size_of(view, best.doc);
        let roles = Roles::unwanted(query, flags, language);

        let mut features = FileFeatures {
            sum: sums.sum,
            second_chunk: sums.second,
            lexical: share(whole.bm25, self.max_file_bm25),
            size,
            depth: facts.folders,
            name_words: facts.name_words,
            is_own_file: query.names.iter().any(|name| path_features::is_named(&facts, &name.name)),
            reexport_rest: flags
                .contains(PathFlags::REEXPORT)
                .then(|| (blob_bytes as f32 / REEXPORT_BYTES).min(1.0)),
            header: path_features::header_kind(view, path, size, &self.implementations),
            is_platform_variant: path_features::is_platform_variant(
                self.context,
                path,
                &facts,
                &self.neutral_names,
            ),
            is_opposite: self.path_query.is_opposite(&facts),
            part: if self.is_undefined_name { 0.0 } else { view.part_share(path) },
            intent: self.intent.factor(best, &facts, &roles, language),
            roles,
            ..FileFeatures::default()
        };

        // If only vectors were compared, the words of a path are not evidence either.
        if !self.candidates.idf.is_empty() {
            features.path = self.path_query.share(&facts, weights);
            features.path_dense = self.path_query.relative_cosine(best);
            features.mention = mentions::best_fit(&query.mentions, path);
        }

        features
    }
}

/// Sums over the chunks of a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChunkSums {
    /// See [`FileFeatures::sum`].
    pub sum: f32,
    /// See [`FileFeatures::second_chunk`].
    pub second: f32,
}

/// Returns the sums of every doc. `chunks` are docs with the contributions of their chunks, in an order that
/// does not depend on the division of the store into segments.
pub fn chunk_sums(chunks: &[(u32, Explanation)], weights: &Weights) -> FxHashMap<u32, ChunkSums> {
    let mut order: Vec<(f32, usize)> = chunks.iter().map(|(_, e)| e.similarity()).zip(0..).collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let best = order.first().map_or(0.0, |(similarity, _)| *similarity);

    let mut files: FxHashMap<u32, (u32, ChunkSums)> = FxHashMap::default();
    for (rank, &(similarity, i)) in order.iter().enumerate() {
        let (n_chunks, file) = files.entry(chunks[i].0).or_default();
        if rank < weights.sum_over as usize {
            file.sum += similarity;
        }
        *n_chunks += 1;
        if *n_chunks == 2 {
            file.second = share(similarity, best);
        }
    }

    let max = files.values().map(|(_, file)| file.sum).fold(0.0, f32::max);
    files.into_iter().map(|(doc, (_, file))| (doc, ChunkSums { sum: share(file.sum, max), ..file })).collect()
}

/// Returns the class of a candidate's chunk.
pub fn class_of(view: &View, candidate: &Candidate) -> SemanticClass {
    SemanticClass::from_u8(view.row(candidate.id).1.class).unwrap_or(SemanticClass::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::rank::WEIGHTS;

    #[test]
    fn the_score_is_linear_in_the_linear_features() {
        let features = Features {
            chunk: ChunkFeatures {
                lexical: 0.5,
                dense: 0.25,
                tokens: 30.0,
                definition: 1.0,
                importance: 0.8,
                is_single_word: true,
            },
            file: FileFeatures {
                sum: 0.7,
                second_chunk: 0.6,
                lexical: 0.9,
                size: 0.3,
                path: 0.4,
                path_dense: 0.2,
                depth: 0.3,
                name_words: 0.2,
                mention: 0.4,
                is_own_file: true,
                intent: 1.0,
                ..FileFeatures::default()
            },
        };
        for is_single_word in [true, false] {
            let chunk = ChunkFeatures { is_single_word, ..features.chunk };
            let features = Features { chunk, ..features };
            let weights = serde_json::to_value(&*WEIGHTS).unwrap();
            let linear = LINEAR_WEIGHTS.iter().zip(features.linear(&WEIGHTS));
            let sum: f64 =
                linear.map(|(name, value)| weights[name].as_f64().unwrap() * f64::from(value)).sum();
            assert!((sum - f64::from(features.contributions(&WEIGHTS).score)).abs() < 1e-5, "{sum}");
        }
    }
}
