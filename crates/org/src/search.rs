//! Candidates and counts for a query.
//!
//! A file is kept in memory once it was read: its content never changes. Its places are those that each
//! search returns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use codeweaver::QueryError;
use codeweaver::query::engine::{
    CandidateFiles, Engine, LineFiles, Placed, Requirement, TermTotals, Wanted, Whole,
};
use codeweaver::query::rank::path_features;
use codeweaver::query::request::Filters;
use codeweaver_base::sync;
use codeweaver_git::MaySee;
use codeweaver_store::postings::N_FIELDS;
use codeweaver_store::segment::SegmentBuilder;
use codeweaver_store::snapshot::Totals;
use codeweaver_text::TermTable;

use super::cache::{Cache, CachedFile};
use super::error::OrgError;
use super::http::{Method, error_of};
use super::members::{OrgMember, PushState};
use super::org::{Org, all_shards};
use super::requests::{self, Limits, Search};
use super::schema::{Kind, LENGTH_FIELDS, SEPARATOR};
use super::words;

/// Time for which the repositories and their sums are not asked for again.
const FRESH: Duration = Duration::from_secs(1);
/// Time after which a shard gives what it has found so far; shorter than the time that a request waits.
const SHARD_TIMEOUT: &str = "8s";
/// Number of searches of one request.
const MAX_SEARCHES: usize = 400;
/// Number of documents of a request, and of requests for them at the same time.
const READ: usize = 250;
const READERS: usize = 8;
/// Number of terms whose counts are kept.
const MAX_COUNTS: usize = 100_000;
/// Number of files from which the count of a word is kept while repositories change, and the share of the
/// rows, as one of so many, by which they may have changed since.
const MANY_FILES: u64 = 10_000;
const MAX_DRIFT: u64 = 100;
/// Number of repositories that a sentence names.
const MAX_NAMED: usize = 5;

/// The index of an organisation, for one kind of reader.
pub struct OrgEngine {
    org: Arc<Org>,
    /// Returns whether the reader may see a repository; `None` if all may be seen.
    may_see: Option<Arc<MaySee>>,
    /// Commits that are known here, by the names of repositories. Others in the index are outdated.
    known: FxHashMap<String, String>,
    whole: Mutex<Option<(Instant, Arc<State>)>>,
    cache: Arc<Cache>,
}

/// What the index has, as it was asked for last.
struct State {
    whole: Whole,
    /// Names of the repositories, if not all may be seen.
    names: Option<Vec<String>>,
    members: Vec<OrgMember>,
    /// Counts that were asked for.
    counts: Mutex<FxHashMap<String, TermTotals>>,
    /// Number of rows when the oldest of them was asked for.
    n_counted: u64,
}

impl std::fmt::Debug for OrgEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OrgEngine").field("org", &self.org).finish_non_exhaustive()
    }
}

/// Files that searches have found, by the names of their documents, with their places.
type Hits = BTreeMap<String, Option<Vec<String>>>;

/// The name of a file, its places, and its content unless it is damaged.
type FoundFile = (String, Value, Option<Arc<CachedFile>>);

impl OrgEngine {
    /// All repositories of an index.
    pub fn new(org: Arc<Org>) -> OrgEngine {
        OrgEngine {
            org,
            may_see: None,
            known: FxHashMap::default(),
            whole: Mutex::default(),
            cache: Arc::default(),
        }
    }

    /// With the commits that are known here, by the names of repositories: an answer says of which
    /// repositories the index has another one.
    pub fn with_known_commits(self, known: impl IntoIterator<Item = (String, String)>) -> OrgEngine {
        OrgEngine { known: known.into_iter().collect(), ..self }
    }

    /// What the index has, asked for at most once a second.
    fn state(&self) -> Result<Arc<State>, OrgError> {
        if let Some((then, state)) = &*sync::lock(&self.whole)
            && then.elapsed() < FRESH
        {
            return Ok(state.clone());
        }

        let members = self.org.members()?;
        let last = sync::lock(&self.whole).as_ref().map(|(_, state)| state.clone());
        let is_settled = members.iter().all(|member| member.state == PushState::Complete);
        let state = match last {
            // Nothing was pushed since.
            Some(last) if is_settled && last.members == members => last,
            last => {
                let mut state = self.state_of(members)?;
                if let Some(last) = last {
                    state.take_counts(&last);
                }
                Arc::new(state)
            }
        };

        *sync::lock(&self.whole) = Some((Instant::now(), state.clone()));
        Ok(state)
    }

