//! Changes: commits, changed files, changed symbols and differences between two states of a repository.
//!
//! The answers come from git alone, so a repository that is not indexed has answers too. Only the history of
//! a symbol whose file is not named looks the file up in the index.
//!
//! * [`ends`]: the two states. [`commits`]: the commits between them, or those that touch a symbol;
//!   `followed`: the earlier paths of a file.
//! * [`files`]: the changed files. [`symbols`]: the definitions in them that differ. [`hunks`]: the lines
//!   that differ.

pub mod commits;
mod contents;
pub mod ends;
pub mod files;
mod followed;
pub mod hunks;
pub mod symbols;

use std::time::{Duration, Instant};

use codeweaver_git::{BStr, BString, History, Oid, Pathspec, Repo, is_in_tree};

use super::error::{QueryError, guarded};
use super::request::Filters;
use super::view::freshness::RequestUpdate;
use super::view::open::ViewSource;
use crate::query::cancel::Cancel;
use contents::Contents;
use ends::Ends;

/// Time limit for one part of an answer, after which it says that it is incomplete.
const TIME_LIMIT: Duration = Duration::from_secs(4);
/// Size of the stack of threads that parse, in bytes.
const PARSER_STACK: usize = 16 << 20;

/// A request for the changes between two states.
#[derive(Debug, Clone, Default)]
pub struct ChangesRequest {
    /// The older state: a revision, or a range such as `v1..v2`.
    pub from: Option<String>,
    /// The newer state. By default the working tree.
    pub to: Option<String>,
    /// Conditions on paths; the other filters are ignored.
    pub filters: Filters,
    /// Only commits and lines that touch this definition: `name` or `Type.name`.
    pub symbol: Option<String>,
    /// Only commits whose message contains this, in any case.
    pub message: Option<String>,
    /// Whether the commits of a single file lead on to the file that it was renamed from.
    pub follows_renames: bool,
    pub cancel: Cancel,
}

/// The changes between two states; its parts are computed when they are asked for.
pub struct Changes<'a> {
    source: ViewSource<'a>,
    request: &'a ChangesRequest,
    pub ends: Ends,
    paths: PathFilter,
    contents: Contents<'a>,
    deadline: Instant,
    /// Sentences for the user on parts that the answer lacks.
    pub warnings: Vec<String>,
}

