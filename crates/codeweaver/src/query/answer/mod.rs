//! Answer: from ranked files to the response.
//!
//! * [`content`]: matches with their text.
//! * [`evidence`], `focus`: the choice of the definition in a chunk that answers the query.
//! * `absences`: names, languages and paths of the request that the view does not have.
//! * [`related`]: symbols that are related to that definition.
//! * [`texts`]: the texts of chunks.
//! * [`budget`]: the limits of an answer, and how matches are shortened to fit.

pub mod absences;
pub mod budget;
pub mod content;
pub mod evidence;
mod focus;
pub mod related;
mod texts;

use std::collections::BTreeSet;
use std::time::Duration;

use codeweaver_git::{BString, quoting};
use codeweaver_index::policy::skip_reason;

use super::intent::QueryIntent;
use super::listing::Listing;
use super::parse::report;
use super::rank::RankedFile;
use super::request::Request;
use super::response::{Focus, IndexInfo, Match, Omitted, Response, Status, Strategy, Warning, n_of};
use super::view::scope::AbsentPath;
use super::view::{Freshness, View};
use absences::Absences;
use budget::Fitted;
use evidence::Evidence;

/// Maximum length of a summary in bytes.
const MAX_SUMMARY_BYTES: usize = 1000;
/// Maximum number of matches that a summary names.
const MAX_SUMMARY_MATCHES: usize = 3;

/// Maximum number of unreadable files and directories that are listed.
const MAX_UNREADABLE: usize = 20;

/// Everything that a search found, before limits apply and texts are read.
pub struct Ranking {
    /// Best first.
    pub files: Vec<RankedFile>,
    /// Decides which definition of a chunk answers.
    pub evidence: Evidence,
    pub intent: QueryIntent,
    /// Number of candidates that were ranked.
    pub n_candidates: usize,
    /// Time to find the candidates in the index.
    pub retrieval: Duration,
    /// Kinds of evidence that found a candidate, and stages that acted.
    pub strategies: Vec<Strategy>,
    pub warnings: Vec<String>,
    /// Remarks for the user that do not make the answer incomplete.
    pub notes: Vec<String>,
    /// Words of the query that occur nowhere in the view, as written.
    pub absent_words: Vec<String>,
    /// Languages of the filters that the view does not have.
    pub absent_languages: Vec<String>,
    /// Paths of the filters that match no indexed file.
    pub absent_paths: Vec<AbsentPath>,
}

/// A ranking with the matches that are returned of it.
pub struct Answer {
    pub fitted: Fitted,
    pub ranking: Ranking,
}

impl Answer {
    /// Removes the matches in `files`, whose contents on disk are not those that the matches show.
    pub fn leave_out(&mut self, files: &BTreeSet<BString>) {
        if files.is_empty() {
            return;
        }

        self.fitted.matches.retain(|found| !files.contains(&quoting::bytes(&found.file.path)));
        let n = files.len();
        self.ranking
            .warnings
            .push(format!("{n} changed files that match are left out; search again in a moment"));
    }
}

/// Assembles the response to `request`. `took` is the time since it arrived.
pub fn respond(request: &Request, view: &View, answer: Answer, index: IndexInfo, took: Duration) -> Response {
    let Answer { fitted, ranking } = answer;
    let total_matches = ranking.files.iter().filter(|file| file.relevance >= request.min_score).count();

    let omitted = omitted(request, &fitted, total_matches);
    let Fitted { matches, n_tokens: token_count, unread_repos, .. } = fitted;

    let mut warnings = view.warnings.clone();
    warnings.extend(view.missing_warning(Some(&request.filters)));
    warnings.extend(view.members_warnings(Some(&request.filters)));

    // An engine has repositories that are not here.
    if !unread_repos.is_empty() && view.whole.is_none() {
        warnings.push(format!(
            "{} cannot be read, matches there have no text; `git codeweaver catalogue sync` leaves out what is gone",
            unread_repos.join(", ")
        ));
    }

    warnings.extend_from_slice(&ranking.warnings);
    let no_room = omitted.as_ref().filter(|_| matches.is_empty());
    warnings.extend(no_room.map(Omitted::note));

    // Whatever is added to the warnings from here on does not make the answer degraded.
    let is_degraded = !warnings.is_empty();
    let Ranking { absent_languages, absent_paths, absent_words, .. } = &ranking;
    let absences = Absences::new(request, view, absent_languages, absent_paths, absent_words);

    warnings.extend_from_slice(&ranking.notes);
    if !unread_repos.is_empty() && view.whole.is_some() {
        warnings.push(format!("{} not at hand, matches there have no text", are(&unread_repos)));
    }
    // Without matches the summary says it.
    if !matches.is_empty() {
        warnings.extend(absences.notes());
    }

    let mut languages: Vec<String> = matches.iter().map(|found| found.file.language.clone()).collect();
    languages.sort();
    languages.dedup();

    Response {
        absent_words: ranking.absent_words.clone(),
        absent_paths: absences.paths.clone(),
        status: if is_degraded { Status::Degraded } else { Status::Ok },
        summary: shortened(match &omitted {
            Some(omitted) if matches.is_empty() => omitted.note(),
            _ if matches.is_empty() => nothing_found(request, view, &absences),
            _ => summary(request, &matches, total_matches),
        }),
        query_intent: ranking.intent,
        candidates: ranking.n_candidates,
        total_matches,
        total_results: matches.len(),
        omitted,
        token_count,
        execution_time_ms: took.as_millis() as u64,
        retrieval: ranking.retrieval,
        search_strategy: ranking.strategies,
        languages_found: languages,
        warning: (is_degraded && view.freshness == Freshness::SkippedIndexing)
            .then_some(Warning::IndexingInProgress),
        warnings,
        index,
        matches,
    }
}

