//! The environment of child processes.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Prefixes of the variables of the caller that would change the behaviour of git or git-codeweaver.
const REMOVED_PREFIXES: [&str; 6] = ["GIT_", "CODEWEAVER_", "MARKDOWN_QA_", "XDG_", "HF_", "PIP_"];
/// Variables of agents, in whose shells other text is printed.
const REMOVED: [&str; 7] = [
    "CLAUDECODE",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "CODEX_THREAD_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "OPENCODE",
];

/// Returns a command in `dir` that does not depend on the settings of the machine: home directory `home`, no
/// system or user configuration of git, fixed author, committer and dates, C locale, no standard input. The
/// directory of the program under test is first on the path, so that `git codeweaver` and hooks find it.
pub fn command(program: impl AsRef<OsStr>, dir: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if REMOVED_PREFIXES.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes())) {
            command.env_remove(name);
        }
    }

    for name in REMOVED {
        command.env_remove(name);
    }

    if let Some(bin) = crate::program::directory() {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs = std::iter::once(bin.to_path_buf()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(dirs).unwrap());
    }

    command
        .current_dir(dir)
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join(".config"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", "true")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());

    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "A U Thor")
            .env(format!("GIT_{role}_EMAIL"), "author@example.com")
            .env(format!("GIT_{role}_DATE"), "2026-01-02T03:04:05Z");
    }
    command
}
