//! Carrying out plans, and reporting the state.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;

use super::command::{self, Git};
use super::plan::{Change, is_called_by, plan, plan_config_removal, plan_file_removal, values};
use super::script::{self, Rendering};
use super::survey::{self, Surroundings, SurveyedFile};
use super::{
    Event, EventState, Found, GitVersion, HookError, HookFile, HookMode, HookSite, InstallOptions,
    InstallReport, Manager, Method, Scope, file,
};

/// What `uninstall` changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UninstallReport {
    /// Files that were ours and are gone.
    pub removed: Vec<PathBuf>,
    /// Files of the user's, byte for byte as they were before us.
    pub restored: Vec<PathBuf>,
    /// Configuration files our keys were taken from.
    pub scopes: Vec<Scope>,
    /// Files with a block that was edited by hand and therefore left.
    pub damaged: Vec<PathBuf>,
}

/// State of the hooks, for `status` and `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookStatus {
    pub git: GitVersion,
    /// How this git would be, or is, told about us.
    pub method: Method,
    /// One per event, in the order of [`Event::ALL`].
    pub events: Vec<(Event, EventState)>,
    pub managers: Vec<Found>,
    /// The program recorded in the hooks; `None` if they leave it to the path.
    pub recorded_binary: Option<PathBuf>,
    /// The recorded program exists, or the path has one.
    pub binary_found: bool,
}

impl HookStatus {
    /// True if every event reaches us.
    pub fn is_installed(&self) -> bool {
        let reaches = |state: &EventState| {
            matches!(state, EventState::Current | EventState::Outdated | EventState::Native(_))
        };
        self.events.iter().all(|(_, state)| reaches(state))
    }
}

/// Installs the hooks. Doing it again changes nothing; an older installation is updated.
///
/// Two runs at once are safe: files are replaced as a whole, and git locks its configuration.
///
/// # Errors
/// See [`HookError`]; what was written before the error stays, and a second run completes it.
pub fn install(site: &HookSite, options: &InstallOptions) -> Result<InstallReport, HookError> {
    install_with(&Git::default(), site, options)
}

pub(super) fn install_with(
    git: &Git,
    site: &HookSite,
    options: &InstallOptions,
) -> Result<InstallReport, HookError> {
    let seen = survey::survey_with(git, site)?;
    let plan = plan(site, &seen, options)?;
    for change in &plan.changes {
        apply(git, site, change)?;
    }
    Ok(plan.report)
}

/// Takes the hooks out: files and configuration are as they were before the installation.
///
/// Looks where git looks now and in the repository's own hook directory, whichever git installed them; in the user's
/// configuration only if `global`.
///
/// # Errors
/// See [`HookError`].
pub fn uninstall(site: &HookSite, global: bool) -> Result<UninstallReport, HookError> {
    uninstall_with(&Git::default(), site, global)
}

