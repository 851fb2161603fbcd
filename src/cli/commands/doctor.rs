//! `doctor`: checks the installation and the repository, and names a fix for each problem.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use codeweaver_base::real_path;
use codeweaver_embed as embed;
use codeweaver_git as git;
use codeweaver_git::hooks::{self, Advice, EventState, GitVersion, HooksDirLocation, Method};
use codeweaver_index::status::hook_site;
use codeweaver_index::{Codebase, IndexError, Lifecycle};
use codeweaver_mcp::clients::Scope;
use codeweaver_mcp::clients::places::Environment;
use codeweaver_mcp::clients::registered;
use codeweaver_store::layout::Trust;
use codeweaver_store::permission::{self, Unusable};
use codeweaver_store::{StoreReader, lock, mend_command};

use super::init::hook_advice;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::render::shown_path;
use crate::cli::{exit, render, resident};

/// Free disk space below which a warning is shown.
const LOW_DISK_BYTES: u64 = 200 << 20;
const PROGRAM: &str = if cfg!(windows) { "git-codeweaver.exe" } else { "git-codeweaver" };

/// Check the installation and the repository, and show a fix for each problem
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 good (possibly with warnings), 1 a check failed, 2 error.")]
pub struct DoctorArgs {
    /// Print one JSON object to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

/// Result of one check.
#[derive(Debug, Clone, serde::Serialize)]
struct Check {
    name: &'static str,
    verdict: Verdict,
    what: String,
    /// Empty if nothing has to be done.
    fix: String,
}

impl Check {
    fn ok(name: &'static str, what: impl Into<String>) -> Check {
        Check { name, verdict: Verdict::Ok, what: what.into(), fix: String::new() }
    }

