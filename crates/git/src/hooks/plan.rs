//! Installation plans: the changes for a survey of the hooks. Pure functions.

use std::path::{Path, PathBuf};

use gix::bstr::BString;

use super::manager::{Advice, Manager, foreign_line, plain_line};
use super::script::{self, Origin, Rendering};
use super::survey::{HookSurvey, NAME, SurveyedFile};
use super::{
    Event, HookError, HookFile, HookSite, InstallOptions, InstallReport, Method, Outcome, Reason, Scope,
};

/// One change to a file or the configuration.
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

/// Changes in the order in which they must be applied, and the report of the installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallPlan {
    pub changes: Vec<Change>,
    pub report: InstallReport,
}

/// Plans an installation. Planning again after applying yields no changes.
///
/// With git 2.54 or later, the plan sets the command before the events, because git fails for an event whose
/// hook has no command. Then it removes blocks of an earlier installation from hook files, which would run in
/// addition.
///
/// Semantics of configured hooks (git 2.54 and 2.55: `Documentation/config/hook.adoc`, `hook.c`; the same in
/// 2.55.GIT 1a3e64c):
///
/// * `event` is multi-valued.
/// * `command` is a shell line. The last value counts. The arguments of the event are appended; its name is
///   not passed.
/// * Configured hooks run before the hook file, which runs too.
/// * From 2.55 on, the hooks of an event run in parallel if all of them are marked `parallel`. Ours is, so
///   that it does not delay others. Older git ignores the key.
///
/// # Errors
/// [`HookError::GlobalNeedsNewerGit`], [`HookError::UnusableBinaryPath`].
pub fn plan(
    site: &HookSite,
    survey: &HookSurvey,
    options: &InstallOptions,
) -> Result<InstallPlan, HookError> {
    if survey.version.has_configured_hooks() {
        return plan_configuration(site, survey, options);
    }

    // Older git has no hooks in the configuration, so those of the user cannot be installed.
    if options.global {
        return Err(HookError::GlobalNeedsNewerGit { found: survey.version });
    }

    plan_files(site, survey, options)
}

/// Plans an installation in the configuration.
fn plan_configuration(
    site: &HookSite,
    survey: &HookSurvey,
    options: &InstallOptions,
) -> Result<InstallPlan, HookError> {
    let scope = if options.global { Scope::Global } else { Scope::Local };
    let command = Rendering::new(Some(&options.binary), options.mode)?.command();

    let mut changes = Vec::new();
    let existing = values(survey, scope, "command");
    let outcome = match existing.as_slice() {
        [] => Outcome::Created,
        [only] if *only == &command => Outcome::Unchanged,
        _ => Outcome::Updated,
    };

    if outcome != Outcome::Unchanged {
        changes.push(Change::SetConfig { scope, key: key("command"), value: command });
    }
    if values(survey, scope, "parallel").is_empty() {
        changes.push(Change::SetConfig { scope, key: key("parallel"), value: "true".into() });
    }

    let present = values(survey, scope, "event");
    let mut events = Vec::new();
    // The hooks of the user serve bare repositories too.
    let wanted = if options.global { &Event::ALL } else { Event::for_site(site) };

    for &event in wanted {
        let is_new = !present.iter().any(|value| *value == event.name());
        if is_new {
            changes.push(Change::AddConfig { scope, key: key("event"), value: event.name() });
        }
        events.push((event, if is_new { Outcome::Created } else { outcome.clone() }));
    }

    // Blocks of an earlier installation would run in addition to the configured hooks.
    if survey.location.reason_not_to_write().is_none() {
        changes.extend(plan_file_removal(survey.files.iter().chain(&survey.set_aside)));
    }

    let report = InstallReport {
        git: survey.version,
        method: Method::Configuration(scope),
        events,
        advice: Vec::new(),
    };
    Ok(InstallPlan { changes, report })
}

