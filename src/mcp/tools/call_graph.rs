//! `call_graph`: shows callers, callees, references and definitions of a symbol.

use super::matches::{name_of, state_of, token_limit};
use super::{Answer, Call, CallError, Tool};
use crate::chunk::tokens;
use crate::git::quoting::printed;
use crate::index::background;
use crate::mcp::codebases::CallTarget;
use crate::mcp::cursor::Cursor;
use crate::query::view::short;
use crate::xref::{self, CallGraphRequest, CallGraphResponse, CallGraphStatus, Direction, Edge, Pages, Xref};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub struct CallGraph;

/// Lower bound of the tokens of a definition, edge or note.
const ITEM_TOKENS: u32 = 12;

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirectionArgument {
    #[default]
    Callers,
    Callees,
    Both,
    References,
    Definitions,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A name (`parse`), a qualified name (`Parser.next`), a location (`src/parse.rs:12`), or a `symbolId` of
    /// an earlier answer.
    symbol: String,
    /// `callers` (the default): functions that call it. `callees`: functions it calls. `both`. `references`:
    /// calls and other mentions. `definitions`: where it is defined.
    #[serde(default)]
    direction: DirectionArgument,
    /// Levels of callers or callees, 1 to 5 (default 1).
    #[schemars(range(min = 1, max = 5))]
    depth: Option<i64>,
    /// Maximum number of edges in this answer, 1 to 5000 (default 200).
    #[schemars(range(min = 1, max = 5000))]
    limit: Option<i64>,
    /// Maximum number of notes about unresolved calls, over all pages of the answer (default 50).
    #[serde(alias = "noteLimit")]
    #[schemars(range(min = 0))]
    note_limit: Option<i64>,
    /// Absolute path of any directory in the repository. Default: the repository of `symbol` if that is an
    /// absolute place, else the one the server was started in.
    path: Option<String>,
    /// Branch, tag or commit to search instead of the working tree.
    rev: Option<String>,
    /// Maximum number of tokens in the answer (default 10000). A hard limit: the most certain edges of each
    /// level come first.
    #[schemars(range(min = 1))]
    token_limit: Option<i64>,
    /// `next_cursor` of the previous answer to the same arguments: continues from there.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    #[serde(flatten)]
    response: CallGraphResponse,
    /// Root of the worktree that answers; files are relative to it.
    #[serde(rename = "codebaseRoot")]
    codebase_root: PathBuf,
    /// Present if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Maximum number of edges and tokens in an answer.
struct Limits {
    edges: usize,
    tokens: u32,
}

impl Tool for CallGraph {
    const NAME: &'static str = "call_graph";
    const TITLE: &'static str = "Callers and callees";
    const DESCRIPTION: &'static str = "Show the callers, callees, references or definitions of a function, each edge with a \
        grade of certainty (exact, unique_name, ambiguous, unresolved). Use it before changing or removing a function, and to \
        follow control flow through the code: unlike grep, it distinguishes methods of the same name and ignores comments and \
        strings. Do not use it for text, for configuration, or to find a name you do not know: use grep and find_code.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let absolute = xref::parse_location(&arguments.symbol)
            .map(|place| place.0)
            .filter(|path| Path::new(path).is_absolute());
        let target = call.open(arguments.path.as_deref(), absolute)?;
        let tokens = token_limit(arguments.token_limit, target.codebase().settings.search.token_limit)?;
        let mut request =
            CallGraphRequest::new(&symbol(&arguments.symbol, &target)?, arguments.direction.into());
        if let Some(depth) = arguments.depth {
            request.depth = number("depth", "between 1 and 5", depth)?;
        }
        let limit = arguments.limit.map(|n| number("limit", "between 1 and 5000", n)).transpose()?;
        let edges = limit.unwrap_or(request.limit);
        if !(1..=xref::MAX_LIMIT).contains(&edges) {
            return Err(CallError::parameter("limit", "between 1 and 5000", edges));
        }
        // Compute everything; further answers continue from a cursor.
        request.limit = xref::MAX_LIMIT;
        let note_limit = arguments.note_limit.map(|n| number("note_limit", "at least 0", n)).transpose()?;
        let note_limit = note_limit.unwrap_or(request.note_limit);
        // The notes of a page depend on its edges, so they are limited later.
        request.note_limit = usize::MAX;
        request.rev = arguments.rev;
        request.cancel = call.cancel();
        let key = (
            target.codebase().root(),
            (&request.symbol, request.direction, request.depth),
            (&request.rev, note_limit),
        );
        let from = Cursor::resume(arguments.cursor.as_deref(), &key)?;
        let response =
            call.run_query(&target, |updater| Xref::new(&target.searcher).query(&request, updater))?;
        background::update_if_due(target.codebase(), response.needs_update);
        let pages = Pages::new(response, note_limit);
        let from = from.min(pages.n_items());
        let limits = Limits { edges, tokens };
        Ok(page(&pages, from, &limits, &target.codebase().root(), &key))
    }
}