/// Facts about the state that `view` shows, by which an answer can be checked. `model` is the name of the
/// embedder.
pub fn index_info(view: &View, model: &str) -> IndexInfo {
    let totals = &view.snapshot.totals;
    let skipped = totals.skipped.iter().filter_map(|(n, count)| Some((skip_reason(*n)?.name(), *count)));

    IndexInfo {
        commit: view.commit.clone(),
        tree: view.shown_tree.clone(),
        rev: view.spec.clone(),
        head: view.head_commit.clone(),
        freshness: view.freshness,
        dirty_files: view.n_dirty,
        unchecked_files: view.n_unchecked + view.unreadable().count(),
        unreadable: view.unreadable().take(MAX_UNREADABLE).map(|path| quoting::text(path)).collect(),
        late_files: view.n_unchecked,
        pending_files: view.n_pending(),
        needs_update: view.needs_update,
        is_revision_overlaid: view.is_revision_overlaid,
        files: totals.n_paths,
        chunks: totals.n_rows,
        skipped: skipped.collect(),
        coverage: view.coverage,
        model: model.to_owned(),
    }
}

/// Names with the verb that follows them.
fn are(names: &[String]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "is" } else { "are" })
}

/// The sentence that says that no indexed file is at a path of the filters.
fn no_such_path(view: &View, absent: &AbsentPath) -> String {
    let AbsentPath { pathspec, n_skipped } = absent;
    let near = if *n_skipped == 0 { near(view, pathspec).join(" or ") } else { String::new() };

    match n_skipped {
        0 if near.is_empty() => format!("no indexed file matches the path '{pathspec}'"),
        0 => format!("no indexed file matches the path '{pathspec}' (did you mean {near}?)"),
        1 => format!("the only file that matches the path '{pathspec}' is not indexed"),
        n => format!("none of the {n} files that match the path '{pathspec}' is indexed"),
    }
}

/// The indexed files and directories that a path may mean; none for a glob.
fn near(view: &View, pathspec: &str) -> Vec<String> {
    if pathspec.contains(['*', '?', '[', ':']) {
        return Vec::new();
    }
    let entries = view.reader.live_entries(&view.snapshot.entries);
    let all: Vec<BString> = entries.map(|(.., path)| path.into()).collect();
    Listing::near(&all, pathspec)
}

/// The number of the `total_matches` matches that the limits of `request` left out or shortened; `None` if
/// there is none.
fn omitted(request: &Request, fitted: &Fitted, total_matches: usize) -> Option<Omitted> {
    let n_available = total_matches.saturating_sub(request.offset);
    let n_wanted = n_available.min(request.limit);

    let omitted = Omitted {
        by_limit: n_available - n_wanted,
        by_token_limit: fitted.n_without_room,
        shortened: fitted.n_shortened,
        tokens_needed: fitted.tokens_needed,
        limit: request.limit,
        token_limit: request.token_limit,
    };

    (omitted.n_matches() + omitted.shortened > 0).then_some(omitted)
}

/// The summary of an answer without matches: the extent of the search, and the absences.
fn nothing_found(request: &Request, view: &View, absences: &Absences) -> String {
    if !absences.paths.is_empty() {
        let is_searched = absences.paths.len() < request.filters.paths.len();
        let what = if is_searched { "No results found" } else { "Nothing was searched" };
        return format!("{what}: {}", absences.paths.join("; "));
    }

    let totals = &view.snapshot.totals;
    let suffix = absences.suffix();
    format!("No results found (searched {} chunks across {} files){suffix}", totals.n_rows, totals.n_paths)
}

/// The number of matches and the best of them in one sentence.
fn summary(request: &Request, matches: &[Match], total_matches: usize) -> String {
    let mut best = Vec::new();
    for found in matches.iter().take(MAX_SUMMARY_MATCHES) {
        let Focus { start_line, end_line, .. } = found.focus;
        best.push(format!("{}:{start_line}-{end_line} ({})", found.file.path, found.name()));
    }

    let count = n_of(matches.len(), total_matches);
    format!("{count} for \"{}\"; best: {}", report::heading(&request.query), best.join(", "))
}

/// Cuts the summary `text` to at most [`MAX_SUMMARY_BYTES`], between characters.
fn shortened(mut text: String) -> String {
    if text.len() > MAX_SUMMARY_BYTES {
        let cut = (0..=MAX_SUMMARY_BYTES).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        text.truncate(cut);
    }
    text
}
