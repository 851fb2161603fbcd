//! Symbol: a definition with its uses and the definitions that it uses.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, json};

use codeweaver::query::symbol_lookup::{SymbolList, SymbolRequest};
use codeweaver::query::symbol_scan::FoundSymbol;
use codeweaver::query::view::View;
use codeweaver::query::view::freshness::RequestUpdate;
use codeweaver::query::{Filters, QueryError};
use codeweaver_git::quoting;
use codeweaver_text::{Highlighter, plural};
use codeweaver_xref::Grade;
use codeweaver_xref::about::{About, Callee, Use};

use super::code::{self, Line, safe};
use super::frame::{Page, Section};
use super::use_lines::UseLines;
use super::{Asked, copy, links, respond};
use crate::failure::Failure;
use crate::job::Work;
use crate::search;

/// Maximum number of entries listed; the rest is summed up.
const MAX_LISTED: usize = 100;
/// Maximum number of files listed that name the symbol, for each reason for which they are no uses.
const MAX_UNLISTED: usize = 10;
/// Commits shown of its history.
const COMMITS: usize = 10;
/// Lines shown of the definition.
const MAX_LINES: usize = 30;

/// `GET /symbol`: `symbol` is a name, `Type.name`, `PATH:LINE` or `PATH:LINE#NAME`, in `rev`.
pub async fn page(asked: Asked) -> Response {
    respond(asked, |work| {
        let symbol = work.params.required("symbol")?;
        let rev = work.params.text("rev");
        let lookup = Lookup::run(work, symbol, rev)?;

        let title = lookup.list.symbols.first().map_or(symbol, |first| first.qualified_name.as_str());
        let body = match (lookup.list.symbols.as_slice(), &lookup.details) {
            ([one, ..], Some(details)) => definition(one, details, &lookup.list, rev),
            _ => unknown(symbol, &lookup.list),
        };

        Ok(Page::new(title, Section::None, body))
    })
    .await
}

/// The definitions of a symbol, and details of the first.
struct Lookup {
    list: SymbolList,
    details: Option<Details>,
}

impl Lookup {
    fn run(work: &Work, symbol: &str, rev: Option<&str>) -> Result<Lookup, Failure> {
        work.check_all("what is known about a symbol")?;

        let request = SymbolRequest {
            symbol: symbol.to_owned(),
            filters: Filters { include_tests: true, ..Filters::default() },
            view: search::view(work, rev),
        };

        let searcher = work.searcher();
        let (mut lookup, needs_update) = work.run(|update| {
            let view = searcher.symbol_view(&request, update)?;
            let list = searcher.find_symbols(&view, &request)?;
            let details = match list.symbols.first() {
                Some(one) => Some(Details::new(work, &view, one, rev, update)?),
                None => None,
            };
            Ok((Lookup { list, details }, view.needs_update))
        })?;

        work.update_if_due(needs_update);
        if let Some(details) = &mut lookup.details {
            details.about.warnings.extend(work.waits.take());
        }
        Ok(lookup)
    }
}

/// Details of a definition, with the lines of code at its uses.
struct Details {
    about: About,
    lines: UseLines,
}

impl Details {
    /// Collects what is known about `one`, a definition of `view`, and reads the lines at the uses listed.
    ///
    /// # Errors
    /// Those of [`About::new`].
    fn new(
        work: &Work,
        view: &View,
        one: &FoundSymbol,
        rev: Option<&str>,
        update: RequestUpdate<'_>,
    ) -> Result<Details, QueryError> {
        let (searcher, cancel) = (work.searcher(), &work.cancel);
        let about = About::new(searcher, view, one, rev, (cancel, update))?;

        let listed = [&about.uses, &about.tests].into_iter().flat_map(|uses| uses.iter().take(MAX_LISTED));
        let lines = UseLines::read(searcher, view, one, listed, cancel)?;
        Ok(Details { about, lines })
    }
}

fn unknown(symbol: &str, list: &SymbolList) -> Markup {
    html! {
        div.nothing {
            h1 { "No definition of " code { (safe(symbol)) } }
            p { "None was found in what is indexed; a library, or a file that is not indexed, may have one." }

            @if !list.near.is_empty() {
                p { "Names like it:" }
                ul { @for name in &list.near { li { a href=(links::symbol(name, None)) { code { (safe(name)) } } } } }
            }
            p { a href=(links::search(symbol)) { "Search for it" } }
        }
    }
}

