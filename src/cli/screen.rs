//! The terminal that output is displayed on.

use std::io::IsTerminal as _;

use terminal_size::{Height, Width};

/// Size of the terminal. Each value is `None` if stdout is not displayed on a terminal, or on one of unknown
/// size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Screen {
    pub columns: Option<usize>,
    pub rows: Option<usize>,
}

/// Minimum number of columns to which lines are cut; a narrower terminal wraps them.
const MIN_COLUMNS: usize = 20;

impl Screen {
    /// Columns of a line that are left after the first `used`; unlimited without a terminal.
    pub fn columns_after(self, used: usize) -> usize {
        self.columns.map_or(usize::MAX, |columns| columns.saturating_sub(used).max(MIN_COLUMNS))
    }

    /// The terminal of stdout, also behind a pager that git has started. `COLUMNS` has precedence over the
    /// width of the terminal.
    pub fn from_stdout() -> Screen {
        if !is_displayed() {
            return Screen::default();
        }

        let size = terminal_size::terminal_size();
        let columns = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
        Screen {
            columns: columns.or(size.map(|(Width(n), _)| n.into())).filter(|&n| n > 0),
            rows: size.map(|(_, Height(n))| n.into()).filter(|&n| n > 0),
        }
    }
}

/// Returns whether stdout is displayed on a terminal, directly or behind a pager that git has started (`git
/// -p codeweaver`).
pub fn is_displayed() -> bool {
    std::io::stdout().is_terminal() || is_pager_in_use()
}

/// Returns whether stdout leads to a pager that git has started.
pub fn is_pager_in_use() -> bool {
    std::env::var("GIT_PAGER_IN_USE").is_ok_and(|value| ["true", "1", "yes", "on"].contains(&value.as_str()))
}
