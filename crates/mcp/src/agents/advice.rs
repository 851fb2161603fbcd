//! The answer to an event of an agent: where the names that it searched for are defined and who calls them,
//! what the lines that it read belong to, and the nearest place for words that it did not find.
//!
//! There is no answer if the index cannot give one now: it is neither built nor waited for.

use std::fmt::Write as _;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use codeweaver::query::symbol_lookup::{NameFit, SymbolRequest};
use codeweaver::query::symbol_scan::FoundSymbol;
use codeweaver::query::{Cancel, Filters, Request, Searcher, ViewRequest};
use codeweaver::service::gate;
use codeweaver_chunk::tokens;
use codeweaver_git::Prefix;
use codeweaver_git::quoting::printed;
use codeweaver_index::{Codebase, Target};
use codeweaver_xref::{CallGraphRequest, CallGraphResponse, Direction, Grade, Xref};

use super::event::{Event, Question};

/// Maximum number of tokens of an answer.
pub const MAX_TOKENS: u32 = 300;
/// Maximum number of definitions of a name; a name with more is too common to tell anything.
const MAX_DEFINITIONS: usize = 5;
/// Maximum number of calls that are listed.
const MAX_CALLS: usize = 6;
/// Maximum number of characters of a signature.
const MAX_SIGNATURE: usize = 160;
/// Number of nearest places.
const MAX_PLACES: usize = 3;
/// Minimum relevance of a nearest place.
const MIN_RELEVANCE: f32 = 0.5;
/// Kinds of definitions that are called. Those around them, as classes, say less of the lines that were read.
const CALLED: [&str; 5] = ["function", "method", "constructor", "macro", "test"];

/// Answers the event `text` within `budget` from now, as the output of a hook of Claude Code; `None` if there
/// is nothing to add, and on any error. What takes longer is left out of an answer.
pub fn answer(text: &str, budget: Duration) -> Option<Value> {
    let deadline = Instant::now() + budget;
    let event = Event::parse(text)?;
    let question = event.question()?;

    let (sender, receiver) = channel();
    // What is not done in time ends with the process: reading leaves nothing behind.
    std::thread::spawn(move || advise(&event, &question, deadline, &sender));

    let mut lines = Vec::new();
    while let Ok(line) = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        lines.push(line);
    }
    let text = limited(lines)?;

    Some(json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse", "additionalContext": text } }))
}

/// Sends the lines of the text that the agent gets, each as soon as it is known.
fn advise(event: &Event, question: &Question, deadline: Instant, lines: &Sender<String>) -> Option<()> {
    let codebase = Codebase::open(&event.cwd, &[]).ok()?;
    if gate::check(&codebase).ok()?.is_some() {
        return None;
    }

    let advisor = Advisor { searcher: Searcher::new(codebase), response: event.response(), deadline };
    let tell = |line: String| {
        // After the deadline the receiver is gone.
        let _ = lines.send(line);
    };
    match question {
        Question::Names(names) => {
            // Definitions are known much sooner than calls.
            let mut single = Vec::new();
            for name in names {
                single.extend(advisor.definitions(name, &tell).map(|id| (name, id)));
            }
            single.iter().filter_map(|(name, id)| advisor.calls(name, id)).for_each(tell);
        }
        Question::NotFound(words) => tell(advisor.nearest(words)?),
        Question::Lines { file, first, last } => tell(advisor.around(file, (*first, *last))?),
    }
    Some(())
}

/// Joins as many of `lines` as the limit has room for; `None` if there are none.
fn limited(lines: Vec<String>) -> Option<String> {
    let mut text = String::new();
    for line in lines {
        let longer = format!("{text}{line}\n");
        if tokens::count(&longer) > MAX_TOKENS {
            break;
        }
        text = longer;
    }

    let text = text.trim_end();
    (!text.is_empty()).then(|| format!("git-codeweaver: {text}"))
}

struct Advisor {
    searcher: Searcher,
    /// What the agent has already.
    response: String,
    deadline: Instant,
}

impl Advisor {
    /// Tells the definitions of `name`; returns the id of a single one.
    fn definitions(&self, name: &str, tell: &impl Fn(String)) -> Option<String> {
        let request = SymbolRequest {
            symbol: name.to_owned(),
            filters: Filters { include_tests: true, ..Filters::default() },
            view: self.view(),
        };
        let view = self.searcher.symbol_view(&request, &no_update).ok()?;
        let found = self.searcher.find_symbols(&view, &request).ok()?;
        if found.fit != NameFit::Exact || found.symbols.len() > MAX_DEFINITIONS {
            return None;
        }

        for symbol in &found.symbols {
            if !self.is_known(symbol) {
                tell(format!("{name} is defined at {}", place_of(symbol)));
            }
        }
        match found.symbols.as_slice() {
            [one] => Some(format!("{}:{}#{}", one.path, one.lines.0, one.qualified_name)),
            _ => None,
        }
    }

