//! Duplicates: the copies of definitions in a codebase, as groups.
//!
//! * [`definitions`](Definitions): the functions, methods and types of a view.
//! * `tokens`, `fingerprint`: the form in which they are compared, and hashes of it.
//! * `texts`, `candidates`: definitions with the same tokens, and pairs that are worth a comparison.
//! * `bag`, `align`, `compare`: the similarity and [`Class`] of a pair. `vectors`: pairs by meaning alone.
//! * `stars`, `groups`: from pairs to groups. `changed`: the groups of a change.
//! * [`answer`]: the answer, with what differs (`differences`). [`sarif`]: the answer for code scanners.

mod align;
pub mod answer;
mod bag;
mod candidates;
mod changed;
mod compare;
mod definitions;
mod differences;
mod fingerprint;
mod groups;
pub mod sarif;
mod stars;
mod texts;
mod tokens;
mod vectors;

use rustc_hash::FxHashSet;

use crate::query::retrieve::parallel;
use crate::query::view::View;
use crate::query::view::freshness::RequestUpdate;
use crate::query::{Filters, QueryError, Searcher, ViewRequest};
use bag::Bag;
use candidates::Candidate;
use changed::Changed;
use compare::{Side, compare, max_gaps};
use definitions::Definitions;
use fingerprint::Fingerprint;
use groups::Group;
use stars::{Similar, Size};
use texts::Text;
use tokens::{Token, Tokens, calls};

pub use answer::Duplicates;

/// Minimum similarity of copies, unless a request says otherwise.
pub const MIN_SIMILARITY: f32 = 0.9;
/// Minimum number of tokens of a definition, unless a request says otherwise.
pub const MIN_TOKENS: u32 = 50;
/// Minimum number of comparisons for which threads are used.
const MIN_PARALLEL: usize = 256;
/// Minimum cosine of definitions that are similar by meaning.
const MIN_COSINE: f32 = 0.9;
/// Minimum share of common tokens, in the same order, of definitions that are similar by meaning. Pairs with
/// less have one subject but do different things.
const MIN_COMMON: f32 = 0.55;

/// The relation of two copies.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The same but for layout, comments and the own name.
    Identical,
    /// The same but for names, each of which became another everywhere, and for literals.
    Renamed,
    /// Tokens were added, removed or replaced.
    Near,
    /// Near by meaning, with other tokens.
    Semantic,
}

impl Class {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            Class::Identical => "identical",
            Class::Renamed => "renamed",
            Class::Near => "near",
            Class::Semantic => "semantic",
        }
    }
}

/// A request for the copies in a codebase.
#[derive(Debug, Clone, PartialEq)]
pub struct DuplicatesRequest {
    /// The state of the codebase that is searched.
    pub view: ViewRequest,
    /// Conditions on the files.
    pub filters: Filters,
    /// Only groups with a definition that was added or changed since this revision.
    pub since: Option<String>,
    /// Minimum similarity of a definition to the one that its group is about, 0–1.
    pub min_similarity: f32,
    /// Minimum number of tokens of a definition.
    pub min_tokens: u32,
    /// Whether files that may be third-party are searched. Those that are certainly generated or vendored are
    /// not indexed.
    pub include_vendored: bool,
    /// Whether definitions that are similar by meaning alone are grouped too.
    pub semantic: bool,
    /// Number of best groups to leave out, because an earlier answer had them.
    pub offset: usize,
    /// Maximum number of groups.
    pub limit: usize,
}

impl DuplicatesRequest {
    /// A request about all files of `view` without tests.
    pub fn new(view: ViewRequest) -> DuplicatesRequest {
        let (min_similarity, min_tokens) = (MIN_SIMILARITY, MIN_TOKENS);

        DuplicatesRequest {
            view,
            filters: Filters::default(),
            since: None,
            min_similarity,
            min_tokens,
            include_vendored: false,
            semantic: false,
            offset: 0,
            limit: usize::MAX,
        }
    }

    fn check(&self) -> Result<(), QueryError> {
        // Half of the tokens of any two definitions of a language are the same.
        if (0.5..=1.0).contains(&self.min_similarity) {
            return Ok(());
        }
        let found = self.min_similarity.to_string();
        Err(QueryError::Parameter { name: "min_similarity", must: "from 0.5 to 1", found })
    }
}

