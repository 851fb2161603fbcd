//! Retrieve: from a parsed query to candidates, by four kinds of evidence.
//!
//! * [`lexical`]: BM25 of chunks and of whole files;
//! * [`dense`]: nearest vectors, by `exact_scan`, [`binary_quantisation`] or HNSW;
//! * [`symbols`]: chunks that define what the query names, compared by [`name_forms`];
//! * `paths`: chunks of files whose paths have the terms of the query, or that the query names.
//!
//! [`relatives`] tells words that occur nowhere from words that occur in other forms.
//!
//! Each kind contributes its best rows. Their union is then scored on all evidence. Every list is cut by
//! score, blob and position (`top_k`), so the candidates do not depend on how the store is segmented, except
//! for those that HNSW finds: its graph depends on the segments.
//!
//! `parallel` divides the work among threads, from the sizes in [`Tuning`].

pub mod binary_quantisation;
pub mod dense;
mod exact_scan;
pub mod lexical;
pub mod name_forms;
pub(crate) mod parallel;
pub mod paths;
pub mod relatives;
mod score_buffers;
pub mod symbols;
mod top_k;
mod tuning;

use rustc_hash::FxHashMap;

use codeweaver_base::sys::DotKernel;
use codeweaver_store::hnsw::QueryKind;
use codeweaver_text::{QueryTerm, stem};

use super::cancel::IsOver;
use super::parse::ParsedQuery;
use super::parse::names::{self, QueryName};
use super::path_facts::PathCache;
use super::request::{Ann, Mode};
use super::response::Strategy;
use super::view::scope::Scope;
use super::view::{RowId, View};
use dense::{DenseSearch, Nearest};
use lexical::{Bm25, FileLexical, LexicalScores, LexicalSearch};
use symbols::Definitions;

pub(super) use top_k::row_key;
pub use tuning::Tuning;

/// Number of rows that lexical and dense retrieval each contribute.
const MAX_ROWS: usize = 300;

/// A chunk with its evidence.
#[derive(Debug, Clone, Default)]
pub struct Candidate {
    pub id: RowId,
    /// Store-wide id of its doc.
    pub doc: u32,
    pub bm25: f32,
    /// Cosine with the query, −1 to 1.
    pub cosine: f32,
    /// Cosine of the query with the nearest path of the chunk's blob, −1 to 1.
    pub path_cosine: f32,
    /// Fit of the name of a definition in the chunk to a name in the query, 0–1.
    pub definition: f32,
    /// Whether a definition in the chunk has a name of the query in its case and with its qualifier.
    pub declares: bool,
    /// Share of the query's terms, weighted by idf, that occur in the chunk, 0–1.
    pub coverage: f32,
}

/// Result of [`Retrieval::run`].
#[derive(Default)]
pub struct Candidates {
    /// Ordered by blob and position.
    pub list: Vec<Candidate>,
    /// Lexical evidence of whole files, for every doc in `list`.
    pub files: FxHashMap<u32, FileLexical>,
    /// Inverse document frequency of each term of the query; empty if no terms were searched.
    pub idf: Vec<f32>,
    /// Share of all paths that have each term.
    pub path_share: Vec<f32>,
    /// Mean cosine of the query with all live rows: the score of an unrelated chunk.
    pub mean_cosine: f32,
    /// Kinds of evidence that found a candidate.
    pub strategies: Vec<Strategy>,
    /// Whether the time was up before all evidence was gathered.
    pub timed_out: bool,
}

impl Candidates {
    /// Returns the words of `query` that occur nowhere in the view, neither in a file nor in a path; none if
    /// no words were searched for.
    pub fn absent_terms<'q>(&self, query: &'q ParsedQuery) -> impl Iterator<Item = &'q QueryTerm> {
        let terms = query.terms.iter().enumerate();
        terms.filter(move |(i, term)| self.is_absent(*i) && term.is_word()).map(|(_, term)| term)
    }

    /// Returns whether the term at position `i` occurs in no chunk and in no path.
    fn is_absent(&self, i: usize) -> bool {
        let is_in_path = self.path_share.get(i).is_some_and(|&share| share > 0.0);
        self.idf.get(i) == Some(&0.0) && !is_in_path
    }
}

/// The vector of a query. The real value of a component is `int8 / scale`.
#[derive(Debug, Clone)]
pub struct QueryVector {
    pub components: Vec<i8>,
    pub scale: f32,
}

impl QueryVector {
    /// Factor from a dot product to a cosine.
    pub fn unit(&self) -> f32 {
        1.0 / (self.scale * self.scale)
    }
}