impl From<DirectionArgument> for Direction {
    fn from(way: DirectionArgument) -> Direction {
        match way {
            DirectionArgument::Callers => Direction::Callers,
            DirectionArgument::Callees => Direction::Callees,
            DirectionArgument::Both => Direction::Both,
            DirectionArgument::References => Direction::References,
            DirectionArgument::Definitions => Direction::Definitions,
        }
    }
}

fn number<T: TryFrom<i64>>(name: &str, must: &str, given: i64) -> Result<T, CallError> {
    T::try_from(given).map_err(|_| CallError::parameter(name, must, given))
}

/// Makes the path of a location relative to the root. Other symbols are returned unchanged.
fn symbol(symbol: &str, target: &CallTarget) -> Result<String, CallError> {
    let Some((path, _, _)) = xref::parse_location(symbol) else { return Ok(symbol.to_owned()) };
    let outside = |_| CallError::parameter("symbol", "a place inside the repository", symbol);
    Ok(format!("{}{}", target.file(path).map_err(outside)?, &symbol[path.len()..]))
}

/// Builds the answer from item `from` on, with as many items as fit into the limits in both forms.
fn page(pages: &Pages, from: usize, limits: &Limits, root: &Path, key: &impl Serialize) -> Answer<Output> {
    let last = pages.end_of(from, limits.edges);
    let answer = |to: usize, needed: Option<u32>| {
        let mut response = pages.part(from..to);
        let has_more = to < pages.n_items();
        if to < last {
            response.warnings.push(truncation_warning(&response, limits.tokens, needed));
        }
        // An empty page has no next page, which would be empty as well.
        let next_cursor = (has_more && from < to).then(|| Cursor::at(to, key).to_string());
        Answer {
            text: text_of(&response, next_cursor.as_deref()),
            structured: Output { response, codebase_root: root.to_path_buf(), next_cursor },
        }
    };
    let size = |to: usize| {
        let answer = answer(to, None);
        tokens_of(&answer.structured).max(tokens::count(&answer.text))
    };
    let fits = |to: usize| size(to) <= limits.tokens;
    if fits(last) {
        return answer(last, None);
    }
    let most_items = (limits.tokens / ITEM_TOKENS) as usize;
    let to = from + largest_fitting(most_items.min(last - from), |items| fits(from + items));
    answer(to, (to == from).then(|| size(from + 1)))
}

/// Returns the largest number up to `max` that fits, by binary search; 0 if none does.
fn largest_fitting(max: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut least, mut most) = (0, max);
    while least < most {
        let middle = least + (most - least).div_ceil(2);
        if fits(middle) { least = middle } else { most = middle - 1 }
    }
    least
}

fn tokens_of(value: &impl Serialize) -> u32 {
    serde_json::to_string(value).map_or(0, |json| tokens::count(&json))
}

/// The warning that the token limit cut an answer; `needed` are the tokens of its first item, if not even
/// that fits.
fn truncation_warning(part: &CallGraphResponse, limit: u32, needed: Option<u32>) -> String {
    let (edges, of) = (part.edges.len(), part.total_edge_count);
    let what_to_do = match needed {
        Some(needed) => format!("raise token_limit to {needed}"),
        None => "go on with next_cursor, or ask about one symbolId with less depth".to_owned(),
    };
    format!("CALL_GRAPH_TOKEN_LIMIT: {edges} of {of} edges fit into {limit} tokens; {what_to_do}")
}

