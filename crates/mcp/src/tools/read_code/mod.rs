//! `read_code`: reads places in files, from the working tree or a revision.
//!
//! One file has pages; several places share the limit, and what does not fit is named. A directory is a
//! place, too, and so is a range of revisions ([`other`]).

mod other;
mod places;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use codeweaver::query::view::freshness;
use codeweaver::query::view::{Freshness, MatchState};
use codeweaver::query::{FileText, Location};
use codeweaver_git::quoting::printed;
use codeweaver_index::{Codebase, background};

use super::text::{more, no_room, state_of, write_numbered};
use super::{Answer, AnswerEnd, Call, CallError, OkStatus, Tool};
use crate::answer::{Failure, FailureStatus};
use crate::cursor::Cursor;

pub struct ReadCode;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Arguments {
    /// Any number of `PATH:18-21`, `PATH`, `Type.name`, `DIR/`, `v1..v2`.
    places: Option<Vec<String>>,
    /// Of files, the definitions without their code.
    outline: Option<bool>,
    #[schemars(extend("unlisted" = true))]
    file: Option<String>,
    #[schemars(range(min = 1), extend("unlisted" = true))]
    start_line: Option<u32>,
    #[schemars(range(min = 1), extend("unlisted" = true))]
    end_line: Option<u32>,
    path: Option<String>,
    rev: Option<String>,
    #[schemars(range(min = 1))]
    token_limit: Option<u32>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Output {
    /// `file`.
    One(Box<OneFile>),
    /// `places`.
    Several(places::Several),
    /// A directory, or a range of revisions, alone.
    Other(other::Output),
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct OneFile {
    status: OkStatus,
    #[serde(flatten)]
    file: FileText,
    /// The freshness of the index. The text itself is always read from the working tree or the revision.
    freshness: Freshness,
    #[serde(flatten)]
    end: AnswerEnd,
}

impl Tool for ReadCode {
    const NAME: &'static str = "read_code";
    const ALIAS: Option<&'static str> = Some("read_file");
    const DESCRIPTION: &'static str = "Read any number of places in one call, with line numbers: lines of files, \
        definitions by name, long files as their outline; the files of a directory; what changed between two revisions. \
        As on disk or at `rev`. Instead of cat, sed, ls and git show.";
    const IS_BASIC: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        match (&arguments.file, &arguments.places) {
            (Some(file), None) if arguments.outline == Some(true) => {
                places::read(std::slice::from_ref(file), &arguments, call)
            }
            (Some(file), None) => {
                let answer = read_file(file, &arguments, call)?;
                Ok(Answer { structured: Output::One(Box::new(answer.structured)), text: answer.text })
            }

            (None, Some(places)) if !places.is_empty() => places::read(places, &arguments, call),

            _ => Err(CallError::invalid("read_code needs the argument `places`, or `file`")),
        }
    }
}

/// Reads one file, in pages.
fn read_file(file: &str, arguments: &Arguments, call: &Call) -> Result<Answer<OneFile>, CallError> {
    let Location { file: path, lines } = Location::parse(file);
    let target = call.open(arguments.path.as_deref(), Some(path))?;
    let codebase = target.codebase();
    let limit = call.token_limit(arguments.token_limit, codebase);
    let rev = arguments.rev.as_deref();

    // A file may have a name like `PATH:18`.
    let is_name = target.file(file).is_ok_and(|file| codebase.root().join(file).exists());
    let (path, lines) = if is_name { (file, None) } else { (path, lines) };
    let (file, link) = target.linked_file(path, rev)?;

    let from = arguments.start_line.or(lines.map(|(from, _)| from)).unwrap_or(1);
    let to = arguments.end_line.or(lines.map(|(_, to)| to)).unwrap_or(u32::MAX);
    let key = (codebase.root(), &file, rev, from, to);
    let read_before = Cursor::resume(arguments.cursor.as_deref(), &key)?;
    let from =
        from.max(u32::try_from(read_before).unwrap_or(u32::MAX).saturating_add(u32::from(read_before > 0)));

    let mut text =
        call.run_query(&target, |_| target.searcher.read_or_suggest(&file, Some((from, to)), rev))?;
    if is_binary(&text) {
        return Err(CallError::Failed(not_a_text_file(&file, codebase)));
    }

    let mut freshness = freshness::decide(codebase).map_err(|error| CallError::new(error, codebase))?;
    let is_behind = freshness == Freshness::Stale;
    // The text is newer than the index.
    if freshness == Freshness::Fresh && text.state != MatchState::Committed {
        freshness = Freshness::Overlaid;
    }
    background::update_if_due(target.codebase(), is_behind);

    let notes: Vec<String> = link.into_iter().chain(call.warnings()).collect();
    let mut warnings = notes.clone();
    loop {
        warnings.extend(text.note().filter(|_| text.ends_within_line()));

        let has_more = text.truncated && !text.text.is_empty() && text.span.1 < to.min(text.total_lines);
        let next_cursor = has_more.then(|| Cursor::at(text.span.1 as usize, &key).to_string());

        let rendered = text_of(&text, &warnings, next_cursor.as_deref());
        let codebase_root = codebase.root();
        let output = OneFile {
            status: OkStatus::Ok,
            file: text,
            freshness,
            end: AnswerEnd { warnings, codebase_root, next_cursor },
        };
        let answer = Answer { structured: output, text: rendered };

        let size = answer.n_tokens(call.format);
        if size <= limit || answer.structured.file.text.is_empty() {
            return Ok(answer);
        }

        text = shortened(answer.structured.file, f64::from(limit) / f64::from(size));
        let n_lines = text.total_lines - from.min(text.total_lines) + 1;
        let no_room = text.text.is_empty().then(|| no_room("line", n_lines as usize, size));
        warnings = notes.iter().cloned().chain(no_room).collect();
    }
}

/// Returns whether a file is binary: as in git, whether it has a NUL byte.
fn is_binary(file: &FileText) -> bool {
    file.text.contains('\0')
}

fn not_a_text_file(path: &str, codebase: &Codebase) -> Failure {
    Failure {
        status: FailureStatus::Unsupported,
        message: format!("{} is not a text file", printed(path)),
        codebase_root: Some(codebase.root()),
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

/// Formats an answer: a headline, the warnings, then the lines with their numbers.
fn text_of(file: &FileText, warnings: &[String], next_cursor: Option<&str>) -> String {
    let mut text = headline(file) + "\n";

    for warning in warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }

    write_numbered(&mut text, &file.text, file.span.0);
    next_cursor.iter().for_each(|cursor| text.push_str(&more(cursor)));
    text
}

/// The first line of a range: its place, and its state if that is unusual.
fn headline(file: &FileText) -> String {
    let (first, last) = file.span;
    let is_usual = ["HEAD", "worktree"].contains(&file.rev.as_str());
    let rev = if is_usual { String::new() } else { format!(" at {}", file.rev) };
    let state = state_of(file.state);
    format!("{}:{first}-{last} of {} lines{rev}{state}", printed(&file.path), file.total_lines)
}
