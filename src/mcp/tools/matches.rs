//! Answers of `find_code` and `find_similar`: matches with proof of freshness, reduced to the token limit.

use super::{Answer, CallError};
use crate::chunk::tokens;
use crate::git::quoting::printed;
use crate::index::background;
use crate::mcp::codebases::CallTarget;
use crate::mcp::cursor::Cursor;
use crate::query::response::{Focus, Status, n_of};
use crate::query::view::{Freshness, MatchState};
use crate::query::{Match, Response};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Default of `max_results`.
pub const DEFAULT_MATCHES: usize = 50;
/// Maximum of `max_results`; larger values are reduced to it.
const MAX_MATCHES: i64 = 1000;

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    #[serde(flatten)]
    pub response: Response,
    /// Root of the worktree that answers; paths are relative to it.
    #[serde(rename = "codebaseRoot")]
    pub codebase_root: PathBuf,
    /// Present if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Maximum number of matches and tokens in an answer.
pub struct Limits {
    pub matches: usize,
    pub tokens: u32,
}

/// Lower bound of the tokens of a match without text, with the names of its fields.
const LOCATION_TOKENS: u32 = 100;
/// Minimum token limit of a search, so that it returns a match whose size in an answer can be told.
const MIN_SEARCH_TOKENS: u32 = 400;

impl Limits {
    /// Limits from arguments. Values below 1 are errors.
    pub fn new(matches: Option<i64>, tokens: Option<i64>, default_tokens: u32) -> Result<Limits, CallError> {
        let matches = matches.map(|n| at_least_1("max_results", n)).transpose()?;
        let matches = matches.map_or(DEFAULT_MATCHES, |n| n.min(MAX_MATCHES) as usize);
        Ok(Limits { matches, tokens: token_limit(tokens, default_tokens)? })
    }

    /// The number of matches to search for: no more than have room for their locations, so that the best have
    /// room for their texts.
    pub fn search_matches(&self) -> usize {
        self.matches.min((self.tokens / LOCATION_TOKENS) as usize + 1)
    }

    /// The token limit of the search, whose matches are then reduced to that of the answer.
    pub fn search_tokens(&self) -> u32 {
        self.tokens.max(MIN_SEARCH_TOKENS)
    }
}

pub fn token_limit(given: Option<i64>, default: u32) -> Result<u32, CallError> {
    match given {
        None => Ok(default),
        Some(n) => Ok(u32::try_from(at_least_1("token_limit", n)?).unwrap_or(u32::MAX)),
    }
}

/// The warning of an answer that has none of its `n` items because the first alone needs `needed` tokens.
pub fn no_room(item: &str, n: usize, needed: u32) -> String {
    let items = if n == 1 { item.to_owned() } else { format!("{item}s") };
    format!("{n} {items} found; token_limit is too small for the first, which needs {needed}")
}

fn at_least_1(name: &str, number: i64) -> Result<i64, CallError> {
    if number >= 1 { Ok(number) } else { Err(CallError::parameter(name, "at least 1", number)) }
}

/// The part of a long result that an answer contains.
pub struct Page<'a, K> {
    /// Number of matches in earlier answers.
    pub offset: usize,
    /// Maximum number of matches.
    pub max_matches: usize,
    /// Maximum number of tokens.
    pub token_limit: u32,
    /// Whether the matches have no text on request.
    pub is_locations_only: bool,
    /// The arguments that a cursor is bound to.
    pub key: &'a K,
}

