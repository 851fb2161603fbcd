//! Results: matches by meaning, name or words.

use maud::{Markup, html};

use codeweaver::query::response::{Focus, IndexInfo};
use codeweaver::query::view::Freshness;
use codeweaver::query::{Match, Response};
use codeweaver_chunk::syntax::syntax_of_lines;
use codeweaver_git::quoting;
use codeweaver_text::{self as text, Highlighter, count, plural};

use super::code::{self, Line, badge, highlighted, safe};
use super::links;
use crate::search::Search;

/// Maximum number of lines shown of a match.
const LINES: usize = 12;
/// Maximum number of places listed of each kind.
const MAX_LISTED: usize = 6;
/// Maximum number of symbols listed of a match.
const MAX_SYMBOLS: usize = 4;
/// Parts of an explanation that the sum of the others is multiplied by.
const FACTORS: [&str; 3] = ["prior", "intent", "factor"];

/// Options for showing matches.
#[derive(Debug, Default)]
pub struct Shown {
    highlighter: Highlighter,
    /// Words that select the lines shown.
    words: Vec<String>,
    rev: Option<String>,
}

impl Shown {
    /// Options for matches in `rev` that no words select.
    pub fn plain(rev: Option<&str>) -> Shown {
        Shown { rev: rev.map(str::to_owned), ..Shown::default() }
    }

    /// Options for the matches of `search`.
    pub fn new(search: &Search) -> Shown {
        let query = &search.query.text;
        Shown {
            highlighter: Highlighter::new(query),
            words: text::query_terms(query).into_iter().map(|term| term.term).collect(),
            rev: search.query.rev().map(str::to_owned),
        }
    }
}

/// Warnings about missing data, and the freshness of the answer.
pub fn notes(response: &Response) -> Markup {
    let words: Vec<_> = response.absent_words.iter().map(|word| safe(word)).collect();

    html! {
        @for warning in &response.warnings { p.warning { (safe(warning)) } }
        @for path in &response.absent_paths { p.warning { (safe(path)) } }
        // Without a match, the summary says so.
        @if !words.is_empty() && !response.matches.is_empty() {
            p.note { "Nowhere in what was searched: " strong { (words.join(", ")) } }
        }
        p.freshness { (freshness(&response.index)) }
    }
}

fn freshness(index: &IndexInfo) -> String {
    let commit = index.commit.as_deref().unwrap_or(&index.tree);
    let commit = safe(code::short_oid(commit)).into_owned();
    let place =
        if index.rev == "HEAD" { format!("HEAD {commit}") } else { format!("{} {commit}", safe(&index.rev)) };

    if let Some((done, wanted)) = index.coverage {
        return format!("{place}, being indexed: {} of {} so far", count(done), plural(wanted, "file"));
    }

    let changed = plural(index.dirty_files as u64, "uncommitted file");
    let with_changes = if index.dirty_files > 0 { format!(" with {changed}") } else { String::new() };

    match index.freshness {
        Freshness::Fresh | Freshness::Synced | Freshness::Overlaid => {
            format!("{place}{with_changes}, up to date")
        }
        Freshness::SkippedIndexing => {
            format!("{place}{with_changes}; the index is being rebuilt, the one before answers")
        }
        Freshness::Stale => format!("{place}{with_changes}; an update of the index is under way"),
    }
}

/// A match.
pub fn result(shown: &Shown, found: &Match) -> Markup {
    let highlighter = shown.highlighter.with_symbol(&found.focus.symbol);
    let rev = shown.rev.as_deref();
    let path = &found.file.path;
    let Focus { start_line, end_line, .. } = found.focus;
    let header = found.header();

    html! {
        article.result {
            h2 {
                a.open href=(links::file(path, Some((start_line, end_line)), rev)) {
                    (code::path(path)) span.at { ":" (start_line) }
                }
                (badge(found.state))
            }
            @if !header.is_empty() {
                p.header {
                    code { (highlighted(&safe(header), &highlighter)) }
                    @if !found.focus.kind.is_empty() { " " span.kind { (found.focus.kind.replace('_', " ")) } }
                }
            }
            @if !found.content.doc.is_empty() { p.doc { (highlighted(&safe(&found.content.doc), &highlighter)) } }
            (body(shown, found, &highlighter))
            (places(found, rev))
            (actions(found, rev))
            (explanation(found))
        }
    }
}

/// The lines that best fit the words of the query.
fn body(shown: &Shown, found: &Match, highlighter: &Highlighter) -> Markup {
    if found.content.elided || found.content.text.is_empty() {
        return html! {};
    }

    let (path, rev) = (&found.file.path, shown.rev.as_deref());
    let lines: Vec<&str> = found.content.text.lines().collect();
    let first = first_line_shown(found, &lines, &shown.words);
    let end = (first + LINES).min(lines.len());
    let Focus { start_line, end_line, .. } = found.focus;

    // Marking all lines would say nothing.
    let numbers = (found.span.0 + first as u32)..(found.span.0 + end as u32);
    let marks_focus = start_line > numbers.start || end_line + 1 < numbers.end;
    let label = format!("Lines of {}", quoting::printed(path));

    // A comment may begin or end in lines that are not shown.
    let syntax = syntax_of_lines(&lines, &found.file.language);

    let shown_lines = lines[first..end].iter().enumerate().map(|(i, text)| {
        let number = found.span.0 + (first + i) as u32;
        Line {
            number,
            href: links::file(path, Some((number, number)), rev),
            marks: highlighter.ranges(text),
            text,
            is_focus: marks_focus && (start_line..=end_line).contains(&number),
        }
    });
    let shown_lines: Vec<Line<'_>> = shown_lines.collect();

    let n_more = lines.len() - (end - first);

    html! {
        (code::block_with_syntax(&label, &shown_lines, &syntax[first..end]))
        @if n_more > 0 {
            p.rest {
                a href=(links::file(path, Some((start_line, end_line)), rev)) {
                    (plural(n_more as u64, "more line"))
                }
            }
        }
    }
}

