//! Search: the page with the box and its results.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};

use codeweaver::query::Response as Matches;
use codeweaver_text::plural;

use super::frame::{Page, Section};
use super::{Asked, copy, failure, filters, frame, html, lines, links, members, respond, results, status};
use crate::access::Access;
use crate::failure::Failure;
use crate::job::Work;
use crate::search::{Answer, DEFAULT_LINES, Search};

/// Number of results of a page.
pub const PAGE: usize = 20;
/// Number of best matches that the filters count. Each takes about half a millisecond.
const WIDE: usize = 50;

/// `GET /` and `/search`.
pub async fn page(asked: Asked) -> Response {
    respond(asked, answer).await
}

/// `GET /results`: the contents of the page without its frame, for the script. The query may be unfinished,
/// such as `/(/`, so a request that cannot be answered is no failure here.
pub async fn fragment(asked: Asked) -> Response {
    let rendered = match asked {
        Ok(job) => job.run(|work| Ok(answer(work)?.body.into_string())).await,
        Err(failure) => Err(failure),
    };

    match rendered {
        Ok(text) => html(StatusCode::OK, text),
        Err(failure) => {
            let status = if failure.status().is_client_error() { StatusCode::OK } else { failure.status() };
            html(status, failure::body(&failure, None).into_string())
        }
    }
}

fn answer(work: &Work) -> Result<Page, Failure> {
    if work.params.text("q").is_none_or(|text| text.trim().is_empty()) {
        return home(work);
    }

    let search = Search::new(work)?;
    let box_text = search.query.to_string();

    let body = if search.query.text.is_empty() {
        only_filters(&box_text)
    } else {
        let offset = work.params.number("offset", 100_000)?.unwrap_or(0);
        match search.pattern(&work.params)? {
            Some(_) => of_lines(work, &search, offset)?,
            None => of_matches(work, &search, offset)?,
        }
    };

    let kept = filters::kept(&work.params, &search.query);
    let title = search.query.text.lines().next().unwrap_or_default().to_owned();
    Ok(Page { title, query: box_text, kept, section: Section::Search, body })
}

fn of_matches(work: &Work, search: &Search, offset: usize) -> Result<Markup, Failure> {
    let mut request = search.request(work)?;
    (request.token_limit, request.texts) = (u32::MAX, PAGE);
    (request.offset, request.limit) = (offset, if offset == 0 { WIDE } else { PAGE });
    let response = search.matches(work, &request)?;

    // Further pages need a second search, since the filters always count the best matches.
    let wide = if offset == 0 {
        None
    } else {
        (request.offset, request.limit, request.without_content) = (0, WIDE, true);
        Some(search.matches(work, &request)?)
    };

    work.follow_up(&response.index);
    let counted = &wide.as_ref().unwrap_or(&response).matches;
    let hits = counted.iter().map(|found| filters::Hit {
        repo: found.file.in_repo.as_ref().map_or("", |repo| &repo.name),
        path: &found.file.path,
        language: &found.file.language,
        kind: found.focus.kind,
        state: found.state,
    });

    let shown = results::Shown::new(search);
    let n_shown = response.matches.len().min(PAGE);
    let pages = Pages { offset, n_shown, n_total: response.total_matches, step: PAGE };

    Ok(html! {
        div.columns {
            section.results aria-labelledby="title" {
                (heading(search, &summary(&response, n_shown)))
                (results::notes(&response))
                @if response.matches.is_empty() { (nothing(search, &response, offset)) }
                @for found in response.matches.iter().take(PAGE) { (results::result(&shown, found)) }
                (pages.links(work, search))
                (ways(work, search, Some(response.matches.len())))
                (copy::of_matches(search, &work.params))
            }
            (filters::aside(search, &work.params, hits))
        }
    })
}

fn of_lines(work: &Work, search: &Search, offset: usize) -> Result<Markup, Failure> {
    let Answer::Lines(answer) = search.answer(work)? else {
        return Err(Failure::internal("a search for lines has found something else"));
    };

    let hits = answer.files.iter().map(|file| filters::Hit {
        repo: "",
        path: &file.path,
        language: &file.language,
        kind: "",
        state: file.state,
    });

    let n_shown: u64 = answer.files.iter().map(codeweaver::query::grep::GrepFile::n_shown).sum();
    let pages = Pages {
        offset,
        n_shown: n_shown as usize,
        n_total: answer.total_lines as usize,
        step: DEFAULT_LINES,
    };
    let summary = format!("{} ({} ms)", answer.summary, answer.execution_time_ms);

    Ok(html! {
        div.columns {
            section.results aria-labelledby="title" {
                (heading(search, &summary))
                @for warning in &answer.warnings { p.warning { (super::code::safe(warning)) } }
                @for file in &answer.files { (lines::file(file, search.query.rev())) }
                @if answer.files.is_empty() { (no_lines(search)) }
                (pages.links(work, search))
                (ways(work, search, None))
                (copy::of_lines(search, &answer, &work.params))
            }
            (filters::aside(search, &work.params, hits))
        }
    })
}

/// The heading, the number of results and the way to the filters where they are below.
fn heading(search: &Search, summary: &str) -> Markup {
    html! {
        h1 #title.visually-hidden { "Results for " (super::code::safe(&search.query.text)) }
        p.summary {
            span #summary { (super::code::safe(summary)) }
            a.to-filters href="#filters" { "Filters" }
        }
    }
}

