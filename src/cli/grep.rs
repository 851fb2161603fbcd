//! Printed form of the lines that match a pattern.

use std::io::Write;

use clap::Args;

use codeweaver::query::grep::{Found, GrepLine, Page};
use codeweaver::query::view::MatchState;

use super::args::Format;
use super::context::Context;
use super::error::CliError;
use super::lines::LineForm;
use super::places::Places;
use super::render::{self, Paint, count, plural, safe};
use super::results::fence;

/// Options of a search for lines.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Exact text and regular expressions")]
pub struct GrepArgs {
    /// Ignore upper and lower case, as searches by meaning do anyway (-i, unless an intent follows)
    #[arg(long)]
    pub ignore_case: bool,
    /// With --mode exact or regex: match whole words only
    #[arg(long)]
    pub word: bool,
    /// With --mode exact or regex: show N lines before and after a match
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub context: usize,
    /// With --mode exact or regex: print the number of matching lines of each file
    #[arg(long, conflicts_with_all = ["vimgrep", "files_with_matches", "output_format", "json"])]
    pub count: bool,
}

impl GrepArgs {
    /// The first of these options that is used and says nothing to other searches.
    pub fn used(&self) -> Option<&'static str> {
        let used = [(self.word, "--word"), (self.context > 0, "--context"), (self.count, "--count")];
        used.into_iter().find_map(|(is_used, name)| is_used.then_some(name))
    }
}

/// The form in which lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Format(Format),
    Line(LineForm),
    Count,
}

/// Found lines and the parameters of their printed form.
pub struct Output<'a> {
    pub found: &'a Found<'a>,
    pub pattern: &'a str,
    pub places: Places,
    pub page: Page,
    pub paint: Paint,
    /// Whether a person reads it on a terminal.
    pub is_displayed: bool,
}

/// Prints `output`. Where stdout has one line for each match, the message that nothing was found goes to
/// stderr.
pub fn print(context: &Context, output: &Output<'_>, form: Form) -> Result<(), CliError> {
    let mut out = context.out();
    let found = output.found;
    let is_list = matches!(form, Form::Line(_) | Form::Count);

    match form {
        _ if found.n_files() == 0 && is_list => context.note(&safe(&found.summary())),
        Form::Line(LineForm::Path) | Form::Count => files(&mut out, output, form == Form::Count)?,
        Form::Line(LineForm::Vimgrep) => vimgrep(&mut out, output)?,
        Form::Format(Format::Json) => render::write_json(&mut out, &found.streamed(output.page))?,
        Form::Format(_) if found.n_files() == 0 => writeln!(out, "{}", safe(&found.summary()))?,
        Form::Format(Format::Table) => table(&mut out, output)?,
        Form::Format(Format::Markdown) => markdown(&mut out, output)?,
    }

    Ok(out.flush()?)
}

/// Paths of the files with matches, each with its number of lines if `with_count`.
fn files(out: &mut impl Write, output: &Output<'_>, with_count: bool) -> Result<(), CliError> {
    let page = output.page;
    for file in output.found.files().skip(page.offset).take(page.limit) {
        let path = output.paint.title(output.places.editor_path(&file.path));
        if with_count { writeln!(out, "{path}:{}", file.count)? } else { writeln!(out, "{path}")? }
    }
    Ok(())
}

/// Writes `path:line:column:text` for each matching line.
fn vimgrep(out: &mut impl Write, output: &Output<'_>) -> Result<(), CliError> {
    output.found.for_each(output.page, |file| {
        let path = output.paint.title(output.places.editor_path(&file.path));
        if file.binary {
            writeln!(out, "{path}:1:1:binary file matches")?;
        }

        for line in &file.lines {
            if let Some(column) = line.column {
                writeln!(out, "{path}:{}:{column}:{}", line.line, painted(line, output))?;
            }
        }
        Ok(())
    })
}

/// Writes the lines of each file below its path, with line numbers.
fn table(out: &mut impl Write, output: &Output<'_>) -> Result<(), CliError> {
    let found = output.found;
    writeln!(out, "Found {} ({} ms)", found.summary(), count(found.execution_time_ms))?;

    let mut n_shown = 0;

    found.for_each(output.page, |file| -> Result<(), CliError> {
        n_shown += file.n_shown();
        let state = match file.state {
            MatchState::Committed => "",
            MatchState::Staged => " (staged)",
            MatchState::Dirty => " (dirty)",
            MatchState::Untracked => " (untracked)",
            MatchState::Unreadable => " (committed; the file cannot be read)",
        };

        let path = output.paint.title(output.places.path(&file.path));
        let first = file.lines.first().map_or(1, |line| line.line);
        let linked = output.places.link(&file.path, u32::try_from(first).unwrap_or(1), &path);
        writeln!(out, "\n{linked}{}", output.paint.dim(state))?;

        if file.binary {
            writeln!(out, "  {}", output.paint.dim("binary file matches"))?;
        }

        // The last line has the longest number.
        let width = file.lines.last().map_or(1, |line| line.line.to_string().len());
        for line in &file.lines {
            let separator = if line.column.is_some() { ':' } else { '-' };
            let number = output.paint.dim(format!("{:>width$}{separator}", line.line));
            writeln!(out, "  {number} {}", painted(line, output))?;
        }
        Ok(())
    })?;

    if let Some(note) = left_out(output, n_shown) {
        writeln!(out, "\n{}", output.paint.dim(note))?;
    }
    Ok(())
}

/// Writes a heading and a code fence for each file.
fn markdown(out: &mut impl Write, output: &Output<'_>) -> Result<(), CliError> {
    writeln!(out, "# Search: {}\n\nFound {}", safe(output.pattern), output.found.summary())?;

    let mut n_shown = 0;
    output.found.for_each(output.page, |file| -> Result<(), CliError> {
        n_shown += file.n_shown();
        writeln!(out, "\n## `{}`\n", output.places.path(&file.path).replace('`', "'"))?;
        if file.binary {
            writeln!(out, "binary file matches")?;
            return Ok(());
        }

        let lines: Vec<String> =
            file.lines.iter().map(|line| format!("{}: {}", line.line, safe(&line.text))).collect();
        let body = lines.join("\n");
        let fence = fence(&body);
        writeln!(out, "{fence}\n{body}\n{fence}")?;
        Ok(())
    })?;

    if let Some(note) = left_out(output, n_shown) {
        writeln!(out, "\n{note}")?;
    }
    Ok(())
}

/// The note that lines beyond the limit are not shown; `None` if there are none.
fn left_out(output: &Output<'_>, n_shown: u64) -> Option<String> {
    let n_left = output.found.n_lines.saturating_sub(output.page.offset as u64 + n_shown);
    (n_left > 0).then(|| format!("{} more beyond the limit of {}", plural(n_left, "line"), output.page.limit))
}

/// A line with its matches emphasised, made safe for a terminal. For other readers it is the line as it is in
/// the file.
fn painted(line: &GrepLine, output: &Output<'_>) -> String {
    if !output.is_displayed && !output.paint.is_on() {
        return line.text.clone();
    }

    let (mut painted, mut end) = (String::new(), 0);
    for &(start, after) in &line.ranges {
        painted.push_str(&safe(&line.text[end..start]));
        painted.push_str(&output.paint.matched(safe(&line.text[start..after])));
        end = after;
    }

    painted.push_str(&safe(&line.text[end..]));
    painted
}
