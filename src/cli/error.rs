//! Conversion of library errors into an exit code and the three lines that the command line prints:
//!
//! ```text
//! error: what does not work
//!   why: …
//!   fix: …
//! ```

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use codeweaver::query::QueryError;
use codeweaver_config::ConfigError;
use codeweaver_embed::EmbedError;
use codeweaver_eval::EvalError;
use codeweaver_eval::error::at;
use codeweaver_git::hooks::HookError;
use codeweaver_git::{GitError, PathspecError};
use codeweaver_index::policy::PolicyError;
use codeweaver_index::{Codebase, IndexError, Lifecycle};
use codeweaver_mcp::clients::ClientError;
use codeweaver_mcp::clients::entry::NAME;
use codeweaver_store::StoreError;

use super::events::event;
use super::exit;
use super::render::{self, Paint, shown_path};

/// An error as it is printed. Each part may have several lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliError {
    pub what: String,
    pub why: String,
    pub fix: String,
    pub code: u8,
    /// Whether the reader of stdout has closed it. Then nothing is printed, and the exit code is success.
    is_broken_pipe: bool,
    /// Whether an object on stdout reports the error already.
    is_in_json: bool,
}

impl CliError {
    pub fn new(what: impl Into<String>, why: impl Into<String>, fix: impl Into<String>) -> CliError {
        CliError {
            what: what.into(),
            why: why.into(),
            fix: fix.into(),
            code: exit::ERROR,
            is_broken_pipe: false,
            is_in_json: false,
        }
    }

    /// The same error, which an object on stdout already reports.
    pub fn reported_in_json(self) -> CliError {
        CliError { is_in_json: true, ..self }
    }

    pub fn with_code(self, code: u8) -> CliError {
        CliError { code, ..self }
    }

    pub fn no_such_directory(dir: &Path) -> CliError {
        CliError::new(
            format!("{} is not a directory", dir.display()),
            "--project takes a directory inside a git repository",
            "check the path",
        )
    }

    /// The error of a codebase in this state, in which it cannot answer queries.
    pub fn of_lifecycle(lifecycle: Lifecycle, codebase: &Codebase) -> CliError {
        let fix = codebase.remedy(&lifecycle);
        let error = CliError::from(lifecycle);
        CliError { fix: fix.map_or(error.fix, str::to_owned), ..error }
    }

    /// Prints the error to stderr, and with `as_json` also as an object to stdout. Returns the exit code.
    /// Write errors are ignored.
    pub fn report(&self, paint: Paint, as_json: bool) -> ExitCode {
        if self.is_broken_pipe {
            return ExitCode::SUCCESS;
        }

        if as_json && !self.is_in_json {
            event(&serde_json::json!({
                "event": "error", "what": self.what, "why": self.why, "fix": self.fix, "exit_code": self.code,
            }));
        }

        let mut text = String::new();
        let labels = [paint.error("error:"), paint.dim("  why:"), paint.good("  fix:")];
        for (label, part) in labels.iter().zip([&self.what, &self.why, &self.fix]) {
            for (i, line) in part.lines().enumerate() {
                let label = if i == 0 { label.as_str() } else { "      " };
                text.push_str(&format!("{label} {}\n", render::safe(line)));
            }
        }

        let _ = std::io::stderr().write_all(text.as_bytes());
        ExitCode::from(self.code)
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        let is_broken_pipe = error.kind() == std::io::ErrorKind::BrokenPipe;
        let error = CliError::new(
            "the output cannot be written",
            error.to_string(),
            "check the destination of the output and its free space",
        );
        CliError { is_broken_pipe, ..error }
    }
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::LinkCycle { path } => {
                unreadable(&path, "its symbolic links form a cycle".to_owned(), "remove the link")
            }
            ClientError::OutsideRepository { path } => not_edited(
                &path,
                "it is a link that leads out of the repository".to_owned(),
                "remove the link, or use --scope user".to_owned(),
            ),
            ClientError::Read { path, source } => {
                unreadable(&path, source.to_string(), "check the path and its permissions")
            }
            ClientError::NotAFile { path } => {
                unreadable(&path, "it is not a file".to_owned(), "move it out of the way")
            }
            ClientError::TooLarge { path, size } => {
                unreadable(&path, format!("it has {size} bytes"), "check which program wrote it")
            }
            ClientError::NotUtf8 { path } => {
                unreadable(&path, "it is not UTF-8 text".to_owned(), "save it as UTF-8")
            }

            ClientError::ReadOnly { path } => CliError::new(
                format!("{} may not be changed", shown_path(&path)),
                "the file is read-only",
                "make it writable, or change the source it is generated from: --print shows what to add",
            ),
            ClientError::ConcurrentChange { path } => CliError::new(
                format!("{} is not changed", shown_path(&path)),
                "another program changed it at the same time",
                "run the command again; if it fails again, close the client first",
            ),