    fn warn(name: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Check {
        Check { name, verdict: Verdict::Warn, what: what.into(), fix: fix.into() }
    }

    fn fail(name: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Check {
        Check { name, verdict: Verdict::Fail, what: what.into(), fix: fix.into() }
    }
}

/// Settings that cannot be used. The checks that depend on them are not made.
enum Broken {
    /// A file or variable is invalid, so no setting is known.
    Settings(CliError),
    /// The settings are known, but there is no such model.
    Model,
}

impl From<IndexError> for Broken {
    fn from(error: IndexError) -> Broken {
        match error {
            IndexError::Embed(_) => Broken::Model,
            other => Broken::Settings(other.into()),
        }
    }
}

pub fn run(args: DoctorArgs, context: &Context) -> Result<ExitCode, CliError> {
    let (codebase, problem) = context.codebase_despite_settings()?;
    let broken = problem.map(Broken::from);
    let broken = broken.as_ref();

    // Before the other checks: reading the store mends it.
    let ignored = ignored(&codebase);
    let mut checks = vec![git(), repository(&codebase), ignored, path()];
    checks.extend([hooks(&codebase, broken), hook_log(&codebase)]);
    checks.extend([settings(&codebase, broken), model(&codebase, broken), index(&codebase, broken)]);
    checks.extend([lease(&codebase), write_permission(&codebase), disk(&codebase)]);
    checks.extend(daemon(&codebase));
    checks.extend(clients(&codebase));

    let is_broken = checks.iter().any(|check| check.verdict == Verdict::Fail);

    let mut out = context.out();
    if args.json {
        writeln!(
            out,
            "{}",
            render::json(&serde_json::json!({ "good": !is_broken, "checks": checks }), true)?
        )?;
    } else {
        for check in &checks {
            let label = match check.verdict {
                Verdict::Ok => context.paint.good("ok  "),
                Verdict::Warn => context.paint.warning("warn"),
                Verdict::Fail => context.paint.error("FAIL"),
            };
            writeln!(out, "{label}  {:<11} {}", check.name, render::safe(&check.what))?;
            if !check.fix.is_empty() {
                writeln!(out, "      {:<11} fix: {}", "", render::safe(&check.fix))?;
            }
        }
    }

    out.flush()?;
    Ok(ExitCode::from(if is_broken { exit::NEGATIVE } else { 0 }))
}

/// The daemon, if one runs.
fn daemon(codebase: &Codebase) -> Option<Check> {
    let status = resident::status(codebase.layout.root())?;
    let text = format!("process {} answers searches ({} so far)", status["pid"], status["served"]);
    match status["version"].as_str() == Some(env!("CARGO_PKG_VERSION")) {
        true => Some(Check::ok("daemon", text)),
        false => {
            let version = status["version"].as_str().unwrap_or("another");
            let what = format!("the running one has version {version}, and answers no command of this one");
            Some(Check::warn("daemon", what, "git codeweaver daemon stop"))
        }
    }
}

fn git() -> Check {
    match GitVersion::detect() {
        Ok(version) if version.has_configured_hooks() => {
            Check::ok("git", format!("git {version}, hooks in the configuration"))
        }
        Ok(version) => {
            Check::ok("git", format!("git {version}, hooks as files (2.54 and later can configure them)"))
        }
        Err(e) => Check::warn("git", e.to_string(), e.fix()),
    }
}

fn repository(codebase: &Codebase) -> Check {
    let kind = if codebase.repo.is_bare() { "bare repository" } else { "worktree" };
    let text = format!("{kind} {}", codebase.root().display());

    match codebase.check_trust() {
        Err(e) => {
            let error = CliError::from(e);
            Check::fail("repository", format!("{}: {}", error.what, error.why), error.fix)
        }
        Ok(_) => match codebase.repo.operation() {
            Some(operation) => Check::ok("repository", format!("{text}, {operation:?} in progress")),
            None => Check::ok("repository", text),
        },
    }
}

/// Checks that git neither tracks nor adds the store, and mends what makes git ignore it.
fn ignored(codebase: &Codebase) -> Check {
    let dir = shown_path(codebase.layout.root());
    if !matches!(codebase.layout.trust(), Ok(Trust::Ours)) {
        return Check::ok("ignored", format!("there is no {dir} that git could add"));
    }

    // Git does not ignore what it tracks, and the updater refuses a store that others could have made.
    let head = codebase.repo.head();
    let tracked = head.and_then(|head| git::tracked_store(&codebase.repo, head.tree.as_ref()));
    match tracked {
        Ok(None) => {}
        Ok(Some(path)) => {
            let error = CliError::from(IndexError::Tracked { path: path.to_string() });
            return Check::fail("ignored", format!("{}: {}", error.what, error.why), error.fix);
        }
        Err(error) => return Check::fail("ignored", error.to_string(), error.fix()),
    }

    match codebase.layout.ignore() {
        Ok(false) => Check::ok("ignored", format!("git ignores {dir}")),
        Ok(true) => Check::warn(
            "ignored",
            format!("git no longer ignored {dir} in all ways; mended"),
            "keep other programs from replacing .git/info/exclude",
        ),
        Err(error) => Check::fail("ignored", error.to_string(), error.fix()),
    }
}

/// Checks that `git codeweaver` finds this program on `PATH`. Hooks do not depend on it, since they contain
/// the full path.
fn path() -> Check {
    let found = std::env::var_os("PATH").and_then(|paths| {
        std::env::split_paths(&paths).map(|dir| dir.join(PROGRAM)).find(|file| file.is_file())
    });

    let this = std::env::current_exe().ok().and_then(|file| real_path::canonicalize(file).ok());

    match (found, this) {
        (Some(found), this) if real_path::canonicalize(&found).ok() == this => {
            Check::ok("program", found.display().to_string())
        }
        (Some(found), Some(this)) => Check::warn(
            "program",
            format!("`git codeweaver` runs {}, this is {}", found.display(), this.display()),
            "remove one of them, or change the order of PATH",
        ),
        (Some(found), None) => Check::ok("program", found.display().to_string()),
        (None, this) => {
            let dir = this.and_then(|file| file.parent().map(PathBuf::from)).unwrap_or_default();
            Check::warn(
                "program",
                "not on the PATH, so `git codeweaver` is not found",
                format!("add {} to PATH", dir.display()),
            )
        }
    }
}

fn hooks(codebase: &Codebase, broken: Option<&Broken>) -> Check {
    let status = match hooks::inspect(&hook_site(codebase)) {
        Ok(status) => status,
        Err(e) => return Check::warn("hooks", e.to_string(), e.fix()),
    };

    if status.is_installed() && !status.binary_found {
        return Check::fail("hooks", "installed, but the program they run is missing", "git codeweaver init");
    }

    if status.events.iter().any(|(_, state)| *state == EventState::Outdated) {
        return Check::warn("hooks", "installed by another version", "git codeweaver init");
    }

    if status.is_installed() {
        let names: Vec<&str> = status.events.iter().map(|(event, _)| event.name()).collect();
        let mode = match broken {
            Some(Broken::Settings(_)) => String::new(),
            _ => format!(" ({})", codebase.settings.hooks.mode.name()),
        };
        return Check::ok("hooks", format!("{}{mode}", names.join(", ").replace(", post-", ", -")));
    }

    let missing: Vec<&str> = status
        .events
        .iter()
        .filter(|(_, state)| {
            matches!(state, EventState::Foreign | EventState::Missing | EventState::SwitchedOff)
        })
        .map(|(event, _)| event.name())
        .collect();

    let is_foreign = status.events.iter().any(|(_, state)| *state == EventState::Foreign);
    let by_hand = by_hand(codebase);

    let (place, fix) = match (&status.method, status.location) {
        (Method::Files(dir), HooksDirLocation::Worktree) => (
            format!(" ({} is in the working tree and not ignored, so it is not written)", shown_path(dir)),
            by_hand.as_str(),
        ),
        (Method::Files(dir), HooksDirLocation::Outside) => (
            format!(" ({} may serve other repositories, so it is not written)", shown_path(dir)),
            by_hand.as_str(),
        ),
        (Method::Files(dir), HooksDirLocation::Nowhere) => (
            format!(" (core.hooksPath is {}, which is not a directory)", shown_path(dir)),
            "let core.hooksPath name a directory, or unset it",
        ),
        // `init` writes no hook that is no shell script, or that a manager writes.
        _ if is_foreign => (String::new(), by_hand.as_str()),
        _ => (String::new(), "git codeweaver init"),
    };

    Check::warn(
        "hooks",
        format!("not installed: {}{place}", missing.join(", ")),
        format!("{fix}; without hooks the index is updated at the next search"),
    )
}

/// The lines that are to be added by hand, as `init` prints them, or the command that prints them.
fn by_hand(codebase: &Codebase) -> String {
    let advice = match hook_advice(codebase) {
        Ok(advice) => advice,
        Err(error) => return error.fix,
    };

    let needed: Vec<&Advice> = advice.iter().filter(|advice| !advice.optional).collect();
    match needed.as_slice() {
        [one] if one.text.lines().count() == 1 => {
            let then = one.then.as_ref().map_or_else(String::new, |then| format!(", then run: {then}"));
            format!("add to {}: {}{then}", shown_path(&one.file), one.text.trim())
        }
        _ => "add the lines that `git codeweaver init --print-hooks` shows".to_owned(),
    }
}

/// Checks the log of the hooks, which print nothing themselves.
fn hook_log(codebase: &Codebase) -> Check {
    let path = codebase.layout.cache().join("hook.log");
    let text = std::fs::read(&path).ok();
    let last = text.and_then(|text| String::from_utf8_lossy(&text).lines().last().map(str::to_owned));

    match last {
        Some(last) => Check::warn(
            "hook log",
            format!("last error: {last}"),
            format!("remove {} once the cause is fixed", shown_path(&path)),
        ),
        None => Check::ok("hook log", "no errors"),
    }
}

fn settings(codebase: &Codebase, broken: Option<&Broken>) -> Check {
    if let Some(Broken::Settings(error)) = broken {
        let problems: Vec<&str> = error.why.lines().collect();
        return Check::fail("settings", format!("{}: {}", error.what, problems.join("; ")), &error.fix);
    }
    match codebase.loaded.warnings.as_slice() {
        [] => Check::ok("settings", "valid; `git codeweaver config --show` lists them"),
        warnings => Check::warn("settings", warnings.join("; "), "git codeweaver config --show"),
    }
}

fn model(codebase: &Codebase, broken: Option<&Broken>) -> Check {
    if let Some(Broken::Settings(_)) = broken {
        return Check::warn("model", "not checked: the settings name it", "correct the settings");
    }

    let tried = embed::open(&codebase.settings.model).and_then(|model| {
        let vector = model.embed_query("does it answer")?;
        Ok(format!("{} ({} dimensions)", model.name(), vector.len()))
    });

    match tried {
        Ok(text) => Check::ok("model", text),
        Err(e) => Check::fail("model", format!("{}: {}", e.what(), e.why()), e.fix()),
    }
}

fn index(codebase: &Codebase, broken: Option<&Broken>) -> Check {
    if let Some(Broken::Model) = broken {
        return Check::warn("index", "not checked: it belongs to the model", "correct the model");
    }

    let store = codebase.store();
    let reader = match StoreReader::open(&store) {
        Ok(reader) => reader,
        Err(e) => {
            let error = CliError::from(e);
            return Check::fail("index", format!("{}: {}", error.what, error.why), error.fix);
        }
    };

    if let Some(reader) = &reader {
        for key in reader.state.snapshots.keys() {
            // Opening a snapshot opens all of its files.
            if let Err(e) = reader.snapshot(key) {
                return Check::fail("index", e.to_string(), "git codeweaver verify --repair");
            }
        }
    }

    let chunks = reader.as_ref().map_or(0, |r| r.state.segments.iter().map(|s| u64::from(s.n_rows)).sum());

    if broken.is_some() {
        let stored = render::plural(chunks, "chunk");
        let what = format!("{stored} stored, every file opens; whether it fits the settings is not checked");
        return Check::warn("index", what, "correct the settings");
    }

    match codebase.lifecycle(reader.as_ref()) {
        Lifecycle::Indexed => Check::ok(
            "index",
            format!(
                "{} stored, every file opens; `verify` checks each byte",
                render::plural(chunks, "chunk")
            ),
        ),
        Lifecycle::Indexing => Check::ok("index", "the first index is being built"),
        other => {
            let error = CliError::from_lifecycle(other, codebase);
            Check::warn("index", format!("{} ({})", error.what, error.why), error.fix)
        }
    }
}

/// Checks the MCP clients: one check for all that can start the server, and one for each client that cannot.
fn clients(codebase: &Codebase) -> Vec<Check> {
    let environment = Environment::from_process();
    let found = registered::find(&environment, codebase.repo.work_dir());
    let (mut good, mut checks) = (Vec::new(), Vec::new());

    for entry in &found {
        let name = match entry.scope {
            Scope::User => entry.client.name.to_owned(),
            Scope::Project => format!("{} (project)", entry.client.name),
        };

        match entry.problem(&environment) {
            None => good.push(name),
            Some(problem) => {
                let what = format!("{name}: {problem} ({})", shown_path(&entry.file));
                // A project file may be meant for another machine.
                let check = if entry.scope == Scope::User { Check::fail } else { Check::warn };
                checks.push(check("mcp client", what, entry.fix()));
            }
        }
    }

    if !good.is_empty() {
        checks.insert(0, Check::ok("mcp clients", format!("registered: {}", good.join(", "))));
    } else if checks.is_empty() {
        let what = "no client has the server; `git codeweaver mcp --install CLIENT` adds it";
        checks.push(Check::ok("mcp clients", what));
    }

    checks
}

fn lease(codebase: &Codebase) -> Check {
    match lock::holder(&codebase.layout.work_lock(&codebase.worktree_key)) {
        Some(holder) => Check::ok("lock", format!("held by a running indexer ({holder})")),
        None => Check::ok("lock", "free"),
    }
}

fn write_permission(codebase: &Codebase) -> Check {
    if let Some(Unusable { n, example }) = permission::unusable(&codebase.layout) {
        let whom = if is_root() { "the owner of the repository" } else { "you" };
        return Check::fail(
            "permission",
            format!(
                "{} cannot be used by {whom}: {}",
                render::plural(n as u64, "file"),
                shown_path(&example)
            ),
            mend_command(&example),
        );
    }

    let (dir, written) = try_to_write(codebase);
    let dir = shown_path(&dir);
    match written {
        Ok(()) => Check::ok("permission", format!("{dir} is writable")),
        Err(e) => Check::fail("permission", format!("{dir}: {e}"), format!("make {dir} writable")),
    }
}

/// Writes a temporary file where the store is or would be made; only an attempt shows whether that is
/// possible. Returns the directory, too.
pub fn try_to_write(codebase: &Codebase) -> (PathBuf, std::io::Result<()>) {
    let root = codebase.layout.root();
    let dir = if root.is_dir() { root } else { root.parent().unwrap_or(root) };

    let prefix = codeweaver_store::layout::TEMPORARY_PREFIX;
    let written = tempfile::Builder::new().prefix(prefix).tempfile_in(dir);
    (dir.to_owned(), written.map(drop))
}

fn disk(codebase: &Codebase) -> Check {
    let root = codebase.layout.root();
    let dir = if root.is_dir() { root } else { root.parent().unwrap_or(root) };

    match free_bytes(dir) {
        Some(free) if free < LOW_DISK_BYTES => Check::warn(
            "disk",
            format!("only {} free", render::bytes(free)),
            "git codeweaver gc, or free some space",
        ),
        Some(free) => Check::ok("disk", format!("{} free", render::bytes(free))),
        None => Check::ok("disk", "free space unknown"),
    }
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

#[cfg(unix)]
fn free_bytes(dir: &std::path::Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_dir: &std::path::Path) -> Option<u64> {
    None
}
