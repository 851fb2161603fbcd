//! `find_text`: all lines with a text or a match of a regular expression.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use codeweaver::query::grep::{CorpusInfo, Found, FurtherLines, GrepFile, GrepLine, Page, Pattern};
use codeweaver::query::response::n_of;
use codeweaver::query::{GrepRequest, QueryError, ViewRequest};
use codeweaver_git::quoting::printed;
use codeweaver_index::background;

use super::text::{more, no_room, state_of};
use super::{Answer, AnswerEnd, Call, CallError, OkStatus, Tool};
use crate::cursor::Cursor;

/// Default of `max_results`.
const DEFAULT_RESULTS: usize = 50;
/// Maximum number of lines of each file, if several files have more than [`MANY_LINES`] together, or than
/// `max_results` if that is larger. The next lines are numbered, up to the second maximum; all are shown if
/// the file is searched alone.
const MAX_PER_FILE: usize = 8;
const MAX_NUMBERED: usize = 40;
const MANY_LINES: u32 = 40;
/// Tokens of the limit for each number. With the function around the line it hardly ever takes as many, so
/// the numbers have room.
const TOKENS_PER_NUMBER: u32 = 50;
/// Maximum of `max_results`; larger values are reduced to it.
const MAX_RESULTS: u32 = 1000;
/// Maximum of `context`.
const MAX_CONTEXT: u32 = 50;
/// Maximum number of bytes of a line; longer ones are cut around the match.
const MAX_LINE: usize = 100;
/// Maximum number of characters of the name of a definition.
const MAX_NAME: usize = 40;

pub struct FindText;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(description = "What an answer lists.")]
#[serde(rename_all = "snake_case")]
pub enum Listing {
    Lines,
    Files,
    Count,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Arguments {
    pattern: String,
    /// Default: guessed.
    regex: Option<bool>,
    /// Default: if nothing matches otherwise.
    ignore_case: Option<bool>,
    /// Whole words.
    word: Option<bool>,
    /// Files, directories, globs.
    paths: Option<Vec<String>>,
    #[schemars(extend("unlisted" = true))]
    focus_languages: Option<Vec<String>>,
    /// Default true.
    include_tests: Option<bool>,
    rev: Option<String>,
    /// Lines around a match.
    #[schemars(range(max = MAX_CONTEXT))]
    context: Option<u32>,
    output: Option<Listing>,
    #[schemars(range(min = 1))]
    max_results: Option<u32>,
    path: Option<String>,
    #[schemars(range(min = 1))]
    token_limit: Option<u32>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    status: OkStatus,
    /// Whether the pattern was taken for a regular expression.
    regex: bool,
    /// Whether upper and lower case were taken for the same.
    ignore_case: bool,
    /// Matching lines in all files; a binary file counts as one.
    total_lines: u64,
    /// Files with matches.
    total_files: usize,
    /// Files with a definition of the text first, then those in fewer directories.
    files: Vec<GrepFile>,
    index: CorpusInfo,
    #[serde(flatten)]
    end: AnswerEnd,
}

impl Tool for FindText {
    const NAME: &'static str = "find_text";
    const DESCRIPTION: &'static str = "All lines with an exact text or regex, complete as git grep, definitions first: \
        every occurrence of a name, message, key or option. Also in generated and untracked files and any `rev`. For \
        meaning use find_code.";
    const IS_BASIC: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let target = call.open(arguments.path.as_deref(), None)?;
        let codebase = target.codebase();

        let (is_regex, ignore_case) = (arguments.regex, arguments.ignore_case);
        let word = arguments.word.unwrap_or(false);
        // Where the arguments leave it open, the likeliest reading with matches is used.
        let readings = Pattern::readings(&arguments.pattern, is_regex, ignore_case, word);
        let likeliest = readings.first().cloned().unwrap_or_default();

        let mut request = GrepRequest::new(likeliest, &codebase.settings);
        request.context = arguments.context.unwrap_or(0) as usize;
        request.filters.languages = arguments.focus_languages.unwrap_or_default();
        request.filters.include_tests = arguments.include_tests.unwrap_or(true);
        request.view = ViewRequest { revision: arguments.rev, cancel: call.cancel(), ..request.view };

        let paths = arguments.paths.unwrap_or_default();
        target.add_paths(&mut request.filters, &paths)?;

        let listing = arguments.output.unwrap_or(Listing::Lines);
        // A larger number asks for all lines, so that an offset counts others.
        let many = arguments.max_results.map_or(MANY_LINES, |n| n.clamp(MANY_LINES, MAX_RESULTS));

        let key = (
            (codebase.root(), &arguments.pattern, is_regex, ignore_case, word),
            (&paths, &request.filters.languages, request.filters.include_tests),
            (&request.view.revision, request.context, listing, many),
        );
        let offset = Cursor::resume(arguments.cursor.as_deref(), &key)?;

