//! What is there before anything is changed: git's version, its hook directory, the hooks, the managers.

use std::path::{Path, PathBuf};

use super::command::{ConfigEntry, Git};
use super::manager::{self, Found};
use super::script;
use super::{Event, GitVersion, HookError, HookFile, HookSite};

/// Name of our hook in the configuration (`hook.codeweaver.*`).
pub(super) const NAME: &str = "codeweaver";

/// How pre-commit names a hook it found and goes on running.
const LEGACY: &str = "legacy";

/// Whose the hook directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Inside the git directory: this repository's alone and never tracked.
    Repository,
    /// Inside the worktree, so perhaps tracked and shared with the team.
    Worktree,
    /// Elsewhere: other repositories may use it.
    Outside,
    /// No directory at all, such as `/dev/null`: the user has switched hook files off.
    Nowhere,
}

/// One hook file git would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedFile {
    pub event: Event,
    pub path: PathBuf,
    pub file: HookFile,
}

/// All that a plan depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    pub version: GitVersion,
    /// As git reports it; absolute.
    pub hooks_dir: PathBuf,
    pub hooks_dir_exists: bool,
    pub place: Place,
    /// One per event, in the order of [`Event::ALL`].
    pub files: Vec<SurveyedFile>,
    /// Hooks that a manager has set aside under another name: `.legacy` (pre-commit, which still runs them) and
    /// `.old` (lefthook, which does not). Only those that exist.
    pub set_aside: Vec<SurveyedFile>,
    /// `hook.codeweaver.*`, local and global.
    pub configured: Vec<ConfigEntry>,
    pub managers: Vec<Found>,
}

/// Looks around; changes nothing and runs nothing but git.
///
/// # Errors
/// Git missing or failing, and hooks that cannot be read.
pub fn survey(site: &HookSite) -> Result<Surroundings, HookError> {
    survey_with(&Git::default(), site)
}

pub(super) fn survey_with(git: &Git, site: &HookSite) -> Result<Surroundings, HookError> {
    let hooks_dir = git.hooks_dir(site)?;
    let files = files_of(&hooks_dir)?;
    Ok(Surroundings {
        version: GitVersion::of(git)?,
        hooks_dir_exists: hooks_dir.is_dir(),
        place: place_of(site, &hooks_dir),
        files,
        set_aside: set_aside_in(&hooks_dir)?,
        configured: git.hook_entries(site, NAME)?,
        managers: manager::detect(site.work_dir.as_deref(), &hooks_dir),
        hooks_dir,
    })
}

impl Surroundings {
    /// True if pre-commit has set our hook aside and runs it after its own.
    pub(super) fn is_run_by_pre_commit(&self, event: Event) -> bool {
        self.set_aside.iter().any(|surveyed| {
            surveyed.event == event
                && surveyed.path.extension().is_some_and(|extension| extension == LEGACY)
                && matches!(&surveyed.file, HookFile::Regular { bytes, executable: true }
                    if matches!(script::find(bytes), Ok(Some(_))))
        })
    }
}

pub(super) fn files_of(dir: &Path) -> Result<Vec<SurveyedFile>, HookError> {
    Event::ALL.into_iter().map(|event| look(event, dir.join(event.name()))).collect()
}

pub(super) fn set_aside_in(dir: &Path) -> Result<Vec<SurveyedFile>, HookError> {
    let mut files = Vec::new();
    for event in Event::ALL {
        for suffix in [LEGACY, "old"] {
            files.push(look(event, dir.join(event.name()).with_extension(suffix))?);
        }
    }
    files.retain(|surveyed| surveyed.file != HookFile::Missing);
    Ok(files)
}

fn look(event: Event, path: PathBuf) -> Result<SurveyedFile, HookError> {
    HookFile::read(&path).map(|file| SurveyedFile { event, path, file })
}

/// Judges by resolved paths: a link named `hooks` may lead anywhere.
fn place_of(site: &HookSite, hooks_dir: &Path) -> Place {
    let dir = resolved(hooks_dir);
    if dir.exists() && !dir.is_dir() {
        Place::Nowhere
    } else if dir.starts_with(resolved(&site.common_dir)) || dir.starts_with(resolved(&site.git_dir)) {
        Place::Repository
    } else if site.work_dir.as_ref().is_some_and(|root| dir.starts_with(resolved(root))) {
        Place::Worktree
    } else {
        Place::Outside
    }
}

/// `path` without links and `..`; of a path that does not exist, its nearest existing parent is resolved.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => resolved(parent).join(name),
        _ => path.to_owned(),
    })
}