/// Formats an answer as compact text: the definitions, and a line for each edge.
fn text_of(response: &CallGraphResponse, next_cursor: Option<&str>) -> String {
    let mut text = headline(response);
    let oid = response.commit.as_deref().unwrap_or(&response.tree);
    let _ = writeln!(text, " [{}, {} at {}]", name_of(response.freshness), response.rev, short(oid));
    for warning in &response.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    for node in response.nodes.iter().filter(|node| response.roots.contains(&node.symbol_id)) {
        let signature = if node.signature.is_empty() { &node.qualified_name } else { &node.signature };
        let (first, last) = node.span.unwrap_or((1, 1));
        let state = state_of(node.state);
        let _ = writeln!(text, "{}:{first}-{last} ({}{state}) {signature}", printed(&node.file), node.kind);
    }
    for edge in &response.edges {
        edge_line(&mut text, edge, response);
    }
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for note in &response.notes {
        *kinds.entry(note.note_type).or_default() += 1;
    }
    if !kinds.is_empty() {
        let kinds: Vec<String> = kinds.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        let _ = writeln!(
            text,
            "notes: {} of {}: {}",
            response.notes.len(),
            response.total_note_count,
            kinds.join(", ")
        );
    }
    if let Some(cursor) = next_cursor {
        let _ = writeln!(text, "more: repeat the call with cursor {cursor:?}");
    }
    text
}

fn headline(response: &CallGraphResponse) -> String {
    let symbol = &response.symbol;
    match (response.status, response.direction) {
        (CallGraphStatus::NotFound, _) => {
            format!(
                "no definition of {symbol:?} was found in the index: look for it with find_code or grep, or name it by \
                 FILE:LINE"
            )
        }
        (CallGraphStatus::Unsupported, _) => {
            format!("{symbol:?} is defined in a language whose calls are not read: use grep")
        }
        (_, Direction::Definitions) => {
            let (shown, total) = (response.roots.len(), response.total_root_count);
            let of = if shown < total { format!(" of {total}") } else { String::new() };
            format!("{shown}{of} definition{} of {symbol}", if total == 1 { "" } else { "s" })
        }
        (status, direction) => {
            let what = match direction {
                Direction::Callers => "callers of",
                Direction::Callees => "callees of",
                Direction::Both => "callers and callees of",
                Direction::References | Direction::Definitions => "references to",
            };
            let (shown, total) = (response.edges.len(), response.total_edge_count);
            let of = if shown < total { format!(" of {total}") } else { String::new() };
            let which =
                if status == CallGraphStatus::Ambiguous { ", ambiguous: ask about one of these" } else { "" };
            let edges = if total == 1 { "edge" } else { "edges" };
            format!("{what} {symbol}: {shown}{of} {edges}{which}")
        }
    }
}

/// `exact src/a.py:3#run -> helper, line 4 (imported)`; a symbol that was queried by itself is shown by its
/// name.
fn edge_line(text: &mut String, edge: &Edge, response: &CallGraphResponse) {
    let end = |id: &str| match response.roots.as_slice() {
        [root] if root == id => root.split_once('#').map_or(id, |(_, name)| name).to_owned(),
        _ => id.to_owned(),
    };
    let to = edge.dst_symbol_id.as_deref().map_or_else(|| format!("({})", edge.name), end);
    let lines: Vec<String> = edge.sites.iter().map(|site| site.start_line.to_string()).collect();
    let more = if edge.site_count > lines.len() { ", …" } else { "" };
    let word = if edge.site_count == 1 { "line" } else { "lines" };
    let of = if edge.candidates > 1 { format!(", 1 of {}", edge.candidates) } else { String::new() };
    let _ = writeln!(
        text,
        "{} {} -> {to}, {word} {}{more} ({}{of})",
        edge.grade.name(),
        end(&edge.src_symbol_id),
        lines.join(", "),
        edge.evidence
    );
}