    /// What the index has of `all` repositories.
    fn state_of(&self, all: Vec<OrgMember>) -> Result<State, OrgError> {
        let mut members = all.clone();
        let n_all = members.len();
        if let Some(may_see) = &self.may_see {
            members.retain(|member| may_see(&member.name));
        }
        let names: Option<Vec<String>> =
            (members.len() < n_all).then(|| members.iter().map(|member| member.name.clone()).collect());

        let mut totals = summed(&members);
        self.count_once(names.as_deref(), &mut totals)?;

        let mut parts: FxHashMap<String, u32> = FxHashMap::default();
        for (part, n) in members.iter().flat_map(|member| &member.numbers.parts) {
            *parts.entry(part.clone()).or_default() += n;
        }

        let whole = Whole {
            warnings: warnings(&members),
            moved: moved(&members, &self.known),
            members: members.iter().map(OrgMember::to_member).collect(),
            totals,
            parts: parts.into_iter().map(|(part, n)| (part.into_bytes(), n)).collect(),
        };
        let n_counted = whole.totals.n_rows;
        Ok(State { whole, names, members: all, counts: Mutex::default(), n_counted })
    }

    /// Replaces sums over repositories, in which a file counts as often as there are repositories with it, by
    /// sums over files.
    fn count_once(&self, names: Option<&[String]>, totals: &mut Totals) -> Result<(), OrgError> {
        let mut sums = json!({ "rows": { "sum": { "field": "rows" } } });
        for field in LENGTH_FIELDS {
            sums[field] = json!({ "sum": { "field": field } });
        }
        let condition = match names {
            Some(names) => json!({ "terms": { "repo": names } }),
            None => json!({ "exists": { "field": "repo" } }),
        };
        let request = json!({
            "size": 0, "track_total_hits": true, "query": { "bool": { "filter": condition } }, "aggs": sums,
        });

        let path = format!("{}/_search", self.org.alias(Kind::Files));
        let answer = self.org.connection.ask(Method::Post, &path, Some(&request))?;
        all_shards(&answer)?;

        let sum = |name: &str| answer["aggregations"][name]["value"].as_f64().unwrap_or(0.0) as u64;
        let n_rows = sum("rows");
        // A file in several repositories counts once here, as in a catalogue.
        let share = if totals.n_rows == 0 { 1.0 } else { n_rows as f64 / totals.n_rows as f64 };
        // The engine does not add up vectors; the mean of all is that of the repositories.
        totals.vector_sum.iter_mut().for_each(|component| *component = (*component as f64 * share) as i64);
        totals.n_rows = n_rows;
        totals.n_docs = answer["hits"]["total"]["value"].as_u64().unwrap_or(0);
        totals.field_len = std::array::from_fn::<u64, N_FIELDS, _>(|field| sum(LENGTH_FIELDS[field]));
        Ok(())
    }

    /// Sends searches, and returns the answer of each.
    fn search(&self, searches: &[Search]) -> Result<Vec<Value>, OrgError> {
        let mut answers = Vec::with_capacity(searches.len());

        for searches in searches.chunks(MAX_SEARCHES) {
            let mut body = Vec::new();
            for Search { kind, body: search } in searches {
                let mut search = search.clone();
                search["timeout"] = json!(SHARD_TIMEOUT);
                let header = json!({ "index": self.org.alias(*kind), "search_type": "dfs_query_then_fetch" });
                for line in [&header, &search] {
                    body.extend_from_slice(line.to_string().as_bytes());
                    body.push(b'\n');
                }
            }

            let answer = self.org.connection.ask_lines("_msearch", &body)?;
            let responses = answer["responses"].as_array().cloned().unwrap_or_default();
            if responses.len() != searches.len() {
                let why = "a search has no answer".to_owned();
                return Err(OrgError::Answer { status: 200, why });
            }
            answers.extend(responses);
        }
        Ok(answers)
    }

