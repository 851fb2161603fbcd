//! Printed form of matches: a list for terminals, or Markdown.

use std::io::Write;
use std::ops::Range;

use codeweaver::query::rank::Explanation;
use codeweaver::query::response::{Focus, n_of};
use codeweaver::query::view::MatchState;
use codeweaver::query::{Match, Response};
use codeweaver_chunk::syntax::syntax_of_lines;
use codeweaver_text::{self as text, Highlighter};

use super::args::Format;
use super::context::Context;
use super::error::CliError;
use super::further::{listed, short_title};
use super::highlight;
use super::lines::{self, LineForm};
use super::output::Output;
use super::places::Places;
use super::render::{self, Paint, count, safe};
use super::width;

/// Number of lines shown of the text of a match.
const BODY_LINES: usize = 8;
/// Maximum number of columns of code without a terminal, so that a minified file does not fill the output.
const MAX_COLUMNS: usize = 160;
/// Number of columns before the lines of a match.
const INDENT: usize = 3;

/// Prints a response in `format`, or as `lines`.
pub fn print(
    context: &Context,
    output: &Output<'_>,
    format: Format,
    form: Option<LineForm>,
) -> Result<(), CliError> {
    let mut out = context.out();
    let n_found = output.response.total_matches;

    if output.response.matches.is_empty() && (1..=output.offset).contains(&n_found) && format != Format::Json
    {
        // The search has matches, and `--offset` skips all of them.
        context.note(&format!(
            "No more matches: there are {n_found}, and --offset leaves out {}",
            output.offset
        ));
        return Ok(());
    }

    match (form, format) {
        (Some(_), _) if output.response.matches.is_empty() => context.note(&safe(&output.response.summary)),
        (Some(form), _) => lines::write(&mut out, form, output)?,
        (None, Format::Table) => table(&mut out, output)?,
        (None, Format::Markdown) => markdown(&mut out, output)?,
        (None, Format::Json) => writeln!(out, "{}", render::json(output.response, true)?)?,
    }

    Ok(out.flush()?)
}

/// Writes `Found N matches (…)`, then a block for each match.
fn table(out: &mut impl Write, output: &Output<'_>) -> Result<(), CliError> {
    let response = output.response;
    if response.matches.is_empty() {
        writeln!(out, "{}", safe(&response.summary))?;
        return Ok(());
    }

    headline(out, response)?;
    if response.matches.iter().any(|found| found.explanation.is_some()) {
        explain_search(out, response, output.paint)?;
    }

    for (i, found) in response.matches.iter().enumerate() {
        writeln!(out)?;
        block(out, output.offset + i + 1, found, output)?;
    }

    if let Some(omitted) = &response.omitted {
        writeln!(out, "\n{}", output.paint.dim(omitted.note()))?;
    }
    Ok(())
}

/// The file of a match and the lines that answer the query.
fn place(found: &Match, places: &Places) -> String {
    let Focus { start_line, end_line, .. } = found.focus;
    format!("{}:{start_line}-{end_line}", places.path(&found.file.path))
}

