//! `call_graph`: shows callers, callees, references and definitions of a symbol.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use codeweaver::query::Location;
use codeweaver_index::background;
use codeweaver_xref::{self as xref, CallGraphRequest, CallGraphResponse, Direction, Pages, Xref};

use super::{Answer, Call, CallError, Tool, call_graph_text};
use crate::answer::Format;
use crate::cursor::Cursor;
use crate::target::CallTarget;

pub struct CallGraph;

/// Lower bound of the tokens of a definition, edge or note.
const ITEM_TOKENS: u32 = 4;

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
pub struct Arguments {
    /// A name (`parse`), `Type.name`, `FILE:LINE`, or a symbol id of an earlier answer.
    symbol: Option<String>,
    /// Several at once.
    symbols: Option<Vec<String>>,
    /// Default callers. `references`: calls, overrides and mentions.
    #[serde(default)]
    direction: DirectionArgument,
    /// Levels of callers or callees, 1 to 5.
    #[schemars(range(min = 1, max = 5))]
    depth: Option<u32>,
    #[schemars(range(min = 1, max = 5000), extend("unlisted" = true))]
    limit: Option<u32>,
    #[schemars(extend("unlisted" = true))]
    note_limit: Option<u32>,
    path: Option<String>,
    rev: Option<String>,
    #[schemars(range(min = 1))]
    token_limit: Option<u32>,
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
    format: Format,
}

impl Tool for CallGraph {
    const NAME: &'static str = "call_graph";
    const DESCRIPTION: &'static str = "Who calls a function, what it calls, everything that refers to it, each edge \
        graded (exact, unique_name, ambiguous, unresolved). Use it before changing or removing something and to follow \
        control flow; unlike find_text it tells methods of the same name apart. Not for names in prose or configuration.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let mut symbols: Vec<String> = arguments.symbol.into_iter().collect();
        symbols.extend(arguments.symbols.unwrap_or_default());
        let Some(first) = symbols.first() else {
            return Err(CallError::invalid("call_graph needs the argument `symbol` or `symbols`"));
        };

        // An absolute location also selects the repository.
        let absolute = xref::parse_location(first).map(|place| place.0);
        let target = call.open(arguments.path.as_deref(), absolute)?;
        let tokens = call.token_limit(arguments.token_limit, target.codebase());

        let mut request = CallGraphRequest::new(first, arguments.direction.into());
        request.symbols = symbols.iter().map(|name| symbol(name, &target)).collect::<Result<_, _>>()?;
        if let Some(depth) = arguments.depth {
            request.depth = depth;
        }

        let edges = arguments.limit.map_or(request.limit, |n| n as usize);
        // The whole answer is computed; its pages continue from a cursor.
        request.limit = xref::MAX_LIMIT;
        let note_limit = arguments.note_limit.map_or(request.note_limit, |n| n as usize);
        // The notes of a page depend on its edges, so they are limited later.
        request.note_limit = usize::MAX;
        request.rev = arguments.rev;
        request.cancel = call.cancel();

        let key = (
            target.codebase().root(),
            (&request.symbols, request.direction, request.depth),
            (&request.rev, note_limit),
        );
        let from = Cursor::resume(arguments.cursor.as_deref(), &key)?;

        let mut response =
            call.run_query(&target, |updater| Xref::new(&target.searcher).query(&request, updater))?;
        response.warnings.extend(call.warnings());
        background::update_if_due(target.codebase(), response.needs_update);

        let pages = Pages::new(response, note_limit);
        // The index may have changed since the cursor was made.
        let from = from.min(pages.n_items());
        let limits = Limits { edges, tokens, format: call.format };
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

/// Makes the path of a location relative to the root. Other symbols are returned unchanged.
fn symbol(symbol: &str, target: &CallTarget) -> Result<String, CallError> {
    // `FILE:LINE:COLUMN` and anchors of code hosts are places too.
    let location = Location::parse(symbol);
    let place = location.line().map(|line| format!("{}:{line}", location.file));
    let symbol = place.as_deref().unwrap_or(symbol);

    let Some((path, _, _)) = xref::parse_location(symbol) else { return Ok(symbol.to_owned()) };

    let file = target.file(path);
    let file = file.map_err(|_| CallError::parameter("symbol", "a place inside the repository", symbol))?;
    Ok(format!("{file}{}", &symbol[path.len()..]))
}

/// Builds the answer from item `from` on, with as many items as fit into the limits in both forms.
fn page(pages: &Pages, from: usize, limits: &Limits, root: &Path, key: &impl Serialize) -> Answer<Output> {
    let last = pages.end_of(from, limits.edges);
    let answer = |to, needed| answer(pages, (from, to, last), limits, needed, root, key);
    let size = |to| answer(to, None).n_tokens(limits.format);
    // Most answers fit as a whole, so no search for the largest part is needed.
    if size(last) <= limits.tokens {
        return answer(last, None);
    }

    let most_items = ((limits.tokens / ITEM_TOKENS) as usize).min(last - from);
    let to = from + largest_fitting(most_items, |n_items| size(from + n_items) <= limits.tokens);
    answer(to, (to == from).then(|| size(from + 1)))
}

/// Builds the answer with the items `from..to`, of which `last` would be the end without a limit of tokens.
/// `needed` are the tokens of the first item, if not even that fits.
fn answer(
    pages: &Pages,
    (from, to, last): (usize, usize, usize),
    limits: &Limits,
    needed: Option<u32>,
    root: &Path,
    key: &impl Serialize,
) -> Answer<Output> {
    let mut response = pages.part(from..to);
    if to < last {
        response.warnings.push(truncation_warning(&response, limits.tokens, needed));
    }

    // An empty page has no next page, which would be empty as well.
    let has_more = to < pages.n_items();
    let next_cursor = (has_more && from < to).then(|| Cursor::at(to, key).to_string());

    Answer {
        text: call_graph_text::render(&response, next_cursor.as_deref()),
        structured: Output { response, codebase_root: root.to_path_buf(), next_cursor },
    }
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

/// The warning that the token limit cut an answer. `needed` are the tokens of its first item, if not even
/// that fits.
fn truncation_warning(part: &CallGraphResponse, limit: u32, needed: Option<u32>) -> String {
    let (edges, of) = (part.edges.len(), part.total_edge_count);
    let what_to_do = match needed {
        Some(needed) => format!("raise token_limit to {needed}"),
        None => "go on with next_cursor, or ask about one symbolId with less depth".to_owned(),
    };
    format!("CALL_GRAPH_TOKEN_LIMIT: {edges} of {of} edges fit into {limit} tokens; {what_to_do}")
}
