//! `find_symbol`: definitions by name or pattern, and everything about one of them.

use super::text::{more, no_room, state_of, unless_fresh};
use super::{Answer, Call, CallError, OkStatus, Tool};
use crate::chunk::{SymbolKind, tokens};
use crate::git::quoting::{self, printed};
use crate::index::background;
use crate::mcp::cursor::Cursor;
use crate::query::symbol_lookup::{NameFit, SymbolList, SymbolRequest, importance};
use crate::query::symbol_scan::FoundSymbol;
use crate::query::view::{Freshness, View};
use crate::query::{Filters, ViewRequest};
use crate::xref::about::{About, Callee, Document, Use};
use crate::xref::{CallGraphRequest, Direction, Grade, Xref};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::PathBuf;

pub struct FindSymbol;

/// Maximum number of names in one call.
const MAX_NAMES: usize = 20;
/// Tokens that the answer about one of several names gets at least.
const MIN_ABOUT_TOKENS: u32 = 250;
/// Characters of a signature in a list.
const MAX_SIGNATURE: usize = 120;
/// Definitions of one name in one file that are overloads of one function.
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
    focus_languages: Option<Vec<String>>,
    path: Option<String>,
    rev: Option<String>,
    #[schemars(range(min = 1))]
    token_limit: Option<u32>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    status: OkStatus,
    /// One for each name, in the order of the call.
    results: Vec<NameOutput>,
    freshness: Freshness,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(rename = "codebaseRoot")]
    codebase_root: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// What was found for a name.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NameOutput {
    symbol: String,
    /// `exact`, `case` (in another case), `part` (in the middle of a name) or `none`.
    fit: &'static str,
    total: usize,
    definitions: Vec<DefinitionOutput>,
    /// Names that are like it, if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    near: Vec<String>,
    /// Everything about the definition, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<AboutOutput>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DefinitionOutput {
    name: String,
    kind: &'static str,
    file: String,
    /// First and last line.
    span: (u32, u32),
    #[serde(skip_serializing_if = "String::is_empty")]
    signature: String,
}