        let found = call.run_query(&target, |_| target.searcher.grep_first(&request, &readings))?;
        background::update_if_due(codebase, found.info.needs_update);

        let max = arguments.max_results.map_or(DEFAULT_RESULTS, |n| n.min(MAX_RESULTS) as usize);
        let limit = call.token_limit(arguments.token_limit, codebase);
        // The lines of one file must not crowd out the other files.
        let is_cut = found.n_files() > 1 && found.n_lines > u64::from(many);
        let per_file = if is_cut { MAX_PER_FILE } else { usize::MAX };
        let numbered = ((limit / TOKENS_PER_NUMBER) as usize).clamp(1, MAX_NUMBERED);

        // Every line has some tokens, so more lines than tokens cannot fit.
        let page = Page { offset, limit: max.min(limit as usize), per_file, numbered, max_line: MAX_LINE };
        let files = call.run_query(&target, |_| files_of(&found, listing, page))?;

        let n_all = match listing {
            Listing::Lines => found.n_lines_at_most(per_file),
            Listing::Files | Listing::Count => found.n_files(),
        };
        let n_items = n_all.saturating_sub(offset).min(max).min(files.iter().map(n_items).sum());

        let waits = call.warnings();
        let answer = call.fit(n_items, limit, |n, needed| {
            let files = first(&files, n);
            let shown = offset + n;
            let next_cursor = (n > 0 && shown < n_all).then(|| Cursor::at(shown, &key).to_string());

            let mut warnings = waits.clone();
            warnings.extend(found.warnings());
            let item = if listing == Listing::Lines { "line" } else { "file" };
            warnings.extend(needed.map(|needed| no_room(item, n_all.saturating_sub(offset), needed)));

            let mut output = Output {
                status: OkStatus::Ok,
                regex: found.pattern().is_regex,
                ignore_case: found.pattern().ignore_case,
                total_lines: found.n_lines,
                total_files: found.n_files(),
                files,
                index: found.info.clone(),
                end: AnswerEnd { warnings, codebase_root: codebase.root(), next_cursor },
            };

            let text = text_of(&output, listing, n, is_regex.is_none(), ignore_case.is_none());
            if listing == Listing::Files {
                output.files.iter_mut().for_each(|file| file.lines.clear());
            }
            Answer { structured: output, text }
        });
        Ok(answer)
    }
}

/// The files of `page`. Where no lines are listed, the page counts files instead of lines.
fn files_of(found: &Found<'_>, listing: Listing, page: Page) -> Result<Vec<GrepFile>, QueryError> {
    if listing != Listing::Lines {
        return Ok(found.files().skip(page.offset).take(page.limit).collect());
    }

    let mut files = Vec::new();
    found.for_each(page, |file| {
        files.push(file);
        Ok::<_, QueryError>(())
    })?;

    Ok(files)
}

/// Number of items of a file: its matching lines, or one if none are listed.
fn n_items(file: &GrepFile) -> usize {
    file.lines.iter().filter(|line| line.column.is_some()).count().max(1)
}

/// The first `n` items of `files`.
fn first(files: &[GrepFile], n: usize) -> Vec<GrepFile> {
    let (mut cut, mut left) = (Vec::new(), n);
    for file in files {
        if left == 0 {
            break;
        }

        let n = n_items(file);
        let mut file = file.clone();
        if n > left {
            let ends = file.lines.iter().enumerate().filter(|(_, line)| line.column.is_some());
            let end = ends.map(|(at, _)| at).nth(left).unwrap_or(file.lines.len());
            // The context before the first omitted line is omitted with it, as far as that can be determined.
            file.lines.truncate(end);
            (file.n_further, file.further) = (0, Vec::new());
        }

        left -= n.min(left);
        cut.push(file);
    }
    cut
}