    /// Counts `terms` in what `state` has.
    fn count(&self, terms: &[&str], state: &State) -> Result<Vec<TermTotals>, OrgError> {
        let unknown: Vec<&str> = {
            let known = sync::lock(&state.counts);
            terms.iter().copied().filter(|term| !known.contains_key(*term)).collect()
        };

        // The lock is not held while the engine counts.
        if !unknown.is_empty() {
            let limits = Limits::new(state.names.as_deref(), None);
            let answers = self.search(&requests::counts(&unknown, &limits))?;
            answers.iter().try_for_each(check_answer)?;

            let mut known = sync::lock(&state.counts);
            if known.len() > MAX_COUNTS {
                known.clear();
            }
            known.extend(
                unknown.iter().map(|term| (*term).to_owned()).zip(requests::totals(&answers, unknown.len())),
            );
        }

        let known = sync::lock(&state.counts);
        Ok(terms.iter().map(|term| known.get(*term).copied().unwrap_or_default()).collect())
    }

    fn find(&self, wanted: &[Wanted], filters: &Filters) -> Result<CandidateFiles, OrgError> {
        let state = self.state()?;
        let names = asked_names(&state, filters);
        let limits = Limits::new(names.as_deref(), Some(filters));

        // The counts come first: the engine scores by them.
        let mut searches = Vec::new();
        for wanted in wanted {
            let terms: Vec<&str> = wanted.terms.iter().map(|term| term.term.as_str()).collect();
            let counts = self.count(&terms, &state)?;
            let n_rows = state.whole.totals.n_rows;
            searches.extend(requests::candidates(wanted, &counts, n_rows, &limits, filters));
        }

        let mut hits = Hits::new();
        let mut failure = None;
        let answers = self.search(&searches)?;
        let mut n_failed = 0;
        for answer in &answers {
            if let Err(error) = check_answer(answer) {
                n_failed += 1;
                // What the other shards have found is shown, and that it is not all.
                failure = Some(error);
            }
            hits.extend(hits_of(answer));
        }

        if let Some(error) = failure {
            if n_failed == answers.len() && hits.is_empty() {
                return Err(error);
            }
            let mut found = self.read(hits, &state, &limits)?;
            found.warnings.push(format!("some candidates are missing: {error}"));
            return Ok(found);
        }
        self.read(hits, &state, &limits)
    }

    /// The files that may have lines with what `requirement` says.
    fn find_lines(&self, requirement: &Requirement, filters: &Filters) -> Result<LineFiles, OrgError> {
        let state = self.state()?;
        let names = asked_names(&state, filters);
        let limits = Limits::new(names.as_deref(), Some(filters));
        let searches = requests::with_lines(words::condition(requirement), &limits, filters);
        let answers = self.search(&searches)?;
        let [count, found] = answers.as_slice() else {
            return Err(OrgError::Answer { status: 200, why: "a search has no answer".to_owned() });
        };

        let mut files = Files::new(self.org.meta.dim);
        let hits: Hits = hits_of(found).collect();
        for answer in [count, found] {
            match check_answer(answer) {
                Ok(()) => {}
                Err(error) if hits.is_empty() => return Err(error),
                // What the other shards have found is shown, and that it is not all.
                Err(error) => files.found.warnings.push(format!("some files are missing: {error}")),
            }
        }

        let shown: BTreeSet<&str> = state.whole.members.iter().map(|member| member.name.as_str()).collect();
        self.read_all(hits, &shown, &mut files)?;
        let number = |answer: &Value| answer["hits"]["total"]["value"].as_u64().unwrap_or(0);
        Ok(LineFiles { found: files.finish(), n_candidates: number(found), n_files: number(count) })
    }

    /// Reads files, from the engine or from memory, with the implementations of headers among them.
    fn read(&self, hits: Hits, state: &State, limits: &Limits) -> Result<CandidateFiles, OrgError> {
        let shown: BTreeSet<&str> = state.whole.members.iter().map(|member| member.name.as_str()).collect();
        let mut files = Files::new(self.org.meta.dim);
        let known: BTreeSet<String> = hits.keys().cloned().collect();
        self.read_all(hits, &shown, &mut files)?;

        // Ranking asks for the files beside a header.
        let mut paths: BTreeSet<String> = BTreeSet::new();
        for place in files.found.places.iter().flatten() {
            let wanted = path_features::implementation_paths(&place.path);
            paths.extend(wanted.into_iter().filter_map(|path| String::from_utf8(path).ok()));
        }
        let mut beside = self.files_at(paths, limits)?;
        beside.retain(|id, _| !known.contains(id));
        self.read_all(beside, &shown, &mut files)?;

        Ok(files.finish())
    }

