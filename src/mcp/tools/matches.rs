//! What `find_code` and `find_similar` answer: matches with their proof, cut to the token limit.

use super::{Answer, Call, CallError};
use crate::chunk::tokens;
use crate::mcp::codebases::Asked;
use crate::mcp::cursor::Cursor;
use crate::query::response::Status;
use crate::query::view::{Freshness, MatchState};
use crate::query::{Match, Response};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Most matches if the call does not say.
pub const DEFAULT_MATCHES: usize = 50;
/// More are never asked for at once.
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

/// Limits of an answer.
pub struct Limits {
    pub matches: usize,
    pub tokens: u32,
}

impl Limits {
    /// From arguments; values below 1 are errors (R6).
    pub fn new(matches: Option<i64>, tokens: Option<i64>, default_tokens: u32) -> Result<Limits, CallError> {
        let matches = matches.map(|n| at_least_1("max_results", n)).transpose()?;
        let matches = matches.map_or(DEFAULT_MATCHES, |n| n.min(MAX_MATCHES) as usize);
        Ok(Limits { matches, tokens: token_limit(tokens, default_tokens)? })
    }
}

pub fn token_limit(given: Option<i64>, default: u32) -> Result<u32, CallError> {
    match given {
        None => Ok(default),
        Some(n) => Ok(u32::try_from(at_least_1("token_limit", n)?).unwrap_or(u32::MAX)),
    }
}

fn at_least_1(name: &str, number: i64) -> Result<i64, CallError> {
    if number >= 1 { Ok(number) } else { Err(CallError::parameter(name, "at least 1", number)) }
}

/// The answer with as many matches as the limit allows, in both of its forms.
pub fn answer(
    call: &Call,
    asked: &Asked,
    mut response: Response,
    offset: usize,
    limit: u32,
    question: &impl Serialize,
) -> Answer<Output> {
    call.catch_up(asked, response.index.is_behind);
    if response.matches.is_empty() && response.status == Status::Ok && offset == 0 {
        "No matches found for query. ".clone_into(&mut response.summary);
        response.summary.push_str(&format!(
            "Searched {} chunks across {} files; languages and filters may be too narrow.",
            response.index.chunks, response.index.files
        ));
    }
    loop {
        let shown = offset + response.matches.len();
        let is_cut = shown < response.n_ranked;
        if is_cut && response.matches.is_empty() {
            response.summary.clear();
        }
        let next_cursor =
            (is_cut && !response.matches.is_empty()).then(|| Cursor::at(shown, question).to_string());
        if is_cut && response.matches.is_empty() && response.status == Status::Ok {
            response.status = Status::Degraded;
            response.warnings.push("the token limit leaves no room for any match".to_owned());
        }
        let text = text_of(&response, next_cursor.as_deref());
        let output = Output { response, codebase_root: asked.codebase().root(), next_cursor };
        let size = serde_json::to_string(&output).map_or(0, |json| tokens::count(&json));
        if (tokens::count(&text) <= limit && size <= limit) || output.response.matches.is_empty() {
            return Answer { structured: output, text };
        }
        response = output.response;
        // Names and further places go before matches do.
        if let Some(found) = response.matches.iter_mut().rev().find(|found| is_rich(found)) {
            found.more_in_file.clear();
            found.related_symbols.clear();
            found.also_at.clear();
            found.near_copies.clear();
            continue;
        }
        // The frame, as far as a reader can do without it, before matches; of the last match, all but its place.
        if trim_frame(&mut response) {
            continue;
        }
        match response.matches.as_mut_slice() {
            [only] if !is_location(only) => {
                only.to_location();
                // The commit says which tree it is, and is HEAD if nothing else is said.
                if response.index.commit.is_some() {
                    response.index.tree.clear();
                    response.index.head = None;
                }
                response.summary.clear();
            }
            _ => drop(response.matches.pop()),
        }
        response.total_results = response.matches.len();
    }
}

/// Leaves out what the matches say themselves or what `manage_index` shows; false if that has been done.
fn trim_frame(response: &mut Response) -> bool {
    let is_trimmed = response.query_intent.reasoning.is_empty();
    response.query_intent.reasoning.clear();
    response.query_intent.focus_areas.clear();
    response.index.skipped.clear();
    response.languages_found.clear();
    response.search_strategy.clear();
    response.summary = format!("{} matches", response.matches.len());
    !is_trimmed
}

fn is_location(found: &Match) -> bool {
    let content = &found.content;
    content.text.is_empty() && content.signature.is_empty() && content.doc.is_empty()
}

fn is_rich(found: &Match) -> bool {
    let Match { more_in_file, related_symbols, also_at, near_copies, .. } = found;
    !(more_in_file.is_empty() && related_symbols.is_empty() && also_at.is_empty() && near_copies.is_empty())
}

/// For a reader with little room: a heading per match with its code below.
fn text_of(response: &Response, next_cursor: Option<&str>) -> String {
    // The summary repeats what the headings say.
    let head = match response.matches.len() {
        0 if response.n_ranked > 0 => format!("0 of {} matches", response.n_ranked),
        0 => response.summary.clone(),
        n => format!("{n} of {} matches", response.n_ranked),
    };
    let mut text = format!("{head} [{}]", freshness(response));
    for warning in &response.warnings {
        let _ = write!(text, "\nwarning: {warning}");
    }
    text.push('\n');
    for found in &response.matches {
        heading(&mut text, found);
        if !found.content.text.is_empty() {
            let _ = writeln!(text, "{}", found.content.text.trim_end());
        }
    }
    if let Some(cursor) = next_cursor {
        let _ = writeln!(text, "\nmore: repeat the call with cursor {cursor:?}");
    }
    text
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

/// As it is in structured content.
pub fn name_of(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Fresh => "fresh",
        Freshness::Synced => "synced",
        Freshness::Overlaid => "overlaid",
        Freshness::SkippedIndexing => "skipped_indexing",
        Freshness::Stale => "stale",
    }
}

/// What is said of a file's state; nothing of the usual one.
pub fn state_of(state: MatchState) -> &'static str {
    match state {
        MatchState::Committed => "",
        MatchState::Staged => ", staged",
        MatchState::Dirty => ", dirty",
        MatchState::Untracked => ", untracked",
    }
}

fn heading(text: &mut String, found: &Match) {
    let state = state_of(found.state);
    let (first, last) = found.span;
    let _ = write!(text, "\n## {}:{first}-{last} ({:.2}{state})", found.file.path, found.relevance_score);
    if !found.content.title.is_empty() {
        let _ = write!(text, " {}", found.content.title);
    }
    text.push('\n');
    if !found.near_copies.is_empty() {
        let places = found.near_copies.iter().map(|copy| format!("{}:{}", copy.path, copy.span.0));
        let _ = writeln!(text, "(nearly the same: {})", places.collect::<Vec<_>>().join(", "));
    }
}