fn summary(response: &Matches, n_shown: usize) -> String {
    let total = response.total_matches;
    let found = codeweaver::query::response::n_of(n_shown, total.max(n_shown));
    format!("{found} ({} ms)", response.execution_time_ms)
}

/// Other ways to ask the same. `n_matches` is that of a search by meaning; `None` for a search for lines.
fn ways(work: &Work, search: &Search, n_matches: Option<usize>) -> Markup {
    let explains = work.params.flag("explain");
    let explain = filters::href_with(&work.params, &search.query, &[("explain", (!explains).then_some("1"))]);
    let is_one_line = !search.query.text.contains('\n');
    let other = |text: String| filters::href(&work.params, &filters::with_text(&search.query, text));

    html! {
        ul.ways aria-label="Other ways to ask" {
            @if let Some(n_matches) = n_matches {
                @if n_matches > 0 { li { a href=(explain) { @if explains { "Without scores" } @else { "Why these results" } } } }
                @if is_one_line && !search.query.text.contains('"') {
                    li { a href=(other(format!("\"{}\"", search.query.text))) { "Lines with exactly this text" } }
                }
            } @else if let Some(words) = unquoted(&search.query.text) {
                li { a href=(other(words.to_owned())) { "Search by meaning" } }
            }
        }
    }
}

/// The words of a query for an exact text.
fn unquoted(query: &str) -> Option<&str> {
    query.strip_prefix('"')?.strip_suffix('"').filter(|words| !words.contains('"'))
}

/// The range of the results that is shown.
struct Pages {
    offset: usize,
    n_shown: usize,
    n_total: usize,
    /// Results of a full page.
    step: usize,
}

impl Pages {
    /// Links to the pages before and after.
    fn links(&self, work: &Work, search: &Search) -> Markup {
        let next = self.offset + self.n_shown;
        let has_next = self.n_shown > 0 && next < self.n_total;

        html! {
            @if self.offset > 0 || has_next {
                nav.pages aria-label="Pages of results" {
                    @if self.offset > 0 {
                        a rel="prev" href=(page_href(work, search, self.offset.saturating_sub(self.step))) { "← Better results" }
                    }
                    span { (self.offset + 1) "–" (next) " of " (self.n_total) }
                    @if has_next { a rel="next" href=(page_href(work, search, next)) { "More results →" } }
                }
            }
        }
    }
}

/// The URL of the results from `offset` on.
fn page_href(work: &Work, search: &Search, offset: usize) -> String {
    let text = offset.to_string();
    let offset = (offset > 0).then_some(text.as_str());
    filters::href_with(&work.params, &search.query, &[("offset", offset)])
}

/// The reason for the absence of matches, with suggestions.
fn nothing(search: &Search, response: &Matches, offset: usize) -> Markup {
    html! {
        div.nothing {
            @if offset > 0 && response.total_matches > 0 {
                p { "There are no more results: " (response.total_matches) " were found." }
            } @else {
                p { (super::code::safe(&response.summary)) }
                (suggestions(search))
            }
        }
    }
}

fn no_lines(search: &Search) -> Markup {
    html! { div.nothing { (suggestions(search)) } }
}

fn suggestions(search: &Search) -> Markup {
    let query = &search.query;
    let is_filtered = !query.conditions.is_empty() || !search.filters.include_tests;

    html! {
        p { "What may help:" }
        ul {
            @if is_filtered { li { a href=(links::search(&query.text)) { "Search without filters" } } }
            @if let Some(words) = unquoted(&query.text) {
                li { a href=(links::search(words)) { "Search by meaning instead of exact text" } }
            }
            li { "Other words: what the code does, or a name in it" }
            li { a href="/skipped" { "What is left out of the index, and why" } }
            li { a href="/help" { "How queries are written" } }
        }
    }
}

fn only_filters(text: &str) -> Markup {
    html! {
        h1 #title.visually-hidden { "Search" }
        div.nothing {
            p #summary { "These are filters only: " code { (super::code::safe(text)) } ". Add what to search for." }
            p { "To look around instead, " a href="/files" { "browse the files" } "." }
        }
    }
}

/// The page without a query.
fn home(work: &Work) -> Result<Page, Failure> {
    // Totals of the index are only for clients that may see all of it.
    let report = (work.access == Access::All).then(|| work.app.status(work.codebase())).flatten();

    let examples = [
        ("where are requests authenticated", "by meaning"),
        ("parseHeader", "a name, also incomplete"),
        ("\"TODO(\"", "lines with exactly this text"),
        ("/fn \\w+_test/", "lines that match an expression"),
        ("retry with backoff path:src kind:function", "with filters"),
    ];
    let languages: Vec<_> = report.iter().flat_map(|report| &report.languages).take(12).collect();

    let body = html! {
        div.home {
            h1 { "Search " (super::code::safe(&work.app.name)) }
            @if let Some(report) = &report {
                p #summary {
                    (plural(report.files, "file")) " in " (plural(report.chunks, "chunk")) ", "
                    a href="/status" { (status::state(report)) }
                }
            }
            (members::list(work)?)
            h2 { "How to ask" }
            ul.examples {
                @for (query, what) in examples {
                    li { a href=(links::search(query)) { code { (query) } } span { (what) } }
                }
            }
            @if !languages.is_empty() {
                h2 { "Languages" }
                ul.languages {
                    @for language in languages {
                        li { (language.language) " " span.count { (codeweaver_text::count(language.files)) } }
                    }
                }
            }
        }
    };

    Ok(Page { section: Section::Search, ..frame::Page::new("", Section::Search, body) })
}
