//! How matches are written: a list for a person, or Markdown (requirement U1).

use super::context::Context;
use super::error::CliError;
use super::render::{self, Paint, count, safe};
use crate::chunk::LanguageId;
use crate::index::status;
use crate::query::view::MatchState;
use crate::query::{Match, Request, Response, Searcher};
use crate::text;
use std::io::Write;
use std::path::Path;

/// Lines of a body that are shown of a match.
const BODY_LINES: usize = 8;
/// Longer lines are cut: a minified file must not fill the screen.
const MAX_LINE_CHARS: usize = 160;

/// An answer and what is needed to show it.
pub struct Shown<'a> {
    pub response: &'a Response,
    /// Where paths lead from, for links.
    pub root: &'a Path,
    pub query: &'a str,
    /// The lines of a body that are shown are those with these words.
    pub words: &'a str,
    pub paint: Paint,
}

/// `Found N matches (…)`, then a block for each.
pub fn table(out: &mut impl Write, shown: &Shown<'_>) -> Result<(), CliError> {
    let response = shown.response;
    if response.matches.is_empty() {
        writeln!(out, "{}", safe(&response.summary))?;
        return Ok(());
    }
    headline(out, response)?;
    let words: Vec<String> = text::query_terms(shown.words).into_iter().map(|term| term.term).collect();
    for (i, found) in response.matches.iter().enumerate() {
        writeln!(out)?;
        block(out, i + 1, found, &words, shown)?;
    }
    Ok(())
}

fn matches(n: usize) -> String {
    if n == 1 { "1 match".to_owned() } else { format!("{} matches", count(n as u64)) }
}

fn block(
    out: &mut impl Write,
    number: usize,
    found: &Match,
    words: &[String],
    shown: &Shown<'_>,
) -> Result<(), CliError> {
    let paint = shown.paint;
    let place = format!("{}:{}-{}", safe(&found.file.path), found.span.0, found.span.1);
    let linked = paint.link(&shown.root.join(&found.file.path), found.span.0, &paint.title(&place));
    let state = match found.state {
        MatchState::Committed => "",
        MatchState::Staged => ", staged",
        MatchState::Dirty => ", dirty",
        MatchState::Untracked => ", untracked",
    };
    let what = format!("(relevance: {:.2}, type: {}{state})", found.relevance_score, found.content.class);
    writeln!(out, "{number}. {linked} {}", paint.dim(what))?;
    let title =
        if found.content.signature.is_empty() { &found.content.title } else { &found.content.signature };
    if !title.is_empty() {
        writeln!(out, "   {}", paint.bold(safe(title)))?;
    }
    if !found.content.doc.is_empty() {
        writeln!(out, "   {}", safe(&found.content.doc))?;
    }
    body(out, found, words, paint)?;
    if !found.more_in_file.is_empty() {
        let spans: Vec<String> = found
            .more_in_file
            .iter()
            .take(3)
            .map(|more| {
                format!("{}-{} {}", more.span.0, more.span.1, shortened(&safe(&more.title)))
                    .trim_end()
                    .to_owned()
            })
            .collect();
        writeln!(out, "   {}", paint.dim(format!("also in this file: {}", spans.join("; "))))?;
    }
    if !found.also_at.is_empty() {
        let paths: Vec<_> = found.also_at.iter().take(4).map(|path| safe(path)).collect();
        writeln!(out, "   {}", paint.dim(format!("the same file: {}", paths.join(", "))))?;
    }
    if !found.near_copies.is_empty() {
        let places: Vec<_> = found
            .near_copies
            .iter()
            .take(4)
            .map(|copy| format!("{}:{}", safe(&copy.path), copy.span.0))
            .collect();
        writeln!(out, "   {}", paint.dim(format!("nearly the same: {}", places.join(", "))))?;
    }
    if let Some(explanation) = &found.explanation {
        let parts = serde_json::to_value(explanation)?;
        let parts: Vec<String> = parts
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| format!("{name} {:.3}", value.as_f64().unwrap_or_default()))
            .collect();
        writeln!(out, "   {}", paint.dim(format!("score: {}", parts.join(", "))))?;
    }
    Ok(())
}

/// At most 36 characters: these are hints, and lines should not wrap.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(36) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// The lines around what was asked for, with their numbers.
fn body(out: &mut impl Write, found: &Match, words: &[String], paint: Paint) -> Result<(), CliError> {
    if found.content.elided || found.content.text.is_empty() {
        return Ok(());
    }
    let lines: Vec<&str> = found.content.text.lines().collect();
    let first = window(&lines, words);
    let end = (first + BODY_LINES).min(lines.len());
    let width = (found.span.0 as usize + end).to_string().len();
    let gap = |n: usize, where_: &str| {
        paint.dim(format!("   {:>width$} … {} {where_}", "", render::plural(n as u64, "line")))
    };
    if first > 0 {
        writeln!(out, "{}", gap(first, "above"))?;
    }
    for (i, line) in lines[first..end].iter().enumerate() {
        let number = found.span.0 as usize + first + i;
        let line: String = line.chars().take(MAX_LINE_CHARS).collect();
        writeln!(out, "   {} {}", paint.dim(format!("{number:>width$} │")), safe(line.trim_end()))?;
    }
    if end < lines.len() {
        writeln!(out, "{}", gap(lines.len() - end, "below"))?;
    }
    Ok(())
}