/// A search for candidates.
#[derive(Clone, Copy)]
pub struct Retrieval<'a> {
    pub view: &'a View,
    pub scope: &'a Scope,
    pub query: &'a ParsedQuery,
    /// `None` if dense retrieval is unavailable or not wanted.
    pub vector: Option<&'a QueryVector>,
    pub mode: Mode,
    pub ann: Ann,
    pub bm25: Bm25,
    /// Additional candidate rows.
    pub rows: &'a [RowId],
    /// The strategy by which `rows` were found, if it is reported.
    pub rows_strategy: Option<Strategy>,
    pub paths: &'a PathCache,
    pub tuning: Tuning,
    pub is_over: IsOver<'a>,
}

impl Retrieval<'_> {
    /// Retrieves candidates.
    pub fn run(&self) -> Candidates {
        let Retrieval { view, scope, query, mode, .. } = *self;
        let terms: &[QueryTerm] = if mode == Mode::Semantic { &[] } else { &query.terms };

        let lexical = self.lexical_search().score(terms);

        let kernel = self.vector.map(|vector| DotKernel::new(&vector.components));
        let dense = self.vector.zip(kernel.as_ref()).map(|(vector, kernel)| DenseSearch {
            view,
            scope,
            vector: &vector.components,
            kernel,
            kind: QueryKind::Question,
            k: MAX_ROWS,
            tuning: self.tuning,
            is_over: self.is_over,
        });
        let dense = dense.filter(DenseSearch::fits);

        let mut union = Union::default();
        let mut timed_out = false;
        let mut path_share = Vec::new();

        if matches!(mode, Mode::Hybrid | Mode::Keyword) {
            let best = top_k::best_rows(view, lexical.best(), MAX_ROWS);
            union.add(Strategy::LexicalBm25, best.into_iter().map(|(_, id)| id));
            union.add(Strategy::LexicalBm25, lexical.rows_of_best_files(view, scope));
        }

        if let (Some(dense), Mode::Hybrid | Mode::Semantic) = (&dense, mode) {
            timed_out = (self.is_over)();
            if !timed_out {
                self.add_nearest(dense, &mut union);
            }
        }

        let mut definitions = Definitions::default();
        if mode != Mode::Semantic {
            definitions = symbols::find(view, scope, &self.names(), mode == Mode::Symbol);
            union.add(Strategy::Symbol, definitions.fits.keys().copied());
            // A named file is a candidate even if it has none of the words.
            union.add(Strategy::Path, paths::by_mentions(view, scope, &query.mentions));
        }

        if matches!(mode, Mode::Hybrid | Mode::Keyword) {
            let by_path = paths::by_terms(view, scope, terms);
            union.add(Strategy::Path, by_path.rows);
            path_share = by_path.term_shares;
        }

        match self.rows_strategy {
            Some(strategy) => union.add(strategy, self.rows.iter().copied()),
            None => union.rows.extend(self.rows),
        }

        // Several kinds of evidence may find a row.
        let Union { mut rows, strategies } = union;
        rows.sort_unstable_by_key(|id| (id.segment, id.row));
        rows.dedup();

        // All evidence on a row counts, also of kinds that did not find it.
        let (mut list, files) = self.candidates(rows, &lexical, dense.as_ref(), &definitions);
        list.sort_by_cached_key(|candidate| top_k::row_key(view, candidate.id));

        let unit = self.vector.map_or(1.0, QueryVector::unit);
        let mean_cosine = dense.as_ref().map_or(0.0, |dense| mean_dot(view, dense.vector) * unit);
        let idf = lexical.idf.clone();
        Candidates { list, files, idf, path_share, mean_cosine, strategies, timed_out }
    }

    fn lexical_search(&self) -> LexicalSearch<'_> {
        // In the other modes, terms only score the rows that other evidence finds.
        let has_best = matches!(self.mode, Mode::Hybrid | Mode::Keyword);

        LexicalSearch {
            view: self.view,
            scope: self.scope,
            bm25: self.bm25,
            k: if has_best { MAX_ROWS } else { 0 },
            min_parallel_rows: self.tuning.min_parallel_rows,
            is_over: self.is_over,
        }
    }

    /// Adds the rows whose vectors are nearest to that of the query.
    fn add_nearest(&self, dense: &DenseSearch<'_>, union: &mut Union) {
        let nearest = dense.nearest(self.ann);
        let best = top_k::best_rows(self.view, nearest.rows.into_iter(), MAX_ROWS);
        union.add(nearest.method.strategy(), best.into_iter().map(|(_, id)| id));
    }

    /// Scores `rows` on all evidence, and their files on that of whole files.
    fn candidates(
        &self,
        rows: Vec<RowId>,
        lexical: &LexicalScores,
        dense: Option<&DenseSearch<'_>>,
        definitions: &Definitions,
    ) -> (Vec<Candidate>, FxHashMap<u32, FileLexical>) {
        let view = self.view;
        let kernel = dense.map(|dense| dense.kernel);
        let unit = self.vector.map_or(1.0, QueryVector::unit);
        let mut path_cosines =
            PathCosines { view, paths: self.paths, kernel, unit, by_doc: FxHashMap::default() };

        let mut files = FxHashMap::default();
        let mut list = Vec::with_capacity(rows.len());
        for id in rows {
            let (segment, row) = view.row(id);
            let doc = view.doc_of(id);
            files.entry(doc).or_insert_with(|| lexical.of_file(id.segment as usize, row.doc));
            let (bm25, coverage) = lexical.get(id);
            let cosine = kernel.map_or(0.0, |kernel| kernel.dot(segment.vector(id.row)) as f32 * unit);

            list.push(Candidate {
                id,
                doc,
                bm25,
                cosine,
                path_cosine: path_cosines.get(doc),
                definition: definitions.fits.get(&id).copied().unwrap_or(0.0),
                declares: definitions.declaring.contains(&id),
                coverage,
            });
        }

        (list, files)
    }

    /// Returns the names in the query. In a sentence, a name is less certain the more paths contain it: the
    /// name of the project is in many queries about it.
    fn names(&self) -> Vec<QueryName> {
        if !self.query.is_sentence() || self.mode == Mode::Symbol {
            return self.query.names.clone();
        }

        let mut discounted = self.query.names.clone();
        for name in &mut discounted {
            let term = stem(&names::normalised(names::last_segment(&name.name)));
            name.certainty *= 1.0 - paths::share_with(self.view, &term);
        }
        discounted
    }
}

