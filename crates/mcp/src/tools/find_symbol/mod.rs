//! `find_symbol`: definitions by name or pattern, and everything about one of them.

mod output;
mod page;
mod text;

use schemars::JsonSchema;
use serde::Deserialize;

use codeweaver::query::submodules;
use codeweaver::query::symbol_lookup::{NameFit, SymbolList, SymbolRequest, importance};
use codeweaver::query::symbol_scan::FoundSymbol;
use codeweaver::query::view::freshness::RequestUpdate;
use codeweaver::query::view::{Freshness, View};
use codeweaver::query::{Filters, QueryError, Searcher, ViewRequest};
use codeweaver_chunk::SymbolKind;
use codeweaver_git::quoting;
use codeweaver_index::background;
use codeweaver_xref::about::About;
use codeweaver_xref::{CallGraphRequest, Direction, Unlisted, Xref};

use super::text::{no_room, state_of};
use super::{Answer, Call, CallError, Tool};
use crate::cursor::Cursor;
use output::Output;
use page::Page;

pub struct FindSymbol;

/// Maximum number of names in one call.
const MAX_NAMES: usize = 20;
/// Minimum number of tokens for the answer about one of several names.
const MIN_ABOUT_TOKENS: u32 = 250;
/// Maximum number of characters of a signature in a list.
const MAX_SIGNATURE: usize = 120;
/// Maximum number of definitions of one name in one file that are taken for overloads of one function.
const MAX_OVERLOADS: usize = 8;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Arguments {
    /// `name`, `Type.name`, `FILE:LINE`, or a pattern: `parse_*`.
    symbol: Option<String>,
    /// Several at once.
    symbols: Option<Vec<String>>,
    /// `function`, `class`, …
    kinds: Option<Vec<String>>,
    paths: Option<Vec<String>>,
    #[schemars(extend("unlisted" = true))]
    focus_languages: Option<Vec<String>>,
    #[schemars(description = "Of one definition the code, without uses and tests.")]
    code_only: Option<bool>,
    path: Option<String>,
    rev: Option<String>,
    #[schemars(range(min = 1))]
    token_limit: Option<u32>,
    cursor: Option<String>,
}

/// The definitions of a name, before the answer is cut.
struct Looked {
    symbol: String,
    list: SymbolList,
    about: Option<About>,
    /// What the call graph knows about a name that nothing defines as it is written.
    undefined: Option<Undefined>,
    /// State of the file of the definition, if there is only one, as a suffix.
    state: &'static str,
}

/// A name without a definition of its own.
#[derive(Default)]
struct Undefined {
    /// The definition for which it stands, or the submodules that may have one, in a sentence.
    note: Option<String>,
    /// The places that name it.
    named: Option<Unlisted>,
}

impl Tool for FindSymbol {
    const NAME: &'static str = "find_symbol";
    const DESCRIPTION: &'static str = "Look up definitions by name or pattern. One definition: its code, callers, callees, \
        tests and documentation in one answer. Several: one line each. Use it when you know the name; read_code for the \
        code alone.";
    const IS_BASIC: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let names = names(&arguments)?;
        let target = call.open(arguments.path.as_deref(), None)?;
        let codebase = target.codebase();
        let limit = call.token_limit(arguments.token_limit, codebase);

        let Arguments { kinds, paths, focus_languages, code_only, rev, cursor, .. } = arguments;
        let mut filters = Filters {
            include_tests: true,
            kinds: kinds.unwrap_or_default(),
            languages: focus_languages.unwrap_or_default(),
            ..Filters::default()
        };

        let paths = paths.unwrap_or_default();
        target.add_paths(&mut filters, &paths)?;

        let key = (codebase.root(), &names, (&filters.kinds, &filters.languages, &paths), &rev);
        let offset = Cursor::resume(cursor.as_deref(), &key)?;

        let view_request = ViewRequest {
            revision: rev.clone(),
            cancel: call.cancel(),
            ..ViewRequest::new(&codebase.settings)
        };
        let (looked, freshness, needs_update) =
            call.run_query(&target, |updater| look_up(&names, &target, &filters, &view_request, updater))?;
        background::update_if_due(codebase, needs_update);

