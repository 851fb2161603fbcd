//! The pager: output on a terminal that is longer than its screen goes through a program such as `less`.
//!
//! The program is chosen as git chooses it: `GIT_PAGER`, `pager.codeweaver`, `core.pager`, `PAGER`, `less`.
//! An empty name and `cat` mean no pager.

use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use codeweaver_git::DisplaySettings;

use super::screen::Screen;
use super::surroundings::Surroundings;
use super::width;

/// Variables that configure `less` and `lv`, if the user has not set them: quit if the text fits on one
/// screen, pass colours through, leave the text on the screen.
const DEFAULTS: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];
/// The first version of `less` that displays hyperlinks; older ones display their escapes as text.
const LESS_WITH_LINKS: u32 = 566;

/// The pager of stdout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pager {
    command: String,
    screen: Screen,
}

impl Pager {
    /// The pager that environment and configuration name; `None` if stdout is not a terminal of known size,
    /// if paging is switched off, and on Windows, which has no shell to run it.
    pub fn choose(settings: &DisplaySettings, around: &Surroundings) -> Option<Pager> {
        let screen = Screen::from_surroundings(around);
        let is_dumb = around.variable("TERM").is_none_or(|term| term == "dumb");
        let is_off = settings.is_paged == Some(false) || around.is_pager_in_use() || is_dumb || cfg!(windows);
        if is_off || !around.stdout_is_terminal || screen.rows.is_none() || screen.columns.is_none() {
            return None;
        }

        let variable = |name| around.text(name).map(str::to_owned);
        let command = variable("GIT_PAGER").or_else(|| settings.pager.clone()).or_else(|| variable("PAGER"));
        let command = command.unwrap_or_else(|| "less".to_owned());
        (!command.trim().is_empty() && command != "cat").then_some(Pager { command, screen })
    }

    /// Returns whether `text` has more rows than the screen, of which the prompt takes one.
    pub fn is_needed(&self, text: &str) -> bool {
        let columns = self.screen.columns.unwrap_or(usize::MAX);
        let rows =
            text.lines().map(|line| width::measure_printed(line).div_ceil(columns).max(1)).sum::<usize>();
        rows >= self.screen.rows.unwrap_or(usize::MAX)
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.command).stdin(Stdio::piped());
        for (name, value) in DEFAULTS {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        command.spawn()
    }

    /// Displays `text`, without links if the pager would show their escapes, and waits until the user quits.
    ///
    /// # Errors
    /// The pager cannot be run; with a sentence about it.
    pub fn show(&self, text: &str) -> Result<(), String> {
        let without_links = (!self.shows_links()).then(|| width::without_links(text));
        match self.display(without_links.as_deref().unwrap_or(text)) {
            true => Ok(()),
            false => Err(format!("the pager '{}' cannot be run", self.command)),
        }
    }

    /// Displays `text` and waits until the user quits. Returns whether the pager could be run.
    fn display(&self, text: &str) -> bool {
        // Ctrl-C is meant for the pager, which must not lose its terminal to the shell before it has ended.
        let interrupted = std::sync::Arc::default();
        let handler = signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted);

        let Ok(mut child) = self.start() else { return false };

        // A write error means that the user quit before the end.
        if let Some(mut input) = child.stdin.take() {
            let _ = input.write_all(text.as_bytes());
        }

        let status = child.wait();
        if let Ok(handler) = handler {
            signal_hook::low_level::unregister(handler);
        }

        // A shell exits with these codes if the program does not exist or is not executable.
        !matches!(status.ok().and_then(|status| status.code()), Some(126 | 127))
    }

    /// Returns whether the pager displays hyperlinks instead of their escapes.
    fn shows_links(&self) -> bool {
        let program = self.command.split_whitespace().next().unwrap_or_default();
        // Links are known to work in `less` only.
        if program.rsplit('/').next() != Some("less") {
            return false;
        }

        let version = Command::new(program).arg("--version").stderr(Stdio::null()).output().ok();
        let text = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let number = text.as_deref().and_then(|text| text.split_whitespace().nth(1));
        let digits = number.map(|word| word.chars().take_while(char::is_ascii_digit).collect::<String>());
        digits.and_then(|digits| digits.parse::<u32>().ok()).is_some_and(|version| version >= LESS_WITH_LINKS)
    }
}
