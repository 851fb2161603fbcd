//! Matches as one line each, for editors, `fzf` and scripts.

use std::io::Write;

use clap::Args;

use codeweaver::query::Match;
use codeweaver_text::Highlighter;

use super::error::CliError;
use super::highlight;
use super::output::Output;
use super::render::Paint;

/// A limit above the number of tokens of all matches that a search can be asked for.
const NO_TOKEN_LIMIT: u32 = 1_000_000_000;

/// Forms of output with one line for each match.
#[derive(Debug, Clone, Copy, Args)]
pub struct LineArgs {
    /// Print `path:line:column:text` for each match, for editors and fzf
    #[arg(long, conflicts_with_all = ["output_format", "json"])]
    vimgrep: bool,
    /// Print only the paths of the files with matches
    #[arg(
        long,
        visible_alias = "name-only",
        conflicts_with_all = ["output_format", "json", "vimgrep"],
    )]
    files_with_matches: bool,
}

/// The contents of the line for a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineForm {
    Vimgrep,
    Path,
}

impl LineArgs {
    /// The form that was asked for.
    pub fn form(self) -> Option<LineForm> {
        let path = self.files_with_matches.then_some(LineForm::Path);
        self.vimgrep.then_some(LineForm::Vimgrep).or(path)
    }

    /// The default of the token limit, which is `usual` for other forms. The line of a match does not contain
    /// the text that the limit counts.
    pub fn token_limit(self, usual: u32) -> u32 {
        if self.form().is_some() { usual.max(NO_TOKEN_LIMIT) } else { usual }
    }
}

/// Writes one line for each match, best first. Lines and columns are counted from 1, columns in bytes.
pub fn write(out: &mut impl Write, form: LineForm, output: &Output<'_>) -> Result<(), CliError> {
    for found in &output.response.matches {
        let path = output.paint.title(output.places.editor_path(&found.file.path));
        if form == LineForm::Path {
            writeln!(out, "{path}")?;
            continue;
        }

        let highlighter = output.highlighter_of(found);
        let (line, text) = first_line(found, &highlighter);
        // Without a word of the query, the column is that of the first visible character.
        let indentation = text.len() - text.trim_start().len();
        let column = highlighter.ranges(text).first().map_or(indentation, |range| range.start) + 1;

        writeln!(
            out,
            "{path}:{line}:{column}:{}",
            highlight::painted(&highlighter, text.trim_end(), output.paint, Paint::plain)
        )?;
    }
    Ok(())
}

/// The line of the focus of a match that an editor goes to: the first with the name of the symbol, else the
/// first with a word of the query, else the first. The text is empty if the match has none.
fn first_line<'a>(found: &'a Match, highlighter: &Highlighter) -> (u32, &'a str) {
    let (start, end) = (found.focus.start_line, found.focus.end_line);
    let lines: Vec<(u32, &str)> = (found.span.0..)
        .zip(found.content.text.lines())
        .filter(|(line, text)| (start..=end).contains(line) && !text.trim().is_empty())
        .collect();

    let with_name = lines.iter().find(|(_, text)| highlighter.has_symbol(text));
    let chosen = with_name
        .or_else(|| lines.iter().find(|(_, text)| !highlighter.ranges(text).is_empty()))
        .or_else(|| lines.first());
    chosen.copied().unwrap_or((start, ""))
}