/// Opens the changes in `source` that `request` asks for, and applies `answer` to them.
///
/// # Errors
/// [`codeweaver_git::GitError::UnknownRevision`]; [`QueryError::NotFound`] if a symbol is in no file that is
/// known; [`QueryError::Cancelled`].
pub(crate) fn answer<T>(
    source: ViewSource<'_>,
    request: &ChangesRequest,
    update: RequestUpdate<'_>,
    answer: impl FnOnce(&mut Changes<'_>) -> Result<T, QueryError> + Send,
) -> Result<T, QueryError>
where
    T: Send,
{
    guarded(|| {
        let symbol_paths = match &request.symbol {
            Some(symbol) if request.filters.paths.is_empty() => {
                commits::paths_of_symbol(&source, symbol, request, update)?
            }
            _ => Vec::new(),
        };

        // Parsers recurse, and the stack of the calling thread may be small.
        std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().name("changes".to_owned()).stack_size(PARSER_STACK);
            let thread = builder
                .spawn_scoped(scope, || answer(&mut Changes::open(source, request, symbol_paths)?))
                .map_err(|error| QueryError::Internal { message: error.to_string() })?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

impl<'a> Changes<'a> {
    /// Resolves the two states of `request`. `symbol_paths` are the files that define its symbol.
    fn open(
        source: ViewSource<'a>,
        request: &'a ChangesRequest,
        symbol_paths: Vec<BString>,
    ) -> Result<Changes<'a>, QueryError> {
        let codebase = source.codebase;
        let ends = Ends::resolve(&codebase.repo, request.from.as_deref(), request.to.as_deref())?;

        let trees = [ends.to.tree, ends.from.as_ref().and_then(|from| from.tree)];
        let mut paths = PathFilter::new(&codebase.repo, &request.filters, trees)?;
        paths.of_symbol = symbol_paths;

        let contents = Contents::new(codebase, ends.to.tree)?;
        let deadline = Instant::now() + TIME_LIMIT;
        Ok(Changes { source, request, ends, paths, contents, deadline, warnings: Vec::new() })
    }

    /// Returns whether the time is up.
    ///
    /// # Errors
    /// [`QueryError::Cancelled`].
    fn is_late(&self) -> Result<bool, QueryError> {
        self.request.cancel.check()?;
        Ok(Instant::now() > self.deadline)
    }

    /// The shortest prefixes of `ids` that git would print.
    ///
    /// # Errors
    /// [`codeweaver_git::GitError::Unreadable`].
    pub fn short_ids(&self, ids: impl Iterator<Item = Oid>) -> Result<Vec<String>, QueryError> {
        let history = History::open(&self.source.codebase.repo)?;
        Ok(ids.map(|id| history.short_id(&id)).collect())
    }

    /// If there is no older state, makes this about the commit of the newer one alone. Uncommitted changes
    /// are kept as they are.
    ///
    /// # Errors
    /// [`codeweaver_git::GitError::UnknownRevision`] for a tree, which is no commit.
    pub fn show_commit(&mut self) -> Result<(), QueryError> {
        if self.ends.from.is_none() && !self.ends.with_worktree {
            self.ends = Ends::one_commit(&self.source.codebase.repo, self.ends.to.clone())?;
        }
        Ok(())
    }

    /// Returns whether the request is about some paths only.
    pub fn has_paths(&self) -> bool {
        !self.paths.is_open()
    }
}

/// The paths that a request is about.
struct PathFilter {
    include: Vec<Pathspec>,
    exclude: Vec<Pathspec>,
    /// The files that define the symbol of the request; more are added while its history is followed.
    of_symbol: Vec<BString>,
}

impl PathFilter {
    /// The filter of a request. A path that is in one of `trees` is taken literally, so that only its
    /// directory is compared.
    fn new(repo: &Repo, filters: &Filters, trees: [Option<Oid>; 2]) -> Result<PathFilter, QueryError> {
        let mut include = filters.paths.clone();
        for spec in &mut include {
            let Some(path) = spec.literal() else { continue };
            let path = path.strip_suffix(b"/").unwrap_or(&path);

            for tree in trees.iter().flatten() {
                // If a tree cannot be read, the path stays a pattern.
                if is_in_tree(repo, tree, BStr::new(path)).unwrap_or(false) {
                    *spec = spec.clone().rooted();
                    break;
                }
            }
        }

        Ok(PathFilter { include, exclude: filters.exclude_paths.clone(), of_symbol: Vec::new() })
    }

    fn is_open(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty() && self.of_symbol.is_empty()
    }

    /// Returns whether the request is about the file at `path` and no other one.
    fn is_only(&self, path: &BString) -> bool {
        match (self.include.as_slice(), self.of_symbol.as_slice()) {
            ([spec], []) => spec.literal().as_ref() == Some(path),
            ([], [file]) => file == path,
            _ => false,
        }
    }

    fn matches(&self, path: &BStr) -> bool {
        let is_included = if self.of_symbol.is_empty() {
            self.include.is_empty() || matches_any(&self.include, path)
        } else {
            self.of_symbol.iter().any(|file| file == path) || matches_any(&self.include, path)
        };
        is_included && !matches_any(&self.exclude, path)
    }

    /// Returns whether a path in `directory` may match.
    fn may_match_below(&self, directory: &BStr) -> bool {
        if !self.of_symbol.is_empty() {
            return self.of_symbol.iter().any(|file| is_below(file, directory))
                || self.include.iter().any(|spec| spec.may_match_below(directory));
        }
        self.include.is_empty() || self.include.iter().any(|spec| spec.may_match_below(directory))
    }
}

fn matches_any(specs: &[Pathspec], path: &BStr) -> bool {
    specs.iter().any(|spec| spec.matches(path))
}

/// Returns whether `file` is in `directory` or in one below it.
fn is_below(file: &BString, directory: &BStr) -> bool {
    file.strip_prefix(directory.as_ref() as &[u8]).is_some_and(|rest| rest.first() == Some(&b'/'))
}