fn definition(one: &FoundSymbol, details: &Details, list: &SymbolList, rev: Option<&str>) -> Markup {
    let Details { about, lines } = details;
    // Both lists may have the same definition.
    let others: Vec<&FoundSymbol> = list.symbols.iter().skip(1).chain(&about.others).collect();
    let mut others: Vec<&FoundSymbol> =
        others.into_iter().filter(|it| (&it.path, it.lines) != (&one.path, one.lines)).collect();
    others.sort_by_key(|it| (&it.path, it.lines));
    others.dedup();

    let uses = List { what: "Uses", items: &about.uses, n: about.n_uses, lines };
    let tests = List { what: "Tests", items: &about.tests, n: about.n_tests, lines };

    html! {
        section.symbol aria-labelledby="title" {
            h1 #title { code { (safe(&one.qualified_name)) } " " span.kind { (one.kind.name().replace('_', " ")) } }
            p.facts {
                a href=(links::file(&one.path, Some(one.lines), rev)) { (code::path(&one.path)) ":" (one.lines.0) }
                " · " (one.language)
            }
            ul.actions {
                li { a href=(links::similar(&one.path, one.lines.0, rev)) { "Similar code" } }
            }
            @for warning in &about.warnings { p.note { (safe(for_people(warning))) } }
            (text(one, about, rev))
            @if about.has_references { (uses.section(rev)) }
            @for line in about.unlisted.iter().flat_map(|unlisted| unlisted.lines(MAX_UNLISTED)) {
                p.note { (safe(&line)) }
            }
            @if !about.callees.is_empty() || about.n_unresolved > 0 { (callees(about, rev)) }
            @if !about.members.is_empty() { (symbols("Members", &about.members, rev)) }
            @if !about.tests.is_empty() { (tests.section(rev)) }
            @if !about.tests_by_name.is_empty() { (symbols("Tests with its name", &about.tests_by_name, rev)) }

            @if !about.documents.is_empty() {
                h2 { "Documentation" }
                ul.places {
                    @for document in about.documents.iter().take(MAX_LISTED) {
                        li {
                            a href=(links::file(&document.path, Some((document.line, document.line)), rev)) {
                                (quoting::printed(&document.path)) ":" (document.line)
                            }
                            " " (safe(&document.title))
                        }
                    }
                }
            }

            @if !others.is_empty() { (symbols("Other definitions of the name", others, rev)) }
            (history(one))
            (copied(one, rev))
        }
    }
}

/// A warning without the advice on tools, which is for agents.
fn for_people(warning: &str) -> &str {
    warning.split_once(": find_text").map_or(warning, |(text, _)| text)
}

fn text(one: &FoundSymbol, about: &About, rev: Option<&str>) -> Markup {
    let highlighter = Highlighter::default().with_symbol(&one.qualified_name);
    let lines: Vec<&str> = about.text.lines().collect();

    // A shortened comment shifts the numbers of the lines after it.
    let numbers = std::iter::successors(Some(about.first_line), |number| Some(number + 1));
    let gap_at = lines.iter().position(|line| *line == "…").filter(|_| about.n_hidden > 0);
    let numbered = lines.iter().zip(numbers).enumerate().filter(|(i, _)| Some(*i) != gap_at);

    let shown = numbered.take(MAX_LINES).map(|(i, (text, number))| {
        let number = if gap_at.is_some_and(|gap| i > gap) { number + about.n_hidden } else { number };
        Line {
            number,
            href: links::file(&one.path, Some((number, number)), rev),
            text,
            marks: if number == one.lines.0 { highlighter.ranges(text) } else { Vec::new() },
            is_focus: false,
        }
    });

    let n_more = lines.len().saturating_sub(MAX_LINES);
    html! {
        @if !lines.is_empty() { (code::block(&format!("Definition of {}", one.qualified_name), &one.language, shown)) }
        @if n_more > 0 {
            p.rest { a href=(links::file(&one.path, Some(one.lines), rev)) { (plural(n_more as u64, "more line")) } }
        }
    }
}

