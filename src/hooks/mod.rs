//! Git hooks: installing them where git looks, taking them out again, and reading what they say.
//!
//! In: a [`HookSite`] and what the user wants. Out: reports for `init`, `deinit`, `status` and `doctor`, and
//! [`HookCall`] for the `hook` verb. Requirements G1–G3, G5, P2, X5.
//!
//! ```text
//! survey (asks git, reads files) ─► plan (pure) ─► apply (writes)
//! ```
//!
//! **Where.** Git ≥ 2.54 runs hooks named in its configuration, beside whatever hook files exist: no file is touched and
//! hook managers do not matter. Older git gets a marked block in the hook files of the directory that git itself
//! reports. `core.hooksPath` is never set. A hook that is not a plain shell script, a link, or a directory that belongs
//! to a hook manager or to other repositories is left alone, and the line to add is reported instead.
//!
//! **What.** The scripts in `hooks/` decide in the shell whether HEAD moved for good (not within a rebase, bisect or
//! sequence of picks; not for single files) and start `git-codeweaver hook <event> [arguments]` in the background.
//! Nothing from the repository is run; the program is the one recorded at installation, else the one on the path.
//!
//! **Cost.** Median of 200 `git commit` of one file on Linux with dash and two cores, 2.6 ms without hooks: an empty
//! hook adds 1.05 ms, ours 1.9 ms, and one that calls the program and waits until that has started a worker 2.95 ms
//! with a program that does nothing else (ours is far larger). So the shell detaches; as it cannot ask the settings,
//! the foreground mode is written into the script when it is installed. Hooks are a prefetch only: `reset`, `stash`, `rebase --abort` and `am` call none of the four, and every
//! query compares HEAD by itself.

mod call;
mod command;
mod file;
mod install;
mod manager;
mod plan;
mod script;
mod survey;
#[cfg(all(test, unix))]
mod tests;
mod version;

use std::io;
use std::path::{Path, PathBuf};

pub use call::HookCall;
pub use command::ConfigEntry;
pub use file::HookFile;
pub use install::{HookStatus, UninstallReport, inspect, install, uninstall};
pub use manager::{Advice, Found, Manager};
pub use plan::{Change, InstallPlan, plan};
pub use survey::{Place, Surroundings, SurveyedFile, survey};
pub use version::GitVersion;

/// Where hooks are to be installed: the paths of one worktree, as `Repo` reports them, absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSite {
    /// Of this worktree: `.git`, or `.git/worktrees/<name>`.
    pub git_dir: PathBuf,
    /// Shared by all worktrees.
    pub common_dir: PathBuf,
    /// `None` for a bare repository.
    pub work_dir: Option<PathBuf>,
}

impl HookSite {
    /// The directory git runs hooks in, to which a relative `core.hooksPath` refers.
    pub fn root(&self) -> &Path {
        self.work_dir.as_deref().unwrap_or(&self.git_dir)
    }
}

/// The events that may move HEAD, in the order of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    PostCommit,
    PostCheckout,
    PostMerge,
    PostRewrite,
}

impl Event {
    pub const ALL: [Event; 4] =
        [Event::PostCommit, Event::PostCheckout, Event::PostMerge, Event::PostRewrite];

    pub fn name(self) -> &'static str {
        self.row().0
    }

    pub fn by_name(name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|event| event.name() == name)
    }

    /// How many arguments git passes.
    pub(self) fn n_args(self) -> usize {
        self.row().1
    }

    /// The script in `hooks/`.
    pub(self) fn template(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> (&'static str, usize, &'static str) {
        match self {
            Event::PostCommit => ("post-commit", 0, include_str!("../../hooks/post-commit")),
            Event::PostCheckout => ("post-checkout", 3, include_str!("../../hooks/post-checkout")),
            Event::PostMerge => ("post-merge", 1, include_str!("../../hooks/post-merge")),
            Event::PostRewrite => ("post-rewrite", 1, include_str!("../../hooks/post-rewrite")),
        }
    }
}

/// Whether a git command waits for the index. Recorded in the script; `CODEWEAVER_HOOKS=foreground|background|off` in
/// the environment overrides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HookMode {
    #[default]
    Background,
    Foreground,
}

/// Which configuration file holds the hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The repository's own, shared by its worktrees.
    Local,
    /// The user's: every repository.
    Global,
}

