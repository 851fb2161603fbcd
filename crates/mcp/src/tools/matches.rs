//! Answers of `find_code` and `find_similar`: the code of the best matches and a line for each further one,
//! within the token limit.
//!
//! A limit is a maximum and not a target: by default, only the best match and those about as good have code,
//! reduced to the lines that answer the query. A call that gives a larger limit gets the code of some more
//! good matches, and of no weak one, however much room is left.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use codeweaver::query::response::{Focus, Status, n_of};
use codeweaver::query::{Match, Response};
use codeweaver::service::follow_up;
use codeweaver_git::quoting::printed;

use super::Answer;
use super::excerpt::{self, Excerpt};
use super::text::{is_current, more, name_of, state_of, write_numbered};
use crate::answer::{Format, json_tokens, text_tokens};
use crate::cursor::Cursor;
use crate::target::CallTarget;

/// Number of matches by default.
const DEFAULT_MATCHES: usize = 8;
/// A larger token limit asks for more than the default, whether the call or the settings have it. It is the
/// default of `mcp.token_limit`.
const DEFAULT_TOKENS: u32 = 2_000;
/// Maximum of `max_results`; larger values are reduced to it.
const MAX_MATCHES: u32 = 1000;
/// Maximum number of matches by default with a large token limit, and the tokens of the limit for each.
const MANY_MATCHES: usize = 50;
const TOKENS_PER_MATCH: u32 = 200;
/// Maximum number of matches with code with a large token limit, and the tokens of the limit for each. Agents
/// that asked for 15,000 tokens used one in five of the definitions that filled them.
const MANY_TEXTS: usize = 6;
const TOKENS_PER_TEXT: u32 = 1_000;
/// Number of matches that have code by default, if there is any, and the maximum number of lines of the code.
/// The code of a further match hardly ever answers; its signature is enough to decide whether to read it.
const DEFAULT_TEXTS: usize = 1;
const DEFAULT_LINES: usize = 60;
/// For a question about a flow, the number of matches that have code: short functions that make it up, of at most
/// so many lines, and as relevant as this share of the best.
const FLOW_TEXTS: usize = 4;
const FLOW_LINES: u32 = 25;
const FLOW_SHARE: f32 = 0.6;
/// Number of matches from the best whose signatures are shown, except for those with code.
const WITH_SIGNATURE: usize = 3;
const MAX_SIGNATURE_CHARS: usize = 160;
const MAX_NAME_CHARS: usize = 80;
/// Maximum number of lines of the code of a match with a large token limit.
const MANY_LINES: usize = 80;
/// Lines to which code is cut before it is left out.
const FEWER_LINES: [usize; 3] = [20, 8, 3];
/// Minimum relevance of a match with code, as a share of the best: by default, and with a large token limit.
const MIN_SHARE: f32 = 0.85;
const MIN_SHARE_OF_MANY: f32 = 0.7;
/// Share of the token limit that is reserved for lines before code is added, if both are wanted.
const SHARE_OF_LINES: f32 = 0.4;
/// Number of matches from the best that name further places in their files, with code and without, and the
/// maximum number of these places.
const WITH_MORE_IN_FILE: usize = 3;
const LOCATIONS_WITH_MORE: usize = 1;
const MAX_MORE_IN_FILE: usize = 3;
/// Minimum relevance of such a place, as a share of that of the match.
const MIN_SHARE_IN_FILE: f32 = 0.6;
/// Maximum number of copies that a match names; others are counted.
const MAX_COPIES: usize = 2;

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

/// The limits of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of matches.
    pub matches: usize,
    /// Maximum number of tokens.
    pub tokens: u32,
    /// Maximum number of matches with code.
    pub texts: usize,
    /// Whether the token limit asks for more than the default.
    is_large: bool,
    /// Whether code beyond that of the best match is of short functions only.
    is_flow: bool,
}