/// The first line of the window of [`BODY_LINES`] lines that has most different words of the query; the first of equals.
fn window(lines: &[&str], words: &[String]) -> usize {
    if lines.len() <= BODY_LINES + 1 {
        return 0;
    }
    let mut found: Vec<Vec<usize>> = Vec::with_capacity(lines.len());
    for line in lines {
        let mut here = Vec::new();
        text::for_each_term(line, &mut |term| here.extend(words.iter().position(|word| word == term)));
        found.push(here);
    }
    let distinct = |first: usize| {
        let mut seen: Vec<usize> = found[first..(first + BODY_LINES).min(lines.len())].concat();
        seen.sort_unstable();
        seen.dedup();
        seen.len()
    };
    let last = lines.len() - BODY_LINES;
    // One line of context above the first word; the beginning of the chunk is where something begins.
    let begins = |first: usize| first == 0 || found.get(first + 1).is_some_and(|here| !here.is_empty());
    let best = (0..=last)
        .filter(|&first| begins(first))
        .max_by_key(|&first| (distinct(first), std::cmp::Reverse(first)));
    best.filter(|&first| first > BODY_LINES / 2 || distinct(first) > distinct(0)).unwrap_or(0)
}

fn headline(out: &mut impl Write, response: &Response) -> std::io::Result<()> {
    writeln!(
        out,
        "Found {} ({} candidates processed in {} ms)",
        matches(response.matches.len()),
        count(response.total_matches as u64),
        response.execution_time_ms
    )
}

/// Headings, code fences and a line of facts for each match.
pub fn markdown(out: &mut impl Write, shown: &Shown<'_>) -> Result<(), CliError> {
    let response = shown.response;
    writeln!(out, "# Search: {}\n", safe(shown.query))?;
    if response.matches.is_empty() {
        writeln!(out, "{}", safe(&response.summary))?;
        return Ok(());
    }
    headline(out, response)?;
    for (i, found) in response.matches.iter().enumerate() {
        markdown_block(out, i + 1, found)?;
    }
    Ok(())
}

fn markdown_block(out: &mut impl Write, number: usize, found: &Match) -> Result<(), CliError> {
    let state = serde_json::to_value(found.state)?;
    writeln!(
        out,
        "\n## {number}. `{}:{}-{}`\n",
        safe(&found.file.path).replace('`', "'"),
        found.span.0,
        found.span.1
    )?;
    writeln!(
        out,
        "relevance {:.2} · {} · {} · {}",
        found.relevance_score,
        found.content.class,
        found.file.language,
        state.as_str().unwrap_or_default()
    )?;
    if !found.content.doc.is_empty() {
        writeln!(out, "\n{}", safe(&found.content.doc))?;
    }
    let body = if found.content.text.is_empty() { &found.content.signature } else { &found.content.text };
    if !body.is_empty() {
        let body = render::safe_lines(body);
        let fence = fence(&body);
        writeln!(out, "\n{fence}{}\n{body}\n{fence}", found.file.language)?;
    }
    Ok(())
}

/// A fence longer than any run of backticks in `body`.
pub fn fence(body: &str) -> String {
    let longest = body.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// What to try when nothing was found (requirement R7).
pub fn hints(context: &Context, searcher: &Searcher, request: &Request) -> Result<(), CliError> {
    let languages = status::status(&searcher.codebase, false)?.languages;
    let names: Vec<&str> = languages.iter().map(|l| l.language.as_str()).take(12).collect();
    let mut out = context.out();
    if !names.is_empty() {
        writeln!(out, "Languages here: {}", names.join(", "))?;
    }
    for word in request.query.split_whitespace() {
        let known = LanguageId::by_name(&word.to_ascii_lowercase()).filter(|l| !names.contains(&l.name()));
        if let Some(absent) = known.filter(|l| !l.is_prose()) {
            writeln!(out, "There is no {} in this index.", absent.name())?;
        }
    }
    let filters = &request.filters;
    let is_filtered = !(filters.languages.is_empty()
        && filters.paths.is_empty()
        && filters.exclude_paths.is_empty()
        && filters.kinds.is_empty()
        && filters.include_tests);
    writeln!(out, "Try:")?;
    if is_filtered {
        writeln!(out, "  fewer filters (--lang, --path, --exclude, --kind, --no-tests)")?;
    }
    if request.min_score > 0.0 {
        writeln!(out, "  a lower --min-score (it is {})", request.min_score)?;
    }
    writeln!(out, "  other words, or --intent understand|implement|debug|test")?;
    writeln!(out, "  git codeweaver status          what is indexed, and what is left out")?;
    writeln!(out, "  git codeweaver config --show   the settings that decide it")?;
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_shows_where_the_words_are() {
        let text: Vec<String> = (0..40).map(|i| format!("line {i}")).collect();
        let mut lines: Vec<&str> = text.iter().map(String::as_str).collect();
        lines[30] = "let token = refresh(expired);";
        let words: Vec<String> =
            text::query_terms("refresh expired token").into_iter().map(|t| t.term).collect();
        let first = window(&lines, &words);
        assert!((23..=30).contains(&first), "{first}");
        assert_eq!(window(&lines, &["nowhere".to_owned()]), 0);
        assert_eq!(window(&lines[..5], &words), 0);
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fence("a ``` b"), "````");
        assert_eq!(fence("plain"), "```");
    }
}