/// Every list is cut to what the token limit allows; the totals say how many there are.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct AboutOutput {
    /// The definition with the comment above it; its beginning, if it is long.
    text: String,
    first_line: u32,
    /// Whether `text` is only the beginning.
    text_cut: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    members: Vec<DefinitionOutput>,
    total_members: usize,
    uses: Vec<UseOutput>,
    total_uses: usize,
    tests: Vec<UseOutput>,
    total_tests: usize,
    /// Tests whose names have that of the definition, if no test uses it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tests_by_name: Vec<DefinitionOutput>,
    callees: Vec<CalleeOutput>,
    total_callees: usize,
    /// Names that are called and not defined in the repository, or not certainly.
    unresolved_calls: usize,
    documents: Vec<DocumentOutput>,
    total_documents: usize,
    /// Other definitions of the same name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<DefinitionOutput>,
    total_others: usize,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UseOutput {
    file: String,
    line: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    within: String,
    grade: Grade,
    call: bool,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CalleeOutput {
    name: String,
    file: String,
    line: u32,
    grade: Grade,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DocumentOutput {
    file: String,
    line: u32,
    title: String,
}

/// A name with its definitions, before the answer is cut.
struct Looked {
    symbol: String,
    list: SymbolList,
    about: Option<About>,
    /// State of the file of the one definition, as a suffix.
    state: &'static str,
}

impl Tool for FindSymbol {
    const NAME: &'static str = "find_symbol";
    const DESCRIPTION: &'static str = "Look up definitions by name or pattern. One definition: its code, callers, callees, \
        tests and documentation in one answer. Several: one line each. Use it when you know a name; find_code if not.";
    const IS_BASIC: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let names = names(&arguments)?;
        let target = call.open(arguments.path.as_deref(), None)?;
        let codebase = target.codebase();
        let limit = call.token_limit(arguments.token_limit, codebase);
        let Arguments { kinds, paths, focus_languages, rev, cursor, .. } = arguments;
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
        let cancel = call.cancel();
        let view_request = ViewRequest {
            revision: rev.clone(),
            cancel: cancel.clone(),
            ..ViewRequest::new(&codebase.settings)
        };
        let (looked, freshness, needs_update) = call.run_query(&target, |updater| {
            let searcher = &target.searcher;
            let mut looked = Vec::new();
            let mut shown = (Freshness::Fresh, false);
            for name in &names {
                let symbol = symbol_of(name, &target);
                let request = SymbolRequest { symbol, filters: filters.clone(), view: view_request.clone() };
                let view = searcher.symbol_view(&request, updater)?;
                let mut list = searcher.find_symbols(&view, &request)?;
                shown = (view.freshness, shown.1 || view.needs_update);
                if list.symbols.len() > 1 {
                    only_definition(&mut list, searcher, &request, updater);
                }
                let about = match list.symbols.as_slice() {
                    [one] => Some(About::of(searcher, &view, one, rev.as_deref(), (&cancel, updater))?),
                    _ => None,
                };
                let state = list.symbols.first().map_or("", |one| state_at(&view, one));
                looked.push(Looked { symbol: name.clone(), list, about, state });
            }
            Ok((looked, shown.0, shown.1))
        })?;
        background::update_if_due(codebase, needs_update);
        let page = Page { looked: &looked, freshness, rev: rev.as_deref(), root: codebase.root() };
        // Only the list of one name has pages.
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

/// The names of a call.
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

/// Makes the path of a place relative to the root.
fn symbol_of(name: &str, target: &crate::mcp::codebases::CallTarget) -> String {
    let Some((path, ..)) = crate::xref::parse_location(name) else { return name.to_owned() };
    match target.file(path) {
        Ok(file) => format!("{file}{}", &name[path.len()..]),
        Err(_) => name.to_owned(),
    }
}

fn state_at(view: &View, symbol: &FoundSymbol) -> &'static str {
    state_of(view.state_of(&quoting::bytes(&symbol.path)))
}

/// Leaves one definition of several that are one symbol: a definition of the same name as its declarations,
/// or the last of the overloads of one function.
fn only_definition(
    list: &mut SymbolList,
    searcher: &crate::query::Searcher,
    request: &SymbolRequest,
    updater: crate::query::view::freshness::RequestUpdate<'_>,
) {
    // A constructor is a member of its type.
    let types: Vec<String> = list
        .symbols
        .iter()
        .filter(|symbol| symbol.kind.has_members())
        .map(|symbol| symbol.qualified_name.clone())
        .collect();
    let is_of = |symbol: &FoundSymbol| {
        symbol.kind == SymbolKind::Constructor
            && types.iter().any(|name| symbol.qualified_name.starts_with(name))
    };
    list.symbols.retain(|symbol| !is_of(symbol));
    let Some(first) = list.symbols.first() else { return };
    let same = |symbol: &FoundSymbol| symbol.qualified_name == first.qualified_name;
    if list.fit != NameFit::Exact || !list.symbols.iter().all(same) {
        return;
    }
    let is_one_file = list.symbols.iter().all(|symbol| symbol.path == first.path);
    let is_callable = list.symbols.iter().any(|symbol| symbol.kind.is_callable());
    if is_one_file && list.symbols.len() <= MAX_OVERLOADS && is_callable {
        let longest =
            list.symbols.iter().max_by_key(|symbol| (symbol.lines.1 - symbol.lines.0, symbol.lines.0));
        list.symbols = longest.cloned().into_iter().collect();
        return;
    }
    let mut definitions = CallGraphRequest::new(&request.symbol, Direction::Callees);
    definitions.rev.clone_from(&request.view.revision);
    definitions.cancel = request.view.cancel.clone();
    let Ok(response) = Xref::new(searcher).query(&definitions, updater) else { return };
    // Declarations are no roots. Of several definitions, the one that is neither a test nor third-party.
    let is_main = |root: &&String| {
        let symbol = list.symbols.iter().find(|symbol| is_at(symbol, root));
        symbol.is_some_and(|symbol| importance(symbol) == 0)
    };
    let main: Vec<&String> = response.roots.iter().filter(is_main).collect();
    let roots: Vec<&String> = if main.len() == 1 { main } else { response.roots.iter().collect() };
    if let [root] = roots.as_slice()
        && let Some(one) = list.symbols.iter().find(|symbol| is_at(symbol, root)).cloned()
    {
        list.symbols = vec![one];
    }
}

/// Whether a symbol id of the call graph is that of `symbol`.
fn is_at(symbol: &FoundSymbol, id: &str) -> bool {
    *id == format!("{}:{}#{}", symbol.path, symbol.lines.0, symbol.qualified_name)
}

/// How many items of each section are shown.
#[derive(Clone, Copy)]
struct Caps {
    text_tokens: u32,
    uses: usize,
    tests: usize,
    others: usize,
    definitions: usize,
}

impl Caps {
    fn new(limit: u32) -> Caps {
        let share = |part: u32| (limit / part) as usize;
        Caps {
            text_tokens: limit / 4,
            uses: share(40),
            tests: share(140),
            others: share(200).max(3),
            definitions: share(25).max(1),
        }
    }

    fn smaller(self) -> Caps {
        let less = |n: usize| n * 3 / 4;
        Caps {
            text_tokens: self.text_tokens * 3 / 4,
            uses: less(self.uses),
            tests: less(self.tests),
            others: less(self.others),
            definitions: less(self.definitions),
        }
    }

    fn is_least(self) -> bool {
        self.text_tokens == 0 && self.uses + self.tests + self.others + self.definitions == 0
    }
}

/// What answers are built from.
struct Page<'a> {
    looked: &'a [Looked],
    freshness: Freshness,
    rev: Option<&'a str>,
    root: PathBuf,
}

impl Page<'_> {
    /// A page of the definitions of the one name.
    fn list(
        &self,
        offset: usize,
        n: usize,
        next_cursor: Option<String>,
        no_room: Option<String>,
    ) -> Answer<Output> {
        let results: Vec<NameOutput> = self
            .looked
            .iter()
            .map(|looked| {
                let symbols = looked.list.symbols.iter().skip(offset).take(n);
                NameOutput { definitions: symbols.map(definition_output).collect(), ..frame(looked) }
            })
            .collect();
        self.answer(results, next_cursor, no_room)
    }

    /// Everything, with shorter sections until it fits.
    fn cut_to(&self, limit: u32, size: impl Fn(&Answer<Output>) -> u32) -> Answer<Output> {
        let share = (limit / self.looked.len().max(1) as u32).max(MIN_ABOUT_TOKENS.min(limit));
        let mut caps = Caps::new(share);
        loop {
            let results = self.looked.iter().map(|looked| name_output(looked, caps)).collect();
            let answer = self.answer(results, None, None);
            let n_tokens = size(&answer);
            if n_tokens <= limit {
                return answer;
            }
            if caps.is_least() {
                let note = format!("token_limit is too small, this needs {n_tokens}");
                let results = self.looked.iter().map(frame).collect();
                return self.answer(results, None, Some(note));
            }
            caps = caps.smaller();
        }
    }

    fn answer(
        &self,
        results: Vec<NameOutput>,
        next_cursor: Option<String>,
        note: Option<String>,
    ) -> Answer<Output> {
        let mut warnings: Vec<String> = self
            .looked
            .iter()
            .filter_map(|looked| looked.about.as_ref())
            .flat_map(|about| about.warnings.clone())
            .collect();
        warnings.extend(note);
        warnings.dedup();
        let mut text = String::new();
        let fresh = unless_fresh(self.freshness);
        if !fresh.is_empty() {
            let _ = writeln!(text, "{}", fresh.trim_start());
        }
        for warning in &warnings {
            let _ = writeln!(text, "note: {warning}");
        }
        for (looked, result) in self.looked.iter().zip(&results) {
            if results.len() > 1 {
                let _ = writeln!(text, "## {}", result.symbol);
            }
            write_name(&mut text, looked, result, self.rev);
        }
        if let Some(cursor) = &next_cursor {
            text.push_str(&more(cursor));
        }
        Answer {
            text,
            structured: Output {
                status: OkStatus::Ok,
                results,
                freshness: self.freshness,
                warnings,
                codebase_root: self.root.clone(),
                next_cursor,
            },
        }
    }
}

