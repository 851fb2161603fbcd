//! Survey of the state before an installation: version of git, hook directory, hooks, configuration, hook
//! managers.

use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;

use codeweaver_base::real_path;

use super::command::{ConfigEntry, Git};
use super::manager::{self, DetectedManager};
use super::script;
use super::{Event, GitVersion, HookError, HookFile, HookSite, Reason};

/// Name of our hook in the configuration (`hook.codeweaver.*`).
pub(super) const NAME: &str = "codeweaver";

/// Extension that pre-commit gives to an existing hook, which it then runs itself.
const LEGACY: &str = "legacy";

/// Location of the hook directory, which determines its users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HooksDirLocation {
    /// Inside the git directory: used by this repository only, and never tracked.
    Repository,
    /// Inside the worktree, where git ignores the hooks: as private as [`Self::Repository`].
    Ignored,
    /// Inside the worktree, and tracked or about to be: shared with the team.
    Worktree,
    /// Outside of the repository: other repositories may use it.
    Outside,
    /// Not a directory, such as `/dev/null`: the user has disabled hook files.
    Nowhere,
}

impl HooksDirLocation {
    /// Returns the reason why nothing is written to a directory at this location; `None` if hooks may be
    /// installed there.
    pub(super) fn reason_not_to_write(self) -> Option<Reason> {
        match self {
            HooksDirLocation::Repository | HooksDirLocation::Ignored => None,
            HooksDirLocation::Worktree => Some(Reason::InWorktree),
            HooksDirLocation::Outside => Some(Reason::SharedDir),
            HooksDirLocation::Nowhere => Some(Reason::NoDirectory),
        }
    }
}

/// The hook file of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedFile {
    pub event: Event,
    pub path: PathBuf,
    pub file: HookFile,
}

impl SurveyedFile {
    /// Returns whether git runs this hook and it contains the line that an [`Advice`](super::Advice) names.
    pub(super) fn has_advised_line(&self) -> bool {
        let call = format!("git-codeweaver hook {}", self.event.name());
        matches!(&self.file, HookFile::Regular { bytes, executable: true } if bytes.contains_str(call))
    }

    /// Returns whether this hook contains the advised line or our block.
    pub(super) fn calls_us(&self) -> bool {
        self.has_advised_line() || self.has_block()
    }

    /// Returns whether this hook contains our block.
    pub(super) fn has_block(&self) -> bool {
        matches!(&self.file, HookFile::Regular { bytes, .. } if matches!(script::find(bytes), Ok(Some(_))))
    }
}

/// The input of an installation plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSurvey {
    pub version: GitVersion,
    /// The hook directory that git reports; absolute.
    pub hooks_dir: PathBuf,
    pub hooks_dir_exists: bool,
    pub location: HooksDirLocation,
    /// One per event of the site, in the order of [`Event::ALL`].
    pub files: Vec<SurveyedFile>,
    /// Hooks that a manager has renamed: to `.legacy` (pre-commit, which still runs them) or to `.old`
    /// (lefthook, which does not).
    pub set_aside: Vec<SurveyedFile>,
    /// Values of `hook.codeweaver.*`, local and global.
    pub configured: Vec<ConfigEntry>,
    pub managers: Vec<DetectedManager>,
}

/// Takes a survey. Changes nothing and runs no program other than git.
///
/// # Errors
/// Git is missing or fails, or a hook cannot be read.
pub fn survey(site: &HookSite) -> Result<HookSurvey, HookError> {
    survey_with(&Git::default(), site)
}

/// As [`survey`], with this git.
pub(super) fn survey_with(git: &Git, site: &HookSite) -> Result<HookSurvey, HookError> {
    let hooks_dir = git.hooks_dir(site)?;
    let files = files_of(&hooks_dir, Event::for_site(site))?;

    Ok(HookSurvey {
        version: GitVersion::detect_with(git)?,
        hooks_dir_exists: hooks_dir.is_dir(),
        location: location_of(git, site, &hooks_dir),
        files,
        set_aside: set_aside_in(&hooks_dir)?,
        configured: git.hook_entries(site, NAME)?,
        managers: manager::detect(site.work_dir.as_deref(), &hooks_dir),
        hooks_dir,
    })
}

impl HookSurvey {
    /// Returns whether pre-commit has renamed our hook and runs it after its own.
    pub(super) fn is_run_by_pre_commit(&self, event: Event) -> bool {
        self.set_aside.iter().any(|surveyed| {
            surveyed.event == event
                && surveyed.path.extension().is_some_and(|extension| extension == LEGACY)
                && matches!(surveyed.file, HookFile::Regular { executable: true, .. })
                && surveyed.has_block()
        })
    }
}

/// Reads the hook files of `events` in `dir`, missing ones included.
pub(super) fn files_of(dir: &Path, events: &[Event]) -> Result<Vec<SurveyedFile>, HookError> {
    events.iter().map(|event| read_hook(*event, dir.join(event.name()))).collect()
}

/// Reads the renamed hooks that exist in `dir`.
pub(super) fn set_aside_in(dir: &Path) -> Result<Vec<SurveyedFile>, HookError> {
    let mut files = Vec::new();
    for event in Event::ALL {
        for suffix in [LEGACY, "old"] {
            files.push(read_hook(event, dir.join(event.name()).with_extension(suffix))?);
        }
    }

    files.retain(|surveyed| surveyed.file != HookFile::Missing);
    Ok(files)
}

fn read_hook(event: Event, path: PathBuf) -> Result<SurveyedFile, HookError> {
    HookFile::read(&path).map(|file| SurveyedFile { event, path, file })
}

/// Determines the location of a hook directory. Compares resolved paths, since `hooks` may be a link.
pub(super) fn location_of(git: &Git, site: &HookSite, hooks_dir: &Path) -> HooksDirLocation {
    let dir = resolved(hooks_dir);

    if dir.exists() && !dir.is_dir() {
        HooksDirLocation::Nowhere
    } else if dir.starts_with(resolved(&site.common_dir)) || dir.starts_with(resolved(&site.git_dir)) {
        HooksDirLocation::Repository
    } else if site.work_dir.as_ref().is_some_and(|root| dir.starts_with(resolved(root))) {
        let hooks = Event::for_site(site).iter().map(|event| dir.join(event.name())).collect::<Vec<_>>();
        if git.ignores(site, &hooks) { HooksDirLocation::Ignored } else { HooksDirLocation::Worktree }
    } else {
        HooksDirLocation::Outside
    }
}

/// Resolves links and `..` in `path`. If it does not exist, its nearest existing parent is resolved.
fn resolved(path: &Path) -> PathBuf {
    real_path::canonicalize(path).unwrap_or_else(|_| match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => resolved(parent).join(name),
        _ => path.to_owned(),
    })
}