impl Limits {
    /// Limits from the arguments `max_results`, `token_limit` and `locations_only`. `default` is the default
    /// of the token limit.
    pub fn new(matches: Option<u32>, tokens: Option<u32>, default: u32, is_locations_only: bool) -> Limits {
        let tokens = tokens.unwrap_or(default);
        let is_large = tokens > DEFAULT_TOKENS;
        let by_tokens = (tokens / TOKENS_PER_MATCH) as usize;
        let by_default =
            if is_large { by_tokens.clamp(DEFAULT_MATCHES, MANY_MATCHES) } else { DEFAULT_MATCHES };
        let many_texts = ((tokens / TOKENS_PER_TEXT) as usize).min(MANY_TEXTS);
        let texts = if is_large { many_texts } else { DEFAULT_TEXTS };

        Limits {
            matches: matches.map_or(by_default, |n| n.min(MAX_MATCHES) as usize),
            tokens,
            texts: if is_locations_only { 0 } else { texts },
            is_large,
            is_flow: false,
        }
    }

    /// The limits of an answer to a question about a flow. With a large token limit, the code need not be of
    /// short functions.
    pub fn for_flow(self) -> Limits {
        let texts = if self.texts == 0 { 0 } else { self.texts.max(FLOW_TEXTS) };
        Limits { texts, is_flow: texts > 0 && !self.is_large, ..self }
    }

    /// Maximum number of lines of the code of a match.
    fn lines(&self) -> usize {
        if self.is_large { MANY_LINES } else { DEFAULT_LINES }
    }

    /// The notes of the match at `place`; `share` is its relevance as a share of that of the best.
    fn notes(&self, place: usize, share: f32) -> Notes {
        let with_more = if self.texts == 0 { LOCATIONS_WITH_MORE } else { WITH_MORE_IN_FILE };
        let may_answer = self.texts > 0 && (1..WITH_SIGNATURE).contains(&place);
        Notes { more_in_file: place < with_more, signature: may_answer && share >= MIN_SHARE }
    }

    fn min_share(&self) -> f32 {
        match (self.is_large, self.is_flow) {
            (true, _) => MIN_SHARE_OF_MANY,
            (_, true) => FLOW_SHARE,
            _ => MIN_SHARE,
        }
    }
}

/// The part of a long result that an answer contains.
pub struct Page<'a, K> {
    /// Number of matches in earlier answers.
    pub offset: usize,
    pub limits: Limits,
    /// The arguments that a cursor is bound to.
    pub key: &'a K,
    /// The form in which the answer is sent.
    pub format: Format,
    /// The terms of the query, which select the lines of long definitions.
    pub words: &'a [String],
}

/// Code that other parts of the same answer have shown.
pub type Shown = HashSet<(String, u32)>;

/// The parts of a match that are shown besides its place and name.
#[derive(Clone, Copy)]
struct Notes {
    /// Further places in its file.
    more_in_file: bool,
    /// Its signature, if it has no code.
    signature: bool,
}

impl Notes {
    const NONE: Notes = Notes { more_in_file: false, signature: false };
}

/// The code of a match.
#[derive(Clone, Copy)]
struct Code {
    /// Number of lines after it that are left out.
    n_left_out: u32,
    /// Number of its first line; `None` if it is a note in place of the lines.
    first: Option<u32>,
}

/// A match in the form in which it is shown, with its size in tokens.
struct Item {
    found: Match,
    text: String,
    has_code: bool,
    n_tokens: u32,
}

/// Builds the answer within the limits. `shown` is the code that is not repeated; the code of this answer is
/// added to it.
pub fn answer(
    target: &CallTarget,
    mut response: Response,
    page: &Page<'_, impl Serialize>,
    shown: &mut Shown,
) -> Answer<Output> {
    follow_up(target.codebase(), &response.index);

    if response.total_matches == 0 && response.status == Status::Ok && response.absent_paths.is_empty() {
        let found = response.summary.strip_prefix("No results found").map(str::to_owned);
        response.summary = format!("No matches found for query{}", found.unwrap_or_default());
    }

    let matches = std::mem::take(&mut response.matches);
    let n_searched = matches.len();
    let root = target.codebase().root();
    let mut frame = Frame { response, root, offset: page.offset };
    let mut items =
        fitted(&matches, page, page.limits.tokens.saturating_sub(frame.size(page, n_searched)), shown);

    // In JSON, the frame alone may exceed a small limit.
    if items.is_empty() && n_searched > 0 && page.format == Format::Json {
        frame.trim();
        items = fitted(&matches, page, page.limits.tokens.saturating_sub(frame.size(page, 1)), shown);
    }

    let needed = matches
        .first()
        .filter(|_| items.is_empty())
        .map(|first| frame.size(page, 1) + Item::line(first, Notes::NONE, page.format).n_tokens);

    for item in items.iter().filter(|item| item.has_code) {
        shown.insert(place_of(&item.found));
    }
    frame.finish(items, page, needed)
}