        let root = codebase.root();
        let is_code_only = code_only.unwrap_or(false);
        let waits = call.warnings();
        let page = Page { looked: &looked, freshness, rev: rev.as_deref(), root, is_code_only, waits };

        // A list of definitions has pages only if the call has one name.
        if let [one] = looked.as_slice()
            && one.about.is_none()
        {
            let rest = one.list.symbols.len().saturating_sub(offset);
            return Ok(call.fit(rest, limit, |n, needed| {
                let next_cursor = (n < rest && n > 0).then(|| Cursor::at(offset + n, &key).to_string());
                let no_room = needed.map(|needed| no_room("definition", rest, needed));
                page.list(offset, n, next_cursor, no_room)
            }));
        }

        Ok(page.cut_to(limit, |answer| answer.n_tokens(call.format)))
    }
}

/// Looks up all `names`. The second value is the freshness of the last view, the third whether the index
/// needs an update.
fn look_up(
    names: &[String],
    target: &crate::target::CallTarget,
    filters: &Filters,
    view_request: &ViewRequest,
    updater: RequestUpdate<'_>,
) -> Result<(Vec<Looked>, Freshness, bool), QueryError> {
    let searcher = &target.searcher;
    let (rev, cancel) = (view_request.revision.as_deref(), &view_request.cancel);
    let mut looked = Vec::new();
    let (mut freshness, mut needs_update) = (Freshness::Fresh, false);

    for name in names {
        let symbol = symbol_of(name, target);
        let request = SymbolRequest { symbol, filters: filters.clone(), view: view_request.clone() };
        let (view, mut list) = definitions(searcher, &request, updater)?;
        freshness = view.freshness;
        needs_update |= view.needs_update;

        let undefined = match list.symbols.is_empty() && !request.symbol.contains(['*', '?']) {
            true => Some(undefined(searcher, &view, &request, (&mut list, updater))?),
            false => None,
        };

        let about = match list.symbols.as_slice() {
            [one] => Some(About::new(searcher, &view, one, rev, (cancel, updater))?),
            _ => None,
        };
        let state = list.symbols.first().map_or("", |one| state_at(&view, one));
        looked.push(Looked { symbol: name.clone(), list, about, undefined, state });
    }
    Ok((looked, freshness, needs_update))
}

/// What the call graph knows about the symbol of `request`, which has no definition of its own. If it stands
/// for one, `list` becomes that one.
///
/// # Errors
/// As [`Xref::query`].
fn undefined(
    searcher: &Searcher,
    view: &View,
    request: &SymbolRequest,
    (list, updater): (&mut SymbolList, RequestUpdate<'_>),
) -> Result<Undefined, QueryError> {
    let asked = CallGraphRequest {
        rev: request.view.revision.clone(),
        cancel: request.view.cancel.clone(),
        ..CallGraphRequest::new(&request.symbol, Direction::Definitions)
    };
    let answer = Xref::new(searcher).query(&asked, updater)?;
    let [root] = answer.roots.as_slice() else {
        return Ok(Undefined { note: submodules::note(view), named: answer.unlisted });
    };

    let of_root = SymbolRequest { symbol: root.clone(), ..request.clone() };
    let found = searcher.find_symbols(view, &of_root)?;
    if found.symbols.len() != 1 {
        return Ok(Undefined::default());
    }
    *list = found;
    Ok(Undefined { note: answer.stands_for().map(str::to_owned), named: None })
}

/// Looks up a symbol. Several definitions are reduced to one if they are one symbol: declarations and
/// overloads are no reason to answer with a list.
///
/// # Errors
/// As [`Searcher::find_symbols`].
pub(super) fn definitions(
    searcher: &Searcher,
    request: &SymbolRequest,
    updater: RequestUpdate<'_>,
) -> Result<(View, SymbolList), QueryError> {
    let view = searcher.symbol_view(request, updater)?;
    let mut list = searcher.find_symbols(&view, request)?;
    if list.symbols.len() > 1 {
        only_definition(&mut list, searcher, request, updater);
    }
    Ok((view, list))
}

/// The names of a call, of both arguments.
fn names(arguments: &Arguments) -> Result<Vec<String>, CallError> {
    let mut names: Vec<String> = arguments.symbol.iter().cloned().collect();
    names.extend(arguments.symbols.iter().flatten().cloned());

    if names.is_empty() {
        return Err(CallError::invalid(
            "find_symbol needs `symbol` (a name, Type.name, FILE:LINE or a pattern) or `symbols`",
        ));
    }

    if names.len() > MAX_NAMES {
        return Err(CallError::parameter("symbols", "at most 20 names", names.len()));
    }

    Ok(names)
}

/// Makes the path of a location relative to the root. Other symbols, and locations outside, are returned
/// unchanged.
fn symbol_of(name: &str, target: &crate::target::CallTarget) -> String {
    let Some((path, ..)) = codeweaver_xref::parse_location(name) else { return name.to_owned() };
    match target.file(path) {
        Ok(file) => format!("{file}{}", &name[path.len()..]),
        Err(_) => name.to_owned(),
    }
}

fn state_at(view: &View, symbol: &FoundSymbol) -> &'static str {
    state_of(view.state_of(&quoting::bytes(&symbol.path)))
}