/// Finds the copies among the definitions that `request` is about.
///
/// # Errors
/// [`QueryError::Parameter`] if the minimum similarity is out of range, and those of [`Searcher::view`].
pub fn find(
    searcher: &Searcher,
    request: &DuplicatesRequest,
    update: RequestUpdate<'_>,
) -> Result<Duplicates, QueryError> {
    request.check()?;

    searcher.guarded(|| {
        let view = searcher.view(&request.view, update)?;
        let definitions = Definitions::collect(&searcher.codebase, &view, request);
        let search = Search { searcher, view: &view, request, definitions: &definitions };

        let groups = search.changed(search.groups()?)?;
        search.answer(groups)
    })
}

/// The tokens of a text that is compared.
#[derive(Clone)]
struct ReadText {
    tokens: Vec<Token>,
    bag: Bag,
}

/// One search for copies.
struct Search<'a> {
    searcher: &'a Searcher,
    view: &'a View,
    request: &'a DuplicatesRequest,
    definitions: &'a Definitions<'a>,
}

impl Search<'_> {
    /// All groups, those that save the most first, those by meaning alone last.
    fn groups(&self) -> Result<Vec<Group>, QueryError> {
        let cancel = &self.request.view.cancel;
        let texts = self.texts()?;
        cancel.check()?;

        let sizes: Vec<Size> = texts.iter().map(|text| self.size(text)).collect();
        let mut pairs = self.similar(&texts)?;
        cancel.check()?;

        let stars = stars::stars(&sizes, &pairs);
        let mut found = groups::of_stars(self.definitions, &texts, &stars);
        found.extend(groups::of_files(self.definitions));
        let mut found = groups::sorted(found);

        if let Some(embedder) = self.searcher.embedder().filter(|_| self.request.semantic) {
            let by_tokens: FxHashSet<Candidate> = pairs.drain(..).map(|pair| (pair.one, pair.two)).collect();
            let mut by_meaning = vectors::similar(self.definitions, &texts, embedder, MIN_COSINE)?;
            by_meaning.retain(|pair| !by_tokens.contains(&(pair.one, pair.two)));
            let by_meaning = self.alike(&texts, by_meaning)?;

            // Copies of one text are groups already.
            let sizes: Vec<Size> = sizes.iter().map(|size| Size { n_copies: 1, ..*size }).collect();
            let stars = stars::stars(&sizes, &by_meaning);
            found.extend(groups::sorted(groups::of_stars(self.definitions, &texts, &stars)));
        }
        Ok(found)
    }

    /// The definitions that have enough tokens, by their tokens.
    fn texts(&self) -> Result<Vec<Text>, QueryError> {
        let all: Vec<usize> = (0..self.definitions.list.len()).collect();
        let mut fingerprints =
            self.definitions.map(&all, |at, text| Fingerprint::new(&self.tokens(at, text)))?;
        fingerprints.retain(|(_, fingerprint)| fingerprint.n_tokens >= self.request.min_tokens);
        Ok(texts::texts(self.definitions, fingerprints))
    }

    fn tokens(&self, at: usize, text: &str) -> Vec<Token> {
        let language = self.definitions.language_id(at);
        language
            .map(|language| Tokens::read(text, language, self.definitions.name(at)).list)
            .unwrap_or_default()
    }

    fn size(&self, text: &Text) -> Size {
        let docs = text.definitions.iter().map(|&at| &self.definitions.docs[self.definitions.list[at].doc]);
        Size { n_copies: docs.map(|doc| doc.paths.len() as u32).sum(), n_lines: text.n_lines }
    }

    /// The pairs of texts that are similar by their tokens.
    fn similar(&self, texts: &[Text]) -> Result<Vec<Similar>, QueryError> {
        let min_similarity = self.request.min_similarity;
        let may_be_similar =
            |one: u32, two: u32| one.abs_diff(two) as f32 <= (1.0 - min_similarity) * (one + two) as f32;
        let candidates = candidates::candidates(texts, may_be_similar);

        let read = self.read(texts, candidates.iter().copied())?;
        let compared = parallel::map_with(
            candidates.len(),
            candidates.len() >= MIN_PARALLEL,
            || (),
            |(), at| {
                self.request.view.cancel.check()?;
                let (one, two) = candidates[at];
                let (Some(first), Some(second)) = (&read[one as usize], &read[two as usize]) else {
                    return Ok(None);
                };
                let n_all = first.tokens.len() + second.tokens.len();
                if first.bag.difference(&second.bag) > max_gaps(n_all, min_similarity) {
                    return Ok(None);
                }

                let side = |tokens, text: u32| Side { tokens, is_callable: texts[text as usize].is_callable };
                let comparison = compare(side(&first.tokens, one), side(&second.tokens, two), min_similarity);
                Ok(comparison.map(|it| Similar { one, two, class: it.class, similarity: it.similarity }))
            },
        );

        let compared: Result<Vec<Option<Similar>>, QueryError> = compared.into_iter().collect();
        Ok(compared?.into_iter().flatten().collect())
    }

    /// Keeps those of `pairs`, which have similar vectors, that do similar things.
    fn alike(&self, texts: &[Text], pairs: Vec<Similar>) -> Result<Vec<Similar>, QueryError> {
        let read = self.read(texts, pairs.iter().map(|pair| (pair.one, pair.two)))?;

        let are_alike = parallel::map_with(
            pairs.len(),
            pairs.len() >= MIN_PARALLEL,
            || (),
            |(), at| {
                self.request.view.cancel.check()?;
                Ok(self.are_alike(texts, &read, pairs[at]))
            },
        );

        let are_alike: Result<Vec<bool>, QueryError> = are_alike.into_iter().collect();
        let kept = pairs.into_iter().zip(are_alike?).filter(|(_, is_alike)| *is_alike);
        Ok(kept.map(|(pair, _)| pair).collect())
    }

    /// Returns whether the texts of a pair have enough tokens in common, and neither calls the other.
    fn are_alike(&self, texts: &[Text], read: &[Option<Box<ReadText>>], pair: Similar) -> bool {
        let (one, two) = (pair.one as usize, pair.two as usize);
        let (Some(first), Some(second)) = (&read[one], &read[two]) else { return false };

        let max_gaps = max_gaps(first.tokens.len() + second.tokens.len(), MIN_COMMON);
        if first.bag.difference(&second.bag) > max_gaps
            || align::common(&first.tokens, &second.tokens, max_gaps).is_none()
        {
            return false;
        }

        // A name that both call is that of something else.
        let [first_name, second_name] = [one, two].map(|text| self.definitions.name(texts[text].first()));
        let mut names = [first_name, second_name].into_iter();
        first_name == second_name
            || names.all(|name| calls(&first.tokens, name) == calls(&second.tokens, name))
    }

    /// The tokens of the texts in `pairs`, by text. A text whose file cannot be read any more has none.
    fn read(
        &self,
        texts: &[Text],
        pairs: impl Iterator<Item = Candidate>,
    ) -> Result<Vec<Option<Box<ReadText>>>, QueryError> {
        let mut wanted: Vec<u32> = pairs.flat_map(|(one, two)| [one, two]).collect();
        wanted.sort_unstable();
        wanted.dedup();
        // Texts are in the order of their first definitions.
        let firsts: Vec<usize> = wanted.iter().map(|&text| texts[text as usize].first()).collect();

        let mut read: Vec<Option<Box<ReadText>>> = vec![None; texts.len()];
        let mut places = wanted.iter().zip(&firsts);
        let found = self.definitions.map(&firsts, |at, text| {
            let tokens = self.tokens(at, text);
            let bag = Bag::new(&tokens);
            Box::new(ReadText { tokens, bag })
        })?;

        for (at, found) in found {
            if let Some((&text, _)) = places.find(|(_, first)| **first == at) {
                read[text as usize] = Some(found);
            }
        }
        Ok(read)
    }

    /// The groups with a member that was changed since the revision of the request.
    fn changed(&self, groups: Vec<Group>) -> Result<Vec<(Group, Vec<bool>)>, QueryError> {
        let Some(since) = &self.request.since else {
            return Ok(groups.into_iter().map(|group| (group, Vec::new())).collect());
        };

        let mut changed = Changed::since(&self.searcher.codebase, self.view, since)?;
        let mut kept = Vec::new();
        for group in groups {
            let members = group.members.iter();
            let are_changed: Result<Vec<bool>, QueryError> =
                members.map(|member| changed.has(member, &self.definitions.docs[member.doc])).collect();
            let are_changed = are_changed?;
            if are_changed.contains(&true) {
                kept.push((group, are_changed));
            }
        }
        Ok(kept)
    }
}