/// Builds the answer, with as many matches as fit into the token limit in both forms.
///
/// Reduces the response step by step until it fits: first secondary locations and symbols, then parts of the
/// frame, then matches from the end. The last match is reduced to its location. What is left out is counted in
/// both forms.
pub fn answer(
    target: &CallTarget,
    mut response: Response,
    page: &Page<'_, impl Serialize>,
) -> Answer<Output> {
    let &Page { offset, token_limit: limit, key, .. } = page;
    background::update_if_due(target.codebase(), response.index.needs_update);
    let is_searched = response.absent_paths.is_empty();
    if response.total_found == 0 && response.status == Status::Ok && is_searched {
        "No matches found for query. ".clone_into(&mut response.summary);
        response.summary.push_str(&format!(
            "Searched {} chunks across {} files; languages and filters may be too narrow.",
            response.index.chunks, response.index.files
        ));
    }
    let n_beyond_limit = response.total_found.saturating_sub(offset + page.max_matches);
    let mut sizes: Vec<Size> = response.matches.iter().map(Size::of_match).collect();
    let mut needed = None;
    loop {
        let is_empty = response.matches.is_empty();
        let shown = offset + response.matches.len();
        let n_after = response.total_found.saturating_sub(shown);
        let is_cut = n_after > 0;
        if let Some(omitted) = &mut response.omitted {
            omitted.by_limit = n_beyond_limit.min(n_after);
            omitted.by_token_limit = n_after - omitted.by_limit;
            omitted.shortened = response.matches.iter().filter(|found| is_shortened(found, page)).count();
            // That of the library is for another form of the matches.
            omitted.tokens_needed = needed.filter(|_| is_empty);
        }
        if is_cut && is_empty {
            response.summary.clear();
        }
        let next_cursor = (is_cut && !is_empty).then(|| Cursor::at(shown, key).to_string());
        if is_cut && is_empty && response.status == Status::Ok {
            response.status = Status::Degraded;
            let needed = needed.map_or_else(String::new, |n| format!("; {n} would do for the first"));
            response.warnings.push(format!("the token limit leaves no room for any match{needed}"));
        }
        let matches = std::mem::take(&mut response.matches);
        let frame = Output { response, codebase_root: target.codebase().root(), next_cursor };
        let size = Size::of_frame(&frame, matches.len()).with(&sizes);
        let mut output = frame;
        output.response.matches = matches;
        if size.text.max(size.json) <= limit || is_empty {
            let text = text_of(&output);
            debug_assert_eq!(size.text, tokens::count(&text));
            // A value that cannot be serialised (a root that is not UTF-8) has size 0 and fails when it is
            // sent.
            debug_assert!(matches!(count_json(&output), json if json == size.json || json == 0));
            return Answer { structured: output, text };
        }
        response = output.response;
        // Drop secondary locations and symbols before matches.
        if let Some(at) = response.matches.iter().rposition(is_rich) {
            let found = &mut response.matches[at];
            found.more_in_file.clear();
            found.related_symbols.clear();
            found.also_at.clear();
            found.near_copies.clear();
            sizes[at] = Size::of_match(found);
            continue;
        }
        // Then drop dispensable parts of the frame.
        if trim_frame(&mut response) {
            continue;
        }
        match response.matches.as_mut_slice() {
            [only] if !is_location(only) || !response.summary.is_empty() => {
                only.to_location();
                sizes[0] = Size::of_match(only);
                // The commit implies the tree.
                if response.index.commit.is_some() {
                    response.index.tree.clear();
                    response.index.head = None;
                }
                response.summary.clear();
            }
            rest => {
                needed = (rest.len() == 1).then(|| size.text.max(size.json));
                response.matches.pop();
                sizes.pop();
                response.summary = n_of(response.matches.len(), response.total_found);
            }
        }
        response.omitted.get_or_insert_default();
        response.total_results = response.matches.len();
    }
}

/// Whether the token limit has taken text from a match.
fn is_shortened<K>(found: &Match, page: &Page<'_, K>) -> bool {
    found.content.elided && !page.is_locations_only
}

/// Number of tokens of an answer, or of a part of it, in both forms. Sizes of parts add up, since no token
/// spans two parts: in text they are separated by line breaks, in JSON by punctuation.
#[derive(Clone, Copy)]
struct Size {
    text: u32,
    json: u32,
}

impl Size {
    fn of_match(found: &Match) -> Size {
        let mut text = String::new();
        write_match(&mut text, found);
        Size { text: tokens::count(&text), json: count_json(found) }
    }

    /// The size of everything but the matches.
    fn of_frame(frame: &Output, n_matches: usize) -> Size {
        let head = head_of(&frame.response, n_matches) + &tail_of(frame.next_cursor.as_deref());
        let commas = n_matches.saturating_sub(1) as u32;
        Size { text: tokens::count(&head), json: count_json(frame) + commas }
    }

    fn with(self, parts: &[Size]) -> Size {
        parts.iter().fold(self, |sum, part| Size { text: sum.text + part.text, json: sum.json + part.json })
    }
}