/// Reduces several definitions that are one symbol to one: to the definition if the others are its
/// declarations, or to the longest of the overloads of one function.
fn only_definition(
    list: &mut SymbolList,
    searcher: &Searcher,
    request: &SymbolRequest,
    updater: RequestUpdate<'_>,
) {
    // A constructor has the name of its type and is a member of it.
    let types: Vec<String> = list
        .symbols
        .iter()
        .filter(|symbol| symbol.kind.has_members())
        .map(|symbol| symbol.qualified_name.clone())
        .collect();
    list.symbols.retain(|symbol| {
        symbol.kind != SymbolKind::Constructor
            || !types.iter().any(|name| symbol.qualified_name.starts_with(name))
    });

    let Some(first) = list.symbols.first() else { return };
    let is_one_name = list.symbols.iter().all(|symbol| symbol.qualified_name == first.qualified_name);
    if list.fit != NameFit::Exact || !is_one_name {
        return;
    }

    let is_one_file = list.symbols.iter().all(|symbol| symbol.path == first.path);
    let is_callable = list.symbols.iter().any(|symbol| symbol.kind.is_callable());
    // Overloads are one function; the longest usually has the implementation.
    if is_one_file && list.symbols.len() <= MAX_OVERLOADS && is_callable {
        let longest =
            list.symbols.iter().max_by_key(|symbol| (symbol.lines.1 - symbol.lines.0, symbol.lines.0));
        list.symbols = longest.cloned().into_iter().collect();
        return;
    }

    // The call graph tells definitions and declarations apart.
    let mut definitions = CallGraphRequest::new(&request.symbol, Direction::Callees);
    definitions.rev.clone_from(&request.view.revision);
    definitions.cancel = request.view.cancel.clone();
    let Ok(response) = Xref::new(searcher).query(&definitions, updater) else { return };

    // Declarations are no roots. Tests and third-party code give way to the repository's own definition.
    let main: Vec<&String> = response
        .roots
        .iter()
        .filter(|root| {
            list.symbols.iter().find(|symbol| is_at(symbol, root)).is_some_and(|it| importance(it) == 0)
        })
        .collect();
    let roots: Vec<&String> = if main.len() == 1 { main } else { response.roots.iter().collect() };

    if let [root] = roots.as_slice()
        && let Some(one) = list.symbols.iter().find(|symbol| is_at(symbol, root)).cloned()
    {
        list.symbols = vec![one];
    }
}

/// Returns whether `id`, of the call graph, is the symbol id of `symbol`.
fn is_at(symbol: &FoundSymbol, id: &str) -> bool {
    *id == format!("{}:{}#{}", symbol.path, symbol.lines.0, symbol.qualified_name)
}