/// Places that refer to a definition.
struct List<'a> {
    what: &'static str,
    items: &'a [Use],
    n: usize,
    lines: &'a UseLines,
}

impl List<'_> {
    fn section(&self, rev: Option<&str>) -> Markup {
        html! {
            h2 { (self.what) " " span.count { (self.n) } }
            @if self.items.is_empty() {
                p.note { "None were found." }
            } @else {
                // Lines that are wider than the window are scrolled together, by keyboard too.
                div.wide tabindex="0" role="group" aria-label=(self.what) {
                    ul.places { @for it in self.items.iter().take(MAX_LISTED) { li { (self.place(it, rev)) } } }
                }
            }

            @if self.n > self.items.len().min(MAX_LISTED) {
                p.note { (plural((self.n - self.items.len().min(MAX_LISTED)) as u64, "more place")) }
            }
        }
    }

    /// A place with its line of code.
    fn place(&self, it: &Use, rev: Option<&str>) -> Markup {
        html! {
            a href=(links::file(&it.path, Some((it.line, it.line)), rev)) { (code::path(&it.path)) ":" (it.line) }
            @if !it.within.is_empty() { " in " a href=(links::definition(&it.path, it.line, &it.within, rev)) { code { (safe(&it.within)) } } }
            @if !it.is_call { " " span.kind { "reference" } }
            (grade(it.grade))
            (self.lines.line(it))
        }
    }
}

fn callees(about: &About, rev: Option<&str>) -> Markup {
    html! {
        h2 { "Calls " span.count { (about.callees.len()) } }
        ul.places {
            @for Callee { name, path, line, grade: certainty } in about.callees.iter().take(MAX_LISTED) {
                li {
                    a href=(links::definition(path, *line, name, rev)) { code { (safe(name)) } }
                    " " (code::path(path)) ":" (line)
                    (grade(*certainty))
                }
            }
        }

        @if about.n_unresolved > 0 {
            p.note { (plural(about.n_unresolved as u64, "other name")) " called, of libraries or not resolved" }
        }
    }
}

/// The certainty of a reference, unless it is proven.
fn grade(grade: Grade) -> Markup {
    let (text, title) = match grade {
        Grade::Exact => return html! {},
        Grade::UniqueName => ("by name", "The only definition that fits; not proven"),
        Grade::Ambiguous => ("ambiguous", "One of several definitions that fit"),
        Grade::Unresolved => ("unresolved", "No definition was found"),
    };
    html! { " " span.grade title=(title) { (text) } }
}

fn symbols<'a>(title: &str, symbols: impl IntoIterator<Item = &'a FoundSymbol>, rev: Option<&str>) -> Markup {
    html! {
        h2 { (title) }

        ul.places {
            @for it in symbols.into_iter().take(MAX_LISTED) {
                li {
                    a href=(links::definition(&it.path, it.lines.0, &it.qualified_name, rev)) { code { (safe(&it.qualified_name)) } }
                    " " span.kind { (it.kind.name().replace('_', " ")) }
                    " " (code::path(&it.path)) ":" (it.lines.0)
                }
            }
        }
    }
}

/// The last commits that changed it. Finding them takes a while, so the script fetches them on request.
fn history(one: &FoundSymbol) -> Markup {
    let href = links::history_of_symbol(&one.qualified_name, &one.path);
    html! {
        details.history data-load={ (href) "&limit=" (COMMITS) } data-part=".commits" {
            summary { "History" }
            div.loaded {}
            p { a href=(href) { "All commits that changed it" } }
        }
    }
}

fn copied(one: &FoundSymbol, rev: Option<&str>) -> Markup {
    let place = format!("{}:{}", one.path, one.lines.0);
    let mut command = format!("git codeweaver graph {}", copy::quoted(&place));
    let mut arguments = Map::new();
    arguments.insert("symbol".to_owned(), json!(place));

    if let Some(rev) = rev {
        command.push_str(&format!(" --rev {}", copy::quoted(rev)));
        arguments.insert("rev".to_owned(), json!(rev));
    }

    copy::panel(&command, "find_symbol", arguments)
}