/// The position of the first line that is shown: the start of the definition, or a line below it that is
/// followed by more words of the query.
fn first_line_shown(found: &Match, lines: &[&str], words: &[String]) -> usize {
    if lines.len() <= LINES {
        return 0;
    }

    let position = |line: u32| (line.saturating_sub(found.span.0) as usize).min(lines.len());
    let (start, end) = (position(found.focus.start_line), position(found.focus.end_line + 1));
    let first = start + text::densest_window(&lines[start..end.max(start)], words, LINES);

    // As many lines as there is room for.
    first.min(lines.len() - LINES)
}

/// Other places that answer as well.
fn places(found: &Match, rev: Option<&str>) -> Markup {
    let path = &found.file.path;
    let in_file = found.more_in_file.iter().map(|more| {
        let title = if more.title.is_empty() { "line" } else { &more.title };
        (links::file(path, Some(more.span), rev), format!("{}:{}", safe(title), more.line))
    });

    let same =
        found.also_at.iter().map(|path| (links::file(path, None, rev), quoting::printed(path).into_owned()));

    let near = found.near_copies.iter().map(|copy| {
        let place = format!("{}:{}", quoting::printed(&copy.path), copy.span.0);
        (links::file(&copy.path, Some(copy.span), rev), place)
    });

    html! {
        (listed("Also in this file", in_file))
        (listed("The same file", same))
        (listed("Nearly the same", near))
    }
}

/// The first [`MAX_LISTED`] of some links, and the number of the others.
fn listed(title: &str, links: impl ExactSizeIterator<Item = (String, String)>) -> Markup {
    let n_more = links.len().saturating_sub(MAX_LISTED);

    html! {
        @if links.len() > 0 {
            div.elsewhere {
                span.note { (title) ":" }
                ul aria-label=(title) {
                    @for (href, text) in links.take(MAX_LISTED) { li { a href=(href) { (text) } } }
                    @if n_more > 0 { li.note { (n_more) " more" } }
                }
            }
        }
    }
}

fn actions(found: &Match, rev: Option<&str>) -> Markup {
    let path = &found.file.path;
    let Focus { symbol, kind, start_line, .. } = &found.focus;
    let is_code = !symbol.is_empty() && !["heading", "key"].contains(kind);
    let related = found.related_symbols.iter().filter(|&name| {
        let is_listed = name == symbol || found.more_in_file.iter().any(|more| more.symbol == *name);
        is_code && !is_listed
    });

    html! {
        ul.actions {
            @if is_code {
                li { a href=(links::definition(path, *start_line, symbol, rev)) { "Callers and uses" } }
                li { a href=(links::history_of_symbol(symbol, path)) { "History" } }
            } @else {
                li { a href=(links::history_of_file(path)) { "History" } }
            }
            li { a href=(links::similar(path, *start_line, rev)) { "Similar code" } }
            @for name in related.take(MAX_SYMBOLS) {
                li.related { a href=(links::symbol(name, rev)) { code { (safe(name)) } } }
            }
        }
    }
}

/// The contribution of each kind of evidence to the score, if the request asked for it.
fn explanation(found: &Match) -> Markup {
    let Some(explanation) = &found.explanation else { return html! {} };
    let values = serde_json::to_value(explanation).unwrap_or_default();
    let of_query_parts = values.get("parts").and_then(serde_json::Value::as_object);
    let numbers = values.as_object().into_iter().chain(of_query_parts).flatten();
    let numbers = numbers.filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?)));
    let (factors, mut parts): (Vec<_>, Vec<_>) =
        numbers.filter(|(name, _)| *name != "score").partition(|(name, _)| FACTORS.contains(name));

    // Contributions that would be shown as 0.000 are left out.
    parts.retain(|(_, value)| value.abs() >= 0.0005);
    parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));

    html! {
        details.why {
            summary { "Why this result: relevance " (format!("{:.2}", found.relevance_score)) }
            table {
                thead { tr { th scope="col" { "Evidence" } th scope="col" { "Contribution" } } }
                tbody {
                    @for (name, value) in &parts {
                        tr { th scope="row" { (name.replace('_', " ")) } td { (format!("{value:.3}")) } }
                    }
                    @for (name, value) in factors.iter().filter(|(_, value)| (value - 1.0).abs() >= 0.0005) {
                        tr { th scope="row" { (name) } td { (format!("× {value:.3}")) } }
                    }
                    tr { th scope="row" { "score" } td { (format!("{:.3}", explanation.score)) } }
                }
            }
            @for reason in &found.reasons { p { "Because of " (safe(reason)) } }
        }
    }
}