/// Returns as many of `matches` as fit into `room` tokens, the best of them with their code.
fn fitted<K>(matches: &[Match], page: &Page<'_, K>, room: u32, shown: &Shown) -> Vec<Item> {
    let Page { limits, format, .. } = *page;
    let best = matches.first().map_or(0.0, |found| found.relevance_score);
    let share = |found: &Match| found.relevance_score / best.max(f32::MIN_POSITIVE);
    let has_code = matches.first().is_some_and(|first| wants_code(page, shown, best, 0, first));
    let for_lines = if has_code { (room as f32 * SHARE_OF_LINES) as u32 } else { room };

    let mut lines = matches
        .iter()
        .enumerate()
        .map(|(place, found)| {
            let line = Item::line(found, limits.notes(place, share(found)), format);
            // The best match is named as long as its place has room.
            if place == 0 && line.n_tokens > room { Item::line(found, Notes::NONE, format) } else { line }
        })
        .peekable();

    // First lines, within their share of the room.
    let mut used = 0;
    let mut items: Vec<Item> = Vec::new();
    while let Some(line) =
        lines.next_if(|line| used + line.n_tokens <= if items.is_empty() { room } else { for_lines })
    {
        used += line.n_tokens;
        items.push(line);
    }

    // Then code in place of the best lines, shortened until it fits.
    for (place, item) in items.iter_mut().enumerate() {
        let found = &matches[place];
        if !wants_code(page, shown, best, place, found) {
            continue;
        }

        let most = limits.lines();
        let lengths = std::iter::once(most).chain(FEWER_LINES.into_iter().filter(|fewer| *fewer < most));
        let notes = limits.notes(place, share(found));
        let without = used - item.n_tokens;
        let code = lengths
            .map(|n_lines| Item::code(found, notes, excerpt::cut(found, page.words, n_lines), format))
            .find(|code| without + code.n_tokens <= room);
        let Some(code) = code else { break };
        used = without + code.n_tokens;
        *item = code;
    }

    // Then further lines in the rest of the room.
    while let Some(line) = lines.next_if(|line| used + line.n_tokens <= room) {
        used += line.n_tokens;
        items.push(line);
    }
    items
}

/// Returns whether the match at `place` is shown with its code, if that has room. `best` is the relevance of
/// the best match.
fn wants_code<K>(page: &Page<'_, K>, shown: &Shown, best: f32, place: usize, found: &Match) -> bool {
    let limits = &page.limits;
    if limits.is_flow && place > 0 && !is_step(found, best) {
        return false;
    }

    place < limits.texts
        && !found.content.text.is_empty()
        && !shown.contains(&place_of(found))
        && (place == 0 && page.offset == 0 || found.relevance_score >= best * limits.min_share())
}

/// Returns whether a match may be a step of a flow: a short function about as relevant as the best match.
fn is_step(found: &Match, best: f32) -> bool {
    let focus = &found.focus;
    let is_function = ["function", "method"].contains(&focus.kind);
    is_function
        && focus.end_line - focus.start_line < FLOW_LINES
        && found.relevance_score >= best * FLOW_SHARE
}

fn place_of(found: &Match) -> (String, u32) {
    (found.file.path.clone(), found.focus.start_line)
}

