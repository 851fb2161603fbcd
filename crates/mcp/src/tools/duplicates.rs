//! The answer of `find_similar` about no single place: the copies in a repository.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use codeweaver::duplicates::answer::DuplicateGroup;
use codeweaver::duplicates::{self, Class, Duplicates, DuplicatesRequest};
use codeweaver::service::follow_up;
use codeweaver_git::quoting::printed;

use super::text::{more, no_room, unless_fresh};
use super::{Answer, AnswerEnd, Call, CallError, OkStatus};
use crate::cursor::Cursor;
use crate::target::CallTarget;

/// Number of groups by default.
const DEFAULT_GROUPS: usize = 10;
/// Number of differences of a member that the text shows.
const MAX_DIFFERENCES: usize = 3;

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    status: OkStatus,
    /// Those that save the most lines first.
    groups: Vec<DuplicateGroup>,
    /// Number of groups, listed here or not.
    total_groups: usize,
    /// Estimated number of lines that go if each group becomes one definition.
    total_saved_lines: u64,
    #[serde(flatten)]
    end: AnswerEnd,
}

/// The limits of an answer.
pub struct Limits {
    /// Maximum number of groups, if the call gives one.
    pub groups: Option<u32>,
    pub tokens: u32,
}

/// Answers with the copies that `request` is about. `key` are the arguments that the cursor `resume` is bound
/// to.
pub fn answer(
    call: &Call,
    target: &CallTarget,
    request: DuplicatesRequest,
    limits: &Limits,
    (key, resume): (&impl Serialize, Option<&str>),
) -> Result<Answer<Output>, CallError> {
    let limit = limits.groups.map_or(DEFAULT_GROUPS, |n| n as usize);
    let offset = Cursor::resume(resume, key)?;
    let request = DuplicatesRequest { offset, limit, ..request };

    let searcher = &target.searcher;
    let found = call.run_query(target, |updater| duplicates::find(searcher, &request, updater))?;
    follow_up(target.codebase(), &found.index);

    let warnings = [call.warnings(), found.warnings.clone()].concat();
    let root = target.codebase().root();
    Ok(call.fit(found.groups.len(), limits.tokens, |n, needed| {
        let is_rest = offset + n < found.total_groups && n > 0;
        let next_cursor = is_rest.then(|| Cursor::at(offset + n, key).to_string());
        let mut warnings = warnings.clone();
        warnings.extend(needed.map(|needed| no_room("group", found.groups.len(), needed)));

        let text = text(&found, n, &warnings, next_cursor.as_deref());
        let end = AnswerEnd { warnings, codebase_root: root.clone(), next_cursor };
        let structured = Output {
            status: OkStatus::Ok,
            groups: found.groups[..n].to_vec(),
            total_groups: found.total_groups,
            total_saved_lines: found.total_saved_lines,
            end,
        };
        Answer { text, structured }
    }))
}

/// The first `n` groups, each a line with its members below it.
fn text(found: &Duplicates, n: usize, warnings: &[String], cursor: Option<&str>) -> String {
    let mut text = match found.total_groups {
        0 => format!("no copies among {} definitions", found.definitions),
        groups => {
            format!("groups of copies: {groups}, lines saved by unifying all: {}", found.total_saved_lines)
        }
    };
    text.push_str(&unless_fresh(found.index.freshness));
    text.push('\n');

    for group in &found.groups[..n] {
        let _ = write!(text, "{}", group.class.name());
        if group.class != Class::Identical {
            let _ = write!(text, " {:.2}", group.similarity);
        }
        let _ = writeln!(text, ", saves {}", group.saved_lines);

        for member in &group.members {
            let (path, (first, last)) = (printed(&member.path), member.span);
            let changed = if member.changed == Some(true) { ", changed" } else { "" };
            let _ = write!(text, "  {path}:{first}-{last} {} {}{changed}", member.kind, member.name);
            if !member.differences.is_empty() {
                let _ = write!(text, "  {}", member.differences_text(MAX_DIFFERENCES));
            }
            text.push('\n');
        }
    }

    for warning in warnings {
        let _ = writeln!(text, "{warning}");
    }
    text.push_str(&cursor.map(more).unwrap_or_default());
    text
}
