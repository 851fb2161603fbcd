//! Deciding what to change; no input or output happens here.

use std::path::PathBuf;

use gix::bstr::BString;

use super::manager::{Advice, Found, Manager, plain_line};
use super::script::{self, Origin, Rendering};
use super::survey::{NAME, Place, Surroundings, SurveyedFile};
use super::{
    Event, HookError, HookFile, HookSite, InstallOptions, InstallReport, Method, Outcome, Reason, Scope,
};

/// One write, to be done in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    CreateDir(PathBuf),
    /// Replaces or creates a hook file.
    WriteFile {
        path: PathBuf,
        bytes: BString,
    },
    RemoveFile(PathBuf),
    RemoveDirIfEmpty(PathBuf),
    /// Sets a key to a single value.
    SetConfig {
        scope: Scope,
        key: String,
        value: BString,
    },
    AddConfig {
        scope: Scope,
        key: String,
        value: &'static str,
    },
    /// Removes one value of a key, or all of them.
    UnsetConfig {
        scope: Scope,
        key: String,
        value: Option<&'static str>,
    },
}

/// The changes, and the report that holds once they are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallPlan {
    pub changes: Vec<Change>,
    pub report: InstallReport,
}

/// Plans an installation. Planning again after applying yields no changes.
///
/// With git ≥ 2.54: the command first, then the events, because git refuses to run anything for an event whose hook
/// has no command; then blocks left in hook files by an earlier installation go, or they would run twice.
///
/// The semantics relied on (git 2.54 and 2.55: `Documentation/config/hook.adoc`, `hook.c`; the same in 2.55.GIT
/// 1a3e64c, against which the tests were also run): `event` is multi-valued, `command` is a shell line of which the
/// last value counts, the event's arguments are appended and its name is not told; configured hooks run in addition
/// to, and before, the hook file. From 2.55, hooks of an event may run in parallel if all of them are marked
/// `parallel`, so ours is, not to hold up others; older git ignores the key.
///
/// # Errors
/// [`HookError::GlobalNeedsNewerGit`], [`HookError::UnusableBinaryPath`].
pub fn plan(
    site: &HookSite,
    seen: &Surroundings,
    options: &InstallOptions,
) -> Result<InstallPlan, HookError> {
    if seen.version.has_configured_hooks() {
        return plan_configuration(seen, options);
    }
    if options.global {
        return Err(HookError::GlobalNeedsNewerGit { found: seen.version });
    }
    plan_files(site, seen, options)
}

fn plan_configuration(seen: &Surroundings, options: &InstallOptions) -> Result<InstallPlan, HookError> {
    let scope = if options.global { Scope::Global } else { Scope::Local };
    let command = Rendering::new(Some(&options.binary), options.mode)?.command();
    let mut changes = Vec::new();
    let existing = values(seen, scope, "command");
    let outcome = match existing.as_slice() {
        [] => Outcome::Created,
        [only] if *only == &command => Outcome::Unchanged,
        _ => Outcome::Updated,
    };
    if outcome != Outcome::Unchanged {
        changes.push(Change::SetConfig { scope, key: key("command"), value: command });
    }
    if values(seen, scope, "parallel").is_empty() {
        changes.push(Change::SetConfig { scope, key: key("parallel"), value: "true".into() });
    }
    let present = values(seen, scope, "event");
    let mut events = Vec::new();
    for event in Event::ALL {
        let is_new = !present.iter().any(|value| *value == event.name());
        if is_new {
            changes.push(Change::AddConfig { scope, key: key("event"), value: event.name() });
        }
        events.push((event, if is_new { Outcome::Created } else { outcome.clone() }));
    }
    changes.extend(plan_file_removal(seen.files.iter().chain(&seen.set_aside)));
    let report = InstallReport {
        git: seen.version,
        method: Method::Configuration(scope),
        events,
        advice: Vec::new(),
        in_worktree: false,
    };
    Ok(InstallPlan { changes, report })
}

fn plan_files(
    site: &HookSite,
    seen: &Surroundings,
    options: &InstallOptions,
) -> Result<InstallPlan, HookError> {
    let in_worktree = seen.place == Place::Worktree;
    // A script in the worktree may be committed, and this machine's paths mean nothing elsewhere.
    let binary = (!in_worktree).then_some(options.binary.as_path());
    let rendering = Rendering::new(binary, options.mode)?;
    let origin = if seen.hooks_dir_exists { Origin::MadeFile } else { Origin::MadeDir };
    let owner = seen.managers.iter().find(|found| found.manager.owns_dir(&seen.hooks_dir));

    let mut writes = Vec::new();
    let mut events = Vec::new();
    for surveyed in &seen.files {
        let decided = match owner {
            Some(found) => Err(Reason::Managed(found.manager)),
            None if seen.place == Place::Nowhere => Err(Reason::NoDirectory),
            None if seen.place == Place::Outside && !options.shared_dir => Err(Reason::SharedDir),
            None => decide_file(surveyed, &rendering, origin),
        };
        let outcome = match decided {
            Ok((outcome, None)) => outcome,
            Ok((outcome, Some(bytes))) => {
                writes.push(Change::WriteFile { path: surveyed.path.clone(), bytes });
                outcome
            }
            Err(Reason::Managed(manager)) if is_called_by(seen, manager, surveyed.event) => {
                Outcome::Native(manager)
            }
            Err(reason) => Outcome::Advised(reason),
        };
        events.push((surveyed.event, outcome));
    }
    let advice = advise(site, seen, &events);
    let mut changes = Vec::new();
    if !seen.hooks_dir_exists && !writes.is_empty() {
        changes.push(Change::CreateDir(seen.hooks_dir.clone()));
    }
    changes.extend(writes);
    let method = Method::Files(seen.hooks_dir.clone());
    Ok(InstallPlan {
        changes,
        report: InstallReport { git: seen.version, method, events, advice, in_worktree },
    })
}