impl Item {
    /// A match as one line.
    fn line(found: &Match, notes: Notes, format: Format) -> Item {
        let mut reduced = found.clone();

        let signature = std::mem::take(&mut reduced.focus.signature);
        // Copies are named even without code, although a location has none.
        let (also_at, near_copies) =
            (std::mem::take(&mut reduced.also_at), std::mem::take(&mut reduced.near_copies));
        reduced.to_location();
        (reduced.also_at, reduced.near_copies) = (also_at, near_copies);

        if notes.signature {
            reduced.focus.signature = signature;
        }
        reduced.more_in_file = if notes.more_in_file { more_in_file(found) } else { Vec::new() };

        let Focus { start_line, end_line, .. } = reduced.focus;
        Item::new(reduced, (start_line, end_line), None, format)
    }

    /// A match with `excerpt` as its code.
    fn code(found: &Match, notes: Notes, excerpt: Excerpt, format: Format) -> Item {
        let Excerpt { text, lines, end, is_cut, is_source } = excerpt;
        let mut reduced = found.clone();
        reduced.content.elided = is_cut;
        reduced.span = lines;
        reduced.content.text = text;
        reduced.more_in_file = if notes.more_in_file { more_in_file(found) } else { Vec::new() };

        let code = Code { n_left_out: end - lines.1, first: is_source.then_some(lines.0) };
        Item::new(reduced, (lines.0, end), Some(code), format)
    }

    /// A match at `lines`, with its text as code if there is `code`.
    fn new(found: Match, lines: (u32, u32), code: Option<Code>, format: Format) -> Item {
        let state = state_of(found.state);
        let mut text =
            format!("{}:{}-{} {}{state}\n", printed(&found.file.path), lines.0, lines.1, name(&found));

        notes(&mut text, &found);

        if code.is_none() && !found.focus.signature.is_empty() {
            let signature = found.focus.signature.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = writeln!(text, "  {}", shortened(&signature, MAX_SIGNATURE_CHARS));
        }

        if let Some(Code { n_left_out, first }) = code {
            let code = found.content.text.trim_end();
            match first {
                Some(first) => {
                    write_numbered(&mut text, code, first);
                }
                None => text.extend([code, "\n"]),
            }
            if n_left_out > 0 {
                let _ = writeln!(text, "… {n_left_out} more lines");
            }
            text.push('\n');
        }

        let n_tokens = match format {
            Format::Text => text_tokens(&text),
            // The comma after the element counts as one token.
            Format::Json => json_tokens(&found) + 1,
        };
        Item { found, text, has_code: code.is_some(), n_tokens }
    }
}

/// The short name of a match. A qualified name is reduced to its last two parts, which other tools find.
fn name(found: &Match) -> String {
    let Focus { kind, symbol, .. } = &found.focus;
    let separator = if symbol.contains("::") { "::" } else { "." };
    let name = match symbol.rmatch_indices(separator).nth(1) {
        Some((at, _)) if *kind != "heading" && *kind != "key" => {
            format!("{kind} {}", &symbol[at + separator.len()..])
        }
        _ => found.name(),
    };

    shortened(&name, MAX_NAME_CHARS)
}

fn shortened(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The further places in the file of a match that an answer names: definitions that are about as good.
fn more_in_file(found: &Match) -> Vec<codeweaver::query::response::Span> {
    let min_relevance = found.relevance_score * MIN_SHARE_IN_FILE;
    let mut spans: Vec<_> = found
        .more_in_file
        .iter()
        .filter(|span| !span.symbol.is_empty() && span.symbol != found.focus.symbol)
        .filter(|span| span.relevance_score >= min_relevance)
        .cloned()
        .collect();

    spans.sort_by(|a, b| b.relevance_score.total_cmp(&a.relevance_score));
    spans.truncate(MAX_MORE_IN_FILE);
    spans
}

/// Appends the lines about other places of a match.
fn notes(text: &mut String, found: &Match) {
    if !found.more_in_file.is_empty() {
        let places = found
            .more_in_file
            .iter()
            .map(|span| format!("{} {}", span.line, short_name(&span.symbol, &found.focus.symbol)));
        let _ = writeln!(text, "  also {}", places.collect::<Vec<_>>().join(", "));
    }

    let copies = found.near_copies.iter().map(|copy| format!("{}:{}", printed(&copy.path), copy.span.0));
    list(text, "nearly the same", copies);
    list(text, "same file", found.also_at.iter().map(|path| printed(path).into_owned()));
}

/// The name of a symbol without the qualifiers that it shares with `other`.
fn short_name<'a>(symbol: &'a str, other: &str) -> &'a str {
    let n_common = symbol.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let common = symbol.get(..n_common).unwrap_or_default();
    let end = common.rfind(['.', ':', '>', '/', '#']).map_or(0, |at| at + 1);
    symbol[end..].trim_start()
}

