//! Git hooks: installation, removal and inspection, and the arguments that they pass to the program.
//!
//! In: a [`HookSite`] and [`InstallOptions`]. Out: reports for `init`, `deinit`, `status` and `doctor`, and
//! [`HookCall`] for the `hook` command.
//!
//! ```text
//! survey (runs git, reads files) ─► plan (pure) ─► apply (writes)
//! ```
//!
//! # Where hooks are installed
//!
//! Git 2.54 and later run hooks that are named in the configuration, in addition to hook files. There only
//! configuration is written, and hook managers do not matter. With older git a marked block is added to the
//! hook files in the directory that git reports. `core.hooksPath` is never set. A hook is left alone if it is
//! not a plain shell script or is a link, or if its directory belongs to a hook manager or to other
//! repositories, or is in the worktree and not ignored by git: tracked files belong to the team. The report
//! then names the line to add by hand.
//!
//! # Effect
//!
//! The scripts in `hooks/` check in the shell whether HEAD moved for good: not within a rebase, bisect or
//! sequence of picks, and not for a checkout of single files. If so, they start `git-codeweaver hook <event>
//! [arguments]` in the background. Nothing from the repository is run. The program is the one recorded at
//! installation, else the one on `PATH`.
//!
//! # Cost
//!
//! Medians of 200 runs of `git commit` of one file, on Linux with dash and two cores; 2.6 ms without hooks:
//!
//! | hook | additional time |
//! |---|---|
//! | empty script | 1.05 ms |
//! | ours, detached by the shell | 1.9 ms |
//! | a script that runs a minimal program and waits until that has started a worker | 2.95 ms |
//!
//! The real program is far larger than the minimal one, so the shell detaches. Since the shell cannot read
//! the settings, the foreground mode is written into the script at installation.
//!
//! Hooks only start updates early: `reset`, `stash`, `rebase --abort` and `am` call none of them, nor does a
//! `fetch` into a bare repository, and every query compares HEAD itself.

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

use codeweaver_base::io_advice;

pub use call::HookCall;
pub use command::ConfigEntry;
pub use file::HookFile;
pub use install::{HookStatus, UninstallReport, inspect, install, uninstall};
pub use manager::{Advice, DetectedManager, Manager};
pub use plan::{Change, InstallPlan, plan};
pub use survey::{HookSurvey, HooksDirLocation, SurveyedFile, survey};
pub use version::GitVersion;

/// Paths of the worktree for which hooks are installed. Absolute, as `Repo` reports them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSite {
    /// Git directory of this worktree: `.git`, or `.git/worktrees/<name>`.
    pub git_dir: PathBuf,
    /// Git directory shared by all worktrees.
    pub common_dir: PathBuf,
    /// `None` for a bare repository.
    pub work_dir: Option<PathBuf>,
}

impl HookSite {
    /// The directory in which git runs hooks, to which a relative `core.hooksPath` refers.
    pub fn root(&self) -> &Path {
        self.work_dir.as_deref().unwrap_or(&self.git_dir)
    }
}

/// Hook events that may move HEAD, in the order of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    PostCommit,
    PostCheckout,
    PostMerge,
    PostRewrite,
    PostReceive,
}

impl Event {
    pub const ALL: [Event; 5] =
        [Event::PostCommit, Event::PostCheckout, Event::PostMerge, Event::PostRewrite, Event::PostReceive];

    /// The events of a repository with a worktree.
    pub const OF_WORKTREES: [Event; 4] =
        [Event::PostCommit, Event::PostCheckout, Event::PostMerge, Event::PostRewrite];

    /// The events that are installed for a site. A bare repository receives pushes and may have linked
    /// worktrees, so it has all of them.
    pub fn for_site(site: &HookSite) -> &'static [Event] {
        match site.work_dir {
            Some(_) => &Event::OF_WORKTREES,
            None => &Event::ALL,
        }
    }

    /// The name of the hook in git.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the event with this name.
    pub fn by_name(name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Number of arguments that git passes.
    pub(self) fn n_args(self) -> usize {
        self.row().1
    }

    /// The script in `hooks/`.
    pub(self) fn template(self) -> &'static str {
        self.row().2
    }

    /// Name, number of arguments and script.
    fn row(self) -> (&'static str, usize, &'static str) {
        match self {
            Event::PostCommit => ("post-commit", 0, include_str!("../../hooks/post-commit")),
            Event::PostCheckout => ("post-checkout", 3, include_str!("../../hooks/post-checkout")),
            Event::PostMerge => ("post-merge", 1, include_str!("../../hooks/post-merge")),
            Event::PostRewrite => ("post-rewrite", 1, include_str!("../../hooks/post-rewrite")),
            Event::PostReceive => ("post-receive", 0, include_str!("../../hooks/post-receive")),
        }
    }
}