pub(super) fn uninstall_with(git: &Git, site: &HookSite, global: bool) -> Result<UninstallReport, HookError> {
    let seen = survey::survey_with(git, site)?;
    let mut changes = Vec::new();
    let mut report = UninstallReport::default();
    for scope in [Scope::Local, Scope::Global] {
        if scope == Scope::Local || global {
            let removal = plan_config_removal(&seen, scope);
            report.scopes.extend((!removal.is_empty()).then_some(scope));
            changes.extend(removal);
        }
    }
    for dir in BTreeSet::from([seen.hooks_dir.clone(), site.common_dir.join("hooks")]) {
        let mut files = survey::files_of(&dir)?;
        files.extend(survey::set_aside_in(&dir)?);
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

/// Reports the state without changing anything. Looks for the program on `PATH` if no hook records one.
///
/// # Errors
/// See [`HookError`].
pub fn inspect(site: &HookSite) -> Result<HookStatus, HookError> {
    inspect_with(&Git::default(), site)
}

pub(super) fn inspect_with(git: &Git, site: &HookSite) -> Result<HookStatus, HookError> {
    let seen = survey::survey_with(git, site)?;
    let scope = [Scope::Local, Scope::Global]
        .into_iter()
        .find(|scope| seen.version.has_configured_hooks() && !values(&seen, *scope, "event").is_empty());
    let commands = scope.map(|scope| values(&seen, scope, "command")).unwrap_or_default();
    let command = commands.last().map(|value| value.as_bytes());
    let mut recorded = command.and_then(script::recorded_binary);
    let mut events = Vec::new();
    for surveyed in &seen.files {
        let state = match (scope, command) {
            (Some(_), _) if is_switched_off(&seen) => EventState::SwitchedOff,
            (Some(scope), Some(command)) if has_event(&seen, scope, surveyed.event) => {
                let is_current = |rendering: &Rendering| rendering.command() == command;
                if renderings(recorded.as_deref())?.iter().any(is_current) {
                    EventState::Current
                } else {
                    EventState::Outdated
                }
            }
            _ => {
                let state = state_of_file(surveyed, &seen)?;
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
    let default_scope = seen.version.has_configured_hooks().then_some(Scope::Local);
    let method = match scope.or(default_scope) {
        Some(scope) => Method::Configuration(scope),
        None => Method::Files(seen.hooks_dir.clone()),
    };
    let binary_found = recorded.as_deref().is_some_and(command::is_program)
        || command::is_on_path("git-codeweaver", std::env::var_os("PATH").as_deref());
    let managers = seen.managers;
    Ok(HookStatus { git: seen.version, method, events, managers, recorded_binary: recorded, binary_found })
}

fn state_of_file(surveyed: &SurveyedFile, seen: &Surroundings) -> Result<EventState, HookError> {
    let managers = [Manager::Husky, Manager::Lefthook, Manager::PreCommit];
    let native = managers.into_iter().find(|manager| is_called_by(seen, *manager, surveyed.event));
    let (bytes, executable) = match (&surveyed.file, native) {
        (HookFile::Regular { bytes, executable }, _) => (bytes, *executable),
        (_, Some(manager)) => return Ok(EventState::Native(manager)),
        (HookFile::Missing, None) => return Ok(EventState::Missing),
        (_, None) => return Ok(EventState::Foreign),
    };
    let is_ours = executable && matches!(script::find(bytes), Ok(Some(_)));
    if !is_ours {
        let called = bytes.contains_str(format!("git-codeweaver hook {}", surveyed.event.name()));
        return Ok(match native {
            Some(manager) => EventState::Native(manager),
            None if called && executable => EventState::Current, // the line we advised, added by hand
            None => EventState::Foreign,
        });
    }
    let is_same =
        |rendering: &Rendering| rendering.insert(surveyed.event, bytes).is_ok_and(|new| new == *bytes);
    let recorded = script::recorded_binary(bytes);
    Ok(if renderings(recorded.as_deref())?.iter().any(is_same) {
        EventState::Current
    } else {
        EventState::Outdated
    })
}

/// What this version would write for the same program, in either mode.
fn renderings(recorded: Option<&Path>) -> Result<[Rendering; 2], HookError> {
    let recorded = recorded.filter(|path| path.is_absolute());
    Ok([Rendering::new(recorded, HookMode::Background)?, Rendering::new(recorded, HookMode::Foreground)?])
}

/// The user's own `hook.codeweaver.enabled = false`; the last value counts.
fn is_switched_off(seen: &Surroundings) -> bool {
    let last =
        [Scope::Global, Scope::Local].into_iter().flat_map(|scope| values(seen, scope, "enabled")).last();
    last.is_some_and(|value| {
        ["false", "no", "off", "0"].iter().any(|off| value.eq_ignore_ascii_case(off.as_bytes()))
    })
}

fn has_event(seen: &Surroundings, scope: Scope, event: Event) -> bool {
    values(seen, scope, "event").iter().any(|value| *value == event.name())
}

fn is_damaged(surveyed: &SurveyedFile) -> bool {
    matches!(&surveyed.file, HookFile::Regular { bytes, .. } if script::find(bytes).is_err())
}

pub(super) fn apply(git: &Git, site: &HookSite, change: &Change) -> Result<(), HookError> {
    match change {
        Change::CreateDir(dir) => {
            fs::create_dir_all(dir).map_err(|source| HookError::Write { path: dir.clone(), source })
        }
        Change::WriteFile { path, bytes } => file::replace(path, bytes),
        Change::RemoveFile(path) => file::remove(path),
        Change::RemoveDirIfEmpty(dir) => {
            let _ = fs::remove_dir(dir); // not empty: somebody else's files are in it by now
            Ok(())
        }
        Change::SetConfig { scope, key, value } => git.set(site, *scope, key, &value.to_os_str_lossy()),
        Change::AddConfig { scope, key, value } => git.add(site, *scope, key, value),
        Change::UnsetConfig { scope, key, value } => git.unset(site, *scope, key, *value),
    }
}
