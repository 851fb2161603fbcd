//! `file_outline`: lists the definitions of a file.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use codeweaver::query::{Location, Outline};
use codeweaver::service::follow_up;
use codeweaver_git::quoting::printed;

use super::text::{more, no_room, state_of, unless_fresh};
use super::{Answer, AnswerEnd, Call, CallError, OkStatus, Tool};
use crate::answer::{Failure, FailureStatus};
use crate::cursor::Cursor;

pub struct FileOutline;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Arguments {
    file: String,
    path: Option<String>,
    rev: Option<String>,
    #[schemars(range(min = 1))]
    token_limit: Option<u32>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    status: OkStatus,
    #[serde(flatten)]
    outline: Outline,
    /// Definitions in the file, shown here or not.
    total_symbols: usize,
    #[serde(flatten)]
    end: AnswerEnd,
}

impl Tool for FileOutline {
    const NAME: &'static str = "file_outline";
    const IS_LISTED: bool = false;
    const DESCRIPTION: &'static str = "The definitions in a file: lines, kind and signature of functions, types and \
        members. Use it before reading a long file, then read_code for the lines you need.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let Location { file, lines } = Location::parse(&arguments.file);
        let target = call.open(arguments.path.as_deref(), Some(file))?;
        let codebase = target.codebase();
        let limit = call.token_limit(arguments.token_limit, codebase);

        let rev = arguments.rev.as_deref();
        // A file may have a name like `PATH:18`.
        let is_name = target.file(&arguments.file).is_ok_and(|file| codebase.root().join(file).exists());
        let (file, lines) = if is_name { (arguments.file.as_str(), None) } else { (file, lines) };
        let (file, link) = target.linked_file(file, rev)?;
        let key = (codebase.root(), &file, rev, lines);
        let offset = Cursor::resume(arguments.cursor.as_deref(), &key)?;

        let mut outline = call.run_query(&target, |updater| target.searcher.outline(&file, rev, updater))?;
        follow_up(codebase, &outline.index);
        lines.into_iter().for_each(|lines| outline.keep_lines(lines));

        let total_symbols = outline.symbols.len();
        // An empty list would mean that the file defines nothing.
        if total_symbols == 0 && !outline.has_grammar() {
            return Err(CallError::Failed(Failure {
                status: FailureStatus::Unsupported,
                message: format!(
                    "there is no grammar for {}, so no definitions are known of it",
                    outline.language
                ),
                codebase_root: Some(codebase.root()),
            }));
        }

        outline.symbols.drain(..offset.min(total_symbols));
        // An upper estimate of the symbols that fit, so that the loop below starts close to the limit.
        outline.symbols.truncate(limit as usize / 8 + 1);

        let n_left = total_symbols.saturating_sub(offset);
        let mut warnings: Vec<String> = link.into_iter().chain(call.warnings()).collect();
        loop {
            let shown = offset + outline.symbols.len();
            let next_cursor = (shown < total_symbols && !outline.symbols.is_empty())
                .then(|| Cursor::at(shown, &key).to_string());

            let text = text_of(&outline, total_symbols, &warnings, next_cursor.as_deref());
            let codebase_root = codebase.root();
            let output = Output {
                status: OkStatus::Ok,
                outline,
                total_symbols,
                end: AnswerEnd { warnings, codebase_root, next_cursor },
            };
            let answer = Answer { structured: output, text };

            let size = answer.n_tokens(call.format);
            let n = answer.structured.outline.symbols.len();
            if size <= limit || n == 0 {
                return Ok(answer);
            }

            Output { outline, end: AnswerEnd { warnings, .. }, .. } = answer.structured;
            // The next attempt keeps the share of the definitions that would have fit, but at least one
            // fewer.
            let fitting = (n as u64 * u64::from(limit) / u64::from(size)) as usize;
            outline.symbols.truncate(fitting.min(n - 1).max(usize::from(n > 1)));
            if n == 1 {
                warnings.push(no_room("definition", n_left, size));
            }
        }
    }
}

/// Formats an outline: a headline, then a line for each definition, indented by nesting.
pub(super) fn text_of(
    outline: &Outline,
    total: usize,
    warnings: &[String],
    next_cursor: Option<&str>,
) -> String {
    let (state, freshness) = (state_of(outline.state), unless_fresh(outline.index.freshness));
    let noun = if total == 1 { "definition" } else { "definitions" };
    let n = outline.symbols.len();
    let of_total = if n < total { format!("{n} of ") } else { String::new() };

    let mut text = format!("{}: {of_total}{total} {noun}{state}{freshness}\n", printed(&outline.path));
    if let Some(why) = outline.why_incomplete() {
        let _ = writeln!(text, "{why}");
    }
    for warning in warnings {
        let _ = writeln!(text, "warning: {warning}");
    }

    for symbol in &outline.symbols {
        let indent = "  ".repeat(symbol.nesting.into());
        let (first, last) = symbol.span;
        let signature = if symbol.signature.is_empty() { &symbol.name } else { &symbol.signature };

        // Many signatures already contain the kind.
        let has_kind = signature.split_whitespace().any(|word| word == symbol.kind);
        let kind = if has_kind { String::new() } else { format!("{} ", symbol.kind) };
        let lines = if first == last { first.to_string() } else { format!("{first}-{last}") };
        let _ = writeln!(text, "{lines} {indent}{kind}{signature}");
    }

    if let Some(cursor) = next_cursor {
        text.push_str(&more(cursor));
    }
    text
}