fn frame(looked: &Looked) -> NameOutput {
    let fit = match (looked.list.symbols.is_empty(), looked.list.fit) {
        (true, _) => "none",
        (_, NameFit::Exact) => "exact",
        (_, NameFit::Case) => "case",
        (_, NameFit::Part) => "part",
    };
    NameOutput {
        symbol: looked.symbol.clone(),
        fit,
        total: looked.list.symbols.len(),
        definitions: Vec::new(),
        near: looked.list.near.clone(),
        about: None,
    }
}

fn name_output(looked: &Looked, caps: Caps) -> NameOutput {
    let n = if looked.about.is_some() { 1 } else { caps.definitions };
    NameOutput {
        definitions: looked.list.symbols.iter().take(n).map(definition_output).collect(),
        about: looked.about.as_ref().map(|about| about_output(about, caps)),
        ..frame(looked)
    }
}

fn definition_output(symbol: &FoundSymbol) -> DefinitionOutput {
    DefinitionOutput {
        name: symbol.qualified_name.clone(),
        kind: symbol.kind.name(),
        file: symbol.path.clone(),
        span: symbol.lines,
        signature: symbol.signature.clone(),
    }
}

fn about_output(about: &About, caps: Caps) -> AboutOutput {
    let uses = |uses: &[Use], n: usize| uses.iter().take(n).map(use_output).collect();
    let (text, text_cut) = beginning(&about.text, caps.text_tokens);
    let n_members = if text_cut { caps.uses } else { 0 };
    AboutOutput {
        text,
        first_line: about.first_line,
        text_cut,
        members: about.members.iter().take(n_members).map(definition_output).collect(),
        total_members: about.members.len(),
        uses: uses(&about.uses, caps.uses),
        total_uses: about.n_uses,
        tests: uses(&about.tests, caps.tests),
        total_tests: about.n_tests,
        tests_by_name: about.tests_by_name.iter().take(caps.others).map(definition_output).collect(),
        callees: about.callees.iter().take(caps.tests).map(callee_output).collect(),
        total_callees: about.callees.len(),
        unresolved_calls: about.n_unresolved,
        documents: about.documents.iter().take(caps.others.min(4)).map(document_output).collect(),
        total_documents: about.documents.len(),
        others: about.others.iter().take(caps.others.min(3)).map(definition_output).collect(),
        total_others: about.n_others,
    }
}