            ClientError::Write { path, source } => CliError::new(
                format!("{} cannot be written", shown_path(&path)),
                source.to_string(),
                check_permissions(&path),
            ),
            ClientError::Remove { path, source } => CliError::new(
                format!("{} cannot be removed", shown_path(&path)),
                source.to_string(),
                check_permissions(&path),
            ),
            ClientError::Insert { path, snippet, source } => not_edited(
                &path,
                source.to_string(),
                format!("correct the file and run this again, or add by hand:\n{snippet}"),
            ),
            ClientError::Uninstall { path, source } => not_edited(
                &path,
                source.to_string(),
                format!("correct the file and run this again, or remove `{NAME}` by hand"),
            ),
            ClientError::YamlInsert { path, client, id } => not_edited(
                &path,
                kept_in_yaml(client),
                format!("add the output of `git codeweaver mcp --print {id}` to it by hand"),
            ),
            ClientError::YamlUninstall { path, client, table } => {
                not_edited(&path, kept_in_yaml(client), format!("remove `{NAME}` from `{table}` by hand"))
            }

            ClientError::NoHome { client } => CliError::new(
                format!("the configuration of {client} is not found"),
                "the home directory is not known",
                "set HOME, or use --print",
            ),
            ClientError::NoProjectFile { client } => CliError::new(
                format!("{client} has no configuration per project"),
                "it reads only the configuration of the user",
                "omit --scope project",
            ),

            ClientError::ProgramPath { source } => CliError::new(
                "the path of this program cannot be determined",
                source.to_string(),
                "add its directory to PATH",
            ),
            ClientError::ProgramPathNotUtf8 { path } => CliError::new(
                "the path of this program cannot be written to a configuration",
                format!("{} is not UTF-8", shown_path(&path)),
                "add its directory to PATH",
            ),
            ClientError::Snippet { source } => {
                CliError::new("the entry cannot be formatted", source.to_string(), "please report this")
            }
            ClientError::Receipts { source } => {
                CliError::new("the receipts cannot be written", source.to_string(), "please report this")
            }
        }
    }
}

fn unreadable(path: &Path, why: String, fix: &str) -> CliError {
    CliError::new(format!("{} cannot be read", shown_path(path)), why, fix)
}

fn not_edited(path: &Path, why: String, fix: String) -> CliError {
    CliError::new(format!("{} is not edited", shown_path(path)), why, fix)
}

fn check_permissions(path: &Path) -> String {
    format!("check the permissions of {}", shown_path(path.parent().unwrap_or(path)))
}

fn kept_in_yaml(client: &str) -> String {
    format!("{client} keeps its configuration in YAML, which is not edited")
}

impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> Self {
        CliError::new("the answer cannot be written as JSON", error.to_string(), "please report this")
    }
}

impl From<GitError> for CliError {
    fn from(error: GitError) -> Self {
        let fix = match &error {
            GitError::NotARepository { .. } => "git init, or name a repository with --project PATH",
            other => other.fix(),
        };

        let (what, why) = match &error {
            GitError::NotARepository { path } => {
                let shown = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                (
                    format!("{} is not in a git repository", shown.display()),
                    "neither it nor any parent directory contains .git".to_owned(),
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
            GitError::TooManyFiles { .. } => {
                (error.to_string(), "the whole tree is held in memory".to_owned())
            }
            GitError::NotACatalogue { .. } => {
                (error.to_string(), "its configuration does not have `codeweaver.catalogue`".to_owned())
            }
            GitError::Bare { .. } => (error.to_string(), "it has no working tree".to_owned()),
            GitError::PathEscapes { .. } => {
                (error.to_string(), "only files inside the repository are read".to_owned())
            }
            GitError::Io { .. } => (error.to_string(), root_cause(&error)),
        };

        CliError::new(what, why, fix)
    }
}

impl From<PathspecError> for CliError {
    fn from(error: PathspecError) -> Self {
        CliError::new(error.to_string(), error.why(), error.fix())
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let fix = error.fix();

        match &error {
            StoreError::Locked { holder } => CliError::new(
                format!("Indexing already in progress ({holder})"),
                "only one run per worktree at a time; the running one also picks up later commits",
                fix,
            )
            .with_code(exit::NEGATIVE),
            StoreError::Io { action, path, source } => {
                CliError::new(format!("cannot {action} {}", path.display()), source.to_string(), fix)
            }
            StoreError::Damaged { path, what } => {
                CliError::new(format!("{} is damaged", path.display()), what.clone(), fix)
            }
            StoreError::Parquet { path, source } => {
                CliError::new(format!("{} cannot be read", path.display()), source.to_string(), fix)
            }
            StoreError::Version { path, found, expected } => CliError::new(
                format!("{} was written by another version", path.display()),
                format!("it has format {found}; this version reads format {expected}"),
                fix,
            ),
            StoreError::Untrusted { path, why } => {
                CliError::new(format!("{} must not be used", path.display()), why.clone(), fix)
            }
        }
    }
}

impl From<IndexError> for CliError {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::Git(e) => e.into(),
            IndexError::Store(e) => e.into(),
            IndexError::Policy(e) => e.into(),
            IndexError::Embed(e) => e.into(),
            IndexError::Config(e) => e.into(),

            IndexError::TooManyFiles { n_files, limit } => CliError::new(
                format!("this tree has {} files", render::count(n_files as u64)),
                format!("trees of more than {} are indexed only on request", render::count(limit as u64)),
                "exclude directories (`policy.exclude`, .codeweaverignore), or `git codeweaver index --allow-huge`",
            ),
            IndexError::Interrupted { n_chunks } => CliError::new(
                "interrupted",
                format!("{} of this run are kept", render::plural(n_chunks, "chunk")),
                "git codeweaver index continues from there",
            )
            .with_code(exit::INTERRUPTED),
            IndexError::EpochChanged => CliError::new(
                "the index was reorganised while this ran",
                "garbage collection or a reindex from another worktree interfered twice",
                "run it again: nothing is lost",
            ),
            IndexError::Tracked { path } => CliError::new(
                format!("{path} is tracked by git"),
                "an index that is checked in cannot be trusted, so it is never used",
                "git rm -r --cached .codeweaver && git commit",
            ),
            IndexError::NotInitialised => Lifecycle::NotIndexed.into(),
        }
    }
}