    /// The files at `paths`.
    fn files_at(&self, paths: BTreeSet<String>, limits: &Limits) -> Result<Hits, OrgError> {
        if paths.is_empty() {
            return Ok(Hits::new());
        }

        let paths: Vec<String> = paths.into_iter().collect();
        let answers = self.search(&requests::at_paths(&paths, limits))?;
        answers.iter().try_for_each(check_answer)?;
        Ok(answers.iter().flat_map(hits_of).collect())
    }

    /// Reads files and adds those that are in the repositories `shown`, in the order of their names.
    fn read_all(&self, hits: Hits, shown: &BTreeSet<&str>, files: &mut Files) -> Result<(), OrgError> {
        let mut read: BTreeMap<String, (Vec<Placed>, Option<Arc<CachedFile>>)> = BTreeMap::new();
        let mut unread = Vec::new();
        for (id, places) in hits {
            match (places, self.cache.get(&id)) {
                (Some(places), Some(file)) => {
                    let places = places.iter().filter_map(|place| placed(place, shown)).collect();
                    read.insert(id, (places, Some(file)));
                }
                _ => unread.push(id),
            }
        }

        for (id, at, file) in self.read_unread(&unread)? {
            let places = places_of(&at, shown);
            read.insert(id, (places, file));
        }

        for (id, (mut places, file)) in read {
            places.sort_by(|a, b| a.path.cmp(&b.path));
            // Otherwise it has left the repository since it was found.
            if !places.is_empty() {
                files.add(&id, places, file.as_deref());
            }
        }
        Ok(())
    }

    /// As [`Self::read_some`], of any number of files, with several requests at the same time.
    fn read_unread(&self, ids: &[String]) -> Result<Vec<FoundFile>, OrgError> {
        let mut found = Vec::with_capacity(ids.len());
        for ids in ids.chunks(READERS * READ) {
            let (first, rest) = ids.split_at(ids.len().min(READ));

            std::thread::scope(|scope| {
                let others: Vec<_> =
                    rest.chunks(READ).map(|ids| scope.spawn(move || self.read_some(ids))).collect();
                found.extend(self.read_some(first)?);
                for other in others {
                    found.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
                }
                Ok::<(), OrgError>(())
            })?;
        }
        Ok(found)
    }

    /// Reads some files: the name, the places and the content of each that there is.
    fn read_some(&self, ids: &[String]) -> Result<Vec<FoundFile>, OrgError> {
        let index = self.org.alias(Kind::Files);
        let docs: Vec<Value> = ids
            .iter()
            .map(|id| json!({ "_index": index, "_id": id, "_source": ["at", "data", "text"] }))
            .collect();

        let answer = self.org.connection.ask(Method::Post, "_mget", Some(&json!({ "docs": docs })))?;
        let mut files = Vec::with_capacity(ids.len());
        for doc in answer["docs"].as_array().map(Vec::as_slice).unwrap_or_default() {
            if doc["error"].is_object() {
                return Err(error_of(503, &doc["error"]));
            }
            let Some(id) = doc["_id"].as_str().filter(|_| doc["found"] == json!(true)) else { continue };

            let file = match self.cache.get(id) {
                Some(file) => Some(file),
                None => CachedFile::decode(id, &doc["_source"], self.org.meta.dim).map(Arc::new),
            };
            if let Some(file) = &file {
                self.cache.keep(id, file);
            }
            files.push((id.to_owned(), doc["_source"]["at"].clone(), file));
        }
        Ok(files)
    }
}

