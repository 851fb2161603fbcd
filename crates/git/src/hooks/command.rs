//! Git commands: version, hook directory, reading and editing configuration.
//!
//! None of them runs anything that the repository names: no alias, filter, file-system monitor or hook.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use gix::bstr::{BString, ByteSlice};

use super::{HookError, HookSite, Scope};

/// Variables that would make git use a repository other than that of the site, or other configuration.
const REMOVED_VARIABLES: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_NAMESPACE",
];

/// Attempts to edit a configuration file that another process has locked, and the pause between them.
const LOCK_TRIES: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(40);

/// Exit codes of `git config`: no such key, and no such key to unset.
const NO_SUCH_KEY: [i32; 2] = [1, 5];

/// A git program and variables that are added to its environment.
#[derive(Debug, Clone)]
pub(super) struct Git {
    pub program: PathBuf,
    pub envs: Vec<(OsString, OsString)>,
}

impl Default for Git {
    fn default() -> Self {
        Git { program: PathBuf::from("git"), envs: Vec::new() }
    }
}

/// One value of a configuration key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    pub scope: Scope,
    /// Lower-case section and key, e.g. `hook.codeweaver.event`.
    pub key: String,
    pub value: BString,
}

impl Git {
    /// Returns the output of `git --version`.
    pub fn version_text(&self) -> Result<String, HookError> {
        let mut command = self.command();
        command.arg("--version");
        Ok(self.run(command, &[])?.to_str_lossy().trim_end().to_owned())
    }

    /// Returns the hook directory of the site: absolute, not resolved. It may not exist.
    pub fn hooks_dir(&self, site: &HookSite) -> Result<PathBuf, HookError> {
        let mut command = self.at(site);
        command.args(["rev-parse", "--git-path", "hooks"]);

        let output = self.run(command, &[])?;
        let path = output.strip_suffix(b"\n").unwrap_or(&output).to_path_lossy();
        Ok(site.root().join(path))
    }

    /// Returns whether git ignores all of `paths`, which may not exist. False for tracked files, and if git
    /// cannot tell. The paths must not lead through links.
    pub fn ignores(&self, site: &HookSite, paths: &[PathBuf]) -> bool {
        let mut command = self.at(site);
        command.args(["-c", "core.fsmonitor=false", "check-ignore", "--"]).args(paths);
        self.run(command, &[]).is_ok_and(|output| output.lines().count() == paths.len())
    }

    /// Reads all local and global values below `hook.<name>.`, in the order in which git reads them.
    pub fn hook_entries(&self, site: &HookSite, name: &str) -> Result<Vec<ConfigEntry>, HookError> {
        let mut command = self.at(site);
        command.args(["config", "-z", "--show-scope", "--get-regexp"]).arg(format!("^hook\\.{name}\\."));
        let output = self.run(command, &NO_SUCH_KEY)?;

        let mut fields = output.split(|byte| *byte == 0);
        let mut entries = Vec::new();

        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            let scope = match scope {
                b"local" | b"worktree" => Scope::Local,
                b"global" => Scope::Global,
                _ => continue, // never written by us
            };
            let (key, value) = entry.split_once_str("\n").unwrap_or((entry, b""));
            entries.push(ConfigEntry { scope, key: key.to_str_lossy().into_owned(), value: value.into() });
        }

        Ok(entries)
    }

    /// Sets `key` to one value and removes other values in this scope.
    pub fn set(&self, site: &HookSite, scope: Scope, key: &str, value: &OsStr) -> Result<(), HookError> {
        self.edit(site, scope, |command| {
            command.args(["--replace-all", key]).arg(value);
        })
    }

    /// Adds `value` to the values of `key`.
    pub fn add(&self, site: &HookSite, scope: Scope, key: &str, value: &str) -> Result<(), HookError> {
        self.edit(site, scope, |command| {
            command.args(["--add", key, value]);
        })
    }

    /// Removes the values of `key` that match `pattern` as a whole, or all values. It is no error if there
    /// are none.
    pub fn unset(
        &self,
        site: &HookSite,
        scope: Scope,
        key: &str,
        pattern: Option<&str>,
    ) -> Result<(), HookError> {
        self.edit(site, scope, |command| {
            command.args(["--unset-all", key]).args(pattern.map(|pattern| format!("^{pattern}$")));
        })
    }

    /// Runs `git config` with `arguments`. Tries again if another process has locked the file, since git does
    /// not wait.
    fn edit(&self, site: &HookSite, scope: Scope, arguments: impl Fn(&mut Command)) -> Result<(), HookError> {
        let mut tries = 0;
        loop {
            let mut command = self.at(site);
            command.arg("config").arg(scope.flag());
            arguments(&mut command);
            tries += 1;

            match self.run(command, &NO_SUCH_KEY) {
                Err(HookError::GitFailed { stderr, .. }) if stderr.contains("lock") && tries < LOCK_TRIES => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                result => return result.map(drop),
            }
        }
    }

    /// A git command without the variables that would redirect it.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        for name in REMOVED_VARIABLES {
            command.env_remove(name);
        }

        command.env("LC_ALL", "C").envs(self.envs.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    /// A git command for the repository of the site.
    fn at(&self, site: &HookSite) -> Command {
        let mut command = self.command();
        command.arg("-C").arg(site.root());

        // Git checks the owner of a repository only if it finds the repository itself. So `--git-dir` is
        // passed only where git cannot find it from the worktree (GIT_DIR and GIT_WORK_TREE set by hand).
        if site.work_dir.as_ref().is_some_and(|dir| !dir.join(".git").exists()) {
            command.arg("--git-dir").arg(&site.git_dir);
        }
        command
    }

    /// Runs a command and returns its output. Exit codes in `accepted` count as success.
    fn run(&self, mut command: Command, accepted: &[i32]) -> Result<Vec<u8>, HookError> {
        let output = command.output().map_err(|source| HookError::GitNotStarted { source })?;
        if output.status.success() || output.status.code().is_some_and(|code| accepted.contains(&code)) {
            return Ok(output.stdout);
        }

        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
        Err(HookError::GitFailed {
            command: arguments.join(" "),
            stderr: output.stderr.to_str_lossy().trim().to_owned(),
        })
    }
}

/// Returns whether a directory of `path`, the value of `PATH`, has an executable `name`.
pub(super) fn is_on_path(name: &str, path: Option<&OsStr>) -> bool {
    path.is_some_and(|path| std::env::split_paths(path).any(|dir| is_program(&dir.join(name))))
}

/// Returns whether `path` is an executable file.
pub(super) fn is_program(path: &Path) -> bool {
    let path =
        if path.exists() { path.to_owned() } else { path.with_extension(std::env::consts::EXE_EXTENSION) };
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && super::file::is_executable(&metadata))
}
