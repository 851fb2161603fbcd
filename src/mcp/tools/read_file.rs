//! `read_file`: reads a file or a range of its lines, from the working tree or a revision.

use super::matches::{name_of, no_room, state_of, token_limit};
use super::{Answer, Call, CallError, OkStatus, Tool};
use crate::chunk::tokens;
use crate::git::quoting::printed;
use crate::index::background;
use crate::mcp::answer::{Failure, FailureStatus};
use crate::mcp::cursor::Cursor;
use crate::query::FileText;
use crate::query::view::freshness;
use crate::query::view::{Freshness, MatchState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

pub struct ReadFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file, relative to the root of the repository or absolute.
    file: String,
    /// Absolute path of any directory in the repository. Default: the repository of `file` if that is
    /// absolute, else the one the server was started in.
    path: Option<String>,
    /// First line, counted from 1 (default 1).
    #[schemars(range(min = 1))]
    start_line: Option<i64>,
    /// Last line, inclusive (default: the last of the file).
    #[schemars(range(min = 1))]
    end_line: Option<i64>,
    /// Branch, tag or commit to read instead of the working tree.
    rev: Option<String>,
    /// Maximum number of tokens in the answer (default 10000).
    #[schemars(range(min = 1))]
    token_limit: Option<i64>,
    /// `next_cursor` of the previous answer to the same arguments: continues from there.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    status: OkStatus,
    #[serde(flatten)]
    file: FileText,
    /// What is missing and not continued by `next_cursor`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// How current the index is. The text itself is always read from the working tree or the revision.
    freshness: Freshness,
    /// Root of the worktree that answers.
    #[serde(rename = "codebaseRoot")]
    codebase_root: PathBuf,
    /// Present if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const TITLE: &'static str = "Read a file";
    const DESCRIPTION: &'static str = "Read a file of the repository, or a range of its lines, within a token limit; with `rev`, \
        as of any revision, without a checkout. Use it for lines found by find_code or file_outline. \
        Without `rev`, the text is that on disk, including uncommitted edits.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let target = call.open(arguments.path.as_deref(), Some(&arguments.file))?;
        let codebase = target.codebase();
        let limit = token_limit(arguments.token_limit, codebase.settings.search.token_limit)?;
        let file = target.file(&arguments.file)?;
        let rev = arguments.rev.as_deref();
        let from = line("start_line", arguments.start_line)?.unwrap_or(1);
        let to = line("end_line", arguments.end_line)?.unwrap_or(u32::MAX);
        let key = (codebase.root(), &file, rev, from, to);
        let read_before = Cursor::resume(arguments.cursor.as_deref(), &key)?;
        let from = from
            .max(u32::try_from(read_before).unwrap_or(u32::MAX).saturating_add(u32::from(read_before > 0)));
        let mut text = call.run_query(&target, |_| target.searcher.read(&file, Some((from, to)), rev))?;
        if text.text.contains('\0') {
            return Err(CallError::Failed(Failure {
                status: FailureStatus::Unsupported,
                message: format!("{file} is not a text file"),
                codebase_root: Some(codebase.root()),
            }));
        }
        let mut freshness = freshness::decide(codebase).map_err(|error| CallError::of(error, codebase))?;
        let is_behind = freshness == Freshness::Stale;
        if freshness == Freshness::Fresh && text.state != MatchState::Committed {
            freshness = Freshness::Overlaid;
        }
        background::update_if_due(target.codebase(), is_behind);
        let mut warnings = Vec::new();
        loop {
            warnings.extend(text.note().filter(|_| text.ends_within_line()));
            let has_more = text.truncated && !text.text.is_empty() && text.span.1 < to.min(text.total_lines);
            let next_cursor = has_more.then(|| Cursor::at(text.span.1 as usize, &key).to_string());
            let rendered = text_of(&text, freshness, &warnings, next_cursor.as_deref());
            let codebase_root = codebase.root();
            let output =
                Output { status: OkStatus::Ok, file: text, warnings, freshness, codebase_root, next_cursor };
            let size = serde_json::to_string(&output)
                .map_or(0, |json| tokens::count(&json))
                .max(tokens::count(&rendered));
            if size <= limit || output.file.text.is_empty() {
                return Ok(Answer { structured: output, text: rendered });
            }
            text = shortened(output.file, f64::from(limit) / f64::from(size));
            let n_lines = text.total_lines - from.min(text.total_lines) + 1;
            let no_room = text.text.is_empty().then(|| no_room("line", n_lines as usize, size));
            warnings = no_room.into_iter().collect();
        }
    }
}

fn line(name: &str, given: Option<i64>) -> Result<Option<u32>, CallError> {
    let Some(number) = given else { return Ok(None) };
    match u32::try_from(number) {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(CallError::parameter(name, "at least 1", number)),
    }
}

/// Truncates a text to about `share` of its length, at the end of a line unless the first line is longer.
fn shortened(mut file: FileText, share: f64) -> FileText {
    let wanted = ((file.text.len() as f64 * share) as usize).min(file.text.len().saturating_sub(1));
    let end = (0..=wanted).rev().find(|&end| file.text.is_char_boundary(end)).unwrap_or(0);
    let end_of_line = file.text[..end].rfind('\n').map_or(end, |at| at + 1);
    file.text.truncate(end_of_line);
    let n_lines = file.text.lines().count() as u32;
    // A truncated line counts as read: the next answer continues after it.
    file.span = if n_lines == 0 { (0, 0) } else { (file.span.0, file.span.0 + n_lines - 1) };
    file.truncated = true;
    file
}

fn text_of(file: &FileText, freshness: Freshness, warnings: &[String], next_cursor: Option<&str>) -> String {
    let (first, last) = file.span;
    let state = state_of(file.state);
    let mut text = format!(
        "{}:{first}-{last} of {} lines ({}{state}) [{}]\n",
        printed(&file.path),
        file.total_lines,
        file.rev,
        name_of(freshness)
    );
    for warning in warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    text.push_str(&file.text);
    if let Some(cursor) = next_cursor {
        text.push_str(&format!("\nmore: repeat the call with cursor {cursor:?}\n"));
    }
    text
}