    /// The calls of the definition `id`; `None` if there are none, or if no time is left.
    fn calls(&self, name: &str, id: &str) -> Option<String> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let request = CallGraphRequest {
            timeout_ms: (left.as_millis() as u64).max(1),
            cancel: self.cancel(),
            ..CallGraphRequest::new(id, Direction::Callers)
        };
        let graph = Xref::new(&self.searcher).query(&request, &no_update).ok()?;
        calls_in(name, &graph)
    }

    /// The calls of the definition that the lines of a file are in.
    fn around(&self, file: &str, (first, last): (u32, u32)) -> Option<String> {
        let root = Prefix::root(&self.searcher.codebase.repo);
        let path = root.file(file).ok()?;
        let outline = self.searcher.outline(&path, None, &no_update).ok()?;

        // The function that has most of the lines, the innermost of several; else the innermost definition
        // that contains them all; else the first that begins in them.
        let n_shared = |span: (u32, u32)| (span.1.min(last) + 1).saturating_sub(span.0.max(first));
        let functions = outline.symbols.iter().filter(|symbol| CALLED.contains(&symbol.kind));
        let shared = functions.map(|symbol| (n_shared(symbol.span), symbol)).filter(|(n, _)| *n > 0);
        let function = shared.max_by_key(|(n, symbol)| (*n, symbol.nesting)).map(|(_, symbol)| symbol);
        let contains = |span: (u32, u32)| span.0 <= first && last <= span.1;
        let around = outline.symbols.iter().filter(|symbol| contains(symbol.span));
        let innermost = around.max_by_key(|symbol| (symbol.nesting, symbol.span.0));
        let begins = |span: (u32, u32)| first <= span.0 && span.0 <= last;
        let symbol =
            function.or(innermost).or_else(|| outline.symbols.iter().find(|symbol| begins(symbol.span)))?;

        let id = format!("{path}:{}#{}", symbol.span.0, symbol.qualified_name);
        self.calls(&symbol.name, &id)
    }

    /// The places that are nearest to `words`.
    fn nearest(&self, words: &str) -> Option<String> {
        let settings = &self.searcher.codebase.settings;
        let mut request = Request::new(words, settings);
        request.limit = MAX_PLACES;
        request.without_content = true;
        request.related = false;
        request.view = self.view();
        let found = self.searcher.search(&request, &no_update).ok()?;

        let near = found.matches.iter().filter(|one| one.relevance_score >= MIN_RELEVANCE);
        let places: Vec<String> = near
            .map(|one| {
                let (path, focus) = (printed(&one.file.path), &one.focus);
                format!("{path}:{}-{} {}", focus.start_line, focus.end_line, focus.symbol)
                    .trim_end()
                    .to_owned()
            })
            .collect();
        (!places.is_empty())
            .then(|| format!("nothing has this text; nearest to `{words}`:\n{}", places.join("\n")))
    }

    fn view(&self) -> ViewRequest {
        let settings = &self.searcher.codebase.settings;
        ViewRequest { timeout: Duration::ZERO, cancel: self.cancel(), ..ViewRequest::new(settings) }
    }

    fn cancel(&self) -> Cancel {
        let deadline = self.deadline;
        Cancel::when(move || Instant::now() >= deadline)
    }

    /// Returns whether the agent has seen the first line of a definition.
    fn is_known(&self, symbol: &FoundSymbol) -> bool {
        self.response.contains(&format!("{}:{}:", symbol.path, symbol.lines.0))
    }
}

/// Leaves the index as it is.
fn no_update(_: &Target, _: Duration) -> bool {
    false
}

fn place_of(symbol: &FoundSymbol) -> String {
    let (first, last) = symbol.lines;
    let signature: String = symbol.signature.split_whitespace().collect::<Vec<_>>().join(" ");
    let signature: String = signature.chars().take(MAX_SIGNATURE).collect();
    let signature = if signature.is_empty() { symbol.qualified_name.clone() } else { signature };
    format!("{}:{first}-{last} {signature}", printed(&symbol.path))
}

/// The calls in an answer about callers, in a line; `None` if there are none.
fn calls_in(name: &str, graph: &CallGraphResponse) -> Option<String> {
    let mut calls = Vec::new();
    let mut n_calls = 0;
    for edge in &graph.edges {
        n_calls += edge.site_count;
        let unsure = if edge.grade == Grade::Ambiguous { " ?" } else { "" };
        let within = graph.nodes.iter().find(|node| node.symbol_id == edge.src_symbol_id);
        let within = within.map_or_else(String::new, |node| format!(" ({})", node.name));
        for site in &edge.sites {
            calls.push(format!("{}:{}{within}{unsure}", printed(&site.file), site.start_line));
        }
    }
    if calls.is_empty() {
        return None;
    }

    let n_shown = calls.len().min(MAX_CALLS);
    let mut text = format!("{name} is called at {}", calls[..n_shown].join(", "));
    if n_calls > n_shown {
        let _ = write!(text, " and {} more: `git codeweaver graph callers {name}`", n_calls - n_shown);
    }
    Some(text)
}
