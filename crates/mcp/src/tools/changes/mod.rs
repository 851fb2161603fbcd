//! `changes`: commits, changed files and symbols, and differences between two states.

mod gather;
mod output;
mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use codeweaver::query::Filters;
use codeweaver::query::changes::ChangesRequest;
use codeweaver::service::trust::Purpose;

use super::text::no_room;
use super::{Answer, Call, CallError, Tool};
use crate::cursor::Cursor;
use gather::Gathering;
pub use output::Output;

pub struct ChangesTool;

/// Number of commits in an answer that is about more than commits.
const FEW_COMMITS: usize = 10;
/// Maximum number of symbols of one file that are named.
const MAX_SYMBOLS: usize = 12;
/// The same for an added or deleted file, and for tests in an overview.
const FEW_SYMBOLS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Show {
    Commits,
    Files,
    Diff,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Arguments {
    /// Older revision, or a range: `v1..v2`, `main...topic`.
    pub(super) from: Option<String>,
    /// Newer revision. Default: the working tree.
    pub(super) to: Option<String>,
    pub(super) paths: Option<Vec<String>>,
    /// History of one definition, also when it moves.
    pub(super) symbol: Option<String>,
    /// Text in commit messages.
    pub(super) message: Option<String>,
    /// `files` and `diff` without `from`: of the commit `to`, else uncommitted.
    pub(super) show: Option<Show>,
    /// Most commits, files or hunks.
    #[schemars(range(min = 1))]
    pub(super) limit: Option<u32>,
    pub(super) path: Option<String>,
    #[schemars(range(min = 1))]
    pub(super) token_limit: Option<u32>,
    pub(super) cursor: Option<String>,
}

impl Tool for ChangesTool {
    const NAME: &'static str = "changes";
    const IS_LISTED: bool = false;
    const DESCRIPTION: &'static str = "What changed: uncommitted files and the last commits; between two revisions the \
        commits, files and changed symbols; history of a path or `symbol`; commits by `message`; diffs. Instead of git log, \
        diff, show and status.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let paths = arguments.paths.clone().unwrap_or_default();
        let path = arguments.path.as_deref();
        // Git alone answers, unless the file of a symbol has to be found.
        let needs_index = arguments.symbol.is_some() && paths.is_empty();
        let target = if needs_index { call.open(path, None)? } else { call.find(path, None, Purpose::Read)? };
        let codebase = target.codebase();

        let limit = call.token_limit(arguments.token_limit, codebase);
        let mut filters = Filters { include_tests: true, ..Filters::default() };
        target.add_paths(&mut filters, &paths)?;

        let Arguments { from, to, symbol, message, show, limit: max_items, cursor, .. } = arguments;
        let key = (codebase.root(), (&from, &to, &symbol, &message), &paths, show);
        let offset = Cursor::resume(cursor.as_deref(), &key)?;

        let request = ChangesRequest {
            from: from.clone(),
            to: to.clone(),
            filters,
            symbol: symbol.clone(),
            message: message.clone(),
            follows_renames: true,
            cancel: call.cancel(),
        };

        let gathering = Gathering {
            show,
            offset,
            max_items: max_items.map_or(usize::MAX, |n| n as usize),
            token_limit: limit,
            has_query: symbol.is_some() || message.is_some(),
        };

        let mut gathered = call.run_query(&target, |updater| {
            target.searcher.changes(&request, updater, |changes| gathering.gather(changes))
        })?;
        gathered.warnings.extend(call.warnings());

        // A path without changes may be misspelt.
        if gathered.items.is_empty() && offset == 0 {
            for path in &paths {
                let near = target.searcher.near_paths(path, to.as_deref());
                if !near.is_empty() {
                    gathered.warnings.push(format!("there is like {path:?}: {}", near.join(", ")));
                }
            }
        }

        let n_items = gathered.items.len();
        let root = codebase.root();
        Ok(call.fit(n_items, limit, |n, needed| {
            let has_more = n < n_items || gathered.has_more;
            let next_cursor = (has_more && n > 0).then(|| Cursor::at(offset + n, &key).to_string());
            let no_room = needed.map(|needed| no_room("item", n_items, needed));
            gathered.answer(n, offset, next_cursor, no_room, &root)
        }))
    }
}