impl State {
    /// Takes over the counts of words that are in many files, while the rows are about the same. Such counts
    /// hardly change with a push, and to count them anew takes as long as there are rows.
    fn take_counts(&mut self, last: &State) {
        let n_changed = self.n_counted.abs_diff(last.n_counted);
        if self.names != last.names || n_changed.saturating_mul(MAX_DRIFT) > last.n_counted {
            return;
        }

        let counts = sync::lock(&last.counts);
        let kept = counts.iter().filter(|(_, counts)| counts.files >= MANY_FILES);
        self.counts = Mutex::new(kept.map(|(term, counts)| (term.clone(), *counts)).collect());
        self.n_counted = last.n_counted;
    }
}

impl Engine for OrgEngine {
    fn whole(&self) -> Result<Whole, QueryError> {
        Ok(self.state()?.whole.clone())
    }

    fn counts(&self, terms: &[&str]) -> Result<Vec<TermTotals>, QueryError> {
        let state = self.state()?;
        Ok(self.count(terms, &state)?)
    }

    fn candidates(&self, wanted: &[Wanted], filters: &Filters) -> Result<CandidateFiles, QueryError> {
        Ok(self.find(wanted, filters)?)
    }

    fn files_with(&self, requirement: &Requirement, filters: &Filters) -> Result<LineFiles, QueryError> {
        Ok(self.find_lines(requirement, filters)?)
    }

    /// Content is kept in memory once for all readers.
    fn limited_to(&self, may_see: Arc<MaySee>) -> Arc<dyn Engine> {
        Arc::new(OrgEngine {
            org: self.org.clone(),
            may_see: Some(may_see),
            known: self.known.clone(),
            whole: Mutex::default(),
            cache: self.cache.clone(),
        })
    }
}

/// Files that were read, on the way to a segment.
struct Files {
    found: CandidateFiles,
    table: TermTable,
    n_damaged: usize,
}

impl Files {
    fn new(dim: usize) -> Files {
        let found = CandidateFiles { builder: SegmentBuilder::new(dim), ..CandidateFiles::default() };
        Files { found, table: TermTable::default(), n_damaged: 0 }
    }

    /// Adds a file at `places`; `None` for one that is damaged.
    fn add(&mut self, id: &str, places: Vec<Placed>, file: Option<&CachedFile>) {
        let CandidateFiles { builder, texts, .. } = &mut self.found;
        let added = file.and_then(|file| {
            file.record.add_to(builder, &file.vectors, &mut self.table)?;
            if let (Some(text), Some(oid)) = (&file.text, file.record.oid()) {
                texts.insert(oid, text.clone());
            }
            Some(())
        });

        match added {
            Some(()) => self.found.places.push(places),
            None => {
                self.n_damaged += 1;
                tracing::warn!(component = "org", operation = "read", file = id, "a document is damaged");
            }
        }
    }

    fn finish(mut self) -> CandidateFiles {
        if self.n_damaged > 0 {
            let n = self.n_damaged;
            self.found.warnings.push(format!("{n} files of the index are damaged and left out"));
        }
        self.found
    }
}

/// The files in the answer to a search, each with its places if its document has them in that form.
fn hits_of(answer: &Value) -> impl Iterator<Item = (String, Option<Vec<String>>)> + '_ {
    let hits = answer["hits"]["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
    hits.iter().filter_map(|hit| {
        let fields = &hit["fields"];
        let places = fields["place"].as_array();
        let places =
            places.map(|places| places.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect());
        Some((fields["file"][0].as_str()?.to_owned(), places))
    })
}

/// The place that a search has returned; `None` for one outside of the repositories `shown`.
fn placed(place: &str, shown: &BTreeSet<&str>) -> Option<Placed> {
    let (flags, rest) = place.split_once(SEPARATOR)?;
    let (repo, path) = rest.split_once(SEPARATOR)?;
    shown.contains(repo).then_some(())?;
    Some(Placed { path: path.as_bytes().to_vec(), flags: flags.parse().ok()? })
}

/// Checks that a search was answered by all shards in time.
fn check_answer(answer: &Value) -> Result<(), OrgError> {
    if answer["error"].is_object() {
        return Err(error_of(answer["status"].as_u64().unwrap_or(500) as u16, &answer["error"]));
    }
    if answer["timed_out"] == json!(true) {
        return Err(OrgError::Degraded { why: "a search timed out".to_owned() });
    }
    all_shards(answer)
}