/// Mode in which git runs the hooks: whether a git command waits until the index is updated. Recorded in the
/// script; `CODEWEAVER_HOOKS=foreground|background|off` in the environment overrides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HookMode {
    #[default]
    Background,
    Foreground,
}

/// The configuration file that names the hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The configuration of the repository, shared by its worktrees.
    Local,
    /// The configuration of the user, for every repository.
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

/// Options of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallOptions {
    /// Install for every repository of this user. Needs git 2.54 or later.
    pub global: bool,
    /// Absolute path of the program, tried before `PATH`.
    pub binary: PathBuf,
    pub mode: HookMode,
}

impl InstallOptions {
    /// Options of an installation in one repository, with hooks in the background.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        InstallOptions { global: false, binary: binary.into(), mode: HookMode::Background }
    }
}

/// The way in which git finds our hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// `hook.codeweaver.command` and `.event`.
    Configuration(Scope),
    /// Hook files in this directory.
    Files(PathBuf),
}

/// Result of the installation for one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// New file, or new configuration.
    Created,
    /// Our block was added to an existing script.
    Chained,
    /// An older block or command was replaced.
    Updated,
    /// The hook calls us already: as this version would install it, or by a line that was added by hand, or
    /// in a file that we do not write.
    Unchanged,
    /// An entry in the configuration of a hook manager calls us already.
    Native(Manager),
    /// Not installed, for this reason. An [`Advice`] of the report has the lines to add.
    Advised(Reason),
}

/// The reason why a hook was not changed.
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
    #[error("its codeweaver block was edited by hand; remove the rest of the block and try again")]
    Damaged,
    #[error("hook files are switched off: core.hooksPath is not a directory")]
    NoDirectory,
    #[error("the hook directory is outside of the repository and may serve others too")]
    SharedDir,
    #[error("the hook directory is in the working tree, where only files that git ignores are written")]
    InWorktree,
}

/// Changes of an installation, or those that it would make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallReport {
    pub git: GitVersion,
    pub method: Method,
    /// One per event of the site, in the order of [`Event::ALL`].
    pub events: Vec<(Event, Outcome)>,
    pub advice: Vec<Advice>,
}

/// State of the hook of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventState {
    /// Installed as this version would write it (path of the binary and mode may differ), or called by a line
    /// or block in a file that we do not write.
    Current,
    /// Installed by another version. Installing again replaces it.
    Outdated,
    /// Called by a hook manager.
    Native(Manager),
    /// Installed, but disabled by `hook.codeweaver.enabled = false`.
    SwitchedOff,
    /// A hook that does not call us.
    Foreign,
    Missing,
}

/// A failure to inspect or change hooks.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("cannot start git: {source}")]
    GitNotStarted { source: io::Error },
    #[error("`git {command}` failed: {stderr}")]
    GitFailed { command: String, stderr: String },
    #[error("cannot parse the output of `git --version`: {text:?}")]
    UnknownVersion { text: String },
    #[error("hooks for every repository need git {}, this is git {found}", GitVersion::CONFIGURED_HOOKS)]
    GlobalNeedsNewerGit { found: GitVersion },
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot name {path:?} in a hook: the path must be absolute and without line breaks")]
    UnusableBinaryPath { path: PathBuf },
}

impl HookError {
    /// Returns one sentence on what the user can do.
    pub fn fix(&self) -> String {
        match self {
            HookError::GitNotStarted { .. } => "install git, or put it on the PATH".into(),
            HookError::GitFailed { stderr, .. } if stderr.contains("dubious ownership") => {
                "the repository belongs to another user; if you trust it, follow git's safe.directory advice"
                    .into()
            }
            HookError::GitFailed { stderr, .. } if stderr.contains("lock") => {
                "another process edits the configuration; try again, or remove a stale config.lock".into()
            }
            HookError::GitFailed { .. } | HookError::UnknownVersion { .. } => {
                "run the command by hand to see the problem, or use `git codeweaver init --no-hooks`".into()
            }

            HookError::GlobalNeedsNewerGit { .. } => {
                "update git, or run `git codeweaver init` in each repository".into()
            }
            HookError::Read { path, source } | HookError::Write { path, source } => {
                format!("{}, or use `git codeweaver init --no-hooks`", io_advice(source, path))
            }
            HookError::UnusableBinaryPath { .. } => {
                "move the program to an absolute path without line breaks".into()
            }
        }
    }
}