impl From<PolicyError> for CliError {
    fn from(error: PolicyError) -> Self {
        match error {
            PolicyError::Git(e) => e.into(),

            PolicyError::Glob { setting, glob } => CliError::new(
                format!("policy.{setting} cannot be used"),
                format!("'{glob}' is not a valid glob"),
                format!("git codeweaver config set policy.{setting} 'GLOB,GLOB'"),
            ),
            PolicyError::Language { extension, language } => CliError::new(
                format!("policy.file_extensions.{extension} cannot be used"),
                format!("'{language}' is not a known language"),
                format!("git codeweaver config set policy.file_extensions.{extension} LANGUAGE"),
            ),
        }
    }
}

impl From<EvalError> for CliError {
    fn from(error: EvalError) -> Self {
        match error {
            EvalError::Index(e) => e.into(),
            EvalError::Query(e) => e.into(),
            EvalError::Git(e) => e.into(),
            EvalError::Policy(e) => IndexError::from(e).into(),

            EvalError::Format { path, line, why } => CliError::new(
                format!("{} cannot be used", at(&path, line)),
                render::safe(&why).into_owned(),
                "correct the file; docs/evaluation.md describes the format",
            ),
            EvalError::Read { path, source } => CliError::new(
                format!("{} cannot be read", path.display()),
                source.to_string(),
                "name a .yml, .json or .jsonl file with queries, or a directory with repos*.json and annotations/",
            ),
            EvalError::Baseline { path, why } => CliError::new(
                format!("{} is not an evaluation run that this version can read", path.display()),
                render::safe(&why).into_owned(),
                "create it again: git codeweaver eval run SUITE --json > FILE",
            ),

            EvalError::UnknownWeight { name } => CliError::new(
                format!("there is no weight called {}", render::safe(&name)),
                "it is not one of the ranking weights",
                "git codeweaver eval ablate SUITE lists them",
            ),
            EvalError::TooFewQueries { n, least } => CliError::new(
                "there are too few queries to learn from",
                format!("{n} have a relevant file among their results, and {least} are needed"),
                "mine more with: git codeweaver eval mine --limit 300 -o mined.jsonl",
            ),
            EvalError::Command { command, why } => CliError::new(
                format!("the command `{}` failed", render::safe(&command)),
                render::safe(&why).into_owned(),
                "correct it, then continue with: git codeweaver eval loop --resume",
            ),

            EvalError::TooFewIssues { n, least } => CliError::new(
                "there are too few issues for a loop",
                format!(
                    "the pool has {n}, and the baseline with the least number of iterations takes {least}"
                ),
                "name a larger file, or mine more with --issues mine --limit N",
            ),
            EvalError::LoopExists { path } => CliError::new(
                format!("there is a loop in {} already", path.display()),
                "a loop is never overwritten",
                "continue it with --resume, or choose another directory with --output",
            ),
            EvalError::NoLoop { path } => CliError::new(
                format!("there is no loop in {}", path.display()),
                "a loop is resumed where it was begun",
                "name its directory with --output, or begin one with --issues",
            ),
            EvalError::LoopRuns { path } => CliError::new(
                format!("the loop in {} is running", path.display()),
                "another process holds its lock",
                "wait for it, or stop it and continue with: git codeweaver eval loop --resume",
            ),
            EvalError::LoopSettings { why } => CliError::new(
                "the settings of the loop cannot be used",
                why,
                "correct config.json in its directory, or begin another one with --output",
            ),

            EvalError::Interrupted => CliError::new(
                "interrupted",
                "what is done stays done",
                "git codeweaver eval loop --resume continues from there",
            )
            .with_code(exit::INTERRUPTED),
            EvalError::Artefact { path, why } => CliError::new(
                format!("{} cannot be used", path.display()),
                render::safe(&why).into_owned(),
                "remove the file and those after it in the loop; --resume makes them again",
            ),
            EvalError::Write { path, source } => CliError::new(
                format!("{} cannot be written", path.display()),
                source.to_string(),
                "use another path with --output",
            ),
            EvalError::MissingRepository { name, path } => CliError::new(
                format!("the repository {} is missing", render::safe(&name)),
                format!("the suite has queries for it, but {} does not exist", path.display()),
                "clone it there at the revision that the suite names, or use --repos DIR",
            ),
        }
    }
}