/// Writes a line with the first of `items`, and counts the others.
fn list(text: &mut String, label: &str, items: impl ExactSizeIterator<Item = String>) {
    let n = items.len();
    if n == 0 {
        return;
    }

    let named: Vec<String> = items.take(MAX_COPIES).collect();
    let others = n - named.len();
    let others = if others > 0 { format!(" and {others} more") } else { String::new() };
    let _ = writeln!(text, "  {label}: {}{others}", named.join(", "));
}

/// The parts of an answer other than its matches.
struct Frame {
    response: Response,
    root: PathBuf,
    offset: usize,
}

impl Frame {
    /// The number of tokens with `n` matches and with a cursor. An upper bound, since numbers may come out
    /// shorter.
    fn size<K: Serialize>(&mut self, page: &Page<'_, K>, n: usize) -> u32 {
        let cursor = Cursor::at(self.offset + n, page.key).to_string();
        // The cursor of another `n` has another hash, of at most one token for each character.
        let cursor_tokens = cursor.len() as u32 + 1;

        match page.format {
            Format::Text => {
                let head = head_of(&self.response, self.offset, n, n);
                text_tokens(&head) + text_tokens(&more("")) + cursor_tokens + 2
            }
            Format::Json => {
                let mut response = self.response.clone();
                let omitted = response.omitted.get_or_insert_default();
                (omitted.by_limit, omitted.by_token_limit, omitted.shortened) =
                    (response.total_matches, response.total_matches, n);

                let frame = Output { response, codebase_root: self.root.clone(), next_cursor: Some(cursor) };
                json_tokens(&frame) + cursor_tokens + 2
            }
        }
    }

    /// Removes facts that the matches repeat or that `manage_index` reports.
    fn trim(&mut self) {
        let response = &mut self.response;
        response.query_intent.reasoning.clear();
        response.query_intent.focus_areas.clear();
        response.index.skipped.clear();

        // The commit implies the tree.
        if response.index.commit.is_some() {
            response.index.tree.clear();
            response.index.head = None;
        }

        response.languages_found.clear();
        response.search_strategy.clear();
        response.summary.clear();
    }

    /// The answer with `items`. If there are none, `needed` is the token limit that would have room for one.
    fn finish<K: Serialize>(
        self,
        items: Vec<Item>,
        page: &Page<'_, K>,
        needed: Option<u32>,
    ) -> Answer<Output> {
        let Frame { mut response, root, offset } = self;
        let n = items.len();

        let (n_code, n_after) = (
            items.iter().filter(|item| item.has_code).count(),
            response.total_matches.saturating_sub(offset + n),
        );

        let by_limit = response.total_matches.saturating_sub(offset + page.limits.matches).min(n_after);
        // Without code, nothing counts as shortened.
        let shortened = match page.limits.texts {
            0 => 0,
            _ => items.iter().filter(|item| item.found.content.elided).count(),
        };

        if n_after + shortened > 0 {
            let omitted = response.omitted.get_or_insert_default();
            omitted.by_limit = by_limit;
            omitted.by_token_limit = n_after - by_limit;
            omitted.shortened = shortened;
            omitted.tokens_needed = needed;
        } else {
            response.omitted = None;
        }

        if let Some(needed) = needed {
            response.status = Status::Degraded;
            response.summary = n_of(0, response.total_matches);
            response.warnings.push(format!(
                "the token limit leaves no room for any match; {needed} would do for the first"
            ));
        } else if n < response.total_results && !response.summary.is_empty() {
            response.summary = n_of(n, response.total_matches);
        }

        response.total_results = n;
        let next_cursor = (n_after > 0 && n > 0).then(|| Cursor::at(offset + n, page.key).to_string());

        let mut text = head_of(&response, offset, n, n_code);
        items.iter().for_each(|item| text.push_str(&item.text));
        if let Some(cursor) = &next_cursor {
            text.push_str(&more(cursor));
        }

        response.token_count = items.iter().map(|item| item.n_tokens).sum();
        response.matches = items.into_iter().map(|item| item.found).collect();
        Answer { structured: Output { response, codebase_root: root, next_cursor }, text }
    }
}