fn count_json(value: &impl Serialize) -> u32 {
    serde_json::to_string(value).map_or(0, |json| tokens::count(&json))
}

/// Removes what is repeated in the matches or available from `manage_index`. Returns false if already
/// removed.
fn trim_frame(response: &mut Response) -> bool {
    if response.query_intent.reasoning.is_empty() {
        return false;
    }
    response.query_intent.reasoning.clear();
    response.query_intent.focus_areas.clear();
    response.index.skipped.clear();
    response.languages_found.clear();
    response.search_strategy.clear();
    response.summary = n_of(response.matches.len(), response.total_found);
    true
}

fn is_location(found: &Match) -> bool {
    let content = &found.content;
    content.text.is_empty() && content.signature.is_empty() && content.doc.is_empty()
}

fn is_rich(found: &Match) -> bool {
    let Match { more_in_file, related_symbols, also_at, near_copies, .. } = found;
    !(more_in_file.is_empty() && related_symbols.is_empty() && also_at.is_empty() && near_copies.is_empty())
}

/// Formats an answer as compact text: a heading for each match, followed by its code.
fn text_of(output: &Output) -> String {
    let mut text = head_of(&output.response, output.response.matches.len());
    for found in &output.response.matches {
        write_match(&mut text, found);
    }
    text + &tail_of(output.next_cursor.as_deref())
}

fn head_of(response: &Response, n_matches: usize) -> String {
    // The summary would repeat the headings.
    let head = match n_matches {
        0 if response.total_found > 0 => n_of(0, response.total_found),
        0 => response.summary.clone(),
        n => format!("{n} of {} matches", response.total_found),
    };
    let n_shortened = response.omitted.as_ref().map_or(0, |omitted| omitted.shortened);
    let head = if n_shortened > 0 { format!("{head}, {n_shortened} shortened") } else { head };
    let mut text = format!("{head} [{}]", freshness(response));
    for warning in &response.warnings {
        let _ = write!(text, "\nwarning: {warning}");
    }
    text.push('\n');
    text
}

fn tail_of(next_cursor: Option<&str>) -> String {
    next_cursor.map_or_else(String::new, |cursor| format!("\nmore: repeat the call with cursor {cursor:?}\n"))
}

fn write_match(text: &mut String, found: &Match) {
    heading(text, found);
    if !found.content.text.is_empty() {
        let _ = writeln!(text, "{}", found.content.text.trim_end());
    }
}

fn freshness(response: &Response) -> String {
    let index = &response.index;
    let mut text = name_of(index.freshness).to_owned();
    let oid = index.commit.as_deref().unwrap_or(&index.tree);
    if !oid.is_empty() {
        let _ = write!(text, ", {} at {}", index.rev, crate::query::view::short(oid));
    }
    if index.dirty_files > 0 {
        let _ = write!(text, ", {} uncommitted", index.dirty_files);
    }
    text
}

/// The name of a freshness in structured content.
pub fn name_of(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Fresh => "fresh",
        Freshness::Synced => "synced",
        Freshness::Overlaid => "overlaid",
        Freshness::SkippedIndexing => "skipped_indexing",
        Freshness::Stale => "stale",
    }
}

/// The state of a file as a suffix; empty for committed files.
pub fn state_of(state: MatchState) -> &'static str {
    match state {
        MatchState::Committed => "",
        MatchState::Staged => ", staged",
        MatchState::Dirty => ", dirty",
        MatchState::Untracked => ", untracked",
        MatchState::Unreadable => ", committed; the file cannot be read",
    }
}

fn heading(text: &mut String, found: &Match) {
    let state = state_of(found.state);
    let Focus { start_line, end_line, .. } = found.focus;
    let (path, score) = (printed(&found.file.path), found.relevance_score);
    let _ = write!(text, "\n## {path}:{start_line}-{end_line} ({score:.2}{state}) {}", found.name());
    let (first, last) = found.span;
    if (first, last) != (start_line, end_line) && !found.content.elided {
        let _ = write!(text, " in lines {first}-{last}");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    if !found.near_copies.is_empty() {
        let places = found.near_copies.iter().map(|copy| format!("{}:{}", printed(&copy.path), copy.span.0));
        let _ = writeln!(text, "(nearly the same: {})", places.collect::<Vec<_>>().join(", "));
    }
}
