//! Installation, removal and inspection of hooks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;

use super::command::{self, Git};
use super::plan::{Change, is_called_by, plan, plan_config_removal, plan_file_removal, values};
use super::script::{self, Rendering};
use super::survey::{self, HookSurvey, HooksDirLocation, SurveyedFile};
use super::{
    DetectedManager, Event, EventState, GitVersion, HookError, HookFile, HookMode, HookSite, InstallOptions,
    InstallReport, Manager, Method, Scope, file,
};

/// Changes of [`uninstall`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UninstallReport {
    /// Files that we had created and that were removed.
    pub removed: Vec<PathBuf>,
    /// Files of the user from which our block was removed. All other bytes are as before.
    pub restored: Vec<PathBuf>,
    /// Configuration files from which our keys were removed.
    pub scopes: Vec<Scope>,
    /// Files that were not changed because their block was edited by hand.
    pub damaged: Vec<PathBuf>,
    /// Files that call us and stay: our line was added to them by hand, or we do not write to their
    /// directory.
    pub kept: Vec<PathBuf>,
}

/// State of the hooks, for `status` and `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookStatus {
    pub git: GitVersion,
    /// The way in which the hooks are installed, or would be with this git.
    pub method: Method,
    /// One per event of the site, in the order of [`Event::ALL`].
    pub events: Vec<(Event, EventState)>,
    /// Location of git's hook directory.
    pub location: HooksDirLocation,
    pub managers: Vec<DetectedManager>,
    /// The program recorded in the hooks; `None` if they search `PATH`.
    pub recorded_binary: Option<PathBuf>,
    /// Whether the recorded program exists, or `PATH` has one.
    pub binary_found: bool,
}

impl HookStatus {
    /// Returns whether the hooks of all events call us.
    pub fn is_installed(&self) -> bool {
        self.events.iter().all(|(_, state)| {
            matches!(state, EventState::Current | EventState::Outdated | EventState::Native(_))
        })
    }
}

/// Installs the hooks, or updates an older installation. Idempotent.
///
/// Concurrent runs are safe: files are replaced atomically, and git locks its configuration.
///
/// # Errors
/// See [`HookError`]. Changes made before the error stay; a second run completes them.
pub fn install(site: &HookSite, options: &InstallOptions) -> Result<InstallReport, HookError> {
    install_with(&Git::default(), site, options)
}

/// As [`install`], with this git.
pub(super) fn install_with(
    git: &Git,
    site: &HookSite,
    options: &InstallOptions,
) -> Result<InstallReport, HookError> {
    let survey = survey::survey_with(git, site)?;
    let plan = plan(site, &survey, options)?;

    if survey.location.reason_not_to_write().is_none() {
        file::remove_left_over(&survey.hooks_dir)?;
    }

    for change in &plan.changes {
        apply(git, site, change)?;
    }
    Ok(plan.report)
}

/// Removes the hooks: files and configuration are then as before the installation.
///
/// Covers the hook directory that git uses now and that of the repository, whichever version of git installed
/// the hooks. Covers the configuration of the user only if `global`.
///
/// # Errors
/// See [`HookError`].
pub fn uninstall(site: &HookSite, global: bool) -> Result<UninstallReport, HookError> {
    uninstall_with(&Git::default(), site, global)
}

/// As [`uninstall`], with this git.
pub(super) fn uninstall_with(git: &Git, site: &HookSite, global: bool) -> Result<UninstallReport, HookError> {
    let survey = survey::survey_with(git, site)?;
    let mut changes = Vec::new();
    let mut report = UninstallReport::default();

    for scope in [Scope::Local, Scope::Global] {
        if scope == Scope::Local || global {
            let removal = plan_config_removal(&survey, scope);
            report.scopes.extend((!removal.is_empty()).then_some(scope));
            changes.extend(removal);
        }
    }

    for dir in BTreeSet::from([survey.hooks_dir.clone(), site.common_dir.join("hooks")]) {
        let mut files = survey::files_of(&dir, &Event::ALL)?;
        files.extend(survey::set_aside_in(&dir)?);

        let is_written = survey::location_of(git, site, &dir).reason_not_to_write().is_none();
        for file in &files {
            // A block in a written file is removed below. Where nothing is written, every call stays.
            let is_kept = match is_written {
                true => file.has_advised_line() && !file.has_block(),
                false => file.calls_us(),
            };
            if is_kept {
                report.kept.push(file.path.clone());
            }
        }
        if !is_written {
            continue;
        }
        file::remove_left_over(&dir)?;
        report.damaged.extend(files.iter().filter(|file| is_damaged(file)).map(|file| file.path.clone()));
        changes.extend(plan_file_removal(&files));
    }

    for change in &changes {
        apply(git, site, change)?;
        match change {
            Change::RemoveFile(path) => report.removed.push(path.clone()),
            Change::WriteFile { path, .. } => report.restored.push(path.clone()),
            _ => {}
        }
    }

    Ok(report)
}

/// Reports the state of the hooks without changing anything. Searches `PATH` for the program if no hook
/// records one.
///
/// # Errors
/// See [`HookError`].
pub fn inspect(site: &HookSite) -> Result<HookStatus, HookError> {
    inspect_with(&Git::default(), site)
}

