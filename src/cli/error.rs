//! Conversion of errors into an exit code and the three lines that the command line prints. The texts of most
//! library errors are those of [`ServiceError`]:
//!
//! ```text
//! error: what does not work
//!   why: …
//!   fix: …
//! ```

use std::path::Path;
use std::process::ExitCode;

use codeweaver::query::QueryError;
use codeweaver::service::{ErrorKind, ServiceError, root_cause};
use codeweaver_base::io_advice;
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
use codeweaver_org::OrgError;
use codeweaver_store::StoreError;

use super::events::event_to;
use super::exit;
use super::render::{self, Paint, shown_path};
use super::streams::Streams;

/// An error as it is printed. Each part may have several lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliError {
    pub what: String,
    pub why: String,
    pub fix: String,
    pub code: u8,
    /// The kind of an error of the library.
    kind: Option<ErrorKind>,
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
            kind: None,
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
    pub fn from_lifecycle(lifecycle: Lifecycle, codebase: &Codebase) -> CliError {
        ServiceError::from_lifecycle(lifecycle, codebase).into()
    }

    /// Prints the error to stderr, and with `as_json` also as an object to stdout. Returns the exit code.
    /// Write errors are ignored.
    pub fn report(&self, streams: &Streams, paint: Paint, as_json: bool) -> ExitCode {
        if self.is_broken_pipe {
            return ExitCode::SUCCESS;
        }

        if as_json && !self.is_in_json {
            event_to(streams, &self.event());
        }

        let mut text = String::new();
        let labels = [paint.error("error:"), paint.dim("  why:"), paint.good("  fix:")];
        for (label, part) in labels.iter().zip([&self.what, &self.why, &self.fix]) {
            for (i, line) in part.lines().enumerate() {
                let label = if i == 0 { label.as_str() } else { "      " };
                text.push_str(&format!("{label} {}\n", render::safe(line)));
            }
        }

        streams.err(text.as_bytes());
        ExitCode::from(self.code)
    }

    /// The error as an object for stdout.
    fn event(&self) -> serde_json::Value {
        let mut event = serde_json::json!({
            "event": "error", "what": self.what, "why": self.why, "fix": self.fix, "exit_code": self.code,
        });
        // Errors of the command line itself have no kind.
        if let Some(kind) = self.kind {
            event["kind"] = serde_json::json!(kind);
        }

        event
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
                io_advice(&source, &path),
            ),
            ClientError::Remove { path, source } => CliError::new(
                format!("{} cannot be removed", shown_path(&path)),
                source.to_string(),
                io_advice(&source, &path),
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
            ClientError::NoUserFile { client } => CliError::new(
                format!("{client} has no file for all repositories"),
                "it reads only files of a project, or its settings are not in a file",
                "omit --global, and install it in each repository",
            ),
            ClientError::Guide { path, source } => not_edited(
                &path,
                source.to_string(),
                "correct or move the file and run this again".to_owned(),
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

fn kept_in_yaml(client: &str) -> String {
    format!("{client} keeps its configuration in YAML, which is not edited")
}

impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> Self {
        CliError::new("the answer cannot be written as JSON", error.to_string(), "please report this")
    }
}

impl From<ServiceError> for CliError {
    fn from(error: ServiceError) -> Self {
        let ServiceError { kind, what, why, fix, .. } = error;
        let code = match kind {
            ErrorKind::Busy => exit::NEGATIVE,
            ErrorKind::Interrupted => exit::INTERRUPTED,
            _ => exit::ERROR,
        };

        CliError { kind: Some(kind), code, ..CliError::new(what, why, fix.to_string()) }
    }
}

/// Converts errors of the libraries by way of [`ServiceError`], where their texts are decided.
macro_rules! from_service {
    ($($error:ty),+) => {
        $(impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                ServiceError::from(error).into()
            }
        })+
    };
}

from_service!(
    GitError,
    PathspecError,
    StoreError,
    IndexError,
    PolicyError,
    EmbedError,
    ConfigError,
    QueryError
);

impl From<OrgError> for CliError {
    fn from(error: OrgError) -> Self {
        match error {
            OrgError::Git(error) => error.into(),
            OrgError::Store(error) => error.into(),
            OrgError::Index(error) => error.into(),
            error => {
                let code = if matches!(error, OrgError::Busy { .. }) { exit::NEGATIVE } else { exit::ERROR };
                CliError { code, ..CliError::new(error.what(), error.why(), error.fix()) }
            }
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