/// The first line, `8 of 127 matches`, and the warnings.
fn head_of(response: &Response, offset: usize, n: usize, n_code: usize) -> String {
    let total = response.total_matches;
    let mut text = match n {
        0 if total > 0 => n_of(0, total),
        0 => response.summary.clone(),
        n if offset > 0 => format!("{}-{} of {total} matches", offset + 1, offset + n),
        n => n_of(n, total),
    };

    if n_code > 0 && n_code < n {
        let _ = write!(text, ", {n_code} with code");
    }

    text.push_str(&freshness(response));
    for warning in &response.warnings {
        let _ = write!(text, "\nwarning: {warning}");
    }
    text.push('\n');
    text
}

/// The searched state in brackets, if it is not the committed state of HEAD, with a note if it is not the
/// present state. Empty otherwise.
pub(super) fn freshness(response: &Response) -> String {
    let index = &response.index;
    let mut parts = Vec::new();

    if !is_current(index.freshness) {
        parts.push(name_of(index.freshness).to_owned());
    }
    if index.rev != "HEAD" {
        let oid = index.commit.as_deref().unwrap_or(&index.tree);
        parts.push(format!("{} at {}", index.rev, codeweaver::query::view::short(oid)));
    }
    if index.dirty_files > 0 {
        parts.push(format!("{} uncommitted", index.dirty_files));
    }

    if parts.is_empty() { String::new() } else { format!(" [{}]", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_limit_is_no_reason_for_weak_code() {
        let limits = |tokens| Limits::new(None, tokens, DEFAULT_TOKENS, false);
        for (tokens, texts, matches, min_share) in [
            (None, 1, 8, MIN_SHARE),
            (Some(500), 1, 8, MIN_SHARE),
            (Some(DEFAULT_TOKENS), 1, 8, MIN_SHARE),
            (Some(3_000), 3, 15, MIN_SHARE_OF_MANY),
            (Some(15_000), 6, 50, MIN_SHARE_OF_MANY),
            (Some(1_000_000), 6, 50, MIN_SHARE_OF_MANY),
        ] {
            let limits = limits(tokens);
            let found = (limits.texts, limits.matches, limits.min_share());
            assert_eq!(found, (texts, matches, min_share), "{tokens:?}");
        }

        for (tokens, texts) in [(None, FLOW_TEXTS), (Some(2_500), FLOW_TEXTS), (Some(15_000), MANY_TEXTS)] {
            assert_eq!(limits(tokens).for_flow().texts, texts, "{tokens:?}");
        }
        assert_eq!(Limits::new(None, None, DEFAULT_TOKENS, true).for_flow().texts, 0);
    }

    #[test]
    fn shared_qualifiers_are_left_out() {
        for (symbol, other, expected) in [
            ("Eval.evaluate.loop", "Eval.map", "evaluate.loop"),
            ("Rack::Parser::read", "Rack::Parser::LIMIT", "read"),
            ("Other::detach", "Handle::detach", "Other::detach"),
            ("Config > b", "Config > a", "b"),
            ("ab", "abc", "ab"),
            ("größe.x", "größe.y", "x"),
            ("ä", "ö", "ä"),
        ] {
            assert_eq!(short_name(symbol, other), expected);
        }
    }
}