/// Plans an installation in hook files.
fn plan_files(
    site: &HookSite,
    survey: &HookSurvey,
    options: &InstallOptions,
) -> Result<InstallPlan, HookError> {
    let rendering = Rendering::new(Some(&options.binary), options.mode)?;
    let origin = if survey.hooks_dir_exists { Origin::CreatedFile } else { Origin::CreatedDir };
    let owner = survey.managers.iter().find(|found| found.manager.owns_dir(&survey.hooks_dir));

    let mut writes = Vec::new();
    let mut events = Vec::new();
    for surveyed in &survey.files {
        let decided = match owner {
            Some(found) => Err(Reason::Managed(found.manager)),
            None if surveyed.has_advised_line() => Ok((Outcome::Unchanged, None)),
            None => match survey.location.reason_not_to_write() {
                Some(reason) => decide_unwritten_file(surveyed, reason),
                None => decide_file(surveyed, &rendering, origin),
            },
        };

        let outcome = match decided {
            Ok((outcome, None)) => outcome,
            Ok((outcome, Some(bytes))) => {
                writes.push(Change::WriteFile { path: surveyed.path.clone(), bytes });
                outcome
            }
            Err(Reason::Managed(manager)) if is_called_by(survey, manager, surveyed.event) => {
                Outcome::Native(manager)
            }
            Err(reason) => Outcome::Advised(reason),
        };
        events.push((surveyed.event, outcome));
    }

    let advice = advise(site, survey, &events);
    let mut changes = Vec::new();
    if !survey.hooks_dir_exists && !writes.is_empty() {
        changes.push(Change::CreateDir(survey.hooks_dir.clone()));
    }
    changes.extend(writes);
    let method = Method::Files(survey.hooks_dir.clone());
    Ok(InstallPlan { changes, report: InstallReport { git: survey.version, method, events, advice } })
}

/// Decides on one event in a directory that is not written, for this reason.
fn decide_unwritten_file(
    surveyed: &SurveyedFile,
    reason: Reason,
) -> Result<(Outcome, Option<BString>), Reason> {
    let HookFile::Regular { bytes, executable } = &surveyed.file else { return Err(reason) };
    match Manager::from_script(bytes) {
        _ if *executable && matches!(script::find(bytes), Ok(Some(_))) => Ok((Outcome::Unchanged, None)),
        Some(manager) => Err(Reason::Managed(manager)),
        None => Err(reason),
    }
}

/// Decides on one event: the outcome with the bytes to write, or the reason why nothing may be written.
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
        if let Some(manager) = Manager::from_script(bytes) {
            return Err(Reason::Managed(manager));
        }
        if !script::is_shell_script(bytes) {
            return Err(Reason::NotShell);
        }
    }

    if !executable {
        // Making it executable would enable other parts of a hook that the user has disabled.
        return Err(Reason::NotExecutable);
    }

    let with = rendering.insert(surveyed.event, bytes).map_err(|_| Reason::Damaged)?;
    Ok(match block {
        _ if with == *bytes => (Outcome::Unchanged, None),
        Some(_) => (Outcome::Updated, Some(with)),
        None => (Outcome::Chained, Some(with)),
    })
}

/// Lists the lines to add by hand: entries for hook managers, and the plain line for other hooks that were
/// not changed.
fn advise(site: &HookSite, survey: &HookSurvey, events: &[(Event, Outcome)]) -> Vec<Advice> {
    let mut advice = Vec::new();
    for found in &survey.managers {
        // An entry is required where the manager's hook stays as it is. Elsewhere it serves the rest of the
        // team.
        let unchanged = Outcome::Advised(Reason::Managed(found.manager));
        let (required, optional): (Vec<_>, Vec<_>) = events
            .iter()
            .filter(|(event, _)| !found.manager.has_entry(&found.file, *event))
            .partition(|(_, outcome)| *outcome == unchanged);
        for (part, is_optional) in [(required, false), (optional, true)] {
            let part: Vec<Event> = part.into_iter().map(|(event, _)| *event).collect();
            advice.extend(found.manager.advice(&found.file, &part, is_optional));
        }
    }

    for ((event, outcome), surveyed) in events.iter().zip(&survey.files) {
        let is_covered = match outcome {
            // The script of a manager whose configuration is missing gets the plain line.
            Outcome::Advised(Reason::Managed(manager)) => {
                survey.managers.iter().any(|f| f.manager == *manager)
            }
            // There is no file to name.
            Outcome::Advised(reason) => *reason == Reason::NoDirectory,
            _ => true,
        };
        if is_covered {
            continue;
        }

        let file = surveyed.path.strip_prefix(site.root()).map_or(surveyed.path.clone(), PathBuf::from);
        advice.push(advise_file(file, *event, outcome, &surveyed.file));
    }

    advice
}