fn use_output(it: &Use) -> UseOutput {
    UseOutput {
        file: it.path.clone(),
        line: it.line,
        within: it.within.clone(),
        grade: it.grade,
        call: it.is_call,
    }
}

fn callee_output(callee: &Callee) -> CalleeOutput {
    CalleeOutput {
        name: callee.name.clone(),
        file: callee.path.clone(),
        line: callee.line,
        grade: callee.grade,
    }
}

fn document_output(document: &Document) -> DocumentOutput {
    DocumentOutput { file: document.path.clone(), line: document.line, title: document.title.clone() }
}

/// The first lines of a text, up to so many tokens, and whether that is not all.
fn beginning(text: &str, limit: u32) -> (String, bool) {
    if tokens::count(text) <= limit {
        return (text.to_owned(), false);
    }
    let (mut shown, mut n_tokens) = (String::new(), 0);
    for line in text.split_inclusive('\n') {
        n_tokens += tokens::count(line);
        if n_tokens > limit {
            break;
        }
        shown.push_str(line);
    }
    (shown, true)
}

fn write_name(text: &mut String, looked: &Looked, result: &NameOutput, rev: Option<&str>) {
    let symbol = &result.symbol;
    let of = rev.map_or_else(String::new, |rev| format!(" of {rev}"));
    match (result.total, looked.list.fit) {
        (0, _) => {
            let near = if result.near.is_empty() {
                String::new()
            } else {
                format!("; like it: {}", result.near.join(", "))
            };
            let _ = writeln!(text, "no definition of {symbol:?} in the index{of}{near}");
            return;
        }
        (n, NameFit::Exact) if looked.about.is_none() => {
            let _ = writeln!(text, "{n} definitions of {symbol}; FILE:LINE shows one");
        }
        (_, NameFit::Exact) => {}
        (n, NameFit::Case) => {
            let _ = writeln!(text, "not {symbol:?}, but {n} in another case");
        }
        (n, NameFit::Part) => {
            let _ = writeln!(text, "not {symbol:?}, but {n} with it in the name");
        }
    }
    match (&looked.about, &result.about, result.definitions.first()) {
        (Some(about), Some(shown), Some(definition)) => {
            let kind = format!("{}{}", definition.kind, looked.state);
            let place = place(definition);
            let _ = writeln!(text, "{place} {kind} {}", definition.name);
            write_about(text, about, shown, definition);
        }
        _ => {
            for definition in &result.definitions {
                write_definition(text, definition);
            }
            let n_more = result.total.saturating_sub(result.definitions.len());
            if n_more > 0 && looked.about.is_none() && !result.definitions.is_empty() {
                let _ = writeln!(text, "{n_more} more");
            }
        }
    }
}