/// Rows found by any kind of evidence, with those kinds.
#[derive(Default)]
struct Union {
    rows: Vec<RowId>,
    strategies: Vec<Strategy>,
}

impl Union {
    fn add(&mut self, strategy: Strategy, rows: impl IntoIterator<Item = RowId>) {
        let before = self.rows.len();
        self.rows.extend(rows);
        if self.rows.len() > before && !self.strategies.contains(&strategy) {
            self.strategies.push(strategy);
        }
    }
}

/// Cosines of the query with the paths of docs, each computed once.
struct PathCosines<'a> {
    view: &'a View,
    paths: &'a PathCache,
    /// `None` without dense retrieval.
    kernel: Option<&'a DotKernel>,
    unit: f32,
    by_doc: FxHashMap<u32, f32>,
}

impl PathCosines<'_> {
    /// Returns the cosine with the nearest path of a doc; 0 if the model has no vectors for paths.
    fn get(&mut self, doc: u32) -> f32 {
        let Some(kernel) = self.kernel else { return 0.0 };
        let (view, cache, unit) = (self.view, self.paths, self.unit);
        *self.by_doc.entry(doc).or_insert_with(|| {
            let paths = view.entries_of(doc).map(|id| cache.get(view.entry(id).0));
            let dots = paths.filter_map(|path| path.vector.as_ref().map(|vector| kernel.dot(vector)));
            dots.max().map_or(0.0, |dot| dot as f32 * unit)
        })
    }
}

/// Returns the terms of `query` that [`Candidates::absent_terms`] will have after retrieval by words.
pub fn absent_terms<'q>(view: &View, query: &'q ParsedQuery) -> Vec<&'q QueryTerm> {
    let idf = lexical::idf_of(view, &query.terms);
    let terms = query.terms.iter().zip(idf).filter(|(term, idf)| *idf == 0.0 && term.is_word());

    // Paths are read only for the few words that no chunk has.
    terms.map(|(term, _)| term).filter(|term| !paths::is_in_any(view, &term.term)).collect()
}

/// Returns the best rows of `search`, best first, with their cosines, and the strategy by which they were
/// found: by a graph or an exact scan. `scale` is that of the vectors.
pub fn nearest(search: &DenseSearch<'_>, scale: f32) -> (Vec<(f32, RowId)>, Strategy) {
    if !search.fits() {
        return (Vec::new(), Strategy::DenseExact);
    }

    let Nearest { rows, method } = search.nearest(Ann::Auto);
    let mut best = top_k::best_rows(search.view, rows.into_iter(), search.k);
    best.iter_mut().for_each(|(score, _)| *score /= scale * scale);
    (best, method.strategy())
}

/// Returns the mean dot product of `vector` with all live rows, computed exactly from the totals of the
/// snapshot.
fn mean_dot(view: &View, vector: &[i8]) -> f32 {
    let totals = &view.snapshot.totals;
    if totals.n_rows == 0 {
        return 0.0;
    }

    let dot: i64 = totals.vector_sum.iter().zip(vector).map(|(&sum, &q)| sum * i64::from(q)).sum();
    (dot as f64 / totals.n_rows as f64) as f32
}
