//! Surroundings: the terminals and display variables of the process that was called.
//!
//! In a daemon this is the process of the client, so nothing else of the command line may ask the terminal or
//! these variables of its own process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;

use serde::{Deserialize, Serialize};
use terminal_size::{Height, Width};

/// Variables that agents set in the shells that they start: Claude Code, Cursor, Gemini CLI, Codex (the last
/// two of three only in its sandbox) and opencode.
pub const AGENTS: [&str; 7] = [
    "CLAUDECODE",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "CODEX_THREAD_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "OPENCODE",
];
/// Variables about terminals, colours and pagers.
const DISPLAY: [&str; 7] = ["NO_COLOR", "TERM", "COLUMNS", "CI", "GIT_PAGER", "GIT_PAGER_IN_USE", "PAGER"];

/// The surroundings of one command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    pub stdin_is_terminal: bool,
    pub stdout_is_terminal: bool,
    pub stderr_is_terminal: bool,
    /// Columns and rows of the terminal.
    pub size: Option<(u16, u16)>,
    variables: BTreeMap<String, OsString>,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Surroundings {
        let names = DISPLAY.iter().chain(&AGENTS);
        let variables = names.filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?)));
        Surroundings {
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            size: terminal_size::terminal_size().map(|(Width(columns), Height(rows))| (columns, rows)),
            variables: variables.collect(),
        }
    }

    /// A variable, if it is set.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str)
    }

    /// A variable that is UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variable(name)?.to_str()
    }

    /// Returns whether the user can be prompted: stdin and stderr are terminals, and `CI` is not set.
    pub fn is_interactive(&self) -> bool {
        self.stdin_is_terminal && self.stderr_is_terminal && self.variable("CI").is_none()
    }

    /// Returns whether stdout is displayed on a terminal, directly or behind a pager that git has started
    /// (`git -p codeweaver`).
    pub fn is_displayed(&self) -> bool {
        self.stdout_is_terminal || self.is_pager_in_use()
    }

    /// Returns whether stdout leads to a pager that git has started.
    pub fn is_pager_in_use(&self) -> bool {
        self.text("GIT_PAGER_IN_USE").is_some_and(|value| ["true", "1", "yes", "on"].contains(&value))
    }

    /// Returns whether an agent reads what is printed.
    pub fn is_shell_of_agent(&self) -> bool {
        let is_set = |name: &&str| self.variable(name).is_some_and(|value| !value.is_empty());
        AGENTS.iter().any(is_set) && !self.stdout_is_terminal
    }
}