fn place(definition: &DefinitionOutput) -> String {
    let (first, last) = definition.span;
    let file = printed(&definition.file);
    if first == last { format!("{file}:{first}") } else { format!("{file}:{first}-{last}") }
}

/// `path:line kind signature`.
fn write_definition(text: &mut String, definition: &DefinitionOutput) {
    let signature = &definition.signature;
    // Many signatures already contain the kind.
    let has_kind = signature.split_whitespace().any(|word| word == definition.kind);
    let kind = if has_kind { String::new() } else { format!("{} ", definition.kind) };
    let last = definition.name.rsplit(['.', ':', '#']).next().unwrap_or_default();
    // The signature of a member does not say of what.
    let owner = definition.name.strip_suffix(last).unwrap_or_default().trim_end_matches(['.', ':', '#']);
    // Bounds of type parameters tell nothing apart.
    let short = signature.split_once(" where ").map_or(signature.as_str(), |(short, _)| short);
    let is_long = short.char_indices().nth(MAX_SIGNATURE);
    let short = is_long.map_or_else(|| short.to_owned(), |(end, _)| format!("{}…", &short[..end]));
    let has_owner =
        short.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == last_of(owner));
    let what = match (short.is_empty(), owner.is_empty() || has_owner) {
        (true, _) => definition.name.clone(),
        (false, true) => short,
        (false, false) => format!("{short} in {owner}"),
    };
    let _ = writeln!(text, "{}:{} {kind}{what}", printed(&definition.file), definition.span.0);
}