impl From<EmbedError> for CliError {
    fn from(error: EmbedError) -> Self {
        CliError::new(error.what(), error.why(), error.fix())
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
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

        CliError::new(what, why, error.fix())
    }
}

impl From<HookError> for CliError {
    fn from(error: HookError) -> Self {
        let why = match &error {
            HookError::GitFailed { stderr, .. } => stderr.trim().to_owned(),
            HookError::GlobalNeedsNewerGit { .. } => "older git has no hooks in its configuration".to_owned(),
            other => root_cause(other),
        };

        let why = if why.is_empty() { "git gave no reason".to_owned() } else { why };
        CliError::new(error.to_string(), why, error.fix())
    }
}

impl From<QueryError> for CliError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Git(e) => e.into(),
            QueryError::Store(e) => e.into(),
            QueryError::Index(e) => e.into(),
            QueryError::Embed(e) => e.into(),
            QueryError::Gated(lifecycle) => lifecycle.into(),

            QueryError::Parameter { name, must, found } => CliError::new(
                format!("the {name} cannot be used"),
                format!("it must be {must}, not {found}"),
                "see the help of the command (`-h`)",
            ),
            QueryError::Pattern { pattern, reason } => CliError::new(
                format!("the pattern '{}' cannot be searched for", render::safe(&pattern)),
                reason,
                "`--mode exact` searches for the text as it is; regular expressions have the syntax of ripgrep",
            ),
            QueryError::UnknownName { filter, found, hint } => CliError::new(
                format!("there is no {filter} '{found}'"),
                "a filter with this name would find nothing",
                hint,
            ),
            QueryError::NoGraph => CliError::new(
                "HNSW cannot be searched",
                "this index has no HNSW graph",
                "set index.hnsw to \"always\" and run `git codeweaver index`, or leave `--ann` out",
            ),

            QueryError::Internal { message } => CliError::new(
                "internal error",
                message,
                "run `git codeweaver verify --repair`; if it finds nothing, please report this with the command you ran",
            ),
            QueryError::Withheld { path, why } => {
                CliError::new(format!("{path} is not shown"), why, "read it on the machine that has it")
            }
            QueryError::Cancelled => CliError::new("no result", "the query was cancelled", "run it again"),
            QueryError::NotFound { what } => CliError::new(
                "there is no such file or line",
                what,
                "`git codeweaver status --files` lists what is not indexed, and why",
            ),
        }
    }
}

/// The error of a codebase that cannot answer queries, with the command that changes its state.
impl From<Lifecycle> for CliError {
    fn from(lifecycle: Lifecycle) -> Self {
        match lifecycle {
            Lifecycle::NotIndexed => CliError::new(
                "this repository is not indexed",
                "no index has been completed here",
                "git codeweaver init",
            ),

            Lifecycle::Interrupted { .. } => CliError::new(
                "this repository is not indexed",
                lifecycle.reason().unwrap_or_default(),
                "git codeweaver index",
            ),

            Lifecycle::Indexing => CliError::new(
                "the first index is being built",
                "queries are answered from its first checkpoint on",
                "try again in a moment; `git codeweaver status` shows how far it is",
            ),
            Lifecycle::Indexed => CliError::new(
                "the index is being replaced",
                "it changed while it was being read",
                "run it again",
            ),

            Lifecycle::IndexFailed(failure) => {
                CliError::new("the last attempt to index failed", failure, "git codeweaver index")
            }
            Lifecycle::RequiresReindex { reason } => {
                CliError::new("the index does not fit the settings", reason, "git codeweaver index --reindex")
            }
        }
    }
}

/// The message of the innermost source of an error.
fn root_cause(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