/// As [`inspect`], with this git.
pub(super) fn inspect_with(git: &Git, site: &HookSite) -> Result<HookStatus, HookError> {
    let survey = survey::survey_with(git, site)?;
    let scope = [Scope::Local, Scope::Global]
        .into_iter()
        .find(|scope| survey.version.has_configured_hooks() && !values(&survey, *scope, "event").is_empty());

    let commands = scope.map(|scope| values(&survey, scope, "command")).unwrap_or_default();
    let command = commands.last().map(|value| value.as_bytes());
    let mut recorded = command.and_then(script::recorded_binary);

    let mut events = Vec::new();
    for surveyed in &survey.files {
        let state = match (scope, command) {
            (Some(_), _) if is_switched_off(&survey) => EventState::SwitchedOff,
            (Some(scope), Some(command)) if has_event(&survey, scope, surveyed.event) => {
                if renderings(recorded.as_deref())?.iter().any(|rendering| rendering.command() == command) {
                    EventState::Current
                } else {
                    EventState::Outdated
                }
            }
            _ => {
                let state = state_of_file(surveyed, &survey)?;
                if let (HookFile::Regular { bytes, .. }, EventState::Current | EventState::Outdated) =
                    (&surveyed.file, state)
                {
                    recorded = recorded.or_else(|| script::recorded_binary(bytes));
                }
                state
            }
        };
        events.push((surveyed.event, state));
    }

    let default_scope = survey.version.has_configured_hooks().then_some(Scope::Local);
    let method = match scope.or(default_scope) {
        Some(scope) => Method::Configuration(scope),
        None => Method::Files(survey.hooks_dir.clone()),
    };

    let binary_found = recorded.as_deref().is_some_and(command::is_program)
        || command::is_on_path("git-codeweaver", std::env::var_os("PATH").as_deref());
    Ok(HookStatus {
        git: survey.version,
        method,
        events,
        location: survey.location,
        managers: survey.managers,
        recorded_binary: recorded,
        binary_found,
    })
}

/// Returns the state of a hook that is not configured.
fn state_of_file(surveyed: &SurveyedFile, survey: &HookSurvey) -> Result<EventState, HookError> {
    let managers = [Manager::Husky, Manager::Lefthook, Manager::PreCommit];
    let native = managers.into_iter().find(|manager| is_called_by(survey, *manager, surveyed.event));

    let (bytes, executable) = match (&surveyed.file, native) {
        (HookFile::Regular { bytes, executable }, _) => (bytes, *executable),
        (_, Some(manager)) => return Ok(EventState::Native(manager)),
        (HookFile::Missing, None) => return Ok(EventState::Missing),
        (_, None) => return Ok(EventState::Foreign),
    };

    let is_ours = executable && matches!(script::find(bytes), Ok(Some(_)));
    if !is_ours {
        return Ok(match native {
            Some(manager) => EventState::Native(manager),
            None if surveyed.has_advised_line() => EventState::Current,
            None => EventState::Foreign,
        });
    }
    // A file that we do not write cannot be brought up to date either.
    if survey.location.reason_not_to_write().is_some() {
        return Ok(EventState::Current);
    }

    let recorded = script::recorded_binary(bytes);
    let is_current = renderings(recorded.as_deref())?
        .iter()
        .any(|rendering| rendering.insert(surveyed.event, bytes).is_ok_and(|new| new == *bytes));
    Ok(if is_current { EventState::Current } else { EventState::Outdated })
}

/// Returns the scripts that this version would write for the recorded program, in either mode.
fn renderings(recorded: Option<&Path>) -> Result<[Rendering; 2], HookError> {
    let recorded = recorded.filter(|path| path.is_absolute());
    Ok([Rendering::new(recorded, HookMode::Background)?, Rendering::new(recorded, HookMode::Foreground)?])
}

/// Returns whether the user has set `hook.codeweaver.enabled = false`. The last value counts.
fn is_switched_off(survey: &HookSurvey) -> bool {
    let last =
        [Scope::Global, Scope::Local].into_iter().flat_map(|scope| values(survey, scope, "enabled")).last();
    last.is_some_and(|value| {
        ["false", "no", "off", "0"].iter().any(|off| value.eq_ignore_ascii_case(off.as_bytes()))
    })
}

fn has_event(survey: &HookSurvey, scope: Scope, event: Event) -> bool {
    values(survey, scope, "event").iter().any(|value| *value == event.name())
}

fn is_damaged(surveyed: &SurveyedFile) -> bool {
    matches!(&surveyed.file, HookFile::Regular { bytes, .. } if script::find(bytes).is_err())
}

/// Applies one change of a plan.
pub(super) fn apply(git: &Git, site: &HookSite, change: &Change) -> Result<(), HookError> {
    match change {
        Change::CreateDir(dir) => {
            fs::create_dir_all(dir).map_err(|source| HookError::Write { path: dir.clone(), source })
        }
        Change::WriteFile { path, bytes } => file::replace(path, bytes),
        Change::RemoveFile(path) => file::remove(path),
        Change::RemoveDirIfEmpty(dir) => {
            // Fails if the directory contains other files, which stay.
            let _ = fs::remove_dir(dir);
            Ok(())
        }

        Change::SetConfig { scope, key, value } => git.set(site, *scope, key, &value.to_os_str_lossy()),
        Change::AddConfig { scope, key, value } => git.add(site, *scope, key, value),
        Change::UnsetConfig { scope, key, value } => git.unset(site, *scope, key, *value),
    }
}