fn write_about(text: &mut String, about: &About, shown: &AboutOutput, definition: &DefinitionOutput) {
    if !shown.text.is_empty() {
        text.push_str(shown.text.trim_end_matches('\n'));
        text.push('\n');
    } else if !definition.signature.is_empty() {
        let _ = writeln!(text, "{}", definition.signature);
    }
    if shown.text_cut {
        let n_shown = shown.text.lines().count() as u32 + about.n_hidden;
        let _ = writeln!(text, "… read_code from line {}", shown.first_line + n_shown);
    }
    if !shown.members.is_empty() {
        let names: Vec<String> = shown
            .members
            .iter()
            .map(|member| format!("{}:{}", last_of(&member.name), member.span.0))
            .collect();
        let _ =
            writeln!(text, "members{}: {}", of(shown.members.len(), shown.total_members), names.join(", "));
    }
    let id = format!("{}:{}", definition.file, definition.span.0);
    if about.has_references {
        write_uses(text, "used", &shown.uses, shown.total_uses, &id);
    }
    if !shown.callees.is_empty() {
        let mut names = Vec::new();
        for callee in &shown.callees {
            let doubt = if callee.grade == Grade::Ambiguous { "?" } else { "" };
            let file = if callee.file == definition.file {
                String::new()
            } else {
                format!("{}:", printed(&callee.file))
            };
            names.push(format!("{}{doubt} {file}{}", callee.name, callee.line));
        }
        let _ = writeln!(text, "calls{}: {}", of(shown.callees.len(), shown.total_callees), names.join(", "));
    }
    write_uses(text, "tests", &shown.tests, shown.total_tests, &id);
    if shown.total_tests == 0 && about.has_references {
        if shown.tests_by_name.is_empty() {
            text.push_str("no test refers to it\n");
        } else {
            let names: Vec<String> = shown
                .tests_by_name
                .iter()
                .map(|test| format!("{}:{} {}", printed(&test.file), test.span.0, test.name))
                .collect();
            let n = of(shown.tests_by_name.len(), about.tests_by_name.len());
            let _ = writeln!(text, "no test refers to it; tests by name{n}: {}", names.join(", "));
        }
    }
    if !shown.documents.is_empty() {
        let mut places: Vec<String> = Vec::new();
        let mut last = "";
        for document in &shown.documents {
            let file =
                if last == document.file { String::new() } else { format!("{}:", printed(&document.file)) };
            last = &document.file;
            places.push(format!("{file}{} {}", document.line, document.title).trim_end().to_owned());
        }
        let _ = writeln!(
            text,
            "documentation{}: {}",
            of(shown.documents.len(), shown.total_documents),
            places.join(", ")
        );
    }
    if !shown.others.is_empty() {
        let places: Vec<String> = shown
            .others
            .iter()
            .map(|other| format!("{}:{} {}", printed(&other.file), other.span.0, other.name))
            .collect();
        let _ =
            writeln!(text, "same name{}: {}", of(shown.others.len(), shown.total_others), places.join(", "));
    }
}

/// Writes places grouped by file: one line for each, the line numbers with the functions that they are in.
fn write_uses(text: &mut String, title: &str, uses: &[UseOutput], total: usize, id: &str) {
    if total == 0 {
        if title == "used" {
            text.push_str("no use found\n");
        }
        return;
    }
    let mut files: Vec<(&str, Vec<&UseOutput>)> = Vec::new();
    for it in uses {
        match files.iter_mut().find(|(file, _)| *file == it.file) {
            Some((_, uses)) => uses.push(it),
            None => files.push((&it.file, vec![it])),
        }
    }
    let n_unsure = uses.iter().filter(|it| it.grade == Grade::Ambiguous).count();
    let unsure = if n_unsure > 0 { format!(", {n_unsure} unsure (?)") } else { String::new() };
    let _ = writeln!(text, "{title} {total}{unsure}:");
    for (file, uses) in files {
        let mut places = Vec::new();
        let mut within = "";
        for it in uses {
            let doubt = if it.grade == Grade::Ambiguous { "?" } else { "" };
            let name = last_of(&it.within);
            let shown = if name.is_empty() || name == within { String::new() } else { format!(" {name}") };
            within = name;
            places.push(format!("{}{doubt}{shown}", it.line));
        }
        let _ = writeln!(text, "{}: {}", printed(file), places.join(", "));
    }
    let n_more = total.saturating_sub(uses.len());
    if n_more > 0 {
        let _ = writeln!(text, "{n_more} more: call_graph {id} references");
    }
}

fn last_of(name: &str) -> &str {
    name.rsplit(['.', ':', '#']).next().unwrap_or(name)
}

/// ` 3 of 7`, if not all are shown.
fn of(shown: usize, total: usize) -> String {
    if shown < total { format!(" {shown} of {total}") } else { String::new() }
}