/// Writes a match: a line of facts, its header, its text, and further places.
fn block(out: &mut impl Write, number: usize, found: &Match, output: &Output<'_>) -> Result<(), CliError> {
    let paint = output.paint;
    let highlighter = output.highlighter_of(found);
    let places = &output.places;
    let place = place(found, places);
    let linked = places.link(&found.file.path, found.focus.start_line, &paint.title(&place));

    let state = match found.state {
        MatchState::Committed => "",
        MatchState::Staged => ", staged",
        MatchState::Dirty => ", dirty",
        MatchState::Untracked => ", untracked",
        MatchState::Unreadable => ", committed; the file cannot be read",
    };
    let repo = found.file.in_repo.as_ref().map_or_else(String::new, |repo| {
        format!(", {} at {}", safe(&repo.name), repo.commit.get(..8).unwrap_or(&repo.commit))
    });

    let facts = format!(
        "(relevance: {:.2}, type: {}{state}{repo})",
        found.relevance_score,
        found.content.class_title()
    );
    let used = width::measure(&format!("{number}. {place} {facts}"));
    let separator = if used > output.screen.columns_after(0) { "\n   " } else { " " };
    writeln!(out, "{number}. {linked}{separator}{}", paint.dim(facts))?;

    let title = found.header();
    if !title.is_empty() {
        writeln!(
            out,
            "   {}",
            highlight::painted(
                &highlighter,
                &output.fit(&safe(&width::excerpt(title)), INDENT),
                paint,
                Paint::bold
            )
        )?;
    }

    if !found.content.doc.is_empty() {
        let doc = output.fit(&safe(&width::excerpt(&found.content.doc)), INDENT).into_owned();
        writeln!(out, "   {}", highlight::painted(&highlighter, &doc, paint, Paint::plain))?;
    }

    body(out, found, &highlighter, output)?;

    let spans = found.more_in_file.iter().map(|more| {
        format!("{}-{} {}", more.span.0, more.span.1, short_title(&more.title, &more.symbol))
            .trim_end()
            .to_owned()
    });
    let same = found.also_at.iter().map(|path| places.path(path));
    let near = found.near_copies.iter().map(|copy| format!("{}:{}", places.path(&copy.path), copy.span.0));
    let columns = output.screen.columns_after(INDENT);
    let lists = [
        listed("also in this file", spans, "; ", columns),
        listed("the same file", same, ", ", columns),
        listed("nearly the same", near, ", ", columns),
    ];
    for list in lists.into_iter().flatten() {
        writeln!(out, "   {}", paint.dim(output.fit(&list, INDENT)))?;
    }

    match &found.explanation {
        Some(explanation) => explain(out, found, explanation, output),
        None => Ok(()),
    }
}

/// Writes the kinds of evidence that found the candidates, with the method of the vector search, and the
/// intent.
fn explain_search(out: &mut impl Write, response: &Response, paint: Paint) -> Result<(), CliError> {
    let names = response.search_strategy.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<&str> = names.iter().filter_map(serde_json::Value::as_str).collect();
    writeln!(out, "{}", paint.dim(format!("found by: {}", names.join(", "))))?;

    // An intent that is only guessed is shown as well; its reason says so.
    if let Some(intent) = response.query_intent.intent {
        let reasoning = safe(&response.query_intent.reasoning);
        writeln!(out, "{}", paint.dim(format!("intent: {} ({reasoning})", intent.name())))?;
    }
    Ok(())
}

/// Writes the parts of the score of a match, and the evidence for its relevance.
fn explain(
    out: &mut impl Write,
    found: &Match,
    explanation: &Explanation,
    output: &Output<'_>,
) -> Result<(), CliError> {
    let paint = output.paint;
    writeln!(out, "   {}", paint.dim(format!("score: {}", listed_values(explanation)?)))?;
    if let Some(parts) = &explanation.parts {
        writeln!(out, "   {}", paint.dim(format!("parts: {}", listed_values(parts)?)))?;
    }

    let from_report = explanation.report.as_ref().map(listed_values);
    if let Some(evidence) = from_report.or(found.evidence.as_ref().map(listed_values)) {
        writeln!(out, "   {}", paint.dim(format!("relevance from: {}", evidence?)))?;
    }
    for reason in &found.reasons {
        writeln!(out, "   {}", paint.dim(output.fit(&format!("because of {}", safe(reason)), INDENT)))?;
    }
    Ok(())
}

/// Formats the numeric fields of `values` with their names.
fn listed_values(values: &impl serde::Serialize) -> Result<String, CliError> {
    let values = serde_json::to_value(values)?;
    let values = values.as_object().into_iter().flatten();
    let numbers = values.filter_map(|(name, value)| Some(format!("{name} {:.3}", value.as_f64()?)));
    Ok(numbers.collect::<Vec<_>>().join(", "))
}