/// The lines to add to a hook by hand, in its language. A hook in a language that is not known is called by a
/// new one.
fn advise_file(file: PathBuf, event: Event, outcome: &Outcome, hook: &HookFile) -> Advice {
    let line = plain_line(event);
    let executable = Some(format!("chmod +x {}", shell_argument(&file)));

    let (text, then) = match hook {
        HookFile::Missing => (format!("{}{line}", script::SHEBANG), executable),
        HookFile::Regular { bytes, .. } if *outcome == Outcome::Advised(Reason::NotShell) => {
            match script::interpreter(bytes).and_then(|program| foreign_line(&program, event)) {
                Some(line) => (line, None),
                None => {
                    let name = event.name();
                    let own = format!("# first rename your hook: {name} to {name}.own\n");
                    let call = format!("\"$(dirname \"$0\")/{name}.own\" \"$@\"\n");
                    (format!("{}{own}{line}{call}", script::SHEBANG), executable)
                }
            }
        }
        _ => (line, None),
    };
    Advice { manager: None, file, text, then, optional: false }
}

/// Quotes `path` as an argument of a shell command, in single quotes if it needs them.
fn shell_argument(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c)) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns whether the manager calls us for `event`.
pub(super) fn is_called_by(survey: &HookSurvey, manager: Manager, event: Event) -> bool {
    let is_legacy = manager == Manager::PreCommit && survey.is_run_by_pre_commit(event);
    let mut detected = survey.managers.iter().filter(|found| found.manager == manager);
    is_legacy || detected.any(|found| manager.has_entry(&found.file, event))
}

/// Plans the removal of our blocks from `files`. Files without a block, or with a damaged one, are not
/// changed.
pub(super) fn plan_file_removal<'a>(files: impl IntoIterator<Item = &'a SurveyedFile>) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut created_dir = None;

    for surveyed in files {
        let HookFile::Regular { bytes, .. } = &surveyed.file else { continue };
        let Ok(Some(block)) = script::find(bytes) else { continue };
        changes.push(match script::without(bytes, block) {
            Some(rest) => Change::WriteFile { path: surveyed.path.clone(), bytes: rest },
            None => Change::RemoveFile(surveyed.path.clone()),
        });

        if block.origin == Origin::CreatedDir {
            created_dir = surveyed.path.parent();
        }
    }

    changes.extend(created_dir.map(|dir| Change::RemoveDirIfEmpty(dir.to_owned())));
    changes
}

/// Plans the removal of our keys from one configuration file.
///
/// Events come first, since git fails for an event without a command. The command is removed unless the user
/// added other events. Keys that we do not set stay.
pub(super) fn plan_config_removal(survey: &HookSurvey, scope: Scope) -> Vec<Change> {
    let mut changes = Vec::new();
    let present = values(survey, scope, "event");
    let mut n_other = present.len();

    for event in Event::ALL {
        let n_ours = present.iter().filter(|value| **value == event.name()).count();
        n_other -= n_ours;
        if n_ours > 0 {
            changes.push(Change::UnsetConfig { scope, key: key("event"), value: Some(event.name()) });
        }
    }

    for name in ["parallel", "command"] {
        if n_other == 0 && !values(survey, scope, name).is_empty() {
            changes.push(Change::UnsetConfig { scope, key: key(name), value: None });
        }
    }

    changes
}

/// Returns the values of `hook.codeweaver.<name>` in one configuration file.
pub(super) fn values<'a>(survey: &'a HookSurvey, scope: Scope, name: &str) -> Vec<&'a BString> {
    let key = key(name);
    survey.configured.iter().filter(|e| e.scope == scope && e.key == key).map(|e| &e.value).collect()
}

fn key(name: &str) -> String {
    format!("hook.{NAME}.{name}")
}