/// Formats an answer: a headline, then the lines of each file.
fn text_of(
    output: &Output,
    listing: Listing,
    n_shown: usize,
    is_syntax_guessed: bool,
    is_case_guessed: bool,
) -> String {
    let Output { total_lines, total_files, files, index, end, .. } = output;
    let AnswerEnd { warnings, next_cursor, .. } = end;
    let n_files = |n: u64| if n == 1 { "1 file".to_owned() } else { format!("{n} files") };

    let mut text = String::new();

    if *total_files == 0 {
        let _ = writeln!(text, "no line matches (searched {})", n_files(index.files));
    } else {
        let n_all = if listing == Listing::Lines { *total_lines as usize } else { *total_files };
        let lines = n_of(*total_lines as usize, *total_lines as usize);
        let shown = if n_shown < n_all { format!("; showing {n_shown}") } else { String::new() };
        let as_regex = if is_syntax_guessed && output.regex { ", as regex" } else { "" };
        let in_any_case = if is_case_guessed && output.ignore_case { ", in any case" } else { "" };
        let files = n_files(*total_files as u64);
        let _ = writeln!(text, "{lines} in {files}{as_regex}{in_any_case}{shown}");
    }

    for warning in warnings {
        let _ = writeln!(text, "warning: {warning}");
    }

    for file in files {
        let binary = if file.binary { ", binary" } else { "" };
        let path = printed(&file.path);
        let state = state_of(file.state);
        let _ = match listing {
            Listing::Count => writeln!(text, "{path}:{}{state}{binary}", file.count),
            _ => writeln!(text, "{path}{state}{binary}"),
        };

        let mut before = None;
        let has_context = file.lines.iter().any(|line| line.column.is_none());
        for line in &file.lines {
            put_line(&mut text, line, has_context, before);
            before = Some(line);
        }

        if file.n_further > 0 {
            put_further(&mut text, file);
        }
    }

    if let Some(cursor) = next_cursor {
        text.push_str(&more(cursor));
    }
    text
}

/// Appends a line as `12: text`, followed by the function or type around it if that differs from the one of
/// the line `before`.
fn put_line(text: &mut String, line: &GrepLine, has_context: bool, before: Option<&GrepLine>) {
    let separator = if line.column.is_some() { ':' } else { '-' };
    // Indentation is meaningful only beside other lines.
    let shown = if has_context { line.text.trim_end() } else { line.text.trim() };
    let _ = write!(text, "{}{separator} {}", line.line, shown.replace('\n', " "));

    let is_in_same =
        before.is_some_and(|before| (&before.symbol, before.symbol_span) == (&line.symbol, line.symbol_span));
    if !has_context
        && !is_in_same
        && let Some(around) = label(&line.symbol, line.symbol_span, &line.text)
    {
        let _ = write!(text, "  {around}");
    }

    text.push('\n');
}

/// Appends how many lines of `file` are not shown, as `… 12 more: 7, 9 [parse 5-20]; 31`, and the way to them
/// if not all have their numbers there.
fn put_further(text: &mut String, file: &GrepFile) {
    let mut groups = Vec::new();
    for FurtherLines { symbol, symbol_span, lines } in &file.further {
        let numbers: Vec<String> = lines.iter().map(u64::to_string).collect();
        let around = label(symbol, *symbol_span, "");
        groups.push([Some(numbers.join(", ")), around].into_iter().flatten().collect::<Vec<_>>().join(" "));
    }

    let n_numbered: usize = file.further.iter().map(|group| group.lines.len()).sum();
    // If there are no numbers, a warning says that the lines cannot be shown.
    if (1..file.n_further).contains(&(n_numbered as u64)) {
        groups.push("all with this file alone in `paths`".to_owned());
    }

    let separator = if groups.is_empty() { "" } else { ": " };
    let _ = writeln!(text, "… {} more{separator}{}", file.n_further, groups.join("; "));
}

/// A function or type in brackets: `[parse 12-40]`. Its name is left out if the line `shown` has it, and its
/// lines if it is a single one; `None` if nothing remains.
fn label(symbol: &str, span: Option<(u32, u32)>, shown: &str) -> Option<String> {
    let name = symbol.rsplit(['.', ':', '#', '/']).next().unwrap_or_default();
    let end = name.char_indices().nth(MAX_NAME).map_or(name.len(), |(end, _)| end);
    let cut = if end < name.len() { "…" } else { "" };
    let name = (!name.is_empty() && !shown.contains(name)).then(|| format!("{}{cut}", &name[..end]));

    let lines = span.filter(|(first, last)| first < last).map(|(first, last)| format!("{first}-{last}"));
    let parts: Vec<String> = name.into_iter().chain(lines).collect();
    (!parts.is_empty()).then(|| format!("[{}]", parts.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_says_what_the_line_does_not() {
        let span = Some((12, 40));
        for (symbol, span, shown, expected) in [
            ("Tree.parse", span, "x = 1", Some("[parse 12-40]")),
            ("Tree::parse", span, "fn parse() {", Some("[12-40]")),
            ("parse", Some((12, 12)), "fn parse() {}", None),
            ("parse", Some((12, 12)), "x = 1", Some("[parse]")),
            ("", None, "x = 1", None),
        ] {
            assert_eq!(label(symbol, span, shown).as_deref(), expected, "{symbol} {shown}");
        }

        let long = label(&"ä".repeat(50), None, "").unwrap();
        assert_eq!(long, format!("[{}…]", "ä".repeat(MAX_NAME)));
    }
}