impl Scope {
    pub(self) fn flag(self) -> &'static str {
        match self {
            Scope::Local => "--local",
            Scope::Global => "--global",
        }
    }
}

/// What the user asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallOptions {
    /// For every repository of this user; needs git ≥ 2.54.
    pub global: bool,
    /// Absolute path of the program, tried before the path. Left out of scripts inside the worktree, where other
    /// people's machines would see it.
    pub binary: PathBuf,
    pub mode: HookMode,
    /// Write to a hook directory outside the repository, which other repositories use too.
    pub shared_dir: bool,
}

impl InstallOptions {
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        InstallOptions { global: false, binary: binary.into(), mode: HookMode::Background, shared_dir: false }
    }
}

/// How git finds our hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// `hook.codeweaver.command` and `.event`.
    Configuration(Scope),
    /// Files in this directory.
    Files(PathBuf),
}

/// What became of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// New file, or new configuration.
    Created,
    /// Our block was added to an existing script.
    Chained,
    /// An older block or command was replaced.
    Updated,
    Unchanged,
    /// A hook manager calls us already, by an entry in its own configuration.
    Native(Manager),
    /// Not installed; an [`Advice`] of the report says what to add, and this says why.
    Advised(Reason),
}

/// Why a hook was left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Reason {
    #[error("the hook is written by {}", .0.name())]
    Managed(Manager),
    #[error("the hook is not a shell script")]
    NotShell,
    #[error("the hook is a symbolic link")]
    Link,
    #[error("the hook is not a regular file")]
    NotAFile,
    #[error("the hook is not executable, so git does not run it")]
    NotExecutable,
    #[error("the codeweaver block in it has been edited; remove what is left of it and try again")]
    Damaged,
    #[error("hook files are switched off: core.hooksPath is not a directory")]
    NoDirectory,
    #[error("the hook directory lies outside the repository and serves others too")]
    SharedDir,
}

/// What an installation did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallReport {
    pub git: GitVersion,
    pub method: Method,
    /// One per event, in the order of [`Event::ALL`].
    pub events: Vec<(Event, Outcome)>,
    pub advice: Vec<Advice>,
    /// The hook files lie in the worktree, so they show in `git status`.
    pub in_worktree: bool,
}

/// State of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventState {
    /// Ours, as this version would write it (the path of the binary and the mode may differ).
    Current,
    /// Ours, of another version; installing again replaces it.
    Outdated,
    /// Called by a hook manager.
    Native(Manager),
    /// Configured, but switched off by `hook.codeweaver.enabled = false`.
    SwitchedOff,
    /// A hook without us.
    Foreign,
    Missing,
}

#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("git could not be started: {source}")]
    GitNotStarted { source: io::Error },
    #[error("`git {command}` failed: {stderr}")]
    GitFailed { command: String, stderr: String },
    #[error("`git --version` answered {text:?}")]
    UnknownVersion { text: String },
    #[error("hooks for every repository need git {}, this is git {found}", GitVersion::CONFIGURED_HOOKS)]
    GlobalNeedsNewerGit { found: GitVersion },
    #[error("{path} cannot be read: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} cannot be written: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("{path:?} cannot be named in a hook: it must be absolute and on one line")]
    UnusableBinaryPath { path: PathBuf },
}

impl HookError {
    /// What the user can do about it, one sentence.
    pub fn fix(&self) -> String {
        match self {
            HookError::GitNotStarted { .. } => "install git, or put it on the PATH".into(),
            HookError::GitFailed { stderr, .. } if stderr.contains("dubious ownership") => {
                "the repository belongs to another user; if you trust it, follow git's safe.directory advice"
                    .into()
            }
            HookError::GitFailed { stderr, .. } if stderr.contains("lock") => {
                "another process edits the configuration; try again, or remove a left-over config.lock".into()
            }
            HookError::GitFailed { .. } | HookError::UnknownVersion { .. } => {
                "run the command by hand to see what is wrong; `init --no-hooks` works without hooks".into()
            }
            HookError::GlobalNeedsNewerGit { .. } => {
                "update git, or run `git codeweaver init` in each repository".into()
            }
            HookError::Read { path, .. } | HookError::Write { path, .. } => format!(
                "check the permissions of {}, or use `git codeweaver init --no-hooks`",
                path.parent().unwrap_or(path).display()
            ),
            HookError::UnusableBinaryPath { .. } => "move the program to a plain path".into(),
        }
    }
}