/// What to write for one event, or why nothing may be written.
fn decide_file(
    surveyed: &SurveyedFile,
    rendering: &Rendering,
    origin: Origin,
) -> Result<(Outcome, Option<BString>), Reason> {
    let (bytes, executable) = match &surveyed.file {
        HookFile::Missing => return Ok((Outcome::Created, Some(rendering.file(surveyed.event, origin)))),
        HookFile::Link => return Err(Reason::Link),
        HookFile::Other => return Err(Reason::NotAFile),
        HookFile::Regular { bytes, executable } => (bytes, *executable),
    };
    let block = script::find(bytes).map_err(|_| Reason::Damaged)?;
    if block.is_none() {
        if let Some(manager) = Manager::of_script(bytes) {
            return Err(Reason::Managed(manager));
        }
        if !script::is_shell_script(bytes) {
            return Err(Reason::NotShell);
        }
    }
    if !executable {
        // Making it executable would also switch on whatever the user has switched off.
        return Err(Reason::NotExecutable);
    }
    let with = rendering.insert(surveyed.event, bytes).map_err(|_| Reason::Damaged)?;
    Ok(match block {
        _ if with == *bytes => (Outcome::Unchanged, None),
        Some(_) => (Outcome::Updated, Some(with)),
        None => (Outcome::Chained, Some(with)),
    })
}

/// Native entries for managers, the plain line for everything else that we left alone.
fn advise(site: &HookSite, seen: &Surroundings, events: &[(Event, Outcome)]) -> Vec<Advice> {
    let mut advice = Vec::new();
    for found in &seen.managers {
        let missing = |event: &Event| !found.manager.has_entry(&found.file, *event);
        let needed = |outcome: &Outcome| *outcome == Outcome::Advised(Reason::Managed(found.manager));
        let (required, optional): (Vec<_>, Vec<_>) =
            events.iter().filter(|(event, _)| missing(event)).partition(|(_, outcome)| needed(outcome));
        for (part, is_optional) in [(required, false), (optional, true)] {
            let part: Vec<Event> = part.into_iter().map(|(event, _)| *event).collect();
            advice.extend(found.manager.advice(&found.file, &part, is_optional));
        }
    }
    for ((event, outcome), surveyed) in events.iter().zip(&seen.files) {
        let is_covered = match outcome {
            // Its script is there, but its configuration is not: all we can name is the place it would be.
            Outcome::Advised(Reason::Managed(manager)) => seen.managers.iter().any(|f| f.manager == *manager),
            Outcome::Advised(reason) => *reason == Reason::NoDirectory, // no file to name
            _ => true,
        };
        if !is_covered {
            let file = surveyed.path.strip_prefix(site.root()).map_or(surveyed.path.clone(), PathBuf::from);
            let text = plain_line(*event);
            advice.push(Advice { manager: None, file, text, then: None, optional: false });
        }
    }
    advice
}

pub(super) fn is_called_by(seen: &Surroundings, manager: Manager, event: Event) -> bool {
    let is_entry = |found: &&Found| found.manager == manager && manager.has_entry(&found.file, event);
    let is_legacy = manager == Manager::PreCommit && seen.is_run_by_pre_commit(event);
    is_legacy || seen.managers.iter().any(|found| is_entry(&found))
}

/// Takes our blocks out of these files; leaves files with none, or with a damaged one.
pub(super) fn plan_file_removal<'a>(files: impl IntoIterator<Item = &'a SurveyedFile>) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut made_dir = None;
    for surveyed in files {
        let HookFile::Regular { bytes, .. } = &surveyed.file else { continue };
        let Ok(Some(block)) = script::find(bytes) else { continue };
        changes.push(match script::without(bytes, block) {
            Some(rest) => Change::WriteFile { path: surveyed.path.clone(), bytes: rest },
            None => Change::RemoveFile(surveyed.path.clone()),
        });
        if block.origin == Origin::MadeDir {
            made_dir = surveyed.path.parent();
        }
    }
    changes.extend(made_dir.map(|dir| Change::RemoveDirIfEmpty(dir.to_owned())));
    changes
}

/// Takes our keys out of one configuration file: the events first (an event without a command is an error to git),
/// then, if none that the user added is left, the command. Keys we do not set stay.
pub(super) fn plan_config_removal(seen: &Surroundings, scope: Scope) -> Vec<Change> {
    let mut changes = Vec::new();
    let present = values(seen, scope, "event");
    let mut n_other = present.len();
    for event in Event::ALL {
        let n_ours = present.iter().filter(|value| **value == event.name()).count();
        n_other -= n_ours;
        if n_ours > 0 {
            changes.push(Change::UnsetConfig { scope, key: key("event"), value: Some(event.name()) });
        }
    }
    for name in ["parallel", "command"] {
        if n_other == 0 && !values(seen, scope, name).is_empty() {
            changes.push(Change::UnsetConfig { scope, key: key(name), value: None });
        }
    }
    changes
}

pub(super) fn values<'a>(seen: &'a Surroundings, scope: Scope, name: &str) -> Vec<&'a BString> {
    let key = key(name);
    seen.configured.iter().filter(|e| e.scope == scope && e.key == key).map(|e| &e.value).collect()
}

fn key(name: &str) -> String {
    format!("hook.{NAME}.{name}")
}
