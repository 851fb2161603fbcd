//! Conversion of the errors of the libraries: their kinds, reasons and remedies, in this one place.

use std::error::Error;

use codeweaver_base::real_path;
use codeweaver_config::ConfigError;
use codeweaver_embed::EmbedError;
use codeweaver_git::{GitError, PathspecError};
use codeweaver_index::policy::PolicyError;
use codeweaver_index::{IndexError, Lifecycle};
use codeweaver_store::StoreError;
use codeweaver_text::{count, plural, safe};

use super::checkout::repositories_below;
use super::error::{ErrorKind, Fix, ServiceError};
use crate::query::QueryError;

/// Maximum number of characters of a value that an error quotes. A client may send a text of any length.
const MAX_QUOTED: usize = 200;

/// An error without a kind of its own.
fn failed(what: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> ServiceError {
    ServiceError::new(ErrorKind::Failed, what, why, fix)
}

/// An error of the caller.
fn invalid(what: impl Into<String>, why: impl Into<String>, fix: Fix) -> ServiceError {
    ServiceError::new(ErrorKind::InvalidArguments, what, why, "").with_fix(fix)
}

impl From<QueryError> for ServiceError {
    fn from(error: QueryError) -> ServiceError {
        match error {
            QueryError::Git(e) => e.into(),
            QueryError::Store(e) => e.into(),
            QueryError::Index(e) => e.into(),
            QueryError::Embed(e) => e.into(),
            QueryError::Gated(lifecycle) => lifecycle.into(),
            QueryError::Path(e) => e.into(),

            QueryError::NoRepository { glob, only } => {
                let what = match glob {
                    Some(glob) => format!("no repository matches '{}'", safe(&shortened(&glob))),
                    None => "there is no repository that may be searched".to_owned(),
                };
                let (why, fix) = match only {
                    Some(name) => (
                        format!("there is only the repository {name}, which is no catalogue"),
                        "leave the condition out, or search a catalogue (`--catalogue`)",
                    ),
                    None => (
                        "as in git, `*` does not match a slash and `**` does".to_owned(),
                        "git codeweaver catalogue list",
                    ),
                };
                ServiceError::new(ErrorKind::NotFound, what, why, fix)
            }

            QueryError::Parameter { name, must, found } => invalid(
                format!("the {name} cannot be used"),
                format!("it must be {must}, not {}", shortened(&found)),
                Fix::Parameter(name),
            ),
            QueryError::Pattern { pattern, reason } => invalid(
                format!("the pattern '{}' cannot be searched for", safe(&shortened(&pattern))),
                reason,
                Fix::Pattern,
            ),
            QueryError::UnknownName { filter, found, hint } => invalid(
                format!("there is no {filter} '{found}'"),
                "a filter with this name would find nothing",
                Fix::advice(hint),
            ),
            QueryError::NoGraph => invalid(
                "HNSW cannot be searched",
                "this index has no HNSW graph",
                Fix::advice(
                    "set index.hnsw to \"always\" and run `git codeweaver index`, or leave `--ann` out",
                ),
            ),

            QueryError::Internal { message } => failed(
                "internal error",
                message,
                "run `git codeweaver verify --repair`; if it finds nothing, please report this with the command you ran",
            ),
            QueryError::BeyondEnd { path, line, total_lines } => ServiceError::new(
                ErrorKind::NotFound,
                format!("{path} has no line {}", count(u64::from(line))),
                format!("it has {}", plural(u64::from(total_lines), "line")),
                match total_lines {
                    0 => "name a file that is not empty".to_owned(),
                    1 => "name line 1".to_owned(),
                    last => format!("name lines from 1 to {last}"),
                },
            ),
            QueryError::Withheld { path, why } => ServiceError::new(
                ErrorKind::NotAllowed,
                format!("{path} is not shown"),
                why,
                "read it on the machine that has it",
            ),
            QueryError::Engine { what, why, fix } => failed(what, why, fix),
            QueryError::Cancelled => ServiceError::new(
                ErrorKind::Cancelled,
                "no result",
                "the query was cancelled",
                "run it again",
            ),
            QueryError::NotFound { what } => {
                ServiceError::new(ErrorKind::NotFound, "there is no such file or line", what, "")
                    .with_fix(Fix::Listing)
            }
        }
    }
}

impl From<GitError> for ServiceError {
    fn from(error: GitError) -> ServiceError {
        let kind = match &error {
            GitError::PathEscapes { .. } | GitError::TooLarge { .. } => ErrorKind::InvalidArguments,
            GitError::ForeignWorktree { .. } => ErrorKind::NotAllowed,
            GitError::NotARepository { .. } | GitError::UnknownRevision { .. } => ErrorKind::NotFound,
            _ => ErrorKind::Failed,
        };
        let fix = match &error {
            GitError::NotARepository { .. } => Fix::Repository,
            other => Fix::advice(other.fix()),
        };

        let (what, why) = match &error {
            GitError::NotARepository { path } => {
                let shown = real_path::canonicalize(path).unwrap_or_else(|_| path.clone());
                let why = "neither it nor any parent directory contains .git";
                (
                    format!("{} is not in a git repository", shown.display()),
                    match repositories_below(&shown) {
                        Some(names) => format!("{why}; it contains the repositories {names}"),
                        None => why.to_owned(),
                    },
                )
            }
            GitError::Unsupported { path, feature } => (
                format!("{} cannot be read", path.display()),
                format!("it uses {feature}, which is not supported"),
            ),
            GitError::Unreadable { path, reason } => {
                (format!("the repository at {} cannot be read", path.display()), reason.clone())
            }
            GitError::UnknownRevision { spec, hint } => (
                format!("'{spec}' does not name a commit or tree here"),
                hint.clone().unwrap_or_else(|| "git cannot resolve it".to_owned()),
            ),
            GitError::ObjectMissing { .. } => (
                error.to_string(),
                "the clone is shallow, partial or damaged, and missing objects are never fetched".to_owned(),
            ),
            GitError::BadObject { oid, reason, .. } => {
                (format!("object {oid} cannot be read"), reason.clone())
            }
            GitError::TooLarge { .. } => {
                (error.to_string(), "files are held in memory, and larger ones are data".to_owned())
            }
            GitError::TooManyFiles { .. } => {
                (error.to_string(), "the whole tree is held in memory".to_owned())
            }
            GitError::RepeatedDirectories { .. } => {
                (error.to_string(), "its paths take longer to list than anyone can wait".to_owned())
            }
            GitError::ForeignWorktree { .. } => (
                error.to_string(),
                "a repository that others have made could show any directory so".to_owned(),
            ),
            GitError::NotACatalogue { .. } => {
                (error.to_string(), "its configuration does not have `codeweaver.catalogue`".to_owned())
            }
            GitError::Bare { .. } => (error.to_string(), "it has no working tree".to_owned()),
            GitError::PathEscapes { .. } => {
                (error.to_string(), "only files inside the repository are read".to_owned())
            }
            GitError::Io { .. } => (error.to_string(), root_cause(&error)),
        };

        ServiceError::new(kind, what, why, "").with_fix(fix)
    }
}

impl From<PathspecError> for ServiceError {
    fn from(error: PathspecError) -> ServiceError {
        invalid(error.to_string(), error.why(), Fix::advice(error.fix()))
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> ServiceError {
        let fix = match error.is_repairable() {
            true => Fix::Repair(error.fix()),
            false => Fix::advice(error.fix()),
        };

        let (what, why) = match &error {
            StoreError::Locked { holder } => {
                let why = "only one run per worktree at a time; the running one also picks up later commits";
                return ServiceError::new(
                    ErrorKind::Busy,
                    format!("Indexing already in progress ({holder})"),
                    why,
                    error.fix(),
                );
            }
            StoreError::Io { action, path, source } => {
                (format!("cannot {action} {}", path.display()), source.to_string())
            }
            StoreError::Damaged { path, what } => (format!("{} is damaged", path.display()), what.clone()),
            StoreError::Parquet { path, source } => {
                (format!("{} cannot be read", path.display()), source.to_string())
            }
            StoreError::Version { path, found, expected } => (
                format!("{} was written by another version", path.display()),
                format!("it has format {found}; this version reads format {expected}"),
            ),
            StoreError::Untrusted { path, why } => {
                (format!("{} must not be used", path.display()), why.clone())
            }
            StoreError::Stashed { path } => (
                format!("{} is in the stash", path.display()),
                "`git stash --all` moves ignored files too; a new index in its place would keep git from \
                 bringing the stash back"
                    .to_owned(),
            ),
        };

        // A store that must not be used answers nothing, like one that is not there.
        let kind = match &error {
            StoreError::Untrusted { .. } | StoreError::Stashed { .. } => ErrorKind::NotIndexed,
            _ => ErrorKind::Failed,
        };
        ServiceError::new(kind, what, why, "").with_fix(fix)
    }
}

impl From<IndexError> for ServiceError {
    fn from(error: IndexError) -> ServiceError {
        match error {
            IndexError::Git(e) => e.into(),
            IndexError::Store(e) => e.into(),
            IndexError::Policy(e) => e.into(),
            IndexError::Embed(e) => e.into(),
            IndexError::Config(e) => e.into(),

            IndexError::TooManyFiles { n_files, limit } => failed(
                format!("this tree has {} files", count(n_files as u64)),
                format!("trees of more than {} are indexed only on request", count(limit as u64)),
                "exclude directories (`policy.exclude`, .codeweaverignore), or `git codeweaver index --allow-huge`",
            ),
            IndexError::Interrupted { n_chunks } => ServiceError::new(
                ErrorKind::Interrupted,
                "interrupted",
                format!("{} of this run are kept", plural(n_chunks, "chunk")),
                "git codeweaver index continues from there",
            ),
            IndexError::EpochChanged => failed(
                "the index was reorganised while this ran",
                "garbage collection or a reindex from another worktree interfered again and again",
                "run it again: nothing is lost",
            ),
            IndexError::Tracked { path } => ServiceError::new(
                ErrorKind::NotIndexed,
                format!("{path} is tracked by git"),
                "an index that is checked in cannot be trusted, so it is never used",
                "git rm -r --cached .codeweaver && git commit",
            ),
            IndexError::NotInitialised => Lifecycle::NotIndexed.into(),
        }
    }
}

impl From<PolicyError> for ServiceError {
    fn from(error: PolicyError) -> ServiceError {
        match error {
            PolicyError::Git(e) => e.into(),

            PolicyError::Glob { setting, glob } => failed(
                format!("policy.{setting} cannot be used"),
                format!("'{glob}' is not a valid glob"),
                format!("git codeweaver config set policy.{setting} 'GLOB,GLOB'"),
            ),
            PolicyError::Language { extension, language } => failed(
                format!("policy.file_extensions.{extension} cannot be used"),
                format!("'{language}' is not a known language"),
                format!("git codeweaver config set policy.file_extensions.{extension} LANGUAGE"),
            ),
        }
    }
}

impl From<EmbedError> for ServiceError {
    fn from(error: EmbedError) -> ServiceError {
        failed(error.what(), error.why(), error.fix())
    }
}

impl From<ConfigError> for ServiceError {
    fn from(error: ConfigError) -> ServiceError {
        let (what, why) = match &error {
            ConfigError::Invalid(problems) => {
                let lines: Vec<String> =
                    problems.iter().map(|p| format!("{}: {}", p.origin, p.message)).collect();
                ("the settings are not valid".to_owned(), lines.join("\n"))
            }
            ConfigError::Read { path, source } => {
                (format!("{} cannot be read", path.display()), source.to_string())
            }
            ConfigError::Write { path, source } => {
                (format!("{} cannot be written", path.display()), source.to_string())
            }
            ConfigError::TooLarge { path, .. } => {
                (format!("{} is too large", path.display()), error.to_string())
            }
            ConfigError::Symlink { path } => {
                (format!("{} is not written", path.display()), error.to_string())
            }
            ConfigError::Several { .. } => ("the settings cannot be read".to_owned(), error.to_string()),
            ConfigError::Yaml { path, .. } => (
                format!("{} is not edited", path.display()),
                "it is YAML, and an edit would lose its comments".to_owned(),
            ),
            ConfigError::UserOnly { key } => (
                format!("`{key}` cannot be set for a repository"),
                "a file of a repository must not decide what runs on your machine".to_owned(),
            ),
        };

        failed(what, why, error.fix())
    }
}

/// The error of a codebase that cannot answer requests, with the command that changes its state.
impl From<Lifecycle> for ServiceError {
    fn from(lifecycle: Lifecycle) -> ServiceError {
        match lifecycle {
            Lifecycle::NotIndexed => ServiceError::new(
                ErrorKind::NotIndexed,
                "this repository is not indexed",
                "no index has been completed here",
                "git codeweaver init",
            ),
            Lifecycle::Interrupted { .. } => ServiceError::new(
                ErrorKind::NotIndexed,
                "this repository is not indexed",
                lifecycle.reason().unwrap_or_default(),
                "git codeweaver index",
            ),
            Lifecycle::IndexFailed(failure) => ServiceError::new(
                ErrorKind::NotIndexed,
                "the last attempt to index failed",
                failure,
                "git codeweaver index",
            ),

            Lifecycle::Indexing => ServiceError::new(
                ErrorKind::NotReady,
                "the first index is being built",
                "queries are answered from its first checkpoint on",
                "try again in a moment; `git codeweaver status` shows how far it is",
            ),
            Lifecycle::Indexed => ServiceError::new(
                ErrorKind::NotReady,
                "the index is being replaced",
                "it changed while it was being read",
                "run it again",
            ),
            Lifecycle::RequiresReindex { reason } => ServiceError::new(
                ErrorKind::RequiresReindex,
                "the index does not fit the settings",
                reason,
                "git codeweaver index --reindex",
            ),
        }
    }
}

/// The message of the innermost source of an error.
pub fn root_cause(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// The beginning of a value that an error quotes.
fn shortened(text: &str) -> String {
    text.chars().take(MAX_QUOTED).collect()
}