/// The names of the repositories that are asked for; `None` for all.
fn asked_names(state: &State, filters: &Filters) -> Option<Vec<String>> {
    let Some(repos) = &filters.repos else { return state.names.clone() };
    let asked = state.whole.members.iter().filter(|member| repos.contains(member.name.as_bytes()));
    Some(asked.map(|member| member.name.clone()).collect())
}

/// The places in a document that are in one of the repositories `shown`.
fn places_of(at: &Value, shown: &BTreeSet<&str>) -> Vec<Placed> {
    let places = at.as_array().map(Vec::as_slice).unwrap_or_default();
    let own = places.iter().filter(|place| place["r"].as_str().is_some_and(|repo| shown.contains(repo)));
    own.filter_map(|place| {
        Some(Placed {
            path: place["p"].as_str()?.as_bytes().to_vec(),
            flags: u16::try_from(place["f"].as_u64()?).ok()?,
        })
    })
    .collect()
}

/// The sums over all repositories.
fn summed(members: &[OrgMember]) -> Totals {
    let mut sum = Totals { complete: true, ..Totals::default() };

    for OrgMember { numbers, .. } in members {
        let totals = &numbers.totals;
        sum.n_docs += totals.n_docs;
        sum.n_rows += totals.n_rows;
        sum.n_paths += totals.n_paths;
        sum.field_len.iter_mut().zip(totals.field_len).for_each(|(sum, n)| *sum += n);
        if sum.vector_sum.len() < totals.vector_sum.len() {
            sum.vector_sum.resize(totals.vector_sum.len(), 0);
        }
        sum.vector_sum.iter_mut().zip(&totals.vector_sum).for_each(|(sum, n)| *sum += n);
        for (reason, n) in &totals.skipped {
            *sum.skipped.entry(*reason).or_default() += n;
        }
    }
    sum
}

/// Sentences on repositories of which not everything is there, or more than there should be.
fn warnings(members: &[OrgMember]) -> Vec<String> {
    let changing: Vec<&str> = members
        .iter()
        .filter(|member| member.state != PushState::Complete)
        .map(|member| member.name.as_str())
        .collect();
    let named = changing[..changing.len().min(MAX_NAMED)].join(", ");

    match changing.len() {
        0 => Vec::new(),
        1 => vec![format!("a repository is being pushed and may be shown partly: {named}")],
        n => vec![format!("{n} repositories are being pushed and may be shown partly: {named}")],
    }
}

/// The names of the repositories that are known here with another commit.
fn moved(members: &[OrgMember], known: &FxHashMap<String, String>) -> Vec<String> {
    let outdated = members.iter().filter(|member| {
        let known = known.get(&member.name);
        known.is_some_and(|known| member.commit.as_ref() != Some(known))
    });
    outdated.map(|member| member.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(n_rows: u64, counts: &[(&str, u64)]) -> State {
        let totals = |files| TermTotals { files, ..TermTotals::default() };
        let counts = counts.iter().map(|(term, files)| ((*term).to_owned(), totals(*files)));
        State {
            whole: Whole { totals: Totals { n_rows, ..Totals::default() }, ..Whole::default() },
            names: None,
            members: Vec::new(),
            counts: Mutex::new(counts.collect()),
            n_counted: n_rows,
        }
    }

    #[test]
    fn counts_of_common_words_are_kept_while_rows_are_about_the_same() {
        let before = state(1_000_000, &[("return", MANY_FILES), ("rare", MANY_FILES - 1), ("new", 0)]);
        let mut after = state(1_009_000, &[]);
        after.take_counts(&before);
        let kept: Vec<String> = sync::lock(&after.counts).keys().cloned().collect();
        assert_eq!((kept, after.n_counted), (vec!["return".to_owned()], 1_000_000));

        // Small changes add up.
        let mut later = state(1_018_000, &[]);
        later.take_counts(&after);
        assert!(sync::lock(&later.counts).is_empty());
        // Other repositories have other counts.
        let mut of_one = State { names: Some(vec!["mine".to_owned()]), ..state(1_000_000, &[]) };
        of_one.take_counts(&before);
        assert!(sync::lock(&of_one.counts).is_empty());
    }
}