/// Writes the lines of the focus of a match that best fit the words of the query, with line numbers.
fn body(
    out: &mut impl Write,
    found: &Match,
    highlighter: &Highlighter,
    output: &Output<'_>,
) -> Result<(), CliError> {
    let (paint, words) = (output.paint, &output.words);
    // The text has been left out, by the token limit or on request.
    if found.content.elided || found.content.text.is_empty() {
        return Ok(());
    }

    let lines: Vec<&str> = found.content.text.lines().map(str::trim_end).collect();
    let focus = focus_in(found, lines.len());
    let first = first_line_shown(&focus, &lines, words);
    let end = (first + BODY_LINES).min(lines.len());
    let width = (found.span.0 as usize + end).to_string().len();

    let columns = match output.screen.columns {
        Some(_) => output.screen.columns_after(INDENT + width + " | ".len()),
        None => MAX_COLUMNS,
    };

    let gap = |n: usize, side: &str| {
        paint.dim(format!("   {:>width$} … {} {side}", "", render::plural(n as u64, "line")))
    };
    // Only lines of the place in the heading are missing; the chunk around it is not known to readers.
    if first > focus.start {
        writeln!(out, "{}", gap(first - focus.start, "above"))?;
    }

    // Of the whole chunk: a comment or literal that is cut off would be read as code.
    let syntax = if paint.is_on() { syntax_of_lines(&lines, &found.file.language) } else { Vec::new() };
    for (i, line) in lines.iter().enumerate().take(end).skip(first) {
        let number = found.span.0 as usize + i;
        let syntax = syntax.get(i).map_or(&[][..], Vec::as_slice);
        let line = highlight::code(highlighter, line, syntax, columns, paint);
        writeln!(out, "   {} {line}", paint.dim(format!("{number:>width$} │")))?;
    }

    if end < focus.end {
        writeln!(out, "{}", gap(focus.end - end, "below"))?;
    }
    Ok(())
}

/// The positions of the lines of the focus of a match among the `n_lines` of its text.
fn focus_in(found: &Match, n_lines: usize) -> Range<usize> {
    let position = |line: u32| (line.saturating_sub(found.span.0) as usize).min(n_lines);
    let (start, end) = (position(found.focus.start_line), position(found.focus.end_line + 1));
    start..end.max(start)
}

/// Returns the position of the first line shown of the `lines` of a match. This is the beginning of its
/// definition, or a later line if more words of the query follow it. If fewer lines than [`BODY_LINES`]
/// follow, they are shown as well. A chunk that fits as a whole is shown as a whole.
fn first_line_shown(focus: &Range<usize>, lines: &[&str], words: &[String]) -> usize {
    if lines.len() <= BODY_LINES + 1 {
        return 0;
    }
    focus.start + text::densest_window(&lines[focus.clone()], words, BODY_LINES)
}

fn headline(out: &mut impl Write, response: &Response) -> std::io::Result<()> {
    writeln!(
        out,
        "Found {} ({} candidates processed in {} ms)",
        n_of(response.matches.len(), response.matches.len()),
        count(response.candidates as u64),
        response.execution_time_ms
    )
}

/// Writes a heading, a line of facts and a code fence for each match.
fn markdown(out: &mut impl Write, output: &Output<'_>) -> Result<(), CliError> {
    let response = output.response;
    writeln!(out, "# Search: {}\n", safe(output.query))?;

    if response.matches.is_empty() {
        writeln!(out, "{}", safe(&response.summary))?;
        return Ok(());
    }
    headline(out, response)?;
    if response.matches.iter().any(|found| found.explanation.is_some()) {
        writeln!(out)?;
        explain_search(out, response, output.paint)?;
    }

    for (i, found) in response.matches.iter().enumerate() {
        markdown_block(out, output.offset + i + 1, found, &output.places)?;
    }

    if let Some(omitted) = &response.omitted {
        writeln!(out, "\n{}", omitted.note())?;
    }
    Ok(())
}

/// Writes a match as a section of Markdown.
fn markdown_block(
    out: &mut impl Write,
    number: usize,
    found: &Match,
    places: &Places,
) -> Result<(), CliError> {
    let state = serde_json::to_value(found.state)?;

    writeln!(out, "\n## {number}. `{}`\n", place(found, places).replace('`', "'"))?;
    writeln!(
        out,
        "relevance {:.2} · {} · {} · {}",
        found.relevance_score,
        found.content.class_title(),
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

/// Returns a code fence longer than any run of backticks in `body`.
pub fn fence(body: &str) -> String {
    let longest = body.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_run_of_backticks_inside() {
        assert_eq!(fence("a ``` b"), "````");
        assert_eq!(fence("plain"), "```");
    }
}
